"""Our items and materials against an index of public benchmarks: what was not compared with it yet, resumably."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, select

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.progress import progress
from core.provenance import content_hash
from curation.contamination.build import text_of
from curation.contamination.compare import EMBEDDING_METHOD, TEXT_METHOD, Comparer, Overlap
from curation.contamination.evidence import MATCHED, fields_with, side_by_side
from curation.contamination.index_file import Benchmark, Index, Table
from curation.contamination.records import Found, Result, store
from curation.contamination.subjects import Subject, SubjectKind, materials, revisions
from curation.contamination.texts import Document, Field
from curation.dedupe.compare import near_pictures, near_sequences
from curation.dedupe.looks import METHOD_OF_MODALITY
from curation.embedding import Embedder
from curation.materials import chunked
from warehouse.runs import open_run
from warehouse.tables import ContaminationCheck
from warehouse.workspace import Workspace

COMMAND = "contamination check"
TEXT_KINDS = ("words", "characters", "options")
TEXTS_AT_ONCE = 500
MEDIA_AT_ONCE = 2_000
"""The looks of an index are read anew for each portion, so it is a large one."""
_QUESTIONS_TOLD = 20


class OtherGrams(InterplayError):
    """An index whose texts were taken apart in another way."""


@dataclass
class CheckReport:
    """How a check went.

    Attributes:
        compared: How many subjects were compared now, by the kind of comparison.
        known: How many had been compared before.
        matches: How many matches were found now, by kind.
        not_done: What could not be compared, and why.
        run_id: Of the run; None when there was nothing to do.
    """

    compared: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    matches: dict[str, int] = field(default_factory=dict)
    not_done: list[str] = field(default_factory=list)
    run_id: str | None = None


@dataclass(frozen=True)
class Which:
    """Which subjects: materials, items or both; with `again` also those that were compared with this index before."""

    materials: bool = True
    items: bool = True
    again: bool = False


@dataclass(frozen=True)
class _Comparison:
    """One way to compare: the subjects it is for, and what it finds in a portion of them.

    `method_of` gives what a `ContaminationCheck` remembers; `prefix` is the part of it that stays when texts change.
    """

    name: str
    kinds: tuple[str, ...]
    prefix: str
    subjects: Sequence[Subject]
    method_of: Callable[[Subject], str]
    find: Callable[[Sequence[Subject]], Iterator[tuple[Subject, Found]]]
    at_once: int


def check(
    workspace: Workspace,
    index: Index,
    which: Which = Which(),
    embedder: Embedder | None = None,
    *,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> CheckReport:
    """Compare what was not compared with this index yet, and store that it was, and what was found.

    What was found of a portion of subjects enters in one transaction with the marks that they were compared: this can
    stop at any moment, and the same call does what is missing. Matches that a repeated comparison no longer finds go,
    unless a person cleared them.

    Args:
        workspace: The opened project.
        index: The opened index.
        which: On which subjects.
        embedder: Makes directions of texts, where neighbours are wanted; the index must hold those of the same.
        dry_run: Only count.
        clock: For the rows' times.

    Raises:
        OtherGrams: The index's texts cannot be compared with ours.
    """
    benchmarks = index.benchmarks()
    _check_grams(index, benchmarks)
    report = CheckReport()
    with workspace.database.reading() as session:
        subjects = [*(revisions(session) if which.items else ()), *(materials(session) if which.materials else ())]
        done = set() if which.again else _done(session, index)
    comparisons = [
        *_by_text(subjects, benchmarks),
        *_by_looks(subjects, benchmarks, report),
        *_by_neighbours(subjects, benchmarks, embedder, report),
    ]
    work: list[tuple[_Comparison, list[Subject]]] = []
    for one in comparisons:
        pending = [
            subject for subject in one.subjects if (subject.kind, subject.id, one.method_of(subject)) not in done
        ]
        report.compared[one.name] = len(pending)
        report.known[one.name] = len(one.subjects) - len(pending)
        work.append((one, pending))
    if dry_run or not any(pending for _, pending in work):
        return report
    settings = {"index": index.name, "sha256": index.sha256, "methods": [one.prefix for one in comparisons]}
    with open_run(workspace.database, COMMAND, settings, clock=clock) as run:
        report.run_id = run.id
        for one, pending in work:
            _compare(workspace, index, one, pending, run.id, report, clock)
        run.summary = {"compared": report.compared, "matches": report.matches, "not_done": report.not_done}
    return report


def _check_grams(index: Index, benchmarks: Sequence[Benchmark]) -> None:
    for one in benchmarks:
        if not TEXT_METHOD.endswith(one.entry.grams):
            raise OtherGrams(
                f"{index.file}: {one.entry.name} was indexed by {one.entry.grams}, this version compares by "
                f"{TEXT_METHOD}; build the index anew from its source"
            )


def _done(session: Session, index: Index) -> set[tuple[str, str, str]]:
    columns = (ContaminationCheck.subject_kind, ContaminationCheck.subject_id, ContaminationCheck.method)
    return set(session.exec(select(*columns).where(ContaminationCheck.index_sha256 == index.sha256)))


def _compare(
    workspace: Workspace,
    index: Index,
    comparison: _Comparison,
    pending: Sequence[Subject],
    run_id: str,
    report: CheckReport,
    clock: Clock,
) -> None:
    with progress(f"Comparing {comparison.name}", len(pending)) as bar:
        for some in chunked(pending, comparison.at_once):
            found: dict[tuple[str, str], list[Found]] = {(one.kind, one.id): [] for one in some}
            for subject, one in comparison.find(some):
                found[subject.kind, subject.id].append(one)
                report.matches[one.kind] = report.matches.get(one.kind, 0) + 1
            results = [
                Result(
                    one.kind, one.id, comparison.method_of(one), comparison.prefix, comparison.kinds,
                    tuple(found[one.kind, one.id]),
                )
                for one in some
            ]  # fmt: skip
            _store(workspace, index, results, run_id, clock)
            bar.advance(len(some))


def _store(workspace: Workspace, index: Index, results: Sequence[Result], run_id: str, clock: Clock) -> None:
    """Once more when another process stored the same at the same moment."""
    try:
        with workspace.database.session() as session:
            store(session, index, results, run_id, clock)
    except IntegrityError:
        with workspace.database.session() as session:
            store(session, index, results, run_id, clock)


def _by_text(subjects: Sequence[Subject], benchmarks: Sequence[Benchmark]) -> Iterator[_Comparison]:
    comparers = [Comparer(one) for one in benchmarks if one.entry.questions]

    def find(some: Sequence[Subject]) -> Iterator[tuple[Subject, Found]]:
        documents = [one.document for one in some if one.document is not None]
        for comparer in comparers:
            yield from _found(some, documents, comparer, comparer.texts(documents))

    if comparers:
        told = [one for one in subjects if one.document is not None]
        yield _Comparison(
            "texts", TEXT_KINDS, TEXT_METHOD, told, lambda one: TEXT_METHOD + one.texts_mark, find, TEXTS_AT_ONCE
        )


def _by_neighbours(
    subjects: Sequence[Subject], benchmarks: Sequence[Benchmark], embedder: Embedder | None, report: CheckReport
) -> Iterator[_Comparison]:
    if embedder is None:
        return
    comparers = []
    for one in benchmarks:
        if one.entry.embedder == embedder.fingerprint:
            comparers.append(Comparer(one))
        elif one.entry.questions:
            held = f"holds vectors of {one.entry.embedder}" if one.entry.embedder else "holds no vectors"
            report.not_done.append(
                f"neighbours: {one.entry.name} {held}, and this project embeds by {embedder.fingerprint}; "
                "build the index anew with --embed, or set text_model"
            )

    def find(some: Sequence[Subject]) -> Iterator[tuple[Subject, Found]]:
        documents = [one.document for one in some if one.document is not None]
        vectors = embedder.embed_texts([text_of(one) for one in documents])
        for comparer in comparers:
            yield from _found(some, documents, comparer, comparer.neighbours(documents, vectors))

    if comparers:
        prefix = f"{EMBEDDING_METHOD}:{content_hash(embedder.fingerprint)[:12]}"
        told = [one for one in subjects if one.document is not None]
        yield _Comparison(
            "neighbours", ("embedding",), prefix, told, lambda one: prefix + one.texts_mark, find, TEXTS_AT_ONCE
        )


def _found(
    some: Sequence[Subject], documents: Sequence[Document], comparer: Comparer, overlaps: Sequence[Overlap]
) -> Iterator[tuple[Subject, Found]]:
    told = [one for one in some if one.document is not None]
    rows = comparer.questions.rows(sorted({one.row for one in overlaps}), "id", "fields", "options")
    for one in overlaps:
        theirs = rows[one.row]
        evidence = side_by_side(one, documents[one.document], _document(theirs))
        score = round(one.score, 4)
        yield told[one.document], Found(comparer.entry.name, theirs["id"], one.kind, score, evidence)


def _document(row: Mapping[str, Any]) -> Document | None:
    if row["fields"] is None:
        return None
    fields, options = (tuple(Field(*pair) for pair in row[name]) for name in ("fields", "options"))
    return Document(fields, options)


def _by_looks(
    subjects: Sequence[Subject], benchmarks: Sequence[Benchmark], report: CheckReport
) -> Iterator[_Comparison]:
    for modality, method in METHOD_OF_MODALITY.items():
        ours = [one for one in subjects if one.kind is SubjectKind.MATERIAL and one.modality == modality]
        ready = [one for one in ours if method in one.looks]
        comparable = []
        for one in benchmarks:
            if one.entry.methods.get(modality) == method:
                comparable.append(one)
            else:
                held = one.entry.methods.get(modality, "nothing")
                report.not_done.append(
                    f"{modality}: {one.entry.name} was indexed by {held}, this version looks by {method}; "
                    "build the index anew from its source"
                )
        if len(ready) < len(ours) and comparable:
            report.not_done.append(f"{modality}: {len(ours) - len(ready)} materials were not looked at by {method} yet")
        if comparable and ready:
            mark = method if len(comparable) == len(benchmarks) else f"{method}#{len(comparable)}"
            yield _Comparison(
                modality.value, (modality.value,), method, ready, _always(mark), _looks_finder(comparable, modality),
                MEDIA_AT_ONCE,
            )  # fmt: skip


def _always(mark: str) -> Callable[[Subject], str]:
    return lambda _: mark


def _looks_finder(
    benchmarks: Sequence[Benchmark], modality: Modality
) -> Callable[[Sequence[Subject]], Iterator[tuple[Subject, Found]]]:
    method = METHOD_OF_MODALITY[modality]
    near = near_pictures if modality is Modality.IMAGE else near_sequences

    def find(some: Sequence[Subject]) -> Iterator[tuple[Subject, Found]]:
        for benchmark in benchmarks:
            known = _media_of(benchmark, modality)
            asked = [one for one in some if one.looks[method] is not None]
            seen = [one for one in known if one["looks"] is not None]
            distances = near([one.looks[method] for one in asked], [one["looks"] for one in seen])
            found = {(asked[i].id, seen[j]["id"]): (asked[i], seen[j], d) for (i, j), d in distances.items()}
            found |= _same_bytes(some, known)
            for _, (subject, medium, distance) in sorted(found.items()):
                yield subject, _medium_match(benchmark, modality, subject, medium, distance)

    return find


def _media_of(benchmark: Benchmark, modality: Modality) -> list[dict[str, Any]]:
    rows = Table(benchmark.tables["media"]).columns("id", "sha256", "modality", "looks", "questions").to_pylist()
    return [one | {"looks": json.loads(one["looks"])} for one in rows if one["modality"] == modality]


def _same_bytes(
    some: Iterable[Subject], known: Iterable[dict[str, Any]]
) -> dict[tuple[str, str], tuple[Subject, dict[str, Any], float]]:
    by_sha256: dict[str, list[dict[str, Any]]] = {}
    for one in known:
        by_sha256.setdefault(one["sha256"], []).append(one)
    return {
        (subject.id, medium["id"]): (subject, medium, 0.0)
        for subject in some
        for sha256 in subject.sha256s
        for medium in by_sha256.get(sha256, ())
    }


def _medium_match(
    benchmark: Benchmark, modality: Modality, subject: Subject, medium: Mapping[str, Any], distance: float
) -> Found:
    evidence = {
        "measures": {"distance": round(distance, 4)},
        "method": METHOD_OF_MODALITY[modality],
        "same_bytes": medium["sha256"] in subject.sha256s,
        "ours": [] if subject.document is None else fields_with(subject.document, ()),
        "theirs": None,
        "medium": {"name": medium["id"], "sha256": medium["sha256"]},
        "questions": medium["questions"][:_QUESTIONS_TOLD],
        "question_count": len(medium["questions"]),
        MATCHED: content_hash([*subject.sha256s, medium["sha256"]]),
    }
    return Found(benchmark.entry.name, medium["id"], modality.value, round(1 - distance, 4), evidence)
