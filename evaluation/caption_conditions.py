"""The conditions that show words in the place of media: one for each question, of its own media's accepted texts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from core.condition import IN_WORDS, Condition, in_words
from core.content import MediaPart, Modality
from core.question import Question
from warehouse.caption_texts import AcceptedText, accepted_texts
from warehouse.captions import KINDS, language_of
from warehouse.release.records import materials_of
from warehouse.tables import CaptionKind


@dataclass(frozen=True)
class MissingWords:
    """Media of a question that have no accepted words in its language."""

    revision_id: str
    placeholder: str
    kind: CaptionKind
    language: str


@dataclass(frozen=True)
class CaptionSource:
    """How many of the accepted texts of one kind are by the same hand: 'gemini', 'gemini, edited by mei', 'people'."""

    kind: CaptionKind
    whose: str
    count: int


class Words:
    """The accepted words of the media of questions.

    Args:
        session: Reads the materials and their captions once.
        revision_ids: Of all questions that will be asked about.
    """

    def __init__(self, session: Session, revision_ids: Sequence[str]) -> None:
        self._materials = materials_of(session, revision_ids)
        used = {one.id: one for placed in self._materials.values() for one in placed.values()}
        self._texts = accepted_texts(session, used.values())

    def condition(self, name: str, revision_id: str, question: Question) -> Condition | None:
        """The condition of that name (of `IN_WORDS`) for a question, holding its own media's words and no others.

        None when the question has no such media, or when any of them has no accepted words: `missing` tells them apart.
        """
        words: dict[Modality, dict[str, str]] = {}
        for part in _treated(name, question):
            found = self._text(revision_id, part, question.language)
            if found is None:
                return None
            words.setdefault(part.media.modality, {})[part.media.sha256] = found.text
        return in_words(name, words) if words else None

    def missing(self, name: str, revision_id: str, question: Question) -> list[MissingWords]:
        """The question's media that the condition needs words for and that have none."""
        return [
            MissingWords(revision_id, part.name, KINDS[part.media.modality], language_of(question.language))
            for part in _treated(name, question)
            if self._text(revision_id, part, question.language) is None
        ]

    def sources(self, questions: Iterable[tuple[str, Question]]) -> list[CaptionSource]:
        """Whose words stand for the questions' media, each medium and language counted once; by kind, most first."""
        texts = {
            (material.id, language_of(question.language)): (KINDS[part.media.modality], found.whose)
            for revision_id, question in questions
            for part in question.media
            if (found := self._text(revision_id, part, question.language)) is not None
            and (material := self._materials[revision_id][part.name])
        }
        counts = Counter(texts.values())
        ordered = sorted(counts.items(), key=lambda one: (one[0][0].value, -one[1], one[0][1]))
        return [CaptionSource(kind, whose, count) for (kind, whose), count in ordered]

    def _text(self, revision_id: str, part: MediaPart, language: str) -> AcceptedText | None:
        material = self._materials.get(revision_id, {}).get(part.name)
        if material is None:
            return None
        texts = self._texts[material.id]
        return texts.get(language_of(language)) or texts.get("")


def sources_lines(sources: Sequence[CaptionSource]) -> list[str]:
    """For a report: 'captions by gemini (12); gemini, edited by mei (3)'."""
    by_kind: dict[CaptionKind, list[str]] = {}
    for one in sources:
        by_kind.setdefault(one.kind, []).append(f"{one.whose} ({one.count})")
    return [f"{kind.value}s by {'; '.join(told)}" for kind, told in by_kind.items()]


def _treated(name: str, question: Question) -> list[MediaPart]:
    return [part for part in question.media if part.media.modality in IN_WORDS[name]]
