"""The compositional law: published fits, SciPy's own curve_fit, hand calculations, and the laws that fits obey."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import curve_fit

from core.errors import UnknownName
from evaluation.law.fit import ConstantColumn, NoFit, TooFewModels, fit_form, fit_law, predict
from evaluation.law.forms import FORMS, SYMMETRIC, find_form
from evaluation.law.points import (
    BadLawFile,
    DuplicateModel,
    LawPoint,
    MixedUnits,
    NotAShare,
    law_points,
    read_points,
)

# UNO-Bench, Table 2: audio, visual, omni-modal multiple choice.
UNO = {
    "Qwen-2.5-Omni-3B": (0.544, 0.4267, 0.278),
    "MiniCPM-O-2.6": (0.565, 0.4227, 0.286),
    "Ming-lite-Omni-1.5": (0.583, 0.4628, 0.289),
    "Baichuan-Omni-1.5": (0.541, 0.4466, 0.297),
    "Qwen-2.5-Omni-7B": (0.602, 0.5068, 0.326),
    "Qwen-3-Omni-30B-A3B": (0.794, 0.6329, 0.421),
    "Gemini-2.0-Flash": (0.707, 0.6276, 0.449),
    "Gemini-2.5-Flash": (0.795, 0.6954, 0.543),
    "Gemini-2.5-Pro": (0.884, 0.7867, 0.709),
}
AUDIO, VISUAL, OMNI = np.array(list(UNO.values())).T
# Fits of Table 2 made apart from this code. (parameters), R2, adjusted R2, RMSE, RMSE by degrees of freedom, AICc.
APART = {
    "symmetric": (
        {"C": 1.0331785360, "alpha": 2.1918175623, "b": 0.2421709696},
        (0.9758670240, 0.9678226987, 0.0216657943, 0.0265350705, -50.9763701061),
    ),
    "generalised": (
        {"C": 1.3261354354, "alpha_audio": -1.5852946776, "alpha_visual": 5.0853246506, "b": 0.2354215410},
        (0.9985914742, 0.9977463588, 0.0052342152, 0.0070224366, -64.5456904608),
    ),
    "linear": (
        {"b": -0.1504962787, "w_audio": -0.3701721979, "w_visual": 1.4334595821},
        (0.9453845525, 0.9271794034, 0.0325931941, 0.0399183473, -43.6257320674),
    ),
    "linear_interaction": (
        {"b": 0.9689950648, "w_audio": -2.0126412196, "w_visual": -0.5872265601, "w_both": 2.8501040169},
        (0.9951879242, 0.9923006788, 0.0096746531, 0.0129799092, -53.4884260541),
    ),
    "weighted_sum": (
        {"C": 1.2921905707, "w_audio": -0.3511552959, "alpha": 3.5169570214, "b": 0.2360425206},
        (0.9985735206, 0.9977176329, 0.0052674683, 0.0070670503, -64.4316977424),
    ),
}


def points(scores=UNO):
    return law_points(scores)


@pytest.fixture(scope="module")
def law():
    """The law of UNO-Bench, without an interval of alpha."""
    return fit_law(points(), resamples=0)


def power_law(product, scale, alpha, floor):
    return scale * product**alpha + floor


@pytest.mark.parametrize("name", APART)
def test_forms_agree_with_fits_made_apart(name):
    parameters, statistics = APART[name]
    fit = fit_form(find_form(name), points())
    assert {key: fit.parameters[key] for key in parameters} == pytest.approx(parameters, rel=1e-6)
    found = (fit.r2, fit.adjusted_r2, fit.rmse, fit.rmse_dof, fit.aicc)
    assert found == pytest.approx(statistics, rel=1e-8)


def test_the_published_weighted_sum_is_that_of_a_weight_bounded_to_0_and_1():
    fit = fit_form(find_form("weighted_sum_bounded"), points())
    published = {"C": 1.1922, "alpha": 3.8326, "b": 0.2362, "w_audio": 0.0}
    assert {key: fit.parameters[key] for key in published} == pytest.approx(published, abs=5e-5)
    assert (round(fit.r2, 4), round(fit.rmse, 4)) == (0.9947, 0.0102)
    # Published weights are -0.20 and 1.20: they belong neither to this fit nor to the free one.
    assert fit.parameters["w_visual"] == 1.0
    assert fit.errors["w_audio"] is None
    assert fit.note == "at its bound: w_audio"


def test_parameters_and_standard_errors_are_those_of_curve_fit():
    found, covariance = curve_fit(power_law, AUDIO * VISUAL, OMNI, p0=(1, 1, 0), xtol=1e-12, ftol=1e-12)
    fit = fit_form(SYMMETRIC, points())
    assert [fit.parameters[name] for name in ("C", "alpha", "b")] == pytest.approx(found, rel=1e-6)
    errors = np.sqrt(np.diag(covariance))
    assert [fit.errors[name] for name in ("C", "alpha", "b")] == pytest.approx(errors, rel=1e-4)


def test_leave_one_out_is_that_of_fits_without_each_model():
    product, missed = AUDIO * VISUAL, []
    for out in range(len(product)):
        kept = np.arange(len(product)) != out
        found, _ = curve_fit(power_law, product[kept], OMNI[kept], p0=(1, 2, 0.2))
        missed.append(OMNI[out] - power_law(product[out], *found))
    q2 = 1 - np.sum(np.square(missed)) / np.sum((OMNI - OMNI.mean()) ** 2)
    assert fit_form(SYMMETRIC, points()).q2 == pytest.approx(q2, rel=1e-5)


def test_a_new_model_is_predicted_with_its_interval():
    # LongCat-Flash-Omni: audio 0.802, visual 0.6706; its omni-modal score was 0.499.
    fit = fit_form(SYMMETRIC, points())
    found = predict(fit, SYMMETRIC, points(), 0.802, 0.6706)
    product = 0.802 * 0.6706
    assert found.omni == pytest.approx(1.03318 * product**2.19182 + 0.24217, abs=1e-5)
    best, covariance = curve_fit(power_law, AUDIO * VISUAL, OMNI, p0=(1, 2, 0.2))
    scale, alpha, _ = best
    gradient = np.array([product**alpha, scale * product**alpha * math.log(product), 1])
    noise = np.sum((OMNI - power_law(AUDIO * VISUAL, *best)) ** 2) / 6
    reach = stats.t.ppf(0.975, 6) * math.sqrt(noise + gradient @ covariance @ gradient)
    assert (found.low, found.high) == pytest.approx((found.omni - reach, found.omni + reach), abs=1e-5)
    assert found.low < 0.499 < found.high
    assert found.within
    assert not predict(fit, SYMMETRIC, points(), 0.9, 0.9).within


def test_where_a_form_has_no_value_there_is_no_prediction():
    form = find_form("generalised")
    with pytest.raises(NoFit, match=r"no value at audio 0 and visual 0\.5: a score of 0 allows no negative exponent"):
        predict(fit_form(form, points()), form, points(), 0.0, 0.5)


@settings(max_examples=8, deadline=None)
@given(scale=st.floats(0.2, 0.7), alpha=st.floats(0.4, 5.0), floor=st.floats(0.0, 0.3))
def test_a_law_without_noise_is_found(scale, alpha, floor):
    omni = power_law(AUDIO * VISUAL, scale, alpha, floor)
    scores = {str(at): row for at, row in enumerate(zip(AUDIO, VISUAL, omni, strict=True))}
    fit = fit_form(SYMMETRIC, points(scores))
    found = [fit.parameters[name] for name in ("C", "alpha", "b")]
    assert found == pytest.approx([scale, alpha, floor], rel=1e-3, abs=1e-4)
    assert fit.r2 == pytest.approx(1)


@pytest.mark.parametrize(
    ("form", "parameters", "law"),
    [
        ("generalised", {"C": 0.8, "alpha_audio": 0.7, "alpha_visual": 2.0, "b": 0.1}, lambda a, v: 0.8 * a**0.7 * v**2 + 0.1),
        ("weighted_sum", {"C": 0.7, "w_audio": 0.3, "alpha": 2.5, "b": 0.1}, lambda a, v: 0.7 * (0.3 * a + 0.7 * v) ** 2.5 + 0.1),
        ("weighted_sum_bounded", {"C": 0.7, "w_audio": 0.3, "alpha": 2.5}, lambda a, v: 0.7 * (0.3 * a + 0.7 * v) ** 2.5 + 0.1),
        ("linear", {"b": 0.1, "w_audio": 0.5, "w_visual": 0.2}, lambda a, v: 0.1 + 0.5 * a + 0.2 * v),
        ("linear_interaction", {"b": 0.1, "w_audio": 0.3, "w_both": 0.4}, lambda a, v: 0.1 + 0.3 * a + 0.1 * v + 0.4 * a * v),
    ],
)  # fmt: skip
def test_each_form_finds_what_made_the_scores(form, parameters, law):
    grid = [(a, v) for a in (0.2, 0.4, 0.6, 0.9) for v in (0.3, 0.5, 0.8)]
    fit = fit_form(find_form(form), points({f"{a} {v}": (a, v, law(a, v)) for a, v in grid}))
    assert {key: fit.parameters[key] for key in parameters} == pytest.approx(parameters, rel=1e-5)
    assert fit.rmse < 1e-8


def test_the_order_of_models_changes_nothing(law):
    turned = [LawPoint(model=m, audio=a, visual=v, omni=o) for m, (a, v, o) in reversed(UNO.items())]
    assert fit_law(turned, resamples=0) == law
    assert [point.model for point in law.points] == sorted(UNO) != list(UNO)


@settings(max_examples=6, deadline=None)
@given(order=st.permutations(points()))
def test_nor_does_it_for_one_form(law, order):
    linear = find_form("linear")
    assert fit_form(linear, order) == law.fits["linear"]


@settings(max_examples=4, deadline=None)
@given(scale=st.floats(0.3, 1.0))
def test_scaling_a_score_moves_nothing_but_the_scale(law, scale):
    fit = law.fits["symmetric"]
    scaled = fit_form(SYMMETRIC, points({model: (scale * a, v, o) for model, (a, v, o) in UNO.items()}))
    kept = ("alpha", "b")
    assert [scaled.parameters[k] for k in kept] == pytest.approx([fit.parameters[k] for k in kept], rel=1e-5)
    assert scaled.parameters["C"] == pytest.approx(fit.parameters["C"] * scale ** -fit.parameters["alpha"], rel=1e-4)
    assert (scaled.r2, scaled.rmse, scaled.q2) == pytest.approx((fit.r2, fit.rmse, fit.q2), rel=1e-5)


def test_the_interval_of_alpha_is_that_of_refits_and_counts_what_failed():
    law = fit_law(points(), resamples=30, seed=3)
    alphas, few = [], 0
    ordered = np.array([UNO[model] for model in sorted(UNO)])
    for drawn in np.random.default_rng(3).integers(9, size=(30, 9)):
        if len(set(drawn)) < 4:
            few += 1
            continue
        audio, visual, omni = ordered[drawn].T
        tried = []
        for alpha in (-1, 0.5, 2, 6):
            found, _ = curve_fit(power_law, audio * visual, omni, p0=(1, alpha, 0.2), maxfev=20_000)
            tried.append((np.sum((omni - power_law(audio * visual, *found)) ** 2), found[1]))
        alphas.append(min(tried)[1])
    assert law.alpha.failed.get("too few different models", 0) == few
    assert (law.alpha.low, law.alpha.high) == pytest.approx(np.percentile(alphas, [2.5, 97.5]), abs=0.02)
    assert law.alpha.resamples == 30
    again, other = (fit_law(points(), resamples=5, seed=seed).alpha for seed in (3, 4))
    assert fit_law(points(), resamples=5, seed=3).alpha == again != other


def test_an_interval_from_too_few_refits_is_none():
    four = dict(list(UNO.items())[-4:])
    law = fit_law(points(four), resamples=100)
    # Of 256 draws of 4 from 4 only 24 hold all four models.
    assert law.alpha.failed["too few different models"] > 50
    assert law.alpha.low is None
    assert set(law.not_fitted) == {"generalised", "linear_interaction", "weighted_sum", "weighted_sum_bounded"}
    assert "needs at least 5" in law.not_fitted["generalised"]
    assert law.fits["symmetric"].aicc is None
    assert law.fits["symmetric"].q2 is None


def test_what_goes_together_is_told(law):
    assert law.correlation == pytest.approx(stats.pearsonr(AUDIO, VISUAL).statistic)
    assert "go together (r = 0.98)" in law.notes[0]
    assert law.alpha.low is None


def test_measured_scores_bring_a_caveat():
    near = {model: {"audio": (a - 0.03, a + 0.03), "omni": (o - 0.02, o + 0.02)} for model, (a, _, o) in UNO.items()}
    law = fit_law(law_points(UNO, near), resamples=0)
    assert "audio ± 0.030, omni ± 0.020; RMSE of the law 0.022" in law.notes[-1]


@pytest.mark.parametrize(
    ("scores", "error", "said"),
    [
        ({"a": (0.5, 0.5, 0.4), "b": (0.6, 0.4, 0.5), "c": (0.7, 0.5, 0.5)}, TooFewModels, "3 models .* at least 4"),
        ({str(n): (0.5, n / 10, n / 20) for n in range(1, 6)}, ConstantColumn, "audio is 0.5 for every model"),
        ({str(n): (n / 10, n / 10, 0.3) for n in range(1, 6)}, ConstantColumn, "omni is 0.3"),
        ({str(n): (0.1 * n, 0.1 / n, n / 10) for n in range(1, 6)}, ConstantColumn, "audio times visual"),
        ({"a": (54.4, 0.4, 0.3)}, NotAShare, "audio of 'a' is 54.4, which looks like a percentage"),
        ({"a": (0.4, 0.4, -0.1)}, NotAShare, "omni of 'a' is -0.1"),
    ],
)  # fmt: skip
def test_scores_that_allow_no_law_are_refused(scores, error, said):
    with pytest.raises(error, match=said):
        fit_law(points(scores))


def test_a_model_that_stands_twice_is_refused():
    with pytest.raises(DuplicateModel, match=r"'MiniCPM-O-2.6' stands twice"):
        fit_law([*points(), next(one for one in points() if one.model == "MiniCPM-O-2.6")])


def test_a_form_that_the_models_do_not_determine_is_told():
    # Audio = visual: their weights cannot be told apart, the product can be fitted all the same.
    same = {str(n): (n / 10, n / 10, 0.2 + 0.5 * (n / 10) ** 4) for n in range(2, 10)}
    law = fit_law(points(same), resamples=0)
    assert law.fits["symmetric"].parameters["alpha"] == pytest.approx(2)
    assert "do not determine" in law.not_fitted["linear"]
    with pytest.raises(NoFit):
        fit_form(find_form("generalised"), points(same))


def test_an_unknown_form_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'symmetric'"):
        find_form("symetric")
    assert len({form.name for form in FORMS}) == len(FORMS) == 6


CSV = "model,audio,visual,omni\n" + "".join(f"{m},{a},{v},{o}\n" for m, (a, v, o) in UNO.items())
PERCENT_CSV = "model,audio,visual,omni\n" + "".join(
    f"{m},{100 * a:.2f},{100 * v:.2f},{100 * o:.2f}\n" for m, (a, v, o) in UNO.items()
)


@pytest.mark.parametrize(
    ("name", "text", "percent"),
    [
        ("a.csv", CSV, False),
        ("a.csv", PERCENT_CSV, True),
        ("a.csv", PERCENT_CSV.replace("audio,visual,omni", "audio_percent,visual_percent,omni_percent"), False),
        ("a.json", json.dumps([{"model": m, "audio": a, "visual": v, "omni": o} for m, (a, v, o) in UNO.items()]), False),
    ],
)  # fmt: skip
def test_files_are_read_in_either_unit(tmp_path, name, text, percent):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    read, in_percent = read_points(path, percent=percent)
    assert in_percent == (text is not CSV and name == "a.csv")
    for one, other in zip(read, points(), strict=True):
        assert one.model == other.model
        assert (one.audio, one.visual, one.omni) == pytest.approx((other.audio, other.visual, other.omni))


def test_intervals_are_read_beside_the_scores(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("model,audio,visual,omni,omni_low,omni_high\na,50,40,30,27,33\nb,60,50,40,,\n", encoding="utf-8")
    one, other = read_points(path, percent=True)[0]
    assert one.intervals == {"omni": (0.27, 0.33)}
    assert other.intervals == {}


@pytest.mark.parametrize(
    ("text", "percent", "error", "said"),
    [
        (PERCENT_CSV, False, NotAShare, "holds percentages .* add --percent"),
        (PERCENT_CSV + "new,0.5,0.5,0.5\n", False, MixedUnits, "use shares or percentages throughout"),
        (PERCENT_CSV + "new,0.5,0.5,0.5\n", True, MixedUnits, "'new' has none above 1"),
        (CSV, True, MixedUnits, "looks like shares"),
        (PERCENT_CSV + "new,150,50,50\n", True, NotAShare, "audio of 'new' is 150"),
        (CSV.replace("audio", "audio_percent"), False, MixedUnits, "one unit for all three"),
        (CSV + "Gemini-2.5-Pro,0.5,0.5,0.5\n", False, DuplicateModel, "row 10: .* stands twice"),
        (CSV + "new,high,0.5,0.5\n", False, BadLawFile, "row 10: audio is 'high'"),
        (CSV + "new,nan,0.5,0.5\n", False, BadLawFile, "row 10: audio is 'nan'"),
        (CSV + ",0.5,0.5,0.5\n", False, BadLawFile, "row 10 names no model"),
        ("model,audio,visual\na,0.5,0.5\n", False, BadLawFile, "no column 'omni'"),
        ("model,audio,visual,omni\n", False, BadLawFile, "holds no models"),
        ("model,audio,visual,omni,omni_low\na,0.5,0.5,0.4,0.3\n", False, BadLawFile, "omni_low alone"),
        ("model,audio,visual,omni,omni_low,omni_high\na,0.5,0.5,0.4,0.5,0.3\n", False, BadLawFile, "omni_low is above"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_by_what_is_wrong(tmp_path, text, percent, error, said):
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=said):
        read_points(path, percent=percent)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is no JSON"), ('{"a": 1}', "list of objects"), ("\udcff", "cannot be read")]
)
def test_files_that_are_no_tables_are_refused(tmp_path, text, said):
    path = tmp_path / "scores.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadLawFile, match=said):
        read_points(path)
