"""WorldSense: films with their sound, several questions to each.

The layout is that of worldsense_qa.json (honglyhly/WorldSense), as VLMEvalKit reads it
(vlmeval/dataset/worldsense.py): an object by film of duration, domain, sub_category, audio_class, video_caption, and
task0, task1, ...: question, candidates (texts with their letters), answer (a letter), task_domain, task_type. Films
are videos/FILM.mp4; their sound is part of the question. A TSV or Parquet with a row to each question (VLMEvalKit,
lmms-eval) is read too.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from curation.questions.importers.answers import by_letter, checked_choices
from curation.questions.importers.base import BadRecord, Draft, Given, Layout, Row
from curation.questions.importers.fields import LONGEST_TEXT, first_of, labels_of, needed, texts_of
from curation.questions.importers.prompts import choice_draft, task_type

DEFAULT_TASK_TYPE = "event_recognition"
TASK_TYPES = {
    "action counting": "counting",
    "anomaly recognition": "event_recognition",
    "attribute recognition": "feature_recognition",
    "audio counting": "counting",
    "audio recognition": "background_sound_recognition",
    "audio source localization": "background_sound_recognition",
    "causal reasoning": "event_analysis",
    "emotion change": "emotion_recognition",
    "event recognition": "event_recognition",
    "event sorting": "event_ordering",
    "hallucination": "consistency_judgment",
    "human emotions": "emotion_recognition",
    "human interaction": "social_cognitive_reasoning",
    "human-object interaction": "event_recognition",
    "object counting": "counting",
    "object existence recognition": "other_entity_recognition",
    "object state change": "event_recognition",
    "scene recognition": "scene_recognition",
    "spatial relation": "spatial_relationship",
    "temporal localization": "timing_alignment",
    "temporal prediction": "future_prediction",
    "text and diagram understanding": "reading_comprehension",
    "video emotions": "emotion_recognition",
}
"""The task types that lmms-eval lists; two kinds of reasoning and changes of sound are left to the default."""
COMMON = {"category": "task_type", "ability": "task_domain", "subset": "domain"}
_TASK = re.compile(r"task_?\d+")


class WorldSense(Layout):
    """A record for each film, or one for each question."""

    endings = (".json", ".tsv", ".parquet")
    needs = ("question", "candidates")

    def records(self, row: Row) -> Iterator[Row]:
        """Each task of a film, with what is said of the film."""
        if isinstance(row.data, BadRecord) or not any(_TASK.fullmatch(name) for name in row.data):
            yield row
            return
        film = {name: value for name, value in row.data.items() if not _TASK.fullmatch(name)}
        video = row.key or film.get("video_id")
        for name, task in row.data.items():
            if not _TASK.fullmatch(name):
                continue
            where, index = f"{row.where}, {name}", f"{video}-{name}"
            if isinstance(task, Mapping):
                yield Row(where, {**film, **task, "video": video, "index": index}, row.read_bytes)
            else:
                yield Row(where, BadRecord("wrong_type", f"{name} is {type(task).__name__}, no object"), row.read_bytes)

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        choices = checked_choices(texts_of(_as_list(data.get("candidates")), "candidates"))
        key = by_letter(first_of(data, "answer"), choices)
        film = Given("video_1", paths=_places(data))
        typed = task_type(first_of(data, "task_type"), TASK_TYPES, DEFAULT_TASK_TYPE)
        hidden = ("index", "question", "candidates", "answer", "video_path", "audio_path", "subtitle_path")
        labels = labels_of(data, hidden, COMMON)
        record = (where, needed(data, "index"))
        return choice_draft(record, needed(data, "question"), [film], choices, key, typed, labels)


def _places(data: Mapping[str, Any]) -> tuple[str, ...]:
    named, video = first_of(data, "video_path"), first_of(data, "video")
    places = [named] if named else []
    if video:
        places += [f"videos/{video}.mp4", f"{video}.mp4"]
    if not places:
        raise BadRecord("missing_field", "neither video nor video_path names the film")
    return tuple(places)


def _as_list(candidates: object) -> object:
    """VLMEvalKit's TSV holds the list as Python writes it."""
    if not isinstance(candidates, str) or len(candidates) > LONGEST_TEXT:
        return candidates
    try:
        return ast.literal_eval(candidates)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return candidates


WORLD_SENSE = WorldSense()
