"""The recording desk's services and addresses: who may record whom, what is kept, and when it is told as saved."""

import hashlib
import io
import wave

import pytest
from sqlmodel import select
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from annotation_ui.forms import new_form_key
from annotation_ui.permissions import AccountInactive, NotAllowed
from annotation_ui.recording import routes as routes_module
from annotation_ui.recording import speakers as desk
from annotation_ui.recording import takes
from annotation_ui.recording.listening import Listener
from annotation_ui.recording.routes import RecordingRoutes
from annotation_ui.server import Door
from curation.recordings.deciding import refuse_take
from curation.recordings.findings import findings_of
from curation.recordings.limits import Outcome
from curation.recordings.listening import Ears, Transcribes
from warehouse import events
from warehouse.consents import Scope
from warehouse.people import Role
from warehouse.tables import Consent, Contributor, Material, MaterialState, Recording, Script, User

VOICE = (Scope.VOICE, Scope.PUBLISH)
FERRY = ("ferry", "The ferry leaves from pier three", "en", {})
BOAT = ("渡轮<b>", "渡轮三点出发。", "zh", {"dialect": "Sichuan"})


@pytest.fixture
def filled(studio, seed):
    seed.fill_desk(studio.workspace, FERRY, BOAT)


@pytest.fixture
def script_id(filled, database):
    with database.reading() as session:
        return {one.name: one.id for one in session.exec(select(Script))}


@pytest.fixture
def speak(filled, database, clock):
    """Adds a speaker who has signed; returns the contributor's id."""

    def add(who, is_self=True, signed=True, **facts):
        with database.session() as session:
            new = desk.NewSpeaker(is_self, **facts)
            added = desk.add_speaker(session, who, new_form_key(), new, clock)
            if signed:
                desk.sign(session, who, new_form_key(), signature(session, added), clock)
        return added

    return add


def signature(session, contributor_id, **changed):
    text = desk.latest_text(session)
    given = {
        "contributor_id": contributor_id, "version": text.version, "seen": desk.words_hash(text), "scope": VOICE,
        "typed": session.get(Contributor, contributor_id).pseudonym, "language": "en",
    }  # fmt: skip
    return desk.Signature(**{**given, **changed})


@pytest.fixture
def record(studio, seed, script_id, clock):
    def add(who, contributor_id, number=1, script="ferry", device="Fake", data=None):
        sent = takes.Sent(contributor_id, script_id[script], device, seed.voice(number) if data is None else data)
        return takes.receive(studio.workspace, who, sent, clock)

    return add


@pytest.fixture
def annotator(principal_of):
    return principal_of(Role.ANNOTATOR)


@pytest.fixture
def other(add_person, sign_in):
    add_person("other", Role.ANNOTATOR)
    return sign_in("other")[1]


def row(database, recording_id):
    with database.reading() as session:
        return session.get(Recording, recording_id)


# Who speaks.


def test_each_records_themselves_and_those_whom_they_brought_and_a_maintainer_all(
    database, speak, annotator, other, principal_of, clock
):
    own, friend, foreign = speak(annotator), speak(annotator, is_self=False), speak(other)
    maintainer = principal_of(Role.MAINTAINER)
    with database.reading() as session:
        listed = desk.speakers(session, annotator, clock())
        assert {one.contributor.id for one in listed} == {own, friend}
        assert (listed[0].contributor.id, listed[0].is_self, listed[1].is_self) == (own, True, False)
        assert {one.contributor.id for one in desk.speakers(session, maintainer, clock())} == {own, friend, foreign}
        for wanted in (foreign, "nobody", ""):
            with pytest.raises(desk.UnknownSpeaker):
                desk.speaker(session, annotator, wanted, clock())
        with pytest.raises(NotAllowed):
            desk.speakers(session, principal_of(Role.REVIEWER), clock())


def test_a_form_that_is_sent_twice_adds_one_speaker_and_one_consent(database, filled, annotator, clock):
    key, sign_key = new_form_key(), new_form_key()
    for _ in range(2):
        with database.session() as session:
            added = desk.add_speaker(session, annotator, key, desk.NewSpeaker(True, "Sichuan"), clock)
            desk.sign(session, annotator, sign_key, signature(session, added), clock)
    with database.session() as session:
        assert len(session.exec(select(Contributor)).all()) == len(session.exec(select(Consent)).all()) == 1
        assert session.get(User, annotator.user_id).profile[desk.PROFILE_KEY] == added
        with pytest.raises(desk.SpeakerKnown):
            desk.add_speaker(session, annotator, new_form_key(), desk.NewSpeaker(True), clock)


@pytest.mark.parametrize("dialect", ["12345", "me@example.org", "<script>"])
def test_facts_that_could_tell_who_somebody_is_are_refused(database, filled, annotator, clock, dialect):
    with database.session() as session, pytest.raises(desk.BadDialect):
        desk.add_speaker(session, annotator, new_form_key(), desk.NewSpeaker(False, dialect), clock)


def test_a_consent_is_signed_by_the_pseudonym_in_the_words_that_were_read(database, speak, annotator, other, clock):
    added = speak(annotator, signed=False)
    with database.session() as session:
        for changed, problem in (
            ({"typed": "yes"}, desk.BadSignature),
            ({"scope": (Scope.PUBLISH,)}, desk.VoiceNeeded),
            ({"seen": "0" * 64}, desk.WordsChanged),
        ):
            with pytest.raises(problem):
                desk.sign(session, annotator, new_form_key(), signature(session, added, **changed), clock)
        with pytest.raises(desk.UnknownSpeaker):
            desk.sign(session, other, new_form_key(), signature(session, added), clock)
        assert session.exec(select(Consent)).all() == []
        consent_id = desk.sign(session, annotator, new_form_key(), signature(session, added, language="zh"), clock)
        told = {one.action: one.detail for one in events.history(session, "consent", consent_id)}
        assert told["sign"]["language"] == "zh" and told["give"]["text_version"] == "1.0"
        assert desk.speaker(session, annotator, added, clock()).consent.id == consent_id


def test_only_maintainers_write_the_words_and_none_that_were_signed(database, speak, annotator, principal_of, clock):
    maintainer, words = principal_of(Role.MAINTAINER), {"en": "Anew.", "zh": "新的。"}
    with database.session() as session:
        with pytest.raises(NotAllowed):
            desk.write_words(session, annotator, "2.0", words, "", clock)
        with pytest.raises(desk.BadConsentWords):
            desk.write_words(session, maintainer, "2.0", {"en": "Only this.", "zh": " "}, "", clock)
        assert desk.write_words(session, maintainer, "1.0", words, "", clock).texts == words
    speak(annotator)
    with database.session() as session, pytest.raises(desk.ConsentWordsUsed):
        desk.write_words(session, maintainer, "1.0", {"en": "Other.", "zh": "别的。"}, "", clock)


# Takes.


def test_a_take_is_sealed_under_its_hash_and_waits_at_the_desk(studio, database, seed, speak, record, annotator):
    speaker, data = speak(annotator), seed.voice(1)
    recording = record(annotator, speaker, device="Mei's AirPods\x00")
    assert recording.sha256 == hashlib.sha256(data).hexdigest()
    assert studio.workspace.originals.get(recording.sha256) == data
    assert recording.device == "AirPods"
    found = {one.name: one for one in findings_of(row(database, recording.id).checks)}
    assert found["sample_rate"].measure == 48000 and found["transcript"].outcome is Outcome.NOT_DONE
    assert record(annotator, speaker).id == recording.id, "the same bytes are the same take"
    with database.reading() as session:
        assert takes.is_held(session, recording.id)


@pytest.mark.parametrize(
    ("label", "kept"),
    [("Mei’s AirPods Pro", "AirPods Pro"), ("小梅的 AirPods", "AirPods"), ("", None), ("x" * 500, "x" * 128)],
)
def test_microphones_lose_the_name_of_their_owner(label, kept):
    assert takes.device_name(label) == kept


def long_wav(seconds, rate=8000):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(rate)
        file.writeframes(bytes(seconds * rate))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", takes.NoSound),
        (b"this is no sound at all" * 100, takes.NoSound),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", takes.NoSound),
        (b"RIFF\xff\xff\xff\xffWAVEfmt ", takes.NoSound),
        (long_wav(2)[:-4000], takes.NoSound),
        (long_wav(2, rate=2000), takes.NoSound),
        (long_wav(7200), takes.TakeTooLong),
    ],
)
def test_what_is_no_take_leaves_nothing_behind(studio, database, speak, record, annotator, data, problem):
    speaker = speak(annotator)
    with pytest.raises(problem):
        record(annotator, speaker, data=data)
    with database.reading() as session:
        assert session.exec(select(Recording)).all() == []
    assert not studio.workspace.originals.exists(hashlib.sha256(data).hexdigest())


def test_nothing_is_recorded_without_right_script_or_consent(
    database, speak, record, script_id, annotator, other, principal_of, clock
):
    speaker, silent = speak(annotator), speak(annotator, is_self=False, signed=False)
    with pytest.raises(desk.UnknownSpeaker):
        record(other, speaker)
    with pytest.raises(NotAllowed):
        record(principal_of(Role.REVIEWER), speaker)
    with pytest.raises(takes.ConsentNeeded):
        record(annotator, silent)
    script_id["ferry"] = "no such script"
    with pytest.raises(takes.UnknownScript):
        record(annotator, speaker)
    with database.session() as session:
        user = session.get(User, annotator.user_id)
        user.active = False
        session.add(user)
    with pytest.raises(AccountInactive):
        record(annotator, speaker)
    with database.reading() as session:
        assert session.exec(select(Recording)).all() == []


def test_bytes_of_another_speaker_or_script_are_not_taken_again(speak, record, annotator):
    first, second = speak(annotator), speak(annotator, is_self=False)
    record(annotator, first)
    for speaker, script in ((second, "ferry"), (first, "渡轮<b>")):
        with pytest.raises(takes.TakenElsewhere):
            record(annotator, speaker, script=script)


def test_a_take_is_handed_in_once_and_only_by_who_recorded_it(database, speak, record, annotator, other, clock):
    take = record(annotator, speak(annotator))
    for act in (takes.hand_in, takes.set_aside):
        with database.session() as session, pytest.raises(takes.UnknownTake):
            act(session, other, take.id, clock)
    for _ in range(2):
        with database.session() as session:
            takes.hand_in(session, annotator, take.id, clock)
    with database.session() as session:
        assert not takes.is_held(session, take.id)
        assert [one.action for one in events.history(session, "recording", take.id)] == ["record", "hold", "hand_in"]
        takes.set_aside(session, annotator, take.id, clock)
    with database.session() as session, pytest.raises(takes.TakeDecided):
        takes.hand_in(session, annotator, take.id, clock)
    assert (row(database, take.id).accepted, row(database, take.id).decided_why) == (False, takes.REDONE)


# Decisions.


def test_an_accepted_take_is_a_material_and_twice_is_once(
    studio, database, speak, record, annotator, principal_of, clock
):
    take, reviewer = record(annotator, speak(annotator)), principal_of(Role.REVIEWER)
    for who, problem in ((reviewer, takes.UnknownTake), (principal_of(Role.MAINTAINER), takes.NotHandedIn)):
        with pytest.raises(problem):
            takes.accept(studio.workspace, who, take.id, "good", clock)
    with database.session() as session:
        takes.hand_in(session, annotator, take.id, clock)
    with pytest.raises(NotAllowed):
        takes.accept(studio.workspace, annotator, take.id, "good", clock)
    for _ in range(2):
        takes.accept(studio.workspace, reviewer, take.id, "good", clock)
    with database.session() as session:
        material = session.exec(select(Material)).one()
        assert (material.state, material.audio_content) == (MaterialState.KEPT, FERRY[1])
        with pytest.raises(takes.TakeDecided):
            takes.refuse(session, reviewer, take.id, "no", clock)
    assert row(database, take.id).decided_by == reviewer.user_id


def test_a_refusal_needs_a_reason_and_nobody_decides_on_their_own_voice(
    database, speak, record, add_person, sign_in, principal_of, clock
):
    add_person("both", Role.ANNOTATOR, Role.REVIEWER)
    both, reviewer = sign_in("both")[1], principal_of(Role.REVIEWER)
    take = record(both, speak(both))
    with database.session() as session:
        takes.hand_in(session, both, take.id, clock)
        with pytest.raises(takes.OwnVoice):
            takes.refuse(session, both, take.id, "mine", clock)
        with pytest.raises(takes.TakeReasonNeeded):
            takes.refuse(session, reviewer, take.id, " ", clock)
        takes.refuse(session, reviewer, take.id, "A word is missing.", clock)
        takes.refuse(session, reviewer, take.id, "A word is missing.", clock)
    with pytest.raises(takes.TakeDecided), database.session() as session:
        takes.refuse(session, principal_of(Role.MAINTAINER), take.id, "late", clock)


def test_a_take_that_failed_a_check_needs_a_reason(
    studio, database, seed, speak, record, annotator, principal_of, clock
):
    take = record(annotator, speak(annotator), data=seed.voice(1, level=0.001))
    failed = [one.name for one in findings_of(take.checks) if one.outcome is Outcome.FAIL]
    assert failed
    with database.session() as session:
        takes.hand_in(session, annotator, take.id, clock)
    with pytest.raises(takes.TakeReasonNeeded):
        takes.accept(studio.workspace, principal_of(Role.REVIEWER), take.id, "  ", clock)
    assert row(database, take.id).accepted is None


# Withdrawal.


def test_a_withdrawal_is_told_beforehand_and_deletes_the_sound(
    studio, database, speak, record, annotator, other, clock
):
    speaker = speak(annotator, dialect="Sichuan")
    take = record(annotator, speaker)
    (before,) = desk.preview_withdrawal(studio.workspace, annotator, speaker)
    assert before.dry_run and before.touched["recordings"] == [take.id]
    with pytest.raises(desk.UnknownSpeaker):
        desk.preview_withdrawal(studio.workspace, other, speaker)
    with database.reading() as session:
        pseudonym = session.get(Contributor, speaker).pseudonym
    with pytest.raises(desk.BadSignature):
        desk.take_back(studio.workspace, annotator, speaker, "yes", clock)
    with pytest.raises(desk.UnknownSpeaker):
        desk.take_back(studio.workspace, other, speaker, pseudonym, clock)
    assert studio.workspace.originals.exists(take.sha256)
    desk.take_back(studio.workspace, annotator, speaker, pseudonym, clock)
    assert not studio.workspace.originals.exists(take.sha256)
    with database.session() as session:
        assert desk.speaker(session, annotator, speaker, clock()).consent is None
        with pytest.raises(takes.TakenBack):
            takes.hand_in(session, annotator, take.id, clock)
        desk.sign(session, annotator, new_form_key(), signature(session, speaker), clock)
    with pytest.raises(takes.TakenBack):
        record(annotator, speaker)  # these bytes were taken back for good


# Models.


@pytest.mark.models  # word errors are counted by a package of the extra 'speech'
def test_a_model_listens_behind_the_page(studio, database, monkeypatch, speak, record, annotator):
    ears = Ears(Transcribes("model@1", lambda samples, language: "The ferry leaves from pier two"))
    monkeypatch.setattr("annotation_ui.recording.listening.project_ears", lambda settings: ears)
    take, listener = record(annotator, speak(annotator)), Listener(studio.workspace)
    listener.ask(take.id)
    listener.ask(take.id)
    listener.close(wait=True)
    assert not listener.is_busy(take.id) and listener.problem(take.id) is None
    heard = {one.name: one for one in findings_of(row(database, take.id).checks)}["transcript"]
    assert heard.measure == pytest.approx(1 / 6) and heard.evidence.endswith("two")


# Over HTTP.


@pytest.fixture
def browser(studio, auth, people, sign_in):
    app = Starlette(
        routes=RecordingRoutes(studio, auth).routes(),
        middleware=[Middleware(Door, auth=auth, cookie_name=studio.cookie_name)],
    )

    def open_browser(name=None):
        client = TestClient(app, base_url="http://studio.test")
        if name:
            client.cookies.set(studio.cookie_name, sign_in(name)[0])
        return client

    return open_browser


def post(client, script, contributor, data, **more):
    where = {"script": script, "contributor": contributor, "device": "Fake"}
    return client.post("/recordings", params=where, content=data, **more)


def test_the_hash_is_told_once_the_bytes_are_on_disk(studio, database, seed, browser, speak, script_id, annotator):
    speaker, data = speak(annotator), seed.voice(1)
    answer = post(browser("annotator"), script_id["ferry"], speaker, data)
    told = answer.json()
    assert (answer.status_code, told["sha256"]) == (201, hashlib.sha256(data).hexdigest())
    assert studio.workspace.originals.get(told["sha256"]) == data
    assert row(database, told["id"]).sha256 == told["sha256"]


def test_nothing_is_told_as_saved_when_the_disk_fails(
    monkeypatch, database, seed, browser, speak, script_id, annotator
):
    speaker, client = speak(annotator), browser("annotator")

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("warehouse.blobs.BlobStore.put", full)
    with pytest.raises(OSError, match="No space"):
        post(client, script_id["ferry"], speaker, seed.voice(1))
    with database.reading() as session:
        assert session.exec(select(Recording)).all() == []


def test_strangers_and_foreign_sites_and_forged_speakers_send_nothing(
    database, seed, browser, speak, script_id, annotator, other
):
    speaker, data, script = speak(annotator), seed.voice(1), script_id["ferry"]
    assert post(browser(), script, speaker, data).status_code == 401
    foreign = post(browser("annotator"), script, speaker, data, headers={"Origin": "http://evil.test"})
    assert foreign.status_code == 403
    forged = post(browser("other"), script, speaker, data)
    assert (forged.status_code, "cannot record for this speaker" in forged.json()["error"]) == (404, True)
    assert post(browser("reviewer"), script, speaker, data).status_code == 403
    text = post(browser("annotator"), script, speaker, b"hello", headers={"Accept-Language": "zh"})
    assert (text.status_code, "有效的录音" in text.json()["error"]) == (415, True)
    assert post(browser("annotator"), script, speaker, long_wav(7200)).status_code == 413
    with database.reading() as session:
        assert session.exec(select(Recording)).all() == []


def test_a_body_that_does_not_end_is_cut_off(monkeypatch, browser, speak, script_id, annotator):
    monkeypatch.setattr(routes_module, "MOST_TAKE_BYTES", 1000)
    endless = (b"x" * 500 for _ in range(1000))
    assert post(browser("annotator"), script_id["ferry"], speak(annotator), endless).status_code == 413


def test_a_take_is_heard_by_who_recorded_it_and_by_reviewers_only(
    database, studio, seed, browser, speak, record, annotator, other, clock
):
    speaker = speak(annotator)
    take = record(annotator, speaker)
    assert browser("reviewer").get(f"/recordings/{take.id}/sound").status_code == 404, "it is not handed in yet"
    with database.session() as session:
        takes.hand_in(session, annotator, take.id, clock)
    for name in ("annotator", "reviewer", "maintainer"):
        heard = browser(name).get(f"/recordings/{take.id}/sound", headers={"Range": "bytes=0-3"})
        assert (heard.status_code, heard.content, heard.headers["content-type"]) == (206, b"RIFF", "audio/wav")
        assert heard.headers["cache-control"] == "no-store" and "sandbox" in heard.headers["content-security-policy"]
        assert browser(name).get(f"/recordings/{take.id}/picture").content[:8] == b"\x89PNG\r\n\x1a\n"
    for kind in ("sound", "picture"):
        assert browser().get(f"/recordings/{take.id}/{kind}").status_code == 401
        for name in ("other", "participant"):
            assert browser(name).get(f"/recordings/{take.id}/{kind}").status_code == 404
        for wrong in ("%2e%2e", take.id[:8], "' or 1=1 --"):
            assert browser("maintainer").get(f"/recordings/{wrong}/{kind}").status_code == 404
    with database.reading() as session:
        pseudonym = session.get(Contributor, speaker).pseudonym
    desk.take_back(studio.workspace, annotator, speaker, pseudonym, clock)
    for kind in ("sound", "picture"):
        assert browser("annotator").get(f"/recordings/{take.id}/{kind}").status_code == 404
    assert not list(studio.thumbnail_folder.rglob(f"{take.sha256}*"))


def test_a_take_that_a_command_refused_is_no_more_handed_in(database, speak, record, annotator, clock):
    take = record(annotator, speak(annotator))
    with database.session() as session:
        refuse_take(session, take.id, "ana", "cut off", clock)
    with database.session() as session, pytest.raises(takes.TakeDecided):
        takes.hand_in(session, annotator, take.id, clock)
