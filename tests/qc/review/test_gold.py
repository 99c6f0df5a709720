"""Gold items measure attention, look like any other, and move nothing."""

import pytest
from scipy.stats import binomtest
from sqlmodel import select

from core.errors import UnknownName
from qc.review.gold import GOLD_EVERY, GoldExists, NotDecided, NotGold, add_gold, gold_items, gold_score, retire_gold
from qc.review.queue import REVIEW_LEASE, present_task
from qc.review.verdicts import give_verdict
from warehouse import events
from warehouse.items import get_item
from warehouse.lifecycle import Action
from warehouse.people import NotAllowed
from warehouse.tables import Decision, Item, Review, Verdict


@pytest.fixture
def database(workspace):
    """On PostgreSQL the tests of the queue ask for a gold item."""
    return workspace.database


@pytest.fixture
def gold(desk):
    """An accepted item that is gold."""

    def make(name: str = "gold", decision: str = "reject", *codes: str, author: str = "mei") -> str:
        revision_id = desk.item(name, author=author, passed=3)
        with desk.database.session() as session:
            add_gold(session, name, Decision(decision), codes, by="mara", clock=desk.clock)
        return revision_id

    return make


@pytest.fixture
def plenty(desk):
    for number in range(12):
        desk.item(f"zoo-{number:02}")


def test_every_tenth_task_is_one_once(desk, gold, plenty):
    gold()
    got = [desk.review("r0") for _ in range(13)]
    assert GOLD_EVERY == 10
    assert got == [f"zoo-{number:02}" for number in range(9)] + ["gold"] + ["zoo-09", "zoo-10", "zoo-11"]


def test_it_looks_like_any_other_at_every_stage(desk, gold):
    def seen(task) -> list:
        views = [desk.view(task, "r0"), desk.partial(task, "r0", "A"), desk.full(task, "r0", "B")]
        shapes = [shape(view.model_dump(mode="json", exclude={"hidden", "shown"})) for view in views]
        return [shape(task.model_dump(mode="json")), *shapes]

    desk.item("zoo")
    normal = desk.take("r0")
    seen_normal = seen(normal)
    desk.give(normal, "r0")
    gold()
    task = desk.take("r0", gold_every=2)
    assert task.item == "gold"
    assert seen(task) == seen_normal
    assert "gold" not in task.model_dump_json(exclude={"item"})


def shape(value):
    """The fields of a document with the types of what they hold."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(one) for one in value] if isinstance(value, list) else type(value)


def test_its_review_makes_no_verdict_and_moves_nothing(desk, gold):
    gold()
    with desk.database.reading() as session:
        item = get_item(session, "gold")
        before = [event.action for event in events.history(session, "item", item.id)]
    assert desk.review("r0", "reject", gold_every=1) == "gold"
    with desk.database.reading() as session:
        assert session.exec(select(Verdict)).all() == []
        assert session.exec(select(Item)).one().model_dump() == item.model_dump()
        assert [event.action for event in events.history(session, "item", item.id)] == before
        review = session.exec(select(Review)).one()
        assert present_task(session, "r0", desk.clock) is None
    assert (review.is_gold, review.decision, review.verdict_id, review.finished_at) == (
        True,
        "reject",
        None,
        desk.clock(),
    )


def test_many_are_at_work_on_one(desk, gold):
    gold()
    tasks = [desk.take(f"r{number}", gold_every=1) for number in range(4)]
    assert [task.item for task in tasks] == ["gold"] * 4
    assert len({task.assignment_id for task in tasks}) == 4
    assert desk.take("r0", gold_every=1) == tasks[0]


def test_given_back_or_abandoned_it_comes_again_and_answers_are_kept(desk, gold):
    gold("gold-1")
    gold("gold-2")
    first = desk.take("r0", gold_every=1)
    desk.partial(first, "r0", "C")
    desk.clock.now += REVIEW_LEASE
    again = desk.take("r0", gold_every=1)
    assert (again.item, desk.view(again, "r0").stage) == (first.item, "full")


def test_never_ones_own_or_one_that_one_has_judged(desk, gold, people):
    gold("by name", author="r0")
    gold("by id", author=people["r0"])
    desk.item("judged")
    for by in ("r0", "r1"):
        assert desk.review(by) == "judged"
    assert desk.state("judged") == "accepted"
    with desk.database.session() as session:
        add_gold(session, "judged", Decision.PASS, by="mara", clock=desk.clock)
    assert desk.take("r0", gold_every=1) is None
    assert {desk.review("r2", gold_every=1) for _ in range(4)} == {"by name", "by id", "judged", None}


def test_never_for_who_can_list_them(desk, gold):
    gold()
    desk.item("zoo")
    assert (desk.review("max", gold_every=1), desk.review("r0", gold_every=1)) == ("zoo", "gold")


def test_a_new_revision_of_the_item_does_not_disturb_it(desk, gold, ask):
    revision_id = gold()
    task = desk.take("r0", gold_every=1)
    desk.revise("gold", ask(text="New?"))
    desk.answer(task, "r0")
    assert desk.give(task, "r0").revision_id == revision_id
    assert desk.state("gold") == "round2_passed"


def test_a_retired_one_is_given_to_nobody(desk, gold):
    gold()
    with desk.database.session() as session:
        retire_gold(session, "gold", by="mara")
    assert desk.take("r0", gold_every=1) is None
    with pytest.raises(NotGold, match="is not gold"), desk.database.session() as session:
        retire_gold(session, "gold", by="mara")
    with desk.database.session() as session:
        add_gold(session, "gold", Decision.RETURN, ["ambiguous"], by="mara")
    with desk.database.reading() as session:
        assert [(name, one.decision, one.reason_codes) for name, one in gold_items(session, by="mara")] == [
            ("gold", "return", ["ambiguous"])
        ]


def test_the_score_counts_decision_and_reason_with_wilsons_interval(desk, gold):
    gold("any reason")
    gold("one of two", "reject", "wrong_key", "not_unique")
    # Right; right with one of the two; wrong reason; wrong decision.
    for by, decisions in {
        "r0": [("reject", "not_unique")] * 2,
        "r1": [("reject", "ambiguous")] * 2,
        "r2": [("pass",)] * 2,
    }.items():
        for decision in decisions:
            assert desk.review(by, *decision, gold_every=1) in ("any reason", "one of two")
    desk.item("zoo")
    assert desk.review("r3") == "zoo"
    desk.take("r4", gold_every=1)
    with desk.database.reading() as session:
        scores = gold_score(session)
    assert [(score.reviewer, score.right, score.given) for score in scores] == [
        ("r0", 2, 2),
        ("r1", 1, 2),
        ("r2", 0, 2),
    ]
    for score in scores:
        expected = binomtest(score.right, score.given).proportion_ci(method="wilson")
        assert (score.low, score.high) == pytest.approx((expected.low, expected.high))


class TestWhoMakesGold:
    @pytest.mark.parametrize(("by", "error"), [("r0", NotAllowed), ("nobody", UnknownName)])
    def test_only_maintainers(self, desk, gold, by, error):
        gold()
        for act in (
            lambda session: add_gold(session, "gold", Decision.PASS, by=by),
            lambda session: retire_gold(session, "gold", by=by),
            lambda session: gold_items(session, by=by),
        ):
            with pytest.raises(error), desk.database.session() as session:
                act(session)

    @pytest.mark.parametrize("passed", [0, 1, 2])
    def test_only_of_what_is_decided(self, desk, passed):
        desk.item("zoo", passed=passed)
        with pytest.raises(NotDecided, match="a known verdict"), desk.database.session() as session:
            add_gold(session, "zoo", Decision.PASS, by="mara")

    def test_never_of_what_an_earlier_round_stopped_for_reviewers_would_see_that(self, desk):
        desk.item("zoo", passed=1)
        with desk.database.session() as session:
            give_verdict(session, "zoo", 2, "r0", Decision.REJECT, ["redundant_modality"])
        assert desk.state("zoo") == "rejected"
        with pytest.raises(NotDecided, match="stopped before round 3"), desk.database.session() as session:
            add_gold(session, "zoo", Decision.REJECT, by="mara")

    @pytest.mark.parametrize("action", [Action.RELEASE, Action.REJECT])
    def test_released_and_rejected_ones_too_by_the_revisions_id_as_well(self, desk, action):
        revision_id = desk.item("zoo", passed=3)
        desk.act("zoo", action)
        with desk.database.session() as session:
            assert add_gold(session, revision_id, Decision.REJECT, by="mara").revision_id == revision_id
        with pytest.raises(GoldExists), desk.database.session() as session:
            add_gold(session, "zoo", Decision.REJECT, by="mara")

    def test_with_known_words(self, desk):
        desk.item("zoo", passed=3)
        for name, decision, codes, error in (
            ("zoo", Decision.UNKNOWN, [], NotDecided),
            ("zoo", Decision.REJECT, ["wrongkey"], UnknownName),
            ("zo", Decision.REJECT, [], UnknownName),
        ):
            with pytest.raises(error), desk.database.session() as session:
                add_gold(session, name, decision, codes, by="mara")
