"""The file of an index: what goes in comes out, merging is indexing together, and damage is told."""

import base64
import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from core.content import Modality
from curation.contamination.build import Making, NothingToIndex, build
from curation.contamination.cli import IndexExists, app
from curation.contamination.compare import Comparer
from curation.contamination.entries import PublicText, Source
from curation.contamination.index_file import BadIndex, SameBenchmark, Table, open_index, write_index
from curation.contamination.sources import BadLayout, from_files, read_layout
from curation.contamination.texts import Document
from curation.dedupe.looks import METHOD_OF_MODALITY, image_looks
from curation.questions.importers.base import BadQuestionFile

LINES = [
    {"id": "a", "question": "Who wound the tower clock of the old harbour before the great storm came?", "options": ["The keeper", "The pilot"]},
    {"id": "b", "question": "灯塔的看守人在暴风雨来临之前给谁写了一封长信？", "A": "船长", "B": "女儿", "C": None, "image": "sub/one.png"},
    {"id": "c", "question": "Which bird sings above the ruined northern gate at the break of day?", "image": "sub/one.png"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, media) -> Path:
    (tmp_path / "set" / "sub").mkdir(parents=True)
    (tmp_path / "set" / "sub" / "one.png").write_bytes(media.coded(media.photo(1), "PNG"))
    lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in LINES)
    (tmp_path / "set" / "questions.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path / "set"


@pytest.fixture
def call():
    def run(*arguments: object, code: int = 0):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    return run


def source(name: str, *texts: str) -> Source:
    entries = (PublicText(f"{name}{place}", Document.of([("prompt", text)])) for place, text in enumerate(texts))
    return Source(name, "a test", tuple(entries), ())


def test_a_folder_becomes_an_index_that_holds_its_texts_and_looks(folder, tmp_path, call, media):
    told = call("index", tmp_path / "public.index", "--from", folder, "--name", "zoo", "--licence", "CC0-1.0", "--json")
    index = open_index(tmp_path / "public.index")
    index.verify()
    (one,) = index.benchmarks()
    assert told["sha256"] == index.sha256
    assert (one.entry.name, one.entry.licence, one.entry.questions, one.entry.media, one.entry.with_texts) == (
        "zoo", "CC0-1.0", 3, 1, True,
    )  # fmt: skip
    assert one.entry.methods == {kind.value: method for kind, method in METHOD_OF_MODALITY.items()}
    rows = Table(one.tables["questions"]).rows([0, 1, 2], "id", "fields", "options", "numbers")
    assert [rows[place]["id"] for place in range(3)] == ["a", "b", "c"]
    assert rows[0]["fields"] == [["question", LINES[0]["question"]]]
    assert rows[1]["options"] == [["choice A", "船长"], ["choice B", "女儿"]]
    (medium,) = Table(one.tables["media"]).columns("id", "questions", "looks", "modality").to_pylist()
    assert (medium["id"], medium["questions"], medium["modality"]) == ("sub/one.png", ["b", "c"], "image")
    method = METHOD_OF_MODALITY[Modality.IMAGE]
    assert json.loads(medium["looks"]) == image_looks(media.photo(1))[method]


def test_without_texts_no_text_is_in_the_file_and_the_same_is_found(folder, tmp_path, call):
    call("index", tmp_path / "with.index", "--from", folder)
    call("index", tmp_path / "without.index", "--from", folder, "--without-texts")
    ours = [Document.of([("prompt", one["question"])]) for one in LINES]
    found = []
    for name in ("with", "without"):
        (one,) = open_index(tmp_path / f"{name}.index").benchmarks()
        found.append(Comparer(one).texts(ours))
    assert len(found[0]) == 3
    assert found[0] == found[1]
    assert Table(one.tables["questions"]).rows([0], "fields", "options") == {0: {"fields": None, "options": None}}
    held = pq.read_table(io.BytesIO(bytes(one.tables["questions"]))).to_pylist()
    assert "keeper" not in str(held)
    assert "灯塔" not in str(held)


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "parquet"])
def test_tables_of_every_kind_give_the_same_index(folder, tmp_path, call, kind):
    rows = [{"id": one["id"], "question": one["question"]} for one in LINES]
    file = tmp_path / f"table.{kind}"
    match kind:
        case "json":
            file.write_text(json.dumps(rows), encoding="utf-8")
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows), file)
        case _:
            mark = {"csv": ",", "tsv": "\t"}[kind]
            file.write_text(
                "\n".join(mark.join(one) for one in [["id", "question"], *map(dict.values, rows)]), encoding="utf-8"
            )
    lines = tmp_path / "table.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    tables = []
    for one in (file, lines):
        call("index", tmp_path / "one.index", "--from", one, "--replace")
        (held,) = open_index(tmp_path / "one.index").manifest.benchmarks
        tables.append(held.tables)
    assert tables[0] == tables[1]


def test_a_mapping_says_which_columns_hold_what(tmp_path, media):
    picture = media.coded(media.photo(2))
    rows = [
        {
            "nr": 7,
            "lead": "Look up.",
            "ask": "Which roof leaks?",
            "x": "the barn",
            "y": "the mill",
            "pic": base64.b64encode(picture).decode(),
        }
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "odd.parquet")
    (tmp_path / "layout.yaml").write_text("id: nr\ntext: [lead, ask]\noptions: [x, y]\nmedia: pic\nbase64: pic\n")
    with from_files(tmp_path / "odd.parquet", read_layout(tmp_path / "layout.yaml")) as read:
        (text,) = read.source.texts
        assert text.id == "7"
        assert [(one.label, one.text) for one in text.document.all_fields] == [
            ("lead", "Look up."), ("ask", "Which roof leaks?"), ("choice A", "the barn"), ("choice B", "the mill"),
        ]  # fmt: skip
        (medium,) = read.source.media
        with medium.open() as path:
            assert path.read_bytes() == picture
    assert not path.exists()


def test_what_cannot_be_read_is_told_and_the_rest_is_in(tmp_path, call, media):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    rows = [
        {"id": "a", "question": "x", "image": "bad.png"},
        {"id": "a", "question": "again"},
        {"id": "b", "question": "y", "image": "../outside.png"},
        {"id": "c", "question": "z", "image": "none.png"},
    ]
    lines = [*map(json.dumps, rows), "no json"]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    told = call("index", tmp_path / "one.index", "--from", tmp_path / "q.jsonl", "--json")
    assert [(one["origin"], one["reason"]) for one in told["failures"]] == [
        ("q.jsonl line 2", "same_id"),
        ("b/image", "outside_folder"),
        ("c/image", "missing_media"),
        ("q.jsonl line 5", "not_json"),
        ("bad.png", "disguised"),
    ]
    (one,) = told["benchmarks"]
    assert (one["questions"], one["media"], one["failed"]) == (3, 0, 1)


def test_a_folder_without_tables_is_an_index_of_its_media(tmp_path, media):
    (tmp_path / "media" / "deep").mkdir(parents=True)
    (tmp_path / "media" / "deep" / "a.mp4").write_bytes(
        media.film(media.cartoon(1, seconds=2), sound=media.voice(1, 2.0))
    )
    (tmp_path / "media" / ".hidden.png").write_bytes(b"x")
    with from_files(tmp_path / "media") as read:
        built = build(read.source)
    rows = Table(built.benchmark.tables["media"]).columns("id", "modality").to_pylist()
    assert rows == [{"id": "deep/a.mp4", "modality": "video"}, {"id": "deep/a.mp4#sound", "modality": "audio"}]
    assert built.failures == ()


TEXTS = st.lists(st.text("abcde 看海灯 12", max_size=60), min_size=1, max_size=4)


@settings(max_examples=25)
@given(TEXTS, TEXTS, TEXTS)
def test_to_merge_indexes_is_to_index_together(tmp_path_factory, first, second, ours):
    folder = tmp_path_factory.mktemp("merged")
    built = [build(source(name, *texts)).benchmark for name, texts in (("one", first), ("two", second))]
    write_index(folder / "one", built[:1])
    write_index(folder / "two", built[1:])
    write_index(folder / "both", built)
    write_index(folder / "turned", built[::-1])
    parts = [one for name in ("two", "one") for one in open_index(folder / name).benchmarks()]
    merged = write_index(folder / "merged", parts)
    assert merged == open_index(folder / "both").manifest
    assert (folder / "merged").read_bytes() == (folder / "both").read_bytes() == (folder / "turned").read_bytes()
    documents = [Document.of([("prompt", text)]) for text in ours]
    apart = [Comparer(one).texts(documents) for one in built]
    assert [Comparer(one).texts(documents) for one in open_index(folder / "merged").benchmarks()] == apart


def test_the_same_benchmark_twice_is_one_and_another_of_its_name_is_refused(tmp_path):
    one, same, other = (build(source("zoo", text)).benchmark for text in ("a b", "a b", "c d"))
    assert len(write_index(tmp_path / "x", [one, same]).benchmarks) == 1
    with pytest.raises(SameBenchmark, match="two different benchmarks are named 'zoo'"):
        write_index(tmp_path / "y", [one, other])


def test_the_identity_of_an_index_is_its_content(tmp_path):
    write_index(tmp_path / "a.index", [build(source("zoo", "a b c")).benchmark])
    write_index(tmp_path / "b.index", [build(source("zoo", "a b c")).benchmark])
    write_index(tmp_path / "c.index", [build(source("zoo", "a b d")).benchmark])
    a, b, c = (open_index(tmp_path / f"{name}.index").sha256 for name in "abc")
    assert a == b != c


def test_what_is_no_index_or_damaged_is_told(tmp_path):
    for name, data in (("empty", b""), ("text", b"hello")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadIndex, match=name):
            open_index(tmp_path / name)
    with pytest.raises(BadIndex, match="No such file"):
        open_index(tmp_path / "nothing")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as packed:
        packed.writestr("manifest.json", '{"format": "interplay-contamination-index@9", "benchmarks": []}')
    with pytest.raises(BadIndex, match="has the format interplay-contamination-index@9"):
        open_index(tmp_path / "other.zip")
    write_index(
        tmp_path / "whole", [build(source("zoo", "the keeper of the old lighthouse polishes lenses")).benchmark]
    )
    data = bytearray((tmp_path / "whole").read_bytes())
    place = data.index(b"PAR1") + 40
    data[place] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    with pytest.raises(BadIndex, match="damaged; get the index again"):
        open_index(tmp_path / "damaged").verify()


def test_mistakes_are_told_with_their_mend(tmp_path, call):
    (tmp_path / "odd.csv").write_text("foo,bar\n1,2\n")
    with pytest.raises(BadLayout, match="has the columns bar, foo; say with --mapping"):
        call("index", tmp_path / "x", "--from", tmp_path / "odd.csv")
    (tmp_path / "layout.yaml").write_text("txt: foo\n")
    with pytest.raises(BadLayout, match="txt"):
        call("index", tmp_path / "x", "--from", tmp_path / "odd.csv", "--mapping", tmp_path / "layout.yaml")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadQuestionFile, match="no table of questions"):
        call("index", tmp_path / "x", "--from", tmp_path / "notes.txt")
    (tmp_path / "none").mkdir()
    with pytest.raises(NothingToIndex, match="holds no question and no medium"):
        call("index", tmp_path / "x", "--from", tmp_path / "none")
    with pytest.raises(Exception, match="nothing to index was named"):
        call("index", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_merge_and_show_speak_of_what_is_there(tmp_path, call):
    for name in ("ant", "bee"):
        write_index(
            tmp_path / f"{name}.index", [build(source(name, "a b c"), Making(with_texts=name == "ant")).benchmark]
        )
    call("merge", tmp_path / "both.index", tmp_path / "bee.index", tmp_path / "ant.index")
    told = call("show", tmp_path / "both.index")
    assert told.splitlines()[1:] == [
        "  ant (licence unknown): 1 questions with texts, 0 media",
        "  bee (licence unknown): 1 questions without texts, 0 media",
    ]


def mmbench(file: Path, media, *rows: dict) -> Path:
    columns = ("index", "question", "hint", "A", "B", "answer", "image")
    lines = ["\t".join(columns)] + ["\t".join(str(row.get(name, "")) for name in columns) for row in rows]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def held(file: Path) -> tuple[list[dict], list[dict]]:
    (one,) = open_index(file).benchmarks()
    texts = Table(one.tables["questions"]).columns("id", "fields", "options").to_pylist()
    return texts, Table(one.tables["media"]).columns("id", "questions").to_pylist()


@pytest.mark.parametrize("mapping", [None, "base64: [image]\n"])
def test_a_set_in_a_known_format_is_read_as_an_import_reads_it(tmp_path, call, media, mapping):
    base = {"question": "Which boat lies nearest to the wall?", "A": "the red one", "B": "the blue one"}
    pictures = [base64.b64encode(media.coded(media.photo(seed), "PNG")).decode() for seed in (1, 2)]
    file = mmbench(
        tmp_path / "mm.tsv",
        media,
        {"index": 1, **base, "answer": "A", "image": pictures[0]},
        {"index": 2, **base, "question": "What colour is the sail?", "answer": "B", "image": 1},
        {"index": 3, **base, "question": "Who waves from the pier?", "image": pictures[1]},
    )
    more = []
    if mapping:
        (tmp_path / "m.yaml").write_text(mapping)
        more = ["--mapping", tmp_path / "m.yaml"]
    told = call("index", tmp_path / "mm.index", "--from", file, *more, "--json")
    texts, shown = held(tmp_path / "mm.index")
    assert told["failures"] == []
    assert [one["id"] for one in texts] == ["1", "2", "3"]
    # The third has no answer, as in a test split, and is in it all the same.
    assert all(len(one["options"]) == 2 for one in texts)
    assert [one["questions"] for one in shown] == [["1", "2"], ["3"]]


def test_turned_copies_are_left_out_as_an_import_leaves_them_out(tmp_path, call, media):
    picture = base64.b64encode(media.coded(media.photo(1), "PNG")).decode()
    rows = [
        {
            "index": 5,
            "question": "Which roof leaks?",
            "A": "the barn",
            "B": "the mill",
            "answer": "A",
            "image": picture,
        },
        {
            "index": 1_000_005,
            "question": "Which roof leaks?",
            "A": "the mill",
            "B": "the barn",
            "answer": "B",
            "image": 5,
        },
    ]
    call("index", tmp_path / "mm.index", "--from", mmbench(tmp_path / "mm.tsv", media, *rows))
    texts, _ = held(tmp_path / "mm.index")
    assert [one["id"] for one in texts] == ["5"]


def test_an_index_that_is_there_is_not_written_over_unasked(folder, tmp_path, call):
    file = tmp_path / "public.index"
    call("index", file, "--from", folder, "--licence", "CC0-1.0")
    before = file.read_bytes()
    for again in (("index", file, "--from", folder), ("merge", file, file)):
        with pytest.raises(IndexExists, match="--replace"):
            call(*again)
    assert file.read_bytes() == before
    call("index", file, "--from", folder, "--replace")
    assert open_index(file).manifest.benchmarks[0].licence is None


def test_where_nothing_is_found_the_first_that_failed_is_told(tmp_path, call):
    (tmp_path / "odd.csv").write_text("image\ngone.png\n")
    with pytest.raises(NothingToIndex, match=r"gone\.png.*--mapping"):
        call("index", tmp_path / "x.index", "--from", tmp_path / "odd.csv")
