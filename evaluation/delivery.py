"""From our messages to Inspect AI's: media as data URLs, and a manifest of what was really sent."""

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from core.content import MediaPart, MediaRef, Message, Modality, TextPart
from core.errors import InterplayError
from core.media.audio import encode_wav, load_audio
from warehouse.blobs import BlobStore

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_VIDEO_FORMATS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/mpeg": "mpeg"}


class UndeliverableMedia(InterplayError):
    """Media of a kind that the model layer cannot carry."""


def deliver(messages: tuple[Message, ...], blobs: BlobStore) -> tuple[list["ChatMessage"], list[dict[str, Any]]]:
    """Inspect AI's messages, and one manifest row for each media part: as asked, as sent, and how it was adapted.

    Raises:
        UndeliverableMedia: A container that no provider takes.
        MissingBlob, DamagedBlob: The media are not in the store.
    """
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    turns: list[ChatMessage] = []
    manifest: list[dict[str, Any]] = []
    for message in messages:
        content: list[Content] = []
        for part in message.parts:
            piece, row = _content(part, blobs)
            content.append(piece)
            manifest.extend([row] if row else [])
        turns.append(kinds[message.role](content=content))
    return turns, manifest


def _content(part: TextPart | MediaPart, blobs: BlobStore) -> tuple["Content", dict[str, Any] | None]:
    from inspect_ai.model import ContentAudio, ContentImage, ContentText, ContentVideo

    if isinstance(part, TextPart):
        return ContentText(text=part.text), None
    data, media_type, adaptation = _adapted(part.media, blobs.get(part.media.sha256))
    row = {
        "name": part.name,
        "modality": part.media.modality.value,
        "asked_sha256": part.media.sha256,
        "sent_sha256": hashlib.sha256(data).hexdigest(),
        "sent_media_type": media_type,
        "sent_bytes": len(data),
        "duration_s": part.media.duration_s,
        "adaptation": adaptation,
    }
    url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    match part.media.modality:
        case Modality.AUDIO:
            return ContentAudio(audio=url, format="mp3" if media_type == "audio/mpeg" else "wav"), row
        case Modality.VIDEO:
            return ContentVideo.model_validate({"video": url, "format": _VIDEO_FORMATS[media_type]}), row
        case _:
            return ContentImage(image=url), row


def _adapted(media: MediaRef, data: bytes) -> tuple[bytes, str, str | None]:
    if media.modality is Modality.AUDIO and media.media_type not in _AUDIO_FORMATS:
        samples = load_audio(data, sample_rate_hz=media.sample_rate_hz or 16_000)
        return encode_wav(samples, media.sample_rate_hz or 16_000), "audio/wav", "decoded to mono WAV (lossy: 16 bit)"
    if media.modality is Modality.VIDEO and media.media_type not in _VIDEO_FORMATS:
        raise UndeliverableMedia(
            f"video {media.sha256[:12]} is {media.media_type}; models take {', '.join(sorted(_VIDEO_FORMATS))}: "
            "convert it and ingest it again"
        )
    return data, media.media_type, None
