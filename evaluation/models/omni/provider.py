"""OpenAI-compatible servers that take pictures, sound and video, as the Inspect AI provider `interplay-omni`.

`get_model("interplay-omni/Qwen/Qwen3-Omni-30B", endpoint="vllm-qwen-omni", base_url="http://host:8000/v1")`. Messages
are those of `evaluation.delivery.deliver`, made for the same endpoint.
"""

from collections.abc import Mapping
from time import monotonic
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    RetryDecision,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from tenacity import RetryCallState, wait_exponential_jitter
from tenacity.wait import WaitBaseT, wait_base

from core.settings import environment_value
from evaluation.models.omni.capabilities import Capability, capability_for
from evaluation.models.omni.errors import (
    BadAddress,
    BrokenStream,
    EndpointRefused,
    EndpointUnreachable,
    MissingKey,
    UnsupportedSetting,
)
from evaluation.models.omni.transport import MOST_REPLY_BYTES, Transport
from evaluation.models.omni.wire import request_body

# As Inspect AI waits between attempts.
_FIRST_WAIT_S = 3
_LONGEST_WAIT_S = 30 * 60
# How long a server that never answered is tried for, by all calls together.
_STARTING_S = 10.0
_BUSY = 429
_PASSING = frozenset({408, 409, 425})
_NEVER = frozenset({501, 505})
# What filters of content are called in errors: OpenAI and Azure; DashScope (by common report, not verified).
_FILTERED = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})
_RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "ratelimiterror"})
_SPENT = "insufficient_quota"
_SERVER_CODES = frozenset({"server_error", "internalservererror", "internal_error", "overloaded_error"})


@modelapi(name="interplay-omni")
class OmniAPI(ModelAPI):
    """An OpenAI-compatible server behind Inspect AI's model layer."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect AI's own signature
        endpoint: str | None = None,
        delivery: Mapping[str, Any] | None = None,
        most_reply_bytes: int = MOST_REPLY_BYTES,
    ) -> None:
        self.capability: Capability = capability_for(f"interplay-omni/{model_name}", endpoint, delivery or {})
        row = self.capability
        address = base_url or row.base_url
        if address is None or not address.startswith(("http://", "https://")):
            had = "has no address of its own" if address is None else f"cannot be reached at {address!r}"
            give = "give the argument base_url ('inspect eval': --model-base-url), as 'http://localhost:8000/v1'"
            raise BadAddress(f"endpoint {row.name!r} {had}; {give}")
        super().__init__(model_name, address, api_key, [row.key_variable] if row.key_variable else [], config)
        self._transport = Transport(address, _authorization(self.api_key, row), most_reply_bytes)
        self._first_missed_s: float | None = None

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Ask once.

        Raises:
            UnsupportedSetting, KindNotTaken: The request cannot be said to this endpoint.
            EndpointUnreachable, EndpointRefused, BrokenStream, MalformedReply, ReplyTooLong: No answer came.
        """
        del tool_choice
        if tools:
            raise UnsupportedSetting("interplay-omni gives models no tools; use one of Inspect AI's own providers")
        body = request_body(self.model_name, input, config, self.capability)
        try:
            reply = await self._transport.ask(body, config.extra_headers or {})
        except EndpointRefused as error:
            if error.code.lower() in _FILTERED:
                return ModelOutput.from_content(self.model_name, str(error), stop_reason="content_filter")
            raise
        return reply.output(self.model_name)

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """What may pass: an overloaded or failing server, a broken or missing connection; nothing that it refused."""
        if isinstance(ex, EndpointUnreachable) and not self._transport.was_reached:
            # Nobody has ever been there: a wrong address, or a server that is not up, and not one that is busy.
            if self._first_missed_s is None:
                self._first_missed_s = monotonic()
            return RetryDecision(retry=monotonic() - self._first_missed_s < _STARTING_S)
        if isinstance(ex, EndpointUnreachable | BrokenStream):
            return RetryDecision.transient()
        if not isinstance(ex, EndpointRefused) or ex.code == _SPENT:
            return RetryDecision.no()
        code = ex.code.lower()
        if ex.status_code == _BUSY or (ex.status_code is None and code in _RATE_CODES):
            return RetryDecision.rate_limit(ex.retry_after_s)
        status = ex.status_code or 0
        may_pass = status in _PASSING or (status >= 500 and status not in _NEVER)
        if may_pass or (ex.status_code is None and code in _SERVER_CODES):
            return RetryDecision.transient(ex.retry_after_s)
        return RetryDecision.no()

    def retry_wait(self) -> WaitBaseT | None:
        """As long as the server asks for, else growing pauses."""
        return _Wait()

    def connection_key(self) -> str:
        """Calls at once are counted for each model of a server."""
        return f"{self.base_url}:{self.initial_api_key}:{self.model_name}"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class _Wait(wait_base):
    """Between attempts."""

    def __init__(self) -> None:
        self._usual = wait_exponential_jitter(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S, jitter=_FIRST_WAIT_S)

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked_s = error.retry_after_s if isinstance(error, EndpointRefused) else None
        return self._usual(retry_state) if asked_s is None else min(asked_s, _LONGEST_WAIT_S)


def _authorization(api_key: str | None, row: Capability) -> dict[str, str]:
    key = (api_key or (environment_value(row.key_variable) if row.key_variable else None) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise MissingKey(f"the key of endpoint {row.name!r} holds characters that no key has; copy it again")
    if key:
        return {"authorization": f"Bearer {key}"}
    if row.key_needed:
        raise MissingKey(f"endpoint {row.name!r} needs a key; put it into the environment variable {row.key_variable}")
    return {}
