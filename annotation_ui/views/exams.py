"""Exams as maintainers see them: how far people are, never what they answer, and once it is graded what came out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.exam import LEVELS, span
from annotation_ui.views.people import kind_words
from annotation_ui.views.results import between
from annotation_ui.views.results_words import CONDITIONS, condition_label
from annotation_ui.words import N_, Words
from core.content import Modality
from evaluation.conditions import NAMES
from evaluation.exam.holding import SeatProgress, all_exams, progress_of, strata_of
from evaluation.exam.results import ExamResults, Group, Times
from warehouse.spreadsheets import Cell
from warehouse.tables import Exam, ExamState, Release

STATES = {ExamState.DRAFT: N_("Draft"), ExamState.OPEN: N_("Open"), ExamState.CLOSED: N_("Closed")}
# The state's badge has the colours of a like state of items.
BADGES = {ExamState.DRAFT: "", ExamState.OPEN: "submitted", ExamState.CLOSED: "accepted"}
ALL_ITEMS = "all"


@dataclass(frozen=True)
class ExamRow:
    """One exam in the list."""

    id: str
    name: str
    badge: str
    state_label: str
    about: str
    people: str
    when: str


@dataclass(frozen=True)
class SeatRow:
    """How far one person is; `missing` says for what there was no question that they do not know."""

    seat_id: str
    name: str
    profile: str
    state: str
    done: int
    total: int
    share: int
    missing: str
    is_begun: bool


@dataclass(frozen=True)
class Stratum:
    """How many questions of one task type and combination of media are asked, of how many there are."""

    task_type: str
    media: str
    asked: int
    of: int


@dataclass(frozen=True)
class HeldExam:
    """One exam with all that a maintainer decides by."""

    id: str
    name: str
    state: ExamState
    badge: str
    state_label: str
    version: int
    facts: Sequence[tuple[str, str]]
    seats: Sequence[SeatRow]
    strata: Sequence[Stratum]
    finished: int
    is_graded: bool


@dataclass(frozen=True)
class GroupView:
    """The people of one profile: what became of their questions, how long they took, how sure they were."""

    name: str
    people: int
    answered: int
    abstained: int
    timed_out: int
    left: int
    taken: str
    seen: str
    sure: Sequence[tuple[str, int, str, str]]
    verdict: str


def exam_rows(session: Session, who: Principal, now: datetime, t: Words) -> list[ExamRow]:
    """All exams, the newest first.

    Raises:
        NotAllowed: The person holds no exams.
    """
    require(who, Permission.HOLD_EXAMS)
    return [_row(exam, progress_of(session, exam), now, t) for exam in all_exams(session)]


def held_exam(session: Session, exam: Exam, t: Words) -> HeldExam:
    """One exam, and how far everybody is."""
    progress = progress_of(session, exam)
    return HeldExam(
        id=exam.id,
        name=exam.name,
        state=exam.state,
        badge=BADGES[exam.state],
        state_label=t(STATES[exam.state]),
        version=exam.version,
        facts=_facts(exam, t),
        seats=[_seat(one, t) for one in progress],
        strata=[_stratum(name, asked, of, t) for name, (asked, of) in strata_of(session, exam).items()],
        finished=sum(one.seat.finished_at is not None for one in progress),
        is_graded=exam.graded_run_id is not None,
    )


def subjects(session: Session, t: Words) -> dict[str, str]:
    """Whose questions an exam can ask, by code: releases, the newest first, and all accepted items."""
    releases = session.exec(select(Release).order_by(col(Release.created_at).desc())).all()
    return {f"{one.name} {one.version}": f"{one.name} {one.version}" for one in releases} | {
        ALL_ITEMS: t("All accepted items")
    }


def conditions(t: Words) -> dict[str, str]:
    """All conditions by their names, in words."""
    return {name: t(CONDITIONS[name]) if name in CONDITIONS else name for name in NAMES}


def group_views(results: ExamResults, t: Words) -> list[GroupView]:
    """The people of each profile."""
    return [_group(one, t) for one in results.groups]


def group_name(name: str, t: Words) -> str:
    """What to call the people of one profile."""
    return kind_words(t, name.partition("/")[2])


def time_columns(t: Words) -> list[str]:
    """The head of the table of groups that maintainers save."""
    return [
        t("Profile"), t("People"), t("Answered"), t("Could not tell"), t("Out of time"), t("Left unanswered"),
        t("Median seconds"), t("Median seconds without pauses"), t("Mean confidence, percent"),
        t("Mean points, percent"), t("Brier score"),
    ]  # fmt: skip


def time_rows(results: ExamResults, t: Words) -> Iterator[list[Cell]]:
    """A row for each profile, for `time_columns`."""
    for one in results.groups:
        yield [
            group_name(one.name, t), one.people, one.answered, one.abstained, one.timed_out, one.left,
            one.taken.median_s if one.taken else None, one.seen.median_s if one.seen else None,
            one.confidence, one.points, one.brier,
        ]  # fmt: skip


def _row(exam: Exam, progress: Sequence[SeatProgress], now: datetime, t: Words) -> ExamRow:
    finished = sum(one.seat.finished_at is not None for one in progress)
    return ExamRow(
        id=exam.id,
        name=exam.name,
        badge=BADGES[exam.state],
        state_label=t(STATES[exam.state]),
        about=exam.subject or t("All accepted items"),
        people=t("{finished} of {invited} people have finished", finished=finished, invited=len(progress)),
        when=t.ago(exam.created_at, now),
    )


def _facts(exam: Exam, t: Words) -> list[tuple[str, str]]:
    shown = t(", ").join(condition_label(t, name) for name in exam.conditions)
    return [
        (t("Questions of"), exam.subject or t("All accepted items")),
        (t("Questions a person"), t.number(exam.size)),
        (t("What is shown"), shown),
        (t("Time for a question"), span(exam.limit_s, t) if exam.limit_s else t("Not limited")),
        (t("How sure people are"), t("is asked with each answer") if exam.asks_confidence else t("is not asked")),
        (t("Seed"), str(exam.seed)),
    ]


def _seat(one: SeatProgress, t: Words) -> SeatRow:
    seat = one.seat
    if seat.finished_at is not None:
        state = t("Finished")
    else:
        state = t("Begun") if seat.started_at is not None else t("Not begun")
    missing = [
        f"{stratum.task_type} ({stratum.media}): {count}"
        for name, count in sorted(seat.missing.items())
        if (stratum := _stratum(name, 0, 0, t))
    ]
    return SeatRow(
        seat_id=seat.id,
        name=one.user.display_name,
        profile=kind_words(t, seat.profile),
        state=state,
        done=one.done,
        total=one.total,
        share=100 * one.done // one.total if one.total else 100,
        missing=t("; ").join(missing),
        is_begun=seat.started_at is not None,
    )


def _stratum(name: str, asked: int, of: int, t: Words) -> Stratum:
    task_type, _, media = name.rpartition(", ")
    known = {one.value for one in Modality}
    modalities = frozenset(Modality(one) for one in media.split("+") if one in known)
    return Stratum(labels.task_type(t, task_type), labels.modality_set(t, modalities), asked, of)


def _group(one: Group, t: Words) -> GroupView:
    return GroupView(
        name=group_name(one.name, t),
        people=one.people,
        answered=one.answered,
        abstained=one.abstained,
        timed_out=one.timed_out,
        left=one.left,
        taken=_times(one.taken, t),
        seen=_times(one.seen, t),
        sure=[
            (
                f"{sure.confidence}% · {t(LEVELS[sure.confidence])}",
                sure.answers,
                "–" if sure.points is None else f"{sure.points:.0f}%",
                "" if sure.low is None or sure.high is None else between(sure.low, sure.high, t),
            )
            for sure in one.sure
        ],
        verdict=_verdict(one, t),
    )


def _times(times: Times | None, t: Words) -> str:
    if times is None:
        return "–"
    return t(
        "{median} (half of them {low} to {high})",
        median=span(times.median_s, t), low=span(times.low_s, t), high=span(times.high_s, t),
    )  # fmt: skip


def _verdict(one: Group, t: Words) -> str:
    if one.confidence is None or one.points is None or one.brier is None:
        return ""
    return t(
        "On average {confidence}% sure and {points}% right; Brier score {brier} (0 is best, 0.25 is what always saying "
        "50% gives).",
        confidence=f"{one.confidence:.0f}", points=f"{one.points:.0f}", brier=f"{one.brier:.2f}",
    )  # fmt: skip
