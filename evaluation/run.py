"""Evaluate models on a release under conditions: ask, grade, report. Each stage resumes from what is stored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from core.condition import IN_WORDS
from core.errors import UnknownName
from core.question import Question
from evaluation.asking import Asker, Solved, Unit
from evaluation.caption_conditions import CaptionSource, Words, sources_lines
from evaluation.conditions import STANDARD, Conditions, Donors, check_names
from evaluation.grade import Graded, grade_answers
from evaluation.models.catalogue import ModelSpec
from evaluation.models.spending import Budget
from evaluation.report.build import build_report
from evaluation.report.document import Report
from evaluation.report.items import ItemFacts, item_facts
from evaluation.report.tables import Audit, describe
from evaluation.solve import Showing, plan
from warehouse.audits import content_sha256, finished_counts
from warehouse.captions import KINDS
from warehouse.ledger import settled_keys
from warehouse.release.records import get_release, members_of
from warehouse.release.tombstones import refuse_withdrawn
from warehouse.runs import open_run
from warehouse.tables import CaptionKind, ItemRevision, Run
from warehouse.workspace import Workspace

COMMAND = "evaluation run"
FORGET = "evaluation forget"


@dataclass(frozen=True)
class Order:
    """What to ask: models, conditions by name, how often each question, and how many US dollars it may cost.

    Raises:
        UnknownName: A condition has no such name.
    """

    models: Sequence[ModelSpec]
    conditions: Sequence[str] = tuple(STANDARD)
    replicates: int = 1
    budget_usd: float | None = None

    def __post_init__(self) -> None:
        check_names(self.conditions)

    @property
    def settings(self) -> dict[str, object]:
        """For the record of the run."""
        return {
            "models": [model.settings for model in self.models],
            "conditions": list(self.conditions),
            "replicates": self.replicates,
            "budget_usd": self.budget_usd,
        }


@dataclass(frozen=True)
class Evaluated:
    """What one call of `evaluate` did.

    `missing` counts items for which a condition could not be made, by its name; `idle` names those that apply to none.
    """

    solved: Solved
    graded: Graded
    missing: Mapping[str, int] = field(default_factory=dict)
    idle: Sequence[str] = ()


@dataclass(frozen=True)
class Pending:
    """How many questions a call of `evaluate` would ask, were there no budget; the rest as in `Evaluated`."""

    questions: int
    missing: Mapping[str, int]
    idle: Sequence[str]


def evaluate(workspace: Workspace, name: str, version: str, order: Order) -> Evaluated:
    """Put the release to the models under the conditions that apply to each item, and grade the answers.

    Raises:
        UnknownName: No such release.
        MediaWithdrawn: What it shows was withdrawn since.
        ModelUnavailable, BadModelSettings, NoPrice: A model cannot be asked so; nothing was asked.
    """
    asked = _Asked(workspace, _askable(workspace, name, version), order)
    settings = {"release": f"{name} {version}", **order.settings, "words_by": asked.words_by}
    with open_run(workspace.database, COMMAND, settings) as run:
        asker = Asker(
            workspace.facts,
            workspace.blobs,
            workspace.project.root,
            f"evaluation {name} {version}",
            run.id,
            budget_usd=order.budget_usd,
        )
        solved = asker.ask(asked.units())
        graded = grade_answers(workspace.facts, run.id, asked.questions)
        run.summary = {
            "asked": solved.asked,
            "failures": solved.failures,
            "left": solved.left,
            "cost_usd": solved.cost_usd,
            "graded": graded.graded,
            "missing": asked.missing,
        }
    return Evaluated(solved, graded, asked.missing, asked.idle)


def count_pending(workspace: Workspace, name: str, version: str, order: Order) -> Pending:
    """What `evaluate` would ask.

    Raises:
        UnknownName: No such release.
        MediaWithdrawn: What it shows was withdrawn since.
        NoPrice: There is a budget, and a model's price is not known.
    """
    asked = _Asked(workspace, _askable(workspace, name, version), order)
    Budget(order.budget_usd, order.models)
    requests = {unit.request_key for unit in asked.units()}
    count = len(requests - settled_keys(workspace.facts, requests, "request_key"))
    return Pending(count, asked.missing, asked.idle)


class _Asked:
    """What an order asks of a release's revisions."""

    def __init__(self, workspace: Workspace, revisions: Sequence[tuple[str, ItemRevision]], order: Order) -> None:
        self._revisions, self._order = revisions, order
        ids = [revision.id for _, revision in revisions]
        with workspace.database.reading() as session:
            facts = item_facts(session, ids)
            words = Words(session, ids)
        self.questions: dict[str, Question] = {revision_id: one.question for revision_id, one in facts.items()}
        clusters = {revision_id: one.cluster for revision_id, one in facts.items()}
        self._conditions = Conditions(order.conditions, words, Donors(self.questions, clusters))
        self.words_by = [vars(source) for source in words.sources(self.questions.items())]

    def units(self) -> Iterator[Unit[Showing]]:
        """Every unit."""
        for named in self._revisions:
            conditions = self._conditions.of(named[1].id, self.questions[named[1].id])
            yield from plan(self._order.models, [named], conditions, replicates=self._order.replicates)

    @property
    def missing(self) -> dict[str, int]:
        """Items for which a condition could not be made, by its name; known when all units are."""
        return dict(+self._conditions.missing)

    @property
    def idle(self) -> list[str]:
        """Conditions that apply to no item; known when all units are."""
        return self._conditions.idle


def report_release(
    workspace: Workspace,
    name: str,
    version: str,
    models: Sequence[str] | None = None,
    *,
    with_answers: bool = True,
    beside: Sequence[tuple[str, str]] = (),
    judge: ModelSpec | None = None,
) -> Report:
    """The numbers of the models that were evaluated on the release, and the responses behind them.

    Args:
        workspace: Of the project.
        name: Of the release.
        version: Of the release.
        models: Only models of these names; without them, all that were evaluated on it.
        with_answers: Whether to load the responses too, and not the numbers alone.
        beside: Names and versions of other releases that the table of benchmarks shows beside it.
        judge: Whose stored grades count where the rules settle nothing.

    Raises:
        UnknownName: No such release.
    """
    title = f"{name} {version}"
    with workspace.database.reading() as session:
        items = _facts_of_release(session, name, version)
        others = {f"{one} {other}": _facts_of_release(session, one, other) for one, other in beside}
        audits = {called: _audit(session, held.values()) for called, held in {title: items, **others}.items()}
        models = evaluated_models(session, title) if models is None else models
        notes = _words_shown(session, title, models)
    benchmarks = [describe(called, held.values(), audits[called]) for called, held in {title: items, **others}.items()]
    return build_report(
        workspace.facts,
        title,
        items,
        models,
        with_answers=with_answers,
        benchmarks=benchmarks,
        judge=judge,
        notes=notes,
    )


def _words_shown(session: Session, release: str, models: Sequence[str] | None) -> list[str]:
    """Whose captions and transcripts these models were shown when one was last asked with some."""
    runs = session.exec(select(Run).where(Run.command == COMMAND).order_by(col(Run.started_at).desc()))
    told: dict[CaptionKind, list[CaptionSource]] = {}
    for run in runs:
        names = {one["name"] for one in run.settings["models"]}
        if run.settings["release"] != release or names.isdisjoint(models or ()):
            continue
        asked = [modality for name in run.settings.get("conditions", ()) for modality in IN_WORDS.get(name, ())]
        sources = run.settings.get("words_by", ())
        words = [CaptionSource(CaptionKind(one["kind"]), one["whose"], one["count"]) for one in sources]
        for kind in {KINDS[modality] for modality in asked} - told.keys():
            told[kind] = [one for one in words if one.kind is kind]
    return sources_lines([one for kind in sorted(told) for one in told[kind]])


def _facts_of_release(session: Session, name: str, version: str) -> dict[str, ItemFacts]:
    members = members_of(session, get_release(session, name, version))
    return item_facts(session, [member.revision.id for member in members])


def _audit(session: Session, items: Iterable[ItemFacts]) -> Audit | None:
    """What people found in a finished audit of exactly these questions."""
    counts = finished_counts(session, content_sha256(item.question.content_hash for item in items))
    if counts is None:
        return None
    return Audit(
        answers_checked=counts.audited,
        answers_right=counts.answers_right,
        needs_checked=counts.audited,
        needs_all=counts.needs_all,
    )


def _askable(workspace: Workspace, name: str, version: str) -> list[tuple[str, ItemRevision]]:
    """The release's revisions, none of which shows what was withdrawn."""
    revisions = release_revisions(workspace, name, version)
    shown = [part.media.sha256 for _, revision in revisions for part in revision.as_question().media]
    with workspace.database.reading() as session:
        refuse_withdrawn(session, f"{name} {version}", shown)
    return revisions


def evaluated_models(session: Session, release: str) -> list[str] | None:
    """Models that `evaluate` was called with on a release ("NAME VERSION"), by name; None when there are none.

    A panel's answers chose the items: its models belong in a report only if somebody evaluated them too. What was
    forgotten since is left out.
    """
    wanted = select(Run).where(col(Run.command).in_([COMMAND, FORGET])).order_by(col(Run.started_at), col(Run.id))
    names: set[str] = set()
    for run in session.exec(wanted):
        if run.settings["release"] == release:
            called = {model["name"] for model in run.settings["models"]}
            names = names | called if run.command == COMMAND else names - called
    return sorted(names) or None


def forget(workspace: Workspace, name: str, version: str, models: Sequence[str]) -> None:
    """Leave models out of the reports of a release; their answers stay, and asking or importing brings them back.

    Raises:
        UnknownName: No such release, or a model that no report of it shows.
    """
    with workspace.database.reading() as session:
        get_release(session, name, version)
        known = evaluated_models(session, f"{name} {version}") or ()
    for model in models:
        if model not in known:
            raise UnknownName("model of that release's reports", model, known)
    settings = {"release": f"{name} {version}", "models": [{"name": model} for model in models]}
    with open_run(workspace.database, FORGET, settings):
        pass


def release_revisions(workspace: Workspace, name: str, version: str) -> list[tuple[str, ItemRevision]]:
    """Item names and revisions of a release, in its order."""
    with workspace.database.reading() as session:
        members = members_of(session, get_release(session, name, version))
    return [(member.item.name, member.revision) for member in members]
