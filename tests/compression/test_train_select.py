"""A training set is thinned in proportion over strata of score patterns, with floors for easy and hard samples."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom, ks_2samp, rankdata
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from compression.train_select import Wanted, select_training_set
from compression.training_files import BadTrainingFile, lines_with, write_table
from compression.training_strata import Kind, bands_of, cells_of, entry_order, patterns_of, weights_of

EVERYTHING = Wanted(rate=1)


@pytest.fixture
def write(tmp_path):
    """Write rows (sample_id, source, value) as CSV; an absent value is None."""

    def to_file(rows, name="values.csv", header="sample_id,source,value"):
        file = tmp_path / name
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        file.write_text("\n".join([header, *lines, ""]))
        return file

    return to_file


def long(values) -> list[tuple]:
    """Rows of a matrix of samples by sources; NaN is an absent row."""
    return [
        (f"s{sample:03}", f"m{source}", float(value))
        for (sample, source), value in np.ndenumerate(np.asarray(values))
        if not math.isnan(value)
    ]


def answers(samples=200, sources=6, seed=3):
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=(samples, 1)) * 1.5 + rng.normal(size=(1, sources))
    return (rng.random((samples, sources)) < 1 / (1 + np.exp(-ability))).astype(float)


def difficulties(selection):
    return dict(zip(selection.table["sample_id"].to_pylist(), selection.table["difficulty"].to_pylist(), strict=True))


def test_the_difficulty_of_scores_is_one_less_their_mean(write):
    file = write(long([[1, 1], [1, 0], [0, 0], [0.5, 0.3]]))
    found = difficulties(select_training_set(file, Kind.SCORE, EVERYTHING))
    assert found == {"s000": 0.0, "s001": 0.5, "s002": 1.0, "s003": pytest.approx(0.6)}


def test_the_difficulty_of_losses_is_the_place_by_mean_rank_within_each_source(write):
    # Mid-ranks by source, from the hardest: m0 orders c, b, a, d; m1 has b hardest, and a and c equal.
    # Shares easier: a (.625 + .5) / 2, b (.375 + .125) / 2, c (.125 + .5) / 2, d (.875 + .875) / 2.
    file = write(long([[1, 20], [2, 90], [300, 20], [0.5, 3]]))
    found = difficulties(select_training_set(file, Kind.LOSS, EVERYTHING))
    assert found == {"s003": 0.0, "s000": pytest.approx(1 / 3), "s002": pytest.approx(2 / 3), "s001": 1.0}


def test_equal_losses_share_their_places(write):
    # Shares: a (.667 + .5), b (.667 + .167), c (.167 + .833); by highest ranks b and c would be equally hard.
    found = difficulties(select_training_set(write(long([[1, 2], [1, 3], [2, 1]])), Kind.LOSS, EVERYTHING))
    assert found == {"s000": 0, "s002": 0.5, "s001": 1}


def test_the_difficulty_of_rewards_is_the_place_by_rank_within_the_file(write):
    # One rollout each: ranks of all rewards; the equal ones share the mean of places 1 and 2 of 0 to 3.
    file = write([("a", 1, -5), ("b", 1, 7), ("c", 1, 7), ("d", 1, 1000)])
    assert difficulties(select_training_set(file, Kind.REWARD, EVERYTHING)) == {"a": 1, "b": 0.5, "c": 0.5, "d": 0}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=2, max_size=8), st.randoms())
def test_rewards_of_a_sample_have_no_order(rewards, random):
    values = (rankdata(rewards).reshape(-1, 4) - 0.5) / np.size(rewards)
    shuffled = np.array([random.sample(list(row), 4) for row in values])
    one, other = patterns_of(values, Kind.REWARD), patterns_of(shuffled, Kind.REWARD)
    np.testing.assert_array_equal(one.vectors, other.vectors)
    np.testing.assert_array_equal(one.difficulty, other.difficulty)


def test_losses_count_by_rank_whatever_their_scale(write):
    losses = np.random.default_rng(0).gamma(2, size=(60, 3))
    one = select_training_set(write(long(losses)), Kind.LOSS, Wanted(size=20))
    other = select_training_set(write(long(losses**3 * [1, 50, 1000])), Kind.LOSS, Wanted(size=20))
    assert one.table.equals(other.table)


def test_a_gap_is_filled_as_an_additive_model_says(write):
    # Means are .75 and .4 over what there is; the third lies .15 above in m0, so .55 in m1: 1 - (.9 + .55) / 2.
    file = write(long([[1, 0.6], [0.35, 0.2], [0.9, math.nan]]))
    found = select_training_set(file, Kind.SCORE, EVERYTHING)
    assert difficulties(found)["s002"] == pytest.approx(1 - (0.9 + 0.55) / 2)
    assert (found.report.gaps, found.report.without_value) == (1, 0)


def test_samples_without_a_value_and_repeated_rows_are_told(write):
    rows = [*long(answers(20, 2)), ("s000", "m0", answers(20, 2)[0, 0]), ("lost", "m0", None)]
    report = select_training_set(write(rows), Kind.SCORE, EVERYTHING).report
    assert (report.samples, report.without_value, report.repeated, report.gaps) == (20, 1, 1, 0)


def test_strata_are_those_of_scikit_learn(write):
    scores = np.random.default_rng(1).random((150, 4)).round(1)
    found = select_training_set(write(long(scores)), Kind.SCORE, Wanted(rate=1, strata=5, seed=11))
    unique, pattern, counts = np.unique(scores, axis=0, return_inverse=True, return_counts=True)
    expected = KMeans(5, n_init=1, random_state=11).fit(unique.astype(np.float32), sample_weight=counts)
    strata = found.table["stratum"].to_numpy()
    assert adjusted_rand_score(expected.labels_[pattern.ravel()], strata) == 1
    means = [1 - scores[strata == one].mean() for one in range(5)]
    assert means == sorted(means)


def test_a_stratum_has_five_samples_to_choose_from(write):
    report = select_training_set(write(long(answers(23))), Kind.SCORE, EVERYTHING).report
    assert (report.strata_wanted, report.strata) == (48, 4)


sets = st.integers(2, 80).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
        st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)),
        st.integers(0, 2**31),
    )
)


@settings(max_examples=150, deadline=None)
@given(sets)
def test_each_size_keeps_floors_while_there_are_samples(case):
    strata, bands, (easy, hard), seed = case
    strata, bands = np.array(strata), np.array(bands)
    floors = np.array([easy, 0, hard])
    order = entry_order(strata, bands, floors, np.random.default_rng(seed))
    assert sorted(order) == list(range(len(strata)))
    there = np.bincount(bands, minlength=3)
    for size in range(1, len(order) + 1):
        kept = np.bincount(bands[order[:size]], minlength=3)
        assert (kept >= np.minimum(np.floor(floors * size - 1e-9), there)).all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=80), st.integers(0, 2**31))
def test_without_floors_cells_are_within_one_of_proportion_for_two_strata(labels, seed):
    strata = np.array(labels) % 2
    order = entry_order(strata, np.ones_like(strata), np.zeros(3), np.random.default_rng(seed))
    for size in range(1, len(order) + 1):
        kept = np.bincount(strata[order[:size]], minlength=2)
        assert (np.abs(kept - size * np.bincount(strata, minlength=2) / len(strata)) <= 1).all()


def test_seats_are_those_of_sainte_lague():
    # Webster's apportionment of 9 seats to 53, 24 and 23: the nine largest of votes / (1, 3, 5, ...).
    strata = np.repeat([0, 1, 2], [53, 24, 23])
    order = entry_order(strata, np.ones(100, dtype=int), np.zeros(3), np.random.default_rng(0))
    quotients = sorted(
        ((votes / divisor, party) for party, votes in enumerate((53, 24, 23)) for divisor in range(1, 40, 2)),
        reverse=True,
    )
    expected = np.bincount([party for _, party in quotients[:9]])
    np.testing.assert_array_equal(np.bincount(strata[order[:9]]), expected)


def test_within_a_cell_each_sample_is_as_likely():
    strata, bands = np.zeros(4, dtype=int), np.ones(4, dtype=int)
    firsts = [entry_order(strata, bands, np.zeros(3), np.random.default_rng(seed))[0] for seed in range(400)]
    # 400 draws of four: a count beyond 100 +- 45 has a probability below 1e-6, and the seeds are fixed.
    assert (np.abs(np.bincount(firsts, minlength=4) - 100) < 45).all()


def test_weights_stand_for_the_samples_of_a_cell():
    strata, bands = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1, 1])
    weights = weights_of(cells_of(strata, bands), np.array([0, 3, 4, 5]))
    assert weights[[0, 3, 4, 5]].tolist() == [3, 1, 1.5, 1.5]


def test_bands_are_fifths_of_the_scale():
    assert bands_of(np.array([0, 0.2, 0.21, 0.79, 0.8, 1])).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("size", [1, 7, 60, 199, 200])
def test_the_size_is_exact_and_a_larger_selection_holds_the_smaller(write, size):
    file = write(long(answers()))
    kept = select_training_set(file, Kind.SCORE, Wanted(size=size, seed=4)).table["sample_id"].to_pylist()
    more = select_training_set(file, Kind.SCORE, Wanted(size=min(200, size + 9), seed=4)).table["sample_id"].to_pylist()
    assert len(set(kept)) == size
    assert set(kept) <= set(more)
    assert kept == sorted(kept)


def test_floors_lift_what_is_rare_and_a_lack_is_told(write):
    # 90 that all solve, 20 in between, 4 that none solves.
    scores = [[1, 1]] * 90 + [[1, 0]] * 20 + [[0, 0]] * 4
    found = select_training_set(write(long(scores)), Kind.SCORE, Wanted(size=20, floor_hard=0.15))
    assert found.report.change.after.hard == 0.15
    assert (found.report.short_easy, found.report.short_hard) == (0, 0)
    lacking = select_training_set(write(long(scores)), Kind.SCORE, Wanted(size=20, floor_hard=0.5)).report
    assert (lacking.change.after.hard, lacking.short_hard) == (4 / 20, 6)


def test_the_order_of_rows_does_not_matter(write):
    rows = long(answers())
    other = [rows[place] for place in np.random.default_rng(8).permutation(len(rows))]
    for kind in Kind:
        one, two = (select_training_set(write(given), kind, Wanted(rate=0.3)) for given in (rows, other))
        assert one.table.equals(two.table)
        assert one.report == two.report


def test_another_seed_draws_others(write):
    file = write(long(answers()))
    one, two = (select_training_set(file, Kind.SCORE, Wanted(rate=0.3, seed=seed)).table for seed in (0, 1))
    assert one["sample_id"] != two["sample_id"]


def test_formats_say_the_same(write, tmp_path):
    rows = long(answers())
    csv = write(rows)
    columns = dict(zip(("sample_id", "source", "value"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines))
    expected = select_training_set(csv, Kind.SCORE, Wanted(size=50)).table
    for name in ("a.parquet", "a.jsonl"):
        assert select_training_set(tmp_path / name, Kind.SCORE, Wanted(size=50)).table.equals(expected)


def test_columns_may_be_called_otherwise_and_ids_are_text(write):
    file = write([("007", 0.1), ("7", 0.9), ("8", 0.5)], header="uid,loss")
    found = select_training_set(file, Kind.LOSS, Wanted(rate=1, columns={"sample_id": "uid", "value": "loss"}))
    assert found.table["sample_id"].to_pylist() == ["007", "7", "8"]


def test_rewards_without_a_source_are_rollouts(write):
    rows = [("a", 1), ("a", 0), ("a", 1), ("b", 0), ("b", 0), ("b", 0), ("c", 1), ("c", 1), ("c", 1)]
    report = select_training_set(write(rows, header="sample_id,value"), Kind.REWARD, EVERYTHING).report
    assert (report.sources, report.gaps, report.repeated) == (3, 0, 0)
    assert (report.change.before.solved, report.change.before.unsolved) == (1 / 3, 1 / 3)


def test_solved_and_unsolved_are_dropped_when_wished_and_always_told(write):
    file = write(long([[1, 1]] * 5 + [[1, 0]] * 4 + [[0.4, 0.3]] * 2 + [[0, 0]] * 3))
    kept = select_training_set(file, Kind.SCORE, EVERYTHING).report
    assert (kept.change.before.solved, kept.change.before.unsolved) == (5 / 14, 3 / 14)
    dropped = select_training_set(file, Kind.SCORE, Wanted(rate=1, drop_solved=True, drop_unsolved=True)).report
    assert (dropped.dropped_solved, dropped.dropped_unsolved, dropped.kept) == (5, 3, 6)
    assert (dropped.change.after.solved, dropped.change.after.unsolved) == (0, 0)
    half = select_training_set(file, Kind.SCORE, Wanted(rate=1, drop_unsolved=True, solved_at=0.5)).report
    assert half.dropped_unsolved == 5


def test_losses_know_of_no_solving_unless_it_is_said(write):
    file = write(long([[0.1, 0.2], [0.1, 3], [2, 3]]))
    report = select_training_set(file, Kind.LOSS, EVERYTHING).report
    assert (report.change.before.solved, report.change.random.solved_sd) == (None, None)
    with pytest.raises(BadTrainingFile, match="--solved-at"):
        select_training_set(file, Kind.LOSS, Wanted(rate=1, drop_solved=True))
    said = select_training_set(file, Kind.LOSS, Wanted(rate=1, drop_solved=True, solved_at=0.5)).report
    assert (said.dropped_solved, said.change.before.unsolved) == (1, 1 / 3)


def test_the_report_is_what_numpy_and_scipy_say(write):
    scores = answers(120, 5)
    found = select_training_set(write(long(scores)), Kind.SCORE, Wanted(size=30, floor_hard=0.4))
    change = found.report.change
    difficulty = 1 - scores.mean(axis=1)
    kept = difficulty[[int(one[1:]) for one in found.table["sample_id"].to_pylist()]]
    bins = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]) - [*[1e-9] * 10, -1e-9]
    before, after = np.histogram(difficulty, bins)[0], np.histogram(kept, bins)[0]
    assert change.before.histogram == tuple(before)
    assert change.after.histogram == tuple(after)
    assert change.total_variation == pytest.approx(np.abs(before / 120 - after / 30).sum() / 2)
    assert change.kolmogorov_smirnov == pytest.approx(ks_2samp(difficulty.round(6), kept.round(6)).statistic)
    assert change.after.mean == pytest.approx(kept.mean())
    assert change.after.mean_value == pytest.approx(1 - kept.mean())
    assert change.before.quantiles == pytest.approx(np.quantile(difficulty, [0.05, 0.25, 0.5, 0.75, 0.95]))
    hard = (difficulty > 0.79).mean()
    assert change.before.hard == pytest.approx(hard)
    assert change.random.hard_sd == pytest.approx(hypergeom(120, round(120 * hard), 30).std() / 30)
    assert change.random.mean_sd == pytest.approx(math.sqrt(difficulty.var() / 30 * 90 / 119))


def test_the_expected_distance_of_a_random_selection_is_what_draws_give(write):
    scores = answers(60, 5)
    change = select_training_set(write(long(scores)), Kind.SCORE, Wanted(size=20)).report.change
    shares = np.array(change.before.histogram) / 60
    drawn = np.random.default_rng(0).multivariate_hypergeometric(change.before.histogram, 20, size=20_000) / 20
    assert change.random.total_variation == pytest.approx(np.abs(drawn - shares).sum(axis=1).mean() / 2, rel=0.02)


def test_strata_of_which_nothing_is_kept_are_told(write):
    found = select_training_set(write(long(answers())), Kind.SCORE, Wanted(size=10))
    everything = select_training_set(write(long(answers())), Kind.SCORE, EVERYTHING)
    sizes = np.bincount(everything.table["stratum"].to_numpy())
    kept = np.bincount(found.table["stratum"].to_numpy(), minlength=len(sizes))
    assert found.report.strata == len(sizes) > 10
    assert found.report.strata_empty == (kept == 0).sum()
    assert found.report.in_empty_strata == sizes[kept == 0].sum()


@pytest.mark.parametrize(
    ("rows", "kind", "wanted", "text"),
    [
        (
            [("a", "m", 0.2), ("a", "m", 0.3), ("b", "m", 1)],
            Kind.SCORE,
            EVERYTHING,
            "several, different .* a by m has 0.2",
        ),
        ([("a", "m", "nan"), ("b", "m", 1)], Kind.LOSS, EVERYTHING, "not finite, for one that of a"),
        ([("a", "m", "inf"), ("b", "m", 1)], Kind.REWARD, EVERYTHING, "not finite"),
        ([("a", "m", -1), ("b", "m", 1)], Kind.LOSS, EVERYTHING, "outside 0 and above, for one -1 of a"),
        ([("a", "m", 1.5), ("b", "m", 1)], Kind.SCORE, EVERYTHING, r"outside \[0, 1\], for one 1.5 of a"),
        ([("a", "m", "good"), ("b", "m", 1)], Kind.SCORE, EVERYTHING, "no number, 'good'"),
        ([("a", "m", 1), (None, "m", 1)], Kind.SCORE, EVERYTHING, "lack sample_id or source, first row 2"),
        ([("a", "m", 1), ("a", "n", 0)], Kind.SCORE, EVERYTHING, "one sample only"),
        ([("a", "m", 1), ("b", "n", 1)], Kind.SCORE, EVERYTHING, "each value is 1"),
        ([("a", "m", None)], Kind.SCORE, EVERYTHING, "all are empty"),
        ([], Kind.SCORE, EVERYTHING, "no rows"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(size=3), "--size 3 is not between 1 and the 2"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(rate=0), "0 is no share"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(rate=1.2), "1.2 is no share"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(), "--rate"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(rate=1, floor_easy=0.6, floor_hard=0.6), "floors"),
        ([("a", "m", 1), ("b", "m", 0)], Kind.SCORE, Wanted(rate=1, drop_solved=True, drop_unsolved=True), "no sample"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(write, rows, kind, wanted, text):
    with pytest.raises(BadTrainingFile, match=text) as told:
        select_training_set(write(rows), kind, wanted)
    assert "\n" not in str(told.value)


def test_bad_lines_columns_and_endings_are_named(tmp_path, write):
    file = tmp_path / "a.jsonl"
    file.write_text('{"sample_id": "a", "value": 1}\n\n{"sample_id": "b", value: 0}\n')
    with pytest.raises(BadTrainingFile, match="line 3 is no JSON"):
        select_training_set(file, Kind.SCORE, EVERYTHING)
    with pytest.raises(BadTrainingFile, match="no column 'value', only sample_id, loss"):
        select_training_set(write([("a", 1)], header="sample_id,loss"), Kind.LOSS, EVERYTHING)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "a.parquet").write_text("a")
    for name, text in (
        ("a.txt", "neither Parquet"),
        ("b.csv", "no such file"),
        ("a.parquet", "cannot be read as Parquet"),
    ):
        with pytest.raises(BadTrainingFile, match=text):
            select_training_set(tmp_path / name, Kind.SCORE, EVERYTHING)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_ids_in_csv_are_text_however_they_look(tmp_path, separator):
    file = tmp_path / "values.csv"
    rows = [("sample_id", "value"), ("#1", "0.5"), ("007", "0.1"), ("7", "1")]
    file.write_text("".join(separator.join(row) + "\n" for row in rows))
    assert difficulties(select_training_set(file, Kind.SCORE, EVERYTHING)) == {"#1": 0.5, "007": 0.9, "7": 0.0}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_name_is_no_pattern(tmp_path, ending):
    """To DuckDB a[1].csv is any of a1.csv."""
    for name, samples in (("a[1]", ("x", "y")), ("a1", ("p", "q", "r"))):
        table = pa.table({"sample_id": samples, "value": np.arange(len(samples)) / 2})
        write_table(tmp_path / f"{name}.{ending}", table)
    found = select_training_set(tmp_path / f"a[1].{ending}", Kind.SCORE, EVERYTHING)
    assert found.table["sample_id"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ('{"id": "a"}\n{"id": "a"}\n', "several rows have the id 'a'"),
        ('{"id": "a"}\n{"x": 1}\n', "row 2 has no id"),
        ('{"id": "a"}\n', "1 selected samples are not in it, 'b'"),
        ('{"uid": "a"}\n', "no field 'id', only uid"),
    ],
)
def test_a_training_set_must_hold_what_is_selected(tmp_path, lines, text):
    (tmp_path / "train.jsonl").write_text(lines)
    with pytest.raises(BadTrainingFile, match=text):
        lines_with(tmp_path / "train.jsonl", "id", ["a", "b"])


def test_lines_are_found_by_their_ids_as_text(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"id": 3}\n\n{"id": "1", "x": 2}\n{"id": 2}\n')
    assert lines_with(tmp_path / "train.jsonl", "id", ["1", "3"]).tolist() == [True, True, False]
