"""Play: where people play the five games. So far it says what will stand here."""

from annotation_ui.page import Page
from annotation_ui.permissions import Permission
from annotation_ui.words import N_

_GAMES = (
    N_("Whispered Pathfinding: find the way through a maze in which only a voice knows the goal."),
    N_("Myriad Echoes: see and hear a sequence, say it, then click it."),
    N_("The Alchemist's Melody: find out which colour sounds which note, and play a scale."),
    N_("Phantom Soldiers in the Fog: lead a squad by map, radio and mission."),
    N_("Blasting Showdown: four players, bombs, and one who is left."),
)


def draw(page: Page) -> None:
    """Draw it."""
    t = page.t
    page.title(t("Play games"), t("Five games that nobody wins with the eyes alone, or with the ears alone."))
    page.empty(
        t("There is no game to play yet"),
        t(
            "Here people will play the same games as models do, on the same seeds and with the same scorer, after a "
            "warm-up; each episode is recorded. The games:"
        ),
        [*((t(game), "") for game in _GAMES), *_today(page)],
    )
    page.go("home", t("Back to the start page"))


def _today(page: Page) -> list[tuple[str, str]]:
    """What those can do about it who work on the library."""
    if not page.who.may(Permission.CURATE):
        return []
    words = page.t("Until then bring in pictures, sounds and voices: the games are made of them as questions are.")
    return [(words, "interplay material ingest FOLDER")]
