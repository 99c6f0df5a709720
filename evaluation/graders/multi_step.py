"""Multi-step questions: one answer text holds all steps, each graded by the rule of its own key."""

import re
from dataclasses import dataclass

from core.errors import InterplayError
from core.grading import Grade
from core.question import POINTS_TOTAL, Question, Step
from evaluation.graders import grader_for_key
from evaluation.graders.base import KeyGrader, nothing_found
from evaluation.graders.cleaning import clean, tidy
from evaluation.graders.numerals import chinese_value
from evaluation.graders.verdicts import Mark, Verdict, Why, invalid_response, not_graded, verdict_of, why_of, wrong

_ENGLISH = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_POINTS = r"(?: ?[(\[][^()\[\]\n]{1,20}[)\]])?"
_END = r"(?P<end> ?(?:[:)、=-]|\.(?!\d)){1,2}|$| is\b| ?(?:是|为))"
_NAMED = re.compile(
    r"(?:^|(?<=[;,。.!?]) ?)(?:(?:final )?answer (?:to|for) )?(?:"
    rf"(?:step|part|question|sub-?question|q|answer) ?#?\(?(?P<english>\d{{1,2}}|{'|'.join(_ENGLISH)})\)?"
    r"|(?:步骤|第|问题|小题|答案|小问) ?\(?(?P<chinese>\d{1,2}|[一二三四五六七八九十]{1,3})\)? ?(?:步骤?|小?[题问])?"
    rf"){_POINTS}(?: answer)?{_END}",
    re.IGNORECASE | re.MULTILINE,
)
_BARE = re.compile(r"^(?:(?P<plain>\d{1,2}) ?(?:[)、]|[.:](?!\d))|\((?P<bracketed>\d{1,2})\))", re.MULTILINE)


class StepNotGradable(InterplayError):
    """A step names a grader that grades whole questions only."""


@dataclass(frozen=True)
class MultiStepGrader:
    """The sum of the points of the right steps; a mistake in one step does not count again in the next."""

    fingerprint: str

    def grade(self, question: Question, answer_text: str) -> Grade:
        """Grade each step; the total is None as soon as one step is.

        Raises:
            UnknownName: A step's key names no registered grader.
            StepNotGradable: A step's key names a grader of whole questions.
        """
        answer = clean(answer_text)
        blocks = parse_steps(answer_text, len(question.steps)) if answer else {}
        if not answer:
            why = Why.UNCLOSED_THINKING if answer is None else Why.EMPTY
            return self._same_for_all(invalid_response(why, "no step is answered"), question)
        if not blocks:
            return self._same_for_all(nothing_found(answer, "step"), question)
        grades = [
            self._grade_step(number, step, blocks.get(number), question.language)
            for number, step in enumerate(question.steps, start=1)
        ]
        return self._total(question.steps, grades)

    def _grade_step(self, number: int, step: Step, block: str | None, language: str) -> Grade:
        if block is None:
            return wrong("the step is missing").signed(self.fingerprint)
        entry = grader_for_key(step.answer)
        grader = entry.load()
        if not isinstance(grader, KeyGrader):
            raise StepNotGradable(
                f"step {number} names the grader {entry.name!r}, which grades whole questions; name another"
            )
        return grader.grade_key(step.answer, block, language, step.ask)

    def _total(self, steps: tuple[Step, ...], grades: list[Grade]) -> Grade:
        told = "; ".join(f"step {number} {grade.reason}" for number, grade in enumerate(grades, start=1))
        shares = tuple(grade.points for grade in grades)
        earned = sum(step.points * share for step, share in zip(steps, shares, strict=True) if share is not None)
        words = f"{earned:g} of {POINTS_TOTAL} points; {told}"
        if None in shares:
            mark = not_graded(Why.OPEN_STEP, f"at least {words}")
        elif all(verdict_of(grade) is Verdict.INVALID for grade in grades):
            mark = invalid_response(why_of(grades[0]) or Why.EMPTY, words)
        else:
            verdict = Verdict.WRONG if not earned else Verdict.RIGHT if earned == POINTS_TOTAL else Verdict.PARTIAL
            return Grade(
                points=earned / POINTS_TOTAL,
                reason=f"{verdict.value}: {words}",
                grader=self.fingerprint,
                step_points=shares,
            )
        return mark.signed(self.fingerprint).model_copy(update={"step_points": shares})

    def _same_for_all(self, mark: Mark, question: Question) -> Grade:
        return mark.signed(self.fingerprint).model_copy(update={"step_points": (mark.points,) * len(question.steps)})


def parse_steps(answer_text: str, count: int) -> dict[int, str]:
    """The answer to each step by its number, from 1; steps that the text does not answer are left out.

    A block begins at "Step 1:", 步骤1：, 第一步, "Part 1", "Q1" and the like, or, where no such heading stands, at "1."
    or "(1)" at the beginning of a line; it ends where the next one begins. Of two blocks of one step the last counts.
    A text without any heading answers the step of a question that has only one.

    Args:
        answer_text: A stored answer.
        count: How many steps the question has.
    """
    answer = clean(answer_text)
    if not answer:
        return {}
    headings = [found for found in _NAMED.finditer(answer) if _is_heading(found)] or list(_BARE.finditer(answer))
    blocks: dict[int, str] = {}
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(answer)
        block = tidy(answer[heading.end() : end]).strip(" ;,")
        number = _number(heading)
        if number is not None and 1 <= number <= count and block:
            blocks[number] = block
    return blocks or ({1: answer} if count == 1 else {})


def _is_heading(found: re.Match[str]) -> bool:
    """At the beginning of a line any end will do; inside a line only a colon, for prose mentions steps too."""
    begins_line = found.start() == 0 or found.string[found.start() - 1] == "\n"
    return begins_line or ":" in found["end"]


def _number(heading: re.Match[str]) -> int | None:
    groups = heading.groupdict()
    numeral = next(groups[name] for name in ("english", "chinese", "plain", "bracketed") if groups.get(name))
    if numeral.isdigit():
        return int(numeral)
    if numeral.isascii():
        return _ENGLISH[numeral.lower()]
    value = chinese_value(numeral)
    return None if value is None else int(value)


MULTI_STEP = MultiStepGrader("multi_step@2")
