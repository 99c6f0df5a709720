"""`interplay contributor ...`."""

from typing import Annotated, Any

import typer

from curation.recordings.contributors import AgeBand, Gender, NewContributor, add_contributor, list_contributors
from warehouse.command_line import ByOption, JsonOption, ProjectOption, show, show_table
from warehouse.people import actor_named
from warehouse.tables import Contributor
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Add people who give recordings, under pseudonyms.", rich_markup_mode=None)


@app.command("add")
def add_command(
    by: ByOption,
    pseudonym: Annotated[str | None, typer.Argument(help="As speaker-07; else one is made up.")] = None,
    dialect: Annotated[str | None, typer.Option(help="That they speak, as Sichuan.")] = None,
    age_band: Annotated[AgeBand | None, typer.Option(help="Coarse age, if they tell it.")] = None,
    gender: Annotated[Gender | None, typer.Option(help="If they tell it.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Add somebody who gives recordings: a pseudonym, and coarse facts only. No names, addresses or numbers.

    Example: interplay contributor add speaker-07 --dialect Sichuan --age-band 25-34 --by mei
    """
    new = NewContributor(pseudonym, dialect, age_band, gender)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        added = add_contributor(session, new, actor_named(workspace.database, by))
    show(_document(added), [f"added {added.pseudonym}"], as_json)


@app.command("list")
def list_command(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """List the contributors.

    Example: interplay contributor list
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = list_contributors(session)
    rows = [[one.pseudonym, one.dialect, one.age_band, one.gender] for one in found]
    show_table([_document(one) for one in found], ["pseudonym", "dialect", "age", "gender"], rows, as_json)


def _document(contributor: Contributor) -> dict[str, Any]:
    return contributor.model_dump(mode="json")
