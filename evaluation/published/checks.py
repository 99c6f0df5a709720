"""Whether the numbers of published tables reproduce: every verdict is computed from the numbers as printed.

A printed number stands for every value that rounds to it. A claim reproduces when some values behind the printed
numbers make it true.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from core.content import Frozen
from core.errors import InterplayError
from evaluation.law.fit import FormFit, check_points, fit_form
from evaluation.law.forms import find_form
from evaluation.law.points import LawPoint, law_points
from evaluation.published.cells import SLACK, Cell, Place, cell_of, given
from evaluation.published.paper import (
    BadTableFile,
    Claim,
    CountsClaim,
    EfficiencyClaim,
    EqualClaim,
    LawClaim,
    NpsClaim,
    Paper,
    SemClaim,
    Table,
    TotalClaim,
    TrimmedMeanClaim,
    WeightedSumClaim,
    split_place,
)

Verdict = Literal["reproduces", "does not", "recorded"]
_RECORDED = "recorded, raw table not in the data: "


class Finding(Frozen):
    """One claim about published numbers, checked.

    Attributes:
        paper, check, where: What was checked.
        printed, expected: What stands there and what the other numbers give.
        verdict: `recorded` is a "does not" that was found in a table which is not among the data.
        reason: Why.
        cells: (table, row, column) of every number that the verdict rests on.
    """

    paper: str
    check: str
    where: str
    printed: str
    expected: str
    verdict: Verdict
    reason: str
    cells: tuple[Place, ...] = ()


@dataclass(frozen=True)
class _Result:
    """A verdict before it is told."""

    where: str
    printed: object
    expected: str
    good: bool
    reason: str
    cells: Sequence[Cell]


def check_paper(paper: Paper) -> list[Finding]:
    """Check every claim on every row, in the order of the claims; recorded findings come last.

    Raises:
        BadTableFile: A claim whose tables share no row, or whose rows are not named GROUP / MODEL.
    """
    found = [_finding(paper, claim, result) for claim in paper.claims for result in _check(paper.tables, claim)]
    told = [
        Finding(
            paper=paper.name, verdict="recorded", **one.model_dump(exclude={"reason"}), reason=_RECORDED + one.reason
        )
        for one in paper.recorded
    ]
    return found + told


def summary(findings: Sequence[Finding]) -> list[tuple[str | int, ...]]:
    """(paper, check, reproduces, does not, recorded), a row for each paper and check."""
    rows = dict.fromkeys((one.paper, one.check) for one in findings)
    counted = Counter((one.paper, one.check, one.verdict) for one in findings)
    return [
        (paper, check, *(counted[paper, check, verdict] for verdict in ("reproduces", "does not", "recorded")))
        for paper, check in rows
    ]


def _finding(paper: Paper, claim: Claim, result: _Result) -> Finding:
    return Finding(
        paper=paper.name,
        check=claim.check,
        where=result.where,
        printed=str(result.printed),
        expected=result.expected,
        verdict="reproduces" if result.good else "does not",
        reason=result.reason,
        cells=tuple(cell.place for cell in result.cells),
    )


def _check(tables: Mapping[str, Table], claim: Claim) -> Iterator[_Result]:
    match claim:
        case CountsClaim():
            return _counts(tables, claim)
        case WeightedSumClaim():
            return _weighted_sum(tables, claim)
        case EqualClaim():
            return _equal(tables, claim)
        case SemClaim():
            return _sem(tables, claim)
        case NpsClaim():
            return _nps(tables, claim)
        case EfficiencyClaim():
            return _efficiency(tables, claim)
        case TrimmedMeanClaim():
            return _trimmed_mean(tables, claim)
        case TotalClaim():
            return _total(tables, claim)
        case LawClaim():
            return _law(tables, claim)


def _numbers(n: int | tuple[int, ...]) -> tuple[int, ...]:
    return (n,) if isinstance(n, int) else n


def _count(cell: Cell, n: int, points: int) -> int | None:
    """The whole number of points whose percentage prints as the cell, where there is one."""
    nearest = round(cell.value * n * points / 100)
    percent = Fraction(100 * nearest, n * points)
    return nearest if 0 <= nearest <= n * points and abs(percent - cell.value) <= cell.half else None


def _counts(tables: Mapping[str, Table], claim: CountsClaim) -> Iterator[_Result]:
    unit = "" if claim.points == 1 else f" x {claim.points} points"
    for row, (column, n) in itertools.product(tables[claim.table].rows, claim.n.items()):
        cell = cell_of(tables, claim.table, row, column)
        counts = {one: count for one in _numbers(n) if (count := _count(cell, one, claim.points)) is not None}
        of = " or ".join(f"{one}{unit}" for one in _numbers(n))
        if counts:
            size, count = next(iter(counts.items()))
            expected, reason = f"{count}/{size * claim.points}", f"a whole count of {size}{unit}"
        else:
            size = _numbers(n)[0] * claim.points
            below = max(0, min(size - 1, math.floor(cell.value * size / 100)))
            near = [f"{100 * k / size:.{cell.decimals}f} ({k}/{size})" for k in (below, below + 1)]
            expected, reason = " or ".join(near), f"no whole count of {of} prints as this"
        yield _Result(f"{claim.table}, {row}: {column}", cell, expected, bool(counts), reason, [cell])


def _weighted_sum(tables: Mapping[str, Table], claim: WeightedSumClaim) -> Iterator[_Result]:
    combined = list(itertools.product(_numbers(claim.n), *map(_numbers, claim.parts.values())))
    means = [sizes for sizes in combined if sum(sizes[1:]) + claim.missing == sizes[0]]
    for row in tables[claim.table].rows:
        whole = cell_of(tables, claim.table, row, claim.whole)
        parts = [cell_of(tables, claim.table, row, column) for column in claim.parts]
        low, high, (n, *sizes) = min(
            (_sum_range(parts, one, claim.missing) for one in means or combined),
            key=lambda found: max(0.0, whole.low - found[1], found[0] - whole.high),
        )
        terms = " + ".join(f"{size} x {part}" for size, part in zip(sizes, parts, strict=True))
        extra = f", with {claim.missing} items in no part" if claim.missing else ""
        yield _Result(
            f"{claim.table}, {row}: {claim.whole}",
            whole,
            _range(low, high, whole.decimals),
            whole.holds(low, high),
            f"({terms}) / {n}{extra}",
            [whole, *parts],
        )


def _sum_range(parts: Sequence[Cell], sizes: Sequence[int], missing: int) -> tuple[float, float, Sequence[int]]:
    n, *own = sizes
    low = sum(size * part.low for size, part in zip(own, parts, strict=True)) / n
    high = (sum(size * part.high for size, part in zip(own, parts, strict=True)) + 100 * missing) / n
    return low, high, sizes


def _range(low: float, high: float, decimals: int) -> str:
    ends = [f"{end:.{decimals}f}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _equal(tables: Mapping[str, Table], claim: EqualClaim) -> Iterator[_Result]:
    (first, column), *others = map(split_place, claim.places)
    for other, other_column in others:
        shared = [row for row in tables[first].rows if row in tables[other].rows]
        if not shared:
            raise BadTableFile(
                f"{first} and {other} share no row, so their columns cannot be compared; name rows alike"
            )
        for row in shared:
            one, two = cell_of(tables, first, row, column), cell_of(tables, other, row, other_column)
            where = f"{first}, {row}: {column}"
            if claim.reciprocal:
                ends = (1 / two.high, 1 / two.low) if two.low > 0 else (math.inf, -math.inf)
                expected, good = _range(*ends, one.decimals), one.holds(*ends)
                reason = f"1 / {two} in {other}.{other_column}"
            else:
                coarser = max(one.half, two.half) if one.decimals != two.decimals else 0
                expected, good = str(two), abs(one.value - two.value) <= coarser
                reason = f"compared with {other}.{other_column}"
            yield _Result(where, one, expected, good, reason, [one, two])


def _sem(tables: Mapping[str, Table], claim: SemClaim) -> Iterator[_Result]:
    for row in tables[claim.table].rows:
        sd, sem = (cell_of(tables, claim.table, row, column) for column in (claim.sd, claim.sem))
        low, high = sd.low / math.sqrt(claim.n), sd.high / math.sqrt(claim.n)
        reason = f"{sd} / sqrt({claim.n})"
        expected = f"{float(sd.value) / math.sqrt(claim.n):.{sem.decimals + 1}f}"
        yield _Result(f"{claim.table}, {row}: {claim.sem}", sem, expected, sem.holds(low, high), reason, [sem, sd])


def _nps(tables: Mapping[str, Table], claim: NpsClaim) -> Iterator[_Result]:
    table, column = split_place(claim.nps)
    scores, score = split_place(claim.scores)
    for row, group in _models(tables, scores, table, {claim.random, claim.human}):
        cell = cell_of(tables, table, row, column)
        inputs = [
            cell_of(tables, scores, _anchor(tables, scores, group, name) if name else row, score)
            for name in ("", claim.random, claim.human)
        ]
        value = _ratio(inputs, lambda x, random, human: (x - random, human - random))
        reason = f"100 ({inputs[0]} - {inputs[1]}) / ({inputs[2]} - {inputs[1]})"
        yield _scaled(f"{table}, {row}: {column}", cell, inputs, value, reason)


def _efficiency(tables: Mapping[str, Table], claim: EfficiencyClaim) -> Iterator[_Result]:
    table, column = split_place(claim.efficiency)
    scores, score = split_place(claim.scores)
    worst = given(claim.worst)
    for row, group in _models(tables, scores, table, {claim.human}):
        cell = cell_of(tables, table, row, column)
        inputs = [cell_of(tables, scores, row, score)]
        inputs.append(cell_of(tables, scores, _anchor(tables, scores, group, claim.human), score))
        value = _ratio([*inputs, worst], lambda x, human, top: (top - x, top - human))
        reason = f"100 ({worst} - {inputs[0]}) / ({worst} - {inputs[1]})"
        yield _scaled(f"{table}, {row}: {column}", cell, inputs, value, reason)


def _scaled(
    where: str, cell: Cell, inputs: Sequence[Cell], value: tuple[float, float, float] | None, reason: str
) -> _Result:
    if value is None:
        return _Result(where, cell, "none", False, f"{reason}: the anchors are too close to divide", [cell, *inputs])
    middle, low, high = value
    return _Result(where, cell, f"{middle:.{cell.decimals + 1}f}", cell.holds(low, high), reason, [cell, *inputs])


def _models(tables: Mapping[str, Table], scores: str, table: str, anchors: set[str]) -> Iterator[tuple[str, str]]:
    """(row, group) of every model in both tables."""
    shared = [row for row in tables[scores].rows if row in tables[table].rows]
    if not shared:
        raise BadTableFile(f"{scores} and {table} share no row; name them GROUP / MODEL alike in both")
    for row in shared:
        group, slash, name = row.rpartition(" / ")
        if not slash:
            raise BadTableFile(f"{scores}: the row {row!r} is not named GROUP / MODEL")
        if name not in anchors:
            yield row, group


def _anchor(tables: Mapping[str, Table], scores: str, group: str, name: str) -> str:
    row = f"{group} / {name}"
    if row not in tables[scores].rows:
        raise BadTableFile(f"{scores} has no row {row!r}, from which scores of {group!r} are counted; add it")
    return row


def _ratio(
    cells: Sequence[Cell], parts: Callable[[float, float, float], tuple[float, float]]
) -> tuple[float, float, float] | None:
    """100 upper / lower of three printed numbers: at them, and the least and most behind them; None near lower = 0.

    The quotient is monotone in each number, so its extremes lie at the corners.
    """
    corners = [parts(*ends) for ends in itertools.product(*((cell.low, cell.high) for cell in cells))]
    if min(lower for _, lower in corners) <= 0 <= max(lower for _, lower in corners):
        return None
    x, one, other = (float(cell.value) for cell in cells)
    upper, lower = parts(x, one, other)
    values = [100 * above / below for above, below in corners]
    return 100 * upper / lower, min(values), max(values)


def _trimmed_mean(tables: Mapping[str, Table], claim: TrimmedMeanClaim) -> Iterator[_Result]:
    """The sum of n values is that of the middle n - 2, a highest of at least their mean, and a lowest of at least 0."""
    n = claim.n
    for row in tables[claim.table].rows:
        mean, trimmed = (cell_of(tables, claim.table, row, column) for column in (claim.mean, claim.trimmed))
        least = (n - 1) * trimmed.low / n
        reason = f"{n} values whose middle {n - 2} have the mean {trimmed}, none below 0"
        if not (good := mean.high + SLACK >= least):
            reason += f"; at most {math.floor(trimmed.low / (trimmed.low - mean.high))} values could have both means"
        expected = f"at least {least:.{mean.decimals}f}"
        yield _Result(f"{claim.table}, {row}: {claim.mean}", mean, expected, good, reason, [mean, trimmed])


def _total(tables: Mapping[str, Table], claim: TotalClaim) -> Iterator[_Result]:
    table, column = split_place(claim.place)
    cells = [cell_of(tables, table, row, column) for row in tables[table].rows]
    # Whole numbers, as of games won, are counted and not rounded.
    low, high = (
        sum(getattr(cell, end) if cell.decimals else float(cell.value) for cell in cells) for end in ("low", "high")
    )
    total = sum((cell.value for cell in cells), Fraction(0))
    printed = f"{float(total):.{max((cell.decimals for cell in cells), default=0)}f}"
    if claim.equals is not None:
        good = low - SLACK <= float(claim.equals) <= high + SLACK
        expected = str(claim.equals)
    else:
        good = low - SLACK <= float(claim.at_most or 0)
        expected = f"at most {claim.at_most}"
    yield _Result(f"{table}: {column}", printed, expected, good, f"the sum of {len(cells)} rows", cells)


def _law(tables: Mapping[str, Table], claim: LawClaim) -> Iterator[_Result]:
    columns, rows = (claim.audio, claim.visual, claim.omni), tables[claim.table].rows
    cells = {row: [cell_of(tables, claim.table, row, column) for column in columns] for row in rows}
    used = [cell for row in cells.values() for cell in row]
    form = find_form(claim.form)
    try:
        points = law_points({row: [float(cell.value / 100) for cell in own] for row, own in cells.items()})
        fit = fit_form(form, check_points(points))
        reason = f"least squares of {form.formula} on {claim.table}{_freely(fit, points)}"
    except InterplayError as error:
        for name, printed in claim.claims.items():
            yield _Result(f"{claim.where}: {name}", printed, "none", False, f"no fit: {error}", used)
        return
    values = {**fit.parameters, "r2": fit.r2, "rmse": fit.rmse}
    for name, printed in claim.claims.items():
        if name not in values:
            raise BadTableFile(f"{claim.where} claims {name!r}; the {form.name} law has {', '.join(values)}")
        cell = given(printed)
        expected = f"{values[name]:.{cell.decimals + 1}f}"
        yield _Result(f"{claim.where}: {name}", cell, expected, cell.holds(values[name], values[name]), reason, used)


def _freely(fit: FormFit, points: Sequence[LawPoint]) -> str:
    """For a weight that stops at its bound: where it goes without one."""
    if not fit.note:
        return ""
    free = fit_form(find_form(fit.form.removesuffix("_bounded")), points).parameters
    return f"; w_audio stops at its bound, without one it goes to {free['w_audio']:.2f}"
