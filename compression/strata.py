"""Strata: groups of units on which models behave alike, so that a few of each say nearly what all would."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b

import numpy as np

from compression.frame import Frame
from compression.matrix import Codes, Floats

# (frame, some of its units, how many of these will be drawn, seed) -> each one's stratum, from 0 without a gap.
Stratifier = Callable[[Frame, Codes, int, int], Codes]

CGHS_STRATA = 48
FUSED_STRATA = 96
# Fewer draws a stratum than this, and the interval of a small sample no longer holds.
DRAWS_A_STRATUM = 5
# Up to so many different rows Lloyd's algorithm takes seconds; more go through mini-batches.
_EXACT_UP_TO = 300_000
_BATCH = 8_192
_KEPT: ContextVar[dict[bytes, Codes] | None] = ContextVar("clusters that are kept", default=None)


@contextmanager
def clusters_kept() -> Iterator[None]:
    """Within it `cluster` makes the same clusters of the same rows once: plans of many sizes mostly have the same K."""
    before = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(before)


def whole(frame: Frame, units: Codes, size: int, seed: int) -> Codes:
    """One stratum: simple random sampling."""
    return np.zeros(len(units), dtype=np.int64)


def by_benchmark(frame: Frame, units: Codes, size: int, seed: int) -> Codes:
    """A stratum for each benchmark; the smallest are joined while there are more than half as many as draws."""
    benchmarks, labels = np.unique(frame.main_benchmark[units], return_inverse=True)
    counts = np.bincount(labels)
    joined = np.arange(len(benchmarks))
    while len(np.unique(joined)) > max(1, size // 2):
        totals = np.bincount(joined, counts, minlength=len(benchmarks))
        small, next_small = [code for code in np.argsort(totals, kind="stable") if totals[code] > 0][:2]
        joined[joined == small] = next_small
    return np.unique(joined[labels], return_inverse=True)[1].astype(np.int64)


def by_scores(frame: Frame, units: Codes, size: int, seed: int) -> Codes:
    """CGHS (UNO-Bench 3.2.2): K-means++ with K = 48 on the vectors of source scores.

    The paper says nothing of samples of less than 240: K is a fifth of them, as for the others.
    """
    return cluster(frame.sources[units], frame.patterns[units], _strata(CGHS_STRATA, size), seed)


def by_scores_and_benchmark(frame: Frame, units: Codes, size: int, seed: int, weight: float = 1.0) -> Codes:
    """K-means++ on source scores joined with `weight` times a one-hot code of the benchmark; K = min(96, draws / 5)."""
    first, codes, counts = _one_of_each(frame.patterns[units])
    features = frame.sources[units[first]]
    if weight:
        features = np.column_stack([features, weight * frame.benchmark_shares(units[first])])
    return _clustered(features, codes, counts, _strata(FUSED_STRATA, size), seed)


def _strata(most: int, size: int) -> int:
    return min(most, max(1, size // DRAWS_A_STRATUM))


def stratum_sums(values: Floats, labels: Codes) -> Floats:
    """(strata, models) sums of (units, models) values."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0))


def centred(values: Floats, labels: Codes) -> Floats:
    """(units, models) values less the mean of their stratum."""
    return np.asarray(values - (stratum_sums(values, labels) / np.bincount(labels)[:, None])[labels])


def cluster(features: Floats, patterns: Codes, count: int, seed: int) -> Codes:
    """(rows,) labels by scikit-learn's K-means++, from 0 without a gap, the same however many threads there are.

    On another kind of processor linear algebra may round otherwise, and a row between two centres get the other label.
    Rows of one pattern are one row with their number as weight, which changes nothing in what K-means minimises. Above
    300,000 patterns by mini-batches.
    """
    first, codes, counts = _one_of_each(patterns)
    return _clustered(features[first], codes, counts, count, seed)


def _one_of_each(patterns: Codes) -> tuple[Codes, Codes, Codes]:
    """Place of the first row of each pattern, the pattern of each row, and how many rows each pattern has."""
    _, first, codes, counts = np.unique(patterns, return_index=True, return_inverse=True, return_counts=True)
    return first, codes, counts


def _clustered(rows: Floats, codes: Codes, counts: Codes, count: int, seed: int) -> Codes:
    wanted = min(count, len(rows))
    if wanted <= 1:
        return np.zeros(len(codes), dtype=np.int64)
    kept = _KEPT.get()
    if kept is None:
        labels = _k_means(rows, counts, wanted, seed)
    else:
        key = blake2b(f"{wanted} {seed} {rows.shape} ".encode() + rows.tobytes() + counts.tobytes()).digest()
        labels = kept[key] if key in kept else kept.setdefault(key, _k_means(rows, counts, wanted, seed))
    return np.unique(labels[codes], return_inverse=True)[1].astype(np.int64)


def _k_means(rows: Floats, counts: Codes, wanted: int, seed: int) -> Codes:
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    options = {"n_clusters": wanted, "n_init": 1, "random_state": seed}
    many = len(rows) > _EXACT_UP_TO
    model = MiniBatchKMeans(batch_size=_BATCH, **options) if many else KMeans(**options)
    # Sums of several threads come out in any order. Fewer different rows than strata are no mistake: fewer strata.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(rows, sample_weight=counts))
