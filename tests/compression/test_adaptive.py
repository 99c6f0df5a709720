from functools import partial

import numpy as np
import pytest

from compression import adaptive
from compression.adaptive import ADAPTIVE, ALLOCATIONS, BENCHMARK_WEIGHTS, tune
from compression.samplers import FUSED_GREG, RANDOM, RANDOM_GREG, StratifiedSampler
from compression.strata import by_scores_and_benchmark

pytestmark = pytest.mark.filterwarnings("error")

THIRDS = np.repeat([0, 1, 2], [300, 300, 400])


class TestChoice:
    def test_one_benchmark_weighs_nothing(self, frame_of, latent_scores):
        weight, neyman = tune(frame_of(latent_scores(1000, 8, seed=1)), 100, 0)
        assert weight == 0.0
        assert neyman in ALLOCATIONS

    def test_one_family_leaves_nothing_to_learn_from(self, frame_of, latent_scores):
        scores = latent_scores(200, 4, seed=1)
        assert tune(frame_of(scores, families=[5] * 4), 40, 0) == (1.0, None)
        assert tune(frame_of(scores, sources=np.array([2])), 40, 0) == (1.0, None)

    def test_more_is_drawn_where_models_vary_if_that_is_where_left_out_ones_do(self, frame_of):
        # Of four in five every model knows all; the others are coins.
        rng = np.random.default_rng(0)
        scores = np.ones((2000, 8))
        scores[:400] = rng.random((400, 8)) < 0.5
        assert tune(frame_of(scores), 200, 0)[1] is not None

    def test_a_benchmark_that_tells_more_than_scores_weighs_more_than_one_that_tells_nothing(self, frame_of):
        # Each model is good at a few of 12 benchmarks, and two sources do not show which another is good at.
        rng = np.random.default_rng(1)
        benchmark_of = np.arange(2400) % 12
        known = (rng.random((12, 9)) < 0.5)[benchmark_of]
        scores = rng.random((2400, 9)) < np.where(known, 0.9, 0.1)
        telling = tune(frame_of(scores, benchmark_of), 240, 0)[0]
        mute = tune(frame_of(scores, rng.permutation(benchmark_of)), 240, 0)[0]
        assert telling > mute

    def test_it_is_among_the_best_of_its_choices_for_held_out_models(self, frame_of, latent_scores):
        scores = latent_scores(1000, 20, seed=4, benchmark_of=THIRDS)
        frame = frame_of(scores, THIRDS, sources=np.arange(0, 20, 2))
        held_out = scores[:, 1::2]

        def variance(sampler):
            return sampler.plan(frame, 100, 0).design_variance(held_out).mean()

        choices = [
            StratifiedSampler(partial(by_scores_and_benchmark, weight=weight), regression=True, neyman=neyman)
            for weight in BENCHMARK_WEIGHTS
            for neyman in ALLOCATIONS
        ]
        assert variance(ADAPTIVE) < 1.05 * min(variance(one) for one in choices)
        assert variance(ADAPTIVE) < variance(RANDOM_GREG)
        assert variance(ADAPTIVE) < 1.02 * variance(FUSED_GREG)


class TestPlan:
    def test_it_is_the_chosen_stratified_sampler(self, frame_of, latent_scores):
        frame = frame_of(latent_scores(1000, 9, seed=2, benchmark_of=THIRDS), THIRDS)
        weight, neyman = tune(frame, 120, 5)
        stratifier = partial(by_scores_and_benchmark, weight=weight)
        expected = StratifiedSampler(stratifier, regression=True, neyman=neyman).plan(frame, 120, 5)
        found = ADAPTIVE.plan(frame, 120, 5)
        assert (found.labels == expected.labels).all()
        assert (found.draws == expected.draws).all()
        assert found.regression

    @pytest.mark.parametrize(("fixed", "size"), [(0, 10), (290, 295), (298, 300), (299, 300), (300, 300)])
    def test_it_tunes_on_what_is_left_beside_fixed_units(self, frame_of, latent_scores, fixed, size):
        scores = latent_scores(300, 6, seed=2)
        frame = frame_of(scores, fixed=np.arange(300) < fixed)
        assert ADAPTIVE.plan(frame, size, 0).size == size

    def test_fixed_units_do_not_count_in_the_choice(self, frame_of):
        # The free half is as in the test of Neyman's allocation; the fixed are all coins.
        rng = np.random.default_rng(0)
        scores = rng.random((2000, 8)) < np.where(np.arange(2000) < 1200, 0.5, 1.0)[:, None]
        frame = frame_of(scores, fixed=np.arange(2000) < 1000)
        assert tune(frame, 1100, 0) == tune(frame_of(scores[1000:]), 100, 0) != (1.0, None)

    @pytest.mark.parametrize("size", [1, 10, 100, 480, 481, 1000, 2999, 3000])
    def test_of_a_large_pool_it_looks_at_some_units_with_draws_in_each_stratum(
        self, frame_of, latent_scores, monkeypatch, size
    ):
        monkeypatch.setattr(adaptive, "_TUNED_ON", 500)
        frame = frame_of(latent_scores(3000, 12, seed=3))
        # A stratum without a draw would be a division by zero.
        weight, neyman = tune(frame, size, 0)
        assert (weight, neyman) == tune(frame, size, 0)
        assert weight == 0.0
        assert neyman in ALLOCATIONS

    def test_groups_count_with_their_size(self, frame_of):
        # The means of 20 coins vary far less than a coin, but their sums far more: more is to be drawn of the groups.
        scores = np.random.default_rng(0).random((1800, 8)) < 0.5
        together = [f"g{place // 20}" if place < 1200 else None for place in range(1800)]
        frame = frame_of(scores, together=together)
        assert (len(frame), set(frame.sizes)) == (660, {1, 20})
        assert tune(frame, 66, 0)[1] is not None

    def test_a_regression_on_the_size_of_groups(self, frame_of):
        # Groups of 1 and of 19 questions: most of what varies is the size, and the regression on it explains that.
        together = [f"g{place // 20}" if place % 20 else None for place in range(800)]
        scores = np.random.default_rng(0).random((800, 6)) < 0.5
        frame = frame_of(scores, together=together)
        assert sorted(set(frame.sizes)) == [1, 19]
        plan = ADAPTIVE.plan(frame, 40, 0)
        sample = plan.draw(np.random.default_rng(0))
        found = plan.estimate(sample, frame.values(scores)[sample.units])
        assert (np.abs(found.value - scores.mean(axis=0)) < 2 * found.margin).all()
        assert (
            plan.design_variance(frame.values(scores))
            < 0.1 * RANDOM.plan(frame, 40, 0).design_variance(frame.values(scores))
        ).all()
