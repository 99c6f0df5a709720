"""The picture of a cost-benefit curve."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from compression.curve import curve
from compression.curve_plot import BadPicture, curve_picture, form_of
from compression.curve_values import Curve
from compression.validate import Protocol


@pytest.fixture(scope="module")
def found(matrix_of, latent_scores) -> Curve:
    families = [f"f{place}" for place in range(8)]
    matrix = matrix_of(latent_scores(400, 8, 5), families=families)
    return curve(matrix, ["cghs"], [20, 60, 100, 200, 300], Protocol(splits=3, repeats=3), moes=[0.05])


def words_of(picture: bytes) -> list[str]:
    root = ElementTree.fromstring(picture.decode())
    return ["".join(one.itertext()).strip() for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_words_of_the_picture(found):
    words = words_of(curve_picture(found))
    chosen = found.of("cghs")
    assert "made: 400 questions, 8 models" in words
    assert {"random", "cghs", "questions", "share of the pool", "100%"} <= set(words)
    assert any(word.startswith("margin of error (half the 95% interval)") for word in words)
    assert f"knee: {chosen.knee.size} questions ({chosen.knee.rate:.1%}), ±{100 * chosen.knee.margin:.2f}" in words
    assert f"±5: {chosen.needed[0].size}, random {chosen.needed[0].random_size}" in words
    assert "points with bars: 3 draws a split, mean and 10% to 90%" in words


def test_words_of_the_picture_in_chinese(found):
    words = words_of(curve_picture(found, language="zh"))
    assert {"random", "cghs", "题目数", "占题库的比例", "made：400 道题，8 个模型"} <= set(words)
    assert any(word.startswith("拐点：") for word in words)
    assert not any(
        re.search(r"[a-z]{4}", word) for word in words if word not in {"random", "cghs"} and "made" not in word
    )


def test_without_repeats_and_margins_nothing_is_said_of_them(matrix_of, latent_scores):
    matrix = matrix_of(latent_scores(400, 8, 5), families=[f"f{place}" for place in range(8)])
    words = words_of(curve_picture(curve(matrix, ["random"], [20, 100], Protocol(splits=1, repeats=0))))
    assert not any("draws" in word or "±5" in word for word in words)
    assert "random" in words


def test_random_is_dashed_and_the_others_are_not(found):
    root = ElementTree.fromstring(curve_picture(found).decode())
    styles = [
        one.get("style", "")
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        if group.get("id") == "legend_1"
        for one in group.iter("{http://www.w3.org/2000/svg}path")
    ]
    lines = [style for style in styles if "stroke-width: 1.8" in style]
    assert ["stroke-dasharray" in style for style in lines] == [True, False]


@pytest.mark.parametrize("form", ["svg", "png"])
def test_same_curve_same_bytes(found, form):
    again = Curve.model_validate_json(found.model_dump_json())
    assert curve_picture(found, form) == curve_picture(again, form)


def test_png_is_a_picture_with_ink(found):
    image = Image.open(io.BytesIO(curve_picture(found, "png")))
    assert image.format == "PNG"
    assert image.size[0] > 1000
    pixels = np.asarray(image.convert("RGB"), dtype=int)
    # The blue of the first sampler, and the grey of random.
    for colour in ((0x00, 0x72, 0xB2), (0x77, 0x77, 0x77)):
        assert (np.abs(pixels - colour).max(axis=2) < 8).sum() > 500


def test_names_of_pools_are_text_and_no_formula(found):
    words = words_of(curve_picture(found.model_copy(update={"pool": "a $b$ <c> & d"})))
    assert "a $b$ <c> & d: 400 questions, 8 models" in words


def test_a_curve_without_margins_is_drawn(matrix_of):
    matrix = matrix_of(np.ones((100, 5)), families="abcde")
    words = words_of(curve_picture(curve(matrix, ["random"], [10, 50], Protocol(splits=2, repeats=2))))
    assert not any(word.startswith("knee") for word in words)


@pytest.mark.parametrize(("name", "form"), [("a.svg", "svg"), ("b/c.PNG", "png")])
def test_form_by_ending(name, form):
    assert form_of(Path(name)) == form


@pytest.mark.parametrize("name", ["a.pdf", "svg", "a.svg.gz"])
def test_other_endings_are_refused(name):
    with pytest.raises(BadPicture, match=r"\.svg or \.png"):
        form_of(Path(name))


def test_chinese_png_needs_a_font(found, monkeypatch):
    from matplotlib import font_manager

    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    with pytest.raises(BadPicture, match="Noto Sans CJK"):
        curve_picture(found, "png", "zh")
