"""The conditions of an evaluation, by name; those that put something in a modality's place are made for each item."""

from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain

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
from core.provenance import content_hash
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
    """For each piece of media another item's of like length: a placebo.

    Among those that are half to twice as long, chance decides (the same in every run), for the very nearest may say the
    very same. Nothing is taken from items that hang together with the asked one, or whose answer is the same.

    Args:
        questions: All questions, by revision id.
        clusters: Revision id to what it hangs together with (twins, shared media): nothing is taken from there.
    """

    def __init__(self, questions: Mapping[str, Question], clusters: Mapping[str, object]) -> None:
        self._clusters = clusters
        self._media: dict[Modality, dict[str, _Donor]] = defaultdict(dict)
        for revision_id, question in questions.items():
            for part in question.media:
                donor = self._media[part.media.modality].setdefault(part.media.sha256, _Donor(part.media))
                donor.held_in.add(clusters.get(revision_id, revision_id))
                donor.answers.add(_answer_of(question))
        self._order = {modality: sorted(media) for modality, media in self._media.items()}

    def condition(self, modality: Modality, revision_id: str, question: Question) -> Condition | None:
        """The placebo condition of a question; None when no other item can give media of that modality."""
        own, answer = self._clusters.get(revision_id, revision_id), _answer_of(question)
        donors: dict[str, MediaRef] = {}
        for media in (part.media for part in question.media if part.media.modality is modality):
            others = (
                donor.media
                for donor in self._from(modality, media)
                if own not in donor.held_in and answer not in donor.answers
            )
            found = _first_alike(others, media, set(donors.values()))
            if found is None:
                return None
            donors[media.sha256] = found
        return with_donor(modality, donors)

    def _from(self, modality: Modality, media: MediaRef) -> Iterator["_Donor"]:
        """All media of a modality, once around from a place that the asked one's hash chooses."""
        order = self._order[modality]
        start = bisect(order, content_hash(media.sha256))
        return (self._media[modality][sha256] for sha256 in chain(order[start:], order[:start]))


def _first_alike(others: Iterable[MediaRef], media: MediaRef, taken: Set[MediaRef]) -> MediaRef | None:
    """The first of like length that stands for no other medium of the question yet; else the first that may be."""
    first: MediaRef | None = None
    for one in others:
        if one not in taken and _is_alike(one, media):
            return one
        first = first or one
    return first


@dataclass
class _Donor:
    """Media, what holds them, and the answers to what they are asked in."""

    media: MediaRef
    held_in: set[object] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)


def _answer_of(question: Question) -> str:
    """The key by what it says, wherever the right choice stands."""
    right = [question.choices[index].text for index in question.answer.correct]
    return content_hash([right, question.answer.accepted, [step.answer.accepted for step in question.steps]])


def _is_alike(donor: MediaRef, media: MediaRef) -> bool:
    """Whether it is half to twice as long; media without a length are all alike."""
    if donor.duration_s is None or media.duration_s is None:
        return True
    return media.duration_s / 2 <= donor.duration_s <= media.duration_s * 2


@dataclass(frozen=True)
class Conditions:
    """Conditions by name, made for each question.

    `made` counts the questions for each name, `missing` those for which it could not be made.

    Args:
        names: Of `NAMES`.
        words: Accepted captions and transcripts.
        donors: For placebos.
    """

    names: Sequence[str]
    words: Words
    donors: Donors
    missing: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)

    @property
    def idle(self) -> list[str]:
        """Names of those that applied to no question so far."""
        return [name for name in self.names if not self.made[name] and not self.missing[name]]

    def of(self, revision_id: str, question: Question) -> list[Condition]:
        """Those that apply to a question."""
        made = (self._made(name, revision_id, question) for name in self.names)
        found = [condition for condition in made if condition is not None and condition.applies_to(question)]
        self.made.update(condition.name for condition in found)
        return found

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
