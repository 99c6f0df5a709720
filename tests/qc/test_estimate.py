"""What a dry run says of the calls that the rounds then really take."""

from dataclasses import replace

import pytest

from evaluation.models.catalogue import Price
from qc.estimate import estimate
from qc.ground_truth import Family, TruthClass
from qc.rounds import run_round1, run_round2
from warehouse.analytics import analysis

ANY = tuple(truth for truth in TruthClass if truth is not TruthClass.LEAKED)


def stored(bench) -> int:
    with analysis(bench.workspace.facts, ["response"]) as connection:
        return connection.execute("SELECT count(*) FROM response").fetchone()[0]


@pytest.mark.parametrize(
    "changes", [{}, {"whole": True}, {"placebo": True, "whole": True}, {"reviews": False}], ids=str
)
def test_no_run_asks_more_than_it_says(bench, make_items, told, make_panel, changes):
    items = [*make_items(5, 71, *ANY), told, *make_items(1, 72, families=[Family.STEPS])]
    bench.bring(items)
    panel = replace(make_panel(), **changes)
    first, both = estimate(bench.workspace, panel, [1, 2])
    assert (first.round, first.items, both.round, both.items) == (1, len(items), 2, len(items))
    assert 0 < first.expected <= first.at_most
    assert 0 < both.expected <= both.at_most
    assert stored(bench) == 0
    asked = run_round1(bench.workspace, panel).asked
    assert asked <= first.at_most
    (second,) = estimate(bench.workspace, panel, [2])
    # What round 1 stopped is not asked about again.
    assert (second.items, second.at_most <= both.at_most) == (len(passed(bench)), True)
    assert run_round2(bench.workspace, panel).asked <= second.at_most


def passed(bench) -> list[str]:
    return [name for name, (_, verdicts) in bench.standing().items() if verdicts[0][1] == "pass"]


def test_for_items_that_are_as_it_expects_it_is_near(bench, make_items, make_panel):
    """Families that find four of five keys, and guess by chance with anything missing."""
    items = make_items(8, 73)
    bench.bring(items)
    panel = replace(make_panel(position_bias=0.0), reviews=False)
    first, _ = estimate(bench.workspace, panel, [1, 2])
    run_round1(bench.workspace, panel)
    (second,) = estimate(bench.workspace, panel, [2])
    asked = run_round2(bench.workspace, panel).asked
    assert first.expected == pytest.approx(8 * 8, abs=8)
    assert asked == pytest.approx(second.expected, rel=0.25)


def test_whole_counts_are_expected_whole(bench, make_items, make_panel):
    bench.bring(make_items(3, 77))
    panel = replace(make_panel(), whole=True, reviews=False)
    (first,) = estimate(bench.workspace, panel, [1])
    assert first.expected == first.at_most == run_round1(bench.workspace, panel).asked == 3 * 16


def test_questions_in_steps_are_expected_whole(bench, make_items, make_panel):
    """Each step is judged, so that none of their counts stops early, however many models a family has."""
    bench.bring(make_items(1, 78, families=[Family.STEPS]))
    models = [model.model_copy(update={"family": f"f{place % 4}"}) for place, model in enumerate(make_panel(8).models)]
    panel = replace(make_panel(), models=models, reviews=False)
    run_round1(bench.workspace, panel)
    (second,) = estimate(bench.workspace, panel, [2])
    assert second.expected == second.at_most == run_round2(bench.workspace, panel).asked == 3 * 8


def test_after_the_run_nothing_is_left_to_ask(bench, make_items, make_panel):
    items = make_items(3, 74)
    bench.bring(items)
    panel = make_panel()
    run_round1(bench.workspace, panel)
    (first,) = estimate(bench.workspace, panel, [1])
    assert (first.items, first.expected, first.at_most) == (0, 0, 0)
    run_round2(bench.workspace, panel)
    for one in estimate(bench.workspace, panel, [1, 2]):
        assert (one.items, one.expected, one.at_most) == (0, 0, 0)


def test_what_is_answered_already_is_taken_off(bench, make_items, make_panel):
    (item,) = make_items(1, 75, TruthClass.IMPOSSIBLE)
    bench.bring([item])
    panel = replace(make_panel(), reviews=False)
    (before,) = estimate(bench.workspace, panel, [1])
    asked = run_round1(bench.workspace, panel).asked
    (after,) = estimate(bench.workspace, panel, [1])
    # It still waits, for a person, and a full count would take what was not asked of it.
    assert (before.at_most, after.items, after.at_most) == (16, 1, 16 - asked)
    assert run_round1(bench.workspace, panel).asked == 0


def test_dollars_follow_from_what_calls_have_cost(bench, make_items, make_panel):
    first_item, second_item = make_items(2, 76)
    bench.bring([first_item])
    panel = make_panel()
    panel = replace(
        panel,
        models=[model.model_copy(update={"price": Price(input=10, output=10)}) for model in panel.models],
        reviews=False,
    )
    (before,) = estimate(bench.workspace, panel, [1])
    assert before.usd is None
    run_round1(bench.workspace, panel)
    bench.bring([second_item])
    (after,) = estimate(bench.workspace, panel, [1])
    with analysis(bench.workspace.facts, ["response"]) as connection:
        usd, calls = connection.execute(
            "SELECT sum(cost_usd), count(*) FROM response WHERE purpose = 'qc round 1'"
        ).fetchone()
    assert after.usd == pytest.approx(after.expected * usd / calls, rel=0.05)


def test_nothing_waits(bench, make_panel):
    for one in estimate(bench.workspace, make_panel(), [1, 2]):
        assert (one.items, one.expected, one.at_most) == (0, 0, 0)
