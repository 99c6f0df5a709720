from dataclasses import replace

import numpy as np
import pytest

from compression.design import Design
from compression.frame import make_frame
from compression.importers.base import BadPool
from compression.matrix import read_matrix
from compression.pool import open_pool
from compression.samplers import DEFAULT_SAMPLER, SAMPLERS, Floors
from core.errors import UnknownName

pytestmark = pytest.mark.filterwarnings("error")

NAMES = [entry.name for entry in SAMPLERS]
WITH_INTERVAL = [entry.name for entry in SAMPLERS if entry.load().has_interval]
every_sampler = pytest.mark.parametrize("name", NAMES)


def planned(name, frame, size, seed=0, floors=None):
    return SAMPLERS[name].load().plan(frame, size, seed, floors)


def checked(name, frame, scores, size, seed=0, floors=None):
    """Plan, draw and estimate; whatever must hold of any sample of any pool."""
    plan = planned(name, frame, size, seed, floors)
    sample = plan.draw(np.random.default_rng(seed))
    values = frame.values(scores)
    found = plan.estimate(sample, values[sample.units])
    assert plan.size == size == len(sample.units) == len(np.unique(sample.units))
    assert 0 <= sample.units.min() <= sample.units.max() < len(frame)
    assert np.isin(np.flatnonzero(frame.fixed), sample.units).all()
    assert sample.weights.shape == (size,)
    assert np.isfinite(sample.weights).all()
    assert found.value.shape == (scores.shape[1],)
    assert np.isfinite(found.value).all()
    if found.standard_error is not None:
        assert np.isfinite(found.standard_error).all()
        assert (found.standard_error >= 0).all()
        assert np.isfinite(found.margin).all()
        assert found.degrees >= 1
    if size == len(frame):
        assert found.value == pytest.approx(scores.mean(axis=0), abs=1e-9)
        assert found.standard_error is None or not found.standard_error.any()
    return plan, sample, found


@pytest.fixture(scope="module")
def pool(latent_scores):
    """Scores of 14 models on 600 questions of three benchmarks."""
    benchmark_of = np.repeat([0, 1, 2], [100, 200, 300])
    return latent_scores(600, 14, seed=11, benchmark_of=benchmark_of), benchmark_of


@pytest.fixture(scope="module")
def frame(frame_of, pool):
    scores, benchmark_of = pool
    return frame_of(scores, benchmark_of, sources=np.arange(0, 14, 2))


def test_the_default_is_registered_and_a_wrong_name_is_refused_with_the_nearest():
    assert DEFAULT_SAMPLER in NAMES
    assert {"random", "benchmark", "cghs", "fused", "neyman", "adaptive", "cghs+greg"} <= set(NAMES)
    with pytest.raises(UnknownName, match="did you mean 'cghs"):
        SAMPLERS["cgsh"]


@every_sampler
class TestConformance:
    @pytest.mark.parametrize("size", [1, 2, 3, 5, 19, 20, 60, 599, 600])
    def test_any_size(self, name, frame, pool, size):
        checked(name, frame, pool[0], size)

    def test_weights_sum_to_1(self, name, frame, pool):
        for size in (1, 7, 60):
            assert checked(name, frame, pool[0], size)[1].weights.sum() == pytest.approx(1)

    def test_source_models_are_estimated_near_the_truth(self, name, frame, pool):
        sources = pool[0][:, ::2]
        plan = planned(name, frame, 120)
        for seed in range(5):
            sample = plan.draw(np.random.default_rng(seed))
            found = plan.estimate(sample, sources[sample.units])
            missed = np.abs(found.value - sources.mean(axis=0))
            assert missed.mean() < 0.06
            if found.standard_error is not None:
                # Strata made of a source's own scores leave it next to no variance.
                assert (missed < np.maximum(3 * found.margin, 0.03)).all()

    def test_the_same_again(self, name, frame, pool):
        first, second = (checked(name, frame, pool[0], 60, seed=3) for _ in range(2))
        assert first[1].units.tolist() == second[1].units.tolist()
        assert first[1].weights.tolist() == second[1].weights.tolist()
        assert first[2].value.tolist() == second[2].value.tolist()

    @pytest.mark.parametrize("size", [1, 2, 30, 80])
    def test_one_source_model(self, name, frame_of, pool, size):
        scores, benchmark_of = pool[0][:80], pool[1][:80]
        checked(name, frame_of(scores, benchmark_of, sources=np.array([4])), scores, size)

    def test_one_family(self, name, frame_of, pool):
        scores, benchmark_of = pool
        checked(name, frame_of(scores, benchmark_of, families=[3] * 14), scores, 60)

    @pytest.mark.parametrize("size", [1, 4, 25, 50])
    def test_models_that_know_all_or_nothing(self, name, frame_of, pool, size):
        scores = pool[0][:50].copy()
        scores[:, 0], scores[:, 3], scores[:, 5] = 0, 1, 0.5
        checked(name, frame_of(scores), scores, size)

    @pytest.mark.parametrize("score", [0.0, 1.0, 0.3])
    @pytest.mark.parametrize("size", [1, 2, 25, 50])
    def test_all_scores_equal(self, name, frame_of, score, size):
        scores = np.full((50, 4), score)
        found = checked(name, frame_of(scores), scores, size)[2]
        assert found.value == pytest.approx(np.full(4, score), abs=0.02)

    @pytest.mark.parametrize("size", [2, 3, 10, 40, 103])
    def test_a_benchmark_of_three_questions(self, name, frame_of, pool, size):
        scores = pool[0][:103]
        checked(name, frame_of(scores, np.arange(103) > 99), scores, size)

    @pytest.mark.parametrize("questions", [1, 2, 3, 30])
    def test_fewer_questions_than_strata(self, name, frame_of, pool, questions):
        scores = pool[0][:questions]
        for size in {1, min(2, questions), questions - 1 or 1, questions}:
            checked(name, frame_of(scores), scores, size)

    def test_fewer_patterns_than_strata(self, name, frame_of):
        scores = np.repeat([[0, 0, 1], [0, 1, 1], [1, 1, 0]], [300, 40, 1], axis=0)
        checked(name, frame_of(scores), scores, 200)

    def test_continuous_scores(self, name, frame_of):
        scores = np.random.default_rng(0).beta(2, 2, (200, 6))
        checked(name, frame_of(scores), scores, 50)

    def test_scores_in_single_precision(self, name, matrix_of, pool):
        matrix = matrix_of(*pool)
        assert matrix.scores.dtype == np.float32
        frame = make_frame(matrix, np.arange(14))
        found = checked(name, frame, matrix.scores, 60)[2]
        assert found.value.dtype == np.float64

    @pytest.mark.parametrize("size", [10, 40, 249])
    def test_groups_stay_together(self, name, frame_of, pool, size):
        scores, benchmark_of = pool[0][:400], pool[1][:400]
        together = [f"g{place % 50}" if place < 200 else None for place in range(400)]
        frame = frame_of(scores, benchmark_of, together=together)
        assert len(frame) == 250
        checked(name, frame, scores, size)

    def test_all_units_of_unequal_groups_give_the_truth(self, name, frame_of, pool):
        scores = pool[0][:60]
        together = [str(int(place**0.5)) for place in range(60)]
        checked(name, frame_of(scores, together=together), scores, 8)

    @pytest.mark.parametrize("size", [31, 33, 60])
    def test_fixed_units_are_always_in(self, name, frame_of, pool, size):
        scores, benchmark_of = pool
        frame = frame_of(scores, benchmark_of, fixed=np.arange(600) % 20 == 3)
        plan, _, _ = checked(name, frame, scores, size)
        for seed in range(5):
            assert np.isin(np.flatnonzero(frame.fixed), plan.draw(np.random.default_rng(seed)).units).all()

    def test_all_fixed(self, name, frame_of, pool):
        scores = pool[0][:30]
        checked(name, frame_of(scores, fixed=np.ones(30, bool)), scores, 30)

    @pytest.mark.parametrize("size", [29, 30])
    def test_no_room_beside_the_fixed_is_refused(self, name, frame_of, pool, size):
        frame = frame_of(pool[0], fixed=np.arange(600) < 30)
        with pytest.raises(BadPool, match=f"30 questions are to be in every sample, which leaves no room in {size}"):
            planned(name, frame, size)

    def test_fixed_units_groups_and_floors_together(self, name, frame_of, pool):
        scores, benchmark_of = pool
        together = [f"g{place // 3}" if place < 90 else None for place in range(600)]
        frame = frame_of(scores, benchmark_of, together=together, fixed=np.arange(600) % 100 == 1)
        label = [f"b{code}" for code in frame.main_benchmark]
        floors = Floors({"benchmark": label}, {"benchmark": 20})
        for seed in range(3):
            _, sample, _ = checked(name, frame, scores, 70, seed, floors)
            counts = np.bincount(frame.main_benchmark[sample.units])
            assert (counts >= 20).all()


def sample_of_file(path, name):
    with open_pool(path, None) as pool:
        matrix = read_matrix(pool)
    frame = make_frame(matrix, np.arange(len(matrix.models)))
    sample = planned(name, frame, 30, seed=4).draw(np.random.default_rng(4))
    return matrix.question_ids[sample.units].tolist(), sample.weights.tolist()


@every_sampler
def test_the_order_of_rows_and_models_in_the_file_does_not_matter(name, write_pool, pool):
    scores, benchmark_of = pool
    rows = [
        (f"b{benchmark_of[question]}", f"q{question}", f"m{model}", float(scores[question, model]))
        for question in range(0, 600, 4)
        for model in range(6)
    ]
    by_model = sorted(rows, key=lambda row: row[2], reverse=True)
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    first, second, third = (
        sample_of_file(write_pool(order, f"{place}.parquet"), name)
        for place, order in enumerate((rows, by_model, shuffled))
    )
    assert first == second == third


@pytest.mark.parametrize("name", WITH_INTERVAL)
class TestDesigns:
    def test_an_extension_is_a_superset(self, name, frame):
        plan = planned(name, frame, 40)
        assert isinstance(plan, Design)
        before = set(plan.draw(np.random.default_rng(9)).units.tolist())
        for total in (41, 90, 600):
            units = plan.extended(total).draw(np.random.default_rng(9)).units
            assert before <= set(units.tolist())
            assert len(units) == total
            before = set(units.tolist())
        with pytest.raises(BadPool, match="more than the 600 units"):
            plan.extended(601)

    def test_an_extension_is_a_superset_with_fixed_units_and_floors(self, name, frame_of, pool):
        scores, benchmark_of = pool
        frame = frame_of(scores, benchmark_of, fixed=np.arange(600) % 100 == 0)
        floors = Floors({"b": [str(code) for code in benchmark_of]}, {"b": 15})
        plan = planned(name, frame, 60, floors=floors)
        before = plan.draw(np.random.default_rng(9)).units
        after = plan.extended(150).draw(np.random.default_rng(9)).units
        assert np.isin(before, after).all()
        assert (np.bincount(benchmark_of[after]) >= 15).all()

    @pytest.mark.parametrize("size", [5, 7, 12, 47, 100, 480])
    def test_each_stratum_has_two_draws_or_all(self, name, frame, size):
        plan = planned(name, frame, size)
        assert (plan.draws >= np.minimum(plan.sizes, 2)).all()
        assert sorted(np.unique(plan.labels)) == list(range(len(plan.draws)))

    def test_in_strata_the_plain_estimate_is_unbiased(self, name, frame, pool):
        # With a regression the estimate is nearly so; without, each unit's chance times its weight is one share.
        plan = planned(name, frame, 60)
        chance = (plan.draws / plan.sizes)[plan.labels]
        assert chance.sum() == pytest.approx(60)
        plain = replace(plan, regression=False)
        sample = plain.draw(np.random.default_rng(0))
        assert chance[sample.units] * sample.weights == pytest.approx(1 / 600)

    def test_its_fixed_units_stand_for_themselves_only(self, name, frame_of, pool):
        fixed = np.arange(600) % 30 == 0
        plan = planned(name, frame_of(*pool, fixed=fixed), 60)
        sample = replace(plan, regression=False).draw(np.random.default_rng(0))
        assert sample.weights[fixed[sample.units]] == pytest.approx(np.full(20, 1 / 600))


@pytest.mark.parametrize(
    ("size", "questions", "rare"),
    [(103, 30, 500), (100, 1, 20), (60, 5, 60), (60, 2, 3), (300, 4, 200), (599, 200, 300)],
)
@every_sampler
def test_floors_are_met_in_every_draw(name, frame_of, latent_scores, size, questions, rare):
    scores = latent_scores(600, 6, seed=2, levels=50)
    # The rare ones are all alike.
    scores[:rare] = [0, 0, 1, 0, 1, 1]
    frame = frame_of(scores)
    floors = Floors({"kind": ["rare" if place < rare else None for place in range(600)]}, {"kind": questions})
    plan = planned(name, frame, size, floors=floors)
    for seed in range(40):
        assert (plan.draw(np.random.default_rng(seed)).units < rare).sum() >= min(questions, rare)


@pytest.mark.parametrize("name", ["random", "adaptive"])
class TestFloors:
    def test_of_labels_that_overlap(self, name, frame_of, pool):
        scores, benchmark_of = pool
        frame = frame_of(scores, benchmark_of)
        skill = np.random.default_rng(0).choice(["see", "hear", "count", "read"], 600, p=[0.9, 0.05, 0.03, 0.02])
        labels = {"benchmark": [f"b{code}" for code in benchmark_of], "skill": skill.tolist()}
        floors = Floors(labels, {"benchmark": 25, "skill": 8})
        plan = planned(name, frame, 90, floors=floors)
        for seed in range(20):
            units = plan.draw(np.random.default_rng(seed)).units
            assert (np.bincount(benchmark_of[units]) >= 25).all()
            assert all((skill[units] == one).sum() >= 8 for one in np.unique(skill))

    def test_fixed_units_count_towards_them(self, name, frame_of, pool):
        scores, benchmark_of = pool
        frame = frame_of(scores, benchmark_of, fixed=np.arange(600) < 12)
        floors = Floors({"b": [f"b{code}" for code in benchmark_of]}, {"b": 12})
        units = planned(name, frame, 40, floors=floors).draw(np.random.default_rng(0)).units
        counts = np.bincount(benchmark_of[units])
        # Of the first benchmark nothing more is needed than the fixed; the others share what is left.
        assert counts[1:].min() >= 12

    def test_more_than_there_are_means_all(self, name, frame_of, pool):
        scores, _ = pool
        floors = Floors({"b": ["few"] * 4 + [None] * 596}, {"b": 50})
        units = planned(name, frame_of(scores), 60, floors=floors).draw(np.random.default_rng(0)).units
        assert units[np.argsort(units)][:4].tolist() == [0, 1, 2, 3]

    def test_more_than_the_size_are_refused(self, name, frame_of, pool):
        scores, benchmark_of = pool
        floors = Floors({"b": [f"b{code}" for code in benchmark_of]}, {"b": 25})
        with pytest.raises(BadPool, match="70 questions do not meet all floors"):
            planned(name, frame_of(scores, benchmark_of), 70, floors=floors)

    def test_none_that_chance_would_miss_leave_the_strata_as_they_are(self, name, frame_of, pool):
        scores, benchmark_of = pool
        frame = frame_of(scores, benchmark_of)
        floors = Floors({"b": [f"b{code}" for code in benchmark_of]}, {"b": 1})
        with_floors, without = planned(name, frame, 400, floors=floors), planned(name, frame, 400)
        assert (with_floors.labels == without.labels).all()
        assert (with_floors.draws == without.draws).all()


@pytest.mark.parametrize("size", [40, 100, 200])
@pytest.mark.parametrize("name", ["random", "cghs", "fused", "adaptive"])
def test_intervals_of_held_out_models_hold_the_truth_in_95_of_100_draws(name, frame_of, latent_scores, size):
    benchmark_of = np.repeat([0, 1, 2], [300, 700, 1000])
    scores = latent_scores(2000, 20, seed=21, benchmark_of=benchmark_of)
    order = np.random.default_rng(1).permutation(20)
    frame = frame_of(scores, benchmark_of, sources=order[:12])
    held_out = scores[:, order[12:]]
    truth = held_out.mean(axis=0)
    plan = planned(name, frame, size)
    rng = np.random.default_rng(size)
    samples = [plan.draw(rng) for _ in range(400)]
    found = [plan.estimate(sample, held_out[sample.units]) for sample in samples]
    values = np.array([one.value for one in found])
    covered = np.abs(values - truth) <= np.array([one.margin for one in found])
    assert 0.93 < covered.mean() < 0.97
    bias = (values.mean(axis=0) - truth) / (values.std(axis=0) / 400**0.5)
    assert np.abs(bias).max() < 3.5
    spread = np.square(values - truth).mean(axis=0)
    assert plan.design_variance(held_out).mean() == pytest.approx(spread.mean(), rel=0.15)
