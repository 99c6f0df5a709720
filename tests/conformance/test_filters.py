"""The contract of every filter of materials."""

import numpy as np
import pytest

from curation.filters.catalogue import filters
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.filters.verdict import Drop, DropClass, Keep
from curation.filters.views import Film, Picture, Sound

NOISE = np.random.default_rng(0)
VIEWS = {
    "image": [
        Picture(640, 480, NOISE.uniform(0, 255, (480, 512)).astype(np.float32)),
        Picture(1, 1, np.zeros((1, 1), np.float32)),
        Picture(4000, 2, np.full((1, 512), 255, np.float32)),
    ],
    "audio": [
        Sound(2.0, 16_000, NOISE.uniform(-0.5, 0.5, (1, 32_000)).astype(np.float32)),
        Sound(0.001, 8_000, np.zeros((2, 8), np.float32)),
        Sound(1.0, 48_000, np.ones((1, 48_000), np.float32)),
    ],
    "video": [
        Film(2.0, np.full(8, 240, np.float32), np.arange(8, dtype=np.float32) * 30),
        Film(0.01, np.zeros(1, np.float32), np.zeros(1, np.float32)),
        Film(60.0, np.full(240, 3, np.float32), np.zeros(240, np.float32)),
    ],
}


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in filters()])
def test_a_filter_keeps_or_drops_for_a_reason(entry):
    modality = entry.name.partition("-")[0]
    judge = entry.load()
    assert entry.fingerprint == f"{entry.name}@{entry.version}"
    for view in VIEWS[modality]:
        verdict = judge(view, DEFAULT_THRESHOLDS)
        assert verdict == judge(view, DEFAULT_THRESHOLDS)
        assert isinstance(verdict, Keep | Drop)
        assert all(not np.isnan(value) for value in verdict.measures.values())
        if isinstance(verdict, Drop):
            assert verdict.reason
            assert verdict.measure
            assert verdict.drop_class in DropClass


def test_every_filter_names_a_modality_with_views():
    assert {entry.name.partition("-")[0] for entry in filters()} == set(VIEWS)
