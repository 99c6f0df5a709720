"""Pools of scores in a list, and one of them: its numbers, a picture of its scores, its models."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation_ui.html import data_address
from annotation_ui.views.paging import paging
from annotation_ui.words import N_, Words
from compression.matrix import MissingRule
from compression.pool_picture import PoolPicture, PoolState
from compression.pool_view import ModelView
from warehouse.spreadsheets import Cell

MODELS_PAGE_SIZE = 25
SORTS = {
    "best": N_("Best first"),
    "worst": N_("Worst first"),
    "name": N_("By name"),
    "family": N_("By family"),
    "lacking": N_("Most missing first"),
}
RULES = {
    MissingRule.DROP: N_("Leave out models that lack over 5%, then questions"),
    MissingRule.DROP_QUESTIONS: N_("Leave out questions that a model lacks"),
    MissingRule.DROP_MODELS: N_("Leave out models that lack a question"),
    MissingRule.IMPUTE: N_("Fill in from like questions"),
}
_LOW, _HIGH, _NONE = (238, 242, 247), (24, 66, 112), (250, 224, 178)
_HIGH_BEHIND = (111, 147, 184)
# A heat map is so high at most where its rows can be this low, and they are no higher than a name needs.
_MOST_HEIGHT_PX, _ROW_PX, _NAME_PX = 900, 18, 16


@dataclass(frozen=True)
class PoolRow:
    """A pool in the list; `facts` is empty where nobody looked at it yet."""

    name: str
    size: str
    facts: str
    mean: str
    share: float


@dataclass(frozen=True)
class Heat:
    """A picture with models down and parts of the questions along: a data address, and names beside some rows."""

    address: str
    height_px: int
    names: Sequence[tuple[str, int]]
    alt: str
    has_gaps: bool


@dataclass(frozen=True)
class BenchmarkRow:
    """A benchmark of a pool."""

    name: str
    questions: str
    models: str
    mean: str
    share: float
    nobody: str
    everybody: str
    constant: str


@dataclass(frozen=True)
class ModelRow:
    """A model of a pool; `low` and `high` are the ends of its interval in [0, 1]."""

    name: str
    family: str
    answered: str
    lacking: str
    mean: str
    margin: str
    share: float
    low: float
    high: float
    by_benchmark: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ModelsPage:
    """One page of models."""

    rows: Sequence[ModelRow]
    total: int
    page_count: int


def pool_rows(
    known: Sequence[tuple[PoolState, PoolPicture | None]], subsets: Mapping[str, int], t: Words
) -> list[PoolRow]:
    """The list of pools."""
    rows = []
    for state, picture in known:
        if picture is None:
            size = t.plural("{count} score", "{count} scores", state.rows)
            rows.append(PoolRow(state.pool, size, "", "", 0.0))
            continue
        facts = [t.plural("{count} benchmark", "{count} benchmarks", len(picture.view.benchmarks)), missing(picture, t)]
        if state.pool in subsets:
            facts.append(t.plural("{count} subset", "{count} subsets", subsets[state.pool]))
        rows.append(PoolRow(state.pool, size_of(picture, t), " · ".join(facts), t.percent(picture.mean), picture.mean))
    return rows


def size_of(picture: PoolPicture, t: Words) -> str:
    """As "1,901 questions × 19 models"."""
    questions = t.plural("{count} question", "{count} questions", picture.questions)
    models = t.plural("{count} model", "{count} models", len(picture.view.models))
    return f"{questions} × {models}"


def missing(picture: PoolPicture, t: Words) -> str:
    """What is missing, in words."""
    cells = picture.view.missing
    if not cells:
        return t("no score missing")
    share = t.percent(cells / (picture.questions * len(picture.view.models)))
    return t("{count} scores missing ({share})", count=t.number(cells), share=share)


def facts_of(picture: PoolPicture, t: Words) -> list[tuple[str, str]]:
    """What is said of a pool before all."""
    view = picture.view
    constant = sum(one.constant for one in view.benchmarks)
    facts = [
        (t("Mean score"), t.percent(picture.mean)),
        (t("Missing"), missing(picture, t)),
        (
            t("One score for all"),
            t("{count} questions ({share}), which tell models apart in nothing", count=t.number(constant),
              share=t.percent(constant / picture.questions)),
        ),
    ]  # fmt: skip
    if view.patterns is not None:
        facts.append((t("Different questions"), t("{count} by benchmark or scores", count=t.number(view.patterns))))
    if view.merged:
        facts.append((t("Merged"), t("{count} rows repeated another", count=t.number(view.merged))))
    return facts


def families(picture: PoolPicture, t: Words) -> tuple[str, Sequence[str]]:
    """How families are known, and which have several members."""
    told = any(one.family for one in picture.view.models)
    how = (
        t("As told with the scores.")
        if told
        else t("By their scores: models that agree beyond what difficulty explains.")
    )
    return how, [t(", ").join(names) for names in picture.view.families]


def remainders(picture: PoolPicture, t: Words) -> list[tuple[str, str, str, str]]:
    """What each rule for missing scores would leave: rule, questions, models, scores filled in."""
    return [
        (t(RULES[one.rule]), t.number(one.questions), t.number(one.models), t.number(one.imputed))
        for one in picture.view.remainders
    ]


def usual_rule(picture: PoolPicture) -> MissingRule:
    """The first rule for missing scores that leaves something."""
    return next((one.rule for one in picture.view.remainders if one.questions), MissingRule.DROP)


def benchmark_rows(picture: PoolPicture, t: Words) -> list[BenchmarkRow]:
    """The benchmarks by name."""
    return [
        BenchmarkRow(
            name=one.benchmark,
            questions=t.number(one.questions),
            models=t.number(one.models),
            mean=t.percent(one.mean),
            share=one.mean,
            nobody=t.percent(one.nobody / one.questions),
            everybody=t.percent(one.everybody / one.questions),
            constant=t.percent(one.constant / one.questions),
        )
        for one in picture.view.benchmarks
    ]


def heat(picture: PoolPicture, t: Words) -> Heat:
    """Models (the best first) by parts of the questions (hardest first): dark where a model scores high."""
    grid = np.array(picture.by_difficulty, dtype=np.float64).T
    models = [one.model for one in picture.view.models]
    row_px = min(_ROW_PX, max(2, _MOST_HEIGHT_PX // len(models)))
    every = -(-_NAME_PX // row_px)
    groups = [models[place : place + every] for place in range(0, len(models), every)]
    return Heat(
        address=_picture(grid),
        height_px=row_px * len(models),
        # A last one that is lower than a line stays without its name.
        names=[(group[0] if len(group) == every else "", row_px * len(group)) for group in groups],
        has_gaps=bool(np.isnan(grid).any()),
        alt=t(
            "Scores of {models} models, best on top, on {parts} equal parts of the questions, hardest on the left.",
            models=t.number(len(models)), parts=t.number(grid.shape[1]),
        ),
    )  # fmt: skip


def part_size(picture: PoolPicture) -> int:
    """About how many questions a part of the heat map has."""
    return max(1, round(picture.questions / len(picture.by_difficulty)))


def models_page(picture: PoolPicture, t: Words, sort: str, text: str = "", page: int = 1) -> ModelsPage:
    """One page of the models in the order that was asked for, narrowed to a part of a name or a family."""
    wanted = _sorted(picture, sort, text)
    at = paging(len(wanted), MODELS_PAGE_SIZE, page)
    return ModelsPage([_model_row(picture, place, t) for place in wanted[at.rows]], len(wanted), at.page_count)


def model_columns(picture: PoolPicture, t: Words) -> list[str]:
    """Heads of the table of models that can be saved."""
    heads = [t("Model"), t("Family"), t("Answered"), t("Missing"), t("Mean score"), t("Margin of error")]
    return heads + [one.benchmark for one in picture.view.benchmarks]


def model_cells(picture: PoolPicture) -> Iterable[Sequence[Cell]]:
    """All models, the best first."""
    for place, one in enumerate(picture.view.models):
        means = [row[place] for row in picture.by_benchmark]
        yield [one.model, one.family, one.answered, one.lacking, one.mean, picture.margins[place], *means]


def shade(share: float) -> str:
    """The colour of a share in [0, 1] as CSS, never so dark that letters could not be read on it."""
    red, green, blue = (round(255 + (high - 255) * share) for high in _HIGH_BEHIND)
    return f"background:rgb({red},{green},{blue})"


def _sorted(picture: PoolPicture, sort: str, text: str) -> list[int]:
    models = picture.view.models
    words = text.strip().casefold()
    places = [
        place
        for place, one in enumerate(models)
        if words in one.model.casefold() or words in (one.family or "").casefold()
    ]

    def by_family(place: int) -> tuple[bool, str]:
        one: ModelView = models[place]
        return one.family is None, one.family or ""

    if sort == "worst":
        return places[::-1]
    if sort == "name":
        return sorted(places, key=lambda place: models[place].model.casefold())
    if sort == "family":
        return sorted(places, key=by_family)
    if sort == "lacking":
        return sorted(places, key=lambda place: -models[place].lacking)
    return places


def _model_row(picture: PoolPicture, place: int, t: Words) -> ModelRow:
    one, margin = picture.view.models[place], picture.margins[place]
    means = [row[place] for row in picture.by_benchmark]
    return ModelRow(
        name=one.model,
        family=one.family or "",
        answered=t.number(one.answered),
        lacking=t.number(one.lacking) if one.lacking else "",
        mean=t.percent(one.mean),
        margin="" if margin is None else f"± {100 * margin:.1f}",
        share=one.mean,
        low=max(0.0, one.mean - (margin or 0.0)),
        high=min(1.0, one.mean + (margin or 0.0)),
        by_benchmark=[("–", "") if mean is None else (f"{100 * mean:.0f}", shade(mean)) for mean in means],
    )


def _picture(grid: NDArray[np.float64]) -> str:
    """The address of a PNG with one pixel for each number in [0, 1]; what is no number has a colour of its own."""
    from PIL import Image

    low, high = np.array(_LOW, dtype=np.float64), np.array(_HIGH, dtype=np.float64)
    pixels = low + (high - low) * np.nan_to_num(grid)[..., None]
    pixels[np.isnan(grid)] = _NONE
    buffer = io.BytesIO()
    Image.fromarray(pixels.round().astype(np.uint8), "RGB").save(buffer, "PNG")
    return data_address(buffer.getvalue(), "image/png")
