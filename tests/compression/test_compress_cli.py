"""`interplay compress select, extend, estimate, show and validate`, as people and programs call them."""

import csv
import functools
import json
import re
from itertools import product

import numpy as np
import pytest
import typer
from sqlmodel import select

from compression.cli import app
from compression.pool_cli import app as pool_app
from core.provenance import describe_environment
from warehouse import tables

pytestmark = pytest.mark.filterwarnings("error")

BENCHMARKS = np.repeat([0, 1, 2], [20, 60, 120])
KINDS = ("seeing", "hearing")


@pytest.fixture(scope="module", autouse=True)
def environment_once():
    """What is installed does not change: asking for it takes longer than a selection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compression.select.describe_environment", functools.cache(describe_environment))
        yield


@pytest.fixture(scope="module")
def scores(latent_scores):
    return latent_scores(200, 9, seed=6, benchmark_of=BENCHMARKS)


@pytest.fixture
def files(tmp_path, scores, monkeypatch):
    """A folder, which is the current one, with the scores of 8 models, of a new one, labels and families."""
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def write(name, header, rows):
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *rows])

    header = ("benchmark", "question_id", "model", "score")
    rows = [(f"b{BENCHMARKS[n]}", f"q{n}", f"m{m}", scores[n, m]) for n, m in product(range(200), range(8))]
    write("pool.csv", header, rows)
    write("new.csv", header, [(f"b{BENCHMARKS[n]}", f"q{n}", "new", scores[n, 8]) for n in range(200)])
    write("labels.csv", ("question_id", "kind", "twin"), [(f"q{n}", KINDS[n % 2], f"t{n // 2}") for n in range(100)])
    write("fixed.csv", ("question_id",), [("q7",), ("q150",)])
    write("families.csv", ("model", "family"), [(f"m{m}", f"f{m // 2}") for m in range(8)])
    return folder


@pytest.fixture
def call(files, call_command):
    """Without any project."""

    def run(*arguments: object, code: int = 0):
        return call_command(app, [*map(str, arguments)], code)

    return run


@pytest.fixture
def call_in(call, workspace):
    return lambda *arguments, code=0: call(*arguments, "--project", workspace.project.root, code=code)


def subsets(workspace):
    with workspace.database.reading() as session:
        return [row.name for row in session.exec(select(tables.Subset).order_by(tables.Subset.name))]


@pytest.mark.parametrize("name", ["select", "extend", "estimate", "show", "validate"])
def test_every_command_has_an_example_and_json(name):
    command = typer.main.get_command(app).commands[name]
    assert re.search(rf"^Example: interplay compress {name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


class TestFoldersWithoutAProject:
    def test_from_a_file_to_estimates_of_a_new_model(self, call, files, scores):
        told = call("select", "pool.csv", "--rate", 0.2, "--to", "out/fifth", "--json")
        assert told["manifest"]["name"] == "fifth"
        assert (told["manifest"]["kept"], told["manifest"]["pool"], told["dry_run"]) == (40, "pool", False)
        assert {path.name for path in (files / "out/fifth").iterdir()} == {
            "manifest.json", "subset.parquet", "estimates.json",
        }  # fmt: skip
        assert [one["model"] for one in told["estimates"]] == [f"m{m}" for m in range(8)]
        assert set(told["estimates"][0]["benchmarks"]) == {"b0", "b1", "b2"}
        assert told["estimates"][0]["truth"] == pytest.approx(scores[:, 0].mean())
        found = call("estimate", "out/fifth", "new.csv", "--json")
        assert (found["subset"], found["beside"], found["incomplete"]) == ("fifth", 160, [])
        micro = found["models"][0]["micro"]
        assert micro["low"] <= scores[:, 8].mean() <= micro["high"]
        assert call("show", "out/fifth", "--json") == told["manifest"]

    def test_for_people(self, call):
        text = call("select", "pool.csv", "--size", 20, "--to", "s", "--sampler", "cghs")
        assert "s: 20 of 200 questions of pool" in text
        assert "sampler cghs@1, seed 0" in text
        assert "95% interval" in text
        text = call("estimate", "s", "new.csv")
        assert re.search(r"new +0\.\d{4} +0\.\d{4} to", text)
        assert "20 of 200" in call("show", "s")

    def test_a_benchmark_without_a_question_is_told(self, call):
        text = call("select", "pool.csv", "--size", 2, "--to", "s")
        assert re.search(r"no question of b\d.*: --floor benchmark=N keeps some of each", text)
        assert "undefined" in text

    def test_all_options_together(self, call):
        told = call(
            "select", "pool.csv", "--rate", 0.3, "--to", "s", "--sampler", "neyman+greg", "--seed", 3, "--json",
            "--floor", "benchmark=6", "--floor", "kind=8", "--labels", "labels.csv", "--together", "twin",
            "--fixed", "fixed.csv", "--family", "families.csv",
        )["manifest"]  # fmt: skip
        assert told["families"] == [0, 0, 1, 1, 2, 2, 3, 3]
        assert told["floors"] == {"benchmark": 6, "kind": 8}
        assert (told["units"], told["sizes"], told["together"]) == (150, [45], "twin")
        assert min(one["kept"] for one in told["benchmarks"]) >= 6
        more = call(
            "extend", "s", "--rate", 0.5, "--to", "t", "--pool", "pool.csv", "--labels", "labels.csv",
            "--fixed", "fixed.csv", "--json",
        )["manifest"]  # fmt: skip
        assert (more["name"], more["extends"], more["sizes"]) == ("t", "s", [45, 75])

    def test_a_dry_run_writes_nothing(self, call, files):
        before = sorted(files.rglob("*"))
        text = call("select", "pool.csv", "--rate", 0.1, "--dry-run")
        assert text.rstrip().endswith("nothing was written")
        told = call("select", "pool.csv", "--rate", 0.1, "--to", "s", "--dry-run", "--json")
        assert told["dry_run"] is True
        assert sorted(files.rglob("*")) == before

    def test_the_current_folder_gives_its_name(self, call, files, monkeypatch):
        (files / "tenth").mkdir()
        monkeypatch.chdir(files / "tenth")
        assert call("select", "../pool.csv", "--rate", 0.1, "--to", ".", "--json")["manifest"]["name"] == "tenth"

    def test_models_that_lack_answers_are_told(self, call, files):
        call("select", "pool.csv", "--rate", 0.1, "--to", "s")
        lines = (files / "new.csv").read_text().splitlines()
        (files / "half.csv").write_text("\n".join(lines[:100]) + "\n")
        found = call("estimate", "s", "half.csv", "--json")
        assert found["models"] == []
        (lacking,) = found["incomplete"]
        assert lacking["model"] == "new"
        assert f"no estimate for new: {lacking['unanswered']} of 20 unanswered" in call("estimate", "s", "half.csv")

    def test_few_models_few_questions_and_scores_that_never_vary(self, call, files):
        rows = [f"q{n},{m},{s}" for n in range(6) for m, s in (("a", 1), ("b", 0.5))]
        (files / "tiny.csv").write_text("\n".join(["question_id,model,score", *rows]) + "\n")
        assert call("select", "tiny.csv", "--rate", 0.1, "--to", "s", "--json")["manifest"]["kept"] == 1
        (files / "one.csv").write_text("\n".join(["question_id,model,score", *rows[::2]]) + "\n")
        told = call("select", "one.csv", "--size", 3, "--to", "t", "--json")
        assert told["estimates"][0]["micro"]["value"] == pytest.approx(1)
        assert "one model: nothing can be held out" in call("validate", "one.csv", "--rate", 0.5)
        assert "undefined" in call("validate", "tiny.csv", "--rate", 0.5, "--splits", 2, "--repeats", 2)


class TestInAProject:
    def test_select_extend_estimate_and_show_by_name(self, call_in, workspace, call_command):
        project = ["--project", str(workspace.project.root)]
        call_command(pool_app, ["import", "pool.csv", "--name", "blink", *project])
        told = call_in("select", "blink", "--rate", 0.1, "--name", "tenth", "--json")
        assert (told["manifest"]["pool"], told["manifest"]["origin"]) == ("blink", "pool")
        more = call_in("extend", "tenth", "--rate", 0.2, "--name", "fifth", "--json")
        assert (more["manifest"]["extends"], more["manifest"]["kept"]) == ("tenth", 40)
        assert subsets(workspace) == ["fifth", "tenth"]
        assert len(call_in("estimate", "fifth", "new.csv", "--json")["models"]) == 1
        assert [one["name"] for one in call_in("show", "--json")] == ["fifth", "tenth"]
        assert call_in("show", "tenth", "--json") == told["manifest"]
        assert re.search(r"fifth +blink +40 of 200", call_in("show"))
        # The same scores in a file are the same pool.
        call_in("extend", "tenth", "--rate", 0.3, "--name", "more", "--pool", "pool.csv")

    def test_into_both(self, call_in, workspace, files):
        told = call_in("select", "pool.csv", "--rate", 0.1, "--name", "tenth", "--to", "folder", "--json")
        assert told["manifest"]["name"] == "tenth"
        assert json.loads((files / "folder/manifest.json").read_text()) == told["manifest"]
        assert subsets(workspace) == ["tenth"]

    def test_a_dry_run_seals_nothing(self, call_in, workspace):
        call_in("select", "pool.csv", "--rate", 0.1, "--name", "tenth", "--dry-run")
        assert subsets(workspace) == []

    def test_nothing_is_computed_for_a_name_or_a_folder_that_is_taken(self, call_in, monkeypatch, files):
        call_in("select", "pool.csv", "--rate", 0.1, "--name", "tenth", "--to", "folder")

        def never(*_):
            raise AssertionError("computed all the same")

        for name in ("select", "extend", "find_pool"):
            monkeypatch.setattr(f"compression.cli.{name}", never)
        taken = "has a subset 'tenth' already"
        assert taken in call_in("select", "pool.csv", "--rate", 0.1, "--name", "tenth")
        assert taken in call_in("extend", "tenth", "--rate", 0.2, "--name", "tenth", "--pool", "pool.csv")
        assert "folder is not empty" in call_in("select", "pool.csv", "--rate", 0.1, "--to", "folder")
        assert "folder is not empty" in call_in("extend", "tenth", "--rate", 0.2, "--to", "folder", "--name", "other")

    def test_no_subset_yet(self, call_in):
        assert "no subset yet: interplay compress select" in call_in("show")
        assert call_in("show", "--json") == []


class TestValidate:
    def test_the_document(self, call):
        told = call("validate", "pool.csv", "--rate", 0.2, "--sampler", "cghs", "--splits", 2, "--repeats", 5, "--json")
        json.dumps(told, allow_nan=False)
        assert told["default"] == "adaptive"
        assert [one["sampler"] for one in told["samplers"]] == ["random", "cghs"]
        assert {"sampler", "srcc", "plcc", "rmse", "moe", "cic"} <= told["samplers"][0].keys()

    def test_for_people(self, call):
        text = call("validate", "pool.csv", "--size", 40, "--splits", 2, "--repeats", 3, "--family", "families.csv")
        assert "adaptive (default)" in text
        assert text.count("held out or not together: m") == 4
        for heading in ("SRCC", "PLCC", "RMSE", "MoE", "CIC", "weak to strong"):
            assert heading in text

    def test_a_full_sample_and_undefined_figures(self, call):
        whole = call("validate", "pool.csv", "--rate", 1, "--splits", 1, "--repeats", 1, "--json")
        for one in whole["samplers"]:
            assert (one["rmse"], one["moe"], one["cic"]) == (pytest.approx(0, abs=1e-9), 0, 1)
        text = call("validate", "pool.csv", "--size", 1, "--splits", 1, "--repeats", 1, "--baselines")
        assert "undefined" in text
        assert "irt: no margin and no coverage: this sampler has no valid interval" in text


# (what is called, what the line says); every one of them is a mistake that a user can make.
MISTAKES = [
    ("select nothing.csv --rate 0.1 --to s", "no such file, and no project"),
    ("select . --rate 0.1 --to s", ""),
    ("select families.csv --rate 0.1 --to s", "has no column 'question_id'"),
    ("select fixed.csv --rate 0.1 --to s", "has no column 'model'"),
    ("select broken.parquet --rate 0.1 --to s", "cannot be read as Parquet"),
    ("select percent.csv --rate 0.1 --to s", r"outside \[0, 1\]"),
    ("select words.csv --rate 0.1 --to s", "are no numbers"),
    ("select empty.csv --rate 0.1 --to s", ""),
    ("select gaps.csv --rate 0.1 --missing drop-models --to s", "nothing is left; try --missing impute"),
    ("select pool.csv --to s", "either --rate"),
    ("select pool.csv --rate 0.1 --size 10 --to s", "either --rate"),
    ("select pool.csv --rate 10 --to s", "--rate 10 is no share"),
    ("select pool.csv --rate -0.1 --to s", "no share"),
    ("select pool.csv --rate nan --to s", "no share"),
    ("select pool.csv --rate inf --to s", "no share"),
    ("select pool.csv --size 0 --to s", "not between 1 and the pool's 200"),
    ("select pool.csv --size 201 --to s", "not between 1 and the pool's 200"),
    ("select pool.csv --rate 0.1 --to s --sampler cgsh", "did you mean 'cghs"),
    ("select pool.csv --rate 0.1 --to s --sampler irt", "choose another sampler"),
    ("select pool.csv --rate 0.1 --to s --floor benchmark=30", "do not meet all floors|leaves no room"),
    ("select pool.csv --rate 0.1 --to s --floor kind=3", "give a file that has them with --labels"),
    ("select pool.csv --rate 0.1 --to s --floor knid=3 --labels labels.csv", "did you mean 'kind'"),
    ("select pool.csv --rate 0.1 --to s --together twin", "give a file that has them with --labels"),
    ("select pool.csv --rate 0.1 --to s --together twins --labels labels.csv", "did you mean 'twin'"),
    ("select pool.csv --rate 0.1 --to s --labels families.csv", "has no column question_id"),
    ("select pool.csv --rate 0.1 --to s --labels broken.parquet", "cannot be read as Parquet or CSV"),
    ("select pool.csv --rate 0.1 --to s --labels empty.csv", "cannot be read as Parquet or CSV"),
    ("select pool.csv --rate 0.1 --to s --labels strange.csv", "names no question of pool"),
    ("select pool.csv --rate 0.1 --to s --labels twice.csv", "names q1 twice"),
    ("select pool.csv --rate 0.1 --to s --fixed strange.csv", "names no question of pool"),
    ("select pool.csv --size 2 --to s --fixed fixed.csv", "leaves no room in 2"),
    ("select pool.csv --rate 0.1 --to s --family labels.csv", "no CSV file with columns model and family"),
    ("select pool.csv --rate 0.1 --to s --family strangers.csv", "unknown model of the pool 'm99'"),
    ("select pool.csv --rate 0.1 --to full", "full is not empty"),
    ("select pool.csv --rate 0.1 --to pool.csv", "pool.csv is not empty"),
    ("select pool.csv --rate 0.1 --name s", "project"),
    ("extend s0 --rate 0.1 --to t --pool pool.csv", "has 20 of 200 already"),
    ("extend s0 --rate 0.2 --to t", "s0 was selected from a file, pool; say with --pool where its scores are now"),
    ("extend s0 --rate 0.2 --to t --pool new.csv", "is not the pool that 's0' was drawn from"),
    ("extend s0 --rate 0.2 --to t --labels labels.csv --pool pool.csv", "another file of labels"),
    ("extend s0 --to t --pool pool.csv", "either --rate"),
    ("extend nothing --rate 0.2 --to t", "project"),
    ("extend full --rate 0.2 --to t", "full is no subset"),
    ("estimate s0 strangers.csv", "has no column 'question_id'"),
    ("estimate s0 other.csv", "has no score for any question of 's0'"),
    ("estimate s0 nothing.csv", "no such file"),
    ("estimate full new.csv", "full is no subset"),
    ("show full", "full is no subset"),
    ("show nothing", "project"),
    ("validate pool.csv", "either --rate"),
    ("validate pool.csv --rate 2", "no share"),
    ("validate pool.csv --rate 0.1 --sampler fuzed", "did you mean 'fused"),
    ("validate new.csv --rate 0.1", "holds one model"),
    ("validate pool.csv --rate 0.1 --family one.csv", r"one family of models \(--family FILE"),
]  # fmt: skip
# Typer's own: usage, and a line.
MISUSES = [
    "select pool.csv --rate 0.1",
    "select pool.csv --rate a --to s",
    "select pool.csv --rate 0.1 --to s --seed -1",
    "select pool.csv --rate 0.1 --to s --seed 99999999999",
    "select pool.csv --rate 0.1 --to s --floor benchmark",
    "select pool.csv --rate 0.1 --to s --floor benchmark=0",
    "select pool.csv --rate 0.1 --to s --floor benchmark=²",
    "select pool.csv --rate 0.1 --to s --floor benchmark=2 --floor benchmark=3",
    "select pool.csv --rate 0.1 --to s --labels nothing.csv",
    "select pool.csv --rate 0.1 --to s --labels full",
    "select pool.csv --rate 0.1 --to s --missing guess",
    "validate pool.csv --rate 0.1 --splits 0",
    "validate pool.csv --rate 0.1 --held-out 1",
    "validate pool.csv --rate 0.1 --held-out nan",
    "extend --rate 0.2",
]


class TestMistakes:
    @pytest.fixture
    def mess(self, files, call):
        call("select", "pool.csv", "--rate", 0.1, "--to", "s0")
        (files / "full").mkdir()
        (files / "full/mine.txt").write_text("mine")
        (files / "broken.parquet").write_bytes(b"PAR1")
        (files / "empty.csv").write_text("")
        header = "question_id,model,score\n"
        (files / "percent.csv").write_text(header + "q1,a,55\nq2,a,40\n")
        (files / "words.csv").write_text(header + "q1,a,right\n")
        (files / "gaps.csv").write_text(header + "q1,a,1\nq2,b,1\n")
        (files / "other.csv").write_text(header + "q1,a,1\n")
        (files / "strange.csv").write_text("question_id\nx1\n")
        (files / "twice.csv").write_text("question_id\nq1\nq1\n")
        (files / "strangers.csv").write_text("model,family\nm99,f\n")
        (files / "one.csv").write_text("model,family\n" + "".join(f"m{m},f\n" for m in range(8)))

    def test_each_is_one_line_and_writes_nothing(self, mess, call, files):
        before = sorted(files.rglob("*"))
        for line, told in MISTAKES:
            # What is no `InterplayError` comes back as an exit code, which is none here.
            answer = call(*line.split(), code=-1)
            assert re.search(told, answer), line
            assert sorted(files.rglob("*")) == before, line

    def test_what_typer_refuses(self, mess, call, files):
        before = sorted(files.rglob("*"))
        for line in MISUSES:
            assert call(*line.split(), code=2) == "", line
            assert sorted(files.rglob("*")) == before, line

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("select nothing --rate 0.1 --name s", "unknown file or pool 'nothing'"),
            ("select pool.csv --rate 0.1 --name a/b", "is no name of a subset"),
            ("select pool.csv --rate 0.1 --name=", "is no name of a subset"),
            ("extend tent --rate 0.2 --name s", "did you mean 'tenth'"),
            ("extend tenth --rate 0.2 --name s", "say with --pool where its scores are now"),
            ("extend tenth --rate 0.2 --name s --pool pools", "unknown file or pool 'pools'"),
            ("estimate tent new.csv", "did you mean 'tenth'"),
            ("show tent", "did you mean 'tenth'"),
            ("validate nothing --rate 0.1", "unknown file or pool 'nothing'"),
        ],
    )
    def test_in_a_project(self, call_in, workspace, line, told):
        call_in("select", "pool.csv", "--rate", 0.1, "--name", "tenth")
        assert told in call_in(*line.split(), code=-1)
        assert subsets(workspace) == ["tenth"]

    def test_the_root_command_ends_with_2_and_one_line(self, files, monkeypatch, capsys):
        from interplay.cli import main

        monkeypatch.setattr("sys.argv", ["interplay", "compress", "select", "pool.csv", "--rate", "3", "--to", "s"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        told = capsys.readouterr().err.strip().splitlines()
        assert len(told) == 1
        assert "--rate 3 is no share" in told[0]
