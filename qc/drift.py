"""Whether reviewers judge otherwise than they used to: their last decisions against all before."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlmodel import Session, col, select

from core.content import Frozen
from evaluation.metrics import ALPHA, holm
from qc.agreement import round3_decided
from qc.review.gold import judged_gold
from warehouse.lifecycle import Action
from warehouse.tables import Decision, Event
from warehouse.verdicts import ROUND_NEEDS

LAST = 20
_SETTLED_AS = {
    Action.ACCEPT.value: Decision.PASS.value,
    Action.RETURN.value: Decision.RETURN.value,
    Action.REJECT.value: Decision.REJECT.value,
}


class Drift(Frozen):
    """One reviewer's share of something in the last decisions, against all before.

    Attributes:
        measure: `passes`; `settled`, verdicts that agree with how round 3 was settled (in which the reviewer's own
            verdict takes part); `gold`, right decisions on items whose right verdict is known.
        recent, recent_yes: The last decisions, and those of them that count.
        before, before_yes: All before.
        p, p_holm: Fisher's exact two-sided p, and after Holm's correction over all reviewers and measures; None with a
            `reason`.
    """

    reviewer: str
    measure: str
    recent: int
    recent_yes: int
    before: int
    before_yes: int
    p: float | None = None
    p_holm: float | None = None
    reason: str | None = None

    @property
    def has_drifted(self) -> bool:
        """Whether the data tell the two shares apart."""
        return self.p_holm is not None and self.p_holm <= ALPHA


def read_drift(session: Session, last: int = LAST) -> tuple[Drift, ...]:
    """The drift of every reviewer in each measure of which there is anything."""
    decided = round3_decided(session)
    settled = _settled(session)
    measures = {
        "passes": [(one.reviewer, one.decision == Decision.PASS.value) for one in decided],
        "settled": [
            (one.reviewer, one.decision == settled[one.revision]) for one in decided if one.revision in settled
        ],
        "gold": judged_gold(session),
    }
    return drift({name: _by_reviewer(told) for name, told in measures.items()}, last)


def drift(decisions: Mapping[str, Mapping[str, Sequence[bool]]], last: int = LAST) -> tuple[Drift, ...]:
    """Set each reviewer's last decisions against all before, by Fisher's exact test.

    A reviewer needs as many decisions before as there are last ones. All tests are one family for Holm's correction,
    because they are read together: a warning about anybody is a warning.

    Args:
        decisions: Whether each decision counts, oldest first, by measure and reviewer.
        last: How many are recent.
    """
    found = [
        _one(measure, reviewer, of_measure[reviewer], last)
        for measure, of_measure in decisions.items()
        for reviewer in sorted(of_measure)
    ]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return tuple(one if one.p is None else one.model_copy(update={"p_holm": next(adjusted)}) for one in found)


def _one(measure: str, reviewer: str, decisions: Sequence[bool], last: int) -> Drift:
    recent, before = decisions[-last:], decisions[:-last]
    counted = {
        "recent": len(recent),
        "recent_yes": sum(recent),
        "before": len(before),
        "before_yes": sum(before),
    }
    if len(before) < last:
        reason = f"too few decisions: {len(decisions)} of the {2 * last} needed"
        return Drift(reviewer=reviewer, measure=measure, reason=reason, **counted)
    from scipy.stats import fisher_exact

    table = [[sum(recent), len(recent) - sum(recent)], [sum(before), len(before) - sum(before)]]
    return Drift(reviewer=reviewer, measure=measure, p=float(fisher_exact(table).pvalue), **counted)


def _by_reviewer(told: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = defaultdict(list)
    for reviewer, counts in told:
        found[reviewer].append(counts)
    return found


def _settled(session: Session) -> dict[str, str]:
    """How round 3 ended for each revision for which it did, by the story of its item."""
    query = select(Event).where(Event.subject_kind == "item", col(Event.action).in_(_SETTLED_AS))
    return {
        event.detail["revision_id"]: _SETTLED_AS[event.action]
        for event in session.exec(query.order_by(col(Event.sequence)))
        if event.detail["before"] == ROUND_NEEDS[3].value
    }
