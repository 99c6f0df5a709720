"""Checks of a question that need no model, by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from core.content import Frozen
from core.question import Question
from core.registry import Entry, Registry
from qc.reasons import Words


@dataclass(frozen=True)
class Subject:
    """A question to check, with what surrounds it.

    `others` are fingerprint texts of items that show the same media, or near-duplicates of them, by name;
    `media_problems` what is wrong with its materials; `evidence` what its author noted of each medium, by placeholder.
    """

    question: Question
    others: Mapping[str, str] = field(default_factory=dict)
    media_problems: tuple[Words, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Finding(Frozen):
    """Something that a check found: an error stops the item, a warning does not. `code` is one of `qc.reasons`.

    `message` is in English; `message_zh` is None in what was stored before checks spoke Chinese.
    """

    code: str
    severity: Literal["error", "warning"]
    message: str
    message_zh: str | None = None

    def text(self, language: str) -> str:
        """The message in Chinese for Chinese, where there is one; else in English."""
        return self.message_zh or self.message if language.partition("-")[0] == "zh" else self.message


Check = Callable[[Subject], Iterable[Finding]]

CHECKS: Registry[Check] = Registry(
    "checks",
    (
        Entry("required_media", "1", "qc.checks.authoring:required_media"),
        Entry("known_task_type", "1", "qc.checks.authoring:known_task_type"),
        Entry("task_type_fits", "1", "qc.checks.task_types:task_type_fits"),
        Entry("language_matches", "1", "qc.checks.language:language_matches"),
        Entry("placeholders", "1", "qc.checks.authoring:placeholders"),
        Entry("distinct_choices", "2", "qc.checks.authoring:distinct_choices"),
        Entry("answer_not_in_text", "2", "qc.checks.authoring:answer_not_in_text"),
        Entry("key_does_not_stand_out", "1", "qc.checks.authoring:key_does_not_stand_out"),
        Entry("not_asked_before", "2", "qc.checks.authoring:not_asked_before"),
        Entry("step_references", "2", "qc.checks.steps:step_references"),
        Entry("points_match_rubric", "1", "qc.checks.steps:points_match_rubric"),
        Entry("evidence_inside", "1", "qc.checks.evidence:evidence_inside"),
        Entry("usable_media", "1", "qc.checks.authoring:usable_media"),
    ),
)


def error(code: str, en: str, zh: str) -> Finding:
    """A finding that stops the item, in both languages."""
    return Finding(code=code, severity="error", message=en, message_zh=zh)


def warning(code: str, en: str, zh: str) -> Finding:
    """A finding that stops nothing, in both languages."""
    return Finding(code=code, severity="warning", message=en, message_zh=zh)


def run_checks(subject: Subject) -> list[Finding]:
    """All findings of all checks, errors first."""
    found = [finding for check in _checks() for finding in check(subject)]
    return sorted(found, key=lambda finding: (finding.severity, finding.code, finding.message))


@cache
def _checks() -> tuple[Check, ...]:
    """All of them, looked up once: to go through a registry reads the metadata of every installed package."""
    return tuple(entry.load() for entry in CHECKS)
