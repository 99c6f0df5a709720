"""VLMEvalKit: its inference (`infer_data_job`) over a local TSV through its OpenAI client (`GPT4V`), with its files."""

import base64
import csv
import os
from pathlib import Path

from common import LETTERS, Job, Stopwatch, read_job


def prepare(job: Job) -> None:
    """Write the questions as VLMEvalKit reads them; it has no sound."""
    has_pictures = job.samples[0].image is not None
    with (job.folder / "instant.tsv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t")
        writer.writerow(["index", "question", *LETTERS, "answer", *(["image"] if has_pictures else [])])
        for one in job.samples:
            picture = [base64.b64encode(Path(str(one.image)).read_bytes()).decode()] if has_pictures else []
            writer.writerow([one.id, one.question, *one.choices, "B", *picture])


def main() -> None:
    """Run its inference, with or without the random pause (0 to 0.5 s) that it makes before every call."""
    job = read_job()
    os.environ |= {"LMUData": str(job.folder), "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    prepare(job)
    from vlmeval.api import GPT4V, base
    from vlmeval.dataset import build_dataset
    from vlmeval.inference import infer_data_job
    from vlmeval.smp import load

    dataset = build_dataset("instant")
    model = GPT4V(model="instant", api_base=f"{job.base_url}/chat/completions", retry=3)
    if not job.options["paused"]:
        base.rd.random = lambda: 0.0
    output = job.folder / "output"
    output.mkdir()
    watch = Stopwatch()
    infer_data_job(model, str(output), "instant", dataset, api_nproc=job.concurrency)
    watch.end()
    (file,) = output.glob("instant_instant.*")
    watch.report(job, sum("Answer: B" in str(answer) for answer in load(str(file))["prediction"]))


if __name__ == "__main__":
    main()
