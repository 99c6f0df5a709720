"""Words for what the tables hold as codes."""

from collections.abc import Iterable

from annotation_ui.permissions import Role
from annotation_ui.words import N_, Words
from core.content import Modality
from core.errors import UnknownName
from core.question import QuestionKind
from core.taxonomy import load_taxonomy
from qc.reasons import REASONS
from warehouse.tables import Decision, ItemState, MaterialState

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
ITEM_STATES = {
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
    ("material", "keep"): N_("kept the material {subject}"),
    ("material", "drop"): N_("dropped the material {subject}"),
}
MATERIAL_ACTIONS = {"keep": N_("Kept"), "drop": N_("Dropped")}


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


def reason(t: Words, code: str) -> str:
    """The words of a reason code; a code that we have no words for stays readable."""
    known = REASONS.get(code)
    return known.text(t.language) if known else code.replace("_", " ")
