"""Differences as somebody would write them down by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import Modality, TextPart
from core.question import AnswerKey, Choice, Step
from qc.review.revision_diff import diff_revisions


def told(before, after) -> list[str]:
    return [change.words for change in diff_revisions(before, after)]


@pytest.fixture
def choices(ask):
    """A choice question from the texts of its choices and the right one."""

    def make(texts: str, right: str = "a"):
        of = [Choice(text=text) for text in texts.split()]
        return ask(choices=of, answer={"correct": [texts.split().index(right)]})

    return make


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("a b c", "a b c", []),
        ("a b c", "a x c", ["choice B: b -> x"]),
        ("a b c", "a b c d", ["choice D added: d"]),
        ("a b c", "x a b c", ["choice A added: x"]),
        ("a b c", "a c", ["choice B removed: b"]),
        ("a b c", "b a c", ["choice B moved to A"]),
        ("a b c", "c a b", ["choice C moved to A"]),
        ("a b c", "a y z c", ["choice B: b -> y", "choice C added: z"]),
        ("a b c d", "a x d", ["choice B: b -> x", "choice C removed: c"]),
    ],
)
def test_choices(choices, before, after, changes):
    """The key goes with its choice, which is no change of the key."""
    assert told(choices(before), choices(after)) == changes


def test_another_key(choices):
    assert told(choices("a b c"), choices("a b c", "c")) == ["answer: A. a -> C. c"]
    # The right choice was taken out, and a new one is right.
    assert told(choices("a b"), choices("b c", "c")) == [
        "choice A removed: a",
        "choice B added: c",
        "answer: A. a -> B. c",
    ]


def test_a_reworded_right_choice_is_no_other_key(choices):
    assert told(choices("a b c", "b"), choices("a bb c", "bb")) == ["choice B: b -> bb"]


def test_prompt_and_media_by_placeholder(ask, medium):
    before = ask(prompt=[TextPart(text="See "), medium("image_1"), TextPart(text=" and "), medium("audio_1")])
    after = ask(prompt=[TextPart(text="Look: "), medium("image_1", "d" * 64), medium("video_1")])
    assert told(before, after) == [
        "prompt: See <image_1> and <audio_1> -> Look: <image_1><video_1>",
        "image_1: image/png aaaaaaaaaaaa -> image/png dddddddddddd",
        "audio_1 removed: audio/wav bbbbbbbbbbbb",
        "video_1 added: video/mp4 cccccccccccc",
    ]


def test_what_surrounds_the_question(ask):
    after = ask(required={Modality.IMAGE}, task_type="reading", language="zh", asked_in="audio")
    assert told(ask(), after) == [
        "required: audio, image -> image",
        "task type: counting -> reading",
        "language: en -> zh",
        "asked in: text -> audio",
    ]


def test_answers_of_an_open_question(ask):
    before = ask("open", answer=AnswerKey(accepted=("3",), grader="number", tolerance=0.5))
    after = ask("open", answer=AnswerKey(accepted=("3", "three")))
    assert told(before, after) == [
        "answer: 3 -> 3; three",
        "grader of answer removed: number",
        "tolerance of answer removed: 0.5",
    ]


def test_another_kind(ask):
    assert told(ask(choices=[Choice(text="a"), Choice(text="b")]), ask("open")) == [
        "kind: choice -> open",
        "choice A removed: a",
        "choice B removed: b",
        "answer removed: B. b",
        "answer added: SECRETIVE; CLANDESTINE",
        "grader of answer added: short_text",
    ]


def step(ask: str, points: int, answer: str = "x", rubric: str | None = None) -> Step:
    return Step(ask=ask, points=points, answer=AnswerKey(accepted=(answer,)), rubric=rubric)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (
            [step("one", 4), step("two", 6, rubric="old")],
            [step("one", 5), step("two", 5, "y", "new")],
            [
                "points of step 1: 4 -> 5",
                "points of step 2: 6 -> 5",
                "answer of step 2: x -> y",
                "rubric of step 2: old -> new",
            ],
        ),
        (
            [step("one", 10)],
            [step("zero", 4), step("one", 6)],
            ["step 1 added: zero (4 points; answer: x)", "points of step 1: 10 -> 6"],
        ),
        ([step("one", 4), step("two", 6)], [step("two", 6), step("one", 4)], ["step 2 moved to 1"]),
        ([step("one", 4), step("two", 6)], [step("one", 4), step("deux", 6)], ["step 2: two -> deux"]),
    ],
)
def test_steps(ask, before, after, changes):
    found = told(ask("multi_step", steps=before), ask("multi_step", steps=after))
    assert sorted(found) == sorted(changes)


TEXTS = st.lists(st.sampled_from("abcdef"), min_size=2, max_size=6, unique=True)


@given(before=TEXTS, after=TEXTS)
def test_nothing_is_lost_and_nothing_told_twice(ask, before, after):
    """What was removed, added or reworded accounts for all texts, and equal questions differ in nothing."""
    questions = [
        ask(choices=[Choice(text=text) for text in texts], answer={"correct": [0]}) for texts in (before, after)
    ]
    changes = [change for change in diff_revisions(*questions) if change.part.startswith("choice")]
    texts = [change for change in changes if change.how != "moved"]
    gone = [change.before for change in texts if change.before is not None]
    come = [change.after for change in texts if change.after is not None]
    assert sorted(gone) == sorted(set(before) - set(after))
    assert sorted(come) == sorted(set(after) - set(before))
    assert bool(diff_revisions(*questions)) == (before != after)
