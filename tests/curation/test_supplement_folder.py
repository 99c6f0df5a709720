"""From public questions to a folder that can be brought in: what is a problem, what is chosen, what is written."""

import json
from dataclasses import replace

import pytest
from PIL import Image
from sqlmodel import select

from annotation_ui.item_cli import app as items
from core.content import MediaPart, MediaRef, TextPart
from core.media.probe import probe
from core.question import AnswerKey, Choice, Question, QuestionKind
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.materials import sound_of
from curation.questions import judged
from curation.questions.candidates import Wanted, read_candidates
from curation.questions.cli import app as questions
from curation.questions.item_folder import FolderInUse, write_item_folder
from warehouse.runs import open_run
from warehouse.tables import IngestFailure, ItemRevision, Material, PublicQuestion, QuestionSet
from warehouse.workspace import open_workspace


class Public:
    """A public set whose questions show photos."""

    def __init__(self, workspace, media) -> None:
        self.workspace, self.media = workspace, media
        with open_run(workspace.database, "test", {}) as run:
            row = QuestionSet(
                name="harbours", format="generic", origin="x", sha256="0" * 64, licence="CC0-1.0", run_id=run.id
            )
        with workspace.database.session() as session:
            session.add(row)
        self.set_id = row.id

    def photo(self, seed: int) -> bytes:
        return self.media.coded(self.media.photo(seed))

    def add(self, qid: str, data: bytes, text: str = "How many boats?", language: str = "en", stored=True) -> MediaRef:
        if stored:
            self.workspace.blobs.put(data)
        ref = probe(data).media_ref()
        question = asked(text, ref, language)
        row = PublicQuestion(
            set_id=self.set_id,
            qid=qid,
            question=question.model_dump(mode="json"),
            content_hash=question.content_hash,
            labels={"image_type": "photo"},
        )
        with self.workspace.database.session() as session:
            session.add(row)
        return ref


def asked(text, ref, language="en") -> Question:
    return Question(
        prompt=(TextPart(text=f"{text} "), MediaPart(name="image_1", media=ref)),
        kind=QuestionKind.CHOICE,
        choices=(Choice(text="two"), Choice(text="three")),
        answer=AnswerKey(correct=(1,)),
        required=frozenset({"image"}),
        task_type="counting",
        language=language,
    )


@pytest.fixture
def public(workspace, media):
    return Public(workspace, media)


def test_what_is_wrong_with_each_candidate(public, project):
    public.add("sound", public.photo(1))
    public.add("again", public.photo(1))
    public.add("french", public.photo(2), language="fr")
    public.add("gone", public.photo(3), stored=False)
    public.add("plain", public.media.coded(Image.new("RGB", (320, 240), "white")))
    with (project / "interplay.toml").open("a") as settings:
        settings.write('languages = ["en"]\n')
    with open_workspace(project) as workspace:
        candidates, scores = read_candidates(workspace, Wanted(("harbours", "harbours")))
    assert scores == {}
    assert [one.qid for one in candidates] == ["sound", "again", "french", "gone", "plain"]
    problems = {one.qid: " ".join(one.problems) for one in candidates}
    assert problems["sound"] == ""
    assert problems["again"] == "the same question as harbours sound"
    assert problems["french"] == "in fr, which the project does not take"
    assert problems["gone"].startswith("image_1: blob")
    assert problems["plain"].startswith("image_1: near_uniform: ")
    assert (candidates[0].chance, candidates[0].material_types) == (0.5, {"image_type:photo"})


def test_the_folder_can_be_brought_in(public, project, tmp_path, call, call_command):
    # Two ids of which nothing is left that a name may hold.
    public.add("题", public.photo(1), "哪一艘船更大？", "zh")
    public.add("问", public.photo(2), "How many boats?")
    out, at = tmp_path / "supplement", ["--project", str(project)]
    report = call_command(questions, ["supplement", str(out), "--floor", "2", "--json", *at])
    assert report["counts"] == {"candidates": 2, "chosen": 2, "added_by_comprehensiveness": 2}
    names = [json.loads(line)["name"] for line in (out / "items.jsonl").read_text().splitlines()]
    assert len(set(names)) == 2
    taken = call("ingest", "--manifest", out / "manifest.csv", project=project)
    assert taken["counts"]["new"] == 2
    call_command(items, ["import", str(out / "items.jsonl"), "--author", "mei", *at])
    listed = call_command(items, ["list", "--json", *at])
    assert {one["name"] for one in listed} == set(names)


def test_public_media_are_decoded_once(public, monkeypatch):
    ref = public.add("sound", public.photo(1))
    public.add("plain", plain := public.media.coded(Image.new("RGB", (320, 240), "white")))
    gone = public.add("gone", public.photo(3), stored=False)
    asked_for = []
    looked = judged.Looker.__call__
    monkeypatch.setattr(judged.Looker, "__call__", lambda self, ref: asked_for.append(ref.sha256) or looked(self, ref))

    def problems():
        asked_for.clear()
        candidates, _ = read_candidates(public.workspace, Wanted(("harbours",)))
        return {one.qid: " ".join(one.problems) for one in candidates}

    first = problems()
    assert len(asked_for) == 3
    assert first["plain"].startswith("image_1: near_uniform: ")
    assert problems() == first
    assert asked_for == [gone.sha256]  # what could not be looked at is looked for again
    (cache,) = (public.workspace.project.root / "cache" / "judged").iterdir()
    with cache.open("a") as file:
        file.write('["' + ref.sha256)  # broken off
    assert problems() == first
    public.workspace.blobs.remove(probe(plain).sha256)
    assert problems()["plain"].startswith("image_1: blob")
    cache.unlink()
    assert problems()["sound"] == ""
    assert len(asked_for) == 3


def test_other_thresholds_are_other_verdicts(public):
    ref = public.add("sound", public.photo(1))
    assert judged.judged_media(public.workspace, {ref.sha256: ref}) == {}
    strict = replace(DEFAULT_THRESHOLDS, version="strict", image_side_min_px=5000)
    assert judged.judged_media(public.workspace, {ref.sha256: ref}, strict)[ref.sha256].startswith("too_small")
    assert judged.judged_media(public.workspace, {ref.sha256: ref}) == {}


def test_a_film_and_its_sound_come_in_as_parent_and_child(project, tmp_path, media, call, call_command):
    """As ingest leaves them when it takes the film apart itself."""
    film = media.film(media.cartoon(1, 2), sound=media.voice(3, 2.0))
    (tmp_path / "film.mp4").write_bytes(film)
    record = {"key": "a", "text": "Who speaks?", "film": "film.mp4", "first": "Ann", "second": "Ben", "right": "Ann"}
    (tmp_path / "own.jsonl").write_text(json.dumps(record))
    (tmp_path / "map.yaml").write_text(
        "id: key\nprompt: text\nmedia: {video_1: film}\nchoices: [first, second]\nanswer: right\nanswer_is: text\n"
        "task_type: human_recognition\nlanguage: en\n"
    )
    at = ["--project", str(project)]
    importing = [str(tmp_path / "own.jsonl"), "--format", "generic", "--mapping", str(tmp_path / "map.yaml")]
    call_command(questions, ["import", *importing, "--set", "own", "--licence", "CC0-1.0", *at])
    (shown,) = call_command(questions, ["list", "--set", "own", "--json", *at])
    out = tmp_path / "supplement"
    call_command(questions, ["supplement", str(out), "--json", *at])
    call("ingest", "--manifest", out / "manifest.csv", project=project)
    call_command(items, ["import", str(out / "items.jsonl"), "--author", "mei", *at])
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        (public,) = session.exec(select(PublicQuestion))
        (revision,) = session.exec(select(ItemRevision))
        materials = {one.modality: one for one in session.exec(select(Material))}
        video, audio = materials["video"], materials["audio"]
        assert public.labels["audio_1_sound_of"] == "video_1"
        assert audio.parent_id == video.id
        assert (
            audio.parent_offset_s == video.measures["sound"]["offset_s"] == public.labels.get("audio_1_offset_s", 0.0)
        )
        assert sound_of(session, video).id == audio.id
        # The very copies, so that the question is known as asked when it is a candidate again.
        assert revision.content_hash == public.content_hash
    again = call("ingest", "--manifest", out / "manifest.csv", project=project)
    assert (again["counts"]["new"], again["counts"]["failed"]) == (0, 0)
    assert shown["qid"] == "a"


def test_a_film_and_a_sound_of_another_source_stay_apart(project, tmp_path, media, call_command):
    (tmp_path / "film.mp4").write_bytes(media.film(media.cartoon(1, 2), sound=media.voice(3, 2.0)))
    (tmp_path / "other.wav").write_bytes(media.wav(media.voice(4, 2.0)))
    both = {"film": "film.mp4", "sound": "other.wav", "text": "Who?", "first": "Ann", "second": "Ben", "right": "Ann"}
    same = both | {"sound": "film.mp4"}
    lines = [json.dumps({"key": key, **record}) for key, record in (("other", both), ("same", same))]
    (tmp_path / "own.jsonl").write_text("\n".join(lines))
    (tmp_path / "map.yaml").write_text(
        "id: key\nprompt: text\nmedia: {video_1: film, audio_1: sound}\nsound: false\nchoices: [first, second]\n"
        "answer: right\nanswer_is: text\ntask_type: human_recognition\nlanguage: en\n"
    )
    importing = [str(tmp_path / "own.jsonl"), "--format", "generic", "--mapping", str(tmp_path / "map.yaml")]
    call_command(questions, ["import", *importing, "--set", "own", "--project", str(project)])
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        labels = {one.qid: one.labels.get("audio_1_sound_of") for one in session.exec(select(PublicQuestion))}
    assert labels == {"other": None, "same": "video_1"}


def test_a_sound_whose_film_is_not_there_is_told(project, tmp_path, media, call):
    (tmp_path / "voice.wav").write_bytes(media.wav(media.voice(4, 2.0)))
    (tmp_path / "list.csv").write_text("path,sound_of,offset_s\nvoice.wav,film.mp4,0.5\n")
    call("ingest", "--manifest", tmp_path / "list.csv", project=project)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        (failure,) = session.exec(select(IngestFailure))
        (material,) = session.exec(select(Material))
    assert (failure.reason, material.parent_id) == ("no_film", None)
    assert "there is no such film" in failure.message
    (tmp_path / "film.mp4").write_bytes(media.film(media.cartoon(1, 2)))
    (tmp_path / "list.csv").write_text("path,sound_of,offset_s\nvoice.wav,film.mp4,0.5\nfilm.mp4,,\n")
    call("ingest", "--manifest", tmp_path / "list.csv", project=project)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        held = {one.modality: one for one in session.exec(select(Material))}
        assert session.exec(select(IngestFailure)).first() is None
    assert held["audio"].parent_id == held["video"].id
    assert held["audio"].parent_offset_s == 0.5


def test_a_folder_that_holds_files_is_left_alone(public, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(FolderInUse, match="new or an empty folder"):
        write_item_folder(tmp_path, [], {}, public.workspace.blobs)
