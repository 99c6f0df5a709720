"""Who gets which revision, on SQLite and PostgreSQL."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from core.errors import UnknownName
from qc.review.gold import add_gold, gold_score
from qc.review.opinions import Opinion, decide_case
from qc.review.places import ReviewEnded
from qc.review.queue import REVIEW_LEASE, present_task, release_task, take_open_case, take_review, waiting_for
from qc.review.verdicts import NotStuck, adjudicate, give_verdict, reviewers_needed
from qc.review.waiting import open_cases, waiting_for_review
from warehouse.assignments import LeaseLost
from warehouse.database import Database
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import Action, ReasonMissing, lock_item
from warehouse.people import NotAllowed, Role, add_user, get_user
from warehouse.tables import Assignment, AssignmentState, Decision, Review, Verdict
from warehouse.verdicts import AlreadyJudged, Judgement, OwnItem, record_verdict

PASS, RETURN, REJECT, UNKNOWN = Decision.PASS, Decision.RETURN, Decision.REJECT, Decision.UNKNOWN


def items_of(desk, *names: str) -> list[str | None]:
    tasks = [desk.take(name) for name in names]
    return [task and task.item for task in tasks]


class TestPlaces:
    def test_two_at_work_on_each_the_oldest_first(self, desk):
        desk.item("old")
        desk.item("new")
        assert items_of(desk, "r0", "r1", "r2", "r3", "r4") == ["old", "old", "new", "new", None]

    def test_only_what_waits_for_round_3(self, desk):
        for passed in (0, 1, 3):
            desk.item(f"passed-{passed}", passed=passed)
        assert items_of(desk, "r0") == [None]

    def test_who_comes_again_keeps_the_place(self, desk):
        desk.item("old")
        first = desk.take("r0")
        desk.item("older by nothing")
        desk.clock.advance(minutes=5)
        assert desk.take("r0") == first
        with desk.database.reading() as session:
            assert present_task(session, "r0", desk.clock) == first

    def test_nobody_is_asked_in_vain(self, desk):
        desk.item("zoo")
        assert desk.review("r0") == "zoo"
        assert items_of(desk, "r1", "r2") == ["zoo", None]

    def test_nobody_gets_what_they_finished(self, desk):
        desk.item("zoo")
        desk.review("r0")
        assert items_of(desk, "r0") == [None]

    def test_nor_what_they_judged_without_a_review_even_in_another_round(self, desk):
        desk.item("zoo", passed=1)
        with desk.database.session() as session:
            give_verdict(session, "zoo", 2, "r0", UNKNOWN, clock=desk.clock)
        desk.act("zoo", Action.PASS_ROUND2)
        assert items_of(desk, "r0", "r1") == [None, "zoo"]

    def test_a_verdict_from_the_command_line_takes_a_place(self, desk):
        desk.item("zoo")
        with desk.database.session() as session:
            give_verdict(session, "zoo", 3, "r0", PASS, clock=desk.clock)
        assert items_of(desk, "r0", "r1", "r2") == [None, "zoo", None]

    def test_two_who_agree_settle_it(self, desk):
        desk.item("zoo")
        assert (desk.review("r0", "return"), desk.review("r1", "return")) == ("zoo", "zoo")
        assert desk.state("zoo") == "returned"

    def test_a_third_only_where_two_disagree_and_before_older_ones(self, desk):
        desk.item("older")
        desk.item("old")
        for by in ("r0", "r1"):
            desk.take(by)
        desk.item("zoo")
        assert (desk.review("r2"), desk.review("r2")) == ("old", "zoo")
        assert (desk.review("r3", "return"), desk.review("r3", "reject")) == ("old", "zoo")
        assert items_of(desk, "r4", "r5", "r6") == ["old", "zoo", None]
        assert desk.state("old") == "round2_passed"
        assert desk.review("r4", "return") == "old"
        assert desk.state("old") == "returned"

    def test_who_is_at_work_is_not_asked_in_vain_either(self, desk):
        desk.item("zoo")
        first, _ = desk.take("r0"), desk.take("r1")
        desk.answer(first, "r0")
        desk.give(first, "r0")
        assert items_of(desk, "r2", "r1") == [None, "zoo"]

    def test_a_dispute_before_what_waits_longer(self, desk):
        desk.item("older")
        desk.item("disputed")
        with desk.database.session() as session:
            for by, decision in (("r0", PASS), ("r1", UNKNOWN)):
                give_verdict(session, "disputed", 3, by, decision, clock=desk.clock)
        assert items_of(desk, "r2", "r3", "r4", "r5") == ["disputed", "older", "older", None]

    def test_the_dispute_that_waits_longest_first(self, desk):
        for name in ("a", "b"):
            desk.item(name)
        # r0 and r1 meet b first, for others hold a.
        held = [desk.take(by) for by in ("r6", "r7")]
        assert (desk.review("r0"), desk.review("r1", "return")) == ("b", "b")
        for task, by, decision in zip(held, ("r6", "r7"), ("pass", "reject"), strict=True):
            desk.clock.advance(minutes=1)
            desk.answer(task, by)
            desk.give(task, by, decision)
        assert items_of(desk, "r2", "r3", "r4") == ["b", "a", None]


class TestWhatComesNext:
    def give_back(self, desk, by="r0"):
        task = desk.take(by)
        with desk.database.session() as session:
            release_task(session, task.assignment_id, by, desk.clock)
        return task.item

    def test_abandoned_then_disputed_then_the_oldest_then_what_was_given_back(self, desk):
        for name in ("given back", "abandoned"):
            desk.item(name)
        assert self.give_back(desk) == "given back"
        assert items_of(desk, "r0") == ["abandoned"]
        desk.clock.now += REVIEW_LEASE
        for name in ("old", "new", "disputed"):
            desk.item(name)
        with desk.database.session() as session:
            for by, decision in (("r1", PASS), ("r2", UNKNOWN)):
                give_verdict(session, "disputed", 3, by, decision, clock=desk.clock)
        assert [desk.review("r0") for _ in range(6)] == ["abandoned", "disputed", "old", "new", "given back", None]

    def test_gold_that_was_given_back_comes_after_all_others_and_is_counted(self, desk):
        for name in ("gold 1", "gold 2"):
            desk.item(name, passed=3)
            with desk.database.session() as session:
                add_gold(session, name, REJECT, by="mara", clock=desk.clock)
        desk.item("zoo")
        every_one = {"gold_every": 1}
        first = desk.take("r0", **every_one)
        with desk.database.session() as session:
            release_task(session, first.assignment_id, "r0", desk.clock)
        second = desk.take("r0", **every_one)
        assert {first.item, second.item} == {"gold 1", "gold 2"}
        with desk.database.session() as session:
            release_task(session, second.assignment_id, "r0", desk.clock)
            assert waiting_for(session, "r0", desk.clock, 1).reviews == 2
        assert desk.review("r0", **every_one) == "zoo"
        # Where nothing else waits it comes again, as any other does.
        assert desk.take("r0", **every_one).item in {"gold 1", "gold 2"}


class TestOwnItems:
    def test_never_ones_own_by_name_or_id(self, desk, people):
        desk.item("by name", author="r0")
        desk.item("by id", author=people["r0"])
        assert items_of(desk, "r0", "r1") == [None, "by name"]

    def test_nor_one_of_which_one_wrote_any_revision(self, desk, people, ask):
        desk.item("zoo", author="r0")
        desk.revise("zoo", ask(text="Mended?"), author=people["r1"])
        desk.revise("zoo", ask(text="Mended again?"), author="mei")
        assert items_of(desk, "r0", "r1", "mei", "r2") == [None, None, None, "zoo"]


class TestWhoMay:
    @pytest.mark.parametrize("take", ["take_review", "take_open_case"])
    def test_only_active_reviewers(self, desk, take):
        import qc.review.queue

        with desk.database.session() as session:
            get_user(session, "r0").active = False
        for by, error in (("r0", NotAllowed), ("mara", NotAllowed), ("r00", UnknownName)):
            with pytest.raises(error), desk.database.session() as session:
                getattr(qc.review.queue, take)(session, by, desk.clock)

    def test_nor_gives_anybody_else_a_task_back(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        with desk.database.session() as session:
            get_user(session, "r0").active = False
        with pytest.raises(NotAllowed, match="no longer active"), desk.database.session() as session:
            release_task(session, task.assignment_id, "r0", desk.clock)


class TestLeases:
    def test_an_abandoned_one_comes_back_with_the_answers_kept(self, desk):
        desk.item("zoo")
        lost = desk.take("r0")
        desk.partial(lost, "r0", "C")
        desk.take("r1")
        hidden = stored(desk, "r0").hidden
        desk.clock.now += REVIEW_LEASE
        with pytest.raises(LeaseLost):
            desk.full(lost, "r0", "B")
        assert items_of(desk, "r2", "r0", "r1") == ["zoo", "zoo", None]
        again = desk.take("r0")
        assert again.assignment_id != lost.assignment_id
        review = stored(desk, "r0")
        assert (review.assignment_id, review.partial_answer, review.hidden) == (again.assignment_id, "C", hidden)
        assert desk.view(again, "r0").stage == "full"
        desk.full(again, "r0", "B")
        desk.give(again, "r0")
        with pytest.raises(LeaseLost):
            desk.give(lost, "r0", "return")

    def test_one_that_is_given_back_is_free_at_once(self, desk):
        desk.item("zoo")
        mine = desk.take("r0")
        desk.take("r1")
        with pytest.raises(LeaseLost), desk.database.session() as session:
            release_task(session, mine.assignment_id, "r1", desk.clock)
        with desk.database.session() as session:
            release_task(session, mine.assignment_id, "r0", desk.clock)
        assert items_of(desk, "r2", "r3") == ["zoo", None]
        with desk.database.reading() as session:
            assert present_task(session, "r0", desk.clock) is None

    def test_one_on_what_was_decided_meanwhile_leads_on_to_the_next(self, desk):
        desk.item("zoo")
        desk.take("r0")
        desk.item("next")
        with desk.database.session() as session:
            for by in ("r1", "r2"):
                give_verdict(session, "zoo", 3, by, PASS, clock=desk.clock)
        next_task = desk.take("r0")
        assert next_task.item == "next"
        with desk.database.reading() as session:
            live = session.exec(select(Assignment).where(Assignment.state == AssignmentState.LIVE)).all()
        assert [one.id for one in live] == [next_task.assignment_id]

    def test_a_hanger_on_cannot_use_anothers(self, desk):
        desk.item("zoo")
        task = desk.take("r0")
        for use in (desk.view, lambda *at: desk.partial(*at, "A"), desk.give):
            with pytest.raises(LeaseLost):
                use(task, "r1")


class TestManyAtOnce:
    def test_eight_share_out_three_revisions_and_no_slot_twice(self, desk):
        for number in range(3):
            desk.item(f"zoo-{number}")
        tasks = together(desk, [f"r{number}" for number in range(8)])
        assert Counter(task and task.item for task in tasks) == {"zoo-0": 2, "zoo-1": 2, "zoo-2": 2, None: 2}
        with desk.database.reading() as session:
            live = session.exec(select(Assignment).where(Assignment.state == AssignmentState.LIVE)).all()
            reviews = session.exec(select(Review)).all()
        assert len({one.task_id for one in live}) == len(live) == 6
        assert sorted(one.assignment_id for one in reviews) == sorted(one.id for one in live)
        # The two on one revision were given different modalities.
        assert Counter(one.hidden for one in reviews) == {"image": 3, "audio": 3}

    def test_one_person_in_eight_tabs_gets_one_task(self, desk):
        for number in range(3):
            desk.item(f"zoo-{number}")
        assert len({task.assignment_id for task in together(desk, ["r0"] * 8)}) == 1

    def test_a_whole_queue_is_worked_off_with_two_verdicts_each(self, desk):
        names = [f"zoo-{number}" for number in range(4)]
        for name in names:
            desk.item(name)

        def work(by: str) -> list[str]:
            done = []
            while (task := desk.take(by)) is not None:
                desk.answer(task, by)
                desk.give(task, by)
                done.append(task.item)
            return done

        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(work, [f"r{number}" for number in range(8)]))
        assert Counter(name for of_one in done for name in of_one) == dict.fromkeys(names, 2)
        assert {desk.state(name) for name in names} == {"accepted"}
        with desk.database.reading() as session:
            assert len(session.exec(select(Verdict)).all()) == 8

    def test_two_who_finish_at_once_settle_it_once(self, desk):
        desk.item("zoo")
        tasks = {by: desk.take(by) for by in ("r0", "r1")}
        for by, task in tasks.items():
            desk.answer(task, by)
        together(desk, list(tasks), lambda by: desk.give(tasks[by], by))
        assert desk.state("zoo") == "accepted"
        with desk.database.reading() as session:
            given = {verdict.id for verdict in session.exec(select(Verdict))}
            assert {review.verdict_id for review in session.exec(select(Review))} == given
        assert len(given) == 2

    def test_a_gold_item_is_everybodys(self, desk):
        desk.item("gold", passed=3)
        with desk.database.session() as session:
            add_gold(session, "gold", REJECT, by="mara", clock=desk.clock)
        people = [f"r{number}" for number in range(8)]
        tasks = together(desk, people, lambda by: desk.take(by, gold_every=1))
        assert [task.item for task in tasks] == ["gold"] * 8
        assert len({task.assignment_id for task in tasks}) == 8
        desk.answer(tasks[0], "r0")
        desk.give(tasks[0], "r0", "reject")
        with desk.database.reading() as session:
            assert [(one.reviewer, one.right) for one in gold_score(session)] == [("r0", 1)]


class TestReviewersNeeded:
    @pytest.mark.parametrize(
        ("given", "needed"),
        [
            ([], 2),
            ([PASS], 1),
            ([UNKNOWN], 2),
            ([PASS, PASS], 0),
            ([PASS, RETURN], 1),
            ([PASS, UNKNOWN], 1),
            ([UNKNOWN, UNKNOWN], 0),
            ([PASS, RETURN, REJECT], 0),
            ([PASS, RETURN, UNKNOWN], 0),
        ],
    )
    def test_by_hand(self, given, needed):
        assert reviewers_needed(given) == needed

    @given(st.lists(st.sampled_from(Decision), max_size=3))
    def test_as_many_can_settle_it_and_fewer_cannot(self, given):
        """Against trying all that the next reviewers could say."""

        def settled(more):
            votes = Counter(one for one in [*given, *more] if one is not UNKNOWN)
            return max(votes.values(), default=0) >= 2

        tried = range(4 - len(given))
        enough = [count for count in tried if any(map(settled, product(Decision, repeat=count)))]
        assert reviewers_needed(given) == (min(enough) if enough else 0)


class TestMaintainers:
    @pytest.fixture
    def stuck(self, desk):
        desk.item("zoo")
        for by, decision in (("r0", "pass"), ("r1", "return"), ("r2", "reject")):
            desk.review(by, decision)
        return "zoo"

    def decide(self, desk, name, by, decision=PASS, *codes):
        with desk.database.session() as session:
            verdict, item = adjudicate(session, name, by, decision, codes, clock=desk.clock)
        return verdict, item.state.value

    def test_three_minds_are_listed_for_one(self, desk, stuck):
        assert items_of(desk, "r3") == [None]
        with desk.database.reading() as session:
            (listed,) = waiting_for_review(session, desk.clock)
        assert (listed.item, listed.waits_for_maintainer, listed.needed) == ("zoo", True, 0)
        assert [(one.decider, one.decision.value) for one in listed.opinions] == [
            ("r0", "pass"),
            ("r1", "return"),
            ("r2", "reject"),
        ]

    def test_two_minds_are_listed_for_a_third_reviewer(self, desk):
        desk.item("zoo")
        desk.review("r0")
        with desk.database.reading() as session:
            assert [one.is_disputed for one in waiting_for_review(session, desk.clock)] == [False]
        desk.review("r1", "return")
        with desk.database.reading() as session:
            (listed,) = waiting_for_review(session, desk.clock)
        assert (listed.is_disputed, listed.needed, listed.waits_for_maintainer) == (True, 1, False)
        assert listed.since == desk.clock()
        with pytest.raises(NotStuck):
            self.decide(desk, "zoo", "mara")

    def test_who_decides(self, desk, stuck):
        verdict, state = self.decide(desk, stuck, "mara", RETURN, "ambiguous")
        assert (state, verdict.round, verdict.by_person, len(verdict.evidence["adjudicates"])) == (
            "returned",
            3,
            True,
            3,
        )
        with pytest.raises(NotStuck):
            self.decide(desk, stuck, "max")

    def test_who_may_not_and_how_not(self, desk, stuck):
        for by, decision, error in (
            ("r3", PASS, NotAllowed),
            ("mara", UNKNOWN, NotStuck),
            ("mara", REJECT, ReasonMissing),
        ):
            with pytest.raises(error):
                self.decide(desk, stuck, by, decision)
        assert desk.state(stuck) == "round2_passed"

    def test_never_the_author_or_a_reviewer(self, desk):
        desk.item("own", author="mara")
        for by, decision in (("max", "pass"), ("r1", "return"), ("r2", "reject")):
            assert desk.review(by, decision) == "own"
        with pytest.raises(OwnItem):
            self.decide(desk, "own", "mara")
        with pytest.raises(AlreadyJudged):
            self.decide(desk, "own", "max")


class TestOpenCases:
    def leave_open(self, desk, name, number, decision=UNKNOWN):
        desk.clock.advance(minutes=1)
        with desk.database.session() as session:
            revision = current_revision(session, get_item(session, name))
            judgement = Judgement(number, "check@1", False, decision, ["needs_a_person"], {"at": name})
            record_verdict(session, revision, judgement, desk.clock)

    def take(self, desk, by):
        with desk.database.session() as session:
            return take_open_case(session, by, desk.clock)

    def test_one_person_each_decides_what_a_check_left_open(self, desk):
        desk.item("not judged yet", passed=0)
        for name, number in (("one", 1), ("two", 2)):
            desk.item(name, passed=number - 1)
            self.leave_open(desk, name, number)
        first, second, none = (self.take(desk, by) for by in ("r0", "r1", "r2"))
        assert (first.item, second.item, none) == ("one", "two", None)
        assert self.take(desk, "r0") == first
        for task, by, after in ((first, "r0", "round1_passed"), (second, "r1", "round2_passed")):
            with desk.database.session() as session:
                _, item = decide_case(session, task.assignment_id, by, Opinion(decision=PASS), desk.clock)
            assert item.state.value == after
        # Who decided knows the answer.
        assert items_of(desk, "r1", "r2") == [None, "two"]

    def test_never_ones_own_and_never_again_what_one_could_not_decide(self, desk):
        desk.item("zoo", passed=0, author="r0")
        self.leave_open(desk, "zoo", 1)
        assert self.take(desk, "r0") is None
        task = self.take(desk, "r1")
        with desk.database.session() as session:
            decide_case(session, task.assignment_id, "r1", Opinion(decision=UNKNOWN), desk.clock)
        assert (self.take(desk, "r1"), self.take(desk, "r2").item) == (None, "zoo")
        with desk.database.reading() as session:
            (case,) = open_cases(session, desk.clock)
            assert [one.decider for one in case.opinions] == ["r1"]

    def test_who_saw_the_key_and_gave_the_case_back_never_reviews_it_blind(self, desk):
        desk.item("zoo", passed=1)
        self.leave_open(desk, "zoo", 2)
        task = self.take(desk, "r0")
        with desk.database.session() as session:
            release_task(session, task.assignment_id, "r0", desk.clock)
        # As an open case it is theirs again, if they like.
        task = self.take(desk, "r0")
        assert task.item == "zoo"
        desk.clock.now += REVIEW_LEASE
        desk.act("zoo", Action.PASS_ROUND2)
        assert items_of(desk, "r0", "r1") == [None, "zoo"]
        desk.act("zoo", Action.ACCEPT)
        with desk.database.session() as session:
            add_gold(session, "zoo", PASS, by="mara", clock=desk.clock)
        assert desk.take("r0", gold_every=1) is None
        assert desk.take("r2", gold_every=1).item == "zoo"

    def test_the_last_word_of_the_check_counts(self, desk):
        desk.item("zoo", passed=0)
        self.leave_open(desk, "zoo", 1)
        self.leave_open(desk, "zoo", 1, PASS)
        assert self.take(desk, "r0") is None

    def test_one_that_moved_on_meanwhile(self, desk):
        desk.item("zoo", passed=0)
        self.leave_open(desk, "zoo", 1)
        task = self.take(desk, "r0")
        desk.act("zoo", Action.PASS_ROUND1, Action.PASS_ROUND2)
        with pytest.raises(ReviewEnded, match="decided meanwhile and is round2_passed"), desk.database.session() as s:
            decide_case(s, task.assignment_id, "r0", Opinion(decision=PASS), desk.clock)
        assert self.take(desk, "r0") is None

    def test_eight_at_once_get_one_each(self, desk):
        for number in range(3):
            desk.item(f"zoo-{number}", passed=0)
            self.leave_open(desk, f"zoo-{number}", 1)
        tasks = together(desk, [f"r{number}" for number in range(8)], lambda by: self.take(desk, by))
        assert Counter(task and task.item for task in tasks) == {"zoo-0": 1, "zoo-1": 1, "zoo-2": 1, None: 5}


@pytest.mark.postgres
def test_a_place_is_looked_at_again_once_nobody_else_decides(postgres_url, request, monkeypatch, clock):
    """On PostgreSQL, where transactions run side by side: who found a place waits for the verdict that fills it."""
    import qc.review.queue as queue

    database = Database(postgres_url)
    request.addfinalizer(database.close)
    with database.session() as session:
        for name in ("r0", "r1", "r2"):
            add_user(session, name, frozenset({Role.REVIEWER}), actor="test")
    desk = request.getfixturevalue("desk_of")(database, clock)
    desk.item("zoo")
    desk.review("r0")
    found = threading.Event()
    lock_item = queue.lock_item

    def told(*arguments):
        found.set()
        return lock_item(*arguments)

    monkeypatch.setattr(queue, "lock_item", told)
    with ThreadPoolExecutor(1) as pool:
        with database.session() as session:
            give_verdict(session, "zoo", 3, "r1", PASS, clock=clock)
            session.flush()
            taken = pool.submit(desk.take, "r2")
            assert found.wait(timeout=60)
        assert taken.result(timeout=60) is None


@pytest.mark.postgres
def test_who_comes_while_another_takes_gets_the_next_at_once(postgres_url, request, clock):
    """On PostgreSQL; and waits where nothing else is left: a place may be free there once the other is done."""
    database = Database(postgres_url)
    request.addfinalizer(database.close)
    with database.session() as session:
        for name in ("r0", "r1", "r2"):
            add_user(session, name, frozenset({Role.REVIEWER}), actor="test")
    desk = request.getfixturevalue("desk_of")(database, clock)
    desk.item("zoo")
    desk.item("yak")
    with ThreadPoolExecutor(2) as pool:
        with database.session() as session:
            assert take_review(session, "r0", clock).item == "zoo"
            assert pool.submit(desk.take, "r1").result(timeout=30).item == "yak"
            lock_item(session, get_item(session, "yak").id)
            waiting = pool.submit(desk.take, "r2")
        assert waiting.result(timeout=30).item == "zoo"


def together(desk, people, take=None):
    start = threading.Barrier(len(people))

    def run(by):
        start.wait(timeout=60)
        return (take or desk.take)(by)

    with ThreadPoolExecutor(len(people)) as pool:
        return list(pool.map(run, people))


def stored(desk, reviewer) -> Review:
    with desk.database.reading() as session:
        return session.exec(select(Review).where(Review.reviewer == reviewer)).one()


def test_what_waits_tells_who_is_at_work(desk, people):
    revision_id = desk.item("zoo")
    written = desk.clock()
    desk.take("r3")
    with desk.database.reading() as session:
        (one,) = waiting_for_review(session, desk.clock)
    assert (one.revision_id, one.needed, one.since, list(one.at_work.values())) == (
        revision_id,
        2,
        written,
        [people["r3"]],
    )
