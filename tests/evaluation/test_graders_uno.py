"""UNO-Bench's contract; references and target values are those of its public examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from evaluation.graders import GRADERS
from evaluation.graders.uno import (
    BadUnoReference,
    UnoScoreType,
    from_uno_reference,
    parse_uno_score,
    uno_reference,
    uno_score_type,
)

PROMPT = (TextPart(text="Which?"),)
BOXES = "1. The 5th box from the left (4 points);\n2. The password is 569 (6 points)."
COLOURS = "1. 80 (4 points)\n\n2. 180 (4 points)\n\n3. 260 (2 points)"


def open_question(*accepted: str, grader: str | None = None) -> Question:
    key = AnswerKey(accepted=accepted, grader=grader)
    return Question(prompt=PROMPT, kind=QuestionKind.OPEN, answer=key, task_type="x", language="en")


def choice_question(*correct: int) -> Question:
    choices = tuple(Choice(text=text) for text in ("cat", "dog", "bird"))
    return Question(
        prompt=PROMPT,
        kind=QuestionKind.CHOICE,
        choices=choices,
        answer=AnswerKey(correct=correct),
        task_type="x",
        language="en",
    )


def step_question(*steps: Step) -> Question:
    return Question(prompt=PROMPT, kind=QuestionKind.MULTI_STEP, steps=steps, task_type="x", language="en")


STEPS = step_question(
    Step(ask="Which box?", points=4, answer=AnswerKey(accepted=("5",), grader="number")),
    Step(ask="Who?", points=6, answer=AnswerKey(accepted=("Bob", "Robert"))),
)


@pytest.mark.parametrize(
    ("question", "score_type", "reference"),
    [
        (choice_question(2), 0, "小问1：C，总分10分，无需关注推理过程，最终答案正确即可"),
        (choice_question(0, 2), 0, "小问1：AC，总分10分，无需关注推理过程，最终答案正确即可"),
        (open_question("Ten"), 0, "小问1：Ten，总分10分，无需关注推理过程，最终答案正确即可"),
        (STEPS, 1, "1. 5 (4 points);\n2. Bob/Robert (6 points)."),
        (open_question("STOP", grader="ocr_substring"), 2, "STOP"),
        (open_question("color", "colour", grader="ocr_substring"), 2, "['color', 'colour']"),
        (open_question("a long text", grader="bleu_1"), 3, "a long text"),
        (
            open_question("Bob", grader="spoken_qa"),
            4,
            "小问1：Bob，总分10分，无需关注推理过程，最终答案正确即可",
        ),
    ],
)
def test_score_types_and_references(question: Question, score_type: int, reference: str) -> None:
    assert uno_score_type(question) == score_type
    assert uno_reference(question) == reference


def test_public_references_of_several_steps_are_read() -> None:
    asked = "Answer:\n1. Which box contains the key?\n2. What is the password?"
    steps = from_uno_reference(BOXES, 1, asked).steps
    assert [(step.ask, step.points) for step in steps] == [
        ("Which box contains the key?", 4),
        ("What is the password?", 6),
    ]
    assert [step.answer.accepted for step in steps] == [("The 5th box from the left",), ("The password is 569",)]
    numbers = from_uno_reference(COLOURS, 1).steps
    assert [(step.answer.accepted, step.answer.grader, step.points) for step in numbers] == [
        (("80",), "number", 4),
        (("180",), "number", 4),
        (("260",), "number", 2),
    ]


def test_the_steps_that_were_read_grade_answers() -> None:
    question = step_question(*from_uno_reference(COLOURS, 1).steps)
    assert GRADERS["multi_step"].load().grade(question, "1. 80\n2. 200\n3. 260").points == 0.6


@pytest.mark.parametrize("reference", ["小问1：80（4分）；小问2：是（6分）。", "小问1：80，4分；小问2：是，6分"])
def test_chinese_references_of_several_steps_are_read(reference: str) -> None:
    steps = from_uno_reference(reference, 1).steps
    assert [(step.answer.accepted, step.answer.grader, step.points) for step in steps] == [
        (("80",), "number", 4),
        (("是",), "yes_no", 6),
    ]


@pytest.mark.parametrize(
    ("reference", "score_type", "accepted", "grader"),
    [
        ("C", 0, ("C",), "choice"),
        ("Yes", 0, ("Yes",), "yes_no"),
        ("1/2", 0, ("1/2",), "number"),
        ("Ten", 0, ("Ten",), "short_text"),
        ("colour/color", 0, ("colour", "color"), "short_text"),
        ("小问1：Ten，总分10分，无需关注推理过程，最终答案正确即可", 0, ("Ten",), "short_text"),
        ("['color', 'colour']", 2, ("color", "colour"), "ocr_substring"),
        ("[not a list", 2, ("[not a list",), "ocr_substring"),
        ("[1, 2]", 2, ("[1, 2]",), "ocr_substring"),
        ("a long text", 3, ("a long text",), "bleu_1"),
        ("[[[Who is it?]]] [[[Bob]]]", 4, ("Bob",), "spoken_qa"),
    ],
)
def test_references_of_one_answer_are_read(
    reference: str, score_type: int, accepted: tuple[str, ...], grader: str
) -> None:
    key = from_uno_reference(reference, score_type).answer
    assert (key.accepted, key.grader) == (accepted, grader)


def test_a_spoken_item_says_what_was_asked() -> None:
    assert from_uno_reference("[[[Who is it?]]] [[[Bob]]]", 4).asked == "Who is it?"


@pytest.mark.parametrize(
    ("reference", "score_type", "message"),
    [
        ("C", 5, "none of 0 to 4"),
        (" ", 0, "empty"),
        ("80 and 180", 1, "no sub-answers"),
        ("1. 80 (4 points)\n3. 180 (6 points)", 1, "no sub-answers numbered from 1"),
        ("1. 80 (4 points)\n2. 180 (4 points)", 1, r"\[4, 4\] do not sum to 10"),
    ],
)
def test_what_is_no_reference_is_said(reference: str, score_type: int, message: str) -> None:
    with pytest.raises(BadUnoReference, match=message):
        from_uno_reference(reference, score_type)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 5))
def test_steps_come_back_as_they_went(weights: list[int], seed: int) -> None:
    points = [*weights[: max(1, len(weights) - 1)]]
    while sum(points) > 9:
        points.pop()
    points.append(10 - sum(points))
    steps = [
        Step(
            ask=f"Sub-question {number}",
            points=worth,
            answer=AnswerKey(accepted=(str(seed + number),), grader="number"),
        )
        for number, worth in enumerate(points, start=1)
    ]
    assert from_uno_reference(uno_reference(step_question(*steps)), UnoScoreType.MULTI_STEP).steps == tuple(steps)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("小问1：正确，得10分。<score>10</score>", 1.0),
        ("Part 1 right, part 2 wrong. <score>4</score>", 0.4),
        ("<score> 0 </score>", 0.0),
        ("<SCORE>5</SCORE> so <score>5</score>", 0.5),
        ("<score>4.5</score>", 0.45),
        ("<think>maybe <score>10</score></think><score>6</score>", 0.6),
        ("模型回复：“<score>10</score>”。错误。<score>0</score>", 0.0),
        ("The answer says `<score>10</score>`. Wrong. <score>0</score>", 0.0),
        ("> <score>10</score>\nWrong. <score>0</score>", 0.0),
        ("```\n<score>10</score>\n```\n<score>0</score>", 0.0),
        ("no score at all", None),
        ("<score>ten</score>", None),
        ("<score>10/10</score>", None),
        ("<score>-1</score>", None),
        ("<score>11</score>", None),
        ("<score>10</score> ... <score>4</score>", None),
        ("<score>10", None),
        ("<think><score>10</score>", None),
        ("“<score>10</score>”", None),
        ("", None),
    ],
)
def test_score_replies(reply: str, score: float | None) -> None:
    assert parse_uno_score(reply) == score


def test_a_sum_that_no_right_steps_give_is_no_score() -> None:
    scores = [parse_uno_score(f"<score>{total}</score>", points=(4, 6)) for total in range(11)]
    assert [total for total, score in enumerate(scores) if score is not None] == [0, 4, 6, 10]


@given(st.text())
def test_any_reply_can_be_parsed(reply: str) -> None:
    score = parse_uno_score(reply)
    assert score is None or 0 <= score <= 1
