"""What the panel's answers are worth over all items: decoys, twin groups, the last runs of the rounds."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from sqlmodel import Session, col, select

from core.condition import TEXT_ONLY
from core.question import Question
from evaluation.report.comparisons import condition_order
from evaluation.report.items import blind_ceiling
from qc.checks.twins import twin_problems
from qc.decoys import ANY, SHARES, DecoyEstimate, estimate_decoys, lowest_share
from qc.gates import Thresholds
from qc.panel import Votes
from qc.reasons import Words
from qc.report.document import DecoyCondition, Decoys, ItemStory, LastRun, TwinGroup, TwinScore, VerdictStory
from qc.report.why import condition_words
from qc.rounds import ROUND_RUN
from warehouse.tables import Run

# An estimate above it at the share in use is told as a warning.
LEVEL = 0.05
_ANY_WORDS = Words(en="under any of them", zh="任一条件")


def decoys_of(items: Sequence[ItemStory]) -> Decoys:
    """The decoy estimate from the last verdict by a check in round 2 of each current revision.

    Only conditions in which something is missing count: what a donor shows speaks for a wrong choice by itself, and a
    probe has none. The share in use is the one that the latest of these verdicts was flagged at.
    """
    verdicts = {item.name: verdict for item in items if (verdict := _ablation(item)) is not None}
    votes = {name: _missing(verdict) for name, verdict in verdicts.items()}
    votes = {name: found for name, found in votes.items() if found}
    latest = max(verdicts.values(), key=lambda verdict: verdict.at, default=None)
    share = (latest.flagged_at if latest else None) or Thresholds().flagged
    curve = estimate_decoys(votes.values(), sorted({*SHARES, share}))
    return Decoys(
        level=LEVEL,
        share=share,
        items=next((one.items for one in curve if one.condition == ANY), 0),
        conditions=_by_condition(curve, votes, share),
        curve=tuple(curve),
    )


def twins_of(items: Sequence[ItemStory], questions: dict[str, Question]) -> tuple[TwinGroup, ...]:
    """Every group of twins, by name; `questions` are by item name."""
    groups: dict[str, list[ItemStory]] = defaultdict(list)
    for item in items:
        if item.twin_group is not None:
            groups[item.twin_group].append(item)
    return tuple(_group(name, groups[name], questions) for name in sorted(groups))


def last_runs(session: Session) -> tuple[LastRun, ...]:
    """The last run of rounds 1 and 2 each."""
    found = []
    for number in (1, 2):
        query = select(Run).where(Run.command == f"{ROUND_RUN} {number}")
        run = session.exec(query.order_by(col(Run.started_at).desc(), col(Run.id).desc())).first()
        if run is not None:
            found.append(
                LastRun(
                    round=number,
                    status=run.status.value,
                    started_at=run.started_at,
                    models=tuple(model["name"] for model in run.settings.get("models", ())),
                    limit=run.settings.get("limit") or {},
                    summary=run.summary,
                )
            )
    return tuple(found)


def _ablation(item: ItemStory) -> VerdictStory | None:
    story = item.in_round(2)
    return story.by_check if story else None


def _missing(verdict: VerdictStory) -> list[Votes]:
    names = [gate.votes for gate in verdict.gates if gate.says != "probe"]
    return [one for one in names if one.condition == TEXT_ONLY.name or one.condition.startswith("without_")]


def _by_condition(
    curve: Sequence[DecoyEstimate], votes: dict[str, list[Votes]], share: float
) -> tuple[DecoyCondition, ...]:
    alone = {name: {one.condition: one for one in estimate_decoys([found], [share])} for name, found in votes.items()}
    names = sorted({one.condition for one in curve}, key=lambda name: (name == ANY, condition_order(name)))
    found = []
    for name in names:
        of_name = [one for one in curve if one.condition == name]
        used = next(one for one in of_name if one.share == share)
        found.append(
            DecoyCondition(
                condition=name,
                shown=_ANY_WORDS if name == ANY else condition_words(name),
                used=used,
                lowest=lowest_share(of_name, LEVEL),
                is_above=used.fdr is not None and used.fdr > LEVEL,
                flagged=tuple(item for item, told in alone.items() if name in told and told[name].flagged),
                decoys=tuple(item for item, told in alone.items() if name in told and told[name].decoys),
            )
        )
    return tuple(found) if any(one.used.items for one in found) else ()


def _group(name: str, members: Sequence[ItemStory], questions: dict[str, Question]) -> TwinGroup:
    asked = [questions[member.name] for member in members]
    conditions = {cell.condition for member in members for cell in member.table} if len(members) > 1 else set()
    return TwinGroup(
        name=name,
        members=tuple(member.name for member in members),
        blind_ceiling=blind_ceiling(asked),
        findings=tuple(twin_problems(asked)),
        scores=tuple(_score(condition, members) for condition in sorted(conditions, key=condition_order)),
    )


def _score(condition: str, members: Sequence[ItemStory]) -> TwinScore:
    """Only questionings that all members share count: of one model, with the choices turned alike, all read."""
    told: list[dict[tuple[str, str, int], bool]] = [
        {
            (answer.family, answer.model, answer.rotation): answer.right
            for answer in member.answers
            if answer.condition == condition and answer.right is not None
        }
        for member in members
    ]
    shared = sorted(set.intersection(*(set(one) for one in told)))
    by_family: dict[str, list[bool]] = defaultdict(list)
    for place in shared:
        by_family[place[0]].append(all(one[place] for one in told))
    return TwinScore(
        condition=condition,
        shown=condition_words(condition),
        right=sum(map(sum, by_family.values())),
        asked=len(shared),
        accuracy=fmean(map(fmean, by_family.values())) if shared else None,
    )
