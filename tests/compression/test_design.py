import numpy as np
import pytest
from scipy import optimize, stats

from compression.design import Design, pooled_variances, stratified_variance
from compression.importers.base import BadPool
from compression.survey import Estimate

pytestmark = pytest.mark.filterwarnings("error")


def plain_weights(design, units):
    return design.sizes[design.labels[units]] / design.draws[design.labels[units]] / len(design.labels)


class TestStratifiedByHand:
    """Two strata of 4 and 6 units; 2 and 3 are drawn. One model."""

    @pytest.fixture
    def design(self, frame_of):
        return Design(frame_of(np.zeros((10, 1))), np.array([0] * 4 + [1] * 6), np.array([2, 3]))

    def test_mean_variance_and_interval(self, design):
        sample = design.draw(np.random.default_rng(0))
        assert design.labels[sample.units].tolist() == [0, 0, 1, 1, 1]
        # 4/10 of a mean of 0.5 and 6/10 of a mean of 2/3.
        found = design.estimate(sample, np.array([[0.0], [1.0], [1.0], [1.0], [0.0]]))
        assert found.value == pytest.approx([0.4 * 0.5 + 0.6 * 2 / 3])
        # s^2 = 1/2 and 1/3: 0.4^2 (1 - 2/4) / 2 x 1/2 + 0.6^2 (1 - 3/6) / 3 x 1/3 = 0.02 + 0.02.
        assert found.standard_error == pytest.approx([0.04**0.5])
        # One degree of freedom and two; t(0.975, 3) = 3.182.
        assert found.degrees == 3
        assert found.margin == pytest.approx([3.182 * 0.2], abs=1e-4)

    def test_weights_are_units_a_draw_over_all_units(self, design):
        assert design.draw(np.random.default_rng(0)).weights == pytest.approx([0.2] * 5)

    def test_design_variance(self, design):
        # S^2 of 0, 0, 1, 1 is 1/3, of 0, 1, 1, 1, 1, 1 is 1/6: 0.16 x 1/4 x 1/3 + 0.36 x 1/6 x 1/6.
        values = np.array([0, 0, 1, 1, 0, 1, 1, 1, 1, 1.0])[:, None]
        assert design.design_variance(values) == pytest.approx([0.16 / 12 + 0.36 / 36])

    def test_a_stratum_drawn_whole_adds_no_variance_and_no_degrees(self, frame_of):
        design = Design(frame_of(np.zeros((5, 1))), np.array([0, 0, 0, 1, 1]), np.array([2, 2]))
        found = design.estimate(design.draw(np.random.default_rng(0)), np.array([[0.0], [1.0], [0.0], [1.0]]))
        assert found.value == pytest.approx([0.5])
        assert found.standard_error == pytest.approx([(0.36 / 3 / 2 * 0.5) ** 0.5])
        assert found.degrees == 1

    def test_one_draw_of_several_has_no_variance(self, frame_of):
        design = Design(frame_of(np.zeros((5, 1))), np.array([0, 0, 0, 1, 1]), np.array([2, 1]))
        found = design.estimate(design.draw(np.random.default_rng(0)), np.array([[0.0], [1.0], [1.0]]))
        assert found.value == pytest.approx([0.7])
        assert (found.standard_error, found.margin) == (None, None)

    def test_one_draw_of_one_is_known(self, frame_of):
        design = Design(frame_of(np.zeros((4, 1))), np.array([0, 0, 0, 1]), np.array([2, 1]))
        found = design.estimate(design.draw(np.random.default_rng(0)), np.array([[0.0], [1.0], [1.0]]))
        assert found.standard_error == pytest.approx([0.75 * (0.5 / 2 / 3) ** 0.5])


def test_margins_are_student_s():
    margin = Estimate(np.zeros(2), np.array([1.0, 0.5]), 10).margin
    assert margin == pytest.approx([2.228, 1.114], abs=5e-4)


class TestOverAllSamples:
    @pytest.mark.parametrize(
        ("labels", "draws"),
        [
            ((0,) * 7, (3,)),
            ((0, 1, 0, 1, 1, 0, 1, 0), (2, 2)),
            ((0, 0, 0, 1, 2, 2, 2, 2, 1), (2, 2, 3)),
            ((1, 0, 0, 0, 2, 2), (2, 1, 2)),
        ],
    )
    def test_estimates_are_unbiased_and_both_variances_are_theirs(self, frame_of, all_samples, labels, draws):
        values = np.random.default_rng(len(labels)).random((len(labels), 3))
        design = Design(frame_of(values), np.array(labels), np.array(draws))
        found = [design.estimate(sample, values[sample.units]) for sample in all_samples(design)]
        estimates = np.array([one.value for one in found])
        assert estimates.mean(axis=0) == pytest.approx(values.mean(axis=0))
        assert design.design_variance(values) == pytest.approx(estimates.var(axis=0))
        squares = np.square([one.standard_error for one in found])
        assert squares.mean(axis=0) == pytest.approx(estimates.var(axis=0))

    def test_single_draws_still_have_a_design_variance(self, frame_of, all_samples):
        values = np.random.default_rng(0).random((7, 2))
        design = Design(frame_of(values), np.array([0, 0, 0, 1, 1, 1, 1]), np.array([1, 1]))
        estimates = np.array([design.estimate(one, values[one.units]).value for one in all_samples(design)])
        assert stratified_variance(values, design.labels, design.draws) == pytest.approx(estimates.var(axis=0))

    def test_every_sample_is_as_likely_as_any_other(self, frame_of):
        design = Design(frame_of(np.zeros((6, 1))), np.array([0, 0, 0, 1, 1, 1]), np.array([2, 1]))
        rng = np.random.default_rng(0)
        counts = {}
        for _ in range(3600):
            drawn = tuple(design.draw(rng).units.tolist())
            counts[drawn] = counts.get(drawn, 0) + 1
        assert len(counts) == 9
        assert stats.chisquare(list(counts.values())).pvalue > 0.001


class TestDraw:
    def test_an_extension_is_a_superset_for_the_same_generator(self, frame_of):
        labels = np.random.default_rng(0).integers(0, 5, 200)
        design = Design(frame_of(np.zeros((200, 1))), labels, np.array([2, 9, 3, 4, 2]))
        before: set[int] = set()
        for total in (20, 21, 55, 199, 200):
            larger = design.extended(total)
            units = larger.draw(np.random.default_rng(7)).units.tolist()
            assert len(set(units)) == len(units) == larger.size == total
            assert before <= set(units)
            before = set(units)

    @pytest.mark.parametrize("total", [3, 8])
    def test_neither_fewer_nor_more_than_all_can_be_an_extension(self, frame_of, total):
        design = Design(frame_of(np.zeros((7, 1))), np.array([0] * 7), np.array([4]))
        with pytest.raises(BadPool, match=f"{total} draws are fewer than the 4 there are, or more than the 7 units"):
            design.extended(total)


def of_regression(frame_of, latent_scores, models, draws, seed=0, families=None, count=400):
    """A design with two strata and a regression, and the values of a new model."""
    scores = latent_scores(count, models + 1, seed)
    order = np.random.default_rng(seed).permutation(models + 1)
    frame = frame_of(scores[:, order[1:]], families=families)
    labels = (np.arange(count) >= count // 3).astype(int)
    return Design(frame, labels, np.array(draws), regression=True), scores[:, order[:1]]


def within(values, labels):
    means = np.array([values[labels == one].mean(axis=0) for one in range(labels.max() + 1)])
    return values - means[labels]


def textbook(design, units, values, ridge):
    """(dummies' and slopes', predictions over the pool): weighted least squares, slopes shrunk, strata not."""
    strata = np.eye(len(design.draws))[design.labels]
    known = np.column_stack([strata, design.frame.predictors])
    weights = plain_weights(design, units) * len(units)
    shrink = ridge * np.diag([0.0] * strata.shape[1] + [1.0] * design.frame.predictors.shape[1])
    rows = known[units]
    slopes = np.linalg.solve(rows.T @ (weights[:, None] * rows) + shrink, rows.T @ (weights[:, None] * values))
    return known @ slopes


def greg(design, units, values, ridge):
    """Särndal, Swensson and Wretman 1992, (6.4.1): mean prediction over the pool and weighted residuals of the sample."""
    predicted = textbook(design, units, values, ridge)
    return predicted.mean(axis=0) + plain_weights(design, units) @ (values - predicted[units])


def ridge_by_definition(design):
    """Residual variance over mean squared slope, of each predictor on the others; and at most n/20 of them effective."""
    centred = within(design.frame.predictors, design.labels)
    count, size = centred.shape
    slopes, residuals = [], []
    for one in range(size):
        others = np.delete(centred, one, axis=1)
        fitted = np.linalg.lstsq(others, centred[:, one], rcond=None)[0]
        slopes.extend(fitted)
        residuals.append(np.square(centred[:, one] - others @ fitted).sum() / count)
    prior = np.mean(residuals) / np.mean(np.square(slopes)) if slopes else 0.0
    eigenvalues = np.linalg.svd(centred, compute_uv=False) ** 2 * design.size / count
    most = design.size / 20
    if size <= most:
        return prior
    return max(prior, optimize.brentq(lambda k: (eigenvalues / (eigenvalues + k)).sum() - most, 1e-9, 1e9))


CASES = [(1, (20, 30)), (3, (40, 20)), (8, (20, 30)), (8, (60, 120))]


@pytest.mark.parametrize(("models", "draws"), CASES)
class TestRegression:
    def test_the_estimate_is_the_textbook_s(self, frame_of, latent_scores, models, draws):
        design, values = of_regression(frame_of, latent_scores, models, draws)
        sample = design.draw(np.random.default_rng(1))
        found = design.estimate(sample, values[sample.units]).value
        ridge = ridge_by_definition(design)
        assert found == pytest.approx(greg(design, sample.units, values[sample.units], ridge), abs=1e-5)
        plain = plain_weights(design, sample.units) @ values[sample.units]
        assert abs(found - plain) > 1e-3

    def test_weights_sum_to_1_and_bring_the_predictors_nearer(self, frame_of, latent_scores, models, draws):
        design, _ = of_regression(frame_of, latent_scores, models, draws)
        for seed in range(20):
            sample = design.draw(np.random.default_rng(seed))
            assert sample.weights.sum() == pytest.approx(1)
            predictors = design.frame.predictors
            truth = predictors.mean(axis=0)
            plain = plain_weights(design, sample.units) @ predictors[sample.units] - truth
            now = sample.weights @ predictors[sample.units] - truth
            assert np.linalg.norm(now) < np.linalg.norm(plain)

    def test_the_variance_is_that_of_fits_without_each_unit(self, frame_of, latent_scores, models, draws):
        design, values = of_regression(frame_of, latent_scores, models, draws)
        sample = design.draw(np.random.default_rng(2))
        ridge = ridge_by_definition(design)
        weights = plain_weights(design, sample.units) * design.size
        strata = design.labels[sample.units]
        left_out = np.empty(design.size)
        for place in range(design.size):
            rest = np.arange(design.size) != place
            predictors = np.column_stack([np.eye(2)[strata], design.frame.predictors[sample.units]])
            shrink = ridge * np.diag([0.0, 0.0] + [1.0] * models)
            rows, scaled = predictors[rest], predictors[rest] * weights[rest, None]
            slopes = np.linalg.solve(rows.T @ scaled + shrink, scaled.T @ values[sample.units][rest, 0])
            left_out[place] = values[sample.units][place, 0] - predictors[place] @ slopes
        expected = 0.0
        for one, (size, n) in enumerate(zip(design.sizes, design.draws, strict=True)):
            # (n - 1) / n of an error without its unit is the usual deviation from the mean, where nothing is regressed.
            squares = np.square(left_out[strata == one] * (n - 1) / n).sum() / (n - 1)
            expected += (size / len(design.labels)) ** 2 * (1 - n / size) / n * squares
        found = design.estimate(sample, values[sample.units])
        assert found.standard_error == pytest.approx([expected**0.5], rel=1e-4)

    def test_the_variance_is_near_the_jackknife_of_the_whole_estimate(self, frame_of, latent_scores, models, draws):
        # Estimates without each unit in turn, in strata: Wolter 2007, (4.5.3).
        design, values = of_regression(frame_of, latent_scores, models, draws)
        sample = design.draw(np.random.default_rng(3))
        ridge = ridge_by_definition(design)
        variance = 0.0
        for one, (size, n) in enumerate(zip(design.sizes, design.draws, strict=True)):
            smaller = Design(design.frame, design.labels, design.draws - (np.arange(2) == one))
            without = []
            for unit in sample.units[design.labels[sample.units] == one]:
                rest = sample.units[sample.units != unit]
                without.append(greg(smaller, rest, values[rest], ridge)[0])
            variance += (1 - n / size) * (n - 1) / n * np.square(without - np.mean(without)).sum()
        found = design.estimate(sample, values[sample.units]).standard_error
        assert found == pytest.approx([variance**0.5], rel=0.12)


class TestStrength:
    def test_below_20_draws_nothing_is_regressed(self, frame_of, latent_scores):
        few, values = of_regression(frame_of, latent_scores, 1, (9, 10))
        sample = few.draw(np.random.default_rng(0))
        assert sample.weights == pytest.approx(plain_weights(few, sample.units))
        plain = Design(few.frame, few.labels, few.draws)
        assert few.estimate(sample, values[sample.units]) == plain.estimate(sample, values[sample.units])
        assert few.design_variance(values) == pytest.approx(plain.design_variance(values))
        enough, _ = of_regression(frame_of, latent_scores, 1, (10, 10))
        sample = enough.draw(np.random.default_rng(0))
        assert np.ptp(sample.weights / plain_weights(enough, sample.units)) > 0.1

    @pytest.mark.parametrize("size", [20, 40, 100, 240])
    def test_at_most_a_predictor_for_20_draws(self, frame_of, size):
        # Twins tell much of one another, so that the sources alone would ask for hardly any ridge.
        rng = np.random.default_rng(0)
        scores = np.repeat(rng.random((1000, 15)), 2, axis=1) + 0.1 * rng.random((1000, 30))
        design = Design(frame_of(scores), np.zeros(1000, int), np.array([size]), regression=True)
        lost = []
        for seed in range(30):
            sample = design.draw(np.random.default_rng(seed))
            lost.append(size - 1 - design.estimate(sample, scores[sample.units]).degrees)
        assert 0.9 < np.mean(lost) / (size / 20) < 1.02
        assert np.max(lost) < 1.25 * size / 20

    @pytest.mark.parametrize(("models", "noise"), [(4, 0.5), (4, 2.0), (8, 1.0)])
    def test_it_is_residual_variance_over_the_variance_of_slopes(self, frame_of, models, noise):
        # Scores are a trait plus own noise. Of the precision (1 / noise^2) (I - J / (noise^2 + models)) a model's
        # slopes on the others are 1 / (noise^2 + models - 1), and it leaves noise^2 + noise^2 x slope.
        rng = np.random.default_rng(0)
        scores = rng.normal(size=(4000, 1)) + noise * rng.normal(size=(4000, models))
        design = Design(frame_of(scores), np.zeros(4000, int), np.array([400]), regression=True)
        slope = 1 / (noise**2 + models - 1)
        truth = noise**2 * (1 + slope) / slope**2
        sample = design.draw(rng)
        values = scores[sample.units, :1] + rng.normal(size=(400, 1))
        found = design.estimate(sample, values).value

        def apart(ridge):
            return abs(found - greg(design, sample.units, values, ridge))[0]

        strengths = truth * np.geomspace(0.01, 100, 401)
        assert strengths[np.argmin([apart(one) for one in strengths])] == pytest.approx(truth, rel=0.3)

    def test_members_of_a_family_are_no_more_than_one(self, frame_of, latent_scores):
        many, values = of_regression(frame_of, latent_scores, 6, (20, 20), families=[0, 0, 0, 0, 0, 0])
        mean = many.frame.sources.mean(axis=1, keepdims=True)
        one = Design(frame_of(mean), many.labels, many.draws, regression=True)
        sample = many.draw(np.random.default_rng(0))
        assert sample.weights == pytest.approx(one.draw(np.random.default_rng(0)).weights)

    @pytest.mark.parametrize("scores", [np.ones((100, 3)), np.repeat(np.arange(100)[:, None] % 2, 3, axis=1)])
    def test_sources_without_news_are_no_trouble(self, frame_of, scores):
        design = Design(frame_of(scores), np.arange(100) % 2, np.array([20, 30]), regression=True)
        values = np.random.default_rng(0).random((100, 1))
        sample = design.draw(np.random.default_rng(0))
        # Nothing varies within the strata: the estimate is the stratified one.
        assert sample.weights == pytest.approx(plain_weights(design, sample.units))
        assert design.estimate(sample, values[sample.units]).standard_error == pytest.approx(
            Design(design.frame, design.labels, design.draws).estimate(sample, values[sample.units]).standard_error
        )


class TestDesignVariance:
    def test_with_a_regression_it_is_that_of_residuals_times_the_cost_of_slopes(self, frame_of, latent_scores):
        design, values = of_regression(frame_of, latent_scores, 8, (40, 60), seed=5)
        known, scores = (within(one, design.labels) for one in (design.frame.predictors, values))
        share, ridge = design.size / len(values), ridge_by_definition(design)
        inverse = np.linalg.inv(known.T @ known * share + ridge * np.eye(8))
        left = scores - known @ inverse @ known.T @ scores * share
        effective = np.trace(inverse @ known.T @ known) * share
        expected = stratified_variance(left, design.labels, design.draws) * (1 + effective / (100 - 2))
        assert design.design_variance(values) == pytest.approx(expected, rel=1e-4)

    def test_with_a_regression_it_is_that_of_many_draws(self, frame_of, latent_scores):
        design, values = of_regression(frame_of, latent_scores, 8, (40, 60), seed=5, count=1500)
        rng = np.random.default_rng(0)
        samples = [design.draw(rng) for _ in range(1500)]
        estimates = np.array([design.estimate(one, values[one.units]).value for one in samples])
        errors = np.array([design.estimate(one, values[one.units]).standard_error for one in samples])
        spread = np.square(estimates - values.mean(axis=0)).mean(axis=0)
        assert design.design_variance(values) == pytest.approx(spread, rel=0.12)
        assert np.square(errors).mean(axis=0) == pytest.approx(spread, rel=0.12)
        plain = Design(design.frame, design.labels, design.draws)
        assert design.design_variance(values) < 0.9 * plain.design_variance(values)


def test_pooled_variances_by_hand(frame_of):
    # Variances 1/2 and 2 of the first stratum, 0 and 0 of the second; with one unit the third has none.
    scores = np.array([[0, 0], [1, 2], [1, 1], [1, 1], [5, 7], [9, 9]]) / 10
    found = pooled_variances(frame_of(scores), np.arange(5), np.array([0, 0, 1, 1, 2]))
    assert found == pytest.approx([(0.5 + 2) / 2 / 100, 0, 0])


def test_an_extension_keeps_to_what_the_draws_are_proportional_to(frame_of):
    frame = frame_of(np.zeros((200, 2)))
    labels = np.repeat([0, 1], 100)
    design = Design(frame, labels, np.array([15, 5]), measure=np.array([3.0, 1.0]))
    assert design.extended(40).draws.tolist() == [30, 10]
    assert Design(frame, labels, np.array([15, 5])).extended(40).draws.tolist() == [20, 20]
