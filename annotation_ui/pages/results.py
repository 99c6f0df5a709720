"""Results: how far models and people get, and the responses behind each number."""

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.results_answers import SEARCH, draw_answers
from annotation_ui.pages.results_figures import draw_abilities, draw_law, save_picture, work_beside
from annotation_ui.results.kept import KeptResults, Results, is_quick, make_results
from annotation_ui.results.scopes import Basis, Scope, basis, scopes
from annotation_ui.views.results import (
    PAPER_TABLES,
    SINGLE_PEOPLE,
    Links,
    board,
    cell_rows,
    conditions_grid,
    grid,
    sheet_columns,
    sheet_rows,
)
from annotation_ui.views.results_words import in_figure, kind_label
from annotation_ui.words import N_
from evaluation.report.document import FEW_ITEMS
from evaluation.report.figures import drops_figure, leaderboard_figure

SHOWN = {
    "ranks": N_("Leaderboard"),
    "tables": N_("The paper's tables"),
    "conditions": N_("What each modality adds"),
    "law": N_("Compositional law"),
    "abilities": N_("Abilities"),
    "games": N_("Games"),
    "answers": N_("Answers"),
}
# What stays in the address when another part of the page is turned to.
_STAYS = frozenset({"show", "scope"})


@st.cache_resource(show_spinner=False)
def kept_results(project: str) -> KeptResults:
    """What this server keeps of a project's results."""
    return KeptResults()


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Results"), t("How far models get when they are given everything, and when a modality is taken away."))
    with page.studio.workspace.database.reading() as session:
        offered = scopes(session, page.who, t)
    scope = _scope(page, offered)
    with page.studio.workspace.database.reading() as session:
        now = basis(session, page.who, scope, page.studio.workspace.facts)
    kept = kept_results(str(page.studio.workspace.project.root))
    found = _results(page, now, kept)
    if found is None:
        return
    if found.answered is None:
        _nothing(page, offered, scope)
        return
    shown = page.part({code: t(label) for code, label in SHOWN.items()}, "show", _forget_choices)
    links = Links(scope.code)
    parts: Mapping[str, Callable[[], None]] = {
        "ranks": lambda: _ranks(page, found, links),
        "tables": lambda: _tables(page, found, links),
        "conditions": lambda: _conditions(page, found, links),
        "law": lambda: draw_law(page, found, kept, links),
        "abilities": lambda: draw_abilities(page, found, links),
        "games": lambda: _games(page),
        "answers": lambda: draw_answers(page, found, links),
    }
    parts[shown]()
    page.go("quality", t("How good the questions are: quality control"))


def _scope(page: Page, offered: list[Scope]) -> Scope:
    by_code = {scope.code: scope for scope in offered}
    if len(offered) == 1:
        return offered[0]
    place, _ = st.columns([1, 2])
    count = page.t.plural
    names = {
        code: f"{one.label} · {count('{count} question', '{count} questions', one.question_count)}"
        for code, one in by_code.items()
    }
    chosen = page.choose(place, page.t("Questions"), names, "scope", default=next(iter(names)))
    return by_code[chosen] if chosen else offered[0]


def _forget_choices() -> None:
    """What narrowed one part of the page says nothing of another."""
    kept = {name: st.query_params.get_all(name) for name in _STAYS if name in st.query_params}
    st.query_params.from_dict(kept)
    for name in [one for one in st.session_state if str(one).startswith(("of.", SEARCH))]:
        del st.session_state[name]


def _results(page: Page, now: Basis, kept: KeptResults) -> Results | None:
    """The numbers, or those from before the last answers came in; None while the first are being made."""
    studio, key = page.studio, f"results {now.key}"
    begun = studio.background.job(key)
    found = kept.results.get(now.key)
    if found is not None:
        return found
    work = partial(make_results, studio.workspace, now, kept)
    if begun is None and is_quick(studio.workspace.facts, now):
        work()
        return kept.results.get(now.key)
    older = kept.older(now)
    told = (
        page.t("The numbers are being made from all answers; that takes some seconds, and once only.")
        if older is None
        else page.t("New answers have come in. Until they are counted, these are the numbers from before.")
    )
    work_beside(page, key, begun, work, told)
    return older


def _nothing(page: Page, offered: list[Scope], scope: Scope) -> None:
    t = page.t
    page.empty(
        t("No model has answered yet"),
        t("An evaluation puts a release to models under several conditions and grades their answers."),
        [
            (t("Evaluate a release:"), "interplay evaluation run NAME VERSION --model MODEL"),
            (t("Or look at a finished sample project:"), "interplay demo"),
        ],
    )
    if len(offered) > 1:
        page.draw("quiet.html", text=t("Other questions may have answers: choose above."))


def _ranks(page: Page, found: Results, links: Links) -> None:
    t = page.t
    kinds = {kind: kind_label(t, kind) for kind in found.boards}
    kind = None
    if len(kinds) > 1:
        place, _ = st.columns([1, 2])
        kind = page.choose(place, t("Kind"), kinds, "kind")
    seen = board(found, kind, links, t)
    if seen is None:
        page.notice(t("No answer is graded yet, so there is nothing to rank. The answers are there."))
        page.draw("results_link.html", href=links.to("answers"), text=t("See the answers"))
        return
    page.draw("results_board.html", board=seen, few=FEW_ITEMS)
    neighbours = grid(found.report, "neighbours", links, t)
    if neighbours is not None and kind is None:
        page.section(neighbours.title, neighbours.note)
        page.draw("results_grid.html", grid=neighbours)
    tables = [found.boards[kind]] if kind else [one for one in found.report.tables if one.key in _RANKED]
    with st.container(horizontal=True, key="results-save"):
        page.downloads(t("leaderboard"), sheet_columns(t), partial(sheet_rows, tables, found.report.people, t))
        draw = partial(leaderboard_figure, found.report, partial(in_figure, t))
        save_picture(page, "leaderboard", partial(found.picture, f"leaderboard {t.language}", draw))


_RANKED = ("leaderboard", "neighbours")


def _tables(page: Page, found: Results, links: Links) -> None:
    t = page.t
    page.draw("quiet.html", text=t(_HOW_TO_READ, few=FEW_ITEMS))
    drawn = [one for key in PAPER_TABLES if (one := grid(found.report, key, links, t)) is not None]
    for one in drawn:
        page.section(one.title, one.note)
        page.draw("results_grid.html", grid=one)
    missing = [key for key in PAPER_TABLES if found.report.table(key) is None and key != "twins"]
    if missing:
        page.draw("quiet.html", text=t(_NOT_THERE))
    tables = [one for one in found.report.tables if one.key in PAPER_TABLES]
    page.downloads(t("tables"), sheet_columns(t), partial(sheet_rows, tables, found.report.people, t))


_HOW_TO_READ = N_(
    "Points in percent; below each its 95% interval and how many answers are graded. Every number leads to the answers "
    "behind it. Grey: fewer than {few} questions. A dash: not asked, or no such questions."
)
_NOT_THERE = N_(
    "Tables without data are left out. Tables 4 and 5 need captions and transcripts in place of a modality, table 6 "
    "multi-step questions."
)


def _conditions(page: Page, found: Results, links: Links) -> None:
    t = page.t
    points = conditions_grid(found.report, links, t)
    page.section(points.title, t(_HOW_TO_READ, few=FEW_ITEMS))
    page.draw("results_grid.html", grid=points)
    page.downloads(t("conditions"), sheet_columns(t), partial(cell_rows, found.report, t))
    lost = grid(found.report, "drops", links, t)
    if lost is None:
        page.notice(t("Nothing was taken away yet: ask the models again under conditions that leave a modality out."))
        return
    page.section(lost.title, lost.note)
    page.draw("results_grid.html", grid=lost)
    with st.container(horizontal=True, key="results-save"):
        tables = [one for one in found.report.tables if one.key == "drops"]
        page.downloads(t("losses"), sheet_columns(t), partial(sheet_rows, tables, found.report.people, t))
        draw = partial(drops_figure, found.report, partial(in_figure, t))
        save_picture(page, "losses", partial(found.picture, f"drops {t.language}", draw))
    single = grid(found.report, SINGLE_PEOPLE, links, t)
    if single is not None:
        page.section(single.title, single.note)
        page.draw("results_grid.html", grid=single)


def _games(page: Page) -> None:
    t = page.t
    page.empty(
        t("No game has been played yet"),
        t(
            "The games are not part of this version of Interplay. Once they are, the normalised performance score "
            "(NPS) of agents and people stands here, by game: 0 is an agent that acts at random, 100 is a person."
        ),
    )
