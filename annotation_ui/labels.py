"""Words for what the tables hold as codes."""

from collections.abc import Iterable

from babel import Locale

from annotation_ui.words import N_, Words
from core.content import Modality
from core.errors import UnknownName
from core.question import QuestionKind
from core.taxonomy import load_taxonomy
from curation.filters.verdict import DropReason
from curation.materials import BY_PERSON
from qc.reasons import REASONS
from warehouse.people import Role
from warehouse.tables import Decision, Event, ItemState, MaterialState

ROLES = {
    Role.ANNOTATOR: N_("Annotator"),
    Role.REVIEWER: N_("Reviewer"),
    Role.MAINTAINER: N_("Maintainer"),
    Role.PARTICIPANT: N_("Participant"),
}
MODALITIES = {
    Modality.TEXT: N_("Text"),
    Modality.IMAGE: N_("Image"),
    Modality.AUDIO: N_("Audio"),
    Modality.VIDEO: N_("Video"),
}
ITEM_STATES: dict[str, str] = {
    ItemState.DRAFT: N_("Draft"),
    ItemState.SUBMITTED: N_("Submitted"),
    ItemState.ROUND1_PASSED: N_("Round 1 passed"),
    ItemState.ROUND2_PASSED: N_("Round 2 passed"),
    ItemState.ACCEPTED: N_("Accepted"),
    ItemState.RELEASED: N_("Released"),
    ItemState.RETIRED: N_("Retired"),
    ItemState.RETURNED: N_("Returned"),
    ItemState.REJECTED: N_("Rejected"),
}
# Of an item that somebody may have to judge, its state would tell more than they may know.
UNDISCLOSED = "undisclosed"
SHOWN_STATES = {**ITEM_STATES, UNDISCLOSED: N_("In review or decided")}
MATERIAL_STATES = {
    MaterialState.KEPT: N_("Kept"),
    MaterialState.DROPPED: N_("Dropped"),
    MaterialState.WITHDRAWN: N_("Withdrawn"),
}
DECISIONS = {
    Decision.PASS: N_("Passed"),
    Decision.RETURN: N_("Returned to the author"),
    Decision.REJECT: N_("Rejected"),
    Decision.UNKNOWN: N_("Undecided"),
}
KINDS = {
    QuestionKind.CHOICE: N_("Multiple choice"),
    QuestionKind.OPEN: N_("Open answer"),
    QuestionKind.MULTI_STEP: N_("Multi-step"),
}
# Languages that questions are written in; others are shown by their code.
QUESTION_LANGUAGES = {"en": N_("English"), "zh": N_("Chinese")}
AUDIO_TYPES = {"speech": N_("Speech"), "environment": N_("Sounds around us"), "music": N_("Music")}
# By subject and action; for materials by the state that a decision led to.
EVENTS = {
    ("item", "create"): N_("wrote {subject}"),
    ("item", "submit"): N_("submitted {subject}"),
    ("item", "pass_round1"): N_("passed {subject} in round 1"),
    ("item", "pass_round2"): N_("passed {subject} in round 2"),
    ("item", "accept"): N_("accepted {subject}"),
    ("item", "release"): N_("released {subject}"),
    ("item", "retire"): N_("retired {subject}"),
    ("item", "return"): N_("returned {subject} to its author"),
    ("item", "reject"): N_("rejected {subject}"),
    ("item", "revise"): N_("revised {subject}"),
    ("item", "reopen"): N_("reopened {subject}"),
    ("material", MaterialState.KEPT): N_("kept the material {subject}"),
    ("material", MaterialState.DROPPED): N_("dropped the material {subject}"),
}
DROP_REASONS = {
    DropReason.UNSAFE: N_("not safe to show"),
    DropReason.LICENCE: N_("its licence forbids publishing"),
    DropReason.WRONG_LANGUAGE: N_("another language"),
    DropReason.SILENT: N_("silent"),
    DropReason.BLACK: N_("black"),
    DropReason.NEAR_UNIFORM: N_("nearly one colour"),
    DropReason.TOO_SHORT: N_("too short"),
    DropReason.TOO_SMALL: N_("too small"),
    DropReason.BAD_ASPECT: N_("too wide or too tall"),
    DropReason.FROZEN: N_("a film that stands still"),
    DropReason.BAD_EXPOSURE: N_("too dark or too bright"),
    DropReason.BLURRED: N_("blurred"),
    DropReason.TOO_QUIET: N_("too quiet"),
    DropReason.CLIPPED: N_("clipped sound"),
    DropReason.NOISY: N_("nothing but noise"),
    DropReason.NARROW_BAND: N_("too low to be heard"),
    DropReason.BLOCKY: N_("coded with too few bits"),
    BY_PERSON: N_("somebody decided so"),
}


def modality_set(t: Words, modalities: Iterable[Modality]) -> str:
    """Modalities joined in their usual order, as "Image + Audio"."""
    wanted = set(modalities)
    return " + ".join(t(MODALITIES[modality]) for modality in Modality if modality in wanted) or t("Text only")


def task_type(t: Words, name: str) -> str:
    """The name of a task type; what the taxonomy does not know stays as it was written."""
    try:
        return load_taxonomy().get(name).name("zh" if t.language == "zh" else "en")
    except UnknownName:
        return name


def question_language(t: Words, code: str) -> str:
    """The language that a question is written in."""
    known = QUESTION_LANGUAGES.get(code)
    return t(known) if known else code


def spoken_language(t: Words, code: str) -> str:
    """The language that somebody speaks in a material, by its name where Babel knows one."""
    names = Locale.parse("zh_Hans_CN" if t.language == "zh" else "en").languages
    return str(names.get(code.partition("-")[0].lower(), code))


def audio_type(t: Words, code: str) -> str:
    """What a sound holds."""
    known = AUDIO_TYPES.get(code)
    return t(known) if known else code


def reason(t: Words, code: str) -> str:
    """The words of a reason code; a code that we have no words for stays readable."""
    known = REASONS.get(code)
    return known.text(t.language) if known else code.replace("_", " ")


def drop_reason(t: Words, code: str) -> str:
    """Why a material was dropped; a code that we have no words for stays readable."""
    known = DROP_REASONS.get(code)
    return t(known) if known else code.replace("_", " ")


def happening(t: Words, event: Event, subject: str) -> str | None:
    """What an event tells, after the name of who did it; None for one that only programs read."""
    what = event.detail.get("after", "") if event.subject_kind == "material" else event.action
    known = EVENTS.get((event.subject_kind, what))
    return t(known, subject=subject) if known else None
