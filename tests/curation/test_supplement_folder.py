"""From public questions to a folder that can be brought in: what is a problem, what is chosen, what is written."""

import json

import pytest
from PIL import Image

from annotation_ui.item_cli import app as items
from core.content import MediaPart, MediaRef, TextPart
from core.media.probe import probe
from core.question import AnswerKey, Choice, Question, QuestionKind
from curation.questions.candidates import Wanted, read_candidates
from curation.questions.cli import app as questions
from curation.questions.item_folder import FolderInUse, write_item_folder
from warehouse.runs import open_run
from warehouse.tables import PublicQuestion, QuestionSet
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


def test_a_folder_that_holds_files_is_left_alone(public, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(FolderInUse, match="new or an empty folder"):
        write_item_folder(tmp_path, [], {}, public.workspace.blobs)
