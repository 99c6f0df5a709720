"""The clock of an exam's question: when its time is over, and how long it was before somebody's eyes."""

from datetime import datetime, timedelta

from warehouse.tables import Exam, ExamPlace

# An answer that set out in time may arrive so much later.
GRACE = timedelta(seconds=10)
# A page that is on the screen says so every few seconds; a longer silence is a pause.
SILENCE = timedelta(seconds=45)


def ends_at(exam: Exam, place: ExamPlace) -> datetime | None:
    """When the time of a question is over; None while it was not shown, and where there is no limit."""
    if exam.limit_s is None or place.shown_at is None:
        return None
    return place.shown_at + timedelta(seconds=exam.limit_s)


def is_over(exam: Exam, place: ExamPlace, now: datetime, grace: timedelta = GRACE) -> bool:
    """Whether a question can be answered no more."""
    end = ends_at(exam, place)
    return end is not None and now > end + grace


def note_on_screen(place: ExamPlace, now: datetime, *, begins: bool) -> None:
    """Note that a question is on the screen now: its last span goes on, or, after a pause, another one begins."""
    *before, (start, end) = place.spans
    if begins or now - datetime.fromisoformat(end) > SILENCE:
        place.spans = [*place.spans, [now.isoformat()] * 2]
    else:
        place.spans = [*before, [start, now.isoformat()]]


def seen_s(place: ExamPlace) -> float:
    """How long the question was on the screen, in seconds, without pauses."""
    moments = [(datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in place.spans]
    return sum((end - start).total_seconds() for start, end in moments)


def taken_s(place: ExamPlace) -> float | None:
    """How long it took from first showing to handing in, in seconds, pauses included; None where it is not over."""
    if place.shown_at is None or place.answered_at is None:
        return None
    return (place.answered_at - place.shown_at).total_seconds()
