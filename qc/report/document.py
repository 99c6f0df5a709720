"""The report of quality control as data: frozen values that the page, the terminal and programs read."""

from datetime import datetime
from typing import Any, Literal

from core.content import Frozen
from qc.agreement import Agreement
from qc.checks import Finding
from qc.decoys import DecoyEstimate
from qc.drift import Drift
from qc.model_review import Reviews
from qc.panel import Votes
from qc.reasons import Words
from qc.review.gold import GoldScore
from qc.review.revision_diff import Change
from qc.review.solves import Solves

# `left`: the item left the round without a verdict that says how (a maintainer moved it).
Outcome = Literal["passed", "returned", "rejected", "open", "left"]


class Answer(Frozen):
    """One response of a panel's model, read as the gate read it.

    Attributes:
        key: Of the response fact.
        state: `ok`, `refused`, `truncated`, `api_error`, ...
        answer, error: Their first characters.
        picked: Places of the choices that it names, in the author's order; empty where none were asked or read.
        right: Whether it is right; None where it says nothing and so is no vote.
        steps: Points of each step.
    """

    key: str
    model: str
    family: str
    condition: str
    rotation: int
    state: str
    answer: str | None
    error: str | None
    picked: tuple[int, ...] = ()
    right: bool | None = None
    steps: tuple[float, ...] = ()


class ModelAnswers(Frozen):
    """What one model answered under one condition: a mark for each rotation, such as "B B B A" in the author's places.

    Without choices a mark is ✓ or ✗, one for each step; "?" stands for an answer that says nothing.
    """

    model: str
    condition: str
    marks: tuple[str, ...]
    right: int
    valid: int

    @property
    def text(self) -> str:
        """All marks on one line."""
        return " ".join(self.marks)


class GateStory(Frozen):
    """The votes under one condition, what they mean for the gate, and why in one sentence.

    `says` is `pass`, `stop`, `person` or `unknown`; `probe` for the options-free probe, which speaks with the votes
    that it checks. `leaking` are numbers of steps.
    """

    votes: Votes
    shown: Words
    says: Literal["pass", "stop", "person", "unknown", "probe"]
    why: Words
    leaking: tuple[int, ...] = ()


class VerdictStory(Frozen):
    """One verdict; `why` holds the sentences that decided it, `reviews` what the panel says of the question itself.

    `findings` are all of the checks'; `note` says what of the evidence cannot be shown.
    """

    decision: str
    codes: tuple[str, ...]
    decider: str
    by_person: bool
    comment: str | None
    at: datetime
    why: tuple[Words, ...] = ()
    gates: tuple[GateStory, ...] = ()
    findings: tuple[Finding, ...] = ()
    reviews: Reviews | None = None
    flagged_at: float | None = None
    note: Words | None = None

    @property
    def asides(self) -> tuple[Finding, ...]:
        """The findings that decided nothing."""
        return tuple(finding for finding in self.findings if finding.code not in self.codes)


class RoundStory(Frozen):
    """What one round did with the current revision.

    `settled_by_person`: a person decided what the check had left open. `overruled`: a person decided against the check,
    or reopened what it rejected.
    """

    round: int
    outcome: Outcome
    verdicts: tuple[VerdictStory, ...]
    settled_by_person: bool = False
    overruled: bool = False

    @property
    def by_check(self) -> VerdictStory | None:
        """The check's last verdict."""
        return next((one for one in reversed(self.verdicts) if not one.by_person), None)


class StepLine(Frozen):
    """A step with its points and first accepted answer."""

    ask: str
    points: int
    answer: str


class ItemStory(Frozen):
    """One item: what it asks, how its current revision went through the rounds, and what the panel answered.

    Attributes:
        name: The item's.
        state: A state of its life.
        kind: `choice`, `open` or `multi_step`.
        task_type: As the author chose it.
        language: Of the question.
        author: Who wrote the current revision.
        revision: Its number.
        twin_group: The group of counterfactual twins, if any.
        prompt: With media as `<image_1>`.
        required: Modalities without which it must not be answerable.
        times_returned: How often any of its revisions was returned.
        choices: Their texts.
        correct: Places of the right ones.
        accepted: Answers that count, of an open question.
        steps: Of a multi-step question.
        reason_codes: Why it stopped, or waits for a person.
        why: The same in sentences, as far as verdicts tell.
        rounds: Those that it entered.
        table: Conditions x models.
        answers: All responses that the votes rest on.
        lost: How many of these are not in the facts any more.
        solves: What reviewers answered with a modality hidden, and with everything.
    """

    name: str
    state: str
    kind: str
    task_type: str
    language: str
    author: str
    revision: int
    twin_group: str | None
    prompt: str
    required: tuple[str, ...]
    times_returned: int = 0
    choices: tuple[str, ...] = ()
    correct: tuple[int, ...] = ()
    accepted: tuple[str, ...] = ()
    steps: tuple[StepLine, ...] = ()
    reason_codes: tuple[str, ...] = ()
    why: tuple[Words, ...] = ()
    rounds: tuple[RoundStory, ...] = ()
    table: tuple[ModelAnswers, ...] = ()
    answers: tuple[Answer, ...] = ()
    lost: int = 0
    solves: tuple[Solves, ...] = ()

    def in_round(self, number: int) -> RoundStory | None:
        """What that round did with it, if it entered it."""
        return next((one for one in self.rounds if one.round == number), None)


class RevisionStory(Frozen):
    """A revision: what it changed, and the verdicts on it."""

    number: int
    author: str
    at: datetime
    changes: tuple[Change, ...]
    rounds: tuple[RoundStory, ...]


class ItemHistory(Frozen):
    """An item with all its revisions, oldest first."""

    item: ItemStory
    revisions: tuple[RevisionStory, ...]


class RoundFlow(Frozen):
    """How many current revisions entered a round, and what became of them; `open` wait for a check or a person."""

    round: int
    entered: int
    passed: int
    returned: int
    rejected: int
    open: int
    left: int
    settled_by_person: int
    overruled: int


class ReasonCount(Frozen):
    """A reason with its words and the items that stopped for it."""

    code: str
    words: Words
    items: tuple[str, ...]


class DecoyCondition(Frozen):
    """The decoy estimate at the share in use, and the lowest share whose estimate stays under the level (None: none).

    `flagged` and `decoys` name the items behind the estimate's two counts.
    """

    condition: str
    shown: Words
    used: DecoyEstimate
    lowest: float | None
    is_above: bool
    flagged: tuple[str, ...]
    decoys: tuple[str, ...]


class Decoys(Frozen):
    """How many of the flagged items are flagged by luck, over the last round-2 verdicts by the check.

    `items` are those that were asked about with one right choice.
    """

    level: float
    share: float
    items: int
    conditions: tuple[DecoyCondition, ...]
    curve: tuple[DecoyEstimate, ...]


class TwinScore(Frozen):
    """How often the panel gets all members of a group right under one condition.

    Attributes:
        condition: Its name.
        right, asked: Questionings (model x rotation) that all members share, and those in which all are right.
        accuracy: Mean over families of the share of such questionings; None where there are none.
    """

    condition: str
    shown: Words
    right: int
    asked: int
    accuracy: float | None


class TwinGroup(Frozen):
    """Counterfactual twins: what a policy that sees no media can reach at best, and what the panel reaches."""

    name: str
    members: tuple[str, ...]
    blind_ceiling: float
    findings: tuple[Finding, ...]
    scores: tuple[TwinScore, ...]


class LastRun(Frozen):
    """The last run of a round, with what its summary tells."""

    round: int
    status: str
    started_at: datetime
    models: tuple[str, ...]
    limit: dict[str, Any]
    summary: dict[str, Any]


class AuthorStatistics(Frozen):
    """An author's items by where they stand now; `times_returned` counts returns over all revisions."""

    author: str
    items: int
    accepted: int
    returned: int
    rejected: int
    times_returned: int
    reasons: dict[str, int]
    key_positions: Finding | None


class ReviewerStatistics(Frozen):
    """A reviewer's verdicts on all revisions of `items`, and the share of passes among those that decide, if any do."""

    reviewer: str
    verdicts: int
    items: tuple[str, ...]
    decisions: dict[str, int]
    pass_share: float | None


class CertificateLine(Frozen):
    """A certificate with its release; `stands` unless what people found since contradicts it."""

    release: str
    text: str
    stands: bool


class AuditLine(Frozen):
    """A random audit by people, as far as it has come."""

    subject: str
    drawn: int
    audited: int
    failures: int


class QcReport(Frozen):
    """How far each item came, why the others stopped, and what the numbers behind that are worth."""

    project: str
    funnel: dict[str, int]
    rounds: tuple[RoundFlow, ...]
    reasons: tuple[ReasonCount, ...]
    items: tuple[ItemStory, ...]
    decoys: Decoys
    twins: tuple[TwinGroup, ...]
    runs: tuple[LastRun, ...]
    certificates: tuple[CertificateLine, ...]
    audits: tuple[AuditLine, ...]
    authors: tuple[AuthorStatistics, ...]
    reviewers: tuple[ReviewerStatistics, ...]
    gold: tuple[GoldScore, ...]
    solves: tuple[Solves, ...]
    agreement: Agreement
    drift: tuple[Drift, ...]
