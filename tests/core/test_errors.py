import pickle
from pathlib import Path

import pytest

from core.errors import InterplayError, MissingExtra, UnknownName
from core.grading import FailedOutcome, Failure, FailureKind
from core.settings import NoProject


class Odd(InterplayError):
    """A mistake whose text is made from keyword arguments."""

    def __init__(self, *, place: str, number: int) -> None:
        super().__init__(f"{place} has no {number}")
        self.number = number


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("gemni", ["gemini", "qwen"], "unknown model 'gemni'; did you mean 'gemini'?"),
        ("xyz", ["gemini", "qwen"], "unknown model 'xyz'; known: gemini, qwen"),
        ("xyz", [], "unknown model 'xyz'; known: none"),
        ("xyz", [f"m{n:02}" for n in range(15)], "m11 and 3 more"),
        ("choic", ["choice", "choices"], "did you mean 'choice' or 'choices'?"),
    ],
)
def test_an_unknown_name_offers_the_nearest(name, known, told):
    assert str(UnknownName("model", name, iter(known))).endswith(told)


def test_a_missing_extra_says_what_to_install():
    text = "Transcription needs the 'speech' extra: pip install 'interplay[speech]'"
    assert str(MissingExtra("Transcription", "speech")) == text


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("model", "a", ["b"]),
        MissingExtra("Speech", "speech"),
        NoProject(Path("/x")),
        FailedOutcome(Failure(kind=FailureKind.CRASHED, message="gone")),
        Odd(place="the box", number=3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes_whole(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
