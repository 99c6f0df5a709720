"""Slips of people at the command line: what is misspelt or missing is named, with what was likely meant."""

import json
from pathlib import Path

import pytest
from PIL import Image
from sqlmodel import select
from typer.testing import CliRunner

from core.errors import InterplayError
from curation.filters.language import language_of
from curation.questions.importers.generic import read_mapping
from interplay.cli import app
from warehouse.handles import AmbiguousId, UnknownId, whole_id
from warehouse.tables import Material, MaterialTag
from warehouse.workspace import open_workspace


@pytest.fixture
def photo(library, media, project, signed_on):
    signed_on(project, "mei")
    return library.add(media.coded(media.photo(1)))


@pytest.fixture
def say(project):
    """What `interplay ...` prints, on both streams; a mistake's line."""

    def run(*words: object) -> str:
        done = CliRunner().invoke(app, [*map(str, words), "--project", str(project)])
        if isinstance(done.exception, InterplayError):
            assert "\n" not in str(done.exception)
            return str(done.exception)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("material search --picture @", ".png"),
        ("material ingest --manifest @ --dry-run", ".csv"),
        ("recording add @ --script a --contributor b --consent c --by mei", ".wav"),
        ("script import @ --by mei", ".jsonl"),
        ("consent text v1 --en @ --zh @ --by mei", ".txt"),
        ("contamination check --index @", ".idx"),
        ("question import @ --set s --format mmbench --by mei", ".tsv"),
        ("question import @ --set s --format generic --mapping @ --by mei", ".yaml"),
        ("caption import @ --by mei", ".jsonl"),
        ("material edit-segments @ @ --by mei", ".json"),
    ],
)
@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "bytes"])
def test_a_path_that_cannot_be_used_is_no_traceback(say, photo, tmp_path, command, ending, kind):
    place = tmp_path / f"没有{ending}"
    if kind == "folder":
        place.mkdir()
    elif kind != "missing":
        place.write_bytes(b"" if kind == "empty" else b"\xff\xfe\x00\x01")
    told = say(*command.replace("@", str(place)).split())
    assert told and "Error: No such" not in told and "Error: Missing" not in told


@pytest.mark.parametrize(("name", "why"), [("没有.png", "No such file"), ("", "Is a directory")])
def test_a_picture_that_is_not_there_is_said_in_a_line(say, photo, tmp_path, name, why):
    told = say("material", "search", "--picture", tmp_path / name)
    assert told.startswith(f"{tmp_path / name}: cannot be read ({why}")


def tags_in(project: Path) -> set[tuple[str, str]]:
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        return {(row.facet, row.value) for row in session.exec(select(MaterialTag))}


@pytest.mark.parametrize(
    ("written", "offered"),
    [
        ("theme:foood", "theme:food-and-drink (food and drink, 美食与饮品)"),
        ("thme:food", "theme:food-and-drink (food and drink, 美食与饮品)"),
        ("主题:食物", "theme:food-and-drink (food and drink, 美食与饮品)"),
        ("theme:kitchen", "scene:kitchen (kitchen, 厨房)"),
    ],
)
def test_a_slip_in_a_tag_is_asked_about_and_taken_only_as_new(say, photo, project, written, offered):
    told = say("material", "tag-set", photo.sha256[:12], written, "--by", "mei")
    assert f"is not in the vocabulary; did you mean {offered}" in told
    assert not tags_in(project)
    assert "says mei" in say("material", "tag-set", photo.sha256[:12], written, "--new", "--by", "mei")
    assert len(tags_in(project)) == 1


@pytest.mark.parametrize(
    "written",
    ["theme:美食与饮品", "主题:美食与饮品", "主题：美食与饮品", "Theme: Food and Drink", "theme:FOOD-AND-DRINK"],
)
def test_a_tag_has_one_meaning_by_all_of_its_names(say, photo, project, tmp_path, written):
    say("material", "tag-set", photo.sha256[:12], written, "--by", "mei")
    assert tags_in(project) == {("theme", "food-and-drink")}
    assert "1 of 1" in say("material", "search", "--tag", written)
    Image.new("RGB", (300, 200), "red").save(tmp_path / "red.png")
    (tmp_path / "list.jsonl").write_text(json.dumps({"path": "red.png", "tags": [written]}))
    say("material", "ingest", "--manifest", tmp_path / "list.jsonl")
    assert tags_in(project) == {("theme", "food-and-drink")}


@pytest.mark.parametrize("tag", ["after the rain", "yes:no", "16:9", "free:anything", "雨后"])
def test_free_tags_are_anything(say, photo, tag):
    assert f"is {tag.removeprefix('free:')}, says mei" in say("material", "tag-set", photo.id, tag, "--by", "mei")


def test_what_nobody_says_cannot_be_wrong(say, photo, project):
    told = say("material", "tag-set", photo.sha256[:12], "zzz", "--wrong", "--by", "mei")
    assert told.startswith(f"nobody says 'zzz' of {photo.sha256[:12]}, so it cannot be wrong")
    assert not tags_in(project)
    say("material", "tag-set", photo.id, "zzz", "--by", "mei")
    assert "is not zzz, says mei" in say("material", "tag-set", photo.id, "zzz", "--wrong", "--by", "mei")


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--tag", "thme:food", "no material has the tag 'thme:food'; did you mean 'theme:food-and-drink'?"),
        ("--tag", "qqq", "no material has the tag 'qqq'; there are: calm, theme:food-and-drink"),
        ("--licence", "CC-BY", "no material has the licence 'CC-BY'; did you mean 'CC-BY-4.0'?"),
        ("--source", "zzz", "no material has the source 'zzz'; there are: a shop"),
        ("--language", "chinese", "no material has the language 'chinese'; there are: none"),
        ("--audio-type", "talk", "no material has the audio type 'talk'; there are: none"),
        ("--dialect", "x", "no material has the dialect 'x'; there are: none"),
    ],
)
def test_a_choice_that_no_material_has_is_told(say, photo, tmp_path, option, value, told):
    Image.new("RGB", (300, 200), "red").save(tmp_path / "red.png")
    row = {"path": "red.png", "tags": ["calm", "theme:food-and-drink"], "licence": "CC-BY-4.0", "source": "a shop"}
    (tmp_path / "list.jsonl").write_text(json.dumps(row))
    say("material", "ingest", "--manifest", tmp_path / "list.jsonl")
    said = say("material", "search", option, value, "--state", "dropped")
    assert told in said and "0 of 0" in said
    assert "no material has" not in say("material", "search", "--tag", "calm", "--licence", "CC-BY-4.0")


def test_words_of_a_person_are_found_by_the_language_they_are_in(say, library, media, tmp_path):
    texts = {"a": "今天天气很好，我们去公园。", "b": "The weather is fine, let us go to the park.", "c": "Yes."}
    rows = [{"path": f"{name}.wav", "audio_content": text, "audio_type": "speech"} for name, text in texts.items()]
    for seed, name in enumerate(texts):
        (tmp_path / f"{name}.wav").write_bytes(media.wav(media.voice(seed)))
    (tmp_path / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    say("material", "ingest", "--manifest", tmp_path / "list.jsonl")
    found = say("material", "search", "--said", "天气 公园", "--language", "zh")
    assert "1 of 1" in found and "a.wav" in found
    assert "1 of 1" in say("material", "search", "--language", "en")
    assert "1 of 1" in say("material", "search", "--said", "yes")


@pytest.mark.parametrize(
    ("text", "language"), [("你好", "zh"), ("喂，你好", "zh"), ("Where does this train go to?", "en"), ("Yes.", None)]
)
def test_the_language_of_a_text_is_told_where_it_is_clear(text, language):
    assert language_of(text) == language


@pytest.mark.usefixtures("fake_embedder")
def test_like_looks_for_those_models_alone_whose_vectors_the_material_has(say, photo, library, media, monkeypatch):
    library.add(media.coded(media.photo(2)))
    say("material", "embed", "--kind", "clip")
    monkeypatch.setenv("INTERPLAY_TEXT_MODEL", str(library.workspace.project.root / "nothing"))
    for question in (("--like", photo.sha256[:12]), ("--picture", library.workspace.project.root / "x.png")):
        media.photo(3).save(library.workspace.project.root / "x.png")
        told = say("material", "search", *question)
        assert "2 of 2" in told and "are not compared" not in told


@pytest.mark.usefixtures("fake_embedder")
def test_without_one_model_the_others_work_is_done_and_the_rest_told(say, photo, library, media, monkeypatch):
    library.add(media.wav(media.voice(1)), audio_content="a green bell", audio_content_by="human")
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", "fake:gone")
    told = say("material", "embed")
    assert "text vectors: done 1, known 0, failed 0" in told
    assert "clip vectors: left out, for the hub cannot be reached; name a folder in clip_model" in told
    assert say("material", "embed").startswith("the hub cannot be reached")  # nothing more can be done


def test_search_names_materials_as_the_other_lists_do(say, photo):
    listed, found = say("material", "list"), say("material", "search")
    assert photo.sha256[:12] in listed and photo.sha256[:12] in found
    assert photo.id not in found


def test_ids_are_typed_by_how_they_begin(say, photo, library, media):
    other = library.add(media.coded(media.photo(2)))
    with library.workspace.database.reading() as session:
        columns = [Material.id, Material.sha256]
        assert whole_id(session, columns, photo.id, "material", "list") == photo.id
        assert whole_id(session, columns, photo.sha256[:20], "material", "list") == photo.id
        assert whole_id(session, [Material.id], other.id[:-1], "material", "list") == other.id
        with pytest.raises(AmbiguousId, match=f"{photo.id}.*{other.id}.*write more"):
            whole_id(session, columns, "0", "material", "list")
        for nothing in ("zz", "", "%"):
            with pytest.raises(UnknownId, match="no material has an id that begins with"):
                whole_id(session, columns, nothing, "material", "list")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("consent withdraw zz --reason r --by mei", "no consent has an id that begins with 'zz'"),
        ("recording show zz", "no recording has an id that begins with 'zz'; 'interplay recording list' shows them"),
        ("contamination clear zz --reason r --by mei", "no match has an id that begins with 'zz'"),
        ("caption show zz", "no caption has an id that begins with 'zz'; 'interplay caption list' shows them"),
    ],
)
def test_an_unknown_id_names_the_list_and_not_all_ids(say, project, signed_on, command, told):
    signed_on(project, "mei")
    assert say(*command.split()).startswith(told)


def test_a_misspelt_field_of_segments_is_named(say, library, media, project, tmp_path, signed_on):
    signed_on(project, "mei")
    sound = library.add(media.wav(media.voice(1)))
    shown = json.loads(say("material", "segments", sound.id, "--json"))
    file = tmp_path / "edited.json"
    for where, name in ((shown, "edtion"), (None, "txt")):
        wrong = shown | {"segments": [{"start_s": 0, "end_s": 1, "text": "hi"}]}
        (wrong if where else wrong["segments"][0])[name] = "x"
        file.write_text(json.dumps(wrong))
        told = say("material", "edit-segments", sound.id, file, "--by", "mei")
        meant = {"edtion": "edition", "txt": "text"}[name]
        assert f"{name!r}; did you mean {meant!r}" in told


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ("id: i\nprompt: p\nanwser: a\ntask_type: counting", "unknown field 'anwser'; did you mean 'answer'"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: qqqqqq", "and .* more; 'interplay item types' lists them"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: counting\ntolerance: much", "tolerance: must be a number, and is \"much\""),
        ("id: i\nprompt: p\nanswer: a\ntask_type: counting\nmedia: x", "media: must be names with their values"),
    ],
)  # fmt: skip
def test_a_slip_in_a_mapping_is_named(tmp_path, mapping, told):
    (tmp_path / "m.yaml").write_text(mapping)
    with pytest.raises(InterplayError, match=told):
        read_mapping(tmp_path / "m.yaml")


def test_a_misspelt_format_is_named_in_words(say, project, signed_on, tmp_path):
    signed_on(project, "mei")
    (tmp_path / "q.tsv").write_text("index\n1\n")
    told = say("question", "import", tmp_path / "q.tsv", "--set", "s", "--format", "mbench", "--by", "mei")
    assert told.startswith("unknown question format 'mbench'; did you mean 'mmbench'")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('languages = "zh"', 'languages: must be a list, as ["one", "two"], and is "zh"'),
        ('lnguages = ["zh"]', "unknown setting 'lnguages'; did you mean 'languages'"),
        ("languages = [7]", "languages.0: must be text, and is 7"),
    ],
)
def test_a_slip_in_the_settings_is_named(say, project, line, told):
    file = project / "interplay.toml"
    file.write_text(f"{line}\n{file.read_text()}")
    assert say("material", "list").startswith(f"{file}: {told}")


def test_a_slip_in_a_variable_names_the_variable(say, monkeypatch):
    monkeypatch.setenv("INTERPLAY_LANGUAGES", "zh")
    assert say("material", "list").startswith("INTERPLAY_LANGUAGES is 'zh', which is not valid JSON; write a list as")
    monkeypatch.setenv("INTERPLAY_LANGUAGES", '["zh"]')
    assert say("material", "list") is not None
    monkeypatch.setenv("INTERPLAY_WORKERS", "many")
    assert say("material", "list") == 'INTERPLAY_WORKERS: workers: must be a whole number, and is "many"'


@pytest.mark.parametrize("noun", ["material", "contamination", "question", "recording", "qc"])
def test_lists_of_commands_cut_no_sentence(noun):
    told = CliRunner().invoke(app, [noun, "--help"]).stdout
    assert "Commands:" in told and "..." not in told.partition("Commands:")[2]
