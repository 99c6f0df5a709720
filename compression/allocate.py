"""How many units are drawn of each stratum."""

import numpy as np
from numpy.typing import NDArray

from compression.importers.base import BadPool
from compression.matrix import Codes, Floats

# Fewer in a stratum have no variance that could be estimated.
LEAST = 2
# Neyman's allocation leaves a stratum in which no source model varies out, and a new model may well vary there.
NEYMAN_FLOOR = 0.5


def allocate(sizes: Codes, total: int, measure: Floats | None = None, at_least: Codes | None = None) -> Codes:
    """(strata,) draws that sum to `total`, proportional to a measure of each stratum within its bounds.

    Rounded by largest remainders. Each stratum gets two, or all if it holds fewer, if `total` reaches so far; else one,
    if it reaches so far.

    Args:
        sizes: (strata,) units in each.
        total: Draws, at most the sum of the sizes.
        measure: (strata,) the draws are proportional to; the sizes, if not given.
        at_least: (strata,) a sample that is extended has these already.

    Raises:
        BadPool: Less in total than there is already, or more than there are.
    """
    measure = sizes.astype(np.float64) if measure is None else measure
    already = np.zeros_like(sizes) if at_least is None else at_least
    bounds = [np.maximum(np.minimum(sizes, least), already) for least in (LEAST, 1)]
    low = next((bound for bound in bounds if bound.sum() <= total), already)
    if not low.sum() <= total <= sizes.sum():
        raise BadPool(f"{total} draws are fewer than the {low.sum()} there are, or more than the {sizes.sum()} units")
    shares = _within(measure, total, low.astype(np.float64), sizes.astype(np.float64))
    draws = np.floor(shares + 1e-9).astype(np.int64)
    remainders = np.where(draws < sizes, shares - draws, -1.0)
    for place in np.argsort(-remainders, kind="stable")[: total - draws.sum()]:
        draws[place] += 1
    return draws


def _within(measure: Floats, total: int, low: Floats, high: Floats) -> Floats:
    """Shares proportional to the measure, clipped at their bounds, that sum to the total; by bisection."""
    measure = np.maximum(measure, 1e-12)
    bottom, top = 0.0, float((high / measure).max())
    for _ in range(200):
        factor = (bottom + top) / 2
        if not bottom < factor < top:
            break
        if np.clip(factor * measure, low, high).sum() < total:
            bottom = factor
        else:
            top = factor
    return np.clip(top * measure, low, high)


def neyman_measure(sizes: Codes, variances: Floats, floor: float = NEYMAN_FLOOR) -> Floats:
    """(strata,) sizes times standard deviations (Neyman 1934), each at least a share `floor` of the pooled one.

    Args:
        sizes: (strata,) units.
        variances: (strata,) of source models' values within each, on average over the models.
        floor: Share of the pooled standard deviation.
    """
    pooled = float(np.sqrt((sizes * variances).sum() / sizes.sum()))
    deviations = np.maximum(np.sqrt(variances), floor * pooled)
    return np.asarray(sizes * (deviations if pooled > 0 else 1.0))


def share_out(cells: Codes, total: int, needs: list[tuple[NDArray[np.bool_], int]]) -> Codes:
    """(cells,) draws that sum to `total`: proportional to the cells' sizes, but for what is needed.

    Args:
        cells: (cells,) units in each.
        total: Draws.
        needs: Which cells together need how many; a need above what these cells hold is met by all of it.

    Raises:
        BadPool: The total does not meet all needs with a draw in each cell.
    """
    low = np.zeros(len(cells))
    for _ in range(50):
        shares = _within(cells.astype(np.float64), total, low, cells.astype(np.float64))
        short = False
        for members, need in needs:
            wanted, given = min(need, int(cells[members].sum())), shares[members].sum()
            if given < wanted - 1e-6:
                short = True
                low[members] = _within(
                    np.maximum(shares[members], 1e-9), wanted, low[members], cells[members].astype(np.float64)
                )
        if not short or low.sum() > total + 1e-6:
            break
    return _in_whole(shares, cells, total, needs)


def _in_whole(shares: Floats, cells: Codes, total: int, needs: list[tuple[NDArray[np.bool_], int]]) -> Codes:
    """Whole draws nearest to the shares that meet the needs: rounding alone would miss those of several cells."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(cells)
    eye, none = np.eye(count), np.zeros((len(needs) + 1, count))
    together = np.vstack([np.ones(count), *(members for members, _ in needs)])
    least_of = [total, *(min(need, int(cells[members].sum())) for members, need in needs)]
    most_of = [total, *(np.inf for _ in needs)]
    constraints = [
        LinearConstraint(np.hstack([together, none]), least_of, most_of),
        # The second half of the variables is how far each of the first is from its share.
        LinearConstraint(np.block([[eye, -eye], [-eye, -eye]]), ub=np.concatenate([shares, -shares])),
    ]
    halves = np.repeat([0.0, 1.0], count)
    for least in (LEAST, 1):
        bounds = Bounds(
            np.concatenate([np.minimum(cells, least), np.zeros(count)]), np.concatenate([cells, np.full(count, np.inf)])
        )
        found = milp(halves, integrality=1 - halves, bounds=bounds, constraints=constraints)
        if found.x is not None:
            return np.rint(found.x[:count]).astype(np.int64)
    raise BadPool(
        f"{total} questions do not meet all floors with one at least of each of the {count} kinds that the floors tell "
        "apart; lower the floors or keep more"
    )
