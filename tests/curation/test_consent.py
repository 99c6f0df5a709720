"""Consents: words that never change, and what a withdrawal takes back, also when it is killed half-way."""

import json
import pickle
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cache

import pytest
from sqlmodel import SQLModel, select
from typer.testing import CliRunner

from core.content import parse_prompt
from core.errors import UnknownName
from core.ids import utc_now
from core.media.guard import Guard
from core.media.limits import DEFAULT_LIMITS
from core.question import AnswerKey, Question, QuestionKind
from curation.entries import Claims, gather
from curation.ingest import ConsentOver, _Ingest, ingest
from curation.recordings import withdrawal
from curation.recordings.agreements import (
    BadConsent,
    BadConsentText,
    ConsentLacking,
    ConsentTextUsed,
    NewConsent,
    get_consent,
    give_consent,
    list_consents,
    list_texts,
    put_text,
    require_consent,
)
from curation.recordings.consent_cli import app
from curation.recordings.contributors import NewContributor, add_contributor
from curation.recordings.deciding import ImpossibleDecision, accept_take
from curation.recordings.listening import NO_EARS
from curation.recordings.recording_cli import app as recording_app
from curation.recordings.scripts import NewScript, add_scripts
from curation.recordings.takes import NewTake, TakeWithdrawn, add_take, check_take
from curation.recordings.withdrawal import WithdrawalReasonMissing, withdraw
from curation.workbench import identify
from warehouse import events
from warehouse.assignments import take as take_lease
from warehouse.blobs import MissingBlob
from warehouse.consents import Scope, consent_problems
from warehouse.fact_kinds import FACT_KINDS
from warehouse.inspection import inspect_blobs
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, add_user
from warehouse.release.build import Recipe, build_release
from warehouse.release.export import export_release
from warehouse.release.manifest import read_manifest
from warehouse.release.records import get_release
from warehouse.release.seal import SealBlocked, SealOrder, seal_release
from warehouse.release.verify import verify_release
from warehouse.tables import (
    AssetPack,
    Assignment,
    AssignmentState,
    Caption,
    CaptionKind,
    CaptionState,
    Consent,
    ContaminationMatch,
    Contributor,
    Decision,
    GoldItem,
    IngestFailure,
    Item,
    ItemState,
    Material,
    MaterialSource,
    MaterialState,
    MaterialTag,
    MaterialWork,
    Privatization,
    PublicQuestion,
    QuestionSet,
    Recording,
    Run,
    Segment,
    Verdict,
)
from warehouse.verdicts import Judgement, record_verdict, settle_round
from warehouse.workspace import open_workspace

TEXTS = {"en": "I agree.", "zh": "我同意。"}


# Tests that between them ask the databases all that this part asks; a fresh PostgreSQL for each test takes long.
ON_BOTH = {
    "test_a_consent_holds_until_its_moment_and_for_its_scope",
    "test_the_whole_story",
    "test_what_was_taken_back_does_not_come_in_again",
    "test_a_film_goes_with_its_sound_and_so_do_copies_of_the_same_bytes",
    "test_look_alikes_are_only_listed",
    "test_no_word_is_left_but_what_the_report_names",
    "test_a_file_whose_consent_ends_while_it_is_examined_is_not_stored",
    "test_the_same_media_in_other_bytes_do_not_come_in_again",
}


def pytest_generate_tests(metafunc):
    if "database_url" in metafunc.fixturenames:
        postgres = [pytest.param("postgresql", marks=pytest.mark.postgres)]
        kinds = ["sqlite", *(postgres if metafunc.function.__name__ in ON_BOTH else [])]
        metafunc.parametrize("database_url", kinds, indirect=True)


@pytest.fixture
def database_url(request, project):
    """As in the parent folder, for this folder's projects."""
    if request.param == "sqlite":
        return f"sqlite:///{project / 'interplay.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def workspace(project, database):
    with open_workspace(project) as opened:
        yield replace(opened, database=database)


@pytest.fixture(scope="module")
def guard():
    with Guard(1, DEFAULT_LIMITS) as opened:
        yield opened


@pytest.fixture
def one_guard(guard, monkeypatch):
    """What would start workers of its own uses the module's: that takes seconds each time."""
    for module in ("curation.ingest", "curation.recordings.takes"):
        monkeypatch.setattr(f"{module}.Guard", lambda workers, limits: nullcontext(guard))


@cache
def _voice(media, seed):
    """Coded, so that the working copy has other bytes than the take."""
    return media.coded_sound(media.voice(seed, 1.0), 16_000, "webm", "libopus", 64_000)


class House:
    """A project in which people record, write questions, review and release."""

    def __init__(self, workspace, guard, clock, media):
        self.workspace, self.guard, self.clock, self.media = workspace, guard, clock, media
        self.database = workspace.database
        with self.database.session() as session:
            add_scripts(session, [NewScript(name="ferry", text="The ferry leaves", language="en")], "ana", clock)
            put_text(session, "1.0", TEXTS, "CC-BY-4.0", "ana", clock)
            for name in ("speaker-07", "speaker-08"):
                add_contributor(session, NewContributor(name, "Sichuan"), "ana", clock)

    def agree(self, contributor="speaker-07", expires_at=None):
        scope = [Scope.VOICE, Scope.PUBLISH]
        with self.database.session() as session:
            return give_consent(session, NewConsent(contributor, "1.0", scope, expires_at), "ana", self.clock)

    def record(self, consent, seed, contributor="speaker-07", accepted=True):
        data = _voice(self.media, seed)
        new = NewTake("ferry", contributor, consent.id)
        recording = add_take(self.workspace, data, new, "ana", guard=self.guard, clock=self.clock).recording
        if not accepted:
            return recording
        return accept_take(
            self.workspace, recording.id, "rita", "for this test", guard=self.guard, clock=self.clock
        ).material

    def write(self, name, material, state=ItemState.ACCEPTED):
        media = {"audio_1": material.media_ref}
        question = Question(
            prompt=parse_prompt(f"What leaves in {name}? <audio_1>", media),
            kind=QuestionKind.OPEN,
            answer=AnswerKey(accepted=("a ferry",)),
            task_type="human_and_animal_recognition",
            language="en",
        )
        draft = Draft(question, {"audio_1": material.id}, "writer-7")
        with self.database.session() as session:
            item, revision = create_item(session, name, draft, clock=self.clock)
            if state != ItemState.DRAFT:
                advance(session, item.id, item.version, Advance(Action.SUBMIT, "writer-7"), self.clock)
            if state == ItemState.ACCEPTED:
                self._pass(session, revision)
        return item

    def revise(self, name, material):
        with self.database.session() as session:
            item = get_item(session, name)
            media = {"audio_1": material.media_ref}
            question = Question(
                prompt=parse_prompt("Another? <audio_1>", media),
                kind=QuestionKind.OPEN,
                answer=AnswerKey(accepted=("a ferry",)),
                task_type="human_and_animal_recognition",
                language="en",
            )
            revise_item(session, item, item.version, Draft(question, {"audio_1": material.id}, "writer-7"), self.clock)

    def _pass(self, session, revision):
        for number in (1, 2, 3):
            decider = "judge-7" if number == 3 else f"check_{number}@1"
            judgement = Judgement(number, decider, by_person=number == 3, decision=Decision.PASS)
            settle_round(session, revision, record_verdict(session, revision, judgement, self.clock), self.clock)

    def release(self, version):
        build_release(self.database, "zoo", version, Recipe(), "max", self.clock)
        seal_release(self.database, self.workspace.blobs, SealOrder("zoo", version, "max"), self.clock)
        with self.database.reading() as session:
            return read_manifest(
                self.workspace.blobs.get(get_release(session, "zoo", version).manifest_sha256), version
            )

    def withdraw(self, consent, **options):
        return withdraw(self.workspace, consent.id, "asked by mail", "max", clock=self.clock, **options)

    def states(self):
        with self.database.reading() as session:
            return {item.name: item.state.value for item in session.exec(select(Item))}

    def stored(self):
        """All that lies in the stores: working copies and sealed originals."""
        root = self.workspace.project.root / "blobs"
        return {path.name for path in root.rglob("*") if path.is_file()}

    def material(self, material):
        with self.database.reading() as session:
            return session.get(Material, material.id)


@pytest.fixture
def house(workspace, guard, clock, media):
    return House(workspace, guard, clock, media)


# Words and consents.


def test_words_can_be_mended_until_somebody_agreed_to_them(shared_database, clock):
    with shared_database.session() as session:
        put_text(session, "1.0", {"en": "I aggree.", "zh": "我同意。"}, None, "ana", clock)
        put_text(session, "1.0", TEXTS, "CC-BY-4.0", "ana", clock)
        add_contributor(session, NewContributor("speaker-07"), "ana", clock)
        give_consent(session, NewConsent("speaker-07", "1.0", [Scope.VOICE]), "ana", clock)
        put_text(session, "1.0", TEXTS, "CC-BY-4.0", "ana", clock)
        for texts, licence in ((TEXTS | {"en": "I agree to all."}, "CC-BY-4.0"), (TEXTS, "MIT")):
            with pytest.raises(ConsentTextUsed):
                put_text(session, "1.0", texts, licence, "ana", clock)
        assert [one.texts for one in list_texts(session)] == [TEXTS]


@pytest.mark.parametrize("texts", [{"en": "I agree."}, {"en": "I agree.", "zh": " "}, {}])
def test_words_are_there_in_both_languages(shared_database, clock, texts):
    with shared_database.session() as session, pytest.raises(BadConsentText, match="zh"):
        put_text(session, "1.0", texts, None, "ana", clock)


def test_a_consent_covers_something_and_has_not_ended(house):
    with house.database.session() as session:
        with pytest.raises(BadConsent, match="voice"):
            give_consent(session, NewConsent("speaker-07", "1.0", []), "ana", house.clock)
        with pytest.raises(BadConsent, match="has ended already"):
            give_consent(session, NewConsent("speaker-07", "1.0", [Scope.VOICE], house.clock()), "ana", house.clock)
        with pytest.raises(UnknownName, match="consent text"):
            give_consent(session, NewConsent("speaker-07", "2.0", [Scope.VOICE]), "ana", house.clock)
        with pytest.raises(UnknownName, match="contributor"):
            give_consent(session, NewConsent("nobody-00", "1.0", [Scope.VOICE]), "ana", house.clock)


def test_a_consent_holds_until_its_moment_and_for_its_scope(house):
    ends = house.clock() + timedelta(days=1)
    consent = house.agree(expires_at=ends)
    require_consent(consent, [Scope.VOICE, Scope.PUBLISH], ends - timedelta(seconds=1))
    with pytest.raises(ConsentLacking, match="ended on 2026-01-02"):
        require_consent(consent, [Scope.VOICE], ends)
    assert list(consent_problems(consent, [Scope.TRAIN, Scope.VOICE, Scope.FACE], ends)) == [
        f"consent {consent.id} covers publish, voice, not train and face",
        f"consent {consent.id} ended on 2026-01-02",
    ]
    standing = house.agree()
    with house.database.reading() as session:
        assert [one.id for one, _ in list_consents(session, ended_before=ends)] == [consent.id]
        assert {one.id for one, _ in list_consents(session, "speaker-07")} == {consent.id, standing.id}
        assert list_consents(session, "speaker-08") == []


# Withdrawal.


def test_a_dry_run_tells_everything_and_changes_nothing(house):
    consent = house.agree()
    voice = house.record(consent, 1)
    house.write("ferry-1", voice)
    house.release("1.0.0")
    stored, states = house.stored(), house.states()
    report = house.withdraw(consent, dry_run=True)
    assert report.touched["materials"] == [voice.sha256]
    assert report.touched["items"] == [{"name": "ferry-1", "state": "released", "step": "retire", "now": True}]
    assert (house.stored(), house.states()) == (stored, states)
    with house.database.reading() as session:
        assert get_consent(session, consent.id).withdrawn_at is None
    with pytest.raises(WithdrawalReasonMissing):
        withdraw(house.workspace, consent.id, " ", "max")


def test_the_whole_story(house, tmp_path):
    """Two voices; one is taken back. What was the other's stays as it was."""
    mine, theirs = house.agree(), house.agree("speaker-08")
    voice, other = house.record(mine, 1), house.record(theirs, 2, "speaker-08")
    waiting = house.record(mine, 3, accepted=False)
    for name, material, state in (
        ("released", voice, ItemState.ACCEPTED),
        ("kept", other, ItemState.ACCEPTED),
    ):
        house.write(name, material, state)
    first = house.release("1.0.0")
    assert {row.qid for row in first.rows} == {"released", "kept"}
    export_release(house.database, house.workspace.blobs, "zoo", "1.0.0", "jsonl", tmp_path / "one", house.clock)
    house.write("accepted", voice, ItemState.ACCEPTED)
    house.write("submitted", voice, ItemState.SUBMITTED)
    house.write("draft", voice, ItemState.DRAFT)
    house.write("moved-on", voice, ItemState.SUBMITTED)
    house.revise("moved-on", other)
    build_release(house.database, "zoo", "1.0.1", Recipe(), "max", house.clock)
    kept = {other.media_ref.sha256, other.sha256} | {
        name for name in house.stored() if name not in {voice.sha256, voice.media_ref.sha256, waiting.sha256}
    }
    _describe(house, voice, other)

    report = house.withdraw(mine)

    assert report.now
    assert sorted(report.touched["recordings"])[-1] == waiting.id
    assert {one["name"]: (one["step"], one["now"]) for one in report.touched["items"]} == {
        "released": ("retire", True),
        "accepted": ("retire", True),
        "submitted": ("return", True),
        "draft": (None, True),
        "moved-on": (None, False),
    }
    assert [(one["version"], one["state"]) for one in report.touched["releases"]] == [
        ("1.0.0", "sealed"),
        ("1.0.1", "built"),
    ]
    (export,) = report.touched["releases"][0]["exports"]
    assert export["folder"] == str((tmp_path / "one").resolve())
    assert report.touched["packs"] == ["pack"]
    assert (report.leases, report.gold) == (1, 1)
    assert report.facts == {"embedding": 1, "response": 1}
    json.dumps(report.touched)

    assert house.states() == {
        "released": "retired",
        "accepted": "retired",
        "submitted": "returned",
        "draft": "draft",
        "moved-on": "submitted",
        "kept": "released",
    }
    assert house.stored() == kept, "what was taken back is gone from every store, and nothing else"
    assert not list(house.workspace.project.thumbnail_folder.rglob("*.png"))
    assert not house.workspace.project.search_folder.exists()
    _nothing_is_left(house, voice, mine)
    assert house.material(other).audio_content == "The ferry leaves"
    assert inspect_blobs(house.database, house.workspace.blobs, house.workspace.originals).problems == []
    verified = verify_release(house.database, house.workspace.blobs, "zoo", "1.0.0")
    assert (verified.damages, verified.withdrawn) == ([], [voice.media_ref.sha256])

    second = house.release("1.1.0")
    assert [row.qid for row in second.rows] == ["kept"]
    assert [stone.qid for stone in second.tombstones] == ["released"]
    assert second.tombstones[0].media == (voice.media_ref.sha256,)


def _describe(house, voice, other):
    """What models, people and the studio keep of both voices."""
    for material in (voice, other):
        picture = house.workspace.project.thumbnail_folder / material.media_ref.sha256[:2]
        picture.mkdir(parents=True, exist_ok=True)
        if material is voice:
            (picture / f"{material.media_ref.sha256}.png").write_bytes(b"a waveform")
    house.workspace.project.search_folder.mkdir(parents=True)
    (house.workspace.project.search_folder / "index.db").write_bytes(b"the ferry leaves")
    with house.database.session() as session:
        item = get_item(session, "submitted")
        user = add_user(session, "rita", frozenset({Role.REVIEWER}), actor="max")
        take_lease(session, user.id, "review", [f"{item.current_revision_id}/1"], clock=house.clock)
        session.add(
            GoldItem(revision_id=get_item(session, "accepted").current_revision_id, decision="pass", added_by="max")
        )
        for material in (voice, other):
            session.add(
                Caption(
                    material_id=material.id, kind=CaptionKind.TRANSCRIPT, language="en", text="the ferry leaves",
                    state=CaptionState.ACCEPTED, author="mei", by_person=True,
                )
            )  # fmt: skip
        run_id = house.material(voice).run_id
        release = get_release(session, "zoo", "1.0.0")
        session.add(AssetPack(name="pack", release_id=release.id, manifest_sha256="0" * 64, run_id=run_id))
        session.add(AssetPack(name="elsewhere", manifest_sha256="0" * 64, run_id=run_id))
    now = utc_now().isoformat()
    with house.workspace.facts.writer("embedding", run_id) as writer:
        for material in (voice, other):
            row = {"subject": material.media_ref.sha256, "embedder": "e@1", "vector": [1.0], "recorded_at": now}
            writer.add(row)
    with house.workspace.facts.writer("response", run_id) as writer:
        columns = dict.fromkeys(writer._columns)
        for material in (voice, other):
            writer.add({**columns, "key": material.id, "item_name": material.id, "answer": "ferry", "recorded_at": now})


def _nothing_is_left(house, voice, consent):
    with house.database.reading() as session:
        material = session.get(Material, voice.id)
        assert material.state == MaterialState.WITHDRAWN
        assert (material.audio_content, material.looks) == (None, {})
        assert session.exec(select(Segment).where(Segment.material_id == voice.id)).all() == []
        (caption,) = session.exec(select(Caption).where(Caption.material_id == voice.id))
        assert (caption.text, caption.state) == ("[withdrawn]", CaptionState.REJECTED)
        (source,) = session.exec(select(MaterialSource).where(MaterialSource.material_id == voice.id))
        assert (source.author, source.consent_id) == (None, consent.id)
        told = json.dumps([one.detail for one in events.history(session, "material", voice.id)])
        decisions = [event for one in _takes(session, consent) for event in events.history(session, "recording", one)]
        assert {one.detail["why"] for one in decisions if one.action == "accept"} == {"[withdrawn]"}
        assert "The ferry leaves" not in told
        assert "speaker-07" not in told
        recordings = session.exec(select(Recording).where(Recording.consent_id == consent.id)).all()
        assert [(one.checks, one.device, one.accepted) for one in recordings] == [({}, None, True), ({}, None, False)]
        assert {one.decided_why for one in recordings} == {"withdrawn"}
        person = session.get(Contributor, consent.contributor_id)
        assert (person.pseudonym, person.dialect) == ("speaker-07", None)
        assert {one.state for one in session.exec(select(Assignment))} == {AssignmentState.RELEASED}
        assert {one.active for one in session.exec(select(GoldItem))} == {False}
        actions = [one.action for one in events.history(session, "consent", consent.id)]
        assert actions == ["give", "store", "store", "store", "withdraw", "erase"]


def _takes(session, consent):
    return session.exec(select(Recording.id).where(Recording.consent_id == consent.id)).all()


SECRET = "Zanzibar"


def _repeat_everywhere(session, voice, run_id):
    """What was said in a voice, wherever people, models and filters can have repeated it."""
    now = utc_now().isoformat()
    revision_id = get_item(session, "ferry-1").current_revision_id
    about = {"material_id": voice.id, "run_id": run_id}
    match = {"index_name": "i", "index_sha256": "0" * 64, "benchmark": "b", "entry": "q", "kind": "words", "score": 1}
    question_set = QuestionSet(name="public", format="x", origin="x", sha256="0" * 64, run_id=run_id)
    session.add(question_set)
    session.flush()
    public = PublicQuestion(set_id=question_set.id, qid="1", content_hash="0" * 64)
    session.add(public)
    session.flush()
    for row in (
        Segment(start_s=0, end_s=1, text=SECRET, made_by="asr@1", **about),
        MaterialWork(work="judge", maker="x@1", failure=SECRET, result={"heard": SECRET}, **about),
        MaterialTag(facet="free", value=SECRET, by_person=False, author="tagger@1", **about),
        IngestFailure(origin=f"recording:{_recording_of(session, voice)}", reason="x", message=SECRET, run_id=run_id),
        Privatization(public_question_id=public.id, item_id=get_item(session, "ferry-1").id, note=SECRET, created_by="m"),
        Caption(
            material_id=voice.id, kind=CaptionKind.TRANSCRIPT, language="en", text=SECRET, author="mei", by_person=True
        ),
        Verdict(
            revision_id=revision_id, round=1, by_person=False, decider="c@2", decision=Decision.PASS,
            idempotency_key="k", comment=SECRET, evidence={"answer": SECRET},
        ),
        *(
            ContaminationMatch(subject_kind=kind, subject_id=id_, evidence={"ours": SECRET}, run_id=run_id, **match)
            for kind, id_ in (("material", voice.id), ("revision", revision_id))
        ),
    ):  # fmt: skip
        session.add(row)
        session.flush()
        if isinstance(row, ContaminationMatch) and row.subject_kind == "material":
            events.record(session, "max", "contamination_match", row.id, "clear", utc_now, reason=SECRET)
    material = session.get(Material, voice.id)
    material.measures = material.measures | {"any-own@1": {"drop": "x", "class": "illogical", "fault": SECRET}}
    material.audio_content = SECRET
    session.add(material)
    events.record(session, "max", "material", voice.id, "describe", utc_now, audio_content=SECRET)
    return [
        {"key": "asked", "item_name": voice.id, "revision_id": voice.id, "answer": SECRET, "recorded_at": now},
        {"key": "solved", "item_name": "ferry-1", "revision_id": revision_id, "answer": SECRET, "recorded_at": now},
    ]


def _recording_of(session, material):
    return session.exec(select(Recording.id).where(Recording.material_id == material.id)).one()


def _grade(key, reason):
    grade = {"response_key": key, "grader": "judge@1", "points": 1.0, "step_points": [], "reason": reason}
    return grade | {"recorded_at": utc_now().isoformat()}


def _where_it_says(house, word):
    """Tables and kinds of facts in which a word stands."""
    found = set()
    with house.database.reading() as session:
        for table in SQLModel.metadata.sorted_tables:
            if any(word in json.dumps(list(row), default=str) for row in session.execute(table.select())):
                found.add(table.name)
    for kind in FACT_KINDS:
        facts = house.workspace.facts
        if any(word in str(facts.read(kind, path).to_pylist()) for path in facts.files(kind)):
            found.add(kind)
    return found


def test_no_word_is_left_but_what_the_report_names(house, monkeypatch):
    consent = house.agree()
    voice = house.record(consent, 1)
    house.write("ferry-1", voice)
    run_id = house.material(voice).run_id
    with house.database.session() as session:
        answers = _repeat_everywhere(session, voice, run_id)
        add_user(session, "max", frozenset({Role.MAINTAINER}), actor="max")
    with house.workspace.facts.writer("response", run_id) as writer:
        for answer in answers:
            writer.add(dict.fromkeys(writer._columns) | answer)
    with house.workspace.facts.writer("grade", run_id) as writer:
        writer.add(_grade("asked", f"it says {SECRET}"))
        writer.add(_grade("solved", f"it says {SECRET}"))
    before = _where_it_says(house, SECRET)
    stay = {"contamination_match", "grade", "privatization", "response", "verdict"}
    assert before == stay | {
        "caption", "event", "ingest_failure", "material", "material_tag", "material_work", "segment",
    }  # fmt: skip

    @contextmanager
    def opened(_):
        yield house.workspace

    monkeypatch.setattr("curation.recordings.consent_cli.open_workspace", opened)

    def call(*arguments):
        result = CliRunner().invoke(app, ["withdraw", consent.id, "--reason", "mail", "--by", "max", *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    dry = json.loads(call("--dry-run", "--json"))
    assert _where_it_says(house, SECRET) == before
    report = json.loads(call("--json"))
    assert report["facts"] == {"response": 1, "grade": 1}
    assert _where_it_says(house, SECRET) == stay
    rows = {one["what"]: one["rows"] for one in report["kept"]}
    assert rows == {
        "item_revision": 1, "verdict": 4, "contamination_match": 1, "privatization": 1, "response": 1, "grade": 1,
        "script": 1,
    }  # fmt: skip
    assert {one["what"]: one["rows"] for one in dry["kept"]} == rows
    assert "kept: grade (1): published results rest on them" in call()


def test_answers_stay_until_their_grades_can_be_found_by_them(house):
    consent = house.agree()
    voice = house.record(consent, 1)
    run_id, now = house.material(voice).run_id, utc_now().isoformat()
    with house.workspace.facts.writer("response", run_id) as writer:
        writer.add(dict.fromkeys(writer._columns) | {"key": "asked", "item_name": voice.id, "recorded_at": now})
    with house.workspace.facts.writer("grade", run_id) as writer:
        writer.add(_grade("asked", SECRET))
        first = house.withdraw(consent)
    assert (first.unfinished, first.facts) == (["another command writes facts (grade)"], {})
    second = house.withdraw(consent)
    assert (second.unfinished, second.facts) == ([], {"grade": 1, "response": 1})
    assert _where_it_says(house, SECRET) == set()


def test_the_names_of_files_go_out_of_what_runs_remember(house, one_guard, tmp_path):
    consent = house.agree()
    (tmp_path / "jane").mkdir()
    (tmp_path / "jane" / "doe.webm").write_bytes(_voice(house.media, 1))
    (tmp_path / "other.webm").write_bytes(_voice(house.media, 2))
    places = [tmp_path / "jane", tmp_path / "other.webm"]
    entries = gather(places[:1], Claims(consent_id=consent.id))[0] + gather(places[1:], Claims(licence="MIT"))[0]
    ingest(house.workspace, entries, called_with={"paths": [str(one) for one in places]})
    house.withdraw(consent)
    with house.database.reading() as session:
        (run,) = session.exec(select(Run).where(Run.command == "material ingest"))
        assert run.settings["paths"] == ["[withdrawn]", str(places[1])]


def test_what_another_command_writes_at_the_moment_is_told_and_done_by_the_next_call(house):
    consent = house.agree()
    voice = house.record(consent, 1)
    with house.workspace.facts.writer("embedding", house.material(voice).run_id) as writer:
        now = utc_now().isoformat()
        writer.add({"subject": voice.media_ref.sha256, "embedder": "e@1", "vector": [1.0], "recorded_at": now})
        first = house.withdraw(consent)
        assert (first.unfinished, first.facts) == (["another command writes facts (embedding)"], {})
        (problem,) = inspect_blobs(house.database, house.workspace.blobs, house.workspace.originals).problems
        assert problem.startswith(f"consent {consent.id}: was withdrawn, and not all is erased yet")
    assert house.withdraw(consent).facts == {"embedding": 1}
    assert inspect_blobs(house.database, house.workspace.blobs, house.workspace.originals).problems == []


def test_again_changes_nothing(house):
    consent = house.agree()
    house.write("ferry-1", house.record(consent, 1))
    house.withdraw(consent)
    with house.database.reading() as session:
        before = len(events.history(session, "consent", consent.id)), get_consent(session, consent.id).withdrawn_at
    house.clock.advance(days=1)
    again = house.withdraw(consent)
    assert (again.now, again.blobs, again.facts, again.forgotten) == (False, 0, {}, {})
    assert [one["step"] for one in again.touched["items"]] == [None]
    with house.database.reading() as session:
        assert before == (
            len(events.history(session, "consent", consent.id)),
            get_consent(session, consent.id).withdrawn_at,
        )


@pytest.mark.parametrize("killed_after", [0, 1])
def test_killed_between_rows_and_bytes_the_same_call_goes_on(house, monkeypatch, killed_after):
    consent = house.agree()
    voice = house.record(consent, 1)
    erase, calls = withdrawal._erase, []

    def dies(workspace, sha256):
        if len(calls) == killed_after:
            raise KeyboardInterrupt
        calls.append(sha256)
        return erase(workspace, sha256)

    monkeypatch.setattr(withdrawal, "_erase", dies)
    with pytest.raises(KeyboardInterrupt):
        house.withdraw(consent)
    monkeypatch.undo()
    assert house.material(voice).state == MaterialState.WITHDRAWN
    assert house.stored()
    problems = inspect_blobs(house.database, house.workspace.blobs, house.workspace.originals).problems
    assert problems
    assert all("run 'interplay consent withdraw' again" in one for one in problems)

    report = house.withdraw(consent)
    assert (report.now, report.blobs) == (False, 2 - killed_after)
    assert house.stored() == set()
    assert inspect_blobs(house.database, house.workspace.blobs, house.workspace.originals).problems == []


@pytest.mark.parametrize("service", ["takes", "deciding"])
def test_bytes_that_were_stored_by_a_process_that_died_before_the_rows_go_too(house, monkeypatch, service):
    consent = house.agree()
    if service == "deciding":
        recording = house.record(consent, 1, accepted=False)

    def dies(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"curation.recordings.{service}.{'_store' if service == 'takes' else '_accept'}", dies)
    with pytest.raises(KeyboardInterrupt):
        if service == "takes":
            house.record(consent, 1)
        else:
            accept_take(house.workspace, recording.id, "rita", "for this test", guard=house.guard, clock=house.clock)
    monkeypatch.undo()
    assert len(house.stored()) == (1 if service == "takes" else 2)
    house.withdraw(consent)
    assert house.stored() == set()


def test_killed_before_the_rows_are_written_nothing_happened(house, monkeypatch):
    consent = house.agree()
    voice = house.record(consent, 1)
    stored = house.stored()

    def dies(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(withdrawal, "forget_words", dies)
    with pytest.raises(KeyboardInterrupt):
        house.withdraw(consent)
    assert house.stored() == stored
    assert house.material(voice).state == MaterialState.KEPT
    with house.database.reading() as session:
        assert get_consent(session, consent.id).withdrawn_at is None


def test_what_was_taken_back_does_not_come_in_again(house, one_guard, tmp_path):
    consent = house.agree()
    voice = house.record(consent, 1)
    data = house.workspace.originals.get(voice.sha256)
    with house.database.reading() as session:
        (recording,) = session.exec(select(Recording))
    house.withdraw(consent)
    with pytest.raises(ConsentLacking):
        add_take(house.workspace, data, NewTake("ferry", "speaker-07", consent.id), "ana", guard=house.guard)
    with pytest.raises(TakeWithdrawn, match="under a new consent"):
        add_take(house.workspace, data, NewTake("ferry", "speaker-07", house.agree().id), "ana", guard=house.guard)
    (tmp_path / "again.webm").write_bytes(data)
    entries, rejected = gather([tmp_path / "again.webm"], Claims())
    assert ingest(house.workspace, entries, rejected).counts["failed"] == 1
    assert house.stored() == set()
    assert recording.sha256 == voice.sha256
    (tmp_path / "new.wav").write_bytes(house.media.wav(house.media.voice(9)))
    entries, _ = gather([tmp_path / "new.wav"], Claims(consent_id=consent.id))
    with pytest.raises(ConsentOver, match="was withdrawn on"):
        ingest(house.workspace, entries, clock=house.clock)
    assert house.stored() == set()


@pytest.mark.parametrize("way", ["withdrawn", "ended"])
def test_a_file_whose_consent_ends_while_it_is_examined_is_not_stored(house, guard, monkeypatch, tmp_path, way):
    consent = house.agree(expires_at=house.clock() + timedelta(days=1))

    class Slow:
        def run(self, *arguments):
            examination = guard.run(*arguments)
            if way == "withdrawn":
                house.withdraw(consent)
            else:
                house.clock.advance(days=2)
            return examination

    monkeypatch.setattr("curation.ingest.Guard", lambda workers, limits: nullcontext(Slow()))
    (tmp_path / "voice.webm").write_bytes(_voice(house.media, 1))
    entries, _ = gather([tmp_path / "voice.webm"], Claims(consent_id=consent.id))
    report = ingest(house.workspace, entries, clock=house.clock)
    assert (report.taken, [one.reason for one in report.rejected]) == ([], ["consent_over"])
    assert f"consent {consent.id} {'was withdrawn' if way == 'withdrawn' else 'ended'} on" in report.rejected[0].message
    assert house.stored() == set()
    with house.database.reading() as session:
        assert session.exec(select(Material)).all() == []
        (failure,) = session.exec(select(IngestFailure)).all()
    assert failure.reason == "consent_over"


def test_a_consent_that_is_withdrawn_while_files_are_read_adds_nothing_to_what_is_known(
    house, one_guard, monkeypatch, tmp_path
):
    consent = house.agree()
    (tmp_path / "voice.webm").write_bytes(_voice(house.media, 1))
    entries, _ = gather([tmp_path / "voice.webm"], Claims(licence="MIT"))
    assert ingest(house.workspace, entries).counts["new"] == 1
    stored = house.stored()

    def slow(entry, limits):
        house.withdraw(consent)
        return identify(entry, limits)

    monkeypatch.setattr("curation.ingest.identify", slow)
    entries, _ = gather([tmp_path / "voice.webm"], Claims(consent_id=consent.id, author="jane"))
    report = ingest(house.workspace, entries, clock=house.clock)
    assert [one.reason for one in report.rejected] == ["consent_over"]
    with house.database.reading() as session:
        (source,) = session.exec(select(MaterialSource))
    assert (source.author, source.consent_id, house.stored()) == (None, None, stored)


def test_a_material_that_is_withdrawn_while_its_file_is_read_again_gets_no_source(
    house, one_guard, monkeypatch, tmp_path
):
    consent = house.agree()
    (tmp_path / "voice.webm").write_bytes(_voice(house.media, 1))
    entries, _ = gather([tmp_path / "voice.webm"], Claims(consent_id=consent.id))
    ingest(house.workspace, entries, clock=house.clock)
    settled = _Ingest._settled

    def slow(self, digests):
        found = settled(self, digests)
        house.withdraw(consent)
        return found

    monkeypatch.setattr(_Ingest, "_settled", slow)
    (tmp_path / "jane.webm").write_bytes(_voice(house.media, 1))
    entries, _ = gather([tmp_path / "jane.webm"], Claims(licence="MIT", author="jane"))
    report = ingest(house.workspace, entries, clock=house.clock)
    assert [one.reason for one in report.rejected] == ["withdrawn"]
    with house.database.reading() as session:
        (source,) = session.exec(select(MaterialSource))
    assert (source.author, house.stored()) == (None, set())


@pytest.mark.parametrize("way", ["withdrawn", "ended"])
def test_a_take_whose_consent_ends_while_it_is_decoded_is_not_accepted(house, monkeypatch, way):
    consent = house.agree(expires_at=house.clock() + timedelta(days=1))
    recording = house.record(consent, 1, accepted=False)
    run = house.guard.run

    def slow(*arguments):
        examination = run(*arguments)
        if way == "withdrawn":
            house.withdraw(consent)
        else:
            house.clock.advance(days=2)
        return examination

    monkeypatch.setattr(house.guard, "run", slow)
    with pytest.raises(ConsentLacking if way == "ended" else ImpossibleDecision):
        accept_take(house.workspace, recording.id, "rita", "for this test", guard=house.guard, clock=house.clock)
    assert house.stored() == ({recording.sha256} if way == "ended" else set())
    with house.database.reading() as session:
        assert session.exec(select(Material)).all() == []


def test_the_same_media_in_other_bytes_do_not_come_in_again(house, one_guard, tmp_path):
    """A title, another picture around the same sound: the working copies would be those that were withdrawn."""
    consent = house.agree()
    media, sound = house.media, house.media.voice(1, 2.0)
    scenes, others = media.cartoon(1, 2, 5, (160, 120)), media.cartoon(2, 2, 5, (160, 120))
    (tmp_path / "film.mp4").write_bytes(media.film(scenes, 5, sound=sound))
    entries, _ = gather([tmp_path / "film.mp4"], Claims(consent_id=consent.id))
    ingest(house.workspace, entries, clock=house.clock)
    house.withdraw(consent)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "titled.mp4").write_bytes(media.film(scenes, 5, sound=sound, metadata={"title": "a title"}))
    (tmp_path / "again" / "other.mp4").write_bytes(media.film(others, 5, sound=sound))
    entries, _ = gather([tmp_path / "again"], Claims(licence="MIT"))
    report = ingest(house.workspace, entries)
    assert (report.taken, [one.reason for one in report.rejected]) == ([], ["withdrawn"] * 2)
    assert house.stored() == set()


def test_a_film_goes_with_its_sound_and_so_do_copies_of_the_same_bytes(house, one_guard, tmp_path):
    """Of an ingested film only its sound has a voice; its sealed original holds both."""
    consent = house.agree()
    media = house.media
    scenes, sound = media.cartoon(1, 2, 5, (160, 120)), media.voice(1, 2.0)
    film = media.film(scenes, 5, sound=sound)
    tagged = media.film(scenes, 5, sound=sound, metadata={"title": "the same with a title"})
    for name, data in (("film.mp4", film), ("tagged.mp4", tagged)):
        (tmp_path / name).write_bytes(data)
    claims = {
        "film.mp4": Claims(consent_id=consent.id, audio_content="my name is"),
        "tagged.mp4": Claims(licence="MIT"),
    }
    for name, claim in claims.items():
        entries, rejected = gather([tmp_path / name], claim)
        assert ingest(house.workspace, entries, rejected).counts["failed"] == 0
    with house.database.reading() as session:
        rows = session.exec(select(Material)).all()
    assert sorted(one.modality for one in rows) == ["audio", "video", "video"]
    report = house.withdraw(consent)
    assert sorted(report.touched["materials"]) == sorted(one.sha256 for one in rows)
    assert house.stored() == set()
    with house.database.reading() as session:
        assert {one.state for one in session.exec(select(Material))} == {MaterialState.WITHDRAWN}


def test_look_alikes_are_only_listed(house, one_guard, tmp_path):
    consent = house.agree()
    voice = house.record(consent, 1)
    # The same voice from elsewhere, coded otherwise: for a person to look at.
    (tmp_path / "copy.ogg").write_bytes(
        house.media.coded_sound(house.media.voice(1, 1.0), 16_000, "ogg", "libopus", 96_000)
    )
    entries, rejected = gather([tmp_path / "copy.ogg"], Claims(licence="MIT"))
    (copy,) = ingest(house.workspace, entries, rejected).taken
    report = house.withdraw(consent)
    assert report.touched["look_alikes"] == [copy.sha256]
    assert report.touched["materials"] == [voice.sha256]
    assert copy.sha256 in house.stored()


def test_the_facts_of_a_person_stay_while_another_consent_stands(house):
    first, second = house.agree(), house.agree()
    house.withdraw(first)
    with house.database.reading() as session:
        assert session.get(Contributor, first.contributor_id).dialect == "Sichuan"
    house.withdraw(second)
    with house.database.reading() as session:
        assert session.get(Contributor, first.contributor_id).dialect is None


def test_nothing_is_stored_of_a_take_that_is_taken_back_while_models_listen(house, monkeypatch):
    consent = house.agree()
    recording = house.record(consent, 1, accepted=False)
    run = house.guard.run

    def withdraw_first(*arguments):
        found = run(*arguments)
        with house.database.session() as session:
            session.get(Consent, consent.id).withdrawn_at = house.clock()
        return found

    monkeypatch.setattr(house.guard, "run", withdraw_first)
    with pytest.raises(TakeWithdrawn):
        check_take(house.workspace, recording.id, NO_EARS, guard=house.guard)


def test_an_expired_consent_stops_the_next_release(house):
    consent = house.agree(expires_at=house.clock() + timedelta(days=1))
    house.write("ferry-1", house.record(consent, 1))
    house.clock.advance(days=2)
    with pytest.raises(SealBlocked, match="ended on 2026-01-02"):
        house.release("1.0.0")


def test_the_command_line_tells_the_same_to_people_and_programs(project, guard, media, signed_on):
    signed_on(project, "max")
    with open_workspace(project) as workspace:
        house = House(workspace, guard, utc_now, media)
        consent = house.agree(expires_at=utc_now() + timedelta(days=1))
        voice = house.record(consent, 1)
        house.write("ferry-1", voice)
        house.release("1.0.0")

    def call(*arguments):
        result = CliRunner().invoke(app, [*arguments, "--project", str(project)])
        assert result.exit_code == 0, result.output
        return result.output

    assert json.loads(call("list", "--json"))[0]["state"] == "standing"
    assert json.loads(call("list", "--expired", "--json")) == []
    assert "nothing was written" in call("withdraw", consent.id, "--reason", "mail", "--dry-run")
    assert f"material {voice.sha256[:12]}: audio, kept: given under this consent (recording:" in call(
        "withdraw", consent.id, "--reason", "mail", "--dry-run"
    )
    text = call("withdraw", consent.id, "--reason", "mail")
    assert "item ferry-1: released, retire" in text
    assert "release zoo 1.0.0 (sealed) holds ferry-1" in text
    assert text.splitlines()[-1].startswith("withdrawn: 2 files")
    assert not json.loads(call("withdraw", consent.id, "--reason", "mail", "--json"))["now"]
    assert json.loads(call("list", "--json"))[0]["state"] == "withdrawn"


def test_a_dry_run_says_why_each_goes_and_who_else_brought_it(project, guard, media, signed_on, one_guard, tmp_path):
    signed_on(project, "max")
    with open_workspace(project) as workspace:
        house = House(workspace, guard, utc_now, media)
        consent = house.agree()
        recording = house.record(consent, 1, accepted=False)
        (tmp_path / "elsewhere.wav").write_bytes(workspace.originals.get(recording.sha256))
        entries, _ = gather([tmp_path / "elsewhere.wav"], Claims(licence="MIT", author="Ana Lin", source="a fair"))
        (taken,) = ingest(workspace, entries).taken
    arguments = ["withdraw", consent.id, "--reason", "mail", "--by", "max", "--dry-run", "--project", str(project)]
    told = CliRunner().invoke(app, arguments).output.splitlines()
    place = told.index(f"material {taken.sha256[:12]}: audio, kept: the same bytes were given under this consent")
    assert told[place + 1].startswith("  somebody else brought it too: ")
    assert told[place + 1].endswith("elsewhere.wav (author Ana Lin, source a fair)")


def test_nobody_is_told_to_restore_what_was_withdrawn(project, guard, media, signed_on):
    signed_on(project, "max")
    with open_workspace(project) as workspace:
        house = House(workspace, guard, utc_now, media)
        consent = house.agree()
        waiting = house.record(consent, 1, accepted=False)
        voice = house.record(consent, 2)
        house.withdraw(consent)
        for store, sha256 in ((workspace.originals, waiting.sha256), (workspace.blobs, voice.media_ref.sha256)):
            for read in (store.get, store.open, store.verify):
                with pytest.raises(MissingBlob, match=r"was withdrawn on .* do not restore it"):
                    read(sha256)
        with pytest.raises(MissingBlob, match="restore it from a backup"):
            workspace.blobs.get("0" * 64)
        assert pickle.loads(pickle.dumps(workspace.blobs)).url == workspace.blobs.url
    told = CliRunner().invoke(recording_app, ["check", waiting.id, "--project", str(project)])
    assert isinstance(told.exception, TakeWithdrawn)
    assert re.search(r"was withdrawn on \d{4}-\d\d-\d\d; there is nothing to check", str(told.exception))
