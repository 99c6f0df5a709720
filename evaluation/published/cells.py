"""Printed numbers: each stands for every value that rounds to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from evaluation.published.paper import Table

SLACK = 1e-9
Place = tuple[str, str, str]


@dataclass(frozen=True)
class Cell:
    """A printed number, with half a unit of its last decimal; `place` is its table, row and column."""

    place: Place
    value: Fraction
    half: Fraction
    decimals: int

    @property
    def low(self) -> float:
        """The least value that prints so."""
        return float(self.value - self.half)

    @property
    def high(self) -> float:
        """The greatest value that prints so."""
        return float(self.value + self.half)

    def __str__(self) -> str:
        return f"{float(self.value):.{self.decimals}f}"

    def holds(self, low: float, high: float) -> bool:
        """Whether some value from low to high prints so."""
        return low <= self.high + SLACK and high >= self.low - SLACK


def cell_of(tables: Mapping[str, Table], table: str, row: str, column: str) -> Cell:
    """The number at a place, with the decimals that it was printed with."""
    value = tables[table].rows[row][tables[table].columns.index(column)]
    return _cell((table, row, column), value, tables[table].decimals)


def given(value: Decimal) -> Cell:
    """A printed number that stands in no table."""
    return _cell(("", "", ""), value, 0)


def _cell(place: Place, value: Decimal, decimals: int) -> Cell:
    exponent = value.as_tuple().exponent
    decimals = max(decimals, -exponent) if isinstance(exponent, int) else decimals
    return Cell(place, Fraction(value), Fraction(1, 2 * 10**decimals), decimals)
