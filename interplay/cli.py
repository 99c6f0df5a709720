"""The door: `interplay NOUN VERB`."""

import logging
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

# Each noun's commands live in its package and are imported when they are called: help and errors come at once.
NOUNS = {
    "caption": ("evaluation.caption_cli:app", "Have media described in words, mend and accept the words."),
    "compress": ("compression.cli:app", "Keep a share of a pool's questions that stands for all of it."),
    "consent": ("curation.recordings.consent_cli:app", "Note who agreed to what, and take it back."),
    "contributor": ("curation.recordings.contributor_cli:app", "Add people who give recordings, under pseudonyms."),
    "contamination": ("curation.contamination.cli:app", "Find what of ours public benchmarks hold already."),
    "evaluation": ("evaluation.cli:app", "Put a release to models, grade the answers, report."),
    "exam": ("evaluation.exam.cli:app", "Ask people what models are asked, and set both side by side."),
    "item": ("annotation_ui.item_cli:app", "Import, check and look at items."),
    "law": ("evaluation.law.cli:app", "Fit the compositional law."),
    "material": ("curation.cli:app", "Bring media into the library and look at it."),
    "models": ("evaluation.models.cli:app", "See what reaches models; serve simulated ones."),
    "pool": ("compression.pool_cli:app", "Bring in scores of many models, and look at them."),
    "published": ("evaluation.published.cli:app", "Check published tables against themselves."),
    "qc": ("qc.cli:app", "Run the three rounds of quality control."),
    "question": ("curation.questions.cli:app", "Bring in public question sets, and look at them."),
    "recording": ("curation.recordings.recording_cli:app", "Take in, check and decide on takes of scripts."),
    "release": ("warehouse.release_cli:app", "Build, seal, verify, compare and export releases."),
    "script": ("curation.recordings.script_cli:app", "Say what is to be recorded."),
    "user": ("annotation_ui.user_cli:app", "Add people and set what they may do."),
    "warehouse": ("warehouse.cli:app", "Look after what lasts: tables, facts, runs."),
}


# What a command ends with that was stopped by Ctrl-C.
_STOPPED = 130


class LazyNouns(TyperGroup):
    """A group whose nouns are imported on use."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Nouns and our own verbs."""
        return sorted({*super().list_commands(ctx), *NOUNS})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The noun's group, imported now."""
        if cmd_name not in NOUNS:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = NOUNS[cmd_name][0].partition(":")
        return _with_whole_sentences(get_command(getattr(import_module(module), attribute)))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands without importing any of them."""
        own = {name: command.get_short_help_str(100) for name, command in self.commands.items()}
        rows = sorted((own | {name: text for name, (_, text) in NOUNS.items()}).items())
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _with_whole_sentences(group: Any) -> Any:
    """Lists of commands give the first sentence of each whole, over several lines; else it is cut to one."""
    for command in getattr(group, "commands", {}).values():
        told = " ".join((command.help or "").partition("\n\n")[0].split())
        command.short_help = command.short_help or re.split(r"(?<=\.)\s", told)[0]
        _with_whole_sentences(command)
    return group


app = typer.Typer(cls=LazyNouns, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def _root() -> None:
    """Interplay: build omni-modal benchmarks whose questions need every modality.

    Example: interplay demo
    """


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="Folder of the new project.")] = Path()) -> None:
    """Make a project: a folder with its settings, tables and stores.

    Example: interplay init my-benchmark
    """
    from warehouse.workspace import init_project

    project = init_project(folder)
    typer.echo(f"made the project {project.root}; next: interplay material ingest FILES --project {folder}")


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Folder of the demo's project.")] = Path("demo-project"),
) -> None:
    """Make a project from real photos, sounds and speech, and take it all the way to an evaluated release.

    Needs no account, key, hub or GPU. A second call does only what is missing.

    Example: interplay demo
    """
    from interplay.demo import Demo

    Demo(folder.resolve(), typer.echo).run()


@app.command()
def up(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port to listen on; else the first free one from 8501 on.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser window.")] = True,
    project: Annotated[
        Path | None, typer.Option(help="Project folder; else INTERPLAY_PROJECT, else the nearest parent with one.")
    ] = None,
) -> None:
    """Start the studio: sign in, materials, items, results.

    Example: interplay up --project my-benchmark
    """
    from interplay.up import up as start

    start(host, port, browser, project)


@app.command()
def version() -> None:
    """Print the version.

    Example: interplay version
    """
    from importlib.metadata import version as installed

    typer.echo(installed("interplay"))


def main() -> None:
    """Run the command line: a user's mistake is one line and exit code 2, anything else is a bug with its traceback."""
    from core.errors import InterplayError
    from warehouse.command_line import storage_problem

    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("interplay").setLevel(logging.INFO)
    try:
        app()
    except SystemExit as ended:
        if ended.code == _STOPPED:
            typer.echo("interplay: stopped; the same command goes on where it was", err=True)
        raise
    except InterplayError as error:
        _fail(str(error))
    except Exception as error:
        problem = storage_problem(error)
        if problem is None:
            raise
        _fail(str(problem))


def _fail(text: str) -> None:
    typer.echo(f"interplay: {' '.join(text.split())}", err=True)
    raise SystemExit(2)
