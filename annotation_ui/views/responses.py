"""The responses behind a number: what the address asks for, a list of them, and one in full."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from annotation_ui.results.kept import Results
from annotation_ui.results.responses import Chosen, Places, Response, chosen_places, place_of, read_responses
from annotation_ui.views.item import StepView, accepted_answers
from annotation_ui.views.paging import paging
from annotation_ui.views.preview import Block, Option, options
from annotation_ui.views.results import Links
from annotation_ui.views.results_words import (
    ATTRIBUTES,
    OUTCOMES,
    STATES,
    condition_label,
    kind_label,
    reason_words,
    task_types_in_order,
    value_label,
)
from annotation_ui.words import N_, Words
from core.question import Question, QuestionKind, Step, choice_label
from evaluation.graders.choice import chosen as options_chosen
from evaluation.report.comparisons import condition_order
from evaluation.report.frame import OUTCOMES as OUTCOME_CODES
from evaluation.report.frame import Frame
from warehouse.facts import FactStore
from warehouse.spreadsheets import Cell

PAGE_SIZE = 25
SNIPPET_CHARACTERS = 300
# One saves what one can read; for more there is the report's own file.
MOST_SAVED = 20_000
# The list offers these to narrow by; the rest come from numbers alone.
FILTERS = ("model", "condition", "kind", "task_type", "modalities", "outcome")
HIDDEN = N_("You may yet have to judge or answer this item: until then its answers stay hidden from you.")
SOME_HIDDEN = N_("Answers to items that you may yet have to judge or answer are not listed: they stay hidden from you.")
_VALUE_CHARACTERS = 200


@dataclass(frozen=True)
class ResponseRow:
    """One response in the list; `why` and `reason` are what `reason_words` makes of the grade's."""

    href: str
    item: str
    model: str
    is_person: bool
    condition: str
    outcome: str
    outcome_label: str
    points: str
    state: str
    answer: str
    why: str
    reason: str


@dataclass(frozen=True)
class ResponseList:
    """One page of the responses behind a number; `leaves_out` is whether any of the results are hidden at all."""

    rows: Sequence[ResponseRow]
    total: int
    page_count: int
    leaves_out: bool


@dataclass(frozen=True)
class ResponseDetail:
    """One response in full, with its place among those that were chosen and the ways to its neighbours.

    `facts` are names with values; `parsed` is the choice that was read out of the answer. With `hidden`, which says
    why, nothing shows of the question, the answer and its grade.
    """

    item: str
    item_href: str
    model: str
    is_person: bool
    condition: str
    hidden: str
    state: str
    facts: Sequence[tuple[str, str]]
    place: str
    previous: str
    next: str
    prompt: Sequence[Block] = ()
    options: Sequence[Option] = ()
    steps: Sequence[StepView] = ()
    accepted: Sequence[str] = ()
    answer: str = ""
    error: str = ""
    parsed: str = ""
    outcome: str = ""
    outcome_label: str = ""
    points: str = ""
    step_points: Sequence[str] = ()
    why: str = ""
    reason: str = ""
    grader: str = ""


def chosen_in(values_of: Callable[[str], Sequence[str]]) -> Chosen:
    """The responses that an address asks for; `values_of` gives all values of a name in it."""
    sides: list[dict[str, tuple[str, ...]]] = []
    for prefix in ("of", "than"):
        given = {name: tuple(values_of(f"{prefix}.{name}")) for name in ATTRIBUTES}
        sides.append({name: _short(values) for name, values in given.items() if values})
    return Chosen(sides[0], sides[1] or None)


def offered(frame: Frame, t: Words) -> dict[str, dict[str, str]]:
    """What each filter offers, in reading order: words by code."""
    found: dict[str, dict[str, str]] = {}
    for attribute in FILTERS:
        names = frame.names(attribute)
        if attribute == "condition":
            names = sorted(names, key=condition_order)
        elif attribute == "task_type":
            names = task_types_in_order(names)
        elif attribute == "outcome":
            names = [name for name in OUTCOME_CODES if name in names]
        found[attribute] = {name: value_label(t, attribute, name) for name in names}
    return found


def described(chosen: Chosen, t: Words, without: Sequence[str] = ()) -> list[list[tuple[str, str]]]:
    """What is chosen in words: for each side names with values."""
    sides = [one for one in (chosen.selection, chosen.against) if one is not None]
    return [
        [
            (t(label), t(" or ").join(value_label(t, name, value) for value in side[name]))
            for name, label in ATTRIBUTES.items()
            if name in side and name not in without
        ]
        for side in sides
    ]


def response_list(
    found: Results,
    facts: FactStore,
    chosen: Chosen,
    hidden: Callable[[Sequence[str]], set[str]],
    links: Links,
    t: Words,
    text: str = "",
    page: int = 1,
) -> ResponseList:
    """One page of the chosen responses; `hidden` tells of revisions whose answers this reader must not see."""
    unseen = _unseen(found, hidden)
    places = _places(found, chosen, text, unseen)
    at = paging(len(places), PAGE_SIZE, page)
    responses = list(read_responses(facts, found, places[at.rows]))
    kept = {"answer-search": text} if text else {}
    rows = [_row(one, links.responses(chosen, key=one.key, **kept), found, t) for one in responses]
    return ResponseList(rows, len(places), at.page_count, bool(unseen))


def response_detail(
    found: Results,
    facts: FactStore,
    key: str,
    chosen: Chosen,
    hidden: Callable[[Sequence[str]], set[str]],
    links: Links,
    blocks: Callable[[Question], Sequence[Block]],
    t: Words,
    text: str = "",
) -> ResponseDetail | None:
    """One response; None where these results do not hold it. `blocks` makes what is shown of a question."""
    place = place_of(found.answered, key) if found.answered else None
    if found.answered is None or place is None:
        return None
    (one,) = read_responses(facts, found, [place])
    row, unseen = _row(one, "", found, t, cut=False), _unseen(found, hidden)
    previous, following, told = _neighbours(found, place, _places(found, chosen, text, unseen), chosen, text, links, t)
    detail = ResponseDetail(
        item=row.item,
        item_href=f"item?{_query(name=row.item)}",
        model=row.model,
        is_person=row.is_person,
        condition=row.condition,
        hidden=t(HIDDEN) if one.item.revision_id in unseen else "",
        state=row.state,
        facts=_facts(one, t),
        place=told,
        previous=previous,
        next=following,
    )
    if detail.hidden:
        return detail
    question = found.answered.items[one.item.revision_id].question
    return replace(_opened(detail, question, one, row, t), prompt=blocks(question))


def _opened(detail: ResponseDetail, question: Question, one: Response, row: ResponseRow, t: Words) -> ResponseDetail:
    """The same with what those may see who need not be blind any more."""
    return replace(
        detail,
        options=options(question, key_visible=True),
        steps=[_step(step) for step in question.steps],
        accepted=accepted_answers(question.answer),
        answer=row.answer,
        error=one.stored["error"] or "",
        parsed=_parsed(question, one, t),
        outcome=row.outcome,
        outcome_label=row.outcome_label,
        points=row.points,
        step_points=_step_points(question, one.grade, t),
        why=row.why,
        reason=row.reason,
        grader=(one.grade or {}).get("grader") or "",
    )


def saved_columns(t: Words) -> list[str]:
    """Heads of the responses that are saved."""
    names = ("Item", "Model", "Human", "Shown", "Kind", "Task type", "Modalities", "State", "Outcome", "Points")
    texts = [t(name) for name in names]
    return [*texts, t("Answer"), t("Error"), t("Reason"), t("Grader"), t("Seconds"), t("Cost, USD"), t("Response")]


def saved_rows(
    found: Results,
    facts: FactStore,
    chosen: Chosen,
    hidden: Callable[[Sequence[str]], set[str]],
    t: Words,
    text: str = "",
) -> Iterator[Sequence[Cell]]:
    """The chosen responses as a table with their whole texts, `MOST_SAVED` at most."""
    places = _places(found, chosen, text, _unseen(found, hidden))[:MOST_SAVED]
    for one in read_responses(facts, found, places):
        grade = one.grade or {}
        yield [
            one.item.item_name,
            one.model,
            t("yes") if one.model in found.report.people else "",
            condition_label(t, one.stored["condition"]),
            kind_label(t, one.item.kind),
            value_label(t, "task_type", one.item.task_type),
            value_label(t, "modalities", one.item.modalities),
            t(STATES.get(one.stored["state"], one.stored["state"])),
            t(OUTCOMES[one.outcome]),
            one.points,
            one.stored["answer"],
            one.stored["error"],
            grade.get("reason"),
            grade.get("grader"),
            one.stored["latency_s"],
            one.stored["cost_usd"],
            one.key,
        ]


def _unseen(found: Results, hidden: Callable[[Sequence[str]], set[str]]) -> set[str]:
    return hidden([item.revision_id for item in found.answered.frame.items]) if found.answered else set()


def _places(found: Results, chosen: Chosen, text: str, unseen: Container[str]) -> Places:
    """Without what is hidden: by what it is narrowed to, a list would tell which of it is right."""
    import numpy as np

    if not found.answered:
        return np.zeros(0, dtype=np.int64)
    frame = found.answered.frame
    places = chosen_places(frame, chosen, text)
    seen = np.array([item.revision_id not in unseen for item in frame.items], dtype=bool)
    shown: Places = places[seen[frame.item[places]]]
    return shown


def _row(one: Response, href: str, found: Results, t: Words, *, cut: bool = True) -> ResponseRow:
    stored, state = one.stored, one.stored["state"]
    answer = stored["answer"] or (stored["error"] if cut else "") or ""
    why, reason = reason_words(t, (one.grade or {}).get("reason") or "")
    return ResponseRow(
        href=href,
        item=one.item.item_name,
        model=one.model,
        is_person=one.model in found.report.people,
        condition=condition_label(t, stored["condition"]),
        outcome=one.outcome,
        outcome_label=t(OUTCOMES[one.outcome]),
        points="" if one.points is None else f"{one.points:.3g}",
        state="" if state == "ok" else t(STATES.get(state, state)),
        answer=_cut(answer) if cut else answer,
        why=why,
        reason=reason,
    )


def _neighbours(
    found: Results, place: int, places: Places, chosen: Chosen, text: str, links: Links, t: Words
) -> tuple[str, str, str]:
    """Addresses of the chosen responses before and after this one, and which of how many it is."""
    at = int(places.searchsorted(place))
    if at == len(places) or places[at] != place:
        return "", "", ""
    kept = {"answer-search": text} if text else {}

    def address(step: int) -> str:
        if not 0 <= at + step < len(places):
            return ""
        assert found.answered is not None
        return links.responses(chosen, key=found.answered.keys[int(places[at + step])].as_py(), **kept)

    told = t("{done} of {total}", done=t.number(at + 1), total=t.number(len(places)))
    return address(-1), address(1), told


def _parsed(question: Question, one: Response, t: Words) -> str:
    """The options that were read out of an answer, by their letters."""
    if question.kind is not QuestionKind.CHOICE or not one.stored["answer"]:
        return ""
    found = options_chosen(question, one.stored["answer"])
    if found is None:
        return t("no choice could be read")
    return t(", ").join(choice_label(place) for place in sorted(found))


def _step(step: Step) -> StepView:
    return StepView(step.ask, step.points, accepted_answers(step.answer), step.rubric or "")


def _step_points(question: Question, grade: Mapping[str, object] | None, t: Words) -> list[str]:
    shares = (grade or {}).get("step_points") or ()
    assert isinstance(shares, Sequence)
    return [
        t("not graded")
        if share is None
        else t("{got} of {most}", got=f"{share * step.points:.3g}", most=t.number(step.points))
        for step, share in zip(question.steps, shares, strict=False)
    ]


def _facts(one: Response, t: Words) -> list[tuple[str, str]]:
    """What is stored of how the answer came."""
    stored, sitting = one.stored, one.sitting or {}

    def number(name: str) -> str:
        return "" if stored[name] is None else t.number(stored[name])

    told = [
        (t("Served by"), stored["served_model"] or ""),
        (t("Attempts"), number("attempts")),
        (t("Input tokens"), number("input_tokens")),
        (t("Output tokens"), number("output_tokens")),
        (t("Thinking tokens"), number("reasoning_tokens")),
        (t("Seconds"), number("latency_s")),
        (t("Cost, USD"), "" if stored["cost_usd"] is None else f"{stored['cost_usd']:.4f}"),
        (t("Time taken, seconds"), "" if sitting.get("taken_s") is None else t.number(sitting["taken_s"])),
        (t("Confidence"), "" if sitting.get("confidence") is None else t.percent(sitting["confidence"])),
        (t("Asked"), t.moment(stored["recorded_at"])),
        (t("Settings"), stored["parameters"] or ""),
        (t("Response"), one.key),
    ]
    return [(name, value) for name, value in told if value]


def _short(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value[:_VALUE_CHARACTERS] for value in values))


def _cut(text: str) -> str:
    return text if len(text) <= SNIPPET_CHARACTERS else text[:SNIPPET_CHARACTERS] + " …"


def _query(**values: str) -> str:
    from urllib.parse import urlencode

    return urlencode(values)
