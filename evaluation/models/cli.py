"""`interplay models ...`."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from core.condition import SENSES
from core.content import Modality
from evaluation.canary import Arrival, Delivery, check_delivery, delivery_rows, known_delivery, problems
from evaluation.models.catalogue import find_models
from evaluation.models.omni.capabilities import ROWS, Capability
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.panel import BUILT_IN, default_gallery, read_members
from warehouse.command_line import JsonOption, ProjectOption, show, show_table
from warehouse.runs import open_run
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="See what reaches models; serve simulated ones.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """See what reaches models; serve simulated ones."""


@app.command("serve-sim")
def serve_sim(
    members: Annotated[
        Path | None, typer.Option(help=f"TOML file of [members.NAME] tables of knobs; else {', '.join(BUILT_IN)}.")
    ] = None,
    gallery: Annotated[
        Path | None, typer.Option(help="What members know by sight and by ear; else spoken digits alone.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8100,
    api_key: Annotated[str | None, typer.Option(help="Key that callers must send; none by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve simulated models, which decode what they receive, over the OpenAI chat API until Ctrl-C.

    Example: interplay models serve-sim --port 8100
    """
    from evaluation.models.sim.server import SimulatedServer, base_url, listen, serve

    served = BUILT_IN if members is None else read_members(members)
    known = default_gallery() if gallery is None else Gallery.load(gallery)
    listening = listen(host, port)
    address = base_url(listening)
    settings = settings_for(served, address, keyed=api_key is not None)
    lines = [f"serving {', '.join(served)} at {address}; for interplay.toml:", "", settings, "", "Ctrl-C stops it."]
    show({"base_url": address, "models": list(served), "settings": settings}, lines, as_json)
    serve(SimulatedServer(served, known, api_key=api_key), listening)


def settings_for(names: Iterable[str], address: str, *, keyed: bool) -> str:
    """The models as tables for `interplay.toml`."""
    key = ', api_key = "KEY"' if keyed else ""
    return "\n\n".join(
        f"[models.{name if re.fullmatch(r'[A-Za-z0-9_-]+', name) else json.dumps(name, ensure_ascii=False)}]\n"
        f"provider = {json.dumps(f'interplay-omni/{name}', ensure_ascii=False)}\n"
        'endpoint = "serve-sim"\n'
        f'arguments = {{ base_url = "{address}"{key} }}'
        for name in names
    )


@app.command("list")
def list_command(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show the project's models, how each takes media, and what the last canaries say of it.

    Example: interplay models list
    """
    with open_workspace(project) as workspace:
        settings = workspace.project.settings.models
        models = find_models(list(settings), settings)
        known = known_delivery(workspace.facts, models) if models else []
    document = [
        {
            **model.settings,
            "capability": model.capability.model_dump(mode="json"),
            "delivery_known": delivery.model_dump(mode="json", exclude={"heard"}),
        }
        for model, delivery in zip(models, known, strict=True)
    ]
    rows = [
        [
            model.name,
            model.provider,
            model.family,
            model.capability.name,
            "yes" if model.panel else "",
            *_arrivals(delivery),
        ]
        for model, delivery in zip(models, known, strict=True)
    ]
    header = ["model", "provider", "family", "endpoint", "panel", *(modality.value for modality in SENSES)]
    show_table(document, header, rows, as_json)


@app.command()
def endpoints(as_json: JsonOption = False) -> None:
    """Show the kinds of servers that are known: what each takes, in which form, and how a thinking budget is said.

    Example: interplay models endpoints
    """
    rows = [
        [row.name, *(_form(row, modality) for modality in SENSES), "yes" if row.mixed else "no", row.streaming.value,
         row.thinking.value]
        for row in ROWS
    ]  # fmt: skip
    header = ["endpoint", *(modality.value for modality in SENSES), "mixed", "streaming", "thinking"]
    show_table([row.model_dump(mode="json") for row in ROWS], header, rows, as_json)


@app.command()
def check(
    names: Annotated[list[str], typer.Argument(help="A project's model, or any provider/model.")],
    again: Annotated[bool, typer.Option("--again", help="Ask once more: a server may have changed since.")] = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Find out which modalities really reach a model: digits printed, shown and spoken, alone, together, in order.

    Exit code 1 when something that the endpoint takes does not arrive.

    Example: interplay models check gemini
    """
    with open_workspace(project) as workspace:
        models = find_models(names, workspace.project.settings.models)
        settings = {"models": [model.settings for model in models], "again": again}
        with open_run(workspace.database, "models check", settings) as run:
            found = check_delivery(workspace, run.id, models, again=again)
            run.summary = {one.model: sorted(one.lost) for one in found}
    header = ["model", "modality", "arrives", "alone", "together", "in order"]
    rows = [row for one in found for row in delivery_rows(one)]
    show_table([one.model_dump(mode="json") for one in found], header, rows, as_json)
    if not as_json:
        lines = [f"{one.model}: {problem}" for one in found for problem in problems(one)]
        show(None, lines, False)
    if any(one.lost for one in found):
        raise typer.Exit(1)


def _arrivals(delivery: Delivery) -> list[str]:
    if not delivery.was_asked:
        return ["not checked" if one.arrival is not Arrival.NOT_TAKEN else "not taken" for one in delivery.modalities]
    return [one.arrival.value.replace("_", " ") for one in delivery.modalities]


def _form(row: Capability, modality: Modality) -> str:
    taken = row.taken(modality)
    return "no" if taken is None else taken.form.value
