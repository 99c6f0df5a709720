"""What a report is made of: numbers that name the responses behind them, tables of numbers, items and responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from core.content import Frozen

# Of fewer items than this a number says little: it stands in grey.
FEW_ITEMS = 30
# Of an answer's text; the whole answer stays in the facts, under its key.
ANSWER_KEPT_CHARACTERS = 2_000

Selection = Mapping[str, tuple[str, ...]]
"""Which responses: for each attribute of a response or its item (see `AnswerRow`, `ItemRow`) its values."""


class Number(Frozen):
    """A measured value in percent, with its 95% interval and the responses that it comes from.

    Attributes:
        type: Tells cells apart in JSON.
        points: The mean over graded responses (or the mean difference over pairs); None when there is none to take.
        low, high: Its 95% interval, which counts clusters of items, not answers (`evaluation.metrics.mean_of`).
        worst, best: What `points` could become if everything ungraded were wrong, or right; for a difference None.
        answered: Responses. `graded` of them have points; `invalid` of those refused, were cut or empty (zero points).
            For a difference, pairs.
        items, clusters: Graded items, and the independent groups that they form.
        people: Who gave the graded answers, where that were persons.
        selection: The responses.
        against: For a difference, the responses whose points are taken away, item by item.
        measure: What is averaged: `points` of each response; `step_1`, `step_2`, `steps_3_on`, the points earned on a
            sub-question (and all later ones) of the ten; `all_right`, whether all members of a twin group are right.
        reason: Why there is no value.
        p, p_holm: Of a difference: two-sided, and after Holm's correction over its table.
        smallest_visible: The true difference that such a comparison would find (power 0.8, alpha 0.05).
    """

    type: Literal["number"] = "number"
    points: float | None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    best: float | None = None
    answered: int = 0
    graded: int = 0
    invalid: int = 0
    items: int = 0
    clusters: int = 0
    people: int = 0
    selection: Selection
    against: Selection | None = None
    measure: str = "points"
    reason: str | None = None
    p: float | None = None
    p_holm: float | None = None
    smallest_visible: float | None = None

    @property
    def is_small(self) -> bool:
        """Whether it comes from few items."""
        return self.items < FEW_ITEMS


class Cell(Number):
    """One model under one condition, in questions of one kind.

    Attributes:
        model, condition: Names.
        kind: `choice` (points are right or wrong) or `multi_step` or `open`.
        chance: Mean over answers of 1 / number of choices in percent, where there are choices and one is right.
    """

    model: str
    condition: str
    kind: str
    chance: float | None


class Plain(Frozen):
    """A cell that is no mean of points: words, a count, a price, a p; `text` is how people read it."""

    type: Literal["plain"] = "plain"
    text: str
    value: float | int | str | bool | None = None


TableCell = Annotated[Number | Plain, Field(discriminator="type")]


class Column(Frozen):
    """A column; columns of one `group` stand under a common head."""

    title: str
    group: str | None = None


class Row(Frozen):
    """A row, called by the model or benchmark that it is of."""

    label: str
    cells: tuple[TableCell, ...]


class Table(Frozen):
    """A table; `key` names it in links and JSON, `note` says what its numbers are."""

    key: str
    title: str
    note: str
    head: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class ItemRow(Frozen):
    """An item and the attributes that numbers select by. Values are texts; `none` and `not stated` are values too.

    Attributes:
        revision_id, item_name: Which it is.
        kind: `choice`, `open` or `multi_step`.
        scope: What its media are: `audio`, `visual` (image or video), `omni` (both) or `text` (none).
        modalities: `audio+image`, ...
        task_type: Its id.
        branch: `perception`, `reasoning` or `not stated` (a task type outside the taxonomy).
        ability: A column of UNO-Bench's Table 3, or `none`.
        sound: `environment`, `speech`, `not stated` or `none` (no audio).
        steps: How many sub-questions it has.
        twin: `yes` or `no`: whether it belongs to a group of counterfactual twins, `twin_group`.
        cluster: Items of one cluster share media or a twin group.
        step_points: Points of each sub-question, of ten.
        asked_of_people: `yes` or `no`: whether a person answered it in full.
    """

    revision_id: str
    item_name: str
    kind: str
    scope: str
    modalities: str
    task_type: str
    branch: str
    ability: str
    sound: str
    steps: str
    twin: str
    twin_group: str | None
    cluster: str
    step_points: tuple[int, ...] = ()
    asked_of_people: str = "no"


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One response with its grade: what stands behind the numbers.

    `view` says what the model was shown in the words of UNO-Bench's Tables 4 and 5 (`full`, `audio_only`,
    `audio_and_caption`, `visual_only`, `visual_and_words`), or `none`. `answer` and `error` are cut after
    `ANSWER_KEPT_CHARACTERS`. `person` numbers the persons of one label; `none` for models.
    """

    model: str
    view: str
    key: str
    item_name: str
    revision_id: str
    condition: str
    state: str
    answer: str | None
    error: str | None
    points: float | None
    reason: str | None
    step_points: Sequence[float | None] = ()
    person: str = "none"


class Report(Frozen):
    """An evaluation's numbers, and the responses behind each.

    `settings` tells how each model was asked (provider, arguments, generation; never a secret). A name that was asked
    under several settings stands apart for each, as `name #1a2b3c`: numbers of different settings are never mixed.
    `people` are those of the models that are persons. `notes` say what all numbers rest on: whose captions were shown,
    which judge graded what no rule settles.
    """

    title: str
    cells: tuple[Cell, ...]
    tables: tuple[Table, ...] = ()
    people: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = {}
    items: tuple[ItemRow, ...] = ()
    answers: tuple[AnswerRow, ...] = ()

    def table(self, key: str) -> Table | None:
        """The table of that key, where there are data for it."""
        return next((table for table in self.tables if table.key == key), None)
