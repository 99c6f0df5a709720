"""How surely copies of public questions are found among many, and in what time, beside plain n-grams and MinHash.

Run: python benchmarks/contamination.py FOLDER [--questions 100000] [--planted 200] [--subjects ours ngrams minhash]

FOLDER: *.parquet files with a column `question`. Half of the different questions are public: with fillers (their words
in another order, so that words are as common as they are) they make the index. Of some of them copies are planted,
changed in each of the ways of `CHANGES`; the other half, which nobody copied, and public questions with other numbers
must not be found. Of the other half, what shares most of its words in a row with a public question is left out.

Each subject is a process of its own; seconds are the processor's, for the machine may have other work. `ngrams` are
Python dictionaries of 13 words or 8 Chinese characters, any shared one is a find (Brown et al. 2020; the janitor of
lm-evaluation-harness); `minhash` is datasketch's MinHashLSH, 128 permutations of 5-grams, threshold 0.5; it is left out
where that package is not installed.
"""

import argparse
import json
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import SequenceMatcher
from pathlib import Path

import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path = [
    place for place in sys.path if Path(place or ".").resolve() != HERE
]  # another module has this script's name

TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")
NUMBER = re.compile(r"\d+")
# Not within a number.
SIGN = re.compile(r"[,，.。?？!！](?!\d)")
EVERY = 20
SAME = 0.8
SEED = 7


def words_of(text: str) -> list[str]:
    """Words in lower case; Chinese by characters."""
    return TOKEN.findall(text.lower())


def pieces_of(text: str) -> list[str]:
    """Words with what stands behind them, so that joining them gives the text."""
    return re.findall(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+|[\W_]+", text)


def one_word_in_twenty(text: str, pool: Sequence[str], chance: random.Random) -> str:
    """Another word in the place of one of every 20."""
    pieces = pieces_of(text)
    places = [place for place, piece in enumerate(pieces) if piece.isalpha()]
    for start in range(0, len(places), EVERY):
        place = chance.choice(places[start : start + EVERY])
        others = [one for one in pool if (one > "一") == (pieces[place] > "一")]
        pieces[place] = chance.choice(others)
    return "".join(pieces)


def other_numbers(text: str) -> str:
    """The same template with every number changed."""
    return NUMBER.sub(lambda found: str(int(found[0]) * 3 + 7)[: max(2, len(found[0]))], text)


def sentences_turned(text: str) -> str:
    """The last sentence first."""
    return " ".join(reversed([one for one in re.split(r"(?<=[?!。？！])|(?<=\.)\s+", text) if one.strip()]))


LONG = "one word in 20"
CHANGES: dict[str, Callable[[str, Sequence[str], random.Random], str]] = {
    "exact": lambda text, pool, chance: text,
    "case, signs, spaces": lambda text, pool, chance: SIGN.sub(" ; ", text).upper(),
    LONG: one_word_in_twenty,
    "one word of fewer": one_word_in_twenty,
    "within other text": lambda text, pool, chance: " ".join([*chance.sample(pool, 15), text, *chance.sample(pool, 9)]),
    "first 70%": lambda text, pool, chance: text[: round(0.7 * len(text))],
    "sentences turned": lambda text, pool, chance: sentences_turned(text),
}  # fmt: skip
NEGATIVE = ("other numbers", "nobody's copy")


@dataclass(frozen=True)
class Trial:
    """What is asked; `entry` is the public question that must be found, None where nothing may be."""

    kind: str
    text: str
    entry: int | None


def make(folder: Path, count: int, planted: int) -> tuple[list[str], list[Trial]]:
    """The public questions and what is asked."""
    chance = random.Random(SEED)
    texts = {text for file in sorted(folder.glob("*.parquet")) for text in _questions(file)}
    real = sorted(text for text in texts if len(words_of(text)) >= 8)
    chance.shuffle(real)
    public, private = real[: len(real) // 2], real[len(real) // 2 :]
    pool = sorted({word for text in real for word in words_of(text) if word.isalpha()})
    fillers: list[str] = []
    while len(public) + len(fillers) < count:
        words = words_of(chance.choice(public))
        chance.shuffle(words)
        fillers.append(" ".join(words))
    long = [place for place, text in enumerate(public) if len(words_of(text)) >= EVERY]
    short = sorted({*range(len(public))} - {*long})
    chosen = {kind: chance.sample(range(len(public)), planted) for kind in CHANGES}
    chosen |= {LONG: chance.sample(long, planted), "one word of fewer": chance.sample(short, planted)}
    trials = [
        Trial(kind, change(public[place], pool, chance), place)
        for kind, change in CHANGES.items()
        for place in chosen[kind]
    ]
    numbered = [place for place in range(len(public)) if _is_numbered(public[place])]
    trials += [Trial(NEGATIVE[0], other_numbers(public[one]), None) for one in chance.sample(numbered, planted)]
    trials += [Trial(NEGATIVE[1], text, None) for text in _nobodys(private, public)]
    return [*public[:count], *fillers], trials


def _questions(file: Path) -> list[str]:
    return [one for one in pq.read_table(file, columns=["question"])["question"].to_pylist() if one]


def _is_numbered(text: str) -> bool:
    """Three numbers or more, as word problems have them: an exam's question number alone is none."""
    return len(NUMBER.findall(text)) >= 3 and len(words_of(text)) <= 80


def _nobodys(private: Sequence[str], public: Sequence[str]) -> list[str]:
    """Those of the private half that share no long stretch with a public question."""
    grams: dict[tuple[str, ...], set[int]] = {}
    for place, text in enumerate(public):
        words = words_of(text)
        for start in range(len(words) - 3):
            grams.setdefault(tuple(words[start : start + 4]), set()).add(place)
    kept = []
    for text in private:
        words = words_of(text)
        near: dict[int, int] = {}
        for start in range(len(words) - 3):
            for place in grams.get(tuple(words[start : start + 4]), ()):
                near[place] = near.get(place, 0) + 1
        best = sorted(near, key=lambda place: -near[place])[:3]
        if all(_alike(words, words_of(public[place])) < SAME for place in best):
            kept.append(text)
    return kept


def _alike(first: list[str], second: list[str]) -> float:
    """Share of the shorter one that stands in the other, in stretches of four words or more."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size >= 4) / max(1, min(len(first), len(second)))


Finder = Callable[[str], Iterable[int]]


def ours(public: Sequence[str], trials: Sequence[Trial]) -> tuple[float, float, int, list[set[int]]]:
    """Through a file, as the commands do."""
    from curation.contamination.build import build
    from curation.contamination.compare import Comparer
    from curation.contamination.entries import PublicText, Source
    from curation.contamination.index_file import open_index, write_index
    from curation.contamination.texts import Document

    started = time.process_time()
    texts = tuple(PublicText(f"{place:07}", Document.of([("prompt", text)])) for place, text in enumerate(public))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "public.index"
        write_index(file, [build(Source("public", "benchmark", texts, ())).benchmark])
        del texts
        built_s = time.process_time() - started
        started = time.process_time()
        comparer = Comparer(open_index(file).benchmarks()[0])
        found: list[set[int]] = [set() for _ in trials]
        for start in range(0, len(trials), 500):
            documents = [Document.of([("prompt", one.text)]) for one in trials[start : start + 500]]
            for overlap in comparer.texts(documents):
                found[start + overlap.document].add(overlap.row)
        return built_s, time.process_time() - started, file.stat().st_size, found


def ngrams(public: Sequence[str], trials: Sequence[Trial]) -> tuple[float, float, int, list[set[int]]]:
    """Python dictionaries of grams."""

    def grams(text: str) -> set[str]:
        words = words_of(text)
        span = 8 if sum(word > "一" for word in words) * 2 > len(words) else 13
        if len(words) < span:
            return {" ".join(words)}
        return {" ".join(words[start : start + span]) for start in range(len(words) - span + 1)}

    started = time.process_time()
    held: dict[str, list[int]] = {}
    for place, text in enumerate(public):
        for gram in grams(text):
            held.setdefault(gram, []).append(place)
    built_s = time.process_time() - started
    started = time.process_time()
    found = [{place for gram in grams(one.text) for place in held.get(gram, ())} for one in trials]
    return built_s, time.process_time() - started, 0, found


def minhash(public: Sequence[str], trials: Sequence[Trial]) -> tuple[float, float, int, list[set[int]]]:
    """datasketch."""
    from datasketch import MinHash, MinHashLSH

    def sketch(text: str) -> MinHash:
        words = words_of(text)
        grams = {" ".join(words[start : start + 5]).encode() for start in range(max(1, len(words) - 4))}
        made = MinHash(num_perm=128)
        made.update_batch(sorted(grams))
        return made

    started = time.process_time()
    held = MinHashLSH(threshold=0.5, num_perm=128)
    for place, text in enumerate(public):
        held.insert(place, sketch(text))
    built_s = time.process_time() - started
    started = time.process_time()
    found = [set(held.query(sketch(one.text))) for one in trials]
    return built_s, time.process_time() - started, 0, found


SUBJECTS = {"ours": ours, "ngrams": ngrams, "minhash": minhash}


def measure(name: str, public: Sequence[str], trials: Sequence[Trial]) -> dict[str, object]:
    """One subject's numbers."""
    built_s, asked_s, file_bytes, found = SUBJECTS[name](public, trials)
    shares = {}
    for kind in (*CHANGES, *NEGATIVE):
        mine = [(one, held) for one, held in zip(trials, found, strict=True) if one.kind == kind]
        hits = sum(bool(held) if one.entry is None else one.entry in held for one, held in mine)
        shares[kind] = (hits, len(mine))
    right = sum(hits for kind, (hits, _) in shares.items() if kind not in NEGATIVE)
    wrong = sum(hits for kind, (hits, _) in shares.items() if kind in NEGATIVE)
    return {
        "shares": shares,
        "recall": right / sum(count for kind, (_, count) in shares.items() if kind not in NEGATIVE),
        "precision": right / max(1, right + wrong),
        "built_cpu_s": built_s,
        "asked_cpu_s": asked_s,
        "file_mb": file_bytes / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Every subject in a process of its own, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--planted", type=int, default=200)
    parser.add_argument("--subjects", nargs="+", choices=[*SUBJECTS], default=[*SUBJECTS])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.one:
        public, trials = json.loads(told.folder.read_text(encoding="utf-8"))
        print(json.dumps(measure(told.subjects[0], public, [Trial(*one) for one in trials])))
        return
    print(f"{date.today()}, {platform.machine()}, Python {platform.python_version()}; {told.questions} questions")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.json"
        public, trials = make(told.folder, told.questions, told.planted)
        made.write_text(json.dumps([public, [(one.kind, one.text, one.entry) for one in trials]]), encoding="utf-8")
        del public, trials
        for name in told.subjects:
            command = [sys.executable, __file__, str(made), "--one", "--subjects", name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                results[name] = json.loads(done.stdout)
            else:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    print(f"{'':24}" + "".join(f"{name:>16}" for name in results))
    for kind in (*CHANGES, *NEGATIVE):
        verb = "found (should be 0)" if kind in NEGATIVE else "found"
        cells = (one["shares"][kind] for one in results.values())
        print(f"{kind:24}" + "".join(f"{f'{hits}/{count}':>16}" for hits, count in cells) + f"   {verb}")
    for row in ("recall", "precision", "built_cpu_s", "asked_cpu_s", "file_mb", "peak_mb"):
        print(f"{row:24}" + "".join(f"{one[row]:>16.3f}" for one in results.values()))


if __name__ == "__main__":
    main()
