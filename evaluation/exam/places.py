"""The questions of one person's exam: none that they know, each under the condition that is theirs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlmodel import Session, col, func, select

from core.condition import IN_WORDS, Condition
from core.content import MediaPart
from core.question import Question
from evaluation.caption_conditions import Words
from evaluation.conditions import PLACEBO, Conditions, Donors
from evaluation.exam.design import condition_at
from evaluation.exam.known_items import known_items
from evaluation.report.items import clusters_of
from warehouse.database import portions
from warehouse.release.tombstones import withdrawn_media, withdrawn_shown
from warehouse.tables import Exam, ExamItem, ExamPlace, ExamSeat, Item, ItemRevision, PlaceState, User


@dataclass(frozen=True)
class _Row:
    """A question of the exam with what tells whether somebody may be asked it."""

    revision_id: str
    item_id: str
    family: str
    stratum: str
    place: int | None


class Askable:
    """Which conditions can be made for questions; for all at once where one question lends another its media.

    Args:
        session: Reads.
        names: Of conditions.
        questions: By revision id.
        twin_groups: By revision id.
    """

    def __init__(
        self,
        session: Session,
        names: Sequence[str],
        questions: Mapping[str, Question],
        twin_groups: Mapping[str, str | None],
    ) -> None:
        self.questions = questions
        donors = Donors(questions, clusters_of(questions, twin_groups)) if lends(names) else Donors({}, {})
        described = list(questions) if not IN_WORDS.keys().isdisjoint(names) else []
        self._conditions = Conditions(names, Words(session, described), donors)

    def conditions(self, revision_id: str) -> list[Condition]:
        """Those that apply to a question, in the order of their names."""
        return self._conditions.of(revision_id, self.questions[revision_id])


def lends(names: Sequence[str]) -> bool:
    """Whether one of these conditions shows a question with media of another."""
    return not PLACEBO.keys().isdisjoint(names)


class Seating:
    """All that is needed to give people of one exam their places; of a large exam only what comes in question is read.

    Args:
        session: Reads.
        exam: Whose questions they are.
    """

    def __init__(self, session: Session, exam: Exam) -> None:
        self._session, self._exam = session, exam
        found = session.exec(
            select(ExamItem, Item.id, Item.twin_group)
            .join(ItemRevision, col(ItemRevision.id) == col(ExamItem.revision_id))
            .join(Item, col(Item.id) == col(ItemRevision.item_id))
            .where(ExamItem.exam_id == exam.id)
            .order_by(col(ExamItem.stratum), col(ExamItem.rank))
        ).all()
        self.rows = [
            _Row(one.revision_id, item_id, group or item_id, one.stratum, one.place) for one, item_id, group in found
        ]
        self._reserve: dict[str, list[_Row]] = {}
        for row in self.rows:
            if row.place is None:
                self._reserve.setdefault(row.stratum, []).append(row)
        self._groups = {one.revision_id: group for one, _, group in found}
        self._readable: dict[str, list[Condition]] = {}
        self._read([row.revision_id for row in self.rows if row.place is not None or lends(exam.conditions)])

    def _read(self, revision_ids: Sequence[str]) -> None:
        """Make the conditions of some questions; what shows withdrawn media has none."""
        questions: dict[str, Question] = {}
        for ids in portions(revision_ids):
            query = select(ItemRevision).where(col(ItemRevision.id).in_(ids))
            questions |= {one.id: one.as_question() for one in self._session.exec(query)}
        askable = Askable(self._session, self._exam.conditions, questions, self._groups)
        withdrawn = withdrawn_shown(self._session, list(questions))
        self._readable |= {one: [] if one in withdrawn else askable.conditions(one) for one in questions}

    def _conditions(self, row: _Row) -> list[Condition]:
        if row.revision_id not in self._readable:
            self._read([row.revision_id])
        return self._readable[row.revision_id]

    def lay(self, seat: ExamSeat, user: User) -> tuple[list[ExamPlace], dict[str, int]]:
        """A place for each question of the sample, and how many could be given none, by stratum; nothing is stored."""
        known, places, families = known_items(self._session, user, seat.id), [], set[str]()
        missing: dict[str, int] = {}
        for wanted in sorted((row for row in self.rows if row.place is not None), key=lambda row: row.place or 0):
            turn = wanted.place or 0
            found = self._fit(wanted, seat.number, turn, known, families)
            if found is None:
                missing[wanted.stratum] = missing.get(wanted.stratum, 0) + 1
                continue
            row, condition = found
            families.add(row.family)
            places.append(
                ExamPlace(
                    seat_id=seat.id,
                    position=0,
                    turn=turn,
                    stratum=wanted.stratum,
                    revision_id=row.revision_id,
                    condition=condition.model_dump(mode="json"),
                )
            )
        return places, missing

    def stand_in(self, seat: ExamSeat, user: User, place: ExamPlace, taken: set[str]) -> tuple[str, Condition] | None:
        """A revision and condition for a place whose question cannot be put any more; None when there is none.

        `taken` are the revisions of the seat's other places.
        """
        families = {row.family for row in self.rows if row.revision_id in taken}
        wanted = next(row for row in self.rows if row.revision_id == place.revision_id)
        known = known_items(self._session, user, seat.id) | {wanted.item_id}
        found = self._fit(wanted, seat.number, place.turn, known, families)
        return None if found is None else (found[0].revision_id, found[1])

    def _fit(
        self, wanted: _Row, number: int, turn: int, known: set[str], families: set[str]
    ) -> tuple[_Row, Condition] | None:
        """The wanted question if it can be put, else the first of the same stratum that stands in reserve."""
        for row in chain([wanted], self._reserve.get(wanted.stratum, ())):
            if row.item_id in known or row.family in families:
                continue
            if conditions := self._conditions(row):
                return row, condition_at(conditions, turn, number)
        return None


def counts_of(session: Session, seat_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """By seat, how many questions it has that can be put, and how many of them are behind its person."""
    query = select(ExamPlace.seat_id, ExamPlace.state, func.count()).where(col(ExamPlace.seat_id).in_(seat_ids))
    states: dict[str, Counter[PlaceState]] = {seat_id: Counter() for seat_id in seat_ids}
    for seat_id, state, count in session.exec(query.group_by(col(ExamPlace.seat_id), col(ExamPlace.state))):
        states[seat_id][PlaceState(state)] = count
    return {
        seat_id: (total := found.total() - found[PlaceState.VOID], total - found[PlaceState.WAITING])
        for seat_id, found in states.items()
    }


def question_of(session: Session, place: ExamPlace) -> Question:
    """The question of a place, with its key, as its person sees it."""
    original = session.get_one(ItemRevision, place.revision_id).as_question()
    return condition_of(place).apply(original)


def condition_of(place: ExamPlace) -> Condition:
    """Under which condition a place is seen."""
    return Condition.model_validate(place.condition)


def can_be_put(session: Session, user: User, place: ExamPlace) -> bool:
    """Whether the person still does not know the item, and none of what they would be shown was withdrawn."""
    item_id = session.get_one(ItemRevision, place.revision_id).item_id
    if item_id in known_items(session, user, place.seat_id):
        return False
    shown = {part.media.sha256 for part in question_of(session, place).prompt if isinstance(part, MediaPart)}
    return shown.isdisjoint(withdrawn_media(session)) and not withdrawn_shown(session, [place.revision_id])
