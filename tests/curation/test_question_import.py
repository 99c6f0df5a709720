"""Import of public question sets: what is taken, what is refused, and what a second call does."""

import base64
import json
import os
import struct
import zlib
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlmodel import select

from core.errors import UnknownName
from curation.questions import importing
from curation.questions.cli import app
from curation.questions.importers.base import BadQuestionFile
from curation.questions.importing import import_questions
from curation.questions.plan import ChangedSet, Wanted
from curation.questions.sets import COMMAND, SetInUse, UnknownQuestion, find_question, forget_set
from warehouse.database import Database
from warehouse.tables import Event, Material, Privatization, PublicQuestion, QuestionSet, Run
from warehouse.workspace import open_workspace

MAPPING = """\
id: id
prompt: q
media: {image_1: image, audio_1: sound, video_1: film}
base64: [coded]
choices: [a, b]
answer: right
task_type: counting
"""


@pytest.fixture
def workspace(project):
    with open_workspace(project) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "map.yaml").write_text(MAPPING, encoding="utf-8")
    return tmp_path / "set"


def lines(folder, *records, name="own.jsonl"):
    file = folder / name
    written = [one if isinstance(one, str) else json.dumps(one) for one in records]
    file.write_text("".join(one + "\n" for one in written), encoding="utf-8")
    return file


def record(number, **more):
    return {"id": f"q{number}", "q": f"How many are {number}?", "a": "one", "b": "two", "right": "A"} | more


def own(file, **more):
    return Wanted(file, "generic", "own", mapping=file.parent / "map.yaml", **more)


def qids(workspace):
    with workspace.database.reading() as session:
        return list(session.exec(select(PublicQuestion.qid).order_by(PublicQuestion.id)))


def test_bad_records_are_told_and_stop_nothing(workspace, folder, media):
    (folder / "fine.png").write_bytes(media.coded(media.dots(1), "PNG"))
    (folder / "cut.png").write_bytes(media.coded(media.dots(1), "PNG")[:300])
    (folder / "words.png").write_text("no picture at all")
    (folder / "voice.wav").write_bytes(media.wav(media.voice(1)))
    (folder / "folder.png").mkdir()
    file = lines(
        folder,
        record(0, image="fine.png"),
        '{"id": "q1", "q": "cut o',
        '["a", "list"]',
        record(2, right=None),
        record(3, right="C"),
        record(4, b="one"),
        record(5, image="gone.png"),
        record(6, image="cut.png"),
        record(7, image="words.png"),
        record(8, image="voice.wav"),
        record(9, image="folder.png"),
        record(10, image="data:image/png;base64,!!!"),
        record(0, q="The same id again"),
        record(11, q="Look at <image_1>."),
        record(12, q="x" * 100_001),
        record(13, q="half a pair \ud800"),
        record(14, q=float("nan")),
        record(15, id="q" * 257),
        record(16, q="  "),
        record(17, b=None),
        record(18, q={"text": "?"}),
        record(19),
    )
    report = import_questions(workspace, own(file))
    assert qids(workspace) == ["q0", "q19"]
    assert dict(report.bad) == {
        "not_json": 1,
        "not_a_record": 1,
        "no_answer": 1,
        "answer_not_a_choice": 1,
        "repeated_choices": 1,
        "missing_media": 2,
        "truncated": 1,
        "disguised": 1,
        "wrong_modality": 1,
        "not_a_file": 1,
        "broken_base64": 1,
        "repeated_id": 1,
        "too_long": 1,
        "broken_text": 1,
        "missing_field": 2,
        "bad_id": 1,
        "no_choices": 1,
        "wrong_type": 1,
    }
    assert report.examples["answer_not_a_choice"] == [
        "own.jsonl line 5: the answer 'C' is no letter of the 2 choices",
    ]
    assert report.examples["missing_media"] == [
        "own.jsonl line 14: <image_1> is named, but there is no such medium",
        "own.jsonl line 7: there is no file 'gone.png'",
    ]
    with workspace.database.reading() as session:
        (run,) = session.exec(select(Run).where(Run.command == COMMAND))
        assert (run.status, run.summary["new"], run.summary["failed"]) == ("finished", 2, 20)
        assert run.summary["reasons"] == dict(report.bad)
        assert run.summary["examples"] == report.examples
        assert session.exec(select(Material)).all() == []


def test_examples_are_few_and_counts_are_all(workspace, folder):
    report = import_questions(workspace, own(lines(folder, record(0), *(record(n, right="") for n in range(1, 40)))))
    assert (report.bad["no_answer"], len(report.examples["no_answer"])) == (39, 5)


def test_media_lose_what_tells_of_their_maker_and_are_no_materials(workspace, folder, media):
    photo = media.gps_photo(1)
    (folder / "photo.jpg").write_bytes(photo)
    coded = base64.b64encode(photo).decode()
    file = lines(folder, record(1, image="photo.jpg"), record(2, image=f"data:image/jpeg;base64,{coded}"))
    import_questions(workspace, own(file))
    with workspace.database.reading() as session:
        first, second = (one.as_question().media[0].media for one in session.exec(select(PublicQuestion)))
        assert session.exec(select(Material)).all() == []
    assert first == second
    copy = workspace.blobs.get(first.sha256)
    assert b"Jane Doe" in photo
    assert b"Jane Doe" not in copy
    assert b"4711" not in copy


def test_a_film_is_taken_apart_and_its_sound_is_required_where_it_belongs_to_the_question(workspace, folder, media):
    (folder / "film.mp4").write_bytes(media.film(media.cartoon(1, 1), sound=media.voice(1, 1.0)))
    (folder / "mute.mp4").write_bytes(media.film(media.cartoon(1, 1)))
    file = lines(
        folder,
        record(1, film="film.mp4", sound="film.mp4"),
        record(2, film="film.mp4"),
        record(3, film="mute.mp4"),
        record(4, sound="mute.mp4"),
    )
    report = import_questions(workspace, own(file))
    assert (report.media, dict(report.bad)) == (2, {"wrong_modality": 1})
    with workspace.database.reading() as session:
        held = {one.qid: one.as_question() for one in session.exec(select(PublicQuestion))}
    # For a sound's name a film means its sound; the film's own sound then has the next free name.
    assert [part.name for part in held["q1"].media] == ["audio_1", "video_1", "audio_2"]
    assert held["q1"].media[0].media == held["q1"].media[2].media
    assert [part.name for part in held["q2"].media] == ["video_1", "audio_1"]
    assert held["q2"].required == {"video", "audio"}
    assert (held["q3"].required, len(held["q3"].media)) == ({"video"}, 1)
    (folder / "map.yaml").write_text(MAPPING + "sound: false\n", encoding="utf-8")
    import_questions(workspace, own(file, replace=True))
    with workspace.database.reading() as session:
        held = {one.qid: one.as_question() for one in session.exec(select(PublicQuestion))}
    assert held["q2"].required == {"video"}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("../secret.png", "outside_folder"),
        ("deep/../../secret.png", "outside_folder"),
        ("{outside}/secret.png", "outside_folder"),
        ("/etc/passwd", "outside_folder"),
        ("link.png", "outside_folder"),
        ("linked/secret.png", "outside_folder"),
        ("..\\secret.png", "bad_path"),
        ("a\0b.png", "bad_path"),
        ("x" * 5000 + ".png", "bad_path"),
        ("loop.png", "missing_media"),
        ("pipe.png", "not_a_file"),
        ("https://example.org/a.png", "missing_media"),
    ],
)
def test_no_path_leads_out_of_the_folder(workspace, folder, tmp_path, media, written, reason):
    (tmp_path / "secret.png").write_bytes(media.coded(media.dots(1), "PNG"))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "loop.png").symlink_to(folder / "loop.png")
    os.mkfifo(folder / "pipe.png")
    file = lines(folder, record(1, image=written.replace("{outside}", str(tmp_path))), record(2))
    report = import_questions(workspace, own(file))
    assert (qids(workspace), dict(report.bad)) == (["q2"], {reason: 1})


def test_links_and_folders_inside_are_followed(workspace, folder, media):
    (folder / "deep").mkdir()
    (folder / "deep" / "real.png").write_bytes(media.coded(media.dots(1), "PNG"))
    (folder / "link.png").symlink_to(folder / "deep" / "real.png")
    file = lines(folder, record(1, image="link.png"), record(2, image="./deep/../deep/real.png"))
    assert import_questions(workspace, own(file)).new == 2


def png_bomb(side):
    """A picture of one colour whose few kilobytes are gigabytes of pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    squeezed = zlib.compress(b"\0" * (side // 8 + 1) * 4000)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", squeezed) + chunk(b"IEND", b"")


def test_bombs_cost_one_record_each(workspace, folder, media, monkeypatch):
    bomb = base64.b64encode(png_bomb(60_000)).decode()
    monkeypatch.setattr("curation.questions.media.INLINE_BYTES", 300_000)
    large = base64.b64encode(bytes(300_001)).decode()
    good = base64.b64encode(media.coded(media.dots(2), "PNG")).decode()
    file = lines(folder, *(record(n, image=f"data:;base64,{one}") for n, one in enumerate((bomb, large, good))))
    report = import_questions(workspace, own(file))
    assert (qids(workspace), report.bad["too_large"], sum(report.bad.values())) == (["q2"], 2, 2)


def test_a_dictionary_of_one_huge_text_fills_no_memory(workspace, folder):
    """Parquet holds it once; every row of a batch would hold it again: 200 rows of 8 MB."""
    rows = 200
    huge = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * (8 << 20)]))
    columns = {
        "id": [f"q{n}" for n in range(rows)],
        "q": ["How many?"] * rows,
        "a": ["one"] * rows,
        "right": ["A"] * rows,
    }
    file = folder / "huge.parquet"
    pq.write_table(pa.table({**columns, "b": huge}), file, compression="zstd", store_schema=False)
    assert file.stat().st_size < 1 << 20
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    try:
        report = import_questions(workspace, own(file), dry_run=True)
    finally:
        pa.set_memory_pool(usual)
    assert dict(report.bad) == {"too_long": rows}
    assert 8 << 20 < pool.max_memory() < 400 << 20


@pytest.mark.parametrize("name", ["set.zip", "set.tar.gz", "set.tgz"])
def test_archives_are_to_be_unpacked_first(workspace, folder, name):
    (folder / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(BadQuestionFile, match="unpack it"):
        import_questions(workspace, own(folder / name))


def test_the_same_again_changes_nothing_and_another_content_is_refused(workspace, folder):
    file = lines(folder, record(1), record(2))
    import_questions(workspace, own(file))
    with workspace.database.reading() as session:
        before = [one.model_dump() for one in session.exec(select(PublicQuestion))]
        (one_set,) = session.exec(select(QuestionSet))
    report = import_questions(workspace, own(file))
    assert (report.new, report.known) == (0, 2)
    with workspace.database.reading() as session:
        assert [one.model_dump() for one in session.exec(select(PublicQuestion))] == before
        assert session.exec(select(QuestionSet)).all() == [one_set]
    lines(folder, record(1), record(3))
    for dry_run in (True, False):
        with pytest.raises(ChangedSet, match="'own' was imported from other files"):
            import_questions(workspace, own(file), dry_run=dry_run)
    assert qids(workspace) == ["q1", "q2"]
    (folder / "map.yaml").write_text(MAPPING.replace("counting", "code"), encoding="utf-8")
    lines(folder, record(1), record(2))
    with pytest.raises(ChangedSet, match=r"the mapping of the set 'own' has changed .*--replace"):
        import_questions(workspace, own(file))
    assert import_questions(workspace, own(file, replace=True)).new == 2


def test_a_set_is_replaced_or_forgotten_only_while_nothing_rests_on_it(workspace, folder):
    file = lines(folder, record(1), record(2))
    import_questions(workspace, own(file))
    lines(folder, record(3))
    assert import_questions(workspace, own(file, replace=True), dry_run=True).new == 1
    assert qids(workspace) == ["q1", "q2"]
    import_questions(workspace, own(file, replace=True, actor="mei"))
    assert qids(workspace) == ["q3"]
    with workspace.database.session() as session:
        (event,) = session.exec(select(Event).where(Event.subject_kind == "question_set"))
        assert (event.actor, event.action, event.detail) == ("mei", "forget", {"name": "own", "questions": 2})
        question = session.exec(select(PublicQuestion)).one()
        session.add(Privatization(public_question_id=question.id, created_by="mei"))
    lines(folder, record(4))
    with pytest.raises(SetInUse, match="1 privatizations"):
        import_questions(workspace, own(file, replace=True))
    with workspace.database.session() as session, pytest.raises(SetInUse):
        forget_set(session, "own", "mei")
    assert qids(workspace) == ["q3"]
    with workspace.database.session() as session:
        session.delete(session.exec(select(Privatization)).one())
    with workspace.database.session() as session:
        assert forget_set(session, "own", "mei") == 1
        assert session.exec(select(QuestionSet)).all() == []
        with pytest.raises(UnknownName):
            forget_set(session, "own", "mei")


def test_what_stops_in_the_middle_goes_on_where_it_was(workspace, folder, media, monkeypatch):
    (folder / "dots.png").write_bytes(media.coded(media.dots(1), "PNG"))
    monkeypatch.setattr(importing, "BATCH_QUESTIONS", 3)
    file = lines(folder, *(record(n, image="dots.png") for n in range(10)))
    real = importing._Import._insert

    def stops(self, built, run_id):
        if self.report.new >= 6:
            raise KeyboardInterrupt
        real(self, built, run_id)

    monkeypatch.setattr(importing._Import, "_insert", stops)
    with pytest.raises(KeyboardInterrupt):
        import_questions(workspace, own(file))
    assert qids(workspace) == [f"q{n}" for n in range(6)]
    monkeypatch.setattr(importing._Import, "_insert", real)
    report = import_questions(workspace, own(file))
    assert (report.new, report.known, report.media) == (4, 6, 1)
    assert qids(workspace) == [f"q{n}" for n in range(10)]
    with workspace.database.reading() as session:
        runs = session.exec(select(Run).where(Run.command == COMMAND).order_by(Run.id)).all()
        assert [run.status for run in runs] == ["interrupted", "finished"]
        assert runs[0].summary["new"] == 6


def test_a_store_that_is_full_ends_the_run(workspace, folder, media, monkeypatch):
    (folder / "dots.png").write_bytes(media.coded(media.dots(1), "PNG"))

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("warehouse.blobs.BlobStore.put", full)
    with pytest.raises(OSError, match="No space left"):
        import_questions(workspace, own(lines(folder, record(1, image="dots.png"))))
    assert qids(workspace) == []


def test_limit_and_split(workspace, folder):
    (folder / "map.yaml").write_text(MAPPING + "rename: {split: part}\n", encoding="utf-8")
    parts = ["dev", "test", "dev", "test", "dev"]
    file = lines(folder, *(record(n, part=part) for n, part in enumerate(parts)))
    report = import_questions(workspace, own(file, splits=("test",)))
    assert (qids(workspace), report.other_splits) == (["q1", "q3"], 3)
    report = import_questions(workspace, own(file, limit=3))
    assert (report.new, report.known) == (2, 1)
    assert sorted(qids(workspace)) == ["q0", "q1", "q2", "q3"]


def test_a_dry_run_says_the_same_and_writes_nothing(workspace, folder, media):
    (folder / "dots.png").write_bytes(media.coded(media.dots(1), "PNG"))
    file = lines(folder, record(1, image="dots.png"), record(2, right="Z"))
    dry = import_questions(workspace, own(file), dry_run=True)
    with workspace.database.reading() as session:
        assert session.exec(select(Run)).all() == session.exec(select(QuestionSet)).all() == []
    assert not list((workspace.project.root / "blobs").rglob("*.*"))
    real = import_questions(workspace, own(file))
    assert dry.summary == real.summary


def test_pictures_of_other_rows_are_found_across_batches(workspace, folder, media, monkeypatch):
    monkeypatch.setattr(importing, "BATCH_QUESTIONS", 1)
    picture = base64.b64encode(media.coded(media.dots(3), "PNG")).decode()
    rows = ["index\tquestion\tA\tB\tanswer\timage", f"1\t?\tx\ty\tA\t{picture}", "2\t?\tx\ty\tB\t1", "3\t?\tx\ty\tB\t9"]
    file = folder / "mm.tsv"
    file.write_text("\n".join(rows), encoding="utf-8")
    for dry_run in (True, False):
        report = import_questions(workspace, Wanted(file, "mmbench", "mm"), dry_run=dry_run)
        assert (report.new, dict(report.bad)) == (2, {"missing_media": 1})
    with workspace.database.reading() as session:
        first, second = session.exec(select(PublicQuestion))
    assert first.as_question().media == second.as_question().media


def test_base64_larger_than_fields_usually_are(workspace, folder, media):
    noise = media.photo(1, (900, 700))
    coded = base64.b64encode(media.coded(noise, "PNG")).decode()
    assert len(coded) > 131_072  # what Python's csv takes unless told otherwise
    file = folder / "mm.tsv"
    file.write_text(f"index\tquestion\tA\tB\tanswer\timage\n1\t?\tx\ty\tA\t{coded}\n", encoding="utf-8")
    assert import_questions(workspace, Wanted(file, "mmbench", "mm")).new == 1


def test_tables_of_a_folder_are_taken_together_in_the_order_of_their_names(workspace, folder):
    lines(folder, record(3), name="b.jsonl")
    lines(folder, record(1), record(2), name="a.jsonl")
    wanted = Wanted(folder, "generic", "own", mapping=folder / "map.yaml")
    assert import_questions(workspace, wanted).new == 3
    assert qids(workspace) == ["q1", "q2", "q3"]
    lines(folder, record(4), name="c.jsonl")
    with pytest.raises(ChangedSet):
        import_questions(workspace, wanted)


@pytest.mark.postgres
def test_on_postgresql(postgres_url, workspace, folder):
    database = Database(postgres_url)
    moved = replace(workspace, database=database)
    file = lines(folder, record(1), record(2, q="NUL \0"), record(3, more="\0"))
    for new in (1, 0):
        report = import_questions(moved, own(file))
        assert (report.new, dict(report.bad)) == (new, {"broken_text": 2})
    assert qids(moved) == ["q1"]
    with database.session() as session:
        assert find_question(session, "q1")[1] == "own"
        assert forget_set(session, "own", "mei") == 1
    database.close()


def test_commands(project, folder, call_command, signed_on):
    signed_on(project, "mei")
    place = ["--project", str(project)]
    file = lines(folder, record(1, level="hard"), record(2, right="Z"))
    told = ["import", str(file), "--format", "generic", "--set", "own", "--mapping", str(folder / "map.yaml")]
    assert "would be new 1, known 0, failed 1" in call_command(app, [*told, "--dry-run", *place])
    done = call_command(app, [*told, "--licence", "CC-BY-4.0", "--json", *place])
    assert (done["new"], done["reasons"], done["set"]) == (1, {"answer_not_a_choice": 1}, "own")
    text = call_command(app, [*told, *place])
    assert "failed: answer_not_a_choice: 1\n  own.jsonl line 2: the answer 'Z'" in text
    (one,) = call_command(app, ["sets", "--json", *place])
    assert (one["questions"], one["licence"], one["last_import"]) == (1, "CC-BY-4.0", "finished")
    assert one["last_summary"]["failed"] == 1
    (listed,) = call_command(app, ["list", "--set", "own", "--json", *place])
    shown = call_command(app, ["show", "q1", "--json", *place])
    assert (shown["id"], shown["labels"]["level"]) == (listed["id"], "hard")
    assert call_command(app, ["show", listed["id"], "--json", *place]) == shown
    assert "* A. one" in call_command(app, ["show", "q1", *place])
    assert "did you mean" in call_command(app, ["list", "--set", "owm", *place], code=1)
    assert "unknown user" in call_command(app, ["forget", "own", "--by", "max", *place])
    assert "unknown user" in call_command(app, [*told, "--replace", "--by", "max", *place])
    assert call_command(app, ["forget", "own", "--json", *place]) == {"set": "own", "questions": 1}
    assert call_command(app, ["list", "--json", *place]) == []
    lines(folder, record(2, right="Z"))
    call_command(app, [*told, *place], code=2)


def test_ids_that_can_be_several_are_asked_about(workspace, folder):
    file = lines(folder, record(1), record(2))
    import_questions(workspace, own(file))
    import_questions(workspace, Wanted(file, "generic", "other", mapping=folder / "map.yaml"))
    with workspace.database.reading() as session:
        with pytest.raises(UnknownQuestion, match=r"can be several questions: .*q1 of own.*q1 of other"):
            find_question(session, "q1")
        with pytest.raises(UnknownQuestion, match="no public question has the id 'q9'"):
            find_question(session, "q9")
