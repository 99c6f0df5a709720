"""Takes of scripts: what is measured in them, who may decide on them, and what becomes of them."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlmodel import select
from typer.testing import CliRunner

from core.errors import MissingExtra, UnknownName
from core.media.errors import MediaError
from core.media.guard import Guard
from core.media.limits import DEFAULT_LIMITS
from core.settings import Settings
from curation.filters.views import Sound
from curation.recordings.agreements import ConsentLacking, NewConsent, give_consent, put_text
from curation.recordings.contributors import (
    AgeBand,
    NewContributor,
    PersonalData,
    PseudonymTaken,
    add_contributor,
    made_up,
)
from curation.recordings.deciding import (
    ChecksFailed,
    ImpossibleDecision,
    RefusalReasonMissing,
    accept_take,
    refuse_take,
)
from curation.recordings.findings import findings_of
from curation.recordings.instant import TakeMeasures, instant_findings, measure_take, quiet_ends_s
from curation.recordings.limits import DEFAULT_TAKE_LIMITS, Band, Outcome
from curation.recordings.listening import Counts, Ears, Transcribes, listening_findings
from curation.recordings.models import project_ears
from curation.recordings.scripts import (
    BadScripts,
    NewScript,
    ScriptChanged,
    ScriptClosed,
    add_scripts,
    close_script,
    list_scripts,
    read_scripts,
)
from curation.recordings.takes import (
    NewTake,
    TakeKnown,
    WrongConsent,
    add_take,
    check_take,
    get_take,
    list_takes,
)
from curation.recordings.wording import length_of, normalised
from curation.speech.heard import Span, Word
from curation.tagging.tags import tags_of, texts_of
from interplay.cli import NOUNS
from warehouse import events
from warehouse.consents import Scope
from warehouse.inspection import unnamed_blobs
from warehouse.people import UnknownUser
from warehouse.tables import Consent, Material, MaterialSource, MaterialState, Recording, Run, Script, Segment
from warehouse.workspace import open_workspace

RATE_HZ = 48_000
LIMITS = DEFAULT_TAKE_LIMITS
EIGHT_WORDS = "The ferry leaves from pier three at noon"


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with Guard(1, DEFAULT_LIMITS) as opened:
        yield opened


@pytest.fixture
def workspace(project, database):
    with open_workspace(project) as opened:
        yield replace(opened, database=database)


@pytest.fixture
def database_url(request, project):
    """As in the parent folder, for this folder's projects."""
    if request.param == "sqlite":
        return f"sqlite:///{project / 'interplay.db'}"
    return request.getfixturevalue("postgres_url")


# Tests that between them ask the databases all that this part asks; a fresh PostgreSQL for each test takes long.
ON_BOTH = {
    "test_scripts_come_from_both_kinds_of_files_and_twice_is_once",
    "test_a_take_is_sealed_and_measured_and_the_same_bytes_are_the_same_take",
    "test_bytes_of_a_take_whose_server_is_killed_are_listed_until_it_is_sent_again",
    "test_a_take_is_of_an_open_script_by_whose_consent_it_is",
    "test_models_are_asked_later_and_what_they_say_is_kept",
    "test_an_accepted_take_is_a_material_with_its_words_papers_and_dialect",
    "test_nobody_decides_twice_and_each_is_told_what_is_possible",
    "test_bytes_that_are_in_the_library_get_the_takes_papers_too",
}


def pytest_generate_tests(metafunc):
    if "database_url" in metafunc.fixturenames:
        postgres = [pytest.param("postgresql", marks=pytest.mark.postgres)]
        kinds = ["sqlite", *(postgres if metafunc.function.__name__ in ON_BOTH else [])]
        metafunc.parametrize("database_url", kinds, indirect=True)


class Studio:
    """A project with a script, a contributor and a consent, and short ways to record."""

    def __init__(self, workspace, guard, clock, media):
        self.workspace, self.guard, self.clock, self.media = workspace, guard, clock, media
        with workspace.database.session() as session:
            add_scripts(session, [script_of("ferry", EIGHT_WORDS)], "ana", clock)
            put_text(session, "1.0", {"en": "I agree.", "zh": "我同意。"}, "CC-BY-4.0", "ana", clock)
            add_contributor(session, NewContributor("speaker-07", "Sichuan", AgeBand.FROM_25), "ana", clock)
        self.consent = self.agree()

    def agree(self, scope=(Scope.VOICE, Scope.PUBLISH), expires_at=None, contributor="speaker-07"):
        with self.workspace.database.session() as session:
            return give_consent(session, NewConsent(contributor, "1.0", scope, expires_at), "ana", self.clock)

    def add(self, data=None, consent=None, script="ferry", contributor="speaker-07"):
        new = NewTake(script, contributor, (consent or self.consent).id, "headset")
        return add_take(
            self.workspace, data or take(self.media, 1), new, "ana", guard=self.guard, clock=self.clock
        ).recording

    def accept(self, recording, reason="nobody listens in this test"):
        return accept_take(self.workspace, recording.id, "rita", reason, guard=self.guard, clock=self.clock)

    def reload(self, recording):
        with self.workspace.database.reading() as session:
            return session.get(Recording, recording.id)


@pytest.fixture
def studio(workspace, guard, clock, media):
    return Studio(workspace, guard, clock, media)


def script_of(name, text, language="en", **more):
    return NewScript(name=name, text=text, language=language, **more)


def take(media, seed, gain=0.5, rate_hz=RATE_HZ, quiet_s=0.4, noise=0.0005):
    """Two seconds and a half of a voice between two quiet ends, in the hiss of a still room."""
    voice = media.voice(seed, 2.5, rate_hz) * gain
    ends = np.zeros(round(quiet_s * rate_hz), np.float32)
    sound = np.concatenate([ends, voice, ends])
    hiss = np.random.default_rng(seed).normal(0, noise, len(sound)).astype(np.float32)
    return media.wav(np.clip(sound + hiss, -1, 1), rate_hz)


def named(findings):
    return {one.name: one for one in findings}


# Scripts.


def test_scripts_come_from_both_kinds_of_files_and_twice_is_once(workspace, clock, tmp_path):
    table = tmp_path / "scripts.csv"
    table.write_text('\ufeffname,text,language,dialect,speakers\na,"Hello, you",en,,\nb,你好,zh,Sichuan,2\n', "utf-8")
    lines = tmp_path / "scripts.jsonl"
    lines.write_text('{"name": "c", "text": "three", "language": "en-GB", "role": "guide"}\n\n', "utf-8")
    with workspace.database.session() as session:
        assert add_scripts(session, read_scripts(table), "ana", clock).added == ["a", "b"]
        assert add_scripts(session, read_scripts(lines), "ana", clock).added == ["c"]
        assert add_scripts(session, read_scripts(table), "ana", clock).known == ["a", "b"]
        held = {one.name: one for one in session.exec(select(Script))}
        assert (held["a"].text, held["a"].dialect, held["a"].speakers) == ("Hello, you", None, 1)
        assert (held["b"].dialect, held["b"].speakers, held["c"].role) == ("Sichuan", 2, "guide")
        with pytest.raises(ScriptChanged, match="'a' is there with other words"):
            add_scripts(session, [script_of("a", "Goodbye")], "ana", clock)
        close_script(session, "a", "ana", clock)
        assert [one.script.name for one in list_scripts(session, only_open=True)] == ["b", "c"]
        with pytest.raises(UnknownName, match="did you mean"):
            close_script(session, "aa", "ana", clock)


def test_a_script_refused_for_another_reason_is_not_taken_for_one_that_is_there(workspace, clock):
    refusal = "CREATE TRIGGER full BEFORE INSERT ON script BEGIN SELECT RAISE(ABORT, 'no room'); END"
    with pytest.raises(IntegrityError, match="no room"), workspace.database.session() as session:
        session.connection().execute(text(refusal))
        add_scripts(session, [script_of("a", "Hello")], "ana", clock)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("s.csv", "name,text,language\n", "there is no script in it"),
        ("s.csv", "name,text\na,b\n", "line 2: language"),
        ("s.csv", "name,text,language,frob\na,b,en,x\n", "line 2: unknown column 'frob'"),
        ("s.csv", "name,text,language\na,b,en,x\n", "line 2"),
        ("s.csv", "name,text,language\na,b,en\na,c,en\n", "line 3: 'a' stands there a second time"),
        ("s.csv", "name,text,language,speakers\na,b,en,0\n", "line 2: speakers"),
        ("s.csv", "name,text,language\na,b,English please\n", "line 2: language"),
        ("s.csv", 'name,text,language\n"a,b,en\n', "not readable as CSV"),
        ("s.jsonl", '{"name": "a"\n', "line 1: not readable as JSON"),
        ("s.jsonl", "[1]\n", "line 1"),
        ("s.jsonl", "台词".encode("gbk"), "not UTF-8"),
        ("s.txt", "a", "rename or convert"),
        ("none/s.csv", None, "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_of_scripts_is_said_with_its_place(tmp_path, name, text, problem):
    file = tmp_path / name
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadScripts) as caught:
        read_scripts(file)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


# Contributors.


@pytest.mark.parametrize("name", ["speaker-07", "v12", "north-1-2"])
def test_pseudonyms_that_name_nobody_are_taken(shared_database, clock, name):
    with shared_database.session() as session:
        assert add_contributor(session, NewContributor(name), "ana", clock).pseudonym == name
        with pytest.raises(PseudonymTaken):
            add_contributor(session, NewContributor(name), "ana", clock)


@pytest.mark.parametrize(
    "name", ["Jane Doe", "jane", "jane-doe", "jane.doe@example.org", "王小明", "13812345678", "a-13812345678", "0171-1", "", "x" * 40]
)  # fmt: skip
def test_names_addresses_and_numbers_are_no_pseudonyms(shared_database, clock, name):
    with shared_database.session() as session, pytest.raises(PersonalData):
        add_contributor(session, NewContributor(name), "ana", clock)


@pytest.mark.parametrize("dialect", ["jane@example.org", "138 1234 5678", "", "x" * 65])
def test_a_dialect_is_no_place_for_them_either(shared_database, clock, dialect):
    with shared_database.session() as session, pytest.raises(PersonalData):
        add_contributor(session, NewContributor("speaker-07", dialect), "ana", clock)


def test_a_made_up_pseudonym_holds_nothing_of_the_moment():
    assert made_up(lambda: "01998c0e-5b1f-7a60-8d39-00000000002a") == "voice-0000-0042"


# What is measured.


def test_quiet_ends_are_found_in_still_and_in_noisy_rooms():
    time_s = np.arange(RATE_HZ) / RATE_HZ
    tone = 0.3 * np.sin(2 * np.pi * 440 * time_s)
    for noise in (0.0, 0.0003, 0.01):
        sound = np.concatenate([np.zeros(RATE_HZ // 2), tone, np.zeros(RATE_HZ // 4)])
        sound = sound + np.random.default_rng(0).normal(0, noise, len(sound)) if noise else sound
        view = Sound(1.75, RATE_HZ, sound[np.newaxis].astype(np.float32))
        leading_s, trailing_s = quiet_ends_s(view, LIMITS)
        assert (leading_s, trailing_s) == (pytest.approx(0.5, abs=0.02), pytest.approx(0.25, abs=0.02))


def test_all_silence_is_leading_and_a_steady_tone_has_none():
    silent = Sound(1.0, RATE_HZ, np.zeros((1, RATE_HZ), np.float32))
    assert quiet_ends_s(silent, LIMITS) == (1.0, 0.0)
    steady = Sound(1.0, RATE_HZ, np.sin(np.arange(RATE_HZ) / 10)[np.newaxis].astype(np.float32))
    assert quiet_ends_s(steady, LIMITS) == (0.0, 0.0)


def test_a_good_take_passes_every_instant_check(media, guard, tmp_path):
    file = tmp_path / "take"
    file.write_bytes(take(media, 1))
    measures = guard.run(measure_take, file, DEFAULT_LIMITS, LIMITS)
    assert measures.sample_rate_hz == RATE_HZ
    assert measures.duration_s == pytest.approx(3.3)
    assert measures.leading_s == pytest.approx(0.4, abs=0.3)
    found = instant_findings(measures, Script(name="a", text=EIGHT_WORDS, language="en", created_by="x"), LIMITS)
    assert [one.name for one in found] == [
        "sample_rate", "duration", "clipping", "loudness", "snr", "leading_silence", "trailing_silence",
    ]  # fmt: skip
    assert {one.outcome for one in found} == {Outcome.PASS}, found


GOOD = TakeMeasures(48_000, 4.0, 0.0, -20.0, 40.0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("change", "name", "outcome"),
    [
        ({"sample_rate_hz": 8_000}, "sample_rate", Outcome.FAIL),
        ({"sample_rate_hz": 16_000}, "sample_rate", Outcome.PASS),
        ({"duration_s": 1.7}, "duration", Outcome.FAIL),  # 0.7 s for eight words
        ({"duration_s": 2.2}, "duration", Outcome.WARN),
        ({"duration_s": 11.0}, "duration", Outcome.WARN),
        ({"duration_s": 22.0}, "duration", Outcome.FAIL),
        ({"clipped_share": 0.0005}, "clipping", Outcome.WARN),
        ({"clipped_share": 0.01}, "clipping", Outcome.FAIL),
        ({"loudness_lufs": -40.0}, "loudness", Outcome.WARN),
        ({"loudness_lufs": -120.0}, "loudness", Outcome.FAIL),
        ({"loudness_lufs": -3.0}, "loudness", Outcome.FAIL),
        ({"snr_db": 15.0}, "snr", Outcome.WARN),
        ({"snr_db": 5.0}, "snr", Outcome.FAIL),
        ({"snr_db": None}, "snr", Outcome.NOT_DONE),
        ({"leading_s": 0.0}, "leading_silence", Outcome.WARN),
        ({"leading_s": 6.0, "duration_s": 9.5}, "leading_silence", Outcome.FAIL),
        ({"trailing_s": 2.0, "duration_s": 5.5}, "trailing_silence", Outcome.WARN),
    ],
)
def test_each_check_says_what_is_wrong_and_what_to_do(change, name, outcome):
    script = Script(name="a", text=EIGHT_WORDS, language="en", created_by="x")
    found = named(instant_findings(replace(GOOD, **change), script, LIMITS))
    assert found[name].outcome is outcome
    assert {one.outcome for one in found.values() if one.name != name} == {Outcome.PASS}
    assert found[name].en
    assert found[name].zh
    assert (found[name].en == "nothing to do") == (outcome is Outcome.PASS)
    assert (found[name].text("zh-CN"), found[name].text("fr")) == (found[name].zh, found[name].en)


def test_chinese_is_counted_in_characters():
    script = Script(name="a", text="你好，今天天气很好！", language="zh", created_by="x")
    found = named(instant_findings(GOOD, script, LIMITS))["duration"]
    assert found.measure == pytest.approx(3.0 / 8)
    assert found.evidence == "3.0 s of speech for 8 characters"


@given(st.floats(-1e6, 1e6), st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4).map(sorted))
def test_a_band_warns_before_it_fails(value, bounds):
    outcome, limit, _ = Band(*bounds).judge(value)
    fails = value < bounds[0] or value > bounds[3]
    warns = value < bounds[1] or value > bounds[2]
    assert outcome is (Outcome.FAIL if fails else Outcome.WARN if warns else Outcome.PASS)
    assert limit


# Words.


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("Don't stop!", "dont  STOP", "en"),
        ("It\u2019s ＡＢＣ", "its abc", "en"),
        ("twenty-three cats", "23 cats", "en-GB"),
        ("我有二十三只猫。", "我有 23 只猫", "zh"),
        ("二〇二六年，开始", "2026年开始", "zh-CN"),
        ("ＡＢＣ 三个", "abc3个", "zh"),
    ],
)
def test_what_sounds_the_same_is_written_the_same(one, other, language):
    assert normalised(one, language) == normalised(other, language)


@given(st.text(), st.sampled_from(["en", "zh", "de"]))
def test_normalising_leaves_no_case_punctuation_or_double_spaces(text, language):
    found = normalised(text, language)
    assert found == " ".join(found.split())
    assert "zh" not in language or " " not in found
    assert not set(found) & set(",.!?;:，。！？“”")


def test_words_are_counted_as_they_are_spoken():
    assert length_of("— Well, twenty-three of them!", "en") == 4
    assert length_of("你好，ABC。", "zh") == 5


# Models.


def ears(words=EIGHT_WORDS, speakers=1, lighter=False):
    return Ears(
        Transcribes("asr@1", lambda samples, language: words), Counts("count@1", lambda samples: speakers, lighter)
    )


@dataclass(frozen=True)
class Made:
    """An entry of a registry whose target takes a model's name."""

    target: type

    def load(self):
        return lambda model: self.target()


def listened(asked, **script):
    script = Script(**{"name": "a", "text": EIGHT_WORDS, "language": "en", "created_by": "x"} | script)
    return named(listening_findings(np.zeros(16_000, np.float32), script, asked, LIMITS))


@pytest.mark.parametrize(
    ("heard", "wanted", "lighter", "outcome"),
    [
        (1, 1, False, Outcome.PASS),
        (2, 1, False, Outcome.FAIL),
        (1, 2, False, Outcome.FAIL),
        (2, 1, True, Outcome.WARN),
        (2, 2, True, Outcome.PASS),
    ],
)
def test_as_many_speak_as_the_script_wants(heard, wanted, lighter, outcome):
    assert listened(ears(speakers=heard, lighter=lighter), speakers=wanted)["speakers"].outcome is outcome


def test_models_that_are_not_there_make_checks_that_are_not_done():
    def missing(*_):
        raise MissingExtra("Transcription", "speech")

    for asked in (Ears(), Ears(Transcribes("asr@1", missing), Counts("count@1", missing))):
        found = listened(asked)
        assert {one.outcome for one in found.values()} == {Outcome.NOT_DONE}
        assert all(one.measure is None and one.en and one.zh for one in found.values())
    assert "speech" in found["transcript"].en


def test_without_the_extra_the_project_has_no_ears(monkeypatch):
    def missing(self):
        raise MissingExtra("Transcription", "speech")

    monkeypatch.setattr("curation.speech.transcribe.FasterWhisper.fingerprint", property(missing))
    found = project_ears(Settings())
    assert (found.transcribes, found.counts) == (None, None)
    assert "interplay[speech]" in found.why[0]
    assert "interplay[speech]" in found.why[1]


def test_a_language_that_the_model_does_not_know_is_not_checked(monkeypatch):
    class EnglishOnly:
        fingerprint = "english-only@1"

        def languages(self):
            return frozenset({"en"})

        def transcribe(self, samples, speech):
            return [Word(" " + EIGHT_WORDS, 0.0, 1.0, language="en")]

    monkeypatch.setattr("curation.recordings.models.transcribers", lambda: {"faster-whisper": Made(EnglishOnly)})
    monkeypatch.setattr("curation.recordings.models.find_speech", lambda samples: [Span(0.0, 1.0)])
    asked = replace(project_ears(Settings()), counts=None)
    found = listened(asked, text="今天天气很好。", language="zh-CN")["transcript"]
    assert (found.outcome, found.measure, found.unit) == (Outcome.NOT_DONE, None, "CER")
    assert "english-only@1 does not know the script's language 'zh-CN'" in found.en
    assert found.zh.startswith("无法完成该检查")
    heard = asked.transcribes.transcribe(np.zeros(16_000, np.float32), "en-GB")
    assert heard == EIGHT_WORDS


# Takes.


def test_a_take_is_sealed_and_measured_and_the_same_bytes_are_the_same_take(studio):
    data = take(studio.media, 1)
    recording = studio.add(data)
    assert studio.workspace.originals.get(recording.sha256) == data
    assert not studio.workspace.blobs.exists(recording.sha256), "nothing is served before somebody accepts it"
    found = named(findings_of(recording.checks))
    assert recording.checks["limits"] == LIMITS.version
    assert found["loudness"].outcome is Outcome.PASS
    assert found["transcript"].outcome is Outcome.NOT_DONE
    assert (recording.dialect, recording.device, recording.script) == ("Sichuan", "headset", EIGHT_WORDS)
    assert studio.add(data).id == recording.id
    with studio.workspace.database.reading() as session:
        assert [one.recording.id for one in list_takes(session)] == [recording.id]
        assert get_take(session, recording.sha256[:10]).script.name == "ferry"
        with pytest.raises(UnknownName):
            get_take(session, "")
        assert [one.action for one in events.history(session, "recording", recording.id)] == ["record"]


def test_bytes_of_a_take_whose_server_is_killed_are_listed_until_it_is_sent_again(studio, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    def unnamed(age):
        before = datetime.now(UTC) - age
        return unnamed_blobs(studio.workspace.database, studio.workspace.blobs, studio.workspace.originals, before)

    data = take(studio.media, 1)
    with monkeypatch.context() as patched:
        patched.setattr("curation.recordings.takes._store", killed)
        with pytest.raises(KeyboardInterrupt):
            studio.add(data)
    (left,) = unnamed(timedelta(0))
    assert (left.store, left.sha256) == ("originals", hashlib.sha256(data).hexdigest())
    assert (left.size_bytes, left.noted) == (len(data), f"consent {studio.consent.id}")
    assert unnamed(timedelta(hours=1)) == [], "a write may be under way"
    studio.accept(studio.add(data))
    assert unnamed(timedelta(0)) == []


@pytest.mark.parametrize(
    "kind", [("webm", "libopus", "audio/webm"), ("ipod", "aac", "audio/mp4"), ("ogg", "libopus", "audio/ogg")]
)
def test_whatever_a_recorder_gives_becomes_a_material(studio, kind):
    container, codec, media_type = kind
    sound = np.concatenate([np.zeros(8000, np.float32), studio.media.voice(3, 2.0), np.zeros(8000, np.float32)])
    sound += np.random.default_rng(0).normal(0, 0.0005, len(sound)).astype(np.float32)
    recording = studio.add(studio.media.coded_sound(sound, 16_000, container, codec, 64_000))
    done = studio.accept(recording, "whatever the checks say")
    assert done.material.media_ref.media_type == media_type
    assert done.material.media_ref.duration_s == pytest.approx(3.0, abs=0.1)


def test_what_is_no_sound_is_not_taken(studio):
    for data in (b"no sound at all", studio.media.coded(studio.media.photo(1)), studio.media.wav(np.zeros(0))):
        with pytest.raises(MediaError):
            studio.add(data)
        assert not studio.workspace.originals.exists(hashlib.sha256(data).hexdigest())
    with studio.workspace.database.reading() as session:
        assert list_takes(session) == []


def test_a_take_needs_a_consent_that_covers_the_voice_and_stands(studio):
    for lacking in (
        studio.agree([Scope.PUBLISH]),
        studio.agree(expires_at=studio.clock() + timedelta(seconds=1)),
    ):
        studio.clock.advance(seconds=1)
        with pytest.raises(ConsentLacking):
            studio.add(consent=lacking)
    with studio.workspace.database.session() as session:
        session.get(Consent, studio.consent.id).withdrawn_at = studio.clock()
    with pytest.raises(ConsentLacking, match="was withdrawn"):
        studio.add()


def test_a_take_is_of_an_open_script_by_whose_consent_it_is(studio):
    with studio.workspace.database.session() as session:
        add_contributor(session, NewContributor("speaker-08"), "ana", studio.clock)
        add_scripts(session, [script_of("other", "Something else")], "ana", studio.clock)
    recording = studio.add()
    with pytest.raises(WrongConsent, match="is not speaker-08's"):
        studio.add(contributor="speaker-08")
    with pytest.raises(TakeKnown, match=recording.id):
        studio.add(script="other")
    with studio.workspace.database.session() as session:
        close_script(session, "other", "ana", studio.clock)
    with pytest.raises(ScriptClosed):
        studio.add(take(studio.media, 2), script="other")


def test_models_are_asked_later_and_what_they_say_is_kept(studio):
    recording = studio.add()
    asked = []
    listening = Ears(
        None, Counts("count@1", lambda samples: asked.append((samples.dtype, len(samples))) or 2), ("off", "关")
    )
    found = named(check_take(studio.workspace, recording.id, listening, guard=studio.guard))
    assert asked == [(np.float32, round(3.3 * 16_000))]
    assert found["speakers"].outcome is Outcome.FAIL
    assert (found["transcript"].outcome, found["transcript"].zh) == (Outcome.NOT_DONE, "关")
    held = studio.reload(recording)
    assert held.checks["made_by"] == {"speakers": "count@1"}
    assert findings_of(held.checks) == list(found.values())


# Deciding.


def test_an_accepted_take_is_a_material_with_its_words_papers_and_dialect(studio):
    recording = studio.add()
    done = studio.accept(recording)
    with studio.workspace.database.reading() as session:
        material = session.get(Material, done.material.id)
        assert (material.sha256, material.state) == (recording.sha256, MaterialState.KEPT)
        assert (material.audio_type, material.audio_content, material.audio_content_by) == (
            "speech",
            EIGHT_WORDS,
            "human",
        )
        (source,) = session.exec(select(MaterialSource).where(MaterialSource.material_id == material.id))
        assert (source.origin, source.consent_id) == (f"recording:{recording.id}", studio.consent.id)
        assert (source.licence, source.author) == ("CC-BY-4.0", "speaker-07")
        assert texts_of(tags_of(session, [material.id])[material.id]) == ["dialect:Sichuan"]
        (segment,) = session.exec(select(Segment).where(Segment.material_id == material.id))
        assert (segment.text, segment.language, segment.made_by) == (EIGHT_WORDS, "en", "rita")
        assert 0 < segment.start_s < segment.end_s < 3.3
        held = session.get(Recording, recording.id)
        assert (held.accepted, held.decided_by, held.material_id) == (True, "rita", material.id)
        assert list_scripts(session)[0].accepted == 1
    assert studio.workspace.blobs.exists(material.media_ref.sha256)


def test_a_take_that_failed_needs_a_reason_and_the_reason_is_kept(studio):
    recording = studio.add(take(studio.media, 1, gain=20))
    with pytest.raises(ChecksFailed, match="clipping"):
        studio.accept(recording, None)
    with pytest.raises(ChecksFailed):
        studio.accept(recording, "   ")
    assert studio.reload(recording).accepted is None
    done = studio.accept(recording, "it is meant to be a shout")
    assert "clipping" in done.overruled
    assert done.material.state == MaterialState.KEPT
    with studio.workspace.database.reading() as session:
        *_, told = events.history(session, "recording", recording.id)
    assert (told.action, told.actor) == ("accept", "rita")
    assert (told.detail["why"], "clipping" in told.detail["overruled"]) == ("it is meant to be a shout", True)


def test_nobody_decides_twice_and_each_is_told_what_is_possible(studio):
    accepted, refused = studio.add(take(studio.media, 1)), studio.add(take(studio.media, 2))
    studio.accept(accepted)
    with studio.workspace.database.session() as session:
        with pytest.raises(RefusalReasonMissing):
            refuse_take(session, refused.id, "rita", " ", studio.clock)
        refuse_take(session, refused.id, "rita", "a word is missing", studio.clock)
    for recording, possible in ((accepted, "material overrule"), (refused, "record another take")):
        with pytest.raises(ImpossibleDecision, match=possible):
            studio.accept(recording)
        with studio.workspace.database.session() as session, pytest.raises(ImpossibleDecision, match=possible):
            refuse_take(session, recording.id, "mei", "no", studio.clock)
    assert studio.reload(refused).decided_why == "a word is missing"
    with studio.workspace.database.reading() as session:
        assert len(session.exec(select(Material)).all()) == 1


def test_a_consent_that_ended_since_stops_acceptance(studio):
    consent = studio.agree(expires_at=studio.clock() + timedelta(days=1))
    recording = studio.add(consent=consent)
    studio.clock.advance(days=1)
    with pytest.raises(ConsentLacking, match="ended on 2026-01-02"):
        studio.accept(recording)


def test_a_withdrawal_while_a_take_is_decoded_leaves_no_bytes(studio, monkeypatch):
    """Between the look at the consent and the rows, somebody takes it back."""
    recording = studio.add(studio.media.coded_sound(studio.media.voice(1, 3.0), 16_000, "ogg", "libopus", 64_000))

    def withdraw_first(*arguments, **settings):
        with studio.workspace.database.session() as session:
            session.get(Consent, studio.consent.id).withdrawn_at = studio.clock()
        return run(*arguments, **settings)

    run = studio.guard.run
    monkeypatch.setattr(studio.guard, "run", withdraw_first)
    with pytest.raises(ConsentLacking):
        studio.accept(recording, "all the same")
    held = [path for path in studio.workspace.project.root.glob("blobs/??/*") if path.is_file()]
    assert held == []
    other = take(studio.media, 9)
    monkeypatch.undo()
    with studio.workspace.database.session() as session:
        session.get(Consent, studio.consent.id).withdrawn_at = None
    monkeypatch.setattr(studio.guard, "run", withdraw_first)
    with pytest.raises(ConsentLacking):
        studio.add(other)
    assert not studio.workspace.originals.exists(hashlib.sha256(other).hexdigest())


def test_bytes_that_are_in_the_library_get_the_takes_papers_too(studio):
    data = take(studio.media, 1)
    recording = studio.add(data)
    first = studio.accept(recording).material
    with studio.workspace.database.session() as session:
        # As if the file had come by ingest before.
        for source in session.exec(select(MaterialSource)):
            source.origin, source.consent_id, source.licence = "found.wav", None, "MIT"
        held = session.get(Recording, recording.id)
        held.accepted, held.material_id = None, None
    again = studio.accept(recording).material
    assert again.id == first.id
    with studio.workspace.database.reading() as session:
        sources = session.exec(select(MaterialSource).order_by(MaterialSource.id)).all()
        assert [one.licence for one in sources] == ["MIT", "CC-BY-4.0"]
        assert len(session.exec(select(Run).where(Run.command == "recording accept")).all()) == 2


# The command line.


@pytest.fixture
def run(project, signed_on):
    """Run `interplay NOUN VERB ...` and read its JSON; a mistake comes out as its exception."""
    from importlib import import_module

    signed_on(project, "mei", "rita")

    def call(noun, *arguments, code=0):
        module, _, attribute = NOUNS[noun][0].partition(":")
        texts = [*map(str, arguments), "--json", "--project", str(project)]
        result = CliRunner().invoke(getattr(import_module(module), attribute), texts)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    return call


@pytest.mark.parametrize(
    "words",
    [
        "script import scripts.csv", "script close a", "contributor add", "recording add scripts.csv --script a "
        "--contributor b --consent c", "recording accept a", "recording refuse a --reason b",
        "consent text 1.0 --en scripts.csv --zh scripts.csv", "consent give a --text 1.0 --scope voice",
        "consent withdraw a --reason b",
    ],
)  # fmt: skip
def test_who_acts_is_a_user_of_the_project(run, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scripts.csv").write_text("name,text,language\na,Hello,en\n")
    with pytest.raises(UnknownUser, match=r"unknown user 'max'.*interplay user add"):
        run(*words.split(), "--by", "max")


def test_from_a_script_to_a_material_by_commands(run, guard, media, tmp_path, monkeypatch):
    (tmp_path / "scripts.csv").write_text(f"name,text,language\nferry,{EIGHT_WORDS},en\n")
    (tmp_path / "en.txt").write_text("I agree.")
    (tmp_path / "zh.txt").write_text("我同意。")
    (tmp_path / "take.wav").write_bytes(take(media, 1))
    (tmp_path / "loud.wav").write_bytes(take(media, 2, gain=20))
    monkeypatch.setattr("curation.recordings.recording_cli.project_ears", lambda settings: Ears())

    assert run("script", "import", tmp_path / "scripts.csv", "--dry-run")["added"] == ["ferry"]
    assert run("script", "list") == []
    run("script", "import", tmp_path / "scripts.csv")
    texts = ("--en", tmp_path / "en.txt", "--zh", tmp_path / "zh.txt", "--licence", "CC-BY-4.0")
    run("consent", "text", "1.0", *texts)
    assert run("consent", "text", "1.0")["texts"] == {"en": "I agree.", "zh": "我同意。"}
    assert [one["version"] for one in run("consent", "text")] == ["1.0"]
    run("contributor", "add", "speaker-07", "--age-band", "65+", "--gender", "female")
    made_up_name = run("contributor", "add")["pseudonym"]
    assert [one["pseudonym"] for one in run("contributor", "list")] == ["speaker-07", made_up_name]
    consent = run("consent", "give", "speaker-07", "--text", "1.0", "--scope", "voice", "--scope", "publish")["id"]

    about = ("--script", "ferry", "--contributor", "speaker-07", "--consent", consent)
    added = run("recording", "add", tmp_path / "take.wav", *about)
    assert added["new"]
    # Once with workers of its own, which take seconds to start; from here on with the module's.
    monkeypatch.setattr("curation.recordings.takes.Guard", lambda workers, limits: nullcontext(guard))
    assert not run("recording", "add", tmp_path / "take.wav", *about)["new"]
    loud = run("recording", "add", tmp_path / "loud.wav", *about)
    assert {one["outcome"] for one in run("recording", "check", added["id"])} == {"pass", "not_done"}
    assert "fail" in {one["outcome"] for one in run("recording", "check", loud["id"], code=1)}
    with pytest.raises(ChecksFailed, match=r"was not checked for speakers, transcript; .*recording check.*--reason"):
        run("recording", "accept", added["id"], "--by", "rita")
    done = run("recording", "accept", added["id"], "--by", "rita", "--reason", "I listened to it.")
    assert (done["overruled"], done["unchecked"]) == ([], ["speakers", "transcript"])
    assert run("recording", "refuse", loud["id"], "--reason", "too loud")["accepted"] is False
    assert [one["id"] for one in run("recording", "list", "--state", "accepted")] == [added["id"]]
    assert [one["id"] for one in run("recording", "list", "--state", "refused", "--script", "ferry")] == [loud["id"]]
    shown = run("recording", "show", added["id"])
    assert (shown["state"], shown["material_id"]) == ("accepted", done["material_id"])
    (script,) = run("script", "list")
    assert (script["accepted"], script["refused"], script["undecided"]) == (1, 1, 0)
    assert run("script", "close", "ferry")["open"] is False
