"""What comes back: chat completions, whole or in pieces, read into Inspect AI's output.

Pure; bytes come from the provider. Everything a server says is doubted: types are checked, and what is missing is an
error rather than an empty answer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Content,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    StopReason,
)

from evaluation.models.omni.errors import BrokenStream, EndpointRefused, MalformedReply, ReplyTooLong

_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
# What servers say of an answer that they gave up in the middle: vLLM and SGLang; gateways that lost their own server.
_GIVEN_UP = frozenset({"abort", "error"})
# How servers call the thinking that they give apart from the answer: DashScope, DeepSeek and vLLM; newer vLLM.
_THINKING_FIELDS = ("reasoning_content", "reasoning")
_MODALITIES = ("text", "image", "audio", "video")


@dataclass
class Reply:
    """An answer as far as it has come; `most_bytes` bounds its text and its thinking together."""

    most_bytes: int
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    model: str = ""
    response_id: str | None = None
    bytes_read: int = 0

    def take(self, body: Mapping[str, Any], place: str) -> None:
        """Add a completion (`place` is "message") or one piece of a stream ("delta").

        Raises:
            EndpointRefused: It is an error.
            MalformedReply: It is no completion.
            ReplyTooLong: There is more text than is taken.
        """
        if body.get("error"):
            raise told_error(body["error"], None)
        # The last piece of a stream may hold the usage alone.
        choices = body.get("choices", [] if place == "delta" and "usage" in body else None)
        if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
            raise MalformedReply(f"the server's reply has no list of choices: {excerpt(body)}")
        self.model = _string(body.get("model")) or self.model
        self.response_id = _string(body.get("id")) or self.response_id
        if isinstance(body.get("usage"), Mapping):
            self.usage = body["usage"]
        if not choices and place == "message":
            raise MalformedReply(f"the server's reply holds no answer: {excerpt(body)}")
        for choice in choices[:1]:
            said = choice.get(place)
            self._add(said if isinstance(said, Mapping) else {})
            self.finish_reason = _string(choice.get("finish_reason")) or self.finish_reason

    def _add(self, said: Mapping[str, Any]) -> None:
        thinking = next((text for name in _THINKING_FIELDS if (text := _string(said.get(name)))), None)
        pieces = [(self.text, _text_of(said.get("content"))), (self.thinking, thinking)]
        for kept, text in [*pieces, (self.refusal, _string(said.get("refusal")))]:
            if text:
                kept.append(text)
                self.bytes_read += len(text.encode("utf-8", "surrogatepass"))
        if self.bytes_read > self.most_bytes:
            raise ReplyTooLong(f"the answer is longer than the {self.most_bytes} bytes that are taken; set max_tokens")

    def finished(self, streamed: bool) -> None:
        """Check that the answer has come to its end; a whole body need not say so.

        Raises:
            BrokenStream: It has not.
        """
        got = sum(map(len, self.text))
        if self.finish_reason in _GIVEN_UP:
            raise BrokenStream(f"the server gave up after {got} characters (finish_reason {self.finish_reason!r})")
        if streamed and self.finish_reason is None:
            raise BrokenStream(
                f"the stream ended after {got} characters without a finish_reason: the answer is cut off"
            )

    def output(self, model: str) -> ModelOutput:
        """The answer as Inspect AI knows it, the thinking apart from it."""
        refused = "".join(self.refusal)
        text = "".join(self.text) or refused
        content: list[Content] = [ContentReasoning(reasoning="".join(self.thinking))] if self.thinking else []
        content.append(ContentText(text=text, refusal=True if refused else None))
        stop = "content_filter" if refused else _STOPS.get(self.finish_reason or "", "unknown")
        message = ChatMessageAssistant(
            content=content if len(content) > 1 or refused else text, model=self.model or model, source="generate"
        )
        counted = tokens_by_modality(self.usage)
        return ModelOutput(
            model=self.model or model,
            choices=[ChatCompletionChoice(message=message, stop_reason=stop)],
            usage=usage_of(self.usage),
            metadata={"tokens_by_modality": counted} if counted else None,
            response_id=self.response_id,
        )


def parse(data: bytes, what: str) -> Mapping[str, Any]:
    """A JSON object.

    Raises:
        MalformedReply: It is none.
    """
    try:
        value = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MalformedReply(f"{what} is not UTF-8 (byte {error.start}): {excerpt(data)}") from error
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"{what} is not JSON: {excerpt(data)}") from error
    if not isinstance(value, Mapping):
        raise MalformedReply(f"{what} is no JSON object: {excerpt(data)}")
    return value


def told_error(error: Any, status_code: int | None, retry_after_s: float | None = None) -> EndpointRefused:
    """An error in the words of the server; a number in its code counts as the status where there is no other."""
    told: Mapping[str, Any] = error if isinstance(error, Mapping) else {"message": error}
    code = str(told.get("code") or told.get("type") or "")
    if status_code is None and code.isdigit():
        status_code = int(code)
    said = excerpt(told.get("message") or told)
    what = "an error in the stream" if status_code is None else f"HTTP {status_code}"
    return EndpointRefused(f"the server answered with {what}: {said}", status_code, code, retry_after_s)


def usage_of(usage: Mapping[str, Any] | None) -> ModelUsage | None:
    """Tokens as Inspect AI counts them: what the server's cache held apart from the rest of the input."""
    if usage is None:
        return None
    before, after = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if before is None and after is None:
        return None
    cached = _count(_table(usage, "prompt_tokens_details").get("cached_tokens"))
    before, after = before or 0, after or 0
    return ModelUsage(
        input_tokens=max(0, before - (cached or 0)),
        output_tokens=after,
        total_tokens=_count(usage.get("total_tokens")) or before + after,
        input_tokens_cache_read=cached,
        reasoning_tokens=_count(_table(usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def tokens_by_modality(usage: Mapping[str, Any] | None) -> dict[str, dict[str, int]]:
    """`{"input": {"audio": 25, ...}, "output": {...}}` as far as the server counts so; empty if it does not."""
    sides = {"input": "prompt_tokens_details", "output": "completion_tokens_details"}
    counted: dict[str, dict[str, int]] = {}
    for side, name in sides.items():
        details = _table(usage or {}, name)
        counts = {kind: _count(details.get(f"{kind}_tokens")) for kind in _MODALITIES}
        known = {kind: count for kind, count in counts.items() if count is not None}
        if known:
            counted[side] = known
    return counted


def excerpt(said: Any, most: int = 300) -> str:
    """The beginning of what a server said, on one line."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _text_of(content: Any) -> str | None:
    if isinstance(content, list):
        texts = [_string(part.get("text")) for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if text)
    return _string(content)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _table(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = usage.get(name)
    return value if isinstance(value, Mapping) else {}
