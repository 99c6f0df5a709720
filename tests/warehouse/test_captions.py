import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from core.content import MediaRef
from warehouse import events
from warehouse.caption_files import BadCaptionFile, import_lines, line_of, read_lines, write_lines
from warehouse.caption_search import (
    Search,
    find_captions,
    get_material,
    versions_of,
)
from warehouse.caption_texts import accepted_texts, whose
from warehouse.captions import (
    BadLanguage,
    Proposal,
    StaleCaption,
    UnusableText,
    accept_all,
    accept_caption,
    edit_caption,
    propose_caption,
    reject_caption,
    write_caption,
)
from warehouse.handles import UnknownId
from warehouse.people import NotAllowed, Role, add_user
from warehouse.tables import Caption, CaptionKind, CaptionState, Event, Material, User

PROPOSED, ACCEPTED, SUPERSEDED, REJECTED = CaptionState


class Studio:
    """Pictures, a sound, people of each role, and short ways to let them act."""

    def __init__(self, database, run_id, clock) -> None:
        self.database, self.run_id, self.clock, self.proposals = database, run_id, clock, 0
        with database.session() as session:
            for name, role in (("ann", Role.ANNOTATOR), ("rita", Role.REVIEWER), ("max", Role.MAINTAINER)):
                add_user(session, name, frozenset({role}), actor="test")
            add_user(session, "pat", frozenset({Role.PARTICIPANT}), actor="test")
        self.image, self.sound = self.material("image", "1"), self.material("audio", "2")

    def material(self, modality: str, digit: str, **more) -> Material:
        media = MediaRef(sha256=digit * 64, media_type="x/y", modality=modality, byte_count=1).model_dump(mode="json")
        row = Material(sha256=digit * 64, media=media, modality=modality, run_id=self.run_id, **more)
        with self.database.session() as session:
            session.add(row)
        return row

    def propose(self, text="A cat.", model="keen", material=None, language="en", key=None) -> Caption | None:
        self.proposals += 1
        material = material or self.image
        kind = CaptionKind.TRANSCRIPT if material.modality == "audio" else CaptionKind.CAPTION
        key = f"{self.proposals:064}" if key is None else key
        proposal = Proposal(material.id, kind, language, text, model, "f" * 64, key, self.run_id)
        with self.database.session() as session:
            return propose_caption(session, proposal, self.clock)

    def do(self, action, *arguments, by="rita", **more):
        with self.database.session() as session:
            user = session.exec(select(User).where(User.name == by)).one()
            return action(session, *arguments, user, clock=self.clock, **more)

    def write(self, text, by="ann", material=None, language="en") -> Caption:
        return self.do(write_caption, material or self.image, language, text, by=by)

    def edit(self, caption, text, by="ann") -> Caption:
        return self.do(edit_caption, caption.id, text, by=by)

    def accept(self, caption, by="rita") -> Caption:
        return self.do(accept_caption, caption.id, by=by)

    def reject(self, caption, by="rita") -> Caption:
        return self.do(reject_caption, caption.id, by=by)

    def states(self) -> dict[str, CaptionState]:
        """By text."""
        with self.database.reading() as session:
            return {caption.text: caption.state for caption in find_captions(session, Search())}

    def texts(self, *materials) -> dict[str, dict[str, str]]:
        with self.database.reading() as session:
            found = accepted_texts(session, materials or [self.image, self.sound])
        return {id_: {language: one.text for language, one in texts.items()} for id_, texts in found.items()}

    def history(self, caption) -> list[tuple[str, str]]:
        with self.database.reading() as session:
            return [(event.action, event.actor) for event in events.history(session, "caption", caption.id)]


@pytest.fixture
def database(shared_database):
    return shared_database


@pytest.fixture
def studio(database, run_id, clock):
    return Studio(database, run_id, clock)


class TestVersions:
    def test_a_model_proposes_people_edit_and_accept_and_everything_is_kept(self, studio):
        proposed = studio.propose("A dog.")
        edited = studio.edit(proposed, " A cat.\n")
        assert studio.accept(edited).state == ACCEPTED
        assert studio.states() == {"A dog.": SUPERSEDED, "A cat.": ACCEPTED}
        assert (edited.author, edited.by_person, edited.based_on_id) == ("ann", True, proposed.id)
        assert (proposed.author, proposed.by_person, proposed.model_fingerprint) == ("keen", False, "f" * 64)
        with studio.database.reading() as session:
            for one in (proposed, edited):
                assert [version.text for version in versions_of(session, one)] == ["A dog.", "A cat."]
        assert studio.history(proposed) == [("propose", "keen"), ("supersede", "ann")]
        assert studio.history(edited) == [("edit", "ann"), ("accept", "rita")]

    def test_an_accepted_text_stands_until_its_edit_is_accepted(self, studio):
        first = studio.accept(studio.propose("A dog."))
        second = studio.edit(first, "A cat.")
        assert studio.texts()[studio.image.id] == {"en": "A dog."}
        studio.accept(second)
        assert studio.texts()[studio.image.id] == {"en": "A cat."}
        assert studio.states() == {"A dog.": SUPERSEDED, "A cat.": ACCEPTED}

    def test_another_models_text_can_take_the_place_and_give_it_back(self, studio):
        first, second = studio.propose("A dog."), studio.propose("A cat.", model="hasty")
        for caption in (first, second, first):
            studio.accept(caption)
            assert studio.texts()[studio.image.id] == {"en": caption.text}
        assert studio.states() == {"A dog.": ACCEPTED, "A cat.": SUPERSEDED}

    def test_one_response_becomes_one_caption(self, studio):
        assert studio.propose("A cat.", key="k") is not None
        assert studio.propose("A cat.", key="k") is None
        assert studio.propose("A cat.", key="other") is not None

    def test_a_response_that_another_process_stores_at_this_moment_is_known(self, studio, monkeypatch):
        studio.propose("A cat.", key="k")
        proposal = Proposal(studio.image.id, CaptionKind.CAPTION, "en", "x", "keen", "f" * 64, "k", studio.run_id)
        with studio.database.session() as session:
            answer = session.exec

            def not_yet(query):
                # It is not there when this process looks, but when it writes.
                monkeypatch.setattr(session, "exec", answer)
                return answer(query.where(col(Caption.id) == "nothing"))

            monkeypatch.setattr(session, "exec", not_yet)
            assert propose_caption(session, proposal) is None
        assert studio.states() == {"A cat.": PROPOSED}

    def test_what_the_database_refuses_for_another_reason_is_not_taken_for_known(self, studio):
        nowhere = Proposal("nothing", CaptionKind.CAPTION, "en", "x", "keen", "f" * 64, "k", studio.run_id)
        with pytest.raises(IntegrityError), studio.database.session() as session:
            propose_caption(session, nowhere)

    def test_languages_and_kinds_are_accepted_apart(self, studio):
        studio.accept(studio.propose("A cat."))
        studio.accept(studio.write("一只猫。", language="zh-CN"))
        studio.accept(studio.propose("Meow.", material=studio.sound))
        assert studio.texts() == {studio.image.id: {"en": "A cat.", "zh": "一只猫。"}, studio.sound.id: {"en": "Meow."}}

    def test_what_is_said_again_is_no_version(self, studio):
        first = studio.propose("A cat.")
        assert studio.edit(first, "  A cat. ").id == first.id
        assert studio.write("A cat.").id == first.id
        studio.reject(first)
        assert studio.write("A cat.").id != first.id

    def test_accepting_or_rejecting_again_is_nothing(self, studio):
        first = studio.propose()
        studio.accept(studio.accept(first))
        studio.reject(studio.reject(first))
        assert studio.history(first) == [("propose", "keen"), ("accept", "rita"), ("reject", "rita")]
        assert studio.texts()[studio.image.id] == {}

    def test_a_rejected_edit_gives_way_to_what_it_changed(self, studio):
        first = studio.propose("A dog.")
        studio.reject(studio.edit(first, "A cow."))
        studio.accept(first)
        third = studio.edit(first, "A cat.")
        assert (third.based_on_id, studio.states()["A dog."]) == (first.id, ACCEPTED)


class TestMistakes:
    @pytest.mark.parametrize("act", ["edit", "accept", "reject"])
    def test_who_saw_an_older_version_is_told_of_the_newer(self, studio, act):
        old = studio.propose("A dog.")
        new = studio.edit(old, "A cat.")
        with pytest.raises(StaleCaption, match=f"edited by ann meanwhile; go on from that version, {new.id}"):
            studio.edit(old, "A cow.", by="max") if act == "edit" else getattr(studio, act)(old)
        assert studio.states() == {"A dog.": SUPERSEDED, "A cat.": PROPOSED}

    @pytest.mark.parametrize(
        ("act", "allowed"),
        [
            ("write", {"ann", "rita", "max"}),
            ("edit", {"ann", "rita", "max"}),
            ("accept", {"rita", "max"}),
            ("reject", {"rita", "max"}),
        ],
    )
    def test_roles(self, studio, act, allowed):
        for who in ("ann", "rita", "max", "pat"):
            caption = studio.propose(f"Of {who}.")
            call = {
                "write": lambda who=who: studio.write(f"By {who}.", by=who),
                "edit": lambda who=who, caption=caption: studio.edit(caption, f"Better by {who}.", by=who),
                "accept": lambda who=who, caption=caption: studio.accept(caption, by=who),
                "reject": lambda who=who, caption=caption: studio.reject(caption, by=who),
            }[act]
            if who in allowed:
                call()
            else:
                with pytest.raises(NotAllowed, match=who):
                    call()

    @pytest.mark.parametrize("text", ["", " \n\t", "A\x00B"])
    def test_a_person_must_write_words(self, studio, text):
        first = studio.propose("A dog.")
        with pytest.raises(UnusableText):
            studio.edit(first, text)
        with pytest.raises(UnusableText):
            studio.write(text)
        assert studio.states() == {"A dog.": PROPOSED}

    def test_a_models_nul_is_no_reason_to_lose_its_text(self, studio):
        assert studio.propose("A\x00B").text == "A\N{REPLACEMENT CHARACTER}B"

    def test_unknown_ids(self, studio):
        for action in (accept_caption, reject_caption):
            with pytest.raises(UnknownId, match="'nothing'; 'interplay caption list' shows them"):
                studio.do(action, "nothing")
        with studio.database.reading() as session, pytest.raises(UnknownId, match="interplay material"):
            get_material(session, "nothing")
        with pytest.raises(BadLanguage, match="'english' is no tag of a language"):
            studio.write("A cat.", language="english")

    def test_the_database_too_holds_one_accepted_text(self, studio):
        studio.accept(studio.propose("A dog."))
        second = studio.propose("A cat.")
        with pytest.raises(IntegrityError), studio.database.session() as session:
            session.get(Caption, second.id).state = ACCEPTED

    def test_two_who_accept_at_once_leave_one_accepted(self, studio):
        rivals = [studio.propose(f"Text {number}.", model=f"m{number}") for number in range(4)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(studio.accept, rivals))
        assert sorted(studio.states().values()) == [ACCEPTED, SUPERSEDED, SUPERSEDED, SUPERSEDED]


def all_at_once(studio, **more):
    done = studio.do(lambda session, user, clock: accept_all(session, [studio.image.id], user, clock=clock, **more))
    return [one.text for one in done.accepted], [one.text for one in done.undecided]


class TestAcceptingAll:
    def test_a_lone_proposal_is_accepted(self, studio):
        studio.propose("A dog.")
        studio.propose("Of no item.", material=studio.sound)
        assert all_at_once(studio) == (["A dog."], [])
        assert all_at_once(studio) == ([], [])

    def test_several_are_left_to_people_unless_one_author_is_named(self, studio):
        studio.propose("A dog.")
        studio.propose("A cat.", model="hasty")
        assert all_at_once(studio) == ([], ["A dog.", "A cat."])
        assert all_at_once(studio, author="hasty") == (["A cat."], [])

    def test_an_accepted_text_gives_way_to_its_own_edit_only(self, studio):
        first = studio.accept(studio.propose("A dog."))
        other = studio.propose("A cow.", model="hasty")
        assert all_at_once(studio) == ([], ["A cow."])
        studio.reject(other)
        studio.edit(studio.edit(first, "A cat."), "A black cat.", by="max")
        assert all_at_once(studio) == (["A black cat."], [])

    def test_it_needs_the_role(self, studio):
        with pytest.raises(NotAllowed):
            studio.do(lambda session, user, clock: accept_all(session, [], user), by="ann")


class TestWhose:
    def test_it_names_model_and_editors(self, studio):
        first = studio.propose("A dog.")
        second = studio.edit(first, "A cat.")
        third = studio.edit(second, "A black cat.", by="max")
        fourth = studio.edit(third, "A black cat!")
        own = studio.write("Cat.")
        by_id = {one.id: one for one in (first, second, third, fourth, own)}
        told = [whose(one, by_id) for one in (first, second, third, own)]
        assert told == ["keen", "keen, edited by ann", "keen, edited by ann and max", "ann"]
        assert whose(studio.edit(own, "Cat!"), by_id) == "ann"

    def test_what_people_said_at_ingest_stands_for_a_sound_until_another_text_is_accepted(self, studio):
        sound = studio.material("audio", "3", audio_content="A bell.", audio_content_by="human")
        machine = studio.material("audio", "4", audio_content="A bell.", audio_content_by="whisper@1")
        blank = studio.material("audio", "5", audio_content=" ", audio_content_by="human")
        picture = studio.material("image", "6", audio_content="bell", audio_content_by="human")
        assert studio.texts(sound, machine, blank, picture) == {
            sound.id: {"": "A bell."}, machine.id: {}, blank.id: {}, picture.id: {},
        }  # fmt: skip
        studio.accept(studio.write("Two bells.", material=sound))
        assert studio.texts(sound) == {sound.id: {"": "A bell.", "en": "Two bells."}}


def lines(studio, *captions):
    return [line_of(one, studio.image, ["zoo-1"]) for one in captions]


def take(studio, file, by="rita", **more):
    return studio.do(lambda session, user, clock: vars(import_lines(session, file, user, **more)), by=by)


class TestFiles:
    def test_an_edited_file_comes_back_as_new_versions(self, studio, tmp_path):
        kept, changed = studio.propose("A cat."), studio.propose("A dog.", model="hasty")
        file = tmp_path / "captions.jsonl"
        assert write_lines(file, lines(studio, kept, changed)) == 2
        file.write_text(file.read_text().replace("A dog.", "A cow,\\u2028standing."))
        expected = {"edited": 1, "written": 0, "unchanged": 1, "blank": 0, "accepted": 0}
        assert take(studio, file) == expected
        assert studio.states() == {"A cat.": PROPOSED, "A dog.": SUPERSEDED, "A cow,\u2028standing.": PROPOSED}
        assert take(studio, file) == expected | {"edited": 0, "unchanged": 2}

    def test_new_words_need_no_id_and_empty_lines_wait(self, studio, tmp_path):
        file = tmp_path / "new.jsonl"
        rows = [
            {"material": studio.sound.sha256, "language": "zh-CN", "text": "喵。"},
            {"material": studio.image.id, "language": "en", "text": ""},
        ]
        file.write_text("\ufeff" + "\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        expected = {"edited": 0, "written": 1, "unchanged": 0, "blank": 1, "accepted": 1}
        assert take(studio, file, accept=True) == expected
        assert studio.texts()[studio.sound.id] == {"zh": "喵。"}
        assert take(studio, file, accept=True) == expected | {"written": 0, "unchanged": 1, "accepted": 0}

    def test_accepting_a_file_brings_no_rejected_text_back(self, studio, tmp_path):
        write_lines(file := tmp_path / "x.jsonl", lines(studio, studio.reject(studio.propose("A dog."))))
        assert take(studio, file, accept=True)["accepted"] == 0
        assert studio.states() == {"A dog.": REJECTED}

    def test_one_line_that_cannot_be_taken_stops_all(self, studio, tmp_path):
        write_lines(file := tmp_path / "x.jsonl", lines(studio, studio.propose("A dog.")))
        good = file.read_text().replace("A dog.", "A cat.")
        mistakes = {
            "{": "line 2: Invalid JSON",
            '{"id": "x", "text": "A", "state_": ""}': "line 2: unknown field 'state_'; did you mean 'state'",
            '{"id": "x"}': "line 2: text: is missing",
            '{"id": "x", "text": "A"}': "line 2: no caption has an id that begins with 'x'",
            '{"text": "A", "language": "en"}': "line 2: a line without 'id' needs 'material'",
            '{"text": "A", "language": "en", "material": "x"}': "line 2: no material has an id that begins with 'x'",
        }
        for line, told in mistakes.items():
            file.write_text(good + line)
            with pytest.raises(BadCaptionFile, match=re.escape(told)) as caught:
                take(studio, file)
            assert "\n" not in str(caught.value)
            assert studio.states() == {"A dog.": PROPOSED}

    def test_a_line_that_somebody_else_edited_meanwhile_is_told(self, studio, tmp_path):
        old = studio.propose("A dog.")
        write_lines(file := tmp_path / "x.jsonl", lines(studio, old))
        file.write_text(file.read_text().replace("A dog.", "A cow."))
        studio.edit(old, "A cat.")
        with pytest.raises(BadCaptionFile, match=r"line 1: .*edited by ann meanwhile"):
            take(studio, file)

    def test_a_lack_of_rights_is_no_fault_of_the_file(self, studio, tmp_path):
        write_lines(file := tmp_path / "x.jsonl", lines(studio, studio.propose("A dog.")))
        with pytest.raises(NotAllowed, match=r"^ann"):
            take(studio, file, by="ann", accept=True)

    def test_a_file_that_is_no_text(self, studio, tmp_path):
        (file := tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(BadCaptionFile, match="must be text in UTF-8"):
            take(studio, file)
        with pytest.raises(BadCaptionFile, match="choose another place"):
            write_lines(tmp_path / "none" / "x.jsonl", [])

    @given(st.text(st.characters(codec="utf-8"), min_size=1))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
    def test_any_text_survives_a_file(self, tmp_path, text):
        caption = Caption(
            material_id="m", kind=CaptionKind.CAPTION, language="en", text=text, author="a", by_person=True
        )
        line = line_of(caption, Material(sha256="1" * 64, modality="image", run_id="r"), ())
        file = tmp_path / "x.jsonl"
        file.unlink(missing_ok=True)
        write_lines(file, [line, line])
        assert read_lines(file) == [(1, line), (2, line)]

    def test_a_file_that_somebody_may_have_edited_is_not_written_over(self, tmp_path):
        file = tmp_path / "x.jsonl"
        file.write_text("edited")
        with pytest.raises(BadCaptionFile, match="is there already; move it away"):
            write_lines(file, [])
        assert file.read_text() == "edited"


def test_each_change_has_its_event(studio):
    first = studio.propose("A dog.")
    studio.accept(first)
    studio.accept(studio.edit(first, "A cat."))
    with studio.database.reading() as session:
        told = session.exec(select(Event).where(Event.subject_kind == "caption").order_by(Event.sequence)).all()
    assert [event.action for event in told] == ["propose", "accept", "edit", "supersede", "accept"]
    about = {"material_id": studio.image.id, "kind": "caption", "language": "en"}
    assert told[1].detail == about | {"before": "proposed"}
    assert told[2].detail == about | {"based_on_id": first.id}
