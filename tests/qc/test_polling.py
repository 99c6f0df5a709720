"""The way to the panel: which stored answers are votes, and budgets that are kept to the call."""

from dataclasses import replace

import pytest

from core.condition import FULL, TEXT_ONLY, Condition, without
from core.content import Modality
from evaluation.canary import check_delivery
from evaluation.models.catalogue import Price
from evaluation.models.spending import NoPrice
from qc.gates import Thresholds
from qc.ground_truth import TruthClass
from qc.panel import Ballot, make_ballot
from qc.polling import Limit, Poller
from qc.rounds import Panel, run_round1, run_round2
from qc.stopping import Gate
from warehouse.analytics import analysis
from warehouse.fact_kinds import FACT_KINDS
from warehouse.items import revisions_in
from warehouse.runs import open_run
from warehouse.tables import ItemState

LIMITS = Thresholds()
CLASSES = (TruthClass.SOUND, TruthClass.REDUNDANT, TruthClass.PARTIAL, TruthClass.MIS_KEYED, TruthClass.IMPOSSIBLE)


def store(bench, ballot: Ballot, answers: list[tuple[str, str | None]], minute: int = 0) -> None:
    """Answers (state, text) to the first units of a ballot, as if they had been asked before."""
    empty = dict.fromkeys(name for name in FACT_KINDS["response"].schema.names if name != "run_id")
    with bench.workspace.facts.writer("response", f"run {minute}") as writer:
        for unit, (state, answer) in zip(ballot.units, answers, strict=False):
            row = {
                "key": unit.key,
                "request_key": unit.request_key,
                "model": unit.model.name,
                "family": "as it was then",
                "revision_id": unit.revision_id,
                **unit.showing.columns,
                "state": state,
                "answer": answer,
                "recorded_at": f"2026-01-01T12:{minute:02}:00+00:00",
            }
            writer.add(empty | row)


@pytest.fixture
def poll(bench, make_items, make_panel):
    """A poll about one sound item, and its ballots."""
    (item,) = make_items(1, 41)
    bench.bring([item])
    with bench.workspace.database.reading() as session:
        ((stored, revision),) = revisions_in(session, ItemState.SUBMITTED)

    def ballot(condition=FULL, panel: Panel | None = None) -> Ballot:
        return make_ballot((panel or make_panel()).models, stored.name, revision, condition)

    def ask(*ballots: Ballot, gate: Gate = Gate.WHOLE, limit: Limit | None = None):
        with open_run(bench.workspace.database, "test", {}) as run:
            poller = Poller(bench.workspace, "qc round 1", run.id, LIMITS, limit or Limit())
            found = poller.poll(ballots, gate)
        return [found.get((one.revision_id, one.condition.name)) for one in ballots], poller

    ask.ballot = ballot
    return ask


class TestStoredAnswers:
    @pytest.mark.parametrize("state", ["refusal", "truncated", "empty", "blocked"])
    def test_what_is_no_answer_is_no_vote_and_not_asked_again(self, bench, poll, state):
        ballot = poll.ballot()
        store(bench, ballot, [(state, "Answer: A")] * 16)
        (votes,), poller = poll(ballot)
        assert (votes.solved, votes.shares, votes.valid, votes.families, votes.asked) == (None, (), 0, 0, 16)
        assert poller.spent.calls == 0

    @pytest.mark.parametrize("state", ["api_error", "unparsed"])
    def test_what_failed_is_asked_again_and_the_later_answer_counts(self, bench, poll, state):
        ballot = poll.ballot()
        store(bench, ballot, [(state, None)] * 3 + [("ok", "Answer: A")] * 13)
        (votes,), poller = poll(ballot)
        assert (poller.spent.calls, votes.valid) == (3, 16)

    def test_answers_under_other_settings_are_no_votes(self, bench, poll, make_panel):
        hot = poll.ballot(panel=make_panel(generate={"temperature": 1}))
        store(bench, hot, [("ok", "Answer: A")] * 16)
        (votes,), poller = poll(poll.ballot())
        assert (poller.spent.calls, votes.solved) == (16, 1.0)

    def test_families_are_those_of_now(self, bench, poll):
        ballot = poll.ballot()
        store(bench, ballot, [("ok", "Answer: A")] * 16)
        (votes,), poller = poll(ballot)
        assert (poller.spent.calls, votes.families, votes.shares) == (0, 4, (0.25,) * 4)

    def test_each_condition_has_its_own_votes(self, bench, poll):
        full, deaf = poll.ballot(), poll.ballot(without(Modality.AUDIO))
        store(bench, full, [("ok", "Answer: A")] * 16)
        store(bench, deaf, [("refusal", None)] * 16)
        (first, second), poller = poll(full, deaf)
        assert (first.condition, first.valid, second.condition, second.valid) == ("full", 16, "without_audio", 0)
        assert poller.spent.calls == 0

    def test_no_more_is_asked_than_the_gate_needs(self, poll):
        (votes,), poller = poll(poll.ballot(), gate=Gate.FULL)
        assert (votes.asked, poller.spent.calls, votes.solved) == (7, 7, 1.0)
        (votes,), poller = poll(poll.ballot(), gate=Gate.WHOLE)
        assert (votes.asked, poller.spent.calls) == (16, 9)


class TestOneBudget:
    """Sixteen answers are wanted of each of two conditions."""

    @pytest.mark.parametrize(
        ("calls", "spent", "done"), [(0, 0, 0), (15, 0, 0), (16, 16, 1), (31, 16, 1), (32, 32, 2), (None, 32, 2)]
    )
    def test_a_count_that_finds_no_room_is_not_begun(self, poll, calls, spent, done):
        ballots = [poll.ballot(), poll.ballot(without(Modality.AUDIO))]
        _, poller = poll(*ballots, limit=Limit(calls))
        assert poller.spent.calls == spent
        # Both are about one revision: as long as one count is broken off, nothing may be decided of it.
        assert poller.left == ({ballots[0].revision_id} if done < 2 else set())

    def test_what_is_left_has_no_votes_however_much_of_it_is_known(self, poll):
        full, deaf = poll.ballot(), poll.ballot(without(Modality.AUDIO))
        (first, second), _ = poll(full, deaf, limit=Limit(16))
        assert (first, second) == (None, None)

    def test_equal_requests_take_room_once(self, poll):
        """Two conditions that show the same: each answer counts for both."""
        hidden = poll.ballot(TEXT_ONLY), poll.ballot(Condition(name="neither", hidden=TEXT_ONLY.hidden))
        (first, second), poller = poll(*hidden, limit=Limit(16))
        assert (first.valid, second.valid, first.shares == second.shares) == (16, 16, True)
        assert (poller.spent.calls, poller.left) == (16, set())

    def test_answers_that_are_known_take_no_room(self, poll):
        full, deaf = poll.ballot(), poll.ballot(without(Modality.AUDIO))
        poll(full)
        (first, second), poller = poll(full, deaf, limit=Limit(16))
        assert (first.valid, second.valid, poller.spent.calls, poller.left) == (16, 16, 16, set())


def asked_rows(bench) -> list[tuple[str, int]]:
    """Each request to the panel in the rounds, and how many answers to it came from a model."""
    with analysis(bench.workspace.facts, ["response"]) as connection:
        return connection.execute(
            "SELECT request_key, count(DISTINCT recorded_at) FROM response WHERE starts_with(purpose, 'qc round') "
            "GROUP BY request_key ORDER BY request_key"
        ).fetchall()


@pytest.fixture
def twins(bench, new_bench, make_items, told, make_panel):
    """Two projects with the same items; the second one is judged without a budget."""
    items = [*make_items(5, 42, *CLASSES), told]
    bench.bring(items)
    free = new_bench("free")
    free.bring(items)
    reports = [run(free.workspace, make_panel()) for run in (run_round1, run_round2)]
    return bench, free, sum(report.asked for report in reports)


def test_a_budget_of_calls_is_kept_and_what_is_left_is_taken_up_again(twins, make_panel):
    bench, free, wanted = twins
    total, budgets = 0, iter((0, 3, 12, 29, 29, 40, 64, 64, 200, 200, 200, 200))
    for number, run in ((1, run_round1), (2, run_round2)):
        while True:
            waiting = set(names_in(bench, number))
            most = next(budgets)
            report = run(bench.workspace, make_panel(), Limit(most))
            assert report.asked <= most
            total += report.asked
            # Every item that waited is judged, or left and labelled, and never both.
            assert waiting == set(report.left) | set(report.rulings)
            assert not set(report.left) & set(report.rulings)
            for name in report.left:
                assert all(verdict.round != number for verdict in bench.verdicts(name))
            if most == 0:
                assert (report.asked, report.rulings) == (0, {})
            if not report.left:
                break
    assert bench.standing() == free.standing()
    # Nothing was asked twice, and nothing that a run without a budget does not ask.
    assert total == wanted
    assert asked_rows(bench) == asked_rows(free)
    assert {count for _, count in asked_rows(bench)} == {1}


def names_in(bench, number: int) -> list[str]:
    from warehouse.verdicts import ROUND_NEEDS

    with bench.workspace.database.reading() as session:
        return [item.name for item, _ in revisions_in(session, ROUND_NEEDS[number])]


def priced(panel: Panel, price: Price | None = Price(input=1000, output=1000)) -> Panel:  # noqa: B008 - frozen
    return replace(panel, models=[model.model_copy(update={"price": price}) for model in panel.models])


def test_a_budget_in_dollars_leaves_the_rest_and_goes_on_to_the_same_end(bench, new_bench, make_items, make_panel):
    items = make_items(6, 43, TruthClass.SOUND)
    bench.bring(items)
    free = new_bench("free")
    free.bring(items)
    panel = priced(make_panel())
    for one in (bench, free):
        check_delivery(one.workspace, "before", panel.models)
    whole = run_round1(free.workspace, panel)
    assert whole.spent.cost_usd > 0
    dearest = whole.spent.cost_usd / whole.asked * 2
    third = whole.spent.cost_usd / 3
    report = run_round1(bench.workspace, panel, Limit(usd=third))
    # A call goes out only where there is room for one like those before; the first of each model cannot be known.
    assert 0 < report.spent.cost_usd <= third + 4 * dearest
    assert report.left
    assert set(report.left) | set(report.rulings) == {item.name for item in items}
    assert all(bench.verdicts(name) == [] for name in report.left)
    again = run_round1(bench.workspace, panel, Limit(usd=whole.spent.cost_usd))
    assert again.left == []
    assert bench.standing() == free.standing()
    assert report.spent.cost_usd + again.spent.cost_usd == pytest.approx(whole.spent.cost_usd)
    assert report.asked + again.asked == whole.asked


def test_no_dollar_is_spent_of_none(bench, make_items, make_panel):
    items = make_items(2, 44)
    bench.bring(items)
    report = run_round1(bench.workspace, priced(make_panel()), Limit(usd=0.0))
    assert (report.asked, report.spent.cost_usd, report.rulings) == (0, None, {})
    assert report.left == sorted(item.name for item in items)


def test_canaries_are_paid_for_and_without_them_nothing_is_judged(bench, new_bench, make_items, make_panel):
    items = make_items(1, 46)
    bench.bring(items)
    checked = new_bench("checked")
    checked.bring(items)
    panel = priced(make_panel())
    check_delivery(checked.workspace, "before", panel.models)
    questions = run_round1(checked.workspace, panel).spent.cost_usd
    report = run_round1(bench.workspace, panel, Limit(usd=questions))
    assert (report.asked, report.rulings, report.left) == (0, {}, [items[0].name])
    assert report.spent.cost_usd > 0
    rest = run_round1(bench.workspace, panel)
    assert rest.left == []
    assert report.spent.cost_usd + rest.spent.cost_usd > 2 * questions


def test_a_budget_in_dollars_needs_prices(bench, make_items, make_panel):
    (item,) = make_items(1, 45)
    bench.bring([item])
    with pytest.raises(NoPrice, match=r"the price of model 'm\d' is not known"):
        run_round1(bench.workspace, make_panel(), Limit(usd=1.0))
    assert bench.verdicts(item.name) == []
