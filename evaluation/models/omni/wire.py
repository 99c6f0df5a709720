"""The request as an endpoint's row says it: messages and settings to the JSON of `/chat/completions`.

Pure; the address and the key are the provider's. Sources of each form: `capabilities.ROWS`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentAudio,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentVideo,
    GenerateConfig,
)

from core.content import Modality
from evaluation.adaptation import KindNotTaken
from evaluation.models.omni.capabilities import Capability, Form, Streaming, Taken, Thinking
from evaluation.models.omni.errors import UnsupportedSetting

# Settings that change what is asked and that no endpoint here is told.
_UNSAID = (
    *("batch", "best_of", "effort", "fallback_models", "logit_bias", "logprobs", "modalities", "prompt_logprobs"),
    *("reasoning_mode", "reasoning_summary", "top_logprobs", "verbosity"),
)
_SAID_AS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop_seqs": "stop",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}


def request_body(
    model: str, messages: Sequence[ChatMessage], config: GenerateConfig, capability: Capability
) -> dict[str, Any]:
    """The JSON of a request.

    Raises:
        UnsupportedSetting: A setting or message that this endpoint cannot be told.
        KindNotTaken: Media of a kind that it does not take, or not in this form.
    """
    body: dict[str, Any] = {"model": model, "messages": [_message(one, capability) for one in messages]}
    if capability.streaming is Streaming.REQUIRED:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if capability.output_modalities:
        body["modalities"] = list(capability.output_modalities)
    body |= _settings(config, capability) | _thinking(config, capability)
    if capability.frames_asked and any(_is_video(part) for message in messages for part in _parts(message)):
        rate = {} if capability.frames_per_second is None else {"fps": capability.frames_per_second}
        body["media_io_kwargs"] = {"video": {"num_frames": capability.frames} | rate}
    return _merged(body, config.extra_body or {})


def _settings(config: GenerateConfig, capability: Capability) -> dict[str, Any]:
    unsaid = [name for name in _UNSAID if getattr(config, name) not in (None, False)]
    if (config.num_choices or 1) > 1:
        unsaid.append("num_choices")
    if unsaid:
        raise UnsupportedSetting(f"endpoint {capability.name!r} cannot be told {', '.join(unsaid)}; remove it")
    said = {name: getattr(config, field) for field, name in _SAID_AS.items() if getattr(config, field) is not None}
    if config.max_tokens is not None:
        said[capability.max_tokens_name] = config.max_tokens
    if config.response_schema is not None:
        schema = config.response_schema
        described = {
            "name": schema.name,
            "schema": schema.json_schema.model_dump(mode="json", exclude_none=True),
            "description": schema.description,
            "strict": schema.strict,
        }
        inner = {key: value for key, value in described.items() if value is not None}
        said["response_format"] = {"type": "json_schema", "json_schema": inner}
    return said


def _thinking(config: GenerateConfig, capability: Capability) -> dict[str, Any]:
    """A thinking budget (tokens, 0 for none) and an effort, each in the endpoint's way."""
    budget, effort = config.reasoning_tokens, config.reasoning_effort
    if budget is None and effort is None:
        return {}
    way = capability.thinking
    if budget is not None and effort is not None:
        raise UnsupportedSetting("give 'reasoning_tokens' or 'reasoning_effort', not both: they say the same twice")
    match way:
        case Thinking.GOOGLE if budget is not None:
            return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}
        case Thinking.VLLM if budget is not None:
            switch = {"chat_template_kwargs": {"enable_thinking": budget > 0}}
            return switch | ({"thinking_token_budget": budget} if budget else {})
        case Thinking.DASHSCOPE if budget is not None:
            return {"enable_thinking": budget > 0} | ({"thinking_budget": budget} if budget else {})
        case Thinking.DASHSCOPE if effort == "none":
            return {"enable_thinking": False}
        case Thinking.EFFORT if budget == 0:
            return {"reasoning_effort": "none"}
        case Thinking.EFFORT | Thinking.GOOGLE | Thinking.VLLM if effort is not None:
            return {"reasoning_effort": effort}
    said = "'reasoning_effort'" if budget is None else "'reasoning_tokens'"
    ways = {Thinking.EFFORT: "'reasoning_effort'", Thinking.DASHSCOPE: "'reasoning_tokens'"}
    raise UnsupportedSetting(
        f"endpoint {capability.name!r} cannot be told {said}; "
        + (f"say {ways[way]}" if way in ways else "set 'thinking' in the model's 'delivery' if it can")
    )


def _message(message: ChatMessage, capability: Capability) -> dict[str, Any]:
    if not isinstance(message, ChatMessageSystem | ChatMessageUser | ChatMessageAssistant):
        raise UnsupportedSetting(f"a message of role {message.role!r} cannot be sent; this provider knows no tools")
    parts = list(_grouped(_parts(message), capability))
    if all(part["type"] == "text" for part in parts):
        # Text alone goes as text: not every server reads lists, least of all from its system.
        return {"role": message.role, "content": "".join(part["text"] for part in parts)}
    return {"role": message.role, "content": parts}


def _parts(message: ChatMessage) -> list[Content]:
    return [ContentText(text=message.content)] if isinstance(message.content, str) else list(message.content)


def _grouped(contents: Iterable[Content], capability: Capability) -> Iterator[dict[str, Any]]:
    """Parts as JSON; the frames of one video in a row become one part."""
    before: str | None = None
    shown: list[str] = []
    for content in contents:
        video = _frame_of(content)
        if video != before and shown:
            yield {"type": "video", "video": shown}
            shown = []
        before = video
        if video is not None and isinstance(content, ContentImage):
            shown.append(content.image)
        elif not isinstance(content, ContentReasoning):  # a server's own thinking is not said back to it
            yield _part(content, capability)
    if shown:
        yield {"type": "video", "video": shown}


def _frame_of(content: Content) -> str | None:
    if isinstance(content, ContentImage) and isinstance(content.internal, dict):
        name = content.internal.get("frame_of")
        return name if isinstance(name, str) else None
    return None


def _part(content: Content, capability: Capability) -> dict[str, Any]:
    match content:
        case ContentText():
            return {"type": "text", "text": content.text}
        case ContentImage():
            _taken(Modality.IMAGE, capability)
            return {"type": "image_url", "image_url": {"url": content.image}}
        case ContentAudio():
            return _audio(content, _taken(Modality.AUDIO, capability), capability)
        case ContentVideo():
            taken = _taken(Modality.VIDEO, capability)
            if taken.form is not Form.VIDEO_URL:
                raise KindNotTaken(f"endpoint {capability.name!r} takes no whole video; send its frames")
            return {"type": "video_url", "video_url": {"url": _url(content.video, taken)}}
        case _:
            raise UnsupportedSetting(f"content of type {content.type!r} cannot be sent to an OpenAI-compatible server")


def _audio(content: ContentAudio, taken: Taken, capability: Capability) -> dict[str, Any]:
    match taken.form:
        case Form.AUDIO_URL:
            return {"type": "audio_url", "audio_url": {"url": _url(content.audio, taken)}}
        case Form.INPUT_AUDIO:
            data = content.audio.partition(",")[2]
        case Form.INPUT_AUDIO_URL:
            data = _url(content.audio, taken)
        case _:
            raise KindNotTaken(f"endpoint {capability.name!r} says no form for sounds")
    return {"type": "input_audio", "input_audio": {"data": data, "format": content.format}}


def _taken(kind: Modality, capability: Capability) -> Taken:
    taken = capability.taken(kind)
    if taken is None:
        raise KindNotTaken(f"endpoint {capability.name!r} takes no {kind.value}")
    return taken


def _url(data_url: str, taken: Taken) -> str:
    return data_url if taken.url_names_type else f"data:;base64,{data_url.partition(',')[2]}"


def _is_video(content: Content) -> bool:
    return isinstance(content, ContentVideo)


def _merged(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The body with a user's own fields, tables within tables; theirs win."""
    merged = dict(body)
    for key, value in more.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged
