"""What every subject of `harness.py` shares; the standard library alone, for peers run in environments of their own."""

import base64
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSTRUCTION = "Answer with the letter of the right option on the last line, as 'Answer: X'."
LETTERS = "ABCD"


@dataclass(frozen=True)
class Sample:
    """One question; `image` (PNG) and `audio` (WAV) are files, None where a workload has none."""

    id: int
    question: str
    choices: list[str]
    image: str | None
    audio: str | None

    @property
    def text(self) -> str:
        """All that a model reads."""
        options = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, self.choices, strict=True)]
        return "\n".join([self.question, "", *options, INSTRUCTION])


@dataclass(frozen=True)
class Job:
    """What a subject is told: the server, the questions, an empty folder of its own, how many calls at once."""

    base_url: str
    samples: list[Sample]
    folder: Path
    concurrency: int
    options: dict[str, Any]


def read_job() -> Job:
    """The job that the command line names."""
    told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lines = Path(told["samples"]).read_text(encoding="utf-8").splitlines()[: told["count"]]
    samples = [Sample(**json.loads(line)) for line in lines]
    return Job(told["base_url"], samples, Path(told["folder"]), told["concurrency"], told["options"])


class Stopwatch:
    """Times the work of a subject, from when everything is loaded to when all answers are stored."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Everything is loaded; from here on it counts."""
        self._begun_s, self._begun_cpu_s = time.monotonic(), _cpu_s()

    def end(self) -> None:
        """All answers are stored."""
        self._ended_s, self._ended_cpu_s = time.monotonic(), _cpu_s()

    def report(self, job: Job, stored: int) -> None:
        """Tell `harness.py`, which reads the last file that a subject writes; `stored` answers were found again."""
        told = {
            "begun_s": self._begun_s,
            "ended_s": self._ended_s,
            "cpu_s": self._ended_cpu_s - self._begun_cpu_s,
            "stored": stored,
        }
        (job.folder / "told.json").write_text(json.dumps(told), encoding="utf-8")


def data_url(file: str, media_type: str) -> str:
    """A file as a data URL."""
    return f"data:{media_type};base64,{base64.b64encode(Path(file).read_bytes()).decode()}"


def openai_messages(sample: Sample) -> list[dict[str, Any]]:
    """The messages of a request to an OpenAI-compatible server, audio as vLLM takes it."""
    content: list[dict[str, Any]] = []
    if sample.image is not None:
        content.append({"type": "image_url", "image_url": {"url": data_url(sample.image, "image/png")}})
    if sample.audio is not None:
        content.append({"type": "audio_url", "audio_url": {"url": data_url(sample.audio, "audio/wav")}})
    told = [*content, {"type": "text", "text": sample.text}] if content else sample.text
    return [{"role": "user", "content": told}]


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
