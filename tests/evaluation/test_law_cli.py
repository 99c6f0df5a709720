"""`interplay law ...` and the picture of the law."""

import json
import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from evaluation.law.cli import NoScores, app
from evaluation.law.figure import law_picture
from evaluation.law.fit import fit_law, predict
from evaluation.law.forms import SYMMETRIC
from evaluation.law.points import NotAShare, law_points

VISUAL = dict(zip(range(2, 9), (0.3, 0.33, 0.45, 0.49, 0.62, 0.66, 0.81), strict=True))
SCORES = {f"model {n}": (n / 10, v, 0.2 + 0.6 * (n / 10 * v) ** 1.5 + (-1) ** n / 100) for n, v in VISUAL.items()}


def call(*words, **more):
    return CliRunner().invoke(app, list(words), catch_exceptions=False, **more)


def texts(svg):
    return [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_published_table_gives_the_published_law():
    document = json.loads(call("fit", "--published", "--resamples", "10", "--json").stdout)
    fit = document["fits"]["symmetric"]
    found = {name: round(value, 5) for name, value in fit["parameters"].items()}
    assert found == {"C": 1.03318, "alpha": 2.19182, "b": 0.24217}
    assert (round(fit["r2"], 5), round(fit["rmse"], 5)) == (0.97587, 0.02167)
    assert len(document["points"]) == 9


def test_people_read_every_form_and_what_failed():
    said = call("fit", "--published", "--resamples", "20").stdout
    for form in ("symmetric", "generalised", "linear_interaction", "weighted_sum", "weighted_sum_bounded", "linear"):
        assert form in said
    assert "w_audio 0.0000 (at its bound)" in said
    assert "20 resamples, seed 0; " in said
    assert "correlation of audio and visual: 0.9805" in said


def test_a_prediction_comes_in_the_unit_of_the_scores(tmp_path):
    said = call("predict", "--published", "--audio", "80.2", "--visual", "67.06").stdout
    assert said.startswith("omni 50.7%, 95% prediction interval 43.3% to 58.2% (symmetric law, 9 models)")
    path = tmp_path / "scores.csv"
    path.write_text("model,audio,visual,omni\n" + "".join(f"{m},{a},{v},{o}\n" for m, (a, v, o) in SCORES.items()))
    said = call("predict", str(path), "--audio", "0.95", "--visual", "0.95", "--form", "linear").stdout
    assert said.startswith("omni 0.")
    assert "(linear law, 7 models)" in said
    assert "outside that of the fitted models" in said


def test_a_score_in_the_other_unit_is_refused():
    with pytest.raises(NotAShare, match="percentages from 0 to 100"):
        call("predict", "--published", "--audio", "0.8", "--visual", "67")


@pytest.mark.parametrize("words", [["fit"], ["fit", "scores.csv", "--published"]])
def test_scores_come_from_one_place(words):
    with pytest.raises(NoScores):
        call(*words)


def test_results_are_written_where_asked(tmp_path):
    call("fit", "--published", "--resamples", "10", "--to", str(tmp_path / "law"))
    call(
        "predict", "--published", "--audio", "80", "--visual", "67", "--name", "new one", "--to", str(tmp_path / "new")
    )
    assert json.loads((tmp_path / "law" / "law.json").read_text())["correlation"] > 0.9
    assert "Gemini-2.5-Pro" in texts((tmp_path / "law" / "law.svg").read_bytes())
    assert json.loads((tmp_path / "new" / "prediction.json").read_text())["within"]
    assert "new one" in texts((tmp_path / "new" / "prediction.svg").read_bytes())


def test_the_picture_names_every_model_and_is_the_same_each_time():
    scores = {f"{name} $x$": row for name, row in SCORES.items()}
    law = fit_law(law_points(scores), resamples=5)
    new = predict(law.fits["symmetric"], SYMMETRIC, law.points, 0.6, 0.6)
    drawn = law_picture(law, new, "newcomer")
    assert set(scores) | {"newcomer"} <= set(texts(drawn))
    assert drawn == law_picture(law, new, "newcomer")
    assert drawn != law_picture(law)


def test_the_picture_shows_measured_intervals():
    bare = fit_law(law_points(SCORES), resamples=0)
    near = {model: {"omni": (omni - 0.02, omni + 0.02)} for model, (_, _, omni) in SCORES.items()}
    measured = fit_law(law_points(SCORES, near), resamples=0)
    assert len(ET.fromstring(law_picture(measured)).findall(".//*")) > len(
        ET.fromstring(law_picture(bare)).findall(".//*")
    )
