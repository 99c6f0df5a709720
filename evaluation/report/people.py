"""People against models (UNO-Bench's Figure 9): by ability, over the questions that people answered, and one by one."""

from collections.abc import Sequence

import numpy as np

from core.condition import FULL
from core.taxonomy import ReportAbility
from evaluation.report.comparisons import SEED, condition_order, with_holm
from evaluation.report.document import Column, Plain, Row, Selection, Table
from evaluation.report.frame import NO_PERSON, Frame
from evaluation.report.items import NONE

_SHARED: Selection = {"condition": (FULL.name,), "asked_of_people": ("yes",)}


def people_tables(frame: Frame, models: Sequence[str], people: Sequence[str]) -> list[Table]:
    """Both tables; none where no person answered. `models` as `ranking` gives them, people first."""
    found = (_by_ability(frame, models, people), _one_by_one(frame, people)) if people else ()
    return [table for table in found if table is not None]


def _by_ability(frame: Frame, models: Sequence[str], people: Sequence[str]) -> Table | None:
    """Points by ability, and by how much people are ahead, over the questions that people answered in full."""
    asked = set(frame.names("model", _SHARED))
    shown = [model for model in models if model in asked]
    best = next((model for model in shown if model in people), None)
    if best is None:
        return None
    found = frame.names("ability", _SHARED)
    abilities = [one.value for one in ReportAbility if one.value in found]
    rivals = [model for model in shown if model not in people]
    leads = with_holm(
        [
            frame.difference({"model": (best,), **_SHARED}, {"model": (model,), **_SHARED}, np.random.default_rng(SEED))
            for model in rivals
        ]
    )
    ahead = dict(zip(rivals, leads, strict=True))
    rows = []
    for model in shown:
        of_model: Selection = {"model": (model,), **_SHARED}
        cells = [frame.number({**of_model, "ability": (one,)}) for one in abilities]
        cells += [frame.number({**of_model, "ability": (NONE,)})] if NONE in found else []
        rows.append(Row(label=model, cells=(*cells, frame.number(of_model), ahead.get(model, Plain(text="")))))
    titles = [*(one.capitalize() for one in abilities), *(["Other types"] if NONE in found else [])]
    return Table(
        key="people",
        title="People against models, by ability",
        note="Over the questions that people answered with everything shown, and no others. The intervals of people "
        "count who answered as well as what was asked: answers of one person, and answers to one question, are no "
        f"independent evidence. Ahead: {best} less the model, question by question, of these people: its interval "
        "counts questions, not who answered; a star: p under .05 with Holm's correction.",
        head="who",
        columns=(*(Column(title=title) for title in (*titles, "Overall")), Column(title="Ahead")),
        rows=tuple(rows),
    )


def _one_by_one(frame: Frame, people: Sequence[str]) -> Table | None:
    """Points of every single person, who has a number and no name, under each condition."""
    conditions = sorted(frame.names("condition", {"model": tuple(people)}), key=condition_order)
    rows = []
    for label in people:
        numbers = frame.names("person", {"model": (label,)})
        for number in sorted((one for one in numbers if one != NO_PERSON), key=int):
            one: Selection = {"model": (label,), "person": (number,)}
            cells = (frame.number(one), *(frame.number({**one, "condition": (name,)}) for name in conditions))
            rows.append(Row(label=f"{label}, person {number}", cells=cells))
    if len(rows) < 2:
        return None
    return Table(
        key="single_people",
        title="People one by one",
        note="Each person saw each question once, under one condition; the conditions change places from person to "
        "person.",
        head="person",
        columns=(Column(title="All"), *(Column(title=name.replace("_", " ")) for name in conditions)),
        rows=tuple(rows),
    )
