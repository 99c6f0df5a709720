"""What the form for a new release offers, and how many questions fit what is chosen so far."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.words import N_, Words
from core.content import Modality
from core.taxonomy import load_taxonomy
from warehouse.release.build import Fitting, Misfit, Shape, item_shapes
from warehouse.release.records import RELEASABLE
from warehouse.tables import Release

_FIRST = "1.0.0"
_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})\.\d{1,9}")
LICENCES = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC0-1.0", "Apache-2.0", "MIT")
MEDIA = (Modality.IMAGE, Modality.AUDIO, Modality.VIDEO)
_MISFITS = {
    Misfit.TASK_TYPE: N_("another task type"),
    Misfit.LANGUAGE: N_("another language"),
    Misfit.MODALITIES: N_("does not show all of the chosen media"),
}


@dataclass(frozen=True)
class BuildForm:
    """Everything that can be chosen, as codes and words, with how many accepted questions there are of each.

    `name` and `version` are what comes after the releases that there are; `shapes` are counted anew as one chooses.
    """

    name: str
    version: str
    task_types: Mapping[str, str]
    languages: Mapping[str, str]
    shapes: Sequence[Shape]


@dataclass(frozen=True)
class FitWords:
    """How many questions fit, and what keeps each of the others away, the most frequent first."""

    chosen: int
    text: str
    others: Sequence[str]


def build_form(session: Session, who: Principal, t: Words) -> BuildForm:
    """What can be chosen.

    Raises:
        NotAllowed: The person may not release.
    """
    require(who, Permission.RELEASE)
    name, version = _next(session)
    shapes = item_shapes(session)
    ready = [shape for shape in shapes if shape.state in RELEASABLE]
    # A question may name a task type that this version does not know; none can be asked for by it.
    known = {entry.id for entry in load_taxonomy().task_types}
    task_types = Counter(shape.task_type for shape in ready if shape.task_type in known)
    languages = Counter(shape.language.partition("-")[0].lower() for shape in ready)
    return BuildForm(
        name=name,
        version=version,
        task_types={code: _counted(labels.task_type(t, code), count, t) for code, count in task_types.most_common()},
        languages={
            code: _counted(labels.question_language(t, code), count, t) for code, count in languages.most_common()
        },
        shapes=shapes,
    )


def fit_words(found: Fitting, t: Words) -> FitWords:
    """What the choice comes to, in words."""
    others = [(count, t(_MISFITS[misfit])) for misfit, count in found.misfits.items()]
    others += [
        (count, t("not accepted ({state})", state=t(labels.ITEM_STATES[state])))
        for state, count in found.not_accepted.items()
    ]
    return FitWords(
        chosen=found.chosen,
        text=t.plural("{count} question fits.", "{count} questions fit.", found.chosen),
        others=[
            t("{count}: {reason}", count=t.number(count), reason=reason)
            for count, reason in sorted(others, key=lambda one: -one[0])
        ],
    )


def _next(session: Session) -> tuple[str, str]:
    """The name of the newest release, and the next minor version after its highest."""
    newest = session.exec(select(Release).order_by(col(Release.created_at).desc()).limit(1)).first()
    if newest is None:
        return "", _FIRST
    versions = session.exec(select(Release.version).where(Release.name == newest.name))
    numbers = [(int(found[1]), int(found[2])) for one in versions if (found := _NUMBERS.match(one))]
    major, minor = max(numbers)
    return newest.name, f"{major}.{minor + 1}.0"


def _counted(label: str, count: int, t: Words) -> str:
    return t("{what} ({count})", what=label, count=t.number(count))
