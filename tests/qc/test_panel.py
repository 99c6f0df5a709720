import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.condition import FULL, TEXT_ONLY
from core.content import TextPart
from core.question import AnswerKey, Choice, Question, Step
from evaluation.asking import Unit
from evaluation.models.catalogue import ModelSpec
from evaluation.solve import Showing
from qc.panel import count_votes
from warehouse.facts import FACT_KINDS, FactStore

TEXTS = ("red", "blue", "green", "grey")


def choice(correct: tuple[int, ...] = (1,), texts=TEXTS) -> Question:
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


def unit(question, name="m", rotation=0, condition=FULL, revision="r", family=None) -> Unit:
    return Unit(model(name, family), "item", revision, Showing(question, condition, rotation))


@pytest.fixture
def facts(tmp_path) -> FactStore:
    return FactStore(str(tmp_path / "facts"), tmp_path / "journal")


Answers = list[tuple[Unit, str | None]]


def store(facts, answers: Answers, state: str = "ok", minute: int = 0) -> None:
    empty = dict.fromkeys(name for name in FACT_KINDS["response"].schema.names if name != "run_id")
    with facts.writer("response", f"run {minute}") as writer:
        for one, answer in answers:
            row = {
                "key": one.key,
                "request_key": one.request_key,
                "model": one.model.name,
                "family": "as it was then",
                "revision_id": one.revision_id,
                "condition": one.showing.condition.name,
                "kind": one.showing.question.kind.value,
                "rotation": one.showing.rotation,
                "state": state if answer is not None else "api_error",
                "answer": answer,
                "recorded_at": f"2026-01-01T12:{minute:02}:00+00:00",
            }
            writer.add(empty | row)


def voted(facts, answers, **more):
    store(facts, answers, **more)
    ((_, votes),) = count_votes(facts, [one for one, _ in answers]).items()
    return votes


def picks(question: Question, name: str, texts: tuple[str, ...], **more) -> Answers:
    """A model's answers over all rotations: at each, the letter of the choice with that text."""
    found = []
    for rotation, text in enumerate(texts):
        one = unit(question, name, rotation, **more)
        place = [choice.text for choice in one.showing.question.choices].index(text)
        found.append((one, f"Answer: {'ABCD'[place]}"))
    return found


class TestShares:
    def test_a_rotation_is_turned_back(self, facts):
        votes = voted(facts, picks(choice(), "m", ("blue", "blue", "red", "grey")))
        assert (votes.solved, votes.shares) == (0.5, (0.25, 0.5, 0.0, 0.25))
        assert (votes.asked, votes.valid, votes.families, votes.condition) == (4, 4, 1, "full")

    def test_a_preference_for_a_place_cancels(self, facts):
        answers = [(unit(choice(), rotation=rotation), "Answer: A") for rotation in range(4)]
        assert voted(facts, answers).shares == (0.25,) * 4

    def test_each_family_has_one_vote_however_many_models_it_has(self, facts):
        answers = picks(choice(), "other", ("red",) * 4)
        for name in ("big", "small", "tiny"):
            answers += picks(choice(), name, ("blue",) * 4, family="one")
        votes = voted(facts, answers)
        assert (votes.solved, votes.shares, votes.families) == (0.5, (0.5, 0.5, 0.0, 0.0), 2)

    def test_families_are_those_of_now(self, facts):
        answers = picks(choice(), "a", ("blue",) * 4) + picks(choice(), "b", ("blue",) * 4)
        assert voted(facts, answers).families == 2

    def test_unreadable_answers_are_no_votes_and_lower_the_valid_share(self, facts):
        answers = picks(choice(), "m", ("blue",) * 4)
        odd = ["It is B or C.", "I'm sorry, I can't help with that.", "hm"]
        answers[1:] = [(one, text) for (one, _), text in zip(answers[1:], odd, strict=True)]
        votes = voted(facts, answers)
        assert (votes.solved, votes.shares) == (1.0, (0.0, 1.0, 0.0, 0.0))
        assert (votes.asked, votes.valid, votes.valid_share) == (4, 1, 0.25)

    @pytest.mark.parametrize("state", ["refusal", "truncated", "empty", "blocked"])
    def test_answers_that_are_none_are_no_votes(self, facts, state):
        votes = voted(facts, picks(choice(), "m", ("blue",) * 4), state=state)
        assert (votes.solved, votes.shares, votes.valid, votes.families) == (None, (), 0, 0)

    def test_what_failed_or_was_never_asked_counts_as_asked(self, facts):
        units = [one for one, _ in picks(choice(), "m", ("blue",) * 4)]
        store(facts, [(units[0], "Answer: B"), (units[1], None)])
        ((_, votes),) = count_votes(facts, units).items()
        assert (votes.asked, votes.valid) == (4, 1)

    def test_several_right_choices_count_together(self, facts):
        question = choice(correct=(0, 2))
        texts = {0: "Answer: A, C", 1: "Answer: B, D", 2: "Answer: A", 3: "Answer: B, D"}
        votes = voted(facts, [(unit(question, rotation=rotation), text) for rotation, text in texts.items()])
        # Turned back: {0, 2}, {0, 2}, {2} and {2, 0}.
        assert votes.shares == (0.75, 0.0, 1.0, 0.0)
        assert votes.solved == 0.75
        assert votes.valid == 4

    def test_nothing_wanted_is_nothing(self, facts):
        assert count_votes(facts, []) == {}


class TestOtherKinds:
    def test_an_open_probe_is_graded_by_the_right_text(self, facts):
        opened = TEXT_ONLY.opened()
        question = choice(texts=("3", "4", "5", "6"))
        answers = [(unit(question, name, condition=opened), text) for name, text in zip("abc", "445", strict=True)]
        votes = voted(facts, answers)
        assert (votes.solved, votes.shares, votes.families) == (pytest.approx(2 / 3), (), 3)

    def test_steps_count_one_by_one_and_the_item_only_in_full(self, facts):
        said = ["Step 1: 3\nStep 2: left", "Step 1: 3\nStep 2: right", "Step 1: 4\nStep 2: left"]
        votes = voted(facts, [(unit(steps(), name), text) for name, text in zip("abc", said, strict=True)])
        assert votes.solved == pytest.approx(1 / 3, abs=1e-8)
        assert votes.step_shares == pytest.approx((2 / 3, 2 / 3), abs=1e-8)
        assert votes.shares == ()

    def test_a_refusal_in_words_is_no_vote(self, facts):
        votes = voted(facts, [(unit(steps()), "I'm sorry, but I can't help with that.")])
        assert (votes.valid, votes.solved) == (0, None)

    def test_a_key_that_names_no_grader_gives_no_votes(self, facts):
        question = Question(
            prompt=(TextPart(text="?"),),
            kind="open",
            answer=AnswerKey(accepted=("4",), grader="numbr"),
            task_type="counting",
            language="en",
        )
        assert voted(facts, [(unit(question), "4")]).valid == 0


class TestExactlyTheseUnits:
    def test_answers_under_other_settings_are_no_votes(self, facts):
        question = choice()
        hot = model("m").model_copy(update={"generate": {"temperature": 1}})
        before = Unit(hot, "item", "r", Showing(question, FULL))
        now = unit(question)
        store(facts, [(before, "Answer: A"), (now, "Answer: B")])
        ((_, votes),) = count_votes(facts, [now]).items()
        assert (votes.asked, votes.shares) == (1, (0.0, 1.0, 0.0, 0.0))

    def test_each_revision_and_condition_has_its_own_votes(self, facts):
        question = choice()
        answers = [
            (unit(question), "Answer: B"),
            (unit(question, condition=TEXT_ONLY), "Answer: A"),
            (unit(question, revision="s"), "Answer: C"),
        ]
        store(facts, answers)
        found = count_votes(facts, [one for one, _ in answers])
        assert {place: votes.shares.index(1.0) for place, votes in found.items()} == {
            ("r", "full"): 1,
            ("r", "text_only"): 0,
            ("s", "full"): 2,
        }

    def test_a_later_answer_replaces_a_failure(self, facts):
        one = unit(choice())
        store(facts, [(one, None)])
        store(facts, [(one, "Answer: B")], minute=1)
        assert count_votes(facts, [one])["r", "full"].solved == 1.0


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from(TEXTS), min_size=4, max_size=4), min_size=1, max_size=5), st.randoms())
def test_votes_do_not_depend_on_order_and_shares_sum_to_one(tmp_path_factory, drawn, random):
    facts = FactStore(str(tmp_path_factory.mktemp("facts")), tmp_path_factory.mktemp("journal"))
    answers = []
    for number, texts in enumerate(drawn):
        answers += picks(choice(), f"m{number}", tuple(texts))
    store(facts, answers)
    units = [one for one, _ in answers]
    found = count_votes(facts, units)
    random.shuffle(units)
    assert count_votes(facts, units) == found
    votes = found["r", "full"]
    assert sum(votes.shares) == pytest.approx(1)
    assert votes.solved == votes.shares[1]
    by_hand = sum(texts.count("blue") / 4 for texts in drawn) / len(drawn)
    assert votes.solved == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize(("counts", "share"), [((0, 4, 4, 4), 0.6), ((0, 0, 0, 2, 5, 5), 0.4), ((1, 4, 4, 5), 0.7)])
def test_a_share_is_what_it_is_by_hand_to_the_last_digit(facts, counts, share):
    """Fifths do not add up exactly, and a threshold of .4 must be met by 12/30."""
    question = choice(texts=(*TEXTS, "pink"))
    answers = []
    for number, right in enumerate(counts):
        for rotation, text in enumerate(("blue",) * right + ("red",) * (5 - right)):
            one = unit(question, f"m{number}", rotation)
            place = [choice.text for choice in one.showing.question.choices].index(text)
            answers.append((one, f"Answer: {'ABCDE'[place]}"))
    assert voted(facts, answers).solved == share
