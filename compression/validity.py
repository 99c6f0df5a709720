"""How far estimates of held-out models agree with the truth: rank, line, error, margin, coverage."""

from dataclasses import dataclass, field

import numpy as np

from compression.matrix import Floats

# A full sample has no error but that of rounding, and means that differ by less are one.
_ROUNDING = 1e-9
_DIGITS = 9


def correlations(estimates: Floats, truth: Floats) -> Floats:
    """(repeats,) Pearson's correlation of each row of (repeats, models) estimates with (models,) truth.

    NaN where all of a row, or all of the truth, is one value.
    """
    left, right = estimates - estimates.mean(axis=1, keepdims=True), truth - truth.mean()
    defined = (np.ptp(estimates, axis=1) > _ROUNDING) & (np.ptp(truth) > _ROUNDING)
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right)
    return np.where(defined, (left @ right) / np.where(defined, norms, 1.0), np.nan)


def rank_correlations(estimates: Floats, truth: Floats) -> Floats:
    """(repeats,) Spearman's, with average ranks for ties; NaN where all of a row, or all of the truth, is one value."""
    from scipy.stats import rankdata

    return correlations(rankdata(estimates.round(_DIGITS), axis=1), rankdata(truth.round(_DIGITS)))


def sign_agreement(estimates: Floats, truth: Floats) -> Floats:
    """(repeats,) share of pairs of models that differ in truth, in the same order in the estimates; else NaN."""
    estimates, truth = estimates.round(_DIGITS), truth.round(_DIGITS)
    first, second = np.triu_indices(len(truth), 1)
    apart = np.sign(truth[first] - truth[second])
    first, second, apart = first[apart != 0], second[apart != 0], apart[apart != 0]
    if not len(apart):
        return np.full(len(estimates), np.nan)
    return np.asarray((np.sign(estimates[:, first] - estimates[:, second]) == apart).mean(axis=1))


@dataclass
class Trials:
    """What the repeats of one sampler on all splits gave; a row of each list is one split.

    Attributes:
        errors: (repeats, models) estimates less truth.
        margins: (2, repeats, models) how far intervals reach below and above the estimate; None without.
        design: (models,) variance in closed form; None without.
        srcc, plcc, signs: (repeats,) each.
    """

    errors: list[Floats] = field(default_factory=list)
    margins: list[Floats | None] = field(default_factory=list)
    design: list[Floats | None] = field(default_factory=list)
    srcc: list[Floats] = field(default_factory=list)
    plcc: list[Floats] = field(default_factory=list)
    signs: list[Floats] = field(default_factory=list)

    def add(self, estimates: Floats, margins: Floats | None, truth: Floats, design: Floats | None) -> None:
        """The repeats of one split: (repeats, models) estimates with margins, (models,) truth and design variances."""
        self.errors.append(estimates - truth)
        self.margins.append(margins)
        self.design.append(design)
        self.srcc.append(rank_correlations(estimates, truth))
        self.plcc.append(correlations(estimates, truth))
        self.signs.append(sign_agreement(estimates, truth))

    @property
    def rmse(self) -> float:
        """Root of the mean squared error over splits, repeats and models."""
        return float(np.sqrt(np.mean([np.square(one).mean() for one in self.errors])))

    @property
    def design_rmse(self) -> float | None:
        """The same without drawing: root of the mean design variance."""
        known = [one for one in self.design if one is not None]
        return float(np.sqrt(np.mean([one.mean() for one in known]))) if len(known) == len(self.design) else None

    @property
    def moe(self) -> float | None:
        """Mean half width of the 95% intervals."""
        known = self._margins()
        return None if known is None else float(np.mean([one.mean() for one in known]))

    @property
    def cic(self) -> float | None:
        """Share of intervals that hold the truth."""
        known = self._margins()
        if known is None:
            return None
        held = [
            (errors <= below + _ROUNDING) & (-errors <= above + _ROUNDING)
            for errors, (below, above) in zip(self.errors, known, strict=True)
        ]
        return float(np.mean([one.mean() for one in held]))

    @property
    def bias(self) -> float:
        """Mean error."""
        return float(np.mean([one.mean() for one in self.errors]))

    @property
    def bias_error(self) -> float | None:
        """Standard error of `bias` over the repeats, for models of one sample err together; None for one."""
        means = np.concatenate([one.mean(axis=1) for one in self.errors])
        return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None

    def _margins(self) -> list[Floats] | None:
        known = [one for one in self.margins if one is not None]
        return known if len(known) == len(self.margins) else None


def mean_of_defined(rows: list[Floats]) -> tuple[float | None, int]:
    """The mean over all repeats that have a value, and how many have none."""
    together = np.concatenate(rows)
    undefined = int(np.isnan(together).sum())
    return (None if undefined == len(together) else float(np.nanmean(together))), undefined


def spread_of_splits(rows: list[Floats]) -> float | None:
    """Standard deviation over splits of the mean over their repeats; None for fewer than two splits that have one."""
    means = [float(np.nanmean(one)) for one in rows if not np.isnan(one).all()]
    return float(np.std(means, ddof=1)) if len(means) > 1 else None
