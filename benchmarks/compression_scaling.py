"""Synthetic pools, and how long it takes from one to a sealed subset; see compression.py, which runs it."""

import argparse
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compression.matrix import Codes, Scores
from compression.strata import FUSED_STRATA
from warehouse.workspace import init_project

SUBJECTS = Path(__file__).resolve().parent / "compression_subjects"
INTERPLAY = Path(sys.executable).with_name("interplay")
# UNO-Bench, appendix A: 20 models.
MODELS = 20
SIZES = (10_000, 50_000, 100_000, 250_000, 500_000)
TRAITS = 4
GOAL_SCORES = 10_000_000


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """In Markdown, each row as soon as it is there."""
    print("\n| " + " | ".join(header) + " |\n|" + " --- |" * len(header), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def synthetic(count: int, benchmarks: int, rng: np.random.Generator, continuous: bool = False) -> tuple[Scores, Codes]:
    """(questions, models) scores by latent traits of models, a general one first, and (questions,) benchmarks."""
    of = np.sort(rng.integers(benchmarks, size=count))
    abilities = rng.normal(size=(MODELS, TRAITS)) * [1.0, *[0.6] * (TRAITS - 1)]
    loadings = np.abs(rng.normal(0.5, 0.4, size=(benchmarks, TRAITS)))
    slopes = loadings[of] * rng.lognormal(0, 0.4, size=(count, 1))
    easiness = rng.normal(0.5, 0.7, size=benchmarks)[of] + rng.normal(0, 1.3, size=count)
    chances = 1 / (1 + np.exp(-(slopes @ abilities.T + easiness[:, None])))
    scores = rng.beta(8 * chances + 0.1, 8 * (1 - chances) + 0.1) if continuous else rng.random(chances.shape) < chances
    return scores.astype(np.float32), of


def write_pool(file: Path, count: int, continuous: bool) -> float:
    """A synthetic pool as long-form Parquet, model after model; gives its score patterns a question."""
    scores, of = synthetic(count, 20, np.random.default_rng(count), continuous)
    places = pa.array(np.arange(count, dtype=np.int32))
    questions = pa.DictionaryArray.from_arrays(places, [f"question-{place:07d}" for place in range(count)])
    names = [f"benchmark-{place:02d}" for place in range(20)]
    benchmarks = pa.DictionaryArray.from_arrays(pa.array(of.astype(np.int32)), names)
    writer = None
    for place, column in enumerate(scores.T):
        model = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int32)), [f"model-{place:02d}"])
        columns = {"benchmark": benchmarks, "question_id": questions, "model": model, "score": pa.array(column)}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return len(np.unique(np.column_stack([of.astype(np.float32), scores]), axis=0)) / count


def run_alone(command: Sequence[object]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak megabytes of a process of its own.

    Raises:
        RuntimeError: It failed.
    """
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(word) for word in command], stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begun
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{command[0]} failed: {said.read().decode(errors='replace')[-500:]}")
    megabytes = used.ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    return wall, used.ru_utime + used.ru_stime, megabytes


def time_pool(folder: Path, count: int, continuous: bool, times: int) -> tuple[float, dict[str, list[float]]]:
    """Patterns a question; and for each subject medians of seconds, processor seconds, megabytes."""
    file = folder / f"pool-{count}-{continuous}.parquet"
    # In a process of its own: the peak memory of a child begins with its parent's.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as alone:
        patterns = alone.submit(write_pool, file, count, continuous).result()
    goes: dict[str, list[tuple[float, float, float]]] = {"select": [], "by hand": [], "pivot": []}
    for turn in range(times):
        project = folder / f"project-{count}-{continuous}-{turn}"
        init_project(project)
        select = [INTERPLAY, "compress", "select", file, "--rate", "0.1", "--name", "tenth", "--project", project]
        by_hand = [sys.executable, SUBJECTS / "by_hand.py", file, FUSED_STRATA, folder / "by-hand.csv"]
        for name, command in (
            ("select", select),
            ("by hand", by_hand),
            ("pivot", [sys.executable, SUBJECTS / "pivot.py", file]),
        ):
            goes[name].append(run_alone(command))
            print(f"{count:,} {name}: {goes[name][-1][0]:.1f} s", file=sys.stderr)
    file.unlink()
    medians = {name: [statistics.median(column) for column in zip(*done, strict=True)] for name, done in goes.items()}
    return patterns, medians


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent: slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def scaling(options: argparse.Namespace) -> None:
    """Time all sizes, then a continuous pool of the largest."""
    rows, binary = [], []
    with tempfile.TemporaryDirectory() as folder:
        for count, continuous in [*((size, False) for size in options.sizes), (max(options.sizes), True)]:
            patterns, told = time_pool(Path(folder), count, continuous, options.times)
            ours, by_hand, pivot = told["select"], told["by hand"], told["pivot"]
            if not continuous:
                binary.append(told)
            rows.append([
                f"{count:,}" + (", continuous" if continuous else ""), f"{count * MODELS:,}", f"{patterns:.2f}",
                *(f"{value:.1f}" for value in ours[:2]), f"{ours[2]:.0f}",
                f"{by_hand[0] / ours[0]:.2f}", f"{by_hand[1] / ours[1]:.2f}", f"{by_hand[2] / ours[2]:.2f}",
                f"{pivot[0] / ours[0]:.2f}", f"{pivot[2] / ours[2]:.2f}",
            ])  # fmt: skip
    print_table(
        ("questions", "scores", "patterns a question", "select s", "CPU s", "peak MB", "by hand / select", "CPU",
         "memory", "pivot alone / select", "memory"),
        rows,
    )  # fmt: skip
    header = ("growth exponent", "select", "CPU", "by hand", "CPU", "pivot alone", "CPU")
    spans = {"all binary sizes": len(binary), "the last two": 2}
    cells = [
        [span, *(f"{growth(options.sizes[-last:], [one[name][column] for one in binary[-last:]]):.2f}"
                 for name in ("select", "by hand", "pivot") for column in (0, 1))]
        for span, last in spans.items()
    ]  # fmt: skip
    print_table(header, cells)
    if options.sizes[-1] * MODELS >= GOAL_SCORES:
        wall, _, megabytes = binary[-1]["select"]
        met = "met" if wall < 30 and megabytes < 4096 else "missed"
        print(f"\n10 million scores in under 30 s and 4 GB on two cores: {wall:.1f} s, {megabytes:.0f} MB: {met}")
