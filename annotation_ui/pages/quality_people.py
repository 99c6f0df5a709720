"""What quality control says of people."""

from functools import partial

from annotation_ui.page import Page
from annotation_ui.quality import Counted
from annotation_ui.views import quality_people as view
from annotation_ui.views.quality_words import qc_words

# The file that is saved holds all.
PAIRS_SHOWN = 20


def draw_people(page: Page, counted: Counted) -> None:
    """Draw it."""
    t, words, report = page.t, qc_words(page.t.language), counted.report
    with page.studio.workspace.database.reading() as session:
        found = view.people_quality(session, report, page.who, t)
    if not found.sees_all:
        page.notice(t("You see the totals and yourself. Maintainers see everybody."))
    page.section(words["authors"])
    columns = view.author_columns(t)
    page.draw("quality_authors.html", columns=columns, lines=found.authors, even=words["even"])
    page.downloads(t("authors"), columns, partial(view.author_rows, found))
    page.section(words["reviewers"])
    if not found.reviewers:
        page.notice(t("Nobody has given a verdict yet. Reviewers find what waits for them on the page “Review”."))
        return
    columns = view.reviewer_columns(found, t)
    page.draw("quality_reviewers.html", columns=columns, lines=found.reviewers, sees_all=found.sees_all)
    page.downloads(t("reviewers"), columns, partial(view.reviewer_rows, found))
    _pairs(page, found)
    if found.drift or found.untold:
        page.section(
            words["drift"], t("Whether somebody's last verdicts differ from all before, by Fisher's exact test.")
        )
        page.draw("quality_drift.html", w=words, lines=found.drift, untold=found.untold)


def _pairs(page: Page, found: view.PeopleQuality) -> None:
    t = page.t
    if not found.pairs:
        return
    lead = t("Who agrees least comes first.") if len(found.pairs) > 1 else ""
    page.section(t("Pairs of reviewers"), lead)
    columns = view.pair_columns(t)
    page.draw("quality_pairs.html", columns=columns, lines=found.pairs[:PAIRS_SHOWN])
    if found.apart:
        told = t.plural(
            "{count} pair shares no item: its kappa is undefined.",
            "{count} pairs share no item: their kappa is undefined.",
            found.apart,
        )
        page.draw("count.html", text=told)
    page.downloads(t("pairs"), columns, partial(view.pair_rows, found))
