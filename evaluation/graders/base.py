"""What a grader is, and what all rule graders share: an answer is cleaned, marked, and the mark is signed."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from core.grading import Grade
from core.question import AnswerKey, Question
from evaluation.graders.cleaning import MOST_KEPT, clean
from evaluation.graders.reading import (
    after_correction,
    declines,
    has_content,
    instructs,
    offers_another,
    without_instructions,
)
from evaluation.graders.verdicts import Mark, Verdict, Why, invalid_response, not_graded, shown, wrong


class Grader(Protocol):
    """Grades a stored answer to a whole question."""

    @property
    def fingerprint(self) -> str:
        """`name@version`, which signs every grade."""
        ...

    def grade(self, question: Question, answer_text: str) -> Grade:
        """Points for the answer, or None with a reason when this grader cannot tell. Never raises on any text."""
        ...


@runtime_checkable
class KeyGrader(Grader, Protocol):
    """Grades the answer to a sub-question too, which has a key of its own."""

    def grade_key(self, key: AnswerKey, answer_text: str, language: str, ask: str = "") -> Grade:
        """Grade against a key alone; `ask` are the words of the sub-question, for rules that need them."""
        ...


@dataclass(frozen=True)
class RuleGrader(ABC):
    """A rule over cleaned text; it has no state but its name."""

    fingerprint: str

    def grade(self, question: Question, answer_text: str) -> Grade:
        """Grade an open question by its key."""
        return self.grade_key(question.answer, answer_text, question.language, question.prompt_text)

    def grade_key(self, key: AnswerKey, answer_text: str, language: str, ask: str = "") -> Grade:
        """Grade any answer text by a key."""
        return self.read(answer_text, lambda answer: self.mark(key, answer, language, ask), key.accepted)

    def read(self, answer_text: str, rule: "Rule", accepted: Sequence[str] = ()) -> Grade:
        """Clean the text, stop at responses that are no answer, else apply the rule and sign what it says.

        Sentences that tell the grader what to do are left out, unless one of the `accepted` texts is such a sentence.
        """
        answer = answer_of(answer_text, accepted)
        return (answer if isinstance(answer, Mark) else _settled(answer, rule)).signed(self.fingerprint)

    @abstractmethod
    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Mark a cleaned answer that holds at least one visible character."""


class Rule(Protocol):
    """A cleaned answer to a mark."""

    def __call__(self, answer: str, /) -> Mark:
        """Mark the answer."""
        ...


def answer_of(answer_text: str, accepted: Sequence[str] = (), most: int = MOST_KEPT) -> str | Mark:
    """The cleaned answer without what it tells the grader to do, or the mark of a response that holds no answer."""
    answer = clean(answer_text, most)
    if answer is None:
        return invalid_response(Why.UNCLOSED_THINKING, "the thinking never ends, so nothing was answered")
    if not answer:
        return invalid_response(Why.EMPTY, "nothing stands outside the thinking")
    if not any(map(instructs, accepted)):
        answer = without_instructions(answer)
    return answer or wrong("it only tells the grader what to do")


def _settled(answer: str, rule: Rule) -> Mark:
    """The mark of what stands at the end: what follows "no, wait" counts, and of two offered answers neither does."""
    whole = rule(answer)
    if whole.verdict is not Verdict.INVALID and offers_another(answer):
        return not_graded(Why.HEDGED, f"{shown(answer[-200:])} offers another answer")
    corrected = after_correction(answer)
    last = whole if corrected is None else rule(corrected)
    if last.verdict is Verdict.RIGHT or whole.verdict is not Verdict.RIGHT:
        return last if last.verdict in (Verdict.RIGHT, Verdict.WRONG) else whole
    if last.verdict is Verdict.WRONG and last.why is None:
        return last
    return not_graded(Why.HEDGED, f"{shown(answer[-200:])} takes back an accepted answer")


def nothing_found(answer: str, sought: str) -> Mark:
    """The mark of an answer in which a rule found nothing to compare: declined, no content, or not understood."""
    if declines(answer):
        return invalid_response(Why.REFUSAL, f"the response declines to answer: {shown(answer)}")
    if not has_content(answer):
        return wrong(f"nothing is answered in {shown(answer)}")
    return not_graded(Why.UNREAD, f"no {sought} could be read in {shown(answer)}")
