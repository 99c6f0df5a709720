"""Evaluate models on a release under conditions: ask, grade, report. Each stage resumes from what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, select

from core.condition import FULL, OPTIONS_ONLY, SENSES, TEXT_ONLY, Condition, without
from core.errors import UnknownName
from evaluation.grade import Graded, grade_answers
from evaluation.models.catalogue import ModelSpec
from evaluation.report import Report, build_report
from evaluation.solve import Asker, Solved, plan
from warehouse.ledger import settled_keys
from warehouse.release.records import get_release, members_of
from warehouse.runs import open_run
from warehouse.tables import ItemRevision, Run
from warehouse.workspace import Workspace

COMMAND = "evaluation run"
CONDITIONS: dict[str, Condition] = {
    condition.name: condition
    for condition in (FULL, *(without(modality) for modality in SENSES), TEXT_ONLY, OPTIONS_ONLY)
}


@dataclass(frozen=True)
class Evaluated:
    """What one call of `evaluate` did."""

    solved: Solved
    graded: Graded


def find_conditions(names: Sequence[str]) -> list[Condition]:
    """The conditions of these names.

    Raises:
        UnknownName: There is none.
    """
    for name in names:
        if name not in CONDITIONS:
            raise UnknownName("condition", name, CONDITIONS)
    return [CONDITIONS[name] for name in names]


def evaluate(
    workspace: Workspace, name: str, version: str, models: Sequence[ModelSpec], conditions: Sequence[Condition]
) -> Evaluated:
    """Put the release to the models under the conditions that apply to each item, and grade the answers.

    Raises:
        UnknownName: No such release.
        ModelUnavailable, BadModelSettings: A model cannot be started; nothing was asked.
    """
    revisions = release_revisions(workspace, name, version)
    settings = {
        "release": f"{name} {version}",
        "models": [model.settings for model in models],
        "conditions": [condition.name for condition in conditions],
    }
    with open_run(workspace.database, COMMAND, settings) as run:
        asker = Asker(workspace.facts, workspace.blobs, workspace.project.root, f"evaluation {name} {version}", run.id)
        solved = asker.ask(plan(models, revisions, conditions))
        questions = {revision.id: revision.as_question() for _, revision in revisions}
        graded = grade_answers(workspace.facts, run.id, questions)
        run.summary = {"asked": solved.asked, "failures": solved.failures, "graded": graded.graded}
    return Evaluated(solved, graded)


def count_pending(
    workspace: Workspace, name: str, version: str, models: Sequence[ModelSpec], conditions: Sequence[Condition]
) -> int:
    """How many questions `evaluate` would ask."""
    units = plan(models, release_revisions(workspace, name, version), conditions)
    requests = {unit.request_key for unit in units}
    return len(requests - settled_keys(workspace.facts, requests, "request_key"))


def report_release(
    workspace: Workspace, name: str, version: str, models: Sequence[str] | None = None, *, with_answers: bool = True
) -> Report:
    """The numbers of the models that were evaluated on the release, and the responses behind them.

    Raises:
        UnknownName: No such release.
    """
    questions = {revision.id: revision.as_question() for _, revision in release_revisions(workspace, name, version)}
    if models is None:
        with workspace.database.reading() as session:
            models = evaluated_models(session, f"{name} {version}")
    return build_report(workspace.facts, f"{name} {version}", questions, models, with_answers=with_answers)


def evaluated_models(session: Session, release: str) -> list[str] | None:
    """Models that `evaluate` was called with on a release ("NAME VERSION"), by name; None when there are none.

    A panel's answers chose the items: its models belong in a report only if somebody evaluated them too.
    """
    runs = session.exec(select(Run).where(Run.command == COMMAND))
    names = {model["name"] for run in runs if run.settings["release"] == release for model in run.settings["models"]}
    return sorted(names) or None


def release_revisions(workspace: Workspace, name: str, version: str) -> list[tuple[str, ItemRevision]]:
    """Item names and revisions of a release, in its order."""
    with workspace.database.reading() as session:
        members = members_of(session, get_release(session, name, version))
    return [(member.item.name, member.revision) for member in members]
