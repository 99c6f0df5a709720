"""The funnel of quality control: how far each item came, and why the others stopped."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlmodel import Session, col, select

from core.content import Frozen
from qc.reasons import reason
from warehouse.tables import Item, ItemRevision, ItemState, Verdict


class ItemStanding(Frozen):
    """Where one item stands, with the last verdict of each round on its current revision."""

    name: str
    state: str
    task_type: str
    language: str
    rounds: dict[int, dict[str, Any]]

    @property
    def reason_codes(self) -> list[str]:
        """Codes of the last verdict that did not let it pass."""
        for verdict in reversed(list(self.rounds.values())):
            if verdict["decision"] != "pass":
                return list(verdict["reason_codes"])
        return []


class QcReport(Frozen):
    """All items, and how many reached each state."""

    funnel: dict[str, int]
    reasons: dict[str, int]
    items: tuple[ItemStanding, ...]


def qc_report(session: Session) -> QcReport:
    """Read where every item stands."""
    items = session.exec(
        select(Item, ItemRevision)
        .join(ItemRevision, col(Item.current_revision_id) == col(ItemRevision.id))
        .order_by(Item.name)
    ).all()
    verdicts: dict[str, list[Verdict]] = {}
    for verdict in session.exec(select(Verdict).order_by(col(Verdict.created_at), col(Verdict.id))):
        verdicts.setdefault(verdict.revision_id, []).append(verdict)
    standings = tuple(_standing(item, revision, verdicts.get(revision.id, ())) for item, revision in items)
    counts = Counter(standing.state for standing in standings)
    return QcReport(
        funnel={state.value: counts[state.value] for state in ItemState},
        reasons=dict(Counter(code for standing in standings for code in standing.reason_codes).most_common()),
        items=standings,
    )


def report_lines(found: QcReport) -> list[str]:
    """The report for a terminal."""
    lines = ["funnel: " + ", ".join(f"{count} {state}" for state, count in found.funnel.items() if count)]
    for standing in found.items:
        if standing.reason_codes:
            words = "; ".join(f"{code} ({reason(code).en})" for code in standing.reason_codes)
            lines.append(f"  {standing.name}: {standing.state}: {words}")
    return lines


def _standing(item: Item, revision: ItemRevision, verdicts: Sequence[Verdict]) -> ItemStanding:
    last: dict[int, dict[str, Any]] = {}
    for verdict in verdicts:
        last[verdict.round] = {
            "decision": verdict.decision.value,
            "reason_codes": list(verdict.reason_codes),
            "decider": verdict.decider,
            "votes": verdict.evidence.get("votes", []),
        }
    return ItemStanding(
        name=item.name,
        state=item.state.value,
        task_type=revision.question["task_type"],
        language=revision.question["language"],
        rounds=dict(sorted(last.items())),
    )
