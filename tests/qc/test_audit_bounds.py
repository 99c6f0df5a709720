"""How sure a count makes a share, against closed forms and against populations that are known."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, chisquare

from qc.audit.bounds import interval, required_size, upper_bound
from qc.audit.sample import draw_order
from qc.audit.subjects import Member, Subject


@pytest.mark.parametrize(("failures", "size"), [(0, 149), (1, 236), (2, 313)])
def test_how_many_items_certify_two_percent(failures, size):
    assert required_size(failures) == size
    assert upper_bound(failures, size) <= 0.02 < upper_bound(failures, size - 1)


@given(st.integers(0, 40), st.floats(0.005, 0.5), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_required_size_is_the_smallest_that_proves_the_bound(failures, bound, confidence):
    size = required_size(failures, bound, confidence)
    assert upper_bound(failures, size, confidence) <= bound * (1 + 1e-9)
    assert upper_bound(failures, size - 1, confidence) > bound * (1 - 1e-9)


def test_no_size_proves_that_nothing_fails():
    with pytest.raises(ValueError, match="no sample of up to 10000000 items proves a bound of 0"):
        required_size(0, 0.0)


@given(st.integers(1, 2_000), st.floats(0, 1))
def test_bounds_are_quantiles_of_the_beta_distribution(audited, share):
    failures = round(share * audited)
    upper = 1.0 if failures == audited else beta.ppf(0.95, failures + 1, audited - failures)
    assert upper_bound(failures, audited) == pytest.approx(upper, abs=1e-7)
    low = 0.0 if failures == 0 else beta.ppf(0.025, failures, audited - failures + 1)
    high = 1.0 if failures == audited else beta.ppf(0.975, failures + 1, audited - failures)
    assert interval(failures, audited) == pytest.approx((low, high), abs=1e-7)


@given(st.integers(1, 100_000))
def test_without_failures_there_is_a_closed_form(audited):
    assert upper_bound(0, audited) == pytest.approx(-math.expm1(math.log(0.05) / audited), rel=1e-6)


def test_the_bound_holds_in_samples_of_a_known_population():
    """1,000 samples of 149 from 1,000 items of which 5% fail; seeds 0 to 999."""
    population, failing, size = 1_000, 50, 149
    subject = Subject("known", "0" * 64, [Member(f"{number:04}", {}) for number in range(population)])
    held, drawn = 0, dict.fromkeys((member.qid for member in subject.members), 0)
    for seed in range(1_000):
        sample = [member.qid for member in draw_order(subject, seed)[:size]]
        assert len(set(sample)) == size
        for qid in sample:
            drawn[qid] += 1
        held += upper_bound(sum(int(qid) < failing for qid in sample), size) >= failing / population
    # Three standard errors of a share of .95 are .02; that it sometimes fails shows that the bound says something.
    assert 0.93 <= held / 1_000 < 1
    # Every item is drawn as often as any other.
    assert chisquare(list(drawn.values())).pvalue > 0.01
