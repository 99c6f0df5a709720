"""Rollouts of a prompt that are alike are dropped, and of the others those are kept whose rewards vary most."""

import json
from itertools import combinations
from math import isclose

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compression.rollouts import BIAS, NO_BIAS, Likeness, Thinning, thin_rollouts, widest
from compression.training_files import BadTrainingFile, keep_rows

ALONE = Thinning(alike_by=Likeness.NONE)


@pytest.fixture
def batch(tmp_path):
    """Write rollouts as JSON lines: (prompt, rollout, reward, further fields)."""

    def to_file(rows):
        file = tmp_path / "batch.jsonl"
        names = ("prompt_id", "rollout_id", "reward")
        lines = [json.dumps(dict(zip(names, row, strict=False)) | (row[3] if len(row) > 3 else {})) for row in rows]
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    return to_file


def kept_of(rows, thinned) -> list[tuple]:
    return [row[:2] for row, keep in zip(rows, thinned.keep, strict=True) if keep]


def texts(*told) -> list[tuple]:
    """Rollouts of one prompt with rewards and texts."""
    return [("p", str(place), reward, {"text": text}) for place, (reward, text) in enumerate(told)]


@settings(max_examples=300, deadline=None)
@given(
    st.integers(2, 7).flatmap(
        lambda n: st.tuples(
            st.lists(
                st.lists(st.one_of(st.integers(-2, 2), st.floats(-1e3, 1e3)), min_size=n, max_size=n),
                min_size=1,
                max_size=3,
            ),
            st.integers(1, n),
        )
    )
)
def test_no_other_subset_varies_more(case):
    rewards, keep = np.sort(np.array(case[0], dtype=float), axis=1), case[1]
    for row, low in zip(rewards, widest(rewards, keep), strict=True):
        chosen = np.r_[row[:low], row[len(row) - keep + low :]]
        assert len(chosen) == keep
        best = max(np.var(subset) for subset in combinations(row, keep))
        assert isclose(np.var(chosen), best, rel_tol=1e-9, abs_tol=1e-9 * max(1, np.abs(row).max() ** 2))


def test_of_equal_variances_the_nearer_mean_is_kept():
    # Of three, {0, 0, 1} and {0, 1, 1} vary equally; the prompt's mean says which.
    assert widest(np.array([[0, 0, 0, 0, 1.0, 1], [0, 0, 1, 1, 1, 1.0]]), 3).tolist() == [2, 1]


def test_variance_survives_a_large_offset():
    rewards = np.sort(np.random.default_rng(0).random((20, 7)), axis=1)
    np.testing.assert_array_equal(widest(rewards, 3), widest(rewards + 1e6, 3))


def test_binary_rewards_are_kept_in_halves(batch):
    rows = [("p", f"{place}", reward) for place, reward in enumerate([1, 1, 1, 1, 1, 1, 0, 0])]
    found = thin_rollouts(batch(rows), Thinning(alike_by=Likeness.NONE, keep=4))
    assert [rows[place][2] for place in np.flatnonzero(found.keep)] == [1, 1, 0, 0]
    assert found.report.after.mean_variance == 0.25
    assert found.report.dropped_variance == 4


def test_texts_are_alike_but_for_white_space_and_only_with_equal_rewards(batch):
    rows = texts((1, "a b"), (1, " a\n\tb "), (0, "a b"), (1, "ab"), (1, "a　b"))
    found = thin_rollouts(batch(rows), Thinning())
    assert found.report.alike_by is Likeness.TEXT
    assert [one for _, one in kept_of(rows, found)] == ["0", "2", "3"]
    assert found.report.dropped_alike == 2


def test_other_prompts_are_not_alike(batch):
    rows = [("p", "1", 1, {"text": "x"}), ("q", "1", 1, {"text": "x"})]
    assert thin_rollouts(batch(rows), Thinning()).keep.all()


def test_equal_rewards_alone_are_alike_only_when_that_is_asked(batch):
    rows = [("p", "b", 1), ("p", "a", 1), ("p", "c", 0.5)]
    file = batch(rows)
    assert kept_of(rows, thin_rollouts(file, Thinning())) == [("p", "b"), ("p", "a"), ("p", "c")]
    assert kept_of(rows, thin_rollouts(file, Thinning(alike_by=Likeness.REWARD))) == [("p", "a"), ("p", "c")]


def naive(rows, alike):
    """Kept rollouts by the rule in words, one after the other."""
    kept = []
    for row in sorted(rows, key=lambda one: one[1]):
        vector = np.array(row[3]["embedding"])
        for prompt, _, reward, more in kept:
            other = np.array(more["embedding"])
            cosine = vector @ other / np.linalg.norm(vector) / np.linalg.norm(other)
            if (prompt, reward) == (row[0], row[2]) and cosine >= alike:
                break
        else:
            kept.append(row)
    return {row[:2] for row in kept}


@pytest.mark.parametrize("alike", [0.5, 0.9, 0.99])
def test_embeddings_are_compared_with_those_kept(batch, alike, monkeypatch):
    rng = np.random.default_rng(5)
    rows = [
        (f"p{prompt}", f"{place:02}", int(rng.integers(2)), {"embedding": rng.normal(size=2).tolist()})
        for prompt in range(20)
        for place in range(rng.integers(1, 9))
    ]
    expected = naive(rows, alike)
    assert len(expected) < len(rows)
    found = thin_rollouts(batch(rows), Thinning(alike=alike))
    assert set(kept_of(rows, found)) == expected
    monkeypatch.setattr("compression.rollouts._ROLLOUTS_AT_ONCE", 7)
    np.testing.assert_array_equal(thin_rollouts(batch(rows), Thinning(alike=alike)).keep, found.keep)


def test_equal_embeddings_have_a_cosine_of_one(batch):
    rows = [("p", f"{place}", 1, {"embedding": [0.1 * scale, 0.3 * scale]}) for place, scale in enumerate([1, 3, 7])]
    assert thin_rollouts(batch(rows), Thinning(alike=1)).keep.tolist() == [True, False, False]


def test_flat_prompts_are_told_and_dropped_when_wished(batch):
    rows = [("p", "1", 1), ("p", "2", 1), ("q", "1", 1), ("q", "2", 0), ("r", "1", 0)]
    kept = thin_rollouts(batch(rows), ALONE)
    assert kept.keep.all()
    assert (kept.report.before.flat_prompts, kept.report.bias) == (2, NO_BIAS)
    dropped = thin_rollouts(batch(rows), Thinning(alike_by=Likeness.NONE, drop_flat=True))
    assert kept_of(rows, dropped) == [("q", "1"), ("q", "2")]
    assert (dropped.report.dropped_flat, dropped.report.after.flat_prompts, dropped.report.bias) == (3, 0, BIAS)


def test_the_report_is_what_a_hand_finds(batch):
    rows = [("p", "1", 4), ("p", "2", 0), ("p", "3", 1), ("q", "1", 2), ("q", "2", 3), ("q", "3", None)]
    report = thin_rollouts(batch(rows), Thinning(alike_by=Likeness.NONE, keep=2)).report
    assert (report.rows, report.without_reward) == (6, 1)
    before, after = report.before, report.after
    assert (before.prompts, before.rollouts, before.fewest, before.most) == (2, 5, 2, 3)
    assert (after.prompts, after.rollouts, after.fewest, after.most) == (2, 4, 2, 2)
    # p: 4, 0, 1 has mean 5/3 and variance 26/9; q: 2, 3 has 5/2 and 1/4. Kept are 4, 0 and 2, 3.
    assert (before.mean_reward, before.mean_prompt_reward) == (2, pytest.approx((5 / 3 + 5 / 2) / 2))
    assert before.mean_variance == pytest.approx((26 / 9 + 1 / 4) / 2)
    assert (after.mean_reward, after.mean_prompt_reward, after.mean_variance) == (2.25, 2.25, (4 + 1 / 4) / 2)
    # Pairs of p have variances 4, 9/4 and 1/4, on average 13/6.
    assert report.random_variance == pytest.approx((13 / 6 + 1 / 4) / 2)


def random_rows(prompts=60, seed=2):
    rng = np.random.default_rng(seed)
    return [
        (f"p{prompt:02}", f"{place}", float(rng.integers(3)))
        for prompt in range(prompts)
        for place in range(rng.integers(2, 7))
    ]


@pytest.mark.parametrize("share", [0.25, 0.5, 0.7])
def test_a_share_keeps_so_many_of_each_prompt_and_at_least_two(batch, share):
    rows = random_rows()
    found = thin_rollouts(batch(rows), Thinning(alike_by=Likeness.NONE, share=share))
    for prompt in {row[0] for row in rows}:
        there = sum(row[0] == prompt for row in rows)
        assert sum(one == prompt for one, _ in kept_of(rows, found)) == max(2, int(share * there + 0.5))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_no_prompt_that_varies_becomes_flat(tmp_path_factory, seed, keep):
    rows = random_rows(12, seed)
    file = tmp_path_factory.mktemp("rollouts") / "batch.jsonl"
    file.write_text(
        "".join(json.dumps(dict(zip(("prompt_id", "rollout_id", "reward"), row, strict=True))) + "\n" for row in rows)
    )
    for alike_by in (Likeness.NONE, Likeness.REWARD):
        report = thin_rollouts(file, Thinning(alike_by=alike_by, keep=keep)).report
        assert report.after.flat_prompts == report.before.flat_prompts
        assert report.after.mean_variance >= report.random_variance - 1e-12
        dropped = report.dropped_flat + report.dropped_prompts + report.dropped_alike + report.dropped_variance
        assert report.after.rollouts == report.before.rollouts - dropped


def test_prompts_are_thinned_in_proportion_to_their_reward_patterns(batch):
    # Sixty prompts of each of three patterns, in any order of their rollouts: a third of each is kept.
    patterns = [(0, 0, 0), (0, 1, 0), (1, 1, 0)]
    rng = np.random.default_rng(0)
    rows = [
        (f"p{3 * prompt + kind}", f"{place}", reward)
        for prompt in range(60)
        for kind, pattern in enumerate(patterns)
        for place, reward in enumerate(rng.permutation(pattern).tolist())
    ]
    found = thin_rollouts(batch(rows), Thinning(alike_by=Likeness.NONE, prompts=1 / 3))
    kinds = [int(prompt[1:]) % 3 for prompt in {prompt for prompt, _ in kept_of(rows, found)}]
    assert np.bincount(kinds).tolist() == [20, 20, 20]
    assert (found.report.after.fewest, found.report.dropped_prompts) == (3, 360)


def test_the_order_of_rows_does_not_matter(batch):
    rows = random_rows()
    other = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
    thinning = Thinning(keep=2, prompts=0.5, drop_flat=True)
    one, two = thin_rollouts(batch(rows), thinning), thin_rollouts(batch(other), thinning)
    assert set(kept_of(rows, one)) == set(kept_of(other, two))
    assert one.report == two.report


def test_kept_lines_are_the_bytes_of_the_file(tmp_path):
    lines = [
        b'{"prompt_id": "p",  "rollout_id": 1, "reward": 1, "x": {"y": [1.0, 1e3]}}\n',
        b"\n",
        b'{"prompt_id": "p", "rollout_id": 2, "reward": 1.0, "x": "\xc3\xa9"}\r\n',
        b'{"reward": 0, "rollout_id": 3, "prompt_id": "p"}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    found = thin_rollouts(tmp_path / "a.jsonl", Thinning(alike_by=Likeness.REWARD))
    keep_rows(tmp_path / "a.jsonl", found.keep, tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_bytes() == lines[0] + lines[3] + b"\n"
    keep_rows(tmp_path / "a.jsonl", ~found.keep, tmp_path / "c.jsonl")
    assert (tmp_path / "c.jsonl").read_bytes() == lines[2]


def test_kept_rows_of_parquet_have_all_columns(tmp_path):
    table = pa.table(
        {
            "prompt_id": pa.array([7, 7, 7], pa.int32()),
            "rollout_id": ["a", "b", "c"],
            "reward": pa.array([1, 0, 1], pa.float32()),
            "embedding": pa.array([[1, 0], [1, 0], [2, 0.1]], pa.list_(pa.float32())),
            "meta": [{"n": 1}, {"n": 2}, {"n": 3}],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    found = thin_rollouts(tmp_path / "a.parquet", Thinning())
    keep_rows(tmp_path / "a.parquet", found.keep, tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet").equals(table.slice(0, 2))


@pytest.mark.parametrize(
    ("rows", "thinning", "text"),
    [
        ([("p", "1", 1), ("p", "1", 1)], ALONE, "prompt 'p' has several rollouts '1'"),
        ([("p", "1", "x")], ALONE, "reward is no number, 'x'"),
        ([("p", "1", float("nan"))], ALONE, "reward is not finite"),
        ([("p", None, 1)], ALONE, "lack prompt_id or rollout_id, first row 1"),
        ([("p", "1", 1), ("p", "2", 1)], Thinning(drop_flat=True), "without flat prompts nothing is left"),
        ([("p", "1", 1)], Thinning(keep=1), "keep 2 or more"),
        ([("p", "1", 1)], Thinning(keep=2, share=0.5), "not both"),
        ([("p", "1", 1)], Thinning(share=0), "--share 0 is no share"),
        ([("p", "1", 1)], Thinning(prompts=1.5), "--prompts 1.5 is no share"),
        ([("p", "1", 1)], Thinning(alike=2), "no cosine"),
        ([("p", "1", 1)], Thinning(alike_by=Likeness.TEXT), "no column 'text'"),
        ([("p", "1", 1, {"text": "a"}), ("p", "2", 1)], Thinning(), "1 rollouts have no text .* first row 2"),
        ([("p", "1", 1, {"embedding": [1]}), ("p", "2", 1, {"embedding": "x"})], Thinning(), "no embedding"),
        ([("p", "1", 1, {"embedding": [1]}), ("p", "2", 1, {"embedding": [1, 2]})], Thinning(), "1 to 2 numbers"),
        ([("p", "1", 1, {"embedding": [1]}), ("p", "2", 1, {"embedding": [0]})], Thinning(), "no direction"),
        ([("p", "1", 1, {"embedding": [1]}), ("p", "2", 1, {"embedding": [None]})], Thinning(), "no direction"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(batch, rows, thinning, text):
    with pytest.raises(BadTrainingFile, match=text) as told:
        thin_rollouts(batch(rows), thinning)
    assert "\n" not in str(told.value)


def test_a_batch_names_its_rollouts(tmp_path):
    (tmp_path / "a.csv").write_text("prompt_id,reward\np,1\n")
    with pytest.raises(BadTrainingFile, match="no column 'rollout_id'"):
        thin_rollouts(tmp_path / "a.csv", ALONE)
