import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test, t, ttest_rel

from evaluation.metrics import (
    adjacent_gaps,
    compare,
    degrees_of_freedom,
    groups_right,
    holm,
    mcnemar_p,
    mean_of,
    rank_intervals,
    sign_flip_p,
    smallest_visible,
    standard_error,
    wilson,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def array(*values):
    return np.array(values, dtype=float)


# The same eight values in four clusters are used wherever regression on a constant gives the reference.
POINTS = array(0.4, 1, 0.6, 0, 0.2, 0.9, 1, 0.3)
DIFFERENCES = array(0.5, 0.2, -0.1, 0.4, 0, 0.3, 0.6, -0.2)
CLUSTERS = np.array([0, 0, 1, 1, 1, 2, 3, 3])


def regression(values, clusters):
    """Standard error, degrees of freedom and 95% interval of a constant, by the matrices of Bell and McCaffrey (2002)."""
    count = len(values)
    one = np.ones((count, 1))
    hat = one @ one.T / count
    groups = [np.flatnonzero(clusters == name) for name in np.unique(clusters)]
    residuals, variance, columns = values - values.mean(), 0.0, []
    for own in groups:
        sizes, directions = np.linalg.eigh(np.eye(len(own)) - hat[np.ix_(own, own)])
        adjust = directions * sizes**-0.5 @ directions.T
        variance += (one[own].T @ adjust @ residuals[own]).item() ** 2 / count**2
        columns.append((np.eye(count) - hat)[:, own] @ adjust @ one[own] / count)
    eigenvalues = np.linalg.eigvalsh(np.hstack(columns).T @ np.hstack(columns))
    degrees = eigenvalues.sum() ** 2 / np.square(eigenvalues).sum()
    error = math.sqrt(variance)
    return error, degrees, t.interval(0.95, degrees, values.mean(), error)


class TestWilson:
    @pytest.mark.parametrize(
        ("successes", "count", "low", "high"),
        [
            # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3 (score, no continuity correction).
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0000, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ],
    )
    def test_it_is_the_published_one(self, successes, count, low, high):
        assert wilson(successes, count) == pytest.approx((low, high), abs=5e-5)

    @given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
    def test_and_that_of_scipy(self, shares):
        theirs = binomtest(*shares).proportion_ci(0.95, method="wilson")
        assert wilson(*shares) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


class TestMean:
    def test_partial_points_have_the_interval_of_cluster_robust_regression(self):
        found = mean_of(POINTS, CLUSTERS)
        error, degrees, (low, high) = regression(POINTS, CLUSTERS)
        assert standard_error(POINTS, CLUSTERS) == pytest.approx(error)
        assert degrees_of_freedom(8, CLUSTERS) == pytest.approx(degrees)
        assert (found.low, found.high) == pytest.approx((low, min(high, 1)))
        assert (found.method, found.count, found.clusters) == ("t", 8, 4)

    @given(st.lists(st.integers(0, 5), min_size=2, max_size=25).filter(lambda codes: len(set(codes)) > 1))
    @example([0, 1, 1, 1, 1, 1, 1])
    def test_clusters_of_any_sizes_have_the_degrees_of_freedom_of_the_matrices(self, codes):
        degrees = degrees_of_freedom(len(codes), np.array(codes))
        assert degrees == pytest.approx(regression(np.arange(len(codes)) ** 2.0, np.array(codes))[1])
        assert 1 - 1e-9 <= degrees <= len(set(codes)) - 1 + 1e-9

    def test_clusters_of_equal_size_have_the_usual_correction(self):
        codes = np.repeat(np.arange(4), 2)
        totals = (POINTS - POINTS.mean()).reshape(4, 2).sum(axis=1)
        assert standard_error(POINTS, codes) == pytest.approx(math.sqrt(4 / 3 * np.square(totals).sum()) / 8)
        assert degrees_of_freedom(8, codes) == pytest.approx(3)

    def test_a_cluster_for_each_value_is_the_usual_standard_error(self):
        assert standard_error(POINTS) == pytest.approx(POINTS.std(ddof=1) / math.sqrt(8))
        assert standard_error(POINTS, np.arange(8)) == pytest.approx(standard_error(POINTS))

    def test_independent_right_or_wrong_values_have_wilson_s(self):
        found = mean_of(array(*[1] * 81, *[0] * 182))
        assert (found.low, found.high, found.method) == pytest.approx((0.2553, 0.3662, "wilson"), abs=5e-5)

    def test_doubled_values_in_clusters_say_no_more_than_half_of_them(self):
        values = array(*[1] * 40, *[0] * 60)
        once, twice = mean_of(values), mean_of(np.repeat(values, 2), np.repeat(np.arange(100), 2))
        naive = mean_of(np.repeat(values, 2))
        assert (twice.low, twice.high) == pytest.approx((once.low, once.high), abs=0.004)
        assert naive.high - naive.low < 0.75 * (twice.high - twice.low)

    def test_clusters_of_opposite_values_are_no_reason_for_a_narrower_interval(self):
        pairs = np.tile(array(0, 1), 20)
        found, independent = mean_of(pairs, np.repeat(np.arange(20), 2)), mean_of(pairs)
        assert found.high - found.low >= independent.high - independent.low

    def test_equal_values_and_one_cluster_have_wilson_s_of_the_clusters(self):
        for values, clusters, count in (
            (array(1, 1, 1, 1), np.array([0, 0, 1, 1]), 2),
            (array(0.4, 0.4, 0.4), np.array([0, 1, 2]), 3),
            (array(1, 0, 0.5), np.array([7, 7, 7]), 1),
            (array(0.7), np.array([3]), 1),
        ):
            found = mean_of(values, clusters)
            assert (found.low, found.high) == pytest.approx(wilson(values.mean() * count, count))
            assert found.method == "wilson"

    def test_clusters_that_do_not_differ_have_an_interval_all_the_same(self):
        # Each cluster has the mean 0.5: nothing is known of how far clusters lie apart, and that is no certainty.
        found = mean_of(array(0.2, 0.8, 0.3, 0.7), np.array([0, 0, 1, 1]))
        assert (found.low, found.high) == pytest.approx(wilson(1, 2))

    def test_no_values_have_no_mean(self):
        assert mean_of(array()) is None
        assert standard_error(array()) is None

    @given(
        st.lists(st.tuples(st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 5)), min_size=1, max_size=30),
    )
    def test_it_holds_the_mean_and_is_never_nan(self, told):
        values, clusters = array(*[value for value, _ in told]), np.array([cluster for _, cluster in told])
        found = mean_of(values, clusters)
        assert 0 <= found.low <= found.value + 1e-9
        assert found.value - 1e-9 <= found.high <= 1

    @pytest.mark.parametrize(("clusters", "share"), [(12, 0.5), (60, 0.5), (40, 0.92)])
    def test_it_covers_the_truth_where_one_that_knows_no_clusters_does_not(self, clusters, share):
        draw = rng(clusters)
        code, honest, naive = np.repeat(np.arange(clusters), 4), 0, 0
        for _ in range(400):
            # Beta-binomial: values of a cluster correlate with 0.5.
            chances = draw.beta(share, 1 - share, clusters)
            values = (draw.random(4 * clusters) < chances[code]).astype(float)
            found, other = mean_of(values, code), mean_of(values)
            honest += found.low <= share <= found.high
            naive += other.low <= share <= other.high
        # Monte Carlo error of a coverage of .95 over 400 goes is .011.
        assert 0.92 <= honest / 400 <= 0.995
        assert naive / 400 < 0.85

    def test_it_covers_the_truth_where_one_cluster_is_as_large_as_all_others(self):
        draw, held = rng(3), 0
        code = np.concatenate([np.zeros(60, dtype=int), np.arange(1, 61)])
        for _ in range(400):
            values = draw.beta(0.5, 0.5, 61)[code]
            found = mean_of(draw.binomial(10, values) / 10, code)
            held += found.low <= 0.5 <= found.high
        assert held / 400 >= 0.93  # with t(G - 1) and the correction G / (G - 1) it is .62


class TestCompare:
    def test_it_has_the_interval_of_cluster_robust_regression(self):
        first = np.maximum(DIFFERENCES, 0)
        found = compare(first, first - DIFFERENCES, CLUSTERS, rng())
        assert found.value == pytest.approx(0.2125)
        assert (found.low, found.high) == pytest.approx(regression(DIFFERENCES, CLUSTERS)[2])
        assert (found.test, found.pairs, found.clusters) == ("sign_flip", 8, 4)

    def test_without_clusters_it_is_the_paired_t_interval(self):
        first, second = rng(1).random(30), rng(2).random(30)
        found = compare(first, second, np.arange(30), rng())
        theirs = ttest_rel(first, second).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))

    def test_right_or_wrong_without_clusters_is_mcnemar_s_exact_test(self):
        first = array(*[1] * 6, 0, *[1] * 10)
        second = array(*[0] * 6, 1, *[1] * 10)
        found = compare(first, second, np.arange(17), rng())
        # statsmodels: mcnemar([[0, 6], [1, 0]], exact=True).pvalue; by hand 2 (1 + 7) / 2^7.
        assert (found.test, found.p) == ("mcnemar", pytest.approx(0.125))
        assert mcnemar_p(12, 3) == pytest.approx(0.03515625)  # statsmodels
        assert mcnemar_p(0, 0) == 1.0
        clustered = compare(first, second, np.repeat(np.arange(9), 2)[:17], rng())
        assert clustered.test == "sign_flip"

    def test_equal_differences_still_leave_room_for_what_was_not_seen(self):
        same = array(*[1] * 20)
        found = compare(same, same, np.arange(20), rng())
        unseen = wilson(0, 20)[1]
        assert (found.value, found.low, found.high, found.p) == (0.0, -unseen, unseen, 1.0)
        assert found.smallest_visible is None
        apart = compare(same, 1 - same, np.arange(20), rng())
        assert apart.high == 1.0
        assert 0.6 < apart.low < 1

    def test_differences_that_cancel_in_each_cluster_are_no_certainty(self):
        first = array(1, 0, 1, 0, 1, 0)
        found = compare(first, 1 - first, np.array([0, 0, 1, 1, 2, 2]), rng())
        unseen = wilson(0, 3)[1]
        assert (found.value, found.low, found.high) == pytest.approx((0, -unseen, unseen))
        assert found.smallest_visible is None

    def test_a_difference_beyond_all_points_is_never_called_visible(self):
        found = compare(array(1, 0, 1, 0, 1, 0), array(0, 1, 0, 1, 0, 1), np.arange(6), rng())
        assert smallest_visible(0.45, 6, 5) > 1
        assert found.smallest_visible is None

    def test_one_item_and_none(self):
        one = compare(array(1), array(0), np.array([0]), rng())
        assert one.value == 1.0
        assert -1 < one.low < one.high == 1.0
        assert one.smallest_visible is None
        assert compare(array(), array(), np.array([], dtype=int), rng()) is None

    def test_its_p_is_uniform_where_there_is_no_difference(self):
        draw, code = rng(5), np.repeat(np.arange(25), 2)
        small = 0
        for _ in range(200):
            shared = draw.random(25)[code]
            first, second = (draw.random(50) < shared).astype(float), (draw.random(50) < shared).astype(float)
            small += compare(first, second, code, draw).p <= 0.05
        assert small <= 20  # 10 expected; P(more than 20) is under .002


class TestSignFlips:
    @pytest.mark.parametrize("count", [3, 7, 11])
    def test_few_clusters_are_tried_whole(self, count):
        totals = np.round(rng(count).normal(0.3, 1, count), 2)
        patterns = [abs(np.dot(signs, totals)) for signs in itertools.product((-1, 1), repeat=count)]
        by_hand = np.mean([one >= abs(totals.sum()) - 1e-9 for one in patterns])
        assert sign_flip_p(totals, rng()) == pytest.approx(by_hand)

    def test_many_are_drawn_as_scipy_draws_them(self):
        totals = rng(3).choice([-2, -1, -1, 0, 1, 1, 2, 2], 60).astype(float)
        theirs = permutation_test(
            (totals,), np.sum, permutation_type="samples", n_resamples=9_999, rng=rng(8), vectorized=False
        ).pvalue
        assert sign_flip_p(totals, rng(9)) == pytest.approx(theirs, abs=0.02)
        assert sign_flip_p(totals, rng(9)) == sign_flip_p(totals, rng(9))

    @pytest.mark.parametrize("size", [1, 1 / 3, 1 / 30, 2 / 70])
    def test_the_unit_of_the_totals_changes_nothing(self, size):
        totals = size * array(*[1] * 15, *[-1] * 5)
        # Of 2^20 patterns of equal sizes: the binomial, 0.0414; Monte Carlo error is .002.
        assert sign_flip_p(totals, rng()) == pytest.approx(binomtest(15, 20).pvalue, abs=0.008)

    def test_the_ends(self):
        assert sign_flip_p(np.zeros(40), rng()) == 1.0
        assert sign_flip_p(np.ones(40), rng()) == 1 / 10_000
        assert sign_flip_p(np.ones(10), rng()) == 2 / 2**10


class TestHolm:
    def test_it_is_that_of_statsmodels(self):
        # As its function multipletests gives them with method "holm".
        assert holm([0.01, 0.04, 0.03, 0.005, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])
        assert holm([]) == []

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def test_it_keeps_the_order_and_never_makes_a_p_smaller(self, raw):
        adjusted = holm(raw)
        assert all(before <= after <= 1 for before, after in zip(raw, adjusted, strict=True))
        by_raw = [after for _, after in sorted(zip(raw, adjusted, strict=True))]
        assert by_raw == sorted(by_raw)


class TestSmallestVisible:
    @pytest.mark.parametrize(
        # statsmodels: TTestPower().solve_power(nobs=n, alpha=.05, power=.8) * sqrt(n), in standard errors
        ("clusters", "errors"),
        [(6, 3.5139036), (20, 2.9535849), (100, 2.8291171)],
    )
    def test_it_is_that_of_statsmodels(self, clusters, errors):
        assert smallest_visible(0.03, clusters, clusters - 1) == pytest.approx(0.03 * errors, rel=1e-5)

    def test_clusters_too_few_for_any_small_p_show_nothing(self):
        for clusters in range(1, 9):
            least = sign_flip_p(np.ones(clusters), rng())
            assert (smallest_visible(0.03, clusters, clusters - 1) is None) == (least > 0.05)

    def test_such_a_difference_is_found_four_times_of_five(self):
        draw, found = rng(4), 0
        for _ in range(400):
            differences = draw.normal(smallest_visible(1 / math.sqrt(20), 20, 19), 1, 20)
            found += ttest_rel(differences, np.zeros(20)).pvalue < 0.05
        assert 0.74 <= found / 400 <= 0.86


class TestGroups:
    def test_a_group_is_right_when_all_members_are(self):
        points = array(1, 1, 1, 0, 1, np.nan, 0, np.nan, 1)
        groups = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4])
        found = groups_right(points, groups, np.array([2, 2, 2, 2, 2]))
        # 2: a member has no grade; 3: nor here, but the other is wrong; 4: the second member was never asked.
        assert found.tolist()[:2] == [1, 0]
        assert np.isnan(found[[2, 4]]).all()
        assert found[3] == 0


class TestRankings:
    def test_neighbours_with_holm_over_them(self):
        good, fair, poor = array(*[1] * 40), array(*[1] * 20, *[0] * 20), array(*[1] * 19, *[0] * 21)
        found = adjacent_gaps(np.array([poor, good, fair]), [1, 2, 0], np.arange(40), rng())
        assert [(gap.better, gap.worse, gap.told_apart) for gap in found] == [(1, 2, True), (2, 0, False)]
        raw = [gap.difference.p for gap in found]
        assert [gap.p_holm for gap in found] == pytest.approx(holm(raw))
        assert found[1].difference.value == pytest.approx(1 / 40)

    def test_only_items_that_both_have_count(self):
        points = np.array([[1, 1, np.nan, np.nan], [np.nan, np.nan, 0, 1], [np.nan, 0, 0, 0]])
        found = adjacent_gaps(points, [0, 1, 2], np.arange(4), rng())
        assert (found[0].difference, found[0].p_holm, found[0].told_apart) == (None, None, False)
        assert found[1].difference.pairs == 2

    def test_rank_intervals_are_narrow_where_models_differ_and_wide_where_they_do_not(self):
        draw = rng(2)
        points = (draw.random((4, 300)) < np.array([[0.9], [0.5], [0.5], [0.1]])).astype(float)
        found = rank_intervals(points, np.arange(300), rng())
        assert (found[0], found[3]) == ((1, 1), (4, 4))
        assert {found[1], found[2]} <= {(2, 3), (2, 2), (3, 3)}
        assert (2, 3) in found
        assert rank_intervals(points, np.arange(300), rng()) == found

    def test_clusters_make_them_wider(self):
        draw = rng(6)
        points = (draw.random((2, 20)) < np.array([[0.7], [0.4]])).astype(float)
        many = np.repeat(points, 10, axis=1)
        assert rank_intervals(many, np.arange(200), rng())[0] == (1, 1)
        assert (
            rank_intervals(many, np.repeat(np.arange(20), 10), rng())[0]
            == rank_intervals(points, np.arange(20), rng())[0]
        )

    def test_one_cluster_leaves_every_rank_open(self):
        points = np.array([[1.0, 1.0], [0.0, 0.5], [0.5, 0.5]])
        assert rank_intervals(points, np.array([4, 4]), rng()) == [(1, 3)] * 3

    def test_a_model_that_a_resample_misses_keeps_its_mean(self):
        points = np.array([[1.0, *[np.nan] * 9], [0.0] * 10])
        assert rank_intervals(points, np.arange(10), rng()) == [(1, 1), (2, 2)]
