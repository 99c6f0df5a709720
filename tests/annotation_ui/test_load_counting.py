"""What the load script says of a log: percentiles, lost writes, tasks that two people had at once."""

import math
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def counting():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.append(folder)  # last: a benchmark there is called like one of the packages
    from studio_subjects import counting

    yield counting
    sys.path.remove(folder)


@pytest.fixture
def record(counting):
    """Makes a request that took a second; `wrote` is (kind, key, text)."""

    def make(at_s, wrote=None, who=0, op="save", **more):
        return counting.Record(op, who, at_s, at_s + 1, wrote=wrote, **more)

    return make


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.95, 95), (0.99, 99), (0.0, 1), (1.0, 100), (0.501, 51)])
def test_a_percentile_is_a_value_that_was_measured(counting, share, expected):
    assert counting.percentile(range(100, 0, -1), share) == expected


def test_nothing_has_no_percentile(counting):
    assert math.isnan(counting.percentile([], 0.5))


def test_only_the_span_counts_and_failures_have_no_duration(counting, record):
    log = [record(0), record(5), record(6, failure="500"), record(10)]
    assert counting.between(log, 6, 11) == log[1:3]
    assert counting.durations_ms(log) == [1000, 1000, 1000]
    assert counting.failures(log) == {"save: 500": 1}


@pytest.mark.parametrize(
    ("texts", "stored", "is_lost"),
    [
        ([("one", None), ("two", None)], "two", False),
        ([("one", None), ("two", None)], "one", True),
        ([("one", None), ("two", None)], None, True),
        ([("one", None), ("two", "500")], "one", False),
        ([("one", None), ("two", "ReadTimeout")], "two", False),  # refused, and stored all the same
        ([("one", "500"), ("two", None)], "one", True),
        ([("one", "500")], None, False),
    ],
)
def test_the_last_accepted_save_must_be_there(counting, record, texts, stored, is_lost):
    log = [record(at, ("draft", "d", text), failure=failure) for at, (text, failure) in enumerate(texts)]
    found = counting.lost(log, {("draft", "d"): {stored}} if stored else {})
    assert bool(found) == is_lost


def test_a_draft_that_was_handed_in_is_no_draft_but_its_text_must_be_there(counting, record):
    log = [record(0, ("draft", "d", "one")), record(1, ("handed", "task", "one"), ended_draft="d", op="hand in")]
    assert counting.lost(log, {("handed", "task"): {"one"}}) == []
    assert counting.lost(log, {}) == [("handed", "task", "one")]
    # Of two who handed in one task, neither may be lost.
    both = [*log, record(2, ("handed", "task", "two"), who=1)]
    assert counting.lost(both, {("handed", "task"): {"two"}}) == [("handed", "task", "one")]


def test_a_task_is_given_twice_where_two_have_it_at_once(counting, record):
    def span(who, taken_s, handed_s=None, key="task"):
        found = [record(taken_s, ("lease", key, str(who)), who)]
        return found + ([record(handed_s, ("handed", key, str(who)), who)] if handed_s else [])

    one_after_another = span(0, 0, 5) + span(1, 6, 9)
    assert counting.given_twice(one_after_another) == 0
    assert counting.given_twice(span(0, 0, 5) + span(1, 2, 9)) == 1
    assert counting.given_twice(span(0, 0) + span(1, 2)) == 1, "neither has handed in"
    assert counting.given_twice(span(0, 0) + span(0, 2)) == 0, "a reload gives one's own task again"
    assert counting.given_twice(span(0, 0) + span(1, 2, key="another")) == 0
    assert counting.given_twice(span(0, 0) + span(1, 1) + span(2, 2)) == 3
