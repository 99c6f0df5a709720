"""Multi-step answers: the parser, the sum of points, and steps that cannot be graded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.content import TextPart
from core.question import AnswerKey, Question, QuestionKind, Step
from evaluation.graders.multi_step import MULTI_STEP, StepNotGradable, parse_steps
from evaluation.graders.verdicts import Verdict, Why, verdict_of, why_of


def ask(*steps: tuple[int, str, str | None]) -> Question:
    return Question(
        prompt=(TextPart(text="Answer the steps."),),
        kind=QuestionKind.MULTI_STEP,
        steps=tuple(
            Step(ask="Is the dog big?", points=points, answer=AnswerKey(accepted=(key,), grader=grader))
            for points, key, grader in steps
        ),
        task_type="x",
        language="en",
    )


COUNT_AND_NAME = ask((4, "4", "number"), (6, "cat", None))


@pytest.mark.parametrize(
    ("answer", "points", "shares"),
    [
        ("Step 1: 4\nStep 2: dog", 0.4, (1, 0)),
        ("Step 1: 5\nStep 2: a cat", 0.6, (0, 1)),
        ("Step 1: 4\nStep 2: a cat", 1, (1, 1)),
        ("Step 1: 4", 0.4, (1, 0)),
        ("Step 1: 5\nStep 2: dog\n\nLet me look again.\nStep 1: 4\nStep 2: cat", 1, (1, 1)),
        ("Step 1: 4 or 5\nStep 2: cat", None, (None, 1)),
    ],
)
def test_points_are_the_sum_of_the_right_steps(
    answer: str, points: float | None, shares: tuple[float | None, ...]
) -> None:
    grade = MULTI_STEP.grade(COUNT_AND_NAME, answer)
    assert (grade.points, grade.step_points) == (points, shares)


def test_a_step_that_is_open_leaves_the_total_open_but_says_what_is_sure() -> None:
    grade = MULTI_STEP.grade(COUNT_AND_NAME, "Step 1: 4 or 5\nStep 2: cat")
    assert why_of(grade) is Why.OPEN_STEP
    assert "at least 6 of 10 points" in grade.reason


def test_a_missing_step_is_named() -> None:
    grade = MULTI_STEP.grade(COUNT_AND_NAME, "Step 2: cat")
    assert verdict_of(grade) is Verdict.PARTIAL
    assert "step 1 wrong: the step is missing" in grade.reason


def test_an_answer_without_steps_goes_to_a_person() -> None:
    grade = MULTI_STEP.grade(COUNT_AND_NAME, "There are 4 and it is a cat")
    assert (grade.points, grade.step_points, why_of(grade)) == (None, (None, None), Why.UNREAD)


def test_an_answer_that_declines_every_step_is_invalid() -> None:
    grade = MULTI_STEP.grade(COUNT_AND_NAME, "Step 1: I cannot answer.\nStep 2: I cannot answer.")
    assert (grade.points, why_of(grade)) == (0, Why.REFUSAL)


def test_every_step_is_graded_by_the_rule_of_its_key() -> None:
    question = ask((2, "10,000", "number"), (2, "yes", "yes_no"), (2, "B", "choice"), (4, "red, green", "enumeration"))
    grade = MULTI_STEP.grade(question, "1. ten thousand\n2. The dog is big.\n3. 选B\n4. green and red")
    assert grade.step_points == (1, 1, 1, 1)


def test_a_step_cannot_be_graded_by_a_grader_of_whole_questions() -> None:
    with pytest.raises(StepNotGradable, match="step 1 names the grader 'multi_step'"):
        MULTI_STEP.grade(ask((10, "cat", "multi_step")), "Step 1: cat")


@pytest.mark.parametrize(
    "answer",
    [
        "Step 1: 4\nStep 2: cat",
        "**Step 1:** 4\n\n**Step 2:** cat",
        "### Step 1\n4\n### Step 2\ncat",
        "Step 1 (4 points): 4\nStep 2 (6 points): cat",
        "步骤1：4\n步骤2：cat",
        "步骤1（4分）：4\n步骤2（6分）：cat",
        "步骤一：4\n步骤二：cat",
        "第一步：4\n第二步：cat",
        "１、4\n２、cat",
        "1. 4\n2. cat",
        "(1) 4\n(2) cat",
        "①4\n②cat",
        "Q1: 4\nQ2: cat",
        "Answer to step 1: 4\nAnswer to step 2: cat",
        "Step one: 4. Step two: cat",
        "Step 1: 4; Step 2: cat",
        "<think>Step 1: 7\nStep 2: dog</think>Step 1: 4\nStep 2: cat",
        "Step 2: cat\nStep 1: 4",
    ],
)
def test_headings(answer: str) -> None:
    steps = parse_steps(answer, 2)
    assert {number: text.strip(" .") for number, text in steps.items()} == {1: "4", 2: "cat"}


def test_a_numbered_list_inside_a_named_step_belongs_to_it() -> None:
    assert parse_steps("Step 1: a list\n1. ant\n2. bee\nStep 2: cat", 2) == {1: "a list\n1. ant\n2. bee", 2: "cat"}


def test_a_decimal_is_no_heading() -> None:
    assert parse_steps("1. 1.5\n2. 2.5", 2) == {1: "1.5", 2: "2.5"}


def test_prose_that_mentions_a_step_is_no_heading() -> None:
    assert parse_steps("Step 1: 4\nStep 2: cat. By step 1 we know it.", 2)[2] == "cat. By step 1 we know it."


def test_steps_beyond_the_question_are_left_out_and_a_single_step_needs_no_heading() -> None:
    assert parse_steps("Step 1: a\nStep 7: b", 2) == {1: "a"}
    assert parse_steps("just the answer", 1) == {1: "just the answer"}
    assert parse_steps("<think>Step 1: 4", 1) == {}


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_total_is_the_points_of_the_right_steps(rights: list[bool], random: object) -> None:
    points = [10 - 2 * (len(rights) - 1), *([2] * (len(rights) - 1))]
    question = ask(*[(each, str(100 + place), "number") for place, each in enumerate(points)])
    lines = [f"Step {place + 1}: {100 + place + (0 if right else 50)}" for place, right in enumerate(rights)]
    random.shuffle(lines)
    grade = MULTI_STEP.grade(question, "\n".join(lines))
    assert grade.points == sum(each for each, right in zip(points, rights, strict=True) if right) / 10
