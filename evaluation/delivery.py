"""From our messages to Inspect AI's: media as data URLs, and a manifest of what was really sent."""

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from core.content import MediaPart, Message, Modality, TextPart
from evaluation.adaptation import Adapter

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_VIDEO_FORMATS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/mpeg": "mpeg"}


def deliver(messages: tuple[Message, ...], media: Adapter) -> tuple[list["ChatMessage"], list[dict[str, Any]]]:
    """Inspect AI's messages, and one manifest row for each media part: as asked, as sent, and how it was adapted.

    Raises:
        MediaError: Media that would have to be adapted cannot be decoded.
        MissingBlob, DamagedBlob: The media are not in the store.
    """
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    turns: list[ChatMessage] = []
    manifest: list[dict[str, Any]] = []
    for message in messages:
        content: list[Content] = []
        for part in message.parts:
            piece, row = _content(part, media)
            content.append(piece)
            manifest.extend([row] if row else [])
        turns.append(kinds[message.role](content=content))
    return turns, manifest


def _content(part: TextPart | MediaPart, media: Adapter) -> tuple["Content", dict[str, Any] | None]:
    from inspect_ai.model import ContentAudio, ContentImage, ContentText, ContentVideo

    if isinstance(part, TextPart):
        return ContentText(text=part.text), None
    sent = media.fetch(part.media)
    row = {
        "name": part.name,
        "modality": part.media.modality.value,
        "asked_sha256": part.media.sha256,
        "sent_sha256": hashlib.sha256(sent.data).hexdigest(),
        "sent_media_type": sent.media_type,
        "sent_bytes": len(sent.data),
        "duration_s": part.media.duration_s,
        "adaptation": sent.adaptation,
    }
    url = f"data:{sent.media_type};base64,{base64.b64encode(sent.data).decode()}"
    match part.media.modality:
        case Modality.AUDIO:
            return ContentAudio.model_validate({"audio": url, "format": _AUDIO_FORMATS[sent.media_type]}), row
        case Modality.VIDEO:
            return ContentVideo.model_validate({"video": url, "format": _VIDEO_FORMATS[sent.media_type]}), row
        case _:
            return ContentImage(image=url), row
