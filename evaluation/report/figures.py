"""Pictures of a report as SVG: points and losses by condition, the leaderboard, abilities as a radar."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.report.comparisons import conditions_in_order
from evaluation.report.document import Number, Report, Row
from evaluation.svg import as_svg, drawing, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart, without the yellow, which white paper swallows.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A5195", "#4D4D4D")
_PERSONS = ("#222222", "#777777", "#a6a6a6")
_MARKERS = "osD^v"
_WIDTH_IN = 8.6
# So many, with the marks before them, stand side by side over a figure of that width.
_LEGEND_CHARACTERS = 120
_QUIET = "#888888"
_RC: Any = {
    "font.size": 9,
    "axes.edgecolor": "#bbbbbb",
    "axes.labelcolor": "#444444",
    "xtick.color": "#444444",
    "ytick.color": "#222222",
    # A dollar sign in a model's name begins no formula.
    "text.parse_math": False,
}


# More cannot be told apart in one picture; the tables hold all.
_MOST_MODELS = 8


def points_figure(report: Report) -> bytes | None:
    """Points by condition and model with intervals, and chance as a line; of the kind with most graded answers."""
    kinds = sorted({cell.kind for cell in report.cells})
    if not kinds:
        return None
    kind = max(kinds, key=lambda one: sum(cell.graded for cell in report.cells if cell.kind == one))
    cells = {(cell.model, cell.condition): cell for cell in report.cells if cell.kind == kind}
    chances = [cell.chance for cell in cells.values() if cell.chance is not None]
    shown = [(name.replace("_", " "), {m: cells[m, name] for m in models_of(report) if (m, name) in cells})
             for name in conditions_in_order(cells.values())]  # fmt: skip

    def draw(axes: "Axes") -> None:
        if chances:
            axes.axvline(float(np.mean(chances)), color=_QUIET, linestyle="--", linewidth=1, label="chance")
        axes.set_xlim(-1, 101)
        axes.set_xlabel("accuracy, percent" if kind == "choice" else "points, percent")

    return _dots("points", report, shown, draw)


def drops_figure(report: Report, words: Callable[[str], str] = str) -> bytes | None:
    """Points that each model loses when something is taken away, with intervals.

    `words` says how the reader calls what is taken away, and what is measured.
    """
    table = report.table("drops")
    if table is None:
        return None
    shown: list[tuple[str, dict[str, Number]]] = []
    for place, column in enumerate(table.columns[1:], start=1):
        shown.append((words(column.title), {row.label: _number(row, place) for row in table.rows}))

    def draw(axes: "Axes") -> None:
        axes.axvline(0, color=_QUIET, linewidth=1)
        axes.set_xlabel(words("points lost, percent"))

    return _dots("drops", report, shown, draw, words)


def people_figure(report: Report, words: Callable[[str], str] = str) -> bytes | None:
    """Points by ability of people and models with their intervals, over the questions that people answered.

    `words` says how the reader calls an ability, and what is measured.
    """
    table = report.table("people")
    if table is None:
        return None
    places = range(len(table.columns) - 1)  # the last one holds differences
    shown = [
        (words(table.columns[place].title), {row.label: _number(row, place) for row in table.rows}) for place in places
    ]

    def draw(axes: "Axes") -> None:
        axes.set_xlim(-1, 101)
        axes.set_xlabel(words("points, percent"))

    return _dots("people", report, shown, draw, words)


def leaderboard_figure(report: Report, words: Callable[[str], str] = str) -> bytes | None:
    """Points of each model with their intervals, best on top; `words` says what is measured."""
    table = report.table("leaderboard")
    if table is None:
        return None
    rows = [(row.label, _number(row, 1)) for row in table.rows]
    rows = [(label, number) for label, number in rows if number.points is not None]
    colours = _colours(report)
    with drawing("leaderboard", _RC):
        figure = _figure(0.6 + 0.3 * len(rows))
        axes = figure.subplots()
        for place, (label, number) in enumerate(rows):
            _whisker(axes, number, -place, colours[label], "o")
        axes.set_yticks([-place for place in range(len(rows))], [short_name(label) for label, _ in rows])
        axes.set_ylim(-len(rows) + 0.4, 0.6)
        axes.set_xlim(-1, 101)
        axes.set_xlabel(words("points, percent"))
        _plain(axes)
        return as_svg(figure)


def radar_figure(
    report: Report, models: Sequence[str] | None = None, words: Callable[[str], str] = str
) -> bytes | None:
    """Points by ability, persons as a filled area and models as lines; needs three abilities.

    Points of few items are hollow; where an ability was not measured, the line breaks.

    Args:
        report: Whose numbers are drawn.
        models: Of all models and persons these alone, in colours of their own.
        words: How the reader calls an ability.
    """
    table = report.table("table3")
    if table is None:
        return None
    rows = [row for row in table.rows if models is None or row.label in models]
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.title != "Overall" and any(_number(row, place).points is not None for row in rows)
    ]
    if len(places) < 3:
        return None
    colours = _colours(report, models)
    angles = np.linspace(0, 2 * np.pi, len(places), endpoint=False)
    with drawing("radar", _RC):
        figure = _figure(4.2, max(6.2, 5.6 + 0.075 * _longest(row.label for row in rows)))
        axes: Any = figure.subplots(subplot_kw={"projection": "polar"})
        axes.set_theta_offset(np.pi / 2)
        axes.set_theta_direction(-1)
        for number, row in enumerate(rows):
            numbers = [_number(row, place) for place in places]
            _web(axes, angles, numbers, row.label, colours[row.label], number, row.label in report.people)
        axes.set_xticks(angles, [words(table.columns[place].title) for place in places])
        axes.set_ylim(0, 100)
        axes.set_yticks([25, 50, 75, 100])
        axes.tick_params(axis="y", labelsize=7, labelcolor=_QUIET)
        axes.grid(color="#dddddd")
        axes.spines["polar"].set_color("#dddddd")
        figure.legend(frameon=False, loc="outside right center")
        return as_svg(figure)


def _web(
    axes: Any,
    angles: Sequence[float] | np.ndarray[Any, Any],
    numbers: Sequence[Number],
    label: str,
    colour: str,
    place: int,
    is_person: bool,
) -> None:
    """One model's line through its abilities, with a mark at each."""
    closed = np.append(angles, angles[0])
    line = np.array([np.nan if one.points is None else one.points for one in [*numbers, numbers[0]]])
    if is_person:
        axes.fill(closed, line, color=colour, alpha=0.1)
    marker = _MARKERS[place % len(_MARKERS)]
    shared = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
    full = [at for at, one in enumerate(numbers) if not one.is_small]
    axes.plot(closed, line, **shared, markevery=full, label=short_name(label))
    for at, one in enumerate(numbers):
        if one.is_small and one.points is not None:
            axes.plot(closed[at : at + 1], line[at : at + 1], **shared, markerfacecolor="white")


FIGURES: Mapping[str, Callable[[Report], bytes | None]] = {
    "leaderboard": leaderboard_figure,
    "table3": radar_figure,
    "people": people_figure,
    "conditions": points_figure,
    "drops": drops_figure,
}
"""What draws each figure, by the key of the table that it belongs to."""


def models_of(report: Report) -> list[str]:
    """Models in the order of the leaderboard; without one, by name."""
    table = report.table("leaderboard")
    ranked = [row.label for row in table.rows] if table else []
    return [*ranked, *sorted({cell.model for cell in report.cells} - set(ranked))]


def _dots(
    key: str,
    report: Report,
    groups: Sequence[tuple[str, Mapping[str, Number]]],
    finish: Callable[["Axes"], None],
    words: Callable[[str], str] = str,
) -> bytes | None:
    """A row for each group, in it a point with its interval for each model; None without any point."""
    if all(number.points is None for _, numbers in groups for number in numbers.values()):
        return None
    known, colours = models_of(report), _colours(report)
    models = known[:_MOST_MODELS]
    step = 0.8 / len(models)
    columns = max(1, min(len(models) + 1, 5, _LEGEND_CHARACTERS // (_longest(models) + 6)))
    above = 0.18 * math.ceil((len(models) + 1) / columns)
    with drawing(key, _RC):
        figure = _figure(0.7 + above + len(groups) * max(0.36, 0.13 * len(models)))
        axes = figure.subplots()
        for place, model in enumerate(models):
            label: str | None = short_name(model)
            for row, (_, numbers) in enumerate(groups):
                if model in numbers and numbers[model].points is not None:
                    height = -row + 0.4 - step * (place + 0.5)
                    marker = _MARKERS[place // len(_COLOURS) % len(_MARKERS)]
                    _whisker(axes, numbers[model], height, colours[model], marker, label)
                    label = None
        for row in range(1, len(groups)):
            axes.axhline(0.5 - row, color="#eeeeee", linewidth=1, zorder=0)
        axes.set_yticks([-row for row in range(len(groups))], [name for name, _ in groups])
        axes.set_ylim(-len(groups) + 0.5, 0.5)
        finish(axes)
        _plain(axes)
        title = None
        if len(models) < len(known):
            title = words("the first {drawn} of {known} models").format(drawn=len(models), known=len(known))
        figure.legend(frameon=False, ncols=columns, loc="outside upper center", title=title)
        return as_svg(figure)


def _whisker(axes: "Axes", number: Number, height: float, colour: str, marker: str, label: str | None = None) -> None:
    assert number.points is not None
    low, high = (number.points if end is None else end for end in (number.low, number.high))
    axes.plot([low, high], [height, height], color=colour, linewidth=1.4, alpha=0.55, solid_capstyle="butt")
    face = "white" if number.is_small else colour
    axes.plot([number.points], [height], marker, color=colour, markerfacecolor=face, markersize=4.5, label=label)


def _plain(axes: "Axes") -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#eeeeee", linewidth=0.8)
    axes.set_axisbelow(True)


def _colours(report: Report, among: Sequence[str] | None = None) -> dict[str, str]:
    drawn = [model for model in models_of(report) if among is None or model in among]
    models = [model for model in drawn if model not in report.people]
    found = {model: _COLOURS[place % len(_COLOURS)] for place, model in enumerate(models)}
    return found | {label: _PERSONS[place % len(_PERSONS)] for place, label in enumerate(report.people)}


def _longest(names: Iterable[str]) -> int:
    return max(len(short_name(name)) for name in names)


def _number(row: Row, place: int) -> Number:
    cell = row.cells[place]
    assert isinstance(cell, Number)
    return cell


def _figure(height_in: float, width_in: float = _WIDTH_IN) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")
