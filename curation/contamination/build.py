"""From a benchmark's questions and media to its tables in an index."""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from core.content import Modality
from core.errors import InterplayError
from core.media.errors import MediaError
from core.media.guard import Guard
from core.media.limits import MediaLimits
from core.progress import Ticker, progress
from curation.contamination.entries import PublicMedium, PublicText, Source
from curation.contamination.index_file import Benchmark, BenchmarkEntry, parquet_bytes
from curation.contamination.texts import COMMON_FROM, Document, Hashes, Rows, covered, grams_of
from curation.dedupe.looks import METHOD_OF_MODALITY
from curation.embedding import Embedder
from curation.entries import Rejected, printable
from curation.examine import Examined, examine
from curation.filters.thresholds import DEFAULT_THRESHOLDS

_AT_ONCE = 5_000


class NothingToIndex(InterplayError):
    """A benchmark without questions and media."""


@dataclass(frozen=True)
class Making:
    """How an index is made: with readable texts or not, with vectors by an embedder or not, and the bounds of media."""

    with_texts: bool = True
    embedder: Embedder | None = None
    limits: MediaLimits = field(default_factory=MediaLimits)
    workers: int = 1


@dataclass(frozen=True)
class Built:
    """A benchmark's tables, and the media that could not be read."""

    benchmark: Benchmark
    failures: tuple[Rejected, ...]


def build(source: Source, making: Making = Making()) -> Built:
    """Work out the tables of one benchmark; the order of its questions and media makes no difference.

    Raises:
        NothingToIndex: There are no questions and no media.
        MissingExtra: Vectors are wanted, and their package is not installed.
    """
    if not source.texts and not source.media:
        raise NothingToIndex(
            f"{source.origin} holds no question and no medium that can be read; say with --mapping which columns hold "
            "the text, the options and the media"
        )
    texts = sorted(source.texts, key=lambda one: one.id)
    looks, failures = _look_at(source.media, making)
    tables = {**_text_tables(texts, making.with_texts), "media": _media_table(looks)}
    tables["vectors"] = _vectors(texts, making.embedder)
    entry = BenchmarkEntry(
        name=source.name,
        version=source.version,
        licence=source.licence,
        origin=source.origin,
        questions=len(texts),
        media=len(looks),
        failed=len(failures),
        with_texts=making.with_texts,
        methods={modality.value: method for modality, method in METHOD_OF_MODALITY.items()},
        embedder=making.embedder.fingerprint if making.embedder else None,
        tables={name: hashlib.sha256(data).hexdigest() for name, data in tables.items()},
    )
    return Built(Benchmark(entry, tables), tuple(failures))


def _text_tables(texts: Sequence[PublicText], with_texts: bool) -> dict[str, bytes]:
    facts: dict[str, list[Any]] = {name: [] for name in ("whole", "option_set", "numbers", "fields", "options")}
    hashes, rows, positions, spans = [], [], [], []
    with progress("Reading questions", len(texts)) as bar:
        for start in range(0, len(texts), _AT_ONCE):
            # Copies: with each document stay its tokens, as long as it does.
            documents = [replace(one.document) for one in texts[start : start + _AT_ONCE]]
            grams = grams_of(documents)
            for document in documents:
                _add_facts(facts, document, with_texts)
            hashes.append(grams.hash)
            rows.append(grams.row + start)
            positions.append(grams.position)
            spans.append(grams.span)
            bar.advance(len(documents))
    columns = (np.concatenate([np.zeros(0, kind), *parts]) for kind, parts in _kinds(hashes, rows, positions, spans))
    hash_, row, position, span = columns
    common = _common(hash_, row)
    rare = ~np.isin(hash_, common)
    counts = {name: Counter(one for one in facts[name] if one is not None) for name in ("whole", "option_set")}
    questions = {
        "id": [one.id for one in texts],
        **facts,
        "count": [counts["whole"][one] for one in facts["whole"]],
        "option_count": [counts["option_set"][one] for one in facts["option_set"]],
        "length": _lengths(row[rare], position[rare], span[rare], len(texts)),
    }
    order = np.lexsort((position[rare], row[rare], hash_[rare]))
    found = {"hash": hash_[rare][order], "row": row[rare][order], "position": position[rare][order]}
    return {
        "questions": parquet_bytes("questions", questions),
        "grams": parquet_bytes("grams", found),
        "common": parquet_bytes("common", {"hash": common}),
    }


def _kinds(hashes: list[Hashes], *others: list[Rows]) -> Iterator[tuple[type, list[Any]]]:
    yield np.uint64, hashes
    yield from ((np.int64, one) for one in others)


def _add_facts(facts: Mapping[str, list[Any]], document: Document, with_texts: bool) -> None:
    facts["whole"].append(document.whole)
    facts["option_set"].append(document.option_set)
    facts["numbers"].append(list(document.numbers))
    for name, held in (("fields", document.fields), ("options", document.options)):
        facts[name].append([[one.label, one.text] for one in held] if with_texts else None)


def _common(hashes: Hashes, rows: Rows) -> Hashes:
    """Grams that stand in too many questions, in order."""
    order = np.lexsort((rows, hashes))
    sorted_hashes, sorted_rows = hashes[order], rows[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (sorted_hashes[1:] != sorted_hashes[:-1]) | (sorted_rows[1:] != sorted_rows[:-1])
    values, counts = np.unique(sorted_hashes[is_new], return_counts=True)
    common: Hashes = values[counts >= COMMON_FROM]
    return common


def _lengths(rows: Rows, positions: Rows, spans: Rows, count: int) -> list[int]:
    """How many tokens of each question lie in grams that are not common."""
    bounds = np.searchsorted(rows, np.arange(count + 1))
    pairs = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [len(covered(positions[start:stop].tolist(), spans[start:stop].tolist())) for start, stop in pairs]


def _vectors(texts: Sequence[PublicText], embedder: Embedder | None) -> bytes:
    rows = [row for row, one in enumerate(texts) if one.document.all_fields]
    if embedder is None or not rows:
        return parquet_bytes("vectors", {"row": [], "vector": []})
    made = []
    with progress("Embedding questions", len(rows)) as bar:
        for start in range(0, len(rows), _AT_ONCE):
            some = [text_of(texts[row].document) for row in rows[start : start + _AT_ONCE]]
            made += list(embedder.embed_texts(some).astype(np.float16))
            bar.advance(len(some))
    return parquet_bytes("vectors", {"row": rows, "vector": made})


def text_of(document: Document) -> str:
    """What of a document is embedded: its fields, and its options in alphabetical order."""
    return "\n".join([*(one.text for one in document.fields), *sorted(one.text for one in document.options)])


Looked = tuple[PublicMedium, Examined]


def _look_at(media: Sequence[PublicMedium], making: Making) -> tuple[list[Looked], list[Rejected]]:
    """Perceptual hashes of all media, in the order of their names, by guarded workers; a video's sound apart."""
    found: list[Looked] = []
    failures: list[Rejected] = []
    waiting = iter(sorted(media, key=lambda one: one.id))
    if not media:
        return found, failures
    workers = min(making.workers, len(media))
    with progress("Looking at media", len(media)) as bar, Guard(workers, making.limits) as guard:
        while some := list(islice(waiting, workers)):
            _look_at_some(some, guard, making.limits, found, failures, bar)
    return found, failures


def _look_at_some(
    some: Sequence[PublicMedium],
    guard: Guard,
    limits: MediaLimits,
    found: list[Looked],
    failures: list[Rejected],
    bar: Ticker,
) -> None:
    with ExitStack() as files:
        tasks: list[tuple[PublicMedium, Future[Any]]] = []
        for one in some:
            try:
                path = files.enter_context(one.open())
            except (InterplayError, OSError) as error:
                failures.append(Rejected(one.id, "unreadable", printable(str(error))))
                continue
            folder = files.enter_context(tempfile.TemporaryDirectory(prefix="interplay-look-"))
            tasks.append((one, guard.submit(_look, path, Path(folder), limits)))
        for one, task in tasks:
            try:
                main, sound = task.result()
            except (MediaError, OSError) as error:
                reason = error.reason if isinstance(error, MediaError) else "unreadable"
                failures.append(Rejected(one.id, reason, printable(str(error))))
                continue
            found.append((one, main))
            if sound is not None:
                found.append((PublicMedium(f"{one.id}#sound", one.questions, one.open), sound))
    bar.advance(len(some))


def _look(path: Path, folder: Path, limits: MediaLimits) -> tuple[Examined, Examined | None]:
    """In a worker: what ingest would find; the working copies are left in the folder."""
    found = examine(path, folder, limits, DEFAULT_THRESHOLDS)
    return found.main, found.sound


def _media_table(looked: Sequence[Looked]) -> bytes:
    methods = [METHOD_OF_MODALITY[Modality(one.ref.modality)] for _, one in looked]
    return parquet_bytes(
        "media",
        {
            "id": [medium.id for medium, _ in looked],
            "sha256": [one.ref.sha256 for _, one in looked],
            "modality": [one.ref.modality.value for _, one in looked],
            "method": methods,
            "looks": [
                json.dumps(one.looks.get(method), separators=(",", ":"), sort_keys=True)
                for (_, one), method in zip(looked, methods, strict=True)
            ],
            "questions": [list(medium.questions) for medium, _ in looked],
        },
    )
