"""Keep a part of a training set that covers its range of difficulty, without supervision (a use of UNO-Bench's CGHS).

Samples that sources (models, checkpoints, rollouts) score alike are a stratum; strata are kept in proportion, with
floors for the easiest and the hardest, so that neither vanishes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from compression.matrix import Floats
from compression.training_files import BadTrainingFile, Given, Layout, Mask, read_given
from compression.training_report import Change, change_of
from compression.training_strata import (
    EASY,
    HARD,
    Kind,
    Patterns,
    bands_of,
    cells_of,
    entry_order,
    patterns_of,
    strata_of,
    weights_of,
)
from core.content import Frozen
from warehouse.analytics import connected, load_sql

STRATA = 48
FLOOR = 0.1
_BOUNDS = {Kind.SCORE: (0.0, 1.0), Kind.LOSS: (0.0, math.inf), Kind.REWARD: (-math.inf, math.inf)}


@dataclass(frozen=True)
class Wanted:
    """What is to be kept.

    Attributes:
        rate, size: One of them: a share of the samples that are not dropped, or a number.
        strata: At most so many.
        floor_easy, floor_hard: Least shares of the kept set with a difficulty up to 0.2, and from 0.8.
        drop_unsolved, drop_solved: Leave out what no source solves, what each solves.
        solved_at: A value from which on (losses: down to which) a source solves a sample. Without it a sample is solved
            when all its values are the best, and unsolved when all are the worst: 1 and 0 of scores, the file's highest
            and lowest of rewards.
        seed: Of the strata and the draws.
        columns: Other names of the columns in the file, by ours.
    """

    rate: float | None = None
    size: int | None = None
    strata: int = STRATA
    floor_easy: float = FLOOR
    floor_hard: float = FLOOR
    drop_unsolved: bool = False
    drop_solved: bool = False
    solved_at: float | None = None
    seed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)


class SelectionReport(Frozen):
    """What a selection changed.

    Attributes:
        kind: Of the values.
        samples, sources: With at least one value.
        without_value: Samples none of whose rows has a value; they are left out.
        gaps: Samples by sources without a value; filled as `patterns_of` says.
        repeated: Rows that say what another said.
        dropped_unsolved, dropped_solved: Left out because it was wished.
        kept: Samples that were selected.
        seed: With which.
        strata_wanted, strata: At most, and there are.
        strata_empty: Of which no sample was kept.
        in_empty_strata: Samples in these.
        floor_easy, floor_hard: Wished for.
        short_easy, short_hard: Samples that the floors lack, since there are no more.
        change: Of the difficulty.
    """

    kind: Kind
    samples: int
    sources: int
    without_value: int
    gaps: int
    repeated: int
    dropped_unsolved: int
    dropped_solved: int
    kept: int
    seed: int
    strata_wanted: int
    strata: int
    strata_empty: int
    in_empty_strata: int
    floor_easy: float
    floor_hard: float
    short_easy: int
    short_hard: int
    change: Change


@dataclass(frozen=True)
class Selection:
    """The kept samples, by id: `table` has columns sample_id, stratum, difficulty and weight.

    A weight is how many samples of its stratum and band (easy, middle, hard) a kept one stands for.
    """

    table: pa.Table
    report: SelectionReport


@dataclass(frozen=True)
class Samples:
    """What a file says of samples, in the order of their ids.

    Attributes:
        ids: (samples,) text.
        patterns: Of them.
        lowest, highest, mean: (samples,) of their values as they stand in the file.
        sources: How many.
        gaps: Samples by sources without a value.
        repeated: Rows that say what another said.
        without_value: Samples without any.
    """

    ids: NDArray[np.object_]
    patterns: Patterns
    lowest: Floats
    highest: Floats
    mean: Floats
    sources: int
    gaps: int
    repeated: int
    without_value: int


def select_training_set(path: Path, kind: Kind, wanted: Wanted) -> Selection:
    """Select samples of a file of values: columns sample_id, value, and source where a sample has several.

    The order of rows does not matter. With the same seed a larger selection holds the smaller one.

    Raises:
        BadTrainingFile: The file cannot be used, or what is wanted is not there.
    """
    samples = read_samples(path, kind, wanted.columns)
    unsolved, solved = _solved(samples, kind, wanted)
    is_dropped = [mask if wished and mask is not None else np.zeros(len(samples.ids), dtype=bool)
                  for wished, mask in ((wanted.drop_unsolved, unsolved), (wanted.drop_solved, solved))]  # fmt: skip
    candidates = np.flatnonzero(~(is_dropped[0] | is_dropped[1]))
    floors = _floors(wanted)
    size = size_of(wanted.rate, wanted.size, len(candidates))
    patterns = samples.patterns.of(candidates)
    strata, bands = strata_of(patterns, wanted.strata, wanted.seed), bands_of(patterns.difficulty)
    chosen = np.sort(entry_order(strata, bands, floors, np.random.default_rng(wanted.seed))[:size])
    kept = candidates[chosen]

    sizes = np.bincount(strata)
    empty = np.bincount(strata[chosen], minlength=len(sizes)) == 0
    short = np.maximum(np.floor(floors * size + 1e-9).astype(int) - np.bincount(bands[chosen], minlength=3), 0)
    report = SelectionReport(
        kind=kind,
        samples=len(samples.ids),
        sources=samples.sources,
        without_value=samples.without_value,
        gaps=samples.gaps,
        repeated=samples.repeated,
        dropped_unsolved=int(is_dropped[0].sum()),
        dropped_solved=int(is_dropped[1].sum()),
        kept=size,
        seed=wanted.seed,
        strata_wanted=wanted.strata,
        strata=len(sizes),
        strata_empty=int(empty.sum()),
        in_empty_strata=int(sizes[empty].sum()),
        floor_easy=wanted.floor_easy,
        floor_hard=wanted.floor_hard,
        short_easy=int(short[EASY]),
        short_hard=int(short[HARD]),
        change=change_of(samples.patterns.difficulty, samples.mean, (unsolved, solved), kept),
    )
    table = pa.table({
        "sample_id": pa.array(samples.ids[kept], pa.string()),
        "stratum": strata[chosen],
        "difficulty": patterns.difficulty[chosen],
        "weight": weights_of(cells_of(strata, bands), chosen)[chosen],
    })  # fmt: skip
    return Selection(table, report)


def read_samples(path: Path, kind: Kind, columns: Mapping[str, str]) -> Samples:
    """Samples of a file, with their patterns.

    Raises:
        BadTrainingFile: It cannot be used: see `read_given`; or a sample and source have several values, or only one
            sample has any, or all values are equal.
    """
    sample_id, source, value = (columns.get(name, name) for name in ("sample_id", "source", "value"))
    layout = Layout(sample_id, source, value)
    with connected() as connection:
        given = read_given(connection, path, layout, _BOUNDS[kind])
        # Several rewards of one sample without a source are its rollouts; their names do not matter.
        numbered = kind is Kind.REWARD and not given.has_source
        make_cells(connection, "row_number() OVER (PARTITION BY sample_id ORDER BY value)" if numbered else "source")
        _refuse_conflicts(connection, given)
        columns_of = connection.execute(load_sql("compression.sql", "training_aggregates.sql")).fetchnumpy()
        lowest, highest = np.asarray(columns_of["lowest"]), np.asarray(columns_of["highest"])
        if len(lowest) == 1:
            raise BadTrainingFile(f"{path} holds one sample only; there is nothing to select from")
        if lowest.min() == highest.max():
            raise BadTrainingFile(
                f"{path}: each {layout.value} is {lowest[0]:g}, which tells no sample from another; give other values"
            )
        values = values_of(connection, kind, len(lowest))
        ids = connection.execute("SELECT count(DISTINCT sample_id) FROM given").fetchone() or (0,)
    cells = int((~np.isnan(values)).sum())
    return Samples(
        ids=np.asarray(columns_of["sample_id"], dtype=object),
        patterns=patterns_of(values, kind),
        lowest=lowest,
        highest=highest,
        mean=np.asarray(columns_of["mean"]),
        sources=values.shape[1],
        gaps=values.size - cells,
        repeated=given.rows - given.empty - cells,
        without_value=int(ids[0]) - len(lowest),
    )


def make_cells(connection: duckdb.DuckDBPyConnection, source: str) -> None:
    """Make the tables `sample`, `source` and `cell` of `given`; `source` is SQL of a row's source."""
    connection.execute(load_sql("compression.sql", "training_cells.sql").format(source=source))


def values_of(connection: duckdb.DuckDBPyConnection, kind: Kind, samples: int) -> Floats:
    """(samples, sources) values of the table `cell` as `patterns_of` takes them."""
    query = "SELECT sample, source, value FROM cell"
    if kind is not Kind.SCORE:
        group, direction = ("source", "DESC") if kind is Kind.LOSS else ("0", "ASC")
        query = load_sql("compression.sql", "training_shares.sql").format(group=group, direction=direction)
    cells = connection.execute(query).fetchnumpy()
    values = np.full((samples, int(cells["source"].max()) + 1), np.nan)
    values[cells["sample"], cells["source"]] = cells["value"]
    return values


def size_of(rate: float | None, size: int | None, there: int) -> int:
    """How many of those that are there are kept: exactly one of rate and size is given; at least one.

    Raises:
        BadTrainingFile: Neither or both are given, the rate is not in (0, 1], or the size not between 1 and all.
    """
    if not there:
        raise BadTrainingFile("no sample is left to select from; drop less")
    if (rate is None) == (size is None):
        raise BadTrainingFile("say how much to keep: either --rate, a share such as 0.1, or --size, a number")
    if rate is not None:
        if not 0 < rate <= 1:
            raise BadTrainingFile(f"{rate:g} is no share in (0, 1]; 0.1 keeps a tenth")
        return max(1, math.floor(rate * there + 0.5))
    if size is None or not 1 <= size <= there:
        raise BadTrainingFile(f"--size {size} is not between 1 and the {there} samples there are")
    return size


def _refuse_conflicts(connection: duckdb.DuckDBPyConnection, given: Given) -> None:
    count, one = connection.execute(load_sql("compression.sql", "training_conflict.sql")).fetchone() or (0, None)
    if not count:
        return
    of_source = f" by {one['source']}" if given.has_source else ""
    mend = "remove the wrong ones" if given.has_source else "name each row's source, or remove the wrong ones"
    raise BadTrainingFile(
        f"{given.path}: {count} times a sample has several, different values of one source, for one {one['sample_id']}"
        f"{of_source} has {one['lowest']:g} and {one['highest']:g}; {mend}"
    )


def _solved(samples: Samples, kind: Kind, wanted: Wanted) -> tuple[Mask | None, Mask | None]:
    """(samples,) whether no source, and whether each, solves it; None where nothing says what solving is."""
    line, low, high = wanted.solved_at, samples.lowest, samples.highest
    if kind is Kind.LOSS:
        if line is not None:
            return low > line, high <= line
        if wanted.drop_solved or wanted.drop_unsolved:
            raise BadTrainingFile("no loss says by itself that a sample is solved; say down to which: --solved-at 0.1")
        return None, None
    if line is not None:
        return high < line, low >= line
    worst, best = (0.0, 1.0) if kind is Kind.SCORE else (low.min(), high.max())
    return high <= worst, low >= best


def _floors(wanted: Wanted) -> Floats:
    floors = np.array([wanted.floor_easy, 0.0, wanted.floor_hard])
    if not (floors >= 0).all() or floors.sum() > 1:
        raise BadTrainingFile(
            f"floors of {wanted.floor_easy:g} and {wanted.floor_hard:g} are no shares that fit in one set; let their "
            "sum be at most 1"
        )
    return floors
