from datetime import timedelta

import pytest
from scipy.stats import hypergeom

from core.content import TextPart
from core.question import AnswerKey, Question
from qc.drift import drift, read_drift
from warehouse.items import Draft, create_item, current_revision, get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user, get_user
from warehouse.tables import Assignment, Decision, GoldItem, Review
from warehouse.verdicts import Judgement, record_verdict, settle_round


def times(yes: int, no: int) -> list[bool]:
    return [True] * yes + [False] * no


class TestDrift:
    def test_fisher_s_tea(self):
        # Fisher 1935: 3 of 4 against 1 of 4 gives .4857, two-sided.
        (found,) = drift({"passes": {"ana": times(1, 3) + times(3, 1)}}, last=4)
        assert (found.recent, found.recent_yes, found.before, found.before_yes) == (4, 3, 4, 1)
        assert found.p == found.p_holm == pytest.approx(34 / 70)
        assert not found.has_drifted

    def test_holm_goes_over_the_reviewers_that_are_tested(self):
        found = {one.reviewer: one for one in drift({"passes": {
            "ana": times(20, 0) + times(4, 16), "ben": times(15, 5) + times(8, 12), "cleo": times(3, 0),
        }})}  # fmt: skip
        # All tables with the same margins that are no likelier than the one seen, by the hypergeometric law.
        ana = sum(
            p for x in range(25) if (p := hypergeom.pmf(x, 40, 24, 20)) <= hypergeom.pmf(4, 40, 24, 20) * 1.0000001
        )
        ben = sum(
            p for x in range(24) if (p := hypergeom.pmf(x, 40, 23, 20)) <= hypergeom.pmf(8, 40, 23, 20) * 1.0000001
        )
        assert (found["ana"].p, found["ben"].p) == (pytest.approx(ana), pytest.approx(ben))
        assert (found["ana"].p_holm, found["ben"].p_holm) == (pytest.approx(2 * ana), pytest.approx(ben))
        assert (found["ana"].has_drifted, found["ben"].has_drifted) == (True, ben <= 0.05)
        assert found["cleo"].p_holm is None

    @pytest.mark.parametrize(("count", "tested"), [(39, False), (40, True)])
    def test_too_few_is_said(self, count, tested):
        (found,) = drift({"passes": {"ana": times(count, 0)}})
        assert (found.p is not None) is tested
        assert found.reason == (None if tested else "too few decisions: 39 of the 40 needed")
        assert (found.recent, found.before) == (20, count - 20)

    def test_a_share_that_stays_shows_nothing(self):
        (found,) = drift({"passes": {"ana": times(40, 0)}})
        assert found.p == found.p_holm == 1

    def test_nobody(self):
        assert drift({"passes": {}}) == drift({}) == ()

    def test_the_measures_are_one_family_with_the_reviewers(self):
        changed = times(20, 0) + times(4, 16)
        alone = drift({"passes": {"ana": changed}})[0].p
        found = drift({"passes": {"ana": changed}, "gold": {"ana": times(40, 0), "ben": times(40, 0)}})
        assert [(one.measure, one.reviewer) for one in found] == [("passes", "ana"), ("gold", "ana"), ("gold", "ben")]
        assert [one.p_holm for one in found] == [pytest.approx(3 * alone), 1, 1]


@pytest.fixture
def filled(database, clock):
    """Give verdicts one after the other on items of their own: each (reviewer, decision); two that agree settle it."""
    with database.session() as session:
        for name in ("rita", "raj", "rosa"):
            add_user(session, name, frozenset({Role.REVIEWER}), actor="test", clock=clock)

    def draft(text: str) -> Draft:
        asked = Question(
            prompt=(TextPart(text=text),), kind="open", answer=AnswerKey(accepted=("3",)),
            task_type="counting", language="en",
        )  # fmt: skip
        return Draft(asked, {}, "mei")

    def make(name: str, *verdicts: tuple[str, str]) -> str:
        with database.session() as session:
            item, revision = create_item(session, name, draft(name), clock=clock)
            for action in (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2):
                advance(session, item.id, item.version, Advance(action, "test"), clock)
            given = []
            for who, decision in verdicts:
                clock.advance(minutes=1)
                codes = () if decision == "pass" else ("ambiguous",)
                judgement = Judgement(3, who, True, Decision(decision), codes)
                verdict = record_verdict(session, current_revision(session, item), judgement, clock)
                session.flush()
                if decision in given:
                    settle_round(session, revision, verdict, clock)
                given.append(decision)
            return revision.id

    return make


def told(database, last: int):
    with database.reading() as session:
        return {
            (one.measure, one.reviewer): (one.before_yes, one.before, one.recent_yes, one.recent)
            for one in read_drift(session, last)
        }


class TestReading:
    def test_passes_and_how_round_3_was_settled_in_time_order(self, database, filled):
        filled("zoo-4", ("rita", "pass"), ("raj", "pass"))
        filled("zoo-3", ("rita", "return"), ("raj", "pass"), ("rosa", "pass"))
        filled("zoo-2", ("rita", "pass"), ("raj", "return"), ("rosa", "return"))
        filled("zoo-1", ("rita", "pass"), ("raj", "return"))  # nobody settled it yet
        assert told(database, 2) == {
            ("passes", "raj"): (2, 2, 0, 2), ("passes", "rita"): (1, 2, 2, 2), ("passes", "rosa"): (0, 0, 1, 2),
            ("settled", "raj"): (1, 1, 2, 2), ("settled", "rita"): (1, 1, 0, 2), ("settled", "rosa"): (0, 0, 2, 2),
        }  # fmt: skip

    def test_an_item_that_came_back_later_was_settled_as_round_3_did(self, database, filled):
        filled("zoo-1", ("rita", "pass"), ("raj", "pass"))
        with database.session() as session:
            item = get_item(session, "zoo-1")
            advance(session, item.id, item.version, Advance(Action.RETURN, "max", ("ambiguous",)))
        assert told(database, 20)["settled", "rita"] == (0, 0, 1, 1)

    def test_gold_wants_the_decision_and_one_of_its_reasons(self, database, filled, clock):
        reviews = [
            ("pass", [], "pass", []),
            ("return", ["ambiguous", "wrong_key"], "return", ["wrong_key"]),
            ("return", ["ambiguous"], "return", ["wrong_key"]),
            ("reject", [], "reject", ["ambiguous"]),
            ("pass", [], "return", ["ambiguous"]),
        ]
        for number, (decision, codes, decided, given) in enumerate(reviews):
            revision_id = filled(f"zoo-{number}")
            with database.session() as session:
                lease = Assignment(
                    task_kind="review", task_id=revision_id, user_id=get_user(session, "rita").id, state="done",
                    taken_at=clock(), expires_at=clock(),
                )  # fmt: skip
                session.add(lease)
                session.add(
                    GoldItem(
                        revision_id=revision_id,
                        decision=decision,
                        reason_codes=codes,
                        added_by="max",
                        created_at=clock(),
                    )
                )
                session.flush()
                review = {
                    "revision_id": revision_id, "reviewer": "rita", "assignment_id": lease.id, "started_at": clock(),
                }  # fmt: skip
                finished = clock() - timedelta(hours=number)  # the last one first
                session.add(Review(is_gold=True, decision=decided, reason_codes=given, finished_at=finished, **review))
                # The same person's own review of it, and one that is not finished, are no gold.
                session.add(Review(is_gold=False, decision="pass", finished_at=clock(), **review))
        assert told(database, 2) == {("gold", "rita"): (1, 3, 2, 2)}

    def test_an_empty_project(self, database):
        assert told(database, 20) == {}
