"""What can be audited: files of any benchmark, releases, exports."""

import csv
import hashlib
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UnknownName
from core.question import AnswerKey, Question, QuestionKind, Step
from qc.audit.question_files import DoubleId, MissingColumns, UnreadableQuestions, read_questions
from qc.audit.subjects import NoSubject, open_subject, shown_of

ROWS = [
    {"qid": "b", "question": "哪一个？", "options": ["red", "blue"], "answer": "B", "image": "img/1.png"},
    {"qid": "a", "question": "Which, then?", "options": ["1", "2", "3"], "answer": "A", "image": "img/2.png"},
]
SHOWN = {
    "a": {"question": "Which, then?", "choices": ["1", "2", "3"], "answer": "A", "media": ["img/2.png"]},
    "b": {"question": "哪一个？", "choices": ["red", "blue"], "answer": "B", "media": ["img/1.png"]},
}


def write(file, rows, delimiter=","):
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    elif file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        with file.open("w", encoding="utf-8-sig", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            cells = [{k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
            writer.writerows(cells)
    return file


def test_one_set_of_questions_has_one_name_in_every_format_and_order(workspace, tmp_path):
    files = [write(tmp_path / f"set.{kind}", ROWS) for kind in ("jsonl", "csv", "parquet")]
    files += [write(tmp_path / "set.tsv", ROWS, "\t"), write(tmp_path / "turned.jsonl", ROWS[::-1])]
    subjects = [open_subject(workspace, str(file)) for file in files]
    assert {subject.sha256 for subject in subjects} == {subjects[0].sha256}
    assert {member.qid: member.shown for member in subjects[1].members} == SHOWN
    assert (subjects[0].name, subjects[0].release_id) == ("set.jsonl", None)
    changed = write(tmp_path / "changed.jsonl", [ROWS[0], ROWS[1] | {"answer": "C"}])
    assert open_subject(workspace, str(changed)).sha256 != subjects[0].sha256


@pytest.mark.parametrize(
    ("row", "choices"),
    [
        ({"choices": "['a', \"it's\"]"}, ["a", "it's"]),
        ({"Options": '["a", "b"]'}, ["a", "b"]),
        ({"options": {"A": "x", "B": "y", "C": None}}, ["A: x", "B: y"]),
        ({"A": "x", "B": 2, "C": "", "D": None}, ["x", "2"]),
        ({"A": "x", "C": "y"}, ["x"]),
        ({"choices": "[not a list"}, ["[not a list"]),
        ({}, []),
    ],
)
def test_choices_are_found_however_they_are_written(tmp_path, row, choices):
    file = write(tmp_path / "set.jsonl", [{"id": 7, "prompt": "?", "answer": 1} | row])
    assert read_questions(file)["7"]["choices"] == choices


def test_media_in_the_rows_are_named_by_their_content(tmp_path):
    data = b"\x89PNG"
    inline = "iVBOR" * 300
    row = {"index": 1, "question": "?", "answers": ["x", "y"], "image": {"bytes": data, "path": None}, "audio": inline}
    shown = read_questions(write(tmp_path / "set.parquet", [row]))["1"]
    wanted = [f"sha256 {hashlib.sha256(one).hexdigest()}" for one in (data, inline.encode())]
    assert (shown["answer"], shown["media"]) == ("x / y", wanted)
    by_placeholder = {"id": "1", "question": "?", "answer": "x", "media": {"image_2": "b.png", "image_1": "a.png"}}
    assert read_questions(write(tmp_path / "ours.jsonl", [by_placeholder]))["1"]["media"] == ["a.png", "b.png"]


def test_a_missing_column_is_named_with_the_mend(tmp_path):
    file = write(tmp_path / "set.csv", [{"number": "1", "text": "?", "answer": "x"}])
    with pytest.raises(MissingColumns) as caught:
        read_questions(file)
    assert str(caught.value).endswith(
        "has no column for id and question among number, text, answer; say which it is with --column id=NAME, or add it"
    )
    assert read_questions(file, {"id": "number", "question": "text"}) == {
        "1": {"question": "?", "choices": [], "answer": "x", "media": []}
    }
    with pytest.raises(UnknownName, match="unknown column 'txt'; did you mean 'text'"):
        read_questions(file, {"question": "txt"})
    with pytest.raises(UnknownName, match="unknown part of a question 'qestion'; did you mean 'question'"):
        read_questions(file, {"qestion": "text"})


def test_rows_that_say_the_same_count_once_and_others_of_one_id_are_refused(tmp_path):
    row = {"id": "1", "group": "g", "question": "?", "answer": "x"}
    answers = [row | {"id": str(number), "response": str(number)} for number in range(3)]
    assert list(read_questions(write(tmp_path / "long.jsonl", answers), {"id": "group"})) == ["g"]
    file = write(tmp_path / "set.jsonl", [row, row | {"id": "2"}, row | {"answer": "y"}])
    with pytest.raises(DoubleId, match=r"rows 1 and 3 have one id, '1', and differ"):
        read_questions(file)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("set.jsonl", "", "holds no rows"),
        ("set.jsonl", "[1]\n", "line 1 is no object"),
        ("set.jsonl", '{"id": 1', "cannot be read as jsonl"),
        ("set.parquet", "no parquet", "cannot be read as parquet"),
        ("set.xlsx", "", "is none of .jsonl, .csv, .tsv, .parquet"),
        ("set.csv", "id,question,answer\n,?,x\n", "row 1: the id (id) is empty"),
    ],
)
def test_a_file_without_questions_is_told_in_one_line(tmp_path, name, text, said):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(UnreadableQuestions) as caught:
        read_questions(file)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_release_is_found_by_either_name(house):
    release = house.release(3)
    one, other = open_subject(house.workspace, "zoo", "1.0.0"), open_subject(house.workspace, "zoo@1.0.0")
    assert one == other
    assert (one.name, one.release_id, [member.qid for member in one.members]) == (
        "zoo 1.0.0", release.id, ["q0000", "q0001", "q0002"],
    )  # fmt: skip
    assert all(member.revision_id for member in one.members)
    hashes = sorted(house.question(number).content_hash for number in range(3))
    assert one.sha256 == hashlib.sha256(json.dumps(hashes, separators=(",", ":")).encode()).hexdigest()
    with pytest.raises(NoSubject, match="'zoo' is no file and no folder"):
        open_subject(house.workspace, "zoo")
    with pytest.raises(UnknownName, match=r"unknown release 'zoo 2.0.0'; did you mean 'zoo 1.0.0'"):
        open_subject(house.workspace, "zoo@2.0.0")


def test_steps_and_open_questions_are_shown_with_their_keys(house):
    prompt = house.question(1).prompt
    steps = Question(
        prompt=prompt,
        kind=QuestionKind.MULTI_STEP,
        steps=(
            Step(ask="How many?", points=4, answer=AnswerKey(accepted=("3", "three"))),
            Step(ask="Where?", points=6, answer=AnswerKey(accepted=("left",))),
        ),
        task_type="x",
        language="en",
    )
    shown = shown_of(steps)
    assert shown["question"].endswith("<audio_1>\n1. How many? (4)\n2. Where? (6)")
    assert shown["answer"] == "1. 3 / three\n2. left"
    assert shown_of(house.question(1))["answer"] == "B: = 1"
    assert shown_of(house.question(1))["media"][0].startswith("image_1 sha256 ")
    asked = Question(
        prompt=prompt, kind=QuestionKind.OPEN, answer=AnswerKey(accepted=("a", "b")), task_type="x", language="en"
    )
    assert shown_of(asked)["answer"] == "a / b"


@given(st.permutations([*ROWS, ROWS[0] | {"qid": "c"}]))
def test_the_order_of_rows_changes_nothing(tmp_path_factory, rows):
    file = write(tmp_path_factory.mktemp("order") / "set.jsonl", rows)
    assert read_questions(file) == SHOWN | {"c": SHOWN["b"]}
