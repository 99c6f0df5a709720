"""`compress select` and `compress extend`: from a pool to a subset with its manifest."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compression.design import Design
from compression.families import families_of
from compression.frame import Frame, family_means, make_frame, share_to_size
from compression.importers.base import BadPool, DrawnOtherwise, NotLarger, OtherFile, OtherPool
from compression.labels import Labels, read_labels
from compression.matrix import Codes, ScoreMatrix
from compression.samplers import DEFAULT_SAMPLER, SAMPLERS, Floors, Plan
from compression.subset import (
    Benchmark,
    Known,
    Manifest,
    ModelEstimate,
    Stratum,
    SubsetSample,
    draw_sample,
    estimate,
)
from core.errors import UnknownName
from core.provenance import describe_environment

BENCHMARK = "benchmark"
_RECOMPUTED_WITH = ("duckdb", "interplay", "numpy", "scikit-learn", "scipy")


@dataclass(frozen=True)
class Selection:
    """What is asked of a subset.

    Attributes:
        name: Of the subset.
        rate: Share of the questions that is kept; or
        size: their number.
        sampler: Name.
        seed: Of strata and draw.
        floors: Least number of questions of each label, by column; `benchmark` needs no file of labels.
        labels: File of labels (`read_labels`).
        together: Column whose groups stay together.
        fixed: File of questions that are in whatever is drawn.
        families: Of models, by name.
    """

    name: str
    rate: float | None = None
    size: int | None = None
    sampler: str = DEFAULT_SAMPLER
    seed: int = 0
    floors: Mapping[str, int] = field(default_factory=dict)
    labels: Path | None = None
    together: str | None = None
    fixed: Path | None = None
    families: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Subset:
    """A subset, and what it says of the models that it was made of."""

    manifest: Manifest
    sample: SubsetSample
    data: bytes
    estimates: tuple[ModelEstimate, ...]


def select(matrix: ScoreMatrix, origin: str, wanted: Selection) -> Subset:
    """Make a subset of a pool.

    Raises:
        BadPool: The rate is no share, floors or fixed questions exceed it, a file cannot be read as what it is, or the
            sampler's estimates are no weighted means.
        UnknownName: No sampler, no column or no model is called so.
    """
    frame, told = _frame(matrix, wanted)
    units = _units(frame, wanted.rate, wanted.size)
    sampler = SAMPLERS[wanted.sampler].load()
    if not sampler.is_weighted:
        raise BadPool(
            f"{wanted.sampler!r} needs the whole pool for each estimate, so that its subset is of no use; "
            f"choose another sampler, such as {DEFAULT_SAMPLER!r}"
        )
    plan = sampler.plan(frame, units, wanted.seed, _floors(frame, wanted, told, matrix))
    return _drawn(matrix, origin, wanted, frame, plan, (units,), told)


def extend(
    matrix: ScoreMatrix,
    origin: str,
    earlier: tuple[Manifest, SubsetSample],
    wanted: Selection,
    rate: float | None,
    size: int | None,
) -> Subset:
    """A larger subset that holds all of an earlier one: more draws in the same strata with the same random numbers.

    Args:
        matrix: The pool that the earlier one was drawn from.
        origin: What read it.
        earlier: The earlier subset.
        wanted: As it was selected (`selection_of`), under the name of the new one.
        rate: Share of the questions that the new one has; or
        size: their number.

    Raises:
        OtherPool, OtherFile, DrawnOtherwise: The pool, a file, or what computes it is not what it was.
        NotLarger: It is to be no larger.
        BadPool: The sampler has no strata, or as `select`.
    """
    before, kept = earlier
    if matrix.fingerprint != before.pool_sha256:
        raise OtherPool(
            f"{matrix.pool} is not the pool that {before.name!r} was drawn from: scores, models or questions differ; "
            "select a new subset"
        )
    frame, told = _frame(matrix, wanted)
    for what, old, new in (
        ("labels", before.labels_sha256, told.labels_sha256),
        ("fixed questions", before.fixed_sha256, told.fixed_sha256),
    ):
        if old != new:
            raise OtherFile(f"{before.name!r} was drawn with another file of {what}; give the same file again")
    units = _units(frame, rate, size)
    if units <= before.sizes[-1]:
        raise NotLarger(f"{before.name!r} has {before.sizes[-1]} of {len(frame)} already; extend it to more")
    plan = (
        SAMPLERS[wanted.sampler].load().plan(frame, before.sizes[0], wanted.seed, _floors(frame, wanted, told, matrix))
    )
    if not isinstance(plan, Design):
        raise BadPool(f"{wanted.sampler!r} has no strata to draw more of; select a new subset")
    sizes = (*before.sizes, units)
    for step in sizes[1:]:
        plan = plan.extended(step)
    larger = _drawn(matrix, origin, wanted, frame, plan, sizes, told, before.name)
    if not set(kept.questions(before)) <= set(larger.sample.questions(larger.manifest)):
        versions = ", ".join(f"{name} {version}" for name, version in sorted(before.packages.items()))
        raise DrawnOtherwise(
            f"{before.name!r} cannot be drawn again as it was, with {versions}; install these to extend it, or if they "
            "are there, do it on the kind of processor that it was drawn on",
            versions=versions,
        )
    return larger


def selection_of(before: Manifest, name: str, labels: Path | None, fixed: Path | None) -> Selection:
    """How a subset was selected, for one of another name that extends it.

    Families keep their numbers: their order decides which are left out together when a sampler tunes itself.
    """
    return Selection(
        name=name,
        sampler=before.sampler.partition("@")[0],
        seed=before.seed,
        floors=before.floors,
        labels=labels,
        together=before.together,
        fixed=fixed,
        families={model: f"{family:06d}" for model, family in zip(before.sources, before.families, strict=True)},
    )


def _units(frame: Frame, rate: float | None, size: int | None) -> int:
    """How many units are drawn for so many questions; groups count as many questions as they hold on average."""
    questions = share_to_size(rate, size, frame.question_count)
    share = questions / frame.question_count if rate is None else rate
    return max(1, round(share * len(frame)))


@dataclass(frozen=True)
class _Told:
    labels: Labels | None
    labels_sha256: str | None
    fixed_sha256: str | None


def _frame(matrix: ScoreMatrix, wanted: Selection) -> tuple[Frame, _Told]:
    labels = None if wanted.labels is None else read_labels(wanted.labels, matrix)
    fixed, fixed_sha256 = _fixed(matrix, wanted)
    together = None if wanted.together is None else _column(wanted.together, labels, matrix)
    frame = make_frame(matrix, families_of(matrix, wanted.families), together=together, fixed=fixed)
    return frame, _Told(labels, None if labels is None else labels.digest, fixed_sha256)


def _fixed(matrix: ScoreMatrix, wanted: Selection) -> tuple[NDArray[np.bool_] | None, str | None]:
    if wanted.fixed is None:
        return None, None
    listed = read_labels(wanted.fixed, matrix)
    if listed.unknown:
        raise BadPool(f"{wanted.fixed}: {listed.unknown[0]!r} is no question of {matrix.pool}, as it is after gaps")
    return listed.listed, listed.digest


def _column(name: str, labels: Labels | None, matrix: ScoreMatrix) -> list[str | None]:
    if name == BENCHMARK:
        return [matrix.benchmarks[code] for code in matrix.benchmark_of]
    if labels is None:
        raise BadPool(f"the labels {name!r} of the questions are not known; give a file that has them with --labels")
    if name not in labels.columns:
        raise UnknownName("column of the labels", name, labels.columns)
    return list(labels.columns[name])


def _floors(frame: Frame, wanted: Selection, told: _Told, matrix: ScoreMatrix) -> Floors | None:
    if not wanted.floors:
        return None
    # A manifest in a file has them sorted too, and the order decides how strata are numbered.
    columns = {name: _column(name, told.labels, matrix) for name in sorted(wanted.floors)}
    least = {name: wanted.floors[name] for name in columns}
    return Floors({name: _of_units(frame, column) for name, column in columns.items()}, least)


def _of_units(frame: Frame, column: Sequence[str | None]) -> list[str | None]:
    """(units,) the rarest label that a unit's questions have: the floors of others are met more easily."""
    counts = Counter(label for label in column if label is not None)
    labels: list[str | None] = [None] * len(frame)
    for unit, label in zip(frame.unit_of.tolist(), column, strict=True):
        if label is not None and ((other := labels[unit]) is None or counts[label] < counts[other]):
            labels[unit] = label
    return labels


def _check_floors(frame: Frame, drawn: Codes, wanted: Selection, told: _Told, matrix: ScoreMatrix) -> None:
    """A group has one label when it is drawn, so that a floor can be missed where groups have several."""
    kept = np.isin(frame.unit_of, drawn)
    for name, least in sorted(wanted.floors.items()):
        column = np.array([label or "" for label in _column(name, told.labels, matrix)], dtype=object)
        for label in np.unique(column[column != ""]):
            found, there = int((kept & (column == label)).sum()), int((column == label).sum())
            if found < min(least, there):
                raise BadPool(
                    f"{found} questions of {name} {label!r} are in the subset, and its floor is {least}; groups that "
                    "stay together hold several labels, so put some of it among --fixed or take the groups apart"
                )


def _drawn(
    matrix: ScoreMatrix,
    origin: str,
    wanted: Selection,
    frame: Frame,
    plan: Plan,
    sizes: tuple[int, ...],
    told: _Told,
    extends: str | None = None,
) -> Subset:
    drawn = plan.draw(np.random.default_rng(wanted.seed))
    _check_floors(frame, drawn.units, wanted, told, matrix)
    is_design = isinstance(plan, Design)
    strata = plan.labels[drawn.units] if isinstance(plan, Design) else np.arange(len(drawn.units))
    sample, places = draw_sample(matrix, frame, drawn.units, strata, drawn.weights)
    regression = None if drawn.survey is None else drawn.survey.regression
    sampler = SAMPLERS[wanted.sampler]
    packages = describe_environment().packages
    manifest = Manifest(
        name=wanted.name,
        pool=matrix.pool,
        pool_sha256=matrix.fingerprint,
        origin=origin,
        questions=len(matrix),
        units=len(frame),
        sizes=sizes,
        kept=len(sample),
        seed=wanted.seed,
        sampler=sampler.fingerprint,
        has_interval=is_design,
        sources=matrix.models,
        families=tuple(frame.families.tolist()),
        missing=matrix.missing,
        merged=matrix.merged,
        floors=dict(wanted.floors),
        together=wanted.together,
        labels_sha256=told.labels_sha256,
        labels_beside=0 if told.labels is None else len(told.labels.unknown),
        unlabelled=0 if told.labels is None else int((~told.labels.listed).sum()),
        fixed_sha256=told.fixed_sha256,
        extends=extends,
        benchmarks=_benchmarks(matrix, sample),
        strata=_strata(plan) if isinstance(plan, Design) else (),
        known=None if regression is None else Known(ridge=regression.ridge, means=_benchmark_means(matrix, frame)),
        packages={name: version for name, version in packages.items() if name in _RECOMPUTED_WITH},
    )
    data = sample.write(manifest)
    manifest = manifest.model_copy(update={"sample_sha256": sha256(data).hexdigest()})
    manifest = manifest.model_copy(update={"seal": manifest.content_sha256()})
    scores = matrix.scores[places].astype(np.float64)
    # Of a model some of whose scores are filled in nobody knows the mean.
    truths = np.where(matrix.imputed, np.nan, matrix.scores.mean(axis=0, dtype=np.float64))
    return Subset(manifest, sample, data, estimate(manifest, sample, matrix.models, scores, truths))


def _benchmarks(matrix: ScoreMatrix, sample: SubsetSample) -> tuple[Benchmark, ...]:
    count = len(matrix.benchmarks)
    pool = np.bincount(matrix.benchmark_of, minlength=count).tolist()
    kept = np.bincount(sample.benchmark_of, minlength=count).tolist()
    return tuple(
        Benchmark(name=name, questions=pool[code], kept=kept[code]) for code, name in enumerate(matrix.benchmarks)
    )


def _strata(design: Design) -> tuple[Stratum, ...]:
    means = np.bincount(design.labels, design.frame.sources.mean(axis=1)) / design.sizes
    return tuple(
        Stratum(units=units, drawn=drawn, mean=mean)
        for units, drawn, mean in zip(design.sizes.tolist(), design.draws.tolist(), means.tolist(), strict=True)
    )


def _benchmark_means(matrix: ScoreMatrix, frame: Frame) -> tuple[tuple[float, ...], ...]:
    counts = np.bincount(matrix.benchmark_of, minlength=len(matrix.benchmarks))
    sums = np.zeros((len(matrix.benchmarks), len(np.unique(frame.families))))
    np.add.at(sums, matrix.benchmark_of, family_means(matrix.scores, frame.families))
    return tuple(tuple(row) for row in (sums / counts[:, None]).tolist())
