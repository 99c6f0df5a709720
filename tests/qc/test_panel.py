from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.condition import FULL, TEXT_ONLY, Condition
from core.content import TextPart
from core.question import AnswerKey, Choice, Question, Step
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import Showing
from qc.panel import Ballot, Vote, make_ballot, read_vote, tally
from warehouse.tables import ItemRevision

TEXTS = ("red", "blue", "green", "grey")
KEY = 1


def choice(correct: tuple[int, ...] = (KEY,), texts=TEXTS) -> Question:
    return Question(
        prompt=(TextPart(text="Which colour?"),),
        kind="choice",
        choices=tuple(Choice(text=text) for text in texts),
        answer=AnswerKey(correct=correct),
        task_type="counting",
        language="en",
    )


def steps() -> Question:
    keys = (AnswerKey(accepted=("3",), grader="number"), AnswerKey(accepted=("left",)))
    return Question(
        prompt=(TextPart(text="Look."),),
        kind="multi_step",
        steps=(Step(ask="How many?", points=4, answer=keys[0]), Step(ask="Where?", points=6, answer=keys[1])),
        task_type="counting",
        language="en",
    )


def model(name: str, family: str | None = None) -> ModelSpec:
    return ModelSpec(name=name, provider=f"x/{name}", family=family or name)


def showing(question: Question, rotation: int = 0, condition: Condition = FULL) -> Showing:
    return Showing(question, condition, rotation)


def revision(question: Question, id: str = "r") -> ItemRevision:
    stored = {"question": question.model_dump(mode="json"), "content_hash": question.content_hash}
    return ItemRevision(id=id, item_id="i", number=1, author="ann", **stored)


def vote(place: int | None, key: int = KEY) -> Vote | None:
    return None if place is None else Vote(right=float(place == key), choices=frozenset({place}))


def label(one: Showing, text: str) -> str:
    """The reply that picks the choice with that text, wherever it stands."""
    return f"Answer: {'ABCDEF'[[option.text for option in one.question.choices].index(text)]}"


class TestReading:
    @pytest.mark.parametrize("rotation", range(4))
    @pytest.mark.parametrize("text", TEXTS)
    def test_a_rotation_is_turned_back(self, rotation, text):
        one = showing(choice(), rotation)
        read = read_vote(one, label(one, text))
        assert read == Vote(right=float(text == "blue"), choices=frozenset({TEXTS.index(text)}))

    def test_several_right_choices_count_only_together(self):
        said = {0: "Answer: A, C", 1: "Answer: B, D", 2: "Answer: A", 3: "Answer: B, D"}
        read = [read_vote(showing(choice(correct=(0, 2)), turn), text) for turn, text in said.items()]
        assert [(one.right, set(one.choices)) for one in read] == [(1, {0, 2}), (1, {0, 2}), (0, {2}), (1, {0, 2})]

    @pytest.mark.parametrize("said", ["It is B or C.", "I'm sorry, I can't help with that.", "hm"])
    def test_what_cannot_be_read_is_no_vote(self, said):
        assert read_vote(showing(choice()), said) is None

    def test_an_open_probe_is_graded_by_the_right_text(self):
        asked = showing(choice(texts=("3", "4", "5", "6")), condition=TEXT_ONLY.opened())
        assert [read_vote(asked, said) for said in ("4", "5")] == [Vote(right=1), Vote(right=0)]

    def test_steps_count_one_by_one_and_the_item_only_in_full(self):
        said = ["Step 1: 3\nStep 2: left", "Step 1: 3\nStep 2: right", "Step 1: 4\nStep 2: left"]
        read = [read_vote(showing(steps()), text) for text in said]
        assert [(one.right, one.steps) for one in read] == [(1, (1, 1)), (0, (1, 0)), (0, (0, 1))]

    def test_a_refusal_in_words_is_no_vote(self):
        assert read_vote(showing(steps()), "I'm sorry, but I can't help with that.") is None

    def test_a_key_that_names_no_grader_gives_no_votes(self):
        question = Question(
            prompt=(TextPart(text="?"),),
            kind="open",
            answer=AnswerKey(accepted=("4",), grader="numbr"),
            task_type="counting",
            language="en",
        )
        assert read_vote(showing(question), "4") is None


class TestTally:
    def test_by_hand(self):
        """Two families of four answers each: one all in, one with an answer that says nothing and one to come."""
        votes = tally(
            "full",
            choice(),
            {"a": [vote(1), vote(1), vote(0), vote(3)], "b": [vote(1), None, vote(2)]},
            {"a": 4, "b": 4},
        )
        assert (votes.condition, votes.key, votes.wrong) == ("full", (1,), (0, 2, 3))
        assert (votes.planned, votes.asked, votes.remaining, votes.valid, votes.families) == (8, 7, 1, 6, 2)
        assert (votes.valid_share, votes.families_open) == (6 / 7, 0)
        assert votes.solved == 0.5
        assert votes.shares == (0.125, 0.5, 0.25, 0.125)
        # b ends with three valid answers: its share of the key is 1/3 or 2/3, that of green the same, of red 0 or 1/3.
        assert votes.solved_range == pytest.approx((5 / 12, 7 / 12), abs=1e-8)
        assert votes.share_ranges[2] == pytest.approx((1 / 6, 1 / 3), abs=1e-8)
        assert votes.share_ranges[0] == pytest.approx((1 / 8, 7 / 24), abs=1e-8)

    def test_each_family_has_one_vote_however_many_answers_it_gives(self):
        votes = tally("full", choice(), {"one": [vote(1)] * 12, "other": [vote(0)] * 4}, {"one": 12, "other": 4})
        assert (votes.solved, votes.shares, votes.families) == (0.5, (0.5, 0.5, 0.0, 0.0), 2)

    def test_a_family_that_said_nothing_has_no_vote(self):
        votes = tally("full", choice(), {"a": [vote(1)] * 4, "b": [None] * 4}, {"a": 4, "b": 4})
        assert (votes.solved, votes.families, votes.families_open) == (1.0, 1, 0)
        assert (votes.solved_range, votes.valid_share) == ((1.0, 1.0), 0.5)

    def test_a_family_that_may_still_speak_is_open(self):
        votes = tally("full", choice(), {"a": [vote(1)] * 4, "b": [None] * 3}, {"a": 4, "b": 4})
        assert (votes.families, votes.families_open, votes.solved_range) == (1, 1, (0.5, 1.0))

    def test_nothing_asked_yet(self):
        votes = tally("full", choice(), {"a": [], "b": []}, {"a": 4, "b": 4})
        assert (votes.solved, votes.shares, votes.valid_share, votes.families_open) == (None, (), 0.0, 2)
        assert (votes.solved_range, set(votes.share_ranges)) == ((0.0, 1.0), {(0.0, 1.0)})

    def test_nothing_valid_at_all(self):
        votes = tally("full", choice(), {"a": [None]}, {"a": 1})
        assert (votes.solved, votes.shares, votes.solved_range, votes.valid) == (None, (), (0.0, 0.0), 0)

    def test_a_probe_has_no_choices_to_vote_for(self):
        votes = tally("text_only_open", choice(), {"a": [Vote(right=1)]}, {"a": 1}, opened=True)
        assert (votes.solved, votes.shares, votes.share_ranges, votes.key) == (1.0, (), (), ())

    def test_steps_have_shares_of_their_own(self):
        said = [Vote(right=0, steps=(1.0, 0.0)), Vote(right=1, steps=(1.0, 1.0)), Vote(right=0, steps=(0.0, 1.0))]
        votes = tally(
            "full", steps(), {name: [one] for name, one in zip("abc", said, strict=True)}, dict.fromkeys("abc", 1)
        )
        assert votes.step_shares == pytest.approx((2 / 3, 2 / 3), abs=1e-8)
        assert votes.solved == pytest.approx(1 / 3, abs=1e-8)

    @pytest.mark.parametrize(("counts", "share"), [((0, 4, 4, 4), 0.6), ((0, 0, 0, 2, 5, 5), 0.4), ((1, 4, 4, 5), 0.7)])
    def test_a_share_is_what_it_is_by_hand_to_the_last_digit(self, counts, share):
        """Fifths do not add up exactly, and a threshold of .4 must be met by 12/30."""
        answers = {f"m{number}": [vote(KEY)] * right + [vote(0)] * (5 - right) for number, right in enumerate(counts)}
        votes = tally("full", choice(texts=(*TEXTS, "pink")), answers, dict.fromkeys(answers, 5))
        assert votes.solved == share
        assert votes.solved_range == (share, share)


ANSWERS = st.sampled_from([None, 0, 1, 2, 3])


@st.composite
def polls(draw):
    """Families with answers so far, None among them, and valid ones that are still to come."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=6))
    so_far, to_come = {}, {}
    for number, size in enumerate(sizes):
        asked = draw(st.integers(0, size))
        so_far[f"f{number}"] = draw(st.lists(ANSWERS, min_size=asked, max_size=asked))
        rest = size - asked
        to_come[f"f{number}"] = draw(st.lists(st.integers(0, 3), min_size=rest, max_size=rest))
    return so_far, to_come


def counted(answers, planned):
    return tally("c", choice(), {name: [vote(place) for place in places] for name, places in answers.items()}, planned)


@given(polls())
def test_whatever_is_still_to_come_the_final_share_lies_in_the_range(poll):
    so_far, to_come = poll
    planned = {name: len(places) + len(to_come[name]) for name, places in so_far.items()}
    before = counted(so_far, planned)
    after = counted({name: places + to_come[name] for name, places in so_far.items()}, planned)
    assert after.remaining == 0
    for (low, high), final in zip(
        (before.solved_range, *before.share_ranges), (after.solved, *(after.shares or (None,) * 4)), strict=True
    ):
        assert low <= high
        if final is None:  # nothing valid, and nothing was to come
            assert (low, high) == (0.0, 0.0)
        else:
            assert low <= final <= high


@given(polls())
def test_the_ends_of_a_range_are_reached(poll):
    so_far, to_come = poll
    planned = {name: len(places) + len(to_come[name]) for name, places in so_far.items()}
    before = counted(so_far, planned)
    for place, (low, high) in enumerate(before.share_ranges):
        for said, end in (((place + 1) % 4, low), (place, high)):
            after = counted({name: places + [said] * len(to_come[name]) for name, places in so_far.items()}, planned)
            assert (after.shares[place] if after.shares else 0.0) == end


@given(polls())
def test_votes_are_what_a_count_by_hand_gives(poll):
    so_far, to_come = poll
    planned = {name: len(places) + len(to_come[name]) for name, places in so_far.items()}
    votes = counted(so_far, planned)
    heard = [[place for place in places if place is not None] for places in so_far.values()]
    heard = [places for places in heard if places]
    assert (votes.valid, votes.families) == (sum(map(len, heard)), len(heard))
    if not heard:
        assert votes.shares == ()
        return
    for place in range(4):
        by_hand = sum(Fraction(places.count(place), len(places)) for places in heard) / len(heard)
        assert votes.shares[place] == pytest.approx(float(by_hand), abs=1e-9)
    assert votes.solved == votes.shares[KEY]
    assert sum(votes.shares) == pytest.approx(1, abs=1e-8)


@given(polls(), st.randoms())
def test_the_order_of_families_and_of_answers_decides_nothing(poll, random):
    so_far, to_come = poll
    planned = {name: len(places) + len(to_come[name]) for name, places in so_far.items()}
    names = list(so_far)
    random.shuffle(names)
    shuffled = {name: random.sample(so_far[name], len(so_far[name])) for name in names}
    assert counted(shuffled, planned) == counted(so_far, planned)


class TestBallot:
    def test_votes_carry_the_keys_of_their_responses_in_order(self):
        ballot = make_ballot([model("a"), model("b")], "item", revision(choice()), FULL)
        votes = ballot.count([vote(1), None, vote(0)])
        assert votes.responses == tuple(one.key for one in ballot.units[:3])
        assert (votes.asked, votes.valid, votes.planned, votes.condition) == (3, 2, 8, "full")

    def test_a_preference_for_a_place_cancels(self):
        ballot = make_ballot([model(name) for name in "abcd"], "item", revision(choice()), FULL)
        votes = ballot.count([read_vote(one.showing, "Answer: A") for one in ballot.units])
        assert votes.shares == (0.25,) * 4

    def test_a_probe_and_steps_are_asked_once_of_each_model(self):
        for question, condition in ((choice(), FULL.opened()), (steps(), FULL)):
            ballot = make_ballot([model(name) for name in "abcd"], "item", revision(question), condition)
            assert sorted(one.model.name for one in ballot.units) == list("abcd")
            assert ballot.planned == dict.fromkeys("abcd", 1)
            assert ballot.count([]).share_ranges == ()

    def test_which_model_begins_depends_on_the_item(self):
        models = [model(name) for name in "abcd"]
        questions = [choice(texts=(*TEXTS[:3], f"shade {number}")) for number in range(40)]
        begins = Counter(make_ballot(models, "item", revision(one), FULL).units[0].model.name for one in questions)
        assert set(begins) == set("abcd")

    def test_the_name_of_an_item_and_its_row_change_no_order(self):
        models = [model(name) for name in "abcd"]
        orders = {
            tuple((one.model.name, one.showing.rotation) for one in make_ballot(models, name, stored, FULL).units)
            for name, stored in (("one", revision(choice(), "r")), ("two", revision(choice(), "s")))
        }
        assert len(orders) == 1


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9),
    st.integers(2, 6),
    st.integers(0, 1000),
)
def test_families_and_rotations_take_turns(families, count, number):
    """Whatever the panel: all models in all rotations once, every family heard before any is heard again."""
    models = [model(f"m{place}", family) for place, family in enumerate(families)]
    question = choice(texts=[f"{number} {place}" for place in range(count)])
    ballot: Ballot = make_ballot(models, "item", revision(question), FULL)
    order = [(one.model.name, one.showing.rotation) for one in ballot.units]
    assert sorted(order) == sorted((one.name, turn) for one in models for turn in range(count))
    assert ballot.planned == {family: size * count for family, size in Counter(families).items()}
    heard = [one.model.family for one in ballot.units]
    assert len(set(heard[: len(set(families))])) == len(set(families))
    for start in range(0, len(order), len(models)):
        # In each turn every model answers once, so at no time is one ahead of another by more than one answer.
        assert len({name for name, _ in order[start : start + len(models)]}) == len(models)
    first = [turn for _, turn in order[: len(models)]]
    assert len(set(first)) == min(len(models), count)
