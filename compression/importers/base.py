"""What importers of scores share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import duckdb

from core.errors import InterplayError

RAW_TABLE = """
CREATE OR REPLACE TEMP TABLE raw (
    benchmark VARCHAR, question_id VARCHAR, model VARCHAR, family VARCHAR, score DOUBLE
)
"""


class BadPool(InterplayError):
    """Scores that cannot be read, or that are no pool of scores in [0, 1]; `details` are for who tells it otherwise."""

    def __init__(self, text: str, **details: object) -> None:
        super().__init__(text)
        self.details = details


class UnknownFormat(BadPool):
    """A file that no importer knows."""


class NoScores(BadPool):
    """A file without a single score."""


class NoColumn(BadPool):
    """A table that lacks a column: `column`, and `there`, what it has."""


class NotNumbers(BadPool):
    """Scores that are words: how many, and an `example`."""


class ScoresOutside(BadPool):
    """Scores outside of [0, 1]: how many, and one `score` of `model` on `question`."""


class ScoresDiffer(BadPool):
    """A file with several scores of one model for one question: how many such cells, and one of them."""


class OtherScores(BadPool):
    """A pool that has other scores than the file: how many, and one of them; `was` is the pool's."""


class NothingLeft(BadPool):
    """A rule for missing scores that leaves no question or no model: how many `cells` are missing."""


class NothingHeldOut(BadPool):
    """Too few models, or families of them, to hold some out."""


class OtherPool(BadPool):
    """A pool that is not the one that a subset was drawn from."""


class OtherFile(BadPool):
    """A file of labels or fixed questions that is not the one that a subset was drawn with."""


class NotLarger(BadPool):
    """A subset that is to be extended to no more than it has."""


class DrawnOtherwise(BadPool):
    """A subset that these versions, or this processor, draw otherwise than it was drawn: `versions` drew it."""


class BadName(BadPool):
    """A name that no pool, or no subset, can have."""


@dataclass(frozen=True)
class Reading:
    """How a file of scores is read.

    Attributes:
        format: Name of an importer; None: the one that knows the file.
        columns: Other names of the columns in the file, by ours.
        benchmark: Of all questions, in place of what the file's name or contents say.
        model: Of all answers, in place of what the file's place or contents say.
        metric: Of files with several: a scorer, a column, or whatever the format has its scores under.
        scale: Scores are divided by it, for those out of 100.
        repeats: What to do with several scores of one model for one question: refuse, or take their mean. Equal ones
            are merged either way.
    """

    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    benchmark: str | None = None
    model: str | None = None
    metric: str | None = None
    scale: float = 1.0
    repeats: Literal["refuse", "mean"] = "refuse"


class Importer(Protocol):
    """Reads one format of scores."""

    def knows(self, path: Path) -> bool:
        """Whether the file or folder looks like this format, by its name and its first bytes."""
        ...

    def load(self, connection: duckdb.DuckDBPyConnection, path: Path, reading: Reading) -> None:
        """Make the table `raw` (`RAW_TABLE`) and fill it, a row for each score; an absent score is NULL.

        Scores are stored as they are divided by `reading.scale`; whoever calls checks that they lie in [0, 1].

        Raises:
            BadPool: The file cannot be read as this format: what, in which file and where, and how to mend it.
        """
        ...
