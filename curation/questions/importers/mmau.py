"""MMAU: questions on speech, sounds and music, as JSON beside a folder of WAV files.

The layout is that of mmau-test-mini.json (github.com/Sakshi113/MMAU): an array of id, audio_id (a path), question,
choices (texts), answer (the text of a choice, in some records with its letter before it), dataset, task (sound,
speech or music), split, category, sub-category, difficulty. The 9,000 questions of the test split have no answer. As
Parquet with the sound as bytes in `audio` and choices as JSON text it is lmms-lab/mmau (lmms-eval, tasks/mmau).
"""

from collections.abc import Mapping
from typing import Any

from curation.questions.importers.answers import by_text, checked_choices
from curation.questions.importers.base import Draft, Given, Layout
from curation.questions.importers.fields import first_of, labels_of, needed, texts_of
from curation.questions.importers.prompts import choice_draft, task_type
from curation.questions.media import from_value

DEFAULT_TASK_TYPE = "background_sound_recognition"
TASK_TYPES = {
    "acoustic scene reasoning": "scene_recognition",
    "acoustic source inference": "background_sound_recognition",
    "ambient sound interpretation": "background_sound_recognition",
    "conversational fact retrieval": "reading_comprehension",
    "counting": "counting",
    "dissonant emotion interpretation": "emotion_recognition",
    "eco-acoustic knowledge": "biology",
    "emotion flip detection": "emotion_recognition",
    "emotion state summarisation": "emotion_recognition",
    "emotional tone interpretation": "emotion_recognition",
    "event-based knowledge retrieval": "event_recognition",
    "event-based sound reasoning": "event_analysis",
    "instrumentation": "instrument_recognition",
    "key highlight extraction": "long_audio_summarization",
    "multi speaker role mapping": "human_recognition",
    "socio-cultural interpretation": "social_cognitive_reasoning",
    "sound-based event recognition": "event_recognition",
    "temporal event reasoning": "event_ordering",
}
"""MMAU's sub-categories (arXiv:2410.19168); those of melody, harmony, rhythm and phonemes are left to the default."""
COMMON = {"ability": "sub-category", "subset": "task", "source": "dataset"}


class Mmau(Layout):
    """A record for each question."""

    endings = (".json", ".jsonl", ".parquet")
    needs = ("question", "choices")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        qid = first_of(data, "id", "question_id") or needed(data, "id")
        choices = checked_choices(texts_of(data.get("choices"), "choices"))
        key = by_text(first_of(data, "answer"), choices)
        held = data.get("audio")
        audio = Given("audio_1", paths=(needed(data, "audio_id"),)) if held is None else from_value("audio_1", held)
        typed = task_type(first_of(data, "sub-category"), TASK_TYPES, DEFAULT_TASK_TYPE)
        hidden = ("id", "question_id", "question", "choices", "answer", "audio", "audio_id")
        labels = labels_of(data, hidden, COMMON)
        return choice_draft((where, qid), needed(data, "question"), [audio], choices, key, typed, labels)


MMAU = Mmau()
