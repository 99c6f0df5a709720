"""The picture of before and after: the models' means on public questions and on those made after them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.taxonomy import Language
from curation.questions.telling_apart import BeforeAfter
from evaluation.svg import as_svg, drawing, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE_IN = (7.0, 4.6)
_BEFORE_COLOUR, _AFTER_COLOUR = "#7a7a7a", "#1f6feb"
_NEAREST = 0.03
"""Names stand at least so far from one another, as a share of the axis."""
_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "before": "Public questions",
        "after": "Private questions",
        "points": "Mean score",
        "told": "Standard deviation of the means: {before} before, {after} after",
    },
    "zh": {
        "before": "公开题",
        "after": "私有题",
        "points": "平均得分",
        "told": "各模型平均分的标准差：之前 {before}，之后 {after}",
    },
}


def telling_figure(found: BeforeAfter, language: Language = "en") -> bytes:
    """An SVG picture with a line for each model from its mean before to its mean after."""
    with drawing("telling"):
        from matplotlib.figure import Figure

        words = _WORDS[language]
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        axes = figure.subplots()
        after = dict(zip(found.after.models, found.after.means, strict=True))
        for model, mean in zip(found.before.models, found.before.means, strict=True):
            axes.plot([0, 1], [mean, after[model]], color="#c8ccd1", zorder=1)
        axes.scatter([0] * len(after), found.before.means, color=_BEFORE_COLOUR, zorder=2)
        axes.scatter([1] * len(after), found.after.means, color=_AFTER_COLOUR, zorder=2)
        _name(axes, found)
        axes.set_xlim(-0.15, 1.9)
        axes.set_xticks([0, 1], [words["before"], words["after"]])
        axes.set_ylabel(words["points"])
        axes.spines[["top", "right"]].set_visible(False)
        told = words["told"].format(before=found.before.deviation.told(3), after=found.after.deviation.told(3))
        axes.set_title(told, fontsize=10, loc="left")
        return as_svg(figure)


def _name(axes: "Axes", found: BeforeAfter) -> None:
    """Names beside the means after, moved apart where they would lie on one another."""
    low, high = axes.get_ylim()
    step = _NEAREST * (high - low)
    last = high + step
    for model, mean in zip(found.after.models, found.after.means, strict=True):
        last = min(mean, last - step)
        axes.annotate(
            short_name(model),
            (1, mean),
            (1.08, last),
            va="center",
            fontsize=8,
            arrowprops={"arrowstyle": "-", "color": "#c8ccd1", "linewidth": 0.5},
        )
