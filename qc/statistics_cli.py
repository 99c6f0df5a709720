"""`interplay qc agreement` and `interplay qc analyse`."""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
import typer

from core.question import choice_label
from qc.agreement import Agreement, Reliability, read_agreement
from qc.drift import Drift, read_drift
from qc.item_analysis import ItemAnalysis, ItemStatistics, analyse_release
from qc.key_bias import KeyBias, Standout
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Statistics of reviewers and items.", rich_markup_mode=None)

_STANDS_OUT = {
    "longest": "the longest choice",
    "shortest": "the shortest choice",
    "overlap": "the choice that shares most words with the prompt",
}


@app.command()
def agreement(
    seed: Annotated[int, typer.Option(min=0, help="Of the resampled items behind the interval.")] = 0,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show how far reviewers agree in round 3, and whether one judges otherwise than before.

    Example: interplay qc agreement --seed 7
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = read_agreement(session, np.random.default_rng(seed))
        drifts = read_drift(session)
    if as_json:
        document = {
            "seed": seed,
            "agreement": found.model_dump(mode="json"),
            "drift": [one.model_dump(mode="json") for one in drifts],
        }
        show(document, (), True)
        return
    show(None, _agreement_lines(found), False)
    pairs = [
        [one.first, one.second, one.shared, f"{one.agreeing} of {one.shared}", one.kappa.text]
        for one in found.pairs
        if one.shared
    ]
    if pairs:
        show_table(None, ["reviewer", "and", "shared", "agree", "kappa"], pairs, False)
    if drifts:
        header = ["reviewer", "measure", "last", "before", "p", "p (Holm)"]
        show_table(None, header, [_drift_row(one) for one in drifts], False)


@app.command()
def analyse(
    name: Annotated[str, typer.Argument(help="Release name.")],
    version: Annotated[str, typer.Argument(help="Release version.")],
    model: Annotated[list[str] | None, typer.Option("--model", help="Only this evaluated model; repeat.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show how hard each item of a release is, whether it tells models apart, and what gives keys away.

    Example: interplay qc analyse zoo 1.0.0 --model keen --model deaf
    """
    with open_workspace(project) as workspace:
        found = analyse_release(workspace, name, version, model)
    if as_json:
        show(found.model_dump(mode="json"), (), True)
        return
    header = ["item", "kind", "models", "difficulty", "item-rest", "discrimination", "choices (key*)", "flags"]
    show_table(None, header, [_item_row(one) for one in found.items], False)
    show(None, [_models_line(found), *_key_lines(found.keys)], False)


def _agreement_lines(found: Agreement) -> Iterable[str]:
    yield f"reviewers: {', '.join(found.reviewers) or 'none'}"
    for words, told in (("first two verdicts", found.first_two), ("all verdicts", found.all_verdicts)):
        yield from _reliability_lines(words, told)
    apart = sum(not one.shared for one in found.pairs)
    if apart:
        yield f"pairs of reviewers who share no item, so that their kappa is undefined: {apart}"


def _reliability_lines(words: str, told: Reliability) -> Iterable[str]:
    yield f"{words}: {told.verdicts} on {told.revisions} revisions of {told.items} items"
    yield f"  agreeing pairs of verdicts: {told.percent.text}"
    yield f"  Krippendorff's alpha: {told.alpha.text}; 95%: {told.interval.text}"


def _drift_row(one: Drift) -> list[str]:
    p, p_holm = (f"undefined ({one.reason})" if value is None else f"{value:.3g}" for value in (one.p, one.p_holm))
    shares = f"{one.recent_yes} of {one.recent}", f"{one.before_yes} of {one.before}"
    return [one.reviewer, one.measure, *shares, p, p_holm + (" drifted" if one.has_drifted else "")]


def _item_row(one: ItemStatistics) -> list[str]:
    options = " ".join(
        f"{option.label}{'*' if option.is_key else ''} "
        + ("-" if option.share is None else f"{100 * option.share:.0f}%")
        for option in one.options
    )
    measures = [one.difficulty.text, one.item_rest.text, one.discrimination.text]
    return [one.item, one.kind, str(one.models), *measures, options, ", ".join(one.flags)]


def _models_line(found: ItemAnalysis) -> str:
    return f"models: {', '.join(found.models) or 'none'}" + (f" ({found.note})" if found.note else "")


def _key_lines(found: KeyBias) -> Iterable[str]:
    place = found.position
    counts = ", ".join(
        f"{choice_label(at)} {count} (chance {expected:.1f})"
        for at, (count, expected) in enumerate(zip(place.counts, place.expected, strict=True))
    )
    left_out = f"; {found.left_out} have several right choices" if found.left_out else ""
    yield f"choice questions with one right choice: {found.questions}{left_out}"
    yield f"  places of the key: {counts or 'none'}"
    yield f"  chi-square: {place.statistic.text}; p{f' ({place.test})' if place.test else ''}: {place.p.text}"
    for one in found.traits:
        yield f"  the key is {_standout_words(one)}"


def _standout_words(one: Standout) -> str:
    return (
        f"{_STANDS_OUT[one.trait]} in {one.observed:.1f} of {one.questions} questions where they differ "
        f"(chance {one.expected:.1f}); p: {one.p.text}"
    )
