"""The recording desk and the lists of takes: what they show, and what they do, without a browser."""

import re

import pytest
from sqlmodel import select

from annotation_ui.accounts import set_language
from annotation_ui.forms import new_form_key
from annotation_ui.permissions import NotAllowed
from annotation_ui.recording import speakers as desk
from annotation_ui.recording import takes
from annotation_ui.recording.script_writing import (
    MOST_CHARACTERS,
    BadScriptField,
    NoWords,
    ScriptNameTaken,
    Written,
    write_script,
)
from annotation_ui.views import record as record_view
from annotation_ui.views.changes import Stretch
from annotation_ui.views.takes import reading_diff, take_detail, waiting_takes
from annotation_ui.words import words_in
from curation.recordings.findings import as_document, judged, not_done
from curation.recordings.limits import DEFAULT_TAKE_LIMITS as LIMITS
from curation.recordings.limits import Outcome
from curation.recordings.listening import Ears, Transcribes
from curation.recordings.scripts import close_script
from warehouse.consents import Scope
from warehouse.people import Role
from warehouse.tables import Consent, Contributor, Material, Recording, Script

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>**b** $x$ {name}"
EN, ZH = words_in("en"), words_in("zh")
FERRY = ("ferry", "The ferry leaves from pier three.", "en", {"role": "announcer"})
BOAT = ("渡轮", "渡轮三点出发。", "zh", {"dialect": "Sichuan"})


@pytest.fixture(autouse=True)
def ears(monkeypatch):
    """What models hear; none is loaded in these tests."""
    held = {"ears": Ears(why=("no model here", "没有模型"))}
    monkeypatch.setattr("annotation_ui.recording.listening.project_ears", lambda settings: held["ears"])
    return held


@pytest.fixture
def filled(studio, seed):
    seed.fill_desk(studio.workspace, FERRY, BOAT, (ATTACK[:120], ATTACK, "en", {}))


@pytest.fixture
def script_id(filled, database):
    with database.reading() as session:
        return {one.name: one.id for one in session.exec(select(Script))}


@pytest.fixture
def annotator(principal_of):
    return principal_of(Role.ANNOTATOR)


@pytest.fixture
def speaker(filled, database, annotator, clock):
    """The annotator's own contributor, who has signed."""
    with database.session() as session:
        added = desk.add_speaker(session, annotator, new_form_key(), desk.NewSpeaker(True, "Sichuan"), clock)
        text, pseudonym = desk.latest_text(session), session.get(Contributor, added).pseudonym
        signed = desk.Signature(added, text.version, desk.words_hash(text), [Scope.VOICE], pseudonym, "en")
        desk.sign(session, annotator, new_form_key(), signed, clock)
    return added


@pytest.fixture
def record(studio, database, seed, script_id, speaker, annotator, clock):
    def add(number=1, script="ferry", handed_in=True, device="Fake"):
        sent = takes.Sent(speaker, script_id[script], device, seed.voice(number))
        recording = takes.receive(studio.workspace, annotator, sent, clock)
        if handed_in:
            with database.session() as session:
                takes.hand_in(session, annotator, recording.id, clock)
        return recording

    return add


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app, key):
    return app.button(key=key).click().run()


# Views.


@pytest.mark.parametrize(
    ("script", "heard", "language", "expected"),
    [
        (
            "The ferry leaves at noon.", "the ferry, leaves at three noon", "en",
            [("kept", "The ferry leaves at "), ("new", "three "), ("kept", "noon.")],
        ),
        ("Pier three, please!", "pier 3 please", "en", [("kept", "Pier three, please!")]),
        ("Don't stop", "dont shop", "en", [("kept", "Don't "), ("old", "stop"), ("new", "shop")]),
        ("渡轮三点出发。", "渡轮3点到达", "zh", [("kept", "渡轮三点"), ("old", "出发。"), ("new", "到达")]),
        ("你好，世界", "你好世界", "zh", [("kept", "你好，世界")]),
        ("Say it", "", "en", [("old", "Say it")]),
    ],
)  # fmt: skip
def test_a_reading_is_told_from_its_script_by_words_or_by_characters(script, heard, language, expected):
    assert reading_diff(script, heard, language) == [Stretch(*one) for one in expected]


def test_checks_tell_measure_limit_and_mend_in_both_languages(database, studio, record, annotator, clock):
    findings = [
        judged("clipping", 0.002, "of the samples", LIMITS.clipped_share),
        judged("duration", 0.3, "s a word", LIMITS.word_s),
        judged("transcript", 0.2, "CER", LIMITS.error_rate, "渡轮"),
        not_done("speakers", "speakers", "no model", "没有模型"),
    ]
    take = record()
    with database.session() as session:
        row = session.get(Recording, take.id)
        row.checks = as_document("1", findings, {"transcript": "model@1"})
        session.add(row)
    told = {}
    for t in (EN, ZH):
        with database.reading() as session:
            told[t.language] = take_detail(session, annotator, take.id, clock(), t).checks
    clipped, pace, words, speakers = told["en"]
    assert (clipped.measured, clipped.limit) == ("0.2% of the samples", "at most 0.1% of the samples")
    assert clipped.outcome is Outcome.FAIL and "turn the microphone down" in clipped.advice
    assert (pace.measured, pace.limit, pace.advice) == ("0.30 s a word", "0.18 to 1.20 s a word", "")
    assert (words.measured, words.limit) == ("20% of the characters", "at most 15% of the characters")
    assert (speakers.outcome_label, speakers.measured, speakers.advice) == ("Not done", "", "no model")
    assert (told["zh"][0].label, told["zh"][3].advice) == ("削波", "没有模型")


def test_scripts_are_narrowed_by_what_they_are_and_by_who_read_them(database, studio, record, speaker, clock):
    record()

    def names(contributor=speaker, **query):
        with database.reading() as session:
            found = record_view.scripts_page(session, record_view.ScriptQuery(**query), contributor, EN)
        return [row.name for row in found.rows]

    assert len(names()) == 3
    assert names(language="zh") == names(dialect="Sichuan") == names(text="三点") == ["渡轮"]
    assert names(role="announcer") == ["ferry"]
    assert "ferry" not in names(recorded="not_mine") and "ferry" not in names(recorded="nobody")
    assert "ferry" in names(contributor="somebody else", recorded="not_mine")
    assert "ferry" in names(recorded="few")
    with database.session() as session:
        close_script(session, "ferry", "ada", clock)
    assert "ferry" not in names()


def test_the_next_script_is_one_that_the_speaker_has_not_read(database, record, speaker, script_id):
    record(script="ferry")
    with database.reading() as session:
        query, at = record_view.ScriptQuery(), session.get(Script, script_id["ferry"])
        assert record_view.next_script(session, query, speaker, at) == script_id["渡轮"]
        last = session.get(Script, script_id["渡轮"])
        assert record_view.next_script(session, query, speaker, last) == script_id[ATTACK[:120]]
        only = record_view.ScriptQuery(role="announcer")
        assert record_view.next_script(session, only, speaker, last) is None


def test_a_take_at_the_desk_waits_for_nobody(database, record, principal_of, clock):
    record(1, handed_in=False)
    waiting = record(2)
    with database.reading() as session:
        found = waiting_takes(session, principal_of(Role.REVIEWER), 1, clock(), EN)
    assert [row.id for row in found.rows] == [waiting.id]


# Pages.


def test_without_words_of_consent_a_maintainer_writes_them_and_others_learn_how(visit, token, studio, seed):
    seed.fill_desk(studio.workspace, FERRY, text=False)
    learning = visit("record", token(Role.ANNOTATOR))
    assert "interplay consent text" in shown(learning) and not learning.text_area
    app = visit("record", token())
    app.text_area(key="words-en").input("We record voices.")
    press(app, "words-store")
    assert "Write the consent in English and in Chinese" in shown(app)
    app.text_area(key="words-zh").input("我们录音。")
    press(app, "words-store")
    assert "Who speaks?" in shown(app)


def test_from_who_speaks_to_the_script(visit, token, filled, database):
    app = visit("record", token(Role.ANNOTATOR))
    press(app, "speaker-store")
    text = shown(app)
    assert "We record &lt;b&gt;voices&lt;/b&gt; for a benchmark." in text, "the words are shown as text, in full"
    pseudonym = re.search(r"voice-\d{4}-\d{4}", app.text_input[0].label).group()
    press(app, "consent-sign")
    assert "Without consent to the recording of the voice" in shown(app)
    app.checkbox(key=f"scope-voice-{pseudonym}").check()
    app.text_input(key=f"signature-{pseudonym}").input(pseudonym)
    press(app, "consent-sign")
    text = shown(app)
    assert "3 scripts to read" in text and "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    with database.reading() as session:
        assert session.exec(select(Consent)).one().scope == ["voice"]
        ferry = session.exec(select(Script).where(Script.name == "ferry")).one()
    press(app, f"open-{ferry.id}")
    assert "The ferry leaves from pier three." in shown(app)
    app.session_state["script-size"] = "s4"
    app.run()
    assert 'class="ip-script s4"' in shown(app)
    press(app, "next-script")
    assert "渡轮三点出发。" in shown(app)


def test_nobody_is_taken_for_who_speaks_but_oneself(visit, token, speaker):
    app = visit("record", token())
    assert "Choose who speaks, or add a speaker." in shown(app) and "scripts to read" not in shown(app)
    assert "scripts to read" in shown(visit("record", token(), speaker=speaker))
    assert "Choose who speaks" in shown(visit("record", token(), speaker="somebody else"))


def test_a_wider_consent_is_signed_beside_the_first(visit, token, speaker, database):
    app = visit("record", token(Role.ANNOTATOR))
    press(app, "speaker-signing-open")
    with database.reading() as session:
        pseudonym = session.get(Contributor, speaker).pseudonym
    for scope in ("voice", "publish"):
        app.checkbox(key=f"scope-{scope}-{pseudonym}").check()
    app.text_input(key=f"signature-{pseudonym}").input(pseudonym)
    press(app, "consent-sign")
    assert "publishing, voice" in shown(app) and "3 scripts to read" in shown(app)
    with database.reading() as session:
        assert [one.withdrawn_at for one in session.exec(select(Consent))] == [None, None]


def test_a_take_is_heard_then_handed_in_or_done_again(visit, token, record, database, script_id):
    held, again = record(1, handed_in=False), record(2, handed_in=False)
    app = visit("record", token(Role.ANNOTATOR), script=script_id["ferry"], take=held.id)
    text = shown(app)
    assert held.sha256 in text and f"/recordings/{held.id}/sound" in text and f"/recordings/{held.id}/picture" in text
    assert "Not handed in" in text and "48 kHz" in text
    press(app, "hand-in")
    assert "Handed in." in shown(app)
    app = visit("record", token(Role.ANNOTATOR), script=script_id["ferry"], take=again.id)
    press(app, "redo")
    assert "Set aside. Record it again" in shown(app)
    text = shown(visit("takes", token(Role.ANNOTATOR)))
    assert "Waiting for a decision" in text and "Set aside" in text


def test_anothers_take_is_shown_nowhere_by_its_id(visit, add_person, sign_in, people, record, script_id):
    take = record(1)
    add_person("other", Role.ANNOTATOR)
    entry = sign_in("other")[0]
    for page, query in (("take", {"id": take.id}), ("record", {"script": script_id["ferry"], "take": take.id})):
        assert take.sha256 not in shown(visit(page, entry, **query))
    assert "not yours to see" in shown(visit("take", entry, id=take.id))
    assert take.id not in shown(visit("takes", entry))


def test_a_reviewer_decides_and_the_speaker_reads_why(visit, token, record, database):
    first, second = record(1), record(2, device=ATTACK[:100])
    app = visit("takes", token(Role.REVIEWER))
    assert "2 takes to decide" in shown(app)
    app = visit("take", token(Role.REVIEWER), id=first.id)
    text = shown(app)
    assert "Other takes of this script" in text and second.id in text
    press(app, "take-refuse")
    assert "Say why: a refusal needs a reason" in shown(app)
    app.text_input(key=f"reason-{first.id}").input(f"A word is missing. {ATTACK}")
    press(app, "take-refuse")
    text = shown(app)
    assert "ferry is refused. This is the next one." in text and second.sha256 in text
    assert "<script>alert" not in text and "onerror=alert(2)>" not in text
    app.text_input(key=f"reason-{second.id}").input("Clear.")
    press(app, "take-accept")
    assert "ferry is accepted. No other take waits." in shown(app)
    with database.reading() as session:
        assert session.exec(select(Material)).one().audio_type == "speech"
    text = shown(visit("takes", token(Role.ANNOTATOR)))
    assert "A word is missing. &lt;script&gt;" in text and "Refused" in text and "Accepted" in text


def heard(app):
    """The page of a take once the models are through with it, however long this machine takes."""
    while "The models listen" in shown(app):
        app.run()
    return app.run()


@pytest.mark.models  # word errors are counted by a package of the extra 'speech'
def test_what_a_model_heard_stands_beside_the_script(visit, token, record, ears):
    ears["ears"] = Ears(Transcribes("model@1", lambda samples, language: "The ferry leaves from pier two"))
    take = record(1)
    text = shown(heard(visit("take", token(Role.ANNOTATOR), id=take.id)))
    assert "<del>three.</del>" in text and "<ins>two</ins>" in text and "17% of the words" in text


def test_without_a_model_the_page_says_why(visit, token, record):
    take = record(1)
    app = heard(visit("take", token(Role.ANNOTATOR), id=take.id))
    assert "no model here" in shown(app) and "Not done" in shown(app)


def test_a_withdrawal_is_previewed_signed_and_told(visit, token, record, database, studio, speaker):
    take = record(1)
    with database.reading() as session:
        pseudonym = session.get(Contributor, speaker).pseudonym
    app = visit("record", token(Role.ANNOTATOR))
    press(app, "speaker-leaving-open")
    assert "1 recording is deleted for good." in shown(app)
    press(app, "withdraw-sign")
    assert "exactly as it is written here" in shown(app) and studio.workspace.originals.exists(take.sha256)
    app.text_input(key=f"withdraw-{pseudonym}").input(pseudonym)
    press(app, "withdraw-sign")
    assert "what was given under it is deleted" in shown(app)
    assert not studio.workspace.originals.exists(take.sha256)
    gone = shown(visit("take", token(Role.ANNOTATOR), id=take.id))
    assert "has withdrawn it" in gone and "/sound" not in gone


def test_the_desk_in_chinese(visit, token, record, database, people, script_id):
    take = record(1, "渡轮", handed_in=False)
    with database.session() as session:
        set_language(session, people[Role.ANNOTATOR].id, "zh")
    text = shown(visit("record", token(Role.ANNOTATOR), script=script_id["渡轮"], take=take.id))
    assert 'lang="zh"' in text and "您的录音" in text and "信噪比" in text and "每字" in text
    text = shown(visit("takes", token(Role.ANNOTATOR)))
    assert "未提交" in text and "Not handed in" not in text


class TestWritingScripts:
    @pytest.fixture
    def write(self, database, annotator, clock):
        def store(text="渡轮三点出发。", language="zh", *more, who=annotator, key=None):
            with database.session() as session:
                written = Written(text, language, *more)
                return session.get(Script, write_script(session, who, key or new_form_key(), written, clock))

        return store

    def test_by_topic_or_by_a_number_of_its_language_and_twice_is_once(self, write, annotator, database):
        named = write("The ferry leaves.", "en", " ferry ", "Scots", "captain")
        assert (named.name, named.text, named.dialect, named.role) == ("ferry", "The ferry leaves.", "Scots", "captain")
        assert named.created_by == annotator.user_id
        key = new_form_key()
        assert [write(f"第{number}句。").name for number in (1, 2)] == ["zh-001", "zh-002"]
        assert write("第三句。", key=key).id == write("第三句。", key=key).id
        with database.reading() as session:
            assert len(session.exec(select(Script)).all()) == 4

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ((" \x00\n", "zh"), NoWords),
            (("x" * (MOST_CHARACTERS + 1), "zh"), NoWords),
            (("Hello.", "no language!"), BadScriptField),
            (("Hello.", "en", "x" * 129), BadScriptField),
            (("Hello.", "en", "taken"), ScriptNameTaken),
        ],
    )
    def test_what_is_no_script_is_told(self, write, fields, error):
        write("Other words.", "en", "taken")
        with pytest.raises(error):
            write(*fields)

    @pytest.mark.parametrize("role", [Role.REVIEWER, Role.PARTICIPANT])
    def test_only_who_records_writes_them(self, write, principal_of, role):
        with pytest.raises(NotAllowed):
            write(who=principal_of(role))

    def test_on_the_page_of_a_project_without_scripts(self, visit, token, studio, seed, database):
        seed.fill_desk(studio.workspace)
        app = visit("record", token(Role.ANNOTATOR))
        press(app, "script-store-0")
        assert "Write what is to be read" in shown(app)
        app.text_area(key="script-text-0").input(ATTACK)
        app.text_input(key="script-topic-0").input("ferry")
        press(app, "script-store-0")
        # Now there is something to read, and the page goes on to who speaks.
        assert "Who speaks?" in shown(app)
        with database.reading() as session:
            script = session.exec(select(Script)).one()
        assert (script.name, script.text, script.language) == ("ferry", ATTACK, "en")
