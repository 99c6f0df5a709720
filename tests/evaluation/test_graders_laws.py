"""Laws that hold for whole families of answers."""

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, QuestionKind, choice_label
from evaluation.graders import grader_for
from evaluation.graders.choice import CHOICE
from evaluation.graders.cleaning import clean
from evaluation.graders.enumeration import ENUMERATION, ORDERED_ENUMERATION
from evaluation.graders.number import NUMBER

WORDS = (
    "cat",
    "white dog",
    "dog",
    "bird of prey",
    "42",
    "3.5 km",
    "red panda",
    "panda",
    "猫",
    "熊猫",
    "黑色的狗",
    "Ünal",
    "e-mail",
)
# The first call imports a library; no law is about time.
LAW = settings(deadline=None)
PROMPT = (TextPart(text="Which?"),)


def ask(options: list[str], correct: list[int]) -> Question:
    return Question(
        prompt=PROMPT,
        kind=QuestionKind.CHOICE,
        choices=tuple(Choice(text=text) for text in options),
        answer=AnswerKey(correct=tuple(correct)),
        task_type="x",
        language="en",
    )


def labels(places: list[int]) -> list[str]:
    return [choice_label(place) for place in places]


SAYINGS: list[Callable[[list[str], list[str]], str]] = [
    lambda letters, texts: ", ".join(letters),
    lambda letters, texts: "".join(letters),
    lambda letters, texts: f"Answer: {' and '.join(letters)}",
    lambda letters, texts: f"答案：{'、'.join(letters)}",
    lambda letters, texts: f"应选{''.join(letters)}。",
    lambda letters, texts: f"The answer is ({'), ('.join(letters)}).",
    lambda letters, texts: "Answer:\n" + "\n".join(f"{one}. {text}" for one, text in zip(letters, texts, strict=True)),
    lambda letters, texts: f"Answer: {', '.join(texts)}",
]


@st.composite
def choice_answers(draw: st.DrawFn) -> tuple[Question, list[int], Callable[[list[str], list[str]], str]]:
    options = draw(st.lists(st.sampled_from(WORDS), min_size=3, max_size=6, unique=True))
    places = st.lists(st.integers(0, len(options) - 1), min_size=1, max_size=2, unique=True).map(sorted)
    return ask(options, draw(places)), draw(places), draw(st.sampled_from(SAYINGS))


def answer_to(question: Question, places: list[int], say: Callable[[list[str], list[str]], str]) -> str:
    return say(labels(places), [question.choices[place].text for place in places])


@LAW
@given(choice_answers())
def test_a_choice_is_right_exactly_when_it_is_the_key(
    case: tuple[Question, list[int], Callable[[list[str], list[str]], str]],
) -> None:
    question, places, say = case
    assert CHOICE.grade(question, answer_to(question, places, say)).points == float(
        places == [*question.answer.correct]
    )


@LAW
@given(choice_answers(), st.integers(1, 5))
def test_turning_the_choices_and_relabelling_the_answer_changes_nothing(
    case: tuple[Question, list[int], Callable[[list[str], list[str]], str]], by: int
) -> None:
    question, places, say = case
    turned = question.rotated(by)
    turned_places = sorted((place + by) % len(question.choices) for place in places)
    before = CHOICE.grade(question, answer_to(question, places, say))
    assert CHOICE.grade(turned, answer_to(turned, turned_places, say)).points == before.points


@LAW
@given(st.integers(2, 26), st.data())
def test_a_wrong_letter_is_never_right(count: int, data: st.DataObject) -> None:
    right, said = data.draw(st.permutations(range(count)))[:2]
    question = ask([f"thing {place}" for place in range(count)], [right])
    say = data.draw(st.sampled_from(SAYINGS[:6]))
    assert CHOICE.grade(question, say(labels([said]), [])).points == 0


def full_width(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else "\u3000" if one == " " else one for one in text)


INLINE: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: f"**{text}**",
    lambda text: f"__{text}__",
    lambda text: f"*{text}*",
    lambda text: f"`{text}`",
    lambda text: f"<b>{text}</b>",
    lambda text: f"\u200b{text}\ufeff",
    full_width,
]
AROUND: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: f"> {text}",
    lambda text: f"### {text}",
    lambda text: f"```\n{text}\n```",
    lambda text: f"\n\n  {text} \t\r\n",
    lambda text: f"<think>perhaps 7, C or a horse; yes</think>\n{text}",
]
KEYS = {
    "number": (
        "1,331",
        ["1331", "1,331", "one thousand three hundred thirty-one", "-1331", "13:31", "1332", "5 or 1331"],
    ),
    "yes_no": ("yes", ["yes", "Yes, it is.", "no", "No.", "不是", "是的", "perhaps"]),
    "short_text": (
        "black cat",
        ["a black cat", "It is a black cat.", "not a black cat", "dog", "a black cat or a dog"],
    ),
    "ocr_substring": (
        "NO ENTRY",
        ["no entry", "It says NO ENTRY.", "It does not say NO ENTRY", "ENTRY", "NO ENTRY or EXIT"],
    ),
    "spoken_qa": ("Paris", ["um, it's Paris", "not Paris", "London", "Paris or London", "London, I mean Paris"]),
    "bleu_1": ("the black cat sleeps", ["The black cat sleeps.", "a cat", "the dog sleeps well today", "nothing"]),
    "enumeration": ("cat, dog", ["dog and cat", "cat, dog, bird", "cat", "cat; dog", "狗"]),
    "choice": ("B", ["B", "Answer: B", "A", "b", "选B", "A, B", "The answer is clear"]),
}


@pytest.mark.parametrize("grader", KEYS)
@LAW
@given(data=st.data())
def test_wrapping_an_answer_changes_nothing(grader: str, data: st.DataObject) -> None:
    key, answers = KEYS[grader]
    answer = data.draw(st.sampled_from(answers))
    question = Question(
        prompt=PROMPT,
        kind=QuestionKind.OPEN,
        answer=AnswerKey(accepted=(key,), grader=grader),
        task_type="x",
        language="en",
    )
    plain = grader_for(question).load().grade(question, answer)
    inline, around = data.draw(st.sampled_from(INLINE)), data.draw(st.sampled_from(AROUND))
    wrapped = around(inline(answer))
    assert grader_for(question).load().grade(question, wrapped).points == plain.points


@LAW
@given(
    st.lists(
        st.sampled_from(["Answer: B", "**x**", "答案：A", "½", "10⁵", "- item", "1. one", "$5", "a*b", "  ", "\n"])
    )
)
def test_cleaning_a_clean_answer_changes_nothing(pieces: list[str]) -> None:
    once = clean(" ".join(pieces))
    assert once is not None
    assert clean(once) == once


def chinese(number: int) -> str:
    """The textbook way to write a number below 10^8, digit by digit."""
    digits, units = "零一二三四五六七八九", ["", "十", "百", "千"]

    def below_ten_thousand(part: int) -> str:
        text = ""
        for place, digit in enumerate(f"{part:04d}"):
            text += digits[int(digit)] + (units[3 - place] if digit != "0" else "")
        while "零零" in text:
            text = text.replace("零零", "零")
        return text.rstrip("零")

    high, low = divmod(number, 10_000)
    text = (below_ten_thousand(high) + "万" if high else "") + below_ten_thousand(low)
    return text.lstrip("零") or "零"


@LAW
@given(st.integers(1, 10**8 - 1))
def test_chinese_numerals_are_read_as_they_are_written(number: int) -> None:
    key = AnswerKey(accepted=(str(number),))
    assert NUMBER.grade_key(key, f"答案是{chinese(number)}。", "zh").points == 1
    assert NUMBER.grade_key(key, f"答案是{chinese(number + 1 if number < 10**8 - 1 else 1)}。", "zh").points != 1


@LAW
@given(
    st.integers(-(10**9), 10**9),
    st.sampled_from(["{}", "{:,}", "Answer: {}", "x = {:,}", "{} apples", "{}.0", "{}00%"]),
)
def test_a_number_is_the_same_in_every_writing(number: int, writing: str) -> None:
    assume(not (writing in ("{:,}", "x = {:,}") and abs(number) < 1000))
    key = AnswerKey(accepted=(str(number),))
    assert NUMBER.grade_key(key, writing.format(number), "en").points == 1
    assert NUMBER.grade_key(key, writing.format(number + 1), "en").points != 1


@LAW
@given(st.permutations(["ant", "bee", "cat", "dog"]), st.integers(1, 3))
def test_order_matters_only_to_ordered_enumerations(order: list[str], kept: int) -> None:
    key = AnswerKey(accepted=("ant, bee, cat, dog",))
    whole, part, more = ", ".join(order), ", ".join(order[:kept]), ", ".join([*order, "elk"])
    assert ENUMERATION.grade_key(key, whole, "en").points == 1
    assert ORDERED_ENUMERATION.grade_key(key, whole, "en").points == float(order == sorted(order))
    assert [ENUMERATION.grade_key(key, said, "en").points for said in (part, more)] == [0, 0]
