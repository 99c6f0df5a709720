import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from compression.strata import (
    by_benchmark,
    by_scores,
    by_scores_and_benchmark,
    cluster,
    clusters_kept,
    stratum_sums,
    whole,
)

pytestmark = pytest.mark.filterwarnings("error")


def all_of(frame):
    return np.arange(len(frame))


def inertia(rows, labels):
    return sum(np.square(rows[labels == one] - rows[labels == one].mean(axis=0)).sum() for one in np.unique(labels))


@pytest.fixture(scope="module")
def frame(frame_of, latent_scores):
    return frame_of(latent_scores(3000, 8, seed=1))


class TestCghs:
    def test_it_is_scikit_learn_s_kmeans_on_the_different_rows_weighted_by_their_number(self, frame):
        labels = by_scores(frame, all_of(frame), 300, seed=5)
        rows, codes, counts = np.unique(frame.sources, axis=0, return_inverse=True, return_counts=True)
        assert len(rows) < 256
        # numpy sorts rows as the frame's patterns are numbered.
        model = KMeans(48, n_init=1, random_state=5).fit(rows, sample_weight=counts)
        assert adjusted_rand_score(model.labels_[codes], labels) == 1.0
        assert len(np.unique(labels)) == 48

    def test_grouping_equal_rows_costs_nothing(self, frame):
        labels = by_scores(frame, all_of(frame), 300, seed=5)
        ungrouped = [
            KMeans(48, n_init=1, random_state=seed).fit(frame.sources.astype(np.float32)).inertia_ for seed in range(5)
        ]
        assert inertia(frame.sources, labels) == pytest.approx(np.mean(ungrouped), rel=0.1)

    def test_equal_rows_are_never_parted(self, frame):
        labels = by_scores(frame, all_of(frame), 300, seed=5)
        assert all(len(np.unique(labels[frame.patterns == one])) == 1 for one in np.unique(frame.patterns))

    @pytest.mark.parametrize(
        ("size", "strata"), [(1, 1), (4, 1), (9, 1), (10, 2), (41, 8), (239, 47), (240, 48), (2000, 48)]
    )
    def test_strata_by_size(self, frame, size, strata):
        labels = by_scores(frame, all_of(frame), size, seed=5)
        assert sorted(np.unique(labels)) == list(range(strata))

    @pytest.mark.parametrize(("size", "strata"), [(1, 1), (9, 1), (10, 2), (100, 20), (480, 96), (2000, 96)])
    def test_fused_strata_by_size(self, frame, size, strata):
        labels = by_scores_and_benchmark(frame, all_of(frame), size, seed=5)
        assert sorted(np.unique(labels)) == list(range(strata))

    def test_fewer_patterns_than_strata_are_a_stratum_each(self, frame_of):
        scores = np.repeat([[0, 0], [0, 1], [1, 1]], [5, 1, 9], axis=0)
        frame = frame_of(scores)
        labels = by_scores(frame, all_of(frame), 15, seed=0)
        assert sorted(np.bincount(labels)) == [1, 5, 9]


class TestFused:
    def test_a_heavy_benchmark_is_never_mixed_and_a_weightless_one_is_not_seen(self, frame_of, latent_scores):
        benchmark_of = np.arange(600) % 3
        frame = frame_of(latent_scores(600, 6, seed=2), benchmark_of)
        heavy = by_scores_and_benchmark(frame, all_of(frame), 100, 0, weight=100.0)
        assert all(len(np.unique(benchmark_of[heavy == one])) == 1 for one in np.unique(heavy))
        light = by_scores_and_benchmark(frame, all_of(frame), 100, 0, weight=0.0)
        assert any(len(np.unique(benchmark_of[light == one])) > 1 for one in np.unique(light))


class TestBenchmark:
    def test_small_ones_are_joined_while_there_are_more_than_half_as_many_as_draws(self, frame_of):
        benchmark_of = np.repeat(range(4), [10, 3, 2, 20])
        frame = frame_of(np.zeros((35, 1)), benchmark_of)

        def members(size):
            labels = by_benchmark(frame, all_of(frame), size, 0)
            return [tuple(np.unique(benchmark_of[labels == one])) for one in range(labels.max() + 1)]

        assert members(8) == [(0,), (1,), (2,), (3,)]
        assert members(7) == members(6) == [(0,), (1, 2), (3,)]
        assert members(4) == [(0, 1, 2), (3,)]
        assert members(3) == members(1) == [(0, 1, 2, 3)]

    @given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 40))
    def test_strata_are_unions_of_benchmarks_and_at_most_half_as_many_as_draws(self, frame_of, benchmark_of, size):
        benchmark_of = np.array(benchmark_of)
        frame = frame_of(np.zeros((len(benchmark_of), 1)), benchmark_of)
        labels = by_benchmark(frame, all_of(frame), size, 0)
        assert sorted(np.unique(labels)) == list(range(min(len(np.unique(benchmark_of)), max(1, size // 2))))
        assert all(len(np.unique(labels[benchmark_of == one])) == 1 for one in np.unique(benchmark_of))

    def test_only_the_given_units_count(self, frame_of):
        frame = frame_of(np.zeros((6, 1)), [0, 0, 1, 1, 2, 2])
        assert by_benchmark(frame, np.array([0, 1, 5]), 4, 0).tolist() == [0, 0, 1]


class TestCluster:
    def test_the_same_input_has_the_same_labels_in_any_number_of_threads(self, latent_scores):
        from threadpoolctl import threadpool_limits

        scores = latent_scores(2000, 12, seed=3, levels=7)
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(cluster(scores, np.arange(2000), 48, seed=1).tolist())
        assert found[0] == found[1]

    def test_many_patterns_go_through_mini_batches(self, monkeypatch, latent_scores):
        monkeypatch.setattr("compression.strata._EXACT_UP_TO", 1000)
        scores = latent_scores(4000, 10, seed=4, levels=50)
        labels = cluster(scores, np.arange(4000), 30, seed=2)
        assert sorted(np.unique(labels)) == list(range(30))
        assert (labels == cluster(scores, np.arange(4000), 30, seed=2)).all()
        exact = KMeans(30, n_init=1, random_state=2).fit(scores.astype(np.float32)).inertia_
        assert inertia(scores, labels) < 1.25 * exact

    def test_clusters_that_are_kept_are_made_once_and_the_same(self, monkeypatch, latent_scores):
        scores, other = (latent_scores(500, 6, seed=seed, levels=9) for seed in (5, 6))
        asked = [(scores, 9, 1), (scores, 9, 1), (scores, 9, 2), (scores, 8, 1), (other, 9, 1), (scores, 9, 1)]
        fresh = [cluster(rows, np.arange(500), count, seed).tolist() for rows, count, seed in asked]
        made = []
        fit_predict = KMeans.fit_predict
        monkeypatch.setattr(KMeans, "fit_predict", lambda *given, **more: made.append(1) or fit_predict(*given, **more))
        with clusters_kept():
            assert [cluster(rows, np.arange(500), count, seed).tolist() for rows, count, seed in asked] == fresh
        assert len(made) == 4

    def test_rows_that_are_all_equal_are_one_stratum_without_a_warning(self):
        assert cluster(np.full((9, 2), 0.5), np.arange(9), 4, seed=0).tolist() == [0] * 9


def test_the_whole_is_one_stratum(frame_of):
    frame = frame_of(np.zeros((5, 1)))
    assert whole(frame, np.array([1, 3]), 2, 0).tolist() == [0, 0]


def test_stratum_sums_by_hand():
    values = np.array([[1.0, 10], [2, 20], [3, 30], [4, 40]])
    assert stratum_sums(values, np.array([1, 0, 1, 2])).tolist() == [[2, 20], [4, 40], [4, 40]]
