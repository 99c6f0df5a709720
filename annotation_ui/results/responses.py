"""The responses behind a number: which they are, and what they say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotation_ui.results.kept import Results
from evaluation.grade import graders_of
from evaluation.report.build import Answered
from evaluation.report.document import ItemRow, Number, Selection
from evaluation.report.frame import Frame
from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

Places = NDArray[np.int64]
"""Of responses in a frame."""
_AT_ONCE = 5_000


@dataclass(frozen=True)
class Chosen:
    """Which responses are meant: those of a selection; of a difference both sides, on the items that both have."""

    selection: Selection
    against: Selection | None = None

    @classmethod
    def behind(cls, number: Number) -> "Chosen":
        """Those that a number was made from."""
        return cls(number.selection, number.against)


@dataclass(frozen=True)
class Response:
    """One response with all that is stored of it.

    `stored` are the columns of the fact, `grade` those of the grade that counts (without one None), `sitting` those of
    a person's sitting of an exam.
    """

    key: str
    model: str
    outcome: str
    item: ItemRow
    points: float | None
    stored: Mapping[str, Any]
    grade: Mapping[str, Any] | None
    sitting: Mapping[str, Any] | None


def chosen_places(frame: Frame, chosen: Chosen, text: str = "") -> Places:
    """Where the responses stand in the frame, in its order; `text` is a part of their item's name."""
    sides = [frame.mask(one) for one in (chosen.selection, chosen.against) if one is not None]
    mask = np.logical_or.reduce(sides)
    if len(sides) > 1:
        in_both = np.logical_and.reduce([np.isin(frame.item, frame.item[side]) for side in sides])
        mask &= in_both
    wanted = text.strip().lower()
    if wanted:
        named = np.array([wanted in item.item_name.lower() for item in frame.items], dtype=bool)
        mask &= named[frame.item]
    return np.flatnonzero(mask)


def place_of(answered: Answered, key: str) -> int | None:
    """Where the response of a key stands; None for one that these results do not hold."""
    import pyarrow.compute as pc

    place = pc.index(answered.keys, pa.scalar(key)).as_py()
    return None if place < 0 else int(place)


def read_responses(facts: FactStore, results: Results, places: Sequence[int] | Places) -> Iterator[Response]:
    """The responses at these places, in their order; read a part at a time."""
    if results.answered is None:
        return
    for start in range(0, len(places), _AT_ONCE):
        yield from _read(facts, results.answered, np.asarray(places[start : start + _AT_ONCE], dtype=np.int64))


def _read(facts: FactStore, answered: Answered, places: Places) -> Iterator[Response]:
    keys = answered.keys.take(pa.array(places)).to_pylist()
    frame = answered.frame
    revisions = [frame.items[frame.item[place]].revision_id for place in places]
    present = graders_of({one: answered.items[one].question for one in revisions})
    graders = pa.array([entry.fingerprint if entry else None for entry in map(present.get, revisions)], pa.string())
    with analysis(facts, []) as connection:
        connection.register("wanted", pa.table({"key": keys, "response_key": keys, "grader": graders}))
        facts.register(connection, "response", among="key")
        facts.register(connection, "grade", among="response_key")
        facts.register(connection, "sitting", among="response_key")
        rows = connection.sql(load_sql("annotation_ui.results", "responses.sql")).to_arrow_table().to_pylist()
    by_key = {row["key"]: row for row in rows}
    model, outcome = frame.of_responses["model"], frame.of_responses["outcome"]
    for key, place in zip(keys, places, strict=True):
        row = by_key[key]
        points = float(frame.points[place])
        yield Response(
            key=key,
            model=model.names[model.codes[place]],
            outcome=outcome.names[outcome.codes[place]],
            item=frame.items[frame.item[place]],
            points=None if np.isnan(points) else points,
            stored=row["response"],
            grade=_joined(row["grade"]),
            sitting=_joined(row["sitting"]),
        )


def _joined(row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """None where nothing was joined."""
    return row if row and row["response_key"] is not None else None
