"""`interplay qc report` and `interplay qc show`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from qc.report.build import item_history, qc_report
from qc.report.page import write_report
from qc.report.terminal import answer_rows, history_lines, report_lines
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Reports of quality control.", rich_markup_mode=None)


class Language(StrEnum):
    """Languages of the page."""

    EN = "en"
    ZH = "zh"


@app.command()
def report(
    output: Annotated[Path | None, typer.Option(help="Folder for the page (qc.html) and its data (qc.json).")] = None,
    language: Annotated[Language, typer.Option(help="Of the page.")] = Language.EN,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show how far each item came, why the others stopped, and what that is worth; with --output also as a page.

    Example: interplay qc report --output qc-report --language zh
    """
    with open_workspace(project) as workspace:
        found = qc_report(workspace)
    lines = report_lines(found)
    if output is not None:
        lines.append(f"page: {write_report(found, output, language.value)}")
    show(found.model_dump(mode="json") if as_json else None, lines, as_json)


@app.command("show")
def show_command(
    item: Annotated[str, typer.Argument(help="Item name.")],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show one item's whole story: revisions and what they changed, verdicts with why, every model's answers.

    Example: interplay qc show zoo-004
    """
    with open_workspace(project) as workspace:
        found = item_history(workspace, item)
    show(found.model_dump(mode="json") if as_json else None, history_lines(found), as_json)
    header, rows = answer_rows(found.item)
    if rows and not as_json:
        show_table(None, header, rows, False)
