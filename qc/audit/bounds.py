"""How sure a count makes a share: exact bounds and intervals (Clopper and Pearson 1934).

A sample is drawn without replacement from finitely many items, of which the count of failures varies less than the
binomial one that stands here: so all of these hold at least as often as they say, and more often the larger the share
of the items that is in the sample.
"""

from bisect import bisect_left

CONFIDENCE = 0.95
# What a release is certified for (the rule of the second round: at most 2% of the items need less than they say).
TARGET = 0.02
_LARGEST_SAMPLE = 10_000_000


def upper_bound(failures: int, audited: int, confidence: float = CONFIDENCE) -> float:
    """One-sided upper bound of the share of failures: the share of which so few are seen with 1 - confidence only.

    It is the quantile `confidence` of Beta(failures + 1, audited - failures), and 1 where all failed.
    """
    from scipy.stats import binomtest

    found = binomtest(failures, audited, alternative="less").proportion_ci(confidence, method="exact")
    return float(found.high)


def interval(successes: int, count: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Two-sided interval of a share; the one that Table 1 of a report shows, and no other, so that both agree."""
    from scipy.stats import binomtest

    found = binomtest(successes, count).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def required_size(failures: int, bound: float = TARGET, confidence: float = CONFIDENCE) -> int:
    """The smallest sample in which so many failures still prove that at most a share `bound` of all items fails.

    149, 236 and 313 items for 0, 1 and 2 failures, a bound of 2% and 95%.

    Raises:
        ValueError: There is no such size below ten millions.
    """
    from scipy.stats import binom

    def proves(size: int) -> bool:
        return bool(binom.cdf(failures, size, bound) <= 1 - confidence)

    # It is false up to some size and true from there on.
    found = bisect_left(range(_LARGEST_SAMPLE), True, lo=failures + 1, key=proves)
    if found == _LARGEST_SAMPLE:
        raise ValueError(f"no sample of up to {_LARGEST_SAMPLE} items proves a bound of {bound}")
    return found
