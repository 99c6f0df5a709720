"""What the panel's votes mean for an item: pure functions from votes to a decision."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.question import Question
from qc.panel import Votes
from warehouse.tables import Decision


@dataclass(frozen=True)
class Thresholds:
    """Shares of a panel of families at which a gate decides; a change of any needs a new version.

    Between `passes` and `flagged` lies the grey zone, in which a person decides.
    """

    version: str = "1"
    flagged: float = 0.6
    passes: float = 0.4
    full_at_least: float = 0.4
    suspect_key: float = 0.7
    valid_at_least: float = 0.75
    families_at_least: int = 4


@dataclass(frozen=True)
class Ruling:
    """A decision with its reason codes and the numbers behind it."""

    decision: Decision
    reason_codes: tuple[str, ...]
    evidence: Mapping[str, Any]


def judge_full(question: Question, full: Votes | None, limits: Thresholds) -> Ruling:
    """Round 1's gate: with everything given, the panel must find the key, and not agree on another choice."""
    evidence = _evidence([full] if full else [], limits)
    if full is None or not _enough(full, limits):
        return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
    wrong = [share for place, share in enumerate(full.shares) if place not in question.answer.correct]
    if wrong and max(wrong) >= limits.suspect_key:
        return Ruling(Decision.RETURN, ("suspect_key",), evidence)
    assert full.solved is not None
    if full.solved < limits.full_at_least:
        return Ruling(Decision.UNKNOWN, ("unsolved",), evidence)
    return Ruling(Decision.PASS, (), evidence)


def judge_text(text: Votes | None, probe: Votes | None, limits: Thresholds) -> Ruling:
    """Round 2's cheapest gate: the text alone must not be enough."""
    evidence = _evidence([votes for votes in (text, probe) if votes], limits)
    match _gate(text, probe, limits):
        case "open":
            return Ruling(Decision.PASS, (), evidence)
        case "shut":
            return Ruling(Decision.REJECT, ("answerable_from_text",), evidence)
        case "unknown":
            return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
        case _:
            return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)


def judge_ablations(ablated: Sequence[tuple[Votes | None, Votes | None]], limits: Thresholds) -> Ruling:
    """Round 2's main gate: without any one required modality, the item must not be solvable.

    `ablated` holds, for each required modality, the votes without it and those of the options-free probe (None where
    none was needed). If it is solvable without either one, the modalities are redundant; without one of them only,
    that one is unhelpful (UNO-Bench 3.1.4). Where nothing is required, nothing can be shown, and a person decides.
    """
    evidence = _evidence([votes for pair in ablated for votes in pair if votes], limits)
    if not ablated:
        return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)
    gates = [_gate(votes, probe, limits) for votes, probe in ablated]
    if "shut" in gates:
        code = (
            "redundant_modality" if len(gates) > 1 and all(gate == "shut" for gate in gates) else "unhelpful_modality"
        )
        return Ruling(Decision.REJECT, (code,), evidence)
    if "unknown" in gates:
        return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
    if "grey" in gates:
        return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)
    return Ruling(Decision.PASS, (), evidence)


def needs_probe(votes: Votes | None, limits: Thresholds) -> bool:
    """Whether the options-free probe must be asked: the item is flagged or grey."""
    return votes is not None and _enough(votes, limits) and (votes.solved or 0.0) > limits.passes


def _gate(votes: Votes | None, probe: Votes | None, limits: Thresholds) -> str:
    """`open` (not solvable), `shut` (solvable), `grey`, or `unknown`."""
    if votes is None or not _enough(votes, limits):
        return "unknown"
    assert votes.solved is not None
    if votes.solved <= limits.passes:
        return "open"
    if votes.solved < limits.flagged:
        return "grey"
    if not votes.shares:
        # An open or multi-step question has no options that could lead: its own answers are the probe.
        return "shut"
    if probe is None or not _enough(probe, limits):
        return "grey"
    return "shut" if (probe.solved or 0.0) >= limits.flagged else "grey"


def _enough(votes: Votes, limits: Thresholds) -> bool:
    return votes.valid_share >= limits.valid_at_least and votes.families >= limits.families_at_least


def _evidence(votes: Sequence[Votes], limits: Thresholds) -> dict[str, Any]:
    return {"thresholds": asdict(limits), "votes": [one.model_dump(mode="json") for one in votes]}
