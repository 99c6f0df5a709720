"""What somebody sees who sits an exam: their exams, and one question as a model is asked it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from annotation_ui.components.shortcuts import Shortcut
from annotation_ui.media_links import MediaLinks
from annotation_ui.views.preview import Block, part_blocks
from annotation_ui.words import N_, Words
from core.question import choice_label
from evaluation.exam.sheet import CONFIDENCES, MOST_CHARACTERS
from evaluation.exam.sitting import Asked, SeatView
from warehouse.blobs import BlobStore

# How sure somebody is, in percent, in words.
LEVELS: Mapping[int, str] = {
    0: N_("guessing"), 25: N_("unsure"), 50: N_("half sure"), 75: N_("fairly sure"), 100: N_("certain"),
}  # fmt: skip


@dataclass(frozen=True)
class SeatLine:
    """One exam in the list; `share` of it, in percent, is done. `state` is `new`, `begun`, `done` or `closed`."""

    seat_id: str
    exam: str
    state: str
    state_label: str
    told: str
    share: int
    rules: Sequence[str]


@dataclass(frozen=True)
class Sitting:
    """Where somebody is in an exam; `share` is in percent."""

    place: str
    share: int
    prompt: Sequence[Block]


def seat_line(seat: SeatView, t: Words) -> SeatLine:
    """An exam as its card tells it, with its rules before it is begun."""
    if seat.finished_at is not None:
        state, label = "done", t("Finished")
    elif not seat.is_open:
        state, label = "closed", t("Closed")
    elif seat.started_at is not None:
        state, label = "begun", t("Begun")
    else:
        state, label = "new", t("Not begun")
    told = t("{done} of {total} questions are behind you", done=seat.done, total=seat.total)
    if state == "new":
        told = t.plural("{count} question", "{count} questions", seat.total)
    if seat.limit_s is not None:
        told += t(" · {time} for each", time=span(seat.limit_s, t))
    share = 100 * seat.done // seat.total if seat.total else 100
    return SeatLine(seat.seat_id, seat.exam, state, label, told, share, rules(seat, t) if state == "new" else ())


def rules(seat: SeatView, t: Words) -> list[str]:
    """What to know before one begins."""
    found = [
        t("Answer from what each question shows, alone and without looking anything up."),
        t("Some questions keep a picture, a sound or words back on purpose. Say so if you cannot tell."),
        t("An answer cannot be changed once it is handed in."),
        t("The time for a question begins when it is shown. You can stop after each question and go on later."),
    ]
    if seat.limit_s is not None:
        found.append(
            t(
                "Each question may take {time}; then what you filled in is handed in by itself.",
                time=span(seat.limit_s, t),
            )
        )
    if seat.asks_confidence:
        found.append(t("With each answer you say how sure you are. Your honest guess helps most."))
    return found


def sitting(asked: Asked, links: MediaLinks, user_id: str, blobs: BlobStore, t: Words) -> Sitting:
    """The question: text and media in order, media without measures, which could tell one file from another."""
    blocks = part_blocks(asked.prompt, links, user_id, blobs, t)
    return Sitting(
        place=t("Question {number} of {total}", number=asked.number, total=asked.total),
        share=100 * (asked.number - 1) // asked.total,
        prompt=[replace(block, facts="") for block in blocks],
    )


def sheet_data(
    asked: Asked, form_key: str, saved_stroke: int, problem: Mapping[str, str] | None, now: datetime, t: Words
) -> dict[str, Any]:
    """The sheet for the browser; `problem` is a mistake that was just told."""
    return {
        "place": asked.place_id,
        "form_key": form_key,
        "language": t.language,
        "kind": asked.kind.value,
        "options": [{"label": choice_label(place), "text": text} for place, text in enumerate(asked.choices)],
        "several": asked.several_are_right,
        "steps": [
            {
                "name": t("Step {number}", number=number),
                "points": t.plural("{count} point", "{count} points", step.points),
                "ask": step.ask,
            }
            for number, step in enumerate(asked.steps, start=1)
        ],
        "saved": asked.saved.model_dump(mode="json"),
        "saved_stroke": saved_stroke,
        "asks_confidence": asked.asks_confidence,
        "levels": [{"value": value, "word": t(LEVELS[value])} for value in CONFIDENCES],
        "left_s": None if asked.ends_at is None else max((asked.ends_at - now).total_seconds(), 0.0),
        "most_characters": MOST_CHARACTERS,
        "problem": dict(problem) if problem else None,
        "words": {
            "title": t("Your answer"),
            "several": t("Several choices are right.") if asked.several_are_right else "",
            "cannot_tell": t("I cannot tell from this"),
            "write_here": t("Write here"),
            "how_sure": t("How sure are you?"),
            "hand_in": t("Hand in the answer"),
            "hand_in_and_stop": t("Hand in and stop for now"),
            "saved": t("Kept"),
            "sending": t("Handing in …"),
            "over": t("The time for this question is over."),
            "unconfirmed": t("The studio has not confirmed it. Check the connection and hand it in again."),
        },
    }


def sheet_keys(asked: Asked, t: Words) -> list[Shortcut]:
    """Keys that press the sheet's buttons: letters choose, digits say how sure one is, or choose where nobody asks."""
    labels = [choice_label(place) for place in range(len(asked.choices))]
    with_digits = not asked.asks_confidence
    found = [
        Shortcut(
            (label.lower(), *([str(place)] if with_digits and place <= 9 else [])),
            f"{labels[0]} – {labels[-1]}" if place == 1 else "",
            t("Choose an answer"),
            f"sheet-pick-{label}",
        )
        for place, label in enumerate(labels, start=1)
    ]
    if asked.asks_confidence:
        found += [
            Shortcut((str(place),), "1 – 5" if place == 1 else "", t("How sure you are"), f"sheet-sure-{place}")
            for place in range(1, len(CONFIDENCES) + 1)
        ]
    found.append(Shortcut(("0",), "0", t("I cannot tell from this"), "sheet-unsure"))
    found.append(Shortcut(("ctrl+enter",), "Ctrl + Enter", t("Hand in the answer"), "sheet-hand-in"))
    return found


def span(seconds: float, t: Words) -> str:
    """A span of time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return t("{seconds} s", seconds=rest)
    if not rest:
        return t("{minutes} min", minutes=minutes)
    return t("{minutes} min {seconds} s", minutes=minutes, seconds=rest)
