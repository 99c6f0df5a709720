"""Two pictures of the results, each beside its numbers: the compositional law, and abilities as a radar."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from annotation_ui.background import Job
from annotation_ui.page import Page
from annotation_ui.results.kept import KeptResults, Results, make_law
from annotation_ui.views import law as view
from annotation_ui.views.results import Grid, Links, grid, sheet_columns, sheet_rows
from annotation_ui.views.results_words import in_figure
from core.provenance import content_hash
from evaluation.law.figure import law_picture
from evaluation.law.fit import LawFit
from evaluation.report.document import FEW_ITEMS
from evaluation.report.figures import models_of, radar_figure

MOST_DRAWN = 6
_FIRST_DRAWN = 3


def save_picture(page: Page, name: str, draw: Callable[[], bytes | None]) -> None:
    """A button that saves a picture; it is drawn when the button is pressed."""
    st.download_button(
        page.t("Save as {ending}", ending="SVG"),
        data=lambda: draw() or b"",
        file_name=f"{name}.svg",
        mime="image/svg+xml",
        key=f"picture-{name}",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def work_beside(page: Page, key: str, begun: Job | None, work: Callable[[], object], told: str) -> None:
    """Begin work that takes longer than a page may, or tell how far it is; what ended badly can be begun again.

    `begun` is the work as it was before the page looked for what it makes: else work that ends just then is done twice.
    """
    is_bad = begun is not None and begun.has_failed
    if begun is None or (begun.has_ended and not is_bad):
        page.have_begun(key, work)
    if not is_bad:
        page.notice(told)
    page.at_work(key)
    if is_bad and st.button(page.t("Try again"), key="begin-again"):
        page.have_begun(key, work)
        st.rerun()


def draw_law(page: Page, found: Results, kept: KeptResults, links: Links) -> None:
    """The law, or why there is none."""
    t = page.t
    page.section(
        t("Compositional law"),
        t(
            "How scores on questions that need hearing and seeing follow from scores on hearing alone and seeing alone "
            "(UNO-Bench, section 5). People are no part of it."
        ),
    )
    why = view.why_not(found.report, t)
    if why:
        page.notice(why)
        _points(page, found, links)
        return
    law = _law(page, found, kept)
    if law is None:
        _points(page, found, links)
        return
    seen = view.law_view(law, found.report, links, t)
    draw = partial(law_picture, law, words=partial(in_figure, t))
    picture = partial(found.picture, f"law {t.language}", draw)
    page.draw("results_law.html", law=seen)
    page.picture(picture() or b"", view.alt_text(seen, t))
    with st.container(horizontal=True, key="results-save"):
        page.downloads(t("law"), view.saved_columns(), partial(view.saved_rows, law))
        save_picture(page, "law", picture)
    _points(page, found, links)
    page.section(t("Other forms"), t("What they are worth beside the law, on the same models."))
    page.draw("results_forms.html", forms=seen.forms)


def _law(page: Page, found: Results, kept: KeptResults) -> LawFit | None:
    """The fitted law; None while it is being fitted, or after it could not be."""
    key = f"law {found.basis.key}"
    begun = page.studio.background.job(key)
    law = kept.laws.get(found.basis.key)
    if law is not None:
        return law
    if begun is not None and begun.problem is not None:
        page.notice(view.problem_told(begun.problem, found.report, page.t))
        return None
    told = page.t("The law is being fitted, with a thousand resamples for its interval; that takes a while, once.")
    work_beside(page, key, begun, partial(make_law, found, kept), told)
    return None


def _points(page: Page, found: Results, links: Links) -> None:
    rows = view.point_rows(found.report, links, page.t)
    if rows:
        page.section(page.t("Scores of the models"), page.t("With everything shown, in percent."))
        page.draw("results_points.html", rows=rows)


def draw_abilities(page: Page, found: Results, links: Links) -> None:
    """Points by ability: the picture, and beside it the numbers that it is drawn from."""
    t = page.t
    table = found.report.table("table3")
    if table is None:
        page.notice(
            t(
                "No choice question that is heard and seen has been asked with everything shown: abilities are "
                "measured on these."
            )
        )
        return
    models = {row.label: row.label for row in table.rows}
    ranked = [name for name in models_of(found.report) if name in models]
    people = [name for name in ranked if name in found.report.people]
    first = [*people[:1], *[name for name in ranked if name not in people][:_FIRST_DRAWN]]
    place, _ = st.columns([2, 1])
    label = t("Models and people, {most} at most", most=MOST_DRAWN)
    chosen = page.choose_several(place, label, models, "drawn", default=first, most=MOST_DRAWN)
    if not chosen:
        page.notice(t("Choose at least one."))
        return
    numbers = grid(found.report, "table3", links, t, only=chosen)
    assert numbers is not None
    _radar(page, found, numbers, chosen)
    against = grid(found.report, "people", links, t)
    if against is not None:
        page.section(against.title, against.note)
        page.draw("results_grid.html", grid=against)
    tables = [one for one in found.report.tables if one.key in {"table3", "people"}]
    page.downloads(t("abilities"), sheet_columns(t), partial(sheet_rows, tables, found.report.people, t))


def _radar(page: Page, found: Results, numbers: Grid, chosen: list[str]) -> None:
    t = page.t
    key = f"radar {t.language} {content_hash(chosen)}"
    draw = partial(found.picture, key, partial(radar_figure, found.report, chosen, partial(in_figure, t)))
    picture = draw()
    if picture is None:
        page.notice(t("A radar needs three abilities that were measured; here are the numbers."))
    else:
        caption = t(
            "Hollow marks: fewer than {few} questions. Where an ability was not measured, the line breaks.",
            few=FEW_ITEMS,
        )
        alt = t("Points by ability of {models}; the table below holds the same numbers.", models=t(", ").join(chosen))
        page.picture(picture, alt, caption)
        save_picture(page, "abilities", draw)
    page.section(numbers.title, numbers.note)
    page.draw("results_grid.html", grid=numbers)
