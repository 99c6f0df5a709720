"""What each kind of model server takes, one row a server: kinds of media and their form, limits, streaming, thinking.

A row says what the server's own documentation says (addresses in `ROWS`, and "not verified" where none was found). A
model's settings change single fields of its row: `delivery = {frames = 16, mixed = false, video = "frames"}`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from core.content import Frozen, Modality
from core.errors import InterplayError, UnknownName, first_problem

MEBIBYTE = 1 << 20
# Part of every request's key: raise it when the same media would be adapted to other bytes, or said in other words.
DELIVERY_VERSION = 1
_KINDS = (Modality.IMAGE.value, Modality.AUDIO.value, Modality.VIDEO.value)
_PICTURES = ("image/jpeg", "image/png", "image/webp")
# Inspect AI's audio and video parts know no further formats.
_SOUNDS = ("audio/wav", "audio/mpeg")
_FILMS = ("video/mp4", "video/quicktime", "video/mpeg")


class BadCapability(InterplayError):
    """Settings of a delivery that cannot be read."""


class Form(StrEnum):
    """How a part of one kind is written on the wire."""

    INSPECT = "inspect"  # as Inspect AI's own provider writes it
    IMAGE_URL = "image_url"
    INPUT_AUDIO = "input_audio"  # base64 alone
    INPUT_AUDIO_URL = "input_audio_url"  # input_audio that holds a data URL
    AUDIO_URL = "audio_url"
    VIDEO_URL = "video_url"
    FRAMES = "frames"  # a video as pictures among the others, behind a note
    FRAME_LIST = "frame_list"  # a video as one part that lists its pictures


_FORMS_OF = {
    Modality.IMAGE.value: {Form.INSPECT, Form.IMAGE_URL},
    Modality.AUDIO.value: {Form.INSPECT, Form.INPUT_AUDIO, Form.INPUT_AUDIO_URL, Form.AUDIO_URL},
    Modality.VIDEO.value: {Form.INSPECT, Form.VIDEO_URL, Form.FRAMES, Form.FRAME_LIST},
}

# What can be sent at all, and what other media are coded again as.
_TYPES_OF = {
    Modality.IMAGE.value: (_PICTURES, {"image/png", "image/jpeg"}),
    Modality.AUDIO.value: (_SOUNDS, {"audio/wav"}),
    Modality.VIDEO.value: (_FILMS, {"video/mp4"}),
}


class Streaming(StrEnum):
    """Whether replies come in pieces."""

    UNUSED = "unused"
    REQUIRED = "required"


class Thinking(StrEnum):
    """How a thinking budget is said."""

    UNSAID = "unsaid"
    EFFORT = "effort"  # reasoning_effort
    GOOGLE = "google"  # extra_body.google.thinking_config.thinking_budget, or reasoning_effort
    DASHSCOPE = "dashscope"  # enable_thinking, thinking_budget
    VLLM = "vllm"  # thinking_token_budget, chat_template_kwargs.enable_thinking, reasoning_effort


class Taken(Frozen):
    """How one kind of media is taken.

    Attributes:
        form: How a part is written.
        media_types: What is sent as it is; everything else is coded again as PNG (or JPEG), WAV or MP4.
        most_parts: Parts of this kind in one request.
        most_bytes: Bytes of one part, before base64.
        url_names_type: Whether data URLs name their media type.
    """

    form: Form
    media_types: tuple[str, ...] = Field(min_length=1)
    most_parts: int | None = Field(default=None, ge=1)
    most_bytes: int | None = Field(default=None, ge=1)
    url_names_type: bool = True


class Capability(Frozen):
    """What a server takes and how it is spoken to.

    Attributes:
        name: The row's name.
        image: How pictures are taken; None means not at all.
        audio: The same of sounds.
        video: The same of videos; as frames they need a row for pictures.
        mixed: Whether one message may hold several kinds of media. If not, a video and its sound become one film.
        frames: Most frames of a video, where it goes as frames or the server can be asked for a number.
        frames_per_second: Frames for each second of a video, up to `frames`; None means always `frames`, evenly spaced.
        frames_asked: Whether the server samples a whole video itself and is asked for `frames` of them.
        streaming: Whether replies are read as a stream.
        usage_by_modality: Whether the server counts the tokens of each kind.
        thinking: How a thinking budget is said.
        output_modalities: `modalities` of the request; empty means unsaid.
        max_tokens_name: The field that bounds the answer.
        base_url: Where the service is; None for servers of one's own.
        key_variable: Environment variable of the key.
        key_needed: Whether there are no calls without a key.
    """

    name: str
    image: Taken | None = None
    audio: Taken | None = None
    video: Taken | None = None
    mixed: bool = True
    frames: int = Field(default=32, ge=1)
    frames_per_second: float | None = Field(default=None, gt=0)
    frames_asked: bool = False
    streaming: Streaming = Streaming.UNUSED
    usage_by_modality: bool = False
    thinking: Thinking = Thinking.UNSAID
    output_modalities: tuple[str, ...] = ()
    max_tokens_name: str = Field(default="max_tokens", pattern=r"^max_(completion_)?tokens$")
    base_url: str | None = None
    key_variable: str | None = None
    key_needed: bool = False

    @model_validator(mode="after")
    def _forms_fit(self) -> Self:
        for kind in _KINDS:
            taken = self.taken(Modality(kind))
            if taken is not None and taken.form not in _FORMS_OF[kind]:
                raise ValueError(f"{kind} cannot go as {taken.form.value!r}, but as {_named(_FORMS_OF[kind])}")
            known, needed = _TYPES_OF[kind]
            if taken is not None and not (set(taken.media_types) <= set(known) and needed & set(taken.media_types)):
                raise ValueError(
                    f"{kind}.media_types must be some of {', '.join(known)}, {' or '.join(sorted(needed))} among them"
                )
        if self.sends_frames and self.image is None:
            raise ValueError("videos cannot go as frames to a server that takes no pictures")
        return self

    def taken(self, kind: Modality) -> Taken | None:
        """How media of a kind are taken, None if not at all."""
        taken: dict[Modality, Taken | None] = {
            Modality.IMAGE: self.image,
            Modality.AUDIO: self.audio,
            Modality.VIDEO: self.video,
        }
        return taken[kind]

    @property
    def sends_frames(self) -> bool:
        """Whether a video goes as pictures that are taken from it here."""
        return self.video is not None and self.video.form in (Form.FRAMES, Form.FRAME_LIST)

    @property
    def takes_films(self) -> bool:
        """Whether a whole video can be sent."""
        return self.video is not None and not self.sends_frames

    @property
    def identity(self) -> dict[str, Any]:
        """What of it decides what is sent, and to whom, as stable JSON values; for the keys of requests."""
        told = {"image", "audio", "video", "mixed", "thinking", "output_modalities", "base_url"}
        if self.sends_frames or self.frames_asked:
            told |= {"frames", "frames_per_second"}
        return {"version": DELIVERY_VERSION, **self.model_dump(mode="json", include=told, exclude_none=True)}


def capability_for(provider: str, endpoint: str | None, overrides: Mapping[str, Any]) -> Capability:
    """The row of a model, with the fields that its settings change.

    Args:
        provider: Inspect AI's `provider/model`.
        endpoint: A row's name; None means what follows from the provider.
        overrides: Fields of `Capability` but its name. A kind is a table of fields of `Taken`, the name of a form
            (`video = "frames"`), or false for a kind that the server does not take.

    Raises:
        UnknownName: `endpoint` names no row, or an override no field.
        BadCapability: An override has an impossible value.
    """
    rows = {row.name: row for row in ROWS}
    if endpoint is None:
        kind = provider.partition("/")[0]
        endpoint = ROW_OF_PROVIDER.get(kind, "inspect")
    if endpoint not in rows:
        raise UnknownName("endpoint", endpoint, rows)
    return _changed(rows[endpoint], overrides) if overrides else rows[endpoint]


def _changed(row: Capability, overrides: Mapping[str, Any]) -> Capability:
    known = Capability.model_fields.keys() - {"name"}
    for field in overrides:
        if field not in known:
            raise UnknownName("field of a delivery", field, known)
    fields = row.model_dump() | dict(overrides)
    for kind in _KINDS:
        if kind in overrides:
            fields[kind] = _changed_kind(row.taken(Modality(kind)), kind, overrides[kind])
    try:
        return Capability.model_validate(fields)
    except ValidationError as error:
        raise BadCapability(f"delivery of endpoint {row.name!r}: {first_problem(error)}") from error


def _changed_kind(taken: Taken | None, kind: str, said: Any) -> Any:
    if said is False or said is None:
        return None
    usual = {"media_types": _TYPES_OF[kind][0]}
    before = usual | (taken.model_dump() if taken else {})
    if isinstance(said, str):
        return before | {"form": said}
    return before | dict(said) if isinstance(said, Mapping) else said


def _named(forms: set[Form]) -> str:
    return " or ".join(sorted(repr(form.value) for form in forms))


def _inspect(name: str, *, image: bool = True, audio: bool = True, video: Form | None = Form.INSPECT) -> Capability:
    return Capability(
        name=name,
        image=Taken(form=Form.INSPECT, media_types=_PICTURES) if image else None,
        audio=Taken(form=Form.INSPECT, media_types=_SOUNDS) if audio else None,
        video=Taken(form=video, media_types=_FILMS) if video else None,
    )


ROWS = (
    # Providers of Inspect AI 0.3.285, by what their code does with each part. `inspect` stands for providers that
    # others have registered: every kind in Inspect AI's own parts.
    _inspect("inspect"),
    _inspect("inspect-google"),  # _providers/google.py, file_for_content: audio and video through the Files API
    # model/_openai.py, openai_chat_completion_part: image_url, input_audio; a video raises RuntimeError.
    _inspect("inspect-openai", video=Form.FRAMES),
    # _providers/{anthropic,azureai,bedrock,grok,groq,mistral,sagemaker}.py: sound and video raise.
    _inspect("inspect-pictures", audio=False, video=Form.FRAMES),
    # _providers/{hf,nnterp,transformer_lens}.py raise for anything but text; completions have no parts.
    _inspect("inspect-text", image=False, audio=False, video=None),
    _inspect("interplay-sim"),
    # `interplay models serve-sim`: every form, media of every type that the library holds.
    Capability(
        name="serve-sim",
        image=Taken(form=Form.IMAGE_URL, media_types=_PICTURES),
        audio=Taken(form=Form.INPUT_AUDIO, media_types=_SOUNDS),
        video=Taken(form=Form.VIDEO_URL, media_types=_FILMS),
        usage_by_modality=True,
    ),
    # A server about which nothing is known: what OpenAI's own API takes, at most 20 MiB a part.
    Capability(
        name="generic",
        image=Taken(form=Form.IMAGE_URL, media_types=("image/jpeg", "image/png"), most_bytes=20 * MEBIBYTE),
        audio=Taken(form=Form.INPUT_AUDIO, media_types=_SOUNDS, most_bytes=20 * MEBIBYTE),
        video=Taken(form=Form.FRAMES, media_types=_FILMS),
        frames=16,
    ),
    # https://docs.vllm.ai/en/latest/features/multimodal_inputs.html, "Online Serving": image_url, audio_url (or
    # input_audio), video_url, each with data URLs. media_io_kwargs, mm_processor_kwargs, thinking_token_budget and
    # reasoning_effort: vllm/entrypoints/openai/chat_completion/protocol.py (ChatCompletionRequest); servers that do not
    # know them yet pass over them. VideoMediaIO takes 32 frames by default
    # (https://docs.vllm.ai/en/v0.22.1/api/vllm/multimodal/media/video/). How many parts are taken is the server's own
    # option --limit-mm-per-prompt: set `most_parts` alike. No usage by modality was found.
    Capability(
        name="vllm-qwen-omni",
        image=Taken(form=Form.IMAGE_URL, media_types=_PICTURES),
        audio=Taken(form=Form.AUDIO_URL, media_types=_SOUNDS),
        video=Taken(form=Form.VIDEO_URL, media_types=("video/mp4",)),
        frames=32,
        frames_asked=True,
        thinking=Thinking.VLLM,
        key_variable="VLLM_API_KEY",
    ),
    # https://help.aliyun.com/zh/model-studio/qwen-omni (qwen3-omni-flash, qwen-omni-turbo, qwen2.5-omni-7b): text and
    # ONE other kind in a user message, of sound one file (100 MB) and of video one (256 MB), a picture 10 MB;
    # streaming only; sound and video as data URLs without a type; a video as a list of at least 2 pictures is
    # `video = "frame_list"`; enable_thinking; tokens by modality. The English page of later models
    # (https://help.aliyun.com/en/model-studio/qwen-omni) says "multimodal input": whether they take mixed kinds is not
    # verified (`mixed = true` if so). thinking_budget for omni models, and how much one request may hold: not verified.
    Capability(
        name="dashscope",
        image=Taken(form=Form.IMAGE_URL, media_types=_PICTURES, most_bytes=10_000_000),
        audio=Taken(
            form=Form.INPUT_AUDIO_URL,
            media_types=_SOUNDS,
            most_parts=1,
            most_bytes=100_000_000,
            url_names_type=False,
        ),
        video=Taken(
            form=Form.VIDEO_URL,
            media_types=("video/mp4", "video/quicktime"),
            most_parts=1,
            most_bytes=256_000_000,
            url_names_type=False,
        ),
        mixed=False,
        streaming=Streaming.REQUIRED,
        usage_by_modality=True,
        thinking=Thinking.DASHSCOPE,
        output_modalities=("text",),
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        key_needed=True,
    ),
    # https://ai.google.dev/gemini-api/docs/openai: image_url, input_audio, reasoning_effort, and extra_body.google.
    # thinking_config, which exclude each other. No part for video is documented there, so it goes as frames. 20 MB for
    # a whole request (https://ai.google.dev/gemini-api/docs/audio), WebP and usage by modality: not verified.
    Capability(
        name="gemini-openai",
        image=Taken(form=Form.IMAGE_URL, media_types=_PICTURES, most_bytes=14_000_000),
        audio=Taken(form=Form.INPUT_AUDIO, media_types=_SOUNDS, most_bytes=14_000_000),
        video=Taken(form=Form.FRAMES, media_types=_FILMS),
        frames_per_second=1.0,
        frames=64,
        thinking=Thinking.GOOGLE,
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        key_needed=True,
    ),
    # https://developers.openai.com/api/docs/guides/audio-chat-completions and the installed openai package:
    # input_audio is wav or mp3, no part for video. prompt_tokens_details.audio_tokens: openai.types.CompletionUsage.
    # Limits of 20 MB a part: not verified.
    Capability(
        name="openai",
        image=Taken(form=Form.IMAGE_URL, media_types=_PICTURES, most_bytes=20_000_000),
        audio=Taken(form=Form.INPUT_AUDIO, media_types=_SOUNDS, most_bytes=20_000_000),
        video=Taken(form=Form.FRAMES, media_types=_FILMS),
        usage_by_modality=True,
        thinking=Thinking.EFFORT,
        max_tokens_name="max_completion_tokens",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        key_needed=True,
    ),
)

ROW_OF_PROVIDER = {
    "interplay-omni": "generic",
    "interplay-sim": "interplay-sim",
    "google": "inspect-google",
    # OpenAICompatibleAPI and what derives from it.
    **dict.fromkeys(("openai", "openai-api", "vllm", "sglang", "together", "fireworks", "moonshot"), "inspect-openai"),
    **dict.fromkeys(("meta", "litellm-proxy", "deepseek", "sambanova", "ollama", "openrouter"), "inspect-openai"),
    **dict.fromkeys(("perplexity", "llama-cpp-python", "hf-inference-providers", "cloudflare"), "inspect-openai"),
    **dict.fromkeys(("anthropic", "azureai", "bedrock", "grok", "groq", "mistral"), "inspect-pictures"),
    "sagemaker": "inspect-pictures",
    **dict.fromkeys(("hf", "nnterp", "transformer_lens"), "inspect-text"),
    **dict.fromkeys(("openai-api-completions", "vllm-completions"), "inspect-text"),
}
