"""Judge: where people will grade answers and train the judge. So far it tells what waits, and what can be done."""

from annotation_ui.page import Page
from evaluation.grade_counts import grade_counts

_GRADE = "interplay evaluation grade NAME VERSION --judge MODEL"


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Judge"), t("Which answers no grader could decide, and where graders disagree."))
    found = grade_counts(page.studio.workspace.facts)
    if found.answers:
        page.draw(
            "review_counts.html",
            counts=[
                (t("Answers in all"), found.answers),
                (t("Graded by nobody"), found.ungraded),
                (t("Graders disagree"), found.split),
            ],
        )
    page.empty(
        t("People do not judge answers here yet"),
        t(
            "This page will hold the queue of such answers for two people and a third, the six types of questions, the "
            "training of a judge on what they decide, and how right it is. Until then the command line does what is "
            "there:"
        ),
        [
            (t("Have models answer a release:"), "interplay evaluation run NAME VERSION --model MODEL"),
            (t("Have a model judge what the rules left open:"), _GRADE),
            (t("Take in answers that people gave, or that another harness got:"), "interplay evaluation import"),
        ],
    )
    page.go("results", t("See the results so far"))
