"""Blind first: what is shown when, and what is written once."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from core.condition import without
from core.content import Modality
from core.question import AnswerKey, Choice
from evaluation.prompts import render
from qc.review.blind import (
    CASE_INSTRUCTION,
    INSTRUCTIONS,
    AlreadyAnswered,
    EmptyAnswer,
    NoSuchChoice,
    Stage,
    WrongStage,
    hidden_modality,
    open_case,
)
from qc.review.places import ReviewEnded
from qc.review.queue import take_open_case
from qc.review.verdicts import give_verdict
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import Action
from warehouse.people import NotAllowed, get_user
from warehouse.tables import Decision, Review
from warehouse.verdicts import Judgement, record_verdict

KINDS = ("choice", "open", "multi_step")
# What each kind's key says, and what only the author, the graders and the rounds know.
SECRETS = ("SECRETIVE", "CLANDESTINE", "OF-THE-RUBRIC", "short_text", "EVIDENCE-NOTE", "author-of-it", "COMMENT-OF-IT")
SECRET_FIELDS = ("correct", "accepted", "grader", "rubric", "tolerance", "author", "notes", "verdict", "points_")
HIDDEN_SHA = {"image": "a" * 64, "audio": "b" * 64}


@pytest.fixture
def database(workspace):
    """Nothing here depends on the kind of database."""
    return workspace.database


@pytest.fixture
def waiting(desk, ask):
    """An item with all that must not be seen: notes, an author, verdicts of the rounds before and of this one."""

    def make(kind: str = "choice", **more) -> str:
        name = f"zoo-{kind}"
        desk.item(name, ask(kind, **more), "author-of-it", passed=1, notes={"audio": "EVIDENCE-NOTE"})
        with desk.database.session() as session:
            revision = current_revision(session, get_item(session, name))
            record_verdict(session, revision, Judgement(2, "check@1", False, Decision.PASS, [], {}, "COMMENT-OF-IT"))
        desk.act(name, Action.PASS_ROUND2)
        with desk.database.session() as session:
            give_verdict(session, name, 3, "r7", Decision.RETURN, ["not_unique"], "ROUND-THREE", desk.clock)
        return name

    return make


def stored(desk) -> Review:
    with desk.database.reading() as session:
        return session.exec(select(Review)).one()


class TestWhatIsShown:
    @pytest.mark.parametrize("kind", KINDS)
    def test_nothing_tells_of_the_key_before_the_last_stage(self, desk, waiting, kind):
        waiting(kind)
        task = desk.take("r0")
        # Right and wrong answers look the same: the points are not told either.
        wrong = "B" if kind == "choice" else "SECRET-LESS"
        for answer, stage in ((wrong, Stage.PARTIAL), (None, Stage.FULL)):
            view = desk.view(task, "r0")
            assert view.stage is stage
            told = json.dumps([view.model_dump(mode="json"), task.model_dump(mode="json")])
            assert [secret for secret in (*SECRETS, "ROUND-THREE", "r7", "check@1") if secret in told] == []
            assert [field for field in SECRET_FIELDS if f'"{field}' in told] == []
            assert view.revealed is None
            desk.partial(task, "r0", answer) if stage is Stage.PARTIAL else desk.full(task, "r0", answer)
        view = desk.view(task, "r0")
        assert (view.stage, view.hidden) == (Stage.VERDICT, None)
        told = view.model_dump_json()
        wanted = {
            "choice": {"correct"},
            "open": {"SECRETIVE", "short_text"},
            "multi_step": {"SECRETIVE", "OF-THE-RUBRIC"},
        }
        missing = [secret for secret in (*wanted[kind], "EVIDENCE-NOTE", "COMMENT-OF-IT") if secret not in told]
        assert missing == []
        # Nobody judges after another.
        assert "ROUND-THREE" not in told and "r7" not in told

    @pytest.mark.parametrize(
        ("kind", "keys"),
        [
            ("choice", [{"answer": {"correct": [0]}}, {"answer": {"correct": [2]}}]),
            (
                "open",
                [{"answer": {"accepted": ["3"], "grader": "number"}}, {"answer": {"accepted": ["fox", "reynard"]}}],
            ),
        ],
    )
    def test_two_questions_that_differ_in_the_key_alone_look_the_same(self, desk, ask, kind, keys):
        told = []
        for number, key in enumerate(keys):
            desk.item(f"zoo-{number}", ask(kind, text="Same?", **key))
            task = desk.take("r0")
            view = desk.partial(task, "r0", "B" if kind == "choice" else "3")
            told.append(view.model_dump(exclude={"assignment_id", "item", "expires_at"}))
            desk.full(task, "r0", None)
            desk.give(task, "r0")
        assert told[0] == told[1]

    def test_the_question_is_shown_as_to_a_model(self, desk, ask):
        asked = ask("multi_step")
        desk.item("zoo", asked)
        task = desk.take("r0")
        view = desk.view(task, "r0")
        assert view.hidden is not None
        assert view.shown.message == render(without(view.hidden).apply(asked))[0]
        assert HIDDEN_SHA[view.hidden.value] not in view.model_dump_json()
        assert f"[{view.hidden.value} not provided]" in view.model_dump_json()
        full = desk.partial(task, "r0", "Step 1: ?")
        assert (full.stage, full.hidden, full.shown.message) == (Stage.FULL, None, render(asked)[0])
        assert [(step.ask, step.points) for step in full.shown.steps] == [
            ("What stands left?", 4),
            ("What is said?", 6),
        ]

    def test_a_question_without_media_begins_with_everything(self, desk, ask):
        desk.item("zoo", ask(shows=()))
        task = desk.take("r0")
        assert (desk.view(task, "r0").stage, stored(desk).hidden) == (Stage.FULL, None)
        with pytest.raises(WrongStage, match="holds no media"):
            desk.partial(task, "r0", "A")

    def test_what_is_revealed_at_last(self, desk, ask):
        before, after = ask(text="Which beast?"), ask(text="Which animal?")
        desk.item("zoo", before, notes={"old": "note"})
        desk.revise("zoo", after)
        assert desk.review("r1", partial="B", full="B") == "zoo"
        task = desk.take("r0")
        view = desk.answer(task, "r0", "A", "The answer is B.")
        seen = view.revealed
        assert seen.question == after
        hidden = Modality(next(one.hidden for one in seen.answers if one.hidden))
        assert [(one.hidden, one.answer, one.points) for one in seen.answers] == [
            (hidden, "A", 0.0),
            (None, "The answer is B.", 1.0),
        ]
        assert [(change.part, change.before, change.after) for change in seen.changes] == [
            ("prompt", "Which beast? <image_1><audio_1>", "Which animal? <image_1><audio_1>")
        ]
        (other,) = {"image", "audio"} - {hidden.value}
        # The other's solves, never one's own.
        assert [(one.hidden, one.right, one.answered) for one in seen.solves] == [(None, 1, 1), (other, 1, 1)]
        assert seen.verdicts == ()

    def test_a_first_revision_has_no_changes_rather_than_none(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        assert desk.answer(task, "r0").revealed.changes is None

    def test_instructions_in_both_languages(self):
        for words in (*INSTRUCTIONS.values(), CASE_INSTRUCTION):
            assert words.text("zh-Hans") == words.zh != words.text("en") == words.en
            assert any("一" <= letter <= "鿿" for letter in words.zh)
        assert set(INSTRUCTIONS) == set(Stage)

    def test_an_open_case_shows_all_with_the_evidence(self, desk):
        desk.item("zoo", passed=0, notes={"audio": "said at 2 s"})
        with desk.database.session() as session:
            revision = current_revision(session, get_item(session, "zoo"))
            judgement = Judgement(1, "check@1", False, Decision.UNKNOWN, ["not_enough_votes"], {"votes": [1]})
            record_verdict(session, revision, judgement)
            session.flush()
            task = take_open_case(session, "r0", desk.clock)
        with desk.database.reading() as session:
            view = open_case(session, task.assignment_id, "r0", desk.clock)
        assert (view.round, view.background.question.answer.correct, view.background.notes) == (1, (1,), {"audio": "said at 2 s"})  # fmt: skip
        assert [(one.decision, one.evidence) for one in view.background.verdicts] == [("unknown", {"votes": [1]})]


class TestStages:
    def test_in_order(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        with pytest.raises(WrongStage, match="answer without the hidden material first"):
            desk.full(task, "r0", "B")
        with pytest.raises(WrongStage, match="answer the question before you judge it"):
            desk.give(task, "r0")
        desk.partial(task, "r0", "A")
        with pytest.raises(WrongStage):
            desk.give(task, "r0")
        review = stored(desk)
        assert (review.partial_answer, review.full_at, review.decision) == ("A", None, None)

    @pytest.mark.parametrize("answer", ["B", None])
    def test_each_once(self, desk, answer):
        desk.item("zoo")
        task = desk.take("r0")
        desk.partial(task, "r0", answer)
        written = stored(desk)
        desk.clock.advance(minutes=1)
        assert desk.partial(task, "r0", answer).stage is Stage.FULL
        with pytest.raises(AlreadyAnswered):
            desk.partial(task, "r0", "C")
        desk.full(task, "r0", "C")
        assert desk.partial(task, "r0", answer).stage is Stage.VERDICT
        assert desk.full(task, "r0", "C").stage is Stage.VERDICT
        with pytest.raises(AlreadyAnswered):
            desk.full(task, "r0", None)
        review = stored(desk)
        assert (review.partial_answer, review.partial_at) == (answer, written.partial_at)
        assert review.full_at == desk.clock()

    @pytest.mark.parametrize(
        ("kind", "answer", "points"),
        [
            ("choice", "B", 1.0),
            ("choice", "C", 0.0),
            ("choice", None, None),
            ("open", "clandestine", 1.0),
            ("multi_step", "Step 1: secretive\nStep 2: no idea", 0.4),
        ],
    )
    def test_graded_by_the_questions_own_grader(self, desk, ask, kind, answer, points):
        desk.item("zoo", ask(kind))
        desk.answer(desk.take("r0"), "r0", answer, answer)
        review = stored(desk)
        assert (review.partial_points, review.full_points) == (points, points)

    def test_a_grader_that_is_not_there_gives_no_points(self, desk, ask):
        desk.item("zoo", ask("open", answer=AnswerKey(accepted=("x",), grader="frobnicate")))
        desk.answer(desk.take("r0"), "r0", "x", "x")
        assert (stored(desk).full_answer, stored(desk).full_points) == ("x", None)

    @pytest.mark.parametrize("answer", ["", "  \n", "　"])
    def test_an_answer_has_words(self, desk, answer):
        desk.item("zoo")
        with pytest.raises(EmptyAnswer):
            desk.partial(desk.take("r0"), "r0", answer)
        assert stored(desk).partial_at is None

    def test_who_is_deactivated_sees_and_writes_nothing_more(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        with desk.database.session() as session:
            get_user(session, "r0").active = False
        for act in (desk.view, lambda *at: desk.partial(*at, "A"), desk.give):
            with pytest.raises(NotAllowed):
                act(task, "r0")


class TestMeanwhile:
    def test_a_new_revision_ends_the_review_and_keeps_the_answers(self, desk, ask):
        first = desk.item("zoo")
        task = desk.take("r0")
        desk.partial(task, "r0", "A")
        second = desk.revise("zoo", ask(text="Another question?"))
        for act in (desk.view, lambda *at: desk.full(*at, "B"), desk.give):
            with pytest.raises(
                ReviewEnded, match="has a newer revision than number 1, your task; what you answered is kept"
            ):
                act(task, "r0")
        assert (stored(desk).partial_answer, stored(desk).revision_id) == ("A", first)
        again = desk.take("r0")
        assert (again.revision_id, desk.view(again, "r0").stage) == (second, Stage.PARTIAL)
        desk.answer(again, "r0")
        desk.give(again, "r0")
        with desk.database.reading() as session:
            kept = session.exec(select(Review).where(Review.revision_id == first)).one()
            assert (kept.partial_answer, kept.finished_at, kept.verdict_id) == ("A", None, None)

    def test_so_does_a_decision(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        with desk.database.session() as session:
            for by in ("r1", "r2"):
                give_verdict(session, "zoo", 3, by, Decision.REJECT, ["inappropriate"], clock=desk.clock)
        with pytest.raises(ReviewEnded, match="was decided meanwhile and is rejected"):
            desk.view(task, "r0")

    def test_a_look_writes_nothing(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        before = stored(desk)
        # In a session that refuses to write.
        assert desk.view(task, "r0") == desk.view(task, "r0")
        assert stored(desk) == before


class TestHiddenModality:
    @given(
        shows=st.sets(st.sampled_from(["image_1", "audio_1", "video_1"]), min_size=1),
        reviewers=st.lists(st.text(min_size=1), min_size=1, max_size=12, unique=True),
        revision_id=st.uuids().map(str),
    )
    def test_over_the_reviewers_of_a_revision_each_equally_often(self, ask, shows, reviewers, revision_id):
        asked = ask(shows=tuple(sorted(shows)))
        given_out = []
        for reviewer in reviewers:
            given_out.append(hidden_modality(asked, revision_id, reviewer, given_out))
        counts = Counter(given_out)
        assert set(counts) <= set(asked.required)
        assert max(counts.values()) - min(counts[one] for one in asked.required) <= 1
        if len(shows) > 1 and len(reviewers) > 1:
            assert given_out[0] != given_out[1]

    def test_over_revisions_too_for_the_first_reviewer(self, ask):
        """Of 3000 with three modalities each gets 1000; four standard deviations of the binomial are 103."""
        asked = ask(shows=("image_1", "audio_1", "video_1"))
        counts = Counter(hidden_modality(asked, f"revision-{number}", f"r{number % 7}") for number in range(3000))
        assert all(abs(count - 1000) < 103 for count in counts.values()) and len(counts) == 3

    def test_only_what_is_required_where_anything_is(self, ask):
        asked = ask(shows=("image_1", "audio_1"))
        one = asked.model_copy(update={"required": frozenset({Modality.AUDIO, Modality.TEXT})})
        none = asked.model_copy(update={"required": frozenset()})
        names = [f"r{number}" for number in range(50)]
        assert {hidden_modality(one, "x", name) for name in names} == {Modality.AUDIO}
        assert {hidden_modality(none, "x", name) for name in names} == {Modality.AUDIO, Modality.IMAGE}
        assert hidden_modality(ask(shows=()), "x", "r0") is None

    def test_the_same_whenever_it_is_asked(self, ask):
        assert len({hidden_modality(ask(), "revision", "r0") for _ in range(3)}) == 1


def test_several_right_choices_are_told_as_to_a_model(desk, ask):
    many = ask(choices=[Choice(text=text) for text in "abc"], answer={"correct": [0, 2]})
    desk.item("zoo", many)
    shown = desk.view(desk.take("r0"), "r0").shown
    assert shown.several_are_right
    assert "More than one option is right" in shown.message.parts[-1].text


def test_a_slip_is_no_answer_to_a_choice_question(desk, waiting):
    waiting("choice")
    task = desk.take("r0")
    with pytest.raises(NoSuchChoice, match="'Q' names no choice; write a letter from A to C, or say that you cannot"):
        desk.partial(task, "r0", "Q")
    assert desk.view(task, "r0").stage is Stage.PARTIAL
    assert desk.partial(task, "r0", "C").stage is Stage.FULL
