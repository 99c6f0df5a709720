"""From our messages to Inspect AI's: media in the form that a server takes, and a manifest of what was really sent."""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.content import MediaPart, Message, Modality, TextPart
from core.media.errors import MediaError
from evaluation.adaptation import Adapted, Adapter, sha256_of
from evaluation.models.omni.capabilities import Capability, Form
from evaluation.recoding import Adaptation, Piece

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content

# A thread costs a millisecond when many calls are under way: as much as reading and encoding half a megabyte.
_LIGHT_BYTES = 1 << 19
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_VIDEO_FORMATS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/mpeg": "mpeg"}
_WORDS = {
    "en": {
        "frames": "[The next {count} pictures are frames of <{name}>, shown at {times} s{length}.]\n",
        "length": " of {seconds:g} s",
        "muxed": "[<{name}> is the sound of the film above.]",
        "muxed_first": "[The film that follows has <{name}> as its picture and <{sound}> as its sound.]\n",
        "and": ", ",
    },
    "zh": {
        "frames": "[以下 {count} 张图片是 <{name}> 的画面，依次取自第 {times} 秒{length}。]\n",
        "length": "（全长 {seconds:g} 秒）",
        "muxed": "[<{name}> 即上面影片的声音。]",
        "muxed_first": "[以下影片的画面是 <{name}>，声音是 <{sound}>。]\n",
        "and": "、",
    },
}


class TooManyParts(MediaError):
    """More media in a request than the model's server takes."""

    reason = "too_many_parts"


class CannotMix(MediaError):
    """Kinds of media that the model's server does not take together, and that make no one film."""

    reason = "cannot_mix"


@dataclass(frozen=True)
class _Placed:
    """A media part with what is sent for it; the second part of a film sends nothing of its own."""

    part: MediaPart
    adapted: Adapted
    kind: Modality
    film_with: str | None = None
    is_second: bool = False


def deliver(
    messages: Sequence[Message], media: Adapter, capability: Capability
) -> tuple[list["ChatMessage"], list[dict[str, Any]]]:
    """Inspect AI's messages, and one manifest row for each media part.

    A row holds `name`, `modality`, `sha256` and `duration_s` of what was asked for; `sent`, a list of `media_type`,
    `sha256`, `byte_count` and `duration_s`; `adaptations`, a list of `what`, `loss` (lossless or lossy) and `detail`;
    and where a video is sampled `frames_requested`, `frames_sent` and `times_s` (None where the server samples).

    Raises:
        KindNotTaken, TooManyParts, CannotMix: The server does not take this.
        MediaError: Media that have to be adapted cannot be decoded, or not be made as small as the server wants them.
        MissingBlob, DamagedBlob: The media are not in the store.
    """
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"user": ChatMessageUser, "system": ChatMessageSystem, "assistant": ChatMessageAssistant}
    words = _WORDS[_language(messages)]
    most_frames = _check_counts(messages, capability)
    turns: list[ChatMessage] = []
    manifest: list[dict[str, Any]] = []
    for message in messages:
        placed = _placed(message, media, capability, most_frames)
        content: list[Content] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                content.append(_text(part.text))
            else:
                content.extend(_contents(placed[part.name], capability, words))
                manifest.append(_row(placed[part.name], capability))
        turns.append(kinds[message.role](content=content))
    return turns, manifest


def is_light(messages: Sequence[Message], capability: Capability, is_local: bool) -> bool:
    """Whether delivering takes less time than handing it to a thread: few local bytes that go as they are."""
    media = [part.media for part in _media_parts(messages)]
    kinds = {ref.modality for ref in media}
    is_as_it_is = Modality.VIDEO not in kinds and (capability.mixed or len(kinds) <= 1)
    return not media or (
        is_local
        and is_as_it_is
        and sum(ref.byte_count for ref in media) <= _LIGHT_BYTES
        and all(
            (taken := capability.taken(ref.modality)) is not None and ref.media_type in taken.media_types
            for ref in media
        )
    )


def _check_counts(messages: Sequence[Message], capability: Capability) -> int | None:
    """Refuse more parts than are taken; else how many frames each video may have, None for any number."""
    counts = Counter(part.media.modality for part in _media_parts(messages))
    for kind, count in counts.items():
        taken = capability.taken(kind)
        most = None if taken is None else taken.most_parts
        if most is not None and count > most:
            raise TooManyParts(
                f"{count} {kind.value} parts, but endpoint {capability.name!r} takes {most} in a request"
            )
    most_images = None if capability.image is None else capability.image.most_parts
    videos = counts[Modality.VIDEO]
    is_shared = capability.video is not None and capability.video.form is Form.FRAMES and videos
    if most_images is None or not is_shared:
        return None
    share = (most_images - counts[Modality.IMAGE]) // videos
    if share < 1:
        raise TooManyParts(
            f"{counts[Modality.IMAGE]} pictures and the frames of {videos} videos, but endpoint {capability.name!r} "
            f"takes {most_images} pictures in a request"
        )
    return share


def _media_parts(messages: Sequence[Message]) -> Iterator[MediaPart]:
    yield from (part for message in messages for part in message.parts if isinstance(part, MediaPart))


def _placed(message: Message, media: Adapter, capability: Capability, most_frames: int | None) -> dict[str, _Placed]:
    """What is sent for each media part of a message, by name."""
    parts = list(_media_parts([message]))
    by_kind: dict[Modality, list[MediaPart]] = {}
    for part in parts:
        by_kind.setdefault(_kind_sent(part, capability), []).append(part)
    if not capability.mixed and len(by_kind) > 1:
        return _one_film(by_kind, parts, media, capability)
    return {
        part.name: _Placed(part, media.fetch(part.media, capability, most_frames), kind)
        for kind, same in by_kind.items()
        for part in same
    }


def _kind_sent(part: MediaPart, capability: Capability) -> Modality:
    is_pictures = capability.video is not None and capability.video.form is Form.FRAMES
    return Modality.IMAGE if is_pictures and part.media.modality is Modality.VIDEO else part.media.modality


def _one_film(
    by_kind: Mapping[Modality, list[MediaPart]], parts: list[MediaPart], media: Adapter, capability: Capability
) -> dict[str, _Placed]:
    kinds = set(by_kind)
    if len(parts) != 2 or len(kinds) != 2 or Modality.AUDIO not in kinds or not capability.takes_films:
        asked = " and ".join(part.name for part in parts)
        raise CannotMix(
            f"endpoint {capability.name!r} takes one kind of media in a message, and {asked} make no one film "
            f"(one picture or video, and one sound); ask another endpoint, or set 'mixed = true' if this one takes them"
        )
    (sound,) = by_kind[Modality.AUDIO]
    picture = next(part for part in parts if part is not sound)
    film = media.muxed(picture.media, sound.media, capability)
    first, second = parts
    return {
        first.name: _Placed(first, film, Modality.VIDEO, second.name),
        second.name: _Placed(second, film, Modality.VIDEO, first.name, is_second=True),
    }


def _contents(placed: _Placed, capability: Capability, words: Mapping[str, str]) -> Iterator["Content"]:
    part, pieces = placed.part, placed.adapted.pieces
    if placed.is_second:
        if part.media.modality is Modality.AUDIO:
            yield _text(words["muxed"].format(name=part.name))
        return
    if placed.film_with is not None and part.media.modality is not Modality.VIDEO:
        names = sorted((part.name, placed.film_with), key=lambda name: name.startswith("audio"))
        yield _text(words["muxed_first"].format(name=names[0], sound=names[1]))
    if part.media.modality is Modality.VIDEO and capability.sends_frames:
        is_list = capability.video is not None and capability.video.form is Form.FRAME_LIST
        if not is_list:
            yield _text(_frames_note(part, pieces, words))
        yield from (_content(piece, Modality.IMAGE, part.name if is_list else None) for piece in pieces)
    else:
        yield from (_content(piece, placed.kind) for piece in pieces)


def _frames_note(part: MediaPart, pieces: Sequence[Piece], words: Mapping[str, str]) -> str:
    times = words["and"].join(f"{piece.time_s:g}" for piece in pieces)
    seconds = part.media.duration_s
    length = "" if seconds is None else words["length"].format(seconds=seconds)
    return words["frames"].format(count=len(pieces), name=part.name, times=times, length=length)


def _text(text: str) -> "Content":
    from inspect_ai.model import ContentText

    return ContentText(text=text)


def _content(piece: Piece, kind: Modality, frame_of: str | None = None) -> "Content":
    from inspect_ai.model import ContentAudio, ContentImage, ContentVideo

    url = f"data:{piece.media_type};base64,{base64.b64encode(piece.data).decode()}"
    match kind:
        case Modality.AUDIO:
            return ContentAudio.model_validate({"audio": url, "format": _AUDIO_FORMATS[piece.media_type]})
        case Modality.VIDEO:
            return ContentVideo.model_validate({"video": url, "format": _VIDEO_FORMATS[piece.media_type]})
        case _:
            return ContentImage(image=url, internal=None if frame_of is None else {"frame_of": frame_of})


def _row(placed: _Placed, capability: Capability) -> dict[str, Any]:
    part, adapted = placed.part, placed.adapted
    row: dict[str, Any] = {
        "name": part.name,
        "modality": part.media.modality.value,
        "sha256": part.media.sha256,
        "duration_s": part.media.duration_s,
        "sent": [_sent(piece) for piece in adapted.pieces],
        "adaptations": [asdict(change) for change in adapted.adaptations],
    }
    if adapted.frames_requested is not None:
        times_s = [piece.time_s for piece in adapted.pieces]
        return row | {
            "frames_requested": adapted.frames_requested,
            "frames_sent": len(adapted.pieces),
            "times_s": times_s,
        }
    if capability.frames_asked and placed.kind is Modality.VIDEO:
        detail = f"the server samples frames itself; {_asked_of_server(capability)}"
        row["adaptations"].append(asdict(Adaptation("frames sampled", "lossy", detail)))
        return row | {"frames_requested": capability.frames, "frames_sent": None, "times_s": None}
    return row


def _asked_of_server(capability: Capability) -> str:
    if capability.frames_per_second is None:
        return f"asked for {capability.frames}"
    return f"asked for {capability.frames_per_second:g} a second, at most {capability.frames}"


def _sent(piece: Piece) -> dict[str, Any]:
    length = {} if piece.duration_s is None else {"duration_s": piece.duration_s}
    return {"media_type": piece.media_type, "sha256": sha256_of(piece), "byte_count": len(piece.data)} | length


def _language(messages: Sequence[Message]) -> str:
    """Chinese if the last line that is asked is, else English, as `prompts.render` writes it."""
    texts = [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]
    last = texts[-1].rstrip().rsplit("\n", 1)[-1] if texts else ""
    return "zh" if any("\u4e00" <= letter <= "\u9fff" for letter in last) else "en"
