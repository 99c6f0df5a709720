"""Files of labels, groups and fixed questions."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compression.importers.base import BadPool
from compression.labels import read_labels

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def pool(matrix_of):
    """A pool with these ids; two scores each."""

    def make(ids, benchmark_of=None, benchmarks=None):
        matrix = matrix_of(np.full((len(ids), 2), 0.5), benchmark_of, benchmarks)
        return replace(matrix, question_ids=np.array(ids, dtype=object))

    return make


@pytest.fixture
def file(tmp_path):
    def write(text, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_column_may_have_any_name(pool, file):
    labels = read_labels(file('question_id,"a ""b"" c"\na,x\n'), pool(["a"]))
    assert labels.columns == {'a "b" c': ["x"]}


CSV = "question_id,ability,twin\nb,seeing,1\na,hearing,\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CSV, "labels.csv"),
        (CSV.replace("\n", "\r\n"), "labels.csv"),
        ("\ufeff" + CSV, "labels.csv"),
        (CSV.replace(",", ";"), "labels.csv"),
        (CSV.replace(",", "\t"), "labels.tsv"),
        (CSV, "labels [old]*.csv"),
    ],
)
def test_columns_come_in_the_order_of_the_pool(pool, file, text, name):
    path = file(text, name)
    labels = read_labels(path, pool(["a", "b", "c"]))
    assert labels.columns == {"ability": ["hearing", "seeing", None], "twin": [None, "1", None]}
    assert labels.listed.tolist() == [True, True, False]
    assert labels.digest == sha256(path.read_bytes()).hexdigest()
    assert labels.unknown == ()


def test_parquet_and_numbers_as_labels(pool, tmp_path):
    pq.write_table(pa.table({"question_id": [7, 8], "level": [3, None]}), tmp_path / "labels.parquet")
    labels = read_labels(tmp_path / "labels.parquet", pool(["7", "8"]))
    assert labels.columns == {"level": ["3", None]}


@pytest.mark.parametrize(
    "ids", [["a|1", "b|2"], ["a;1", "b;2"], ["#1", "#2"], ["007", "7"], ["a b", "a"], ["问", "题"]]
)
def test_a_file_with_ids_alone_is_read_as_it_stands(pool, file, ids):
    labels = read_labels(file("\n".join(["question_id", *ids]) + "\n"), pool(ids))
    assert labels.listed.all()
    assert labels.columns == {}


def test_ids_with_commas_are_quoted(pool, file):
    assert read_labels(file('question_id,ability\n"a,1",x\n'), pool(["a,1"])).columns == {"ability": ["x"]}


def test_the_benchmark_tells_equal_ids_apart(pool, file):
    matrix = pool(["1", "2", "1"], [0, 0, 1], ["blink", "mmlu"])
    labels = read_labels(file("benchmark,question_id,ability\nmmlu,1,x\nblink,1,y\n"), matrix)
    assert labels.columns == {"ability": ["y", None, "x"]}
    with pytest.raises(BadPool, match="1 is in several benchmarks; add a column benchmark"):
        read_labels(file("question_id,ability\n1,x\n"), matrix)
    # An id that is in one benchmark alone needs none.
    assert read_labels(file("question_id,ability\n2,x\n"), matrix).columns == {"ability": [None, "x", None]}


def test_rows_of_no_question_are_told(pool, file):
    labels = read_labels(file("question_id,ability\nz,x\na,y\n,w\n"), pool(["a"]))
    assert labels.unknown == ("z", "")
    assert labels.columns == {"ability": ["y"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("question_id,x\na,1\na,1\n", "names a twice; keep one row"),
        ("question_id,x\nq,1\n", "names no question of made; its ids look like 'a'"),
        ("id,x\na,1\n", "has no column question_id, only id, x"),
        ("question_id,x\n", "has no rows"),
        ("", "cannot be read as Parquet or CSV"),
        ("question_id,x\na,1\nb\n", "cannot be read as Parquet or CSV"),
        ("question_id,x\na,1,2\n", "cannot be read as Parquet or CSV"),
        (b"question_id,x\na,\xe9\n", "cannot be read as Parquet or CSV"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "cannot be read|no column"),
    ],
)
def test_what_is_no_file_of_labels_is_refused_in_one_line(pool, file, text, told):
    with pytest.raises(BadPool, match=told) as caught:
        read_labels(file(text), pool(["a", "b"]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["labels.parquet", "nothing.csv", "nothing.parquet"])
def test_files_that_are_not_there_or_damaged(pool, file, tmp_path, name):
    file("question_id\na\n", "labels.parquet")
    with pytest.raises(BadPool, match="cannot be read as Parquet or CSV"):
        read_labels(tmp_path / name, pool(["a"]))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadPool, match="cannot be read as Parquet or CSV"):
        read_labels(tmp_path / "folder.csv", pool(["a"]))
