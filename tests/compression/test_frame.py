from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compression.design import Design
from compression.frame import make_frame, share_to_size
from compression.importers.base import BadPool

pytestmark = pytest.mark.filterwarnings("error")

SCORES = np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1], [1, 1]])


class TestUnits:
    def test_without_groups_a_unit_is_a_question(self, frame_of):
        frame = frame_of(SCORES, [0, 0, 1, 1, 1, 1])
        assert (len(frame), frame.question_count) == (6, 6)
        assert frame.unit_of.tolist() == list(range(6))
        assert frame.sources.tolist() == frame.values(SCORES).tolist() == SCORES.tolist()
        assert frame.predictors.tolist() == SCORES.tolist()
        assert frame.main_benchmark.tolist() == [0, 0, 1, 1, 1, 1]
        assert not frame.fixed.any()

    def test_groups_by_hand(self, frame_of):
        frame = frame_of(SCORES, [0, 0, 1, 1, 1, 1], together=[None, "z", "a", "z", "a", "z"])
        # Units in the order of their first question: q0; z of 1, 3, 5; a of 2, 4.
        assert frame.unit_of.tolist() == [0, 1, 2, 1, 2, 1]
        assert frame.sizes.tolist() == [1, 3, 2]
        assert frame.sources == pytest.approx(np.array([[1, 0], [2 / 3, 1 / 3], [1 / 2, 1]]))
        assert frame.unit_sums(SCORES).tolist() == [[1, 0], [2, 1], [1, 2]]
        # Values: sums times 3 units / 6 questions.
        assert frame.values(SCORES).tolist() == [[0.5, 0], [1, 0.5], [0.5, 1]]
        assert frame.benchmark_shares(np.arange(3)) == pytest.approx(np.array([[1, 0], [1 / 3, 2 / 3], [0, 1]]))
        assert frame.main_benchmark.tolist() == [0, 1, 1]
        # Units differ in size, so the size is one more predictor.
        assert frame.predictors == pytest.approx(np.array([[0.5, 0, 0.5], [1, 0.5, 1.5], [0.5, 1, 1]]))

    def test_names_of_groups_are_never_taken_for_a_question(self, frame_of):
        frame = frame_of(SCORES, together=["q000000000001", None, "000000000001", "q000000000001", "0", ""])
        assert frame.unit_of.tolist() == [0, 1, 2, 0, 3, 4]

    def test_a_group_is_fixed_with_any_of_its_questions(self, frame_of):
        frame = frame_of(SCORES, together=[None, "z", "a", "z", "a", None], fixed=np.arange(6) == 3)
        assert frame.fixed.tolist() == [False, True, False, False]

    def test_members_of_a_family_are_one_predictor(self, frame_of):
        frame = frame_of(np.array([[1, 0, 1], [0, 1, 1]]), families=[7, 3, 7])
        assert frame.predictors.tolist() == [[0, 1], [1, 0.5]]

    def test_only_sources_are_known(self, frame_of):
        frame = frame_of(SCORES, families=[4, 2], sources=np.array([1]))
        assert (frame.sources.tolist(), frame.families.tolist()) == (SCORES[:, [1]].tolist(), [2])

    @given(
        st.lists(st.one_of(st.none(), st.sampled_from("abcd")), min_size=1, max_size=12),
        st.integers(0, 2**32 - 1),
    )
    def test_the_mean_over_units_is_the_mean_over_questions(self, frame_of, together, seed):
        scores = np.random.default_rng(seed).integers(0, 5, (len(together), 3)) / 4
        frame = frame_of(scores, together=together)
        assert frame.values(scores).mean(axis=0) == pytest.approx(scores.mean(axis=0))
        assert frame.sizes.sum() == len(together)
        assert frame.predictors[:, :3].mean(axis=0) == pytest.approx(scores.mean(axis=0))


def test_groups_of_unequal_size_are_estimated_without_bias(frame_of, all_samples):
    rng = np.random.default_rng(0)
    together = ["a", "a", "a", "b", "b", None, None, None, "c", "c", "c", "c"]
    scores = rng.random((12, 3))
    frame = frame_of(scores, together=together)
    values = frame.values(scores)
    design = Design(frame, np.array([0, 0, 0, 1, 1, 1]), np.array([2, 2]))
    found = np.array([design.estimate(sample, values[sample.units]).value for sample in all_samples(design)])
    assert len(found) == 9
    assert found.mean(axis=0) == pytest.approx(scores.mean(axis=0))
    assert found.var(axis=0) == pytest.approx(design.design_variance(values))


class TestSize:
    @pytest.mark.parametrize(
        ("rate", "size", "units", "expected"),
        [
            (0.1, None, 8000, 800),
            (0.1, None, 4, 1),
            (1.0, None, 7, 7),
            (None, 7, 7, 7),
            (None, 1, 1, 1),
            (1e-9, None, 9, 1),
        ],
    )
    def test_by_hand(self, rate, size, units, expected):
        assert share_to_size(rate, size, units) == expected

    @pytest.mark.parametrize(
        ("rate", "size", "text"),
        [
            (None, None, "either --rate"),
            (0.1, 3, "either --rate"),
            (0.0, None, "--rate 0 is no share"),
            (1.01, None, r"--rate 1\.01 is no share"),
            (-0.1, None, "is no share"),
            (float("nan"), None, "is no share"),
            (None, 0, "--size 0 is not between 1 and the pool's 10"),
            (None, 11, "--size 11 is not between 1 and the pool's 10"),
        ],
    )
    def test_what_is_no_size_is_refused(self, rate, size, text):
        with pytest.raises(BadPool, match=text):
            share_to_size(rate, size, 10)


class TestFilledScores:
    def test_the_sources_alone_say_what_is_filled_in(self, matrix_of):
        """The held-out model's answers must not reach its own prediction through a filled gap of a source."""
        scores = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], dtype=np.float32)
        gaps = np.zeros(scores.shape, dtype=bool)
        gaps[4, 0] = True
        families, sources = np.arange(4), np.array([0, 1, 2])
        for held_out in (0.0, 1.0):
            told = np.where(np.arange(4) == 3, held_out, scores)
            matrix = replace(matrix_of(told), gaps=gaps)
            frame = make_frame(matrix, families, sources)
            # The others got it wrong, like questions 2 and 3, where model 0 was wrong.
            assert frame.sources[4].tolist() == [0.0, 0.0, 0.0]
