"""The picture of a cost-benefit curve: margin of error against questions, a line and a band for each sampler."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from compression.curve_values import Curve, Needed, SamplerCurve
from compression.validate import RANDOM
from core.errors import InterplayError
from core.taxonomy import Language
from evaluation.svg import as_svg, drawing, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Form = Literal["svg", "png"]
# Okabe and Ito's colours, which colour-blind readers tell apart, without those that white paper swallows.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7A5195", "#E69F00")
_QUIET, _INK, _GRID = "#777777", "#333333", "#e6e6e6"
_PAPER: Any = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
_RC: Any = {
    "font.size": 9.5,
    "axes.edgecolor": "#bbbbbb",
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.parse_math": False,
}
# Families with Chinese letters as matplotlib names them, and what the names of their files begin with.
_CHINESE = {
    "Noto Sans CJK SC": "notosanscjk", "Noto Sans CJK JP": "notosanscjk", "Noto Sans SC": "notosanssc",
    "Source Han Sans SC": "sourcehansans", "PingFang SC": "pingfang", "Microsoft YaHei": "msyh",
    "WenQuanYi Micro Hei": "wqy-microhei", "SimHei": "simhei",
}  # fmt: skip
_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_STEPS = 300
# Of the figure's width, for the words beside a margin.
_LABEL_SHARE = 0.35
_TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "questions": "questions",
        "share": "share of the pool",
        "margin": "margin of error (half the 95% interval), points of 100",
        "title": "{pool}: {questions:,} questions, {models} models",
        "band": "bands: 10% to 90% of held-out models, {splits} splits",
        "repeats": "points with bars: {repeats} draws a split, mean and 10% to 90%",
        "knee": "knee: {size:,} questions ({rate:.1%}), ±{margin:.2f}",
        "needed": "±{asked:g}: {size:,}",
        "by_chance": "±{asked:g}: {size:,}, random {random:,}",
    },
    "zh": {
        "questions": "题目数",
        "share": "占题库的比例",
        "margin": "误差范围（95% 置信区间的一半），百分点",
        "title": "{pool}：{questions:,} 道题，{models} 个模型",
        "band": "色带：留出模型的 10% 至 90%，{splits} 次划分",
        "repeats": "带误差线的点：每次划分抽取 {repeats} 次，均值及 10% 至 90%",
        "knee": "拐点：{size:,} 题（{rate:.1%}），±{margin:.2f}",
        "needed": "±{asked:g}：{size:,} 题",
        "by_chance": "±{asked:g}：{size:,} 题，随机抽样 {random:,} 题",
    },
}


class BadPicture(InterplayError):
    """A picture that cannot be drawn so."""


def form_of(file: Path) -> Form:
    """The form that a file's name asks for.

    Raises:
        BadPicture: It ends neither in .svg nor in .png.
    """
    ending = file.suffix.lower()
    if ending == ".svg":
        return "svg"
    if ending == ".png":
        return "png"
    raise BadPicture(f"{file}: a picture is .svg or .png")


def curve_picture(curve: Curve, form: Form = "svg", language: Language = "en") -> bytes:
    """Draw the curve; the same curve gives the same bytes.

    In an SVG the reader's fonts draw the letters; a PNG takes those of this computer.

    Args:
        curve: With the margins that were asked for, which are marked.
        form: Of the file.
        language: Of all text.

    Raises:
        BadPicture: A PNG in Chinese needs a font that is not here.
    """
    settings = dict(_RC)
    if form == "png" and language == "zh":
        settings["font.family"] = [_chinese_font(), "sans-serif"]
    with drawing("curve", settings):
        figure = _draw(curve, _TEXTS[language])
        if form == "svg":
            return as_svg(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=160, metadata={"Software": None})
        return drawn.getvalue()


def _chinese_font() -> str:
    from matplotlib.font_manager import findSystemFonts, fontManager

    # matplotlib remembers the fonts of its first start: those that came later are told to it.
    later = set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}
    for file in sorted(later):
        if Path(file).name.lower().startswith(tuple(_CHINESE.values())):
            fontManager.addfont(file)
    there = {font.name for font in fontManager.ttflist}
    for name in _CHINESE:
        if name in there:
            return name
    raise BadPicture("no font with Chinese letters is known to matplotlib here: install Noto Sans CJK, or write a .svg")


def _draw(curve: Curve, texts: dict[str, str]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    axes = figure.subplots()
    colours = {one.sampler: _COLOURS[place % len(_COLOURS)] for place, one in enumerate(curve.samplers, start=-1)}
    colours[RANDOM] = _QUIET
    for place, one in enumerate(curve.samplers):
        _line(axes, curve, one, colours[one.sampler])
        # Beside each other, so that no bar hides another.
        _bars(axes, one, colours[one.sampler], 1.018 ** (place - (len(curve.samplers) - 1) / 2))
    _frame(axes, curve, texts)
    _marks(axes, curve, colours[curve.chosen], texts)
    axes.legend(
        frameon=False, loc="upper right", title=_legend_title(curve, texts), title_fontsize=8, alignment="right"
    )
    axes.set_title(
        texts["title"].format(pool=short_name(curve.pool), questions=curve.questions, models=curve.models),
        loc="left", color=_INK, fontsize=11,
    )  # fmt: skip
    return figure


def _legend_title(curve: Curve, texts: dict[str, str]) -> str:
    lines = [texts["band"].format(splits=curve.splits)]
    if curve.repeats:
        lines.append(texts["repeats"].format(repeats=curve.repeats))
    return "\n".join(lines)


def _line(axes: "Axes", curve: Curve, one: SamplerCurve, colour: str) -> None:
    sizes = np.array([point.size for point in one.points], dtype=np.float64)
    along = np.geomspace(sizes[0], curve.questions, _STEPS)
    heights = 100 * curve.line(one.sampler).margin_at(along)
    style = "--" if one.sampler == RANDOM else "-"
    axes.plot(along, heights, style, color=colour, linewidth=1.8, label=one.sampler, zorder=3)
    ends = []
    for end in ("low", "high"):
        shares = [getattr(point, end) / point.margin if point.margin else 1.0 for point in one.points]
        ends.append(heights * np.interp(np.log(along), np.log(sizes), shares))
    axes.fill_between(along, ends[0], ends[1], color=colour, alpha=0.13, linewidth=0, zorder=1)


def _bars(axes: "Axes", one: SamplerCurve, colour: str, beside: float) -> None:
    for point in one.repeated:
        if point.margin is None or point.low is None or point.high is None:
            continue
        bars = [[100 * (point.margin - point.low)], [100 * (point.high - point.margin)]]
        axes.errorbar([point.size * beside], [100 * point.margin], bars, fmt="o", color=colour, markersize=4,
                      capsize=2.5, elinewidth=1, zorder=4)  # fmt: skip


def _frame(axes: "Axes", curve: Curve, texts: dict[str, str]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    smallest = curve.samplers[0].points[0].size
    axes.set_xscale("log")
    axes.set_xlim(smallest / 1.06, curve.questions * 1.04)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(texts["questions"])
    axes.set_ylabel(texts["margin"])
    ticks = _round_numbers(smallest, curve.questions)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    total = curve.questions
    above = axes.secondary_xaxis(
        "top", functions=(lambda size: np.asarray(size) / total, lambda share: np.asarray(share) * total)
    )
    above.xaxis.set_major_locator(FixedLocator([share for share in _SHARES if share * total >= smallest / 1.06]))
    above.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    above.xaxis.set_minor_locator(NullLocator())
    above.set_xlabel(texts["share"])
    above.spines["top"].set_color("#bbbbbb")


def _round_numbers(smallest: int, largest: int) -> list[float]:
    powers = range(int(np.log10(smallest)), int(np.log10(largest)) + 1)
    return [
        digit * 10.0**power
        for power in powers
        for digit in (1, 2, 5)
        if smallest / 1.06 <= digit * 10.0**power <= largest
    ]


def _marks(axes: "Axes", curve: Curve, colour: str, texts: dict[str, str]) -> None:
    one = curve.of(curve.chosen)
    for needed in one.needed:
        _asked(axes, curve, needed, colour, texts)
    if one.knee is None:
        return
    at = (one.knee.size, 100 * one.knee.margin)
    axes.plot(*at, "D", color="white", markeredgecolor=colour, markeredgewidth=1.8, markersize=7, zorder=6)
    label = texts["knee"].format(size=one.knee.size, rate=one.knee.rate, margin=at[1])
    axes.annotate(
        label, at, xytext=(34, 56), textcoords="offset points", color=_INK, bbox=_PAPER, zorder=7,
        arrowprops={"arrowstyle": "-", "color": _QUIET, "linewidth": 0.8, "shrinkB": 5},
    )  # fmt: skip


def _asked(axes: "Axes", curve: Curve, needed: Needed, colour: str, texts: dict[str, str]) -> None:
    assert needed.asked is not None
    height = 100 * needed.asked
    left = curve.samplers[0].points[0].size / 1.06
    right = max(needed.random_size, needed.size)
    axes.plot([left, right], [height] * 2, ":", color=_INK, linewidth=1, zorder=2)
    for size, shade in ((needed.random_size, _QUIET), (needed.size, colour)):
        axes.plot([size] * 2, [0, height], ":", color=shade, linewidth=1.2, zorder=2)
    key = "needed" if curve.chosen == RANDOM else "by_chance"
    label = texts[key].format(asked=height, size=needed.size, random=needed.random_size)
    # Below the curves, if there is room for it, else beyond them.
    has_room = np.log(needed.size / left) > _LABEL_SHARE * np.log(curve.questions / left)
    at, offset = (left, (5, 5)) if has_room else (right, (9, 4))
    axes.annotate(
        label, (at, height), xytext=offset, textcoords="offset points", color=_INK, fontsize=9, bbox=_PAPER, zorder=5
    )
