"""What an author noted about a question: marked in its media, and in words."""

from collections.abc import Sequence

from annotation_ui.page import Page
from annotation_ui.views.evidence import Marked


def draw_notes(page: Page, marked: Sequence[Marked], notes: Sequence[tuple[str, str]]) -> None:
    """Draw it, for who may know the key."""
    if marked:
        page.draw("evidence.html", marked=marked)
    if notes:
        page.draw("pairs.html", pairs=notes)
