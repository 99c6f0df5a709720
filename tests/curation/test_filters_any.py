"""Filters of materials of any modality, and those that other packages add."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.content import MediaRef
from curation.filters.catalogue import filters_of, judge_described
from curation.filters.described import Described, Rules, Said
from curation.filters.thresholds import DEFAULT_THRESHOLDS

VERSIONS = {"any-licence": "2"}
REF = MediaRef(sha256="1" * 64, media_type="audio/wav", modality="audio", byte_count=9, duration_s=30.0)
ENGLISH = "She was not an ordinary woman, and never had been one."
CHINESE = "她不是一个普通的女人，从来都不是。"
CANTONESE = "佢唔係一個普通嘅女人，從來都唔係。"
FRENCH = "Ce n'était pas une femme ordinaire, et elle ne l'avait jamais été."


def facts(described: Described, name: str) -> dict:
    return judge_described(described, DEFAULT_THRESHOLDS).measures[f"{name}@{VERSIONS.get(name, '1')}"]


def reason(described: Described) -> str | None:
    drop = judge_described(described, DEFAULT_THRESHOLDS).drop
    return drop.reason if drop else None


@pytest.mark.parametrize(
    ("licences", "allowed", "expected"),
    [
        ((), (), None),
        ((None,), (), None),
        (("",), (), None),
        (("CC-BY-4.0",), (), None),
        (("CC-BY-ND-4.0",), (), "licence"),
        (("CC-BY-ND-4.0",), ("CC-BY-ND-4.0",), None),
        (("https://example.org/terms", "CC-BY-ND-4.0"), (), "licence"),
        (("https://example.org/terms", "CC0-1.0"), (), None),
        (("https://example.org/terms", None), (), None),
    ],
)
def test_only_what_no_release_may_hold_is_dropped(licences, allowed, expected):
    described = Described(REF, licences=licences, rules=Rules(allowed_licences=allowed))
    assert reason(described) == expected
    found = facts(described, "any-licence")
    assert ("why" in found) == (found["licence"] is None)


@pytest.mark.parametrize(
    ("speech", "languages", "share"),
    [
        ([(8.0, "en"), (2.0, "zh")], ("zh",), 0.2),
        ([(8.0, "en"), (2.0, "yue")], ("zh",), 0.2),
        ([(8.0, "en-GB"), (2.0, None)], ("en", "zh"), 1.0),
        ([(9.0, "fr"), (0.9, "en")], ("en",), 0.9 / 9.9),
        ([(2.9, "fr")], ("en",), None),
        ([(9.0, "fr")], (), None),
    ],
)
def test_speech_is_judged_by_its_time_in_each_language(speech, languages, share):
    described = Described(REF, speech=tuple(Said(*one) for one in speech), rules=Rules(languages))
    found = facts(described, "any-language")
    assert found["wanted_share"] == (None if share is None else pytest.approx(share, abs=1e-4))
    assert reason(described) == ("wrong_language" if share is not None and share < 0.1 else None)


@pytest.mark.parametrize(
    ("text", "languages", "is_wanted"),
    [
        (ENGLISH, ("en",), True),
        (ENGLISH, ("zh", "fr"), False),
        (CHINESE, ("zh",), True),
        (CHINESE, ("en", "ja"), False),
        (CANTONESE, ("zh",), True),
        (CANTONESE, ("en",), False),
        (FRENCH, ("fr",), True),
        (FRENCH, ("en", "zh"), False),
        ("Oui, bien sûr.", ("en",), True),
        ("", ("en",), True),
    ],
)
def test_text_that_is_spoken_is_judged_where_no_language_is_known(text, languages, is_wanted):
    rules = Rules(languages)
    expected = None if is_wanted else "wrong_language"
    assert reason(Described(REF, audio_type="speech", audio_content=text, rules=rules)) == expected
    assert reason(Described(REF, speech=(Said(5.0, None, text),), rules=rules)) == expected


def test_a_description_says_nothing_about_the_language_of_what_it_describes():
    rules = Rules(("en",))
    assert reason(Described(REF, audio_type="environment", audio_content=FRENCH, rules=rules)) is None
    assert reason(Described(REF, captions=(FRENCH,), rules=rules)) is None


def test_what_is_known_has_another_fingerprint_when_any_of_it_changes():
    known = Described(REF, ("MIT",), (Said(1.0, "en", "yes"),), "speech", "yes", ("a man says yes",), Rules(("en",)))
    changes = [
        {"licences": ("MIT", None)},
        {"speech": (Said(1.0, "en", "no"),)},
        {"audio_type": None},
        {"audio_content": "no"},
        {"captions": ()},
        {"rules": Rules(("en", "zh"))},
        {"ref": REF.model_copy(update={"sha256": "2" * 64})},
    ]
    prints = [replace(known, **change).fingerprint for change in changes]
    assert len({known.fingerprint, *prints}) == 1 + len(changes)
    assert replace(known, read=lambda: b"x").fingerprint == known.fingerprint


SAFETY = """
from core.errors import InterplayError
from curation.filters.verdict import Drop, DropClass, DropReason, Keep

class NoClassifier(InterplayError):
    pass

def judge(described, thresholds):
    data = described.read()
    if data == b"broken":
        raise NoClassifier("the classifier is not installed; install it")
    score = data.count(b"!") / 10
    if score < 0.5:
        return Keep({"score": score})
    return Drop(DropReason.UNSAFE, f"score {score:.2f}, at most 0.5", DropClass.NOT_USABLE, {"score": score})
"""


@pytest.fixture
def safety_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An installed package that offers a safety filter."""
    (tmp_path / "safe_ones.py").write_text(SAFETY)
    metadata = tmp_path / "safe_ones-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: safe-ones\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[interplay.filters]\nany-safety-shouting@3 = safe_ones:judge\n")
    monkeypatch.syspath_prepend(tmp_path)
    filters_of.cache_clear()
    yield
    filters_of.cache_clear()


@pytest.mark.usefixtures("safety_package")
def test_a_safety_filter_of_another_package_reads_the_bytes_and_drops():
    calm, loud = (Described(REF, read=lambda text=text: text) for text in (b"well!", b"!!!!!!!"))
    assert facts_of_safety(calm) == {"score": 0.1}
    assert reason(calm) is None
    assert facts_of_safety(loud)["drop"] == reason(loud) == "unsafe"
    # It tells more than that it may not be published either.
    assert reason(replace(loud, licences=("CC-BY-ND-4.0",))) == "unsafe"


@pytest.mark.usefixtures("safety_package")
def test_a_filter_that_cannot_judge_is_noted_and_the_others_are_asked():
    described = Described(REF, licences=("CC-BY-ND-4.0",), read=lambda: b"broken")
    assert facts_of_safety(described) == {"failure": "the classifier is not installed; install it"}
    assert reason(described) == "licence"


def facts_of_safety(described: Described) -> dict:
    return judge_described(described, DEFAULT_THRESHOLDS).measures["any-safety-shouting@3"]


def test_none_that_pretends_to_judge_safety_is_shipped():
    assert [name for name, _ in filters_of("any")] == ["any-language@1", "any-licence@2"]
