"""Splits of models into sources and held-out ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compression.importers.base import BadPool
from compression.splits import random_splits, weak_to_strong

pytestmark = pytest.mark.filterwarnings("error")

families_of_models = st.lists(st.integers(0, 7), min_size=2, max_size=24).filter(lambda codes: len(set(codes)) > 1)


def pool(matrix_of, means):
    """Ten questions on which each model has the same score."""
    return matrix_of(np.tile(np.asarray(means, dtype=float), (10, 1)))


def ladder(matrix_of, models):
    return pool(matrix_of, np.linspace(0.1, 0.9, models))


def gaps_of(models, imputed):
    """Gaps in the first question of a ladder."""
    gaps = np.zeros((10, models), dtype=bool)
    gaps[0, list(imputed)] = True
    return gaps


def drawn(matrix, codes, count=10, seed=0, share=0.4):
    return list(random_splits(matrix, np.asarray(codes), count, np.random.default_rng(seed), share))


@given(codes=families_of_models, seed=st.integers(0, 99), share=st.sampled_from([0.1, 0.4, 0.9]))
def test_each_model_is_on_one_side_and_no_family_on_both(matrix_of, codes, seed, share):
    matrix, codes = ladder(matrix_of, len(codes)), np.array(codes)
    for split in [*drawn(matrix, codes, 3, seed, share), weak_to_strong(matrix, codes, share)]:
        assert sorted([*split.sources, *split.held_out]) == list(range(len(codes)))
        assert len(split.sources)
        assert len(split.held_out)
        assert not set(codes[split.sources]) & set(codes[split.held_out])


@pytest.mark.parametrize(("models", "held_out"), [(2, 1), (3, 1), (5, 2), (20, 8), (33, 13)])
def test_two_fifths_of_models_that_are_no_kin_are_held_out(matrix_of, models, held_out):
    matrix = ladder(matrix_of, models)
    assert {len(split.held_out) for split in drawn(matrix, np.arange(models))} == {held_out}


def test_families_fill_what_is_held_out_without_exceeding_it(matrix_of):
    codes = np.repeat(np.arange(8), [6, 3, 3, 2, 2, 2, 1, 1])
    sizes = [len(split.held_out) for split in drawn(ladder(matrix_of, 20), codes, 50)]
    assert max(sizes) == 8
    assert min(sizes) >= 6


def test_the_smallest_family_is_held_out_where_all_are_too_large(matrix_of):
    split = drawn(ladder(matrix_of, 12), np.repeat([0, 1], [7, 5]), 1)[0]
    assert split.held_out.tolist() == list(range(7, 12))


def test_every_family_comes_to_be_held_out_and_the_seed_decides(matrix_of):
    matrix, codes = ladder(matrix_of, 10), np.arange(10)
    first, again, other = (drawn(matrix, codes, 12, seed) for seed in (1, 1, 2))
    held_out = [split.held_out.tolist() for split in first]
    assert held_out == [split.held_out.tolist() for split in again]
    assert held_out != [split.held_out.tolist() for split in other]
    assert {model for chosen in held_out for model in chosen} == set(range(10))


def test_imputed_models_and_their_families_are_sources(matrix_of):
    matrix = replace(ladder(matrix_of, 6), gaps=gaps_of(6, [5]))
    codes = np.array([0, 1, 2, 3, 4, 4])
    for split in [*drawn(matrix, codes, 30), weak_to_strong(matrix, codes)]:
        assert {4, 5} <= set(split.sources.tolist())


class TestWeakToStrong:
    def test_the_strongest_are_held_out(self, matrix_of):
        matrix = pool(matrix_of, [0.9, 0.2, 0.5, 0.1, 0.8])
        split = weak_to_strong(matrix, np.arange(5))
        assert split.held_out.tolist() == [0, 4]

    def test_a_family_is_as_strong_as_its_members_on_average(self, matrix_of):
        matrix = pool(matrix_of, [0.9, 0.1, 0.6, 0.6, 0.3])
        assert weak_to_strong(matrix, np.array([0, 0, 1, 1, 2])).held_out.tolist() == [2, 3]

    def test_no_source_is_stronger_than_what_is_held_out(self, matrix_of):
        """The strongest family has more models than should be held out; weaker ones must not stand in for it."""
        matrix = pool(matrix_of, [0.9, 0.9, 0.9, 0.5, 0.1])
        split = weak_to_strong(matrix, np.array([0, 0, 0, 1, 2]))
        assert split.held_out.tolist() == [0, 1, 2]
        matrix = pool(matrix_of, [0.9, 0.7, 0.7, 0.7, 0.1])
        assert weak_to_strong(matrix, np.array([0, 1, 1, 1, 2])).held_out.tolist() == [0]


@pytest.mark.parametrize(
    ("models", "codes", "imputed", "told"),
    [
        (1, [0], (), "holds one model: nothing can be held out"),
        (4, [3, 3, 3, 3], (), r"one family of models \(--family FILE"),
        (3, [0, 1, 2], [0, 1, 2], "only models with imputed scores"),
    ],
)
def test_where_nothing_can_be_held_out_the_error_says_why(matrix_of, models, codes, imputed, told):
    matrix = replace(ladder(matrix_of, models), gaps=gaps_of(models, imputed))
    with pytest.raises(BadPool, match=told):
        drawn(matrix, codes)
    with pytest.raises(BadPool, match=told):
        weak_to_strong(matrix, np.array(codes))
