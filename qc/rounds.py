"""Rounds 1 and 2: ask the panel what is missing, judge, move the items."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from sqlmodel import Session, select

from core.condition import FULL, TEXT_ONLY, Condition, without
from core.content import Modality
from core.errors import InterplayError
from core.question import Question, QuestionKind
from evaluation.asking import Asker
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import plan
from qc.checks import Subject, run_checks
from qc.checks.asked import Asked
from qc.gates import Ruling, Thresholds, judge_ablations, judge_full, judge_text, needs_probe
from qc.panel import Votes, count_votes
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.items import revisions_in
from warehouse.ledger import settled_keys
from warehouse.runs import open_run
from warehouse.tables import Decision, Item, ItemRevision, ItemState, Material, MaterialState, RevisionMedia
from warehouse.verdicts import ROUND_NEEDS, Judgement, OldRevision, WrongRound, record_verdict, settle_round
from warehouse.workspace import Workspace

MODEL_CHECK = "model_check@1"
ABLATION = "ablation@1"
# Nobody's question is the copy of a draft, or of one that its author has to change.
_NOT_IN_PLAY = frozenset({ItemState.DRAFT, ItemState.RETURNED})


class PanelTooSmall(InterplayError):
    """Fewer model families than the rule needs."""


@dataclass
class RoundReport:
    """How a round went: items by decision, with reason codes; questions asked, and answers that failed by state.

    `overtaken` are items that somebody moved or revised while the round was at work: they are judged next time.
    """

    round: int
    rulings: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    overtaken: list[str] = field(default_factory=list)
    asked: int = 0
    failures: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Panel:
    """The models that answer, and the limits by which their answers are judged."""

    models: Sequence[ModelSpec]
    limits: Thresholds = field(default_factory=Thresholds)

    def __post_init__(self) -> None:
        families = {model.family for model in self.models}
        if len(families) < self.limits.families_at_least:
            raise PanelTooSmall(
                f"the panel has {len(families)} model families ({', '.join(sorted(families))}); "
                f"the rule needs {self.limits.families_at_least}: name more with --model, "
                "or set their families in interplay.toml"
            )


def run_round1(workspace: Workspace, panel: Panel) -> RoundReport:
    """Model check: automatic checks first, then the panel with full input (UNO-Bench 3.1.4)."""
    with _Round(workspace, panel, 1) as the_round:
        checked = _Checker(workspace).check(the_round.items)
        for revision_id, ruling in checked.items():
            if ruling.decision is not Decision.PASS:
                the_round.settle(revision_id, ruling, MODEL_CHECK)
        votes = the_round.ask([FULL])
        for revision_id in list(the_round.items):
            question = the_round.questions[revision_id]
            ruling = judge_full(question, votes.get((revision_id, FULL.name)), panel.limits)
            evidence = {**ruling.evidence, "findings": checked[revision_id].evidence["findings"]}
            the_round.settle(revision_id, Ruling(ruling.decision, ruling.reason_codes, evidence), MODEL_CHECK)
        return the_round.report


def run_round2(workspace: Workspace, panel: Panel) -> RoundReport:
    """Ablation study, cheapest gate first: text only, then without each required modality."""
    with _Round(workspace, panel, 2) as the_round:
        text = the_round.ask_with_probe(lambda _: [TEXT_ONLY])
        for revision_id in list(the_round.items):
            ruling = judge_text(*text[revision_id][0], panel.limits)
            if ruling.decision is not Decision.PASS:
                the_round.settle(revision_id, ruling, ABLATION)
        ablated = the_round.ask_with_probe(required_removals)
        for revision_id in list(the_round.items):
            ruling = judge_ablations(ablated[revision_id], panel.limits)
            seen = [*text[revision_id][0], *(votes for pair in ablated[revision_id] for votes in pair)]
            evidence = {**ruling.evidence, "votes": [one.model_dump(mode="json") for one in seen if one]}
            the_round.settle(revision_id, Ruling(ruling.decision, ruling.reason_codes, evidence), ABLATION)
        return the_round.report


def count_pending(workspace: Workspace, panel: Panel) -> dict[int, int]:
    """Questions that rounds 1 and 2 would ask now, by round.

    At most: round 2 asks nothing more of an item that its first gate stops. Options-free probes, and items that round 1
    lets pass, come on top.
    """
    conditions_of: dict[int, Callable[[Question], Sequence[Condition]]] = {
        1: lambda _: [FULL],
        2: lambda question: [TEXT_ONLY, *required_removals(question)],
    }
    counts: dict[int, int] = {}
    for number, conditions in conditions_of.items():
        with workspace.database.reading() as session:
            waiting = [(item.name, revision) for item, revision in revisions_in(session, ROUND_NEEDS[number])]
        requests = {
            unit.request_key
            for named in waiting
            for unit in plan(panel.models, [named], conditions(named[1].as_question()), rotate=True)
        }
        counts[number] = len(requests - settled_keys(workspace.facts, requests, "request_key"))
    return counts


def required_removals(question: Question) -> list[Condition]:
    """The conditions that leave out one required modality each."""
    return [without(modality) for modality in sorted(question.required - {Modality.TEXT})]


class _Round:
    """The items that stand before one round, shrinking as they are settled; one Run around all of it."""

    def __init__(self, workspace: Workspace, panel: Panel, number: int) -> None:
        self._workspace, self._panel, self._number = workspace, panel, number
        settings = {"models": [model.settings for model in panel.models], "thresholds": asdict(panel.limits)}
        self._opened = open_run(workspace.database, f"qc round {number}", settings)
        self.report = RoundReport(number)

    def __enter__(self) -> "_Round":
        with self._workspace.database.reading() as session:
            waiting = revisions_in(session, ROUND_NEEDS[self._number])
        self.items: dict[str, tuple[Item, ItemRevision]] = {revision.id: (item, revision) for item, revision in waiting}
        self.questions = {revision.id: revision.as_question() for _, revision in waiting}
        self._run = self._opened.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        decisions = Counter(decision for decision, _ in self.report.rulings.values())
        self._run.summary = {"decisions": dict(decisions), "asked": self.report.asked, **self.report.failures}
        self._opened.__exit__(*failure)  # type: ignore[arg-type]

    def ask(self, conditions: Sequence[Condition]) -> dict[tuple[str, str], Votes]:
        """The panel's votes on all remaining items under the conditions, asking only what is missing."""
        return self._ask(dict.fromkeys(self.items, conditions))

    def ask_with_probe(
        self, conditions_of: Callable[[Question], Sequence[Condition]]
    ) -> dict[str, list[tuple[Votes | None, Votes | None]]]:
        """Votes under each condition, with those of the options-free probe where the first are flagged or grey."""
        wanted = {revision_id: list(conditions_of(self.questions[revision_id])) for revision_id in self.items}
        votes = self._ask(wanted)
        probes = {
            revision_id: [
                condition.opened()
                for condition in conditions
                if self.questions[revision_id].kind is QuestionKind.CHOICE
                and needs_probe(votes.get((revision_id, condition.name)), self._panel.limits)
            ]
            for revision_id, conditions in wanted.items()
        }
        probed = self._ask(probes)
        return {
            revision_id: [
                (votes.get((revision_id, one.name)), probed.get((revision_id, one.opened().name))) for one in conditions
            ]
            for revision_id, conditions in wanted.items()
        }

    def settle(self, revision_id: str, ruling: Ruling, decider: str) -> None:
        """Store the verdict and move the item, in one transaction."""
        item, revision = self.items.pop(revision_id)
        judgement = Judgement(
            round=self._number,
            decider=decider,
            by_person=False,
            decision=ruling.decision,
            reason_codes=ruling.reason_codes,
            evidence=ruling.evidence,
            run_id=self._run.id,
        )
        try:
            with self._workspace.database.session() as session:
                settle_round(session, revision, record_verdict(session, revision, judgement))
        except (OldRevision, WrongRound):
            self.report.overtaken.append(item.name)
            return
        self.report.rulings[item.name] = (ruling.decision.value, ruling.reason_codes)

    def _ask(self, wanted: Mapping[str, Sequence[Condition]]) -> dict[tuple[str, str], Votes]:
        units = [
            unit
            for revision_id, conditions in wanted.items()
            for unit in plan(self._panel.models, [self._named(revision_id)], conditions, rotate=True)
        ]
        asker = Asker(
            self._workspace.facts,
            self._workspace.blobs,
            self._workspace.project.root,
            purpose=f"qc round {self._number}",
            run_id=self._run.id,
        )
        solved = asker.ask(units)
        self.report.asked += solved.asked
        self.report.failures.update(solved.failures)
        return count_votes(self._workspace.facts, units)

    def _named(self, revision_id: str) -> tuple[str, ItemRevision]:
        item, revision = self.items[revision_id]
        return item.name, revision


class _Checker:
    """The automatic checks over many items: each material is read through once, each question compared with few."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._damage: dict[str, str | None] = {}
        with workspace.database.reading() as session:
            standing = revisions_in(session, *(set(ItemState) - _NOT_IN_PLAY))
        self._asked = Asked((item.name, revision.as_question()) for item, revision in standing)

    def check(self, items: Mapping[str, tuple[Item, ItemRevision]]) -> dict[str, Ruling]:
        """A ruling for each revision: returned when a finding is an error."""
        with self._workspace.database.reading() as session:
            return {key: self._check(session, item, revision) for key, (item, revision) in items.items()}

    def _check(self, session: Session, item: Item, revision: ItemRevision) -> Ruling:
        question = revision.as_question()
        others = self._asked.beside(item.name, question)
        findings = run_checks(Subject(question, others, self._media_problems(session, revision)))
        evidence = {"findings": [finding.model_dump() for finding in findings]}
        codes = tuple(dict.fromkeys(finding.code for finding in findings if finding.severity == "error"))
        return Ruling(Decision.RETURN if codes else Decision.PASS, codes, evidence)

    def _media_problems(self, session: Session, revision: ItemRevision) -> tuple[str, ...]:
        shown = session.exec(
            select(RevisionMedia, Material)
            .join(Material)
            .where(RevisionMedia.revision_id == revision.id)
            .order_by(RevisionMedia.placeholder)
        ).all()
        problems: list[str] = []
        for link, material in shown:
            if material.state != MaterialState.KEPT:
                problems.append(f"{link.placeholder}: the material is {material.state.value}")
            damage = self._damage_of(material.media_ref.sha256)
            problems.extend([f"{link.placeholder}: {damage}"] if damage else [])
        return tuple(problems)

    def _damage_of(self, sha256: str) -> str | None:
        if sha256 not in self._damage:
            try:
                self._workspace.blobs.verify(sha256)
                self._damage[sha256] = None
            except (MissingBlob, DamagedBlob) as error:
                self._damage[sha256] = str(error)
        return self._damage[sha256]
