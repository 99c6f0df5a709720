"""Evaluation numbers: condition by model, and the answers behind each number."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.item import SETTLED
from annotation_ui.words import N_, Words
from core.question import QuestionKind
from evaluation.report.build import build_report
from evaluation.report.comparisons import conditions_in_order
from evaluation.report.document import AnswerRow, Cell, Report
from evaluation.report.items import item_facts
from evaluation.run import evaluated_models
from warehouse.facts import FactStore
from warehouse.tables import Item, ItemRevision, ItemState, Release, ReleaseItem

ANSWERS_PAGE_SIZE = 25
SMALL_CELL = 10
CONDITIONS = {
    "full": N_("Everything"),
    "without_image": N_("Without image"),
    "without_audio": N_("Without audio"),
    "without_video": N_("Without video"),
    "text_only": N_("Text only"),
    "options_only": N_("Options only"),
}
NO_ANSWER = {
    "refusal": N_("Refused"),
    "truncated": N_("Cut off"),
    "empty": N_("Empty"),
    "blocked": N_("Blocked"),
    "api_error": N_("Error"),
}


@dataclass(frozen=True)
class Scope:
    """Which questions the numbers are about: a release, or (without an id) every item whose review is over."""

    release_id: str | None
    label: str
    question_count: int


@dataclass(frozen=True)
class CellView:
    """One number: mean points in percent with its interval, and how many answers could be graded."""

    points: str
    interval: str
    graded: str
    share: float
    is_small: bool
    is_ungraded: bool


@dataclass(frozen=True)
class ResultsTable:
    """Rows are models and question kinds, columns conditions; None where a model was not asked."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[CellView | None]]]
    chance: str


@dataclass(frozen=True)
class AnswerView:
    """One response with its grade; `state` says why there is no answer, where there is none."""

    item: str
    model: str
    condition: str
    state: str
    answer: str
    points: str
    reason: str


@dataclass(frozen=True)
class AnswersPage:
    """One page of responses."""

    rows: Sequence[AnswerView]
    total: int
    page: int
    page_count: int


def scopes(session: Session, who: Principal, t: Words) -> list[Scope]:
    """What can be looked at, the newest release first.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    releases = session.exec(select(Release).order_by(col(Release.created_at).desc())).all()
    found = [
        Scope(release.id, f"{release.name} {release.version}", len(_of_release(session, release.id)))
        for release in releases
    ]
    settled = len(_settled(session, who))
    return [*found, Scope(None, t("All items"), settled)] if settled or not found else found


def report(session: Session, who: Principal, scope: Scope, facts: FactStore) -> Report:
    """The numbers of a scope, from the stored responses and grades.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    revisions = _settled(session, who) if scope.release_id is None else _of_release(session, scope.release_id)
    items = item_facts(session, [revision.id for revision in revisions])
    models = None if scope.release_id is None else evaluated_models(session, scope.label)
    return build_report(facts, scope.label, items, models, with_tables=False)


def results_table(found: Report, t: Words) -> ResultsTable:
    """The table of a report."""
    conditions = conditions_in_order(found.cells)
    by_place = {(cell.model, cell.kind, cell.condition): cell for cell in found.cells}
    chances = [cell.chance for cell in found.cells if cell.chance is not None and cell.condition == "full"]
    return ResultsTable(
        columns=[condition_label(t, name) for name in conditions],
        rows=[
            (
                model,
                t(labels.KINDS[QuestionKind(kind)]),
                [_cell(by_place.get((model, kind, name)), t) for name in conditions],
            )
            for model, kind in dict.fromkeys((cell.model, cell.kind) for cell in found.cells)
        ],
        chance=t.percent(chances[0] / 100) if chances else "",
    )


def answers_page(
    found: Report, t: Words, model: str | None = None, condition: str | None = None, text: str = "", page: int = 1
) -> AnswersPage:
    """The responses behind the numbers, narrowed to a model, a condition and a part of the item's name."""
    wanted = [
        row
        for row in found.answers
        if (model is None or row.model == model)
        and (condition is None or row.condition == condition)
        and text.strip().lower() in row.item_name.lower()
    ]
    page_count = max(1, -(-len(wanted) // ANSWERS_PAGE_SIZE))
    page = min(max(page, 1), page_count)
    rows = wanted[(page - 1) * ANSWERS_PAGE_SIZE : page * ANSWERS_PAGE_SIZE]
    return AnswersPage([_answer(row, t) for row in rows], len(wanted), page, page_count)


def condition_label(t: Words, name: str) -> str:
    """A condition in words; one that we have no words for stays readable."""
    return t(CONDITIONS[name]) if name in CONDITIONS else name.replace("_", " ")


def _cell(cell: Cell | None, t: Words) -> CellView | None:
    if cell is None:
        return None
    graded = f"{t.number(cell.graded)}/{t.number(cell.answered)}"
    if cell.points is None or cell.low is None or cell.high is None:
        return CellView("", "", graded, 0.0, True, True)
    return CellView(
        points=t.percent(cell.points / 100),
        interval=f"{cell.low:.0f}–{cell.high:.0f}",
        graded=graded,
        share=cell.points / 100,
        is_small=cell.graded < SMALL_CELL,
        is_ungraded=False,
    )


def _answer(row: AnswerRow, t: Words) -> AnswerView:
    return AnswerView(
        item=row.item_name,
        model=row.model,
        condition=condition_label(t, row.condition),
        state=t(NO_ANSWER[row.state]) if row.state in NO_ANSWER else "",
        answer=row.answer or row.error or "",
        points=t("not graded") if row.points is None else f"{row.points:g}",
        reason=row.reason or "",
    )


def _of_release(session: Session, release_id: str) -> Sequence[ItemRevision]:
    query = select(ItemRevision).join(ReleaseItem, col(ReleaseItem.revision_id) == col(ItemRevision.id))
    return session.exec(query.where(ReleaseItem.release_id == release_id)).all()


def _settled(session: Session, who: Principal) -> Sequence[ItemRevision]:
    """Answers tell keys: items under review are only for those who may see every key."""
    states = list(ItemState) if who.may(Permission.SEE_EVERY_KEY) else sorted(SETTLED)
    query = select(ItemRevision).join(Item, col(Item.current_revision_id) == col(ItemRevision.id))
    return session.exec(query.where(col(Item.state).in_(states))).all()
