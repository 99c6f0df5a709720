"""Subsets: weights, estimates with their intervals over many draws, and files."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from compression.estimate_new import estimate_models
from compression.frame import make_frame
from compression.importers.base import BadPool
from compression.samplers import SAMPLERS
from compression.select import Selection, select
from compression.subset import Interval, SubsetSample, draw_sample, estimate

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.usefixtures("environment_once")]

BENCHMARKS = np.repeat([0, 1, 2, 3], [30, 120, 200, 250])
# 60 groups of three questions, most of them of two benchmarks.
GROUPS = [f"g{place % 60}" if place < 180 else None for place in range(600)]
SOURCES, HELD_OUT = np.arange(0, 14, 2), np.arange(1, 14, 2)
STRATIFIED = ("random", "random+greg", "benchmark", "cghs", "fused", "neyman", "fused+greg", "neyman+greg", "adaptive")


@pytest.fixture(scope="module")
def matrix(matrix_of, latent_scores):
    """14 models on 600 questions of four benchmarks of unequal size and difficulty."""
    return matrix_of(latent_scores(600, 14, seed=8, benchmark_of=BENCHMARKS), BENCHMARKS)


@pytest.fixture(scope="module")
def sources(matrix):
    return matrix.of_models(SOURCES)


@pytest.fixture(scope="module")
def groups_file(matrix, tmp_path_factory):
    rows = [f"{question},{group}" for question, group in zip(matrix.question_ids, GROUPS, strict=True) if group]
    path = tmp_path_factory.mktemp("labels") / "groups.csv"
    path.write_text("\n".join(["question_id,twin", *rows]) + "\n")
    return path


def chosen(matrix, **settings):
    families = {model: model for model in matrix.models}
    return select(matrix, "test", Selection(**{"name": "s", "families": families, "rate": 0.15} | settings))


def places(matrix, sample):
    """Where the subset's questions stand in the matrix."""
    place_of = {question: place for place, question in enumerate(matrix.question_ids)}
    return np.array([place_of[question] for question in sample.question_ids])


def held_out(matrix, subset):
    """Estimates of the models that the subset was not made of."""
    scores = matrix.scores[places(matrix, subset.sample)][:, HELD_OUT].astype(float)
    return estimate(subset.manifest, subset.sample, matrix.of_models(HELD_OUT).models, scores)


def numbers(intervals):
    return np.array([(one.value, one.low, one.high) for one in intervals], dtype=float)


@pytest.mark.parametrize("sampler", [*STRATIFIED, "anchor"])
class TestEverySampler:
    def test_estimates_are_weighted_sums(self, sources, sampler):
        subset = chosen(sources, sampler=sampler)
        sample = subset.sample
        assert sample.weights.sum() == pytest.approx(1)
        scores = sources.scores[places(sources, sample)].astype(float)
        assert [one.micro.value for one in subset.estimates] == pytest.approx((sample.weights @ scores).tolist())
        assert [one.truth for one in subset.estimates] == pytest.approx(sources.scores.mean(axis=0).tolist())
        assert subset.manifest.kept == len(sample) == len(set(sample.question_ids)) == 90

    def test_of_everything_the_estimates_are_exact(self, matrix, sampler):
        subset = chosen(matrix, rate=1.0, sampler=sampler)
        for place, one in enumerate(subset.estimates):
            means = [matrix.scores[code == BENCHMARKS, place].mean(dtype=float) for code in range(4)]
            assert one.micro.value == pytest.approx(one.truth)
            if sampler == "anchor":
                assert (one.micro.low, one.macro.value) == (None, None)
                continue
            assert (one.micro.low, one.micro.high) == (pytest.approx(one.truth), pytest.approx(one.truth))
            assert [part.value for part in one.benchmarks] == pytest.approx(means)
            assert [part.low for part in one.benchmarks] == pytest.approx(means)
            assert [one.macro.low, one.macro.value, one.macro.high] == pytest.approx([np.mean(means)] * 3)

    def test_bounds_stand_in_order_between_0_and_1(self, matrix, sampler):
        for size in (1, 2, 5, 30):
            for one in held_out(matrix, chosen(matrix.of_models(SOURCES), rate=None, size=size, sampler=sampler)):
                for found in (one.micro, one.macro, *one.benchmarks):
                    assert (found.low is None) == (found.high is None)
                    assert found.low is not None or found.reason
                    if found.low is not None:
                        assert 0 <= found.low <= found.high <= 1
                        assert found.low <= max(0, min(found.value, 1)) <= found.high


@pytest.mark.parametrize("together", [None, GROUPS])
@pytest.mark.parametrize("sampler", ["random", "fused+greg", "neyman+greg", "benchmark"])
def test_over_many_draws_estimates_are_unbiased_and_intervals_hold(matrix, sources, groups_file, sampler, together):
    """Micro, macro, and each benchmark; the smallest has 4 or 5 questions in the subset, and a strong model is mostly
    right on all of them. Groups hold one question or three, of several benchmarks."""
    draws = 120
    scores = matrix.scores[:, HELD_OUT].astype(float)
    means = [scores[code == BENCHMARKS].mean(axis=0) for code in range(4)]
    truth = np.stack([scores.mean(axis=0), np.mean(means, axis=0), *means])
    frame = make_frame(sources, np.arange(len(SOURCES)), together=together)
    plan = SAMPLERS[sampler].load().plan(frame, round(0.15 * len(frame)), 0)
    settings = {} if together is None else {"labels": groups_file, "together": "twin"}
    subset = chosen(sources, sampler=sampler, **settings)
    found = []
    for draw in range(draws):
        drawn = plan.draw(np.random.default_rng(draw))
        sample, _ = draw_sample(sources, frame, drawn.units, plan.labels[drawn.units], drawn.weights)
        again = replace(subset, sample=sample)
        found.append([numbers((one.micro, one.macro, *one.benchmarks)) for one in held_out(matrix, again)])
    value, low, high = np.moveaxis(np.array(found), 3, 0)
    truth = truth.T[None]
    held = np.where(np.isnan(low), np.nan, (low - 1e-9 <= truth) & (truth <= high + 1e-9))
    coverage = np.nanmean(held, axis=(0, 1))
    # 840 intervals of 120 samples: what errs together counts as one, and .95 is known to .02 or so.
    assert (coverage > 0.92).all(), coverage
    assert coverage[0] < 0.98
    assert np.isnan(low).mean() < 0.01
    error = np.nanmean(value - truth, axis=1)
    standard = np.nanstd(error, axis=0) / math.sqrt(draws)
    # A mean of a ratio has a bias of the order 1 / its number of questions.
    assert (np.abs(np.nanmean(error, axis=0)) < 4 * standard + [0, 0.005, 0.02, 0.005, 0.005, 0.005]).all()


class TestFormulas:
    @pytest.fixture
    def subset(self, sources):
        return chosen(sources, sampler="fused", rate=0.3)

    def test_a_benchmark_is_a_ratio_with_its_linearised_error(self, matrix, subset):
        """Särndal, Swensson and Wretman 1992, 5.6 and 10.5, written out stratum by stratum."""
        manifest, sample = subset.manifest, subset.sample
        rows = places(matrix, sample)
        degrees = sum(one.drawn - 1 for one in manifest.strata)
        quantile = stats.t.ppf(0.975, degrees)
        for model, one in zip(HELD_OUT, held_out(matrix, subset), strict=True):
            scores, inside = matrix.scores[rows, model].astype(float), BENCHMARKS[rows] == 3
            weights = sample.weights
            ratio = (weights * scores)[inside].sum() / weights[inside].sum()
            variance = 0.0
            for number, stratum in enumerate(manifest.strata):
                here = sample.stratum_of == number
                linear = np.where(inside, scores - ratio, 0)[here] * (600 / 250)
                share, rate = stratum.units / 600, stratum.drawn / stratum.units
                variance += share**2 * (1 - rate) / stratum.drawn * linear.var(ddof=1)
            found = one.benchmarks[3]
            assert found.value == pytest.approx(ratio)
            # 75 questions and more in the benchmark: Student's interval, unless Wilson's reaches further.
            assert found.low <= ratio - quantile * math.sqrt(variance) + 1e-9
            assert found.high >= ratio + quantile * math.sqrt(variance) - 1e-9
            assert found.high - found.low == pytest.approx(2 * quantile * math.sqrt(variance), rel=0.12)

    def test_few_answers_have_wilsons_interval(self, matrix_of):
        """A model that is right on all of 6 of 60 questions of a benchmark, and on half of another."""
        scores = np.tile([[1.0], [0.0]], (60, 2))
        scores[:60] = 1
        pool = matrix_of(scores, np.repeat([0, 1], [60, 60]))
        for seed in range(5):
            subset = chosen(pool, sampler="random", rate=None, size=12, seed=seed)
            one, kept = subset.estimates[0], subset.manifest.benchmarks[0].kept
            assert 0 < kept < 12
            quantile = stats.t.ppf(0.975, 11)
            # All right: Wilson's lower bound is n / (n + t^2), n being corrected for the tenth that is drawn.
            answers = kept / (1 - 12 / 120)
            value = one.micro.value
            efficiency = max(1.0, (value * (1 - value) * 0.9 / 12) / variance_of_mean(subset, pool))
            expected = answers * efficiency / (answers * efficiency + quantile**2)
            assert one.benchmarks[0].value == 1
            assert one.benchmarks[0].high == 1
            assert one.benchmarks[0].low == pytest.approx(expected)

    def test_macro_is_the_mean_of_benchmarks_and_their_errors_add_up(self, matrix, subset):
        for one in held_out(matrix, subset):
            value, low, high = numbers(one.benchmarks).T
            assert one.macro.value == pytest.approx(value.mean())
            if (low > 0).all():
                assert one.macro.low == pytest.approx(value.mean() - math.hypot(*(value - low)) / 4, abs=1e-3)
            if (high < 1).all():
                assert one.macro.high == pytest.approx(value.mean() + math.hypot(*(high - value)) / 4, abs=1e-3)

    def test_benchmarks_that_err_together(self, matrix_of, latent_scores, tmp_path):
        """Two benchmarks with the same questions, each beside its twin: both err as one does."""
        scores = np.tile(latent_scores(200, 5, seed=3), (2, 1))
        pool = matrix_of(scores, np.repeat([0, 1], 200))
        file = tmp_path / "twins.csv"
        file.write_text("question_id,twin\n" + "".join(f"{q},{n % 200}\n" for n, q in enumerate(pool.question_ids)))
        subset = chosen(pool, sampler="random", rate=0.3, labels=file, together="twin")
        for one in subset.estimates:
            assert one.macro.value == pytest.approx(one.micro.value)
            assert one.macro.high - one.macro.low == pytest.approx(one.micro.high - one.micro.low, rel=0.1)

    def test_right_on_everything_is_not_certain(self, matrix_of, latent_scores):
        scores = latent_scores(200, 5, seed=1)
        scores[:, 2] = 1
        subset = chosen(matrix_of(scores), sampler="random", rate=None, size=20)
        found = subset.estimates[2].micro
        effective = 20 / (1 - 20 / 200)
        assert (found.value, found.high) == (pytest.approx(1), 1)
        assert found.low == pytest.approx(effective / (effective + stats.t.ppf(0.975, 19) ** 2))


def variance_of_mean(subset, pool):
    scores = pool.scores[places(pool, subset.sample), 0].astype(float)
    return (1 - 12 / 120) * scores.var(ddof=1) / 12


class TestUndefined:
    def test_a_benchmark_without_a_question_has_a_reason(self, matrix, sources):
        subset = chosen(sources, sampler="random", rate=None, size=4, seed=0)
        empty = [code for code, one in enumerate(subset.manifest.benchmarks) if not one.kept]
        assert empty
        for one in held_out(matrix, subset):
            assert one.micro.low is not None
            for code in empty:
                assert one.benchmarks[code] == Interval(value=None, reason="no question in the subset")
            assert one.macro == Interval(value=None, reason="a benchmark has no question in the subset")

    def test_one_draw_has_a_value_without_bounds(self, matrix, sources):
        for one in held_out(matrix, chosen(sources, rate=None, size=1)):
            assert one.micro.value is not None
            assert (one.micro.low, one.micro.high) == (None, None)
            assert "a single question" in one.micro.reason

    def test_baselines_say_that_they_have_no_interval(self, matrix, sources):
        for one in held_out(matrix, chosen(sources, sampler="anchor")):
            assert one.micro.value is not None
            assert {one.micro.reason, one.macro.reason} == {"this sampler has no valid interval"}

    def test_scores_of_other_questions_are_refused(self, sources):
        subset = chosen(sources)
        with pytest.raises(BadPool, match="89 scores for a subset of 90 questions"):
            estimate(subset.manifest, subset.sample, ["m"], np.zeros((89, 1)))


class TestNewModels:
    @pytest.mark.parametrize("sampler", STRATIFIED)
    @pytest.mark.parametrize("groups", [False, True])
    def test_the_subset_alone_says_what_the_whole_design_says(self, matrix, sources, groups_file, sampler, groups):
        settings, together = {}, None
        if groups:
            together = GROUPS
            settings = {"labels": groups_file, "together": "twin"}
        subset = chosen(sources, sampler=sampler, rate=0.2, **settings)
        frame = make_frame(sources, np.arange(len(SOURCES)), together=together)
        plan = SAMPLERS[sampler].load().plan(frame, subset.manifest.sizes[0], 0)
        drawn = plan.draw(np.random.default_rng(0))
        found = plan.estimate(drawn, frame.values(matrix.scores[:, HELD_OUT])[drawn.units])
        new = estimate_models(subset.manifest, subset.sample, matrix.of_models(HELD_OUT))
        assert not new.incomplete
        scores = matrix.scores[places(matrix, subset.sample)][:, HELD_OUT].astype(float)
        assert subset.sample.weights @ scores == pytest.approx(found.value)
        assert new.beside == 600 - len(subset.sample)
        value, low, high = numbers([one.micro for one in new.models]).T
        assert value == pytest.approx(found.value)
        assert low == pytest.approx(np.clip(found.value - found.margin, 0, 1))
        assert high == pytest.approx(np.clip(found.value + found.margin, 0, 1))
        assert all(one.truth is None for one in new.models)

    def test_groups_of_one_size(self, matrix_of, latent_scores, tmp_path):
        """All units then have the same size, which predicts nothing."""
        pool = matrix_of(latent_scores(200, 8, seed=2))
        file = tmp_path / "pairs.csv"
        file.write_text("question_id,pair\n" + "".join(f"{q},{n // 2}\n" for n, q in enumerate(pool.question_ids)))
        sources = pool.of_models(np.arange(4))
        subset = chosen(sources, sampler="random+greg", rate=0.5, labels=file, together="pair")
        frame = make_frame(sources, np.arange(4), together=[str(place // 2) for place in range(200)])
        plan = SAMPLERS["random+greg"].load().plan(frame, 50, 0)
        drawn = plan.draw(np.random.default_rng(0))
        found = plan.estimate(drawn, frame.values(pool.scores[:, 4:])[drawn.units])
        new = estimate_models(subset.manifest, subset.sample, pool.of_models(np.arange(4, 8)))
        assert [one.micro.value for one in new.models] == pytest.approx(found.value.tolist())

    def test_models_that_lack_an_answer_are_told_and_not_filled_in(self, matrix, sources):
        subset = chosen(sources)
        rows = places(matrix, subset.sample)
        scores = matrix.scores.copy()
        scores[rows[:3], 1] = np.nan
        beside = np.setdiff1d(np.arange(600), rows)
        scores[beside, 3] = np.nan
        found = estimate_models(subset.manifest, subset.sample, replace(matrix, scores=scores))
        assert found.incomplete == (("m001", 3),)
        assert "m001" not in [one.model for one in found.models]
        whole = estimate_models(subset.manifest, subset.sample, matrix)
        expected = [one for one in whole.models if one.model != "m001"]
        assert [one.model for one in found.models] == [one.model for one in expected]
        # Sums of fewer columns may round otherwise.
        assert numbers(one.micro for one in found.models) == pytest.approx(numbers(one.micro for one in expected))

    def test_a_question_that_nobody_answered_lacks_for_all(self, matrix, sources):
        subset = chosen(sources)
        rows = places(matrix, subset.sample)
        rest = matrix.of_questions(np.setdiff1d(np.arange(600), rows[-1:]))
        found = estimate_models(subset.manifest, subset.sample, rest)
        assert found.models == ()
        assert found.incomplete == tuple((model, 1) for model in matrix.models)
        assert found.beside == 510

    def test_the_order_of_questions_is_of_no_account(self, matrix, sources):
        subset = chosen(sources)
        shuffled = matrix.of_questions(np.random.default_rng(1).permutation(600))
        assert estimate_models(subset.manifest, subset.sample, shuffled) == estimate_models(
            subset.manifest, subset.sample, matrix
        )

    def test_scores_of_another_pool_are_refused(self, matrix, sources):
        subset = chosen(sources)
        with pytest.raises(BadPool, match=r"no score for any question of 's'; one of them is 'q\d+' of 'b\d'"):
            estimate_models(subset.manifest, subset.sample, replace(matrix, benchmarks=("w", "x", "y", "z")))


@pytest.mark.parametrize("sampler", ["adaptive", "random", "anchor"])
def test_a_sample_is_read_as_it_was_written(sources, sampler):
    subset = chosen(sources, sampler=sampler)
    again = SubsetSample.read(subset.data, subset.manifest)
    assert again.question_ids == subset.sample.question_ids
    for name in ("benchmark_of", "unit_of", "stratum_of", "weights", "predictors"):
        assert np.array_equal(getattr(again, name), getattr(subset.sample, name)), name
    assert again.write(subset.manifest) == subset.data
    assert again.questions(subset.manifest)[0] == ("b" + str(again.benchmark_of[0]), again.question_ids[0])
