"""`interplay pool ...`."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from compression.command_line import FamilyOption, MissingOption, columns_of
from compression.families import read_families
from compression.importers.base import Reading
from compression.matrix import MissingRule
from compression.pool import find_pool
from compression.pool_import import Imported, import_pool
from compression.pool_view import BenchmarkView, PoolView, list_pools, look_at
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Bring in scores of many models, and look at them.", rich_markup_mode=None)

_COLUMNS = ("benchmark", "question_id", "model", "family", "score")


@app.command("import")
def import_command(
    files: Annotated[list[Path], typer.Argument(exists=True, help="Files or folders of scores.")],
    name: Annotated[str, typer.Option("--name", help="Of the pool; one that is there gets what it lacks.")],
    form: Annotated[
        str | None,
        typer.Option("--format", help="helm, inspect, lmms-eval, long, opencompass or vlmevalkit; else as it looks."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="Of a table: what a column is called there, as question_id=qid; repeat."),
    ] = None,
    benchmark: Annotated[str | None, typer.Option("--benchmark", help="Of all questions, whatever files say.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Of all answers, whatever files say.")] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="Where there are several: a metric, scorer or column.")
    ] = None,
    scale: Annotated[float, typer.Option("--scale", help="What a full score is; 100 for percentages.")] = 1.0,
    repeats: Annotated[
        Literal["refuse", "mean"],
        typer.Option("--repeats", help="Of different scores of one model for one question: refuse, or take the mean."),
    ] = "refuse",
    family: FamilyOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let scores and families that are others in the pool be replaced.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Bring scores of models for questions into a pool: all of what it lacks, or nothing when something is wrong.

    Example: interplay pool import scores.parquet --name blink
    """
    if not 0 < scale < float("inf"):
        raise typer.BadParameter("--scale must be above 0, as 100")
    reading = Reading(form, columns_of(column or (), _COLUMNS), benchmark, model, metric, scale, repeats)
    families = read_families(family) if family else {}
    with open_workspace(project) as workspace:
        done = import_pool(workspace, files, name, reading, families, replace=replace, dry_run=dry_run)
    show(asdict(done) | {"dry_run": dry_run}, _imported_lines(done, dry_run), as_json)


@app.command("show")
def show_command(
    pool: Annotated[
        str | None, typer.Argument(help="A file of scores, or a pool; without it all pools are listed.")
    ] = None,
    missing: MissingOption = MissingRule.DROP,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show what a pool holds: benchmarks, models, gaps, repetitions; or list all pools.

    Example: interplay pool show blink
    """
    if pool is None:
        _show_list(project, as_json)
        return
    with find_pool(pool, project) as opened:
        view = look_at(opened, missing)
    if as_json:
        show(view.model_dump(mode="json"), (), True)
        return
    show(None, _head_lines(view), False)
    header = ["benchmark", "questions", "models", "mean score", "nobody solves", "everybody solves", "one score"]
    show_table(None, header, [_benchmark_row(one) for one in view.benchmarks], False)
    rows = [[one.model, one.family, one.answered, one.lacking, f"{one.mean:.4f}"] for one in view.models]
    show_table(None, ["model", "family", "answered", "lacking", "mean score"], rows, False)
    if view.remainders:
        header = ["--missing", "questions left", "models left", "filled in", "why nothing"]
        left = [[one.rule.value, one.questions, one.models, one.imputed, one.reason] for one in view.remainders]
        show_table(None, header, left, False)
    show(None, _family_lines(view), False)


def _show_list(project: Path | None, as_json: bool) -> None:
    with open_workspace(project) as workspace:
        found = list_pools(workspace)
    if not found and not as_json:
        show(None, ["no pools yet; bring one in: interplay pool import FILES --name NAME"], False)
        return
    header = ["pool", "benchmarks", "questions", "models", "scores", "missing", "runs"]
    rows = [
        [one.pool, one.benchmarks, one.questions, one.models, one.scores, one.missing, len(one.runs)] for one in found
    ]
    show_table([one.model_dump(mode="json") for one in found], header, rows, as_json)


def _imported_lines(done: Imported, dry_run: bool) -> Iterable[str]:
    yield from (f"{path}: {importer}" for path, importer in done.importers.items())
    yield f"{done.rows} rows: {done.models} models on {done.questions} questions of {done.benchmarks} benchmarks"
    if done.empty:
        yield f"  {done.empty} of them have no score"
    if done.merged:
        yield f"  {done.merged} of them repeat another and are merged with it"
    told = f"added {done.added}, known before {done.known}, replaced {done.replaced}"
    if done.regrouped:
        told += f", of another family {done.regrouped}"
    yield f"pool {done.pool}: {told}" + ("; nothing is stored yet" if dry_run else "")


def _head_lines(view: PoolView) -> Iterable[str]:
    questions = sum(one.questions for one in view.benchmarks)
    size = f"{questions} questions, {len(view.benchmarks)} benchmarks, {len(view.models)} models"
    yield f"{view.pool} ({view.origin}): {size}"
    yield f"  rows: {view.rows}; repeating another, and merged: {view.merged}"
    yield f"  missing: {view.missing} of {questions * len(view.models)} scores"
    yield f"  questions on which all models have one score: {sum(one.constant for one in view.benchmarks)}"
    patterns = f"undefined ({view.reason})" if view.patterns is None else view.patterns
    yield f"  questions that differ by benchmark or scores (--missing {view.rule.value}): {patterns}"


def _benchmark_row(one: BenchmarkView) -> list[str]:
    shares = [f"{count} ({count / one.questions:.1%})" for count in (one.nobody, one.everybody, one.constant)]
    return [one.benchmark, str(one.questions), str(one.models), f"{one.mean:.4f}", *shares]


def _family_lines(view: PoolView) -> Iterable[str]:
    if view.reason is not None:
        yield f"models of one family: undefined ({view.reason})"
        return
    how = "as told" if any(one.family for one in view.models) else "near-duplicates, by their scores"
    yield f"models of one family ({how}): {'' if view.families else 'none'}"
    yield from (f"  {', '.join(names)}" for names in view.families)
