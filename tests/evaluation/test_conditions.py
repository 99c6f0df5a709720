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
                media={"audio_1": questions.media_ref("audio", name, duration_s=length)},
            )
            for name, length in seconds.items()
        }

    return make


def donor_of(found, questions, name):
    donors = Donors(questions, {})
    condition = donors.condition(Modality.AUDIO, name, questions[name])
    (donor,) = condition.donors[Modality.AUDIO].values()
    return donor.sha256 == questions[found].media[0].media.sha256


def test_a_donor_is_the_sound_of_the_nearest_length(heard):
    asked = heard(a=1.0, b=5.0, c=1.4, d=9.0)
    assert donor_of("c", asked, "a") and donor_of("a", asked, "c") and donor_of("b", asked, "d")


def test_nothing_is_given_by_twins_or_by_itself(heard):
    asked = heard(a=1.0, b=1.0, c=7.0)
    donors = Donors(asked, {"a": "pair", "b": "pair", "c": "c"})
    (donor,) = donors.condition(Modality.AUDIO, "a", asked["a"]).donors[Modality.AUDIO].values()
    assert donor.duration_s == 7.0


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


def test_the_order_of_the_questions_chooses_no_donor(heard):
    asked = heard(a=3.0, b=2.0, c=4.0, d=2.0)
    backwards = dict(reversed(asked.items()))
    for name, question in asked.items():
        there, back = (Donors(one, {}).condition(Modality.AUDIO, name, question) for one in (asked, backwards))
        assert there == back
