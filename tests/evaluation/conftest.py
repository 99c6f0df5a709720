"""Models whose replies a test writes, questions to put to them, and responses put straight into the facts."""

import hashlib
import io
import itertools
import wave
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annotation_ui.item_files import Record, as_draft
from core.content import MediaRef, TextPart, parse_prompt
from core.question import AnswerKey, Choice, Question, Step
from core.taxonomy import load_taxonomy
from evaluation.asking import Asker
from evaluation.models.catalogue import ModelSpec
from warehouse.analytics import analysis
from warehouse.fact_kinds import FACT_KINDS
from warehouse.facts import FactStore
from warehouse.items import Draft, create_item
from warehouse.tables import Release, ReleaseItem, Run
from warehouse.workspace import Workspace, open_workspace

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TASK_TYPE = next(iter(load_taxonomy().task_types)).id


def media_ref(kind: str, seed: str = "x", **facts: object) -> MediaRef:
    """A reference to media that lie nowhere."""
    types = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
    sha256 = hashlib.sha256(f"{kind} {seed}".encode()).hexdigest()
    return MediaRef(**{"sha256": sha256, "media_type": types[kind], "modality": kind, "byte_count": 9} | facts)


class Questions:
    """Small questions of each kind."""

    media_ref = staticmethod(media_ref)

    @staticmethod
    def choice(text: str = "Which colour?", correct: tuple[int, ...] = (1,), media=None, **changes) -> Question:
        fields = {
            "prompt": parse_prompt(text, media) if media else (TextPart(text=text),),
            "kind": "choice",
            "choices": tuple(Choice(text=one) for one in ("red", "blue", "green", "grey")),
            "answer": AnswerKey(correct=correct),
            "required": {ref.modality for ref in (media or {}).values()},
            "task_type": TASK_TYPE,
            "language": "en",
        }
        return Question(**fields | changes)

    @staticmethod
    def open(
        text: str = "How many?", accepted: tuple[str, ...] = ("4",), grader: str = "number", **changes
    ) -> Question:
        fields = {
            "prompt": (TextPart(text=text),),
            "kind": "open",
            "answer": AnswerKey(accepted=accepted, grader=grader),
            "task_type": TASK_TYPE,
            "language": "en",
        }
        return Question(**fields | changes)

    @staticmethod
    def steps(text: str = "Count, then add.", **changes) -> Question:
        fields = {
            "prompt": (TextPart(text=text),),
            "kind": "multi_step",
            "steps": (
                Step(ask="How many?", points=4, answer=AnswerKey(accepted=("3",), grader="number")),
                Step(ask="Where?", points=6, answer=AnswerKey(accepted=("left",))),
            ),
            "task_type": TASK_TYPE,
            "language": "en",
        }
        return Question(**fields | changes)


@pytest.fixture(scope="session")
def questions() -> type[Questions]:
    return Questions


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (200, 30, 40)).save(buffer, "PNG")
    return buffer.getvalue()


def wav(seconds: float = 0.1, rate_hz: int = 8000) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        tone = 9000 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate_hz)) / rate_hz)
        out.writeframes(tone.astype("<i2").tobytes())
    return buffer.getvalue()


@pytest.fixture(scope="session")
def small_media() -> dict[str, bytes]:
    return {"image": png(), "audio": wav()}


class Script:
    """A model's replies: what it was asked, in order, and how often."""

    def __init__(self, reply: Callable[[str, int], object]) -> None:
        self.reply = reply
        self.asked: list[str] = []
        self.running = 0
        self.most_at_once = 0
        self.contents: list[list[str]] = []
        self.in_transcript: list[int] = []
        self.counts_tokens = True


class Answered:
    """An error that a provider gives back instead of raising it, as Inspect AI's own do for bad requests."""

    def __init__(self, error: Exception) -> None:
        self.error = error


SCRIPTS: dict[str, Script] = {}
_names = itertools.count()


@pytest.fixture(scope="session")
def _scripted_provider() -> None:
    import asyncio

    from inspect_ai.log import transcript
    from inspect_ai.model import ContentText, ModelAPI, ModelCall, ModelOutput, ModelUsage, modelapi

    @modelapi(name="scripted")
    class Scripted(ModelAPI):
        def __init__(self, model_name, base_url=None, api_key=None, config=None, **arguments):
            super().__init__(model_name, base_url, api_key, [], config)
            self.script = SCRIPTS[model_name]
            self.script.key, self.script.config = api_key, config

        async def generate(self, input, tools, tool_choice, config):
            content = input[0].content
            text = "".join(part.text for part in content if isinstance(part, ContentText))
            script = self.script
            script.asked.append(text)
            script.now = config
            script.contents.append([type(part).__name__ for part in content])
            script.in_transcript.append(len(transcript().events))
            script.running += 1
            script.most_at_once = max(script.most_at_once, script.running)
            await asyncio.sleep(0)
            try:
                reply = script.reply(text, len(script.asked))
            finally:
                script.running -= 1
            if isinstance(reply, BaseException):
                raise reply
            if isinstance(reply, Answered):
                return reply.error, ModelCall.create({"messages": "x" * 9000}, None)
            output = reply if isinstance(reply, ModelOutput) else ModelOutput.from_content(self.model_name, reply)
            if script.counts_tokens:
                output.usage = ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9)
            return output

        def should_retry(self, ex):
            return "busy" in str(ex)

        def retry_wait(self):
            from tenacity import wait_none

            return wait_none()


@pytest.fixture
def scripted(_scripted_provider):
    """Make a model of a reply, or of a function of (text asked, how many it has been asked) that gives one."""
    made: list[str] = []

    def make(reply, name: str | None = None, **fields) -> tuple[ModelSpec, Script]:
        key = f"m{next(_names)}"
        SCRIPTS[key] = Script(reply if callable(reply) else lambda text, count: reply)
        made.append(key)
        name = name or key
        return ModelSpec(**{"name": name, "provider": f"scripted/{key}", "family": name} | fields), SCRIPTS[key]

    yield make
    for key in made:
        del SCRIPTS[key]


@pytest.fixture(scope="session")
def answered() -> type[Answered]:
    return Answered


@pytest.fixture
def put(workspace):
    """Store a question as an item's first revision; gives what `plan` takes."""

    def store(name, question):
        with workspace.database.session() as session:
            item, revision = create_item(session, name, Draft(question, {}, "ann"), clock=lambda: NOON)
        return item.name, revision

    return store


@pytest.fixture
def asker(workspace):
    """An asker in a run of its own."""

    def make(run_id: str | None = None, **fields) -> Asker:
        if run_id is None:
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=NOON)
            with workspace.database.session() as session:
                session.add(run)
            run_id = run.id
        defaults = {
            "facts": workspace.facts,
            "blobs": workspace.blobs,
            "purpose": "test",
            "project_root": workspace.project.root,
        }
        return Asker(run_id=run_id, **defaults | fields)

    return make


@pytest.fixture
def facts(request, tmp_path) -> FactStore:
    """The project's facts, or where a test needs no project facts of their own."""
    if "workspace" in request.fixturenames:
        return request.getfixturevalue("workspace").facts
    return FactStore(str(tmp_path / "facts"), tmp_path / "journal")


@pytest.fixture
def stored(facts):
    """All responses, or rows of another kind, by DuckDB."""

    def read(kind: str = "response", order: str = "key") -> list[dict]:
        with analysis(facts, [kind]) as connection:
            return connection.sql(f"FROM {kind} ORDER BY {order}").to_arrow_table().to_pylist()

    return read


@pytest.fixture
def respond(facts):
    """Write responses as if they had been asked."""

    def write(*rows: dict, run_id: str = "run", kind: str = "response") -> None:
        empty = dict.fromkeys(name for name in FACT_KINDS[kind].schema.names if name != "run_id")
        usual = {
            "response": {
                "model": "m",
                "family": "m",
                "condition": "full",
                "kind": "choice",
                "rotation": 0,
                "replicate": 0,
                "state": "ok",
                "parameters": "{}",
                "sent": "[]",
            },
            "grade": {"points": None, "reason": "", "step_points": []},
        }[kind]
        with facts.writer(kind, run_id) as writer:
            for minute, row in enumerate(rows):
                writer.add(empty | usual | {"recorded_at": f"2026-01-01T12:{minute:02}:00+00:00"} | row)

    return write


MODELS = """
[models.keen]
provider = "interplay-sim/keen"
arguments = {{ gallery = "{gallery}", seed = 1, api_key = "sk-secret-2" }}

[models.deaf]
provider = "interplay-sim/deaf"
arguments = {{ gallery = "{gallery}", seed = 2, dropped = ["audio"] }}
"""


@pytest.fixture(scope="session")
def sound_items(real_media):
    """Four questions of exact need about a picture and a sound."""
    from evaluation.models.sim.grammar import Sight
    from interplay.demo_media import materials
    from qc.ground_truth import Family, TruthClass, generate

    only_sound = {TruthClass.SOUND: 1.0}
    return generate(4, 5, materials(real_media), mix=only_sound, families=[Family.SUM], sights=[Sight.DOTS])


@pytest.fixture
def zoo(project, gallery_file, sound_items, new_library):
    """A project with two simulated models and the release zoo 1.0.0 of four sound items."""
    with (project.root / "interplay.toml").open("a") as settings:
        settings.write(MODELS.format(gallery=gallery_file))
    with open_workspace(project.root) as workspace:
        library = new_library(workspace)
        run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=NOON)
        release = Release(name="zoo", version="1.0.0", run_id=run.id)
        with workspace.database.session() as session:
            session.add(run)
            session.flush()
            session.add(release)
        for position, item in enumerate(sound_items):
            shas = {name: library.add(file.data).sha256 for name, file in item.media.items()}
            with workspace.database.session() as session:
                _, draft = as_draft(session, Record(item.name, item.record(shas)), project.root, "ann", None)
                _, revision = create_item(session, item.name, draft, clock=lambda: NOON)
                row = ReleaseItem(release_id=release.id, revision_id=revision.id, split="test", position=position)
                session.add(row)
        yield workspace


@pytest.fixture(scope="session")
def bench_module(load_helper: Callable[[str], ModuleType]) -> ModuleType:
    """What the tests of exams share."""
    return load_helper("evaluation/exam_bench.py")


@pytest.fixture
def bench(workspace: Workspace, library: Any, small_media: dict[str, bytes], bench_module: ModuleType) -> Any:
    """Questions, people and exams; see `exam_bench.Bench`."""
    return bench_module.Bench(workspace, library, small_media["audio"])
