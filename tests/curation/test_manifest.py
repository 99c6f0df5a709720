import json
from pathlib import Path

import pytest

from curation.entries import Claims
from curation.manifest import BadManifest, read_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m" / "sub").mkdir(parents=True)
    for name in ("a.jpg", "sub/b, c.wav"):
        (tmp_path / "m" / name).write_bytes(b"x")
    (tmp_path / "outside.jpg").write_bytes(b"x")
    return tmp_path / "m"


def write(folder: Path, text: str | bytes, name: str = "list.csv") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_csv_and_jsonl_say_the_same(folder):
    claims = Claims("web", "CC-BY-4.0", "Ann, Bob", "c1", ("rain", "city"), None, "Drops.", "environment")
    as_csv = write(
        folder,
        "\ufeffpath,source,licence,author,tags,consent,audio_content,audio_type\r\n"
        '"sub/b, c.wav",web,CC-BY-4.0,"Ann, Bob",rain; city;,c1,Drops.,environment\r\n\r\na.jpg,,,,,,,\r\n',
    )
    rows = [
        {
            "path": "sub/b, c.wav",
            "source": "web",
            "licence": "CC-BY-4.0",
            "author": "Ann, Bob",
            "tags": ["rain", "city"],
            "consent": "c1",
            "audio_content": "Drops.",
            "audio_type": "environment",
        },
        {"path": str(folder / "a.jpg"), "licence": None},
    ]
    as_jsonl = write(folder, "\n".join(map(json.dumps, rows)) + "\n", "list.jsonl")
    for file in (as_csv, as_jsonl):
        entries, rejected = read_manifest(file)
        assert not rejected
        assert [(entry.path, entry.origin) for entry in entries] == [
            (folder / "sub/b, c.wav", f"{folder}/sub/b, c.wav"),
            (folder / "a.jpg", f"{folder}/a.jpg"),
        ]
        assert [entry.claims for entry in entries] == [claims, Claims()]


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("path,license\na.jpg,MIT\n", "list.csv", "line 1, column 'license': unknown column; did you mean 'licence'?"),
        ("source\nweb\n", "list.csv", "line 1: the column 'path' is missing"),
        ("path,path\na.jpg,a.jpg\n", "list.csv", "line 1, column 'path': this column stands here twice"),
        ("path,author\na.jpg,Ann,Bob\n", "list.csv", "line 2: 3 cells under 2 columns"),
        ('path,author\na.jpg,"Ann\n\n\nBob', "list.csv", "line 2: not readable as CSV"),
        ('path,author\na.jpg,"Ann\n\nBob"\n../x,\n', "list.csv", "line 5, column 'path': '../x' lies outside"),
        ("path\n../outside.jpg\n", "list.csv", "line 2, column 'path': '../outside.jpg' lies outside"),
        ("path\n/etc/passwd\n", "list.csv", "line 2, column 'path': '/etc/passwd' lies outside"),
        ("path\nsub/../../outside.jpg\n", "list.csv", "lies outside the manifest's folder"),
        ("path,author\n,Ann\n", "list.csv", "line 2, column 'path': is empty"),
        ("path\na.jpg\n./a.jpg\n", "list.csv", "line 3, column 'path': './a.jpg' stands here a second time"),
        ("path,offset_s\na.jpg,soon\n", "list.csv", "line 2, column 'offset_s': 'soon' is no number of seconds"),
        ("path,audio_type\na.jpg,noise\n", "list.csv", "line 2, column 'audio_type': 'noise' is none of speech"),
        ("path\n", "list.csv", "there is no entry in it"),
        (b"path\na.jpg\n\xff\xfe\n", "list.csv", "line 3: not UTF-8 text"),
        ('{"path": "a.jpg"}\n{"path": \n', "list.jsonl", "line 2: not readable as JSON"),
        ('["a.jpg"]\n', "list.jsonl", "line 1: each line is one JSON object"),
        ('{"path": 3}\n', "list.jsonl", "line 1, column 'path': 3 is not text"),
        ('{"path": "a.jpg", "tag": "x"}\n', "list.jsonl", "line 1, column 'tag': unknown column; did you mean 'tags'?"),
        ('{"licence": "MIT"}\n', "list.jsonl", "line 1: the column 'path' is missing"),
        ("path\na.jpg\n", "list.txt", "a .csv, .tsv or .jsonl file"),
    ],
)
def test_a_mistake_is_named_with_file_line_column_and_mend(folder, text, name, words):
    file = write(folder, text, name)
    with pytest.raises(BadManifest) as caught:
        read_manifest(file)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_a_manifest_that_is_not_there_is_a_mistake(folder):
    with pytest.raises(BadManifest, match="cannot be read"):
        read_manifest(folder / "nowhere.csv")


def test_files_that_are_missing_or_lead_out_are_rejected_and_the_others_stay(folder):
    (folder / "out.jpg").symlink_to(folder.parent / "outside.jpg")
    (folder / "in.jpg").symlink_to("a.jpg")
    entries, rejected = read_manifest(write(folder, "path\nout.jpg\ngone.jpg\nin.jpg\n"))
    assert [entry.path.name for entry in entries] == ["in.jpg"]
    assert [(Path(one.origin).name, one.reason) for one in rejected] == [
        ("out.jpg", "outside_folder"),
        ("gone.jpg", "missing"),
    ]
    assert all("line" in one.message for one in rejected)
