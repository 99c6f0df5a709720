"""What a grader is, and what all rule graders share: an answer is cleaned, marked, and the mark is signed."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from core.grading import Grade
from core.question import AnswerKey, Question
from evaluation.graders.cleaning import clean
from evaluation.graders.reading import declines, has_content
from evaluation.graders.verdicts import Mark, Why, invalid_response, not_graded, shown, wrong


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
        return self.read(answer_text, lambda answer: self.mark(key, answer, language, ask))

    def read(self, answer_text: str, rule: "Rule") -> Grade:
        """Clean the text, stop at responses that are no answer, else apply the rule and sign what it says."""
        return _mark_cleaned(answer_text, rule).signed(self.fingerprint)

    @abstractmethod
    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Mark a cleaned answer that holds at least one visible character."""


class Rule(Protocol):
    """A cleaned answer to a mark."""

    def __call__(self, answer: str, /) -> Mark:
        """Mark the answer."""
        ...


def _mark_cleaned(answer_text: str, rule: Rule) -> Mark:
    answer = clean(answer_text)
    if answer is None:
        return invalid_response(Why.UNCLOSED_THINKING, "the thinking never ends, so nothing was answered")
    if not answer:
        return invalid_response(Why.EMPTY, "nothing stands outside the thinking")
    return rule(answer)


def nothing_found(answer: str, sought: str) -> Mark:
    """The mark of an answer in which a rule found nothing to compare: declined, no content, or not understood."""
    if declines(answer):
        return invalid_response(Why.REFUSAL, f"the response declines to answer: {shown(answer)}")
    if not has_content(answer):
        return wrong(f"nothing is answered in {shown(answer)}")
    return not_graded(Why.UNREAD, f"no {sought} could be read in {shown(answer)}")
