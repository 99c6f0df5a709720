"""`interplay pool import` and `interplay pool show`, as people and programs call them."""

import csv
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from sqlmodel import select

from compression.importers.base import Reading
from compression.pool import open_pool
from compression.pool_cli import app
from compression.pool_import import import_pool
from warehouse.tables import Run, RunStatus


@pytest.fixture
def call(workspace, call_command):
    def run(*arguments: object, code: int = 0):
        return call_command(app, [*map(str, arguments), "--project", str(workspace.project.root)], code)

    return run


@pytest.fixture
def scores(tmp_path):
    """Write rows of (question, model, score) and more columns as CSV."""

    def write(rows, name="blink.csv", header=("question_id", "model", "score")):
        file = tmp_path / name
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *rows])
        return file

    return write


SMALL = [("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 0.5), ("q2", "b", 0.5)]


def stored(workspace, pool="p"):
    """Benchmark, question, model, family and score of what the pool holds, sorted."""
    with duckdb.connect() as connection:
        workspace.facts.register(connection, "pool_score")
        rows = connection.execute(
            "SELECT benchmark, question_id, model, family, score FROM pool_score WHERE pool = ?", [pool]
        ).fetchall()
    return sorted(rows, key=repr)


def runs(workspace):
    with workspace.database.reading() as session:
        return list(session.exec(select(Run).where(Run.command == "pool import")))


@pytest.mark.parametrize("name", ["import", "show"])
def test_every_command_has_an_example_and_json(name):
    command = typer.main.get_command(app).commands[name]
    assert re.search(rf"^Example: interplay pool {name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


def test_what_is_imported_is_stored_once(call, scores, workspace):
    file = scores(SMALL)
    told = call("import", file, "--name", "p", "--json")
    counts = {name: told[name] for name in ("benchmarks", "questions", "models", "added", "known", "replaced")}
    assert counts == {"benchmarks": 1, "questions": 2, "models": 2, "added": 4, "known": 0, "replaced": 0}
    assert told["importers"] == {str(file): "long@1"}
    rows = [("blink", "q1", "a", None, 1.0), ("blink", "q1", "b", None, 0.0)]
    rows += [("blink", "q2", "a", None, 0.5), ("blink", "q2", "b", None, 0.5)]
    assert stored(workspace) == rows
    (run,) = runs(workspace)
    assert (run.id, run.status, run.summary["added"]) == (told["run_id"], RunStatus.FINISHED, 4)
    again = call("import", file, "--name", "p", "--json")
    assert (again["added"], again["known"], again["run_id"]) == (0, 4, None)
    assert len(workspace.facts.files("pool_score")) == 1
    assert len(runs(workspace)) == 1


def test_only_what_is_missing_is_added_and_pools_are_apart(call, scores, workspace):
    call("import", scores(SMALL), "--name", "p")
    call("import", scores(SMALL[:1]), "--name", "other")
    told = call("import", scores([*SMALL, ("q3", "a", 1)]), "--name", "p", "--json")
    assert (told["added"], told["known"]) == (1, 4)
    assert len(stored(workspace)) == 5
    assert len(stored(workspace, "other")) == 1


def test_several_files_are_one_pool_or_none(call, scores, workspace, tmp_path):
    one, two = scores(SMALL[:2], "one.csv"), scores(SMALL[2:], "two.csv")
    bad = scores([("q9", "a", 7)], "three.csv")
    message = call("import", one, two, bad, "--name", "p", code=2)
    assert message.startswith(f"{bad}: 1 scores lie outside [0, 1], for one 7 of a on q9 (three); divide by 100")
    assert stored(workspace) == []
    assert runs(workspace) == []
    told = call("import", one, two, "--name", "p", "--benchmark", "b", "--json")
    assert (told["questions"], told["added"], sorted(told["importers"])) == (2, 4, [str(one), str(two)])
    assert {row[0] for row in stored(workspace)} == {"b"}


def test_a_dry_run_stores_nothing(call, scores, workspace):
    text = call("import", scores(SMALL), "--name", "p", "--dry-run")
    assert "pool p: added 4, known before 0, replaced 0; nothing is stored yet" in text
    assert stored(workspace) == []
    assert runs(workspace) == []


def test_another_score_is_refused_until_it_is_to_be_replaced(call, scores, workspace):
    call("import", scores(SMALL), "--name", "p")
    changed = scores([("q1", "a", 0.25), ("q2", "a", 0.5), ("q3", "a", 0)])
    message = call("import", changed, "--name", "p", code=2)
    assert "pool p has other scores for 1 cells, for one 1 of a on q1 (blink), which is 0.25 here" in message
    assert "--replace" in message
    assert len(stored(workspace)) == 4
    told = call("import", changed, "--name", "p", "--replace", "--json")
    assert (told["added"], told["known"], told["replaced"]) == (1, 1, 1)
    assert [row[4] for row in stored(workspace)] == [0.25, 0.0, 0.5, 0.5, 0.0]
    assert call("import", changed, "--name", "p", "--json")["run_id"] is None


def test_scores_of_a_hundred_and_means_of_repeats(call, scores, workspace):
    percent = scores([("q1", "a", 100), ("q1", "b", 25)])
    assert "pool import --scale 100" in call("import", percent, "--name", "p", code=2)
    call("import", percent, "--name", "p", "--scale", 100)
    assert [row[4] for row in stored(workspace)] == [1.0, 0.25]
    repeated = scores([("q1", "a", 1), ("q1", "a", 0), ("q2", "a", 1), ("q2", "a", 1)])
    message = call("import", repeated, "--name", "r", code=2)
    assert "1 cells have several, different scores, for one a on q1 (blink) has 0 and 1" in message
    assert "pool import --repeats mean" in message
    told = call("import", repeated, "--name", "r", "--repeats", "mean", "--json")
    assert (told["rows"], told["merged"], told["added"]) == (4, 2, 2)
    assert [row[4] for row in stored(workspace, "r")] == [0.5, 1.0]


def test_equal_rows_are_merged_and_rows_without_a_score_left_out(call, scores, workspace):
    told = call("import", scores([*SMALL, SMALL[0], ("q3", "a", "")]), "--name", "p", "--json")
    assert (told["rows"], told["merged"], told["empty"], told["added"]) == (6, 1, 1, 4)
    text = call("import", scores([*SMALL, SMALL[0], ("q3", "a", "")]), "--name", "q")
    assert "1 of them have no score" in text
    assert "1 of them repeat another" in text
    assert len(stored(workspace)) == 4


@pytest.mark.parametrize("name", ["", "Blink", "a b", "-a", "a/b", "../a", "a--b", "ü", "x" * 65])
def test_a_name_that_is_none(call, scores, workspace, name):
    assert "is no name of a pool; write at most 64 of a-z, 0-9" in call("import", scores(SMALL), "--name", name, code=2)
    assert stored(workspace) == []


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("q1", "a", "good")], "1 scores are no numbers, 'good' for one"),
        ([("q1", "a", -0.5)], "1 scores lie outside [0, 1], for one -0.5 of a on q1 (blink); mend them"),
        ([("q1", "a", "inf")], "1 scores lie outside [0, 1], for one inf"),
        ([("q1", "a", "nan")], "no row has a score"),
        ([("q1", "a", "")], "no row has a score"),
        ([("", "a", 1)], "1 rows lack a benchmark, question_id or model"),
        ([], "holds no scores"),
    ],
)
def test_what_is_no_pool_is_refused(call, scores, workspace, rows, told):
    file = scores(rows)
    message = call("import", file, "--name", "p", code=2)
    assert told in message
    assert str(file) in message
    assert stored(workspace) == []


def test_odd_names_come_back_whole_and_models_differ_by_case(call, workspace, tmp_path):
    names = ['a,"b"', "line\nbreak", "模型 '一'", "m", "M"]
    table = pa.table(
        {"benchmark": ["图"] * 5, "question_id": ["q"] * 5, "model": names, "score": [0, 0.25, 0.5, 0.75, 1]}
    )
    pq.write_table(table, tmp_path / "s.parquet")
    assert call("import", tmp_path / "s.parquet", "--name", "p", "--json")["models"] == 5
    found = {row[2]: row[4] for row in stored(workspace)}
    assert found == dict(zip(names, [0, 0.25, 0.5, 0.75, 1.0], strict=True))
    shown = call("show", "p", "--json")
    assert {one["model"]: one["mean"] for one in shown["models"]} == found
    assert "模型 '一'" in call("show", "p")


def test_columns_of_another_name(call, scores, workspace):
    file = scores([("q1", "a", 1)], header=("QID", "who", "score"))
    message = call("import", file, "--name", "p", code=2)
    assert "no column 'question_id', only QID, who, score; name another with --column question_id=NAME" in message
    call("import", file, "--name", "p", "--column", "question_id=qid", "--column", "model=who")
    assert stored(workspace) == [("blink", "q1", "a", None, 1.0)]
    for wrong in ("question=qid", "question_id", "question_id="):
        assert call("import", file, "--name", "p", "--column", wrong, code=2) == ""


@pytest.mark.parametrize("scale", ["0", "-1", "inf", "nan"])
def test_a_scale_that_divides_by_nothing(call, scores, scale):
    assert call("import", scores(SMALL), "--name", "p", "--scale", scale, code=2) == ""


def test_families_from_a_file_reach_all_rows_of_a_model(call, scores, workspace, tmp_path):
    call("import", scores(SMALL), "--name", "p")
    families = scores([("a", "one"), ("b", ""), ("c", "two")], "families.csv", ("model", "family"))
    # Only q1 is in the file, but a has one family.
    told = call("import", scores(SMALL[:2]), "--name", "p", "--family", families, "--json")
    assert (told["added"], told["known"], told["replaced"], told["regrouped"]) == (0, 1, 0, 2)
    assert {row[2:4] for row in stored(workspace)} == {("a", "one"), ("b", None)}
    assert call("import", scores(SMALL), "--name", "p", "--json")["run_id"] is None
    new = call("import", scores([("q3", "a", 1)]), "--name", "p", "--json")
    assert (new["added"], new["regrouped"]) == (1, 0)
    assert {row[3] for row in stored(workspace) if row[2] == "a"} == {"one"}


def test_another_family_is_refused_until_it_is_to_be_replaced(call, scores, workspace):
    header = ("question_id", "model", "score", "family")
    call("import", scores([("q1", "a", 1, "one"), ("q2", "a", 0, "one")], header=header), "--name", "p")
    other = scores([("q1", "a", 1, "two")], header=header)
    message = call("import", other, "--name", "p", code=2)
    assert message.startswith("pool p has a in the family 'one', which is 'two' here; replace it with --replace")
    told = call("import", other, "--name", "p", "--replace", "--json")
    assert told["regrouped"] == 2
    assert [row[3] for row in stored(workspace)] == ["two", "two"]
    both = scores([("q1", "a", 1, "one"), ("q2", "a", 1, "two")], header=header)
    assert "model a is of two families, 'one' and 'two'" in call("import", both, "--name", "q", code=2)


def test_a_family_file_that_is_none(call, scores):
    wrong = scores([("a", "one")], "families.csv", ("name", "family"))
    assert "no CSV file with columns model and family" in call(
        "import", scores(SMALL), "--name", "p", "--family", wrong, code=2
    )


def test_of_two_imports_the_later_counts(workspace, scores, clock):
    import_pool(workspace, [scores([("q", "m", 0)])], "p", Reading(), clock=clock)
    clock.advance(seconds=1)
    import_pool(workspace, [scores([("q", "m", 1)])], "p", Reading(), replace=True, clock=clock)
    assert [row[4] for row in stored(workspace)] == [1.0]


# ---- show


def test_pools_are_listed(call, scores):
    assert call("show").strip() == "no pools yet; bring one in: interplay pool import FILES --name NAME"
    assert call("show", "--json") == []
    first = call("import", scores(SMALL[:3]), "--name", "p", "--json")["run_id"]
    second = call("import", scores([("q9", "c", 1)], "other.csv"), "--name", "p", "--json")["run_id"]
    summary = {"pool": "p", "benchmarks": 2, "questions": 3, "models": 3, "scores": 4, "missing": 5}
    assert call("show", "--json") == [summary | {"runs": [first, second]}]
    assert re.search(r"p\s+2\s+3\s+3\s+4\s+5\s+2", call("show"))


FULL = [
    # Two benchmarks; nobody solves q1, everybody q2, q4 is the same as q3.
    *[("x", "q1", model, 0) for model in "abc"],
    *[("x", "q2", model, 1) for model in "abc"],
    *[("x", "q3", model, score) for model, score in zip("abc", (1, 0, 0.5), strict=True)],
    *[("x", "q4", model, score) for model, score in zip("abc", (1, 0, 0.5), strict=True)],
    *[("y", "q1", model, 0.5) for model in "abc"],
]
FULL_HEADER = ("benchmark", "question_id", "model", "score")


def test_a_file_is_shown_without_a_project(call_command, scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = scores([*FULL, FULL[0]], header=FULL_HEADER)
    view = call_command(app, ["show", str(file), "--json"])
    assert (view["rows"], view["merged"], view["missing"], view["patterns"]) == (16, 1, 0, 4)
    benchmark = {"models": 3, "nobody": 1, "everybody": 1, "constant": 2}
    x = {"benchmark": "x", "questions": 4, "scores": 12, "mean": pytest.approx(6 / 12)} | benchmark
    y = {
        "benchmark": "y",
        "questions": 1,
        "models": 3,
        "scores": 3,
        "mean": 0.5,
        "nobody": 0,
        "everybody": 0,
        "constant": 1,
    }
    assert view["benchmarks"] == [x, y]
    means = {"a": 3.5 / 5, "c": 2.5 / 5, "b": 1.5 / 5}
    assert [(one["model"], one["mean"]) for one in view["models"]] == [(k, pytest.approx(v)) for k, v in means.items()]
    assert view["remainders"] == []
    text = call_command(app, ["show", str(file)])
    assert "blink (long@1): 5 questions, 2 benchmarks, 3 models" in text
    assert "questions on which all models have one score: 3" in text
    assert re.search(r"x\s+4\s+3\s+0\.5000\s+1 \(25\.0%\)\s+1 \(25\.0%\)\s+2 \(50\.0%\)", text)


def test_a_file_or_pool_that_is_not_there(call, call_command, scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "blnk: no such file, and no project to look for a pool" in call_command(app, ["show", "blnk"], 2)
    assert "no Interplay project" in call_command(app, ["show"], 2)
    assert "no Interplay project" in call_command(app, ["show", "blnk", "--project", str(tmp_path)], 2)
    call("import", scores(SMALL), "--name", "blink")
    assert "unknown file or pool 'blnk'; did you mean 'blink'?" in call("show", "blnk", code=2)


def test_what_is_missing_and_what_each_rule_would_leave(call, scores):
    lacking = [row for row in FULL if row[2:3] != ("c",) or row[1] != "q3"]
    call("import", scores(lacking, header=FULL_HEADER), "--name", "p")
    view = call("show", "p", "--json")
    assert view["missing"] == 1
    assert [(one["model"], one["answered"], one["lacking"]) for one in view["models"]] == [
        ("a", 5, 0),
        ("c", 4, 1),
        ("b", 5, 0),
    ]
    left = {one["rule"]: (one["questions"], one["models"], one["imputed"]) for one in view["remainders"]}
    assert left == {"drop": (5, 2, 0), "drop-questions": (4, 3, 0), "drop-models": (5, 2, 0), "impute": (5, 3, 1)}
    assert "--missing" in call("show", "p")


def test_where_a_rule_leaves_nothing_it_says_so(call, scores):
    call("import", scores([("q1", "a", 1), ("q2", "b", 0)]), "--name", "p")
    view = call("show", "p", "--json")
    assert view["patterns"] is None
    assert "nothing is left" in view["reason"]
    assert "undefined (p: of 2 questions by 2 models" in call("show", "p")
    assert call("show", "p", "--missing", "impute", "--json")["patterns"] is not None


def test_models_of_one_family(call, scores):
    twin = [
        (f"q{number}", model, (number * 7 + (model == "c") * number) % 5 / 4) for number in range(40) for model in "abc"
    ]
    call("import", scores(twin), "--name", "p")
    assert call("show", "p", "--json")["families"] == [["a", "b"]]
    assert "models of one family (near-duplicates, by their scores):" in call("show", "p")
    told = scores([("b", "f"), ("c", "f")], "families.csv", ("model", "family"))
    call("import", scores(twin), "--name", "p", "--family", told)
    assert call("show", "p", "--json")["families"] == [["b", "c"]]
    assert "models of one family (as told):" in call("show", "p")


def test_a_stored_pool_is_the_file_it_came_from(call, scores, workspace):
    file = scores(FULL, header=FULL_HEADER)
    call("import", file, "--name", "p")
    with open_pool("p", workspace) as pool, open_pool(str(file), None) as other:
        for table in ("question", "model", "cell"):
            ours, theirs = (one.connection.table(table).order("ALL").fetchall() for one in (pool, other))
            assert ours == theirs
