"""How well subsets of question pools stand for them, and in what time they are chosen, beside random and by-hand ways.

Run: python benchmarks/compression.py FOLDER [--baselines] [--protocol-size 8000]
     python benchmarks/compression.py --scaling
     python benchmarks/compression.py --interval-check

FOLDER: every *.parquet file of scores in it goes through UNO-Bench's protocol (4.4.2, appendix A) with every sampler,
then the goals are printed with what was measured, random and plain CGHS beside. With --protocol-size, so do random
pools of that many questions by 20 models (12 sources, 8 held out) from each file that is large enough.

--scaling: synthetic pools of 20 models and 20 benchmarks; `interplay compress select` from a Parquet file to a sealed
subset, beside pandas with scikit-learn's K-means on the ungrouped matrix and beside DuckDB's pivot alone. Each is a
process of its own, and all take turns.

--interval-check: coverage of the default's 95% intervals over many synthetic pools whose true means are known.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
# This script has the name of the package that it measures, and Python looks into a script's own folder first.
sys.path = [*(place for place in sys.path if Path(place or ".").resolve() != HERE), str(HERE)]

import numpy as np  # noqa: E402
from compression_scaling import MODELS, SIZES, print_table, scaling, synthetic  # noqa: E402

from compression.families import families_of  # noqa: E402
from compression.frame import make_frame, share_to_size  # noqa: E402
from compression.matrix import Missing, MissingRule, ScoreMatrix, read_matrix  # noqa: E402
from compression.pool import open_pool  # noqa: E402
from compression.samplers import DEFAULT_SAMPLER, SAMPLERS  # noqa: E402
from compression.splits import random_splits  # noqa: E402
from compression.validate import BASELINES, RANDOM, STANDARD, Protocol, Validation, try_out, validate  # noqa: E402
from compression.validity import Trials  # noqa: E402

CGHS = "cghs"
PROTOCOL_POOLS = 3
SAMPLE_SIZES = (50, 100, 200, 500, 1_000)


@dataclass(frozen=True)
class Measured:
    """What one pool gave.

    Attributes:
        name: Of the pool; those of the protocol's size that come from one file share it.
        protocol: Whether it is one of these.
        result: Of `validate`.
        forward: Weak sources and strong held-out models: mean error and its standard error, by sampler.
        plan_s: Seconds to plan, by sampler.
    """

    name: str
    protocol: bool
    result: Validation
    forward: dict[str, tuple[float, float | None]]
    plan_s: dict[str, float]

    def of(self, sampler: str, column: str) -> float | None:
        """A figure of one sampler; None where it is undefined or was not asked for."""
        if column == "bias":
            return self.forward[sampler][0]
        found = [getattr(one, column) for one in self.result.samplers if one.sampler == sampler]
        return found[0] if found else None

    def ratio(self, sampler: str, beside: str) -> float | None:
        """Of root mean squared errors, in closed form where there is one."""
        column = "rmse" if self.of(sampler, "design_rmse") is None else "design_rmse"
        ours, theirs = self.of(sampler, column), self.of(beside, column)
        return ours / theirs if ours is not None and theirs else None


@dataclass(frozen=True)
class Goal:
    """Something to be reached at a tenth of the questions by the default sampler.

    Attributes:
        text: What.
        column: That it is about.
        protocol: About pools of the protocol's size; None: about all.
        met: Whether (measured, its pool) reach it.
        file: Part of the name of the file that it is about.
    """

    text: str
    column: str
    protocol: bool | None
    met: Callable[[float, Measured], bool]
    file: str = ""


def below(beside: str, share: float) -> Callable[[float, Measured], bool]:
    """Whether a closed-form error lies so far below that of another sampler."""
    return lambda value, one: value <= (1 - share) * (one.of(beside, "design_rmse") or 0)


GOALS_RATE = 0.1
# The goals that the project set itself. UNO-Bench (4.4.2) reports for a tenth of some 8,000 questions: SRCC and PLCC
# above .98, RMSE below .02, MoE .024, CIC about .95.
GOALS = (
    Goal("PLCC >= .99", "plcc", True, lambda value, _: value >= 0.99),
    Goal("RMSE <= .0125", "rmse", True, lambda value, _: value <= 0.0125),
    Goal("MoE <= .026", "moe", True, lambda value, _: value <= 0.026),
    Goal("CIC .94 to .96", "cic", True, lambda value, _: 0.94 <= round(value, 3) <= 0.96),
    Goal("closed form 17% below random", "design_rmse", None, below(RANDOM, 0.17), "mmlu_pro"),
    Goal("closed form 10% below cghs", "design_rmse", False, below(CGHS, 0.10), "blink"),
    Goal("bias weak to strong < .003", "bias", None, lambda value, _: abs(value) < 0.003),
)


def measure(name: str, matrix: ScoreMatrix, options: argparse.Namespace, protocol: bool) -> Measured:
    """Everything about one pool."""
    names = (*STANDARD, *(BASELINES if options.baselines else ()))
    how = Protocol(options.splits, options.repeats, seed=options.seed)
    result = validate(matrix, options.rate, names=names, protocol=how)
    forward = {one.sampler: (one.bias, one.bias_error) for one in result.weak_to_strong}
    names = tuple(one.sampler for one in result.samplers)
    return Measured(name, protocol, result, forward, planning(matrix, names, result.size))


def planning(matrix: ScoreMatrix, names: Sequence[str], size: int) -> dict[str, float]:
    """Seconds to plan by sampler, the best of three goes in turns."""
    families = families_of(matrix)
    (split,) = random_splits(matrix, families, 1, np.random.default_rng(0))
    frame = make_frame(matrix, families, split.sources)
    best = dict.fromkeys(names, float("inf"))
    for _ in range(3):
        for name in names:
            begun = time.perf_counter()
            SAMPLERS[name].load().plan(frame, size, 0)
            best[name] = min(best[name], time.perf_counter() - begun)
    return best


def number(value: float | None, digits: int = 3) -> str:
    """As it is printed."""
    return "-" if value is None else f"{value:.{digits}f}"


def print_validity(one: Measured) -> None:
    """A row for each sampler of one pool."""
    result = one.result
    print(f"\n### {one.name}, {result.size:,} of {result.questions:,} questions, {result.models} models")
    held_out, members = np.mean(result.held_out), sum(map(len, result.families))
    print(f"\n{held_out:.0f} held out; {members} of the models are in {len(result.families)} families of several")
    header = (
        "sampler", "SRCC (SD)", "pairs", "PLCC", "RMSE", "closed", "/ random", "/ cghs", "MoE", "CIC", "weak to strong",
        "plan",
    )  # fmt: skip
    rows = [
        [
            name + (" (default)" if name == DEFAULT_SAMPLER else ""),
            f"{number(one.of(name, 'srcc'))} ({number(one.of(name, 'srcc_sd'))})",
            *(number(one.of(name, column)) for column in ("sign_agreement", "plcc")),
            *(number(one.of(name, column), 4) for column in ("rmse", "design_rmse")),
            *(number(one.ratio(name, beside), 2) for beside in (RANDOM, CGHS)),
            number(one.of(name, "moe"), 4),
            number(one.of(name, "cic")),
            f"{one.forward[name][0]:+.4f} ± {number(one.forward[name][1], 4)}",
            f"{one.plan_s[name] / one.plan_s[CGHS]:.2f}",
        ]
        for name in one.plan_s
    ]
    print_table(header, rows)


def print_summary(measured: Sequence[Measured]) -> None:
    """The default beside others: root mean squared errors by draws, the one figure that all have."""
    names = [name for name in (DEFAULT_SAMPLER, RANDOM, CGHS, *BASELINES) if name in measured[0].plan_s]
    print("\n### RMSE by draws")
    rows = [
        [
            one.name,
            f"{one.result.questions:,} x {one.result.models}",
            *(number(one.of(name, "rmse"), 4) for name in names),
        ]
        for one in measured
    ]
    print_table(("pool", "questions x models", *names), rows)


def print_goals(measured: Sequence[Measured]) -> None:
    """Each goal with what was measured; of several pools that come from one file each one has to reach it."""
    print("\n### Goals")
    rows = []
    for goal in GOALS:
        pools = [one for one in measured if goal.file in one.name and goal.protocol in (None, one.protocol)]
        for name in dict.fromkeys(one.name for one in pools):
            same = [one for one in pools if one.name == name]
            values = [one.of(DEFAULT_SAMPLER, goal.column) for one in same]
            met = all(value is not None and goal.met(value, one) for value, one in zip(values, same, strict=True))
            beside = [[one.of(sampler, goal.column) for one in same] for sampler in (RANDOM, CGHS)]
            told = [" / ".join(number(value, 4) for value in these) for these in (values, *beside)]
            rows.append([goal.text, name, *told, "met" if met else "missed"])
    print_table(("goal", "pool", DEFAULT_SAMPLER, RANDOM, CGHS, ""), rows)


def validity(options: argparse.Namespace) -> None:
    """Every file of a folder."""
    measured = []
    for file in sorted(options.folder.glob("*.parquet")):
        with open_pool(str(file), None) as pool:
            matrix = read_matrix(pool)
        parts = [(file.stem, matrix, False)]
        if options.protocol_size and len(matrix) >= options.protocol_size and len(matrix.models) >= MODELS:
            rng = np.random.default_rng(options.seed)
            for _ in range(PROTOCOL_POOLS):
                models = np.sort(rng.choice(len(matrix.models), MODELS, replace=False))
                questions = np.sort(rng.choice(len(matrix), options.protocol_size, replace=False))
                part = matrix.of_models(models).of_questions(questions)
                parts.append((f"{file.stem} {options.protocol_size:,} x {MODELS}", part, True))
        for name, one, protocol in parts:
            measured.append(measure(name, one, options, protocol))
            print_validity(measured[-1])
    if not measured:
        raise SystemExit(f"{options.folder} holds no *.parquet file")
    print_summary(measured)
    if options.rate == GOALS_RATE:
        print_goals(measured)


def covered(size: int, seed: int) -> tuple[float, float, float]:
    """Of one synthetic pool and one sample: share of held-out intervals that hold, squared error, margin (means)."""
    rng = np.random.default_rng([seed, size])
    count = 3_000
    scores, of = synthetic(count, 10, rng)
    names = [f"{place:02d}" for place in range(MODELS)]
    patterns = np.unique(np.column_stack([of, scores]), axis=0, return_inverse=True)[1].ravel()
    matrix = ScoreMatrix(
        "synthetic", tuple(names[:10]), of, np.arange(count).astype(str).astype(object), tuple(names), (None,) * MODELS,
        scores, patterns, Missing(rule=MissingRule.DROP),
    )  # fmt: skip
    families = families_of(matrix)
    (split,) = random_splits(matrix, families, 1, rng)
    frame = make_frame(matrix, families, split.sources)
    plan = SAMPLERS[DEFAULT_SAMPLER].load().plan(frame, share_to_size(None, size, count), seed)
    trials = Trials()
    try_out(trials, plan, frame.values(scores[:, split.held_out]), (seed, size), 1)
    assert trials.cic is not None
    assert trials.moe is not None
    return trials.cic, trials.rmse**2, trials.moe


def interval_check(options: argparse.Namespace) -> None:
    """Coverage by sample size; its standard error is over pools, because the intervals of one err together."""
    rows = (coverage(size, options.pools) for size in SAMPLE_SIZES)
    print_table(("questions of 3,000", "coverage", "MoE", "RMSE"), rows)


def coverage(size: int, pools: int) -> list[str]:
    """A row of the table."""
    told = np.array([covered(size, seed) for seed in range(pools)])
    error = told[:, 0].std(ddof=1) / np.sqrt(pools)
    rmse, margin = np.sqrt(told[:, 1].mean()), told[:, 2].mean()
    return [f"{size:,}", f"{told[:, 0].mean():.3f} ± {error:.3f}", f"{margin:.4f}", f"{rmse:.4f}"]


def main() -> None:
    """Measure what was asked for, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="with files of scores")
    parser.add_argument("--rate", type=float, default=GOALS_RATE, help="share of the questions that is kept")
    parser.add_argument("--splits", type=int, default=Protocol.splits)
    parser.add_argument("--repeats", type=int, default=Protocol.repeats)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--baselines", action="store_true", help="anchor points and item response theory too")
    parser.add_argument("--protocol-size", type=int, help="pools of so many questions by 20 models too, as 8000")
    parser.add_argument("--scaling", action="store_true", help="time from Parquet to a sealed subset")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="questions of the synthetic pools")
    parser.add_argument("--times", type=int, default=3, help="goes of each subject, of which the median is told")
    parser.add_argument("--interval-check", action="store_true", help="coverage on pools of known truth")
    parser.add_argument("--pools", type=int, default=300, help="pools for each size of --interval-check")
    options = parser.parse_args()
    asked = {validity: options.folder, scaling: options.scaling, interval_check: options.interval_check}
    if not any(asked.values()):
        parser.error("nothing to measure: name a FOLDER, --scaling or --interval-check")
    print(f"{date.today()}, {os.cpu_count()} cores, CPython {platform.python_version()}")
    for part in (part for part, wanted in asked.items() if wanted):
        part(options)


if __name__ == "__main__":
    main()
