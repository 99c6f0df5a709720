"""The picture of the compositional law: observed omni-modal scores against P_A P_V, with the fitted curve."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evaluation.law.fit import LawFit, Prediction, curve
from evaluation.law.forms import SYMMETRIC
from evaluation.law.points import LawPoint
from evaluation.svg import as_svg, drawing, short_name

_INK, _CURVE, _NEW = "0.15", "#1b7f79", "#c2410c"
# Places that a label may take around its point, in points of the page: right, left, above, below, then farther away.
_PLACES = (
    (7, 0), (-7, 0), (6, 11), (-6, 11), (6, -11), (-6, -11), (8, 22), (-8, 22), (8, -22), (-8, -22), (14, 34),
    (-14, 34), (14, -34), (-14, -34), (20, 46), (-20, 46), (20, -46), (-20, -46), (20, 58),
    (-20, 58), (20, -58), (-20, -58),
)  # fmt: skip
_FONT = 8.5
_LEADER = {"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4}


def law_picture(
    law: LawFit, prediction: Prediction | None = None, name: str = "new model", words: Callable[[str], str] = str
) -> bytes:
    """The fit as an SVG picture, after Figure 10 of UNO-Bench: points, curve, its 95% band; same fit, same bytes.

    `words` says how the reader calls what is drawn.
    """
    from matplotlib.figure import Figure

    with drawing("law"):
        figure = Figure(figsize=(7.4, 4.8), layout="constrained")
        axes = figure.subplots()
        _draw_curve(axes, law, prediction, words)
        _draw_points(axes, law.points, words("observed"))
        shown = [(short_name(point.model), point.audio * point.visual, point.omni) for point in law.points]
        if prediction is not None:
            _draw_prediction(axes, prediction, words("predicted, with 95% interval"))
            shown.append((short_name(name), prediction.audio * prediction.visual, prediction.omni))
        axes.margins(y=0.16)
        axes.set_xlabel(words("audio share × visual share"), color=_INK)
        axes.set_ylabel(words("omni-modal share"), color=_INK)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(frameon=False, loc="lower right", fontsize=_FONT)
        _caption(axes, law, words)
        figure.draw_without_rendering()
        _label(axes, shown)
        return as_svg(figure)


def _caption(axes: Any, law: LawFit, words: Callable[[str], str]) -> None:
    """The formula, and under it what it is worth: words of any language, for which formulas have no letters."""
    fit, alpha = law.fits[SYMMETRIC.name], law.alpha
    values = fit.parameters
    sign = "+" if values["b"] >= 0 else "-"
    formula = f"$P_O = {values['C']:.3f}\\,(P_A P_V)^{{{values['alpha']:.3f}}} {sign} {abs(values['b']):.3f}$"
    text = words("R² = {r2}, RMSE {rmse}, {models} models")
    told = text.format(r2=f"{fit.r2:.3f}", rmse=f"{fit.rmse:.3f}", models=len(law.points))
    if alpha.low is not None:
        told += words("; α from {low} to {high} (95%)").format(low=f"{alpha.low:.1f}", high=f"{alpha.high:.1f}")
    shared = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": 10, "color": _INK}
    axes.annotate(formula, (0.02, 0.97), xytext=(0, 0), **shared)
    axes.annotate(told, (0.02, 0.97), xytext=(0, -17), parse_math=False, **shared)


def _draw_curve(axes: Any, law: LawFit, prediction: Prediction | None, words: Callable[[str], str]) -> None:
    from scipy import stats

    fit = law.fits[SYMMETRIC.name]
    products = [point.audio * point.visual for point in law.points]
    if prediction is not None:
        products.append(prediction.audio * prediction.visual)
    margin = 0.05 * np.ptp(products)
    along = np.linspace(max(1e-6, min(products) - margin), min(1.0, max(products) + margin), 200)
    heights, variances = curve(fit, SYMMETRIC, np.sqrt(along), np.sqrt(along))
    reach = stats.t.ppf(0.975, len(law.points) - len(SYMMETRIC.parameters)) * np.sqrt(variances)
    low, high = heights - reach, heights + reach
    axes.fill_between(along, low, high, color=_CURVE, alpha=0.13, linewidth=0, label=words("95% band"))
    axes.plot(along, heights, color=_CURVE, linewidth=2, label=words("fitted law"))


def _draw_points(axes: Any, points: Sequence[LawPoint], label: str) -> None:
    for point in points:
        if "omni" in point.intervals:
            axes.plot([point.audio * point.visual] * 2, point.intervals["omni"], color="0.55", linewidth=1, zorder=3)
    at = [point.audio * point.visual for point in points]
    heights = [point.omni for point in points]
    axes.scatter(at, heights, s=34, color=_INK, edgecolor="white", linewidth=0.8, zorder=4, label=label)


def _draw_prediction(axes: Any, prediction: Prediction, label: str) -> None:
    at = prediction.audio * prediction.visual
    axes.plot([at, at], [prediction.low, prediction.high], color=_NEW, linewidth=1.4, zorder=3)
    axes.scatter([at], [prediction.omni], s=110, marker="*", color=_NEW, zorder=5, label=label)


def _label(axes: Any, shown: Sequence[tuple[str, float, float]]) -> None:
    """Each point's name where it hides no other name, point or piece of the curve; a thin line leads to a far one."""
    scale = 72 / axes.figure.dpi
    points = axes.transData.transform([(x, y) for _, x, y in shown]) * scale
    lines = [_along(axes.transData.transform(line.get_xydata()) * scale) for line in axes.lines]
    leaders: list[Any] = []
    frame = axes.get_window_extent()
    left, low, right, high = (edge * scale for edge in frame.extents)
    taken: list[tuple[float, float, float, float]] = []
    for (name, x, y), (px, py) in sorted(zip(shown, points, strict=True), key=lambda one: (-one[0][2], one[0][1])):
        width, height = 0.56 * _FONT * len(name), 1.15 * _FONT
        tried = []
        for dx, dy in _PLACES:
            x0 = px + dx if dx > 0 else px + dx - width
            box = (x0, py + dy - height / 2, x0 + width, py + dy + height / 2)
            cost = 0.05 * (abs(dx) + abs(dy)) + 8 * sum(_overlap(box, other) for other in taken)
            cost += 4 * sum(_inside(box, one, 3) for one in points)
            cost += sum(any(_inside(box, one, 1) for one in line) for line in lines)
            leader = _along(np.array([(px, py), (px + dx, py + dy)])) if abs(dy) > 12 else np.empty((0, 2))
            cost += 4 * sum(any(_inside(box, one, 0) for one in other) for other in leaders)
            cost += 4 * sum(any(_inside(other, one, 0) for one in leader) for other in taken)
            cost += 100 * (box[0] < left or box[1] < low or box[2] > right or box[3] > high)
            tried.append((cost, dx, dy, box, leader))
        _, dx, dy, box, leader = min(tried, key=lambda one: one[0])
        taken.append(box)
        leaders.append(leader)
        axes.annotate(
            name,
            (x, y),
            xytext=(dx, dy),
            textcoords="offset points",
            ha="left" if dx > 0 else "right",
            va="center",
            fontsize=_FONT,
            color=_INK,
            parse_math=False,  # a dollar sign in a model's name begins no formula
            zorder=6,
            arrowprops={**_LEADER, "relpos": (0.0 if dx > 0 else 1.0, 0.5)} if len(leader) else None,
        )


def _along(corners: Any) -> Any:
    """Points [n, 2] along a line through its corners, dense enough for a label to notice."""
    at = np.linspace(0, len(corners) - 1, max(40, len(corners)))
    return np.stack([np.interp(at, np.arange(len(corners)), corners[:, axis]) for axis in (0, 1)], axis=-1)


def _overlap(box: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _inside(box: tuple[float, float, float, float], point: Any, margin: float) -> bool:
    inside = box[0] - margin < point[0] < box[2] + margin and box[1] - margin < point[1] < box[3] + margin
    return bool(inside)
