"""MathVista: mathematics in pictures, with choices or free answers, in English, Chinese and a few other languages.

The layout is that of data/testmini.json (github.com/lupantech/MathVista): an object by pid of pid, question, image (a
path), choices or null, unit, precision (decimals), answer, question_type (multi_choice or free_form), answer_type
(text, integer, float or list) and metadata (split, language, source, category, task, context, grade, skills). As
Parquet, with the picture as bytes in `decoded_image`, it is AI4Math/MathVista. The test split has no answers. Its own
evaluation (evaluation/calculate_score.py) rounds a float to `precision` decimals: half a unit of the last one is our
tolerance.
"""

from collections.abc import Mapping
from typing import Any

from core.question import AnswerKey, QuestionKind
from curation.questions.importers.answers import by_text, checked_choices
from curation.questions.importers.base import BadRecord, Draft, Given, Layout
from curation.questions.importers.fields import first_of, labels_of, needed, text_of, texts_of
from curation.questions.importers.prompts import woven
from curation.questions.media import from_value

TASK_TYPE = "mathematics"
MOST_DIGITS = 2
"""Of a precision: floats have no hundred decimals."""
LANGUAGES = {"english": "en", "chinese": "zh", "persian": "fa"}
COMMON = {"ability": "skills", "difficulty": "grade", "subset": "context"}


class MathVista(Layout):
    """A record for each question."""

    endings = (".json", ".jsonl", ".parquet")
    needs = ("pid", "question", "question_type")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        told = data.get("metadata")
        metadata: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
        choices: tuple[str, ...] = ()
        kind = QuestionKind.OPEN
        if needed(data, "question_type") == "multi_choice":
            kind, choices = QuestionKind.CHOICE, checked_choices(texts_of(data.get("choices"), "choices"))
            key = by_text(first_of(data, "answer"), choices)
        else:
            key = _open_key(data)
        language = LANGUAGES.get((text_of(metadata.get("language"), "language") or "").lower())
        prompt, choices = woven(_asked(data, language), [_picture(data)], choices)
        hidden = ("pid", "question", "query", "image", "decoded_image", "choices", "answer", "metadata", "language")
        labels = labels_of({**data, **metadata}, hidden, COMMON)
        return Draft(
            where,
            needed(data, "pid"),
            prompt,
            kind,
            # The whole set is mathematics, whatever a record's own task is called.
            TASK_TYPE,
            "category",
            choices=choices,
            answer=key,
            language=language,
            labels=labels,
        )


def _asked(data: Mapping[str, Any], language: str | None) -> str:
    unit = first_of(data, "unit")
    if unit is None:
        return needed(data, "question")
    return needed(data, "question") + (f"（单位：{unit}）" if language == "zh" else f" (Unit: {unit})")


def _picture(data: Mapping[str, Any]) -> Given:
    decoded = data.get("decoded_image")
    return from_value("image_1", decoded) if decoded is not None else Given("image_1", paths=(needed(data, "image"),))


def _open_key(data: Mapping[str, Any]) -> AnswerKey:
    answer = first_of(data, "answer")
    if answer is None:
        raise BadRecord("no_answer", "there is no answer, as in test splits whose answers are withheld")
    match first_of(data, "answer_type"):
        case "integer":
            return AnswerKey(accepted=(answer,), grader="number")
        case "float":
            decimals = first_of(data, "precision")
            is_count = decimals is not None and decimals.isdecimal() and len(decimals) <= MOST_DIGITS
            tolerance = 0.5 * 10.0 ** -int(decimals) if is_count and decimals is not None else None
            return AnswerKey(accepted=(answer,), grader="number", tolerance=tolerance)
        case "list":
            entries = [one.strip(" '\"") for one in answer.strip("[]() ").split(",")]
            return AnswerKey(accepted=("; ".join(entries),), grader="ordered_enumeration")
        case _:
            return AnswerKey(accepted=(answer,), grader="short_text")


MATH_VISTA = MathVista()
