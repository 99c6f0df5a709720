"""Quality control: the benchmark as a whole, its items, item analysis, its people."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.quality_analysis import draw_analysis
from annotation_ui.pages.quality_benchmark import draw_benchmark
from annotation_ui.pages.quality_items import draw_items
from annotation_ui.pages.quality_people import draw_people
from annotation_ui.quality import COUNT, OLD, Counted, Freshness, freshness
from annotation_ui.words import N_
from qc.report.terminal import NEXT_ROUNDS

_PARTS: dict[str, tuple[str, Callable[[Page, Counted], None]]] = {
    "benchmark": (N_("Benchmark"), draw_benchmark),
    "items": (N_("Items"), draw_items),
    "analysis": (N_("Item analysis"), draw_analysis),
    "people": (N_("People"), draw_people),
}


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(
        t("Quality control"),
        t("How far items come in the three rounds, why others stop, and what the numbers are worth."),
    )
    with page.studio.workspace.database.reading() as session:
        fresh = freshness(session, page.studio.quality.counted)
    if not fresh.items:
        page.empty(
            t("There is nothing to judge yet"),
            t("Items go through three rounds: a panel of models, the ablation study, reviewers. Here you see how."),
            [
                (
                    t("Write on the page “Write questions”, or bring in a file:"),
                    "interplay item import items.yaml --author NAME",
                ),
                (t("Put what was submitted to the panel:"), NEXT_ROUNDS),
                (t("Or look at a finished sample project:"), "interplay demo"),
            ],
        )
        return
    counted = _counted(page, fresh)
    if counted is not None:
        part = page.part({code: t(label) for code, (label, _) in _PARTS.items()}, "part")
        _PARTS[part][1](page, counted)


def _counted(page: Page, fresh: Freshness) -> Counted | None:
    """What the page tells, counted now where that is quick; None while the first count is under way."""
    studio, quality = page.studio, page.studio.quality
    if fresh.is_quick:
        return quality.count(studio.workspace, studio.clock)
    job = studio.background.job(COUNT)
    if not (job is not None and job.has_failed) and _is_due(quality.counted, fresh, studio.clock()):
        _start(page)
    page.at_work(COUNT)
    counted = quality.counted
    if not studio.background.is_at_work(COUNT):
        _age(page, counted, fresh)
    return counted


def _is_due(counted: Counted | None, fresh: Freshness, now: datetime) -> bool:
    return counted is None or (fresh.changes > 0 and now - counted.at > OLD)


def _start(page: Page) -> None:
    studio = page.studio
    page.have_begun(COUNT, partial(studio.quality.count, studio.workspace, studio.clock))


def _age(page: Page, counted: Counted | None, fresh: Freshness) -> None:
    """When it was counted; and the way to count again, where something changed since or the last count failed."""
    t = page.t
    told = [t("Counted {when}.", when=t.ago(counted.at, page.studio.clock()))] if counted else []
    if fresh.changes:
        told.append(t.plural("{count} change since.", "{count} changes since.", fresh.changes))
    with st.container(horizontal=True, vertical_alignment="center", key="quality-age"):
        if told:
            page.draw("count.html", text=" ".join(told))
        if counted is None or fresh.changes:
            st.button(t("Count again"), key="count", type="tertiary", on_click=_start, args=(page,))
