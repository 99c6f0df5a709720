"""Anchor points and item response theory."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.special import expit, logit
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from compression.baselines import AnchorPlan, IrtPlan, anchor_trust
from compression.importers.base import BadPool
from compression.irt import Items, dimensions_for, fit_items, negative_log_posterior
from compression.samplers import SAMPLERS, Floors

pytestmark = pytest.mark.filterwarnings("error")

NAMES = ("anchor", "irt")


def rng(seed=3):
    return np.random.default_rng(seed)


def plan_of(name, frame, size, seed=0, floors=None):
    return SAMPLERS[name].load().plan(frame, size, seed, floors)


def estimate(plan, frame, scores, seed=3):
    """Estimated means of models by their (questions, models) scores."""
    sample = plan.draw(rng(seed))
    return plan.estimate(sample, frame.values(scores)[sample.units]).value


def two_parameter(questions, abilities, seed, levels=1):
    """Expected and observed scores of models with those (models, dimensions) abilities."""
    made = rng(seed)
    slopes = made.normal(0.8, 0.5, (questions, abilities.shape[1]))
    expected = expit(slopes @ abilities.T + made.normal(0.3, 1.2, (questions, 1)))
    return expected, made.binomial(levels, expected) / levels


class TestAnchor:
    def test_the_middle_of_each_cluster_stands_for_it(self, frame_of):
        frame = frame_of([[0.0], [0.1], [0.23], [1.0], [0.9]])
        sample = plan_of("anchor", frame, 2).draw(rng())
        # Means 0.11 and 0.95, from which 1.0 and 0.9 are equally far.
        assert sample.units.tolist() in ([1, 3], [1, 4])
        assert sample.weights == pytest.approx([0.6, 0.4])

    def test_a_new_model_that_is_constant_in_clusters_is_told_exactly(self, frame_of):
        kinds = np.repeat([0, 1, 2], [30, 50, 20])
        noise = rng().uniform(0, 0.05, (100, 6))
        frame = frame_of(np.array([[0, 0, 0.9], [0.9, 0, 0.9], [0.9, 0.9, 0]])[kinds][:, [0, 1, 2, 0, 1, 2]] + noise)
        plan = plan_of("anchor", frame, 3)
        new = np.array([0.2, 0.7, 0.4])[kinds][:, None]
        assert estimate(plan, frame, new) == pytest.approx(0.3 * 0.2 + 0.5 * 0.7 + 0.2 * 0.4)

    def test_draws_differ_by_ties_alone(self, frame_of, latent_scores):
        without_ties = plan_of("anchor", frame_of(rng().random((60, 5))), 6)
        assert len({tuple(without_ties.draw(rng(seed)).units) for seed in range(10)}) == 1
        with_ties = frame_of(np.repeat(latent_scores(20, 5, 1), 4, axis=0))
        plan = plan_of("anchor", with_ties, 6)
        draws = [plan.draw(rng(seed)).units for seed in range(10)]
        assert len({tuple(units) for units in draws}) > 1
        assert len({tuple(np.sort(plan.distances[units])) for units in draws}) == 1

    def test_fewer_different_units_than_anchors_make_several_of_a_cluster(self, frame_of):
        scores = np.repeat([[0.0], [1.0]], [75, 25], axis=0)
        frame = frame_of(scores)
        sample = plan_of("anchor", frame, 20).draw(rng())
        assert np.bincount(sample.units >= 75).tolist() == [15, 5]
        assert sample.weights == pytest.approx(1 / 20)

    def test_groups_count_by_their_questions(self, frame_of):
        together = ["pair", "pair", None, None, None, None]
        scores = np.array([[1.0], [1.0], [0.9], [0.0], [0.1], [0.0]])
        frame = frame_of(scores, together=together)
        plan = plan_of("anchor", frame, 2)
        new = np.array([[0.6], [0.8], [0.3], [0.1], [0.1], [0.1]])
        picked = plan.draw(rng()).units
        high = 0.7 if 0 in picked else 0.3
        assert estimate(plan, frame, new) == pytest.approx(high / 2 + 0.1 / 2)


class TestSamplers:
    @pytest.mark.parametrize("name", NAMES)
    def test_no_interval_is_claimed(self, name, frame_of, latent_scores):
        frame = frame_of(latent_scores(50, 8, 1))
        plan = plan_of(name, frame, 10)
        sample = plan.draw(rng())
        found = plan.estimate(sample, frame.sources[sample.units])
        assert not SAMPLERS[name].load().has_interval
        assert found.standard_error is None and found.margin is None
        assert found.value.shape == (8,)

    @pytest.mark.parametrize("name", NAMES)
    @settings(max_examples=10, deadline=None)
    @given(size=st.integers(6, 40), seed=st.integers(0, 5), grouped=st.booleans(), levels=st.sampled_from([1, 4]))
    def test_samples_are_sorted_complete_and_of_weight_one(
        self, name, frame_of, latent_scores, size, seed, grouped, levels
    ):
        together = [f"g{place}" if place % 10 < 2 else None for place in range(50)] if grouped else None
        fixed = np.arange(50) % 17 == 0
        frame = frame_of(latent_scores(50, 7, seed, levels), together=together, fixed=fixed)
        plan = plan_of(name, frame, size, seed)
        sample = plan.draw(rng(seed))
        assert plan.size == len(sample.units) == size
        assert (np.diff(sample.units) > 0).all()
        assert set(np.flatnonzero(frame.fixed)) <= set(sample.units)
        # The mean of a model with a score of 1 on each question is 1, whatever the units' sizes.
        assert sample.weights @ frame.values(np.ones((50, 1)))[sample.units] == pytest.approx(1.0)
        if not grouped:
            assert sample.weights.sum() == pytest.approx(1.0)
            assert sample.weights[np.isin(sample.units, np.flatnonzero(fixed))] == pytest.approx(1 / 50)

    @pytest.mark.parametrize("name", NAMES)
    def test_groups_of_several_sizes_are_estimated_exactly_from_all(self, name, frame_of, latent_scores):
        scores = latent_scores(30, 6, 2)
        frame = frame_of(scores, together=["a"] * 5 + ["b"] * 2 + [None] * 23)
        assert estimate(plan_of(name, frame, 25), frame, scores) == pytest.approx(scores.mean(axis=0))

    @pytest.mark.parametrize("name", NAMES)
    def test_the_same_seed_gives_the_same(self, name, frame_of, latent_scores):
        scores = latent_scores(200, 12, 4)
        frame = frame_of(scores)
        once, again, other = (plan_of(name, frame, 20, seed) for seed in (5, 5, 6))
        assert np.array_equal(once.draw(rng()).units, again.draw(rng()).units)
        assert np.array_equal(once.draw(rng()).weights, again.draw(rng()).weights)
        assert np.array_equal(estimate(once, frame, scores), estimate(again, frame, scores))
        assert not np.array_equal(once.draw(rng()).units, other.draw(rng()).units)

    @pytest.mark.parametrize("name", NAMES)
    def test_floors_are_honoured(self, name, frame_of, latent_scores):
        frame = frame_of(latent_scores(100, 8, 3))
        labels = ["rare" if place < 8 else "usual" for place in range(100)]
        plan = plan_of(name, frame, 10, floors=Floors({"kind": labels}, {"kind": 4}))
        sample = plan.draw(rng())
        assert (sample.units < 8).sum() >= 4
        assert sample.weights[sample.units < 8].sum() == pytest.approx(0.08)

    @pytest.mark.parametrize("name", NAMES)
    def test_what_cannot_be_is_refused(self, name, frame_of):
        frame = frame_of(np.zeros((9, 2)), fixed=np.arange(9) < 5)
        with pytest.raises(BadPool, match="5 questions are to be in every sample"):
            plan_of(name, frame, 4)
        many = frame_of(np.zeros((60_000, 1)))
        with pytest.raises(BadPool, match="50000 anchors of 60000 questions are too many"):
            plan_of(name, many, 50_000)
        assert plan_of("anchor", many, 60_000).size == 60_000

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("size", [1, 7, 40])
    @pytest.mark.parametrize(
        "sources",
        [
            pytest.param(np.zeros((40, 3)), id="all wrong"),
            pytest.param(np.ones((40, 1)), id="one source, all right"),
            pytest.param(np.column_stack([np.zeros(40), np.ones(40), np.arange(40) % 2]), id="constant columns"),
            pytest.param((np.arange(40)[:, None] % 3 == 0) * 1.0, id="one source"),
            pytest.param(np.repeat(np.arange(40)[:, None] % 3 == 0, 12, axis=1) * 1.0, id="twelve alike"),
            pytest.param(np.repeat(np.arange(20)[:, None] / 20, 2, axis=0) * [1, 0.5, 0.1], id="continuous"),
        ],
    )
    def test_degenerate_pools_have_an_estimate(self, name, size, sources, frame_of):
        frame = frame_of(sources)
        new = np.column_stack([np.zeros(40), np.ones(40), np.linspace(0, 1, 40)])
        found = estimate(plan_of(name, frame, size), frame, new)
        assert ((found >= -1e-12) & (found <= 1 + 1e-12)).all()
        assert found[0] <= found[2] <= found[1]
        if size == 40:
            assert found == pytest.approx([0, 1, 0.5])

    @pytest.mark.parametrize("name", NAMES)
    def test_a_pool_of_one_question(self, name, frame_of):
        assert estimate(plan_of(name, frame_of([[1.0, 0.0]]), 1), frame_of([[1.0, 0.0]]), np.array([[0.7]])) == 0.7


class TestItems:
    def test_the_objective_by_hand(self):
        parameters = np.array([1.0, -1.0, 0.0, 2.0, 2.0])
        # Logits 2 and 0; slopes of variance 1, easiness 1 / 2 from its mean in prior deviations, ability 2.
        by_hand = np.log1p(np.exp(2)) - 1 + np.log(2) + (1 + 1) / 2 + (0.25 + 0.25) / 2 + 2 * 4 / 2
        loss, _ = negative_log_posterior(parameters, np.full((2, 1), 0.5), np.ones(2), 1)
        assert loss == pytest.approx(by_hand / 2)

    @pytest.mark.parametrize("dimensions", [1, 3])
    def test_the_gradient_is_that_of_the_objective(self, dimensions):
        made = rng()
        scores, weights = made.random((9, 4)), made.integers(1, 5, 9).astype(float)
        start = made.normal(size=9 * dimensions + 9 + 4 * dimensions)
        wrong = check_grad(
            lambda at: negative_log_posterior(at, scores, weights, dimensions)[0],
            lambda at: negative_log_posterior(at, scores, weights, dimensions)[1],
            start,
        )
        assert wrong < 1e-6

    @pytest.mark.parametrize(("dimensions", "levels"), [(1, 1), (2, 1), (1, 5)])
    def test_known_abilities_are_recovered(self, dimensions, levels):
        true = rng(1).normal(size=(60, dimensions))
        expected, scores = two_parameter(500, true, 2, levels)
        items = fit_items(scores[:, :40], np.ones(500), dimensions)
        told, untold = np.arange(0, 500, 2), np.arange(1, 500, 2)
        abilities = items.of(told).abilities(scores[told][:, 40:], np.ones(250))
        predicted = items.predict(abilities)[untold]
        missed = np.sqrt(np.square(predicted - expected[untold][:, 40:]).mean())
        by_means = np.sqrt(np.square(scores[untold, :40].mean(axis=1, keepdims=True) - expected[untold][:, 40:]).mean())
        assert missed < 0.7 * by_means
        assert spearmanr(predicted.mean(axis=0), expected[untold][:, 40:].mean(axis=0)).statistic > 0.95
        if dimensions == 1:
            assert abs(spearmanr(abilities[:, 0], true[40:, 0]).statistic) > 0.95

    def test_abilities_are_in_standard_deviations_of_the_sources(self):
        _, scores = two_parameter(800, rng(1).normal(1.5, 3.0, size=(40, 1)), 2)
        abilities = fit_items(scores, np.ones(800), 1).abilities(scores, np.ones(800))
        assert abilities.mean() == pytest.approx(0, abs=0.2)
        assert abilities.std() == pytest.approx(1, abs=0.3)

    def test_abilities_are_those_of_a_ridge_logistic_regression(self):
        made = rng()
        slopes, weights = made.normal(size=(80, 2)), made.integers(1, 4, 80).astype(float)
        right = made.integers(0, 2, (80, 5))
        found = Items(slopes, np.zeros(80)).abilities(right.astype(float), weights)
        for model in range(5):
            peer = LogisticRegression(C=9.0, fit_intercept=False, tol=1e-10, max_iter=1000)
            peer.fit(slopes, right[:, model], sample_weight=weights)
            assert found[model] == pytest.approx(peer.coef_[0], abs=1e-4)

    def test_all_right_and_all_wrong_have_finite_abilities(self):
        items = Items(np.ones((30, 1)), np.zeros(30))
        best, worst = items.abilities(np.column_stack([np.ones(30), np.zeros(30)]), np.ones(30))[:, 0]
        assert 3 < best < 15
        assert worst == pytest.approx(-best)

    def test_a_model_is_estimated_as_it_is_alone(self, frame_of):
        _, scores = two_parameter(120, rng(1).normal(size=(30, 1)), 2)
        frame = frame_of(scores[:, :20])
        plan = plan_of("irt", frame, 20)
        together = estimate(plan, frame, scores[:, 20:])
        alone = [estimate(plan, frame, scores[:, [place]])[0] for place in range(20, 30)]
        assert together == pytest.approx(alone, abs=1e-5)

    def test_weight_two_is_the_item_twice(self):
        _, scores = two_parameter(40, rng(1).normal(size=(8, 1)), 2)
        twice = fit_items(np.vstack([scores, scores]), np.ones(80), 1)
        weighted = fit_items(scores, np.full(40, 2.0), 1)
        assert twice.slopes[:40] == pytest.approx(weighted.slopes, abs=1e-9)
        assert twice.easiness[40:] == pytest.approx(weighted.easiness, abs=1e-9)

    def test_one_source_makes_a_rasch_model(self):
        scores = (np.arange(20)[:, None] % 2).astype(float)
        items = fit_items(scores, np.ones(20), 1)
        assert np.ptp(items.slopes) < 0.1
        assert abs(items.slopes[0, 0]) == pytest.approx(1, abs=0.1)
        assert (items.easiness[1::2] > items.easiness[0]).all()

    def test_dimensions_grow_with_the_families(self):
        assert [dimensions_for(families) for families in (1, 9, 10, 24, 25, 300)] == [1, 1, 2, 4, 5, 5]


class TestIrt:
    def test_the_estimate_by_hand(self, frame_of):
        frame = frame_of(np.zeros((4, 2)), together=["pair", "pair", None, None])
        anchors = AnchorPlan(frame, np.array([0, 1, 1]), np.array([1, 1]), np.zeros(3))
        # Whoever answers: a quarter of the others is right.
        items = Items(np.zeros((3, 1)), np.full(3, logit(0.25)))
        sample = replace(anchors.draw(rng()), units=np.array([0, 1]))
        values = frame.values(np.array([[1.0], [0.6], [0.9], [0.0]]))[sample.units]
        by_model = (1.0 + 0.6 + 0.9 + 0.25) / 4
        by_anchors = (0.8 + 0.9) / 2
        for trust in (0.0, 0.3, 1.0):
            found = IrtPlan(anchors, items, trust).estimate(sample, values)
            assert found.value == pytest.approx([trust * by_anchors + (1 - trust) * by_model])

    def test_it_beats_its_anchors_where_the_model_is_true(self, frame_of):
        errors = []
        for seed in range(3):
            _, scores = two_parameter(600, rng(seed).normal(size=(80, 1)) * 1.5, seed)
            frame = frame_of(scores[:, :40], families=np.arange(40) // 5)
            plan = plan_of("irt", frame, 60)
            plans = (plan, replace(plan, trust=0.0), replace(plan, trust=1.0))
            errors.append([estimate(one, frame, scores[:, 40:]) - scores[:, 40:].mean(axis=0) for one in plans])
        mixed, by_model, by_anchors = np.sqrt(np.square(errors).mean(axis=(0, 2)))
        assert mixed < 0.9 * by_anchors
        assert by_model < 0.9 * by_anchors

    def test_anchors_are_trusted_more_the_more_there_are(self, frame_of, latent_scores):
        frame = frame_of(latent_scores(300, 12, 1))
        few, many = (anchor_trust(frame, size, 0) for size in (10, 100))
        assert 0 < few < many < 1
        # The odds are b^2 / v, and v falls with the size.
        assert many / (1 - many) == pytest.approx(10 * few / (1 - few))

    def test_with_one_family_anchors_are_all(self, frame_of, latent_scores):
        frame = frame_of(latent_scores(50, 4, 1), families=[0, 0, 0, 0])
        assert plan_of("irt", frame, 10).trust == 1.0
