"""A question as a flat row, and back: what the formats share."""

from collections.abc import Mapping
from typing import Any

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, Step, choice_label
from core.taxonomy import load_taxonomy
from warehouse.release.manifest import Manifest, ManifestRow


def flat_row(row: ManifestRow, manifest: Manifest) -> dict[str, Any]:
    """All of a row but its media; `prompt` names those as `<image_1>`.

    `answer` is for reading (choice labels, or the canonical answer); `answer_key` is what answers are graded by.
    """
    question = row.question
    return {
        "qid": row.qid,
        "split": row.split,
        "kind": question.kind.value,
        "language": question.language,
        "asked_in": question.asked_in,
        "task_type": question.task_type,
        "ability": "/".join(load_taxonomy(manifest.taxonomy).get(question.task_type).path),
        "prompt": question.prompt_text,
        "choices": [choice.text for choice in question.choices],
        "answer": _readable(question.answer),
        "answer_key": _key(question.answer),
        "steps": [
            {"ask": step.ask, "points": step.points, "rubric": step.rubric, "answer_key": _key(step.answer)}
            for step in question.steps
        ],
        "required": sorted(question.required),
        "revision": row.revision,
        "canary": manifest.canary,
    }


def question_from(row: Mapping[str, Any], media: Mapping[str, MediaRef]) -> Question:
    """The question that `flat_row` was made of; `media` is by placeholder.

    Raises:
        MisplacedMedia: Prompt and media do not match.
        ValidationError: The row is no question.
        KeyError: A column is missing.
    """
    return Question(
        prompt=parse_prompt(row["prompt"], media),
        kind=QuestionKind(row["kind"]),
        choices=tuple(Choice(text=text) for text in row["choices"]),
        answer=AnswerKey(**row["answer_key"]),
        steps=tuple(
            Step(ask=step["ask"], points=step["points"], rubric=step["rubric"], answer=AnswerKey(**step["answer_key"]))
            for step in row["steps"]
        ),
        required=row["required"],
        task_type=row["task_type"],
        language=row["language"],
        asked_in=row["asked_in"],
    )


def _readable(key: AnswerKey) -> str | None:
    if key.correct:
        return ", ".join(choice_label(index) for index in key.correct)
    return key.accepted[0] if key.accepted else None


def _key(key: AnswerKey) -> dict[str, Any]:
    return {
        "correct": list(key.correct),
        "accepted": list(key.accepted),
        "grader": key.grader,
        "tolerance": key.tolerance,
    }
