"""Baselines that claim to need few questions, and have no valid interval: anchor points, and item response theory.

Their questions are chosen, not drawn: the same each time but for ties, so that the error of an estimate is a bias which
repeats do not show. Whoever needs an interval takes one of the stratified samplers.
"""

from dataclasses import dataclass, replace

import numpy as np

from compression.allocate import allocate
from compression.design import Sample, first_of_each
from compression.frame import Frame
from compression.importers.base import BadPool
from compression.irt import Items, dimensions_for, fit_items
from compression.matrix import Codes, Floats
from compression.samplers import Floors, in_parts
from compression.strata import cluster, stratum_sums
from compression.survey import Estimate

# Distances (units x anchors) that K-means looks at in each round: up to here a plan takes about a minute.
MOST_DISTANCES = 1_000_000_000
# What anchors save of the variance of a random sample, as tinyBenchmarks assumes it.
_ANCHORS_SAVE = 4
_FOLDS = 3


@dataclass(frozen=True)
class AnchorPlan:
    """Clusters of a frame's units, each of which its anchors stand for.

    Attributes:
        frame: That is sampled.
        labels: (units,) cluster of each unit, from 0 without a gap.
        draws: (clusters,) anchors of each; one, but where there are fewer different units than anchors.
        distances: (units,) from the cluster's centre.
    """

    frame: Frame
    labels: Codes
    draws: Codes
    distances: Floats

    @property
    def size(self) -> int:
        """Units that are drawn."""
        return int(self.draws.sum())

    def draw(self, rng: np.random.Generator) -> Sample:
        """The units nearest to the centres; the generator decides only between equally near ones.

        Weights are the cluster's share of questions, in order of the units' numbers; they sum to 1, but where units
        differ in size: there those times the values' scale do (see `Frame`).
        """
        order = np.lexsort((rng.random(len(self.labels)), self.distances, self.labels))
        units = np.sort(first_of_each(order, np.bincount(self.labels), self.draws))
        sizes = self.frame.sizes
        shares = np.bincount(self.labels, sizes) / self.draws / sizes.sum()
        return Sample(units, shares[self.labels[units]] / _scale(self.frame)[units])

    def estimate(self, sample: Sample, values: Floats) -> Estimate:
        """The weighted sum of the anchors' (draws, models) values, without a standard error."""
        return Estimate(sample.weights @ values, None, 0.0)


@dataclass(frozen=True)
class AnchorSampler:
    """Anchor points (Vivek et al. 2024): units that are the middle of their cluster stand for all of it.

    Clusters are K-means++ on source scores, with K as many as units are drawn; the anchor is the unit nearest to the
    centre, as in tinyBenchmarks (Polo et al. 2024, 3.2): k-medoids would need the distances of all pairs of units.
    Plans of different seeds have different clusters; draws of one plan differ by ties alone (see `AnchorPlan.draw`).
    Fixed units stand for themselves only. Labels that would get less than their floor are clustered apart.
    """

    has_interval: bool = False
    is_weighted: bool = True

    def plan(self, frame: Frame, size: int, seed: int, floors: Floors | None = None) -> AnchorPlan:
        """See `Sampler.plan`.

        Raises:
            BadPool: As there; or the pool is too large for this sampler.
        """
        _check_work(frame, size)
        return plan_anchors(frame, frame.sources, size, seed, floors)


@dataclass(frozen=True)
class IrtPlan:
    """Anchors, and a 2PL model of all units.

    Attributes:
        anchors: That are drawn.
        items: Of all units.
        trust: The estimate is `trust` times that of the anchors, and the rest that of the model.
    """

    anchors: AnchorPlan
    items: Items
    trust: float

    @property
    def size(self) -> int:
        """Units that are drawn."""
        return self.anchors.size

    def draw(self, rng: np.random.Generator) -> Sample:
        """See `AnchorPlan.draw`; the weights are the anchors', from which alone the estimate cannot be told."""
        return self.anchors.draw(rng)

    def estimate(self, sample: Sample, values: Floats) -> Estimate:
        """The gp-IRT estimate from the (draws, models) values of the anchors, without a standard error.

        p-IRT is the mean over units of the values that are given and, for all others, of those that the model predicts
        by the abilities that the given ones tell (Polo et al. 2024, 4.2).
        """
        frame, units = self.anchors.frame, sample.units
        scale = _scale(frame)[:, None]
        abilities = self.items.of(units).abilities(values / scale[units], frame.sizes[units])
        predicted = self.items.predict(abilities) * scale
        predicted[units] = values
        by_anchors = self.anchors.estimate(sample, values)
        return replace(by_anchors, value=self.trust * by_anchors.value + (1 - self.trust) * predicted.mean(axis=0))


@dataclass(frozen=True)
class IrtSampler:
    """Item response theory of the class of tinyBenchmarks (Polo et al. 2024).

    A multidimensional 2PL is fitted to the source scores (see `fit_items`; a dimension for each five families, at most
    five). The anchors are those of K-means++ on the units' parameters; estimates are gp-IRT (see `IrtPlan.estimate`).
    All but the abilities is fitted in `plan`. Draws of one plan differ as those of `AnchorSampler`, and so are fixed
    units and floors honoured.
    """

    has_interval: bool = False
    is_weighted: bool = False

    def plan(self, frame: Frame, size: int, seed: int, floors: Floors | None = None) -> IrtPlan:
        """See `Sampler.plan`.

        Raises:
            BadPool: As there; or the pool is too large for this sampler.
        """
        _check_work(frame, size)
        items = fit_items(frame.sources, frame.sizes, dimensions_for(len(np.unique(frame.families))))
        features = np.column_stack([items.slopes, items.easiness])
        return IrtPlan(plan_anchors(frame, features, size, seed, floors), items, anchor_trust(frame, size, seed))


def plan_anchors(frame: Frame, features: Floats, size: int, seed: int, floors: Floors | None) -> AnchorPlan:
    """Clusters of units that are alike in their (units, columns) features.

    Raises:
        BadPool: As `Sampler.plan`.
    """
    labels, distances = np.empty(len(frame), dtype=np.int64), np.zeros(len(frame))
    draws: list[Codes] = []
    made = 0
    for units, wanted in in_parts(frame, size, floors, by_chance=False):
        clusters: Codes = np.arange(len(units), dtype=np.int64)
        if wanted < len(units):
            clusters = cluster(features[units], frame.patterns[units], wanted, seed)
            distances[units] = _distances(features[units], clusters)
        labels[units] = clusters + made
        sizes = np.bincount(clusters)
        # Fewer different units than anchors make fewer clusters, the larger of which have several.
        draws.append(allocate(sizes, wanted, at_least=np.ones_like(sizes)))
        made += len(sizes)
    return AnchorPlan(frame, labels, np.concatenate(draws), distances)


def anchor_trust(frame: Frame, size: int, seed: int) -> float:
    """tinyBenchmarks' lambda: b^2 / (b^2 + v), the share of the anchors in the estimate with the least square error.

    b is the mean error of the 2PL for left-out sources (families in three folds in turn), whose abilities are told by a
    random half of the units and whose mean on the other half is predicted. v is the variance that the mean of a random
    sample of `size` has on average over sources, divided by 4 for anchors. With one family nothing can be left out: 1.
    """
    families = np.unique(frame.families)
    if len(families) < 2 or len(frame) < 2:
        return 1.0
    rng = np.random.default_rng(seed)
    told, untold = np.array_split(rng.permutation(len(frame)), 2)
    sizes, errors = frame.sizes, []
    for fold in np.array_split(rng.permutation(families), min(_FOLDS, len(families))):
        left_out = np.isin(frame.families, fold)
        dimensions = dimensions_for(len(families) - len(fold))
        items = fit_items(frame.sources[:, ~left_out], sizes, dimensions)
        scores = frame.sources[:, left_out]
        predicted = items.predict(items.of(told).abilities(scores[told], sizes[told]))
        errors.append(np.abs(sizes[untold] @ (predicted - scores)[untold]) / sizes[untold].sum())
    error = float(np.square(np.concatenate(errors).mean()))
    variance = float(frame.sources.var(axis=0).mean()) / (_ANCHORS_SAVE * size)
    return error / (error + variance) if error + variance > 0 else 1.0


def _scale(frame: Frame) -> Floats:
    """(units,) what a value is of a mean score."""
    return frame.sizes * (len(frame) / frame.question_count)


def _distances(features: Floats, clusters: Codes) -> Floats:
    """(rows,) squared distances from the mean of each one's cluster; rounded, so that equal rows are equally near."""
    centres = stratum_sums(features, clusters) / np.bincount(clusters)[:, None]
    return np.asarray(np.square(features - centres[clusters]).sum(axis=1).round(9))


def _check_work(frame: Frame, size: int) -> None:
    if len(frame) * size > MOST_DISTANCES and size < len(frame):
        raise BadPool(
            f"{size} anchors of {len(frame)} questions are too many to be found in a reasonable time; "
            "keep fewer, or take another sampler, such as 'adaptive'"
        )


ANCHOR, IRT = AnchorSampler(), IrtSampler()
