import numpy as np
import pytest

from qc.decoys import SHARES, estimate_decoys, lowest_share
from qc.panel import Votes


def votes(*shares: float, key: tuple[int, ...] = (0,), condition: str = "text_only", ranges=None) -> Votes:
    """All asked, unless ranges say that some answers are to come."""
    return Votes(
        condition=condition,
        key=key,
        solved=shares[key[0]] if key else 0.0,
        shares=shares,
        solved_range=(0.0, 1.0),
        share_ranges=ranges or tuple((share, share) for share in shares),
        planned=16,
        asked=16,
        valid=16,
        families=4,
    )


FOUND, LUCKY, SPREAD = votes(1.0, 0.0, 0.0, 0.0), votes(0.1, 0.1, 0.7, 0.1), votes(0.25, 0.25, 0.25, 0.25)


def at(estimates, share, condition="text_only"):
    (found,) = [one for one in estimates if one.share == share and one.condition == condition]
    return found


def told(one) -> tuple:
    return one.items, one.flagged, one.decoys, one.open, one.fdr


class TestByHand:
    def test_the_formula(self):
        """4 keys reach .6, and a wrong choice of 3 items does: each wrong one stands for a third of a key."""
        found = at(estimate_decoys([[FOUND]] * 4 + [[LUCKY]] * 3 + [[SPREAD]] * 5), 0.6)
        assert told(found) == (12, 4, 3, 0, pytest.approx(3 / (3 * 4)))

    @pytest.mark.parametrize(("share", "decoys"), [(0.7, 3), (0.75, 0)])
    def test_a_share_is_reached_when_it_is_equal(self, share, decoys):
        assert told(at(estimate_decoys([[FOUND]] * 4 + [[LUCKY]] * 3), share))[:3] == (7, 4, decoys)

    @pytest.mark.parametrize(("count", "fdr"), [(2, 1 / 2), (3, 1 / 4), (6, 1 / 10)])
    def test_the_more_choices_the_less_each_decoy_says(self, count, fdr):
        rest = (0.0,) * (count - 2)
        found = estimate_decoys([[votes(1.0, 0.0, *rest)]] * 2 + [[votes(0.0, 1.0, *rest)]])
        assert at(found, 0.6).fdr == pytest.approx(fdr)

    def test_items_of_different_sizes_stand_side_by_side(self):
        items = [[votes(1.0, 0.0)], [votes(1.0, 0.0, 0.0)], [votes(0.0, 1.0)], [votes(0.0, 0.0, 1.0)]]
        assert at(estimate_decoys(items), 0.6).fdr == pytest.approx((1 + 1 / 2) / 2)

    def test_below_one_half_an_item_can_hold_two_decoys(self):
        found = at(estimate_decoys([[FOUND], [FOUND], [votes(0.1, 0.45, 0.45, 0.0)]]), 0.4)
        assert (found.decoys, found.fdr) == (1, pytest.approx(2 / 3 / 2))

    def test_without_any_discovery_none_is_false(self):
        assert told(at(estimate_decoys([[LUCKY]]), 0.6)) == (1, 0, 1, 0, None)

    def test_it_never_passes_one(self):
        found = at(estimate_decoys([[FOUND], *[[LUCKY]] * 9]), 0.6)
        assert (found.fdr, found.fdr_at_most) == (1.0, 1.0)

    def test_what_few_decoys_leave_possible(self):
        """The 95% bound of a Poisson mean: 2.996 where none was counted, 7.754 at three (tables of Garwood, 1936)."""
        none = at(estimate_decoys([[FOUND]] * 50), 0.6)
        assert (none.fdr, none.fdr_at_most) == (0.0, pytest.approx(2.9957 / 3 / 50, abs=1e-5))
        three = at(estimate_decoys([[FOUND]] * 50 + [[LUCKY]] * 3), 0.6)
        assert (three.fdr, three.fdr_at_most) == (pytest.approx(3 / 3 / 50), pytest.approx(7.7537 / 3 / 50, abs=1e-5))
        assert at(estimate_decoys([[LUCKY]]), 0.6).fdr_at_most is None

    def test_nothing_at_all(self):
        assert {told(one) for one in estimate_decoys([])} == {(0, 0, 0, 0, None)}
        assert {one.condition for one in estimate_decoys([])} == {"any"}

    def test_what_was_asked_without_choices_or_has_two_right_ones_says_nothing(self):
        steps = votes(key=(), condition="without_audio").model_copy(update={"shares": (), "share_ranges": ()})
        several = votes(0.5, 0.5, 0.0, key=(0, 1))
        assert {told(one) for one in estimate_decoys([[steps], [several]])} == {(0, 0, 0, 0, None)}


class TestStoppedCounts:
    def test_what_may_still_reach_the_share_counts_for_neither(self):
        key_open = votes(0.5, 0.1, 0.1, 0.1, ranges=((0.5, 0.7), *[(0.1, 0.3)] * 3))
        wrong_open = votes(0.1, 0.5, 0.1, 0.1, ranges=((0.1, 0.3), (0.4, 0.6), (0.1, 0.3), (0.1, 0.3)))
        estimates = estimate_decoys([[FOUND], [key_open], [wrong_open]])
        assert told(at(estimates, 0.6)) == (3, 1, 0, 2, 0.0)
        assert told(at(estimates, 0.65)) == (3, 1, 0, 1, 0.0)
        assert told(at(estimates, 0.75)) == (3, 1, 0, 0, 0.0)

    def test_what_is_certain_counts_though_asking_stopped(self):
        key_found = votes(1.0, 0.0, 0.0, 0.0, ranges=((0.625, 1.0), *[(0.0, 0.375)] * 3))
        assert told(at(estimate_decoys([[key_found], [LUCKY]]), 0.6)) == (2, 1, 1, 0, pytest.approx(1 / 3))


class TestConditions:
    def test_each_has_its_own_estimate_and_any_takes_the_largest_share(self):
        deaf = votes(0.2, 0.8, 0.0, 0.0, condition="without_audio")
        blind = votes(0.9, 0.0, 0.1, 0.0, condition="without_image")
        estimates = estimate_decoys([[deaf, blind], [FOUND]])
        assert told(at(estimates, 0.6, "without_audio")) == (1, 0, 1, 0, None)
        assert told(at(estimates, 0.6, "without_image")) == (1, 1, 0, 0, 0.0)
        # The first item's key is flagged under one condition, one of its wrong choices under the other.
        assert told(at(estimates, 0.6, "any")) == (2, 2, 1, 0, pytest.approx(1 / 3 / 2))

    def test_one_condition_that_decides_closes_an_open_one(self):
        undecided = votes(0.5, 0.0, 0.0, 0.0, condition="without_audio", ranges=((0.5, 0.9), *[(0.0, 0.4)] * 3))
        decided = votes(0.7, 0.0, 0.0, 0.0, condition="without_image")
        estimates = estimate_decoys([[undecided, decided]])
        assert told(at(estimates, 0.6, "without_audio")) == (1, 0, 0, 1, None)
        assert told(at(estimates, 0.6, "any")) == (1, 1, 0, 0, 0.0)

    def test_a_wrong_choice_that_the_text_alone_flags_counts_there_and_not_again(self):
        text = votes(0.0, 0.6, 0.4, 0.0)
        deaf = votes(0.0, 0.9, 0.05, 0.05, condition="without_audio")
        blind = votes(0.1, 0.05, 0.8, 0.05, condition="without_image")
        estimates = estimate_decoys([[text, deaf, blind]])
        # A key would not have been asked about again at .6; below it would.
        assert at(estimates, 0.6, "without_audio").decoys == 0
        assert at(estimates, 0.6, "without_image").decoys == 1
        assert (at(estimates, 0.6, "text_only").decoys, at(estimates, 0.85, "any").decoys) == (1, 0)

    def test_all_shares_are_told_of_each(self):
        names = ["text_only", "any"]
        assert [(one.condition, one.share) for one in estimate_decoys([[FOUND]])] == [
            (name, share) for name in names for share in SHARES
        ]


class TestLowestShare:
    def estimates(self, *rates: float | None):
        (one,) = [one for one in estimate_decoys([[FOUND]], [0.6]) if one.condition == "any"]
        return [one.model_copy(update={"share": 0.5 + place / 10, "fdr": rate}) for place, rate in enumerate(rates)]

    def test_it_is_the_smallest_that_passes(self):
        assert lowest_share(self.estimates(0.3, 0.05, 0.04, 0.0), 0.05) == 0.6

    def test_a_larger_share_that_fails_stands_in_the_way(self):
        assert lowest_share(self.estimates(0.01, 0.2, 0.0, 0.0), 0.05) == 0.7

    def test_none_passes(self):
        assert lowest_share(self.estimates(0.3, 0.2, 0.1), 0.05) is None
        assert lowest_share([], 0.05) is None

    def test_where_nothing_is_flagged_no_threshold_is_shown_to_be_right(self):
        assert lowest_share(self.estimates(0.01, 0.02, None, None), 0.05) == 0.5
        assert lowest_share(self.estimates(None, None), 0.05) is None


def exchangeable(rng: np.random.Generator, count: int, choices: int) -> list[Votes]:
    """Items that cannot be answered: four families of four rotations lean to any choice, the key as often as another."""
    made = []
    for _ in range(count):
        shared = int(rng.integers(choices))
        follows = rng.random(4) < 0.58
        picks = np.where(np.repeat(follows, 4), shared, rng.integers(choices, size=16))
        made.append(votes(*(float(np.mean(picks == place)) for place in range(choices))))
    return made


@pytest.mark.parametrize(("choices", "share"), [(2, 0.75), (4, 0.6), (6, 0.6)])
def test_where_wrong_choices_are_like_the_key_the_estimate_is_near_the_truth(choices, share):
    """On average over samples within .06 above and .02 below, as the specification asks."""
    known = [votes(1.0, *(0.0,) * (choices - 1))] * 400
    errors = []
    for seed in range(6):
        lucky = exchangeable(np.random.default_rng([choices, seed]), 1500, choices)
        false = sum(one.shares[0] >= share for one in lucky)
        estimated = at(estimate_decoys([[one] for one in [*lucky, *known]], [share]), share)
        assert estimated.flagged == false + len(known)
        assert false > 20
        errors.append(estimated.fdr - false / estimated.flagged)
    assert -0.02 <= np.mean(errors) <= 0.06


def test_after_the_text_alone_decoys_stand_for_the_keys_that_went_on():
    """Guesses of another mind under the second condition, which only items whose key did not lead are asked under."""
    gaps = {"without_audio": [], "any": []}
    for seed in range(6):
        rng = np.random.default_rng([9, seed])
        # The key of the first thousand is found under the second condition.
        found_later = [votes(1.0, 0.0, 0.0, 0.0)] * 1000 + exchangeable(rng, 1500, 4)
        items = [
            [text, *([later.model_copy(update={"condition": "without_audio"})] if text.shares[0] < 0.6 else [])]
            for text, later in zip(exchangeable(rng, 2500, 4), found_later, strict=True)
        ]
        found = estimate_decoys(items, [0.6])
        for name, of_one in gaps.items():
            flagged = [
                any(one.shares[0] >= 0.6 for one in of_item if name in (one.condition, "any")) for of_item in items
            ]
            lucky = sum(flagged[1000:]) + (name == "any") * sum(of_item[0].shares[0] >= 0.6 for of_item in items[:1000])
            estimated = at(found, 0.6, name)
            assert estimated.flagged == sum(flagged)
            of_one.append(estimated.fdr - lucky / estimated.flagged)
    for of_one in gaps.values():
        assert -0.02 <= np.mean(of_one) <= 0.06
