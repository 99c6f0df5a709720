"""The cost-benefit curve: margins in closed form, sizes for margins, the knee."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from compression.cost_line import Line, knee_of
from compression.curve import BadMargin, NoClosedForm, curve
from compression.importers.base import BadPool
from compression.matrix import ScoreMatrix
from compression.splits import random_splits
from compression.validate import Protocol, validate
from core.errors import UnknownName

MODELS = 8
PROTOCOL = Protocol(splits=3, repeats=0)


@pytest.fixture(scope="session")
def pool(matrix_of, latent_scores):
    """Binary scores of models, each a family, on questions in two benchmarks."""

    def make(questions: int = 400, models: int = MODELS) -> ScoreMatrix:
        benchmark_of = np.arange(questions) % 2
        scores = latent_scores(questions, models, 5, benchmark_of=benchmark_of)
        return matrix_of(scores, benchmark_of, families=[f"f{place}" for place in range(models)])

    return make


def margins_by_hand(matrix: ScoreMatrix, size: int) -> list[np.ndarray]:
    """Of each split's held-out models: Student's t times sqrt((1 - f) S^2 / n)."""
    splits = random_splits(matrix, np.arange(len(matrix.models)), PROTOCOL.splits, np.random.default_rng(0))
    total = len(matrix)
    variances = matrix.scores.astype(np.float64).var(axis=0, ddof=1)
    return [
        stats.t.ppf(0.975, size - 1) * np.sqrt((1 - size / total) * variances[split.held_out] / size)
        for split in splits
    ]


def test_margin_of_random_is_the_textbooks(pool):
    matrix = pool()
    found = curve(matrix, ["random"], [20, 40, 100, 300, 400], PROTOCOL)
    assert [point.size for point in found.of("random").points] == [20, 40, 100, 300, 400]
    for point in found.of("random").points[:-1]:
        by_hand = margins_by_hand(matrix, point.size)
        means = [one.mean() for one in by_hand]
        assert point.margin == pytest.approx(np.mean(means))
        assert point.margin_sd == pytest.approx(np.std(means, ddof=1))
        assert (point.low, point.high) == pytest.approx(np.quantile(np.concatenate(by_hand), [0.1, 0.9]))
        assert point.rate == point.size / 400
        assert point.random_size == point.size


def test_all_questions_have_no_margin(pool):
    found = curve(pool(), ["cghs"], [100, 400], PROTOCOL)
    for one in found.samplers:
        assert one.points[-1].margin == one.points[-1].design_rmse == one.points[-1].gain == 0


def test_random_is_always_beside_and_margins_fall(pool):
    found = curve(pool(), ["cghs"], protocol=PROTOCOL)
    assert [one.sampler for one in found.samplers] == ["random", "cghs"]
    assert found.chosen == "cghs"
    assert found.of("random").points[0].size == 20
    assert found.of("random").points[-1].size == 300
    for one in found.samplers:
        margins = [point.margin for point in one.points]
        assert margins == sorted(margins, reverse=True)
        assert all(point.low <= point.margin <= point.high for point in one.points)
        assert all(point.gain > 0 for point in one.points)


def test_a_better_sampler_needs_fewer_questions_than_random(pool):
    found = curve(pool(2000), ["cghs"], [100, 200, 400, 800], PROTOCOL, moes=[0.04])
    (needed,) = found.of("cghs").needed
    (by_chance,) = found.of("random").needed
    assert needed.random_size == by_chance.size > needed.size
    at_200 = next(point for point in found.of("cghs").points if point.size == 200)
    # Random with so many questions has the margin of cghs with 200.
    below, above = (
        np.mean([one.mean() for one in margins_by_hand(pool(2000), at_200.random_size + step)]) for step in (0, -1)
    )
    assert below <= at_200.margin * 1.0005
    assert above >= at_200.margin * 0.9995
    assert at_200.random_size > 210


def test_closed_form_and_repeats_are_those_of_validate(pool):
    matrix, protocol = pool(), Protocol(splits=3, repeats=4)
    found = curve(matrix, ["cghs"], [40, 60, 80, 100, 150], protocol)
    told = {one.sampler: one for one in validate(matrix, None, 80, ["cghs"], protocol).samplers}
    for one in found.samplers:
        assert [drawn.size for drawn in one.repeated] == [60, 80, 100]
        drawn, point = one.repeated[1], one.points[2]
        assert point.design_rmse == pytest.approx(told[one.sampler].design_rmse)
        assert (drawn.rmse, drawn.margin, drawn.coverage) == pytest.approx(
            (told[one.sampler].rmse, told[one.sampler].moe, told[one.sampler].cic)
        )
        assert drawn.draws == 12
        assert drawn.low < drawn.margin < drawn.high


def test_repeats_agree_with_the_closed_form(pool):
    found = curve(pool(600), ["cghs"], [120, 200, 300], Protocol(splits=4, repeats=40))
    for one in found.samplers:
        for drawn in one.repeated:
            point = next(point for point in one.points if point.size == drawn.size)
            assert drawn.margin == pytest.approx(point.margin, rel=0.05)
            assert drawn.rmse == pytest.approx(point.design_rmse, rel=0.15)
            assert drawn.coverage == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize("moe", [0.3, 0.1, 0.05, 0.021, 0.002])
def test_size_for_a_margin_is_the_smallest(pool, moe):
    matrix = pool()
    found = curve(matrix, ["random"], [40, 100, 250], PROTOCOL, moes=[moe])
    (needed,) = found.of("random").needed
    assert np.mean([one.mean() for one in margins_by_hand(matrix, needed.size)]) <= moe
    assert np.mean([one.mean() for one in margins_by_hand(matrix, needed.size - 1)]) > moe
    assert needed.margin == pytest.approx(np.mean([one.mean() for one in margins_by_hand(matrix, needed.size)]))


def test_a_margin_that_only_all_questions_have_takes_all(pool):
    found = curve(pool(), ["benchmark"], [40, 100], PROTOCOL, moes=[1e-6])
    assert [one.needed[0].size for one in found.samplers] == [400, 400]
    assert found.of("benchmark").needed[0].margin == 0


def test_asked_margins_come_once_from_wide_to_narrow(pool):
    found = curve(pool(), ["random"], [40, 100], PROTOCOL, moes=[0.05, 0.1, 0.05])
    assert [needed.asked for needed in found.of("random").needed] == [0.1, 0.05]


def test_scores_that_never_vary_need_the_smallest_size(matrix_of):
    found = curve(matrix_of(np.ones((100, 5)), families="abcde"), ["random"], [10, 20], PROTOCOL, moes=[0.02])
    assert [point.margin for point in found.of("random").points] == [0, 0]
    assert found.of("random").knee is None
    assert found.of("random").needed[0].size == 10


def test_what_one_percent_costs_and_gains(pool):
    found = curve(pool(), ["random"], [40, 44, 100], PROTOCOL, answer_cost_usd=0.5)
    assert found.one_percent == 4
    assert found.cost_usd(found.one_percent) == 4 * MODELS * 0.5
    first, second, _ = found.of("random").points
    assert first.gain == pytest.approx(first.margin - second.margin)
    assert curve(pool(), ["random"], [40], PROTOCOL).cost_usd(4) is None


def test_knee_of_kneedles_example():
    # Satopää et al. 2011, figure 2: y = -1 / (x + 0.1) + 5 at ten places has its knee at x = 0.22; ours is its mirror.
    along = np.linspace(0, 1, 10)
    place = knee_of(along, 1 / (along + 0.1))
    assert along[place] == pytest.approx(0.22, abs=0.005)


def test_knee_of_two_straight_lines_is_where_they_meet():
    along = np.arange(11.0)
    assert knee_of(along, np.interp(along, [0, 3, 10], [10, 1, 0])) == 3


@pytest.mark.parametrize("height", [[3, 2, 1, 0], [3, 2.9, 2.5, 0], [1, 1, 1, 1]])
def test_no_knee_without_a_bend(height):
    assert knee_of(np.arange(4.0), np.array(height, dtype=float)) is None


def test_knee_of_random_is_where_its_formula_says(pool):
    # sqrt(1/n - 1/N) from N/100 to N: the slope of the curve is that of the straight line between its ends.
    share = np.linspace(0.01, 1, 100_001)
    height = np.sqrt(1 / share - 1)
    expected = share[np.argmax(1 - (share - 0.01) / 0.99 - height / height[0])]
    total = 20_000
    line = Line(total, {size: np.sqrt(1 / size - 1 / total) for size in (200, 2_000, 10_000)})
    assert line.knee() == pytest.approx(expected * total, rel=0.01)
    found = curve(pool(), ["random"], [20, 200], PROTOCOL).of("random").knee
    assert found.size == found.random_size
    assert found.margin == pytest.approx(np.mean([one.mean() for one in margins_by_hand(pool(), found.size)]))


@given(
    total=st.integers(50, 100_000),
    shares=st.lists(st.floats(0.02, 0.9), min_size=1, max_size=6),
    slope=st.floats(0.4, 0.7),
    wanted=st.floats(0.001, 0.999),
)
def test_size_and_margin_are_inverse(total, shares, slope, wanted):
    sizes = {max(2, round(share * total)) for share in shares}
    line = Line(total, {size: (1 / size - 1 / total) ** slope for size in sizes})
    size = min(total - 1, max(2, round(wanted * total)))
    assert line.size_for(float(line.margin_at(size))) == size
    assert line.margin_at(size - 1) > line.margin_at(size)
    assert line.margin_at(total) == 0


def test_line_holds_its_points_and_is_exact_for_random():
    exact = {size: np.sqrt(1 / size - 1 / 500) for size in range(1, 500)}
    line = Line(500, {10: exact[10], 50: exact[50]})
    assert line.margin_at([10, 50]) == pytest.approx([exact[10], exact[50]])
    assert line.margin_at(np.arange(1, 500)) == pytest.approx(list(exact.values()))


def test_same_seed_same_curve_and_another_seed_another(pool):
    first, again, other = (
        curve(pool(), ["cghs"], [40, 100], Protocol(splits=2, repeats=2, seed=seed), moes=[0.06]) for seed in (0, 0, 1)
    )
    assert first == again
    assert first.of("random").points != other.of("random").points


def test_small_pools_have_a_curve(pool):
    found = curve(pool(12), ["cghs"], protocol=PROTOCOL)
    assert found.of("random").points[0].size >= 2
    assert found.of("random").points[-1].size < 12


@pytest.mark.parametrize(
    ("size", "words"), [(0, "not between 1"), (401, "not between 1"), (1, "two questions"), (400, "below all")]
)
def test_sizes_that_are_no_samples_are_refused(pool, size, words):
    with pytest.raises(BadPool, match=words):
        curve(pool(), ["random"], [size], PROTOCOL)


@pytest.mark.parametrize("moe", [0, -0.1, 1, 2, float("nan")])
def test_margins_that_nobody_can_want_are_refused(pool, moe):
    with pytest.raises(BadMargin, match="is not between 0 and 1"):
        curve(pool(), ["random"], [40], PROTOCOL, moes=[moe])


@pytest.mark.parametrize("name", ["anchor", "irt"])
def test_samplers_without_an_interval_are_refused(pool, name):
    with pytest.raises(NoClosedForm, match=f"'{name}' has no margin of error in closed form"):
        curve(pool(), [name], [40], PROTOCOL)


def test_unknown_samplers_and_single_models_are_refused(pool):
    with pytest.raises(UnknownName, match="did you mean 'cghs'"):
        curve(pool(), ["chgs"], [40], PROTOCOL)
    with pytest.raises(BadPool, match="one model"):
        curve(pool(models=1), ["random"], [40], PROTOCOL)
