"""Checks of a question that need no model, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from core.content import Frozen
from core.question import Question
from core.registry import Entry, Registry


@dataclass(frozen=True)
class Subject:
    """A question to check, with what surrounds it.

    `others` are fingerprint texts of items that show the same media, by name; `media_problems` what is wrong with its
    materials.
    """

    question: Question
    others: Mapping[str, str] = field(default_factory=dict)
    media_problems: tuple[str, ...] = ()


class Finding(Frozen):
    """Something that a check found: an error stops the item, a warning does not. `code` is one of `qc.reasons`."""

    code: str
    severity: Literal["error", "warning"]
    message: str


Check = Callable[[Subject], Sequence[Finding]]

CHECKS: Registry[Check] = Registry(
    "checks",
    tuple(
        Entry(name, "1", f"qc.checks.authoring:{name}")
        for name in (
            "required_media",
            "known_task_type",
            "distinct_choices",
            "answer_not_in_text",
            "key_does_not_stand_out",
            "not_asked_before",
            "step_references",
            "usable_media",
        )
    ),
)


def run_checks(subject: Subject) -> list[Finding]:
    """All findings of all checks, errors first."""
    found = [finding for check in _checks() for finding in check(subject)]
    return sorted(found, key=lambda finding: (finding.severity, finding.code, finding.message))


@cache
def _checks() -> tuple[Check, ...]:
    """All of them, looked up once: to go through a registry reads the metadata of every installed package."""
    return tuple(entry.load() for entry in CHECKS)
