"""What every importer of public questions gives: drafts, whose media are still as the set holds them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from core.content import Modality
from core.errors import InterplayError
from core.question import AnswerKey, QuestionKind, Step

Label = str | int | float
ByWhat = Literal["category", "default"]


class BadQuestionFile(InterplayError):
    """A file that is no question set of the format, or cannot be read on."""


class BadRecord(InterplayError):
    """One record that is no question; `reason` is the code that summaries count by."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class CopyOf(InterplayError):
    """One record that repeats another one with its choices turned, as circular evaluation wants it."""

    def __init__(self, qid: str) -> None:
        super().__init__(f"a turned copy of question {qid}")
        self.qid = qid


@dataclass(frozen=True)
class Row:
    """A record as read: where it stands, its fields (or why there are none), and how far into the file it ends.

    `key` is the name under which a JSON object holds it. `read_bytes` counts bytes of the file, for the progress bar.
    """

    where: str
    data: Mapping[str, Any] | BadRecord
    read_bytes: int
    key: str | None = None


@dataclass(frozen=True)
class Given:
    """A medium as the set gives it: its bytes, a file (the first of `paths` that is there), or another question's.

    `name` is its placeholder (`image_1`). Of a film, `sound` says whether its sound belongs to the question.
    """

    name: str
    data: bytes | None = field(default=None, repr=False)
    paths: tuple[str, ...] = ()
    same_as: str | None = None
    sound: bool = True

    @property
    def modality(self) -> Modality:
        """What the name says."""
        return Modality(self.name.partition("_")[0])


@dataclass(frozen=True)
class Draft:
    """A question whose media are not examined yet; `prompt` holds text and media in order.

    `task_type_by` tells whether the set's category led to the task type, or only the format's default did. `language`
    is None where the set does not say.
    """

    where: str
    qid: str
    prompt: tuple[str | Given, ...]
    kind: QuestionKind
    task_type: str
    task_type_by: ByWhat
    choices: tuple[str, ...] = ()
    answer: AnswerKey = field(default_factory=AnswerKey)
    steps: tuple[Step, ...] = ()
    language: str | None = None
    asked_in: Literal["text", "audio"] = "text"
    labels: Mapping[str, Label] = field(default_factory=dict)

    @property
    def given(self) -> tuple[Given, ...]:
        """The media, in order."""
        return tuple(part for part in self.prompt if isinstance(part, Given))

    @property
    def inline_bytes(self) -> int:
        """How many bytes of media the draft itself holds."""
        return sum(len(given.data) for given in self.given if given.data is not None)


class QuestionFormat(Protocol):
    """One layout of question sets. `endings` are those of its tables; without the fields `needs` it is another one."""

    endings: tuple[str, ...]
    needs: tuple[str, ...]

    def with_mapping(self, mapping: Path | None) -> "QuestionFormat":
        """The format, told by a mapping file which field holds what.

        Raises:
            BadQuestionFile: It needs one, or takes none, or the file cannot be read.
        """
        ...

    def records(self, row: Row) -> Iterable[Row]:
        """The records that one row of the file holds."""
        ...

    def draft(self, where: str, data: Mapping[str, Any]) -> Draft:
        """The question of a record's fields.

        Raises:
            BadRecord: It is none.
            CopyOf: It repeats another one.
        """
        ...


class Layout:
    """What fixed formats share: no mapping, and a record to each row."""

    def with_mapping(self, mapping: Path | None) -> Self:
        """See `QuestionFormat.with_mapping`."""
        if mapping is not None:
            raise BadQuestionFile(f"{mapping}: only the format 'generic' takes a mapping; leave --mapping out")
        return self

    def records(self, row: Row) -> Iterable[Row]:
        """See `QuestionFormat.records`."""
        return (row,)
