"""What every exporter must do, also those that other packages add."""

import io
import wave

import av
import numpy as np
import pytest
from PIL import Image

from core.content import MediaRef, parse_prompt
from core.media.probe import probe
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from warehouse.blobs import BlobStore
from warehouse.exporters.base import ReadRow
from warehouse.exporters.catalogue import EXPORTERS
from warehouse.release.manifest import (
    FUNNEL_STAGES,
    Damage,
    Manifest,
    ManifestMedia,
    ManifestRow,
    Paper,
    canary_of,
    row_hash,
)

ENTRIES = list(EXPORTERS)


def picture(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (9, 7), (shade, 2, 3)).save(buffer, "JPEG")
    return buffer.getvalue()


def sound() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes((np.sin(np.arange(800)) * 9000).astype("<i2").tobytes())
    return buffer.getvalue()


def film() -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        out.mux([*stream.encode(av.VideoFrame(32, 32, "yuv420p")), *stream.encode(None)])
    return buffer.getvalue()


def questions(media: dict[str, MediaRef]) -> dict[str, Question]:
    """Every kind, every field, and text that breaks careless formats."""
    shared = {"task_type": "human_and_animal_recognition", "language": "en"}
    seen = {"image_1": media["image_1"]}
    odd = 'quote " comma, tab\t newline\n line separator\u2028 nul-ish \u0001 backslash \\ <b> 牛🐂 "\'```'
    return {
        "choice": Question(
            prompt=parse_prompt(f"{odd} <audio_1><image_2> and <image_1>, <image_1> again", without(media, "video_1")),
            kind=QuestionKind.CHOICE,
            choices=(Choice(text=odd), Choice(text=" "), Choice(text="<image_9>")),
            answer=AnswerKey(correct=(0, 2), accepted=("either",), grader="choice"),
            required=frozenset({"image", "audio"}),
            asked_in="audio",
            **shared,
        ),
        "open": Question(
            prompt=parse_prompt("<image_1>", seen),
            kind=QuestionKind.OPEN,
            answer=AnswerKey(accepted=("0.1", odd), grader="number", tolerance=0.1),
            **shared,
        ),
        "steps": Question(
            prompt=parse_prompt("<video_1> <audio_1>?", {name: media[name] for name in ("video_1", "audio_1")}),
            kind=QuestionKind.MULTI_STEP,
            steps=(
                Step(ask=odd, points=1, answer=AnswerKey(accepted=(odd, "b"), tolerance=0.0), rubric=odd),
                Step(ask="b", points=9, answer=AnswerKey(correct=(1,), accepted=("c",), grader="short_text")),
            ),
            **(shared | {"language": "zh-Hant-TW"}),
        ),
        "seen": Question(
            prompt=parse_prompt("the same picture: <image_1>", seen),
            kind=QuestionKind.CHOICE,
            choices=(Choice(text="a"), Choice(text="b")),
            answer=AnswerKey(correct=(1,)),
            **shared,
        ),
        "heard": Question(
            prompt=parse_prompt("<audio_1>", {"audio_1": media["audio_1"]}),
            kind=QuestionKind.OPEN,
            answer=AnswerKey(accepted=("a",)),
            **shared,
        ),
        "read": Question(
            prompt=parse_prompt("no media", {}), kind=QuestionKind.OPEN, answer=AnswerKey(accepted=("a",)), **shared
        ),
    }


def without(media: dict[str, MediaRef], *names: str) -> dict[str, MediaRef]:
    return {name: ref for name, ref in media.items() if name not in names}


@pytest.fixture
def blobs(tmp_path) -> BlobStore:
    return BlobStore(str(tmp_path / "blobs"))


@pytest.fixture
def manifest(blobs) -> Manifest:
    data = {"image_1": picture(1), "image_2": picture(200), "audio_1": sound(), "video_1": film()}
    media = {name: probe(one).media_ref() for name, one in data.items()}
    for one in data.values():
        blobs.put(one)
    rows = []
    for place, (qid, question) in enumerate(questions(media).items()):
        row = {
            "qid": qid,
            "split": ["dev", "test"][place % 2],
            "revision": question.content_hash,
            "question": question.model_dump(mode="json"),
            "media": [part.media.sha256 for part in question.media],
        }
        rows.append(ManifestRow(**row, sha256=row_hash(row)))
    return Manifest(
        name="zoo",
        version="1.0.0",
        canary=canary_of("zoo"),
        certificate="None",
        taxonomy="1",
        licence=None,
        seed=0,
        dev_share=0.5,
        holdout_share=0,
        funnel=dict.fromkeys(FUNNEL_STAGES, 6),
        rounds=(),
        media={ref.sha256: ManifestMedia(media=ref, papers=(Paper(licence="MIT"),)) for ref in media.values()},
        rows=tuple(rows),
        holdout=(),
    )


def written(entry, manifest, blobs, folder):
    folder.mkdir()
    entry.load()().write(manifest, blobs, folder)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_is_written_reads_back_as_it_was(entry, manifest, blobs, tmp_path):
    written(entry, manifest, blobs, tmp_path / "out")
    found = {}
    for row in entry.load()().read(tmp_path / "out", manifest):
        assert isinstance(row, ReadRow), row
        assert row.qid not in found
        found[row.qid] = row
    assert found.keys() == {row.qid for row in manifest.rows}
    for row in manifest.rows:
        back = found[row.qid]
        assert back.question == row.question
        assert back.question.content_hash == row.revision
        assert (back.split, back.revision, back.canary) == (row.split, row.revision, manifest.canary)
        assert set(back.media) == set(row.media)
        for sha256, media in back.media.items():
            assert (media if isinstance(media, bytes) else media.read_bytes()) == blobs.get(sha256)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_media_are_read_one_by_one(entry, manifest, blobs, tmp_path):
    written(entry, manifest, blobs, tmp_path / "out")
    found = entry.load()().media(tmp_path / "out", manifest)
    assert found.keys() == manifest.media.keys()
    assert {sha256: read() for sha256, read in found.items()} == {sha256: blobs.get(sha256) for sha256 in found}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_same_manifest_makes_the_same_bytes(entry, manifest, blobs, tmp_path):
    first = written(entry, manifest, blobs, tmp_path / "one")
    assert first == written(entry, manifest, blobs, tmp_path / "two")
    assert not {"manifest.json", "export.json", "SHA256SUMS"} & first.keys(), "those are put there after it"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_cannot_be_read_is_reported_and_never_raised(entry, manifest, blobs, tmp_path):
    """Whatever happens to a file, reading ends, and the rows that are left are right or reported."""
    whole = written(entry, manifest, blobs, tmp_path / "out")
    rows = {row.qid: row for row in manifest.rows}
    for name, data in whole.items():
        file = tmp_path / "out" / name
        for damaged in (b"", data[: len(data) // 2], b"\xff" * len(data), data[:-9] + b"x" * 9):
            file.write_bytes(damaged)
            for row in entry.load()().read(tmp_path / "out", manifest):
                assert isinstance(row, Damage) or row.qid in rows
        file.unlink()
        list(entry.load()().read(tmp_path / "out", manifest))
        file.write_bytes(data)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_name_and_version_are_stated(entry):
    assert entry.fingerprint == f"{entry.name}@{entry.version}"
    assert entry.version
