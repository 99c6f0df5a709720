"""The contract of every filter of materials."""

import json
from pathlib import Path

import numpy as np
import pytest

from core.content import MediaRef
from curation.filters.catalogue import filters
from curation.filters.described import Described, Rules, Said
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.filters.verdict import Drop, DropClass, Keep
from curation.filters.views import Film, Picture, Sound

NOISE = np.random.default_rng(0)
REF = MediaRef(sha256="1" * 64, media_type="audio/wav", modality="audio", byte_count=9, duration_s=1.0)


def film(duration_s: float, brightest: list[float], changed: list[float], size: tuple[int, int] = (64, 48)) -> Film:
    values = [np.array(row, np.float32) for row in (brightest, changed, changed, changed)]
    return Film(duration_s, *size, 9_000, *values)


VIEWS = {
    "image": [
        Picture(640, 480, NOISE.uniform(0, 255, (480, 512)).astype(np.float32)),
        Picture(1, 1, np.zeros((1, 1), np.float32)),
        Picture(4000, 2, np.full((1, 512), 255, np.float32)),
    ],
    "audio": [
        Sound(2.0, 16_000, NOISE.uniform(-0.5, 0.5, (1, 32_000)).astype(np.float32)),
        Sound(0.001, 8_000, np.zeros((2, 8), np.float32)),
        Sound(0.001, 8_000, np.ones((1, 1), np.float32)),
        Sound(1.0, 48_000, np.ones((1, 48_000), np.float32)),
        Sound(1.0, 100, NOISE.uniform(-0.5, 0.5, (6, 100)).astype(np.float32)),
    ],
    "video": [
        film(2.0, [240] * 8, [0, *[0.7] * 7]),
        film(0.0, [0], [0]),
        film(60.0, [3] * 240, [0] * 240),
        film(1.0, [200] * 4, [0, 1, 1, 1], size=(8000, 8000)),
    ],
    "any": [
        Described(REF),
        Described(REF, licences=(None, "CC-BY-ND-4.0", ""), captions=("a dog",), rules=Rules(("zh",))),
        Described(REF, ("CC-BY-ND-4.0",), (Said(9.0, "en", "well"), Said(0.0)), "speech", "", (), Rules(("zh",))),
        Described(REF, ("CC0-1.0",), (), "speech", "Nobody is allowed to open that door.", (), Rules(("fr", "zh"))),
    ],
}


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in filters()])
def test_a_filter_keeps_or_drops_for_a_reason(entry):
    kind = entry.name.partition("-")[0]
    judge = entry.load()
    assert entry.fingerprint == f"{entry.name}@{entry.version}"
    for view in VIEWS[kind]:
        verdict = judge(view, DEFAULT_THRESHOLDS)
        assert verdict == judge(view, DEFAULT_THRESHOLDS)
        assert isinstance(verdict, Keep | Drop)
        # Plain JSON, neither infinite nor undefined; what is not defined says why.
        assert json.loads(json.dumps(dict(verdict.measures), allow_nan=False)) == dict(verdict.measures)
        if isinstance(verdict, Drop):
            assert verdict.reason
            assert verdict.measure
            assert verdict.drop_class in DropClass


def test_every_filter_names_a_kind_with_views():
    assert {entry.name.partition("-")[0] for entry in filters()} == set(VIEWS)


def test_every_filter_of_ours_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "materials.md").read_text()
    ours = [entry.name for entry in filters() if entry.target.startswith("curation.")]
    assert [name for name in ours if f"`{name}`" not in page] == []
