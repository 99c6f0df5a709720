"""Yes and no, short texts and enumerations; the right values are read off by hand."""

import pytest

from core.question import AnswerKey
from evaluation.graders.enumeration import ENUMERATION, ORDERED_ENUMERATION, key_items
from evaluation.graders.short_text import SHORT_TEXT
from evaluation.graders.verdicts import Verdict, Why, verdict_of, why_of
from evaluation.graders.yes_no import YES_NO


@pytest.mark.parametrize(
    ("key", "answer", "ask", "points"),
    [
        ("yes", "The dog barks at the end of the clip.", "Does the dog bark?", 1),
        ("yes", "Yes, the letter is a death notice.", "", 1),
        ("no", "There is no dog in the picture.", "Is there a dog in the picture?", 1),
        ("yes", "There is no dog in the picture.", "Is there a dog in the picture?", 0),
        ("no", "It isn't a dog.", "Is it a dog?", 1),
        ("yes", "It isn't a dog.", "Is it a dog?", 0),
        ("yes", "The car is blue.", "Is the car red?", None),
        ("yes", "It might be a dog.", "Is it a dog?", None),
        ("no", "No other animals are visible.", "", None),
        ("yes", "Yes. No other animals are visible.", "", 1),
        ("yes", "No, wait. Yes.", "", 1),
        ("no", "Is there a dog? No.", "", 1),
        ("yes", "Yes and no.", "", None),
        ("no", "Yes/No: no", "", 1),
        ("True", "The statement is true? Answer: True", "", 1),
        ("是", "是的，图中有一只狗。", "图中有狗吗？", 1),
        ("是", "图中有一只狗。", "图中有狗吗？", 1),
        ("否", "图中没有狗。", "图中有狗吗？", 1),
        ("是", "图中没有狗。", "图中有狗吗？", 0),
        ("no", "不对，图里没有。", "", 1),
        ("yes", "没错", "", 1),
        ("yes", "ＹＥＳ！！！", "", 1),
    ],
)
def test_polarity(key: str, answer: str, ask: str, points: float | None) -> None:
    assert YES_NO.grade_key(AnswerKey(accepted=(key,)), answer, "en", ask).points == points


def test_the_question_that_is_called_incomplete_is_refused() -> None:
    given = YES_NO.grade_key(AnswerKey(accepted=("Yes",)), "the question is incomplete", "en")
    assert (verdict_of(given), why_of(given)) == (Verdict.INVALID, Why.REFUSAL)


@pytest.mark.parametrize("accepted", [("maybe",), ("yes", "no")])
def test_a_key_must_have_one_polarity(accepted: tuple[str, ...]) -> None:
    assert why_of(YES_NO.grade_key(AnswerKey(accepted=accepted), "yes", "en")) is Why.BAD_KEY


@pytest.mark.parametrize(
    ("key", "answer", "points"),
    [
        ("cat", "It is a cat.", 1),
        ("the cat", "A CAT!", 1),
        ("cat", "not a cat", 0),
        ("cat", "I don't think it's a cat.", 0),
        ("cat", "a dog instead of a cat", 0),
        ("cat", "It's not a dog but a cat.", 1),
        ("cat", "There is no doubt that it is a cat.", 1),
        ("cat", "Is it a cat? No, a dog.", None),
        ("cat", "a cat or a dog", None),
        ("cat", "cat, dog, bird, fish, horse", None),
        ("cat", "concatenate", 0),
        ("cat", "<think>cat</think> dog", 0),
        ("Paris", "I thought of Paris. Answer: London", 0),
        ("guilty", "Not guilty.", 0),
        ("not guilty", "Not guilty.", 1),
        ("Vitamin A", "Vitamin C", 0),
        ("A", "A dog", None),
        ("A", "Answer: A", 1),
        ("C++", "C", 0),
        ("5", "-5", 0),
        ("5", "15", 0),
        ("1,000", "1000", 1),
        ("U.S.", "the US", 1),
        ("Wilhelm Röntgen", "It was Wilhelm Rontgen.", 1),
        ("ice-cream", "ice cream", 1),
        ("Cannot be determined", "It cannot be determined.", 1),
        ("猫", "不是猫", 0),
        ("猫", "图里是一只猫。", 1),
        ("猫", "不是狗而是猫", 1),
        ("猫", "熊猫", None),
        ("「紅樓夢」", "答案是《紅樓夢》。", 1),
        ("ＮＡＳＡ", "nasa", 1),
        ("🐱", "🐱", 1),
    ],
)
def test_short_text(key: str, answer: str, points: float | None) -> None:
    assert SHORT_TEXT.grade_key(AnswerKey(accepted=(key,)), answer, "en").points == points


def test_a_synonym_is_a_weak_wrong() -> None:
    strong = SHORT_TEXT.grade_key(AnswerKey(accepted=("car",)), "It is not a car.", "en")
    weak = SHORT_TEXT.grade_key(AnswerKey(accepted=("car",)), "an automobile", "en")
    assert (why_of(strong), why_of(weak)) == (None, Why.NO_MATCH)


@pytest.mark.parametrize(
    ("key", "answer", "points"),
    [
        ("1331 and 1728", "1728", 0),
        ("1331 and 1728", "The numbers are 1331 and 1728.", 1),
        ("1331 and 1728", "1,331, 1,728", 1),
        ("1331 and 1728", "1331, 1728 and 2197", 0),
        ("1, 2, 3", "3,2,1", 1),
        ("three, five", "3, 5", 1),
        ("1/2, 3/4", "3/4, 1/2", 1),
        ("Oregon, Florida", "Oregon", 0),
        ("Oregon, Florida", "Florida and Oregon", 1),
        ("Oregon, Florida", "Here they are:\n* **Oregon**\n* **Florida**", 1),
        ("Oregon, Florida", "1. Florida\n2. Oregon", 1),
        ("Oregon, Florida", "Oregon, Florida, Texas", 0),
        ("Oregon, Florida", "Oregon, Oregon, Florida", 1),
        ("Virginia, Ohio", "West Virginia, Ohio", None),
        ("NYC/New York, LA/Los Angeles", "New York and LA", 1),
        ("salt and pepper; oil", "oil, salt and pepper", 1),
        ("cat, dog", "There is a cat (black) and a dog (white).", 1),
        ("红色、绿色", "绿色和红色", 1),
        ("红色、绿色", "红色、绿色、蓝色", 0),
        ("红/红色、绿/绿色", "答案：红色，绿色。", 1),
    ],
)
def test_enumeration(key: str, answer: str, points: float | None) -> None:
    assert ENUMERATION.grade_key(AnswerKey(accepted=(key,)), answer, "en").points == points


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ("red, green, blue", 1),
        ("red -> green -> blue", 1),
        ("1. red\n2. green\n3. blue", 1),
        ("First red, then green and finally blue.", 1),
        ("green, red, blue", 0),
        ("red, green", 0),
    ],
)
def test_order_matters_only_where_it_is_asked_for(answer: str, points: float) -> None:
    key = AnswerKey(accepted=("red, green, blue",))
    assert ORDERED_ENUMERATION.grade_key(key, answer, "en").points == points
    assert ENUMERATION.grade_key(key, "blue, red, green", "en").points == 1


def test_every_accepted_variant_is_a_whole_list() -> None:
    key = AnswerKey(accepted=("cat, dog", "lion, wolf"))
    assert [ENUMERATION.grade_key(key, answer, "en").points for answer in ("wolf, lion", "cat, wolf")] == [1, 0]


def test_the_items_of_a_key() -> None:
    assert key_items("NYC/New York, 3/4") == [["NYC/New York", "NYC", "New York"], ["3/4"]]
    assert key_items("salt and pepper; oil") == [["salt and pepper"], ["oil"]]
