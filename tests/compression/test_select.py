"""Selecting subsets: floors, groups, fixed questions, the manifest, extension."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from compression.importers.base import BadPool
from compression.matrix import MissingRule, read_matrix
from compression.pool import open_pool
from compression.samplers import SAMPLERS
from compression.select import Selection, extend, select, selection_of
from compression.subset import Manifest, SubsetSample
from core.errors import UnknownName

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.usefixtures("environment_once")]

BENCHMARKS = np.repeat([0, 1, 2], [20, 100, 180])
ABILITIES = ("seeing", "hearing", "both", "", "seeing")
STRATIFIED = [entry.name for entry in SAMPLERS if entry.load().has_interval]


@pytest.fixture(scope="module")
def matrix(matrix_of, latent_scores):
    """8 models on 300 questions."""
    return matrix_of(latent_scores(300, 8, seed=4, benchmark_of=BENCHMARKS), BENCHMARKS)


@pytest.fixture
def labels(tmp_path, matrix):
    """A file with an ability of four questions in five, twins of two or five questions, and pairs across benchmarks."""
    lines = ["question_id,ability,twin,pair"]
    for place, question in enumerate(matrix.question_ids):
        ability = "rare" if place in (101, 200) else ABILITIES[place % 5]
        twin = f"t{place // 5}" if place < 100 else f"u{place // 2}" if place < 140 else ""
        pair = f"p{place % 20}" if place < 40 else ""
        lines.append(f"{question},{ability},{twin},{pair}")
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def fixed(tmp_path, matrix):
    path = tmp_path / "fixed.csv"
    path.write_text("question_id\n" + "".join(f"{matrix.question_ids[place]}\n" for place in (3, 150, 299)))
    return path


def chosen(matrix, **settings):
    return select(matrix, "test", Selection(**{"name": "s", "rate": 0.1} | settings))


def extended(matrix, subset, rate=None, size=None, labels=None, fixed=None, name="larger"):
    before = Manifest.model_validate_json(subset.manifest.model_dump_json())
    sample = SubsetSample.read(subset.data, before)
    return extend(matrix, "test", (before, sample), selection_of(before, name, labels, fixed), rate, size)


def numbers(subset):
    return sorted(int(question[1:]) for question in subset.sample.question_ids)


def ability_of(place):
    return "rare" if place in (101, 200) else ABILITIES[place % 5]


def anew(subset, matrix, labels=None, fixed=None):
    """Selected again by nothing but the manifest and the files that it names."""
    manifest = Manifest.model_validate_json(subset.manifest.model_dump_json())
    wanted = selection_of(manifest, manifest.name, labels, fixed)
    return select(matrix, manifest.origin, replace(wanted, rate=manifest.sizes[0] / manifest.units))


class TestSize:
    @pytest.mark.parametrize(
        ("settings", "kept"),
        [({"rate": 0.1}, 30), ({"rate": 1}, 300), ({"rate": 1e-6}, 1), ({"rate": None, "size": 17}, 17)],
    )
    def test_as_many_as_asked_for(self, matrix, settings, kept):
        subset = chosen(matrix, **settings)
        assert len(subset.sample) == subset.manifest.kept == kept
        assert subset.manifest.sizes == (kept,)
        assert sum(one.kept for one in subset.manifest.benchmarks) == kept
        assert sum(one.drawn for one in subset.manifest.strata) == kept
        assert sum(one.units for one in subset.manifest.strata) == 300

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"rate": 0}, "no share"),
            ({"rate": 1.5}, "no share"),
            ({"rate": float("nan")}, "no share"),
            ({"rate": None, "size": 301}, "--size 301 is not between 1 and the pool's 300"),
            ({"rate": None, "size": 0}, "--size 0 is not between"),
            ({"rate": None}, "either --rate"),
            ({"size": 10}, "either --rate"),
        ],
    )
    def test_what_is_no_size_is_refused(self, matrix, settings, told):
        with pytest.raises(BadPool, match=told):
            chosen(matrix, **settings)

    def test_a_size_is_told_in_questions_where_there_are_groups(self, matrix, labels):
        subset = chosen(matrix, rate=None, size=60, labels=labels, together="twin")
        # 200 units of 1.5 questions on average: which are drawn decides how many questions are kept.
        assert subset.manifest.sizes == (40,)
        assert subset.manifest.kept == len(subset.sample)
        with pytest.raises(BadPool, match="--size 301 is not between 1 and the pool's 300"):
            chosen(matrix, rate=None, size=301, labels=labels, together="twin")

    @pytest.mark.parametrize("sampler", STRATIFIED)
    def test_pools_of_next_to_nothing(self, matrix, sampler):
        for questions, models in ((1, 1), (2, 8), (5, 1), (9, 3)):
            small = matrix.of_questions(np.arange(questions)).of_models(np.arange(models))
            for rate in (0.1, 0.5, 1.0):
                subset = chosen(small, sampler=sampler, rate=rate)
                assert len(subset.sample) == max(1, round(rate * questions))

    @pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
    def test_scores_that_never_vary(self, matrix_of, score):
        subset = chosen(matrix_of(np.full((50, 3), score)))
        assert [one.micro.value for one in subset.estimates] == pytest.approx([score] * 3, abs=1e-6)


class TestSampler:
    def test_unknown_names_are_refused_with_the_nearest(self, matrix):
        with pytest.raises(UnknownName, match="did you mean 'adaptive'"):
            chosen(matrix, sampler="adaptve")
        with pytest.raises(UnknownName, match="unknown model of the pool"):
            chosen(matrix, families={"nobody": "x"})

    def test_a_sampler_whose_estimates_are_no_weighted_means_is_refused(self, matrix):
        with pytest.raises(BadPool, match="'irt' needs the whole pool for each estimate"):
            chosen(matrix, sampler="irt")

    def test_the_manifest_says_what_it_was_made_of(self, matrix):
        manifest = chosen(matrix, sampler="cghs", seed=7).manifest
        assert (manifest.sampler, manifest.seed, manifest.has_interval) == ("cghs@1", 7, True)
        assert manifest.sources == matrix.models
        assert manifest.pool_sha256 == matrix.fingerprint
        assert {"numpy", "scikit-learn"} <= manifest.packages.keys()
        for code, stratum in enumerate(manifest.strata):
            assert 1 <= stratum.drawn <= stratum.units, code
        assert sum(one.mean * one.units for one in manifest.strata) / 300 == pytest.approx(matrix.scores.mean())

    def test_another_seed_makes_another_subset(self, matrix):
        assert numbers(chosen(matrix, seed=1)) != numbers(chosen(matrix, seed=2))


class TestFixed:
    @pytest.mark.parametrize("sampler", [*STRATIFIED, "anchor"])
    def test_fixed_questions_are_always_in(self, matrix, fixed, sampler):
        for seed in range(3):
            subset = chosen(matrix, sampler=sampler, fixed=fixed, seed=seed)
            assert {3, 150, 299} <= set(numbers(subset))
            assert len(subset.sample) == 30
            weight = dict(zip(subset.sample.question_ids, subset.sample.weights, strict=True))
            if "+" not in sampler and sampler != "adaptive":
                # They stand for themselves.
                assert weight["q00003"] == pytest.approx(1 / 300)

    def test_with_all_of_their_group(self, matrix, fixed, labels):
        assert {0, 1, 2, 3, 4} <= set(numbers(chosen(matrix, fixed=fixed, labels=labels, together="twin")))

    def test_too_many_or_unknown_are_refused(self, matrix, fixed):
        with pytest.raises(BadPool, match="3 questions are to be in every sample"):
            chosen(matrix, rate=None, size=3, fixed=fixed)
        fixed.write_text("question_id\nq00001\nnone\n")
        with pytest.raises(BadPool, match="'none' is no question of made"):
            chosen(matrix, fixed=fixed)

    def test_all_fixed(self, matrix, tmp_path):
        everything = tmp_path / "all.csv"
        everything.write_text("question_id\n" + "\n".join(matrix.question_ids) + "\n")
        subset = chosen(matrix, rate=1, fixed=everything)
        assert len(subset.sample) == 300
        assert [one.micro.low for one in subset.estimates] == pytest.approx([one.truth for one in subset.estimates])


class TestFloors:
    @pytest.mark.parametrize("sampler", [*STRATIFIED, "anchor"])
    def test_each_benchmark_and_each_ability_has_as_many(self, matrix, labels, sampler):
        floors = {"benchmark": 8, "ability": 7}
        for seed in range(3):
            subset = chosen(matrix, sampler=sampler, floors=floors, labels=labels, seed=seed)
            kept = numbers(subset)
            assert len(kept) == 30
            assert min(Counter(BENCHMARKS[kept].tolist()).values()) >= 8
            assert len({BENCHMARKS[place] for place in kept}) == 3
            abilities = Counter(ability_of(place) for place in kept)
            # Of the rare one there are but two: a floor that exceeds a label takes all of it.
            assert abilities["rare"] == 2
            assert all(abilities[name] >= 7 for name in ("seeing", "hearing", "both"))

    def test_they_keep_estimates_unbiased(self, matrix):
        draws = 150
        found = [chosen(matrix, sampler="random", floors={"benchmark": 9}, seed=seed) for seed in range(draws)]
        value = np.array([[one.micro.value for one in subset.estimates] for subset in found])
        error = value - matrix.scores.mean(axis=0)
        assert (np.abs(error.mean(axis=0)) < 4 * error.std(axis=0) / np.sqrt(draws)).all()

    @pytest.mark.parametrize(
        ("floors", "size", "told"),
        [
            ({"benchmark": 11}, 30, "30 questions do not meet all floors"),
            ({"benchmark": 8, "ability": 12}, 30, "30 questions do not meet all floors"),
        ],
    )
    def test_floors_that_cannot_be_met_are_refused(self, matrix, labels, floors, size, told):
        with pytest.raises(BadPool, match=told):
            chosen(matrix, rate=None, size=size, floors=floors, labels=labels)

    def test_columns_that_are_not_there(self, matrix, labels):
        with pytest.raises(BadPool, match="'ability' of the questions are not known; give a file"):
            chosen(matrix, floors={"ability": 2})
        with pytest.raises(UnknownName, match="did you mean 'ability'"):
            chosen(matrix, floors={"abilty": 2}, labels=labels)

    def test_their_order_is_of_no_account(self, matrix, labels):
        one, other = (
            chosen(matrix, floors=floors, labels=labels)
            for floors in ({"benchmark": 8, "ability": 7}, {"ability": 7, "benchmark": 8})
        )
        assert one.data == other.data

    def test_a_group_counts_for_the_rarest_of_its_labels(self, matrix, labels):
        """Question 101 is the second of its twins and rare; pairs are of two benchmarks, of which b0 is the rarer."""
        for seed in range(5):
            subset = chosen(matrix, floors={"ability": 2}, labels=labels, together="twin", rate=0.2, seed=seed)
            assert {101, 200} <= set(numbers(subset))
            subset = chosen(matrix, floors={"benchmark": 10}, labels=labels, together="pair", rate=0.2, seed=seed)
            assert min(Counter(BENCHMARKS[numbers(subset)].tolist()).values()) >= 10

    def test_a_floor_that_groups_make_be_missed_is_told(self, matrix, tmp_path):
        """All of 'y' are in one group that counts for 'x', for which one of three groups is enough."""
        file = tmp_path / "odd.csv"
        rows = ((0, "x", "a"), (1, "y", "a"), (2, "y", "a"), (3, "y", "a"), (4, "x", ""), (5, "x", ""))
        file.write_text("question_id,kind,twin\n" + "".join(f"q{n:05},{kind},{twin}\n" for n, kind, twin in rows))

        def kept_or_told(seed):
            try:
                return set(numbers(chosen(matrix, floors={"kind": 1}, labels=file, together="twin", seed=seed)))
            except BadPool as error:
                return str(error)

        answers = [kept_or_told(seed) for seed in range(12)]
        told = [one for one in answers if isinstance(one, str)]
        assert 0 < len(told) < 12
        assert all("0 questions of kind 'y' are in the subset, and its floor is 1" in one for one in told)
        assert all({0, 1, 2, 3} <= one for one in answers if isinstance(one, set))


class TestGroups:
    @pytest.mark.parametrize("sampler", [*STRATIFIED, "anchor"])
    def test_groups_of_unequal_size_stay_together(self, matrix, labels, sampler):
        subset = chosen(matrix, sampler=sampler, labels=labels, together="twin", rate=0.3)
        kept = set(numbers(subset))
        for group in (
            *(range(place, place + 5) for place in range(0, 100, 5)),
            *((n, n + 1) for n in range(100, 140, 2)),
        ):
            assert len(kept & set(group)) in (0, len(group))
        assert subset.manifest.units == 20 + 20 + 160
        assert subset.manifest.sizes == (60,)
        assert len(np.unique(subset.sample.unit_of)) == 60
        if subset.manifest.has_interval:
            for unit in np.unique(subset.sample.unit_of):
                assert np.ptp(subset.sample.weights[subset.sample.unit_of == unit]) == 0

    def test_a_whole_benchmark_can_be_a_group(self, matrix):
        subset = chosen(matrix, sampler="random", together="benchmark", rate=0.4)
        assert sorted(one.kept / one.questions for one in subset.manifest.benchmarks) == [0, 0, 1]


class TestSameBytes:
    def test_whatever_the_order_of_rows_in_the_file(self, matrix, write_pool):
        rows = [
            (f"b{BENCHMARKS[place]}", question, model, float(matrix.scores[place, code]))
            for place, question in enumerate(matrix.question_ids)
            for code, model in enumerate(matrix.models)
        ]
        orders = (rows, rows[::-1], [rows[place] for place in np.random.default_rng(0).permutation(len(rows))])
        found = []
        for order in orders:
            with open_pool(write_pool(order), None) as pool:
                found.append(chosen(read_matrix(pool)))
        assert found[0].data == found[1].data == found[2].data
        assert found[0].manifest == found[1].manifest == found[2].manifest

    @pytest.mark.parametrize("sampler", [*STRATIFIED, "anchor"])
    def test_the_manifest_is_enough_to_select_it_again(self, matrix, labels, fixed, sampler):
        settings = {"floors": {"benchmark": 8, "ability": 5}, "labels": labels, "fixed": fixed, "seed": 3, "rate": 0.2}
        subset = chosen(matrix, sampler=sampler, **settings)
        assert anew(subset, matrix, labels, fixed).manifest == subset.manifest
        subset = chosen(matrix, sampler=sampler, labels=labels, together="twin", rate=0.25)
        assert anew(subset, matrix, labels).manifest.sample_sha256 == subset.manifest.sample_sha256

    def test_told_families_are_in_the_manifest(self, matrix):
        told = {model: ("z" if place % 2 else "a") for place, model in enumerate(matrix.models)}
        subset = chosen(matrix, families=told)
        assert subset.manifest.families == (0, 1) * 4
        assert anew(subset, matrix).manifest == subset.manifest

    def test_what_was_missing_is_in_the_manifest(self, write_pool):
        rows = [("b", f"q{n:02}", m, float((n + c) % 3 == 0)) for n in range(40) for c, m in enumerate("xyz")]
        rows.remove(("b", "q07", "y", 0.0))
        with open_pool(write_pool(rows), None) as pool:
            subset = chosen(read_matrix(pool, MissingRule.DROP), rate=0.5)
        missing = subset.manifest.missing
        assert (missing.rule, missing.cells, missing.dropped_questions) == (MissingRule.DROP, 1, 1)
        assert subset.manifest.questions == 39


class TestExtension:
    @pytest.mark.parametrize("sampler", STRATIFIED)
    def test_a_larger_one_holds_the_earlier(self, matrix, sampler):
        first = chosen(matrix, sampler=sampler)
        second = extended(matrix, first, rate=0.2)
        third = extended(matrix, second, size=90, name="largest")
        assert set(numbers(first)) < set(numbers(second)) < set(numbers(third))
        assert [len(one.sample) for one in (first, second, third)] == [30, 60, 90]
        assert third.manifest.sizes == (30, 60, 90)
        assert (third.manifest.extends, third.manifest.name) == ("larger", "largest")
        assert third.sample.weights.sum() == pytest.approx(1)
        assert len(third.manifest.strata) == len(first.manifest.strata)
        whole = extended(matrix, third, rate=1)
        assert [one.micro.low for one in whole.estimates] == pytest.approx([one.truth for one in whole.estimates])

    @pytest.mark.parametrize("sampler", ["random", "cghs", "adaptive", "neyman+greg"])
    def test_with_floors_groups_and_fixed_questions(self, matrix, labels, fixed, sampler):
        settings = {"floors": {"benchmark": 8, "ability": 5}, "labels": labels, "fixed": fixed}
        first = chosen(matrix, sampler=sampler, **settings)
        second = extended(matrix, first, rate=0.2, labels=labels, fixed=fixed)
        assert set(numbers(first)) < set(numbers(second))
        assert second.manifest.floors == first.manifest.floors
        first = chosen(matrix, sampler=sampler, labels=labels, together="twin", rate=0.2)
        second = extended(matrix, first, size=100, labels=labels)
        assert set(numbers(first)) < set(numbers(second))
        assert second.manifest.sizes == (40, 67)

    def test_its_families_are_those_that_were_told(self, matrix):
        told = {model: ("z" if place % 3 else "a") for place, model in enumerate(matrix.models)}
        first = chosen(matrix, families=told)
        second = extended(matrix, first, rate=0.2)
        assert second.manifest.families == first.manifest.families
        assert set(numbers(first)) < set(numbers(second))

    def test_its_estimates_are_unbiased_over_draws(self, matrix):
        draws = 80
        found = [extended(matrix, chosen(matrix, sampler="fused", seed=seed), rate=0.2) for seed in range(draws)]
        error = np.array([[one.micro.value for one in subset.estimates] for subset in found]) - matrix.scores.mean(
            axis=0
        )
        assert (np.abs(error.mean(axis=0)) < 4 * error.std(axis=0) / np.sqrt(draws) + 1e-3).all()

    @pytest.mark.parametrize(
        ("rate", "size", "told"),
        [
            (0.1, None, "has 30 of 300 already"),
            (0.05, None, "has 30 of 300 already"),
            (None, 30, "has 30 of 300 already"),
            (None, 301, "--size 301 is not between 1 and the pool's 300"),
            (1.2, None, "no share"),
            (None, None, "either --rate"),
        ],
    )
    def test_to_no_more_than_there_is(self, matrix, rate, size, told):
        with pytest.raises(BadPool, match=told):
            extended(matrix, chosen(matrix), rate, size)

    def test_of_another_pool(self, matrix):
        other = replace(matrix, scores=np.where(np.arange(300)[:, None] == 5, 1 - matrix.scores, matrix.scores))
        with pytest.raises(BadPool, match="is not the pool that 's' was drawn from"):
            extended(other, chosen(matrix), rate=0.2)

    def test_with_other_files(self, matrix, labels, fixed):
        subset = chosen(matrix, floors={"ability": 3}, labels=labels, fixed=fixed)
        labels.write_text(labels.read_text() + "q99999,x,y,z\n")
        with pytest.raises(BadPool, match="another file of labels; give the same file again"):
            extended(matrix, subset, rate=0.2, labels=labels, fixed=fixed)
        subset = chosen(matrix, fixed=fixed)
        with pytest.raises(BadPool, match="another file of fixed questions"):
            extended(matrix, subset, rate=0.2)
        with pytest.raises(BadPool, match="another file of labels"):
            extended(matrix, chosen(matrix), rate=0.2, labels=labels)

    def test_of_a_sampler_without_strata(self, matrix):
        with pytest.raises(BadPool, match="'anchor' has no strata to draw more of"):
            extended(matrix, chosen(matrix, sampler="anchor"), rate=0.2)

    def test_that_cannot_be_drawn_again_names_what_it_was_made_with(self, matrix):
        subset = chosen(matrix)
        odd = replace(subset, manifest=subset.manifest.model_copy(update={"seed": 5, "packages": {"numpy": "1.0"}}))
        with pytest.raises(BadPool, match=r"cannot be drawn again as it was, with numpy 1\.0"):
            extended(matrix, odd, rate=0.11)
