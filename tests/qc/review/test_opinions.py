"""What is handed in at the end of a review."""

import pytest
from pydantic import ValidationError
from sqlmodel import select

from core.errors import UnknownName
from qc.review.opinions import Comment, Opinion, give_review, parts_of
from qc.review.queue import REVIEW_LEASE
from qc.review.verdicts import give_verdict
from warehouse.assignments import LeaseLost
from warehouse.lifecycle import ReasonMissing
from warehouse.tables import Assignment, Decision, Verdict
from warehouse.verdicts import AlreadyJudged


@pytest.fixture
def database(workspace):
    """Nothing here depends on the kind of database."""
    return workspace.database


@pytest.fixture
def answered(desk):
    desk.item("zoo")
    task = desk.take("r0")
    desk.answer(task, "r0")
    return task


def verdicts(desk) -> list[Verdict]:
    with desk.database.reading() as session:
        return list(session.exec(select(Verdict)))


def test_all_of_it_is_stored_with_the_verdict(desk, answered):
    comments = [("choice B", "Too long."), ("prompt", "Which one?")]
    edit = {"choice B": "a lynx"}
    review = desk.give(answered, "r0", "return", "ambiguous", "not_unique", comments=comments, suggested_edit=edit)
    (verdict,) = verdicts(desk)
    assert review.verdict_id == verdict.id
    assert (review.decision, review.reason_codes, review.suggested_edit) == (
        "return",
        ["ambiguous", "not_unique"],
        edit,
    )
    assert review.comments == [{"part": part, "text": text} for part, text in comments]
    assert (verdict.decider, verdict.round, verdict.by_person) == ("r0", 3, True)
    assert (verdict.decision, verdict.reason_codes) == (Decision.RETURN, ["ambiguous", "not_unique"])
    assert verdict.comment == "choice B: Too long.\nprompt: Which one?"
    with desk.database.reading() as session:
        assert session.get(Assignment, answered.assignment_id).state == "done"


def test_a_suggested_edit_changes_no_question(desk, answered, ask):
    desk.give(answered, "r0", suggested_edit={"prompt": "Something else?"})
    assert desk.view(desk.take("r1"), "r1").item == "zoo"
    assert "Something else?" not in desk.view(desk.take("r1"), "r1").model_dump_json()


def test_handed_in_twice_it_counts_once(desk, answered):
    first = desk.give(answered, "r0", comments=[("prompt", "Good.")])
    desk.clock.advance(minutes=1)
    assert desk.give(answered, "r0", comments=[("prompt", "Good.")]) == first
    for other in ({"comments": [("prompt", "Bad.")]}, {"suggested_edit": {"prompt": "x"}}):
        with pytest.raises(LeaseLost):
            desk.give(answered, "r0", **other)
    with pytest.raises(LeaseLost):
        desk.give(answered, "r1", comments=[("prompt", "Good.")])
    assert len(verdicts(desk)) == 1


def test_a_lease_that_ran_out_gives_no_verdict(desk, answered):
    desk.clock.now += REVIEW_LEASE
    with pytest.raises(LeaseLost):
        desk.give(answered, "r0")
    assert verdicts(desk) == []


def test_a_mistake_leaves_the_lease_and_the_stages(desk, answered):
    with pytest.raises(ReasonMissing), desk.database.session() as session:
        give_review(session, answered.assignment_id, "r0", Opinion(decision=Decision.REJECT), desk.clock)
    with pytest.raises(UnknownName, match="did you mean 'wrong_key'"):
        desk.give(answered, "r0", "reject", "wrongkey")
    with pytest.raises(UnknownName, match="unknown part of the question 'choice D'"):
        desk.give(answered, "r0", comments=[("choice D", "Where is it?")])
    with pytest.raises(UnknownName, match="did you mean 'image_1'"):
        desk.give(answered, "r0", suggested_edit={"image_2": "x"})
    assert verdicts(desk) == []
    assert desk.take("r0") == answered
    assert desk.give(answered, "r0").finished_at is not None


def test_a_comment_has_words():
    with pytest.raises(ValidationError):
        Comment(part="prompt", text="")


def test_the_parts_of_each_kind(ask):
    assert parts_of(ask()) == ("prompt", "image_1", "audio_1", "choice A", "choice B", "choice C", "answer")
    assert parts_of(ask("open", shows=())) == ("prompt", "answer")
    assert parts_of(ask("multi_step", shows=("video_1",))) == ("prompt", "video_1", "step 1", "step 2", "answer")


def test_what_was_said_elsewhere_must_be_the_same(desk, answered):
    with desk.database.session() as session:
        verdict, _ = give_verdict(session, "zoo", 3, "r0", Decision.PASS, clock=desk.clock)
    with pytest.raises(AlreadyJudged):
        desk.give(answered, "r0", "reject")
    assert desk.give(answered, "r0").verdict_id == verdict.id
