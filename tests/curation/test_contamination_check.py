"""Items and materials compared with an index: rows, resuming, changes, and a person's word."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sqlmodel import select
from typer.testing import CliRunner

import curation.contamination.check as checking
from core.content import MediaPart, Modality, TextPart
from core.question import AnswerKey, Choice, Question
from curation.contamination import sources
from curation.contamination.build import Making, build
from curation.contamination.check import OtherGrams, Which, check
from curation.contamination.cli import app
from curation.contamination.entries import PublicText, Source
from curation.contamination.index_file import Benchmark, open_index, write_index
from curation.contamination.records import ImpossibleClearing, clear, matches_of, reopen
from curation.contamination.show import lines_of, page, shown
from curation.contamination.sources import from_files, from_set
from curation.contamination.subjects import SubjectKind, subjects_of
from curation.contamination.texts import Document
from curation.dedupe.looks import METHOD_OF_MODALITY, audio_looks, image_looks
from curation.materials import UnknownMaterial
from warehouse import events
from warehouse.handles import UnknownId
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import NotAllowed, Role, add_user, get_user
from warehouse.tables import (
    ContaminationCheck,
    ContaminationMatch,
    Material,
    MaterialState,
    PublicQuestion,
    QuestionSet,
    Run,
    Segment,
)
from warehouse.workspace import open_workspace

KEEPER = "Who polishes every lens of the old lighthouse with vinegar before the evening ferry leaves the harbour?"
OPTIONS = ("The retired tram conductor", "The baker's youngest niece", "The visiting clock mender")
BARGE = "Which cargo does the third barge carry under its striped tarpaulin while the heron watches from the pier?"
SAID = "and so the keeper told the children how the great storm had carried away the iron bell of the northern tower"


class House:
    """A project with an index beside it."""

    def __init__(self, workspace, folder) -> None:
        self.workspace, self.folder = workspace, folder
        with workspace.database.session() as session:
            add_user(session, "rita", frozenset({Role.REVIEWER}), actor="test")
            add_user(session, "ann", frozenset({Role.ANNOTATOR}), actor="test")
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1)
            session.add(run)
        self.run_id = run.id

    def material(self, number: int, looks=None, modality: str = "image", **more) -> str:
        media = {"sha256": f"{number:064x}", "media_type": f"{modality}/x", "modality": modality, "byte_count": 1}
        with self.workspace.database.session() as session:
            row = Material(
                sha256=f"{number + 1000:064x}",
                media=media,
                modality=modality,
                looks=looks or {},
                run_id=self.run_id,
                **more,
            )
            session.add(row)
        return row.id

    def item(self, name: str, text: str, options=("yes", "no"), materials=None) -> str:
        with self.workspace.database.session() as session:
            item, revision = create_item(session, name, self.draft(session, text, options, materials or {}))
            return revision.id

    @staticmethod
    def draft(session, text: str, options=("yes", "no"), materials=None) -> Draft:
        media = {name: session.get(Material, id_).media_ref for name, id_ in (materials or {}).items()}
        prompt = (TextPart(text=text), *(MediaPart(name=name, media=ref) for name, ref in media.items()))
        question = Question(
            prompt=prompt, kind="choice", choices=tuple(Choice(text=one) for one in options),
            answer=AnswerKey(correct=(0,)), task_type="counting", language="en",
        )  # fmt: skip
        return Draft(question, materials or {}, "ann")

    def say(self, material_id: str, text: str) -> None:
        with self.workspace.database.session() as session:
            session.add(
                Segment(material_id=material_id, start_s=0, end_s=9, text=text, made_by="asr@1", run_id=self.run_id)
            )

    def index(self, *texts: tuple[str, str], name: str = "public", files=None, of: str = "zoo"):
        held = tuple(
            PublicText(id_, Document.of([("question", text)], [("choice A", one) for one in OPTIONS]))
            for id_, text in texts
        )
        media = ()
        if files is not None:
            with from_files(files) as read:
                media = read.source.media
                benchmark = build(Source(of, "a test", held, media)).benchmark
        else:
            benchmark = build(Source(of, "a test", held, media)).benchmark
        return self.write(name, benchmark)

    def write(self, name: str, *benchmarks: Benchmark):
        write_index(self.folder / f"{name}.index", benchmarks)
        return open_index(self.folder / f"{name}.index")

    def matches(self):
        with self.workspace.database.reading() as session:
            return [(one.subject_kind, one.subject_id, one.entry, one.kind) for one in matches_of(session)]

    def rows(self, kind):
        with self.workspace.database.reading() as session:
            return session.exec(select(kind)).all()

    def call(self, *arguments: object):
        result = CliRunner().invoke(app, [*map(str, arguments), "--project", str(self.workspace.project.root)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return json.loads(result.stdout) if "--json" in arguments else result.stdout


@pytest.fixture
def opened(project):
    with open_workspace(project) as workspace:
        yield workspace


@pytest.fixture
def house(opened, tmp_path) -> House:
    return House(opened, tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def any_house(request, opened, tmp_path):
    if request.param == "sqlite":
        yield House(opened, tmp_path)
        return
    from warehouse.database import Database

    database = Database(request.getfixturevalue("postgres_url"))
    yield House(replace(opened, database=database), tmp_path)
    database.close()


def test_items_are_compared_once_and_what_they_share_is_stored(any_house):
    house = any_house
    copied, clean = house.item("copied", KEEPER, OPTIONS), house.item("clean", "How many herons stand on one leg?")
    index = house.index(("q1", KEEPER), ("q2", BARGE))
    report = check(house.workspace, index)
    assert (report.compared, report.known) == ({"texts": 2}, {"texts": 0})
    assert report.matches == {"words": 1, "options": 2}
    assert house.matches() == [
        ("revision", copied, "q1", "options"), ("revision", copied, "q1", "words"), ("revision", copied, "q2", "options"),
    ]  # fmt: skip
    marks = house.rows(ContaminationCheck)
    assert {one.subject_id for one in marks} == {copied, clean}
    assert {(one.index_name, one.index_sha256) for one in marks} == {("public", index.sha256)}
    (words,) = [one for one in house.rows(ContaminationMatch) if one.kind == "words"]
    ours, theirs = words.evidence["ours"][0], words.evidence["theirs"][0]
    assert (ours["label"], ours["text"], theirs["label"], theirs["text"]) == ("prompt", KEEPER, "question", KEEPER)
    assert ours["shared"] == theirs["shared"] == [[0, len(KEEPER) - 1]]  # all but the question mark

    again = check(house.workspace, index)
    assert (again.compared, again.known, again.run_id) == ({"texts": 0}, {"texts": 2}, None)
    new = house.item("new", BARGE)
    assert check(house.workspace, index).compared == {"texts": 1}
    assert ("revision", new, "q2", "words") in house.matches()
    assert check(house.workspace, index, Which(again=True)).compared == {"texts": 3}
    assert len(house.rows(ContaminationCheck)) == 3
    assert len(house.matches()) == 4


def test_a_new_revision_is_compared_and_what_is_rejected_is_not(house):
    house.item("copied", KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    with house.workspace.database.session() as session:
        item = get_item(session, "copied")
        revision = revise_item(session, item, item.version, house.draft(session, BARGE))
        revision_id = revision.id
    report = check(house.workspace, index)
    assert (report.compared, report.known) == ({"texts": 1}, {"texts": 0})
    assert revision_id not in {subject for _, subject, _, _ in house.matches()}
    with house.workspace.database.session() as session:
        item = get_item(session, "copied")
        advance(session, item.id, item.version, Advance(Action.SUBMIT, "ann"))
        advance(session, item.id, item.version, Advance(Action.REJECT, "rita", reason_codes=("contaminated",)))
    assert check(house.workspace, index, Which(again=True)).compared == {"texts": 0}


def test_materials_are_compared_by_looks_by_bytes_and_by_their_words(house, media, tmp_path):
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "photo.jpg").write_bytes(media.coded(media.photo(1), "JPEG", quality=60))
    (tmp_path / "public" / "voice.wav").write_bytes(media.wav(media.voice(3, 4.0)))
    method = METHOD_OF_MODALITY
    copy = house.material(1, image_looks(media.photo(1).resize((200, 150))))
    other = house.material(2, image_looks(media.photo(2)))
    samples = media.voice(3, 4.0)[::2]
    sound = house.material(3, audio_looks(samples), "audio")
    dropped = house.material(4, image_looks(media.photo(1)), state=MaterialState.DROPPED)
    unseen = house.material(5)
    told = house.material(6, audio_looks(media.voice(4, 4.0)[::2]), "audio")
    house.say(told, SAID)
    index = house.index(("q1", f"In the story, {SAID}. What was lost?"), files=tmp_path / "public")
    report = check(house.workspace, index)
    assert report.compared == {"texts": 1, "image": 2, "audio": 2}
    assert report.not_done == [f"image: 1 materials were not looked at by {method[Modality.IMAGE]} yet"]
    assert sorted(house.matches()) == sorted(
        [
            ("material", copy, "photo.jpg", "image"),
            ("material", sound, "voice.wav", "audio"),
            ("material", told, "q1", "words"),
        ]
    )
    assert not {other, dropped, unseen} & {subject for _, subject, _, _ in house.matches()}
    (image,) = [one for one in house.rows(ContaminationMatch) if one.kind == "image"]
    assert image.score == 1 - image.evidence["measures"]["distance"] > 0.9
    assert image.evidence["medium"]["name"] == "photo.jpg"
    assert check(house.workspace, index).compared == {"texts": 0, "image": 0, "audio": 0}


def test_words_that_change_are_compared_anew_and_a_match_that_goes_is_told(house):
    material = house.material(1, {}, "audio")
    house.say(material, SAID)
    index = house.index(("q1", SAID))
    check(house.workspace, index)
    assert house.matches() == [("material", material, "q1", "words")]
    with house.workspace.database.session() as session:
        session.exec(select(Segment)).one().text = BARGE
    report = check(house.workspace, index)
    assert (report.compared["texts"], house.matches(), len(house.rows(ContaminationCheck))) == (1, [], 1)
    with house.workspace.database.reading() as session:
        (gone,) = events.history(session, "material", material)
        assert (gone.action, gone.detail["entry"]) == ("match_gone", "q1")
    with house.workspace.database.session() as session:
        session.exec(select(Segment)).one().text = SAID
    assert check(house.workspace, index).compared["texts"] == 1
    assert house.matches() == [("material", material, "q1", "words")]


def test_an_index_by_other_methods_is_refused_or_told_as_not_done(house, media):
    house.material(1, image_looks(media.photo(1)))
    house.item("one", KEEPER)
    (held,) = house.index(("q1", KEEPER)).benchmarks()
    old = Benchmark(
        held.entry.model_copy(update={"methods": {**held.entry.methods, "image": "image_hash@0"}}), held.tables
    )
    report = check(house.workspace, house.write("old", old))
    assert report.compared == {"texts": 1}
    (told,) = [one for one in report.not_done if one.startswith("image")]
    assert "zoo was indexed by image_hash@0, this version looks by" in told
    grams = Benchmark(held.entry.model_copy(update={"grams": "grams@0"}), held.tables)
    with pytest.raises(OtherGrams, match=r"zoo was indexed by grams@0, .*build the index anew"):
        check(house.workspace, house.write("grams", grams))


def test_a_check_that_is_stopped_goes_on_where_it_was(house, monkeypatch):
    for number in range(5):
        house.item(f"i{number}", f"{KEEPER} {number}")
    index = house.index(("q1", KEEPER))
    monkeypatch.setattr(checking, "TEXTS_AT_ONCE", 2)
    store, calls = checking.store, []

    def dies_at_the_second(*arguments):
        calls.append(1)
        store(*arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checking, "store", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        check(house.workspace, index)
    assert len(house.matches()) == len(house.rows(ContaminationCheck)) == 2
    monkeypatch.setattr(checking, "store", store)
    report = check(house.workspace, index)
    assert (report.compared, report.known) == ({"texts": 3}, {"texts": 2})
    assert len(house.matches()) == 5


def test_a_dry_run_only_counts(house):
    house.item("one", KEEPER)
    report = check(house.workspace, house.index(("q1", KEEPER)), dry_run=True)
    assert report.compared == {"texts": 1}
    assert house.rows(ContaminationCheck) == house.rows(ContaminationMatch) == []


def test_two_benchmarks_may_call_their_questions_alike(house):
    revision = house.item("one", KEEPER)
    parts = [house.index(("1", KEEPER), of=name, name=name).benchmarks()[0] for name in ("ant", "bee")]
    check(house.workspace, house.write("both", *parts))
    assert house.matches() == [("revision", revision, "1", "words")] * 2


def test_a_person_clears_a_match_and_takes_it_back(any_house):
    house = any_house
    house.item("one", KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    (match,) = house.rows(ContaminationMatch)
    with house.workspace.database.session() as session:
        rita, ann = get_user(session, "rita"), get_user(session, "ann")
        with pytest.raises(NotAllowed, match="ann is annotator"):
            clear(session, match.id, "x", ann)
        with pytest.raises(ImpossibleClearing, match="needs a reason"):
            clear(session, match.id, " ", rita)
        with pytest.raises(UnknownId, match="no match has an id that begins with 'x'"):
            clear(session, "x", "y", rita)
        with pytest.raises(ImpossibleClearing, match="open already"):
            reopen(session, match.id, "y", rita)
        clear(session, match.id, "A saying.", rita)
        with pytest.raises(ImpossibleClearing, match=r"cleared by rita already \(A saying.\)"):
            clear(session, match.id, "again", rita)
        assert matches_of(session, open_only=True) == []
    check(house.workspace, index, Which(again=True))
    (kept,) = house.rows(ContaminationMatch)
    assert (kept.id, kept.cleared_by, kept.cleared_why) == (match.id, "rita", "A saying.")
    check(house.workspace, house.index(("q1", KEEPER), ("q2", BARGE), name="next"))
    inherited = [one for one in house.rows(ContaminationMatch) if one.index_name == "next"]
    assert [(one.entry, one.cleared_why) for one in inherited] == [("q1", "A saying.")]
    with house.workspace.database.session() as session:
        reopen(session, match.id, "It is a copy.", get_user(session, "rita"))
        assert [one.id for one in matches_of(session, open_only=True)] == [match.id]
        told = [
            (one.actor, one.action, one.detail["reason"])
            for one in events.history(session, "contamination_match", match.id)
        ]
    assert told == [("rita", "clear", "A saying."), ("rita", "reopen", "It is a copy.")]


def test_of_an_item_the_matches_of_its_media_and_what_they_were_taken_from_are_shown(house):
    film = house.material(1, {}, "video")
    sound = house.material(2, {}, "audio", parent_id=film)
    alone = house.material(3)
    revision = house.item("one", KEEPER, materials={"audio_1": sound})
    with house.workspace.database.reading() as session:
        assert subjects_of(session, "one") == [
            (SubjectKind.REVISION, revision), *((SubjectKind.MATERIAL, one) for one in sorted((film, sound))),
        ]  # fmt: skip
        assert subjects_of(session, alone) == [(SubjectKind.MATERIAL, alone)]
        with pytest.raises(UnknownMaterial):
            subjects_of(session, "nobody")


def test_the_page_marks_what_is_shared_in_both_languages_and_no_text_can_break_out(house):
    evil = KEEPER.replace("vinegar", "<script>alert(1)</script> vinegar")
    house.item("one", evil, ("<b>x</b>", *OPTIONS))
    check(house.workspace, house.index(("q1", KEEPER)))
    with house.workspace.database.reading() as session:
        told = shown(session, matches_of(session), house.workspace.blobs)
    english, chinese = page(told, "en"), page(told, "zh-CN")
    assert "<script>" not in english
    assert "<b>x" not in english
    assert "&lt;script&gt;" in english
    assert "<mark>Who polishes every lens of the old lighthouse with</mark> &lt;script&gt;" in english
    assert f"<mark>{KEEPER[:-1]}</mark>?" in english
    assert 'lang="zh"' in chinese
    assert "与公开基准的重合" in chinese
    assert "Overlaps" not in chinese
    assert "src=" not in english
    lines = "\n".join(lines_of(told[0]))
    assert lines.count("[[") == lines.count("]]") == 3
    assert "one, revision 1" in lines
    assert "zoo q1" in lines


def test_pictures_of_ours_are_on_the_page_and_those_of_theirs_by_name(house, media, tmp_path):
    (tmp_path / "public").mkdir()
    data = media.coded(media.photo(1), "JPEG")
    (tmp_path / "public" / "photo.jpg").write_bytes(data)
    house.call("index", tmp_path / "media.index", "--from", tmp_path / "public")
    sha256 = house.workspace.blobs.put(data)
    ref = {"sha256": sha256, "media_type": "image/jpeg", "modality": "image", "byte_count": len(data)}
    with house.workspace.database.session() as session:
        session.add(
            Material(sha256=sha256, media=ref, modality="image", looks=image_looks(media.photo(1)), run_id=house.run_id)
        )
    house.call("check", "--index", tmp_path / "media.index")
    house.call("matches", "--html", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('<img src="data:image/jpeg;base64,') == 1
    assert "photo.jpg" in text


def test_the_commands(house, tmp_path):
    house.item("one", KEEPER)
    house.index(("q1", KEEPER))
    index = tmp_path / "public.index"
    told = house.call("check", "--index", index, "--items", "--json")
    assert (told["compared"], told["matches"], told["open"]) == ({"texts": 1}, {"words": 1}, 1)
    assert (
        house.call("check", "--index", index, "--dry-run").splitlines()[0]
        == "texts: 0 would be compared, 1 known before"
    )
    (match,) = house.call("matches", "--subject", "one", "--open", "--json")
    assert (match["name"], match["entry"], match["kind"]) == ("one, revision 1", "q1", "words")
    assert "is cleared" in house.call("clear", match["id"], "--reason", "A saying.", "--by", "rita")
    assert house.call("matches", "--open") == "no matches\n"
    assert "cleared by rita: A saying." in house.call("matches")
    assert "open again" in house.call("reopen", match["id"], "--reason", "No.", "--by", "rita")


def test_imported_question_sets_are_a_source(house, media):
    data = media.coded(media.photo(5), "PNG")
    sha256 = house.workspace.blobs.put(data)
    material = house.material(9)
    with house.workspace.database.session() as session:
        question = house.draft(session, KEEPER, OPTIONS, {"image_1": material}).question
        ref = question.media[0].media.model_copy(update={"sha256": sha256, "byte_count": len(data)})
        question = question.model_copy(update={"prompt": (TextPart(text=KEEPER), MediaPart(name="image_1", media=ref))})
        held = QuestionSet(
            name="Zoo", format="generic", origin="zoo.jsonl", sha256="0" * 64, licence="MIT", run_id=house.run_id
        )
        session.add(held)
        session.flush()
        session.add(
            PublicQuestion(
                set_id=held.id, qid="7", question=question.model_dump(mode="json"), content_hash=question.content_hash
            )
        )
    with house.workspace.database.reading() as session:
        source = from_set(session, house.workspace.blobs, "Zoo")
    assert (source.name, source.licence, [one.id for one in source.texts]) == ("Zoo", "MIT", ["7"])
    built = build(source)
    assert (built.benchmark.entry.media, built.failures) == (1, ())
    house.call("index", house.folder / "set.index", "--set", "Zoo", "--name", "Zoological")
    (entry,) = open_index(house.folder / "set.index").manifest.benchmarks
    assert (entry.name, entry.licence, entry.questions, entry.media) == ("Zoological", "MIT", 1, 1)


class Bags:
    """Words that two texts share make their directions near."""

    fingerprint = "bags@1"
    logit_scale = None

    def embed_texts(self, texts):
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace("?", "").split():
                vectors[row, sum(map(ord, word)) % 64] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_neighbours_are_looked_for_where_the_index_has_vectors_of_the_same_embedder(house):
    turned = " ".join(reversed(KEEPER.removesuffix("?").split()))
    revision = house.item("turned", turned)
    text = PublicText("q1", Document.of([("question", KEEPER)]))
    source = Source("zoo", "a test", (text,), ())
    index = house.write("vectors", build(source, Making(embedder=Bags())).benchmark)
    report = check(house.workspace, index, embedder=Bags())
    assert (report.compared, report.not_done) == ({"texts": 1, "neighbours": 1}, [])
    assert house.matches() == [("revision", revision, "q1", "embedding")]
    (match,) = house.rows(ContaminationMatch)
    assert match.score == match.evidence["measures"]["cosine"] > 0.9
    assert check(house.workspace, index, embedder=Bags()).run_id is None
    told = check(house.workspace, house.write("plain", build(source).benchmark), embedder=Bags())
    assert told.compared == {"texts": 1}
    assert told.not_done[0].startswith("neighbours: zoo holds no vectors, and this project embeds by bags@1")


def test_an_exported_release_is_a_source(house, media, monkeypatch, tmp_path):
    data = media.coded(media.photo(6), "PNG")
    sha256 = house.workspace.blobs.put(data)
    material = house.material(9)
    with house.workspace.database.session() as session:
        question = house.draft(session, KEEPER, OPTIONS, {"image_1": material}).question
    ref = question.media[0].media.model_copy(update={"sha256": sha256})
    question = question.model_copy(update={"prompt": (TextPart(text=KEEPER), MediaPart(name="image_1", media=ref))})
    rows = (SimpleNamespace(qid="zoo-1", question=question),)
    manifest = SimpleNamespace(name="zoo", version="1.0.0", licence="MIT", title="zoo 1.0.0", rows=rows)
    export = SimpleNamespace(manifest=manifest, get=house.workspace.blobs.get)
    monkeypatch.setattr(sources, "open_export", lambda folder: export)
    built = build(sources.from_release(tmp_path))
    entry = built.benchmark.entry
    assert (entry.name, entry.version, entry.licence, entry.questions, entry.media) == ("zoo", "1.0.0", "MIT", 1, 1)
    assert built.failures == ()
