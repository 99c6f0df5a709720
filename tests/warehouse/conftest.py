"""A project with materials and questions, made through the services that the workshops use."""

import io
import shutil
import wave
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from core.content import MediaRef, parse_prompt
from core.media.probe import probe
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from warehouse.database import Database
from warehouse.items import Draft, create_item, get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Consent, Contributor, Decision, Item, ItemRevision, Material, MaterialSource, Run
from warehouse.verdicts import Judgement, record_verdict, settle_round
from warehouse.workspace import Workspace, open_workspace

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def still_clock() -> datetime:
    return NOON


def picture(shade: int, **settings: object) -> bytes:
    """A PNG of 12 x 8 pixels of one grey."""
    buffer = io.BytesIO()
    Image.new("RGB", (12, 8), (shade % 256, shade // 256, 7)).save(buffer, "PNG", **settings)
    return buffer.getvalue()


def sound(pitch_hz: int) -> bytes:
    """A WAV of a tenth of a second at 8 kHz."""
    samples = (np.sin(2 * np.pi * pitch_hz * np.arange(800) / 8000) * 9000).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(samples.tobytes())
    return buffer.getvalue()


@cache
def film(shade: int) -> bytes:
    """A silent MP4 of five frames; made once, for x264 may give other bytes for the same frames."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for _ in range(5):
            pixels = np.full((32, 32, 3), shade, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        out.mux(stream.encode(None))
    return buffer.getvalue()


class World:
    """One project, and short ways to fill it."""

    picture = staticmethod(picture)
    sound = staticmethod(sound)
    film = staticmethod(film)
    clock = staticmethod(still_clock)

    @staticmethod
    def open_question(material: Material, **changes: object) -> Question:
        return open_question(material, **changes)

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.database, self.blobs = workspace.database, workspace.blobs
        run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1, started_at=NOON)
        with self.database.session() as session:
            session.add(run)
        self.run_id = run.id

    def material(
        self,
        data: bytes,
        licence: str | None = "CC-BY-4.0",
        consent: Consent | None = None,
        author: str | None = "Ana",
        source: str | None = "https://example.org/library",
        parent: Material | None = None,
    ) -> Material:
        """Media in the library, with one source; none with `licence=None` and a parent."""
        ref = probe(data).media_ref()
        material = Material(
            sha256=self.blobs.put(data),
            media=ref.model_dump(mode="json"),
            modality=ref.modality.value,
            parent_id=parent.id if parent else None,
            run_id=self.run_id,
        )
        with self.database.session() as session:
            session.add(material)
            session.flush()
            if licence or not parent:
                paper = MaterialSource(
                    material_id=material.id,
                    origin="/home/ana/holiday/x.png",
                    licence=licence,
                    author=author,
                    source=source,
                    consent_id=consent.id if consent else None,
                    run_id=self.run_id,
                )
                session.add(paper)
        return material

    def consent(self, scope: Sequence[str] = ("publish",), **moments: datetime) -> Consent:
        """A contributor's consent."""
        with self.database.session() as session:
            person = Contributor(pseudonym=f"person {len(scope)}{sorted(moments)}")
            session.add(person)
            session.flush()
            consent = Consent(contributor_id=person.id, text_version="1", scope=list(scope), given_at=NOON, **moments)
            session.add(consent)
        return consent

    def accept(
        self,
        name: str,
        question: Question,
        materials: Mapping[str, Material],
        twin_group: str | None = None,
        rounds: int = 3,
    ) -> tuple[Item, ItemRevision]:
        """An item that passed the first `rounds` rounds: a check, a check, a person."""
        with self.database.session() as session:
            draft = Draft(question, {key: one.id for key, one in materials.items()}, author="writer-7")
            item, revision = create_item(session, name, draft, twin_group, still_clock)
            advance(session, item.id, item.version, Advance(Action.SUBMIT, "writer-7"), still_clock)
            self.pass_rounds(session, revision, rounds)
        return item, revision

    def pass_rounds(self, session, revision: ItemRevision, rounds: int = 3) -> None:
        for number in range(1, rounds + 1):
            decider = "judge-7" if number == 3 else f"check_{number}@1"
            judgement = Judgement(number, decider, by_person=number == 3, decision=Decision.PASS)
            settle_round(session, revision, record_verdict(session, revision, judgement, still_clock), still_clock)

    def choice_item(self, name: str, shade: int, twin_group: str | None = None, language: str = "en") -> Item:
        """An accepted choice question with a picture and a sound of its own."""
        materials = {"image_1": self.material(picture(shade)), "audio_1": self.material(sound(200 + shade))}
        question = choice_question({key: one.media_ref for key, one in materials.items()}, language=language)
        return self.accept(name, question, materials, twin_group)[0]

    def steps_item(self, name: str, shade: int) -> Item:
        """An accepted multi-step question with a film, its sound and two pictures."""
        shown = self.material(film(shade))
        materials = {
            "video_1": shown,
            "audio_1": self.material(sound(300 + shade), licence=None, parent=shown),
            "image_1": self.material(picture(3000 + shade)),
            "image_2": self.material(picture(4000 + shade), licence="MIT"),
        }
        question = steps_question({key: one.media_ref for key, one in materials.items()})
        return self.accept(name, question, materials)[0]

    def reload(self, name: str) -> Item:
        with self.database.session() as session:
            return get_item(session, name)


def choice_question(media: Mapping[str, MediaRef], **changes: object) -> Question:
    names = " ".join(f"<{name}>" for name in media)
    fields = {
        "prompt": parse_prompt(f"Which animal? {names}", media),
        "kind": QuestionKind.CHOICE,
        "choices": (Choice(text="tiger | lion"), Choice(text="牛"), Choice(text="bee")),
        "answer": AnswerKey(correct=(1,)),
        "required": {ref.modality for ref in media.values()},
        "task_type": "human_and_animal_recognition",
        "language": "en",
    }
    return Question(**(fields | changes))


def steps_question(media: Mapping[str, MediaRef]) -> Question:
    names = " then ".join(f"<{name}>" for name in media)
    return Question(
        prompt=parse_prompt(f"Look: {names}. Look at <image_1> again.", media),
        kind=QuestionKind.MULTI_STEP,
        steps=(
            Step(ask="How many?", points=4, answer=AnswerKey(accepted=("3", "three"), grader="number", tolerance=0.5)),
            Step(ask="Where?", points=6, answer=AnswerKey(accepted=("left",)), rubric="Only the side counts."),
        ),
        required={ref.modality for ref in media.values()},
        task_type="human_and_animal_recognition",
        language="zh-CN",
    )


def open_question(material: Material, **changes: object) -> Question:
    """A question about one medium."""
    name = f"{material.modality}_1"
    fields = {
        "prompt": parse_prompt(f"What is <{name}>?", {name: material.media_ref}),
        "kind": QuestionKind.OPEN,
        "answer": AnswerKey(accepted=("a bee", "bee")),
        "task_type": "human_and_animal_recognition",
        "language": "en",
    }
    return Question(**(fields | changes))


@pytest.fixture
def world(workspace: Workspace) -> World:
    """The fresh project of this test."""
    return World(workspace)


@pytest.fixture(scope="module")
def shared_world(_project_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One project for all tests of a module, which fills it once and only reads it then."""
    root = Path(shutil.copytree(_project_template, tmp_path_factory.mktemp("shared") / "project"))
    with open_workspace(root) as workspace:
        yield World(workspace)


@pytest.fixture
def any_world(workspace: Workspace, database: Database) -> World:
    """A fresh project on each kind of database."""
    return World(replace(workspace, database=database))


@pytest.fixture
def new_world(_project_template: Path, tmp_path: Path) -> Iterator[Callable[[str], World]]:
    """Further fresh projects, by folder name."""
    with ExitStack() as opened:

        def make(name: str) -> World:
            root = Path(shutil.copytree(_project_template, tmp_path / name))
            return World(opened.enter_context(open_workspace(root)))

        yield make
