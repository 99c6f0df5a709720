"""The conditions of an evaluation, by name; those that put something in a modality's place are made for each item."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.condition import (
    FULL,
    IN_WORDS,
    OPTIONS_ONLY,
    SENSES,
    TEXT_ONLY,
    WITHOUT_VISUAL,
    Condition,
    with_donor,
    without,
)
from core.content import MediaRef, Modality
from core.errors import UnknownName
from core.question import Question
from evaluation.caption_conditions import Words

STANDARD: Mapping[str, Condition] = {
    condition.name: condition
    for condition in (FULL, *(without(modality) for modality in SENSES), WITHOUT_VISUAL, TEXT_ONLY, OPTIONS_ONLY)
}
PLACEBO: Mapping[str, Modality] = {f"donor_for_{modality.value}": modality for modality in SENSES}
NAMES = (*STANDARD, *IN_WORDS, *PLACEBO)


def check_names(names: Sequence[str]) -> None:
    """Make sure that all are names of conditions.

    Raises:
        UnknownName: One is not.
    """
    for name in names:
        if name not in NAMES:
            raise UnknownName("condition", name, NAMES)


class Donors:
    """For each piece of media another item's, as like it in length as there is: a placebo.

    Args:
        questions: All questions, by revision id.
        clusters: Revision id to what it hangs together with (twins, shared media): nothing is taken from there.
    """

    def __init__(self, questions: Mapping[str, Question], clusters: Mapping[str, object]) -> None:
        self._clusters = clusters
        self._media: dict[Modality, dict[str, tuple[MediaRef, set[object]]]] = defaultdict(dict)
        for revision_id, question in questions.items():
            for part in question.media:
                media = self._media[part.media.modality]
                _, holders = media.setdefault(part.media.sha256, (part.media, set()))
                holders.add(clusters.get(revision_id, revision_id))

    def condition(self, modality: Modality, revision_id: str, question: Question) -> Condition | None:
        """The placebo condition of a question; None when no other item has media of that modality."""
        own = self._clusters.get(revision_id, revision_id)
        others = [media for media, holders in self._media[modality].values() if own not in holders]
        if not others:
            return None
        wanted = [part.media for part in question.media if part.media.modality is modality]
        donors: dict[str, MediaRef] = {}
        for media in wanted:
            free = [one for one in others if one not in donors.values()] or others
            donors[media.sha256] = min(free, key=lambda one: _unlike(one, media))
        return with_donor(modality, donors)


def _unlike(donor: MediaRef, media: MediaRef) -> tuple[float, str]:
    """How unlike in length or size; equal ones in an order that nobody chose."""
    if media.duration_s is not None and donor.duration_s is not None:
        return abs(donor.duration_s - media.duration_s), donor.sha256
    return abs((donor.width_px or 0) - (media.width_px or 0)), donor.sha256


@dataclass(frozen=True)
class Conditions:
    """Conditions by name, made for each question; `missing` counts questions for which one could not be made.

    Args:
        names: Of `NAMES`.
        words: Accepted captions and transcripts.
        donors: For placebos.
    """

    names: Sequence[str]
    words: Words
    donors: Donors
    missing: Counter[str] = field(default_factory=Counter)

    def of(self, revision_id: str, question: Question) -> list[Condition]:
        """Those that apply to a question."""
        made = (self._made(name, revision_id, question) for name in self.names)
        return [condition for condition in made if condition is not None and condition.applies_to(question)]

    def _made(self, name: str, revision_id: str, question: Question) -> Condition | None:
        if name in STANDARD:
            return STANDARD[name]
        if name in IN_WORDS:
            self.missing[name] += bool(self.words.missing(name, revision_id, question))
            return self.words.condition(name, revision_id, question)
        if PLACEBO[name] not in question.modalities:
            return None
        placebo = self.donors.condition(PLACEBO[name], revision_id, question)
        self.missing[name] += placebo is None
        return placebo
