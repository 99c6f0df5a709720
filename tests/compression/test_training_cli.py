"""`interplay compress train-select` and `interplay compress rollouts`."""

import csv
import json
import re
import shlex

import pyarrow.parquet as pq
import pytest
import typer

from compression.training_cli import register


@pytest.fixture
def call(call_command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    register(app)

    def run(line, code=0):
        return call_command(app, shlex.split(line), code)

    return run


@pytest.fixture
def scores(tmp_path):
    """Of sample n of 40 by four models: as many as n // 8 of them solve it."""
    rows = [(f"s{sample:02}", f"m{model}", int(model < sample // 8)) for sample in range(40) for model in range(4)]
    with (tmp_path / "scores.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("sample_id", "source", "value"), *rows])


@pytest.fixture
def batch(tmp_path):
    rows = [
        {"prompt": f"p{prompt}", "rollout_id": place, "reward": int(place < prompt), "text": f"{place % 3}"}
        for prompt in range(5)
        for place in range(6)
    ]
    lines = [json.dumps(row) + "\n" for row in rows]
    (tmp_path / "batch.jsonl").write_text("".join(lines))
    return lines


def test_a_selection_is_written_and_reported(call, scores, tmp_path):
    report = call("train-select scores.csv --size 20 --to kept.csv --json")
    with (tmp_path / "kept.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["sample_id", "stratum", "difficulty", "weight"]
    assert len(rows) == report["kept"] == 20
    assert report["change"]["before"]["histogram"] == [8, 0, 8, 0, 0, 8, 0, 8, 0, 8]
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(40)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "tsv", "csv"])
def test_the_ending_says_the_format(call, scores, tmp_path, ending):
    call(f"train-select scores.csv --rate 0.5 --to kept.{ending}")
    file = tmp_path / f"kept.{ending}"
    if ending == "parquet":
        ids = pq.read_table(file)["sample_id"].to_pylist()
    elif ending == "jsonl":
        ids = [json.loads(line)["sample_id"] for line in file.read_text().splitlines()]
    else:
        ids = [line.split("," if ending == "csv" else "\t")[0] for line in file.read_text().splitlines()[1:]]
    assert len(ids) == 20
    assert ids == sorted(ids)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_rows_of_the_training_set_are_kept_as_they_are(call, scores, tmp_path):
    lines = [f'{{"uid":  "s{sample:02}", "q": "é\\u00e9{sample}"}}\n' for sample in reversed(range(45))]
    (tmp_path / "train.jsonl").write_text("".join(lines))
    call("train-select scores.csv --size 9 --to ids.csv --data train.jsonl --id-field uid --kept kept.jsonl")
    ids = [line.split(",")[0] for line in (tmp_path / "ids.csv").read_text().splitlines()[1:]]
    assert (tmp_path / "kept.jsonl").read_text() == "".join(line for line in lines if line[10:13] in ids)
    assert len(ids) == 9


def test_people_read_what_changed(call, scores):
    told = call("train-select scores.csv --size 10 --floor-hard 0.5 --drop-solved --dry-run")
    assert "samples: 40 with scores of 4 sources; kept 10" in told
    assert "dropped: 8 samples that each source solves" in told
    (hard,) = [line.split() for line in told.splitlines() if line.split()[:1] == ["hard"]]
    # 8 of 40 before; sd of a share among 10 of 40: sqrt(.2 x .8 / 10 x 30 / 39) = .111.
    assert hard == ["hard", "20.0%", "50.0%", "20.0%", "±", "11.1%"]
    (bottom,) = [line.split() for line in told.splitlines() if line.strip().startswith("0.9 to 1.0")]
    assert bottom == ["0.9", "to", "1.0", "8", "20.0%", "5", "50.0%", "2.0"]


def test_losses_have_no_solved_share_to_show(call, tmp_path):
    (tmp_path / "a.csv").write_text("sample_id,value\na,1\nb,2\nc,9\n")
    told = call("train-select a.csv --kind loss --size 2 --dry-run --floor-easy 0 --floor-hard 1")
    assert "solved (say --solved-at)" in told
    assert "floor not reached: 1 more hard samples would make 100%" in told


@pytest.mark.parametrize(
    "line", ["train-select scores.csv --size 5 --to kept.csv", "rollouts batch.jsonl --to kept.jsonl"]
)
def test_a_dry_run_writes_nothing_and_says_the_same(call, scores, batch, tmp_path, line):
    line += " --column sample_id=sample_id" if "train" in line else " --column prompt_id=prompt"
    dry = call(f"{line} --json --dry-run")
    assert not list(tmp_path.glob("kept*"))
    assert call(f"{line} --json") == dry
    assert len(list(tmp_path.glob("kept*"))) == 1
    assert "is there already" in call(line)


def test_a_batch_is_thinned_and_its_lines_kept(call, batch, tmp_path):
    report = call("rollouts batch.jsonl --column prompt_id=prompt --keep 2 --drop-flat --to kept.jsonl --json")
    kept = (tmp_path / "kept.jsonl").read_text().splitlines(keepends=True)
    assert set(kept) <= set(batch)
    # p0 is flat; each of the others has one of either reward.
    assert [(json.loads(line)["prompt"], json.loads(line)["reward"]) for line in kept] == [
        (f"p{prompt}", reward) for prompt in range(1, 5) for reward in (1, 0)
    ]
    assert (report["dropped_flat"], report["after"]["mean_variance"]) == (6, 0.25)
    told = call("rollouts batch.jsonl --column prompt_id=prompt --keep 2 --drop-flat --dry-run")
    assert "rollouts: 30, kept 8" in told
    assert "dropped: 6 of flat prompts" in told
    assert "(by text)" in told
    assert "no sample of the policy" in told


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("train-select scores.csv --size 5 --to kept.xlsx", "ending of no table"),
        ("train-select scores.csv --size 5 --to no/kept.csv", "is no folder"),
        ("train-select scores.csv --size 50 --to kept.csv", "--size 50 is not between 1 and the 40"),
        ("rollouts batch.jsonl --to kept.parquet", "cannot go to kept.parquet"),
        ("rollouts scores.csv --to kept.csv", "cannot go to kept.csv"),
        ("rollouts batch.jsonl --to kept.jsonl", "no column 'prompt_id'.* --column"),
    ],
)
def test_mistakes_are_told_in_one_line(call, scores, batch, line, text):
    told = call(line)
    assert re.search(text, told), told


@pytest.mark.parametrize(
    "line",
    [
        "train-select scores.csv --size 5",
        "rollouts batch.jsonl",
        "train-select scores.csv --size 5 --to a.csv --kept b.jsonl",
        "train-select scores.csv --size 5 --to a.csv --column value",
        "train-select scores.csv --size 5 --to a.csv --column score=value",
        "train-select scores.csv --size 5 --to a.csv --seed 9999999999",
    ],
)
def test_options_that_do_not_fit_are_refused(call, scores, batch, line):
    call(line, 2)
