"""What the panel's votes mean for an item: pure functions from votes to a decision."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.content import Modality
from core.question import Question
from qc.checks import Finding, warning
from qc.panel import Votes
from warehouse.tables import Decision

# The votes with something missing, and those of the options-free probe where one was needed.
Pair = tuple[Votes | None, Votes | None]
GateSays = Literal["open", "shut", "grey", "unknown"]


@dataclass(frozen=True)
class Thresholds:
    """Shares of a panel of families at which a gate decides; a change of any needs a new version.

    Between `passes` and `flagged` lies the grey zone, in which a person decides. `split` is the share of a second
    choice from which on a panel that finds the key is called split.
    """

    version: str = "2"
    flagged: float = 0.6
    passes: float = 0.4
    full_at_least: float = 0.4
    suspect_key: float = 0.7
    split: float = 0.35
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
    evidence = evidence_of([full], limits)
    if full is None or not enough_so_far(full, limits):
        return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
    wrong = [share for place, share in enumerate(full.shares) if place not in question.answer.correct]
    if wrong and max(wrong) >= limits.suspect_key:
        return Ruling(Decision.RETURN, ("suspect_key",), evidence)
    assert full.solved is not None
    if full.solved < limits.full_at_least:
        return Ruling(Decision.UNKNOWN, ("unsolved",), evidence)
    return Ruling(Decision.PASS, (), evidence)


def notes_on_full(question: Question, full: Votes, limits: Thresholds) -> list[Finding]:
    """What is worth knowing of an item that passes round 1's gate: too easy, or two choices that share the votes."""
    if full.solved == 1.0 and full.valid == full.asked:
        return [warning("too_easy", f"all {full.valid} answers were right", f"{full.valid} 个回答全部正确")]
    wrong = [(share, place) for place, share in enumerate(full.shares) if place not in question.answer.correct]
    if wrong and max(wrong)[0] >= limits.split:
        share, place = max(wrong)
        label = question.choices[place].text
        return [
            warning(
                "answers_split", f"{share:.0%} of the votes are for {label!r}", f"{share:.0%} 的回答选择了“{label}”"
            )
        ]
    return []


def judge_text(text: Votes | None, probe: Votes | None, limits: Thresholds) -> Ruling:
    """Round 2's cheapest gate: the text alone must not be enough, not even for one step."""
    evidence = evidence_of([text, probe], limits)
    match gate_of(text, probe, limits):
        case "shut":
            return Ruling(Decision.REJECT, ("answerable_from_text",), evidence)
        case "unknown":
            return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
        case "grey":
            return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)
    assert text is not None
    leaking = [number for number, share in enumerate(text.step_shares, start=1) if share >= limits.flagged]
    if leaking:
        return Ruling(Decision.UNKNOWN, ("leaking_step",), {**evidence, "leaking_steps": leaking})
    return Ruling(Decision.PASS, (), evidence)


def judge_ablations(ablated: Mapping[Modality, Sequence[Pair]], limits: Thresholds) -> Ruling:
    """Round 2's main gate: without any one required modality, the item must not be solvable.

    `ablated` holds, for each required modality, the votes without it and, where that was asked, with a donor's media in
    its place. If the item is solvable without either modality, they are redundant; without one of them only, that one
    is unhelpful (UNO-Bench 3.1.4). Where nothing is required, nothing can be shown, and a person decides; so one does
    where it is solvable with a donor's media alone, for these may by luck say what the item's own say.
    """
    evidence = evidence_of([votes for pairs in ablated.values() for pair in pairs for votes in pair], limits)
    if not ablated:
        return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)
    gates = {modality: [gate_of(*pair, limits) for pair in pairs] for modality, pairs in ablated.items()}
    shut = sorted(modality.value for modality, (removed, *_) in gates.items() if removed == "shut")
    evidence["solvable_without"] = shut
    if shut:
        code = "redundant_modality" if len(shut) == len(gates) > 1 else "unhelpful_modality"
        return Ruling(Decision.REJECT, (code,), evidence)
    found = {gate for gates_of_one in gates.values() for gate in gates_of_one}
    if "unknown" in found:
        return Ruling(Decision.UNKNOWN, ("not_enough_votes",), evidence)
    if found & {"grey", "shut"}:
        return Ruling(Decision.UNKNOWN, ("needs_a_person",), evidence)
    return Ruling(Decision.PASS, (), evidence)


def goes_on(text: Votes | None, limits: Thresholds) -> bool:
    """Whether the item is asked about with one modality missing too: the text alone does not flag it.

    A person who has to decide on a grey one then sees all of it.
    """
    return text is not None and enough_so_far(text, limits) and (text.solved or 0.0) < limits.flagged


def judge_together(text: Ruling, ablations: Ruling) -> Ruling:
    """What round 2's gates say together: a doubt about the text stays with a person, whatever comes after.

    Where the text alone led halfway to the key, guesses lead to it with one modality missing too: that is no second
    proof. The person sees both.
    """
    votes = [*text.evidence["votes"], *ablations.evidence["votes"]]
    evidence = {**text.evidence, **ablations.evidence, "votes": votes}
    if text.decision is Decision.PASS:
        return Ruling(ablations.decision, ablations.reason_codes, evidence)
    codes = tuple(dict.fromkeys([*text.reason_codes, *ablations.reason_codes]))
    return Ruling(Decision.UNKNOWN, codes, evidence)


def needs_probe(votes: Votes | None, limits: Thresholds) -> bool:
    """Whether the options-free probe must be asked: there were options, and the item is flagged or grey."""
    return bool(votes and votes.shares and enough_so_far(votes, limits) and (votes.solved or 0.0) > limits.passes)


def enough_so_far(votes: Votes, limits: Thresholds) -> bool:
    """Whether enough of the answers could be read, of enough families."""
    return votes.valid_share >= limits.valid_at_least and votes.families >= limits.families_at_least


def evidence_of(votes: Sequence[Votes | None], limits: Thresholds) -> dict[str, Any]:
    """What a verdict keeps: the limits, and the votes with the keys of their responses."""
    return {"thresholds": asdict(limits), "votes": [one.model_dump(mode="json") for one in votes if one]}


def gate_of(votes: Votes | None, probe: Votes | None, limits: Thresholds) -> GateSays:
    """`open` (not solvable), `shut` (solvable), `grey`, or `unknown`."""
    if votes is None or not enough_so_far(votes, limits):
        return "unknown"
    assert votes.solved is not None
    if votes.solved <= limits.passes:
        return "open"
    if votes.solved < limits.flagged:
        return "grey"
    if not votes.shares:
        # An open or multi-step question has no options that could lead: its own answers are the probe.
        return "shut"
    if probe is None or not enough_so_far(probe, limits):
        return "grey"
    return "shut" if (probe.solved or 0.0) >= limits.flagged else "grey"
