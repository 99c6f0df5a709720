"""From the tables and facts of a project to the report of quality control."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlmodel import Session

from qc.agreement import read_agreement
from qc.drift import read_drift
from qc.report.answers import read_answers
from qc.report.benchmark import decoys_of, last_runs, twins_of
from qc.report.document import (
    ItemHistory,
    ItemStory,
    QcReport,
    ReasonCount,
    RevisionStory,
    RoundStory,
    TwinGroup,
)
from qc.report.people import audits_of, authors_of, certificates_of, reviewers_of
from qc.report.standing import Standing, current_reviews
from qc.report.stories import (
    Loaded,
    item_story,
    load_current,
    load_revisions,
    people_names,
    round_flows,
    rounds_of,
    wanted_responses,
)
from qc.report.words import reason_words
from qc.review.gold import gold_score
from qc.review.revision_diff import diff_revisions
from qc.review.solves import Solves, solves_of
from warehouse.items import get_item
from warehouse.tables import Item, ItemState
from warehouse.workspace import Workspace

# Of the resampled items behind the interval of agreement: the same report each time.
_SEED = 0


def qc_report(workspace: Workspace) -> QcReport:
    """Read where every item stands, why, and what the panel answered."""
    with workspace.database.reading() as session:
        names = people_names(session)
        loaded = load_current(session)
        told = _told_by_tables(session, names)
    rounds = {one.item.name: rounds_of(one, names) for one in loaded}
    questions = {one.item.name: one.question for one in loaded}
    answers = read_answers(
        workspace.facts, {name: wanted_responses(stories) for name, stories in rounds.items()}, questions
    )
    items = tuple(item_story(one, rounds[one.item.name], answers[one.item.name], names) for one in loaded)
    solves = solves_of(review for one in loaded for review in one.reviews)
    return _report(workspace, items, twins_of(items, questions), solves, told)


def overview(workspace: Workspace, standing: Standing) -> QcReport:
    """The report without what only the panel's answers tell: its items are bare, and it holds no twin groups.

    Args:
        workspace: Of the project.
        standing: What was read before; only what changed since is read again.
    """
    with workspace.database.reading() as session:
        items = standing.read(session)
        told = _told_by_tables(session, people_names(session))
        solves = solves_of(current_reviews(session))
    return _report(workspace, items, (), solves, told)


def item_history(workspace: Workspace, name: str) -> ItemHistory:
    """One item's whole story, with what each revision changed.

    Raises:
        UnknownName: There is no such item.
    """
    names, item, loaded = _revisions(workspace, name)
    rounds = [rounds_of(one, names) for one in loaded]
    place, current = next(
        (place, one) for place, one in enumerate(loaded) if one.revision.id == item.current_revision_id
    )
    revisions = []
    for row, one in enumerate(loaded):
        changes = diff_revisions(loaded[row - 1].question, one.question) if row else ()
        revisions.append(
            RevisionStory(
                number=one.revision.number,
                author=names.get(one.revision.author, one.revision.author),
                at=one.revision.created_at,
                changes=changes,
                rounds=rounds[row],
            )
        )
    return ItemHistory(item=_answered(workspace, current, rounds[place], names), revisions=tuple(revisions))


def revision_story(workspace: Workspace, name: str, number: int | None = None) -> ItemStory:
    """The story of one revision of an item, the current one unless another is named, with the panel's answers.

    Raises:
        UnknownName: There is no such item.
    """
    names, item, loaded = _revisions(workspace, name)
    current = next(one for one in loaded if one.revision.id == item.current_revision_id)
    shown = next((one for one in loaded if one.revision.number == number), current)
    return _answered(workspace, shown, rounds_of(shown, names), names)


def _revisions(workspace: Workspace, name: str) -> tuple[Mapping[str, str], Item, list[Loaded]]:
    """Names of people, an item, and all of its revisions."""
    with workspace.database.reading() as session:
        item = get_item(session, name)
        return people_names(session), item, load_revisions(session, item)


def _answered(workspace: Workspace, one: Loaded, rounds: tuple[RoundStory, ...], names: Mapping[str, str]) -> ItemStory:
    name = one.item.name
    answers = read_answers(workspace.facts, {name: wanted_responses(rounds)}, {name: one.question})
    return item_story(one, rounds, answers[name], names)


def _told_by_tables(session: Session, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a report that are no sums over its items."""
    return {
        "runs": last_runs(session),
        "certificates": certificates_of(session),
        "audits": audits_of(session),
        "reviewers": reviewers_of(session, names),
        "gold": gold_score(session),
        "agreement": read_agreement(session, np.random.default_rng(_SEED)),
        "drift": read_drift(session),
    }


def _report(
    workspace: Workspace,
    items: tuple[ItemStory, ...],
    twins: tuple[TwinGroup, ...],
    solves: tuple[Solves, ...],
    told: Mapping[str, Any],
) -> QcReport:
    counts = Counter(item.state for item in items)
    return QcReport(
        project=workspace.project.root.name,
        funnel={state.value: counts[state.value] for state in ItemState},
        rounds=round_flows(items),
        reasons=_reasons(items),
        items=items,
        decoys=decoys_of(items),
        twins=twins,
        authors=authors_of(items),
        solves=solves,
        **told,
    )


def _reasons(items: Sequence[ItemStory]) -> tuple[ReasonCount, ...]:
    """The most frequent first."""
    stopped: dict[str, list[str]] = defaultdict(list)
    for item in items:
        for code in item.reason_codes:
            stopped[code].append(item.name)
    order = sorted(stopped, key=lambda code: (-len(stopped[code]), code))
    return tuple(ReasonCount(code=code, words=reason_words(code), items=tuple(stopped[code])) for code in order)
