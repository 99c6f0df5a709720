"""MMBench and other sets of its layout: a TSV with the picture in base64.

The layout is that of VLMEvalKit (open-compass/VLMEvalKit, docs/en/Development.md and vlmeval/dataset/image_base.py):
index, question, hint, A, B, C, D, answer (a letter), category, l2-category, split, and image: base64, several as a
list, or the index of the row that holds the picture. `image_path` may name a file instead. For circular evaluation
the file repeats each question with turned choices, its index plus a multiple of a million: those are left to our own
rotations. The same fields as Parquet, with the picture as bytes, are lmms-lab/MMBench.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.question import choice_label
from curation.questions.importers.answers import by_letter, checked_choices
from curation.questions.importers.base import BadRecord, CopyOf, Draft, Given, Layout
from curation.questions.importers.fields import choices_of, first_of, labels_of, needed
from curation.questions.importers.prompts import choice_draft, task_type
from curation.questions.media import from_base64, from_value
from evaluation.graders.choice import MOST_OPTIONS

COPIES_FROM = 1_000_000
LONGEST_INDEX = 64
"""Characters: a shorter text in `image` is the index of another row (VLMEvalKit's own bound)."""
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
    """A record for each question."""

    endings = (".tsv", ".parquet")
    needs = ("index", "question", "A", "B")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        qid = needed(data, "index")
        if qid.isdecimal() and len(qid) <= LONGEST_INDEX and int(qid) >= COPIES_FROM:
            raise CopyOf(str(int(qid) % COPIES_FROM))
        choices = checked_choices(choices_of(data, LETTERS))
        key = by_letter(first_of(data, "answer"), choices)
        asked = "\n".join(part for part in (first_of(data, "hint"), needed(data, "question")) if part)
        typed = task_type(first_of(data, "category"), TASK_TYPES, DEFAULT_TASK_TYPE)
        hidden = ("index", "question", "hint", "answer", "image", "image_path", *LETTERS)
        labels = labels_of(data, hidden, COMMON | ({"ability": "L2-category"} if "L2-category" in data else {}))
        return choice_draft((where, qid), asked, _pictures(data), choices, key, typed, labels)


def _pictures(data: Mapping[str, Any]) -> list[Given]:
    image = data.get("image")
    if isinstance(image, str) and image.strip():
        parts = re.split(r"[\s,'\"]+", image.strip().strip("[]")) if image.lstrip().startswith("[") else [image]
        given = [_picture(f"image_{place}", one) for place, one in enumerate(filter(None, parts), start=1)]
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
