"""The OpenAI chat API on the wire: requests read to parts in order, replies and errors written.

Content parts are `text`, `image_url`, `input_audio`, `audio_url`, `video_url` (as vLLM takes them) and `video` (a list
of frames, as DashScope takes them). Media come as data URLs; nothing is fetched.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from core.content import Modality
from evaluation.models.sim.member import Reply, SeenMedia, token_count

_FINISH = {"stop": "stop", "max_tokens": "length", "content_filter": "content_filter"}
_SOUND_TYPES = {
    **{name: f"audio/{name}" for name in ("aac", "aiff", "flac", "ogg", "wav", "webm")},
    **{"m4a": "audio/mp4", "mp3": "audio/mpeg", "mp4": "audio/mp4", "opus": "audio/ogg"},
}
_PIECES = 32
_LEAST_PIECE = 8


class ApiError(Exception):
    """An answer that is an error, as OpenAI words it."""

    def __init__(
        self, status: int, message: str, code: str, *, param: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        kind = "invalid_request_error" if status < 429 else "rate_limit_error" if status == 429 else "server_error"
        self.document = {"error": {"message": message, "type": kind, "param": param, "code": code}}


class _Url(BaseModel):
    url: str


class _Sound(BaseModel):
    data: str
    format: str = "wav"


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _ImageUrl(BaseModel):
    type: Literal["image_url"]
    image_url: _Url


class _AudioUrl(BaseModel):
    type: Literal["audio_url"]
    audio_url: _Url


class _VideoUrl(BaseModel):
    type: Literal["video_url"]
    video_url: _Url


class _InputAudio(BaseModel):
    type: Literal["input_audio"]
    input_audio: _Sound


class _Frames(BaseModel):
    type: Literal["video"]
    video: list[str] = Field(min_length=1)


_Part = Annotated[_Text | _ImageUrl | _AudioUrl | _VideoUrl | _InputAudio | _Frames, Field(discriminator="type")]


def _as_parts(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [] if content is None else content


class _Message(BaseModel):
    role: str
    content: Annotated[list[_Part], BeforeValidator(_as_parts)] = []


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Request(BaseModel):
    model: str
    messages: list[_Message] = Field(min_length=1)
    stream: bool = False
    stream_options: _StreamOptions | None = None
    seed: int | None = None
    n: Literal[1] | None = None


@dataclass(frozen=True)
class Asked:
    """A request, read.

    Attributes:
        parts: Text and media of all messages, in order.
        places: Where in the request each part stands, as `messages[0].content[2]`.
        replicate_key: The request's seed: another one is another sample.
    """

    model: str
    parts: tuple[str | SeenMedia, ...]
    places: tuple[str, ...]
    stream: bool
    include_usage: bool
    replicate_key: str


def read_request(body: bytes) -> Asked:
    """Read the body of a call.

    Raises:
        ApiError: It is no JSON, no chat request, or a part of it is no media of the type that it claims to be.
    """
    try:
        request = _Request.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise ApiError(400, f"the body is no JSON: {first['msg']}", "invalid_json") from error
        place = _place(first["loc"])
        raise ApiError(400, f"{place}: {first['msg']}", "invalid_request", param=place) from error
    placed = [
        (f"messages[{row}].content[{column}]", part)
        for row, message in enumerate(request.messages)
        for column, part in enumerate(message.content)
    ]
    return Asked(
        model=request.model,
        parts=tuple(_read(part, place) for place, part in placed),
        places=tuple(place for place, _ in placed),
        stream=request.stream,
        include_usage=bool(request.stream_options and request.stream_options.include_usage),
        replicate_key="" if request.seed is None else str(request.seed),
    )


def _place(steps: tuple[int | str, ...]) -> str:
    """pydantic's steps as a path; behind the number of a content part stands its type, which is no step."""
    named = [step for place, step in enumerate(steps) if not (place == 4 and steps[2] == "content")]
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in named).lstrip(".") or "the body"


def _read(part: _Part, place: str) -> str | SeenMedia:
    match part:
        case _Text():
            return part.text
        case _ImageUrl():
            return _media(Modality.IMAGE, part.image_url.url, place)
        case _AudioUrl():
            return _media(Modality.AUDIO, part.audio_url.url, place)
        case _VideoUrl():
            return _media(Modality.VIDEO, part.video_url.url, place)
        case _InputAudio():
            return _sound(part.input_audio, place)
        case _Frames():
            frames = [_media(Modality.IMAGE, url, f"{place}.video[{row}]").data for row, url in enumerate(part.video)]
            return SeenMedia(modality=Modality.VIDEO, media_type="image/*", frames=tuple(frames))


def _sound(sound: _Sound, place: str) -> SeenMedia:
    if sound.format not in _SOUND_TYPES:
        known = ", ".join(sorted(_SOUND_TYPES))
        raise _bad_media(place, f"input_audio.format {sound.format!r} is unknown; known: {known}")
    if sound.data.startswith("data:"):
        return _media(Modality.AUDIO, sound.data, place)
    data = _decoded(sound.data, place)
    return SeenMedia(modality=Modality.AUDIO, media_type=_SOUND_TYPES[sound.format], data=data)


def _media(modality: Modality, url: str, place: str) -> SeenMedia:
    """What a data URL holds; one without a type, as DashScope wants them, is taken at its part's word."""
    head, comma, payload = url.partition(",")
    if not head.startswith("data:") or not comma:
        raise _bad_media(place, f"only data URLs are taken, and this begins with {url[:20]!r}")
    media_type, *options = head.removeprefix("data:").split(";")
    if media_type and not media_type.startswith(f"{modality.value}/"):
        raise _bad_media(place, f"{media_type!r} where {modality.value}/... is needed")
    if "base64" not in options:
        raise _bad_media(place, "the data URL is not in base64; write data:TYPE;base64,...")
    return SeenMedia(modality=modality, media_type=media_type, data=_decoded(payload, place))


def _decoded(payload: str, place: str) -> bytes:
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _bad_media(place, f"bad base64 ({error})") from error
    if not data:
        raise _bad_media(place, "no bytes in it")
    return data


def _bad_media(place: str, problem: str) -> ApiError:
    return ApiError(400, f"{place}: {problem}", "invalid_media", param=place)


def undecodable(place: str, problem: Exception) -> ApiError:
    """Media that cannot be decoded."""
    return _bad_media(place, f"cannot be decoded: {problem}")


@dataclass(frozen=True)
class Written:
    """A reply on its way out."""

    call_id: str
    created_s: int
    asked: Asked
    received: tuple[str | SeenMedia, ...]
    reply: Reply

    def whole(self) -> bytes:
        """One JSON document."""
        message = {"role": "assistant", "content": self.reply.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[self.reply.stop]}
        return _json(self._head("chat.completion") | {"choices": [choice], "usage": self._usage()})

    def pieces(self) -> Iterator[bytes]:
        """Server-sent events: deltas of the text, the reason to stop, usage if asked for, and the end."""
        text = self.reply.text
        size = max(_LEAST_PIECE, -(-len(text) // _PIECES))
        yield self._event({"role": "assistant", "content": ""})
        for start in range(0, len(text), size):
            yield self._event({"content": text[start : start + size]})
        yield self._event({}, _FINISH[self.reply.stop])
        if self.asked.include_usage:
            yield _event(self._head("chat.completion.chunk") | {"choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def _event(self, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.asked.include_usage else {}
        return _event(self._head("chat.completion.chunk") | {"choices": [choice]} | usage)

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.call_id, "object": kind, "created": self.created_s, "model": self.asked.model}

    def _usage(self) -> dict[str, Any]:
        tokens = dict.fromkeys(Modality, 0)
        for part in self.received:
            tokens[Modality.TEXT if isinstance(part, str) else part.modality] += token_count(part)
        sent, answered = sum(tokens.values()), token_count(self.reply.text)
        details = {f"{modality.value}_tokens": count for modality, count in tokens.items()}
        return {
            "prompt_tokens": sent,
            "completion_tokens": answered,
            "total_tokens": sent + answered,
            "prompt_tokens_details": details | {"cached_tokens": 0},
        }


def _event(document: dict[str, Any]) -> bytes:
    return b"data: " + _json(document) + b"\n\n"


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
