import pytest
from pydantic import ValidationError

from core.grading import FailedOutcome, Failure, FailureKind, Grade, Outcome

FAILURE = Failure(kind=FailureKind.TIMEOUT, message="no reply in 30 s")


@pytest.mark.parametrize("points", [-0.01, 1.01, float("nan"), float("inf"), "many"])
def test_points_are_a_share_of_one(points):
    with pytest.raises(ValidationError):
        Grade(points=points, reason="", grader="choice@1")


def test_not_graded_is_none_and_must_be_said():
    assert Grade(points=None, reason="no answer found", grader="choice@1").points is None
    with pytest.raises(ValidationError):
        Grade(reason="", grader="choice@1")


def test_grades_survive_json():
    grade = Grade(points=0.4, reason="step 2", grader="steps@1", step_points=(1.0, None, 0.0))
    assert Grade.model_validate_json(grade.model_dump_json()) == grade


@pytest.mark.parametrize("value", [0, "", False, [], 7])
def test_an_outcome_gives_its_value_even_when_that_is_falsy(value):
    assert Outcome(value=value).unwrap() == value


def test_a_failure_is_no_value():
    with pytest.raises(FailedOutcome, match="timeout: no reply in 30 s") as caught:
        Outcome(failure=FAILURE).unwrap()
    assert caught.value.failure == FAILURE


@pytest.mark.parametrize("both", [{}, {"value": 1, "failure": FAILURE}])
def test_an_outcome_is_exactly_one_of_both(both):
    with pytest.raises(ValidationError, match="exactly one"):
        Outcome(**both)
