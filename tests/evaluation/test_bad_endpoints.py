"""A release put to endpoints that misbehave, over real HTTP: each mistake is a typed failure, never a zero."""

import re
from contextlib import contextmanager

import pytest

from core.errors import InterplayError
from evaluation.models.catalogue import find_models
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.member import Knobs
from evaluation.models.sim.server import serving
from evaluation.run import Order, evaluate, report_release
from warehouse.analytics import analysis

QUICK = {"max_retries": 0, "attempt_timeout": 30}


@contextmanager
def endpoint(gallery_file, generate=QUICK, api_key=None, key="", **knobs):
    """A model behind a server of its own."""
    with serving({"m": Knobs(**knobs)}, Gallery.load(gallery_file), api_key=api_key) as address:
        table = {
            "provider": "interplay-omni/m",
            "endpoint": "serve-sim",
            "arguments": {"base_url": address} | ({"api_key": key} if key else {}),
            "generate": generate,
        }
        yield find_models(["m"], {"m": table})


def told(zoo):
    with analysis(zoo.facts, ["response"]) as connection:
        return connection.sql("SELECT state, error, answer, attempts FROM response").fetchall()


def the_cell(zoo):
    (cell,) = report_release(zoo, "zoo", "1.0.0").cells
    return cell


@pytest.mark.parametrize(
    ("knobs", "state", "error"),
    [
        ({"error_rate": 1, "errors": ["garbage"]}, "unparsed", "MalformedReply|not UTF-8|no JSON|not JSON"),
        ({"error_rate": 1, "errors": ["500"]}, "api_error", "500"),
        ({"error_rate": 1, "errors": ["cut"]}, "api_error", "connection|broke|closed|ended"),
        ({"answer_bytes": 100_000_000}, "unparsed", "16"),
    ],
)
def test_what_is_no_answer_is_a_typed_failure_without_points(zoo, gallery_file, knobs, state, error):
    with endpoint(gallery_file, **knobs) as models:
        done = evaluate(zoo, "zoo", "1.0.0", Order(models, ["full"]))
    assert done.solved.failures == {state: 4}
    assert re.search(error, done.solved.reasons[state])
    for found, said, answer, _ in told(zoo):
        assert (found, answer) == (state, None)
        assert re.search(error, said), said
        assert "\n" not in said and len(said) < 2_000
    cell = the_cell(zoo)
    assert (cell.points, cell.graded, cell.answered, cell.worst, cell.best) == (None, 0, 4, 0.0, 100.0)


def test_a_server_that_never_answers_is_given_up(zoo, gallery_file):
    hang = {"error_rate": 1, "errors": ["hang"]}
    with endpoint(gallery_file, {"max_retries": 0, "attempt_timeout": 1}, **hang) as models:
        done = evaluate(zoo, "zoo", "1.0.0", Order(models, ["full"]))
    assert done.solved.failures == {"api_error": 4}
    assert all("1 sec" in said or "1 s" in said or "time" in said.lower() for _, said, _, _ in told(zoo))


def test_what_failed_is_asked_again_by_the_next_call_and_then_stands(zoo, gallery_file):
    with endpoint(gallery_file, error_rate=0.6, errors=["500"], seed=2) as models:
        pending = 4
        for _ in range(20):
            done = evaluate(zoo, "zoo", "1.0.0", Order(models, ["full"]))
            assert done.solved.asked == pending
            pending = done.solved.failures.get("api_error", 0)
    assert pending == 0
    assert (the_cell(zoo).points, the_cell(zoo).answered) == (100.0, 4)


def test_a_busy_server_is_asked_again_after_the_time_that_it_says(zoo, gallery_file):
    patient = {"max_retries": 6, "attempt_timeout": 30}
    with endpoint(gallery_file, patient, error_rate=0.5, errors=["429"], retry_after_s=0) as models:
        done = evaluate(zoo, "zoo", "1.0.0", Order(models, ["full", "text_only"]))
    assert done.solved.failures == {}
    assert max(attempts for *_, attempts in told(zoo)) > 1


def test_a_wrong_key_is_said_once_for_each_call_and_not_tried_again(zoo, gallery_file):
    patient = {"max_retries": 6, "attempt_timeout": 30}
    with endpoint(gallery_file, patient, api_key="sesame-sesame", key="wrong-key-wrong") as models:
        done = evaluate(zoo, "zoo", "1.0.0", Order(models, ["full"]))
    assert done.solved.failures == {"api_error": 4}
    for _, said, _, attempts in told(zoo):
        assert attempts == 1 and "401" in said and "wrong-key-wrong" not in said


def test_nobody_at_the_address_is_said_with_the_address(zoo):
    table = {
        "provider": "interplay-omni/m",
        "endpoint": "serve-sim",
        "arguments": {"base_url": "http://127.0.0.1:1/v1"},
        "generate": QUICK,
    }
    evaluate(zoo, "zoo", "1.0.0", Order(find_models(["m"], {"m": table}), ["full"]))
    assert {state for state, *_ in told(zoo)} == {"api_error"}
    assert all("no connection to http://127.0.0.1:1/v1" in said for _, said, _, _ in told(zoo))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"endpoint": "openai"}, "key"),
        ({"endpoint": "vllm-qwen-omni"}, "base_url"),
        ({"endpoint": "vlm"}, "unknown endpoint 'vlm'"),
        ({"endpoint": "openai", "delivery": {"frame": 3}}, "unknown field of a delivery 'frame'; did you mean"),
        ({"endpoint": "openai", "delivery": {"frames": 0}}, "frames"),
    ],
)
def test_a_model_that_cannot_be_asked_stops_everything_with_one_line(zoo, monkeypatch, table, said):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InterplayError, match=said) as raised:
        evaluate(zoo, "zoo", "1.0.0", Order(find_models(["m"], {"m": {"provider": "interplay-omni/m", **table}})))
    assert "\n" not in str(raised.value)
    assert told(zoo) == []


def test_a_server_that_nobody_ever_reached_is_not_waited_for_call_by_call(zoo, monkeypatch):
    monkeypatch.setattr("evaluation.models.omni.provider._STARTING_S", 0.0)
    table = {
        "provider": "interplay-omni/m",
        "endpoint": "serve-sim",
        "arguments": {"base_url": "http://127.0.0.1:1/v1"},
        "generate": {"max_retries": 6},
    }
    done = evaluate(zoo, "zoo", "1.0.0", Order(find_models(["m"], {"m": table}), ["full"]))
    assert (done.solved.asked, done.solved.answered, done.solved.failures) == (4, 0, {"api_error": 4})
    assert {attempts for *_, attempts in told(zoo)} == {1}


def test_an_address_without_its_v1_is_told_of(zoo, gallery_file):
    with endpoint(gallery_file) as (model,):
        address = model.arguments["base_url"].removesuffix("/v1")
        table = {"provider": "interplay-omni/m", "endpoint": "serve-sim", "arguments": {"base_url": address}}
        evaluate(zoo, "zoo", "1.0.0", Order(find_models(["m"], {"m": table}), ["full"]))
    assert all("HTTP 404" in said and said.endswith("should 'base_url' end in /v1?") for _, said, _, _ in told(zoo))
