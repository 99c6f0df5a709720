"""Spreads and gaps of models' means, by hand and on simulated answers whose truth is known."""

import numpy as np
import pytest

from curation.questions.scores import Scores
from curation.questions.telling_apart import Spread, TooFewModels, before_after


def scores(means, count, rng, models=None):
    """Answers whose shares of right ones are exactly the means."""
    rows = []
    for mean in means:
        row = np.zeros(count)
        row[: round(mean * count)] = 1
        rows.append(rng.permutation(row))
    names = models or [f"m{number}" for number in range(len(means))]
    return Scores(tuple(names), tuple(f"q{number}" for number in range(count)), np.array(rows))


def spread_of(given: Scores, rng) -> Spread:
    return before_after(given, given, rng).before


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_means_gaps_and_deviation_by_hand(rng):
    found = spread_of(scores([0.5, 0.9, 0.6], 100, rng), rng)
    assert found.models == ("m1", "m2", "m0")
    assert found.means == pytest.approx((0.9, 0.6, 0.5))
    assert found.smallest_gap == pytest.approx(0.1)
    assert found.median_gap.value == pytest.approx(0.2)
    # Mean 2/3; deviations .2333, -.0667, -.1667; squares .0544 + .0044 + .0278 = .0867; half of it; root.
    assert found.deviation.value == pytest.approx(0.20817, abs=1e-4)
    assert found.told_apart >= 1


def test_private_questions_that_spread_models_are_better(rng):
    before = scores([0.80, 0.81, 0.82, 0.83], 400, rng)
    after = scores([0.40, 0.55, 0.70, 0.85], 400, rng)
    found = before_after(before, after, rng)
    assert found.verdict == "better"
    # Deviations of four means in steps of .15 and of .01: .19365 and .01291.
    assert found.deviation_change.value == pytest.approx(0.19365 - 0.01291, abs=1e-4)
    assert found.median_gap_change.value == pytest.approx(0.14)
    assert before_after(after, before, rng).verdict == "worse"


def test_the_same_spread_is_open(rng):
    found = before_after(scores([0.5, 0.6, 0.7], 200, rng), scores([0.5, 0.6, 0.7], 200, rng), rng)
    assert found.verdict == "open"
    assert found.deviation_change.low < 0 < found.deviation_change.high


def test_only_models_of_both_count(rng):
    before = scores([0.5, 0.6, 0.7, 0.1], 50, rng, ["a", "b", "c", "gone"])
    after = scores([0.5, 0.6, 0.7, 0.1], 50, rng, ["a", "b", "c", "new"])
    found = before_after(before, after, rng)
    assert (found.before.models, found.left_out) == (("c", "b", "a"), ("gone", "new"))
    with pytest.raises(TooFewModels, match="at least 3"):
        before_after(before, scores([0.5, 0.6], 50, rng, ["a", "b"]), rng)


def test_intervals_hold_the_truth(rng):
    """Of a hundred samples of questions, about 95 intervals hold the deviation of the true means."""
    truth = np.array([0.3, 0.5, 0.6, 0.8])
    held = 0
    for _ in range(100):
        points = (rng.random((4, 150)) < truth[:, None]).astype(float)
        found = spread_of(Scores(tuple("abcd"), tuple(map(str, range(150))), points), rng).deviation
        held += found.low <= np.std(truth, ddof=1) <= found.high
    assert held >= 88
