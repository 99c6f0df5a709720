import pytest

from core.content import Modality
from evaluation.caption_conditions import Words
from evaluation.conditions import Conditions, Donors


@pytest.fixture
def heard(questions):
    """Revision id to a question with a sound of so many seconds."""

    def make(**seconds: float):
        return {
            name: questions.choice(
                f"{name}: hear <audio_1>",
                correct=(place % 4,),
                media={"audio_1": questions.media_ref("audio", name, duration_s=length)},
            )
            for place, (name, length) in enumerate(seconds.items())
        }

    return make


def donor_of(questions, name, clusters=None):
    """The question whose sound stands in the place of another's."""
    condition = Donors(questions, clusters or {}).condition(Modality.AUDIO, name, questions[name])
    (donor,) = condition.donors[Modality.AUDIO].values()
    return next(one for one, question in questions.items() if question.media[0].media.sha256 == donor.sha256)


def test_a_donor_is_a_sound_of_half_to_twice_the_length_where_there_is_one(heard):
    asked = heard(a=1.0, b=9.0, c=1.4, d=30.0)
    assert (donor_of(asked, "a"), donor_of(asked, "c")) == ("c", "a")
    assert donor_of(asked, "d") in "abc"


def test_among_alike_ones_it_is_not_always_the_nearest(heard):
    asked = heard(**{f"q{number}": 10 + number / 10 for number in range(12)})
    steps = [abs(int(donor_of(asked, name)[1:]) - int(name[1:])) for name in asked]
    assert max(steps) > 3


def test_a_question_with_the_same_answer_gives_nothing(heard):
    asked = heard(a=1.0, b=2.0, c=2.0, d=2.0, e=1.0)  # a and e have the same right choice
    assert donor_of(asked, "a") in "bcd"
    assert donor_of(asked, "e") in "bcd"


def test_nothing_is_given_by_twins_or_by_itself(heard):
    asked = heard(a=1.0, b=1.0, c=7.0)
    assert donor_of(asked, "a", {"a": "pair", "b": "pair", "c": "c"}) == "c"


@pytest.fixture
def words(workspace):
    with workspace.database.reading() as session:
        return Words(session, [])


def test_where_nobody_can_give_it_is_said(heard, words):
    asked = heard(a=1.0)
    conditions = Conditions(["donor_for_audio"], words, Donors(asked, {}))
    assert conditions.of("a", asked["a"]) == []
    assert conditions.missing == {"donor_for_audio": 1}


def test_what_does_not_apply_is_not_missing(heard, words):
    asked = heard(a=1.0, b=2.0)
    names = ["full", "without_image", "donor_for_video", "donor_for_audio", "text_only"]
    conditions = Conditions(names, words, Donors(asked, {}))
    found = conditions.of("a", asked["a"])
    assert [condition.name for condition in found] == ["full", "donor_for_audio", "text_only"]
    assert +conditions.missing == {}
    assert conditions.idle == ["without_image", "donor_for_video"]


def test_the_order_of_the_questions_chooses_no_donor(heard):
    asked = heard(a=3.0, b=2.0, c=4.0, d=2.0)
    backwards = dict(reversed(asked.items()))
    for name, question in asked.items():
        there, back = (Donors(one, {}).condition(Modality.AUDIO, name, question) for one in (asked, backwards))
        assert there == back
