"""A project for the studio's tests, made through the services: small generated media, items in several states."""

import io
import math
import struct
import wave
from datetime import UTC, datetime, timedelta

import av
import numpy as np
from PIL import Image, ImageDraw

from core.content import MediaRef, Modality, parse_prompt
from core.media.audio import encode_wav
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from core.settings import Project
from curation.materials import Overrule, overrule
from curation.tagging.tags import PEOPLE, Tag, say
from warehouse.items import Draft, create_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.runs import open_run
from warehouse.tables import (
    Decision,
    DuplicateLink,
    Material,
    MaterialSource,
    MaterialState,
    Release,
    ReleaseItem,
    Segment,
)
from warehouse.verdicts import Judgement, record_verdict, settle_round
from warehouse.workspace import open_workspace

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def png(number, width=320, height=210):
    """A picture that differs from every other number's."""
    hue = (number * 47) % 360
    image = Image.new("HSV", (width, height), (hue * 255 // 360, 70, 235)).convert("RGB")
    pen = ImageDraw.Draw(image)
    for place in range(3 + number % 4):
        left = 20 + place * 42
        pen.ellipse(
            (left, 50 + 9 * (place + number) % 70, left + 34, 140),
            fill=Image.new("HSV", (1, 1), ((hue + 90 + 30 * place) % 360 * 255 // 360, 150, 200))
            .convert("RGB")
            .getpixel((0, 0)),
        )
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def wav(number, seconds=2.0, rate=16000):
    """A tone with a swelling, another pitch for every number."""
    pitch = 220 * 2 ** (number / 12)
    frames = [
        int(
            12000
            * abs(math.sin(math.pi * (1 + number % 4) * i / (seconds * rate)))
            * math.sin(2 * math.pi * pitch * i / rate)
        )
        for i in range(int(seconds * rate))
    ]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(struct.pack(f"<{len(frames)}h", *frames))
    return buffer.getvalue()


def mp4(number, frames=12, side=96):
    """A square that moves over a ground."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=12)
        stream.width, stream.height, stream.pix_fmt = 160, side, "yuv420p"
        for place in range(frames):
            picture = np.full((side, 160, 3), (40 + number * 20) % 200, np.uint8)
            picture[30:60, 8 * place : 8 * place + 30] = (230, 160, 60)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return buffer.getvalue()


class Seeder:
    """Fills a project; every method is one service call or row."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.moments = 0
        with open_run(workspace.database, "seed", {}) as run:
            self.run_id = run.id

    def clock(self):
        """Each moment is one minute after the last."""
        self.moments += 1
        return START + timedelta(minutes=self.moments)

    def material(
        self,
        data,
        modality,
        media_type,
        origin,
        *,
        licence="CC-BY-4.0",
        author=None,
        tags=(),
        state=MaterialState.KEPT,
        drop_reason=None,
        parent=None,
        **measures,
    ):
        """One piece of media in the library; returns its row and reference."""
        sha256 = self.workspace.blobs.put(data)
        media = MediaRef(sha256=sha256, media_type=media_type, modality=modality, byte_count=len(data), **measures)
        row = Material(
            sha256=sha256,
            media=media.model_dump(mode="json"),
            modality=modality.value,
            state=state,
            drop_reason=drop_reason,
            parent_id=parent,
            run_id=self.run_id,
            created_at=self.clock(),
            measures={"sharpness": 0.4213} if modality == Modality.IMAGE else {},
        )
        with self.workspace.database.session() as session:
            session.add(row)
            session.flush()
            for tag in tags:
                say(session, row, Tag.parse(tag), PEOPLE, clock=self.clock)
            session.add(
                MaterialSource(
                    material_id=row.id,
                    origin=origin,
                    licence=licence,
                    author=author,
                    source="Our own recordings",
                    run_id=self.run_id,
                    created_at=self.clock(),
                )
            )
        return row, media

    def picture(self, number, **more):
        """A picture material."""
        more.setdefault("origin", f"photos/street-{number:02}.png")
        return self.material(png(number), Modality.IMAGE, "image/png", width_px=320, height_px=210, **more)

    def sound(self, number, **more):
        """A sound material."""
        more.setdefault("origin", f"sounds/bell-{number:02}.wav")
        return self.material(wav(number), Modality.AUDIO, "audio/wav", duration_s=2.0, sample_rate_hz=16000, **more)

    def film(self, number, **more):
        """A film material."""
        more.setdefault("origin", f"films/walk-{number:02}.mp4")
        return self.material(
            mp4(number),
            Modality.VIDEO,
            "video/mp4",
            duration_s=1.0,
            width_px=160,
            height_px=96,
            frame_rate_hz=12.0,
            **more,
        )

    def draft(
        self,
        text,
        materials,
        author,
        choices=("two", "three", "four", "five"),
        correct=1,
        language="en",
        task_type="counting",
        steps=(),
        notes=None,
    ):
        """A draft whose prompt places the materials by name."""
        media = {name: ref for name, (_, ref) in materials.items()}
        kind = QuestionKind.MULTI_STEP if steps else QuestionKind.CHOICE
        question = Question(
            prompt=parse_prompt(text, media),
            kind=kind,
            choices=() if steps else tuple(Choice(text=c) for c in choices),
            answer=AnswerKey() if steps else AnswerKey(correct=(correct,)),
            steps=tuple(steps),
            required=frozenset(ref.modality for ref in media.values()),
            task_type=task_type,
            language=language,
        )
        return Draft(
            question=question,
            materials={name: row.id for name, (row, _) in materials.items()},
            author=author,
            notes=notes or {},
        )

    def item(self, name, draft, *actions, twin_group=None):
        """An item, taken through some actions of its life."""
        with self.workspace.database.session() as session:
            item, revision = create_item(session, name, draft, twin_group, self.clock)
            for action in actions:
                self.act(session, item, revision, draft.author, action)
        return item, revision

    def act(self, session, item, revision, author, action):
        """One step: a plain action, or a judgement that settles its round."""
        if isinstance(action, Judgement):
            verdict = record_verdict(session, revision, action, self.clock)
            settle_round(session, revision, verdict, self.clock)
        else:
            advance(session, item.id, item.version, Advance(action, author), self.clock)

    def revise(self, item_id, draft):
        """A new revision."""
        with self.workspace.database.session() as session:
            item = session.get(type(self)._item(), item_id)
            revise_item(session, item, item.version, draft, self.clock)

    @staticmethod
    def _item():
        from warehouse.tables import Item

        return Item

    def release(self, name, version, revisions):
        """A built release of some revisions."""
        release = Release(name=name, version=version, run_id=self.run_id, created_at=self.clock())
        with self.workspace.database.session() as session:
            session.add(release)
            session.flush()
            for place, revision in enumerate(revisions):
                session.add(ReleaseItem(release_id=release.id, revision_id=revision.id, split="test", position=place))
        return release

    def response(self, revision, item_name, model, condition, points, answer="B"):
        """One stored answer with its grade; points None is not graded."""
        self.responses([(revision, item_name, model, condition, points, answer)])

    def responses(self, told, **more):
        """Many of them, each (revision, item's name, model, condition, points, answer); `more` are columns of all."""
        from evaluation.graders import grader_for

        with (
            self.workspace.facts.writer("response", self.run_id) as responses,
            self.workspace.facts.writer("grade", self.run_id) as grades,
        ):
            for revision, item_name, model, condition, points, answer in told:
                key = f"{model}/{item_name}/{condition}"
                question = revision.as_question()
                responses.add(_response(key, revision, item_name, model, condition, question.kind.value, answer) | more)
                if points is not None:
                    grades.add(
                        {
                            "response_key": key,
                            "grader": grader_for(question).fingerprint,
                            "points": points,
                            "step_points": [points for _ in question.steps],
                            "reason": "the choice is right" if points else "another choice is right",
                            "recorded_at": START.isoformat(),
                        }
                    )


def _response(key, revision, item_name, model, condition, kind, answer):
    columns = dict.fromkeys(
        (
            "family",
            "condition_fingerprint",
            "error",
            "sent",
            "served_model",
            "input_tokens",
            "output_tokens",
            "reasoning_tokens",
            "tokens_by_modality",
            "attempts",
            "latency_s",
            "cost_usd",
        )
    )
    return {
        **columns,
        "key": key,
        "request_key": key,
        "parameters": "{}",
        "purpose": "evaluation",
        "model": model,
        "item_name": item_name,
        "revision_id": revision.id,
        "condition": condition,
        "kind": kind,
        "rotation": 0,
        "replicate": 0,
        "state": "ok",
        "answer": answer,
        "recorded_at": START.isoformat(),
    }


def passed(round_number, decider="panel@1", by_person=False, **more):
    """A judgement that passes a round."""
    return Judgement(round_number, decider, by_person, Decision.PASS, **more)


def fill(root, annotator="mei", reviewer_id="omar"):
    """The sample project of screenshots and browser tests: 30 materials, 12 items."""
    with open_workspace(root) as workspace:
        seeder = Seeder(workspace)
        pictures = [
            seeder.picture(
                n,
                tags=["street", "day"] if n % 2 else ["garden", "鸟"],
                licence="CC-BY-4.0" if n % 3 else "CC0-1.0",
                author="Lena Vogt",
            )
            for n in range(13)
        ]
        seeder.picture(
            13,
            state=MaterialState.DROPPED,
            drop_reason="blurred",
            origin="photos/blurred-night-scene-with-a-very-long-file-name-from-a-camera-2026-02-28.png",
        )
        seeder.picture(14, state=MaterialState.WITHDRAWN, licence=None)
        sounds = [seeder.sound(n, tags=["bell", "music"]) for n in range(9)]
        films = [seeder.film(n, tags=["walking"]) for n in range(4)]
        for film, number in zip(films[:2], (20, 21), strict=True):
            seeder.sound(number, parent=film[0].id, origin=f"films/walk-{number - 20:02}.mp4")
        with workspace.database.session() as session:
            first, second = sorted([pictures[0][0].id, pictures[1][0].id])
            session.add(
                DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=4.0, run_id=seeder.run_id)
            )
            session.add(
                Segment(
                    material_id=sounds[0][0].id,
                    start_s=0.0,
                    end_s=0.9,
                    speaker="A",
                    text="The bell rings twice.",
                    language="en",
                    made_by="whisper@1",
                    run_id=seeder.run_id,
                )
            )
            session.add(
                Segment(
                    material_id=sounds[0][0].id,
                    start_s=1.0,
                    end_s=1.8,
                    speaker="B",
                    text="然后停了。",
                    language="zh",
                    made_by="whisper@1",
                    run_id=seeder.run_id,
                )
            )
        items = _items(seeder, pictures, sounds, films, annotator, reviewer_id)
        _results(seeder, items)
        with workspace.database.session() as session:
            overrule(session, pictures[2][0].id, 1, Overrule(False, "too busy", reviewer_id), seeder.clock)
            overrule(session, pictures[2][0].id, 2, Overrule(True, "sharp enough", annotator), seeder.clock)


def _items(seeder, pictures, sounds, films, annotator, reviewer_id):
    english = (
        "Look at <image_1> and listen to <audio_1>.\n"
        "How many of the coloured shapes have been struck when the sound ends?"
    )
    chinese = "请看<image_1>，并听<audio_1>。录音结束时，图中共有几个图形被敲响？"

    def mixed(n, text=english, **more):
        return seeder.draft(text, {"image_1": pictures[n], "audio_1": sounds[n % 9]}, annotator, **more)

    film = seeder.draft(
        "Watch <video_1> with <audio_1>.\nWhat does the walker pass when the tone is loudest?",
        {"video_1": films[0], "audio_1": sounds[3]},
        annotator,
        choices=("the door", "the lamp", "the tree"),
    )
    steps = [
        Step(ask="Which shape sounds first?", points=4, answer=AnswerKey(accepted=("the red one", "red"))),
        Step(
            ask="How many shapes sound in all?",
            points=6,
            answer=AnswerKey(accepted=("three", "3"), grader="number"),
            rubric="Six points for the number; none for a range.",
        ),
    ]
    returned = Judgement(
        2,
        reviewer_id,
        True,
        Decision.RETURN,
        ("ambiguous",),
        {"answered blind": "A", "with audio hidden": "B"},
        "“Struck” can mean touched or heard. Please say which.",
    )
    full = (
        Action.SUBMIT,
        passed(1, "checks@1"),
        passed(2, reviewer_id, True, comment="Clear, and I needed the sound."),
        passed(3, "panel@1", evidence={"full": "5 of 6 models right", "without audio": "1 of 6 models right"}),
    )
    made = {
        "bells-001": seeder.item("bells-001", mixed(0, notes={"audio": "0:00 – 0:02, the second strike"}), *full),
        "bells-002": seeder.item("bells-002", mixed(1), *full, Action.RELEASE),
        "bells-003": seeder.item("bells-003", mixed(2), *full, Action.RELEASE),
        "钟声-004": seeder.item(
            "钟声-004", mixed(3, chinese, language="zh", choices=("两个", "三个", "四个", "五个")), *full
        ),
        "bells-005": seeder.item(
            "bells-005", mixed(4), Action.SUBMIT, passed(1, "checks@1"), passed(2, reviewer_id, True)
        ),
        "钟声-006": seeder.item(
            "钟声-006",
            mixed(5, chinese, language="zh", choices=("两个", "三个", "四个", "五个")),
            Action.SUBMIT,
            passed(1, "checks@1"),
        ),
        "bells-007": seeder.item("bells-007", mixed(6), Action.SUBMIT, passed(1, "checks@1"), returned),
        "bells-008": seeder.item("bells-008", mixed(7), Action.SUBMIT, twin_group="bells-7-8"),
        "walk-009": seeder.item("walk-009", film, Action.SUBMIT),
        "steps-010": seeder.item(
            "steps-010",
            seeder.draft(
                english,
                {"image_1": pictures[8], "audio_1": sounds[8]},
                annotator,
                steps=steps,
                task_type="spot_the_difference",
            ),
        ),
        "bells-011": seeder.item("bells-011", mixed(9)),
        "bells-012": seeder.item(
            "bells-012",
            mixed(10),
            Action.SUBMIT,
            Judgement(1, "checks@1", False, Decision.REJECT, ("answerable_from_text",)),
        ),
    }
    seeder.revise(made["bells-011"][0].id, mixed(9, correct=2))
    return made


def _results(seeder, items):
    released = [items[name][1] for name in ("bells-002", "bells-003")]
    seeder.release("bells", "1.0.0", released)
    points = {"full": (1.0, 1.0), "without_image": (0.0, 1.0), "without_audio": (0.0, 0.0), "text_only": (0.0, None)}
    for model in ("hearing-model", "seeing-model"):
        for condition, shares in points.items():
            for name, share in zip(("bells-002", "bells-003"), shares, strict=True):
                seeder.response(items[name][1], name, model, condition, share, "B" if share else "A")


def make(root):
    """A new filled project in a folder."""
    from warehouse.workspace import init_project

    init_project(root)
    fill(root)
    return Project.open(root)


def voice(number, seconds=2.6, rate=48000, level=0.4):
    """Something like speech between two quiet ends: gliding harmonics in syllables, in the hiss of a still room."""
    generator = np.random.default_rng(number)
    time_s = np.arange(round(seconds * rate)) / rate
    pitch_hz = 140 + 40 * np.sin(2 * np.pi * 0.7 * time_s + number)
    phase = 2 * np.pi * np.cumsum(pitch_hz) / rate
    sound = sum(np.sin(harmonic * phase) / harmonic for harmonic in range(1, 12))
    syllables = np.clip(np.sin(2 * np.pi * 2.2 * time_s), 0, 1) ** 0.5
    ends = (time_s > 0.4) & (time_s < seconds - 0.4)
    samples = level * sound / np.abs(sound).max() * syllables * ends + generator.normal(0, 0.0005, len(time_s))
    return encode_wav(samples.astype(np.float32), rate)


def fill_desk(workspace, *scripts, text=True):
    """Scripts to read as (name, text, language, further fields), and words of consent."""
    from curation.recordings.agreements import put_text
    from curation.recordings.scripts import NewScript, add_scripts

    named = [NewScript(name=name, text=words, language=language, **more) for name, words, language, more in scripts]
    with workspace.database.session() as session:
        add_scripts(session, named, "ada", lambda: START)
        if text:
            words = {"en": "We record <b>voices</b> for a benchmark.", "zh": "我们为评测集录制语音。"}
            put_text(session, "1.0", words, "CC-BY-4.0", "ada", lambda: START)
