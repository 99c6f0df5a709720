"""The registry of graders, what grades say of themselves, and responses that are no answer."""

import pytest

from core.content import TextPart
from core.errors import UnknownName
from core.grading import Grade
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from evaluation.graders import GRADERS, grader_for, invalid
from evaluation.graders.verdicts import Verdict, Why, verdict_of, why_of

PROMPT = (TextPart(text="What is it?"),)


def open_question(*accepted: str, grader: str | None = None) -> Question:
    key = AnswerKey(accepted=accepted, grader=grader)
    return Question(prompt=PROMPT, kind=QuestionKind.OPEN, answer=key, task_type="x", language="en")


def grade(question: Question, answer: str) -> Grade:
    return grader_for(question).load().grade(question, answer)


def choice_question() -> Question:
    choices = tuple(Choice(text=text) for text in ("cat", "dog", "bird", "fish"))
    return Question(
        prompt=PROMPT,
        kind=QuestionKind.CHOICE,
        choices=choices,
        answer=AnswerKey(correct=(1,)),
        task_type="x",
        language="en",
    )


def step_question() -> Question:
    steps = (
        Step(ask="How many?", points=4, answer=AnswerKey(accepted=("4",), grader="number")),
        Step(ask="Which animal?", points=6, answer=AnswerKey(accepted=("cat",))),
    )
    return Question(prompt=PROMPT, kind=QuestionKind.MULTI_STEP, steps=steps, task_type="x", language="en")


@pytest.mark.parametrize(
    ("question", "name"),
    [
        (choice_question(), "choice"),
        (step_question(), "multi_step"),
        (open_question("cat"), "short_text"),
        (open_question("4", grader="number"), "number"),
    ],
)
def test_the_question_names_its_grader(question: Question, name: str) -> None:
    entry = grader_for(question)
    assert entry.load() is GRADERS[name].load()
    assert entry.fingerprint.startswith(GRADERS[name].fingerprint)


def test_an_unknown_grader_is_a_mistake_with_a_hint() -> None:
    with pytest.raises(UnknownName, match="did you mean 'number'"):
        grader_for(open_question("4", grader="numbr"))


@pytest.mark.parametrize("question", [choice_question(), step_question(), open_question("cat")])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", Why.EMPTY),
        (" \n\t", Why.EMPTY),
        ("<think>a cat, surely</think>", Why.EMPTY),
        ("<think>It must be B. Answer: B, a cat. Step 1: 4", Why.UNCLOSED_THINKING),
        ("I'm sorry, but I cannot answer this question.", Why.REFUSAL),
        ("抱歉，我无法回答这个问题。", Why.REFUSAL),
    ],
)
def test_a_response_that_is_no_answer_gets_zero_and_is_counted_apart(question: Question, answer: str, why: Why) -> None:
    given = grade(question, answer)
    assert given.points == 0
    assert verdict_of(given) is Verdict.INVALID
    assert why_of(given) is why
    assert given.reason.startswith(f"invalid: {why.value}: ")


@pytest.mark.parametrize("answer", [":", "Thought process:", "Answer:", "解析：", "...", "Final answer is"])
@pytest.mark.parametrize("question", [choice_question(), open_question("cat"), open_question("4", grader="number")])
def test_an_opener_is_a_wrong_answer(question: Question, answer: str) -> None:
    given = grade(question, answer)
    assert (given.points, verdict_of(given)) == (0, Verdict.WRONG)


@pytest.mark.parametrize(
    "thinking",
    [
        "<think>cat or dog? Answer: A</think>",
        "<thinking>Answer: A</thinking>\n",
        "The template opened it. Answer: A</think>",
        "◁think▷Answer: A◁/think▷",
        "[THINK]Answer: A[/THINK]",
        "<|channel|>analysis<|message|>Answer: A<|channel|>final<|message|>",
        "<|begin_of_thought|>Answer: A<|end_of_thought|>",
    ],
)
def test_thinking_is_no_part_of_the_answer(thinking: str) -> None:
    assert grade(choice_question(), f"{thinking}B").points == 1


def test_a_stored_state_is_graded_as_an_invalid_response_for_every_step() -> None:
    given = invalid(step_question(), "truncated", "multi_step@1")
    assert (given.points, given.step_points, given.grader) == (0, (0, 0), "multi_step@1")
    assert why_of(given) is Why.TRUNCATED


@pytest.mark.parametrize(
    ("points", "reason", "verdict"),
    [
        (None, "the judge failed", Verdict.NOT_GRADED),
        (1.0, "all there", Verdict.RIGHT),
        (0.0, "nothing there", Verdict.WRONG),
        (0.4, "half there", Verdict.PARTIAL),
    ],
)
def test_the_verdict_of_any_grader_can_be_told(points: float | None, reason: str, verdict: Verdict) -> None:
    given = Grade(points=points, reason=reason, grader="judge@1")
    assert (verdict_of(given), why_of(given)) == (verdict, None)
