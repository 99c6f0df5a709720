"""What every command shares: the options, and output for people or for programs."""

import errno
import getpass
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import OperationalError

from core.errors import InterplayError


def by_option(*roles: str) -> Any:
    """The option `--by`: whose act a command notes. It must be a user, with one of the roles if any are named."""
    needed = " or ".join(part for part in (", ".join(roles[:-1]), *roles[-1:]) if part)
    return typer.Option(
        "--by",
        default_factory=getpass.getuser,
        show_default="your login name",
        help=f"Your user name; you need the role {needed}." if roles else "Your user name, see 'interplay user add'.",
    )


ByOption = Annotated[str, by_option()]
ProjectOption = Annotated[
    Path | None,
    typer.Option("--project", help="Project folder; else INTERPLAY_PROJECT, else the nearest parent folder with one."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
BudgetOption = Annotated[
    float | None,
    typer.Option("--max-cost-usd", min=0, help="Ask nothing that this call's costs leave no room for, in US dollars."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")]

WIDEST = 10_000
_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"}
"""Control characters, which terminals obey, as what they look like in code: whoever gave a file chose its words."""


class StorageProblem(InterplayError):
    """The disk or the database refused to store something."""


def show(document: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print a result: the JSON document for programs, or the lines for people."""
    if as_json:
        typer.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))
        return
    for line in lines:
        typer.echo(line.translate(_ESCAPED))


def show_table(document: Any, header: Sequence[str], rows: Iterable[Sequence[Any]], as_json: bool) -> None:
    """Print a result as JSON, or as a table that fits the terminal."""
    if as_json:
        show(document, (), True)
        return
    table = Table(box=SIMPLE)
    for place, name in enumerate(header):
        table.add_column(name, overflow="fold", no_wrap=place < len(header) - 1 and len(header) > 3)
    for row in rows:
        # As Text, brackets in a file's name are no markup.
        table.add_row(*(Text("" if cell is None else str(cell).translate(_ESCAPED)) for cell in row))
    console = Console()
    if not console.is_terminal:
        # A file or another program has no width: nothing may be cut off.
        console.width = max(console.width, console.measure(table, options=console.options.update(width=WIDEST)).maximum)
    console.print(table)


def storage_problem(error: BaseException) -> StorageProblem | None:
    """A full disk, a read-only place or a missing right, put into words; None for any other error."""
    text = str(getattr(error, "orig", error))
    place = getattr(error, "filename", None) or "the project's storage"
    number = getattr(error, "errno", None)
    if number in {errno.ENOSPC, errno.EDQUOT} or "disk is full" in text:
        return StorageProblem(f"no space left where {place} lies; free some and run the same command again")
    if number in {errno.EROFS, errno.EACCES, errno.EPERM} or "readonly database" in text:
        return StorageProblem(f"{place} cannot be written ({text}); check its rights, or use another --project")
    if number in {errno.EEXIST, errno.ENOTDIR}:
        in_the_way = [path for path in (Path(place), *Path(place).parents) if path.is_file()]
        if in_the_way:
            return StorageProblem(f"{in_the_way[0]} is a file, and a folder is needed there; choose another place")
    if isinstance(error, OperationalError) and "unable to open database" in text:
        return StorageProblem(f"the project's database cannot be opened ({text}); check the folder and its rights")
    return None
