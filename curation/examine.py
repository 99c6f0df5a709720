"""What is done with one untrusted file, in a worker process: decode, strip, take apart, look, judge."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from core.content import MediaRef, Modality
from core.media.audio import load_audio, strip_container
from core.media.image import load_image, strip_image
from core.media.limits import MediaLimits
from core.media.probe import MediaProbe, probe
from core.media.video import demux, iter_frames
from curation.dedupe.looks import AUDIO_RATE_HZ, audio_looks, image_looks, video_looks
from curation.dedupe.renditions import FILM_HZ
from curation.filters.catalogue import Judgement, judge
from curation.filters.thresholds import Thresholds
from curation.filters.views import FRAMES_HZ, hear, see, small_grey, watch


@dataclass(frozen=True)
class Examined:
    """A working copy: what it is, what it looks or sounds like, and what the filters say. All JSON values."""

    ref: MediaRef
    looks: dict[str, Any]
    measures: dict[str, Any]
    drop_reason: str | None = None
    drop_measure: str | None = None


@dataclass(frozen=True)
class Examination:
    """A file examined: its working copy, and for a video its sound, which starts `offset_s` after the picture.

    `copies` are the bytes that the references name.
    """

    main: Examined
    sound: Examined | None = None
    offset_s: float = 0.0
    copies: tuple[bytes, ...] = field(default=(), repr=False)


def examine(path: Path, limits: MediaLimits, thresholds: Thresholds) -> Examination:
    """Probe a file in full and make its working copies.

    Raises:
        MediaError: The file cannot be taken; the class says why.
    """
    found = probe(path, limits)
    match found.modality:
        case Modality.IMAGE:
            copy = strip_image(path.read_bytes(), limits)
            return Examination(_image(copy, found, limits, thresholds), copies=(copy,))
        case Modality.AUDIO:
            copy = strip_container(path, limits)
            return Examination(_audio(copy, found, limits, thresholds), copies=(copy,))
        case _:
            return _take_apart(path, found, limits, thresholds)


def _take_apart(path: Path, found: MediaProbe, limits: MediaLimits, thresholds: Thresholds) -> Examination:
    parts = demux(path, limits)
    main = _video(parts.muted_video, found, limits, thresholds)
    if parts.audio is None:
        return Examination(main, copies=(parts.muted_video,))
    sound = _audio(parts.audio, None, limits, thresholds)
    return Examination(main, sound, parts.offset_s, (parts.muted_video, parts.audio))


def _image(copy: bytes, received: MediaProbe, limits: MediaLimits, thresholds: Thresholds) -> Examined:
    checked = probe(copy, limits)
    image = load_image(copy, limits)
    judgement = judge(see(image), Modality.IMAGE, thresholds)
    return _examined(checked, received, image_looks(image), judgement)


def _audio(copy: bytes, received: MediaProbe | None, limits: MediaLimits, thresholds: Thresholds) -> Examined:
    checked = probe(copy, limits)
    judgement = judge(hear(copy, checked.media_ref(), limits), Modality.AUDIO, thresholds)
    looks = audio_looks(load_audio(copy, AUDIO_RATE_HZ, limits=limits))
    return _examined(checked, received or checked, looks, judgement)


def _video(copy: bytes, received: MediaProbe, limits: MediaLimits, thresholds: Thresholds) -> Examined:
    checked = probe(copy, limits)
    looked_at: list[Image.Image] = []

    def frames() -> Iterator[Image.Image]:
        for place, (_, pixels) in enumerate(iter_frames(copy, at_hz=FRAMES_HZ, limits=limits)):
            grey = small_grey(pixels)
            if place % (FRAMES_HZ // FILM_HZ) == 0:
                looked_at.append(grey)
            yield grey

    judgement = judge(watch(frames(), checked.media_ref(), thresholds), Modality.VIDEO, thresholds)
    return _examined(checked, received, video_looks(looked_at), judgement)


def _examined(checked: MediaProbe, received: MediaProbe, looks: dict[str, Any], judgement: Judgement) -> Examined:
    facts = received.model_dump(mode="json", exclude={*MediaRef.model_fields}, exclude_none=True)
    drop = judgement.drop
    return Examined(
        ref=checked.media_ref(),
        looks=looks,
        measures={"as_received": facts, **judgement.measures},
        drop_reason=drop.reason if drop else None,
        drop_measure=f"{drop.drop_class.value}: {drop.measure}" if drop else None,
    )
