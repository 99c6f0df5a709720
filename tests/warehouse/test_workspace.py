import re
import sqlite3
from pathlib import Path

import pytest
from sqlmodel import select

from core.settings import BadSettings, NoProject, Project
from warehouse.database import Database, DatabaseOutdated, DatabaseUnreachable
from warehouse.tables import Item
from warehouse.workspace import ProjectExists, UnusableFolder, init_project, open_workspace, upgrade_project


def test_a_new_project_has_settings_tables_and_stores(tmp_path):
    project = init_project(tmp_path / "deep" / "bench")
    assert project.root == (tmp_path / "deep" / "bench").resolve()
    with open_workspace(project.root) as workspace:
        with workspace.database.session() as session:
            session.add(Item(name="apples", created_by="ann"))
        sha256 = workspace.blobs.put(b"abc")
        with workspace.facts.writer("episode", "r") as writer:
            row = dict.fromkeys(("key", "game", "agent", "seed", "settings", "outcome", "metrics"))
            writer.add(row | {"key": "k", "recorded_at": "2026-01-01T00:00:00+00:00"})
    with open_workspace(project.root) as workspace:
        assert workspace.blobs.get(sha256) == b"abc"
        assert len(workspace.facts.files("episode")) == 1
    assert sorted(path.name for path in project.root.iterdir()) == [
        "blobs",
        "facts",
        "interplay.db",
        "interplay.toml",
        "journal",
    ]


def test_what_the_new_file_offers_in_comments_can_be_set(tmp_path):
    file = init_project(tmp_path / "bench").root / "interplay.toml"
    offered = [line[2:] for line in file.read_text().splitlines() if re.match(r"# (\w+ = |\[)", line)]
    file.write_text("\n".join(offered))
    settings = Project.open(file.parent).settings
    assert settings.models == {"gemini": {"provider": "google/gemini-2.5-flash", "family": "gemini"}}
    assert (settings.executor, settings.originals) == ("local", "sealed")
    assert settings.database_url.startswith("postgresql+psycopg://")


def test_originals_are_kept_apart_from_what_is_served(workspace):
    sha256 = workspace.originals.put(b"with a name inside")
    assert not workspace.blobs.exists(sha256)
    assert workspace.originals.get(sha256) == b"with a name inside"


def test_a_project_is_not_made_twice(tmp_path):
    init_project(tmp_path)
    (tmp_path / "interplay.toml").write_text("workers = 3\n")
    with pytest.raises(ProjectExists, match="already holds an Interplay project"):
        init_project(tmp_path)
    assert (tmp_path / "interplay.toml").read_text() == "workers = 3\n"


def test_a_folder_with_other_things_can_become_a_project(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    init_project(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_place_that_cannot_be_a_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UnusableFolder, match="choose another place"):
            init_project(place)


def test_outdated_tables_are_told_and_can_be_upgraded(project):
    (project.root / "interplay.db").unlink()
    sqlite3.connect(project.root / "interplay.db").close()
    with pytest.raises(DatabaseOutdated, match="interplay warehouse upgrade"), open_workspace(project.root):
        pass
    upgrade_project(project.root)
    with open_workspace(project.root) as workspace:
        assert workspace.project.root == project.root


def test_what_is_wrong_with_a_project_is_told(project, tmp_path, monkeypatch):
    monkeypatch.setenv("INTERPLAY_DATABASE_URL", "sqlite:////no/such/folder/x.db")
    with pytest.raises(DatabaseUnreachable), open_workspace(project.root):
        pass
    monkeypatch.setenv("INTERPLAY_EXECUTOR", "slurm")
    with pytest.raises(BadSettings), open_workspace(project.root):
        pass
    with pytest.raises(NoProject), open_workspace(tmp_path / "nowhere"):
        pass


@pytest.mark.postgres
def test_a_project_may_keep_its_tables_in_postgresql(tmp_path, empty_postgres_url, monkeypatch):
    monkeypatch.setenv("INTERPLAY_DATABASE_URL", empty_postgres_url)
    project = init_project(tmp_path / "bench")
    with open_workspace(project.root) as workspace, workspace.database.session() as session:
        session.add(Item(name="apples", created_by="ann"))
    other = Database(empty_postgres_url)
    with other.reading() as session:
        assert session.exec(select(Item.name)).all() == ["apples"]
    other.close()
    assert not (project.root / "interplay.db").exists()


def test_two_open_workspaces_see_one_another(project):
    with open_workspace(project.root) as one, open_workspace(Path(project.root)) as other:
        sha256 = one.blobs.put(b"abc")
        assert other.blobs.exists(sha256)
