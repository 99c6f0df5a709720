"""A subset of a pool: its questions with weights, and the estimates that it gives for any model that answers them."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from compression.bounds import Bounds, bounds_of, bounds_of_all, efficiency_of, left_of, mean_of
from compression.frame import Frame, family_means, unit_sums
from compression.importers.base import BadPool
from compression.matrix import Codes, Floats, Missing, ScoreMatrix
from compression.survey import Regression, Survey
from core.content import Frozen
from core.provenance import content_hash

_PREDICTOR = "predictor_"


class Benchmark(Frozen):
    """A benchmark of the pool: its questions there, and in the subset."""

    name: str
    questions: int
    kept: int


class Stratum(Frozen):
    """A stratum: its units in the pool, those drawn, and the mean of the source models' scores in it."""

    units: int
    drawn: int
    mean: float


class Known(Frozen):
    """What estimates are regressed on: means over the pool, and in each benchmark, of the sources' families.

    Attributes:
        ridge: Strength of the ridge.
        means: (benchmarks, predictors) over the questions of each benchmark.
    """

    ridge: float
    means: tuple[tuple[float, ...], ...]


class Manifest(Frozen):
    """Everything that the subset can be recomputed, extended and used with.

    Attributes:
        name: Of the subset.
        pool: Of the project's pool, or the file's.
        pool_sha256: Of its names and scores.
        origin: What read it.
        questions: Of the pool, after `missing`.
        units: That are drawn: questions, or groups of questions that stay together.
        sizes: Units drawn; a subset that was extended has those of each step.
        kept: Questions in the subset.
        seed: Of strata and draw.
        sampler: `name@version`.
        has_interval: Whether intervals hold for any model.
        sources: Models whose scores it is made of.
        families: Of each source, a number.
        missing: What was missing, and what became of it.
        merged: Rows that repeated another.
        floors: Least number of each label, by column.
        together: Column of the labels whose groups stay together.
        labels_sha256: Of the file of labels.
        labels_beside: Rows of it that name no question of the pool.
        unlabelled: Questions of the pool that it does not name.
        fixed_sha256: Of the file of questions that are in whatever is drawn.
        extends: Name of the subset that it extends.
        benchmarks: Of the pool.
        strata: Of the pool.
        known: What estimates are regressed on.
        sample_sha256: Of the Parquet file that holds the questions, weights and predictors.
        packages: Versions of what computed it.
        seal: sha256 of all the rest, in canonical form.
    """

    name: str
    pool: str
    pool_sha256: str
    origin: str
    questions: int
    units: int
    sizes: tuple[int, ...]
    kept: int
    seed: int
    sampler: str
    has_interval: bool
    sources: tuple[str, ...]
    families: tuple[int, ...]
    missing: Missing
    merged: int = 0
    floors: dict[str, int] = Field(default_factory=dict)
    together: str | None = None
    labels_sha256: str | None = None
    labels_beside: int = 0
    unlabelled: int = 0
    fixed_sha256: str | None = None
    extends: str | None = None
    benchmarks: tuple[Benchmark, ...]
    strata: tuple[Stratum, ...]
    known: Known | None = None
    sample_sha256: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    seal: str = ""

    def content_sha256(self) -> str:
        """What `seal` has to be."""
        return content_hash(self.model_dump(mode="json", exclude={"seal"}))


class Interval(Frozen):
    """An estimated mean with its 95% interval; `reason` tells why one is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


class ModelEstimate(Frozen):
    """What the subset says of one model.

    Attributes:
        model: Its name.
        micro: Its mean over all questions of the pool.
        macro: The mean of its means in the benchmarks.
        benchmarks: In each benchmark of the manifest, in order.
        truth: Its mean over the pool, where that is known.
    """

    model: str
    micro: Interval
    macro: Interval
    benchmarks: tuple[Interval, ...]
    truth: float | None = None


@dataclass(frozen=True)
class SubsetSample:
    """The questions of a subset, in the order of strata and units.

    Attributes:
        benchmark_of: (kept questions,) number of each one's benchmark in the manifest.
        question_ids: (kept questions,)
        unit_of: (kept questions,) number of the drawn unit, from 0.
        stratum_of: (kept questions,)
        weights: (kept questions,) the estimated mean of a model is the sum of weights times its scores.
        predictors: (kept questions, families) mean scores of the sources' families.
    """

    benchmark_of: Codes
    question_ids: tuple[str, ...]
    unit_of: Codes
    stratum_of: Codes
    weights: Floats
    predictors: Floats

    def __len__(self) -> int:
        return len(self.question_ids)

    def questions(self, manifest: Manifest) -> list[tuple[str, str]]:
        """Benchmark and id of each question, in order."""
        names = [manifest.benchmarks[code].name for code in self.benchmark_of]
        return list(zip(names, self.question_ids, strict=True))

    def write(self, manifest: Manifest) -> bytes:
        """As a Parquet file: benchmark, question_id, unit, stratum, weight, predictor_0 and so on."""
        columns: dict[str, object] = {
            "benchmark": [manifest.benchmarks[code].name for code in self.benchmark_of],
            "question_id": list(self.question_ids),
            "unit": self.unit_of,
            "stratum": self.stratum_of,
            "weight": self.weights,
        }
        columns |= {f"{_PREDICTOR}{place}": column for place, column in enumerate(self.predictors.T)}
        buffer = BytesIO()
        pq.write_table(pa.table(columns), buffer, compression="zstd")
        return buffer.getvalue()

    @classmethod
    def read(cls, data: bytes, manifest: Manifest) -> "SubsetSample":
        """From what `write` made of this manifest."""
        # A thread of pyarrow's that holds a Python object when the process ends aborts it: none is started.
        table = pq.ParquetFile(BytesIO(data)).read(use_threads=False)
        codes = {one.name: code for code, one in enumerate(manifest.benchmarks)}
        names = [name for name in table.column_names if name.startswith(_PREDICTOR)]
        predictors = [table[name].to_numpy() for name in names]
        return cls(
            benchmark_of=np.array([codes[name] for name in table["benchmark"].to_pylist()], dtype=np.int64),
            question_ids=tuple(table["question_id"].to_pylist()),
            unit_of=table["unit"].to_numpy(),
            stratum_of=table["stratum"].to_numpy(),
            weights=table["weight"].to_numpy(),
            predictors=np.column_stack(predictors) if predictors else np.zeros((table.num_rows, 0)),
        )


def draw_sample(
    matrix: ScoreMatrix, frame: Frame, units: Codes, strata: Codes, weights: Floats
) -> tuple[SubsetSample, Codes]:
    """The questions of drawn units, and their places in the matrix; strata and weights are those of the units."""
    order = np.full(len(frame), -1, dtype=np.int64)
    order[units] = np.arange(len(units))
    places = np.flatnonzero(order[frame.unit_of] >= 0)
    places = places[np.argsort(order[frame.unit_of[places]], kind="stable")]
    drawn = order[frame.unit_of[places]]
    sample = SubsetSample(
        benchmark_of=matrix.benchmark_of[places],
        question_ids=tuple(matrix.question_ids[places].tolist()),
        unit_of=drawn,
        stratum_of=strata[drawn],
        # A unit's value is scaled so (see `Frame`).
        weights=weights[drawn] * (len(frame) / frame.question_count),
        predictors=family_means(matrix.scores[places], frame.families),
    )
    return sample, places


def estimate(
    manifest: Manifest, sample: SubsetSample, models: Sequence[str], scores: Floats, truths: Floats | None = None
) -> tuple[ModelEstimate, ...]:
    """What the subset says of models from their (kept questions, models) scores.

    In a benchmark the regression of the whole sample predicts, and the weighted mean of what it misses there is added;
    the standard error is that of the linearised ratio (Särndal, Swensson and Wretman 1992, 10.5). As a benchmark can
    have few questions in the subset, its interval is also no narrower than Wilson's (see `bounds_of`).

    Raises:
        BadPool: Scores of other questions than the subset's.
    """
    if len(scores) != len(sample):
        raise BadPool(f"{len(scores)} scores for a subset of {len(sample)} questions; give one for each")
    scale = manifest.units / manifest.questions
    drawn = int(sample.unit_of.max()) + 1
    values = unit_sums(scores * scale, sample.unit_of, drawn)
    survey = _survey(manifest, sample, drawn, scale) if manifest.has_interval else None
    if survey is None:
        whole = Bounds(sample.weights @ scores)
        parts: list[Bounds | None] = [None] * len(manifest.benchmarks)
        macro = None
    else:
        found = survey.estimate(values)
        efficiency = efficiency_of(survey, found)
        whole = bounds_of_all(survey, found)
        parts, macro = _by_benchmark(manifest, sample, survey, scores, values, efficiency)
    no_interval = None if manifest.has_interval else "this sampler has no valid interval"
    return tuple(
        ModelEstimate(
            model=model,
            micro=_interval(whole, place, no_interval),
            macro=_interval(macro, place, no_interval, "a benchmark has no question in the subset"),
            benchmarks=tuple(_interval(part, place, no_interval, "no question in the subset") for part in parts),
            truth=None if truths is None or np.isnan(truths[place]) else float(truths[place]),
        )
        for place, model in enumerate(models)
    )


def _survey(manifest: Manifest, sample: SubsetSample, drawn: int, scale: float) -> Survey:
    sizes = np.array([one.units for one in manifest.strata], dtype=np.int64)
    draws = np.array([one.drawn for one in manifest.strata], dtype=np.int64)
    if manifest.known is None:
        return Survey(sizes, draws)
    counts = np.array([one.questions for one in manifest.benchmarks], dtype=np.float64)
    predictors = unit_sums(sample.predictors * scale, sample.unit_of, drawn)
    means = counts @ np.array(manifest.known.means) / counts.sum()
    if manifest.units < manifest.questions:
        # The size of a unit is known of all of them too (see `Frame.predictors`).
        predictors = np.column_stack([predictors, np.bincount(sample.unit_of, minlength=drawn) * scale])
        means = np.append(means, 1.0)
    return Survey(sizes, draws, Regression(predictors, means, manifest.known.ridge))


def _by_benchmark(
    manifest: Manifest, sample: SubsetSample, survey: Survey, scores: Floats, values: Floats, efficiency: Floats
) -> tuple[list[Bounds | None], Bounds | None]:
    slopes = survey.slopes(values)
    if slopes is None or manifest.known is None:
        predicted = np.asarray(np.zeros_like(scores))
        known = np.asarray(np.zeros((len(manifest.benchmarks), scores.shape[1])))
    else:
        of_families = slopes[: sample.predictors.shape[1]]
        predicted = np.asarray(sample.predictors @ of_families)
        known = np.asarray(np.array(manifest.known.means) @ of_families)
    weights = survey.plain_weights[sample.unit_of][:, None]
    parts: list[Bounds | None] = []
    residuals = []
    for code, benchmark in enumerate(manifest.benchmarks):
        here = sample.benchmark_of == code
        if not here.any():
            parts.append(None)
            continue
        missed = scores[here] - predicted[here]
        mean = (weights[here] * missed).sum(axis=0) / weights[here].sum()
        # The mean over units of these is the linearised error of the benchmark's mean.
        linear = unit_sums(missed - mean, sample.unit_of[here], len(values)) * (manifest.units / benchmark.questions)
        estimated = survey.with_error(known[code] + mean, linear)
        units = np.unique(sample.unit_of[here])
        parts.append(bounds_of(estimated, left_of(survey, units) / efficiency))
        residuals.append(linear)
    whole = [part for part in parts if part is not None]
    return parts, mean_of(survey, whole, residuals) if len(whole) == len(parts) else None


def _interval(found: Bounds | None, place: int, reason: str | None, absent: str | None = None) -> Interval:
    if found is None:
        return Interval(value=None, reason=reason or absent)
    value = float(found.value[place])
    if found.low is None or found.high is None:
        return Interval(
            value=value, reason=reason or "a stratum has a single question, which tells nothing of its spread"
        )
    low, high = np.clip([found.low[place], found.high[place]], 0, 1).tolist()
    return Interval(value=value, low=low, high=high)
