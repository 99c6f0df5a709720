"""`interplay compress curve`."""

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from compression import curve as curves
from compression.command_line import FamilyOption, MissingOption, PoolArgument, SeedOption, held_out_words
from compression.curve_plot import BadPicture, curve_picture, form_of
from compression.curve_values import Curve, CurvePoint, SamplerCurve
from compression.families import read_families
from compression.frame import share_to_size
from compression.matrix import MissingRule, read_matrix
from compression.pool import find_pool
from compression.validate import RANDOM
from core.taxonomy import Language
from warehouse.blobs import write_atomically
from warehouse.command_line import JsonOption, ProjectOption, show, show_table


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("curve")(curve)


def curve(
    pool: PoolArgument,
    sampler: Annotated[
        list[str] | None, typer.Option("--sampler", help="Beside random; repeat. Else cghs and the default.")
    ] = None,
    rate: Annotated[
        list[float] | None, typer.Option("--rate", help="Share of the questions, as 0.1; repeat. Else 1% to 75%.")
    ] = None,
    moe: Annotated[
        list[float] | None,
        typer.Option("--moe", help="Find the smallest size for this margin of error, as 0.02; repeat."),
    ] = None,
    splits: Annotated[
        int, typer.Option(min=1, help="Random splits into source and held-out models.")
    ] = curves.PROTOCOL.splits,
    repeats: Annotated[
        int, typer.Option(min=0, help="Draws a split, at three sizes, to confirm the curve.")
    ] = curves.PROTOCOL.repeats,
    seed: SeedOption = 0,
    family: FamilyOption = None,
    missing: MissingOption = MissingRule.DROP,
    answer_cost_usd: Annotated[
        float | None, typer.Option("--answer-cost-usd", min=0, help="Of one answer of one model, in US dollars.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it: a file .svg or .png.")] = None,
    language: Annotated[Language, typer.Option("--language", help="Of the picture.")] = "en",
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show what margin of error how many questions buy, where more buy little, and how many a margin needs.

    Example: interplay compress curve mmlu-pro --moe 0.02 --answer-cost-usd 0.002 --plot curve.svg
    """
    if answer_cost_usd is not None and not isfinite(answer_cost_usd):
        raise typer.BadParameter("--answer-cost-usd must be a sum in dollars, as 0.002")
    form = form_of(plot) if plot else "svg"
    if plot and not plot.parent.is_dir():
        raise BadPicture(f"--plot {plot}: there is no folder {plot.parent}; make it first")
    with find_pool(pool, project) as opened:
        matrix = read_matrix(opened, missing)
    found = curves.curve(
        matrix,
        sampler or curves.STANDARD,
        [share_to_size(share, None, len(matrix)) for share in rate] if rate else None,
        replace(curves.PROTOCOL, splits=splits, repeats=repeats, seed=seed),
        read_families(family) if family else None,
        moe or (),
        answer_cost_usd,
    )
    if plot:
        write_atomically(plot, curve_picture(found, form, language))
    if as_json:
        show(found.model_dump(mode="json"), (), True)
        return
    show(None, _head_lines(found), False)
    _show_points(found)
    if found.repeats:
        _show_repeats(found)
    show(None, _sentences(found), False)
    if plot:
        show(None, [f"picture: {plot}"], False)


def _head_lines(found: Curve) -> Iterable[str]:
    told = held_out_words(found.held_out)
    yield f"{found.pool}: {found.questions} questions, {found.models} models, {told} of them held out in each split"
    if found.missing.dropped_models:
        yield f"  left out, for lack of scores: {', '.join(found.missing.dropped_models)}"
    if found.missing.dropped_questions:
        yield f"  questions left out, for lack of a model's score: {found.missing.dropped_questions}"
    if found.missing.imputed_cells:
        yield f"  scores filled in: {found.missing.imputed_cells}"
    yield (
        "margin of error: half the 95% interval of a held-out model's mean score, in closed form, mean over held-out "
        f"models and {found.splits} splits ± SD over splits"
    )


def _show_points(found: Curve) -> None:
    chosen = found.of(found.chosen)
    columns: dict[str, list[str]] = {
        "share": [f"{point.rate:.1%}" for point in chosen.points],
        "questions": [str(point.size) for point in chosen.points],
    }
    if found.answer_cost_usd is not None:
        columns["all answers"] = [_usd(found, point.size) for point in chosen.points]
    for one in found.samplers:
        columns[one.sampler] = [_margin(point) for point in one.points]
    columns["1% more gains"] = [f"{point.gain:.4f}" for point in chosen.points]
    if found.chosen != RANDOM:
        columns["random needs"] = [
            f"{point.random_size} ({point.random_size / point.size:.2f} x)" for point in chosen.points
        ]
    show_table(None, list(columns), zip(*columns.values(), strict=True), False)


def _margin(point: CurvePoint) -> str:
    return f"{point.margin:.4f}" + ("" if point.margin_sd is None else f" ± {point.margin_sd:.4f}")


def _show_repeats(found: Curve) -> None:
    header = ["repeated draws", "questions", "margin", "closed form", "RMSE", "closed form", "coverage"]
    rows = []
    for one in found.samplers:
        points = {point.size: point for point in one.points}
        for drawn in one.repeated:
            point = points[drawn.size]
            margin, coverage = (
                "undefined" if value is None else f"{value:{form}}"
                for value, form in ((drawn.margin, ".4f"), (drawn.coverage, ".3f"))
            )
            rows.append([
                one.sampler, drawn.size, margin, f"{point.margin:.4f}", f"{drawn.rmse:.4f}",
                f"{point.design_rmse:.4f}", coverage,
            ])  # fmt: skip
    show_table(None, header, rows, False)


def _sentences(found: Curve) -> Iterable[str]:
    more = found.one_percent
    dollars = "" if found.answer_cost_usd is None else f", {_usd(found, more)}"
    told = "what it gains" if found.chosen == RANDOM else "what it gains, and what random needs for the same margin"
    yield (
        f"1% more of the pool: questions {more}, answers of all {found.models} models {more * found.models}{dollars}; "
        f"{told}, is told for {found.chosen}"
    )
    yield (
        f"knees (Kneedle, both axes linear, from {found.samplers[0].points[0].rate:.1%} to all; they move with that "
        f"range): {', '.join(_knee(one) for one in found.samplers)}"
    )
    for place, needed in enumerate(found.of(found.chosen).needed):
        cost = "" if found.answer_cost_usd is None else f", {_usd(found, needed.size)}"
        others = [f", {one.sampler} {one.needed[place].size}" for one in found.samplers if one.sampler != found.chosen]
        times = "" if found.chosen == RANDOM else f"; random needs {needed.random_size / needed.size:.2f} times as many"
        yield (
            f"margin {needed.asked:g}: {found.chosen} needs {needed.size} questions ({needed.rate:.1%}{cost}; margin "
            f"{needed.margin:.4f}){''.join(others)}{times}"
        )


def _knee(one: SamplerCurve) -> str:
    if one.knee is None:
        return f"{one.sampler} undefined (its margin is 0, or bends nowhere)"
    return f"{one.sampler} {one.knee.size} questions ({one.knee.rate:.1%}, margin {one.knee.margin:.4f})"


def _usd(found: Curve, questions: int) -> str:
    return f"${found.cost_usd(questions) or 0:,.2f}"
