"""Withdrawn media: what the next release, its exports, and the earlier releases say of them."""

import hashlib
import json
from threading import Thread

import duckdb
import pytest
from sqlmodel import select
from typer.testing import CliRunner

from core.ids import utc_now
from warehouse import forgetting
from warehouse.database import Database
from warehouse.facts import FactStore
from warehouse.guards import ImmutableRow
from warehouse.inspection import inspect_blobs
from warehouse.items import Draft, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release.build import NothingToRelease, Query, Recipe, build_release
from warehouse.release.diff import diff_releases
from warehouse.release.export import TOMBSTONES, export_release
from warehouse.release.manifest import read_manifest
from warehouse.release.records import get_release
from warehouse.release.seal import SealBlocked, SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.tombstones import MediaWithdrawn
from warehouse.release.verify import verify_folder, verify_release
from warehouse.release_cli import app
from warehouse.tables import Caption, CaptionKind, CaptionState, Event, Material, MaterialState, Segment


def release(world, version, plan=None):
    """Build and seal; the manifest."""
    recipe = Recipe(Query(), plan or SplitPlan(1.0), salt="pepper")
    build_release(world.database, "zoo", version, recipe, "max", world.clock)
    seal_release(world.database, world.blobs, SealOrder("zoo", version, "max"), world.clock)
    with world.database.reading() as session:
        sealed = get_release(session, "zoo", version)
    return read_manifest(world.blobs.get(sealed.manifest_sha256), version)


def take_back(world, *materials):
    """What a withdrawal leaves: the state, and no bytes; the items that showed them are retired."""
    with world.database.session() as session:
        for material in materials:
            session.get(Material, material.id).state = MaterialState.WITHDRAWN
    for material in materials:
        world.blobs.remove(material.media_ref.sha256)


def retire(world, name):
    with world.database.session() as session:
        item = get_item(session, name)
        advance(session, item.id, item.version, Advance(Action.RETIRE, "max", ("withdrawn",)), world.clock)


def spoken(world, name, pitch_hz):
    voice = world.material(world.sound(pitch_hz))
    world.accept(name, world.open_question(voice), {"audio_1": voice})
    return voice


def test_ids_stay_and_media_and_words_go_from_release_to_release(any_world, tmp_path):
    world = any_world
    gone = spoken(world, "gone", 500)
    spoken(world, "stays", 600)
    spoken(world, "retired", 700)
    assert release(world, "1.0.0").tombstones == ()
    take_back(world, gone)
    retire(world, "gone")
    retire(world, "retired")

    for version in ("1.1.0", "1.2.0"):
        manifest = release(world, version)
        assert [row.qid for row in manifest.rows] == ["stays"]
        (stone,) = manifest.tombstones
        assert stone.model_dump() == {
            "qid": "gone",
            "reason": "withdrawn",
            "last_version": "1.0.0",
            "media": (gone.media_ref.sha256,),
        }
        assert "What is" not in json.dumps([one.model_dump() for one in manifest.tombstones])

    with world.database.reading() as session:
        found = diff_releases(session, "zoo", "1.0.0", "1.1.0")
    assert (found.removed, found.withdrawn) == (["gone", "retired"], ["gone"])
    assert list(found.lines()) == ["- gone (withdrawn)", "- retired"]

    for format_name in ("jsonl", "huggingface"):
        folder = tmp_path / format_name
        export_release(world.database, world.blobs, "zoo", "1.2.0", format_name, folder, world.clock)
        lines = [json.loads(line) for line in (folder / TOMBSTONES).read_text().splitlines()]
        assert [line["qid"] for line in lines] == ["gone"]
        assert "## Withdrawn" in (folder / "README.md").read_text()
        assert not list(folder.rglob(f"{gone.media_ref.sha256}*"))
        assert verify_folder(folder).damages == []
        (folder / TOMBSTONES).write_text("")
        # Even where somebody mends the list of files, the manifest tells.
        sums = [line for line in (folder / "SHA256SUMS").read_text().splitlines() if TOMBSTONES not in line]
        sums.append(f"{hashlib.sha256(b'').hexdigest()}  {TOMBSTONES}")
        (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")
        assert [one.place for one in verify_folder(folder).damages] == [TOMBSTONES]


def test_a_release_without_withdrawals_says_nothing_of_them(world, tmp_path):
    spoken(world, "stays", 600)
    release(world, "1.0.0")
    export_release(world.database, world.blobs, "zoo", "1.0.0", "jsonl", tmp_path / "out", world.clock)
    assert not (tmp_path / "out" / TOMBSTONES).exists()
    assert "## Withdrawn" not in (tmp_path / "out" / "README.md").read_text()
    # A manifest that was sealed before there were tombstones.
    document = json.loads((tmp_path / "out" / "manifest.json").read_text())
    del document["tombstones"]
    assert read_manifest(json.dumps(document).encode(), "old").tombstones == ()


def test_of_a_hold_out_only_the_name_is_told(world):
    spoken(world, "stays", 600)
    gone = spoken(world, "gone", 500)
    everything_held_out = SplitPlan(0.0, 1.0)
    assert [one.qid for one in release(world, "1.0.0", everything_held_out).holdout] == ["gone", "stays"]
    take_back(world, gone)
    retire(world, "gone")
    (stone,) = release(world, "1.1.0", everything_held_out).tombstones
    assert (stone.qid, stone.media) == ("gone", ())


def test_an_item_that_goes_on_with_other_media_has_no_tombstone(world):
    gone = spoken(world, "a", 500)
    release(world, "1.0.0")
    take_back(world, gone)
    other = world.material(world.sound(900))
    with world.database.session() as session:
        item = get_item(session, "a")
        draft = Draft(world.open_question(other), {"audio_1": other.id}, "writer-7")
        world.pass_rounds(session, revise_item(session, item, item.version, draft, world.clock))
    manifest = release(world, "1.1.0")
    assert ([row.qid for row in manifest.rows], manifest.tombstones) == (["a"], ())


def test_where_all_was_withdrawn_the_next_release_holds_the_tombstones_alone(any_world, tmp_path):
    world = any_world
    gone = spoken(world, "gone", 500)
    release(world, "1.0.0")
    take_back(world, gone)
    retire(world, "gone")
    manifest = release(world, "1.1.0")
    assert (manifest.rows, [stone.qid for stone in manifest.tombstones]) == ((), ["gone"])
    for format_name in ("jsonl", "huggingface"):
        folder = tmp_path / format_name
        export_release(world.database, world.blobs, "zoo", "1.1.0", format_name, folder, world.clock)
        assert [json.loads(line)["qid"] for line in (folder / TOMBSTONES).read_text().splitlines()] == ["gone"]
        assert verify_folder(folder).damages == []
    with pytest.raises(NothingToRelease):
        build_release(world.database, "another", "1.0.0", Recipe(), "max", world.clock)


def test_an_earlier_release_is_not_damaged_and_leaves_no_more(world, tmp_path):
    gone = spoken(world, "gone", 500)
    kept = spoken(world, "stays", 600)
    release(world, "1.0.0")
    take_back(world, gone)
    found = verify_release(world.database, world.blobs, "zoo", "1.0.0")
    assert (found.damages, found.withdrawn) == ([], [gone.media_ref.sha256])
    with pytest.raises(MediaWithdrawn, match=r"zoo 1\.0\.0 shows 1 media that were withdrawn"):
        export_release(world.database, world.blobs, "zoo", "1.0.0", "jsonl", tmp_path / "out", world.clock)
    assert not (tmp_path / "out").exists()
    root = str(world.workspace.project.root)
    shown = CliRunner().invoke(app, ["verify", "zoo", "1.0.0", "--project", root])
    assert shown.exit_code == 0
    assert f"media {gone.media_ref.sha256}: withdrawn" in shown.output
    assert "whole, but for 1 media that were withdrawn" in shown.output
    # What is lost without a withdrawal is still damage.
    world.blobs.remove(kept.media_ref.sha256)
    assert len(verify_release(world.database, world.blobs, "zoo", "1.0.0").damages) == 1


def test_a_built_release_that_shows_it_cannot_be_sealed(world):
    gone = spoken(world, "gone", 500)
    build_release(world.database, "zoo", "1.0.0", Recipe(), "max", world.clock)
    take_back(world, gone)
    with pytest.raises(SealBlocked, match="withdrawn"):
        seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock)


def test_bytes_that_should_be_gone_are_a_problem(world):
    gone = spoken(world, "gone", 500)
    workspace = world.workspace
    take_back(world, gone)
    assert inspect_blobs(world.database, world.blobs, workspace.originals).problems == []
    world.blobs.put(world.sound(500))
    (problem,) = inspect_blobs(world.database, world.blobs, workspace.originals).problems
    assert problem.startswith(f"material {gone.id}: was withdrawn, and its bytes are still there")


def test_words_about_media_go_and_nothing_else_may_be_changed_by_the_way(any_world):
    world = any_world
    gone, kept = world.material(world.sound(500)), world.material(world.sound(600))
    with world.database.session() as session:
        for material in session.exec(select(Material)):
            material.audio_content, material.audio_content_by = "my name is", "human"
            session.add(
                Segment(
                    material_id=material.id, start_s=0, end_s=1, text="my name is", made_by="x", run_id=world.run_id
                )
            )
            session.add(
                Caption(
                    material_id=material.id,
                    kind=CaptionKind.TRANSCRIPT,
                    language="en",
                    text="my name is",
                    state=CaptionState.ACCEPTED,
                    author="mei",
                    by_person=True,
                )
            )
            session.add(
                Event(
                    actor="x",
                    subject_kind="material",
                    subject_id=material.id,
                    action="describe",
                    detail={"audio_content": "my name is", "licence": "MIT"},
                )
            )
            edited = {"before": [{"text": "my name is", "start_s": 0.5}], "after": [], "reason": "my name is", "n": 3}
            session.add(Event(actor="x", subject_kind="material", subject_id=material.id, action="new", detail=edited))
    with world.database.session() as session:
        told = forgetting.forget_words(session, session.get(Material, gone.id), "max", world.clock)
    assert told == {"segment": 1, "caption": 1, "event": 2}
    with world.database.session() as session:
        assert forgetting.forget_words(session, session.get(Material, gone.id), "max", world.clock) == {}

    def texts(session, material):
        held = session.get(Material, material.id)
        captions = [one.text for one in session.exec(select(Caption).where(Caption.material_id == material.id))]
        events = [
            one.detail
            for one in session.exec(select(Event).where(Event.subject_id == material.id, Event.action == "describe"))
        ]
        segments = [one.text for one in session.exec(select(Segment).where(Segment.material_id == material.id))]
        return held.audio_content, captions, events, segments

    with world.database.session() as session:
        blank = "[withdrawn]"
        assert texts(session, gone) == (None, [blank], [{"audio_content": blank, "licence": "MIT"}], [])
        words = "my name is"
        assert texts(session, kept) == (words, [words], [{"audio_content": words, "licence": "MIT"}], [words])
        new = select(Event).where(Event.subject_id == gone.id, Event.action == "new")
        assert session.exec(new).one().detail == {"before": blank, "after": blank, "reason": blank, "n": 3}
        # Outside of `forget_words` captions and events are what they were: immutable.
        caption = session.exec(select(Caption).where(Caption.material_id == gone.id)).one()
        caption.text = "rewritten"
        with pytest.raises(ImmutableRow):
            session.flush()
        session.rollback()
    with world.database.session() as session, forgetting._forgetting(session, gone.id):
        # And within it nothing but words goes out.
        session.exec(new).one().detail = {"before": blank, "after": blank, "reason": "rewritten", "n": 3}
        with pytest.raises(ImmutableRow):
            session.flush()
        session.rollback()


def test_a_word_that_was_deleted_is_nowhere_in_the_files_of_the_database(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'tables.db'}")
    database.upgrade()
    words = "my name is nobody's"
    with database.session() as session:
        event = Event(actor="x", subject_kind="material", subject_id="m", action="describe", detail={"words": words})
        session.add(event)
    with database.session() as session:
        forgetting.blank_events(session, "material", "m")

    def holds():
        return [file.name for file in tmp_path.iterdir() if words.encode() in file.read_bytes()]

    assert holds()
    assert database.scrub() is None
    assert holds() == []
    with database.session() as session:  # and it is whole
        assert [one.detail for one in session.exec(select(Event))] == [{"words": forgetting.FORGOTTEN}]
    database.close()


def test_a_reader_of_an_older_moment_keeps_the_words(tmp_path, monkeypatch):
    monkeypatch.setattr("warehouse.database.BUSY_TIMEOUT_MS", 10)
    database = Database(f"sqlite:///{tmp_path / 'tables.db'}")
    database.upgrade()
    with database.reading() as session:
        session.exec(select(Event)).all()
        assert database.scrub() == "somebody reads the database"
    assert database.scrub() is None
    database.close()


def test_facts_that_name_something_are_deleted_and_all_others_stay(tmp_path):
    facts = FactStore(str(tmp_path / "facts"), tmp_path / "journal")
    with facts.writer("embedding", "run-1", part_rows=2) as writer:
        for subject in ("a", "b", "c"):
            writer.add(
                {"subject": subject, "embedder": "e@1", "vector": [1.0, 0.0], "recorded_at": utc_now().isoformat()}
            )
    assert len(facts.files("embedding")) == 2
    assert forgetting.remove_facts(facts, "embedding", "subject", {"b", "z"}) == 1
    assert forgetting.remove_facts(facts, "embedding", "subject", {"b", "z"}) == 0
    assert forgetting.remove_facts(facts, "embedding", "subject", set()) == 0
    with facts.writer("embedding", "run-2") as writer:
        assert not facts.is_written("embedding")
        writer.add({"subject": "a", "embedder": "e@2", "vector": [1.0], "recorded_at": utc_now().isoformat()})
        assert facts.is_written("embedding")
        assert forgetting.remove_facts(facts, "embedding", "subject", {"nobody"}) == 0
    assert not facts.is_written("embedding")
    connection = duckdb.connect()
    facts.register(connection, "embedding")
    assert connection.sql("SELECT subject FROM embedding ORDER BY subject").fetchall() == [("a",), ("a",), ("c",)]


def test_what_is_deleted_does_not_come_back_with_a_merge_that_had_begun(tmp_path, monkeypatch):
    facts = FactStore(str(tmp_path / "facts"), tmp_path / "journal")
    with facts.writer("embedding", "run-1", part_rows=1) as writer:
        for subject in ("a", "b"):
            writer.add({"subject": subject, "embedder": "e@1", "vector": [1.0], "recorded_at": utc_now().isoformat()})
    read, threads = FactStore.read, []

    def reads(self, kind, path):
        if not threads:  # the files are being read; meanwhile somebody takes rows out
            threads.append(Thread(target=forgetting.remove_facts, args=(facts, "embedding", "subject", {"a"})))
            threads[0].start()
            threads[0].join(0.2)
        return read(self, kind, path)

    monkeypatch.setattr(FactStore, "read", reads)
    assert facts.compact("embedding") == 2
    threads[0].join()
    (path,) = facts.files("embedding")
    assert facts.read("embedding", path)["subject"].to_pylist() == ["b"]
