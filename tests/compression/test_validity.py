"""Agreement of estimates with the truth, against scipy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from compression.validity import (
    Trials,
    correlations,
    mean_of_defined,
    rank_correlations,
    sign_agreement,
    spread_of_splits,
)

pytestmark = pytest.mark.filterwarnings("error")

# Few different values, so that there are ties.
means = st.integers(0, 6).map(lambda tenths: tenths / 7)


@st.composite
def estimates_and_truth(draw):
    models = draw(st.integers(2, 9))
    row = st.lists(means, min_size=models, max_size=models)
    return np.array(draw(st.lists(row, min_size=1, max_size=4))), np.array(draw(row))


@given(estimates_and_truth())
def test_correlations_are_those_of_scipy(given_):
    estimates, truth = given_
    found = zip(estimates, rank_correlations(estimates, truth), correlations(estimates, truth), strict=True)
    for row, srcc, plcc in found:
        if np.ptp(row) == 0 or np.ptp(truth) == 0:
            assert math.isnan(srcc) and math.isnan(plcc)
        else:
            assert srcc == pytest.approx(stats.spearmanr(row, truth).statistic, abs=1e-9)
            assert plcc == pytest.approx(stats.pearsonr(row, truth).statistic, abs=1e-9)


def test_ties_have_average_ranks_by_hand():
    # Ranks 1.5, 1.5, 3, 4 and 1, 2, 3.5, 3.5: deviations multiply to 4, their squares sum to 4.5 each.
    assert rank_correlations(np.array([[0.2, 0.2, 0.5, 0.9]]), np.array([0.1, 0.3, 0.7, 0.7])) == pytest.approx(4 / 4.5)


def test_means_that_differ_by_rounding_alone_are_one_value():
    noise = np.array([0.0, 1e-16, -1e-16, 5e-17])
    ramp = np.array([0.1, 0.2, 0.3, 0.4])
    level = 0.3 + noise
    for measure in (rank_correlations, correlations, sign_agreement):
        assert np.isnan(measure(ramp[None], level)).all()
    assert np.isnan(rank_correlations(level[None], ramp)).all()
    assert np.isnan(correlations(level[None], ramp)).all()
    # A tie, though 0.1 + 0.2 is not 0.3.
    tied, truth = np.array([[0.1 + 0.2, 0.3, 0.9]]), np.array([0.1, 0.2, 0.3])
    assert rank_correlations(tied, truth) == pytest.approx(stats.spearmanr([1, 1, 2], truth).statistic)
    assert sign_agreement(tied, truth) == pytest.approx(2 / 3)


def test_sign_agreement_by_hand():
    truth = np.array([0.1, 0.5, 0.5, 0.9])
    # Pairs that differ in truth: 01, 02, 03, 13, 23. A tie in the estimates is no right order.
    assert sign_agreement(np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.3, 0.25]]), truth) == (
        pytest.approx([1.0, 0.0, 3 / 5])
    )


@given(estimates_and_truth())
def test_sign_agreement_counts_pairs(given_):
    estimates, truth = given_
    pairs = [(i, j) for i in range(len(truth)) for j in range(i) if truth[i] != truth[j]]
    for row, found in zip(estimates, sign_agreement(estimates, truth), strict=True):
        right = sum((row[i] - row[j]) * (truth[i] - truth[j]) > 0 for i, j in pairs)
        assert math.isnan(found) if not pairs else found == pytest.approx(right / len(pairs))


@pytest.mark.parametrize(("estimates", "truth"), [([[0.4], [0.2]], [0.3]), ([[0.1, 0.2]], [0.5, 0.5])])
def test_undefined_measures_come_out_as_none(estimates, truth):
    trials = Trials()
    trials.add(np.array(estimates), None, np.array(truth), None)
    for rows in (trials.srcc, trials.plcc, trials.signs):
        assert mean_of_defined(rows) == (None, len(estimates))
        assert spread_of_splits(rows) is None


def test_means_and_spread_are_over_what_is_defined():
    rows = [np.array([0.5, np.nan]), np.array([np.nan, np.nan]), np.array([0.9, 1.0])]
    assert mean_of_defined(rows) == (pytest.approx(0.8), 3)
    assert spread_of_splits(rows) == pytest.approx(np.std([0.5, 0.95], ddof=1))
    assert spread_of_splits(rows[:2]) is None


class TestTrials:
    @pytest.fixture
    def trials(self):
        """Two splits of two and one held-out models, two repeats each."""
        trials = Trials()
        margins = np.array([[[0.1, 0.05], [0.2, 0.3]]] * 2)
        trials.add(np.array([[0.4, 0.7], [0.6, 0.5]]), margins, np.array([0.5, 0.6]), np.array([0.01, 0.03]))
        trials.add(np.array([[0.2], [0.6]]), np.array([[[0.1], [0.1]]] * 2), np.array([0.5]), np.array([0.05]))
        return trials

    def test_figures_by_hand(self, trials):
        # Errors -.1 .1 .1 -.1, and -.3 .1; splits count alike.
        assert trials.rmse == pytest.approx(math.sqrt((0.01 + 0.05) / 2))
        assert trials.design_rmse == pytest.approx(math.sqrt((0.02 + 0.05) / 2))
        assert trials.moe == pytest.approx((0.1625 + 0.1) / 2)
        assert trials.cic == pytest.approx((3 / 4 + 1 / 2) / 2)
        assert trials.bias == pytest.approx((0 + -0.1) / 2)
        assert trials.bias_error == pytest.approx(np.std([0, 0, -0.3, 0.1], ddof=1) / 2)

    def test_an_interval_that_reaches_further_to_one_side(self):
        trials = Trials()
        below, above = np.full((2, 1), 0.3), np.full((2, 1), 0.05)
        # The truth lies above the first estimate, beyond its interval, and below the second, within it.
        trials.add(np.array([[0.4], [0.6]]), np.array([below, above]), np.array([0.5]), None)
        assert (trials.cic, trials.moe) == (0.5, pytest.approx(0.175))

    def test_one_split_without_margins_or_closed_form_leaves_these_undefined(self, trials):
        trials.add(np.array([[0.5]]), None, np.array([0.5]), None)
        assert (trials.moe, trials.cic, trials.design_rmse) == (None, None, None)
        assert trials.rmse > 0

    def test_one_draw_has_no_standard_error_of_the_bias(self):
        trials = Trials()
        trials.add(np.array([[0.5, 0.4]]), None, np.array([0.5, 0.5]), None)
        assert trials.bias_error is None
