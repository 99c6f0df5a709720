"""A count that stops early says what the full count would have said."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.content import Modality, TextPart
from core.question import AnswerKey, Choice, Question, Step
from qc.gates import Thresholds, enough_so_far, judge_ablations, judge_full, judge_text, needs_probe
from qc.panel import Vote, Votes, tally
from qc.stopping import Gate, further_calls

LIMITS = Thresholds()


def choice(count: int, correct: tuple[int, ...] = (0,)) -> Question:
    return Question(
        prompt=(TextPart(text="?"),),
        kind="choice",
        choices=tuple(Choice(text=f"{place}") for place in range(count)),
        answer=AnswerKey(correct=correct),
        task_type="counting",
        language="en",
    )


def in_steps(count: int) -> Question:
    steps = tuple(Step(ask="?", points=10 // count, answer=AnswerKey(accepted=("1",))) for _ in range(count))
    return Question(prompt=(TextPart(text="?"),), kind="multi_step", steps=steps, task_type="counting", language="en")


@dataclass(frozen=True)
class Poll:
    """An item, the family of each answer in the order asked, and what each would be."""

    question: Question
    order: tuple[str, ...]
    answers: tuple[Vote | None, ...]

    def count(self, answers: tuple[Vote | None, ...]) -> Votes:
        by_family: dict[str, list[Vote | None]] = {family: [] for family in self.order}
        for family, answer in zip(self.order, answers, strict=False):
            by_family[family].append(answer)
        return tally("c", self.question, by_family, {family: self.order.count(family) for family in by_family})

    def stopped(self, gate: Gate) -> Votes:
        """As far as asking goes."""
        asked = 0
        while calls := further_calls(votes := self.count(self.answers[:asked]), gate, LIMITS):
            assert 0 < calls <= votes.remaining
            asked += calls
        return votes

    def full(self, asked: int, instead: Callable[[], Vote]) -> Votes:
        """With all answers; those that nobody asked for are valid ones."""
        rest = (answer or instead() for answer in self.answers[asked:])
        return self.count((*self.answers[:asked], *rest))


def picks(question: Question, places: frozenset[int]) -> Vote:
    return Vote(right=float(places == frozenset(question.answer.correct)), choices=places)


@st.composite
def panels(draw) -> tuple[str, ...]:
    """The family of each model: four to six families, some with two models."""
    count = draw(st.integers(4, 6))
    return tuple(f"f{number}" for number in range(count) for _ in range(draw(st.sampled_from([1, 1, 2]))))


@st.composite
def choice_polls(draw, several: bool = False) -> Poll:
    """Answers that lean to one choice by a drawn strength, so that every side of each threshold is met; some invalid."""
    count = draw(st.integers(2, 6))
    correct = (0, 1) if several else (0,)
    question = choice(count, correct)
    families = draw(panels())
    order = families * count
    favourite, strength = draw(st.integers(0, count - 1)), draw(st.integers(0, 10))
    invalid = draw(st.sampled_from([0, 0, 1, 2, 4]))
    rolls = draw(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=len(order), max_size=len(order)))
    answers: list[Vote | None] = []
    for first, second, third in rolls:
        place = favourite if first < strength else second % count
        places = frozenset({place, third % count} if several and third < 6 else {place})
        answers.append(None if third >= 10 - invalid else picks(question, places))
    return Poll(question, order, tuple(answers))


@st.composite
def step_polls(draw) -> Poll:
    question = in_steps(2)
    order = draw(panels())
    said = st.none() | st.tuples(st.booleans(), st.booleans())
    answers = draw(st.lists(said, min_size=len(order), max_size=len(order)))
    return Poll(
        question,
        order,
        tuple(one and Vote(right=float(all(one)), steps=tuple(map(float, one))) for one in answers),
    )


def ruled(ruling):
    return ruling.decision, ruling.reason_codes


def both(poll: Poll, gate: Gate) -> tuple[Votes, Votes]:
    stopped = poll.stopped(gate)
    filler = iter(range(10**6))

    def instead() -> Vote:
        if poll.question.steps:
            return Vote(right=0.0, steps=(1.0, 0.0))
        return picks(poll.question, frozenset({next(filler) % len(poll.question.choices)}))

    return stopped, poll.full(stopped.asked, instead)


@settings(max_examples=200)
@given(choice_polls() | choice_polls(several=True))
def test_round_1_rules_as_over_the_full_count(poll):
    stopped, full = both(poll, Gate.FULL)
    assert ruled(judge_full(poll.question, stopped, LIMITS)) == ruled(judge_full(poll.question, full, LIMITS))


@settings(max_examples=200)
@given(choice_polls() | choice_polls(several=True), st.none() | st.sampled_from([0.0, 0.5, 0.6, 1.0]))
def test_round_2_rules_as_over_the_full_count(poll, probed):
    stopped, full = both(poll, Gate.MISSING)
    assert needs_probe(stopped, LIMITS) == needs_probe(full, LIMITS)
    probe = None if probed is None else full.model_copy(update={"solved": probed, "shares": (), "share_ranges": ()})
    assert ruled(judge_text(stopped, probe, LIMITS)) == ruled(judge_text(full, probe, LIMITS))
    for other in (full, stopped):
        assert ruled(
            judge_ablations({Modality.AUDIO: [(stopped, probe)], Modality.IMAGE: [(other, probe)]}, LIMITS)
        ) == ruled(judge_ablations({Modality.AUDIO: [(full, probe)], Modality.IMAGE: [(full, probe)]}, LIMITS))


@settings(max_examples=200)
@given(choice_polls() | choice_polls(several=True))
def test_the_decoys_of_the_estimate_are_those_of_the_full_count(poll):
    stopped, full = both(poll, Gate.MISSING)
    if not enough_so_far(stopped, LIMITS):
        return  # nothing is decided from it, and the estimate calls it open
    for place in stopped.wrong:
        low, high = stopped.share_ranges[place]
        assert (low >= LIMITS.flagged) == (full.shares[place] >= LIMITS.flagged)
        assert (high < LIMITS.flagged) == (full.shares[place] < LIMITS.flagged)


@settings(max_examples=100)
@given(step_polls())
# Two models of each family: after five of eight answers the item cannot be solved any more, and its first step has half
# of the votes; after all of them it has .625.
@example(
    Poll(
        in_steps(2),
        tuple("abcdabcd"),
        tuple(Vote(right=0.0, steps=(float(found), 0.0)) for found in (0, 0, 1, 1, 0, 1, 1, 1)),
    )
)
def test_leaking_steps_are_those_of_the_full_count(poll):
    stopped, full = both(poll, Gate.MISSING)
    assert ruled(judge_text(stopped, None, LIMITS)) == ruled(judge_text(full, None, LIMITS))


@settings(max_examples=100)
@given(choice_polls() | step_polls(), st.sampled_from(Gate))
def test_asking_ends_and_a_certain_count_stays_certain(poll, gate):
    stopped = poll.stopped(gate)
    assert further_calls(stopped, gate, LIMITS) == 0
    full = poll.count(poll.answers)
    assert full.remaining == 0
    assert further_calls(full, gate, LIMITS) == 0
    if gate is Gate.WHOLE and enough_so_far(full, LIMITS):
        assert stopped == full


@pytest.mark.parametrize(
    ("gate", "place", "calls"),
    [
        # Of 16 answers 7 for the key are .4 of all; 12 for one wrong choice are .7 of them.
        (Gate.FULL, 0, 7),
        (Gate.FULL, 1, 12),
        # 10 answers for the key are .6; 10 for another leave the key at most 6 of 16, under .4.
        (Gate.MISSING, 0, 10),
        (Gate.MISSING, 1, 10),
        (Gate.WHOLE, 0, 16),
    ],
)
def test_how_many_of_sixteen_equal_answers_are_enough(gate, place, calls):
    question = choice(4)
    poll = Poll(question, tuple("abcd") * 4, (picks(question, frozenset({place})),) * 16)
    assert poll.stopped(gate).asked == calls


def test_nobody_asks_on_where_too_few_can_answer():
    """Five of 16 answers that say nothing leave at most 11, under three quarters; a family without a voice leaves 3."""
    question = choice(4)
    right = picks(question, frozenset({0}))
    order = tuple("abcd") * 4
    silent = Poll(question, order, (None,) * 16)
    assert silent.stopped(Gate.WHOLE).asked == 16  # all are asked at once
    assert further_calls(silent.count((None,) * 5), Gate.WHOLE, LIMITS) == 0
    assert further_calls(silent.count((None,) * 4), Gate.WHOLE, LIMITS) == 12
    one_deaf = tuple(None if family == "d" else right for family in order)
    assert further_calls(Poll(question, order, one_deaf).count(one_deaf[:12]), Gate.FULL, LIMITS) == 1
    assert further_calls(Poll(question, order, one_deaf).count(one_deaf), Gate.FULL, LIMITS) == 0


def test_every_family_is_heard_before_anything_is_certain():
    question = choice(4)
    votes = Poll(question, tuple("abcd") * 4, ()).count((picks(question, frozenset({0})),) * 3)
    assert votes.families_open == 1
    assert further_calls(votes, Gate.FULL, LIMITS) >= 1
    # Four of five agree, and nothing that the fifth may say could change the gate: it is heard all the same.
    all_but_one = Poll(question, tuple("abcd") * 4 + tuple("eeee"), ()).count((picks(question, frozenset({0})),) * 16)
    assert all_but_one.solved_range[0] == 0.8
    assert further_calls(all_but_one, Gate.FULL, LIMITS) == 1


def test_where_no_family_can_make_up_for_another_nothing_is_asked():
    question = choice(4)
    assert further_calls(Poll(question, tuple("abc") * 4, ()).count(()), Gate.FULL, LIMITS) == 0
