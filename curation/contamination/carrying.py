"""A person's word on a match holds for later revisions and indexes, as long as what matched is the same."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from core.ids import Clock
from curation.contamination.evidence import MATCHED
from curation.contamination.subjects import SubjectKind
from curation.materials import chunked
from warehouse import events
from warehouse.tables import ContaminationMatch, Event, ItemRevision

EVENTS_OF = "contamination_match"
CARRY_OVER = "carry_over"
_WORDS = ("clear", "reopen", CARRY_OVER)


@dataclass(frozen=True)
class Told:
    """A match of a subject, or of another revision of its item; `revision` is its number, 0 of a material."""

    revision: int
    match: ContaminationMatch


@dataclass(frozen=True)
class Word:
    """That a match was cleared: `told` is the last one, `since` the revision for which a person said it."""

    told: Told
    since: int


def told_before(session: Session, kind: SubjectKind, ids: Sequence[str]) -> dict[str, list[Told]]:
    """By subject: the matches of it and, of a revision, of the earlier revisions of its item; by id."""
    if kind is SubjectKind.MATERIAL:
        of_these = (ContaminationMatch.subject_kind == kind, col(ContaminationMatch.subject_id).in_(ids))
        query = select(ContaminationMatch).where(*of_these).order_by(col(ContaminationMatch.id))
        found: dict[str, list[Told]] = {}
        for match in session.exec(query):
            found.setdefault(match.subject_id, []).append(Told(0, match))
        return found
    asked = select(ItemRevision.id, ItemRevision.item_id, ItemRevision.number).where(col(ItemRevision.id).in_(ids))
    places = {id_: (item_id, number) for id_, item_id, number in session.exec(asked)}
    by_item = _of_items(session, {item_id for item_id, _ in places.values()})
    return {
        id_: [one for one in by_item.get(item_id, ()) if one.revision <= number]
        for id_, (item_id, number) in places.items()
    }


def word_on(match: ContaminationMatch, told: Sequence[Told]) -> Word | None:
    """The word that holds for a new match; None where nobody cleared the same, or somebody took it back.

    Args:
        match: The new one.
        told: As `told_before` gives it.
    """
    same = [one for one in told if _is_same(one.match, match)]
    last = [one for one in same if one.revision == max(each.revision for each in same)]
    if not last or any(one.match.cleared_at is None for one in last):
        return None
    latest = max(last, key=lambda one: (str(one.match.cleared_at), one.match.id))
    said = [one.revision for one in same if _word(one.match) == _word(latest.match)]
    return Word(latest, min(said))


def carry_over(session: Session, word: Word, match: ContaminationMatch, actor: str, clock: Clock) -> None:
    """Let a word hold for a match, and say so in its history."""
    source = word.told.match
    match.cleared_by, match.cleared_why, match.cleared_at = source.cleared_by, source.cleared_why, source.cleared_at
    session.add(match)
    detail = {"revision": word.since or None, "index": source.index_name, "match": source.id}
    said = {"by": source.cleared_by, "reason": source.cleared_why}
    events.record(session, actor, EVENTS_OF, match.id, CARRY_OVER, clock, **detail, **said)


def carry_on(session: Session, match: ContaminationMatch, actor: str, clock: Clock) -> None:
    """Let the word on a match hold for the open ones that are the same: of other indexes, and of later revisions."""
    if match.subject_kind == SubjectKind.MATERIAL:
        others = told_before(session, SubjectKind.MATERIAL, [match.subject_id]).get(match.subject_id, [])
    else:
        revision = session.get_one(ItemRevision, match.subject_id)
        others = _of_items(session, {revision.item_id})[revision.item_id]
    (mine,) = (one for one in others if one.match.id == match.id)
    for other in others:
        is_open = other.match.cleared_at is None
        if is_open and other.revision >= mine.revision and _is_same(match, other.match):
            carry_over(session, Word(mine, mine.revision), other.match, actor, clock)


def carried_from(session: Session, matches: Iterable[ContaminationMatch]) -> dict[str, Event]:
    """By id of the matches whose last word was carried over, the event that tells from where."""
    last: dict[str, Event] = {}
    for ids in chunked(sorted(match.id for match in matches if match.cleared_at is not None)):
        of_these = (Event.subject_kind == EVENTS_OF, col(Event.subject_id).in_(ids), col(Event.action).in_(_WORDS))
        for event in session.exec(select(Event).where(*of_these).order_by(col(Event.sequence))):
            last[event.subject_id] = event
    return {id_: event for id_, event in last.items() if event.action == CARRY_OVER}


def is_other(before: ContaminationMatch, matched: object) -> bool:
    """Whether something else matches now. Of what was stored without saying what matched nobody knows: it is not."""
    known = before.evidence.get(MATCHED)
    return known is not None and known != matched


def _is_same(one: ContaminationMatch, other: ContaminationMatch) -> bool:
    """Same public record, same kind, and the same of ours; neighbours in meaning must not come nearer either."""
    if (one.benchmark, one.entry, one.kind) != (other.benchmark, other.entry, other.kind):
        return False
    matched = one.evidence.get(MATCHED)
    if matched is None or matched != other.evidence.get(MATCHED):
        return False
    return one.kind != "embedding" or other.score <= one.score


def _word(match: ContaminationMatch) -> tuple[object, ...]:
    return match.cleared_by, match.cleared_why, match.cleared_at


def _of_items(session: Session, item_ids: set[str]) -> dict[str, list[Told]]:
    found: dict[str, list[Told]] = {}
    for ids in chunked(sorted(item_ids)):
        query = select(ItemRevision.item_id, ItemRevision.number, ContaminationMatch).join(
            ContaminationMatch, col(ContaminationMatch.subject_id) == col(ItemRevision.id)
        )
        mine = (ContaminationMatch.subject_kind == SubjectKind.REVISION, col(ItemRevision.item_id).in_(ids))
        for item_id, number, match in session.exec(query.where(*mine).order_by(col(ContaminationMatch.id))):
            found.setdefault(item_id, []).append(Told(number, match))
    return found
