"""`compress curve`: what margin of error how many questions buy, and where more of them buy little.

UNO-Bench, section 4.4.2, chooses its sample size from such a cost-benefit curve. Here it comes from models that are
left out, in closed form, so that it has no noise of drawing; repeated draws at a few sizes confirm it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compression.cost_line import Line
from compression.curve_values import Curve, CurvePoint, Needed, Repeated, SamplerCurve
from compression.design import Design
from compression.families import families_of
from compression.frame import Frame, make_frame, share_to_size
from compression.importers.base import BadPool
from compression.matrix import Codes, Floats, ScoreMatrix
from compression.samplers import DEFAULT_SAMPLER, SAMPLERS, Sampler
from compression.splits import Split, facts_of, random_splits
from compression.strata import clusters_kept
from compression.survey import Estimate
from compression.validate import RANDOM, Protocol, try_out
from compression.validity import Trials
from core.errors import InterplayError
from core.progress import Ticker, progress

STANDARD = tuple(dict.fromkeys((RANDOM, "cghs", DEFAULT_SAMPLER)))
RATES = (0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75)
# The paper has as many splits and repeats: a curve needs fewer draws than the validation of one size.
PROTOCOL = Protocol(splits=5, repeats=10)
# Fewer questions are no sample that anyone reports.
_LEAST_QUESTIONS = 20
# Sizes that are read from the line to find the smallest, each much nearer than the one before; where K-means makes the
# line rough, what is left is halved.
_READ = 6
_CONFIRMED = 3


class NoClosedForm(InterplayError):
    """A sampler whose margin of error cannot be worked out."""


class BadMargin(InterplayError):
    """A margin of error that nobody can want."""


@dataclass
class _Measured:
    """Closed forms at one size: margins and variances of the held-out models of each split."""

    margins: list[Floats] = field(default_factory=list)
    variances: list[Floats] = field(default_factory=list)

    @property
    def margin(self) -> float:
        return float(np.mean(self.of_splits))

    @property
    def of_splits(self) -> list[float]:
        return [float(one.mean()) for one in self.margins]


@dataclass(frozen=True)
class _Bench:
    """Splits of a pool, and the samplers that are planned on them."""

    matrix: ScoreMatrix
    codes: Codes
    splits: Sequence[Split]
    samplers: Mapping[str, Sampler]
    seed: int

    def frames(self) -> Iterator[tuple[int, Frame, Floats]]:
        """Number, frame and (units, held-out models) values of each split; one at a time, for large pools."""
        for number, split in enumerate(self.splits):
            frame = make_frame(self.matrix, self.codes, split.sources)
            yield number, frame, frame.values(self.matrix.scores[:, split.held_out])

    def plan(self, name: str, frame: Frame, size: int, number: int) -> Design:
        plan = self.samplers[name].plan(frame, size, self.seed + number)
        if not isinstance(plan, Design):
            raise _no_closed_form(name)
        return plan

    def margin(self, name: str, size: int) -> float:
        """In closed form, at a size that is not on the grid."""
        measured = _Measured()
        for number, frame, values in self.frames():
            _measure(measured, self.plan(name, frame, size, number), values)
        return measured.margin


def curve(
    matrix: ScoreMatrix,
    names: Sequence[str] = STANDARD,
    sizes: Sequence[int] | None = None,
    protocol: Protocol = PROTOCOL,
    families: Mapping[str, str] | None = None,
    moes: Sequence[float] = (),
    answer_cost_usd: float | None = None,
) -> Curve:
    """Work out the curve of the samplers of these names; `random` is always among them.

    Splits, strata and draws are those of `validate` with the same protocol.

    Args:
        matrix: The pool.
        names: Of samplers.
        sizes: Numbers of questions; else from 1% (or 20 questions) to 75% of the pool.
        protocol: Splits, repeats (0: the closed form is not confirmed) and seed.
        families: Of models, by name; else the pool's own, else near-duplicates by their scores.
        moes: Margins of error to find the smallest sizes for.
        answer_cost_usd: Of one answer of one model.

    Raises:
        UnknownName: No sampler or no model is called so.
        NoClosedForm: A sampler has no margin of error that could be worked out.
        BadMargin: A margin is not in (0, 1).
        BadPool: A size is no sample, or nothing can be held out.
    """
    for moe in moes:
        if not 0 < moe < 1:
            raise BadMargin(f"--moe {moe:g} is not between 0 and 1; 0.02 is two points of a hundred")
    samplers = {name: SAMPLERS[name].load() for name in dict.fromkeys((RANDOM, *names))}
    for name, sampler in samplers.items():
        if not sampler.has_interval:
            raise _no_closed_form(name)
    grid = _grid(sizes, matrix)
    codes = families_of(matrix, families)
    splits = list(
        random_splits(matrix, codes, protocol.splits, np.random.default_rng(protocol.seed), protocol.held_out)
    )
    bench = _Bench(matrix, codes, splits, samplers, protocol.seed)
    with clusters_kept(), progress("splits x samplers x sizes", len(splits) * len(samplers) * len(grid)) as ticker:
        measured, trials = _over_grid(bench, grid, protocol.repeats, ticker)
        curves = _curves(bench, grid, measured, trials, moes)
    return Curve(
        **facts_of(matrix, codes, splits, protocol.repeats, protocol.seed),
        chosen=DEFAULT_SAMPLER if DEFAULT_SAMPLER in samplers else list(samplers)[-1],
        one_percent=_one_percent(len(matrix)),
        answer_cost_usd=answer_cost_usd,
        samplers=curves,
    )


def _no_closed_form(name: str) -> NoClosedForm:
    return NoClosedForm(
        f"sampler {name!r} has no margin of error in closed form, and so no curve; 'interplay compress validate' shows "
        "its error at one size"
    )


def _grid(sizes: Sequence[int] | None, matrix: ScoreMatrix) -> list[int]:
    total = len(matrix)
    if sizes is None:
        least = min(_LEAST_QUESTIONS, max(2, total // 4))
        sizes = [size for size in (round(rate * total) for rate in RATES) if least <= size < total]
    grid = sorted({share_to_size(None, size, total) for size in sizes})
    if not grid or grid[0] == total:
        raise BadPool(f"{matrix.pool}: a curve needs a size below all {total} questions; give a smaller --rate")
    if grid[0] < 2:
        raise BadPool(f"{matrix.pool}: a margin of error needs two questions at least; give a larger --rate")
    return grid


def _one_percent(total: int) -> int:
    return max(1, round(total / 100))


def _over_grid(
    bench: _Bench, grid: Sequence[int], repeats: int, ticker: Ticker
) -> tuple[dict[tuple[str, int], _Measured], dict[tuple[str, int], Trials]]:
    """Closed forms at all sizes, and trials at those that are confirmed."""
    measured = {(name, size): _Measured() for name in bench.samplers for size in grid}
    partial = [size for size in grid if size < len(bench.matrix)]
    places = np.linspace(0, len(partial) - 1, _CONFIRMED + 2)[1:-1].round().astype(int).tolist()
    confirmed = {partial[place] for place in places} if repeats else set()
    trials = {(name, size): Trials() for name in bench.samplers for size in sorted(confirmed)}
    for number, frame, values in bench.frames():
        for name in bench.samplers:
            for size in grid:
                plan = bench.plan(name, frame, size, number)
                _measure(measured[name, size], plan, values)
                if size in confirmed:
                    try_out(trials[name, size], plan, values, (bench.seed, number), repeats)
                ticker.advance()
    return measured, trials


def _measure(into: _Measured, plan: Design, values: Floats) -> None:
    variance = plan.design_variance(values)
    # A regression costs some degrees of freedom more, at most a twentieth of the draws.
    degrees = float((plan.draws - 1)[plan.draws < plan.sizes].sum())
    margin = Estimate(values.mean(axis=0), np.sqrt(variance), max(1.0, degrees)).margin
    assert margin is not None
    into.margins.append(margin)
    into.variances.append(variance)


@dataclass
class _Margins:
    """Margins of one sampler by size; what is not known yet is planned."""

    bench: _Bench
    name: str
    known: dict[int, float]

    def at(self, size: int) -> float:
        if size not in self.known:
            self.known[size] = self.bench.margin(self.name, size)
        return self.known[size]

    def smallest(self, moe: float) -> int:
        """A size with at most this margin, where one less has a greater one."""
        total = len(self.bench.matrix)
        self.known[total] = 0.0
        low, high = self._around(moe)
        tries = 0
        while high - low > 1 and any(self.known.values()):
            guess = Line(total, self.known).size_for(moe) if tries < _READ else (low + high) // 2
            self.at(min(max(guess, low + 1), high - 1))
            low, high = self._around(moe)
            tries += 1
        return high

    def _around(self, moe: float) -> tuple[int, int]:
        low = max((size for size, margin in self.known.items() if margin > moe), default=1)
        return low, min(size for size in self.known if size > low)


def _curves(
    bench: _Bench,
    grid: Sequence[int],
    measured: Mapping[tuple[str, int], _Measured],
    trials: Mapping[tuple[str, int], Trials],
    moes: Sequence[float],
) -> tuple[SamplerCurve, ...]:
    total = len(bench.matrix)
    asked = sorted(set(moes), reverse=True)
    lines: dict[str, Line] = {}
    by_chance: dict[float, int] = {}
    found = []
    # `random` is the first.
    for name in bench.samplers:
        margins = _Margins(bench, name, {size: measured[name, size].margin for size in grid})
        lines[name] = Line(total, dict(margins.known))
        sizes = {moe: margins.smallest(moe) for moe in asked}
        by_chance = by_chance or sizes
        knee = lines[name].knee()
        found.append(
            SamplerCurve(
                sampler=name,
                points=tuple(_point(size, measured[name, size], lines, name) for size in grid),
                repeated=tuple(_repeated(size, one) for (of, size), one in trials.items() if of == name),
                knee=None
                if knee is None
                else _needed(None, knee, margins, _random_size(knee, margins.at(knee), lines, name)),
                needed=tuple(_needed(moe, sizes[moe], margins, by_chance[moe]) for moe in asked),
            )
        )
    return tuple(found)


def _needed(asked: float | None, size: int, margins: _Margins, random_size: int) -> Needed:
    rate = size / len(margins.bench.matrix)
    return Needed(asked=asked, size=size, rate=rate, margin=margins.at(size), random_size=random_size)


def _random_size(size: int, margin: float, lines: Mapping[str, Line], name: str) -> int:
    return size if name == RANDOM else lines[RANDOM].size_for(margin) if margin else lines[RANDOM].total


def _point(size: int, measured: _Measured, lines: Mapping[str, Line], name: str) -> CurvePoint:
    line, margin = lines[name], measured.margin
    low, high = np.quantile(np.concatenate(measured.margins), (0.1, 0.9)).tolist()
    more = min(size + _one_percent(line.total), line.total)
    return CurvePoint(
        size=size,
        rate=size / line.total,
        margin=margin,
        margin_sd=float(np.std(measured.of_splits, ddof=1)) if len(measured.margins) > 1 else None,
        low=low,
        high=high,
        design_rmse=float(np.sqrt(np.mean([one.mean() for one in measured.variances]))),
        gain=margin - float(line.margin_at(more)),
        random_size=_random_size(size, margin, lines, name),
    )


def _repeated(size: int, trials: Trials) -> Repeated:
    known = [one.mean(axis=0) for one in trials.margins if one is not None]
    low, high = (
        np.quantile(np.concatenate(known, axis=None), (0.1, 0.9)).tolist() if trials.moe is not None else (None,) * 2
    )
    return Repeated(
        size=size,
        draws=sum(len(one) for one in trials.errors),
        margin=trials.moe,
        low=low,
        high=high,
        rmse=trials.rmse,
        coverage=trials.cic,
    )
