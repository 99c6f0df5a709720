"""`interplay question supplement`."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from curation.questions.candidates import TYPE_LABELS, Wanted, read_candidates, read_target, set_licences
from curation.questions.item_folder import ITEMS, Chosen, write_item_folder
from curation.questions.supplement import Selection, select_supplement
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, show
from warehouse.runs import open_run
from warehouse.tables import PublicQuestion
from warehouse.workspace import Workspace, open_workspace

COMMAND = "question supplement"
_SHOWN = 20
_FOUND = {
    "quality": "quality (dropped: repeated, in another language, media that filters drop)",
    "discrimination": "discrimination (dropped: subsets that do not tell models apart)",
    "comprehensiveness": "comprehensiveness (added: cells with few items)",
    "diversity": "diversity (added: types of material that nothing shows)",
}


def supplement_command(
    out: Annotated[Path, typer.Argument(help="New folder for the chosen questions, their media and the report.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Only of this set; repeat for more.")] = None,
    floor: Annotated[
        int, typer.Option(min=1, help="How many items each task type should have with each combination of modalities.")
    ] = 20,
    size: Annotated[int, typer.Option(min=1, help="How many questions to take at most.")] = 500,
    pool: Annotated[
        str | None, typer.Option(help="Pool with models' scores; its benchmarks named as the sets.")
    ] = None,
    subset_label: Annotated[str, typer.Option(help="Label that parts a set into subsets.")] = "subset",
    type_label: Annotated[
        list[str] | None, typer.Option(help=f"Label that tells the type of material; else {', '.join(TYPE_LABELS)}.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Breaks ties.")] = 0,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Choose public questions by four rules: quality, discrimination, comprehensiveness, diversity.

    The folder is ready for 'material ingest --manifest' and 'item import'; what each rule did is in its report.json.

    Example: interplay question supplement supplement/ --set mmbench --set mmau --floor 20 --size 300 --pool public
    """
    wanted = Wanted(tuple(sets or ()), subset_label, tuple(type_label or TYPE_LABELS), pool)
    with open_workspace(project) as workspace:
        candidates, scores = read_candidates(workspace, wanted)
        target = read_target(workspace)
        rng = np.random.default_rng(seed)
        selection = select_supplement(candidates, target, scores, floor=floor, size=size, rng=rng)
        document = _document(selection, len(candidates))
        if not dry_run:
            settings = {"out": str(out), "floor": floor, "size": size, **vars(wanted)}
            with open_run(workspace.database, COMMAND, settings, seed=seed) as run:
                _write(workspace, out, selection, document)
                run.summary = document["counts"]
    show(document, _lines(document, out, dry_run), as_json)


def _write(workspace: Workspace, out: Path, selection: Selection, document: dict[str, Any]) -> None:
    names = sorted({choice.candidate.set_name for choice in selection.chosen})
    with workspace.database.reading() as session:
        licences = set_licences(session, names)
        rows = {
            choice.candidate.id: session.get_one(PublicQuestion, choice.candidate.id) for choice in selection.chosen
        }
    chosen = (
        Chosen(choice.candidate.set_name, choice.candidate.qid, row.as_question(), row.labels)
        for choice in selection.chosen
        for row in (rows[choice.candidate.id],)
    )
    write_item_folder(out, chosen, licences, workspace.blobs)
    (out / "report.json").write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _document(selection: Selection, candidates: int) -> dict[str, Any]:
    return {
        "counts": {"candidates": candidates, "chosen": len(selection.chosen), **selection.counts()},
        "chosen": [
            {"set": one.candidate.set_name, "qid": one.candidate.qid, "rule": one.rule, "why": one.why}
            for one in selection.chosen
        ],
        "dropped": {id_: {"rule": rule, "why": why} for id_, (rule, why) in sorted(selection.dropped.items())},
        "subsets": [vars(verdict) for verdict in selection.subsets],
        "cells": [
            {"task_type": task, "modalities": modalities, "before": before, "after": after}
            for (task, modalities), (before, after) in selection.cells.items()
        ],
        "material_types": {
            name: {"before": before, "after": after} for name, (before, after) in selection.material_types.items()
        },
        "still_lacking": [
            {"task_type": task, "modalities": modalities, "items": lacking}
            for (task, modalities), lacking in selection.open_cells.items()
        ],
    }


def _lines(document: dict[str, Any], out: Path, dry_run: bool) -> list[str]:
    counts = document["counts"]
    lines = [f"{counts['candidates']} candidates, {counts['chosen']} chosen"]
    for rule, told in _FOUND.items():
        number = counts.get(f"dropped_by_{rule}", counts.get(f"added_by_{rule}", 0))
        lines.append(f"  {number:>6}  {told}")
    lines += [f"subset {one['subset']}: {one['why']}" for one in document["subsets"]]
    grown = [one for one in document["cells"] if one["after"] > one["before"]]
    lines += [
        f"{one['task_type']} with {one['modalities']}: {one['before']} -> {one['after']}" for one in grown[:_SHOWN]
    ]
    lines += [f"... and {len(grown) - _SHOWN} more cells"] if len(grown) > _SHOWN else []
    if document["still_lacking"]:
        lines.append(f"{len(document['still_lacking'])} cells still lack items; the report names them")
    return lines if dry_run else [*lines, f"wrote {out / ITEMS}, its media and the report"]
