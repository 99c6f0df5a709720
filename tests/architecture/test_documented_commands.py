"""Documentation that cannot drift: every command that it shows exists with its options, and every command is shown."""

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from typer.main import get_command

from annotation_ui.item_files import Record, WrittenItem, WrittenStep, parse_record
from core.settings import Settings
from curation.manifest import COLUMNS, read_manifest
from evaluation.graders import GRADERS
from evaluation.graders.base import KeyGrader
from evaluation.models.catalogue import find_models
from interplay.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# In a block of commands, or in the running text between backticks.
SHOWN = re.compile(r"^\s*(?:\$ )?(?:\S*/)?interplay [a-z-].*$|`(?:\S*/)?(interplay [a-z-][^`]*)`", re.MULTILINE)
# What ends one command in a shell.
SEPARATORS = set("|&;<>")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def writer() -> ModuleType:
    """The script that writes docs/command-line.md."""
    spec = importlib.util.spec_from_file_location("write_command_line", ROOT / "docs" / "write_command_line.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands_in(text: str) -> Iterator[list[str]]:
    """Words of every command shown in a page, without `interplay` and what a shell does with the output."""
    for found in SHOWN.finditer(text.replace("\\\n", " ")):
        line = found[1] or found[0]
        lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        _, *words = lexer
        yield list(takewhile(lambda word: not set(word) <= SEPARATORS, words))


SHOWN_COMMANDS = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}: {' '.join(words)}")
    for page in PAGES
    for words in commands_in(page.read_text(encoding="utf-8"))
]
COMMANDS = [pytest.param(path, command, id=" ".join(path)) for path, command in writer().commands()]


def parse(words: list[str]) -> None:
    """Parse a command line down to the last option, without running it or looking for the files that it names.

    In running text a command may stand for itself, without its arguments.
    """
    command: Any = get_command(app)
    context = None
    rest = list(words)
    while hasattr(command, "list_commands"):
        context = command.make_context("interplay", [], parent=context, resilient_parsing=True)
        if not rest:
            return
        name = rest.pop(0)
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name!r}"
    for parameter in command.params:
        for limit in ("exists", "readable", "writable"):
            if hasattr(parameter.type_descriptor.parameter_info, limit):
                setattr(parameter.type_descriptor.parameter_info, limit, False)
    alone = not rest
    command.make_context(" ".join(words), rest, parent=context, resilient_parsing=alone)


@pytest.mark.parametrize("words", SHOWN_COMMANDS)
def test_a_shown_command_exists_with_its_options(words):
    parse([f"{word}1" if word.isupper() else word for word in words])


@pytest.mark.parametrize(
    "wrong",
    ["frobnicate", "item frobnicate", "item list --frob", "release seal zoo", "qc verdict a --decision maybe --by b"],
)
def test_the_parser_sees_what_is_wrong(wrong):
    with pytest.raises(BaseException, match=r"no command|No such option|Missing parameter|is not one of"):
        parse(wrong.split())


def test_commands_are_found_where_pages_show_them():
    page = """Call `interplay item list --json` or `.venv/bin/interplay up`, not `interplay.toml`:

    interplay init my-benchmark  # a comment

```bash
for item in a b; do
  interplay qc verdict $item --decision pass \\
      --by ana; done
$ interplay item list --json | head
```
"""
    assert list(commands_in(page)) == [
        ["item", "list", "--json"],
        ["up"],
        ["init", "my-benchmark"],
        ["qc", "verdict", "$item", "--decision", "pass", "--by", "ana"],
        ["item", "list", "--json"],
    ]


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_has_an_example_that_parses(path, command):
    (example,) = re.findall(r"^Example: interplay (.*)$", command.help, re.MULTILINE)
    words = shlex.split(example)
    assert tuple(words[: len(path)]) == path
    parse(words)


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_option_says_what_it_is_for(path, command):
    silent = [parameter.name for parameter in command.params if not parameter.help]
    assert silent == []


def test_the_page_of_all_commands_is_up_to_date():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert page == writer().page(), "run: python docs/write_command_line.py"


def test_the_format_page_tells_of_every_field_column_and_grader():
    page = (ROOT / "docs" / "item-files.md").read_text(encoding="utf-8")
    # Each table begins with its header and the line under it.
    tables = [re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) for table in page.split("| --- | ")[1:]]
    columns, fields, of_steps, graders = tables
    assert columns == list(COLUMNS)
    assert sorted(fields) == sorted(WrittenItem.model_fields)
    assert sorted(of_steps) == sorted(WrittenStep.model_fields)
    assert sorted(graders) == sorted(entry.name for entry in GRADERS if isinstance(entry.load(), KeyGrader))


def test_the_examples_of_the_format_page_are_items_and_manifests(tmp_path):
    blocks = BLOCK.findall((ROOT / "docs" / "item-files.md").read_text(encoding="utf-8"))
    items = [record for kind, text in blocks if kind == "yaml" for record in yaml.safe_load(text)]
    assert {record["kind"] for record in items} == {"choice", "open", "multi_step"}
    for record in items:
        parse_record(Record("the page", record))
    *_, lines = [text for kind, text in blocks if kind == "jsonl"]
    for line in lines.splitlines():
        parse_record(Record("the page", yaml.safe_load(line)))
    manifests = [(kind, text) for kind, text in blocks if kind == "csv" or '"path"' in text]
    assert [kind for kind, _ in manifests] == ["csv", "jsonl"]
    for kind, text in manifests:
        file = tmp_path / f"manifest.{kind}"
        file.write_text(text, encoding="utf-8")
        entries, missing = read_manifest(file)
        assert (entries, len(missing)) == ([], len(text.splitlines()) - (kind == "csv"))


def test_every_setting_and_model_that_a_page_shows_can_be_read():
    shown = [
        tomllib.loads(text)
        for page in PAGES
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind == "toml"
    ]
    assert len(shown) >= 3
    for settings in shown:
        assert settings.keys() <= Settings.model_fields.keys()
        models = settings.get("models", {})
        assert [model.name for model in find_models(list(models), models)] == list(models)


def test_the_page_of_settings_tells_of_every_one():
    page = (ROOT / "docs" / "projects.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \|", page, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert Settings.model_fields.keys() <= told
