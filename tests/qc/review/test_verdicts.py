import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlmodel import select

from core.content import TextPart
from core.errors import UnknownName
from core.question import AnswerKey, Question
from qc.review.verdicts import NotLeftOpen, give_verdict
from warehouse.items import Draft, create_item, current_revision, get_item, revise_item
from warehouse.lifecycle import Action, Advance, ReasonMissing, advance
from warehouse.people import NotAllowed, get_user
from warehouse.tables import Decision, Item, Verdict
from warehouse.verdicts import AlreadyJudged, Judgement, OwnItem, WrongRound, record_verdict

PASS, RETURN, REJECT, UNKNOWN = Decision.PASS, Decision.RETURN, Decision.REJECT, Decision.UNKNOWN


def draft(text: str, author: str = "mei") -> Draft:
    asked = Question(
        prompt=(TextPart(text=text),),
        kind="open",
        answer=AnswerKey(accepted=("3",)),
        task_type="counting",
        language="en",
    )
    return Draft(asked, {}, author)


@pytest.fixture
def database(bench):
    return bench.workspace.database


@pytest.fixture
def waiting(database, reviewers):
    """An item of mei's before a round, by default the last one."""

    def make(name: str = "zoo-1", before_round: int = 3) -> str:
        with database.session() as session:
            item, _ = create_item(session, name, draft(name))
            for action in [Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2][:before_round]:
                advance(session, item.id, item.version, Advance(action, "test"))
        return name

    return make


@pytest.fixture
def judge(database):
    """Give a verdict in a transaction of its own; gives the item's state."""

    def give(name: str, by: str, decision: Decision = PASS, *reasons: str, number: int = 3, **more) -> str:
        codes = reasons or (() if decision in (PASS, UNKNOWN) else ("ambiguous",))
        with database.session() as session:
            _, item = give_verdict(session, name, number, by, decision, codes, **more)
        return item.state.value

    return give


@pytest.fixture
def leave_open(database):
    """The check of a round cannot decide on an item; gives the item's name."""

    def leave(name: str, number: int, decision: Decision = UNKNOWN) -> str:
        with database.session() as session:
            revision = current_revision(session, get_item(session, name))
            judgement = Judgement(number, "check@1", False, decision, ["needs_a_person"], {"of": decision.value})
            record_verdict(session, revision, judgement)
        return name

    return leave


def stored(database) -> list[tuple[str, str]]:
    with database.reading() as session:
        return [(one.decider, one.decision.value) for one in session.exec(select(Verdict).order_by(Verdict.created_at))]


class TestRound3:
    @pytest.mark.parametrize(("decision", "after"), [(PASS, "accepted"), (RETURN, "returned"), (REJECT, "rejected")])
    def test_two_who_agree_settle_it(self, waiting, judge, decision, after):
        name = waiting()
        assert judge(name, "rita", decision) == "round2_passed"
        assert judge(name, "raj", decision) == after

    @pytest.mark.parametrize("third", [PASS, RETURN])
    def test_a_third_decides_between_two_who_do_not(self, waiting, judge, third):
        name = waiting()
        assert judge(name, "rita", PASS) == "round2_passed"
        assert judge(name, "raj", RETURN) == "round2_passed"
        assert judge(name, "rosa", third) == {PASS: "accepted", RETURN: "returned"}[third]

    def test_three_of_three_minds_settle_nothing(self, waiting, judge):
        name = waiting()
        for by, decision in (("rita", PASS), ("raj", RETURN), ("rosa", REJECT)):
            assert judge(name, by, decision) == "round2_passed"

    def test_who_cannot_decide_is_no_vote(self, waiting, judge):
        name = waiting()
        for by in ("rita", "raj"):
            assert judge(name, by, UNKNOWN) == "round2_passed"
        assert judge(name, "rosa", PASS) == "round2_passed"

    def test_a_verdict_given_twice_is_one_before_and_after_the_round_is_settled(self, waiting, judge, database):
        name = waiting()
        assert judge(name, "rita") == judge(name, "rita") == "round2_passed"
        assert judge(name, "raj") == judge(name, "raj") == "accepted"
        assert stored(database) == [("rita", "pass"), ("raj", "pass")]

    def test_nobody_changes_their_mind_on_one_revision(self, waiting, judge):
        name = waiting()
        judge(name, "rita")
        with pytest.raises(AlreadyJudged):
            judge(name, "rita", RETURN)

    def test_the_settling_verdict_tells_the_author_why(self, waiting, judge, database):
        name = waiting()
        judge(name, "rita", RETURN, "ambiguous")
        judge(name, "raj", RETURN, "wrong_key", comment="It is a lynx.")
        with database.reading() as session:
            item = get_item(session, name)
            verdict = session.exec(select(Verdict).where(Verdict.decider == "raj")).one()
        assert (item.state.value, verdict.reason_codes, verdict.comment) == ("returned", ["wrong_key"], "It is a lynx.")

    def test_a_new_revision_needs_two_again(self, waiting, judge, database):
        name = waiting()
        judge(name, "rita")
        with database.session() as session:
            item = get_item(session, name)
            revise_item(session, item, item.version, draft("Which animal?"))
            item = get_item(session, name)
            for action in (Action.PASS_ROUND1, Action.PASS_ROUND2):
                item = advance(session, item.id, item.version, Advance(action, "test"))
        assert judge(name, "raj") == "round2_passed"
        assert judge(name, "rita") == "accepted"

    def test_two_at_once_settle_it_once(self, waiting, judge, database):
        name = waiting()
        start = threading.Barrier(2)

        def give(by):
            start.wait(timeout=60)
            return judge(name, by)

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(give, ["rita", "raj"])) == ["accepted", "round2_passed"]
        assert len(stored(database)) == 2


class TestRounds1And2:
    @pytest.mark.parametrize(("number", "after"), [(1, "round1_passed"), (2, "round2_passed")])
    def test_one_person_decides_what_a_check_left_open(self, waiting, judge, leave_open, number, after):
        name = leave_open(waiting(before_round=number), number)
        assert judge(name, "rita", PASS, number=number) == after

    def test_and_given_twice_it_is_one(self, waiting, judge, leave_open, database):
        name = leave_open(waiting(before_round=1), 1)
        assert judge(name, "rita", number=1) == judge(name, "rita", number=1) == "round1_passed"
        assert stored(database) == [("check@1", "unknown"), ("rita", "pass")]

    def test_nobody_passes_what_no_check_looked_at_or_what_it_decided(self, waiting, judge, leave_open, database):
        never = waiting("never", before_round=2)
        with pytest.raises(NotLeftOpen, match=r"item 'never': .* run it with 'interplay qc run --round 2'"):
            judge(never, "rita", PASS, number=2)
        assert stored(database) == []
        decided = leave_open(leave_open(waiting("decided", before_round=1), 1), 1, RETURN)
        with pytest.raises(NotLeftOpen):
            judge(decided, "rita", PASS, number=1)
        assert (judge(never, "rita", REJECT, number=2), judge(decided, "rita", RETURN, number=1)) == (
            "rejected",
            "returned",
        )

    def test_a_round_that_the_item_is_not_in(self, waiting, judge):
        with pytest.raises(WrongRound, match="is submitted; round 2 judges items that are round1_passed"):
            judge(waiting(before_round=1), "rita", number=2)


class TestWhoMay:
    def test_nobody_reviews_their_own_item(self, database, judge, reviewers):
        with database.session() as session:
            item, _ = create_item(session, "own", draft("own", author="rita"))
            advance(session, item.id, item.version, Advance(Action.SUBMIT, "rita"))
        with pytest.raises(OwnItem, match="rita wrote item 'own'"):
            judge("own", "rita", number=1)

    def test_not_even_after_somebody_else_changed_it(self, database, judge, leave_open, reviewers):
        with database.session() as session:
            item, _ = create_item(session, "own", draft("own", author="rita"))
            item = advance(session, item.id, item.version, Advance(Action.SUBMIT, "rita"))
            revise_item(session, item, item.version, draft("own, mended", author="raj"))
        for by in ("rita", "raj"):
            with pytest.raises(OwnItem):
                judge("own", by, number=1)
        assert judge(leave_open("own", 1), "rosa", number=1) == "round1_passed"

    def test_nor_when_the_studio_calls_the_author_by_id(self, database, judge, reviewers):
        with database.session() as session:
            author = get_user(session, "rita").id
            item, _ = create_item(session, "own", draft("own", author=author))
            advance(session, item.id, item.version, Advance(Action.SUBMIT, author))
        with pytest.raises(OwnItem):
            judge("own", "rita", number=1)

    @pytest.mark.parametrize(
        ("by", "error", "said"),
        [
            ("petra", NotAllowed, "petra is participant; this needs the role reviewer"),
            ("rta", UnknownName, "unknown user 'rta'; did you mean 'rita'"),
        ],
    )
    def test_who_is_no_reviewer(self, waiting, judge, database, by, error, said):
        with pytest.raises(error, match=said):
            judge(waiting(), by)
        assert stored(database) == []

    def test_who_is_not_active_any_more(self, waiting, judge, database):
        with database.session() as session:
            get_user(session, "rita").active = False
        with pytest.raises(NotAllowed, match="rita is no longer active"):
            judge(waiting(), "rita")


class TestReasons:
    @pytest.mark.parametrize("decision", [RETURN, REJECT])
    def test_to_return_or_reject_needs_one_from_the_first_reviewer_on(self, waiting, database, decision):
        name = waiting()
        with pytest.raises(ReasonMissing, match=f"to {decision.value} it, give a reason code"), database.session() as s:
            give_verdict(s, name, 3, "rita", decision)
        assert stored(database) == []

    def test_an_unknown_one_offers_the_nearest(self, waiting, judge, database):
        with pytest.raises(UnknownName, match="unknown reason code 'ambigous'; did you mean 'ambiguous'"):
            judge(waiting(), "rita", RETURN, "ambigous")
        assert stored(database) == []

    def test_an_unknown_item_offers_the_nearest(self, waiting, judge):
        waiting("zoo-1")
        with pytest.raises(UnknownName, match="unknown item 'zoo-11'; did you mean 'zoo-1'"):
            judge("zoo-11", "rita")


def test_items_are_counted_once(waiting, judge, database):
    for number in range(3):
        name = waiting(f"zoo-{number}")
        for by in ("rita", "raj"):
            judge(name, by)
    with database.reading() as session:
        assert {item.state.value for item in session.exec(select(Item))} == {"accepted"}
