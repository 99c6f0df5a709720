"""`interplay compress curve`, as people and programs call it."""

import csv
from pathlib import Path

import pytest
import typer

from compression.curve_cli import register

MODELS = 8


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    register(app)
    return app


@pytest.fixture
def file(latent_scores, tmp_path) -> Path:
    scores = latent_scores(120, MODELS, 5)
    path = tmp_path / "zoo.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["benchmark", "question_id", "model", "score"])
        for question, row in enumerate(scores):
            writer.writerows(["zoo", f"q{question:03}", f"m{model}", score] for model, score in enumerate(row))
    return path


@pytest.fixture
def families(tmp_path) -> Path:
    path = tmp_path / "families.csv"
    path.write_text("model,family\n" + "".join(f"m{place},f{place // 2}\n" for place in range(MODELS)))
    return path


def test_curve_of_a_file_without_a_project(app, file, call_command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    told = call_command(app, ["curve", str(file), "--splits", "2", "--repeats", "2", "--moe", "0.05", "--json"])
    assert told["pool"] == "zoo"
    assert (told["questions"], told["models"], told["splits"], told["repeats"]) == (120, MODELS, 2, 2)
    assert [one["sampler"] for one in told["samplers"]] == ["random", "cghs", "adaptive"]
    assert told["chosen"] == "adaptive"
    by_chance, _, chosen = told["samplers"]
    assert [point["size"] for point in chosen["points"]] == [24, 36, 60, 90]
    assert chosen["needed"][0]["random_size"] == by_chance["needed"][0]["size"]
    assert chosen["knee"]["size"] > 24
    assert len(chosen["repeated"]) == 2


def test_table_and_sentences(app, file, call_command):
    asked = ["curve", str(file), "--sampler", "cghs", "--splits", "2", "--repeats", "2", "--moe", "0.05"]
    more = ["--rate", "0.25", "--rate", "0.5", "--rate", "0.2", "--answer-cost-usd", "0.5"]
    told = call_command(app, [*asked, *more, "--json"])
    shown = call_command(app, [*asked, *more])
    chosen, (needed,) = told["samplers"][1], told["samplers"][1]["needed"]
    assert "zoo: 120 questions, 8 models" in shown
    rows = [line.split() for line in shown.splitlines() if line.strip().startswith(("20.0%", "25.0%", "50.0%"))]
    assert [row[:3] for row in rows] == [
        ["20.0%", "24", "$96.00"],
        ["25.0%", "30", "$120.00"],
        ["50.0%", "60", "$240.00"],
    ]
    for row, point, by_chance in zip(rows, chosen["points"], told["samplers"][0]["points"], strict=True):
        assert [row[3], row[6]] == [f"{by_chance['margin']:.4f}", f"{point['margin']:.4f}"]
        assert row[9:11] == [f"{point['gain']:.4f}", str(point["random_size"])]
    assert "1% more of the pool: questions 1, answers of all 8 models 8, $4.00; what it gains" in shown
    assert f"cghs {chosen['knee']['size']} questions" in shown
    assert f"margin 0.05: cghs needs {needed['size']} questions" in shown
    assert f"random {needed['random_size']}; random needs" in shown
    assert "coverage" in shown


def test_without_repeats_nothing_is_drawn(app, file, call_command):
    shown = call_command(app, ["curve", str(file), "--sampler", "random", "--rate", "0.5", "--repeats", "0"])
    assert "coverage" not in shown
    assert "margin of error" in shown


def test_pool_of_the_project(app, file, call_command, workspace):
    from compression.importers.base import Reading
    from compression.pool_import import import_pool

    import_pool(workspace, [file], "mine", Reading())
    asked = ["--sampler", "random", "--rate", "0.5", "--json"]
    told = call_command(app, ["curve", "mine", *asked, "--project", str(workspace.project.root)])
    assert told["samplers"] == call_command(app, ["curve", str(file), *asked])["samplers"]


def test_families_are_held_out_whole(app, file, families, call_command):
    told = call_command(
        app, ["curve", str(file), "--sampler", "random", "--rate", "0.5", "--family", str(families), "--json"]
    )
    assert sorted(told["families"]) == [["m0", "m1"], ["m2", "m3"], ["m4", "m5"], ["m6", "m7"]]
    assert all(count % 2 == 0 for count in told["held_out"])


def test_missing_scores_by_rule(app, file, call_command):
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("zoo,q000,m0,")))
    asked = ["curve", str(file), "--sampler", "random", "--rate", "0.5"]
    assert "questions left out, for lack of a model's score: 1" in call_command(app, asked)
    told = call_command(app, [*asked, "--missing", "drop-models", "--json"])
    assert (told["questions"], told["models"]) == (120, MODELS - 1)
    assert told["missing"]["dropped_models"] == ["m0"]


@pytest.mark.parametrize("name", ["curve.svg", "curve.png"])
def test_picture(app, file, call_command, tmp_path, name):
    picture = tmp_path / name
    asked = ["curve", str(file), "--sampler", "random", "--rate", "0.5", "--rate", "0.2", "--plot", str(picture)]
    assert f"picture: {picture}" in call_command(app, asked)
    assert picture.read_bytes().startswith(b"<?xml" if name.endswith("svg") else b"\x89PNG")


def test_picture_in_chinese(app, file, call_command, tmp_path):
    picture = tmp_path / "curve.svg"
    asked = ["curve", str(file), "--sampler", "random", "--rate", "0.5", "--plot", str(picture), "--language", "zh"]
    call_command(app, asked)
    assert "题目数" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "1.5"], "no share in (0, 1]"),
        (["--rate", "0"], "no share in (0, 1]"),
        (["--rate", "1"], "below all 120 questions"),
        (["--sampler", "rendom"], "did you mean 'random'"),
        (["--sampler", "anchor"], "no margin of error in closed form"),
        (["--moe", "2"], "--moe 2 is not between 0 and 1"),
        (["--plot", "curve.pdf"], ".svg or .png"),
        (["--plot", "nowhere/curve.svg"], "nowhere"),
    ],
)
def test_mistakes(app, file, call_command, arguments, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert words in call_command(app, ["curve", str(file), *arguments], code=2)


def test_unknown_file_and_a_file_of_one_model(app, file, call_command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if "m0" in line or "model" in line))
    assert "nothing can be held out" in call_command(app, ["curve", str(file)])
