"""What a selection of training samples changed, beside a random one of the same size."""

import numpy as np

from compression.matrix import Codes, Floats
from compression.training_files import Mask
from compression.training_strata import EASY, HARD, bands_of
from core.content import Frozen

BINS = 10
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Beyond so many standard deviations a hypergeometric variable has no weight that could be seen.
_FAR = 12


class Distribution(Frozen):
    """Of some samples.

    Attributes:
        samples: How many.
        mean_value: Mean over samples of each one's mean value, as it stands in the file.
        mean: Difficulty.
        quantiles: Of difficulty: 5, 25, 50, 75 and 95%.
        histogram: Samples by tenth of the scale of difficulty.
        easy, hard: Shares with a difficulty up to 0.2, and from 0.8.
        unsolved, solved: Shares; None where nothing says what solving is.
    """

    samples: int
    mean_value: float
    mean: float
    quantiles: tuple[float, ...]
    histogram: tuple[int, ...]
    easy: float
    hard: float
    unsolved: float | None
    solved: float | None


class RandomSelection(Frozen):
    """What to expect of a simple random selection of the same size, whose expected shares are those before.

    Attributes:
        total_variation: Its expected value.
        mean_sd: Standard deviation of the mean difficulty.
        easy_sd, hard_sd, unsolved_sd, solved_sd: Of the shares.
    """

    total_variation: float
    mean_sd: float
    easy_sd: float
    hard_sd: float
    unsolved_sd: float | None
    solved_sd: float | None


class Change(Frozen):
    """Difficulty before and after.

    Attributes:
        before: All samples of the file.
        after: Those kept.
        total_variation: Half the sum over the ten bins of the absolute differences of shares.
        kolmogorov_smirnov: The largest distance of the two distribution functions.
        random: For comparison.
    """

    before: Distribution
    after: Distribution
    total_variation: float
    kolmogorov_smirnov: float
    random: RandomSelection


def change_of(difficulty: Floats, values: Floats, solved: tuple[Mask | None, Mask | None], kept: Codes) -> Change:
    """What keeping some samples changes.

    Args:
        difficulty: (samples,) in [0, 1].
        values: (samples,) mean value of each.
        solved: (samples,) whether no source solves it, and whether each does; None where nothing says.
        kept: Places of those kept.
    """
    from scipy.stats import ks_2samp

    everything = np.arange(len(difficulty))
    before = _distribution(difficulty, values, solved, everything)
    after = _distribution(difficulty, values, solved, kept)
    shares, kept_shares = (np.array(one.histogram) / one.samples for one in (before, after))
    return Change(
        before=before,
        after=after,
        total_variation=float(np.abs(shares - kept_shares).sum() / 2),
        kolmogorov_smirnov=float(ks_2samp(difficulty, difficulty[kept], method="asymp").statistic),
        random=_random(before, float(difficulty.std()), len(kept)),
    )


def _distribution(
    difficulty: Floats, values: Floats, solved: tuple[Mask | None, Mask | None], chosen: Codes
) -> Distribution:
    found = difficulty[chosen]
    bands = np.bincount(bands_of(found), minlength=3) / len(found)
    none_solves, each_solves = (None if mask is None else float(mask[chosen].mean()) for mask in solved)
    bins = np.minimum((found * BINS).astype(np.int64), BINS - 1)
    return Distribution(
        samples=len(found),
        mean_value=float(values[chosen].mean()),
        mean=float(found.mean()),
        quantiles=tuple(float(one) for one in np.quantile(found, QUANTILES)),
        histogram=tuple(int(one) for one in np.bincount(bins, minlength=BINS)),
        easy=float(bands[EASY]),
        hard=float(bands[HARD]),
        unsolved=none_solves,
        solved=each_solves,
    )


def _random(before: Distribution, spread: float, size: int) -> RandomSelection:
    correction = np.sqrt((before.samples - size) / (before.samples - 1) / size)

    def sd(share: float | None) -> float | None:
        return None if share is None else float(np.sqrt(share * (1 - share)) * correction)

    return RandomSelection(
        total_variation=sum(_expected_distance(count, before.samples, size) for count in before.histogram) / 2,
        mean_sd=float(spread * correction),
        easy_sd=sd(before.easy) or 0.0,
        hard_sd=sd(before.hard) or 0.0,
        unsolved_sd=sd(before.unsolved),
        solved_sd=sd(before.solved),
    )


def _expected_distance(count: int, samples: int, size: int) -> float:
    """E|x / size - count / samples| for the x of `count` among `size` drawn of `samples` without replacement."""
    from scipy.stats import hypergeom

    mean = size * count / samples
    variance = mean * (1 - count / samples) * (samples - size) / (samples - 1)
    around = _FAR * np.sqrt(variance) + 1
    drawn = np.arange(max(0, int(mean - around)), min(size, count, int(mean + around) + 1) + 1)
    return float((hypergeom.pmf(drawn, samples, count, size) * np.abs(drawn - mean)).sum() / size)
