"""From what was perceived to an answer: pure, and silent about what is not known."""

from collections.abc import Mapping, Sequence

from core.content import Frozen
from evaluation.models.sim.grammar import Ask, AskKind, Hearing, Language, Sight, Understood
from evaluation.models.sim.percepts import Clip, Percept, Picture, Sound

NOTHING: Mapping[Language, str] = {"en": "none", "zh": "无"}


class Known(Frozen):
    """All that a member has to answer with.

    Attributes:
        counts: What was counted, and the spoken number.
        photos: Label of the photo at each place, counted from 1.
        picture: Label of the image as a whole.
        report: For each piece of media in the order received, what a delivery canary asks for.
    """

    counts: Mapping[Sight | Hearing, int] = {}
    photos: Mapping[int, str] = {}
    picture: str | None = None
    report: tuple[str, ...] = ()


def know(percepts: Sequence[Percept], labels: Sequence[str], said: Understood) -> Known:
    """Put percepts, and what captions say where nothing was perceived, together.

    The first of two images, recordings or videos counts. The track of a video is listened to where no recording came.
    """
    counts = dict(said.counts)
    photos = dict(said.photos)
    tracks = [clip.sound for clip in percepts if isinstance(clip, Clip) and clip.sound is not None]
    recordings = [percept for percept in percepts if isinstance(percept, Sound)]
    for sound in reversed(recordings or tracks):
        counts |= _heard(sound)
    for clip in reversed([percept for percept in percepts if isinstance(percept, Clip)]):
        counts |= {Sight.FLASHES: clip.flashes, Sight.DOTS: clip.dots}
        photos |= {place: labels[photo] for place, photo in enumerate(clip.shots, start=1)}
    pictures = [percept for percept in percepts if isinstance(percept, Picture)]
    for picture in reversed(pictures):
        counts[Sight.DOTS] = picture.dots
        photos |= {place: labels[photo] for place, photo in enumerate(picture.tiles, start=1) if photo is not None}
    whole = pictures[0].photo if pictures else None
    return Known(
        counts=counts,
        photos=photos,
        picture=None if whole is None else labels[whole],
        report=tuple(_entry(percept, said.language) for percept in percepts),
    )


def work_out(ask: Ask, known: Known, language: Language) -> str | None:
    """The answer to one question, or None where something that it needs is not known."""
    seen = known.counts.get(ask.sight) if ask.sight else None
    heard = known.counts.get(ask.hearing) if ask.hearing else None
    match ask.kind:
        case AskKind.SUM:
            return None if seen is None or heard is None or not ask.modulus else str((seen + heard) % ask.modulus)
        case AskKind.SAME:
            either = heard if seen is None else seen
            return None if either is None else str(either)
        case AskKind.SEEN:
            return None if seen is None else str(seen)
        case AskKind.HEARD:
            return None if heard is None else str(heard)
        case AskKind.POINTED:
            return None if heard is None else known.photos.get(heard)
        case AskKind.PLACED:
            return None if ask.place is None else known.photos.get(ask.place)
        case AskKind.PICTURE:
            return known.picture
        case AskKind.REPORT:
            return ", ".join(known.report) or NOTHING[language]


def _heard(sound: Sound) -> dict[Sight | Hearing, int]:
    heard: dict[Sight | Hearing, int] = {Hearing.BEEPS: sound.beeps}
    if sound.digits and None not in sound.digits:
        heard[Hearing.NUMBER] = int("".join(map(str, sound.digits)))
    return heard


def _entry(percept: Percept, language: Language) -> str:
    match percept:
        case Picture():
            return str(percept.dots)
        case Clip():
            return str(percept.flashes)
        case Sound():
            spoken = "".join(str(digit) for digit in percept.digits if digit is not None)
            return spoken or str(percept.beeps or NOTHING[language])
