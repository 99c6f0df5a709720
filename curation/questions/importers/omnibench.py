"""OmniBench: a picture and a sound to each question, with four choices in text.

The layout is that of dataset/batch-5_1142_20240817.jsonl (github.com/multimodal-art-projection/OmniBench): index, task
type, audio type, question, options, answer (the text of a choice), image_path and audio_path (file names below
mm_data/image and mm_data/audio), image content and audio content (a caption and a transcript, which are no labels where
they are long). As Parquet with bytes in `image` and `audio` it is m-a-p/OmniBench (lmms-eval, tasks/omni_bench).
"""

from collections.abc import Mapping
from typing import Any

from curation.questions.importers.answers import by_text, checked_choices
from curation.questions.importers.base import Draft, Given, Layout
from curation.questions.importers.fields import first_of, labels_of, needed, texts_of
from curation.questions.importers.prompts import choice_draft, task_type
from curation.questions.media import from_value

DEFAULT_TASK_TYPE = "event_recognition"
TASK_TYPES = {
    "action and activity": "event_recognition",
    "contextual and environmental": "scene_recognition",
    "count and quantity": "counting",
    "identity and relationship": "human_recognition",
    "object identification and description": "other_entity_recognition",
    "plot inference": "event_analysis",
    "story description": "event_recognition",
    "text and symbols": "optical_character_recognition",
}
COMMON = {"category": "task type", "subset": "audio type"}


class OmniBench(Layout):
    """A record for each question."""

    endings = (".jsonl", ".json", ".parquet")
    needs = ("index", "question", "options", "task type")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        choices = checked_choices(texts_of(data.get("options"), "options"))
        key = by_text(first_of(data, "answer"), choices)
        media = [_medium(data, "image"), _medium(data, "audio")]
        typed = task_type(first_of(data, "task type"), TASK_TYPES, DEFAULT_TASK_TYPE)
        hidden = ("index", "question", "options", "answer", "image", "audio", "image_path", "audio_path")
        labels = labels_of(data, hidden, COMMON)
        record = (where, needed(data, "index"))
        return choice_draft(record, needed(data, "question"), media, choices, key, typed, labels)


def _medium(data: Mapping[str, Any], sense: str) -> Given:
    held = data.get(sense)
    if held is not None:
        return from_value(f"{sense}_1", held)
    name = needed(data, f"{sense}_path")
    return Given(f"{sense}_1", paths=(name, f"mm_data/{sense}/{name}", f"{sense}/{name}"))


OMNI_BENCH = OmniBench()
