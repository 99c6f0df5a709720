import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlmodel import select

from core.content import TextPart
from core.question import AnswerKey, Question
from warehouse import events
from warehouse.items import Draft, create_item, revise_item
from warehouse.lifecycle import Action, Advance, ReasonMissing, advance
from warehouse.tables import Decision, Item, ItemRevision, ItemState, Verdict
from warehouse.verdicts import (
    AlreadyJudged,
    Judgement,
    OldRevision,
    OwnItem,
    WrongRound,
    record_verdict,
    settle_round,
    verdicts_on,
)


def draft(text: str) -> Draft:
    asked = Question(
        prompt=(TextPart(text=text),),
        kind="open",
        answer=AnswerKey(accepted=("3",)),
        task_type="counting",
        language="en",
    )
    return Draft(asked, {}, "ann")


@pytest.fixture
def revision(database) -> ItemRevision:
    """A submitted item's revision, by ann."""
    with database.session() as session:
        item, revision = create_item(session, "apples", draft("How many?"))
        advance(session, item.id, 1, Advance(Action.SUBMIT, "ann"))
    return revision


def by(decider: str, decision: str = "pass", round_number: int = 1, **more) -> Judgement:
    reasons = () if decision in {"pass", "unknown"} else ("ambiguous",)
    fields = {"by_person": "@" not in decider, "reason_codes": reasons}
    return Judgement(**{"round": round_number, "decider": decider, "decision": Decision(decision)} | fields | more)


def judge(database, revision, judgement, settle: bool = True) -> Verdict:
    with database.session() as session:
        verdict = record_verdict(session, revision, judgement)
        if settle:
            settle_round(session, revision, verdict)
    return verdict


def state(database) -> str:
    with database.reading() as session:
        return session.exec(select(Item)).one().state.value


def test_a_verdict_is_stored_with_its_event_and_moves_nothing(database, revision, run_id, clock):
    with database.session() as session:
        given = record_verdict(
            session,
            revision,
            by("panel@2", "reject", evidence={"share": 0.7}, comment="no", run_id=run_id),
            clock,
        )
    with database.reading() as session:
        (found,) = verdicts_on(session, revision.id)
        assert (found.id, found.round, found.by_person, found.decider) == (given.id, 1, False, "panel@2")
        assert (found.decision, found.reason_codes, found.evidence) == (Decision.REJECT, ["ambiguous"], {"share": 0.7})
        assert (found.comment, found.run_id, found.created_at) == ("no", run_id, clock())
        event = events.history(session, "item", revision.item_id)[-1]
        assert (event.actor, event.action, event.at) == ("panel@2", "verdict_round1", clock())
        assert event.detail == {"decision": "reject", "revision_id": revision.id, "reason_codes": ["ambiguous"]}
    assert state(database) == "submitted"


def test_three_passed_rounds_accept(database, revision):
    for round_number, after in ((1, "round1_passed"), (2, "round2_passed"), (3, "accepted")):
        judge(database, revision, by("bob", round_number=round_number))
        assert state(database) == after


@pytest.mark.parametrize(
    ("decision", "after"), [("return", "returned"), ("reject", "rejected"), ("unknown", "submitted")]
)
def test_a_round_can_also_end_otherwise(database, revision, decision, after):
    judge(database, revision, by("bob", decision))
    assert state(database) == after


def test_to_return_or_reject_needs_a_reason(database, revision):
    with pytest.raises(ReasonMissing):
        judge(database, revision, by("bob", "return", reason_codes=()))
    assert state(database) == "submitted"


def test_nobody_judges_an_item_of_their_own(database, revision):
    with pytest.raises(OwnItem, match="ann wrote item 'apples'; somebody else must judge it"):
        judge(database, revision, by("ann"))
    judge(database, revision, by("ann", by_person=False))


@pytest.mark.parametrize("round_number", [2, 3])
def test_a_round_judges_only_items_that_are_in_it(database, revision, round_number):
    with pytest.raises(WrongRound, match=f"is submitted; round {round_number} judges items that are round"):
        judge(database, revision, by("bob", round_number=round_number))


def test_a_replaced_revision_is_not_judged(database, revision):
    with database.session() as session:
        revise_item(session, session.get(Item, revision.item_id), 2, draft("How many now?"))
    with pytest.raises(OldRevision, match="has a newer revision than number 1; judge that one"):
        judge(database, revision, by("bob"))


def test_a_verdict_never_settles_another_revision(database, revision):
    """Between the verdict and the step the author saved an edit: the edit stays, and its rounds are still to come."""
    verdict = judge(database, revision, by("bob"), settle=False)
    with database.session() as session:
        newer = revise_item(session, session.get(Item, revision.item_id), 2, draft("How many now?"))
    with pytest.raises(OldRevision), database.session() as session:
        settle_round(session, revision, verdict)
    with database.reading() as session:
        item = session.get(Item, revision.item_id)
        assert (item.state, item.current_revision_id) == (ItemState.SUBMITTED, newer.id)


def test_a_late_verdict_of_an_earlier_round_settles_nothing(database, revision):
    late = judge(database, revision, by("cat", "return"), settle=False)
    judge(database, revision, by("bob"))
    with pytest.raises(WrongRound), database.session() as session:
        settle_round(session, revision, late)
    assert state(database) == "round1_passed"


def test_the_same_judgement_twice_is_stored_once_even_after_the_step(database, revision):
    first = judge(database, revision, by("bob"))
    again = judge(database, revision, by("bob"), settle=False)
    assert again.id == first.id
    with database.reading() as session:
        assert len(verdicts_on(session, revision.id)) == 1
        told = [event.action for event in events.history(session, "item", revision.item_id)]
        assert told.count("verdict_round1") == 1


def test_a_person_speaks_once_a_round(database, revision):
    judge(database, revision, by("bob"), settle=False)
    with pytest.raises(AlreadyJudged, match="bob already judged item 'apples', revision 1, in round 1: pass"):
        judge(database, revision, by("bob", "reject"))
    judge(database, revision, by("cat"))
    judge(database, revision, by("bob", round_number=2))
    assert state(database) == "round2_passed"


def test_a_check_speaks_again_when_its_evidence_is_new(database, revision):
    for share in (0.5, 0.5, 0.9):
        judge(database, revision, by("panel@1", "unknown", evidence={"share": share}), settle=False)
    with database.reading() as session:
        assert [verdict.evidence for verdict in verdicts_on(session, revision.id)] == [{"share": 0.5}, {"share": 0.9}]


def test_verdicts_come_oldest_first_and_by_round(database, revision):
    for decider in ("bob", "cat", "dan"):
        judge(database, revision, by(decider), settle=decider == "dan")
    judge(database, revision, by("bob", "unknown", 2))
    with database.reading() as session:
        assert [(v.decider, v.round) for v in verdicts_on(session, revision.id)] == [
            ("bob", 1),
            ("cat", 1),
            ("dan", 1),
            ("bob", 2),
        ]
        assert [v.decider for v in verdicts_on(session, revision.id, 2)] == ["bob"]
        assert verdicts_on(session, "none") == []


def together(count: int, work) -> list:
    start = threading.Barrier(count)

    def run(number: int):
        start.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_a_double_click_is_one_verdict(database, revision):
    given = together(4, lambda _: judge(database, revision, by("bob"), settle=False).id)
    assert len(set(given)) == 1
    with database.reading() as session:
        assert len(session.exec(select(Verdict)).all()) == 1


def test_of_two_who_decide_at_once_one_moves_the_item_and_the_other_is_told(database, revision):
    def decide(number: int) -> str:
        try:
            judge(database, revision, by(("bob", "cat")[number], ("pass", "return")[number]))
        except WrongRound:
            return "too late"
        return "decided"

    assert sorted(together(2, decide)) == ["decided", "too late"]
    assert state(database) in {"round1_passed", "returned"}
    with database.reading() as session:
        assert len(session.exec(select(Verdict)).all()) == 1
