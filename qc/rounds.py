"""Rounds 1 and 2: ask the panel what is missing, judge, move the items."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate

from core.condition import FULL, TEXT_ONLY, Condition
from core.content import Modality
from core.errors import InterplayError
from core.question import Question
from evaluation.models.catalogue import ModelSpec
from qc.checking import Checker
from qc.checks.contamination import compared_at_all
from qc.gates import (
    Pair,
    Ruling,
    Thresholds,
    goes_on,
    judge_ablations,
    judge_full,
    judge_text,
    judge_together,
    needs_probe,
    notes_on_full,
)
from qc.model_review import CODES, Reviews, judge_reviews, read_reviews, review_units
from qc.panel import Votes, make_ballot
from qc.polling import Limit, Poller, Spent
from qc.quarantine import Quarantine, quarantine
from qc.removals import Removals
from qc.stopping import Gate
from warehouse.items import revisions_in
from warehouse.runs import open_run
from warehouse.tables import Decision, Item, ItemRevision
from warehouse.verdicts import (
    ROUND_NEEDS,
    Judgement,
    OldRevision,
    WrongRound,
    record_verdict,
    settle_round,
    verdicts_on,
)
from warehouse.workspace import Workspace

# With the round's number, the command of its run and the purpose of its questions.
ROUND_RUN = "qc round"
MODEL_CHECK = "model_check@2"
ABLATION = "ablation@2"
_UNDELIVERED = "undelivered"
# So many items are asked about together: enough to keep every model busy, few enough that what is stopped in the middle
# has judged most of what it asked about.
ITEMS_AT_ONCE = 200


class PanelTooSmall(InterplayError):
    """Fewer model families than the rule needs."""


@dataclass
class RoundReport:
    """How a round went.

    Attributes:
        round: 1 or 2.
        rulings: Item to its decision, with reason codes.
        overtaken: Items that somebody moved or revised while the round was at work: they are judged next time.
        left: Items that are left without a verdict, by the budget or because endpoints do not answer; any makes this a
            partial result.
        quarantined: Model to the modalities that do not reach it.
        canaries: What the canaries of those models showed.
        silent: Models that answered no canary.
        never_compared: Whether nothing of the project was ever compared with public benchmarks.
        spent: Questions asked, answers that failed, US dollars.
    """

    round: int
    rulings: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    overtaken: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    quarantined: dict[str, list[str]] = field(default_factory=dict)
    canaries: dict[str, list[str]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    never_compared: bool = False
    spent: Spent = field(default_factory=Spent)

    @property
    def asked(self) -> int:
        """Questions that were put to the panel."""
        return self.spent.calls


@dataclass(frozen=True)
class Panel:
    """The models that answer, the limits by which their answers are judged, and what they are asked beyond the rule.

    With `placebo`, round 2 also shows another item's media in a modality's place: a model may refuse to answer where
    something is missing, and answer where something else is there. With `whole`, no count stops early, so that the
    decoy estimate is exact at every share. With `reviews`, each family also reads what passes round 1's gate, and says
    whether it is clear, has one answer, fits its task type and can be answered.
    """

    models: Sequence[ModelSpec]
    limits: Thresholds = field(default_factory=Thresholds)
    placebo: bool = False
    whole: bool = False
    reviews: bool = True

    def __post_init__(self) -> None:
        families = {model.family for model in self.models}
        if len(families) < self.limits.families_at_least:
            raise PanelTooSmall(
                f"the panel has {len(families)} model families ({', '.join(sorted(families))}); "
                f"the rule needs {self.limits.families_at_least}: name more with --model, "
                "or set their families in interplay.toml"
            )


def run_round1(workspace: Workspace, panel: Panel, limit: Limit | None = None) -> RoundReport:
    """Model check: automatic checks first, then the panel with full input (UNO-Bench 3.1.4)."""
    with _Round(workspace, panel, 1, limit or Limit()) as the_round:
        checked = Checker(workspace).check(the_round.items)
        for revision_id, ruling in checked.items():
            if ruling.decision is not Decision.PASS:
                the_round.settle(revision_id, ruling, MODEL_CHECK)
        for some in the_round.portions():
            votes = the_round.poll(some, lambda _: [FULL], Gate.FULL)
            rulings = {
                one: _judge_full(the_round.questions[one], votes.get((one, FULL.name)), panel.limits, checked[one])
                for one in some
                if not the_round.is_left(one)
            }
            passing = [one for one, ruling in rulings.items() if ruling.decision is Decision.PASS]
            reviews = the_round.reviews(passing) if panel.reviews else {}
            for revision_id, ruling in rulings.items():
                if not the_round.is_left(revision_id):
                    reviewed = _with_review(ruling, reviews.get(revision_id), panel.limits)
                    the_round.settle(revision_id, reviewed, MODEL_CHECK)
        return the_round.report


def run_round2(workspace: Workspace, panel: Panel, limit: Limit | None = None) -> RoundReport:
    """Ablation study, cheapest gate first: text only, then without each required modality."""
    with _Round(workspace, panel, 2, limit or Limit()) as the_round:
        for some in the_round.portions():
            text = the_round.poll_with_probe(some, lambda _: {Modality.TEXT: [TEXT_ONLY]})
            rulings, standing = {}, []
            for revision_id in some:
                if not the_round.is_left(revision_id):
                    ((votes, probe),) = text[revision_id][Modality.TEXT]
                    rulings[revision_id] = judge_text(votes, probe, panel.limits)
                    if goes_on(votes, panel.limits):
                        standing.append(revision_id)
                    else:
                        the_round.settle(revision_id, rulings[revision_id], ABLATION)
            ablated = the_round.poll_with_probe(standing, the_round.removals)
            for revision_id in standing:
                if not the_round.is_left(revision_id):
                    ruling = judge_ablations(ablated[revision_id], panel.limits)
                    the_round.settle(revision_id, judge_together(rulings[revision_id], ruling), ABLATION)
        return the_round.report


def _judge_full(question: Question, votes: Votes | None, limits: Thresholds, checked: Ruling) -> Ruling:
    """The gate's ruling, with what the automatic checks and the votes showed beside it."""
    ruling = judge_full(question, votes, limits)
    findings = list(checked.evidence["findings"])
    if votes is not None and ruling.decision is Decision.PASS:
        findings += [finding.model_dump() for finding in notes_on_full(question, votes, limits)]
    return replace(ruling, evidence={**ruling.evidence, "findings": findings})


def _with_review(ruling: Ruling, reviews: Reviews | None, limits: Thresholds) -> Ruling:
    """What the panel objects to when it reads the question goes to a person; that it gave no review is noted."""
    if reviews is None:
        return ruling
    findings = judge_reviews(reviews, limits.families_at_least)
    codes = tuple(finding.code for finding in findings if finding.code in CODES.values())
    told = [*ruling.evidence["findings"], *(finding.model_dump() for finding in findings)]
    evidence = {**ruling.evidence, "findings": told, "reviews": reviews.model_dump(mode="json")}
    return Ruling(Decision.UNKNOWN if codes else ruling.decision, codes or ruling.reason_codes, evidence)


class _Round:
    """The items that stand before one round, shrinking as they are settled; one Run around all of it."""

    def __init__(self, workspace: Workspace, panel: Panel, number: int, limit: Limit) -> None:
        self._workspace, self._panel, self._number, self._limit = workspace, panel, number, limit
        settings = {
            "models": [model.settings for model in panel.models],
            "thresholds": asdict(panel.limits),
            "placebo": panel.placebo,
            "whole": panel.whole,
            "reviews": panel.reviews,
            "limit": asdict(limit),
        }
        self._opened = open_run(workspace.database, f"{ROUND_RUN} {number}", settings)
        self.report = RoundReport(number)
        self._quarantine = Quarantine()
        self._waits: set[str] = set()
        self._removals = Removals(workspace, panel.placebo)

    def __enter__(self) -> "_Round":
        with self._workspace.database.reading() as session:
            waiting = revisions_in(session, ROUND_NEEDS[self._number])
            self.report.never_compared = self._number == 1 and bool(waiting) and not compared_at_all(session)
        self.items: dict[str, tuple[Item, ItemRevision]] = {revision.id: (item, revision) for item, revision in waiting}
        self.questions = {revision.id: revision.as_question() for _, revision in waiting}
        self._run = self._opened.__enter__()
        self._poller = Poller(self._workspace, self._run.command, self._run.id, self._panel.limits, self._limit)
        self.report.spent = self._poller.spent
        return self

    def __exit__(self, *failure: object) -> None:
        report = self.report
        report.left = sorted(item.name for item, _ in self.items.values())
        decisions = Counter(decision for decision, _ in report.rulings.values())
        self._run.summary = {
            "decisions": dict(decisions),
            "asked": report.asked,
            "failures": dict(report.spent.failures),
            "cost_usd": report.spent.cost_usd,
            "left": len(report.left),
            "quarantined": report.quarantined,
        }
        self._opened.__exit__(*failure)  # type: ignore[arg-type]

    def portions(self) -> Iterator[list[str]]:
        """Items that are asked about together. Those that too few endpoints receive are settled without asking."""
        if self.items and not self._check_delivery():
            return
        waiting = [revision_id for revision_id in self.items if revision_id not in self._waits]
        while waiting:
            count = self._room_for(waiting)
            yield waiting[:count]
            waiting = waiting[count:]

    def is_left(self, revision_id: str) -> bool:
        """Whether the budget broke its count off."""
        return revision_id in self._poller.left

    def poll(
        self, revision_ids: Sequence[str], conditions_of: Callable[[str], Sequence[Condition]], gate: Gate
    ) -> dict[tuple[str, str], Votes]:
        """The panel's votes by revision and condition, asking only what is missing."""
        ballots = [
            make_ballot(self._models_for(revision_id), *self._named(revision_id), condition)
            for revision_id in revision_ids
            for condition in conditions_of(revision_id)
            if condition.applies_to(self.questions[revision_id])
        ]
        return self._poller.poll(ballots, Gate.WHOLE if self._panel.whole else gate)

    def poll_with_probe(
        self, revision_ids: Sequence[str], conditions_of: Callable[[str], dict[Modality, list[Condition]]]
    ) -> dict[str, dict[Modality, list[Pair]]]:
        """Votes under each condition, with those of the options-free probe where the first are flagged or grey."""
        wanted = {revision_id: conditions_of(revision_id) for revision_id in revision_ids}

        def all_of(revision_id: str) -> list[Condition]:
            return [one for conditions in wanted[revision_id].values() for one in conditions]

        votes = self.poll(revision_ids, all_of, Gate.MISSING)
        probes = {
            revision_id: [
                condition.opened()
                for condition in all_of(revision_id)
                if needs_probe(votes.get((revision_id, condition.name)), self._panel.limits)
            ]
            for revision_id in revision_ids
        }
        probed = self.poll(revision_ids, lambda revision_id: probes[revision_id], Gate.WHOLE)
        return {
            revision_id: {
                modality: [
                    (votes.get((revision_id, one.name)), probed.get((revision_id, one.opened().name)))
                    for one in conditions
                ]
                for modality, conditions in of_modality.items()
            }
            for revision_id, of_modality in wanted.items()
        }

    def removals(self, revision_id: str) -> dict[Modality, list[Condition]]:
        """What is taken away of an item, by modality; with placebos where the panel is asked for them."""
        return self._removals.of(revision_id, self.questions[revision_id])

    def reviews(self, revision_ids: Sequence[str]) -> dict[str, Reviews]:
        """What one model of each family says of the questions when it reads them."""
        units = {one: review_units(self._models_for(one), [self._named(one)]) for one in revision_ids}
        self._poller.ask(units)
        asked = (unit for one in revision_ids if not self.is_left(one) for unit in units[one])
        return read_reviews(self._workspace.facts, asked)

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

    def _check_delivery(self) -> bool:
        """Settle what too few endpoints receive; False where the budget leaves it unknown what they receive."""
        found = quarantine(self._workspace, self._poller, self._panel.models)
        if found is None:
            return False
        self._quarantine = found
        self.report.quarantined = {
            model: sorted(modality.value for modality in lost) for model, lost in self._quarantine.undelivered.items()
        }
        self.report.canaries = {model: list(told) for model, told in self._quarantine.told.items()}
        self.report.silent = sorted(found.silent)
        for revision_id in list(self.items):
            if self._too_few(self._models_for(revision_id)):
                self._settle_undelivered(revision_id)
        return True

    def _settle_undelivered(self, revision_id: str) -> None:
        """What too few endpoints receive waits for a person; what they may receive once they answer is left."""
        perhaps = self._quarantine.perhaps_usable(self._panel.models, self.questions[revision_id])
        if not self._too_few(perhaps) or self._is_ruled(revision_id):
            self._waits.add(revision_id)
            return
        evidence = {"thresholds": asdict(self._panel.limits), "quarantined": self.report.quarantined}
        decider = MODEL_CHECK if self._number == 1 else ABLATION
        self.settle(revision_id, Ruling(Decision.UNKNOWN, (_UNDELIVERED,), evidence), decider)

    def _too_few(self, models: Sequence[ModelSpec]) -> bool:
        return len({model.family for model in models}) < self._panel.limits.families_at_least

    def _is_ruled(self, revision_id: str) -> bool:
        """Whether the round has said more of it before: that nobody can be asked now takes nothing of that away."""
        with self._workspace.database.reading() as session:
            return any(one.reason_codes != [_UNDELIVERED] for one in verdicts_on(session, revision_id, self._number))

    def _room_for(self, waiting: Sequence[str]) -> int:
        """How many of the next items to ask about, so that a budget settles some of them and does not begin all."""
        room = self._poller.calls_left
        count = min(ITEMS_AT_ONCE, len(waiting))
        if room is None:
            return count
        most = accumulate(self._most_calls(revision_id) for revision_id in waiting[:count])
        # Where not even the first may find room, all are offered: those whose answers are known cost nothing.
        return sum(calls <= room for calls in most) or count

    def _most_calls(self, revision_id: str) -> int:
        families = len({model.family for model in self._models_for(revision_id)})
        conditions = 1 if self._number == 1 else 1 + sum(map(len, self.removals(revision_id).values()))
        rotations = max(1, len(self.questions[revision_id].choices))
        probes = conditions if self._number == 2 else 0
        reviews = families if self._number == 1 and self._panel.reviews else 0
        return len(self._models_for(revision_id)) * (conditions * rotations + probes) + reviews

    def _models_for(self, revision_id: str) -> list[ModelSpec]:
        return self._quarantine.usable(self._panel.models, self.questions[revision_id])

    def _named(self, revision_id: str) -> tuple[str, ItemRevision]:
        item, revision = self.items[revision_id]
        return item.name, revision
