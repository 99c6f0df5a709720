"""`interplay user ...`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.errors import MissingExtra
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.people import get_user
from warehouse.tables import User

try:
    from annotation_ui import accounts
    from annotation_ui.auth import LINK_LIFE, LINK_PATH, Auth
    from annotation_ui.permissions import parse_roles
    from annotation_ui.profiles import PersonKind, Profile
    from annotation_ui.studio import Studio, open_studio
except ModuleNotFoundError as error:
    raise MissingExtra("Managing people", "studio") from error

app = typer.Typer(no_args_is_help=True, help="Add people and set what they may do.", rich_markup_mode=None)

HERE = "http://127.0.0.1:8501"
NameArgument = Annotated[str, typer.Argument(help="Name to sign in with.")]
RoleOption = Annotated[
    list[str],
    typer.Option("--role", help="annotator, reviewer, maintainer or participant; give it once for each role."),
]
PasswordOption = Annotated[
    bool,
    typer.Option("--password-stdin", help="Set the password: asked for on a terminal, else the input's first line."),
]
UrlOption = Annotated[
    str | None,
    typer.Option(help=f"What the one-time link begins with; else the setting studio_url, else {HERE}."),
]
KindOption = Annotated[PersonKind | None, typer.Option(help="What kind of annotator they are.")]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="A language that they speak, as zh; give it once for each.")
]
DialectOption = Annotated[
    list[str] | None, typer.Option("--dialect", help="A dialect that they speak; give it once for each.")
]


@app.command()
def add(
    name: NameArgument,
    role: RoleOption,
    display_name: Annotated[str, typer.Option(help="Name that others see; else the sign-in name.")] = "",
    kind: KindOption = None,
    language: LanguageOption = None,
    dialect: DialectOption = None,
    password_stdin: PasswordOption = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Add somebody: with a password, or with a one-time link by which they set their own.

    Example: interplay user add mei --role annotator --role reviewer --kind expert --language zh --dialect Hakka
    """
    with open_studio(project) as studio:
        auth = _auth(studio)
        hashed = auth.hash_password(name, _read_password()) if password_stdin else None
        with studio.workspace.database.session() as session:
            user = accounts.create_user(
                session, name, parse_roles(role), display_name=display_name, password_hash=hashed,
                profile=Profile(kind, tuple(language or ()), tuple(dialect or ())),
            )  # fmt: skip
        link = None if hashed else _address(studio, auth, user, url)
    show({**_facts(user), "link": link}, [f"added {name} as {', '.join(user.roles)}", *_about(link)], as_json)


@app.command()
def link(name: NameArgument, url: UrlOption = None, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Print a one-time link with which somebody sets a new password.

    Example: interplay user link mei
    """
    with open_studio(project) as studio:
        with studio.workspace.database.reading() as session:
            user = get_user(session, name)
        address = _address(studio, _auth(studio), user, url)
    show({**_facts(user), "link": address}, _about(address), as_json)


@app.command()
def roles(name: NameArgument, role: RoleOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Give somebody these roles and no others.

    Example: interplay user roles mei --role reviewer
    """
    with open_studio(project) as studio, studio.workspace.database.session() as session:
        user = get_user(session, name)
        accounts.set_roles(session, user, parse_roles(role))
    show(_facts(user), [f"{name} is now {', '.join(user.roles)}"], as_json)


@app.command()
def profile(
    name: NameArgument,
    kind: KindOption = None,
    language: LanguageOption = None,
    dialect: DialectOption = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Set what kind of annotator somebody is and what they speak; what is not named stays.

    Example: interplay user profile mei --kind expert --language zh --language en
    """
    with open_studio(project) as studio, studio.workspace.database.session() as session:
        user = get_user(session, name)
        known = Profile.of(user.profile)
        new = Profile(
            kind or known.kind,
            known.languages if language is None else tuple(language),
            known.dialects if dialect is None else tuple(dialect),
        )
        accounts.set_profile(session, user, new)
    show(_facts(user), [f"{name}: {_profile(user) or 'no profile'}"], as_json)


@app.command()
def deactivate(name: NameArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Switch an account off; it works at once, also where somebody is signed in.

    Example: interplay user deactivate mei
    """
    _switch(name, False, as_json, project)


@app.command()
def activate(name: NameArgument, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Switch an account on again.

    Example: interplay user activate mei
    """
    _switch(name, True, as_json, project)


@app.command("list")
def list_command(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show everybody.

    Example: interplay user list
    """
    with open_studio(project) as studio, studio.workspace.database.reading() as session:
        users = accounts.all_users(session)
    rows = [(user.name, user.display_name, ", ".join(user.roles), _profile(user), _state(user)) for user in users]
    show_table([_facts(user) for user in users], ("name", "shown as", "roles", "profile", "account"), rows, as_json)


def _switch(name: str, active: bool, as_json: bool, project: Path | None) -> None:
    with open_studio(project) as studio, studio.workspace.database.session() as session:
        user = get_user(session, name)
        accounts.set_active(session, user, active)
    show(_facts(user), [f"{name} is {'active' if active else 'switched off'}"], as_json)


def _auth(studio: Studio) -> Auth:
    return Auth(studio.workspace.database, studio.key, studio.clock)


def _read_password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")


def _address(studio: Studio, auth: Auth, user: User, url: str | None) -> str:
    return f"{(url or studio.url or HERE).rstrip('/')}{LINK_PATH}/{auth.user_link(user)}"


def _about(address: str | None) -> list[str]:
    return [f"one-time link, good for {LINK_LIFE.days} days:", f"  {address}"] if address else []


def _state(user: User) -> str:
    if accounts.is_waiting(user):
        return "waits to be let in"
    if not user.active:
        return "switched off"
    return "active" if user.password_hash or user.external_id else "link not used yet"


def _profile(user: User) -> str:
    known = Profile.of(user.profile)
    return ", ".join([*([known.kind.value] if known.kind else []), *known.languages, *known.dialects])


def _facts(user: User) -> dict[str, object]:
    return {
        "name": user.name,
        "display_name": user.display_name,
        "roles": user.roles,
        "active": user.active,
        "has_password": user.password_hash is not None,
        "external_id": user.external_id,
        "waiting": accounts.is_waiting(user),
        **{name: user.profile.get(name) for name in ("kind", "languages", "dialects")},
    }
