"""Simulated members decode what reaches them, so what an endpoint loses is really missing from their replies."""

import pytest

from core.content import Modality
from evaluation.canary import CANARIES, Arrival, check_delivery, delivery_rows, known_delivery, problems, read_reply
from evaluation.models.catalogue import ModelSpec

IMAGE, AUDIO, VIDEO = Modality.IMAGE, Modality.AUDIO, Modality.VIDEO


@pytest.fixture
def member(gallery_file):
    def make(name: str = "keen", **knobs) -> ModelSpec:
        delivery = knobs.pop("delivery", {})
        arguments = {"gallery": str(gallery_file), "seed": 3, **knobs}
        return ModelSpec(
            name=name, provider=f"interplay-sim/{name}", family=name, arguments=arguments, delivery=delivery
        )

    return make


def arrivals(delivery):
    return {one.modality: one.arrival for one in delivery.modalities}


def test_everything_arrives_at_an_honest_endpoint(workspace, member):
    (found,) = check_delivery(workspace, "run", [member()])
    assert arrivals(found) == dict.fromkeys((IMAGE, AUDIO, VIDEO), Arrival.YES)
    assert {one.modality: one.in_order for one in found.modalities} == {IMAGE: (9, 9), AUDIO: (15, 15), VIDEO: (9, 9)}
    assert (found.control, found.failures, found.undelivered) == ((3, 3), {}, frozenset())


@pytest.mark.parametrize("lost", [IMAGE, AUDIO, VIDEO])
def test_a_modality_that_is_dropped_is_found(workspace, member, lost):
    (found,) = check_delivery(workspace, "run", [member(dropped=[lost.value])])
    assert arrivals(found)[lost] is Arrival.NO
    assert found.lost == found.undelivered == {lost}
    others = {one.modality: one.alone[0] for one in found.modalities if one.modality is not lost}
    assert set(others.values()) == {3}


def test_an_endpoint_that_takes_frames_or_one_film_delivers_too(workspace, member):
    frames, film = member("frames", delivery={"video": "frames"}), member("film", delivery={"mixed": False})
    for found in check_delivery(workspace, "run", [frames, film]):
        assert found.lost == frozenset()
    # A picture and a video make no one film, and a film does not say what came first.
    assert found.failures == {"blocked": 3}
    assert any("do not always arrive in the order sent" in problem for problem in problems(found))


def test_what_failed_is_told_with_its_reason(workspace, member):
    failing = member(error_rate=1.0, errors=["500"]).model_copy(update={"generate": {"max_retries": 0}})
    (found,) = check_delivery(workspace, "run", [failing])
    (told,) = problems(found)
    assert told.startswith("canaries without an answer: 27 api_error; SimulatedFailure: simulated failure: 500")


def test_a_modality_that_the_row_excludes_is_not_sent(workspace, member, stored):
    (found,) = check_delivery(workspace, "run", [member(delivery={"video": False})])
    assert arrivals(found) == {IMAGE: Arrival.YES, AUDIO: Arrival.YES, VIDEO: Arrival.NOT_TAKEN}
    assert (found.undelivered, found.lost) == ({VIDEO}, frozenset())
    assert not [row for row in stored() if "video" in row["condition"]]


def test_an_endpoint_that_only_fails_has_delivered_nothing(workspace, member):
    failing = member(error_rate=1.0, errors=["500"])
    failing = failing.model_copy(update={"generate": {"max_retries": 0}})
    (found,) = check_delivery(workspace, "run", [failing])
    assert set(arrivals(found).values()) == {Arrival.FAILED}
    assert found.failures == {"api_error": 27}
    assert found.control == (0, 0)


def test_nothing_is_asked_twice_unless_it_is_wanted_again(workspace, member, stored):
    for again, rows in ((False, 27), (False, 27), (True, 54), (False, 54)):
        check_delivery(workspace, "run", [member()], again=again)
        assert len(stored()) == len({row["request_key"] for row in stored()}) == rows


def test_an_endpoint_that_was_never_asked_is_not_trusted(workspace, member):
    (found,) = known_delivery(workspace.facts, [member()])
    assert found.undelivered == {IMAGE, AUDIO, VIDEO}
    check_delivery(workspace, "run", [member()])
    assert known_delivery(workspace.facts, [member()])[0].undelivered == frozenset()


def test_looking_at_what_is_known_makes_no_media(workspace, member, monkeypatch):
    monkeypatch.setattr("evaluation.canary._carrying", None)
    assert not known_delivery(workspace.facts, [member()])[0].was_asked
    assert not [file for file in (workspace.project.root / "blobs").rglob("*") if file.is_file()]


def test_the_latest_round_counts(workspace, member):
    check_delivery(workspace, "run", [member()])
    deaf = member(dropped=["audio"])  # the same name, a server that has changed
    check_delivery(workspace, "run", [deaf])
    assert known_delivery(workspace.facts, [deaf])[0].lost == {AUDIO}


def test_canaries_are_the_same_every_time_and_carry_each_code_once(workspace):
    for canary in CANARIES:
        assert canary.media() == canary.media()
        assert canary.prompt(workspace.blobs) == canary.prompt(workspace.blobs)
        assert len(set(canary.codes)) == len(canary.codes) == len(canary.shows)
        assert all(len(set(code)) == 3 for code in canary.codes)


def test_the_table_says_it_in_words(workspace, member):
    (found,) = check_delivery(workspace, "run", [member(dropped=["audio"])])
    rows = delivery_rows(found)
    assert rows[0][:4] == ["keen", "image", "yes", "3 of 3"]
    assert [row[1:3] for row in rows] == [["image", "yes"], ["audio", "no"], ["video", "yes"], ["(nothing)", "yes"]]


@pytest.mark.parametrize(
    ("codes", "reply", "found", "in_order"),
    [
        (["472"], "472", [True], None),
        (["472"], "The image says 4 7 2.", [True], None),
        (["472"], "four, seven... I mean four seven two", [True], None),
        (["472"], "四七二", [True], None),
        (["472"], "4-7-2", [True], None),
        (["472"], "4720", [False], None),
        (["472"], "47", [False], None),
        (["472"], "none", [False], None),
        (["472", "381"], "472, 381", [True, True], True),
        (["472", "381"], "381, 472", [True, True], False),
        (["472", "381"], "472", [True, False], None),
        (["472", "381"], "image: 4 7 2\naudio: three eight one", [True, True], True),
        (["472", "381"], "472381", [False, False], None),
        (["472", "381"], "1. 472\n2. 381", [True, True], True),
        (["472", "381"], "Here they are:\n  1. 3 8 1\n  2. four seven two", [True, True], False),
        (["472"], "4. 7. 2", [True], None),
        (["472"], "４７２", [True], None),
        (["472"], "1 472", [False], None),
    ],
)
def test_a_reply_is_read(codes, reply, found, in_order):
    assert read_reply(codes, reply) == (tuple(found), in_order)


def test_an_endpoint_that_answers_the_empty_control_with_digits_is_seen(workspace, scripted):
    model, _ = scripted("472, 381")
    (found,) = check_delivery(workspace, "run", [model])
    assert found.control == (0, 3)
    assert delivery_rows(found)[-1][2] == "unclear"
