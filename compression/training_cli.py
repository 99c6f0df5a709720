"""`interplay compress train-select` and `interplay compress rollouts`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from compression.command_line import SeedOption, columns_of
from compression.rollouts import ALIKE, Batch, Likeness, RolloutReport, Thinning, thin_rollouts
from compression.train_select import FLOOR, STRATA, SelectionReport, Wanted, select_training_set
from compression.training_files import check_kept, check_table, keep_rows, lines_with, refuse_existing, write_table
from compression.training_report import BINS, Change
from compression.training_strata import Kind
from warehouse.command_line import DryRunOption, JsonOption, show, show_table

_SELECT_COLUMNS = ("sample_id", "source", "value")
_ROLLOUT_COLUMNS = ("prompt_id", "rollout_id", "reward", "embedding", "text")
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", help="A column is called otherwise in the file: OURS=THEIRS; repeat.", metavar="O=T"),
]


def register(app: typer.Typer) -> None:
    """Add both commands to an app."""
    app.command("train-select")(train_select)
    app.command("rollouts")(rollouts)


def train_select(
    file: Annotated[
        Path, typer.Argument(help="Parquet, CSV or JSON lines with columns sample_id, value, and source if several.")
    ],
    kind: Annotated[Kind, typer.Option(help="What the values are: scores lie in [0, 1], 1 for solved.")] = Kind.SCORE,
    to: Annotated[Path | None, typer.Option(help="Selected samples to write: .parquet, .csv, .tsv or .jsonl.")] = None,
    rate: Annotated[float | None, typer.Option(help="Keep this share of the samples that are not dropped.")] = None,
    size: Annotated[int | None, typer.Option(help="Instead: keep this number.")] = None,
    data: Annotated[Path | None, typer.Option(help="Your training set, JSON lines, whose rows --kept gets.")] = None,
    id_field: Annotated[str, typer.Option("--id-field", help="The field of --data with the sample's id.")] = "id",
    kept: Annotated[Path | None, typer.Option(help="Rows of --data to write, unchanged: those selected.")] = None,
    strata: Annotated[int, typer.Option(min=1, help="Most strata; a fifth of the samples at most.")] = STRATA,
    floor_easy: Annotated[float, typer.Option(help="Least share with a difficulty up to 0.2.")] = FLOOR,
    floor_hard: Annotated[float, typer.Option(help="Least share with a difficulty from 0.8.")] = FLOOR,
    drop_unsolved: Annotated[
        bool, typer.Option("--drop-unsolved", help="Leave out what no source solves: its label may be wrong.")
    ] = False,
    drop_solved: Annotated[
        bool, typer.Option("--drop-solved", help="Leave out what each source solves: nothing is left to learn.")
    ] = False,
    solved_at: Annotated[
        float | None, typer.Option(help="Solved from this value on (losses: down to it); else only by the best value.")
    ] = None,
    seed: SeedOption = 0,
    column: ColumnOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Keep a part of a training set that holds easy and hard samples as its sources see them.

    Example: interplay compress train-select losses.parquet --kind loss --rate 0.3 --to kept.csv
    """
    if to is None and not dry_run:
        raise typer.BadParameter("say --to FILE, or --dry-run")
    if (data is None) != (kept is None):
        raise typer.BadParameter("--data and --kept go together")
    refuse_existing(to, kept)
    if to is not None:
        check_table(to)
    if data is not None and kept is not None:
        check_kept(data, kept)
    wanted = Wanted(
        rate=rate,
        size=size,
        strata=strata,
        floor_easy=floor_easy,
        floor_hard=floor_hard,
        drop_unsolved=drop_unsolved,
        drop_solved=drop_solved,
        solved_at=solved_at,
        seed=seed,
        columns=columns_of(column or (), _SELECT_COLUMNS),
    )
    found = select_training_set(file, kind, wanted)
    lines = lines_with(data, id_field, found.table["sample_id"].to_pylist()) if data is not None else None
    if not dry_run and to is not None:
        write_table(to, found.table)
        if data is not None and kept is not None and lines is not None:
            keep_rows(data, lines, kept)
    if as_json:
        show(found.report.model_dump(mode="json"), (), True)
        return
    show(None, _selection_lines(found.report), False)
    show_table(None, ["difficulty", "before", "share", "kept", "share of kept", "expected at random"],
               _histogram_rows(found.report.change), False)  # fmt: skip
    show_table(None, ["measure", "before", "kept", "at random"], _measure_rows(found.report.change), False)
    if not dry_run:
        show(None, [f"wrote {one}" for one in (to, kept) if one is not None], False)


def rollouts(
    file: Annotated[Path, typer.Argument(help="JSON lines or Parquet with columns prompt_id, rollout_id, reward.")],
    to: Annotated[Path | None, typer.Option(help="Kept rows to write, unchanged, in the kind of the file.")] = None,
    keep: Annotated[
        int | None, typer.Option(help="Most rollouts of a prompt: those whose rewards have the largest variance.")
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="Instead: this share of each prompt's rollouts, at least two.")
    ] = None,
    alike_by: Annotated[
        Likeness, typer.Option("--alike-by", help="What makes rollouts with equal rewards alike.")
    ] = Likeness.AUTO,
    alike: Annotated[float, typer.Option(help="Least cosine of embeddings that are alike.")] = ALIKE,
    drop_flat: Annotated[
        bool, typer.Option("--drop-flat", help="Leave out prompts all of whose rewards are equal.")
    ] = False,
    prompts: Annotated[
        float | None, typer.Option(help="Keep this share of the prompts, over strata of their sorted rewards.")
    ] = None,
    seed: SeedOption = 0,
    column: ColumnOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Thin a batch of rollouts: drop those alike, keep the spread of rewards within each prompt.

    Example: interplay compress rollouts batch.jsonl --keep 4 --drop-flat --to kept.jsonl
    """
    if to is None and not dry_run:
        raise typer.BadParameter("say --to FILE, or --dry-run")
    if to is not None:
        refuse_existing(to)
        check_kept(file, to)
    thinning = Thinning(
        drop_flat=drop_flat,
        prompts=prompts,
        alike_by=alike_by,
        alike=alike,
        keep=keep,
        share=share,
        seed=seed,
        columns=columns_of(column or (), _ROLLOUT_COLUMNS),
    )
    found = thin_rollouts(file, thinning)
    if not dry_run and to is not None:
        keep_rows(file, found.keep, to)
    if as_json:
        show(found.report.model_dump(mode="json"), (), True)
        return
    show(None, _thinning_lines(found.report), False)
    show_table(None, ["measure", "before", "kept"], _batch_rows(found.report.before, found.report.after), False)
    random = (
        f"mean variance if as many of each prompt's rollouts were drawn at random: {found.report.random_variance:.4f}"
    )
    show(None, [random, found.report.bias, *([] if dry_run else [f"wrote {to}"])], False)


def _selection_lines(found: SelectionReport) -> Iterable[str]:
    yield f"samples: {found.samples} with {found.kind.value}s of {found.sources} sources; kept {found.kept}"
    if found.gaps:
        yield f"gaps: {found.gaps} of {found.samples * found.sources}, filled from the sample's other values"
    if found.without_value:
        yield f"left out: {found.without_value} samples without any value"
    if found.repeated:
        yield f"repeated rows: {found.repeated}, counted once"
    for count, what in ((found.dropped_unsolved, "no source solves"), (found.dropped_solved, "each source solves")):
        if count:
            yield f"dropped: {count} samples that {what}"
    yield (
        f"strata: {found.strata} (at most {found.strata_wanted}); "
        f"{found.strata_empty} with {found.in_empty_strata} samples have none kept"
    )
    for name, floor, short in (
        ("easy", found.floor_easy, found.short_easy),
        ("hard", found.floor_hard, found.short_hard),
    ):
        if short:
            yield f"floor not reached: {short} more {name} samples would make {floor:.0%}; all there are were kept"


def _histogram_rows(change: Change) -> Iterable[list[str]]:
    before, after = change.before, change.after
    for place, (all_of, kept) in enumerate(zip(before.histogram, after.histogram, strict=True)):
        share = all_of / before.samples
        yield [
            f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}",
            str(all_of),
            f"{share:.1%}",
            str(kept),
            f"{kept / after.samples:.1%}",
            f"{share * after.samples:.1f}",
        ]


def _measure_rows(change: Change) -> Iterable[list[str]]:
    before, after, random = change.before, change.after, change.random
    yield ["mean value", f"{before.mean_value:.4g}", f"{after.mean_value:.4g}", f"{before.mean_value:.4g}"]
    yield ["mean difficulty", f"{before.mean:.3f}", f"{after.mean:.3f}", f"{before.mean:.3f} ± {random.mean_sd:.3f}"]
    quantiles = [" ".join(f"{value:.2f}" for value in one.quantiles) for one in (before, after)]
    yield ["quantiles (5, 25, 50, 75, 95%)", *quantiles, ""]
    for name in ("easy", "hard", "unsolved", "solved"):
        sd = getattr(random, f"{name}_sd")
        shares: list[Any] = [getattr(one, name) for one in (before, after)]
        if sd is None:
            yield [f"{name} (say --solved-at)", "undefined", "undefined", "undefined"]
        else:
            yield [name, f"{shares[0]:.1%}", f"{shares[1]:.1%}", f"{shares[0]:.1%} ± {sd:.1%}"]
    yield ["total variation from before", "", f"{change.total_variation:.4f}", f"{random.total_variation:.4f}"]
    yield ["Kolmogorov-Smirnov from before", "", f"{change.kolmogorov_smirnov:.4f}", ""]


def _thinning_lines(found: RolloutReport) -> Iterable[str]:
    yield f"rollouts: {found.before.rollouts}, kept {found.after.rollouts}"
    if found.without_reward:
        yield f"left out: {found.without_reward} without a reward"
    by = found.alike_by.value + (f", cosine {found.alike:g} and above" if found.alike is not None else "")
    for count, why in (
        (found.dropped_flat, "of flat prompts"),
        (found.dropped_prompts, "of prompts that were not drawn"),
        (found.dropped_alike, f"alike another of their prompt with the same reward (by {by})"),
        (found.dropped_variance, "whose prompt has others that spread its rewards further"),
    ):
        if count:
            yield f"dropped: {count} {why}"


def _batch_rows(before: Batch, after: Batch) -> Iterable[list[str]]:
    for name, form in (
        ("prompts", "d"),
        ("flat_prompts", "d"),
        ("rollouts", "d"),
        ("fewest", "d"),
        ("most", "d"),
        ("mean_reward", ".4f"),
        ("mean_prompt_reward", ".4f"),
        ("mean_variance", ".4f"),
    ):
        yield [name.replace("_", " "), *(format(getattr(one, name), form) for one in (before, after))]
