"""The cost-benefit curve of a pool in words and tables, the size that it leads to, and strata."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation_ui.pools.kept import KeptCurve, KeptStrata
from annotation_ui.words import N_, Words
from compression.curve_values import Curve, CurvePoint, Needed
from warehouse.spreadsheets import Cell

RANDOM = "random"
# Samplers that subsets can be chosen with, the default first; what each does, in a few words.
SAMPLERS = {
    "adaptive": N_("Adaptive: tunes itself on models that it leaves out (the default)"),
    "random": N_("Random: draws from all questions alike"),
    "benchmark": N_("Benchmark: a stratum for each benchmark"),
    "cghs": N_("CGHS: strata of like scores, as UNO-Bench makes them"),
    "fused": N_("Fused: strata of like scores and benchmarks"),
    "neyman": N_("Neyman: fused, and more where models vary more"),
    "random+greg": N_("Random, with a regression on the models of the pool"),
    "benchmark+greg": N_("Benchmark, with a regression on the models of the pool"),
    "cghs+greg": N_("CGHS, with a regression on the models of the pool"),
    "fused+greg": N_("Fused, with a regression on the models of the pool"),
    "neyman+greg": N_("Neyman, with a regression on the models of the pool"),
    "anchor": N_("Anchor points: the middle of each cluster. Its estimates have no interval."),
}
WITHOUT_STRATA = frozenset({"anchor"})
BY_SIZE, BY_MARGIN, BY_BUDGET = "size", "margin", "budget"


@dataclass(frozen=True)
class SizeRow:
    """What a size means with one sampler; `is_chosen` marks the one that is told of."""

    sampler: str
    questions: str
    share: str
    margin: str
    gain: str
    random: str
    is_chosen: bool


@dataclass(frozen=True)
class StratumRow:
    """A stratum in words; `share` is what is drawn of it, `mean` its difficulty, both in [0, 1]."""

    number: int
    questions: str
    drawn: str
    share: float
    mean: str
    mean_share: float
    spread: str
    benchmarks: str


def sampler_words(t: Words, name: str) -> str:
    """What a sampler does; one that we have no words for stays readable."""
    return t(SAMPLERS[name]) if name in SAMPLERS else name


def points(margin: float) -> str:
    """A margin in [0, 1] as points of 100."""
    return f"{100 * margin:.2f}"


def smallest(curve: Curve) -> int:
    """The smallest size that the curve knows."""
    return curve.samplers[0].points[0].size


def start_size(curve: Curve) -> int:
    """Where the chooser begins: at the size for the margin that was asked for, else at the knee, else a tenth."""
    chosen = curve.of(curve.chosen)
    if chosen.needed:
        return chosen.needed[0].size
    return chosen.knee.size if chosen.knee is not None else max(smallest(curve), curve.questions // 10)


def size_for_margin(curve: Curve, sampler: str, margin: float) -> int:
    """The size that a margin in (0, 1) needs, read from the curve."""
    known = {needed.asked: needed.size for needed in curve.of(sampler).needed}
    return known.get(margin) or curve.line(sampler).size_for(margin)


def size_for_budget(curve: Curve, budget_usd: float, answer_usd: float, models: int) -> int:
    """How many questions can be put to so many models; from none to all."""
    if answer_usd <= 0 or models < 1:
        return curve.questions
    # Just above, for a tenth has no exact binary form.
    return min(curve.questions, math.floor(budget_usd / (answer_usd * models) + 1e-9))


def cost_sentence(size: int, answer_usd: float, models: int, t: Words) -> str:
    """What the answers cost."""
    return t(
        "{questions} questions to {models} models are {answers} answers, for {cost} US dollars.",
        questions=t.number(size), models=t.number(models), answers=t.number(size * models),
        cost=t.number(round(size * models * answer_usd, 2)),
    )  # fmt: skip


def size_rows(curve: Curve, size: int, sampler: str, t: Words) -> list[SizeRow]:
    """What so many questions mean with each sampler of the curve."""
    by_chance = curve.line(RANDOM)
    more = min(size + curve.one_percent, curve.questions)
    rows = []
    for one in curve.samplers:
        line = curve.line(one.sampler)
        margin = float(line.margin_at(size))
        needs = size if one.sampler == RANDOM or not margin else by_chance.size_for(margin)
        rows.append(
            SizeRow(
                sampler=one.sampler,
                questions=t.number(size),
                share=t.percent(size / curve.questions),
                margin=f"± {points(margin)}",
                gain=points(margin - float(line.margin_at(more))),
                random="" if one.sampler == RANDOM else t.number(needs),
                is_chosen=one.sampler == sampler,
            )
        )
    return rows


def size_sentence(curve: Curve, size: int, sampler: str, t: Words) -> str:
    """What a size is worth, in one sentence."""
    margin = float(curve.line(sampler).margin_at(size))
    return t(
        "A new model that answers {count} of {all} questions ({share}) is known to within ± {margin} points of 100.",
        count=t.number(size), all=t.number(curve.questions), share=t.percent(size / curve.questions),
        margin=points(margin),
    )  # fmt: skip


def findings(curve: Curve, t: Words) -> list[str]:
    """What the curve says, in sentences: the margin that was asked for, and the knee."""
    chosen = curve.of(curve.chosen)
    told = [_needed_words(curve, needed, t) for needed in chosen.needed]
    if chosen.knee is not None:
        told.append(
            t(
                "From {count} questions ({share}) on, more of them buy little: there the curve has its knee.",
                count=t.number(chosen.knee.size),
                share=t.percent(chosen.knee.rate),
            )
        )
    return told


def made_of(kept: KeptCurve, t: Words) -> str:
    """How a curve was measured."""
    curve = kept.curve
    return t(
        "Measured on models that were left out, in {splits} splits of {models} models. Worked out by {name}, {when}.",
        splits=t.number(curve.splits), models=t.number(curve.models),
        name=kept.by, when=t.moment(kept.at),
    )  # fmt: skip


def curve_columns(curve: Curve, t: Words) -> list[str]:
    """Heads of the table behind the curve: for each sampler the margin and its ends."""
    heads = [t("Number of questions"), t("Share")]
    for one in curve.samplers:
        heads += [
            one.sampler,
            t("{name}, lowest tenth", name=one.sampler),
            t("{name}, highest tenth", name=one.sampler),
        ]
    return [*heads, t("1% more gains"), t("Random needs")]


def curve_cells(curve: Curve) -> Iterable[Sequence[Cell]]:
    """The numbers behind the curve, a row for each size; margins in [0, 1]."""
    chosen = curve.of(curve.chosen)
    for place, point in enumerate(chosen.points):
        cells: list[Cell] = [point.size, point.rate]
        for one in curve.samplers:
            here = one.points[place]
            cells += [here.margin, here.low, here.high]
        yield [*cells, point.gain, point.random_size]


def curve_table(curve: Curve, t: Words) -> list[tuple[str, str, Sequence[tuple[str, str]], str, str]]:
    """The same in words: questions, share, for each sampler margin and range, gain, random's need."""
    return [
        (
            t.number(point.size),
            t.percent(point.rate),
            [_margin_words(one.points[place]) for one in curve.samplers],
            points(point.gain),
            t.number(point.random_size),
        )
        for place, point in enumerate(curve.of(curve.chosen).points)
    ]


def repeat_table(curve: Curve, t: Words) -> list[tuple[str, str, str, str, str]]:
    """What repeated draws gave beside the closed form: sampler, size, margin by draws, in closed form, coverage."""
    rows = []
    for one in curve.samplers:
        margins = {point.size: point.margin for point in one.points}
        for drawn in one.repeated:
            margin = "–" if drawn.margin is None else points(drawn.margin)
            coverage = "–" if drawn.coverage is None else t.percent(drawn.coverage)
            rows.append((one.sampler, t.number(drawn.size), margin, points(margins[drawn.size]), coverage))
    return rows


def curve_label(kept: KeptCurve, t: Words) -> str:
    """How one of several curves is told from the others."""
    return f"{t.moment(kept.at)} · {', '.join(kept.settings.samplers)}"


def strata_rows(kept: KeptStrata, t: Words) -> list[StratumRow]:
    """Strata in words, the hardest first."""
    return [
        StratumRow(
            number=number,
            questions=t.number(one.questions),
            drawn=t.number(one.drawn),
            share=one.drawn / one.questions,
            mean=t.percent(one.mean),
            mean_share=one.mean,
            spread=f"{one.spread:.2f}",
            benchmarks=_benchmarks(one.benchmarks, one.others, t),
        )
        for number, one in enumerate(kept.view.strata, start=1)
    ]


def strata_words(kept: KeptStrata, t: Words) -> str:
    """What the strata are of."""
    return t(
        "{strata} strata by {sampler} for {size} of {questions} questions.",
        strata=t.number(len(kept.view.strata)), sampler=kept.settings.sampler, size=t.number(kept.view.size),
        questions=t.number(kept.view.questions),
    )  # fmt: skip


def _needed_words(curve: Curve, needed: Needed, t: Words) -> str:
    values = {
        "margin": points(needed.asked or needed.margin),
        "sampler": curve.chosen,
        "count": t.number(needed.size),
        "share": t.percent(needed.rate),
    }
    if curve.chosen == RANDOM:
        return t("For ± {margin} points {sampler} needs {count} questions ({share}).", **values)
    return t(
        "For ± {margin} points {sampler} needs {count} questions ({share}); drawn at random it takes {random}.",
        random=t.number(needed.random_size), **values,
    )  # fmt: skip


def _margin_words(point: CurvePoint) -> tuple[str, str]:
    return f"± {points(point.margin)}", f"{points(point.low)}–{points(point.high)}"


def _benchmarks(named: Sequence[tuple[str, int]], others: int, t: Words) -> str:
    told = [f"{name} {t.number(count)}" for name, count in named]
    return t(", ").join([*told, t("others {count}", count=t.number(others))] if others else told)
