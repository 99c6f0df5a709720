"""What waits for one person, holding a task for longer, what comes next after one was lost or given back, disputes."""

import pytest

from qc.review.disputes import disputes, open_dispute
from qc.review.queue import REVIEW_LEASE, WaitingFor, keep_task, release_task, waiting_for
from qc.review.verdicts import NotStuck
from warehouse.assignments import LeaseLost
from warehouse.people import NotAllowed


def waits(desk, by, **more):
    with desk.database.reading() as session:
        return waiting_for(session, by, desk.clock, **more)


class TestWaiting:
    def test_it_counts_what_this_person_could_take(self, desk):
        desk.item("own", author="r0")
        desk.item("zoo")
        desk.item("den")
        assert waits(desk, "r0") == WaitingFor(reviews=2, open_cases=0)
        desk.review("r0")
        assert waits(desk, "r0") == WaitingFor(reviews=1, open_cases=0)
        assert waits(desk, "r1") == WaitingFor(reviews=3, open_cases=0)

    def test_gold_counts_like_any_other(self, desk):
        from qc.review.gold import add_gold
        from warehouse.lifecycle import Action
        from warehouse.tables import Decision

        desk.item("zoo")
        desk.act("zoo", Action.ACCEPT)
        with desk.database.session() as session:
            add_gold(session, "zoo", Decision.PASS, by="mara", clock=desk.clock)
        assert (waits(desk, "r0").reviews, waits(desk, "r0", gold_every=1).reviews) == (0, 1)

    def test_only_for_reviewers(self, desk):
        with pytest.raises(NotAllowed):
            waits(desk, "mara")


class TestHolding:
    def test_for_a_whole_term_from_now_and_never_for_less(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        desk.clock.advance(minutes=100)
        with desk.database.session() as session:
            assert keep_task(session, task.assignment_id, "r0", desk.clock) == desk.clock.now + REVIEW_LEASE
        later = desk.clock.now + REVIEW_LEASE
        desk.clock.now -= REVIEW_LEASE / 2
        with desk.database.session() as session:
            assert keep_task(session, task.assignment_id, "r0", desk.clock) == later

    def test_not_what_is_another_s_or_has_run_out(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        with pytest.raises(LeaseLost), desk.database.session() as session:
            keep_task(session, task.assignment_id, "r1", desk.clock)
        desk.clock.now += REVIEW_LEASE
        with pytest.raises(LeaseLost), desk.database.session() as session:
            keep_task(session, task.assignment_id, "r0", desk.clock)


class TestNext:
    def test_what_ran_out_comes_again_first(self, desk):
        desk.item("zoo")
        desk.item("den")
        desk.review("r1")
        desk.review("r1")
        assert desk.take("r0").item == "zoo"
        desk.clock.now += REVIEW_LEASE
        # Somebody else's dispute is older now, which would come before.
        desk.review("r2", decision="return")
        assert desk.take("r0").item == "zoo"

    def test_what_was_given_back_comes_again_last(self, desk):
        desk.item("zoo")
        desk.item("den")
        for expected in ("zoo", "den", "zoo"):
            task = desk.take("r0")
            assert task.item == expected
            with desk.database.session() as session:
                release_task(session, task.assignment_id, "r0", desk.clock)


class TestDisputes:
    @pytest.fixture
    def stuck(self, desk, people):
        desk.item("zoo", author="mei")
        for by, decision in (("r0", "pass"), ("r1", "return"), ("r2", "reject")):
            desk.review(by, decision, partial="C")
        return desk

    def test_both_sides_with_their_answers(self, stuck):
        with stuck.database.reading() as session:
            assert [one.item for one in disputes(session, "mara", stuck.clock)] == ["zoo"]
            view = open_dispute(session, "zoo", "mara", stuck.clock)
        assert [(one.reviewer, one.decision) for one in view.opinions] == [
            ("r0", "pass"), ("r1", "return"), ("r2", "reject"),
        ]  # fmt: skip
        assert [answer.answer for answer in view.opinions[0].answers] == ["C", "B"]
        assert view.background.question.answer.correct == (1,)

    def test_never_one_s_own_or_one_that_one_judged_or_what_reviewers_can_settle(self, stuck, ask):
        stuck.item("den", author="mara")
        stuck.item("lair")
        for _ in range(3):
            for by, decision in (("r3", "pass"), ("r4", "return"), ("max", "reject")):
                stuck.review(by, decision)
        with stuck.database.reading() as session:
            assert {one.item for one in disputes(session, "mara", stuck.clock)} == {"zoo", "lair"}
            assert {one.item for one in disputes(session, "max", stuck.clock)} == {"zoo"}
            for by, item in (("mara", "den"), ("max", "lair"), ("mara", "no such")):
                with pytest.raises(NotStuck):
                    open_dispute(session, item, by, stuck.clock)

    def test_only_for_maintainers(self, stuck):
        with pytest.raises(NotAllowed), stuck.database.reading() as session:
            open_dispute(session, "zoo", "r5", stuck.clock)
