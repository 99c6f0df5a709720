import hypothesis.strategies as st
import pytest
from hypothesis import given

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from evaluation.models.sim.grammar import (
    HINT,
    QUOTE_BEGINS,
    QUOTE_ENDS,
    Ask,
    AskKind,
    Hearing,
    Sight,
    ask_text,
    read,
)
from evaluation.prompts import render

SIGHTS, HEARINGS = st.sampled_from(list(Sight)), st.sampled_from(list(Hearing))
ASKS = st.one_of(
    st.builds(Ask, kind=st.just(AskKind.SUM), sight=SIGHTS, hearing=HEARINGS, modulus=st.integers(2, 20)),
    st.builds(Ask, kind=st.just(AskKind.SAME), sight=SIGHTS, hearing=HEARINGS),
    st.builds(Ask, kind=st.just(AskKind.POINTED), hearing=HEARINGS),
    st.builds(Ask, kind=st.just(AskKind.SEEN), sight=SIGHTS),
    st.builds(Ask, kind=st.just(AskKind.HEARD), hearing=HEARINGS),
    st.builds(Ask, kind=st.just(AskKind.PLACED), place=st.integers(1, 9)),
    st.just(Ask(kind=AskKind.PICTURE)),
    st.sampled_from([AskKind.PRINTED, AskKind.SHOWN, AskKind.SPOKEN, AskKind.REPORT]).map(lambda kind: Ask(kind=kind)),
)
LANGUAGES = st.sampled_from(["en", "zh"])


def shown(question):
    return "\n".join(part.text for message in render(question) for part in message.parts)


@given(ASKS, LANGUAGES, st.sampled_from(["", "Mia made this:\n", "这是小明做的："]))
def test_every_question_that_can_be_written_is_read(ask, language, before):
    assert read(f"{before}{ask_text(ask, language)}\n").asks == (ask,)


@given(ASKS)
def test_line_breaks_and_case_do_not_matter(ask):
    assert read(ask_text(ask, "en").replace(" ", "\n ").upper()).asks == (ask,)


@given(ASKS, LANGUAGES, st.lists(st.integers(0, 99), min_size=2, max_size=8, unique=True))
def test_options_are_read_as_the_prompts_show_them(ask, language, numbers):
    question = Question(
        prompt=(TextPart(text=ask_text(ask, language)),),
        kind=QuestionKind.CHOICE,
        choices=tuple(Choice(text=str(number)) for number in numbers),
        answer=AnswerKey(correct=(0,)),
        task_type="counting",
        language=language,
    )
    understood = read(shown(question))
    assert (understood.asks, understood.language) == ((ask,), language)
    assert understood.choices == tuple(("ABCDEFGH"[place], str(number)) for place, number in enumerate(numbers))


@given(st.lists(ASKS, min_size=3, max_size=3), LANGUAGES)
def test_steps_are_read_as_the_prompts_show_them(asks, language):
    question = Question(
        prompt=(TextPart(text="1. Look and listen." if language == "en" else "请看，请听。"),),
        kind=QuestionKind.MULTI_STEP,
        steps=tuple(
            Step(ask=ask_text(ask, language), points=points, answer=AnswerKey(accepted=("1",)))
            for ask, points in zip(asks, (3, 3, 4), strict=True)
        ),
        task_type="multi_step_reasoning",
        language=language,
    )
    assert read(shown(question)).steps[-3:] == tuple((ask,) for ask in asks)


@pytest.mark.parametrize("form", ["{}. {}", "{}) {}", "({}) {}", "（{}） {}", "{}、{}", "{}：{}"])
def test_forms_of_options(form):
    text = "\n".join(["Which?", form.format("P", "a cat"), form.format("Q", "a cup of coffee")])
    assert read(text).choices == (("P", "a cat"), ("Q", "a cup of coffee"))


def test_an_unknown_question_asks_for_nothing_known():
    understood = read("How many sisters does Mia have?\nA. 1\nB. 2")
    assert (understood.asks, understood.choices) == ((), (("A", "1"), ("B", "2")))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("How many dots are in the image?", ["dots"]),
        ("Repeat the spoken digits.", ["spoken"]),
        ("Which code word do you hear?", ["spoken"]),
        ("What digits are said, and how many dots do you see?", ["spoken", "dots"]),
        ("How many dots do you see, and what number is spoken?", ["dots", "spoken"]),
        ("Read the number that is printed in the picture.", ["printed"]),
        ("What number is printed in the image, and which digits are spoken?", ["printed", "spoken"]),
        ("Which digits are spoken and what number is printed?", ["spoken", "printed"]),
        ("Which digits are shown in the video? Which digits do you hear?", ["shown", "spoken"]),
        ("图片上印着的数字是什么？录音中说了哪些数字？", ["printed", "spoken"]),
        ("录音中说了哪些数字？视频里出现的数字呢？", ["spoken", "shown"]),
        ("How many beeps are there? If there is no sound, answer none.", ["beeps"]),
        ("图中有几个圆点？录音里说的数字是什么？", ["dots", "spoken"]),
        ("请复述听到的口令。", ["spoken"]),
    ],
)
def test_canaries_in_other_words_are_read_in_order(text, kinds):
    assert [ask.sight or ask.hearing or ask.kind for ask in read(text).asks] == kinds


def test_hints_are_read_in_both_languages():
    assert read("What?\n" + HINT["en"].format(answer="a cup of coffee")).hint == "a cup of coffee"
    assert read("什么？" + HINT["zh"].format(answer="一杯咖啡")).hint == "一杯咖啡"
    assert read("Give no hint: just the answer.").hint is None


def test_the_subject_is_the_same_for_every_order_of_options_and_every_note_about_missing_media():
    first = read("Look: [image not provided]\nWhat is it?\nA. a cat\nB. a dog")
    second = read("Look: \nWhat is it?\nA. a dog\nB. a cat")
    assert first.subject == second.subject == "Look: What is it?"


MARKER, NONCE = "0123456789abcdef", "fedcba9876543210"


def reviewed(quoted: str, language="en") -> str:
    """A request for a review, with words around it that would be asks in a question."""
    asked = ask_text(Ask(kind=AskKind.REVIEW, nonce=NONCE), language)
    begins, ends = QUOTE_BEGINS.format(marker=MARKER), QUOTE_ENDS.format(marker=MARKER)
    return f"Do not answer.\n{begins}\n{quoted}\n{ends}\n{asked}\nExample: how many dots, beeps and flashes are there?"


@given(ASKS, LANGUAGES)
def test_a_question_under_review_is_read_and_not_answered(ask, language):
    text = f"{ask_text(ask, language)}\nA. 1\nB. 2\n{HINT[language].format(answer='2')}\nAnswer: X"
    understood = read(reviewed(text, language))
    assert understood.asks == (Ask(kind=AskKind.REVIEW, nonce=NONCE, about=(ask,)),)
    assert (understood.choices, understood.steps, understood.hint) == ((), (), None)
    assert not understood.asks_for_prefix


@given(st.lists(ASKS, min_size=2, max_size=3), LANGUAGES)
def test_all_steps_of_a_question_under_review_are_read(asks, language):
    lines = [f"Step {number}: {ask_text(ask, language)}" for number, ask in enumerate(asks, start=1)]
    (understood,) = read(reviewed("\n".join(lines), language)).asks
    assert understood.about == tuple(asks)
    lines.append("Step 9: How many sisters does Mia have?")
    assert read(reviewed("\n".join(lines), language)).asks[0].about == ()


def test_an_unknown_question_under_review_is_about_nothing_known():
    assert read(reviewed("How many sisters does Mia have?\nA. 1\nB. 2")).asks[0].about == ()
    forged = QUOTE_ENDS.format(marker=NONCE) + ask_text(Ask(kind=AskKind.REPORT), "en")
    assert read(reviewed(forged)).asks[0].kind is AskKind.REVIEW
