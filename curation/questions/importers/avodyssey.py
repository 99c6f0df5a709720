"""AV-Odyssey: pictures, films and sounds between the words of questions and of their choices.

The layout is that of av_odyssey_part1.parquet to part6, as the set's own evaluation reads them (github.com/AV-
Odyssey/AV-Odyssey, evaluation.py and avlm_model/videollama.py): question_type_id, question_id, data_type, subfield,
question, options (four texts), answer (a letter), image_1 .. image_4, audio_1 .. audio_4 and video_1: bytes, or null
where there is none. Text and options name them [img1], [audio1], [video1]. lmms-eval's version names files in the
lists image_path, audio_path and video_path. A film is shown without its own sound: what is to be heard is given
beside it.
"""

import re
from collections.abc import Mapping
from typing import Any

from curation.questions.importers.answers import by_letter, checked_choices
from curation.questions.importers.base import BadRecord, Draft, Given, Layout
from curation.questions.importers.fields import first_of, labels_of, needed, texts_of
from curation.questions.importers.prompts import choice_draft, placeholders, task_type
from curation.questions.media import from_value

MOST_OF_A_KIND = 8
DEFAULT_TASK_TYPE = "timing_alignment"
TASK_TYPES = {"hallucination": "consistency_judgment", "space": "spatial_relationship", "tone": "emotion_recognition"}
"""Of the subfields; most questions ask which sound belongs to which picture, which is the default's meaning."""
COMMON = {"category": "subfield"}
_NAMED = re.compile(r"[\[<](img|image|audio|video)_?([1-9]\d?)[\]>]")


class AvOdyssey(Layout):
    """A record for each question."""

    endings = (".parquet", ".jsonl", ".json")
    needs = ("question_id", "question", "options", "data_type")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        choices = checked_choices([_ours(one) for one in texts_of(data.get("options"), "options")])
        key = by_letter(first_of(data, "answer"), choices)
        typed = task_type(first_of(data, "subfield", "subpart"), TASK_TYPES, DEFAULT_TASK_TYPE)
        media = [f"{sense}_{n}" for sense in ("image", "audio", "video") for n in range(1, MOST_OF_A_KIND + 1)]
        hidden = ("question_id", "question", "options", "answer", "image_path", "audio_path", "video_path", *media)
        labels = labels_of(data, hidden, COMMON)
        record = (where, needed(data, "question_id"))
        return choice_draft(record, _ours(needed(data, "question")), _media(data), choices, key, typed, labels)


def _ours(text: str) -> str:
    return placeholders(text, _NAMED, lambda found: f"{found[1].replace('img', 'image')}_{found[2]}")


def _media(data: Mapping[str, Any]) -> list[Given]:
    media: list[Given] = []
    for sense in ("image", "video", "audio"):
        for number, path in enumerate(texts_of(data.get(f"{sense}_path"), f"{sense}_path"), start=1):
            media.append(Given(f"{sense}_{number}", paths=(path,), sound=False))
        for number in range(1, MOST_OF_A_KIND + 1):
            held = data.get(f"{sense}_{number}")
            if held is not None and held not in (b"", ""):
                media.append(from_value(f"{sense}_{number}", held, sound=False))
    if not media:
        raise BadRecord("missing_media", "there is no picture, film or sound")
    return media


AV_ODYSSEY = AvOdyssey()
