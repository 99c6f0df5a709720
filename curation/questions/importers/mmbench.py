"""MMBench and other sets of its layout: a TSV with the picture in base64.

The layout is that of VLMEvalKit (open-compass/VLMEvalKit, docs/en/Development.md and vlmeval/dataset/image_base.py):
index, question, hint, A, B, C, D, answer (a letter), category, source, l2-category, comment, split, and image: base64,
several as a list, or the index of the row that holds the picture. `image_path` may name a file instead. For circular
evaluation (MMBench and CCBench alone, vlmeval/dataset/utils/multiple_choice.py) a row's question is the one whose index
is the row's modulo a million, and the file repeats it with turned choices: those are left to our own rotations. Other
sets of the layout have whatever indexes they like, so a row counts as a copy when such a question stands before it
that asks the same, whose choices are the same in a turned order, and whose answer is the same choice. The same fields
as Parquet, with the picture as bytes and `nan` where a text is missing, are lmms-lab/MMBench.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.provenance import content_hash
from core.question import choice_label
from curation.questions.importers.answers import by_letter, checked_choices
from curation.questions.importers.base import BadRecord, CopyOf, Draft, Given, Layout
from curation.questions.importers.fields import choices_of, first_of, labels_of, needed
from curation.questions.importers.prompts import choice_draft, task_type
from curation.questions.media import LONGEST_INDEX, from_base64, from_value, parts_of
from evaluation.graders.choice import MOST_OPTIONS

COPIES_MODULO = 1_000_000
MISSING = "nan"
LETTERS = tuple(choice_label(place) for place in range(MOST_OPTIONS))
DEFAULT_TASK_TYPE = "feature_recognition"
TASK_TYPES = {
    "action recognition": "event_recognition",
    "celebrity recognition": "human_recognition",
    "function reasoning": "life_reasoning",
    "future prediction": "future_prediction",
    "identity reasoning": "human_recognition",
    "image emotion": "emotion_recognition",
    "image scene": "scene_recognition",
    "nature relation": "biology",
    "object localization": "spatial_relationship",
    "ocr": "optical_character_recognition",
    "physical property reasoning": "physics",
    "physical relation": "relative_position",
    "social relation": "social_cognitive_reasoning",
    "spatial relationship": "spatial_relationship",
    "structuralized imagetext understanding": "reading_comprehension",
}
"""MMBench's finest categories; image quality, style and topic, and attributes, are left to the default."""
COMMON = {"ability": "l2-category"}


class MmBench(Layout):
    """A record for each question, some turned; one object reads one file, and remembers by a hash what it asked."""

    endings = (".tsv", ".parquet")
    needs = ("index", "question", "A", "B")

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}

    def with_mapping(self, mapping: Path | None) -> "MmBench":
        """A new one that has read nothing; see `QuestionFormat.with_mapping`."""
        super().with_mapping(mapping)
        return MmBench()

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        data = {name: None if value == MISSING else value for name, value in data.items()}
        qid = needed(data, "index")
        choices = checked_choices(choices_of(data, LETTERS))
        before = self._asked.setdefault(_turned_key(qid, data, choices), qid)
        if before != qid:
            raise CopyOf(before)
        key = by_letter(first_of(data, "answer"), choices)
        asked = "\n".join(part for part in (first_of(data, "hint"), needed(data, "question")) if part)
        typed = task_type(first_of(data, "category"), TASK_TYPES, DEFAULT_TASK_TYPE)
        hidden = ("index", "question", "hint", "answer", "image", "image_path", *LETTERS)
        labels = labels_of(data, hidden, COMMON | ({"ability": "L2-category"} if "L2-category" in data else {}))
        return choice_draft((where, qid), asked, _pictures(data), choices, key, typed, labels)


def _turned_key(qid: str, data: Mapping[str, Any], choices: Sequence[str]) -> str:
    """The same for a question and its copies with turned choices."""
    number = qid
    if qid.isdecimal() and len(qid) <= LONGEST_INDEX:
        number = str(int(qid) % COPIES_MODULO)
    first = min(range(len(choices)), key=lambda place: choices[place])
    turned = [*choices[first:], *choices[:first]]
    answer = first_of(data, "answer")
    right = choices[place] if (place := _place(answer)) is not None and place < len(choices) else answer
    return content_hash([number, needed(data, "question"), turned, right])


def _place(letter: str | None) -> int | None:
    return LETTERS.index(letter) if letter in LETTERS else None


def _pictures(data: Mapping[str, Any]) -> list[Given]:
    image = data.get("image")
    if isinstance(image, str) and image.strip():
        given = [_picture(f"image_{place}", one) for place, one in enumerate(parts_of(image), start=1)]
    elif isinstance(image, Mapping | bytes):
        given = [from_value("image_1", image)]
    else:
        path = first_of(data, "image_path")
        given = [Given("image_1", paths=(path,))] if path else []
    if not given:
        raise BadRecord("missing_media", "there is no picture, neither in image nor in image_path")
    return given


def _picture(name: str, written: str) -> Given:
    if len(written.strip()) <= LONGEST_INDEX:
        return Given(name, same_as=written.strip())
    return Given(name, data=from_base64(written))


MMBENCH = MmBench()
