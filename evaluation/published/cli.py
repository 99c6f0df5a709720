"""`interplay published ...`."""

from pathlib import Path
from typing import Annotated

import typer

from evaluation.published.checks import check_paper, summary
from evaluation.published.paper import PAPERS, load_paper, read_paper
from warehouse.command_line import JsonOption, show, show_table

app = typer.Typer(no_args_is_help=True, help="Check the numbers of published tables.", rich_markup_mode=None)


@app.callback()
def _published() -> None:
    """Check the numbers of published tables."""


@app.command()
def check(
    paper: Annotated[
        list[str] | None, typer.Option("--paper", help=f"Of {', '.join(PAPERS)}; repeat. All when nothing is named.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="JSON file with tables and claims of your own.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="List what reproduces, too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 when anything does not reproduce.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which numbers of published tables reproduce from the other numbers, and which do not.

    Example: interplay published check --paper uno
    """
    names = paper or ([] if file is not None else list(PAPERS))
    papers = [load_paper(name) for name in names] + ([read_paper(file)] if file is not None else [])
    findings = [finding for one in papers for finding in check_paper(one)]
    counted = summary(findings)
    shown = [finding for finding in findings if everything or finding.verdict != "reproduces"]
    header = ["paper", "check", "reproduces", "does not", "recorded"]
    document = {
        "sources": {one.name: one.source for one in papers},
        "summary": [dict(zip(header, row, strict=True)) for row in counted],
        "findings": [finding.model_dump(mode="json") for finding in findings],
    }
    show_table(document, header, counted, as_json)
    if not as_json:
        columns = ["verdict", "where", "printed", "expected", "reason"]
        show_table(None, columns, [[getattr(one, name) for name in columns] for one in shown], False)
        show(None, [f"source: {one.source}" for one in papers], False)
    if strict and any(finding.verdict != "reproduces" for finding in findings):
        raise typer.Exit(1)
