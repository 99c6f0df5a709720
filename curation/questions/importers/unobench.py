"""UNO-Bench: pictures, films and sounds, with choices, steps, or free answers, in Chinese and English.

The layout is that of validation.parquet (meituan-longcat/UNO-Bench), as its own evaluation reads it
(github.com/meituan-longcat/UNO-Bench, uno-eval/benchmarks/unobench.py): qid, subset_name, question, answer,
score_type (0 to 4), and images, audios, videos: placeholder (`<image_1>`) to a path below the set's folder, null
where there is none. Other columns are taken as labels; one whose name speaks of task, type or ability and that holds
a name of our taxonomy, which is UNO-Bench's, gives the task type. Options stand in the question's text. A film is
shown without its own sound, as there.
"""

import json
from collections.abc import Mapping
from typing import Any

from core.content import PLACEHOLDER
from core.errors import UnknownName
from core.question import AnswerKey, QuestionKind
from core.taxonomy import load_taxonomy
from curation.questions.importers.answers import by_letter, checked_choices, split_options
from curation.questions.importers.base import BadRecord, ByWhat, Draft, Given, Label, Layout
from curation.questions.importers.fields import first_of, labels_of, needed
from curation.questions.importers.prompts import woven
from curation.questions.media import from_value
from evaluation.graders.uno import BadUnoReference, UnoKey, UnoScoreType, from_uno_reference

DEFAULT_TASK_TYPES = {
    UnoScoreType.SINGLE: "life_reasoning",
    UnoScoreType.MULTI_STEP: "multi_step_reasoning",
    UnoScoreType.OCR_SHORT: "optical_character_recognition",
    UnoScoreType.OCR_LONG: "optical_character_recognition",
    UnoScoreType.SPOKEN: "reading_comprehension",
}
COMMON = {"subset": "subset_name"}


class UnoBench(Layout):
    """A record for each question."""

    endings = (".parquet", ".jsonl", ".json")
    needs = ("qid", "question", "score_type")

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """See `QuestionFormat.draft`."""
        score_type, key = _key(data)
        asked = needed(data, "question")
        kind, choices, answer = _answered(asked, score_type, key)
        if kind is QuestionKind.CHOICE and (parted := split_options(asked)):
            asked = parted[0]
        prompt, choices = woven(asked, _media(data), choices)
        labels = labels_of(data, ("qid", "question", "answer", "images", "audios", "videos"), COMMON)
        task_type, by_what = _task_type(labels, score_type)
        return Draft(
            where,
            needed(data, "qid"),
            prompt,
            kind,
            task_type,
            by_what,
            choices=choices,
            answer=answer,
            steps=key.steps,
            asked_in="audio" if score_type is UnoScoreType.SPOKEN else "text",
            labels=labels,
        )


def _key(data: Mapping[str, Any]) -> tuple[UnoScoreType, UnoKey]:
    answer, written = first_of(data, "answer"), needed(data, "score_type")
    if answer is None:
        raise BadRecord("no_answer", "there is no answer")
    if written not in {str(one.value) for one in UnoScoreType}:
        raise BadRecord("wrong_type", f"score_type {written[:20]!r} is none of 0 to 4")
    try:
        return UnoScoreType(int(written)), from_uno_reference(answer, int(written), needed(data, "question"))
    except BadUnoReference as error:
        raise BadRecord("answer_unclear", str(error)) from error


def _answered(asked: str, score_type: UnoScoreType, key: UnoKey) -> tuple[QuestionKind, tuple[str, ...], AnswerKey]:
    """Kind, choices and key. Letters without options in the text stay an open question that is graded by letter."""
    if score_type is UnoScoreType.MULTI_STEP:
        return QuestionKind.MULTI_STEP, (), AnswerKey()
    parted = split_options(asked) if key.answer.grader == "choice" else None
    if parted is None:
        return QuestionKind.OPEN, (), key.answer
    choices = checked_choices(parted[1])
    return QuestionKind.CHOICE, choices, by_letter(key.answer.accepted[0], choices)


def _media(data: Mapping[str, Any]) -> list[Given]:
    media: list[Given] = []
    for column in ("images", "audios", "videos"):
        held = data.get(column)
        if isinstance(held, str) and held.strip():
            try:
                held = json.loads(held)
            except ValueError as error:
                raise BadRecord("wrong_type", f"{column} is text that is no JSON") from error
        if isinstance(held, list | tuple):
            # Arrow's maps are lists of pairs.
            pairs = all(isinstance(one, tuple) and len(one) == 2 for one in held)
            held = dict(held) if pairs else {f"{column[:-1]}_{n}": one for n, one in enumerate(held, start=1)}
        for name, value in (held or {}).items() if isinstance(held, Mapping) else ():
            if value is None:
                continue
            if not PLACEHOLDER.fullmatch(f"<{str(name).strip('<>')}>"):
                raise BadRecord("wrong_type", f"{column} names a medium {str(name)[:40]!r}, not as <image_1>")
            media.append(from_value(str(name).strip("<>"), value, sound=False))
    return media


def _task_type(labels: Mapping[str, Label], score_type: UnoScoreType) -> tuple[str, ByWhat]:
    for name, value in labels.items():
        if any(word in name.lower() for word in ("task", "type", "ability")):
            try:
                return load_taxonomy().get(str(value)).id, "category"
            except UnknownName:
                continue
    return DEFAULT_TASK_TYPES[score_type], "default"


UNO_BENCH = UnoBench()
