import pyarrow as pa
import pytest

from compression.importers.base import BadPool, Reading
from compression.matrix import read_matrix
from compression.pool import open_pool, pool_names
from core.errors import UnknownName

pytestmark = pytest.mark.filterwarnings("error")

GOOD = [("b", "q1", "m", 1.0), ("b", "q2", "m", 0.0), ("b", "q1", "n", 0.5), ("b", "q2", "n", 0.25)]


def opened(path, reading=None):
    with open_pool(path, None, reading) as pool:
        return pool, read_matrix(pool)


def refusal(path, reading=None) -> str:
    with pytest.raises(BadPool) as caught, open_pool(path, None, reading):
        pass
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_file_becomes_a_pool_of_its_name(write_pool):
    pool, matrix = opened(write_pool(GOOD, "mine.parquet"))
    assert (pool.name, pool.origin, pool.rows, pool.merged) == ("mine", "long@1", 4, 0)
    assert matrix.scores.tolist() == [[1.0, 0.5], [0.0, 0.25]]


@pytest.mark.parametrize("score", [1.5, -0.1, float("inf"), -float("inf")])
def test_scores_outside_0_to_1_are_refused_with_an_example(write_pool, score):
    text = refusal(write_pool([*GOOD, ("b", "q3", "m", score)]))
    assert f"1 scores lie outside [0, 1], for one {score:g} of m on q3 (b)" in text


def test_scores_out_of_100_are_refused_with_the_mend_and_read_with_their_scale(write_pool):
    path = write_pool([("b", "q", "m", 80.0), ("b", "r", "m", 100.0), ("b", "s", "m", 0.5)])
    assert "--scale 100" in refusal(path)
    _, matrix = opened(path, Reading(scale=100))
    assert matrix.scores.ravel().tolist() == pytest.approx([0.8, 1.0, 0.005])


def test_the_ends_of_the_range_are_scores(write_pool):
    assert opened(write_pool([("b", "q", "m", 0.0), ("b", "r", "m", 1.0)]))[1].scores.ravel().tolist() == [0, 1]


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_row_without_a_score_is_as_no_row(write_pool, nothing):
    pool, matrix = opened(write_pool([*GOOD, ("b", "q3", "m", 1.0), ("b", "q3", "n", nothing)]))
    assert pool.rows == 6
    assert matrix.missing.lacking == (("n", 1),)
    with_row, without = (opened(write_pool(rows))[1] for rows in ([*GOOD, ("b", "q1", "m", nothing)], GOOD))
    assert with_row.fingerprint == without.fingerprint


def test_a_file_whose_rows_all_lack_a_score_is_refused(write_pool):
    assert refusal(write_pool([("b", "q", "m", None), ("b", "r", "m", float("nan"))])).endswith(
        "no row has a score; fill some in"
    )


def test_text_in_place_of_scores_is_refused_and_numbers_as_text_are_read(write_pool):
    rows = [(*row[:3], str(row[3])) for row in GOOD]
    assert opened(write_pool(rows, score_type=pa.string()))[1].scores.tolist() == [[1.0, 0.5], [0.0, 0.25]]
    text = refusal(write_pool([*rows, ("b", "q3", "m", "refused")], score_type=pa.string()))
    assert "1 scores are no numbers, 'refused' for one" in text


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", [None, ""])
def test_rows_without_a_name_are_refused(write_pool, place, name):
    row = ["b", "q", "m", 1.0]
    row[place] = name
    assert "1 rows lack a benchmark, question_id or model" in refusal(write_pool([*GOOD, tuple(row)]))


def test_equal_repeats_are_merged_and_counted(write_pool):
    pool, matrix = opened(write_pool([*GOOD, GOOD[0], GOOD[0], GOOD[3]]))
    assert (pool.rows, pool.merged, matrix.merged) == (7, 3, 3)
    assert matrix.fingerprint == opened(write_pool(GOOD))[1].fingerprint


def test_different_repeats_are_refused_by_name_or_become_their_mean(write_pool):
    path = write_pool([*GOOD, ("b", "q1", "m", 0.5), ("b", "q1", "m", 0.0)])
    text = refusal(path)
    assert "1 cells have several, different scores, for one m on q1 (b) has 0 and 1" in text
    assert "--repeats mean" in text
    pool, matrix = opened(path, Reading(repeats="mean"))
    assert matrix.scores[0, 0] == pytest.approx((1 + 0.5 + 0) / 3)
    assert (pool.rows, pool.merged) == (6, 2)


def test_one_model_is_a_pool(write_pool):
    _, matrix = opened(write_pool(GOOD[:2]))
    assert (matrix.models, matrix.scores.tolist()) == (("m",), [[1.0], [0.0]])


def test_an_empty_file_is_refused(write_pool, tmp_path):
    assert "holds no scores" in refusal(write_pool([]))
    (tmp_path / "nothing.parquet").touch()
    assert "nothing.parquet is empty" in refusal(str(tmp_path / "nothing.parquet"))


def test_what_is_not_parquet_is_refused(tmp_path):
    (tmp_path / "fake.parquet").write_text("benchmark,question_id,model,score\nb,q,m,1\n")
    assert "fake.parquet cannot be read as Parquet" in refusal(str(tmp_path / "fake.parquet"))


def test_a_file_that_lacks_a_column_is_refused_with_those_it_has(tmp_path):
    (tmp_path / "f.csv").write_text("question_id,who,score\nq,m,1\n")
    assert "no column 'model', only question_id, who, score" in refusal(str(tmp_path / "f.csv"))


ODD = ['a"b', "c'd; DROP TABLE cell", "e\nf", "g,h", "ü 模型 🦊", "0", "question", "benchmark", "%s {} [*]", " ", "A/b"]


def test_names_with_odd_characters_stay_themselves(write_pool):
    rows = [(bench, f"id {bench}", model, 1.0) for bench in ODD for model in ODD]
    _, matrix = opened(write_pool(rows, "odd [1]*'{}.parquet"))
    assert matrix.models == matrix.benchmarks == tuple(sorted(ODD))
    assert matrix.question_ids.tolist() == [f"id {bench}" for bench in sorted(ODD)]
    assert matrix.missing.cells == 0


def test_names_that_differ_in_case_or_in_form_are_different_names(write_pool):
    names = ["GPT", "gpt", "Gpt", "caf\u00e9", "cafe\u0301"]
    rows = [(bench, "q", model, float(bench == model)) for bench in names for model in names]
    _, matrix = opened(write_pool(rows))
    assert (matrix.models, matrix.benchmarks) == (tuple(sorted(names)), tuple(sorted(names)))
    assert (matrix.scores == [[float(a == b) for b in sorted(names)] for a in sorted(names)]).all()


def test_one_id_in_two_benchmarks_is_two_questions(write_pool):
    _, matrix = opened(write_pool([("b", "q", "m", 1.0), ("c", "q", "m", 0.0)]))
    assert (len(matrix), matrix.benchmark_of.tolist()) == (2, [0, 1])


def test_without_a_file_or_a_project_there_is_nothing_to_open():
    assert "no such file, and no project" in refusal("nowhere")


@pytest.fixture
def stored(workspace, clock):
    def add(pool, rows):
        names = ("benchmark", "question_id", "model", "score")
        with workspace.facts.writer("pool_score", "run") as writer:
            for row in rows:
                more = {"pool": pool, "family": None, "recorded_at": clock.advance(seconds=1).isoformat()}
                writer.add(dict(zip(names, row, strict=True)) | more)

    return add


def test_a_stored_pool_is_the_same_as_its_file(stored, workspace, write_pool):
    stored("mine", GOOD)
    stored("other", [("b", "q1", "m", 0.125)])
    assert pool_names(workspace) == ["mine", "other"]
    with open_pool("mine", workspace) as pool:
        assert (pool.name, pool.origin, pool.rows) == ("mine", "pool", 4)
        assert read_matrix(pool).fingerprint == opened(write_pool(GOOD))[1].fingerprint


def test_a_stored_score_that_was_mended_counts_once(stored, workspace):
    stored("mine", GOOD)
    stored("mine", [("b", "q1", "m", 0.75)])
    with open_pool("mine", workspace) as pool:
        assert pool.rows == 4
        assert read_matrix(pool).scores[0, 0] == 0.75


def test_an_unknown_pool_is_refused_with_the_nearest(stored, workspace):
    stored("mathvision", GOOD)
    with pytest.raises(UnknownName, match="unknown file or pool 'mathvison'; did you mean 'mathvision'"):
        open_pool("mathvison", workspace).__enter__()


def test_a_project_without_pools_says_so(workspace):
    with pytest.raises(UnknownName, match="known: none"):
        open_pool("any", workspace).__enter__()


def test_a_family_that_is_empty_text_is_none(write_pool):
    _, matrix = opened(write_pool([("b", "q", "m", 1.0, ""), ("b", "q", "n", 1.0, "fam"), ("b", "q", "o", 1.0, None)]))
    assert matrix.families == (None, "fam", None)
