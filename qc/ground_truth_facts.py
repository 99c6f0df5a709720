"""What an item of exact need shows, sounds and asks: drawn first, then made into media."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from core.content import Frozen, Modality
from core.errors import InterplayError
from core.media.audio import Samples
from evaluation.models.sim import stimuli
from evaluation.models.sim.gallery import LabelledPhoto
from evaluation.models.sim.grammar import CAPTIONS, PHOTO_CAPTION, Ask, AskKind, Hearing, Language, Sight

CHOICE_COUNT = 4
_PLACES = range(1, CHOICE_COUNT + 1)
# Multiples of the modulus, so that each count alone is uniform modulo it.
_MOST_SEEN = {Sight.DOTS: 8, Sight.FLASHES: 4}
_MOST_HEARD = {Hearing.NUMBER: 8, Hearing.BEEPS: 4}


class TruthClass(StrEnum):
    """What is true of an item, whatever a check finds.

    `sound`: needs every modality. `redundant`: either alone answers. `leaked`: the text gives the answer away.
    `partial`: one modality is not needed. `mis_keyed`: sound, but the key names a wrong choice. `impossible`: asks for
    what is in none.
    """

    SOUND = "sound"
    REDUNDANT = "redundant"
    LEAKED = "leaked"
    PARTIAL = "partial"
    MIS_KEYED = "mis_keyed"
    IMPOSSIBLE = "impossible"


class Family(StrEnum):
    """What an item asks for: a sum modulo four, a photo that is pointed to, or either in three steps."""

    SUM = "sum"
    PHOTO = "photo"
    STEPS = "steps"


class TooFewMaterials(InterplayError):
    """Photos or digits that are missing."""


class Materials(Frozen):
    """What items are made from: at least four photos with different labels, and a recording of each digit 1 to 8."""

    photos: tuple[LabelledPhoto, ...]
    digits: Mapping[int, Path]

    def check(self) -> None:
        """Refuse to go on with too little.

        Raises:
            TooFewMaterials: Fewer than four photos, or a digit is missing.
        """
        missing = sorted(set(range(1, max(_MOST_HEARD.values()) + 1)) - set(self.digits))
        if missing:
            raise TooFewMaterials(
                f"there is no recording of the digit {missing[0]}; give one for each digit from 1 to 8"
            )
        if len({photo.label_en for photo in self.photos}) < CHOICE_COUNT:
            raise TooFewMaterials(f"{len(self.photos)} photos are too few; give at least 4 with different labels")


class MediaFile(Frozen):
    """Media bytes, and what they hold in words."""

    media_type: Literal["image/jpeg", "audio/wav", "video/mp4"]
    data: bytes = Field(repr=False)
    caption: str

    @property
    def extension(self) -> str:
        """For a file name."""
        return {"image/jpeg": "jpg", "audio/wav": "wav", "video/mp4": "mp4"}[self.media_type]


@dataclass(frozen=True)
class Design:
    """What kind of item it is to be; `key_place` is where the right choice stands."""

    truth: TruthClass
    family: Family
    language: Language
    sight: Sight
    key_place: int


@dataclass(frozen=True)
class Facts:
    """What the media hold and what is asked about them.

    Attributes:
        seen: Dots or flashes.
        heard: Beeps, or the spoken number.
        photos: Four photos that are shown instead of something to count; or none.
        asks: The question, after its steps if it has any; empty where something is asked that is in no media.
    """

    language: Language
    sight: Sight
    hearing: Hearing
    seen: int
    heard: int
    photos: tuple[LabelledPhoto, ...]
    asks: tuple[Ask, ...]

    @property
    def modality(self) -> Modality:
        """Of what is shown."""
        return Modality.IMAGE if self.sight is Sight.DOTS else Modality.VIDEO

    def label(self, place: int) -> str:
        """What the photo at that place shows, counted from 1."""
        photo = self.photos[place - 1]
        return photo.label_zh if self.language == "zh" else photo.label_en

    def answer(self, ask: Ask) -> str:
        """The right answer."""
        match ask.kind:
            case AskKind.SUM:
                return str((self.seen + self.heard) % CHOICE_COUNT)
            case AskKind.POINTED:
                return self.label(self.heard)
            case AskKind.PLACED:
                return self.label(ask.place or 1)
            case AskKind.HEARD:
                return str(self.heard)
            case _:
                return str(self.seen)

    def options(self) -> list[str]:
        """The choices, which hold the right answer and tell nothing about it."""
        kind = self.asks[-1].kind if self.asks else None
        if kind in (AskKind.POINTED, AskKind.PLACED):
            return [self.label(place) for place in _PLACES]
        return [str(number) for number in (range(CHOICE_COUNT) if kind in (AskKind.SUM, None) else _PLACES)]


def draw(design: Design, materials: Materials, rng: np.random.Generator) -> Facts:
    """Facts in which what is seen and what is heard are independent, except where both give the same number."""
    redundant = design.truth is TruthClass.REDUNDANT
    hearing = tuple(Hearing)[int(rng.integers(2))]
    pictured = design.family is Family.PHOTO or (design.family is Family.STEPS and bool(rng.integers(2)))
    photos = [materials.photos[row] for row in rng.permutation(len(materials.photos))[:CHOICE_COUNT]]
    most_seen, most_heard = _MOST_SEEN[design.sight], _MOST_HEARD[hearing]
    if pictured or redundant or design.truth is TruthClass.PARTIAL:
        # Numbers that are themselves the four choices, or the places of the four photos.
        most_seen = most_heard = CHOICE_COUNT
    seen, heard = int(rng.integers(1, most_seen + 1)), int(rng.integers(1, most_heard + 1))
    return Facts(
        language=design.language,
        sight=design.sight,
        hearing=hearing,
        seen=seen,
        heard=seen if redundant else heard,
        photos=tuple(photos) if pictured and not redundant else (),
        asks=_asks(design, hearing, pictured, rng),
    )


def _asks(design: Design, hearing: Hearing, pictured: bool, rng: np.random.Generator) -> tuple[Ask, ...]:
    seen, heard = Ask(kind=AskKind.SEEN, sight=design.sight), Ask(kind=AskKind.HEARD, hearing=hearing)
    placed = Ask(kind=AskKind.PLACED, place=int(rng.integers(1, CHOICE_COUNT + 1)))
    match design.truth:
        case TruthClass.IMPOSSIBLE:
            return ()
        case TruthClass.REDUNDANT:
            return (Ask(kind=AskKind.SAME, sight=design.sight, hearing=hearing),)
        case TruthClass.PARTIAL:
            return ((placed if pictured else seen, heard)[int(rng.integers(2))],)
    if pictured:
        steps, last = (heard, placed), Ask(kind=AskKind.POINTED, hearing=hearing)
    else:
        total = Ask(kind=AskKind.SUM, sight=design.sight, hearing=hearing, modulus=CHOICE_COUNT)
        steps, last = (seen, heard), total
    return (*steps, last) if design.family is Family.STEPS else (last,)


def make_media(
    facts: Facts, materials: Materials, rng: np.random.Generator, *, soundtrack: bool
) -> dict[str, MediaFile]:
    """The picture or film and the recording, by placeholder name."""
    background = materials.photos[int(rng.integers(len(materials.photos)))].path if rng.integers(2) else None
    if facts.hearing is Hearing.BEEPS:
        sound = stimuli.beeps(facts.heard, rng)
    else:
        sound = stimuli.spoken([materials.digits[facts.heard]], rng)
    heard = CAPTIONS[facts.hearing][facts.language].format(count=facts.heard)
    recording = MediaFile(media_type="audio/wav", data=stimuli.wav(sound), caption=heard)
    if facts.modality is Modality.IMAGE:
        shown = MediaFile(media_type="image/jpeg", data=_image(facts, background, rng), caption=_caption(facts))
        return {"image_1": shown, "audio_1": recording}
    video = _video(facts, background, rng, sound if soundtrack else None)
    return {
        "video_1": MediaFile(media_type="video/mp4", data=video, caption=_caption(facts)),
        "audio_1": recording,
    }


def _image(facts: Facts, background: Path | None, rng: np.random.Generator) -> bytes:
    if facts.photos:
        return stimuli.grid_picture(_files(facts.photos))
    return stimuli.dots_picture(facts.seen, rng, background)


def _video(facts: Facts, background: Path | None, rng: np.random.Generator, track: Samples | None) -> bytes:
    if facts.photos:
        return stimuli.photos_video(_files(facts.photos), track)
    return stimuli.flashes_video(facts.seen, rng, background, track)


def _files(photos: Sequence[LabelledPhoto]) -> list[Path]:
    return [photo.path for photo in photos]


def _caption(facts: Facts) -> str:
    if not facts.photos:
        return CAPTIONS[facts.sight][facts.language].format(count=facts.seen)
    form = PHOTO_CAPTION[facts.language]
    return " ".join(form.format(place=place, label=facts.label(place)) for place in _PLACES)
