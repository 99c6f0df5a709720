"""Scripts that are written in the studio: what somebody shall read aloud."""

from dataclasses import dataclass

from pydantic import ValidationError
from sqlmodel import Session, col, select

from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.told import Told
from annotation_ui.views.formats import searched
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from curation.recordings.scripts import NewScript, ScriptChanged, add_scripts, get_script
from warehouse.tables import Script

MOST_CHARACTERS = 10_000


class NoWords(Told):
    """A script without a word, or with far too many."""

    text = N_("Write what is to be read, in at most {count} characters.")


class BadScriptField(Told):
    """A name, language, dialect or role that a script cannot have."""

    text = N_("The script cannot be stored: look at its topic, language, dialect and role again.")


class ScriptNameTaken(Told):
    """Two scripts of one name that say different things."""

    text = N_("There is another script named {name}, and scripts never change. Give this one a topic of its own.")


@dataclass(frozen=True)
class Written:
    """A script as somebody fills the form; without a topic it is named after its language and a number."""

    text: str
    language: str
    topic: str = ""
    dialect: str = ""
    role: str = ""


def write_script(session: Session, who: Principal, key: str, written: Written, clock: Clock = utc_now) -> str:
    """Store a script that is to be read aloud; gives its id. The same form twice is handled once.

    Raises:
        NotAllowed, AccountInactive, NoWords, BadScriptField, ScriptNameTaken, FormMisused: As they say.
    """
    who = authorize(session, who, Permission.RECORD)
    if not searched(written.text) or len(written.text) > MOST_CHARACTERS:
        raise NoWords(count=MOST_CHARACTERS)

    def handle() -> str:
        topic = searched(written.topic)
        while True:
            try:
                script = NewScript(
                    name=topic or _free_name(session, written.language),
                    text=searched(written.text),
                    language=written.language,
                    dialect=searched(written.dialect) or None,
                    role=searched(written.role) or None,
                )
                add_scripts(session, [script], who.user_id, clock)
            except ValidationError:
                raise BadScriptField from None
            except ScriptChanged:
                if topic:
                    raise ScriptNameTaken(name=written.topic.strip()) from None
                continue  # Somebody else's got this number at the same moment: the next one is free.
            return get_script(session, script.name).id

    return once(session, who, key, "write a script", handle, clock)


def _free_name(session: Session, language: str) -> str:
    taken = set(session.exec(select(Script.name).where(col(Script.name).startswith(f"{language}-", autoescape=True))))
    number = 1
    while f"{language}-{number:03}" in taken:
        number += 1
    return f"{language}-{number:03}"
