"""A subset: what is kept and what is not, with which weights, and what it says of new models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation_ui.words import N_, Words
from compression.estimate_new import Estimates
from compression.subset import Interval, Manifest, SubsetSample
from compression.subset_view import LabelCount, QuestionRow
from warehouse.spreadsheets import Cell

PAGE_SIZE = 50
KEPT, LEFT = "kept", "left"
WHICH = {KEPT: N_("Kept"), LEFT: N_("Left out")}


@dataclass(frozen=True)
class SubsetRow:
    """A subset in a list."""

    name: str
    size: str
    sampler: str
    share: str


@dataclass(frozen=True)
class KeptRow:
    """What is kept of a benchmark, a stratum or a label; `bar` is a share in [0, 1]."""

    name: str
    questions: str
    kept: str
    left: str
    share: str
    bar: float
    stands_for: str
    is_lacking: bool


@dataclass(frozen=True)
class QuestionLine:
    """A question; `stands_for` is how many of the pool it stands for, empty where it is left out."""

    benchmark: str
    question_id: str
    is_kept: bool
    stands_for: str
    stratum: str
    mean: str


@dataclass(frozen=True)
class EstimateRow:
    """What a subset says of a model."""

    model: str
    mean: str
    interval: str
    macro: str
    macro_interval: str


def subset_rows(manifests: Sequence[Manifest], t: Words) -> list[SubsetRow]:
    """Subsets in a list."""
    return [
        SubsetRow(one.name, size_words(one, t), one.sampler, t.percent(one.kept / one.questions)) for one in manifests
    ]


def size_words(manifest: Manifest, t: Words) -> str:
    """As "190 of 1,901 questions"."""
    return t("{kept} of {all} questions", kept=t.number(manifest.kept), all=t.number(manifest.questions))


def facts_of(manifest: Manifest, t: Words) -> list[tuple[str, str]]:
    """What a subset was made of."""
    missing = manifest.missing
    facts = [
        (t("Pool"), manifest.pool),
        (t("Kept"), f"{size_words(manifest, t)} ({t.percent(manifest.kept / manifest.questions)})"),
        (t("Sampler"), t("{sampler}, seed {seed}", sampler=manifest.sampler, seed=manifest.seed)),
        (t("Made of"), t.plural("{count} model", "{count} models", len(manifest.sources))),
        (
            t("Intervals"),
            t("yes, for any model") if manifest.has_interval else t("none: this sampler has no valid one"),
        ),
    ]
    if manifest.floors:
        facts.append((t("At least"), t(", ").join(f"{column} {least}" for column, least in manifest.floors.items())))
    if manifest.together:
        facts.append((t("Stays together"), manifest.together))
    if manifest.extends:
        facts.append((t("Extends"), manifest.extends))
    if missing.cells:
        left = [t("{count} questions left out", count=t.number(missing.dropped_questions))]
        if missing.dropped_models:
            left.append(t("without {models}", models=t(", ").join(missing.dropped_models)))
        if missing.imputed_cells:
            left.append(t("{count} scores filled in", count=t.number(missing.imputed_cells)))
        facts.append((t("Missing scores"), " · ".join(left)))
    return facts


def hashes_of(manifest: Manifest, t: Words) -> list[tuple[str, str]]:
    """By what the subset can be checked."""
    return [
        (t("Manifest"), manifest.seal),
        (t("Questions and weights"), manifest.sample_sha256),
        (t("Pool"), manifest.pool_sha256),
    ]


def benchmark_rows(manifest: Manifest, sample: SubsetSample, t: Words) -> list[KeptRow]:
    """What is kept of each benchmark, and what it stands for."""
    stands: dict[int, float] = {}
    for code, weight in zip(sample.benchmark_of.tolist(), sample.weights.tolist(), strict=True):
        stands[code] = stands.get(code, 0.0) + weight
    return [
        _kept_row(one.name, one.questions, one.kept, stands.get(code, 0.0) * manifest.questions, t)
        for code, one in enumerate(manifest.benchmarks)
    ]


def stratum_rows(manifest: Manifest, t: Words) -> list[tuple[KeptRow, str]]:
    """What is drawn of each stratum, the hardest first, with its mean score."""
    order = sorted(range(len(manifest.strata)), key=lambda place: manifest.strata[place].mean)
    rows = []
    for number, place in enumerate(order, start=1):
        one = manifest.strata[place]
        rows.append((_kept_row(str(number), one.units, one.drawn, float(one.units), t), t.percent(one.mean)))
    return rows


def label_rows(counts: Sequence[LabelCount], manifest: Manifest, t: Words) -> list[KeptRow]:
    """What is kept of each label."""
    return [_kept_row(one.label, one.questions, one.kept, one.share * manifest.questions, t) for one in counts]


def question_lines(rows: Sequence[QuestionRow], manifest: Manifest, t: Words) -> list[QuestionLine]:
    """Questions in words; strata are numbered from the hardest."""
    order = sorted(range(len(manifest.strata)), key=lambda place: manifest.strata[place].mean)
    number_of = {place: number for number, place in enumerate(order, start=1)}
    return [
        QuestionLine(
            benchmark=row.benchmark,
            question_id=row.question_id,
            is_kept=row.weight is not None,
            stands_for="" if row.weight is None else f"{row.weight * manifest.questions:.1f}",
            stratum="" if row.stratum is None or row.stratum not in number_of else t.number(number_of[row.stratum]),
            mean="–" if row.mean is None else t.percent(row.mean),
        )
        for row in rows
    ]


# Heads of the table of kept questions that can be saved, as programs read them.
MEMBER_COLUMNS = ("benchmark", "question_id", "weight", "stratum")


def member_cells(manifest: Manifest, sample: SubsetSample) -> Iterable[Sequence[Cell]]:
    """Kept questions with their weights, in the order of strata."""
    keys = sample.questions(manifest)
    for (benchmark, question), weight, stratum in zip(
        keys, sample.weights.tolist(), sample.stratum_of.tolist(), strict=True
    ):
        yield [benchmark, question, weight, stratum]


def estimate_rows(found: Estimates, t: Words) -> list[EstimateRow]:
    """Estimates in words."""
    return [
        EstimateRow(one.model, *_interval_words(one.micro, t), *_interval_words(one.macro, t)) for one in found.models
    ]


def unestimated(found: Estimates, kept: int, t: Words) -> list[str]:
    """Models without an estimate, and why."""
    return [
        t(
            "No estimate for {model}: {count} of {all} questions are unanswered. A failed call is no wrong answer.",
            model=model,
            count=t.number(count),
            all=t.number(kept),
        )
        for model, count in found.incomplete
    ]


def _kept_row(name: str, questions: int, kept: int, stands_for: float, t: Words) -> KeptRow:
    share = kept / questions if questions else 0.0
    return KeptRow(
        name=name,
        questions=t.number(questions),
        kept=t.number(kept),
        left=t.number(questions - kept),
        share=t.percent(share),
        bar=share,
        stands_for=t.number(round(stands_for)),
        is_lacking=not kept,
    )


def _interval_words(found: Interval, t: Words) -> tuple[str, str]:
    value = "–" if found.value is None else t.percent(found.value)
    if found.low is None or found.high is None:
        return value, t("no interval")
    return value, f"{100 * found.low:.1f}–{100 * found.high:.1f}"
