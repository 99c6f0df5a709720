"""Choice answers as models really give them; the right values are read off by hand."""

import pytest

from core.content import TextPart
from core.grading import Grade
from core.question import AnswerKey, Choice, Question, QuestionKind
from evaluation.graders import GRADERS
from evaluation.graders.choice import CHOICE, chosen
from evaluation.graders.verdicts import Verdict, Why, verdict_of, why_of

CITIES = ("Paris", "London", "Rome", "Berlin")


def ask(key: str, options: tuple[str, ...] = CITIES) -> Question:
    correct = tuple(ord(letter) - ord("A") for letter in key)
    return Question(
        prompt=(TextPart(text="Which?"),),
        kind=QuestionKind.CHOICE,
        choices=tuple(Choice(text=text) for text in options),
        answer=AnswerKey(correct=correct),
        task_type="x",
        language="en",
    )


def grade(key: str, answer: str, options: tuple[str, ...] = CITIES) -> Grade:
    return GRADERS["choice"].load().grade(ask(key, options), answer)


RIGHT = [
    ("D", "I considered (A) because it is tall, then dropped it. Final answer: D."),
    ("B", "Answer: A ... let me correct this. Answer: B"),
    ("B", "The answer is B. Note that A is a common distractor"),
    ("D", "首先排除B，所以选A。但是再看一遍题目，只有选项D是正确的。"),
    ("ABD", "答案是D、B和A"),
    ("B", "Based on A's mistakes, the final grade is B"),
    ("B", "b"),
    ("B", "(b)"),
    ("B", "Ｂ"),
    ("B", "（Ｂ）"),
    ("B", "$\\boxed{\\text{B}}$"),
    ("AC", "$\\boxed{A}$ and $\\boxed{C}$"),
    ("B", '{"answer": "B"}'),
    ("B", "<answer>B</answer>"),
    ("B", "## Answer\n\nB"),
    ("B", "Answer:\n\n**B. London**"),
    ("B", "B\n\nLondon is the capital of the United Kingdom, not A."),
    ("B", "The capital is London, so B."),
    ("B", "London"),
    ("B", "The answer is London."),
    ("D", "It is not Paris; it is Berlin."),
    ("D", "~~A~~ D"),
    ("D", "I'd go with D"),
    ("D", "The best choice would be option D: Berlin."),
    ("D", "The correct option is D because A, B and C are wrong."),
    ("B", "Option A is incorrect. Option B is correct."),
    ("B", "The answer is B. C and D are wrong."),
    ("B", "答案不是A，而是B"),
    ("B", "不能选A，应选B"),
    ("B", "如果选A就忽略了条件，因此本题选B。"),
    ("B", "B选项正确，A、C、D错误"),
    ("B", "故选：B．"),
    ("B", "正确答案是（B）。"),
    ("AC", "Answer:\nA. Paris\nC. Rome"),
    ("AC", "Answer: Paris, Rome"),
    ("AC", "A and C"),
    ("CA", "AC"),
    ("A", "Answer: A\nB. London is wrong because it is no French city."),
    ("B", "A. Paris\nB. London\nC. Rome\nD. Berlin\n\nAnswer: B"),
    ("B", "Answer: B\nA. Paris\nB. London\nC. Rome\nD. Berlin"),
    ("ABCD", "Answer: A. Paris B. London C. Rome D. Berlin"),
]


@pytest.mark.parametrize(("key", "answer"), RIGHT)
def test_right(key: str, answer: str) -> None:
    assert grade(key, answer).points == 1


WRONG = [
    ("C", "Answer: **D**"),
    ("A", "ANSWER: AB"),
    ("ABD", "答案：AB"),
    ("C", "【答案】A, C"),
    ("A", "Option A is incorrect. Option B is correct."),
    ("B", "Answer: Paris (A)"),
    ("B", "None of the options is right."),
    ("A", "A选项看似正确，但四个选项都不正确。【答案】无正确答案"),
    ("A", "It is not Paris; it is Berlin."),
]


@pytest.mark.parametrize(("key", "answer"), WRONG)
def test_wrong(key: str, answer: str) -> None:
    given = grade(key, answer)
    assert (given.points, verdict_of(given)) == (0, Verdict.WRONG)


@pytest.mark.parametrize(
    ("key", "answer", "why"),
    [
        ("B", "Answer: B. Paris", Why.CONTRADICTION),
        ("B", "Answer: London (A)", Why.CONTRADICTION),
        ("B", "Answer: B or C", Why.CONTRADICTION),
        ("A", "A dog is barking in the picture", Why.UNREAD),
        ("A", "the answer is a city", Why.UNREAD),
        ("A", "I am not sure", Why.UNREAD),
        ("D", "I would not choose D", Why.UNREAD),
        ("D", "Not Berlin.", Why.UNREAD),
        ("B", "The answer is clear.", Why.UNREAD),
    ],
)
def test_to_a_person(key: str, answer: str, why: Why) -> None:
    given = grade(key, answer)
    assert (given.points, why_of(given)) == (None, why)


@pytest.mark.parametrize(
    "answer",
    [
        "Answer: A. Paris B. London C. Rome D. Berlin",
        "A. Paris\nB. London\nC. Rome\nD. Berlin",
        "答案：Paris、London、Rome、Berlin",
    ],
)
def test_a_copy_of_all_options_is_no_answer(answer: str) -> None:
    given = grade("A", answer)
    assert (given.points, why_of(given)) == (0, Why.COPIES_OPTIONS)


@pytest.mark.parametrize(
    ("options", "key", "answer", "points"),
    [
        (tuple(f"reason {number}" for number in range(10)), "C", "The answer is C because I computed it", 1),
        (("cat", "bird", "fish", "dog"), "D", "Answer: A dog", 1),
        (("a cat", "a dog"), "B", "Answer: A dog", 1),
        (("C", "A", "B", "D"), "A", "Answer: A", None),
        (("C", "A", "B", "D"), "B", "B. A", 1),
        (("C++", "C", "Java", "Python"), "A", "Answer: C++", 1),
        (("3", "5", "3.5", "10"), "A", "The answer is 3.5", 0),
        (("3", "5", "3.5", "10"), "C", "The answer is 3.5", 1),
        (("5%", "5"), "B", "5%", 0),
        (("-5", "5"), "B", "-5", 0),
        (("black cat", "cat", "dog", "bird"), "B", "It is a black cat.", 0),
        (("black cat", "cat", "dog", "bird"), "A", "It is a black cat.", 1),
        (("猫", "狗", "熊猫", "马"), "A", "图里是熊猫", 0),
        (("猫", "狗", "熊猫", "马"), "C", "图里是熊猫", 1),
        (("①②", "①③", "②④", "③④"), "B", "①③", 1),
        (("Yes", "No", "Maybe", "It cannot be determined"), "D", "It cannot be determined.", 1),
        (("Straße", "Gasse"), "A", "Antwort: Straße", 1),
    ],
)
def test_options_that_look_like_something_else(options: tuple[str, ...], key: str, answer: str, points: float) -> None:
    assert grade(key, answer, options).points == points


def test_a_step_may_be_a_choice_with_letters_only() -> None:
    key = AnswerKey(accepted=("B", "London"), grader="choice")
    answers = ("选B", "London", "【答案】A. x B. y C. z D. w", "Answer: C", "Answer: A, B")
    assert [CHOICE.grade_key(key, answer, "zh").points for answer in answers] == [1, 1, 0, 0, 0]


def test_a_key_without_letters_is_said_to_be_bad() -> None:
    assert why_of(CHOICE.grade_key(AnswerKey(accepted=("London",)), "B", "en")) is Why.BAD_KEY


def test_what_was_chosen_can_be_asked_for() -> None:
    assert chosen(ask("A"), "Answer: C") == {2}
    assert chosen(ask("A"), "Answer: B. Paris") is None
    assert chosen(ask("A"), "") is None
