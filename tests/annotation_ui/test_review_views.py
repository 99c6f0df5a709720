"""What the review page says, without a browser: changes word by word, evidence in words, reasons, answers."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation_ui.views import review as view
from annotation_ui.views.changes import change_lines, part_label
from annotation_ui.views.notes import evidence_words, note_lines
from annotation_ui.words import words_in
from core.content import MediaPart, MediaRef, TextPart
from core.question import AnswerKey, Choice, Question, Step
from evaluation.graders.multi_step import parse_steps
from evaluation.prompts import letters_text, steps_text
from qc.reasons import REASONS
from qc.review.blind import OwnAnswer
from qc.review.opinions import parts_of
from qc.review.revision_diff import diff_revisions
from qc.review.solves import Solves

EN, ZH = words_in("en"), words_in("zh")
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def question(text="How many birds sing?", **changes):
    media = MediaRef(sha256="a" * 64, media_type="image/png", modality="image", byte_count=1)
    fields = {
        "prompt": (TextPart(text=text), MediaPart(name="image_1", media=media)),
        "kind": "choice",
        "choices": (Choice(text="two"), Choice(text="three")),
        "answer": AnswerKey(correct=(1,)),
        "required": ["image"],
        "task_type": "counting",
        "language": "en",
    }
    return Question.model_validate(fields | changes)


def told(before, after, t=EN):
    return [
        (line.part, line.how, [(one.kind, one.text) for one in line.stretches])
        for line in change_lines(diff_revisions(before, after), t)
    ]


class TestChanges:
    def test_words_that_stayed_are_kept_in_one_stretch(self):
        (line,) = told(question("How many birds sing?"), question("How many loud birds sing?"))
        assert line == (
            "The question",
            "changed",
            [("kept", "How many "), ("new", "loud "), ("kept", "birds sing?<image_1>")],
        )

    def test_chinese_is_compared_character_by_character(self):
        (line,) = told(question("有几只鸟在唱歌？"), question("有几只鸟在飞？"), ZH)
        assert line[0] == "题干" and line[2][:3] == [("kept", "有几只鸟在"), ("old", "唱歌"), ("new", "飞")]

    def test_codes_are_told_as_labels_and_moves_by_letters(self):
        after = question(
            choices=(Choice(text="three"), Choice(text="two")),
            answer=AnswerKey(correct=(0,)),
            required=(),
            task_type="counting",
            asked_in="audio",
            language="zh",
        )
        lines = told(question(), after)
        assert ("Needed modalities", "changed", [("old", "Image"), ("new", "Text only")]) in lines
        assert ("Language", "changed", [("old", "English"), ("new", "Chinese")]) in lines
        assert any(how == "moved" and [kind for kind, _ in stretches] == ["old", "new"] for _, how, stretches in lines)

    def test_very_long_texts_are_set_side_by_side(self):
        (line,) = told(question("a " * 900 + "."), question("b " * 900 + "."))
        assert [kind for kind, _ in line[2]] == ["old", "new"]

    def test_every_part_that_comments_can_name_has_words(self):
        steps = (Step(ask="Which?", points=10, answer=AnswerKey(accepted=("red",))),)
        asked = question(kind="multi_step", choices=(), answer=AnswerKey(), steps=steps)
        names = {part_label(ZH, part) for part in (*parts_of(asked), *parts_of(question()))}
        assert names == {"题干", "image_1", "第 1 步", "答案", "选项 A", "选项 B"}
        assert part_label(EN, "rubric of step 2") == "Rubric: Step 2"


class TestAnswers:
    def test_letters_come_with_their_texts_and_a_mark(self):
        answers = [
            OwnAnswer(hidden="image", answer=None, points=None),
            OwnAnswer(hidden=None, answer="B", points=1.0),
        ]
        lines = view.answer_lines(question(), answers, EN)
        assert [(line.shown, line.answer, line.mark, line.told) for line in lines] == [
            ("Without image", "could not tell", "", ""),
            ("With everything", "B. three", "right", "right"),
        ]

    @pytest.mark.parametrize(
        ("points", "mark", "words"),
        [(0.0, "wrong", "not right"), (0.4, "partly", "4 of 10 points"), (None, "", "not graded")],
    )
    def test_other_points(self, points, mark, words):
        (line,) = view.answer_lines(question(), [OwnAnswer(hidden=None, answer="a <b>", points=points)], EN)
        assert (line.answer, line.mark, line.told) == ("a <b>", mark, words)

    @pytest.mark.parametrize("language", ["en", "zh", "zh-Hant"])
    def test_answers_to_steps_are_read_by_the_grader(self, language):
        text = steps_text(["red\nand blue", "", "three"], language)
        assert parse_steps(text, 3) == {1: "red and blue", 3: "three"}

    def test_chosen_letters_stand_in_order(self):
        assert letters_text(["C", "A"]) == "A, C" and letters_text([]) == ""

    def test_what_others_answered(self):
        solves = Solves(hidden="image", answered=2, right=1, ungraded=1, low=0.1, high=0.9)
        assert view.solve_lines([solves], EN) == ["Without image: 1 of 2 right, 1 not graded"]


class TestNotes:
    @pytest.mark.parametrize(
        ("evidence", "words"),
        [
            ({"start_s": 3.0, "end_s": 75, "note": "the bell"}, "from 3.0 s to 1:15; the bell"),
            ({"start_s": 3.0}, "from 3.0 s on"),
            ({"end_s": 3.0}, "up to 3.0 s"),
            ({"left_px": 30, "top_px": 40, "width_px": 120, "height_px": 80}, "the box 120 × 80 px at 30, 40 px"),
            ({"left_px": 30, "odd": ["a", 2]}, "odd: a, 2"),
            ("0:02, the second strike", "0:02, the second strike"),
            ({}, ""),
        ],
    )
    def test_times_and_boxes_in_words(self, evidence, words):
        assert evidence_words(evidence, EN) == words

    def test_by_medium_and_nothing_empty(self):
        notes = {"evidence": {"audio_1": {"start_s": 1}, "image_1": {}}, "source": "own", "odd": None}
        assert note_lines(notes, EN) == [("audio_1", "from 1.0 s on"), ("source", "own")]


class TestReasons:
    @pytest.mark.parametrize("t", [EN, ZH])
    def test_every_code_once_with_words_of_its_own(self, t):
        labels = view.reason_labels(t)
        assert set(labels) == set(REASONS) and len(set(labels.values())) == len(REASONS)

    def test_found_by_code_in_english_and_in_chinese_by_chinese_words(self):
        assert view.reason_labels(EN)["wrong_key"] == "wrong key: the key is wrong · Question and answer"
        assert view.reason_labels(ZH)["wrong_key"] == "答案错误 · 题目与答案"


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(hours=2, minutes=5), "2 h 5 min"),
        (timedelta(minutes=7, seconds=50), "7 min"),
        (-NOW.resolution, "1 min"),
    ],
)
def test_time_left_is_told_in_hours_and_minutes(left, words):
    assert view.time_left(NOW + left, NOW, EN) == words


def test_a_suggestion_begins_from_what_the_part_says():
    asked = question(kind="open", choices=(), answer=AnswerKey(accepted=("a", "b")))
    assert [view.part_text(question(), part) for part in ("prompt", "choice B", "answer", "image_1")] == [
        "How many birds sing?<image_1>", "three", "B", None,
    ]  # fmt: skip
    assert view.part_text(asked, "answer") == "a; b"


def test_what_a_browser_kept_is_taken_back_only_as_far_as_fields_can_hold_it():
    from annotation_ui.reviewing.desk import MOST_CHARACTERS, MOST_REMARKS
    from annotation_ui.views.review_kept import taken_back

    full = f"text-full-{'0' * 8}-0000-0000-0000-{'0' * 12}-1"
    good = {
        "decision": "return", "reasons": ["ambiguous"], "remarks": [1, 3], "part-1": "prompt", "suggest-1": True,
        "text-comment-1": "<b>why</b>", "text-edit-1-choice A": "fox", full: "八只",
    }  # fmt: skip
    assert taken_back(good, ("prompt", "choice A")) == good
    forged = {
        "decision": "explode", "reasons": ["ambiguous", "no such code", 7], "remarks": [0, -1, True, "1", 2] * 99,
        "part-1": "choice Z", "suggest-1": "yes", "text-comment-1": 5, "text-comment-2": "x" * 9_999,
        "review-form-key": "mine", "__class__": "x", full.replace("full", "other"): "x", "text-comment-x": "x", 3: "x",
    }  # fmt: skip
    assert taken_back(forged, ("prompt",)) == {
        "reasons": ["ambiguous"], "remarks": [2] * MOST_REMARKS, "text-comment-2": "x" * MOST_CHARACTERS
    }  # fmt: skip
    for nothing in (None, [], "text", 5, {str(number): "x" for number in range(1_000)}):
        assert taken_back(nothing, ("prompt",)) == {}
