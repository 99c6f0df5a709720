"""The tables of UNO-Bench (arXiv:2510.18915), with its columns, over whatever models and questions there are."""

from collections import Counter
from collections.abc import Iterable, Sequence

from core.condition import FULL
from core.content import Frozen, Modality
from core.question import QuestionKind
from core.taxonomy import ReportAbility
from evaluation.report.document import Column, Plain, Row, Selection, Table, TableCell
from evaluation.report.frame import LATER_STEPS, POINTS, Frame
from evaluation.report.items import ENVIRONMENT, NOT_STATED, SPEECH, ItemFacts

NOT_MEASURED = "not measured"
_ASKED_IN_FULL: Selection = {"condition": (FULL.name,)}
_OMNI: Selection = {"scope": ("omni",)}
_OMNI_CHOICE: Selection = {**_OMNI, "kind": (QuestionKind.CHOICE.value,)}
_OMNI_FREE: Selection = {**_OMNI, "kind": (QuestionKind.MULTI_STEP.value, QuestionKind.OPEN.value)}
_OMNI_STEPS: Selection = {**_OMNI, "kind": (QuestionKind.MULTI_STEP.value,)}
_BRANCHES: dict[str, Selection] = {
    "Perception": {"branch": ("perception",)},
    "Reasoning": {"branch": ("reasoning",)},
    "Overall": {},
}
_ABILITIES = {
    "Perception": (ReportAbility.ALIGNMENT, ReportAbility.RECOGNITION),
    "Reasoning": (ReportAbility.GENERAL, ReportAbility.TEMPORAL, ReportAbility.SPATIAL),
}

Measured = tuple[Column, Selection, str]


class Audit(Frozen):
    """What people found in a sample of a benchmark: keys that are right, questions that need every modality."""

    answers_checked: int
    answers_right: int
    needs_checked: int
    needs_all: int


class Benchmark(Frozen):
    """What Table 1 says of a benchmark; counts of items, in all and by what they are."""

    title: str
    items: int
    modalities: dict[str, int]
    languages: dict[str, int]
    kinds: dict[str, int]
    needs_two: int
    audit: Audit | None = None


def describe(title: str, items: Iterable[ItemFacts], audit: Audit | None = None) -> Benchmark:
    """Count the questions of a benchmark."""
    questions = [item.question for item in items]
    needs = [question.required - {Modality.TEXT} for question in questions]
    return Benchmark(
        title=title,
        items=len(questions),
        modalities=_counted("+".join(sorted(question.modalities)) or "text" for question in questions),
        languages=_counted(question.language for question in questions),
        kinds=_counted(question.kind.value for question in questions),
        needs_two=sum(len(one) >= 2 for one in needs),
        audit=audit,
    )


def benchmark_table(benchmarks: Sequence[Benchmark]) -> Table:
    """Table 1: what each benchmark holds, and what an audit by people found."""
    titles = (
        "Items", "Modalities", "Languages", "Kinds", "Needs two or more", "Right answers", "Needs every modality",
    )  # fmt: skip
    return Table(
        key="benchmarks",
        title="Benchmark (Table 1)",
        note="Needs two or more: of the authors' own word, questions that need at least two of image, audio and video. "
        "The last two columns come from an audit by people, with exact 95% intervals.",
        head="benchmark",
        columns=tuple(Column(title=title) for title in titles),
        rows=tuple(Row(label=one.title, cells=_benchmark_cells(one)) for one in benchmarks),
    )


def paper_tables(frame: Frame, models: Sequence[str]) -> list[Table]:
    """Tables 2 to 6, those that have data; a row for each of the models, in this order."""
    found = (_table2(frame, models), _table3(frame, models), _table4(frame, models), _table5(frame, models),
             _table6(frame, models))  # fmt: skip
    return [table for table in found if table is not None]


def _table2(frame: Frame, models: Sequence[str]) -> Table | None:
    columns = {
        "Audio": {"scope": ("audio",)},
        "Visual": {"scope": ("visual",)},
        "Omni-MC": _OMNI_CHOICE,
        "Omni-MO": _OMNI_FREE,
    }
    return _grid(
        frame,
        models,
        "table2",
        "Uni-modal and omni-modal (Table 2)",
        "Audio and visual: questions with media of that kind only. Omni-MC: choice questions that are heard and seen; "
        "Omni-MO: multi-step and open ones.",
        [(Column(title=title), {**_ASKED_IN_FULL, **which}, POINTS) for title, which in columns.items()],
    )


def _table3(frame: Frame, models: Sequence[str]) -> Table | None:
    base = {**_ASKED_IN_FULL, **_OMNI_CHOICE}
    columns: list[Measured] = []
    for branch, abilities in _ABILITIES.items():
        columns += [
            (Column(title=one.value.capitalize(), group=branch), {**base, "ability": (one.value,)}, POINTS)
            for one in abilities
        ]
        columns.append((Column(title="Overall", group=branch), {**base, **_BRANCHES[branch]}, POINTS))
    columns.append((Column(title="Overall"), base, POINTS))
    note = "Choice questions that are heard and seen, by the ability that their task type belongs to."
    return _grid(frame, models, "table3", "By ability (Table 3)", note, columns)


def _table4(frame: Frame, models: Sequence[str]) -> Table | None:
    views = {"Audio": "audio_only", "+ caption": "audio_and_caption", "+ visual": "full"}
    note = (
        "Choice questions that are heard and seen: with the audio alone, with a caption in place of the visual part, "
        "and with everything."
    )
    return _grid_of_views(frame, models, "table4", "What seeing adds to hearing (Table 4)", note, _BRANCHES, views)


def _table5(frame: Frame, models: Sequence[str]) -> Table | None:
    views = {"Visual": "visual_only", "+ words": "visual_and_words", "+ audio": "full"}
    kinds = frame.names("sound", _OMNI_CHOICE)
    groups: dict[str, Selection] = {"Environment": {"sound": (ENVIRONMENT,)}, "Speech": {"sound": (SPEECH,)}}
    if NOT_STATED in kinds:
        groups["Not stated"] = {"sound": (NOT_STATED,)}
    note = (
        "Choice questions that are heard and seen: with the visual part alone, with a caption or transcript in place "
        "of the audio, and with everything; by the kind of sound (music counts as environment)."
    )
    title = "What hearing adds to seeing (Table 5)"
    return _grid_of_views(frame, models, "table5", title, note, {**groups, "Overall": {}}, views)


def _table6(frame: Frame, models: Sequence[str]) -> Table | None:
    base = {**_ASKED_IN_FULL, **_OMNI_STEPS}
    counts = sorted(int(count) for count in frame.names("steps", _OMNI_STEPS))
    columns: list[Measured] = []
    for group, branch in _BRANCHES.items():
        for title, measure, least in (("Q1", "step_1", 1), ("Q2", "step_2", 2), ("Q3+", LATER_STEPS, 3)):
            having = {"steps": tuple(str(count) for count in counts if count >= least)}
            columns.append((Column(title=title, group=group), {**base, **branch, **having}, measure))
        columns.append((Column(title="Total", group=group), {**base, **branch}, POINTS))
    note = (
        "Multi-step questions that are heard and seen: points earned on the first, second and all later sub-questions, "
        "in percent of the ten points, over the questions that have one. The total is the sum of these, each times the "
        "share of questions that have it."
    )
    return _grid(frame, models, "table6", "Step by step (Table 6)", note, columns)


def _grid_of_views(
    frame: Frame,
    models: Sequence[str],
    key: str,
    title: str,
    note: str,
    groups: dict[str, Selection],
    views: dict[str, str],
) -> Table | None:
    beside_full = [view for view in views.values() if view != FULL.name]
    if not frame.mask({**_OMNI_CHOICE, "view": tuple(beside_full), "model": tuple(models)}).any():
        return None
    columns = [
        (Column(title=shown, group=group), {**_OMNI_CHOICE, **which, "view": (view,)}, POINTS)
        for group, which in groups.items()
        for shown, view in views.items()
    ]
    return _grid(frame, models, key, title, note, columns)


def _grid(
    frame: Frame, models: Sequence[str], key: str, title: str, note: str, columns: Sequence[Measured]
) -> Table | None:
    """A row for each model, a number for each column; None when no column has an answer."""
    if not any(frame.mask({**which, "model": tuple(models)}).any() for _, which, _ in columns):
        return None
    rows = [
        Row(
            label=model,
            cells=tuple(frame.number({"model": (model,), **which}, measure) for _, which, measure in columns),
        )
        for model in models
    ]
    heads = tuple(column for column, _, _ in columns)
    return Table(key=key, title=title, note=note, head="model", columns=heads, rows=tuple(rows))


def _benchmark_cells(one: Benchmark) -> tuple[TableCell, ...]:
    audit = one.audit
    return (
        Plain(text=f"{one.items:,}", value=one.items),
        *(Plain(text=_listed(counts)) for counts in (one.modalities, one.languages, one.kinds)),
        _share(one.needs_two, one.items),
        _share(audit.answers_right, audit.answers_checked, True) if audit else Plain(text=NOT_MEASURED),
        _share(audit.needs_all, audit.needs_checked, True) if audit else Plain(text=NOT_MEASURED),
    )


def _share(part: int, whole: int, is_sample: bool = False) -> Plain:
    if not whole:
        return Plain(text=NOT_MEASURED)
    share = 100 * part / whole
    if not is_sample:
        return Plain(text=f"{share:.1f}% ({part:,}/{whole:,})", value=share)
    from scipy.stats import binomtest

    exact = binomtest(part, whole).proportion_ci(0.95, method="exact")
    return Plain(text=f"{share:.1f}% [{100 * exact.low:.1f}, {100 * exact.high:.1f}] ({part:,}/{whole:,})", value=share)


def _counted(texts: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(texts).items(), key=lambda pair: (-pair[1], pair[0])))


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name.replace('_', '-')} {count:,}" for name, count in counts.items()) or "-"
