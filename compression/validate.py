"""`compress validate`: the paper's protocol on held-out models, for each sampler, with random beside it.

UNO-Bench, section 4.4.2 and appendix A: models are split into sources and held-out ones, the subset is made of the
sources' scores, and the held-out models' means are estimated from it; over several splits and repeated draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compression.bounds import Bounds, bounds_of_all
from compression.design import Design
from compression.families import families_of
from compression.frame import make_frame, share_to_size
from compression.matrix import Floats, ScoreMatrix
from compression.samplers import DEFAULT_SAMPLER, SAMPLERS, Plan, Sampler
from compression.splits import HELD_OUT, OnSplits, Split, facts_of, random_splits, weak_to_strong
from compression.strata import clusters_kept
from compression.validity import Trials, mean_of_defined, spread_of_splits
from core.content import Frozen
from core.progress import progress

RANDOM = "random"
STANDARD = (
    RANDOM, "benchmark", "cghs", "fused", "neyman", "cghs+greg", "fused+greg", "neyman+greg", DEFAULT_SAMPLER,
)  # fmt: skip
BASELINES = ("anchor", "irt")


class SamplerValidity(Frozen):
    """How well one sampler's estimates of held-out models agree with the truth; None: undefined, `notes` say why.

    Attributes:
        sampler: Name.
        has_interval: Whether its intervals mean anything.
        srcc: Mean rank correlation (Spearman, average ranks) of estimated and true means of the held-out models.
        srcc_sd: Its standard deviation over splits: with few held-out models the split decides most of it.
        sign_agreement: Mean share of pairs of held-out models in the right order.
        plcc: Mean linear correlation (Pearson).
        rmse: Root mean squared error of the means.
        design_rmse: The same in closed form, without the noise of drawing.
        moe: Mean margin of error, half the width of the 95% interval.
        cic: Share of 95% intervals that hold the truth.
        bias: Mean error.
        notes: What is undefined, and why.
    """

    sampler: str
    has_interval: bool
    srcc: float | None
    srcc_sd: float | None
    sign_agreement: float | None
    plcc: float | None
    rmse: float
    design_rmse: float | None
    moe: float | None
    cic: float | None
    bias: float
    notes: tuple[str, ...] = ()


class Extrapolation(Frozen):
    """Weak models as sources, strong ones held out: mean error, its standard error (None of one draw), and RMSE."""

    sampler: str
    bias: float
    bias_error: float | None
    rmse: float
    cic: float | None


class Validation(OnSplits):
    """The whole result; `default` is the sampler that `compress select` takes unless told otherwise."""

    default: str
    size: int
    samplers: tuple[SamplerValidity, ...]
    weak_to_strong: tuple[Extrapolation, ...]


@dataclass(frozen=True)
class Protocol:
    """How validity is measured.

    Attributes:
        splits: Random splits of the models. The paper has 5; which models are held out moves every figure by a tenth.
        repeats: Draws in each split. The paper has 10: coverage then comes from a few hundred intervals that err
            together, and is known to two or three hundredths.
        held_out: Share of the models that is held out; the paper has 8 of 20.
        seed: Of splits, strata and draws.
    """

    splits: int = 10
    repeats: int = 50
    held_out: float = HELD_OUT
    seed: int = 0


def validate(
    matrix: ScoreMatrix,
    rate: float | None,
    size: int | None = None,
    names: Sequence[str] = STANDARD,
    protocol: Protocol | None = None,
    families: Mapping[str, str] | None = None,
) -> Validation:
    """Run the protocol for the samplers of these names; `random` is always among them.

    Args:
        matrix: The pool.
        rate: Share of the questions that is kept; or
        size: their number.
        names: Of samplers.
        protocol: Splits, repeats and seed.
        families: Of models, by name; else the pool's own, else near-duplicates by their scores.

    Raises:
        UnknownName: No sampler or no model is called so.
        BadPool: The rate is no share, or nothing can be held out.
    """
    protocol = protocol or Protocol()
    wanted = share_to_size(rate, size, len(matrix))
    codes = families_of(matrix, families)
    samplers = {name: SAMPLERS[name].load() for name in dict.fromkeys((RANDOM, *names))}
    rng = np.random.default_rng(protocol.seed)
    splits = list(random_splits(matrix, codes, protocol.splits, rng, protocol.held_out))
    strongest = weak_to_strong(matrix, codes, protocol.held_out)
    trials = {name: Trials() for name in samplers}
    forward = {name: Trials() for name in samplers}
    with progress("splits x samplers", (len(splits) + 1) * len(samplers)) as ticker:
        # One split is to tell a mean error from the noise of draws as well as all the others together.
        rounds = [(split, trials, protocol.repeats) for split in splits]
        rounds.append((strongest, forward, protocol.repeats * len(splits)))
        for number, (split, into, repeats) in enumerate(rounds):
            frame = make_frame(matrix, codes, split.sources)
            values = frame.values(matrix.scores[:, split.held_out])
            # Of one split several samplers have the same strata.
            with clusters_kept():
                seed = protocol.seed + number
                plans = {name: sampler.plan(frame, wanted, seed) for name, sampler in samplers.items()}
            for name, plan in plans.items():
                try_out(into[name], plan, values, (protocol.seed, number), repeats)
                ticker.advance()
    return Validation(
        **facts_of(matrix, codes, splits, protocol.repeats, protocol.seed),
        default=DEFAULT_SAMPLER,
        size=wanted,
        samplers=tuple(_validity(name, samplers[name], one, splits) for name, one in trials.items()),
        weak_to_strong=tuple(_extrapolation(name, one) for name, one in forward.items()),
    )


def try_out(trials: Trials, plan: Plan, values: Floats, seeds: tuple[int, int], repeats: int) -> None:
    """Draw repeatedly by a plan and add what comes of it to the trials.

    Args:
        trials: Of the sampler.
        plan: For one split.
        values: (units, models) of the held-out models.
        seeds: Of the protocol, and the split's number.
        repeats: Draws.
    """
    estimates, margins = [], []
    for repeat in range(repeats):
        sample = plan.draw(np.random.default_rng([*seeds, repeat]))
        estimate = plan.estimate(sample, values[sample.units])
        estimates.append(estimate.value)
        bounds = Bounds(estimate.value) if sample.survey is None else bounds_of_all(sample.survey, estimate)
        if bounds.low is not None and bounds.high is not None:
            margins.append((bounds.value - bounds.low, bounds.high - bounds.value))
    together = np.array(margins).swapaxes(0, 1) if len(margins) == repeats else None
    trials.add(np.array(estimates), together, values.mean(axis=0), _design_variance(plan, values))


def _design_variance(plan: Plan, values: Floats) -> Floats | None:
    return plan.design_variance(values) if isinstance(plan, Design) else None


def _validity(name: str, sampler: Sampler, trials: Trials, splits: Sequence[Split]) -> SamplerValidity:
    srcc, no_rank = mean_of_defined(trials.srcc)
    plcc, no_line = mean_of_defined(trials.plcc)
    signs, _ = mean_of_defined(trials.signs)
    draws = sum(len(one) for one in trials.srcc)
    notes = []
    if no_rank or no_line:
        few = min(len(split.held_out) for split in splits) < 2
        why = "one model is held out" if few else "all held-out models, or all their estimates, have one mean"
        notes.append(f"correlations are undefined in {max(no_rank, no_line)} of {draws} draws: {why}")
    if trials.moe is None:
        why = "too few draws for two in each stratum" if sampler.has_interval else "this sampler has no valid interval"
        notes.append(f"no margin and no coverage: {why}")
    return SamplerValidity(
        sampler=name,
        has_interval=sampler.has_interval,
        srcc=srcc,
        srcc_sd=spread_of_splits(trials.srcc),
        sign_agreement=signs,
        plcc=plcc,
        rmse=trials.rmse,
        design_rmse=trials.design_rmse,
        moe=trials.moe,
        cic=trials.cic,
        bias=trials.bias,
        notes=tuple(notes),
    )


def _extrapolation(name: str, trials: Trials) -> Extrapolation:
    return Extrapolation(sampler=name, bias=trials.bias, bias_error=trials.bias_error, rmse=trials.rmse, cic=trials.cic)
