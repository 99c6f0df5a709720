"""`interplay up`: the studio on a project."""

import webbrowser
from importlib.util import find_spec
from pathlib import Path

import typer

from core.errors import InterplayError, MissingExtra
from core.settings import NoProject

_NEEDED = ("argon2", "babel", "itsdangerous", "streamlit", "uvicorn")


class NothingToOpen(InterplayError):
    """The studio was started where there is no project."""


def up(host: str, port: int | None, browser: bool, project: Path | None) -> None:
    """Start the studio and stay until Ctrl-C.

    Args:
        host: Address to listen on.
        port: Port to listen on; None takes the first free one from 8501 on.
        browser: Whether to open a browser window.
        project: Project folder; None finds it as every command does.

    Raises:
        MissingExtra: The studio's packages are not installed.
        NothingToOpen: There is no project.
        PortBusy, PlaceUnusable: The address cannot be used.
    """
    if any(find_spec(package) is None for package in _NEEDED):
        raise MissingExtra("The studio", "studio")
    from annotation_ui.server import listen, serve
    from annotation_ui.studio import open_studio

    def announce(address: str, first_link: str | None) -> None:
        typer.echo(f"the studio is at {address} (stop it with Ctrl-C)")
        if first_link is not None:
            typer.echo(f"nobody can sign in yet; this link works once and makes the first account:\n  {first_link}")
        if browser:
            webbrowser.open(first_link or address)

    try:
        with open_studio(project) as studio:
            serve(studio, listen(host, port), announce)
    except NoProject as error:
        raise NothingToOpen(f"{error}; or look at a finished one: 'interplay demo', then 'interplay up'") from error
    typer.echo("the studio has stopped")
