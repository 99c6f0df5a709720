from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from core.content import MediaPart, MediaRef, TextPart
from core.question import AnswerKey, Choice, Question
from qc.classical import classical
from qc.item_analysis import FUNCTIONAL_ANSWERS, option_shares
from qc.key_bias import exact_multinomial_p, key_bias, key_positions, standout


def choice(options: list[str], *correct: int, prompt: str = "Which?", language: str = "en") -> Question:
    return Question(
        prompt=(TextPart(text=prompt),),
        kind="choice",
        choices=tuple(Choice(text=one) for one in options),
        answer=AnswerKey(correct=correct),
        task_type="counting",
        language=language,
    )


class TestClassical:
    def test_by_hand(self):
        # Four models, three items. Rest scores for item 1 (means of items 2 and 3): 1, .5, .5, 0.
        found = classical(np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=float))
        assert found.difficulty.tolist() == [0.5, 0.5, 0.5]
        # Points 1 1 0 0 against 1 .5 .5 0: covariance sum .5, sums of squares 1 and .5.
        assert found.item_rest[0] == pytest.approx(0.5 / 0.5**0.5)
        # Item 2 against the mean of 1 and 3: points 1 0 1 0 against 1 1 0 0.
        assert found.item_rest[1] == pytest.approx(0.0, abs=1e-12)
        assert np.isnan(found.discrimination).all()

    def test_discrimination_by_hand(self):
        # Ten models with 0 to 9 of the other nine items: the upper and lower 27% are 3 models each.
        others = np.array([[1.0] * right + [0.0] * (9 - right) for right in range(10)])
        first = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 0], dtype=float)[:, None]
        found = classical(np.hstack([first, others]))
        assert found.discrimination[0] == pytest.approx(2 / 3 - 1 / 3)

    def test_models_that_tie_at_the_border_count_in_part(self):
        # Rest scores 1, then 8 times .5, then 0: two of the three upper (and lower) places are shared by eight models.
        rest = np.array([[1.0, 1.0]] + [[1.0, 0.0]] * 8 + [[0.0, 0.0]])
        item = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], dtype=float)[:, None]
        found = classical(np.hstack([item, rest]))
        upper, lower = (1 + 2 / 8 * 2) / 3, (0 + 2 / 8 * 2) / 3
        assert found.discrimination[0] == pytest.approx(upper - lower)

    def test_missing_points_leave_out_the_model_and_not_its_other_items(self):
        rng = np.random.default_rng(3)
        points = np.round(rng.random((15, 8)), 2)
        points[rng.random(points.shape) < 0.2] = np.nan
        found = classical(points)
        for item in range(8):
            graded = ~np.isnan(points[:, item])
            rest = np.nanmean(np.delete(points, item, axis=1), axis=1)
            assert found.models[item] == graded.sum()
            assert found.difficulty[item] == pytest.approx(np.nanmean(points[:, item]))
            expected = stats.pearsonr(points[graded, item], rest[graded]).statistic
            assert found.item_rest[item] == pytest.approx(expected)
            size = round(0.27 * graded.sum())
            order = [row for row in np.argsort(rest) if graded[row]]
            expected = points[order[-size:], item].mean() - points[order[:size], item].mean()
            assert found.discrimination[item] == (
                pytest.approx(expected) if graded.sum() >= 10 else pytest.approx(np.nan, nan_ok=True)
            )

    @given(arrays(float, (12, 4), elements=st.sampled_from([0.0, 0.5, 1.0, np.nan])), st.permutations(range(12)))
    def test_the_order_of_models_does_not_matter(self, points, order):
        one, other = classical(points), classical(points[order])
        for name in ("difficulty", "item_rest", "discrimination"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9)
        for measured in (one.item_rest, one.discrimination):
            assert (np.isnan(measured) | (np.abs(measured) <= 1 + 1e-9)).all()

    @pytest.mark.parametrize(
        "points",
        [
            [[1, 0], [0, 1]],  # two models
            [[1, 1], [1, 0], [1, 1]],  # the first item: all the same
            [[1, 1], [0, 1], [1, 1]],  # the first item: all rest scores the same
            [[1], [0], [1]],  # no other item
        ],
    )
    def test_no_correlation_where_there_is_none(self, points):
        assert np.isnan(classical(np.array(points, dtype=float)).item_rest[0])

    def test_sums_of_tenths_that_are_equal_do_not_differ(self):
        points = np.array([[1, 0.1, 0.2, 0.3], [0, 0.3, 0.2, 0.1], [1, 0.2, 0.3, 0.1]])
        assert classical(points).same_rest[0]

    def test_nobody_answered(self):
        found = classical(np.empty((0, 3)))
        assert np.isnan(found.difficulty).all() and found.models.tolist() == [0, 0, 0]


class TestOptions:
    def test_a_distractor_that_one_in_twenty_chooses_is_functional(self):
        shares = option_shares(choice(["a", "b", "c", "d"], 1), 40, Counter({1: 34, 0: 4, 2: 2}))
        assert [(one.label, one.share, one.is_key, one.is_functional) for one in shares] == [
            ("A", 0.1, False, True), ("B", 0.85, True, None), ("C", 0.05, False, True), ("D", 0.0, False, False),
        ]  # fmt: skip

    def test_few_answers_do_not_show_that_nobody_would_choose_it(self):
        shares = option_shares(choice(["a", "b", "c"], 0), FUNCTIONAL_ANSWERS - 1, Counter({0: 18, 1: 1}))
        assert [one.is_functional for one in shares] == [None, True, None]

    def test_without_answers_there_is_no_share(self):
        assert [one.share for one in option_shares(choice(["a", "b"], 0), 0, Counter())] == [None, None]


class TestPositions:
    def test_places_of_one_number_of_choices(self):
        keys = [0] * 10 + [1] * 4 + [2] * 5 + [3] * 5
        found = key_positions(keys, [4] * 24)
        expected = stats.chisquare([10, 4, 5, 5])
        assert (found.test, found.counts, found.expected) == ("chi-square", (10, 4, 5, 5), (6.0,) * 4)
        assert (found.statistic.value, found.p.value) == (
            pytest.approx(expected.statistic), pytest.approx(expected.pvalue),
        )  # fmt: skip

    def test_fewer_choices_put_more_keys_in_front(self):
        # 20 questions of two choices and 30 of four: A and B are expected 10 + 7.5 times, C and D 7.5 times.
        keys = [0] * 12 + [1] * 8 + [0] * 8 + [1] * 7 + [2] * 7 + [3] * 8
        found = key_positions(keys, [2] * 20 + [4] * 30)
        assert found.expected == (17.5, 17.5, 7.5, 7.5)
        assert found.statistic.value == pytest.approx((2.5**2 + 2.5**2) / 17.5 + (0.5**2 + 0.5**2) / 7.5)
        assert found.p.value == pytest.approx(stats.chi2.sf(found.statistic.value, 3))

    def test_a_rare_place_has_no_chi_square_but_an_exact_p(self):
        found = key_positions([0] * 9 + [1], [2] * 10)
        assert found.test == "chi-square"
        found = key_positions([0] * 8 + [1], [2] * 9)
        assert (found.test, found.statistic.reason) == (
            "exact multinomial", "places are expected 4.5 times, 5 are needed",
        )  # fmt: skip
        assert found.p.value == pytest.approx(stats.binomtest(8, 9, 0.5).pvalue)

    @pytest.mark.parametrize("counts", [(4, 1, 1), (2, 2, 2), (6, 0, 0), (3, 2, 1, 0), (1, 0, 0, 0, 0)])
    def test_the_exact_p_counts_every_outcome(self, counts):
        n, places = sum(counts), len(counts)
        squares = [sum(count**2 for count in Counter(throw).values()) for throw in product(range(places), repeat=n)]
        expected = sum(one >= sum(count**2 for count in counts) for one in squares) / places**n
        assert exact_multinomial_p(counts) == pytest.approx(expected)

    def test_rare_places_count_as_one_so_that_a_few_long_questions_hide_nothing(self):
        # Of 40 questions with four choices and 2 with six, D is expected 10.3 times, E and F .3 times each.
        found = key_positions([0] * 42, [4] * 40 + [6] * 2)
        each = 10 + 2 / 6
        wanted = stats.chisquare([42, 0, 0, 0], [each, each, each, each + 2 * 2 / 6])
        assert (found.test, found.counts) == ("chi-square", (42, 0, 0, 0, 0, 0))
        assert (found.statistic.value, found.p.value) == (pytest.approx(wanted.statistic), pytest.approx(wanted.pvalue))
        # 100 keys over 26 places: two of them together from the end on, 7.7 times.
        found = key_positions([25] * 100, [26] * 100)
        wanted = stats.chisquare([100] + [0] * 12)
        assert (found.statistic.value, found.p.value) == (pytest.approx(wanted.statistic), pytest.approx(wanted.pvalue))

    def test_chance_seldom_looks_uneven_however_the_numbers_of_choices_are_mixed(self):
        rng = np.random.default_rng(5)
        choices = rng.choice([2, 3, 4, 5, 10], size=80, p=[0.2, 0.2, 0.4, 0.15, 0.05]).tolist()
        found = [key_positions([int(rng.integers(count)) for count in choices], choices).p.value for _ in range(400)]
        # 5%, and three standard errors.
        assert sum(p <= 0.05 for p in found) <= 0.05 * 400 + 3 * (400 * 0.05 * 0.95) ** 0.5

    def test_too_few_is_said(self):
        found = key_positions([0] * 4, [2, 2, 3, 3])
        assert (found.test, found.p.text) == (
            None, "undefined (4 questions are too few: two places must be expected 5 times)",
        )  # fmt: skip

    def test_no_questions(self):
        found = key_positions([], [])
        assert (found.counts, found.p.reason) == ((), "no question has one right choice")


def brute_force(keys, measured):
    """Observed and expected share, and twice the smaller tail, over all places that the keys could have."""

    def shared(placed):
        return sum(
            Fraction(values[key] == max(values), values.count(max(values)))
            for key, values in zip(placed, measured, strict=True)
        )

    everywhere = [shared(placed) for placed in product(*(range(len(values)) for values in measured))]
    observed = shared(keys)
    tails = [sum(one <= observed for one in everywhere), sum(one >= observed for one in everywhere)]
    return observed, sum(everywhere) / Fraction(len(everywhere)), min(1.0, 2 * min(tails) / len(everywhere))


class TestStandout:
    def test_without_ties_it_is_the_binomial_test(self):
        found = standout("longest", [0] * 9 + [1] * 11, [[3, 2, 1, 0]] * 20)
        assert (found.questions, found.observed, found.expected) == (20, 9.0, 5.0)
        upper = stats.binomtest(9, 20, 0.25, alternative="greater").pvalue
        assert (
            found.p.value
            == pytest.approx(2 * upper)
            == pytest.approx(2 * sum(comb(20, k) * 3 ** (20 - k) for k in range(9, 21)) / 4**20)
        )

    @given(
        st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=4), min_size=1, max_size=5),
        st.lists(st.integers(0, 3), min_size=5, max_size=5),
    )
    def test_ties_are_shared_and_all_places_of_the_key_are_counted(self, measured, drawn):
        keys = [place % len(values) for place, values in zip(drawn, measured, strict=False)]
        found = standout("longest", keys, measured)
        telling = [at for at, values in enumerate(measured) if len(set(values)) > 1]
        assert found.questions == len(telling)
        if not telling:
            assert found.p.reason == "no question has choices that differ in it"
            return
        observed, expected, p = brute_force([keys[at] for at in telling], [measured[at] for at in telling])
        assert found.observed == pytest.approx(float(observed))
        assert found.expected == pytest.approx(float(expected))
        assert found.p.value == pytest.approx(p)

    def test_ties_of_many_sizes_have_no_exact_p(self):
        measured = [[1] * tied + [0] * (20 - tied) for tied in (7, 8, 9, 11, 13, 17)] * 9
        found = standout("longest", [0] * 54, measured)
        assert found.observed == pytest.approx(9 * sum(1 / tied for tied in (7, 8, 9, 11, 13, 17)))
        assert found.p.text == "undefined (the ties are of too many sizes for an exact p)"


class TestKeyBias:
    def test_keys_that_are_longest(self):
        questions = [choice(["a cat", "a very big cat", "a dog"], 1)] * 8 + [choice(["a", "a bee"], 0, 1)]
        found = key_bias(questions)
        longest, shortest, _ = found.traits
        assert (found.questions, found.left_out) == (8, 1)
        assert (longest.observed, longest.expected) == (8, pytest.approx(8 / 3))
        assert longest.p.value == pytest.approx(2 / 3**8)
        assert (shortest.questions, shortest.observed) == (8, 0)

    @pytest.mark.parametrize(
        ("prompt", "options", "language", "overlapping"),
        [
            ("Which ANIMAL makes the loud sound?", ["the loud animal", "a bird", "animal sounds"], "en", 0),
            ("图中红色汽车的喇叭响了几次", ["红色汽车", "蓝色汽车", "绿树"], "zh", 0),
            ("录音里说话的人在找什么？", ["找东西", "人在找猫", "里话"], "zh", 1),
            ("图里的猫在哪里", ["猫", "狗", "鸟"], "zh", 0),
            ("播放 Jazz 的房间在哪", ["Blues 房", "jazz 房间", "x"], "zh", 1),
        ],
    )
    def test_the_choice_that_shares_most_words_or_pairs_of_characters(self, prompt, options, language, overlapping):
        for key in range(len(options)):
            (_, _, overlap) = key_bias([choice(options, key, prompt=prompt, language=language)]).traits
            assert (overlap.questions, overlap.observed) == (1, float(key == overlapping))

    def test_words_of_a_name_of_media_are_none_of_the_prompt(self):
        media = MediaRef(sha256="0" * 64, media_type="image/png", modality="image", byte_count=9)
        asked = choice(["image 1", "x"], 0)
        asked = asked.model_copy(update={"prompt": (*asked.prompt, MediaPart(name="image_1", media=media))})
        assert key_bias([asked]).traits[2].questions == 0

    def test_no_questions(self):
        found = key_bias([])
        assert {one.p.reason for one in found.traits} == {"no question has choices that differ in it"}
