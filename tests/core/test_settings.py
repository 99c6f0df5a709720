import os
from pathlib import Path

import pytest

from core.settings import BadSettings, NoProject, Project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "bench"
    folder.mkdir()
    return folder


def write(root: Path, text: str = "") -> Project:
    (root / "interplay.toml").write_text(text)
    return Project.open(root)


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(root, monkeypatch):
    assert write(root).settings.originals == "sealed"
    assert write(root, 'originals = "dropped"').settings.originals == "dropped"
    monkeypatch.setenv("INTERPLAY_ORIGINALS", "sealed")
    monkeypatch.setenv("INTERPLAY_EXECUTOR", "dask")
    settings = write(root, 'originals = "dropped"\nmax_file_bytes = 10').settings
    assert (settings.originals, settings.executor, settings.max_file_bytes) == ("sealed", "dask", 10)


def test_speech_models_in_the_project_folder_are_found_from_anywhere(root, tmp_path, monkeypatch):
    (root / "whisper").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = write(root, 'asr_model = "whisper"\ndiarization_model = "pyannote/elsewhere"').settings
    assert (settings.asr_model, settings.diarization_model) == (str(root / "whisper"), "pyannote/elsewhere")
    assert write(root).settings.asr_model == "small"


def test_models_are_tables(root):
    text = '[models.g]\nprovider = "google/gemini"\n[models.g.generate]\ntemperature = 0.0\n'
    assert write(root, text).settings.models == {"g": {"provider": "google/gemini", "generate": {"temperature": 0.0}}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("datbase_url = 'x'", "unknown setting 'datbase_url'; did you mean 'database_url'"),
        ("workers = 'many'", 'workers: must be a whole number, and is "many"'),
        ("workers = -1", "workers: must be greater than or equal to 0, and is -1"),
        ("executor = 'slurm'", "executor: must be 'local', 'threads', 'ray' or 'dask'"),
        ("executor = \n", "is not valid TOML"),
        ("[models]\ng = 3", "models.g: must be names with their values, and is 3"),
    ],
)
def test_a_wrong_file_is_told_in_one_line_that_names_it(root, text, told):
    with pytest.raises(BadSettings) as caught:
        write(root, text)
    assert told in str(caught.value)
    assert str(root / "interplay.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_toml_is_located(root):
    with pytest.raises(BadSettings, match="line 2"):
        write(root, "workers = 1\noriginals = = 2\n")


def test_a_file_that_is_not_utf8_is_told(root):
    (root / "interplay.toml").write_bytes(b'database_url = "caf\xe9"')
    with pytest.raises(BadSettings, match="is not valid TOML"):
        Project.open(root)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("INTERPLAY_WORKERS", "many", "INTERPLAY_WORKERS: workers: must be a whole"),
        ("INTERPLAY_MODELS", "{", "is not valid JSON"),
    ],
)
def test_a_wrong_variable_is_told(root, monkeypatch, name, value, told):
    monkeypatch.setenv(name, value)
    with pytest.raises(BadSettings, match=told) as caught:
        write(root)
    assert "INTERPLAY_" in str(caught.value)


def test_without_a_project_the_mend_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoProject) as caught:
        Project.open()
    told = str(caught.value)
    assert told.startswith(f"no Interplay project at {tmp_path.resolve()}")
    assert f"'interplay init {tmp_path.resolve()}'" in told
    assert "--project" in told
    assert "INTERPLAY_PROJECT" in told


def test_the_project_is_named_or_in_the_environment_or_the_nearest_parent(root, monkeypatch, tmp_path):
    inner, other, deep = root / "inner", tmp_path / "other", root / "inner" / "a" / "b"
    for folder in (inner, other, deep):
        folder.mkdir(parents=True)
    for folder in (root, inner, other):
        (folder / "interplay.toml").touch()
    monkeypatch.chdir(deep)
    assert Project.open().root == inner
    monkeypatch.setenv("INTERPLAY_PROJECT", str(other))
    assert Project.open().root == other.resolve()
    assert Project.open(root).root == root


def test_a_named_folder_must_itself_be_the_project(root):
    write(root)
    (root / "inner").mkdir()
    with pytest.raises(NoProject):
        Project.open(root / "inner")


def test_places_lie_in_the_project_folder_unless_urls_say_otherwise(root):
    plain = write(root)
    assert plain.database_url == f"sqlite:///{root}/interplay.db"
    assert (plain.blobs_url, plain.facts_url) == (str(root / "blobs"), str(root / "facts"))
    given = write(
        root,
        'database_url = "postgresql+psycopg://u@h/n"\nblobs_url = "s3://bucket/blobs"\nfacts_url = "elsewhere/facts"\n',
    )
    assert given.database_url == "postgresql+psycopg://u@h/n"
    assert (given.blobs_url, given.facts_url) == ("s3://bucket/blobs", str(root / "elsewhere/facts"))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///tables.db", "sqlite:///{root}/tables.db"),
        ("sqlite+pysqlite:///tables.db", "sqlite+pysqlite:///{root}/tables.db"),
        ("sqlite:////data/tables.db", "sqlite:////data/tables.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
    ],
)
def test_a_relative_database_does_not_depend_on_where_one_calls_from(root, tmp_path, monkeypatch, url, place):
    monkeypatch.chdir(tmp_path)
    assert write(root, f'database_url = "{url}"').database_url == place.format(root=root)


def test_no_workers_means_one_for_each_core(root):
    assert write(root).workers == os.cpu_count()
    assert write(root, "workers = 3").workers == 3


OIDC = 'studio_url = "https://studio.example.org/"\n[oidc]\nissuer = "https://id.example.org/realm"\nclient_id = "studio"\n'


def test_a_secret_of_the_environment_joins_the_table_of_the_file_and_is_never_shown(root, monkeypatch):
    monkeypatch.setenv("INTERPLAY_OIDC__CLIENT_SECRET", "hush-hush")
    settings = write(root, OIDC).settings
    assert settings.studio_url == "https://studio.example.org"
    assert settings.oidc.client_secret.get_secret_value() == "hush-hush"
    assert "hush-hush" not in repr(settings) + settings.model_dump_json()
    assert (settings.oidc.new_people, settings.oidc.allowed_domains) == ("refuse", ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OIDC.replace('studio_url = "https://studio.example.org/"', ""), "needs studio_url"),
        (OIDC.replace("https://id", "http://id"), "oidc.issuer: give an https URL"),
        (OIDC + 'new_people = "welcome"', "oidc.new_people: must be 'refuse' or 'waiting'"),
        (OIDC + "client_sceret = 'x'", "oidc.client_sceret: no such field"),
        ('studio_url = "studio.example.org"', "studio_url: give scheme and host"),
        ('studio_url = "https://x.org/below"', "studio_url: give scheme and host"),
    ],
)
def test_a_sign_in_service_that_cannot_work_is_told(root, text, told):
    with pytest.raises(BadSettings) as caught:
        write(root, text)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_a_service_on_this_machine_may_do_without_tls(root):
    assert write(root, OIDC.replace("https://id.example.org", "http://127.0.0.1:9")).settings.oidc is not None
