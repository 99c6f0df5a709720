"""How long a report of very many responses takes, beside one plain query over the same files.

Run: python benchmarks/report.py [--models 10] [--items 1250] [--to FOLDER]

Makes a synthetic release (twins, steps, uni-modal questions), answers to it under nine conditions by models of growing
ability, and their grades, as Parquet. Then times, in this process and on these files: DuckDB's mean points by model and
condition as one query; the same by pandas; the report's numbers; the whole report with its responses; the page.
"""

import argparse
import hashlib
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question, Step
from core.taxonomy import load_taxonomy
from evaluation.graders import grader_for
from evaluation.report.build import build_report
from evaluation.report.items import ItemFacts, clusters_of
from evaluation.report.page import page, write_report
from warehouse.analytics import analysis
from warehouse.fact_kinds import FACT_KINDS
from warehouse.facts import FactStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHOWN = {
    "full": {"audio", "visual"},
    "without_audio": {"visual"},
    "without_image": {"audio"},
    "without_video": {"audio"},
    "without_visual": {"audio"},
    "caption_for_visual": {"audio", "caption"},
    "transcript_for_audio": {"visual", "caption"},
    "text_only": set(),
    "options_only": set(),
}
PLAIN_QUERY = """
SELECT model, condition, avg(points) AS points, count(*) AS n
FROM read_parquet($responses) AS response
JOIN read_parquet($grades) AS grade ON grade.response_key = response.key
GROUP BY ALL
"""


def media(kind: str, number: int) -> MediaRef:
    """Media that lie nowhere."""
    media_type = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}[kind]
    sha256 = hashlib.sha256(f"{kind} {number}".encode()).hexdigest()
    return MediaRef(sha256=sha256, media_type=media_type, modality=kind, byte_count=9)


def question(number: int, rng: np.random.Generator) -> Question:
    """A question of one of the scopes and kinds of a release."""
    scope = ("omni", "omni", "omni", "steps", "audio", "visual")[number // 2 % 6]
    seen = "video" if number % 4 > 1 else "image"
    parts = {"omni": [seen, "audio"], "steps": [seen, "audio"], "audio": ["audio"], "visual": [seen]}[scope]
    # Twins (an even number and the next one) share their picture and differ in what is heard.
    given = {f"{kind}_1": media(kind, number if kind == "audio" else number // 2) for kind in parts}
    task_types = load_taxonomy().task_types
    shared = {
        "prompt": parse_prompt(f"Question {number // 2}: " + " ".join(f"<{name}>" for name in given), given),
        "required": {ref.modality for ref in given.values()},
        "task_type": task_types[number // 2 % len(task_types)].id,
        "language": "en" if number // 2 % 3 else "zh",
    }
    if scope == "steps":
        worth = [(4, 6), (3, 3, 4), (2, 2, 3, 3)][int(rng.integers(3))]
        steps = tuple(Step(ask=f"Step {n}?", points=p, answer=AnswerKey(accepted=("1",))) for n, p in enumerate(worth))
        return Question(kind="multi_step", steps=steps, **shared)
    choices = tuple(Choice(text=text) for text in ("red", "blue", "green", "grey"))
    return Question(kind="choice", choices=choices, answer=AnswerKey(correct=(number % 4,)), **shared)


def release(count: int) -> dict[str, ItemFacts]:
    """Items by revision id."""
    rng = np.random.default_rng(1)
    questions = {f"revision-{number:06}": question(number, rng) for number in range(count)}
    twins = {
        revision_id: f"twins-{number // 2}" if number // 2 % 6 < 3 else None
        for number, revision_id in enumerate(questions)
    }
    clusters = clusters_of(questions, twins)
    return {
        revision_id: ItemFacts(
            name=f"item-{number:06}",
            question=one,
            cluster=clusters[revision_id],
            twin_group=twins[revision_id],
            sound=("speech", "environment", None)[number // 12 % 3] if "audio" in one.modalities else None,
        )
        for number, (revision_id, one) in enumerate(questions.items())
    }


def answers(items: dict[str, ItemFacts], models: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Responses and their grades: points grow with the model's ability and with what it is shown."""
    rng = np.random.default_rng(2)
    names = [*(f"model-{chr(ord('a') + number)}" for number in range(models)), "human"]
    for place, name in enumerate(names):
        ability = 0.97 if name == "human" else 0.35 + 0.5 * place / max(1, models - 1)
        for condition, shown in SHOWN.items():
            for revision_id, item in items.items():
                held = {"audio" if one == "audio" else "visual" for one in item.question.modalities}
                applies = {"without_image": "image", "without_video": "video", "without_audio": "audio"}.get(condition)
                if name == "human" and condition != "full":
                    continue
                if applies and applies not in item.question.modalities:
                    continue
                if condition in {"without_visual", "caption_for_visual"} and "visual" not in held:
                    continue
                if condition == "transcript_for_audio" and "audio" not in held:
                    continue
                seen = len(held & shown) / len(held) + (0.4 if "caption" in shown else 0)
                yield _answer(name, condition, revision_id, item, 0.25 + (ability - 0.25) * min(1.0, seen), rng)


def _answer(
    model: str, condition: str, revision_id: str, item: ItemFacts, right: float, rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    key = hashlib.sha256(f"{model} {condition} {revision_id}".encode()).hexdigest()
    state = ("ok", "refusal", "api_error")[int(rng.choice(3, p=[0.985, 0.01, 0.005]))]
    steps = [float(rng.random() < right * 0.9**n) for n in range(len(item.question.steps))]
    points = sum(s.points * share for s, share in zip(item.question.steps, steps, strict=True)) / 10 if steps else None
    points = float(rng.random() < right) if points is None else points
    points, steps = (0.0, [0.0] * len(steps)) if state == "refusal" else (points, steps)
    response = {
        "key": key, "request_key": key, "purpose": "evaluation", "model": model, "family": model,
        "item_name": item.name,
        "revision_id": revision_id, "condition": condition, "condition_fingerprint": condition, "rotation": 0,
        "replicate": 0, "kind": item.question.kind.value, "state": state, "parameters": '{"provider": "synthetic"}',
        "answer": None if state == "api_error" else "It is heard twice and seen once. Answer: B. " * 3,
        "error": "the server is overloaded" if state == "api_error" else None, "sent": "[]", "attempts": 1,
        "input_tokens": int(rng.integers(400, 1600)), "output_tokens": 60, "latency_s": 0.5,
        "cost_usd": None if model == "human" else 0.0004,
    }  # fmt: skip
    if state == "api_error":
        return response, None
    grader = grader_for(item.question).fingerprint
    told = {"response_key": key, "grader": grader, "points": points, "step_points": steps, "reason": "right: by rule"}
    return response, told


def store(folder: Path, items: dict[str, ItemFacts], models: int) -> tuple[FactStore, int]:
    """Write the facts as Parquet, 20,000 rows a file; gives how many responses there are."""
    rows: dict[str, list[dict[str, Any]]] = {"response": [], "grade": []}
    for response, grade in answers(items, models):
        rows["response"].append(response)
        if grade is not None:
            rows["grade"].append(grade)
    for kind, made in rows.items():
        (folder / kind).mkdir(parents=True)
        for start in range(0, len(made), 20_000):
            part = [{"run_id": "run", "recorded_at": NOON, **row} for row in made[start : start + 20_000]]
            table = pa.Table.from_pylist(part, schema=FACT_KINDS[kind].schema)
            pq.write_table(table, folder / kind / f"run-{start:08}.parquet", compression="zstd")
    return FactStore(str(folder), folder / "journal"), len(rows["response"])


def by_duckdb(facts: FactStore) -> object:
    """Mean points by model and condition, as one query."""
    with analysis(facts, []) as connection:
        files = {"responses": facts.files("response"), "grades": facts.files("grade")}
        return connection.sql(PLAIN_QUERY, params=files).fetchall()


def by_pandas(facts: FactStore) -> object:
    """The same with pandas."""
    import pandas as pd

    responses = pd.concat(
        [pd.read_parquet(path, columns=["key", "model", "condition"]) for path in facts.files("response")]
    )
    grades = pd.concat([pd.read_parquet(path, columns=["response_key", "points"]) for path in facts.files("grade")])
    joined = responses.merge(grades, left_on="key", right_on="response_key")
    return joined.groupby(["model", "condition"])["points"].agg(["mean", "count"])


def timed(work: Callable[[], object], times: int = 3) -> float:
    """Seconds, the best of several goes."""
    best = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def main() -> None:
    """Make the files, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--items", type=int, default=1250)
    parser.add_argument("--to", type=Path, help="write the report there")
    options = parser.parse_args()
    items = release(options.items)
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own, so that the memory which is told below is the report's.
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            count = pool.submit(store, Path(folder), items, options.models).result()[1]
        facts = FactStore(folder, Path(folder) / "journal")
        full = build_report(facts, "synthetic 1.0.0", items)
        plain = timed(lambda: by_duckdb(facts))
        rows = {
            "DuckDB, one query": plain,
            "pandas, one group by": timed(lambda: by_pandas(facts)),
            "report, numbers alone": timed(
                lambda: build_report(facts, "synthetic 1.0.0", items, with_tables=False, with_answers=False)
            ),
            "report, all tables": timed(lambda: build_report(facts, "synthetic 1.0.0", items, with_answers=False)),
            "report, with all responses": timed(lambda: build_report(facts, "synthetic 1.0.0", items)),
            "page of it": timed(lambda: page(full), times=1),
            "JSON of it": timed(full.model_dump_json, times=1),
        }
    print(f"{count:,} responses, {len(items):,} items, {options.models} models and a person")
    for name, seconds in rows.items():
        print(f"{name:28} {seconds:7.2f} s {seconds / plain:8.1f} x the plain query")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if options.to:
        write_report(full, options.to)


if __name__ == "__main__":
    main()
