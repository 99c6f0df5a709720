import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlmodel import select

from warehouse import events
from warehouse.assignments import LEASE, LeaseLost, finish, take
from warehouse.database import Database
from warehouse.tables import Assignment, AssignmentState, User

TASKS = ["one", "two", "three"]


@pytest.fixture
def people(database) -> list[str]:
    names = [f"user{number}" for number in range(8)]
    with database.session() as session:
        session.add_all(User(id=name, name=name, display_name=name) for name in names)
    return names


def taken(database, user: str, clock, tasks=TASKS, kind: str = "review") -> str | None:
    """The task that the user gets, in a transaction of its own."""
    with database.session() as session:
        assignment = take(session, user, kind, tasks, clock=clock)
        return assignment and assignment.task_id


def lease_of(database, task: str) -> Assignment:
    with database.reading() as session:
        return session.exec(select(Assignment).where(Assignment.task_id == task).order_by(Assignment.id.desc())).first()


def done_with(database, assignment: Assignment, user: str, clock, state=AssignmentState.DONE) -> None:
    with database.session() as session:
        finish(session, assignment.id, user, state, clock)


def test_everybody_gets_the_first_task_that_nobody_holds(database, people, clock):
    assert [taken(database, user, clock) for user in people[:4]] == ["one", "two", "three", None]
    assert lease_of(database, "two").expires_at == clock() + LEASE


def test_who_comes_again_keeps_the_place(database, people, clock):
    assert taken(database, "user0", clock) == "one"
    assert taken(database, "user1", clock, tasks=["two", "three"]) == "two"
    expires = lease_of(database, "two").expires_at
    clock.advance(minutes=10)
    assert taken(database, "user1", clock) == "two"
    assert lease_of(database, "two").expires_at == expires
    with database.reading() as session:
        assert len(session.exec(select(Assignment)).all()) == 2


def test_kinds_of_tasks_do_not_meet(database, people, clock):
    assert taken(database, "user0", clock) == "one"
    assert taken(database, "user1", clock, kind="record") == "one"


def test_an_abandoned_task_comes_back_when_its_lease_ends(database, people, clock):
    assert taken(database, "user0", clock, tasks=["one"]) == "one"
    clock.now += LEASE - timedelta(microseconds=1)
    assert taken(database, "user1", clock, tasks=["one"]) is None
    clock.advance(microseconds=1)
    assert taken(database, "user1", clock, tasks=["one"]) == "one"
    with database.reading() as session:
        leases = session.exec(select(Assignment).order_by(Assignment.id)).all()
        assert [(one.user_id, one.state.value, one.ended_at) for one in leases] == [
            ("user0", "expired", clock()),
            ("user1", "live", None),
        ]
        told = [(event.actor, event.action) for event in events.history(session, "review", "one")]
        assert told == [("user0", "lease"), ("user0", "lease_expired"), ("user1", "lease")]


@pytest.mark.parametrize("state", [AssignmentState.DONE, AssignmentState.RELEASED])
def test_what_is_finished_is_free_again(database, people, clock, state):
    taken(database, "user0", clock)
    done_with(database, lease_of(database, "one"), "user0", clock, state)
    assert lease_of(database, "one").state is state
    assert taken(database, "user1", clock) == "one"
    with database.reading() as session:
        assert [event.action for event in events.history(session, "review", "one")] == [
            "lease",
            f"lease_{state.value}",
            "lease",
        ]


def test_a_lost_lease_cannot_be_finished(database, people, clock):
    taken(database, "user0", clock)
    mine = lease_of(database, "one")
    with pytest.raises(LeaseLost, match="take it again"):
        done_with(database, mine, "user1", clock)
    with pytest.raises(LeaseLost), database.session() as session:
        finish(session, "no such lease", "user0", AssignmentState.DONE, clock)
    clock.now += LEASE
    with pytest.raises(LeaseLost):
        done_with(database, mine, "user0", clock)
    taken(database, "user1", clock)
    with pytest.raises(LeaseLost):
        done_with(database, mine, "user0", clock)
    assert lease_of(database, "one").user_id == "user1"
    assert lease_of(database, "one").state is AssignmentState.LIVE


def test_a_lease_is_finished_once(database, people, clock):
    taken(database, "user0", clock)
    mine = lease_of(database, "one")
    done_with(database, mine, "user0", clock)
    with pytest.raises(LeaseLost):
        done_with(database, mine, "user0", clock)


@pytest.mark.postgres
def test_a_lease_that_was_lost_meanwhile_is_seen_as_lost(postgres_url, clock):
    """On PostgreSQL, where transactions run side by side, a lease read before it was lost is read again."""
    database = Database(postgres_url)
    with database.session() as session:
        session.add_all(User(id=name, name=name, display_name=name) for name in ("user0", "user1"))
    taken(database, "user0", clock)
    with database.session() as slow:
        mine = slow.get(Assignment, lease_of(database, "one").id)
        done_with(database, mine, "user0", clock)
        with pytest.raises(LeaseLost):
            finish(slow, mine.id, "user0", AssignmentState.RELEASED, clock)
    database.close()


def together(database, users, clock, tasks) -> list[str | None]:
    start = threading.Barrier(len(users))

    def run(user: str) -> str | None:
        start.wait(timeout=60)
        return taken(database, user, clock, tasks)

    with ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(run, users))


def test_many_who_come_at_once_never_share_a_task(database, people, clock):
    tasks = [f"task{number}" for number in range(6)]
    got = together(database, people, clock, tasks)
    assert sorted(task for task in got if task) == tasks
    assert got.count(None) == 2


def test_one_person_in_many_tabs_gets_one_task(database, people, clock):
    tasks = [f"task{number}" for number in range(6)]
    assert len(set(together(database, ["user0"] * 4, clock, tasks))) == 1
    with database.reading() as session:
        assert len(session.exec(select(Assignment)).all()) == 1


def test_many_who_find_the_same_abandoned_tasks_share_them_out(database, people, clock):
    tasks = [f"task{number}" for number in range(4)]
    together(database, people[:4], clock, tasks)
    clock.now += LEASE
    got = together(database, people[4:], clock, tasks)
    assert sorted(got) == tasks
    with database.reading() as session:
        expired = session.exec(select(Assignment).where(Assignment.state == AssignmentState.EXPIRED)).all()
        assert len(expired) == 4
