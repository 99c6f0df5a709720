"""Tasks of privatization from opening to the proof, and the report of before and after."""

import numpy as np
import pyarrow as pa
import pytest
from sqlmodel import select

from core.content import MediaPart, MediaRef, TextPart
from core.media.probe import probe
from core.question import AnswerKey, Choice, Question, QuestionKind
from curation.questions.cli import app
from curation.questions.privatize import (
    ImpossiblePrivatization,
    StalePrivatization,
    UnknownPrivatization,
    find_task,
    give_up,
    link_item,
    open_tasks,
    reopen,
)
from curation.questions.proving import prove_tasks
from curation.questions.scores import NoScores, Scores, paired
from evaluation.grade import grade_answers
from warehouse.events import history
from warehouse.fact_kinds import FACT_KINDS
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.runs import open_run
from warehouse.tables import Material, PublicQuestion, QuestionSet

PUBLIC_TEXT = "How many red boats lie beside the old harbour wall?"
PRIVATE_TEXT = "Count the yellow kites above the meadow."


def asked(text, ref, choices=("one of them", "four of them")):
    return Question(
        prompt=(TextPart(text=f"{text} "), MediaPart(name="image_1", media=ref)),
        kind=QuestionKind.CHOICE,
        choices=tuple(Choice(text=one) for one in choices),
        answer=AnswerKey(correct=(1,)),
        required=frozenset({"image"}),
        task_type="counting",
        language="en",
    )


class Story:
    """A public set of some questions, and items of ours."""

    def __init__(self, workspace, media, clock):
        self.workspace, self.media, self.clock = workspace, media, clock
        with open_run(workspace.database, "test", {}) as run:
            self.run_id = run.id
        with workspace.database.session() as session:
            self.set = QuestionSet(name="harbours", format="generic", origin="x", sha256="0" * 64, run_id=self.run_id)
            session.add(self.set)

    def store(self, seed, **options) -> MediaRef:
        data = self.media.coded(self.media.photo(seed), **options)
        self.workspace.blobs.put(data)
        return probe(data).media_ref()

    def public(self, qid, seed, labels=None):
        question = asked(PUBLIC_TEXT, self.store(seed))
        row = PublicQuestion(
            set_id=self.set.id,
            qid=qid,
            question=question.model_dump(mode="json"),
            content_hash=question.content_hash,
            labels=labels or {},
        )
        with self.workspace.database.session() as session:
            session.add(row)
        return row

    def open(self, *rows):
        with self.workspace.database.session() as session:
            open_tasks(session, rows, "mei", clock=self.clock)

    def item(self, name, ref, text=PRIVATE_TEXT, choices=("two kites aloft", "nine kites aloft")):
        with self.workspace.database.session() as session:
            material = session.exec(select(Material).where(Material.sha256 == ref.sha256)).first()
            if material is None:
                material = Material(
                    sha256=ref.sha256, media=ref.model_dump(mode="json"), modality="image", run_id=self.run_id
                )
                session.add(material)
                session.flush()
            draft = Draft(asked(text, ref, choices), {"image_1": material.id}, "mei")
            return create_item(session, name, draft, clock=self.clock)[0]

    def link(self, qid, item):
        with self.workspace.database.session() as session:
            link_item(session, find_task(session, qid), get_item(session, item), "mei", self.clock)

    def view(self, name):
        with self.workspace.database.reading() as session:
            return find_task(session, name)

    def prove(self, *names):
        views = [self.view(name) for name in names]
        (*_, (_, proof)) = prove_tasks(self.workspace, views, "rita", self.clock)
        return [check.name for check in proof.checks if check.passed is False]


@pytest.fixture
def story(workspace, media, clock):
    return Story(workspace, media, clock)


def test_a_private_question_is_proven(story):
    story.open(story.public("h1", 1, {"difficulty": "hard"}))
    assert (story.view("h1").stands, story.view("h1").task.difficulty) == ("open", "hard")
    story.item("kites", story.store(50))
    story.link("h1", "kites")
    assert story.view("h1").stands == "linked"
    assert story.prove("h1") == []
    view = story.view("kites")
    assert (view.stands, view.task.proof["holds"], view.task.version) == ("proven", True, 3)
    with story.workspace.database.reading() as session:
        told = [event.action for event in history(session, "privatization", view.task.id)]
    assert told == ["open", "link", "prove"]


def test_the_same_picture_coded_again_is_no_private_one(story):
    story.open(story.public("h1", 1))
    story.item("again", story.store(1, quality=40))
    story.link("h1", "again")
    assert story.prove("h1") == ["other_media"]
    assert story.view("h1").stands == "linked"


def test_media_and_words_of_the_public_set_are_found(story):
    story.open(story.public("h1", 1))
    other = story.public("h2", 2)
    ref = other.as_question().media[0].media
    story.item("taken", ref, PUBLIC_TEXT)
    story.link("h1", "taken")
    assert story.prove("h1") == ["private_media", "other_words"]
    (check,) = [one for one in story.view("h1").task.proof["checks"] if one["name"] == "private_media"]
    assert check["measured"] == {"image_1": ["harbours/h2"]}


def test_a_revision_makes_the_proof_outdated(story):
    story.open(story.public("h1", 1))
    item = story.item("kites", story.store(50))
    story.link("h1", "kites")
    story.prove("h1")
    with story.workspace.database.session() as session:
        (material,) = session.exec(select(Material)).all()
        draft = Draft(asked(PUBLIC_TEXT, material.media_ref), {"image_1": material.id}, "mei")
        revise_item(session, item, 1, draft, story.clock)
    assert story.view("h1").stands == "outdated"
    assert story.prove("h1") == ["other_words"]
    assert story.view("h1").stands == "linked"


def test_what_is_not_possible(story):
    row, other = story.public("h1", 1), story.public("h2", 2)
    story.open(row, other)
    with pytest.raises(ImpossiblePrivatization, match="link one first"):
        story.prove("h1")
    story.item("kites", story.store(50))
    stale = story.view("h1")
    story.link("h1", "kites")
    with pytest.raises(ImpossiblePrivatization, match="made after another"):
        story.link("h2", "kites")
    with story.workspace.database.session() as session, pytest.raises(StalePrivatization):
        give_up(session, stale, "no time", "mei")
    with story.workspace.database.session() as session:
        give_up(session, find_task(session, "h1"), "no such place", "mei")
    with story.workspace.database.session() as session, pytest.raises(ImpossiblePrivatization, match="already"):
        give_up(session, find_task(session, "h1"), "again", "mei")
    with story.workspace.database.session() as session:
        reopen(session, find_task(session, "h1"), "mei")
    assert story.view("h1").stands == "linked"
    with pytest.raises(UnknownPrivatization, match="no privatization"):
        story.view("nothing")


def test_a_link_is_replaced_only_when_that_is_asked_for(story, call_command, signed_on):
    root = str(story.workspace.project.root)
    signed_on(story.workspace.project.root, "mei")
    story.open(story.public("h1", 1))
    story.item("kites", story.store(50)), story.item("other-kites", story.store(51))
    story.link("h1", "kites")
    assert story.prove("h1") == []
    arguments = ["privatize", "link", "h1", "other-kites", "--by", "mei", "--project", root]
    assert "linked to item 'kites' already and proven; --replace it" in call_command(app, arguments, 2)
    assert story.view("h1").stands == "proven"
    call_command(app, [*arguments, "--replace"], 0)
    assert (story.view("h1").stands, story.view("h1").item.name) == ("linked", "other-kites")


def test_the_public_question_itself_is_no_private_one(story, call_command, signed_on):
    """As `question supplement` makes an item of it."""
    root = str(story.workspace.project.root)
    signed_on(story.workspace.project.root, "mei")
    row = story.public("h1", 1)
    story.open(row)
    public = row.as_question()
    story.item("copy", public.media[0].media, PUBLIC_TEXT, [one.text for one in public.choices])
    told = call_command(app, ["privatize", "link", "h1", "copy", "--by", "mei", "--project", root], 2)
    assert "is the public question 'h1' itself" in told
    assert story.view("h1").stands == "open"


def test_both_sides_are_shown_in_words(story, call_command):
    story.open(story.public("h1", 1))
    story.item("kites", story.store(50))
    story.link("h1", "kites")
    shown = call_command(app, ["privatize", "show", "h1", "--project", str(story.workspace.project.root)], 0)
    assert "right: B (four of them)" in shown
    assert "right: B (nine kites aloft)" in shown
    assert "{" not in shown


def test_a_report_before_anything_is_proven(story, call_command):
    story.open(story.public("h1", 1))
    root = str(story.workspace.project.root)
    told = call_command(app, ["privatize", "report", "--set", "harbours", "--pool", "p", "--project", root], 2)
    assert "privatize prove" in told


def test_opening_again_opens_nothing(story, call_command, signed_on):
    story.public("h1", 1), story.public("h2", 2)
    root = str(story.workspace.project.root)
    signed_on(story.workspace.project.root, "mei")
    arguments = ["privatize", "open", "--set", "harbours", "--by", "mei", "--project", root]
    first, second = (call_command(app, [*arguments, "--json"], 0) for _ in range(2))
    assert (len(first["opened"]), first["known"], second) == (2, 0, {"opened": [], "known": 2})


def test_difficulty_by_the_share_of_models(story, call_command, signed_on):
    signed_on(story.workspace.project.root, "mei")
    for qid in ("easy", "medium", "hard"):
        story.public(qid, 1)
    shares = {"easy": [1, 1, 1, 1, 0], "medium": [1, 1, 1, 0, 0], "hard": [1, 0, 0, 0, 0]}
    store_pool(story, {f"m{n}": {qid: row[n] for qid, row in shares.items()} for n in range(5)})
    root = str(story.workspace.project.root)
    call_command(app, ["privatize", "open", "--set", "harbours", "--pool", "p", "--project", root], 0)
    assert {name: story.view(name).task.difficulty for name in shares} == {name: name for name in shares}


def store_pool(story, scores):
    rows = [(model, qid, float(score)) for model, row in scores.items() for qid, score in row.items()]
    table = pa.table(
        {
            "pool": ["p"] * len(rows),
            "benchmark": ["harbours"] * len(rows),
            "question_id": [qid for _, qid, _ in rows],
            "model": [model for model, _, _ in rows],
            "family": pa.array([None] * len(rows), pa.string()),
            "score": pa.array(np.array([score for _, _, score in rows]), pa.float32()),
        }
    )
    story.workspace.facts.add_table("pool_score", story.run_id, table)


def answer(story, model, revision_id, item_name, text):
    row = dict.fromkeys(name for name in FACT_KINDS["response"].schema.names if name != "run_id")
    key = f"{model} {revision_id}"
    told = {
        "key": key,
        "request_key": key,
        "purpose": "test",
        "model": model,
        "family": model,
        "item_name": item_name,
        "revision_id": revision_id,
        "condition": "full",
        "condition_fingerprint": "full",
        "kind": "choice",
        "rotation": 0,
        "replicate": 0,
        "state": "ok",
        "answer": text,
        "parameters": "{}",
        "recorded_at": story.clock().isoformat(),
    }
    with story.workspace.facts.writer("response", story.run_id) as writer:
        writer.add(row | told)


def test_the_report_of_before_and_after(story, call_command, tmp_path):
    """Public: all models nearly alike. Private: they differ by what the answers say."""
    qids = [f"h{number}" for number in range(6)]
    story.open(*(story.public(qid, number) for number, qid in enumerate(qids)))
    ref, right = story.store(50), {"a": 6, "b": 3, "c": 1}
    questions = {}
    for number, qid in enumerate(qids):
        item = story.item(f"k{number}", ref)
        story.link(qid, item.name)
        questions[item.current_revision_id] = asked(PRIVATE_TEXT, ref, ("two kites aloft", "nine kites aloft"))
        for model, count in right.items():
            answer(story, model, item.current_revision_id, item.name, "B" if number < count else "A")
    assert story.prove(*qids) == []
    grade_answers(story.workspace.facts, story.run_id, questions)
    store_pool(
        story,
        {model: {qid: float(qid != missed) for qid in qids} for model, missed in zip("abcd", qids[:4], strict=True)},
    )
    root, plot = str(story.workspace.project.root), tmp_path / "before-after.svg"
    arguments = ["privatize", "report", "--set", "harbours", "--pool", "p", "--plot", str(plot), "--language", "zh"]
    found = call_command(app, [*arguments, "--project", root, "--json"], 0)
    assert (found["pairs"], found["one_sided"]) == (6, [])
    assert found["left_out"] == ["d"]
    assert found["before"]["models"] == pytest.approx({"a": 5 / 6, "b": 5 / 6, "c": 5 / 6})
    assert found["after"]["models"] == pytest.approx({"a": 1.0, "b": 0.5, "c": 1 / 6})
    # Deviation of 1, 1/2 and 1/6: mean 5/9, squares (16 + 1/4 + 49/4)/81 = 28.5/81, half of it, root: .41944.
    assert found["deviation_change"]["value"] == pytest.approx(0.41944, abs=1e-4)
    assert found["after"]["smallest_gap"] == pytest.approx(1 / 3)
    assert "私有题" in plot.read_text(encoding="utf-8")


def test_a_pair_counts_only_where_both_of_its_questions_were_scored():
    """As after an evaluation: quality control stopped an item, and the panel answered others than the evaluation."""
    nan = np.nan
    before = Scores(("a", "b", "c"), ("p1", "p2", "p3", "p4"), np.array([[1, 0, 1, 1], [0, 0, 1, nan], [0, 1, 1, nan]]))
    points = np.array([[nan, 1, nan, 1], [1, 0, nan, 1], [nan, 1, 1, nan]])
    after = Scores(("a", "b", "panel"), ("k1", "k2", "k3", "k4"), points)
    found = paired(before, after, {"p4": "k1", "p3": "k3", "p2": "k9", "p1": "k2"})
    assert found.one_sided == ("p2", "p3")  # k9 was never asked, k3 of the panel alone
    assert (found.before.questions, found.after.questions) == (("p1", "p4"), ("k2", "k1"))
    np.testing.assert_array_equal(found.before.of(["a"]), [[1, 1]])
    np.testing.assert_array_equal(found.after.of(["a", "b"]), [[1, nan], [0, 1]])
    with pytest.raises(NoScores, match="of none of the 1 pairs both questions were scored for a, b"):
        paired(before, after, {"p2": "k9"})
