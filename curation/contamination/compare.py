"""Texts of ours against the questions of one benchmark: shared grams, the whole, the set of options, neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from curation.contamination.index_file import Benchmark, Table
from curation.contamination.texts import (
    CHARACTER_WEIGHT,
    CHARACTERS_SPAN,
    COMMON_FROM,
    GRAM_METHOD,
    Document,
    Grams,
    Rows,
    covered,
    grams_of,
    is_character,
    numbers_agree,
)


@dataclass(frozen=True)
class Limits:
    """From where on two texts match; a change of any needs a new version.

    Attributes:
        version: Of these numbers.
        coverage: Share of the tokens of one text that shared grams must cover (Lambert et al. 2024, Tülu 3: a half, of
            8-grams).
        run: So many words in a row are a match by themselves; of characters, as many as stand for 20 words. At 13 words
            (Brown et al. 2020) most of what exam questions share is their manner of asking.
        weight: What is shared must hold so many different words that are neither common nor numbers.
        whole_weight: The same where the whole is the same.
        option_weight: The same for a set of options that stands for itself.
        numbers: Share of the numbers of one text that the other must have too: the same template with other numbers is
            another question.
        cosine: From here on the directions of two texts are neighbours (paraphrases by MiniLM: 0.89 and more).
        neighbour_weight: A text that says less has neighbours by chance.
    """

    version: str = "1"
    coverage: float = 0.6
    run: int = 20
    weight: float = 4.0
    whole_weight: float = 3.0
    option_weight: float = 8.0
    numbers: float = 0.8
    cosine: float = 0.85
    neighbour_weight: float = 4.0


LIMITS = Limits()
TEXT_METHOD = f"texts@{LIMITS.version}+{GRAM_METHOD}"
EMBEDDING_METHOD = f"embedding@{LIMITS.version}"
NEIGHBOURS = 10
"""Of so many questions, the nearest, is a person shown that a text is near to them."""
_VECTORS_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Overlap:
    """What a document of ours and a question of a benchmark share.

    Attributes:
        document: Place of our document among those that were asked about.
        row: Of the question in the benchmark's table.
        kind: `words`, `characters`, `options` or `embedding`.
        score: In [0, 1].
        ours: Positions of the tokens of ours that are shared.
        theirs: The same of theirs.
        measures: The numbers behind it.
    """

    document: int
    row: int
    kind: str
    score: float
    ours: frozenset[int]
    theirs: frozenset[int]
    measures: Mapping[str, float]


class Comparer:
    """The questions of one benchmark, ready to be compared with; hashes and counts in memory, all else in the file."""

    def __init__(self, benchmark: Benchmark, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self.entry = benchmark.entry
        self.questions = Table(benchmark.tables["questions"])
        self._grams = Table(benchmark.tables["grams"])
        self._vectors = Table(benchmark.tables["vectors"])
        self._common = Table(benchmark.tables["common"]).columns("hash")["hash"].to_numpy()
        told = self.questions.columns("whole", "count", "option_set", "option_count", "length")
        self._lengths = told["length"].to_numpy()
        self._wholes = _Hashed(told["whole"], told["count"])
        self._option_sets = _Hashed(told["option_set"], told["option_count"])

    def texts(self, documents: Sequence[Document]) -> list[Overlap]:
        """By grams, by the whole and by the set of options; in the order of documents and rows."""
        found = [*self._by_grams(documents), *self._by_hash(documents)]
        best: dict[tuple[int, int, str], Overlap] = {}
        for one in found:
            key = (one.document, one.row, one.kind)
            if key not in best or one.score > best[key].score:
                best[key] = one
        return [best[key] for key in sorted(best)]

    def neighbours(self, documents: Sequence[Document], vectors: npt.NDArray[np.float32]) -> list[Overlap]:
        """By the cosine of their directions, where their numbers agree.

        Args:
            documents: Ours.
            vectors: Their directions by the index's embedder, shape (documents, dimensions), rows of length 1.
        """
        pairs: list[tuple[int, int, float]] = []
        telling = [one.weight(token.position for token in one.tokens) for one in documents]
        asked = np.flatnonzero(np.array(telling) >= self._limits.neighbour_weight)
        for group, _, _ in self._vectors.groups():
            rows, known = self._directions(group)
            for start in range(0, len(rows), _VECTORS_AT_ONCE):
                cosines = vectors[asked] @ known[start : start + _VECTORS_AT_ONCE].T
                for i, j in np.argwhere(cosines >= self._limits.cosine).tolist():
                    pairs.append((int(asked[i]), int(rows[start + j]), min(1.0, float(cosines[i, j]))))
        nearest: dict[int, list[tuple[int, int, float]]] = {}
        for pair in sorted(pairs, key=lambda one: (one[0], -one[2], one[1])):
            nearest.setdefault(pair[0], []).append(pair)
        pairs = [pair for some in nearest.values() for pair in some[:NEIGHBOURS]]
        numbers = self._numbers_of({row for _, row, _ in pairs})
        return [
            Overlap(i, row, "embedding", cosine, frozenset(), frozenset(), {"cosine": round(cosine, 4)})
            for i, row, cosine in sorted(pairs)
            if numbers_agree(documents[i].numbers, numbers[row], self._limits.numbers)
        ]

    def _directions(self, group: int) -> tuple[Rows, npt.NDArray[np.float32]]:
        read = self._vectors.group(group, ["row", "vector"])
        return read["row"], read["vector"].astype(np.float32)

    def _by_grams(self, documents: Sequence[Document]) -> Iterator[Overlap]:
        grams = grams_of(documents)
        rare = ~np.isin(grams.hash, self._common)
        grams = Grams(grams.row[rare], grams.position[rare], grams.span[rare], grams.hash[rare])
        lengths = _covered_lengths(grams, len(documents))
        asked, rows, positions = self._joined(grams)
        key = np.lexsort((positions, grams.position[asked], rows, grams.row[asked]))
        asked, rows, positions = asked[key], rows[key], positions[key]
        owners = grams.row[asked]
        begins = np.r_[len(asked) > 0, (np.diff(owners) != 0) | (np.diff(rows) != 0)]
        starts = np.flatnonzero(begins).tolist()
        numbers: dict[int, tuple[str, ...]] = {}
        for start, stop in pairwise([*starts, len(asked)]):
            i, row = int(owners[start]), int(rows[start])
            pair = _Pair(grams, asked[start:stop], positions[start:stop])
            if not self._may_match(pair, lengths[i], int(self._lengths[row])):
                continue
            ours, theirs = pair.ours, pair.theirs
            if documents[i].weight(ours) < self._limits.weight:
                continue
            numbers.setdefault(row, self._numbers_of({row})[row])
            if numbers_agree(documents[i].numbers, numbers[row], self._limits.numbers):
                shares = _Shares(len(ours) / lengths[i], len(theirs) / int(self._lengths[row]), pair.longest)
                yield self._overlap(documents[i], i, row, ours, theirs, shares)

    def _may_match(self, pair: "_Pair", length: int, their_length: int) -> bool:
        limits = self._limits
        if len(pair.ours) >= limits.coverage * length or len(pair.theirs) >= limits.coverage * their_length:
            return True
        return pair.longest >= limits.run

    def _joined(self, grams: Grams) -> tuple[Rows, Rows, Rows]:
        """(gram of ours, row, position) of every gram that the benchmark has too; its table is in order of hashes."""
        order = np.argsort(grams.hash, kind="stable")
        asked = grams.hash[order]
        found: list[tuple[Rows, Rows, Rows]] = []
        for group, _, _ in self._grams.groups():
            low, high = self._grams.bounds(group)
            first = np.searchsorted(asked, np.uint64(low))
            inside = asked[first : np.searchsorted(asked, np.uint64(high), side="right")]
            if not len(inside):
                continue
            read = self._grams.group(group, ["hash", "row", "position"])
            left = np.searchsorted(read["hash"], inside)
            counts = np.searchsorted(read["hash"], inside, side="right") - left
            places = np.repeat(left - np.r_[0, np.cumsum(counts)[:-1]], counts) + np.arange(counts.sum())
            ours = order[first + np.repeat(np.arange(len(inside)), counts)]
            found.append((ours, read["row"][places].astype(np.int64), read["position"][places].astype(np.int64)))
        none = np.zeros(0, dtype=np.int64)
        asked_rows, rows, positions = zip((none, none, none), *found, strict=True)
        return np.concatenate(asked_rows), np.concatenate(rows), np.concatenate(positions)

    def _by_hash(self, documents: Sequence[Document]) -> Iterator[Overlap]:
        for place, document in enumerate(documents):
            everything = frozenset(token.position for token in document.tokens)
            if document.weight(everything) >= self._limits.whole_weight:
                for row in self._wholes.rows(document.whole):
                    shares = _Shares(1.0, 1.0, len(everything))
                    yield self._overlap(document, place, row, everything, everything, shares)
            options = frozenset(one.position for one in document.tokens if one.field >= len(document.fields))
            if document.weight(options) >= self._limits.option_weight:
                for row in self._option_sets.rows(document.option_set):
                    measures = {"options": len(document.options)}
                    yield Overlap(place, row, "options", 1.0, options, frozenset(), measures)

    @staticmethod
    def _overlap(
        document: Document, place: int, row: int, ours: frozenset[int], theirs: frozenset[int], shares: "_Shares"
    ) -> Overlap:
        measures = {"ours": round(shares.ours, 4), "theirs": round(shares.theirs, 4), "run": shares.run}
        characters = sum(is_character(one.text) for one in document.tokens if one.position in ours)
        kind = "characters" if characters * 2 > len(ours) else "words"
        return Overlap(place, row, kind, min(1.0, max(shares.ours, shares.theirs)), ours, theirs, measures)

    def _numbers_of(self, rows: set[int]) -> dict[int, tuple[str, ...]]:
        told = self.questions.rows(sorted(rows), "numbers")
        return {row: tuple(one["numbers"]) for row, one in told.items()}


@dataclass(frozen=True)
class _Shares:
    """Share of our tokens, of theirs, and the longest run in words."""

    ours: float
    theirs: float
    run: float


class _Pair:
    """The shared grams of a document and a question, in the order of our positions."""

    def __init__(self, grams: Grams, asked: Rows, positions: Rows) -> None:
        self._ours, self._theirs = grams.position[asked].tolist(), positions.tolist()
        self._spans = grams.span[asked].tolist()
        self.ours = frozenset(covered(self._ours, self._spans))
        self.theirs = frozenset(covered(self._theirs, self._spans))

    @property
    def longest(self) -> float:
        """The longest stretch that both have, in words: characters count as parts of words."""
        spans = {(i, j): span for i, j, span in zip(self._ours, self._theirs, self._spans, strict=True)}
        best = 0.0
        for (i, j), span in spans.items():
            if (i - 1, j - 1) in spans:
                continue
            steps = 0
            while (i + steps + 1, j + steps + 1) in spans:
                steps += 1
            last = spans[i + steps, j + steps]
            each = CHARACTER_WEIGHT if span == CHARACTERS_SPAN else 1.0
            best = max(best, (steps + last) * each)
        return best


class _Hashed:
    """Rows by a hash that few of them have."""

    def __init__(self, hashes: pa.ChunkedArray, counts: pa.ChunkedArray) -> None:
        rows = np.flatnonzero(hashes.is_valid().to_numpy() & (counts.to_numpy() < COMMON_FROM))
        known = hashes.take(rows).to_numpy().astype(np.uint64)
        order = np.argsort(known, kind="stable")
        self._hashes, self._rows = known[order], rows[order]

    def rows(self, asked: int | None) -> list[int]:
        """Those of one hash, in order."""
        if asked is None:
            return []
        first = np.searchsorted(self._hashes, np.uint64(asked))
        last = np.searchsorted(self._hashes, np.uint64(asked), side="right")
        found: list[int] = self._rows[first:last].tolist()
        return found


def _covered_lengths(grams: Grams, count: int) -> list[int]:
    bounds = np.searchsorted(grams.row, np.arange(count + 1)).tolist()
    return [
        len(covered(grams.position[start:stop].tolist(), grams.span[start:stop].tolist()))
        for start, stop in pairwise(bounds)
    ]
