"""A draft's content as names and words, for a version that is looked at."""

from annotation_ui import labels
from annotation_ui.drafting.content import DraftContent, DraftStep
from annotation_ui.views.notes import evidence_words
from annotation_ui.words import Words
from core.question import QuestionKind, choice_label


def content_pairs(content: DraftContent, t: Words) -> list[tuple[str, str]]:
    """What is filled in, by the names of the fields."""
    pairs = [
        (t("Task type"), labels.task_type(t, content.task_type) if content.task_type else ""),
        (t("Language of the question"), labels.question_language(t, content.language) if content.language else ""),
        (t("Question"), content.prompt),
        *_answer(content, t),
        (t("Modalities that the question needs"), labels.modality_set(t, content.required) if content.required else ""),
        (t("What each modality contributes"), _evidence(content, t)),
        (t("Name of the item"), content.name),
    ]
    return [(name, text) for name, text in pairs if text] or [(t("Question"), t("(nothing)"))]


def _answer(content: DraftContent, t: Words) -> list[tuple[str, str]]:
    if content.kind is QuestionKind.CHOICE:
        marks = ["✓" if place in content.correct else "" for place in range(len(content.choices))]
        lines = [
            f"{choice_label(place)}. {text} {mark}".rstrip()
            for place, (text, mark) in enumerate(zip(content.choices, marks, strict=True))
        ]
        return [(t("Choices"), "\n".join(lines))]
    if content.kind is QuestionKind.OPEN:
        return [(t("The right answer"), " / ".join(content.accepted))]
    return [(t("Steps"), "\n".join(_step(step, number, t) for number, step in enumerate(content.steps, 1)))]


def _step(step: DraftStep, number: int, t: Words) -> str:
    points = t.plural("{count} point", "{count} points", step.points or 0)
    return "\n".join(filter(None, [f"{number}. {step.ask} ({points})", " / ".join(step.accepted), step.rubric]))


def _evidence(content: DraftContent, t: Words) -> str:
    told = {place: evidence_words(one.model_dump(exclude_defaults=True), t) for place, one in content.evidence.items()}
    return "\n".join(f"{place}: {words}" for place, words in told.items() if words)
