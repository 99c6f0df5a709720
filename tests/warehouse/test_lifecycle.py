import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import select

from core.errors import InterplayError
from warehouse import events
from warehouse.database import Database
from warehouse.lifecycle import (
    Action,
    Advance,
    ImpossibleAction,
    ReasonMissing,
    StaleVersion,
    UnknownItem,
    advance,
    advance_all,
    possible_actions,
)
from warehouse.tables import Event, Item, ItemState

NUMBERS = itertools.count()
REVIEW = {"return": "returned", "reject": "rejected", "revise": "submitted"}
# The life of an item as the team agreed on it: state, action, next state.
LIFE: dict[str, dict[str, str]] = {
    "draft": {"submit": "submitted", "revise": "draft"},
    "submitted": {"pass_round1": "round1_passed"} | REVIEW,
    "round1_passed": {"pass_round2": "round2_passed"} | REVIEW,
    "round2_passed": {"accept": "accepted"} | REVIEW,
    "accepted": {"release": "released", "retire": "retired"} | REVIEW,
    "released": {"release": "released", "retire": "retired", "revise": "submitted"},
    "retired": {},
    "returned": {"reject": "rejected", "revise": "submitted"},
    "rejected": {"reopen": "draft"},
}
NEED_REASON = {"return", "reject", "retire"}
WALK_TO = {
    "draft": [],
    "submitted": ["submit"],
    "round1_passed": ["submit", "pass_round1"],
    "round2_passed": ["submit", "pass_round1", "pass_round2"],
    "accepted": ["submit", "pass_round1", "pass_round2", "accept"],
    "released": ["submit", "pass_round1", "pass_round2", "accept", "release"],
    "retired": ["submit", "pass_round1", "pass_round2", "accept", "retire"],
    "returned": ["submit", "return"],
    "rejected": ["submit", "reject"],
}


def step(action: str, reason: bool = True) -> Advance:
    return Advance(Action(action), "ann", ("unclear",) if reason else ())


def make_item(database: Database, name: str = "apples") -> str:
    with database.session() as session:
        item = Item(name=name, created_by="ann")
        session.add(item)
    return item.id


def walk(database: Database, item_id: str, actions: list[str]) -> None:
    with database.session() as session:
        for action in actions:
            advance(session, item_id, session.get(Item, item_id).version, step(action))


def replay(history: list[Event]) -> tuple[str, int]:
    """State and version from the events alone."""
    state, version = "draft", 1
    for event in history:
        assert (event.detail["before"], event.detail["version"]) == (state, version + 1)
        state, version = event.detail["after"], event.detail["version"]
    return state, version


def look(database: Database, item_id: str) -> tuple[str, int, list[Event]]:
    with database.reading() as session:
        item = session.get(Item, item_id)
        return item.state.value, item.version, events.history(session, "item", item_id)


@pytest.mark.parametrize("state", LIFE)
def test_every_action_in_every_state(database, state):
    for action in Action:
        item_id = make_item(database, action.value)
        walk(database, item_id, WALK_TO[state])
        found, version, told = look(database, item_id)
        assert found == state
        with database.session() as session:
            if action in LIFE[state]:
                assert advance(session, item_id, version, step(action)).state == LIFE[state][action]
            else:
                allowed = ", ".join(ordered(LIFE[state])) or "nothing"
                with pytest.raises(ImpossibleAction) as caught:
                    advance(session, item_id, version, step(action))
                assert str(caught.value) == f"item '{action}' is {state}: cannot {action}; possible: {allowed}"
        after = LIFE[state].get(action)
        assert look(database, item_id)[:2] == ((after, version + 1) if after else (state, version))
        assert len(look(database, item_id)[2]) == len(told) + bool(after)


def ordered(actions) -> list[str]:
    return [action.value for action in Action if action.value in actions]


def test_the_possible_actions_are_those_of_the_life():
    assert {state.value: [action.value for action in possible_actions(state)] for state in ItemState} == {
        state: ordered(actions) for state, actions in LIFE.items()
    }


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(tries=st.lists(st.tuples(st.sampled_from([a.value for a in Action]), st.booleans(), st.booleans()), max_size=25))
def test_whatever_is_tried_the_events_tell_the_state(database, tries):
    """Any actions, with or without reasons, with right or stale versions: the model, the row and the events agree."""
    item_id = make_item(database, f"item {next(NUMBERS)}")
    state, version = "draft", 1
    with database.session() as session:
        for action, reason, stale in tries:
            expected: type[InterplayError] | None = None
            if stale:
                expected = StaleVersion
            elif action not in LIFE[state]:
                expected = ImpossibleAction
            elif action in NEED_REASON and not reason:
                expected = ReasonMissing
            if expected:
                with pytest.raises(expected):
                    advance(session, item_id, version - stale, step(action, reason))
            else:
                advance(session, item_id, version, step(action, reason))
                state, version = LIFE[state][action], version + 1
            assert (session.get(Item, item_id).state.value, session.get(Item, item_id).version) == (state, version)
    found, found_version, history = look(database, item_id)
    assert (found, found_version) == (state, version)
    assert replay(history) == (state, version)
    assert [event.sequence for event in history] == sorted(event.sequence for event in history)


def test_a_step_tells_who_did_what_to_which_revision_and_why(database, clock):
    item_id = make_item(database)
    with database.session() as session:
        advance(session, item_id, 1, Advance(Action.SUBMIT, "ann", revision_id="r1"), clock)
        clock.advance(hours=1)
        advance(session, item_id, 2, Advance(Action.RETURN, "bob", ("ambiguous", "too_easy")), clock)
    _, _, (submitted, returned) = look(database, item_id)
    assert (submitted.actor, submitted.action, submitted.detail["revision_id"]) == ("ann", "submit", "r1")
    assert (returned.actor, returned.action, returned.at) == ("bob", "return", clock.now)
    assert returned.detail == {
        "before": "submitted",
        "after": "returned",
        "version": 3,
        "revision_id": "r1",
        "reason_codes": ["ambiguous", "too_easy"],
    }


def test_an_unknown_item_is_told(database):
    with (
        pytest.raises(UnknownItem, match=r"no item has the id 'x'.*interplay item list"),
        database.session() as session,
    ):
        advance(session, "x", 1, step("submit"))


def test_the_state_and_its_event_are_written_together_or_not_at_all(database):
    item_id = make_item(database)

    def submit_and_fail(session) -> float:
        advance(session, item_id, 1, step("submit"))
        return 1 / 0

    with pytest.raises(ZeroDivisionError), database.session() as session:
        submit_and_fail(session)
    assert look(database, item_id) == ("draft", 1, [])


def test_a_stale_version_is_told_and_changes_nothing(database):
    item_id = make_item(database)
    walk(database, item_id, ["submit"])
    with pytest.raises(StaleVersion, match=r"\(version 2, expected 1\); reload"), database.session() as session:
        advance(session, item_id, 1, step("pass_round1"))
    assert look(database, item_id)[:2] == ("submitted", 2)


@pytest.mark.postgres
def test_what_a_session_read_earlier_does_not_hide_a_newer_version(postgres_url):
    """On PostgreSQL, where transactions run side by side, an item read before somebody's change is read again."""
    database = Database(postgres_url)
    item_id = make_item(database)
    with database.session() as slow:
        item = slow.get(Item, item_id)
        walk(database, item_id, ["submit"])
        with pytest.raises(StaleVersion):
            advance(slow, item.id, item.version, step("submit"))
    assert look(database, item_id)[:2] == ("submitted", 2)
    database.close()


def together(count: int, work: Callable[[int], str]) -> list[str]:
    """The results of `count` threads that start at once."""
    start = threading.Barrier(count)

    def run(number: int) -> str:
        start.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_of_two_advances_of_one_version_exactly_one_wins(database):
    item_id = make_item(database)
    walk(database, item_id, ["submit"])

    def decide(number: int) -> str:
        action = ("return", "pass_round1")[number]
        try:
            with database.session() as session:
                advance(session, item_id, 2, step(action))
        except StaleVersion:
            return "stale"
        return action

    results = together(2, decide)
    assert sorted(result == "stale" for result in results) == [False, True]
    (winner,) = set(results) - {"stale"}
    state, version, history = look(database, item_id)
    assert (state, version) == (LIFE["submitted"][winner], 3)
    assert [event.action for event in history] == ["submit", winner]


def test_no_write_is_lost_when_many_insist(database):
    item_id = make_item(database)

    def insist(_: int) -> str:
        done = 0
        while done < 5:
            with database.reading() as session:
                version = session.get(Item, item_id).version
            try:
                with database.session() as session:
                    advance(session, item_id, version, step("revise"))
                done += 1
            except StaleVersion:
                continue
        return "done"

    together(4, insist)
    _, version, history = look(database, item_id)
    assert version == 21
    assert [event.detail["version"] for event in history] == list(range(2, 22))
    with database.reading() as session:
        assert len(session.exec(select(Event)).all()) == 20


def test_messages_are_one_line(database):
    item_id = make_item(database)
    for version, action, kind in [(1, "accept", ImpossibleAction), (9, "submit", StaleVersion)]:
        with pytest.raises(kind) as caught, database.session() as session:
            advance(session, item_id, version, step(action))
        assert "\n" not in str(caught.value)


def test_many_take_a_step_at_once_as_each_would_alone(database):
    ids = [make_item(database, name) for name in ("pears", "apples", "figs")]
    with database.session() as session:
        advance_all(session, dict.fromkeys(reversed(ids), 1), step("submit"))
    assert [replay(look(database, id_)[2]) for id_ in ids] == [("submitted", 2)] * 3
    assert [look(database, id_)[:2] for id_ in ids] == [("submitted", 2)] * 3
    with database.reading() as session:
        told = session.exec(select(Event.subject_id).order_by(Event.sequence)).all()
    assert told == ids[::-1], "in the order given"


@pytest.mark.parametrize(
    ("last", "action", "reason", "mistake"),
    [
        (1, "pass_round1", True, StaleVersion),
        (2, "submit", True, ImpossibleAction),
        (2, "reject", False, ReasonMissing),
        (None, "pass_round1", True, UnknownItem),
    ],
)
def test_where_one_of_many_cannot_none_does(database, last, action, reason, mistake):
    ids = [make_item(database, name) for name in ("pears", "apples")]
    for id_ in ids:
        walk(database, id_, ["submit"])
    versions = {ids[0]: 2, ids[1]: last} if last else {ids[0]: 2, "nobody": 1}
    with database.session() as session, pytest.raises(mistake):
        advance_all(session, versions, step(action, reason))
    assert [look(database, id_)[:2] for id_ in ids] == [("submitted", 2)] * 2
