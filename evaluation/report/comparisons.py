"""Tables that compare: the leaderboard, neighbours in it, what is lost without a modality, twin groups, costs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from core.condition import FULL
from evaluation.metrics import adjacent_gaps, holm, rank_intervals
from evaluation.report.document import Cell, Column, Number, Plain, Row, Selection, Table, TableCell
from evaluation.report.frame import Frame
from evaluation.report.items import ItemFacts, blind_ceiling

SEED = 0
# Conditions that take something away, by the beginnings of their names; captions put something in its place.
TAKEN_AWAY = ("without_", "text_only", "options_only", "donor_for_")
_FULL: Selection = {"condition": (FULL.name,)}


def condition_order(name: str) -> tuple[int, str]:
    """Full first, then what leaves out one modality, then the rest."""
    order = ("full", "without_", "caption_", "transcript_", "donor_", "text_only", "options_only")
    return next((place for place, start in enumerate(order) if name.startswith(start)), len(order)), name


def conditions_in_order(cells: Iterable[Cell]) -> list[str]:
    """The conditions of some cells, in reading order."""
    return sorted({cell.condition for cell in cells}, key=condition_order)


def ranking(frame: Frame, people: Sequence[str], among: Selection | None = None) -> list[str]:
    """Models by their points under full, best first and unmeasured ones last; persons stand before all models."""
    shown = {**_FULL, **(among or {})}
    points = {model: frame.number({"model": (model,), **shown}).points for model in frame.names("model", among)}

    def place(model: str) -> tuple[bool, bool, float, str]:
        found = points[model]
        return model not in people, found is None, -(found or 0.0), model

    return sorted(points, key=place)


def leaderboard(
    frame: Frame, models: Sequence[str], people: Sequence[str], among: Selection | None = None
) -> Table | None:
    """Rank, points and what the data say of the rank; persons have no rank.

    `models` as `ranking` gives them; `among` narrows the questions.
    """
    shown = {**_FULL, **(among or {})}
    numbers = {model: frame.number({"model": (model,), **shown}) for model in models}
    ranked = [model for model in models if model not in people and numbers[model].points is not None]
    if not any(number.points is not None for number in numbers.values()):
        return None
    ranks: dict[str, tuple[int, int]] = {}
    if ranked:
        points = np.array([frame.by_item(numbers[model].selection) for model in ranked])
        found = rank_intervals(points, frame.item_cluster, np.random.default_rng(SEED))
        ranks = dict(zip(ranked, found, strict=True))
    rows = []
    for model in models:
        number, ends = numbers[model], ranks.get(model)
        # Sums of the same points in another order differ in their last digits.
        place = 1 + sum((numbers[one].points or 0.0) > (number.points or 0.0) + 1e-9 for one in ranked)
        told = Plain(text=str(place), value=place) if ends else Plain(text="person" if model in people else "-")
        ends_text = Plain(
            text=f"{ends[0]} to {ends[1]}" if ends and ends[0] < ends[1] else str(ends[0]) if ends else ""
        )
        rows.append(Row(label=model, cells=(told, number, ends_text)))
    return Table(
        key="leaderboard",
        title="Leaderboard",
        note="Mean points over all questions, asked in full. Rank, 95%: how far the rank moves when the questions are "
        "drawn anew, in whole clusters."
        + _coverage_told(*coverage(frame, [numbers[model].selection for model in ranked])),
        head="model",
        columns=(Column(title="Rank"), Column(title="Points"), Column(title="Rank, 95%")),
        rows=tuple(rows),
    )


def coverage(frame: Frame, selections: Iterable[Selection]) -> tuple[int, int]:
    """How many questions are graded in every one of some selections, and in any; none of none."""
    graded = [~np.isnan(frame.by_item(one)) for one in selections]
    if not graded:
        return 0, 0
    return int(np.logical_and.reduce(graded).sum()), int(np.logical_or.reduce(graded).sum())


def _coverage_told(for_all: int, for_any: int) -> str:
    """What to say of models that are not graded on the same questions; nothing if they are."""
    if for_all == for_any:
        return ""
    return (
        f" Of {for_any:,} questions {for_all:,} are graded for every model: the points of different models stand for "
        "different questions, and only the gaps between neighbours are over the same ones."
    )


def conditions_table(cells: Sequence[Cell], models: Sequence[str]) -> Table:
    """A row for each model and kind of question, a column for each condition."""
    conditions = conditions_in_order(cells)
    by_place = {(cell.model, cell.kind, cell.condition): cell for cell in cells}
    kinds = list(dict.fromkeys(cell.kind for cell in cells))
    rows = [
        Row(
            label=f"{model}, {kind.replace('_', '-')}" if len(kinds) > 1 else model,
            cells=tuple(_shown(by_place, model, kind, condition) for condition in conditions),
        )
        for kind in kinds
        for model in models
        if any(cell.model == model and cell.kind == kind for cell in cells)
    ]
    return Table(
        key="conditions",
        title="Points by condition",
        note="Every model, kind of question and condition that was asked.",
        head="model",
        columns=tuple(Column(title=name.replace("_", " ")) for name in conditions),
        rows=tuple(rows),
    )


def drops(frame: Frame, models: Sequence[str]) -> Table | None:
    """How many points each model loses when something is taken away, item by item (OmniPlay's ablation)."""
    conditions = sorted((name for name in frame.names("condition") if name.startswith(TAKEN_AWAY)), key=condition_order)
    if not conditions or FULL.name not in frame.names("condition"):
        return None
    losses = [
        [
            frame.difference(
                {"model": (model,), **_FULL},
                {"model": (model,), "condition": (name,)},
                np.random.default_rng(SEED),
            )
            for name in conditions
        ]
        for model in models
    ]
    adjusted = with_holm([loss for row in losses for loss in row])
    rows = []
    for place, model in enumerate(models):
        cells = adjusted[place * len(conditions) : (place + 1) * len(conditions)]
        rows.append(Row(label=model, cells=(frame.number({"model": (model,), **_FULL}), *cells)))
    return Table(
        key="drops",
        title="What is lost without",
        note="Points in full less points under the condition, over the questions that were answered both ways. A star: "
        "p under .05 with Holm's correction over the whole table.",
        head="model",
        columns=(Column(title="full"), *(Column(title=name.replace("_", " "), group="lost") for name in conditions)),
        rows=tuple(rows),
    )


def neighbours(frame: Frame, models: Sequence[str], people: Sequence[str]) -> Table | None:
    """Gaps between neighbours in the leaderboard: which of them the questions tell apart."""
    selections: dict[str, Selection] = {model: {"model": (model,), **_FULL} for model in models if model not in people}
    points = {model: frame.by_item(selection) for model, selection in selections.items()}
    ranked = [model for model in points if not np.isnan(points[model]).all()]
    if len(ranked) < 2:
        return None
    found = adjacent_gaps(
        np.array([points[model] for model in ranked]),
        range(len(ranked)),
        frame.item_cluster,
        np.random.default_rng(SEED),
    )
    rows = []
    for gap in found:
        better, worse = ranked[gap.better], ranked[gap.worse]
        number = frame.paired_number(gap.difference, selections[better], selections[worse])
        number = number.model_copy(update={"p_holm": gap.p_holm})
        told = Plain(text="yes" if gap.told_apart else "no", value=gap.told_apart)
        cells = (number, _p(number.p), _p(gap.p_holm), _points(number.smallest_visible), told)
        rows.append(Row(label=f"{better} over {worse}", cells=cells))
    apart = sum(gap.told_apart for gap in found)
    titles = ("Gap", "p", "p, Holm", "Smallest visible", "Told apart")
    return Table(
        key="neighbours",
        title="Neighbours in the leaderboard",
        note=f"{apart} of {len(found)} neighbouring pairs are told apart ({100 * apart / len(found):.0f}%). Gaps are "
        "paired: over the questions that both answered. Smallest visible: the true gap that such a comparison, alone "
        "and so without Holm's correction, would find four times of five; a dash where it could find none.",
        head="pair",
        columns=tuple(Column(title=title) for title in titles),
        rows=tuple(rows),
    )


def twins(frame: Frame, models: Sequence[str], items: Iterable[ItemFacts]) -> Table | None:
    """How many twin groups each model gets wholly right, beside what a policy that sees no media could reach."""
    groups: dict[str, list[ItemFacts]] = {}
    for item in items:
        if item.twin_group:
            groups.setdefault(item.twin_group, []).append(item)
    conditions = sorted(frame.names("condition", {"twin": ("yes",)}), key=condition_order)
    if not groups or not conditions:
        return None
    ceiling = 100 * float(np.mean([blind_ceiling([one.question for one in members]) for members in groups.values()]))
    guesses = [_all_guessed(members) for members in groups.values()]
    known = [guess for guess in guesses if guess is not None]
    chance = 100 * float(np.mean(known)) if known else None
    blind = Plain(text=f"{ceiling:.1f}", value=ceiling)
    rows = [
        *(
            Row(
                label=model,
                cells=tuple(
                    frame.groups({"model": (model,), "condition": (name,), "twin": ("yes",)}) for name in conditions
                ),
            )
            for model in models
        ),
        Row(label="at most, without any media", cells=(blind,) * len(conditions)),
        Row(label="guessing", cells=(_points(chance),) * len(conditions)),
    ]
    return Table(
        key="twins",
        title="Twin groups",
        note="The share of groups of counterfactual twins of which every member is right; n counts groups. Members "
        "that read the same and have different answers cannot all be right for a policy that sees no media.",
        head="model",
        columns=tuple(Column(title=name.replace("_", " ")) for name in conditions),
        rows=tuple(rows),
    )


def costs(rows: Sequence[Mapping[str, Any]], labels: Mapping[tuple[str, str], str]) -> Table | None:
    """Calls, tokens, money and what came of the calls, by model; `rows` as `costs.sql` gives them."""
    if not rows:
        return None
    states = sorted({state for row in rows for state, _ in row["states"]} - {"ok"})
    titles = ("Calls", "Input tokens", "Output tokens", "Tokens unknown", "Cost, USD", "Cost unknown")
    return Table(
        key="costs",
        title="Calls and costs",
        note="Each call counts once, however often its answer was used again. Unknown: calls for which no tokens or "
        "no price were told; the sums leave them out. The last columns count calls without a usual answer, by state.",
        head="model",
        columns=tuple(Column(title=title) for title in (*titles, *(state.replace("_", " ") for state in states))),
        rows=tuple(
            Row(
                label="all" if row["model"] is None else labels[row["model"], row["parameters"]],
                cells=(
                    *(_count(row[name]) for name in ("calls", "input_tokens", "output_tokens", "tokens_unknown")),
                    _money(row["cost_usd"]),
                    *(_count(row[name]) for name in ("cost_unknown",)),
                    *(_count(dict(row["states"]).get(state, 0)) for state in states),
                ),
            )
            for row in rows
        ),
    )


def with_holm(numbers: Sequence[Number]) -> list[Number]:
    """The same differences, with Holm's correction over all of them that have a p."""
    adjusted = iter(holm([number.p for number in numbers if number.p is not None]))
    return [number if number.p is None else number.model_copy(update={"p_holm": next(adjusted)}) for number in numbers]


def _shown(by_place: Mapping[tuple[str, str, str], Cell], model: str, kind: str, condition: str) -> TableCell:
    selection = {"model": (model,), "kind": (kind,), "condition": (condition,)}
    found = by_place.get((model, kind, condition))
    return Number(points=None, selection=selection, reason="not asked") if found is None else as_number(found)


def as_number(cell: Cell) -> Number:
    """A cell as a table holds it."""
    return Number(**{name: getattr(cell, name) for name in Number.model_fields})


def _all_guessed(members: Sequence[ItemFacts]) -> float | None:
    shares = [member.chance for member in members]
    return None if None in shares else math.prod(share for share in shares if share is not None)


def _p(value: float | None) -> Plain:
    text = "-" if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
    return Plain(text=text, value=value)


def _points(value: float | None) -> Plain:
    return Plain(text="-" if value is None else f"{value:.1f}", value=value)


def _count(value: int | None) -> Plain:
    return Plain(text="unknown" if value is None else f"{value:,}", value=value)


def _money(value: float | None) -> Plain:
    return Plain(text="unknown" if value is None else f"{value:,.4f}" if value < 1 else f"{value:,.2f}", value=value)
