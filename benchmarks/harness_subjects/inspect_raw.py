"""Inspect AI alone: `Model.generate` in a loop, answers in a list; or a minimal task by `eval`, with its log."""

import asyncio
import os
from typing import TYPE_CHECKING

from common import Job, Sample, Stopwatch, data_url, read_job

if TYPE_CHECKING:
    from inspect_ai.model import Content


def content(sample: Sample) -> "list[Content]":
    """A user's message as Inspect AI's parts."""
    from inspect_ai.model import ContentAudio, ContentImage, ContentText

    parts: list[Content] = [ContentText(text=sample.text)]
    if sample.audio is not None:
        parts.insert(0, ContentAudio(audio=data_url(sample.audio, "audio/wav"), format="wav"))
    if sample.image is not None:
        parts.insert(0, ContentImage(image=data_url(sample.image, "image/png")))
    return parts


def generated(job: Job, watch: Stopwatch) -> int:
    """Ask by `Model.generate`; gives how many answers came."""
    from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model

    model = get_model("openai-api/bench/instant", config=GenerateConfig(max_connections=job.concurrency))
    waiting, answers = iter(job.samples), []

    async def work() -> None:
        for sample in waiting:
            output = await model.generate([ChatMessageUser(content=content(sample))])
            answers.append(output.completion)

    async def run() -> None:
        await asyncio.gather(*(work() for _ in range(job.concurrency)))

    watch.begin()
    asyncio.run(run())
    watch.end()
    return sum(bool(answer) for answer in answers)


def evaluated(job: Job, watch: Stopwatch) -> int:
    """Ask by `eval` of a task whose scorer reads the letter; gives how many answers the log holds."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset
    from inspect_ai.dataset import Sample as InspectSample
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.scorer import pattern
    from inspect_ai.solver import generate

    samples = [
        InspectSample(id=one.id, input=[ChatMessageUser(content=content(one))], target="B") for one in job.samples
    ]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=pattern(r"Answer: (\w)"))
    watch.begin()
    (log,) = eval(
        task,
        model="openai-api/bench/instant",
        max_connections=job.concurrency,
        max_samples=job.concurrency,
        log_dir=str(job.folder / "logs"),
        display="none",
    )
    watch.end()
    return sum(bool(sample.output.completion) for sample in log.samples or [])


def main() -> None:
    """Run the way that the job names."""
    job = read_job()
    os.environ |= {"BENCH_BASE_URL": job.base_url, "BENCH_API_KEY": "none"}
    watch = Stopwatch()
    way = {"generate": generated, "eval": evaluated}[job.options["way"]]
    watch.report(job, way(job, watch))


if __name__ == "__main__":
    main()
