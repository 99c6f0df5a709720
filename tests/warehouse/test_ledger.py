from pathlib import Path

import pytest

from warehouse.fact_kinds import FACT_KINDS
from warehouse.facts import FactStore
from warehouse.ledger import settled_answers, settled_keys


@pytest.fixture
def facts(tmp_path: Path) -> FactStore:
    return FactStore(str(tmp_path / "facts"), tmp_path / "journal")


def write(facts: FactStore, kind: str, run_id: str, *rows: dict) -> None:
    empty = dict.fromkeys(name for name in FACT_KINDS[kind].schema.names if name != "run_id")
    with facts.writer(kind, run_id) as writer:
        for minute, row in enumerate(rows):
            writer.add(empty | {"recorded_at": f"2026-01-01T12:{minute:02}:00+00:00"} | row)


def response(key: str, request: str, state: str, answer: str | None = None, **more) -> dict:
    return {"key": key, "request_key": request, "state": state, "answer": answer} | more


def test_nothing_is_settled_before_anything_was_asked(facts):
    assert settled_answers(facts, ["r1"]) == {}
    assert settled_answers(facts, []) == {}


def test_an_answer_stands_unless_the_call_itself_failed(facts):
    states = ["ok", "refusal", "truncated", "empty", "blocked", "api_error"]
    write(facts, "response", "a", *(response(f"k {state}", f"r {state}", state) for state in states))
    found = settled_answers(facts, [f"r {state}" for state in states] + ["r never asked"])
    assert set(found) == {f"r {state}" for state in states[:-1]}
    assert {answer["state"] for answer in found.values()} == set(states[:-1])


def test_only_what_is_wanted_comes(facts):
    write(facts, "response", "a", response("k1", "r1", "ok"), response("k2", "r2", "ok"))
    assert set(settled_answers(facts, iter(["r2", "r2", "r3"]))) == {"r2"}


def test_an_error_that_was_asked_again_is_settled_and_a_later_error_unsettles_nothing(facts):
    write(facts, "response", "a", response("k1", "r1", "api_error"), response("k2", "r2", "ok", "blue"))
    write(facts, "response", "b", response("k1", "r1", "ok", "red"), response("k2", "r2", "api_error"))
    found = settled_answers(facts, ["r1", "r2"])
    assert {key: answer["answer"] for key, answer in found.items()} == {"r1": "red", "r2": "blue"}


def test_units_that_share_a_request_share_its_first_answer(facts):
    write(
        facts,
        "response",
        "a",
        response("k2", "r", "ok", "first", latency_s=0.5, sent="x"),
        response("k1", "r", "ok", "second", latency_s=0.7, error="e"),
    )
    answer = settled_answers(facts, ["r"])["r"]
    assert {name: answer[name] for name in ("answer", "latency_s", "sent", "error")} == {
        "answer": "first",
        "latency_s": 0.5,
        "sent": "x",
        "error": None,
    }


def test_answers_of_one_moment_are_never_mixed(facts):
    rows = [response(f"k{number}", "r", "ok", f"{number}", latency_s=float(number)) for number in range(20)]
    moment = "2026-01-01T12:00:00+00:00"
    write(facts, "response", "a", *(row | {"recorded_at": moment} for row in reversed(rows)))
    columns = settled_answers(facts, ["r"])["r"]
    assert (columns["answer"], columns["latency_s"]) == ("0", 0.0)


def test_keys_alone_are_found_by_unit_or_by_request(facts):
    write(
        facts,
        "response",
        "a",
        response("k1", "r1", "ok"),
        response("k2", "r1", "refusal"),
        response("k3", "r3", "api_error"),
        response("k4", "r4", "ok"),
    )
    assert settled_keys(facts, ["k1", "k2", "k3", "k9", "k1"]) == {"k1", "k2"}
    assert settled_keys(facts, iter(["r1", "r3", "r9"]), "request_key") == {"r1"}
    assert settled_keys(facts, []) == set()
