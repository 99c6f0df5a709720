"""Subsets sealed in a project, on both kinds of database, and in folders."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, update
from sqlmodel import select as select_rows

from compression.importers.base import BadPool
from compression.select import Selection, Subset, select
from compression.subset_store import (
    DamagedSubset,
    SubsetExists,
    check_folder,
    check_name,
    load,
    store,
    stored_manifests,
    subset_names,
    write_folder,
)
from core.errors import UnknownName
from warehouse import tables
from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.guards import ImmutableRow
from warehouse.tables import Run, RunStatus

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def subset(matrix_of, latent_scores) -> Subset:
    matrix = matrix_of(latent_scores(120, 6, seed=1), np.repeat([0, 1], [40, 80]), ["看图", "mmlu"])
    return select(matrix, "long@1", Selection("tenth", rate=0.25, seed=4, floors={"benchmark": 5}))


@pytest.fixture
def place(workspace, shared_database):
    """A project whose tables are in SQLite, and one with PostgreSQL."""
    return replace(workspace, database=shared_database)


def named(subset, name):
    manifest = subset.manifest.model_copy(update={"name": name})
    return replace(subset, manifest=manifest.model_copy(update={"seal": manifest.content_sha256()}))


def same(found, subset):
    manifest, sample = found
    return manifest == subset.manifest and sample.write(manifest) == subset.data


class TestInTheProject:
    def test_it_comes_back_as_it_was_stored(self, place, subset, clock):
        stored = store(place, "compress select", subset, clock)
        assert same(load("tenth", place), subset)
        with place.database.reading() as session:
            row = session.exec(select_rows(tables.Subset)).one()
            run = session.get_one(Run, row.run_id)
        assert (row.id, row.pool, row.sampler) == (stored, "made", "adaptive@1")
        assert row.created_at == clock.now
        assert (run.command, run.seed, run.status) == ("compress select", 4, RunStatus.FINISHED)
        assert run.summary == {"kept": 30, "questions": 120}
        assert run.settings["sample_sha256"] == subset.manifest.sample_sha256
        keys = [(one["benchmark"], one["question_id"]) for one in row.members]
        assert keys == subset.sample.questions(subset.manifest)
        assert [one["weight"] for one in row.members] == subset.sample.weights.tolist()

    def test_all_of_them_by_name(self, place, subset):
        assert (stored_manifests(place), subset_names(place)) == ([], [])
        for name in ("b", "a-2", "a1"):
            store(place, "compress select", named(subset, name))
        assert sorted(subset_names(place)) == ["a-2", "a1", "b"]
        assert {one.name for one in stored_manifests(place)} == {"a-2", "a1", "b"}

    def test_it_never_changes(self, place, subset):
        store(place, "compress select", subset)
        with pytest.raises(ImmutableRow, match="never changed"), place.database.session() as session:
            session.exec(select_rows(tables.Subset)).one().pool = "other"
        with pytest.raises(ImmutableRow, match="never deleted"), place.database.session() as session:
            session.delete(session.exec(select_rows(tables.Subset)).one())
        for statement in (update(tables.Subset).values(pool="other"), delete(tables.Subset)):
            with pytest.raises(ImmutableRow), place.database.session() as session:
                session.exec(statement)
        assert same(load("tenth", place), subset)

    def test_a_name_that_is_taken_is_refused(self, place, subset):
        store(place, "compress select", subset)
        with pytest.raises(SubsetExists, match="has a subset 'tenth' already"):
            check_name(place, "tenth")
        with pytest.raises(SubsetExists, match="has a subset 'tenth' already"):
            store(place, "compress select", subset)
        with place.database.reading() as session:
            assert len(session.exec(select_rows(Run)).all()) == 1
        check_name(place, "twentieth")

    def test_a_name_that_another_process_took_meanwhile(self, place, subset, monkeypatch):
        store(place, "compress select", subset)
        monkeypatch.setattr("compression.subset_store.subset_names", lambda _: [])
        with pytest.raises(SubsetExists, match="has a subset 'tenth' already"):
            store(place, "compress select", subset)
        with place.database.reading() as session:
            assert sorted(run.status for run in session.exec(select_rows(Run))) == [
                RunStatus.FAILED,
                RunStatus.FINISHED,
            ]

    @pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "../a", "a\nb", "-a", "a--b", "x" * 65])
    def test_what_is_no_name_is_refused(self, workspace, subset, name):
        with pytest.raises(BadPool, match="is no name of a subset"):
            store(workspace, "compress select", named(subset, name))

    def test_an_unknown_name_is_refused_with_the_nearest(self, place, subset):
        store(place, "compress select", subset)
        with pytest.raises(UnknownName, match="unknown folder or subset 'tent'; did you mean 'tenth'"):
            load("tent", place)

    def test_without_a_project_there_are_folders_only(self):
        with pytest.raises(BadPool, match="no such folder, and no project"):
            load("tenth", None)

    @pytest.mark.parametrize(("mischief", "error"), [("unlink", MissingBlob), ("write", DamagedBlob)])
    def test_bytes_that_the_project_lost(self, workspace, subset, mischief, error):
        store(workspace, "compress select", subset)
        digest = subset.manifest.sample_sha256
        (file,) = [path for path in (workspace.project.root / "blobs").rglob(digest) if path.is_file()]
        file.chmod(0o644)
        file.unlink()
        if mischief == "write":
            file.write_bytes(b"something else")
        with pytest.raises(error) as caught:
            load("tenth", workspace)
        assert "\n" not in str(caught.value)


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path, subset) -> Path:
        write_folder(tmp_path / "new" / "tenth", subset)
        return tmp_path / "new" / "tenth"

    def test_it_comes_back_as_it_was_written(self, folder, subset):
        assert same(load(str(folder), None), subset)
        estimates = json.loads((folder / "estimates.json").read_text(encoding="utf-8"))
        assert [one["model"] for one in estimates] == list(subset.manifest.sources)
        assert "看图" in (folder / "manifest.json").read_text(encoding="utf-8")

    def test_the_same_subset_makes_the_same_files(self, folder, subset, tmp_path):
        write_folder(tmp_path / "again", subset)
        for file in folder.iterdir():
            assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()

    def test_an_empty_folder_is_taken_and_a_full_one_refused(self, tmp_path, subset):
        (tmp_path / "empty").mkdir()
        write_folder(tmp_path / "empty", subset)
        for place in (tmp_path / "empty", tmp_path / "file"):
            (tmp_path / "file").write_text("mine")
            with pytest.raises(SubsetExists, match="is not empty; write the subset to a new folder"):
                check_folder(place)
            with pytest.raises(SubsetExists, match="is not empty"):
                write_folder(place, subset)
        assert (tmp_path / "file").read_text() == "mine"

    def test_a_folder_comes_before_a_subset_of_its_name(self, folder, subset, workspace, monkeypatch):
        store(workspace, "compress select", subset)
        monkeypatch.chdir(folder.parent)
        (folder / "subset.parquet").unlink()
        with pytest.raises(DamagedSubset):
            load("tenth", workspace)

    @pytest.mark.parametrize(
        ("mischief", "told"),
        [
            (lambda folder: (folder / "manifest.json").unlink(), "is no subset: .*manifest.json cannot be read"),
            (lambda folder: (folder / "subset.parquet").unlink(), "is no subset: .*subset.parquet cannot be read"),
            (lambda folder: cut(folder / "manifest.json"), "is no manifest"),
            (lambda folder: (folder / "manifest.json").write_text("{}"), "is no manifest: name: is missing"),
            (lambda folder: (folder / "manifest.json").write_bytes(b"\xff\xfe"), "is no manifest"),
            (lambda folder: cut(folder / "subset.parquet"), "is not what the manifest says: its bytes are others"),
            (lambda folder: (folder / "subset.parquet").write_bytes(b""), "its bytes are others"),
            (lambda folder: edit(folder, kept=29), "manifest.json was changed after it was sealed"),
            (lambda folder: edit(folder, known=None), "manifest.json was changed after it was sealed"),
            (lambda folder: edit(folder, weight=1), "is no manifest: weight: no such field is known"),
            (
                lambda folder: edit(folder, strata=[{"units": 120, "drawn": 29, "mean": 0.5}]),
                "changed after it was sealed",
            ),
            (lambda folder: edit(folder, known={"ridge": float("nan"), "means": []}), "is no manifest: known.ridge"),
        ],
    )
    def test_damaged_files_are_told(self, folder, mischief, told):
        mischief(folder)
        with pytest.raises(DamagedSubset, match=told) as caught:
            load(str(folder), None)
        assert "\n" not in str(caught.value)

    def test_any_other_folder(self, tmp_path):
        (tmp_path / "other").mkdir()
        with pytest.raises(DamagedSubset, match="is no subset"):
            load(str(tmp_path / "other"), None)


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def edit(folder, **changes):
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes))
