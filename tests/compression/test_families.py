import numpy as np
import pytest

from compression.families import families_of, near_duplicates, read_families, residual_correlations
from compression.importers.base import BadPool
from core.errors import UnknownName

pytestmark = pytest.mark.filterwarnings("error")


def groups(codes):
    """Members of each family of several."""
    return {tuple(np.flatnonzero(codes == code)) for code in np.unique(codes) if (codes == code).sum() > 1}


@pytest.fixture(scope="module")
def honest(latent_scores):
    return latent_scores(3000, 20, seed=3)


class TestTold:
    def test_what_is_told_goes_before_the_pool_s_own_column(self, matrix_of, honest):
        matrix = matrix_of(honest[:, :5], families=["a", "a", "b", "b", None])
        assert groups(families_of(matrix)) == {(0, 1), (2, 3)}
        assert groups(families_of(matrix, {"m001": "b", "m004": "a"})) == {(0, 4), (1, 2, 3)}

    def test_one_without_a_family_is_its_own_and_not_judged_by_scores(self, matrix_of, honest):
        scores = honest[:, [0, 1, 0, 2]]
        assert groups(families_of(matrix_of(scores))) == {(0, 2)}
        assert groups(families_of(matrix_of(scores, families=["x", None, None, None]))) == set()
        assert groups(families_of(matrix_of(scores), {"m000": "x", "m003": "x"})) == {(0, 3)}

    def test_a_model_that_is_not_there_is_refused(self, matrix_of, honest):
        with pytest.raises(UnknownName, match="model of the pool 'm0001'; did you mean 'm001'"):
            families_of(matrix_of(honest[:, :2]), {"m0001": "x"})


class TestNearDuplicates:
    def test_a_copy_with_3_percent_of_scores_flipped_is_found(self, matrix_of, honest):
        flipped = np.random.default_rng(1).random(len(honest)) < 0.03
        copy = np.where(flipped, 1 - honest[:, 7], honest[:, 7])
        assert groups(near_duplicates(matrix_of(np.column_stack([honest, copy])))) == {(7, 20)}

    def test_a_pool_of_one_latent_trait_has_no_families(self, matrix_of, honest):
        assert groups(near_duplicates(matrix_of(honest))) == set()

    @pytest.mark.parametrize("models", [1, 2, 3, 6, 30])
    def test_independent_models_are_no_family(self, matrix_of, models):
        scores = np.random.default_rng(models).random((2000, models)) < 0.6
        assert groups(near_duplicates(matrix_of(scores))) == set()

    def test_a_chain_is_not_merged(self, matrix_of):
        # Each is half its own and half its neighbour's noise: neighbours correlate by about 0.5, others not at all.
        noise = np.random.default_rng(2).random((4000, 21))
        chain = (noise[:, 1:] + noise[:, :-1]) / 2
        matrix = matrix_of(chain)
        near = residual_correlations(matrix)
        assert np.diag(near, 1).min() > 0.4 > np.diag(near, 2).max()
        assert all(len(group) == 2 for group in groups(near_duplicates(matrix)))

    def test_correlations_are_those_of_numpy(self, matrix_of, honest):
        scores = honest[:, :6]
        left = scores - scores.mean(axis=0) - scores.mean(axis=1, keepdims=True)
        expected = np.corrcoef(left, rowvar=False)
        assert residual_correlations(matrix_of(scores)) == pytest.approx(expected, abs=1e-6)

    def test_models_without_a_residual_are_no_family(self, matrix_of):
        scores = np.tile(np.linspace(0, 1, 50)[:, None], 4)
        assert (residual_correlations(matrix_of(scores)) == 0).all()
        assert groups(near_duplicates(matrix_of(scores))) == set()


class TestFile:
    def test_a_csv_file_tells_families(self, tmp_path):
        file = tmp_path / "families.csv"
        file.write_text('\ufeffmodel,family,note\nm , a,x\n"n, 7b",b,\no,,\n', encoding="utf-8")
        assert read_families(file) == {"m": "a", "n, 7b": "b"}

    @pytest.mark.parametrize("text", ["who,family\nm,a\n", "model,family\nm\n", b"\xff\xfe\x00model"])
    def test_what_is_no_such_file_is_refused(self, tmp_path, text):
        file = tmp_path / "families.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(BadPool, match=r"families\.csv is no CSV file with columns model and family"):
            read_families(file)

    def test_two_families_of_one_model_are_refused(self, tmp_path):
        file = tmp_path / "families.csv"
        file.write_text("model,family\nm,a\nn,b\nm,a\n")
        assert read_families(file) == {"m": "a", "n": "b"}
        file.write_text("model,family\nm,b\nn,b\nm,a\n")
        with pytest.raises(BadPool, match=r"families\.csv names several families of m; keep one"):
            read_families(file)

    def test_no_file_is_refused(self, tmp_path):
        with pytest.raises(BadPool, match="is no CSV file"):
            read_families(tmp_path / "none.csv")
