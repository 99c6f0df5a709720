"""Media as a model's server takes them: as they are where it can be, else adapted, with every change listed."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

from core.content import MediaRef, Modality
from core.media.errors import MediaError, TooLarge
from evaluation.models.omni.capabilities import Capability, Taken
from evaluation.recoding import (
    MUTED,
    Adaptation,
    Piece,
    film_with_sound,
    frames,
    has_sound,
    jpeg,
    mp4,
    muted,
    png,
    smaller_audio,
    smaller_image,
    smaller_video,
    still_with_sound,
    wav,
)
from warehouse.blobs import MediaSource

KEPT_BYTES = 256 << 20
_GATES = 64


class KindNotTaken(MediaError):
    """Media of a kind that the model's server does not take at all."""

    reason = "kind_not_taken"


@dataclass(frozen=True)
class Adapted:
    """What is sent of one medium, how it was changed, and how many frames were asked for if it was taken apart."""

    pieces: tuple[Piece, ...]
    adaptations: tuple[Adaptation, ...] = ()
    frames_requested: int | None = None

    @property
    def byte_count(self) -> int:
        """Bytes of all pieces."""
        return sum(len(piece.data) for piece in self.pieces)


class Adapter:
    """Media from the store in the form that a server takes.

    What had to be changed is kept for the next call, up to `kept_bytes`: one item is put to many models, under many
    conditions, in many rotations. May be called from several threads; two that want the same wait for one of them.
    """

    def __init__(self, blobs: MediaSource, kept_bytes: int = KEPT_BYTES) -> None:
        self._blobs = blobs
        self._most = kept_bytes
        self._kept: OrderedDict[Hashable, Adapted] = OrderedDict()
        self._kept_bytes = 0
        self._lock = Lock()
        self._gates = tuple(Lock() for _ in range(_GATES))

    def fetch(self, media: MediaRef, capability: Capability, most_frames: int | None = None) -> Adapted:
        """A medium as a server takes it; of a video at most `most_frames` frames where it goes as frames.

        Raises:
            MissingBlob, DamagedBlob: It is not in the store.
            KindNotTaken: The server takes nothing of its kind.
            MediaError: It cannot be decoded, or not be made as small as the server wants it.
        """
        taken = capability.taken(media.modality)
        if taken is None:
            raise KindNotTaken(
                f"{media.modality.value} {media.sha256[:12]} cannot be sent: an endpoint of kind {capability.name!r} "
                f"takes no {media.modality.value}; name another 'endpoint' or state what it takes in 'delivery'"
            )
        data = self._blobs.get(media.sha256)
        if capability.sends_frames and media.modality is Modality.VIDEO:
            count = _frame_count(media, capability, most_frames)
            pictures = capability.image or taken
            frames_key = (media.sha256, "frames", count, pictures.media_types, pictures.most_bytes, capability.frames)
            return self._once(frames_key, lambda: _as_frames(media, data, pictures, count, capability.frames))
        if _is_taken(media, data, taken):
            return Adapted((Piece(data, media.media_type, media.duration_s),))
        key = (media.sha256, media.modality, taken.media_types, taken.most_bytes)
        return self._once(key, lambda: _adapted(media, data, taken))

    def muxed(self, picture: MediaRef, sound: MediaRef, capability: Capability) -> Adapted:
        """A video or picture and a sound as one film, for a server that takes only one of them in a message.

        Raises:
            MissingBlob, DamagedBlob, MediaError: As `fetch`.
        """
        taken = capability.taken(Modality.VIDEO)
        if taken is None or not capability.takes_films:
            raise KindNotTaken(f"an endpoint of kind {capability.name!r} takes no films, so no sound with a picture")
        key = (picture.sha256, sound.sha256, "muxed", taken.media_types, taken.most_bytes)
        data = (self._blobs.get(picture.sha256), self._blobs.get(sound.sha256))
        return self._once(key, lambda: _as_one_film(picture, *data, taken))

    def _once(self, key: Hashable, make: Callable[[], Adapted]) -> Adapted:
        with self._gates[hash(key) % _GATES]:
            with self._lock:
                known = self._kept.get(key)
                if known is not None:
                    self._kept.move_to_end(key)
                    return known
            made = make()
            with self._lock:
                self._kept[key] = made
                self._kept_bytes += made.byte_count
                while len(self._kept) > 1 and self._kept_bytes > self._most:
                    self._kept_bytes -= self._kept.popitem(last=False)[1].byte_count
            return made


def sha256_of(piece: Piece) -> str:
    """sha256 of what is sent."""
    return hashlib.sha256(piece.data).hexdigest()


def _frame_count(media: MediaRef, capability: Capability, most_frames: int | None) -> int:
    count = capability.frames
    if capability.frames_per_second is not None and media.duration_s is not None:
        count = min(count, max(1, round(media.duration_s * capability.frames_per_second)))
    return count if most_frames is None else min(count, most_frames)


def _is_taken(media: MediaRef, data: bytes, taken: Taken) -> bool:
    fits = taken.most_bytes is None or len(data) <= taken.most_bytes
    is_silent = media.modality is not Modality.VIDEO or media.media_type not in taken.media_types or not has_sound(data)
    return fits and media.media_type in taken.media_types and is_silent


def _adapted(media: MediaRef, data: bytes, taken: Taken) -> Adapted:
    piece, changes = _recoded(media, data, taken)
    return _fitting(Adapted((piece,), changes), media.modality, taken, f"{media.modality.value} {media.sha256[:12]}")


def _recoded(media: MediaRef, data: bytes, taken: Taken) -> tuple[Piece, tuple[Adaptation, ...]]:
    known = media.media_type in taken.media_types
    match media.modality:
        case Modality.VIDEO if not known:
            piece, change = mp4(media, data)
            return piece, (MUTED, change) if has_sound(data) else (change,)
        case Modality.VIDEO if has_sound(data):
            return _one(*muted(media, data))
        case Modality.AUDIO if not known:
            return _one(*wav(media, data))
        case Modality.IMAGE if not known:
            return _one(*(png(data) if "image/png" in taken.media_types else jpeg(data)))
        case _:
            return Piece(data, media.media_type, media.duration_s), ()


def _one(piece: Piece, change: Adaptation) -> tuple[Piece, tuple[Adaptation, ...]]:
    return piece, (change,)


def _as_frames(media: MediaRef, data: bytes, pictures: Taken, count: int, wanted: int) -> Adapted:
    media_type = "image/jpeg" if "image/jpeg" in pictures.media_types else "image/png"
    shown = frames(media, data, count, media_type)
    length = "" if media.duration_s is None else f" of {media.duration_s:g} s"
    changes = [Adaptation("frames sampled", "lossy", f"{len(shown)} evenly spaced frames{length} as {media_type}")]
    if has_sound(data):
        changes.append(MUTED)
    adapted = Adapted(tuple(shown), tuple(changes), wanted)
    return _fitting(adapted, Modality.IMAGE, pictures, f"a frame of video {media.sha256[:12]}")


def _as_one_film(picture: MediaRef, seen: bytes, heard: bytes, taken: Taken) -> Adapted:
    what = picture.modality.value
    make = still_with_sound if picture.modality is Modality.IMAGE else film_with_sound
    detail = f"{what} and sound in one MP4, sound as AAC" + ("; the picture stands" if what == "image" else "")
    changes = [Adaptation("muxed", "lossy", detail)]
    if picture.modality is Modality.VIDEO and has_sound(seen):
        changes.insert(0, MUTED)
    adapted = Adapted((make(picture, seen, heard),), tuple(changes))
    return _fitting(adapted, Modality.VIDEO, taken, f"the film of {what} {picture.sha256[:12]} and its sound")


def _fitting(adapted: Adapted, kind: Modality, taken: Taken, name: str) -> Adapted:
    """The same with every piece as small as the server wants it."""
    most = taken.most_bytes
    if most is None or all(len(piece.data) <= most for piece in adapted.pieces):
        return adapted
    pieces: list[Piece] = []
    changes = list(adapted.adaptations)
    for piece in adapted.pieces:
        smaller = _smaller(piece, kind, taken, most) if len(piece.data) > most else (piece, None)
        if smaller is None:
            raise TooLarge(f"{name}: {len(piece.data)} bytes, and the endpoint takes {most}; cut it or scale it down")
        pieces.append(smaller[0])
        if smaller[1] is not None and smaller[1] not in changes:
            changes.append(smaller[1])
    return Adapted(tuple(pieces), tuple(changes), adapted.frames_requested)


def _smaller(piece: Piece, kind: Modality, taken: Taken, most: int) -> tuple[Piece, Adaptation] | None:
    match kind:
        case Modality.IMAGE:
            return smaller_image(piece, most) if "image/jpeg" in taken.media_types else None
        case Modality.AUDIO:
            return smaller_audio(piece, most, taken.media_types)
        case _:
            return smaller_video(piece, most) if "video/mp4" in taken.media_types else None
