"""Simulated panel members as the Inspect AI provider `interplay-sim`.

`get_model("interplay-sim/anna", gallery="gallery.npz", seed=1, perception=0.9, ...)`: every field of `Knobs` is a model
argument. A reply is another sample under another `GenerateConfig.seed`. Failures carry `status_code` or are a
`TimeoutError` or `ConnectionError`, as those of real clients, and Inspect AI retries them (without waiting) as far as
`max_retries` allows; a reply that is no JSON is a `ValueError` and is not asked for again.
"""

import base64
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from anyio import sleep
from anyio.to_thread import run_sync
from inspect_ai.model import (
    ChatMessage,
    Content,
    ContentAudio,
    ContentImage,
    ContentText,
    ContentVideo,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    RetryDecision,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo
from tenacity import wait_none
from tenacity.wait import WaitBaseT

from core.content import Modality
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.member import (
    MOST_RETRIES,
    BadKnobs,
    Member,
    Perceiver,
    SeenMedia,
    SimulatedFailure,
    SimulatedGarbage,
    read_knobs,
    token_count,
)


@modelapi(name="interplay-sim")
class SimulatedAPI(ModelAPI):
    """A simulated member behind Inspect AI's model layer."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect AI's own signature
        gallery: str | None = None,
        **knobs: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if gallery is None:
            raise BadKnobs(
                "a simulated member needs the argument gallery, as \"project:gallery.npz\": 'interplay demo' writes one"
            )
        known = read_knobs(knobs, f"arguments of model {model_name!r}")
        file = Path(gallery)
        self._member = Member(known, _perceiver(file, file.stat().st_mtime_ns if file.exists() else 0))
        self._failed: dict[tuple[str, str], int] = {}

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Reply as the member does.

        Raises:
            SimulatedFailure: By `error_rate`.
            MediaError: A part cannot be decoded.
        """
        del tools, tool_choice
        parts = [part for message in input for part in _parts(message.content)]
        replicate_key = "" if config.seed is None else str(config.seed)
        call = (self._member.call_key(parts), replicate_key)
        attempt = self._failed.pop(call, 0)
        await sleep(self._member.knobs.latency_s)
        try:
            reply = await run_sync(self._member.answer, parts, replicate_key, attempt)
        except SimulatedFailure as failure:
            most = min(MOST_RETRIES, MOST_RETRIES if config.max_retries is None else config.max_retries)
            if attempt < most and not isinstance(failure, SimulatedGarbage):
                self._failed[call] = attempt + 1
            raise
        output = ModelOutput.from_content(self.model_name, reply.text, stop_reason=reply.stop)
        tokens_in, tokens_out = sum(map(token_count, self._member.received(parts))), token_count(reply.text)
        output.usage = ModelUsage(input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out)
        return output

    def should_retry(self, ex: Exception) -> bool | RetryDecision:
        """Simulated failures but garbage, until `MOST_RETRIES` say that the endpoint never recovers."""
        if not isinstance(ex, SimulatedFailure) or isinstance(ex, SimulatedGarbage) or ex.attempt >= MOST_RETRIES:
            return RetryDecision.no()
        return RetryDecision.rate_limit() if ex.status_code == 429 else RetryDecision.transient()

    def retry_wait(self) -> WaitBaseT | None:
        """Nothing recovers by waiting here."""
        return wait_none()


@cache
def _perceiver(gallery: Path, modified_ns: int) -> Perceiver:
    """One for all members of a gallery: each piece of media is decoded once."""
    del modified_ns
    return Perceiver(Gallery.load(gallery))


def _parts(content: str | list[Content]) -> Iterator[str | SeenMedia]:
    for piece in [content] if isinstance(content, str) else content:
        match piece:
            case str():
                yield piece
            case ContentText():
                yield piece.text
            case ContentImage():
                yield _media(Modality.IMAGE, piece.image)
            case ContentAudio():
                yield _media(Modality.AUDIO, piece.audio)
            case ContentVideo():
                yield _media(Modality.VIDEO, piece.video)


def _media(modality: Modality, data_url: str) -> SeenMedia:
    head, _, payload = data_url.partition(",")
    media_type = head.removeprefix("data:").partition(";")[0]
    return SeenMedia(modality=modality, media_type=media_type, data=base64.b64decode(payload))
