"""Graded responses as columns of numbers: selecting them, and taking means over what was selected."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.condition import FULL
from core.content import Modality
from core.question import POINTS_TOTAL
from evaluation.grade import INVALID_STATES, NO_ANSWER_STATES
from evaluation.metrics import Codes, Difference, Values, compare, groups_right, mean_of
from evaluation.report.document import ItemRow, Number, Selection

Mask = NDArray[np.bool_]
ITEM_ATTRIBUTES = (
    "kind", "scope", "modalities", "task_type", "branch", "ability", "sound", "steps", "twin", "cluster",
    "asked_of_people",
)  # fmt: skip
# The conditions that show a view of an item which is heard and seen, the best first; where an entry names modalities,
# the condition does so only for items that are seen in these alone.
_VIEWS: Mapping[str, Mapping[str, set[str] | None]] = {
    "audio_only": {"without_visual": None, "without_image": {"image"}, "without_video": {"video"}},
    "audio_and_caption": {"caption_for_visual": None, "caption_for_image": {"image"}, "caption_for_video": {"video"}},
    "visual_only": {"without_audio": None},
    "visual_and_words": {"transcript_for_audio": None, "caption_for_audio": None},
}
NO_VIEW = "none"
NO_PERSON = "none"
OUTCOMES = ("right", "partial", "wrong", "invalid", "ungraded", "failed")
"""What became of a response; `failed` brought no answer at all, an `invalid` one no points, by the model."""
POINTS, ALL_RIGHT, LATER_STEPS = "points", "all_right", "steps_3_on"


@dataclass(frozen=True)
class Coded:
    """A column of texts: `codes` are places in `names`."""

    codes: Codes
    names: Sequence[str]

    @classmethod
    def of(cls, texts: Iterable[str] | pa.ChunkedArray) -> "Coded":
        """The texts of a column, in the order in which they first stand there."""
        column = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else pa.array(texts, pa.string())
        coded = column.dictionary_encode()
        return cls(coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary.to_pylist())

    def is_in(self, values: Sequence[str]) -> Mask:
        """Where one of these texts stands."""
        return np.array([name in values for name in self.names], dtype=bool)[self.codes]


@dataclass(frozen=True)
class Frame:
    """Responses, one entry each, in the order in which they were read.

    Attributes:
        items: All items that could have been asked.
        of_items: Their attributes by name, one entry an item.
        of_responses: Attributes of responses (`model`, `condition`, `view`, `state`, `outcome`, `person`) by name.
        item: Place of each response's item in `items`.
        replicate: Which repetition each response is.
        points: In [0, 1], NaN where not graded.
        worth: What sub-questions are worth, as shares of ten: items x the most sub-questions, 0 where there is none.
        steps: What each response earned of them: responses x sub-questions, NaN where it is not graded.
    """

    items: tuple[ItemRow, ...]
    of_items: Mapping[str, Coded]
    of_responses: Mapping[str, Coded]
    item: Codes
    replicate: Codes
    points: Values
    worth: Values
    steps: Values
    _masks: dict[tuple[str, tuple[str, ...]], Mask] = field(default_factory=dict)
    _measures: dict[str, tuple[Values, Values]] = field(default_factory=dict)

    def mask(self, selection: Selection) -> Mask:
        """Which responses a selection means."""
        found = np.ones(len(self.item), dtype=bool)
        for attribute, values in selection.items():
            found &= self._mask(attribute, tuple(values))
        return found

    def names(self, attribute: str, selection: Selection | None = None) -> list[str]:
        """The values of an attribute among the selected responses, sorted."""
        chosen = self.mask(selection or {})
        of_items = self.of_items.get(attribute)
        column = of_items or self.of_responses[attribute]
        codes = column.codes[self.item[chosen]] if of_items else column.codes[chosen]
        return sorted(column.names[code] for code in np.unique(codes))

    def measured(self, measure: str) -> tuple[Values, Values]:
        """The value of each response in this measure (NaN where not graded), and the most it could be."""
        if measure not in self._measures:
            self._measures[measure] = self._measured(measure)
        return self._measures[measure]

    def _measured(self, measure: str) -> tuple[Values, Values]:
        if measure == POINTS:
            return self.points, np.ones(len(self.points))
        first = 2 if measure == LATER_STEPS else int(measure.removeprefix("step_")) - 1
        wanted = slice(first, None) if measure == LATER_STEPS else slice(first, first + 1)
        return self.steps[:, wanted].sum(axis=1), self.worth[self.item][:, wanted].sum(axis=1)

    def number(self, selection: Selection, measure: str = POINTS) -> Number:
        """The mean over the selected responses."""
        chosen = self.mask(selection)
        answered = int(chosen.sum())
        if not answered:
            return Number(points=None, selection=selection, measure=measure, reason=self._why_nothing(selection))
        values, most = self.measured(measure)
        graded = chosen & ~np.isnan(values)
        persons = self.persons[graded]
        by_people = len(persons) > 0 and persons.min() >= 0
        mean = mean_of(values[graded], self.item_cluster[self.item[graded]], persons if by_people else None)
        known = float(values[graded].sum())
        return Number(
            points=None if mean is None else 100 * mean.value,
            low=None if mean is None else 100 * mean.low,
            high=None if mean is None else 100 * mean.high,
            worst=100 * known / answered,
            best=100 * (known + float(most[chosen & ~graded].sum())) / answered,
            answered=answered,
            graded=int(graded.sum()),
            invalid=int((graded & self.mask({"state": INVALID_STATES})).sum()),
            items=len(np.unique(self.item[graded])),
            clusters=0 if mean is None else len(np.unique(self.item_cluster[self.item[graded]])),
            people=len(np.unique(persons)) if by_people else 0,
            selection=selection,
            measure=measure,
            reason="no answer is graded" if mean is None else None,
        )

    def by_item(self, selection: Selection) -> Values:
        """Mean points of the selected responses to each item; NaN for items without a grade among them."""
        chosen = self.mask(selection) & ~np.isnan(self.points)
        sums = np.bincount(self.item[chosen], self.points[chosen], len(self.items))
        counts = np.bincount(self.item[chosen], minlength=len(self.items))
        return np.divide(sums, counts, out=np.full(len(self.items), np.nan), where=counts > 0)

    @cached_property
    def persons(self) -> Codes:
        """Who gave each response, a number for each person; -1 for models."""
        model, person = self.of_responses["model"].codes, self.of_responses["person"].codes
        return np.where(person == 0, -1, model * len(self.of_responses["person"].names) + person)

    @property
    def item_cluster(self) -> Codes:
        """The cluster of each item."""
        return self.of_items["cluster"].codes

    def difference(self, selection: Selection, against: Selection, rng: np.random.Generator) -> Number:
        """By how much the points of one selection are above those of another, on the items that both have graded."""
        first, second = self.by_item(selection), self.by_item(against)
        both = ~np.isnan(first) & ~np.isnan(second)
        found = compare(first[both], second[both], self.item_cluster[both], rng)
        return self.paired_number(found, selection, against)

    def paired_number(self, found: Difference | None, selection: Selection, against: Selection) -> Number:
        """A difference as a number of the report, with the responses that it was made from."""
        asked = [np.isin(np.arange(len(self.items)), self.item[self.mask(one)]) for one in (selection, against)]
        answered = int((asked[0] & asked[1]).sum())
        if found is None:
            reason = "no item has both grades" if answered else "no item was asked both ways"
            return Number(points=None, selection=selection, against=against, answered=answered, reason=reason)
        visible = found.smallest_visible
        return Number(
            points=100 * found.value,
            low=100 * found.low,
            high=100 * found.high,
            answered=answered,
            graded=found.pairs,
            items=found.pairs,
            clusters=found.clusters,
            selection=selection,
            against=against,
            p=found.p,
            smallest_visible=None if visible is None else 100 * visible,
        )

    def groups(self, selection: Selection) -> Number:
        """The share of twin groups that a model gets wholly right; each repetition of a group counts."""
        chosen = np.flatnonzero(self.mask(selection))
        if not len(chosen):
            return Number(points=None, selection=selection, measure=ALL_RIGHT, reason=self._why_nothing(selection))
        group = self.of_items["twin_group"].codes
        item = self.item[chosen]
        asked = np.stack([group[item], self.replicate[chosen]])
        groups, first, which = np.unique(asked, axis=1, return_index=True, return_inverse=True)
        members = np.bincount(group)[groups[0]]
        right = groups_right(self.points[chosen], which, members)
        graded = ~np.isnan(right)
        mean = mean_of(right[graded], self.item_cluster[item[first]][graded])
        return Number(
            points=None if mean is None else 100 * mean.value,
            low=None if mean is None else 100 * mean.low,
            high=None if mean is None else 100 * mean.high,
            worst=100 * float(np.nansum(right)) / len(members),
            best=100 * float(np.nansum(right) + (~graded).sum()) / len(members),
            answered=len(members),
            graded=int(graded.sum()),
            items=int(graded.sum()),
            clusters=0 if mean is None else mean.clusters,
            selection=selection,
            measure=ALL_RIGHT,
            reason="no group is graded" if mean is None else None,
        )

    def _mask(self, attribute: str, values: tuple[str, ...]) -> Mask:
        if (attribute, values) not in self._masks:
            of_items = self.of_items.get(attribute)
            found = (of_items or self.of_responses[attribute]).is_in(values)
            self._masks[attribute, values] = found[self.item] if of_items else found
        return self._masks[attribute, values]

    def _why_nothing(self, selection: Selection) -> str:
        wanted = np.ones(len(self.items), dtype=bool)
        for attribute, values in selection.items():
            if attribute in self.of_items:
                wanted &= self.of_items[attribute].is_in(values)
        return "not asked" if wanted.any() else "no such questions"


def build_frame(
    table: pa.Table, labels: Sequence[str], items: Sequence[ItemRow], people: Collection[str] = ()
) -> Frame:
    """The frame of the responses of a table (a row of `graded_answers.sql` each).

    Args:
        table: Columns revision_id, condition, replicate, state, points, step_points.
        labels: What the report calls the model of each response.
        items: All items that could have been asked.
        people: Labels of those that are persons, told apart by the replicate.
    """
    of_items = {name: Coded.of(getattr(one, name) for one in items) for name in ITEM_ATTRIBUTES}
    of_items["twin_group"] = Coded.of(one.twin_group or "" for one in items)
    places = {one.revision_id: place for place, one in enumerate(items)}
    revision = Coded.of(table["revision_id"])
    item = np.array([places[name] for name in revision.names], dtype=np.int64)[revision.codes]
    of_responses = {
        "model": Coded.of(labels), "condition": Coded.of(table["condition"]), "state": Coded.of(table["state"]),
    }  # fmt: skip
    replicate = table["replicate"].to_numpy()
    asking = np.stack([of_responses["model"].codes, item, replicate])
    of_responses["view"] = _views(of_responses["condition"], of_items["modalities"], asking)
    of_responses["person"] = _persons(of_responses["model"], replicate, people)
    items = _asked_of_people(items, item, of_responses)
    of_items["asked_of_people"] = Coded.of(one.asked_of_people for one in items)
    points = table["points"].to_numpy().astype(float)
    of_responses["outcome"] = _outcomes(of_responses["state"], points)
    width = max((len(one.step_points) for one in items), default=0)
    worth = np.array([(*one.step_points, *(0,) * (width - len(one.step_points))) for one in items], dtype=float)
    worth = worth.reshape(len(items), width) / POINTS_TOTAL
    return Frame(
        tuple(items), of_items, of_responses, item, replicate, points, worth, _steps(table, worth[item], points)
    )


def _persons(model: Coded, replicate: Codes, people: Collection[str]) -> Coded:
    """The number of the person behind each response, from 1 for each label of people; `none` for models."""
    number = np.zeros(len(model.codes), dtype=np.int64)
    for code, name in enumerate(model.names):
        if name in people:
            theirs = model.codes == code
            number[theirs] = 1 + np.unique(replicate[theirs], return_inverse=True)[1]
    return Coded(number, [NO_PERSON, *(str(place) for place in range(1, int(number.max(initial=0)) + 1))])


def _asked_of_people(items: Sequence[ItemRow], item: Codes, of_responses: Mapping[str, Coded]) -> Sequence[ItemRow]:
    """The items, those marked that a person answered in full: on these people and models can be compared."""
    in_full = (of_responses["person"].codes > 0) & of_responses["condition"].is_in((FULL.name,))
    marked = set(item[in_full].tolist())
    return [
        one.model_copy(update={"asked_of_people": "yes"}) if place in marked else one for place, one in enumerate(items)
    ]


def _outcomes(state: Coded, points: Values) -> Coded:
    failed, invalid = state.is_in(NO_ANSWER_STATES), state.is_in(INVALID_STATES)
    ungraded = np.isnan(points)
    told = [ungraded & failed, ungraded, invalid, points == 1, points == 0]
    names = ["failed", "ungraded", "invalid", "right", "wrong"]
    return Coded(np.select(told, [OUTCOMES.index(name) for name in names], OUTCOMES.index("partial")), OUTCOMES)


def _steps(table: pa.Table, worth: Values, points: Values) -> Values:
    shares = np.where(worth > 0, np.nan, 0.0)
    has_steps = np.flatnonzero((worth > 0).any(axis=1))
    for place, told in zip(has_steps, table["step_points"].take(has_steps).to_pylist(), strict=True):
        shares[place, : len(told)] = [math.nan if share is None else share for share in told]
    # A whole that is not graded has no parts either: the parts must sum to the whole.
    shares[np.isnan(points)] = np.nan
    return shares * worth


def view_of(condition: str, modalities: str) -> tuple[str, int]:
    """What a condition shows of an item with these modalities, and how good a claim it has to stand for that view."""
    if condition == FULL.name:
        return FULL.name, 0
    seen = set(modalities.split("+")) - {Modality.AUDIO.value}
    if not seen or Modality.AUDIO.value not in modalities:
        return NO_VIEW, 0
    return next(
        (
            (view, rank)
            for view, conditions in _VIEWS.items()
            for rank, (name, among) in enumerate(conditions.items())
            if name == condition and among in (None, seen)
        ),
        (NO_VIEW, 0),
    )


def _views(condition: Coded, modalities: Coded, asking: Codes) -> Coded:
    """The view of each response; of several of one model and item that show the same, one has it.

    Args:
        condition: Of each response.
        modalities: Of each item.
        asking: Model, item and replicate of each response: 3 x responses.
    """
    names = [NO_VIEW, FULL.name, *_VIEWS]
    pairs = np.stack([condition.codes, modalities.codes[asking[1]]])
    distinct, which = np.unique(pairs, axis=1, return_inverse=True)
    found = [view_of(condition.names[one], modalities.names[other]) for one, other in distinct.T]
    view = np.array([names.index(name) for name, _ in found], dtype=np.int64)[which]
    rank = np.array([rank for _, rank in found], dtype=np.int64)[which]
    order = np.lexsort((rank, view, *asking))
    is_same = (np.diff(np.vstack([asking, view])[:, order], axis=1) == 0).all(axis=0)
    view[order[1:][is_same]] = 0
    return Coded(view, names)
