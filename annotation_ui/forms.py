"""Forms that are handed in twice are handled once: each carries a key that was minted when it was drawn."""

import re
from collections.abc import Callable

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from annotation_ui.permissions import Principal
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, new_id, utc_now
from warehouse.tables import HandledForm

_KEY = re.compile(r"[0-9a-f-]{32,64}")


class FormMisused(Told):
    """A form's key that is none, or that was minted for another person or act."""

    text = N_("This form cannot be used any more. Reload the page and hand it in again.")


def new_form_key() -> str:
    """A key for a form that is about to be drawn."""
    return new_id()


def once(
    session: Session, who: Principal, key: str, action: str, handle: Callable[[], str], clock: Clock = utc_now
) -> str:
    """Handle a form unless it was: the id that `handle` gave, now or then.

    The key is claimed before anything is done, in the caller's transaction: a crash leaves both done or neither, and of
    two at once the second waits until the first is through.

    Raises:
        FormMisused: The key is none, or was used for something else.
    """
    if not _KEY.fullmatch(key):
        raise FormMisused
    claim = HandledForm(key=key, user_id=who.user_id, action=action, subject_id="", handled_at=clock())
    try:
        with session.begin_nested():
            session.add(claim)
    except IntegrityError:
        known = session.get_one(HandledForm, key, populate_existing=True)
        if (known.user_id, known.action) != (who.user_id, action):
            raise FormMisused from None
        return known.subject_id
    claim.subject_id = handle()
    session.add(claim)
    return claim.subject_id
