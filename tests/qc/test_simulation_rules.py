"""Laws of our rule, and the rules of others by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from core.condition import FULL, TEXT_ONLY
from qc.ground_truth_facts import TruthClass
from qc.simulation.answers import ABLATED, CONDITIONS, HEARD, NO_ANSWER, REMOVALS, SEEN, Knobs, draw
from qc.simulation.rules import circular, mmmu_pro, one_call, ours, pooled

TEXT, BLIND, DEAF = TEXT_ONLY.name, REMOVALS[SEEN], REMOVALS[HEARD]
RIGHT, WRONG = 0, 1


def told(endings):
    return [(one.decision, one.code) for one in endings]


def made(text=WRONG, blind=WRONG, deaf=WRONG, full=RIGHT, opened=0):
    """One item with the key at place 0, answered alike by all in all calls, unless an array is given."""
    answers = draw(1, Knobs(), 0, {TruthClass.SOUND: 1.0})
    given = dict(zip((FULL.name, TEXT, BLIND, DEAF), (full, text, blind, deaf), strict=True))
    return replace(
        answers,
        key=np.array([0]),
        rotated={name: np.full((1, 4, 4), place) for name, place in given.items() if np.ndim(place) == 0},
        repeated={name: np.broadcast_to(given[name], (1, 4, 10)) for name in ABLATED},
        opened={name: np.full((1, 4), opened) for name in ABLATED},
    )


def calls_right(*counts):
    """Of each of four models, so many of ten calls right."""
    return np.array([[[RIGHT] * count + [WRONG] * (10 - count) for count in counts]])


class TestOthersByHand:
    @pytest.mark.parametrize("right", [14, 15, 16, 17])
    def test_the_pooled_test_is_the_binomial_one(self, right):
        split = [*divmod(right, 2), 0, 0]
        counts = (split[0] + split[1], split[0], 0, 0) if right <= 20 else (10, 10, right - 20, 0)
        (ending,) = pooled(made(text=calls_right(*counts)))
        significant = binomtest(right, 40, 0.25, alternative="greater").pvalue <= 0.05
        assert (ending.decision == "stop") == significant
        assert ending.calls == (40 if significant else 120)

    @pytest.mark.parametrize(
        ("counts", "stops"),
        [((6, 6, 6, 0), True), ((10, 10, 5, 5), False), ((5, 5, 5, 5), False), ((6, 6, 7, 8), True)],
    )
    def test_mmmu_pro_wants_three_models_with_more_than_five(self, counts, stops):
        assert (told(mmmu_pro(made(text=calls_right(*counts)))) == [("stop", "answerable_from_text")]) == stops

    def test_one_call_asks_one_model_once(self):
        first_only = np.full((1, 4, 10), WRONG)
        first_only[0, 0, 0] = RIGHT
        assert told(one_call(made(deaf=first_only))) == [("stop", "unhelpful_modality")]
        assert told(one_call(made(deaf=1 - first_only))) == [("keep", "passed")]

    def test_circular_wants_every_rotation_of_one_model(self):
        item = made(blind=RIGHT)
        assert told(circular(item)) == [("stop", "unhelpful_modality")]
        item.rotated[BLIND][0, 0, 2] = WRONG
        assert told(circular(item)) == [("keep", "passed")]

    @pytest.mark.parametrize("rule", [one_call, circular, pooled, mmmu_pro])
    @pytest.mark.parametrize(
        ("solved", "ending"),
        [
            ({}, ("keep", "passed")),
            ({"text": RIGHT, "blind": RIGHT, "deaf": RIGHT}, ("stop", "answerable_from_text")),
            ({"blind": RIGHT, "deaf": RIGHT}, ("stop", "redundant_modality")),
            ({"deaf": RIGHT}, ("stop", "unhelpful_modality")),
            ({"full": WRONG}, ("keep", "passed")),
            ({"text": NO_ANSWER}, ("keep", "passed")),
        ],
    )
    def test_what_is_solved_stops_the_item(self, rule, solved, ending):
        assert told(rule(made(**solved))) == [ending]


class TestOursByHand:
    """Sixteen equal answers: full input is certain after 7 for the key or 12 for another; without something, after 10."""

    @pytest.mark.parametrize(
        ("solved", "ending", "calls"),
        [
            ({}, ("keep", "passed"), 7 + 3 * 10),
            ({"full": WRONG}, ("stop", "suspect_key"), 12),
            ({"full": NO_ANSWER}, ("person", "not_enough_votes"), 7),
            ({"text": RIGHT, "opened": 1}, ("stop", "answerable_from_text"), 7 + 10 + 4),
            ({"text": RIGHT, "opened": 0}, ("person", "needs_a_person"), 7 + 10 + 4),
            ({"deaf": RIGHT, "opened": 1}, ("stop", "unhelpful_modality"), 7 + 3 * 10 + 4),
            ({"deaf": RIGHT, "blind": RIGHT, "opened": 1}, ("stop", "redundant_modality"), 7 + 3 * 10 + 2 * 4),
            ({"deaf": RIGHT, "opened": NO_ANSWER}, ("person", "needs_a_person"), 7 + 3 * 10 + 4),
        ],
    )
    def test_answers_that_all_agree(self, solved, ending, calls):
        (found,) = ours(made(**solved))
        assert (found.decision, found.code, found.calls) == (*ending, calls)


@pytest.fixture(scope="module")
def answers():
    return draw(300, Knobs(errors=0.05), 11)


@pytest.fixture(scope="module")
def endings(answers):
    return ours(answers)


class TestLaws:
    def test_the_order_of_items_does_not_matter(self, answers, endings):
        order = np.random.default_rng(0).permutation(len(answers))
        assert told(ours(answers.take(order))) == [told(endings)[row] for row in order]

    def test_the_order_of_choices_does_not_matter(self, answers, endings):
        # NO_ANSWER is -1, and finds itself at the end.
        moved = np.array([2, 0, 3, 1, NO_ANSWER])
        turned = replace(
            answers,
            key=moved[answers.key],
            rotated={condition: moved[places] for condition, places in answers.rotated.items()},
        )
        again = ours(turned)
        assert told(again) == told(endings)
        assert _calls(again) == _calls(endings)

    def test_the_family_that_is_asked_first_does_not_matter(self):
        answers = draw(200, Knobs(), 12)
        assert told(ours(replace(answers, first=(answers.first + 1) % 4))) == told(ours(answers))

    @settings(max_examples=25, deadline=None)
    @given(
        seed=st.integers(0, 10**6),
        choices=st.integers(2, 6),
        families=st.integers(4, 6),
        shared_prior=st.sampled_from([0.0, 0.55, 0.9]),
        own_prior=st.sampled_from([0.0, 0.9]),
        perception=st.sampled_from([0.3, 0.6, 0.9]),
        errors=st.sampled_from([0.0, 0.1, 0.2, 0.3]),
    )
    def test_stopping_early_changes_no_ruling(self, seed, **knobs):
        answers = draw(20, Knobs(**knobs), seed)
        early, whole = ours(answers), ours(answers, whole=True)
        for row in np.flatnonzero(_readable(answers)):
            assert told([early[row]]) == told([whole[row]])
            assert early[row].calls <= whole[row].calls

    def test_where_the_whole_count_has_too_few_answers_an_early_one_may_have_enough(self):
        """And the other way round it has not: nothing is decided by the whole count alone."""
        answers = draw(300, Knobs(errors=0.25), 13)
        early, whole = ours(answers), ours(answers, whole=True)
        lost = [row for row in range(300) if early[row].code == "not_enough_votes" != whole[row].code]
        found = [row for row in range(300) if early[row].code != "not_enough_votes" == whole[row].code]
        assert found
        assert not lost


class TestErrors:
    """20% random errors change no verdict except to one that a person gives."""

    def test_where_each_model_repeats_itself(self):
        changes = _changes(Knobs(shared_prior=0.0, own_prior=1.0))
        assert {(before, after) for before, after in changes if before != after} <= {
            ("keep", "person"),
            ("stop", "person"),
        }
        assert changes["keep", "keep"] > 0
        assert changes["stop", "stop"] > 0

    def test_where_models_waver(self):
        """A share moves when answers to one's own question differ and some are lost; but no gate is passed from end to end."""
        changes = _changes(Knobs())
        assert changes["keep", "stop"] == changes["stop", "keep"] == 0
        assert changes["person", "keep"] + changes["person", "stop"] <= 0.03 * sum(changes.values())


def _changes(knobs, items=600):
    before, after = (ours(draw(items, replace(knobs, errors=errors), 14)) for errors in (0.0, 0.2))
    return Counter((one.decision, other.decision) for one, other in zip(before, after, strict=True))


def _calls(endings):
    return [one.calls for one in endings]


def _readable(answers):
    """Items of whose every whole count three quarters can be read, and some of every family."""
    enough = np.ones(len(answers), dtype=bool)
    for condition in CONDITIONS:
        valid = answers.rotated[condition] != NO_ANSWER
        enough &= (valid.mean(axis=(1, 2)) >= 0.75) & valid.any(axis=2).all(axis=1)
    return enough
