"""`interplay compress ...`."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from compression import curve_cli, training_cli
from compression.command_line import FamilyOption, MissingOption, PoolArgument, SeedOption, held_out_words
from compression.estimate_new import estimate_models
from compression.families import read_families
from compression.importers.base import BadPool
from compression.matrix import Missing, MissingRule, pivot, read_matrix
from compression.pool import STORED, find_pool
from compression.samplers import DEFAULT_SAMPLER
from compression.select import Selection, Subset, extend, select, selection_of
from compression.subset import Interval, Manifest, ModelEstimate, SubsetSample
from compression.subset_store import check_folder, check_name, load, store, stored_manifests, write_folder
from compression.validate import BASELINES, RANDOM, STANDARD, Protocol, SamplerValidity, Validation, validate
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show, show_table
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(
    no_args_is_help=True,
    help="Keep a share of a pool's questions, and know how far it stands for all of them.",
    rich_markup_mode=None,
)

SubsetArgument = Annotated[str, typer.Argument(help="A subset of the project, or a folder that select wrote.")]
RateOption = Annotated[float | None, typer.Option("--rate", help="Share of the questions to keep, as 0.1.")]
SizeOption = Annotated[int | None, typer.Option("--size", help="Instead: how many questions to keep.")]
NameOption = Annotated[str | None, typer.Option("--name", help="Seal the subset in the project under this name.")]
ToOption = Annotated[Path | None, typer.Option("--to", help="Write the subset to this new folder.")]
LabelsOption = Annotated[
    Path | None,
    typer.Option("--labels", exists=True, dir_okay=False, help="Parquet or CSV with question_id and other columns."),
]
FixedOption = Annotated[
    Path | None,
    typer.Option("--fixed", exists=True, dir_okay=False, help="Parquet or CSV with the question_id of those to keep."),
]


@app.command("select")
def select_command(
    pool: PoolArgument,
    rate: RateOption = None,
    size: SizeOption = None,
    sampler: Annotated[str, typer.Option("--sampler", help="How the questions are chosen.")] = DEFAULT_SAMPLER,
    seed: SeedOption = 0,
    floor: Annotated[
        list[str] | None,
        typer.Option("--floor", help="Least number of each label, as benchmark=20 or ability=10; repeat."),
    ] = None,
    labels: LabelsOption = None,
    together: Annotated[
        str | None, typer.Option("--together", help="Column of the labels whose groups stay together.")
    ] = None,
    fixed: FixedOption = None,
    family: FamilyOption = None,
    missing: MissingOption = MissingRule.DROP,
    name: NameOption = None,
    to: ToOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Choose questions that stand for the pool, with weights, estimates and a manifest.

    Example: interplay compress select blink --rate 0.1 --name blink-tenth
    """
    wanted = Selection(
        name=_subset_name(name, to, dry_run, pool),
        rate=rate,
        size=size,
        sampler=sampler,
        seed=seed,
        floors=_floors(floor or ()),
        labels=labels,
        together=together,
        fixed=fixed,
        families=read_families(family) if family else None,
    )
    with ExitStack() as opened:
        workspace = _workspace(opened, name, to, dry_run, project)
        with find_pool(pool, project) as found:
            matrix, origin = read_matrix(found, missing), found.origin
        subset = select(matrix, origin, wanted)
        _keep(workspace, "compress select", subset, to, dry_run)
    _show_subset(subset, to, dry_run, as_json)


@app.command("extend")
def extend_command(
    subset: SubsetArgument,
    rate: RateOption = None,
    size: SizeOption = None,
    pool: Annotated[
        str | None, typer.Option("--pool", help="Where the scores are now: needed where they came from a file.")
    ] = None,
    labels: LabelsOption = None,
    fixed: FixedOption = None,
    name: NameOption = None,
    to: ToOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Make a larger subset that holds all questions of an earlier one.

    Example: interplay compress extend blink-tenth --rate 0.2 --name blink-fifth
    """
    with ExitStack() as opened:
        workspace = _workspace(opened, name, to, dry_run, project)
        before, sample = _load(subset, project)
        if pool is None and before.origin != STORED:
            raise BadPool(f"{subset} was selected from a file, {before.pool}; say with --pool where its scores are now")
        wanted = selection_of(before, _subset_name(name, to, dry_run, subset), labels, fixed)
        with find_pool(pool or before.pool, project) as found:
            matrix, origin = read_matrix(found, before.missing.rule), found.origin
        larger = extend(matrix, origin, (before, sample), wanted, rate, size)
        _keep(workspace, "compress extend", larger, to, dry_run)
    _show_subset(larger, to, dry_run, as_json)


@app.command("estimate")
def estimate_command(
    subset: SubsetArgument,
    scores: Annotated[str, typer.Argument(help="A file of scores, or a pool, with answers to the subset's questions.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Estimate the means over the whole pool of models that answered only the subset.

    Example: interplay compress estimate blink-tenth new-model.csv
    """
    manifest, sample = _load(subset, project)
    with find_pool(scores, project) as found:
        result = estimate_models(manifest, sample, pivot(found))
    document = {
        "subset": manifest.name,
        "models": [_estimate_document(one, manifest) for one in result.models],
        "incomplete": [{"model": model, "unanswered": count} for model, count in result.incomplete],
        "beside": result.beside,
    }
    if as_json:
        show(document, (), True)
        return
    if result.models:
        _show_estimates(result.models)
    show(None, (f"no estimate for {m}: {n} of {len(sample)} unanswered" for m, n in result.incomplete), False)
    if result.beside:
        show(None, [f"not used: answers to {result.beside} questions that are not in the subset"], False)


@app.command("show")
def show_command(
    subset: Annotated[
        str | None, typer.Argument(help="A subset or a folder; without it all subsets are listed.")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List the project's subsets, or show what one was made of.

    Example: interplay compress show blink-tenth
    """
    if subset is not None:
        manifest, _ = _load(subset, project)
        show(manifest.model_dump(mode="json"), _manifest_lines(manifest), as_json)
        return
    with open_workspace(project) as workspace:
        manifests = stored_manifests(workspace)
    if not manifests and not as_json:
        show(None, ["no subset yet: interplay compress select FILE-or-POOL --rate 0.1 --name NAME"], False)
        return
    rows = [[one.name, one.pool, f"{one.kept} of {one.questions}", one.sampler, one.extends] for one in manifests]
    documents = [one.model_dump(mode="json", exclude={"strata", "known", "sources", "families"}) for one in manifests]
    show_table(documents, ["subset", "pool", "questions", "sampler", "extends"], rows, as_json)


@app.command("validate")
def validate_command(
    pool: PoolArgument,
    rate: RateOption = None,
    size: SizeOption = None,
    sampler: Annotated[list[str] | None, typer.Option("--sampler", help="Only these, and random; repeat.")] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Anchor points and item response theory too; takes longer.")
    ] = False,
    splits: Annotated[int, typer.Option(min=1, help="Random splits of the models; the paper has 5.")] = Protocol.splits,
    repeats: Annotated[int, typer.Option(min=1, help="Draws in each split; the paper has 10.")] = Protocol.repeats,
    held_out: Annotated[
        float, typer.Option("--held-out", min=0.01, max=0.99, help="Share of the models that is held out.")
    ] = Protocol.held_out,
    seed: SeedOption = 0,
    family: FamilyOption = None,
    missing: MissingOption = MissingRule.DROP,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Measure how well subsets predict models that they were not made of, for each sampler beside random.

    Example: interplay compress validate blink --rate 0.1
    """
    names = (*(sampler or STANDARD), *(BASELINES if baselines else ()))
    with find_pool(pool, project) as found:
        matrix = read_matrix(found, missing)
    told = read_families(family) if family else None
    result = validate(matrix, rate, size, names, Protocol(splits, repeats, held_out, seed), told)
    if as_json:
        show(result.model_dump(mode="json"), (), True)
        return
    show(None, _pool_lines(result), False)
    header = ["sampler", "SRCC", "SD", "pairs", "PLCC", "RMSE", "closed", "vs random", "MoE", "CIC", "weak to strong"]
    show_table(None, header, _validity_rows(result), False)
    show(None, _validity_lines(result), False)


curve_cli.register(app)
training_cli.register(app)


def _subset_name(name: str | None, to: Path | None, dry_run: bool, other: str) -> str:
    if name is None and to is None and not dry_run:
        raise typer.BadParameter("say where the subset goes: --name NAME in the project, or --to FOLDER, or both")
    return name if name is not None else to.resolve().name if to else Path(other).stem


def _floors(told: Sequence[str]) -> dict[str, int]:
    floors = {}
    for one in told:
        column, _, least = one.partition("=")
        if not column or not least.isdecimal() or int(least) < 1 or column in floors:
            raise typer.BadParameter(f"--floor {one}: write COLUMN=NUMBER once for each column, as benchmark=20")
        floors[column] = int(least)
    return floors


def _workspace(
    opened: ExitStack, name: str | None, to: Path | None, dry_run: bool, project: Path | None
) -> Workspace | None:
    """The project that the subset goes to, its name and folder being free; None where it goes to no project."""
    if to is not None:
        check_folder(to)
    if name is None or dry_run:
        return None
    workspace = opened.enter_context(open_workspace(project))
    check_name(workspace, name)
    return workspace


def _keep(workspace: Workspace | None, command: str, subset: Subset, to: Path | None, dry_run: bool) -> None:
    if to is not None and not dry_run:
        write_folder(to, subset)
    if workspace is not None:
        store(workspace, command, subset)


def _load(named: str, project: Path | None) -> tuple[Manifest, SubsetSample]:
    if Path(named).is_dir():
        return load(named, None)
    with open_workspace(project) as workspace:
        return load(named, workspace)


def _show_subset(subset: Subset, to: Path | None, dry_run: bool, as_json: bool) -> None:
    manifest = subset.manifest
    if as_json:
        document = {
            "dry_run": dry_run,
            "folder": None if to is None else str(to),
            "manifest": manifest.model_dump(mode="json"),
            "estimates": [_estimate_document(one, manifest) for one in subset.estimates],
        }
        show(document, (), True)
        return
    show(None, _manifest_lines(manifest), False)
    _show_estimates(subset.estimates)
    if dry_run:
        show(None, ["nothing was written"], False)


def _manifest_lines(manifest: Manifest) -> Iterable[str]:
    groups = f", {manifest.sizes[-1]} of {manifest.units} groups" if manifest.units < manifest.questions else ""
    yield f"{manifest.name}: {manifest.kept} of {manifest.questions} questions of {manifest.pool}{groups}"
    made_of = f"{len(manifest.strata)} strata, {len(manifest.sources)} models"
    yield f"  sampler {manifest.sampler}, seed {manifest.seed}, {made_of}"
    if manifest.extends:
        yield f"  extends {manifest.extends}"
    yield from _missing_lines(manifest.missing, manifest.merged)
    if manifest.labels_beside or manifest.unlabelled:
        yield f"  labels: {manifest.unlabelled} questions have none, {manifest.labels_beside} rows name no question"
    few = [one for one in manifest.benchmarks if not one.kept]
    if few:
        yield f"  no question of {', '.join(one.name for one in few)}: --floor benchmark=N keeps some of each"


def _missing_lines(missing: Missing, merged: int) -> Iterable[str]:
    if missing.cells:
        dropped = ", ".join(missing.dropped_models) or "no model"
        yield (
            f"  {missing.cells} scores are missing; by the rule {missing.rule.value!r}: {dropped} and "
            f"{missing.dropped_questions} questions left out, {missing.imputed_cells} scores filled in"
        )
    if merged:
        yield f"  {merged} rows repeated another and were merged"


def _show_estimates(estimates: Sequence[ModelEstimate]) -> None:
    header = ["model", "estimate", "95% interval", "in the pool", "mean of benchmarks", "95% interval"]
    rows = [
        [one.model, *_cells(one.micro), "" if one.truth is None else f"{one.truth:.4f}", *_cells(one.macro)]
        for one in estimates
    ]
    show_table(None, header, rows, False)
    reasons = {part.reason for one in estimates for part in (one.micro, one.macro) if part.reason is not None}
    show(None, (f"undefined: {reason}" for reason in sorted(reasons)), False)


def _cells(found: Interval) -> list[str]:
    value = "undefined" if found.value is None else f"{found.value:.4f}"
    bounds = "undefined" if found.low is None else f"{found.low:.4f} to {found.high:.4f}"
    return [value, bounds]


def _estimate_document(one: ModelEstimate, manifest: Manifest) -> dict[str, object]:
    document = one.model_dump(mode="json")
    names = [benchmark.name for benchmark in manifest.benchmarks]
    return document | {"benchmarks": dict(zip(names, document["benchmarks"], strict=True))}


def _pool_lines(result: Validation) -> Iterable[str]:
    yield (
        f"{result.pool}: {result.size} of {result.questions} questions, {result.models} models, "
        f"{held_out_words(result.held_out)} of them held out; {result.splits} splits x {result.repeats} draws"
    )
    yield from _missing_lines(result.missing, result.merged)
    for family in result.families:
        yield f"  held out or not together: {', '.join(family)}"


def _validity_rows(result: Validation) -> Iterable[list[str]]:
    beside = next(one.rmse for one in result.samplers if one.sampler == RANDOM)
    forward = {one.sampler: one for one in result.weak_to_strong}
    for one in result.samplers:
        bias = forward[one.sampler]
        yield [
            one.sampler + (" (default)" if one.sampler == result.default else ""),
            *(_number(value) for value in (one.srcc, one.srcc_sd, one.sign_agreement, one.plcc)),
            *(_number(value, 4) for value in (one.rmse, one.design_rmse)),
            _number(one.rmse / beside if beside else None, 2),
            _number(one.moe, 4),
            _number(one.cic),
            f"{bias.bias:+.4f} ± {_number(bias.bias_error, 4)}",
        ]


def _number(value: float | None, digits: int = 3) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def _validity_lines(result: Validation) -> Iterable[str]:
    yield "SRCC, PLCC: rank and linear correlation of estimated and true means of held-out models; SD over splits."
    yield "pairs: of held-out models in the right order. RMSE: by draws, and in closed form. MoE: half a 95% interval."
    yield "CIC: intervals that hold the truth. weak to strong: mean error where the strongest models are held out."
    for one in result.samplers:
        yield from _notes(one)


def _notes(one: SamplerValidity) -> Iterable[str]:
    return (f"{one.sampler}: {note}" for note in one.notes)
