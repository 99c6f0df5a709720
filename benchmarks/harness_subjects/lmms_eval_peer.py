"""lmms-eval: its command over a local task, answers logged (`--predict_only`), with the model that the job names."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from common import Job, Stopwatch, read_job

TASK = """\
task: instant
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {parquet}
test_split: test
output_type: generate_until
doc_to_text: text
doc_to_target: target
doc_to_messages: !function instant_utils.doc_to_messages
doc_to_visual: !function instant_utils.doc_to_visual
generation_kwargs:
  max_new_tokens: 64
  temperature: 0
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""
UTILS = """\
import base64


def doc_to_visual(doc):
    return [doc["image"]] if doc.get("image") is not None else []


def doc_to_messages(doc, lmms_eval_specific_kwargs=None):
    content = [{"type": "image", "url": one} for one in doc_to_visual(doc)]
    if doc.get("audio") is not None:
        sound = base64.b64encode(doc["audio"]).decode()
        content.append({"type": "audio", "url": f"data:audio/wav;base64,{sound}"})
    return [{"role": "user", "content": [*content, {"type": "text", "text": doc["text"]}]}]
"""


def prepare(job: Job) -> None:
    """Write the task and its questions; pictures as the `Image` feature of `datasets`, as its own tasks have them."""
    import datasets

    rows: dict[str, list[Any]] = {
        "text": [sample.text for sample in job.samples],
        "target": ["B"] * len(job.samples),
    }
    features = {name: datasets.Value("string") for name in rows}
    if job.samples[0].image is not None:
        rows["image"] = [{"bytes": Path(str(one.image)).read_bytes(), "path": None} for one in job.samples]
        features["image"] = datasets.Image()
    if job.samples[0].audio is not None:
        rows["audio"] = [Path(str(one.audio)).read_bytes() for one in job.samples]
        features["audio"] = datasets.Value("binary")
    parquet = job.folder / "instant.parquet"
    datasets.Dataset.from_dict(rows, features=datasets.Features(features)).to_parquet(parquet)
    folder = job.folder / "task"
    folder.mkdir()
    (folder / "instant.yaml").write_text(TASK.format(parquet=parquet), encoding="utf-8")
    (folder / "instant_utils.py").write_text(UTILS, encoding="utf-8")


def main() -> None:
    """Run `lmms-eval` as its command does, timed from when task and model are there."""
    job = read_job()
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(job.folder / "home"), "OPENAI_API_KEY": "none"}
    prepare(job)
    from lmms_eval import evaluator
    from lmms_eval.__main__ import cli_evaluate

    watch = Stopwatch()
    evaluate = evaluator.evaluate

    def timed(*arguments: Any, **named: Any) -> Any:
        watch.begin()
        return evaluate(*arguments, **named)

    evaluator.evaluate = timed
    kind, at_once = job.options["model"], job.options["at_once"]
    output = job.folder / "output"
    sys.argv = [
        "lmms-eval", "--model", kind, "--tasks", "instant", "--include_path", str(job.folder / "task"),
        "--model_args", f"model_version=instant,base_url={job.base_url},{at_once}={job.concurrency}",
        "--batch_size", "1", "--predict_only", "--output_path", str(output), "--verbosity", "ERROR",
    ]  # fmt: skip
    cli_evaluate()
    watch.end()
    lines = [line for file in output.rglob("*samples*.jsonl") for line in file.read_text(encoding="utf-8").splitlines()]
    watch.report(job, sum("Answer: B" in json.dumps(json.loads(line)["filtered_resps"]) for line in lines))


if __name__ == "__main__":
    main()
