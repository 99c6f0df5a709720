"""Published tables as data, with the claims that bind their numbers together."""

from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from core.content import Frozen
from core.errors import InterplayError, UnknownName, in_words

PAPERS = ("uno", "omniplay")
Count = Annotated[int, Field(ge=1)]


class BadTableFile(InterplayError):
    """A file of published tables that does not follow the format."""


def _place(text: str) -> str:
    table, _, column = text.rpartition(".")
    if not table or not column:
        raise ValueError(f"{text!r} is no place; write TABLE.COLUMN")
    return text


Place = Annotated[str, AfterValidator(_place)]


class Table(Frozen):
    """Numbers as printed.

    Attributes:
        title: What it shows.
        columns: Names.
        decimals: At least so many decimals are printed, also where the data here have lost trailing zeros. A number
            with more decimals was printed with its own. Write "0.10" as text to keep its zeros.
        rows: By name; a number for each column. `GROUP / MODEL` names a model's row within a group.
    """

    title: str
    columns: tuple[str, ...]
    decimals: int = Field(default=0, ge=0, le=12)
    rows: dict[str, tuple[Decimal, ...]]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("two columns have one name")
        for row, values in self.rows.items():
            if len(values) != len(self.columns):
                raise ValueError(f"row {row!r} has {len(values)} numbers for {len(self.columns)} columns")
            if not all(value.is_finite() for value in values):
                raise ValueError(f"row {row!r} holds what is no number")
        return self


class CountsClaim(Frozen):
    """Each percentage is that of a whole number of points among so many items (GRIM: Brown and Heathers 2017).

    `n` is the number of items by column, or the numbers it may be. An item has `points` whole points.
    """

    check: Literal["counts"]
    table: str
    n: dict[str, Count | tuple[Count, ...]]
    points: Count = 1


class WeightedSumClaim(Frozen):
    """n times `whole` is the sum of the parts, each times its own number of items.

    Where the parts' items (and `missing`, those in no part, which may have any score) add up to n, that is a weighted
    mean. Of several numbers of items only those that add up so count, if any do.
    """

    check: Literal["weighted_sum"]
    table: str
    parts: dict[str, Count | tuple[Count, ...]]
    whole: str
    n: Count | tuple[Count, ...]
    missing: int = Field(default=0, ge=0)


class EqualClaim(Frozen):
    """The same number stands at several places, in the rows of the same names; or 1 / the number (`reciprocal`)."""

    check: Literal["equal"]
    places: tuple[Place, ...] = Field(min_length=2)
    reciprocal: bool = False


class SemClaim(Frozen):
    """Standard error = standard deviation / root of n."""

    check: Literal["sem"]
    table: str
    sd: str
    sem: str
    n: Annotated[int, Field(ge=2)]


class NpsClaim(Frozen):
    """Normalised performance score = 100 (x - random) / (human - random), in rows named GROUP / MODEL.

    Where less is better, as with steps, the same formula holds: both differences change sign.
    """

    check: Literal["nps"]
    scores: Place
    nps: Place
    random: str
    human: str


class EfficiencyClaim(Frozen):
    """Efficiency = 100 (worst - x) / (worst - human), in rows named GROUP / MODEL; `worst` is given as printed."""

    check: Literal["efficiency"]
    scores: Place
    efficiency: Place
    worst: Decimal
    human: str


class TrimmedMeanClaim(Frozen):
    """A mean of n values of at least 0, and the mean without the lowest and the highest, can stand together."""

    check: Literal["trimmed_mean"]
    table: str
    mean: str
    trimmed: str
    n: Annotated[int, Field(ge=3)]


class TotalClaim(Frozen):
    """A column adds up to a number, or to no more than one; whole numbers are taken as counted, not rounded."""

    check: Literal["total"]
    place: Place
    equals: Decimal | None = None
    at_most: Decimal | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.equals is None) == (self.at_most is None):
            raise ValueError("give equals or at_most, one of them")
        return self


class LawClaim(Frozen):
    """Parameters and statistics of the compositional law fitted to three columns of percentages.

    `claims` holds printed numbers by name: a parameter of the form, `r2` or `rmse`.
    """

    check: Literal["law"]
    table: str
    audio: str
    visual: str
    omni: str
    form: str
    claims: dict[str, Decimal] = Field(min_length=1)
    where: str


Claim = Annotated[
    CountsClaim
    | WeightedSumClaim
    | EqualClaim
    | SemClaim
    | NpsClaim
    | EfficiencyClaim
    | TrimmedMeanClaim
    | TotalClaim
    | LawClaim,
    Field(discriminator="check"),
]


class Recorded(Frozen):
    """Something found in a table that is not among the data: told, not computed."""

    check: str
    where: str
    printed: str
    expected: str
    reason: str


class Paper(Frozen):
    """A paper's tables and what must hold among them."""

    name: str
    source: str
    tables: dict[str, Table]
    claims: tuple[Claim, ...]
    recorded: tuple[Recorded, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for at, claim in enumerate(self.claims):
            for table, column in columns_of(claim):
                if table not in self.tables:
                    raise ValueError(f"claim {at} ({claim.check}) names the table {table!r}, which is not here")
                if column not in self.tables[table].columns:
                    raise ValueError(f"claim {at} ({claim.check}) names the column {column!r}, which {table} lacks")
        return self


def columns_of(claim: Claim) -> list[tuple[str, str]]:
    """(table, column) of everything that a claim speaks of."""
    match claim:
        case CountsClaim():
            return [(claim.table, column) for column in claim.n]
        case WeightedSumClaim():
            return [(claim.table, column) for column in (*claim.parts, claim.whole)]
        case EqualClaim():
            return [split_place(place) for place in claim.places]
        case SemClaim():
            return [(claim.table, claim.sd), (claim.table, claim.sem)]
        case NpsClaim():
            return [split_place(claim.scores), split_place(claim.nps)]
        case EfficiencyClaim():
            return [split_place(claim.scores), split_place(claim.efficiency)]
        case TrimmedMeanClaim():
            return [(claim.table, claim.mean), (claim.table, claim.trimmed)]
        case TotalClaim():
            return [split_place(claim.place)]
        case LawClaim():
            return [(claim.table, column) for column in (claim.audio, claim.visual, claim.omni)]


def split_place(place: Place) -> tuple[str, str]:
    """Table and column of a place."""
    table, _, column = place.rpartition(".")
    return table, column


def load_paper(name: str) -> Paper:
    """A paper that comes with Interplay: "uno" or "omniplay".

    Raises:
        UnknownName: There is no such paper.
    """
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return parse_paper(files("evaluation.published").joinpath("data", f"{name}.json").read_text(encoding="utf-8"), name)


def read_paper(path: Path) -> Paper:
    """A paper from a file of one's own.

    Raises:
        BadTableFile: It cannot be read or does not follow the format; the text says where.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadTableFile(f"{path} cannot be read ({error}); give a JSON file in UTF-8") from error
    return parse_paper(text, str(path))


def parse_paper(text: str, name: str) -> Paper:
    """A paper from JSON; `name` is what errors call it.

    Raises:
        BadTableFile: It does not follow the format; the text says where.
    """
    try:
        return Paper.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        where = f" at {place}" if place else ""
        problem = f"{in_words(first)}{more}"
        raise BadTableFile(f"{name}{where}: {problem}; the format is in docs/published-tables.md") from error
