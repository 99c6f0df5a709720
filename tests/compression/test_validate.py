"""The protocol of `compress validate` on simulated pools."""

import json
import math

import numpy as np
import pytest

from compression.importers.base import BadPool
from compression.samplers import DEFAULT_SAMPLER
from compression.splits import random_splits
from compression.validate import STANDARD, Protocol, try_out, validate
from compression.validity import Trials
from core.errors import UnknownName

pytestmark = pytest.mark.filterwarnings("error")

# Coverage of intervals that err together: a dozen splits x 8 models of one sample are far from independent.
COVERAGE = 0.04


def kin(matrix):
    """Each model a family of its own."""
    return {model: model for model in matrix.models}


@pytest.fixture(scope="module")
def matrix(matrix_of, latent_scores):
    """20 models on 800 questions of three benchmarks, whose scores have structure."""
    benchmark_of = np.repeat([0, 1, 2], [100, 300, 400])
    return matrix_of(latent_scores(800, 20, seed=5, benchmark_of=benchmark_of), benchmark_of)


@pytest.fixture(scope="module")
def result(matrix):
    names = ("benchmark", "cghs", "fused", DEFAULT_SAMPLER)
    return validate(matrix, 0.1, names=names, protocol=Protocol(splits=5, repeats=60, seed=3), families=kin(matrix))


@pytest.fixture(scope="module")
def by_name(result):
    return {one.sampler: one for one in result.samplers}


def test_the_document_has_what_programs_look_for(result):
    document = json.loads(json.dumps(result.model_dump(mode="json"), allow_nan=False))
    assert document["default"] == DEFAULT_SAMPLER
    for one in document["samplers"]:
        assert {"sampler", "srcc", "plcc", "rmse", "moe", "cic"} <= one.keys()
        assert all(isinstance(one[name], float) for name in ("srcc", "plcc", "rmse", "moe", "cic"))
    assert (document["size"], document["questions"], document["models"]) == (80, 800, 20)
    assert document["held_out"] == [8] * 5
    assert [one["sampler"] for one in document["weak_to_strong"]] == [one["sampler"] for one in document["samplers"]]


def test_random_has_the_variance_of_a_mean_without_replacement(matrix, by_name):
    """Cochran's (1 - f) S^2 / n, from the scores of the held-out models of the same splits."""
    rng = np.random.default_rng(3)
    splits = random_splits(matrix, np.arange(20), 5, rng)
    scores = matrix.scores.astype(float)
    variances = [(1 - 80 / 800) * scores[:, split.held_out].var(axis=0, ddof=1).mean() / 80 for split in splits]
    assert by_name["random"].design_rmse == pytest.approx(math.sqrt(np.mean(variances)))


def test_what_is_drawn_errs_as_the_closed_form_says(by_name):
    for one in by_name.values():
        # 300 draws whose models err together: the mean square is known to a tenth or so.
        assert one.rmse == pytest.approx(one.design_rmse, rel=0.15), one.sampler


def test_intervals_hold_the_truth(by_name):
    for one in by_name.values():
        assert one.cic == pytest.approx(0.95, abs=COVERAGE), one.sampler
        assert one.moe == pytest.approx(1.99 * one.design_rmse, rel=0.1)
        assert abs(one.bias) < 4 * one.design_rmse / math.sqrt(300)


def test_samplers_that_know_the_structure_are_better_than_random(by_name):
    beside = by_name["random"].design_rmse
    assert by_name[DEFAULT_SAMPLER].design_rmse < 0.9 * beside
    assert by_name["benchmark"].design_rmse < beside
    assert by_name[DEFAULT_SAMPLER].moe < 0.9 * by_name["random"].moe
    for one in by_name.values():
        assert one.srcc > 0.9 and one.plcc > 0.9 and one.sign_agreement > 0.85


def test_weak_to_strong_is_not_biased(result):
    for one in result.weak_to_strong:
        assert abs(one.bias) < 4 * one.bias_error, one.sampler


@pytest.mark.parametrize("names", [("cghs",), ("cghs", "random"), ("cghs", "cghs")])
def test_random_is_always_beside(matrix, names):
    found = validate(matrix, None, 40, names, Protocol(splits=1, repeats=2))
    assert [one.sampler for one in found.samplers] == ["random", "cghs"]


def test_the_standard_has_the_default_and_the_papers_sampler():
    assert {DEFAULT_SAMPLER, "cghs", "random"} <= set(STANDARD)


def test_the_same_again_and_another_with_another_seed(matrix):
    first, again, other = (
        validate(matrix, 0.05, names=("fused",), protocol=Protocol(splits=2, repeats=3, seed=seed))
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.samplers != other.samplers


def test_of_a_full_sample_everything_is_exact(matrix):
    found = validate(matrix, 1.0, names=STANDARD, protocol=Protocol(splits=2, repeats=2), families=kin(matrix))
    for one in found.samplers:
        assert one.rmse == pytest.approx(0, abs=1e-9), one.sampler
        assert (one.design_rmse, one.moe, one.cic) == (0, 0, 1)
        assert (one.srcc, one.plcc, one.sign_agreement) == (pytest.approx(1), pytest.approx(1), 1)
        assert one.notes == ()


def test_families_are_told_and_never_straddle(matrix):
    told = {model: ("a" if place < 5 else model) for place, model in enumerate(matrix.models)}
    found = validate(matrix, 0.1, names=(), protocol=Protocol(splits=3, repeats=1), families=told)
    assert found.families == (matrix.models[:5],)


@pytest.mark.parametrize(
    ("rate", "size", "told"),
    [
        (0.0, None, "no share in"),
        (-0.1, None, "no share in"),
        (1.1, None, "no share in"),
        (math.nan, None, "no share in"),
        (math.inf, None, "no share in"),
        (None, 0, "not between 1 and"),
        (None, -3, "not between 1 and"),
        (None, 801, "not between 1 and the pool's 800"),
        (None, None, "either --rate"),
        (0.1, 80, "either --rate"),
    ],
)
def test_a_share_that_is_none_is_refused(matrix, rate, size, told):
    with pytest.raises(BadPool, match=told):
        validate(matrix, rate, size, ("random",), Protocol(1, 1))


def test_an_unknown_sampler_is_refused_with_the_nearest(matrix):
    with pytest.raises(UnknownName, match="did you mean 'fused"):
        validate(matrix, 0.1, names=("fuzed",))
    with pytest.raises(UnknownName, match="did you mean 'm0"):
        validate(matrix, 0.1, names=("random",), families={"m00": "x"})


class TestWhatIsUndefined:
    def by_name(self, matrix, rate=None, size=None, names=("random", DEFAULT_SAMPLER), repeats=3):
        found = validate(matrix, rate, size, names, Protocol(splits=2, repeats=repeats), kin(matrix))
        json.dumps(found.model_dump(mode="json"), allow_nan=False)
        return found

    def test_one_held_out_model_has_no_correlation(self, matrix):
        for one in self.by_name(matrix.of_models(np.array([0, 9])), 0.1).samplers:
            assert (one.srcc, one.srcc_sd, one.plcc, one.sign_agreement) == (None,) * 4
            assert "undefined in 6 of 6 draws: one model is held out" in one.notes[0]
            assert one.rmse > 0

    def test_models_of_one_mean_have_none_either(self, matrix_of):
        """Each model is right on another half, so that sums of scores come in another order."""
        rng = np.random.default_rng(0)
        scores = np.array([rng.permutation([0.1, 0.9, 0.3, 0.7] * 15) for _ in range(6)]).T
        for one in self.by_name(matrix_of(scores), 0.5).samplers:
            assert (one.srcc, one.plcc, one.sign_agreement) == (None, None, None)
            assert "have one mean" in one.notes[0]

    def test_models_that_all_estimates_agree_on(self, matrix_of):
        """They differ on one question of 200, which a sample of 4 hardly ever has."""
        scores = np.tile([[1.0], [0.0]], (100, 10))
        scores[0] = np.linspace(0, 1, 10)
        found = self.by_name(matrix_of(scores), size=4, names=("random",)).samplers[0]
        assert any("correlations are undefined in" in note for note in found.notes)
        assert found.srcc is None

    @pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
    def test_scores_that_never_vary(self, matrix_of, score):
        for one in self.by_name(matrix_of(np.full((60, 6), score)), 0.2, names=STANDARD).samplers:
            assert one.rmse == pytest.approx(0, abs=1e-9)
            assert (one.srcc, one.plcc) == (None, None)
            assert one.cic == 1

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_too_few_draws_for_a_margin(self, matrix, size):
        found = self.by_name(matrix, size=size, names=("random", "benchmark", DEFAULT_SAMPLER))
        for one in found.samplers:
            assert (one.moe is None) == (one.cic is None)
            assert (one.moe is None) == any("too few draws" in note for note in one.notes)
        assert (found.samplers[0].moe is None) == (size == 1)

    def test_baselines_have_no_interval(self, matrix):
        small = matrix.of_questions(np.arange(0, 800, 8))
        for one in self.by_name(small, size=20, names=("anchor", "irt")).samplers[1:]:
            assert not one.has_interval
            assert (one.moe, one.cic, one.design_rmse) == (None, None, None)
            assert any("no valid interval" in note for note in one.notes)

    def test_one_draw_leaves_the_error_of_the_bias_open(self, matrix):
        found = validate(matrix, 0.1, names=("random",), protocol=Protocol(splits=1, repeats=1))
        assert found.weak_to_strong[0].bias_error is None
        assert found.samplers[0].srcc_sd is None


@pytest.mark.parametrize("questions", [4, 9, 20])
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_tiny_pools(matrix, questions, rate):
    chosen = matrix.of_questions(np.linspace(0, 799, questions).astype(int))
    found = validate(chosen, rate, names=STANDARD, protocol=Protocol(splits=2, repeats=3))
    json.dumps(found.model_dump(mode="json"), allow_nan=False)
    assert all(0 <= one.rmse <= 1 for one in found.samplers)


def test_a_benchmark_of_three_questions_and_models_that_know_all_or_nothing(matrix_of, latent_scores):
    scores = latent_scores(203, 12, seed=9)
    scores[:, 0], scores[:, 5], scores[:, 11] = 0, 1, 0.5
    found = validate(
        matrix_of(scores, np.repeat([0, 1], [200, 3])), 0.1, names=STANDARD, protocol=Protocol(splits=3, repeats=5)
    )
    assert all(one.moe is not None and one.cic > 0.7 for one in found.samplers)


def test_try_out_adds_one_split(matrix, frame_of):
    from compression.samplers import SAMPLERS

    scores = matrix.scores.astype(float)
    frame = frame_of(scores, matrix.benchmark_of, sources=np.arange(12))
    plan = SAMPLERS["random"].load().plan(frame, 80, 0)
    trials = Trials()
    try_out(trials, plan, frame.values(scores[:, 12:]), (0, 0), 7)
    assert [one.shape for one in (trials.errors[0], trials.margins[0], trials.design[0])] == [(7, 8), (2, 7, 8), (8,)]
    truth = scores[:, 12:].mean(axis=0)
    drawn = plan.draw(np.random.default_rng([0, 0, 6])).units
    assert trials.errors[0][6] == pytest.approx(scores[drawn][:, 12:].mean(axis=0) - truth)
