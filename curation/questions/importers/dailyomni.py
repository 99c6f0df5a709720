"""Daily-Omni: films with their sound and questions on what happens when.

The layout is that of qa.json, as the set's own test reads it (github.com/Lliar-liar/Daily-Omni, test_model/): an
array of Question, Choice (texts with their letters), Answer (a letter), video_id, Type, video_category,
video_duration, content_parent_category, content_fine_category, Explanation. A film is Videos/ID/ID_video.mp4; its
sound is part of the question. Arrays one behind the other, as the set's pipeline writes them, are read as one.
Questions have no ids: theirs are the film's with a number that follows from the words of the question and its
choices.
"""

from collections.abc import Mapping
from typing import Any

from core.provenance import content_hash
from curation.questions.importers.answers import by_letter, checked_choices
from curation.questions.importers.base import Draft, Given, Layout
from curation.questions.importers.fields import first_of, labels_of, needed, texts_of
from curation.questions.importers.prompts import choice_draft, task_type

DEFAULT_TASK_TYPE = "event_analysis"
TASK_TYPES = {
    "av event alignment": "timing_alignment",
    "context understanding": "scene_recognition",
    "event sequence": "event_ordering",
    "inference": "event_analysis",
    "reasoning": "event_analysis",
}
"""`Comparative` is left to the default."""
COMMON = {"category": "Type", "subset": "content_parent_category"}


class DailyOmni(Layout):
    """A record for each question."""

    endings = (".json", ".jsonl")
    needs = ("Question", "Choice", "video_id")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        video, asked = needed(data, "video_id"), needed(data, "Question")
        choices = checked_choices(texts_of(data.get("Choice"), "Choice"))
        key = by_letter(first_of(data, "Answer"), choices)
        path = f"{video}/{video}_video.mp4"
        film = Given("video_1", paths=(path, f"Videos/{path}"))
        typed = task_type(first_of(data, "Type"), TASK_TYPES, DEFAULT_TASK_TYPE)
        labels = labels_of(data, ("Question", "Choice", "Answer", "Explanation"), COMMON)
        record = (where, f"{video}-{content_hash([asked, list(choices)])[:12]}")
        return choice_draft(record, asked, [film], choices, key, typed, labels)


DAILY_OMNI = DailyOmni()
