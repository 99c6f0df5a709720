"""What is stored of comparisons: that they were made, and what they found; and a person's word on a match."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, or_, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from curation.contamination.carrying import EVENTS_OF, Told, carry_on, carry_over, is_other, told_before, word_on
from curation.contamination.evidence import MATCHED
from curation.contamination.index_file import Index
from curation.contamination.subjects import SubjectKind, standing_revisions
from curation.materials import chunked
from warehouse import events
from warehouse.handles import whole_id
from warehouse.people import Role, require_role
from warehouse.tables import ContaminationCheck, ContaminationMatch, User

DECIDERS = (Role.REVIEWER, Role.MAINTAINER)


class ImpossibleClearing(InterplayError):
    """The match stands so already, or no reason is given."""


@dataclass(frozen=True)
class Found:
    """An overlap with an entry of a benchmark."""

    benchmark: str
    entry: str
    kind: str
    score: float
    evidence: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it another match."""
        return self.benchmark, self.entry, self.kind


@dataclass(frozen=True)
class Result:
    """What one comparison of one subject gave.

    Attributes:
        kind: Of the subject.
        id: Of the subject.
        method: What is remembered: that it was compared so.
        prefix: The part of it that stays when the subject's texts change.
        kinds: Of the matches that such a comparison finds.
        found: All that it found.
    """

    kind: SubjectKind
    id: str
    method: str
    prefix: str
    kinds: tuple[str, ...]
    found: tuple[Found, ...]


def store(session: Session, index: Index, results: Sequence[Result], run_id: str, clock: Clock = utc_now) -> None:
    """Bring the rows of these subjects up to date, in the caller's transaction.

    A match that is found again keeps a person's word, unless something else of ours matches now. One that is no longer
    found goes with an event, unless it was cleared. One that was cleared under another index, or of an earlier
    revision, is cleared from the start as long as the same of ours matches (`curation.contamination.carrying`).
    """
    for kind in SubjectKind:
        for some in chunked(one for one in results if one.kind is kind):
            ids = [one.id for one in some]
            told = told_before(session, kind, ids)
            marks = _marks(session, index, kind, ids)
            for one in some:
                _store_matches(session, index, one, told.get(one.id, []), run_id, clock)
                _mark(session, index, one, marks.get(one.id, []), run_id, clock)


def clear(session: Session, match_id: str, reason: str, user: User, clock: Clock = utc_now) -> ContaminationMatch:
    """Say that a match is no contamination: it stops nothing any more, and no more do open ones that are the same.

    Raises:
        UnknownId, AmbiguousId: There is none of that id, or there are several that begin so.
        NotAllowed: The user's roles do not allow it.
        ImpossibleClearing: It is cleared already, or no reason is given.
    """
    match = _locked(session, match_id, reason, user)
    if match.cleared_at is not None:
        raise ImpossibleClearing(
            f"match {match.id} was cleared by {match.cleared_by} already ({match.cleared_why}); "
            "'interplay contamination reopen' takes that back"
        )
    match.cleared_by, match.cleared_why, match.cleared_at = user.name, reason.strip(), clock()
    _tell(session, match, user, "clear", reason, clock)
    carry_on(session, match, user.name, clock)
    return match


def reopen(session: Session, match_id: str, reason: str, user: User, clock: Clock = utc_now) -> ContaminationMatch:
    """Take a clearing back: the match counts again.

    Raises:
        UnknownId, AmbiguousId: There is none of that id, or there are several that begin so.
        NotAllowed: The user's roles do not allow it.
        ImpossibleClearing: It is open, or no reason is given.
    """
    match = _locked(session, match_id, reason, user)
    if match.cleared_at is None:
        raise ImpossibleClearing(f"match {match.id} is open already; there is nothing to take back")
    match.cleared_by = match.cleared_why = match.cleared_at = None
    return _tell(session, match, user, "reopen", reason, clock)


def matches_of(
    session: Session, subjects: Sequence[tuple[SubjectKind, str]] | None = None, open_only: bool = False
) -> list[ContaminationMatch]:
    """Matches (of these subjects, all when None), by subject, nearest first.

    Open ones are those that count: what was open of an item's earlier revision, or of an item that is gone, does not.
    """
    query = select(ContaminationMatch)
    if open_only:
        stands = col(ContaminationMatch.subject_id).in_(standing_revisions())
        is_material = ContaminationMatch.subject_kind == SubjectKind.MATERIAL
        query = query.where(col(ContaminationMatch.cleared_at).is_(None), or_(is_material, stands))
    found: list[ContaminationMatch] = []
    if subjects is None:
        found += session.exec(query)
    for kind in SubjectKind:
        for ids in chunked(id_ for of_kind, id_ in subjects or () if of_kind is kind):
            mine = (ContaminationMatch.subject_kind == kind, col(ContaminationMatch.subject_id).in_(ids))
            found += session.exec(query.where(*mine))
    return sorted(
        found, key=lambda one: (one.subject_kind, one.subject_id, -one.score, one.benchmark, one.entry, one.kind)
    )


def _store_matches(
    session: Session,
    index: Index,
    result: Result,
    told: Sequence[Told],
    run_id: str,
    clock: Clock,
) -> None:
    known = (one.match for one in told if one.match.subject_id == result.id)
    here = {
        (one.benchmark, one.entry, one.kind): one
        for one in known
        if one.index_sha256 == index.sha256 and one.kind in result.kinds
    }
    found = {one.key: one for one in sorted(result.found, key=lambda one: one.score)}
    for key, one in sorted(found.items()):
        match = here.get(key)
        if match is None:
            match = _new(index, result, one, run_id, clock)
            if (word := word_on(match, told)) is not None:
                carry_over(session, word, match, result.method, clock)
        elif match.cleared_at is not None and is_other(match, one.evidence.get(MATCHED)):
            detail = {"cleared_by": match.cleared_by, "reason": match.cleared_why}
            events.record(session, result.method, EVENTS_OF, match.id, "reopen", clock, **detail)
            match.cleared_by = match.cleared_why = match.cleared_at = None
        match.score, match.evidence, match.run_id = one.score, dict(one.evidence), run_id
        session.add(match)
    for key in sorted(here.keys() - found.keys()):
        gone = here[key]
        if gone.cleared_at is None:
            detail = {"index": index.name, "benchmark": gone.benchmark, "entry": gone.entry, "kind": gone.kind}
            events.record(session, result.method, result.kind, result.id, "match_gone", clock, **detail)
            session.delete(gone)


def _new(index: Index, result: Result, found: Found, run_id: str, clock: Clock) -> ContaminationMatch:
    return ContaminationMatch(
        subject_kind=result.kind,
        subject_id=result.id,
        index_name=index.name,
        index_sha256=index.sha256,
        benchmark=found.benchmark,
        entry=found.entry,
        kind=found.kind,
        score=found.score,
        evidence=dict(found.evidence),
        run_id=run_id,
        created_at=clock(),
    )


def _marks(
    session: Session, index: Index, kind: SubjectKind, ids: Sequence[str]
) -> dict[str, list[ContaminationCheck]]:
    mine = (
        ContaminationCheck.subject_kind == kind,
        ContaminationCheck.index_sha256 == index.sha256,
        col(ContaminationCheck.subject_id).in_(ids),
    )
    found: dict[str, list[ContaminationCheck]] = {}
    for one in session.exec(select(ContaminationCheck).where(*mine)):
        found.setdefault(one.subject_id, []).append(one)
    return found


def _mark(
    session: Session, index: Index, result: Result, known: Sequence[ContaminationCheck], run_id: str, clock: Clock
) -> None:
    """One mark for each way to compare: that of texts which are no longer there goes."""
    mark = None
    for one in known:
        if one.method == result.method:
            mark = one
        elif one.method.partition("#")[0] == result.prefix:
            session.delete(one)
    if mark is None:
        mark = ContaminationCheck(
            subject_kind=result.kind, subject_id=result.id, index_name=index.name, index_sha256=index.sha256,
            method=result.method, run_id=run_id,
        )  # fmt: skip
    mark.run_id, mark.created_at = run_id, clock()
    session.add(mark)


def _locked(session: Session, match_id: str, reason: str, user: User) -> ContaminationMatch:
    require_role(user, *DECIDERS)
    found = whole_id(session, [ContaminationMatch.id], match_id, "match", "interplay contamination matches")
    match = session.get_one(ContaminationMatch, found, with_for_update=True)
    if not reason.strip():
        raise ImpossibleClearing(f"match {match_id}: this needs a reason (--reason); write why it is or is not a copy")
    return match


def _tell(
    session: Session, match: ContaminationMatch, user: User, action: str, reason: str, clock: Clock
) -> ContaminationMatch:
    session.add(match)
    session.flush()
    about = {"of": [match.subject_kind, match.subject_id], "benchmark": match.benchmark, "entry": match.entry}
    events.record(session, user.name, EVENTS_OF, match.id, action, clock, reason=reason.strip(), **about)
    return match
