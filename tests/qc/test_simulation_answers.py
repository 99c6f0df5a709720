"""Simulated panels answer as their knobs say."""

import numpy as np
import pytest

from core.condition import FULL, TEXT_ONLY
from qc.ground_truth import DEFAULT_MIX
from qc.ground_truth_facts import TruthClass
from qc.simulation.answers import ABLATED, CONDITIONS, HEARD, NO_ANSWER, REMOVALS, REPEATS, SEEN, Knobs, draw
from qc.simulation.rules import mmmu_pro, one_call, pooled

SOUND = {TruthClass.SOUND: 1.0}
MANY = 20_000
TEXT, BLIND, DEAF = TEXT_ONLY.name, REMOVALS[SEEN], REMOVALS[HEARD]
# What can be worked out, by hand. A partial item is one of two.
SOLVABLE = {
    TruthClass.SOUND: {FULL.name},
    TruthClass.REDUNDANT: {FULL.name, BLIND, DEAF},
    TruthClass.LEAKED: {FULL.name, TEXT, BLIND, DEAF},
    TruthClass.MIS_KEYED: {FULL.name},
    TruthClass.IMPOSSIBLE: set(),
}


@pytest.fixture(scope="module")
def blind():
    """Answers to sound items with the default knobs."""
    return draw(MANY, Knobs(), 1, SOUND)


def right(answers, condition):
    return answers.rotated[condition] == answers.key[:, None, None]


class TestAgainstTheStudy:
    """The figures of spec/qc.md: agreement .58 when both are wrong; one call 25%, pooled test 26%, MMMU-Pro 12%."""

    def test_two_families_that_are_wrong_agree(self, blind):
        first, second = blind.repeated[TEXT][:, 0, 0], blind.repeated[TEXT][:, 1, 0]
        both_wrong = (first != blind.key) & (second != blind.key)
        assert (first == second)[both_wrong].mean() == pytest.approx(0.58, abs=0.02)

    @pytest.mark.parametrize(
        ("rule", "rate", "near"), [(one_call, 0.25, 0.02), (pooled, 0.26, 0.02), (mmmu_pro, 0.12, 0.03)]
    )
    def test_a_rule_of_others_flags_sound_items_under_one_condition(self, blind, rule, rate, near):
        flagged = np.mean([one.code == "answerable_from_text" for one in rule(blind)])
        assert flagged == pytest.approx(rate, abs=near)


class TestKnobs:
    @pytest.mark.parametrize("truth", SOLVABLE)
    def test_a_class_is_worked_out_where_it_can_be(self, truth):
        answers = draw(2_000, Knobs(perception=1.0), 2, {truth: 1.0})
        for condition in CONDITIONS:
            share = right(answers, condition).mean()
            if condition not in SOLVABLE[truth]:
                assert share == pytest.approx(0.25, abs=0.04)
            elif truth is TruthClass.MIS_KEYED:
                assert share == 0
                assert (np.ptp(answers.rotated[condition], axis=(1, 2)) == 0).all()
            else:
                assert share == 1

    def test_a_partial_item_is_worked_out_without_what_it_does_not_need(self):
        answers = draw(2_000, Knobs(perception=1.0), 3, {TruthClass.PARTIAL: 1.0})
        assert right(answers, FULL.name).all()
        for condition, place in ((BLIND, 0), (DEAF, 1)):
            unneeded = answers.not_needed == place
            assert right(answers, condition)[unneeded].all()
            assert right(answers, condition)[~unneeded].mean() == pytest.approx(0.25, abs=0.04)

    def test_perception_holds_for_all_calls_of_a_family(self):
        found = right(draw(4_000, Knobs(perception=0.8, shared_prior=0.0, own_prior=0.0), 4, SOUND), FULL.name).all(
            axis=2
        )
        # A guess is right in all four rotations in under one of a hundred cases.
        assert found.mean() == pytest.approx(0.8, abs=0.02)

    def test_without_options_a_guess_is_one_of_ten(self, blind):
        for condition in ABLATED:
            assert blind.opened[condition].mean() == pytest.approx(0.1, abs=0.01)

    def test_who_guesses_the_key_openly_picks_it_among_the_choices(self):
        answers = draw(2_000, Knobs(shared_prior=1.0), 5, SOUND)
        found = answers.opened[TEXT][:, 0] == 1
        assert 0 < found.sum() < len(answers)
        assert right(answers, TEXT)[found].all()

    def test_preference_for_a_place_falls_on_each_choice_once(self):
        answers = draw(50, Knobs(shared_prior=0.0, own_prior=0.0, position=1.0), 6, SOUND)
        assert (np.sort(answers.rotated[TEXT], axis=2) == np.arange(4)).all()
        assert (np.ptp(answers.repeated[TEXT], axis=2) == 0).all()

    def test_errors_take_answers_away_and_change_none(self):
        whole, torn = (draw(500, Knobs(errors=errors), 7) for errors in (0.0, 0.2))
        for name in ("rotated", "repeated", "opened"):
            for condition, answers in getattr(torn, name).items():
                lost = answers == NO_ANSWER
                assert lost.mean() == pytest.approx(0.2, abs=0.05)
                assert (answers == getattr(whole, name)[condition])[~lost].all()

    def test_the_mix_and_the_keys(self):
        answers = draw(MANY, Knobs(choices=6, families=5), 8)
        for truth, share in DEFAULT_MIX.items():
            assert answers.of(truth).mean() == pytest.approx(share, abs=0.02)
        assert np.bincount(answers.key) / MANY == pytest.approx(np.full(6, 1 / 6), abs=0.02)
        assert answers.rotated[TEXT].shape == (MANY, 5, 6)
        assert answers.repeated[TEXT].shape == (MANY, 5, REPEATS)

    def test_one_seed_gives_one_panel(self):
        first, again, other = (draw(30, Knobs(), seed) for seed in (1, 1, 2))
        assert (first.rotated[TEXT] == again.rotated[TEXT]).all()
        assert (first.rotated[TEXT] != other.rotated[TEXT]).any()
