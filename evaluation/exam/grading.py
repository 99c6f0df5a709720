"""People's answers become responses like those of models, under the same graders, and stand in the same reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlmodel import Session, col, select

from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.progress import progress
from core.provenance import canonical_json, content_hash
from core.question import Question
from evaluation.exam.holding import SETTLED, WrongExamState, get_exam
from evaluation.exam.places import condition_of
from evaluation.exam.timing import seen_s, taken_s
from evaluation.grade import Graded, grade_answers
from evaluation.imports import NameTaken
from evaluation.run import COMMAND
from evaluation.solve import Showing
from warehouse.ledger import settled_keys
from warehouse.people import Role, get_user, require_role
from warehouse.runs import open_run
from warehouse.tables import Exam, ExamPlace, ExamSeat, ExamState, Item, ItemRevision, PlaceState
from warehouse.workspace import Workspace

PEOPLE = "human"
NO_PROFILE = "other"
# What a person's answer has nothing of.
_UNKNOWN = (
    "error", "served_model", "input_tokens", "output_tokens", "reasoning_tokens", "tokens_by_modality", "attempts",
    "cost_usd",
)  # fmt: skip
_STATES: Mapping[PlaceState, str] = {
    PlaceState.ANSWERED: "ok",
    PlaceState.ABSTAINED: "abstained",
    PlaceState.TIMED_OUT: "timed_out",
}


class NothingAnswered(InterplayError):
    """An exam that ended without an answer."""


@dataclass(frozen=True)
class Sat:
    """A question that is behind somebody, as a response is stored of it."""

    exam: Exam
    seat: ExamSeat
    place: ExamPlace
    item_name: str
    original: Question

    @property
    def model(self) -> str:
        """What reports call the person: by their profile, for nobody's name leaves the tables."""
        return model_of(self.seat)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How people were asked; those who had less time are never mixed with those who had more."""
        return {"is_human": True, "limit_s": self.exam.limit_s}

    @cached_property
    def showing(self) -> Showing:
        """What they were shown."""
        return Showing(self.original, condition_of(self.place))

    @cached_property
    def request_key(self) -> str:
        """As `evaluation.asking.Unit.request_key`: who was asked how, the messages, which person."""
        return content_hash([self.model, self.parameters, self.showing.fingerprint, self.seat.id])

    @cached_property
    def key(self) -> str:
        """As `evaluation.asking.Unit.key`."""
        return content_hash([self.request_key, [self.place.revision_id, self.showing.columns["condition_fingerprint"]]])


def model_of(seat: ExamSeat) -> str:
    """`human/expert`, `human/crowd` or `human/other`."""
    return f"{PEOPLE}/{seat.profile or NO_PROFILE}"


def person_of(seat: ExamSeat) -> int:
    """The replicate by which the answers of one person, in all exams, are told from others': a number, and no name."""
    return int(content_hash(seat.user_id)[:12], 16)


def grade_exam(workspace: Workspace, name: str, by: str, clock: Clock = utc_now) -> Graded:
    """Store the answers of a closed exam as responses, and grade them; a second call does what is missing.

    Raises:
        UnknownName, NotAllowed: No such exam or user; no maintainer.
        NothingAnswered: No question is behind anybody.
        WrongExamState: It is not closed: until then nobody's answers are looked at.
        NameTaken: The project has a model that is called as people are.
    """
    with workspace.database.reading() as session:
        require_role(get_user(session, by), Role.MAINTAINER)
        exam = get_exam(session, name)
        if exam.state is not ExamState.CLOSED:
            raise WrongExamState(f"exam {exam.name!r} is {exam.state.value}; close it first")
        sat = sat_in(session, exam)
    if not sat:
        raise NothingAnswered(f"nobody answered a question of {exam.name!r}; there is nothing to grade")
    models = sorted({one.model for one in sat})
    for taken in sorted(set(models) & workspace.project.settings.models.keys()):
        raise NameTaken(f"{taken!r} is a model of interplay.toml, and people's answers are stored under that name")
    with open_run(workspace.database, COMMAND, _settings(exam, models), seed=exam.seed, clock=clock) as run:
        _store(workspace, run.id, sat, clock)
        graded = grade_answers(workspace.facts, run.id, {one.place.revision_id: one.original for one in sat}, clock)
        run.summary = {"answers": len(sat), "graded": graded.graded}
    with workspace.database.session() as session:
        session.get_one(Exam, exam.id).graded_run_id = run.id
    return graded


def sat_in(session: Session, exam: Exam) -> list[Sat]:
    """All questions that are behind people, by person and in the order in which they had them."""
    query = (
        select(ExamSeat, ExamPlace, Item.name, ItemRevision)
        .join(ExamPlace, col(ExamPlace.seat_id) == col(ExamSeat.id))
        .join(ItemRevision, col(ItemRevision.id) == col(ExamPlace.revision_id))
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(ExamSeat.exam_id == exam.id, col(ExamPlace.state).in_(list(_STATES)))
        .order_by(col(ExamSeat.number), col(ExamPlace.position))
    )
    return [
        Sat(exam, seat, place, item_name, revision.as_question())
        for seat, place, item_name, revision in session.exec(query)
    ]


def _settings(exam: Exam, models: Sequence[str]) -> dict[str, Any]:
    return {
        "release": exam.subject or SETTLED,
        "exam": exam.name,
        "models": [{"name": model, "exam": exam.name, "is_human": True} for model in models],
        # Not as "conditions": those of a run of models tell whose captions a report's models were shown.
        "shown": exam.conditions,
    }


def _store(workspace: Workspace, run_id: str, sat: Sequence[Sat], clock: Clock) -> None:
    known = settled_keys(workspace.facts, (one.key for one in sat))
    fresh = [one for one in sat if one.key not in known]
    with (
        workspace.facts.writer("sitting", run_id) as told,
        workspace.facts.writer("response", run_id) as writer,
        progress("storing answers", len(fresh)) as ticker,
    ):
        for one in fresh:
            # What is told of a response first: one without is never stored.
            told.add({**_sitting(one), "recorded_at": clock().isoformat()})
            writer.add({**_response(one), "recorded_at": clock().isoformat()})
            ticker.advance()


def _response(one: Sat) -> dict[str, Any]:
    state = _STATES[one.place.state]
    return dict.fromkeys(_UNKNOWN) | {
        "key": one.key,
        "request_key": one.request_key,
        "purpose": f"exam {one.exam.name}",
        "model": one.model,
        "family": PEOPLE,
        "item_name": one.item_name,
        "revision_id": one.place.revision_id,
        **one.showing.columns,
        "replicate": person_of(one.seat),
        "parameters": canonical_json(one.parameters),
        "state": state,
        "answer": one.place.answer if state == "ok" else None,
        "latency_s": taken_s(one.place),
        "sent": canonical_json(list(_sent(one))),
    }


def _sent(one: Sat) -> Iterator[dict[str, Any]]:
    for part in one.showing.question.media:
        media = part.media
        yield {
            "name": part.name,
            "modality": media.modality.value,
            "sha256": media.sha256,
            "duration_s": media.duration_s,
        }


def _sitting(one: Sat) -> dict[str, Any]:
    confidence = one.place.confidence
    return {
        "response_key": one.key,
        "exam": one.exam.name,
        "seat": one.seat.id,
        "profile": one.seat.profile,
        "position": one.place.position,
        "confidence": None if confidence is None else confidence / 100,
        "taken_s": taken_s(one.place),
        "seen_s": seen_s(one.place),
    }
