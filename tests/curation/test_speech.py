import json
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from core.errors import InterplayError, MissingExtra, UnknownName
from core.media.limits import DEFAULT_LIMITS
from curation.cli import app
from curation.models import UnusableModel, identity
from curation.passes import Which, shortened
from curation.speech.attribute import main_language, who_said_what
from curation.speech.audio_tagger import by_class
from curation.speech.catalogue import diarizers, sound_classifiers, transcribers
from curation.speech.cli import NothingToHear
from curation.speech.features import RATE_HZ, cepstra
from curation.speech.heard import SoundClass, Span, Turn, Word
from curation.speech.light_diarize import LightDiarizer
from curation.speech.pipeline import ClassifySound, TranscribeSound, run_speech_pass
from curation.speech.sound_class import LightSoundClassifier
from curation.speech.subtitles import subtitles
from curation.speech.transcripts import (
    BadSegments,
    EditedSegment,
    StaleTranscript,
    edit_segments,
    edition,
    made_by,
    segments_of,
    transcript_text,
)
from curation.speech.vad import WINDOW_S, windows, within
from warehouse import events
from warehouse.caption_texts import accepted_texts
from warehouse.captions import accept_all, accept_caption, reject_caption
from warehouse.people import NotAllowed, Role, add_user
from warehouse.tables import Caption, Material, MaterialWork, Segment

# ---- who said what -------------------------------------------------------------------------------------------------


def words(text: str, start_s: float = 0.0, each_s: float = 0.5, language: str = "en") -> list[Word]:
    return [
        Word(f" {one}", start_s + each_s * place, start_s + each_s * (place + 1), 0.9, language)
        for place, one in enumerate(text.split())
    ]


def said(segments) -> list[tuple[str | None, str]]:
    return [(one.speaker, one.text) for one in segments]


def test_a_word_goes_to_the_turn_that_it_shares_most_time_with():
    # "there" lies 0.2 s in the first turn and 0.3 s in the second.
    found = who_said_what(words("hello you there friend"), [Turn(0.0, 1.2, "b"), Turn(1.2, 2.0, "a")])
    assert said(found) == [("SPEAKER_00", "hello you"), ("SPEAKER_01", "there friend")]
    assert (found[0].span, found[1].span) == (Span(0.0, 1.0), Span(1.0, 2.0))


def test_a_word_between_turns_goes_to_the_nearest_and_a_far_one_to_nobody():
    turns = [Turn(0.0, 1.0, "a"), Turn(3.0, 4.0, "b")]
    heard = [Word(" near", 2.6, 2.8), Word(" far", 6.5, 7.0)]
    assert said(who_said_what(heard, turns)) == [("SPEAKER_00", "near"), (None, "far")]


def test_a_word_without_length_goes_to_the_turn_around_it():
    turns = [Turn(0.0, 5.0, "a"), Turn(5.5, 9.0, "b")]
    assert said(who_said_what([Word(" hm", 7.0, 7.0)], turns)) == [("SPEAKER_00", "hm")]
    assert who_said_what([Word(" hm", 7.0, 7.0), Word(" so", 1.0, 1.2)], turns)[0].text == "so"


def test_without_turns_words_have_no_speaker():
    assert said(who_said_what(words("who is it"), [])) == [(None, "who is it")]


def test_a_long_pause_ends_a_segment_and_a_long_segment_ends_with_its_sentence():
    turns = [Turn(0.0, 100.0, "a")]
    assert len(who_said_what(words("one") + words("two", 1.51), turns)) == 2
    assert len(who_said_what(words("one") + words("two", 1.49), turns)) == 1
    long = words("one two three four. five six", each_s=4.0)
    assert said(who_said_what(long, turns)) == [("SPEAKER_00", "one two three four."), ("SPEAKER_00", "five six")]


def test_chinese_words_are_written_without_spaces():
    heard = [Word("你", 0.0, 0.2, language="zh"), Word("好", 0.2, 0.4, language="zh")]
    (segment,) = who_said_what(heard, [Turn(0.0, 1.0, "a")])
    assert (segment.text, segment.language) == ("你好", "zh")


def test_the_main_language_is_that_of_most_words():
    assert main_language(words("a b", language="zh") + words("c", language="en")) == "zh"
    assert main_language(words("a", language="zh") + words("c", language="en")) == "en"
    assert main_language([]) is None


@given(
    st.lists(st.tuples(st.floats(0, 60), st.floats(0, 3)), max_size=30),
    st.lists(st.tuples(st.floats(0, 60), st.floats(0.01, 9), st.sampled_from("abc")), max_size=8),
)
def test_no_word_is_lost_or_doubled_and_speakers_are_named_in_the_order_they_are_heard(spoken, spans):
    heard = [Word(f" w{place}", start, start + length) for place, (start, length) in enumerate(spoken)]
    found = who_said_what(heard, [Turn(start, start + length, who) for start, length, who in spans])
    assert Counter(word for one in found for word in one.words) == Counter(heard)
    names = list(dict.fromkeys(one.speaker for one in found if one.speaker))
    assert names == [f"SPEAKER_{place:02d}" for place in range(len(names))]


# ---- windows, features, the ways without a model -------------------------------------------------------------------


def test_long_sound_is_cut_where_it_is_quiet_and_nothing_is_lost():
    generator = np.random.default_rng(0)
    samples = generator.standard_normal(round(1300 * RATE_HZ)).astype(np.float32)
    samples[590 * RATE_HZ : 591 * RATE_HZ] = 0.0
    cuts = list(windows(samples))
    assert 590.0 <= cuts[0].stop / RATE_HZ <= 591.0
    assert [cut.start for cut in cuts] == [0, *(cut.stop for cut in cuts[:-1])]
    assert cuts[-1].stop == len(samples)
    assert all(cut.stop - cut.start <= WINDOW_S * RATE_HZ for cut in cuts)


def test_spans_are_cut_to_their_window():
    spans = [Span(1.0, 4.0), Span(9.0, 12.0), Span(20.0, 21.0)]
    assert within(spans, slice(2 * RATE_HZ, 10 * RATE_HZ)) == [Span(0.0, 2.0), Span(7.0, 8.0)]


def test_cepstra_do_not_depend_on_loudness():
    samples = np.random.default_rng(1).standard_normal(RATE_HZ).astype(np.float32)
    assert cepstra(samples).shape == (98, 19)
    np.testing.assert_allclose(cepstra(samples), cepstra(0.25 * samples), atol=1e-3)
    assert cepstra(samples[:100]).shape == (0, 19)


def voice(seed: int, formants_hz: tuple[int, ...], seconds: float) -> np.ndarray:
    """Noise through resonances that wobble: as different vowels of one throat."""
    from scipy.signal import lfilter

    generator = np.random.default_rng(seed)
    parts = []
    for _ in range(round(seconds / 0.1)):
        sound = generator.standard_normal(RATE_HZ // 10)
        for formant in formants_hz:
            angle = 2 * np.pi * formant * generator.uniform(0.9, 1.1) / RATE_HZ
            sound = lfilter([1.0], [1.0, -2 * 0.96 * np.cos(angle), 0.96**2], sound)
        parts.append(sound / np.abs(sound).max())
    return (0.3 * np.concatenate(parts)).astype(np.float32)


LOW, HIGH = (300, 900, 2200), (600, 1700, 3300)


def test_the_light_diarizer_tells_two_unlike_voices_apart():
    samples = np.concatenate([voice(1, LOW, 8), voice(2, HIGH, 8), voice(3, LOW, 8)])
    turns = LightDiarizer().diarize(samples, [Span(0.0, 24.0)])
    first, second, third = turns
    assert first.speaker == third.speaker != second.speaker
    assert [round(turn.start_s) for turn in turns] == [0, 8, 16]
    assert turns == LightDiarizer().diarize(samples, [Span(0.0, 24.0)])


def test_the_light_diarizer_hears_one_voice_as_one_and_keeps_to_speech():
    samples = np.concatenate([voice(1, LOW, 10), np.zeros(5 * RATE_HZ, np.float32), voice(2, LOW, 10)])
    turns = LightDiarizer().diarize(samples, [Span(0.0, 10.0), Span(15.0, 25.0)])
    assert len({turn.speaker for turn in turns}) == 1
    assert [(round(turn.start_s), round(turn.end_s)) for turn in turns] == [(0, 10), (15, 25)]


def test_the_light_diarizer_gives_speech_too_short_to_tell_to_one_speaker():
    samples = voice(1, LOW, 0.2)
    assert [turn.speaker for turn in LightDiarizer().diarize(samples, [Span(0.0, 0.2)])] == ["0"]


def notes(*semitones: float, seconds: float = 0.5) -> np.ndarray:
    """Notes one after the other, in semitones from 440 Hz, with three harmonics."""
    time_s = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tones = [sum(np.sin(2 * np.pi * k * 440 * 2 ** (note / 12) * time_s) / k for k in (1, 2, 3)) for note in semitones]
    return 0.2 * np.concatenate(tones).astype(np.float32)


def glide(seconds: float = 6.0) -> np.ndarray:
    """A siren."""
    time_s = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    frequency_hz = 700 + 300 * np.sin(2 * np.pi * 0.3 * time_s)
    return (0.3 * np.sin(2 * np.pi * np.cumsum(frequency_hz) / RATE_HZ)).astype(np.float32)


@pytest.mark.parametrize(
    ("samples", "speech", "expected"),
    [
        (notes(0, 4, 7, 12, 7, 4, 0, 5), (), "music"),
        # All of it a third of a semitone too high: the scale counts, not the tuning fork.
        (notes(0.33, 4.33, 7.33, 12.33, 7.33, 4.33), (), "music"),
        (notes(0, seconds=4.0), (), "environment"),
        (notes(0, 4, seconds=0.4), (), "environment"),
        (glide(), (), "environment"),
        (np.random.default_rng(2).standard_normal(5 * RATE_HZ).astype(np.float32) * 0.1, (), "environment"),
        (glide(), (Span(0.0, 4.0),), "speech"),
        (np.zeros(4 * RATE_HZ, np.float32), (), "environment"),
        (np.zeros(100, np.float32), (), "environment"),
    ],
    ids=["tune", "tune out of tune", "dial tone", "chime", "siren", "noise", "spoken", "silence", "nothing"],
)
def test_sounds_are_told_apart_without_a_model(samples, speech, expected):
    found = LightSoundClassifier().classify(samples, speech)
    assert found.name == expected
    assert set(found.scores) == {"speech", "music", "environment"}
    assert all(0 <= score <= 1 for score in found.scores.values())


def test_a_tune_of_more_than_a_minute_is_heard_to_its_end():
    quiet_start = np.concatenate([np.zeros(90 * RATE_HZ, np.float32), notes(0, 4, 7, 12, 7, 4, 0, 5)])
    assert LightSoundClassifier().classify(quiet_start, ()).name == "music"


def test_labels_of_audioset_become_three_classes():
    scores = {"Speech": 0.2, "Male speech, man speaking": 0.6, "Violin, fiddle": 0.5, "Dog": 0.1, "Bark": 0.7}
    assert by_class(scores) == {"speech": 0.6, "music": 0.5, "environment": 0.7}
    assert by_class({"PIANO": 0.9, "Marimba, xylophone": 0.1, "Church bell": 0.3})["music"] == 0.9


def test_every_entry_of_the_registries_is_there():
    assert [entry.name for entry in transcribers()] == ["faster-whisper"]
    assert [entry.name for entry in diarizers()] == ["light", "pyannote"]
    assert [entry.name for entry in sound_classifiers()] == ["light", "transformers"]
    for registry in (diarizers(), sound_classifiers()):
        for entry in registry:
            assert callable(entry.load())
    with pytest.raises(InterplayError, match="diarization_model"):
        diarizers()["pyannote"].load()(None)
    with pytest.raises(InterplayError, match="--model"):
        sound_classifiers()["transformers"].load()(None)
    with pytest.raises(UnknownName, match="did you mean 'pyannote'"):
        diarizers()["pyanote"]


def test_a_folder_is_named_by_what_is_in_it(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "model.bin").write_bytes(b"1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "model.bin").write_bytes(b"2")
    first, second = identity(str(tmp_path / "tiny")), identity(str(tmp_path / "other"))
    assert first.startswith("tiny:")
    assert first.partition(":")[2] != second.partition(":")[2]
    assert identity("small") == "small"
    assert identity(str(tmp_path / "tiny" / "model.bin")) == first


@given(st.text(max_size=300), st.integers(10, 128))
def test_a_shortened_fingerprint_fits(text, most):
    assert len(shortened(text, most)) <= most
    assert shortened(text, most) == text or len(text) > most


def test_a_fingerprint_that_is_cut_still_tells_its_end():
    assert made_by("a" * 200 + "b") != made_by("a" * 200 + "c")
    assert len(made_by("a" * 200)) == 128


# ---- the pass over the library -------------------------------------------------------------------------------------


@dataclass
class Scribe:
    """A transcriber that hears the same words in all speech."""

    text: str = "hello there"
    version: str = "1"
    language: str = "en"
    heard: list[int] = field(default_factory=list)
    loads: int = 0
    fails: bool = False

    @property
    def fingerprint(self):
        return f"scribe@{self.version}"

    def load(self):
        self.loads += 1

    def transcribe(self, samples, speech):
        self.heard.append(len(samples))
        if self.fails:
            raise UnusableModel("this one is too hard")
        return [word for span in speech for word in words(self.text, span.start_s, 0.2, self.language)]


@dataclass
class OneAfterAnother:
    """A diarizer for which every second stretch of speech is another's."""

    lighter: bool = False

    @property
    def fingerprint(self):
        return "one-after-another@1"

    def load(self):
        pass

    def diarize(self, samples, speech):
        return [Turn(span.start_s, span.end_s, "ab"[place % 2]) for place, span in enumerate(speech)]


def find_loud(samples):
    """Where it is loud; the speech of these tests."""
    loud = np.abs(samples[: len(samples) // 1600 * 1600].reshape(-1, 1600)).max(axis=1) > 0.05
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int))) * 0.1
    return [Span(float(start), float(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def work(scribe=None, diarizer=None) -> TranscribeSound:
    return TranscribeSound(scribe or Scribe(), diarizer or OneAfterAnother(), DEFAULT_LIMITS, find_loud)


@pytest.fixture
def workspace(project):
    from warehouse.workspace import open_workspace

    with open_workspace(project) as opened:
        yield opened


@pytest.fixture
def library(workspace, new_library):
    return new_library(workspace)


@pytest.fixture
def dialogue(media) -> bytes:
    sound = np.zeros(4 * RATE_HZ, np.float32)
    sound[RATE_HZ : 2 * RATE_HZ] = glide(1.0)
    sound[3 * RATE_HZ :] = glide(1.0)
    return media.wav(sound)


@pytest.fixture
def silence(media) -> bytes:
    return media.wav(np.zeros(3 * RATE_HZ, np.float32))


def held(workspace, material):
    with workspace.database.reading() as session:
        return segments_of(session, material.id), session.get(Material, material.id)


def users(workspace):
    with workspace.database.session() as session:
        return [
            add_user(session, name, frozenset({role}), actor="setup")
            for name, role in (("mei", Role.ANNOTATOR), ("rita", Role.REVIEWER), ("pat", Role.PARTICIPANT))
        ]


def test_a_transcript_tells_who_said_what_and_becomes_a_proposed_caption(workspace, library, dialogue, clock):
    sound = library.add(dialogue)
    report = run_speech_pass(workspace, work(), Which(), clock=clock)
    assert report.counts == {"done": 1, "known": 0, "failed": 0}
    rows, material = held(workspace, sound)
    assert [(one.speaker, one.text, one.language) for one in rows] == [
        ("SPEAKER_00", "hello there", "en"),
        ("SPEAKER_01", "hello there", "en"),
    ]
    assert rows[0].words[1] == {"text": "there", "start_s": 1.2, "end_s": 1.4, "probability": 0.9}
    assert {one.run_id for one in rows} == {report.run_id}
    assert rows[0].made_by == "speech@1:scribe@1+one-after-another@1+silero-vad@6"
    assert material.audio_content == "SPEAKER_00: hello there\nSPEAKER_01: hello there"
    assert material.audio_content_by == rows[0].made_by
    assert material.version == 2
    with workspace.database.reading() as session:
        (caption,) = session.exec(select(Caption)).all()
        assert (caption.text, caption.language, caption.state.value) == (material.audio_content, "en", "proposed")
        assert (caption.by_person, caption.author) == (False, rows[0].made_by)
        (mark,) = session.exec(select(MaterialWork)).all()
        assert mark.result == {
            "stored": True,
            "duration_s": 4.0,
            "speech_s": 2.0,
            "language": "en",
            "segments": 2,
            "speakers": 2,
            "lighter": False,
        }
        assert [event.action for event in events.history(session, "material", sound.id)] == ["describe"]


def test_where_nobody_speaks_no_model_is_asked_and_nothing_is_written(workspace, library, silence):
    sound, scribe = library.add(silence), Scribe()
    assert run_speech_pass(workspace, work(scribe), Which()).done == 1
    rows, material = held(workspace, sound)
    assert (rows, material.audio_content, scribe.heard) == ([], None, [])
    with workspace.database.reading() as session:
        (mark,) = session.exec(select(MaterialWork)).all()
        assert (mark.failure, mark.result["speech_s"], mark.result["segments"]) == (None, 0, 0)
        assert session.exec(select(Caption)).all() == []


def test_what_was_done_is_not_done_again_and_models_are_not_loaded_for_nothing(workspace, library, dialogue):
    library.add(dialogue)
    scribe = Scribe()
    assert run_speech_pass(workspace, work(scribe), Which(), dry_run=True).done == 1
    assert (scribe.loads, scribe.heard) == (0, [])
    run_speech_pass(workspace, work(scribe), Which())
    report = run_speech_pass(workspace, work(scribe), Which())
    assert (report.done, report.known, report.run_id, scribe.loads) == (0, 1, None, 1)
    assert run_speech_pass(workspace, work(scribe), Which(again=True)).done == 1


def test_a_newer_pipeline_replaces_what_an_older_one_wrote(workspace, library, dialogue):
    sound = library.add(dialogue)
    run_speech_pass(workspace, work(Scribe("old words")), Which())
    run_speech_pass(workspace, work(Scribe("new words", version="2")), Which())
    rows, material = held(workspace, sound)
    assert [one.text for one in rows] == ["new words", "new words"]
    assert "old" not in material.audio_content
    with workspace.database.reading() as session:
        first, second = session.exec(select(Caption).order_by(Caption.created_at, Caption.id)).all()
        assert (first.state.value, second.state.value) == ("superseded", "proposed")
        told = events.history(session, "caption", first.id)
        assert [(one.action, one.actor) for one in told][-1] == ("supersede", f"run:{second.run_id}")


def test_the_older_pipeline_can_take_its_place_again(workspace, library, dialogue):
    sound = library.add(dialogue)
    for version in ("1", "2", "1"):
        assert run_speech_pass(workspace, work(Scribe(f"words of {version}", version=version)), Which()).done == 1
    rows, _ = held(workspace, sound)
    assert {one.text for one in rows} == {"words of 1"}
    with workspace.database.reading() as session:
        captions = session.exec(select(Caption).order_by(Caption.created_at, Caption.id)).all()
        assert [one.state.value for one in captions] == ["superseded", "superseded", "proposed"]
        assert captions[2].text == captions[0].text


@pytest.mark.parametrize(
    ("decide", "states"), [(accept_caption, ["accepted", "proposed"]), (reject_caption, ["rejected", "proposed"])]
)
def test_what_people_decided_about_a_transcript_stays(workspace, library, dialogue, decide, states):
    library.add(dialogue)
    (_mei, rita, _pat) = users(workspace)
    run_speech_pass(workspace, work(), Which())
    with workspace.database.session() as session:
        decide(session, session.exec(select(Caption.id)).one(), rita)
    run_speech_pass(workspace, work(), Which(again=True))  # the same words, of which somebody has decided
    with workspace.database.reading() as session:
        assert len(session.exec(select(Caption)).all()) == 1
    run_speech_pass(workspace, work(Scribe("new words", version="2")), Which())
    with workspace.database.reading() as session:
        captions = session.exec(select(Caption).order_by(Caption.created_at, Caption.id)).all()
        assert [one.state.value for one in captions] == states


def test_the_same_pipeline_again_proposes_nothing_twice(workspace, library, dialogue):
    library.add(dialogue)
    run_speech_pass(workspace, work(), Which())
    run_speech_pass(workspace, work(), Which(again=True))
    with workspace.database.reading() as session:
        assert len(session.exec(select(Caption)).all()) == 1
        assert len(session.exec(select(Segment)).all()) == 2


def test_speech_that_a_newer_pipeline_does_not_find_is_gone(workspace, library, dialogue):
    sound = library.add(dialogue)
    run_speech_pass(workspace, work(), Which())
    deaf = TranscribeSound(Scribe(version="3"), OneAfterAnother(), DEFAULT_LIMITS, lambda samples: [])
    run_speech_pass(workspace, deaf, Which())
    rows, material = held(workspace, sound)
    assert (rows, material.audio_content, material.audio_content_by) == ([], None, None)
    with workspace.database.reading() as session:
        assert [one.state.value for one in session.exec(select(Caption))] == ["superseded"]


def test_a_failure_is_kept_with_its_reason_and_tried_again(workspace, library, dialogue, silence):
    sound, quiet = library.add(dialogue), library.add(silence)
    report = run_speech_pass(workspace, work(Scribe(fails=True)), Which())
    assert (report.done, list(report.failures)) == (1, [sound.media["sha256"]])
    assert "too hard" in report.failures[sound.media["sha256"]]
    assert held(workspace, sound)[0] == []
    report = run_speech_pass(workspace, work(), Which())
    assert report.counts == {"done": 1, "known": 1, "failed": 0}
    assert quiet.id != sound.id


def test_only_sounds_are_transcribed(workspace, library, media, dialogue):
    library.add(media.coded(media.photo(1)))
    sound = library.add(dialogue)
    assert run_speech_pass(workspace, work(), Which()).done == 1
    assert held(workspace, sound)[0]


def test_words_that_a_person_gave_stay_and_nothing_is_proposed(workspace, library, dialogue):
    sound = library.add(dialogue, audio_content="Two sirens.", audio_content_by="human")
    (mei, rita, _pat) = users(workspace)
    run_speech_pass(workspace, work(), Which())
    rows, material = held(workspace, sound)
    assert [one.text for one in rows] == ["hello there", "hello there"]
    assert (material.audio_content, material.audio_content_by) == ("Two sirens.", "human")
    with workspace.database.session() as session:
        assert accept_all(session, [sound.id], rita).accepted == []
        texts = accepted_texts(session, [session.get(Material, sound.id)])
    assert {language: text.text for language, text in texts[sound.id].items()} == {"": "Two sirens."}


def test_an_accepted_transcript_stands_for_the_sound(workspace, library, dialogue):
    sound = library.add(dialogue)
    (_mei, rita, _pat) = users(workspace)
    run_speech_pass(workspace, work(), Which())
    with workspace.database.session() as session:
        assert len(accept_all(session, [sound.id], rita).accepted) == 1
        texts = accepted_texts(session, [session.get(Material, sound.id)])[sound.id]
    assert texts["en"].text == "SPEAKER_00: hello there\nSPEAKER_01: hello there"
    assert texts["en"].whose.startswith("speech@1:scribe@1")


# ---- edits by people -----------------------------------------------------------------------------------------------


def edited(rows, place: int, **change) -> list[EditedSegment]:
    wanted = [EditedSegment(one.start_s, one.end_s, one.text, one.speaker, one.id) for one in rows]
    wanted[place] = EditedSegment(**{**vars(wanted[place]), **change})
    return wanted


@pytest.fixture
def transcribed(workspace, library, dialogue):
    sound = library.add(dialogue)
    run_speech_pass(workspace, work(), Which())
    return sound


def edit(workspace, sound, wanted, user, expected):
    with workspace.database.session() as session:
        return edit_segments(session, session.get(Material, sound.id), wanted, user, expected)


def test_a_persons_edit_stands_and_no_machine_touches_it(workspace, transcribed):
    mei, rita, _pat = users(workspace)
    rows, _ = held(workspace, transcribed)
    edit(workspace, transcribed, edited(rows, 1, text="Goodbye.", speaker="Ann"), mei, edition(rows))
    report = run_speech_pass(workspace, work(Scribe("other words", version="2")), Which())
    after, material = held(workspace, transcribed)
    assert [(one.speaker, one.text, one.made_by) for one in after] == [
        ("SPEAKER_00", "hello there", rows[0].made_by),
        ("Ann", "Goodbye.", "mei"),
    ]
    assert after[0].id == rows[0].id
    assert after[1].words == []
    assert (material.audio_content, material.audio_content_by) == ("SPEAKER_00: hello there\nAnn: Goodbye.", "mei")
    with workspace.database.reading() as session:
        mark = session.exec(select(MaterialWork).where(MaterialWork.run_id == report.run_id)).one()
        assert mark.result["stored"] is False
        told = events.history(session, "material", transcribed.id)
        (event,) = [one for one in told if one.action == "edit_segments"]
        assert (event.actor, event.detail["before"][0]["text"], event.detail["after"][0]["text"]) == (
            "mei",
            "hello there",
            "Goodbye.",
        )
        captions = session.exec(select(Caption).order_by(Caption.created_at, Caption.id)).all()
        assert [(one.state.value, one.by_person) for one in captions] == [("superseded", False), ("proposed", True)]
        assert captions[1].based_on_id == captions[0].id


def test_another_name_for_a_speaker_keeps_the_words_and_their_times(workspace, transcribed):
    mei, *_ = users(workspace)
    rows, _ = held(workspace, transcribed)
    edit(workspace, transcribed, edited(rows, 0, speaker="Ann"), mei, edition(rows))
    after, _ = held(workspace, transcribed)
    assert (after[0].speaker, after[0].words) == ("Ann", rows[0].words)


def test_segments_can_be_removed_and_added(workspace, transcribed):
    mei, *_ = users(workspace)
    rows, _ = held(workspace, transcribed)
    wanted = [*edited(rows, 0)[:1], EditedSegment(2.2, 2.8, "Ahem.")]
    edit(workspace, transcribed, wanted, mei, edition(rows))
    after, _ = held(workspace, transcribed)
    assert [(one.text, one.speaker) for one in after] == [("hello there", "SPEAKER_00"), ("Ahem.", None)]
    assert after[1].language == "en"
    edit(workspace, transcribed, [], mei, edition(after))
    gone, material = held(workspace, transcribed)
    assert (gone, material.audio_content) == ([], None)


def test_no_change_is_no_edit(workspace, transcribed):
    mei, *_ = users(workspace)
    rows, before = held(workspace, transcribed)
    edit(workspace, transcribed, edited(rows, 0), mei, edition(rows))
    after, material = held(workspace, transcribed)
    assert ([one.made_by for one in after], material.version) == ([one.made_by for one in rows], before.version)


def test_who_edits_what_was_changed_meanwhile_is_told_so(workspace, transcribed):
    mei, *_ = users(workspace)
    rows, _ = held(workspace, transcribed)
    edit(workspace, transcribed, edited(rows, 0, text="First."), mei, edition(rows))
    with pytest.raises(StaleTranscript, match="changed meanwhile"):
        edit(workspace, transcribed, edited(rows, 1, text="Second."), mei, edition(rows))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"start_s": 2.5, "end_s": 2.0}, "lasts from"),
        ({"end_s": 90.0}, "within the 4.00 s"),
        ({"start_s": float("nan")}, "lasts from"),
        ({"text": "  "}, "no usable text"),
        ({"text": "a\x00b"}, "no usable text"),
        ({"speaker": "x" * 33}, "1 to 32 characters"),
        ({"id": "nobody"}, "no segment of this material"),
    ],
)
def test_impossible_segments_are_refused_with_their_place(workspace, transcribed, change, wrong):
    mei, *_ = users(workspace)
    rows, _ = held(workspace, transcribed)
    with pytest.raises(BadSegments, match=f"segment 1.*{wrong}"):
        edit(workspace, transcribed, edited(rows, 0, **change), mei, edition(rows))


def test_only_writers_edit(workspace, transcribed):
    *_, pat = users(workspace)
    rows, _ = held(workspace, transcribed)
    with pytest.raises(NotAllowed):
        edit(workspace, transcribed, edited(rows, 0, text="x"), pat, edition(rows))


def test_words_given_for_the_whole_sound_outlive_edits_of_segments(workspace, library, dialogue):
    sound = library.add(dialogue, audio_content="Two sirens.", audio_content_by="human")
    mei, *_ = users(workspace)
    run_speech_pass(workspace, work(), Which())
    rows, _ = held(workspace, sound)
    edit(workspace, sound, edited(rows, 0, text="Hi."), mei, edition(rows))
    assert held(workspace, sound)[1].audio_content == "Two sirens."


# ---- classes of sounds ---------------------------------------------------------------------------------------------


@dataclass
class Says:
    name: str

    fingerprint = "says@1"

    def load(self):
        pass

    def classify(self, samples, speech):
        return SoundClass(self.name, {self.name: 1.0})


def test_a_class_is_written_with_who_says_so(workspace, library, dialogue):
    sound = library.add(dialogue)
    report = run_speech_pass(workspace, ClassifySound(Says("music"), DEFAULT_LIMITS, find_loud), Which())
    _, material = held(workspace, sound)
    assert (material.audio_type, material.audio_type_by) == ("music", "says@1+silero-vad@6")
    with workspace.database.reading() as session:
        (event,) = events.history(session, "material", sound.id)
        assert (event.actor, event.detail["audio_type"]) == (f"run:{report.run_id}", "music")


def test_a_persons_class_stays(workspace, library, dialogue):
    sound = library.add(dialogue, audio_type="environment", audio_type_by="human")
    run_speech_pass(workspace, ClassifySound(Says("music"), DEFAULT_LIMITS, find_loud), Which())
    _, material = held(workspace, sound)
    assert (material.audio_type, material.audio_type_by, material.version) == ("environment", "human", 1)


def test_a_manifest_that_comes_later_overrules_a_machine(tmp_path, project, call, dialogue):
    (tmp_path / "talk.wav").write_bytes(dialogue)
    (document,) = call("ingest", tmp_path / "talk.wav", project=project)["taken"]
    from warehouse.workspace import open_workspace

    with open_workspace(project) as opened:
        run_speech_pass(opened, ClassifySound(Says("music"), DEFAULT_LIMITS, find_loud), Which())
        run_speech_pass(opened, work(), Which())
    lines = {"path": "talk.wav", "audio_type": "environment", "audio_content": "Two sirens."}
    (tmp_path / "list.jsonl").write_text(json.dumps(lines))
    call("ingest", "--manifest", tmp_path / "list.jsonl", project=project)
    shown = call("show", document["sha256"], project=project)
    assert (shown["audio_type"], shown["audio_type_by"]) == ("environment", "human")
    assert (shown["audio_content"], shown["audio_content_by"]) == ("Two sirens.", "human")


# ---- output, commands ----------------------------------------------------------------------------------------------


def segment(start_s, end_s, text, speaker=None) -> Segment:
    return Segment(material_id="m", start_s=start_s, end_s=end_s, text=text, speaker=speaker, made_by="x@1", run_id="r")


def test_subtitles_are_written_as_their_formats_want_them():
    rows = [segment(0.0, 1.5, "Hi & <bye>\n\n--> x", "Ann"), segment(3661.2345, 3662.0, "So."), segment(4.0, 5.0, None)]
    assert subtitles(rows, "srt") == (
        "1\n00:00:00,000 --> 00:00:01,500\nAnn: Hi & <bye>\n→ x\n\n2\n01:01:01,234 --> 01:01:02,000\nSo.\n"
    )
    assert subtitles(rows, "vtt") == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\n<v Ann>Hi &amp; &lt;bye>\n→ x\n\n01:01:01.234 --> 01:01:02.000\nSo.\n"
    )


def test_a_transcript_names_speakers_only_where_there_are_several():
    assert transcript_text([segment(0, 1, "One.", "a"), segment(2, 3, "Two.", "a")]) == "One. Two."
    assert transcript_text([segment(0, 1, "One.", "a"), segment(2, 3, "Two.")]) == "a: One.\n?: Two."


@pytest.fixture
def scripted(monkeypatch):
    """The commands with the models of these tests."""
    monkeypatch.setattr("curation.speech.transcribe.FasterWhisper", lambda model: Scribe())
    monkeypatch.setattr("curation.speech.light_diarize.light_diarizer", lambda model: OneAfterAnother(lighter=True))
    monkeypatch.setattr("curation.speech.pipeline.TranscribeSound.find_speech", staticmethod(find_loud))
    monkeypatch.setattr(
        "curation.speech.cli.TranscribeSound",
        lambda transcriber, diarizer, limits: TranscribeSound(transcriber, diarizer, limits, find_loud),
    )


def test_commands_transcribe_show_and_edit(
    scripted, workspace, library, dialogue, project, call, call_command, tmp_path
):
    sound = library.add(dialogue)
    users(workspace)
    assert call("transcribe", "--dry-run", project=project)["counts"]["done"] == 1
    text = call_command(app, ["segments", sound.id, "--project", str(project)])
    assert "not transcribed" in text
    text = call_command(app, ["transcribe", sound.id[:12], "--project", str(project)])
    assert "transcripts: done 1, known 0, failed 0" in text
    assert "in the lighter way" in text
    document = call("transcribe", project=project)
    assert (document["counts"]["known"], document["lighter"]) == (1, True)
    text = call_command(app, ["segments", sound.id, "--project", str(project)])
    assert "SPEAKER_01: hello there" in text
    assert "in the lighter way" in text
    assert call_command(app, ["segments", sound.id, "--subtitles", "srt", "--project", str(project)]).startswith(
        "1\n00:"
    )
    shown = call("segments", sound.id, project=project)
    shown["segments"][0]["text"] = "Hello, Mei."
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(shown))
    changed = call("edit-segments", sound.id, file, "--by", "mei", project=project)
    assert [one["made_by"] for one in changed["segments"]] == ["mei", shown["segments"][1]["made_by"]]
    text = call_command(app, ["transcribe", "--again", "--project", str(project)])
    assert "left as people have them: 1" in text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Invalid JSON"),
        ("[]", "must be names with their values"),
        ('{"edition": "x"}', "segments: is missing"),
        ('{"edition": "x", "segments": [3]}', "segments.0: must be names with their values"),
        (
            '{"edition": "x", "segments": [{"start_s": 0, "end_s": "a", "text": "b"}]}',
            "segments.0.end_s: must be a number",
        ),
    ],
)
def test_a_file_that_is_no_transcript_is_refused(
    scripted, library, dialogue, project, call, tmp_path, content, problem
):
    sound = library.add(dialogue)
    file = tmp_path / "edited.json"
    file.write_text(content)
    with pytest.raises(BadSegments, match=f"is not what .* gives: {problem}"):
        call("edit-segments", sound.id, file, "--by", "mei", project=project)


@pytest.mark.parametrize("command", ["transcribe", "classify-sound"])
def test_a_picture_that_is_named_is_told_to_have_no_sound(scripted, library, media, project, call, command):
    picture = library.add(media.coded(media.photo(1)))
    with pytest.raises(NothingToHear, match="is image without a sound"):
        call(command, picture.id, project=project)


def test_a_videos_sound_is_what_is_transcribed(scripted, project, call, media, tmp_path, workspace):
    film = media.film(media.cartoon(1), sound=np.concatenate([glide(2.0), np.zeros(RATE_HZ, np.float32)]))
    (tmp_path / "film.mp4").write_bytes(film)
    (taken,) = call("ingest", tmp_path / "film.mp4", project=project)["taken"]
    report = call("transcribe", taken["sha256"][:12], project=project)
    assert report["counts"]["done"] == 1
    shown = call("segments", taken["sha256"][:12], project=project)
    assert shown["material_id"] == call("show", taken["sha256"], project=project)["sound_id"]
    assert shown["segments"][0]["text"].startswith("hello there")


def test_without_the_extra_it_is_named(monkeypatch, project, call):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("curation.models.version", missing)
    with pytest.raises(MissingExtra, match="speech"):
        call("transcribe", "--dry-run", project=project)
