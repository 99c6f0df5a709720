"""Writes docs/command-line.md from the commands themselves: `python docs/write_command_line.py`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from interplay.cli import app

PAGE = Path(__file__).with_name("command-line.md")
SHARED = {
    "--project": "`--project`",
    "--json": "`--json`",
    "--dry-run": "`--dry-run`",
}
BEGIN = """\
# Command line

<!-- Written by docs/write_command_line.py; change the commands' own texts, then run it again. -->

`interplay NOUN VERB`. Every command has `--help`.

Options that most commands share:

- `--project FOLDER`: the project. Without it the environment variable `INTERPLAY_PROJECT` names it, else the nearest
  parent folder that holds `interplay.toml` is it.
- `--json`: print one JSON document instead of text.
- `--dry-run`: say what would be done; write nothing.
- `--by NAME`: who acts, for the history. It is a user of the project (`interplay user add`) whose account is active;
  some acts need a role. Without it, it is the name you are logged in with.

Exit codes:

- 0: done.
- 1: a check found something, such as what blocks a release, or damaged files; all of it is shown. A bug ends with 1,
  too, and with its traceback.
- 2: it could not be done as asked. One line on standard error says what is wrong, where, and the mend. Also when items,
  or all files, of a call were refused; they are listed, and the others are in.

A command that was stopped, even killed, is called again as it was: it does what is missing.
"""


def page() -> str:
    """The whole page."""
    sections: dict[str, list[str]] = {"project": []}
    for path, command in commands():
        noun = path[0] if len(path) > 1 else "project"
        sections.setdefault(noun, []).append(_section(path, command))
    parts = [BEGIN]
    for noun, texts in sections.items():
        parts.append(f"## {noun}\n" if noun != "project" else "## The project as a whole\n")
        parts += texts
    return "\n".join(parts)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words after `interplay`."""
    root = get_command(app)
    yield from _under(root, ())


def _under(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = command.make_context("interplay", [], resilient_parsing=True)
    for name in command.list_commands(context):
        yield from _under(command.get_command(context, name), (*path, name))


def _section(path: tuple[str, ...], command: Any) -> str:
    text, _, example = (command.help or "").partition("Example: ")
    context = command.make_context(" ".join(("interplay", *path)), [], resilient_parsing=True)
    lines = [f"### interplay {' '.join(path)}", "", re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip()), ""]
    lines += ["```console", f"$ {example.strip()}", "```", ""]
    rows = [
        f"| `{_cell(name)}` | {_cell(meaning)} |"
        for parameter in command.params
        if not SHARED.keys() & set(parameter.opts) and (record := parameter.get_help_record(context))
        for name, meaning in [record]
    ]
    if rows:
        lines += ["| Argument or option | Meaning |", "| --- | --- |", *rows, ""]
    shared = [SHARED[option] for parameter in command.params for option in parameter.opts if option in SHARED]
    if shared:
        lines += [f"Also {', '.join(shared)}.", ""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
