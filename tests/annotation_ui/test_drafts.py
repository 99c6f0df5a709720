"""Drafts through the services: saving, conflicts, live checks, handing in, twins; nothing written is ever lost."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlmodel import select

from annotation_ui.drafting.checks import check_draft
from annotation_ui.drafting.content import BadContent, DraftContent, Evidence
from annotation_ui.drafting.drafts import (
    Conflict,
    DraftClosed,
    NotRevisable,
    Save,
    Saved,
    UnknownDraft,
    discard_draft,
    draft_versions,
    get_draft,
    open_draft,
    open_drafts,
    reopen_draft,
    save_draft,
)
from annotation_ui.drafting.handing_in import DraftChanged, ItemMovedOn, ItemNameTaken, NotReady, SameAsBefore, hand_in
from annotation_ui.drafting.twins import NotSwappable, twin_of_item
from annotation_ui.forms import FormMisused, new_form_key
from annotation_ui.permissions import AccountInactive, NotAllowed
from annotation_ui.words import words_in
from core.question import QuestionKind
from warehouse.items import current_revision, get_item
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Item, ItemState, User
from warehouse.verdicts import own_items

EN, ZH = words_in("en"), words_in("zh")


@pytest.fixture
def mei(add_person, sign_in):
    add_person("mei", Role.ANNOTATOR)
    return sign_in("mei")[1]


@pytest.fixture
def ada(add_person, sign_in):
    add_person("ada", Role.MAINTAINER)
    return sign_in("ada")[1]


@pytest.fixture
def shown(seeder):
    """A picture and a sound to ask about."""
    return {"image_1": seeder.picture(1)[0], "audio_1": seeder.sound(1)[0]}


@pytest.fixture
def content(shown):
    return DraftContent(
        task_type="counting",
        language="en",
        prompt="Look at <image_1> and listen to <audio_1>. How many shapes are struck?",
        media={place: material.id for place, material in shown.items()},
        choices=["one", "two", "three", "four"],
        correct=[2],
        required=["image", "audio"],
    )


@pytest.fixture
def begin(database, clock):
    """A new draft, or one that holds something already."""

    def begin(who, content=None, item=None):
        with database.session() as session:
            draft = open_draft(session, who, item, clock)
            if content is not None:
                save_draft(session, who, draft.id, Save(draft.version, content, "begin", 1), clock)
        with database.reading() as session:
            return get_draft(session, who, draft.id)

    return begin


@pytest.fixture
def save(database, clock):
    def save(who, draft, version, prompt, editor="", stroke=0):
        with database.session() as session:
            return save_draft(session, who, draft.id, Save(version, DraftContent(prompt=prompt), editor, stroke), clock)

    return save


@pytest.fixture
def submit(database, clock):
    def submit(who, draft, *, version=None, key=None, t=EN):
        with database.session() as session:
            return hand_in(
                session, who, draft.id, version or draft.version, new_form_key() if key is None else key, t, clock
            )

    return submit


def stored(database, who, draft):
    with database.reading() as session:
        found = get_draft(session, who, draft.id)
        return (
            found.version,
            found.content.get("prompt"),
            [(one.version, one.is_aside, one.content.get("prompt")) for one in draft_versions(session, found)],
        )


class TestSaving:
    def test_a_new_draft_is_empty_and_ones_own(self, database, begin, mei):
        draft = begin(mei)
        assert (draft.version, draft.content, draft.author, draft.item_id) == (1, {}, mei.user_id, None)
        with database.reading() as session:
            assert [one.id for one in open_drafts(session, mei)] == [draft.id]

    def test_each_save_is_a_version(self, database, begin, save, mei, clock):
        draft = begin(mei)
        assert save(mei, draft, 1, "How") == Saved(2, clock())
        clock.turn(seconds=5)
        assert save(mei, draft, 2, "How many?") == Saved(3, clock())
        assert stored(database, mei, draft)[:2] == (3, "How many?")

    def test_the_same_words_again_are_no_version(self, begin, save, mei, clock):
        draft = begin(mei)
        first = save(mei, draft, 1, "How")
        clock.turn(minutes=1)
        assert save(mei, draft, 1, "How") == save(mei, draft, 77, "How") == first

    def test_a_conflict_shows_both_and_loses_neither(self, database, begin, save, mei, ada):
        draft = begin(mei)
        save(mei, draft, 1, "from mei", "tab-m", 1)
        conflict = save(ada, draft, 1, "from ada", "tab-a", 1)
        assert isinstance(conflict, Conflict)
        assert (conflict.version, conflict.theirs.prompt, conflict.saved_by) == (2, "from mei", mei.user_id)
        assert stored(database, mei, draft) == (2, "from mei", [(1, True, "from ada")])
        # The same once more lays nothing aside twice; going on with one's own keeps the other's.
        assert save(ada, draft, 1, "from ada", "tab-a", 2).aside_id == conflict.aside_id
        assert save(ada, draft, 2, "from ada", "tab-a", 3).version == 3
        assert stored(database, mei, draft) == (3, "from ada", [(2, False, "from mei"), (1, True, "from ada")])

    def test_a_tab_whose_answer_was_lost_goes_on(self, begin, save, mei):
        draft = begin(mei)
        save(mei, draft, 1, "a", "tab", 1)
        # It never heard of version 2, and nobody else wrote since.
        assert save(mei, draft, 1, "ab", "tab", 2).version == 3

    def test_a_late_repeat_undoes_nothing(self, database, begin, save, mei):
        draft = begin(mei)
        save(mei, draft, 1, "a", "tab", 1)
        save(mei, draft, 2, "ab", "tab", 2)
        assert save(mei, draft, 1, "a", "tab", 1).version == 3
        assert stored(database, mei, draft)[:2] == (3, "ab")

    def test_another_person_with_the_same_tab_name_conflicts(self, begin, save, mei, ada):
        draft = begin(mei)
        save(mei, draft, 1, "a", "tab", 1)
        assert isinstance(save(ada, draft, 1, "b", "tab", 9), Conflict)

    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(st.sampled_from(["one", "two"]), st.integers(0, 6), st.text("ab", min_size=1, max_size=3)),
            max_size=12,
        )
    )
    @example([("one", 1, "aa"), ("two", 0, "aa"), ("two", 0, "a")])
    def test_every_word_of_another_editor_is_found_again(self, database, begin, save, mei, saves):
        """Whatever two tabs send in whatever order: what each sent last stands in the draft, its versions or asides."""
        draft, last, strokes = begin(mei), {}, {"one": 0, "two": 0}
        for editor, version, prompt in saves:
            strokes[editor] += 1
            save(mei, draft, version, prompt, editor, strokes[editor])
            last[editor] = prompt
        _, now, versions = stored(database, mei, draft)
        assert set(last.values()) <= {now, *(prompt for _, _, prompt in versions)}

    def test_a_draft_is_nobody_elses(self, database, begin, save, add_person, sign_in, mei):
        add_person("eve", Role.ANNOTATOR)
        _, eve = sign_in("eve")
        draft = begin(mei)
        for attempt in (
            lambda session: get_draft(session, eve, draft.id),
            lambda session: save_draft(session, eve, draft.id, Save(1, DraftContent(prompt="mine"))),
            lambda session: discard_draft(session, eve, draft.id, 1),
            lambda session: hand_in(session, eve, draft.id, 1, new_form_key(), EN),
            lambda session: get_draft(session, eve, "no such draft"),
        ):
            with pytest.raises(UnknownDraft), database.session() as session:
                attempt(session)

    def test_only_authors_write(self, begin, add_person, sign_in):
        add_person("rex", Role.REVIEWER)
        with pytest.raises(NotAllowed):
            begin(sign_in("rex")[1])

    def test_a_deactivated_author_saves_no_more(self, database, begin, save, mei):
        draft = begin(mei)
        with database.session() as session:
            session.get(User, mei.user_id).active = False
        with pytest.raises(AccountInactive):
            save(mei, draft, 1, "late")

    def test_thrown_away_and_brought_back(self, database, begin, save, mei, clock):
        draft = begin(mei)
        save(mei, draft, 1, "words")
        with pytest.raises(DraftClosed), database.session() as session:
            discard_draft(session, mei, draft.id, 1, clock)
        with database.session() as session:
            discard_draft(session, mei, draft.id, 2, clock)
            discard_draft(session, mei, draft.id, 2, clock)
            assert not open_drafts(session, mei)
        with pytest.raises(DraftClosed):
            save(mei, draft, 2, "more")
        with database.session() as session:
            assert reopen_draft(session, mei, draft.id, clock).content == {"prompt": "words"}
        assert save(mei, draft, 2, "more").version == 3

    @pytest.mark.parametrize(
        ("data", "field"),
        [
            ([], "draft"),
            ({"prompt": 3}, "prompt"),
            ({"title": "x"}, "title"),
            ({"media": {"picture": "x"}}, "media"),
            ({"prompt": "x" * 20_001}, "prompt"),
            ({"choices": ["a"] * 41}, "choices"),
            ({"steps": [{"points": 11}]}, "steps.0.points"),
            ({"evidence": {"audio_1": {"start_s": float("nan")}}}, "evidence.audio_1.start_s"),
        ],
    )
    def test_what_is_no_draft_is_refused_by_field(self, data, field):
        with pytest.raises(BadContent) as caught:
            DraftContent.parse(data)
        assert caught.value.values["field"].startswith(field)

    @given(st.builds(DraftContent, prompt=st.text(max_size=50), choices=st.lists(st.text(max_size=9), max_size=4)))
    def test_what_is_stored_reads_the_same(self, content):
        assert DraftContent.parse(content.as_json()) == content


class TestLiveChecks:
    def notes(self, database, content, t=EN, item=None):
        with database.reading() as session:
            return check_draft(session, "mei", content, item, t)

    def test_an_empty_draft_is_told_what_it_needs(self, database, studio):
        checked = self.notes(database, DraftContent())
        assert {note.field for note in checked.notes} == {
            "task_type", "language", "prompt", "required", "choices", "correct", "media",
        }  # fmt: skip
        assert {note.severity for note in checked.notes} == {"missing"}
        assert not checked.is_ready
        chinese = self.notes(database, DraftContent(), ZH)
        assert all(any("\u4e00" <= letter <= "\u9fff" for letter in note.text) for note in chinese.notes)

    def test_a_whole_draft_is_ready(self, database, content):
        checked = self.notes(database, content)
        assert (checked.is_ready, list(checked.notes)) == (True, [])
        assert checked.question.answer.correct == (2,)

    @pytest.mark.parametrize(
        ("change", "field", "severity"),
        [
            ({"prompt": "Look at <image_1>. How many?"}, "prompt", "missing"),
            ({"prompt": "<image_1><audio_1><video_1> How many?"}, "prompt", "error"),
            ({"prompt": "<image_1><audio_1>"}, "prompt", "missing"),
            ({"choices": ["one", "", "three"]}, "choices.1", "missing"),
            ({"choices": ["one", "two"]}, "correct", "missing"),
            ({"task_type": "sorcery"}, "task_type", "error"),
            ({"required": ["image", "video"]}, "required", "error"),
            ({"choices": ["one", "two", "two", "four"]}, "choices", "error"),
            ({"prompt": "<image_1><audio_1> How many shapes? The answer is three."}, "prompt", "error"),
            ({"kind": "open"}, "accepted", "missing"),
            ({"kind": "multi_step"}, "steps", "missing"),
        ],
    )
    def test_each_fault_stands_at_its_field(self, database, content, change, field, severity):
        checked = self.notes(database, DraftContent.parse(content.as_json() | change))
        assert (field, severity) in {(note.field, note.severity) for note in checked.notes}
        assert not checked.is_ready

    def test_points_must_sum_to_ten(self, database, content):
        steps = [{"ask": "First?", "points": 4, "accepted": ["a"]}, {"ask": "Then?", "points": 5, "accepted": ["b"]}]
        given = content.as_json() | {"kind": "multi_step", "steps": steps}
        (note,) = self.notes(database, DraftContent.parse(given)).notes
        assert (note.field, "9" in note.text, "10" in note.text) == ("steps", True, True)
        steps[1]["points"] = 6
        assert self.notes(database, DraftContent.parse(given)).is_ready

    def test_a_choice_that_reads_like_a_letter_keeps_its_key(self, database, content):
        given = DraftContent.parse(content.as_json() | {"choices": ["B", "A", "D", "C"], "correct": [0]})
        assert self.notes(database, given).question.answer.correct == (0,)

    def test_a_question_that_was_asked_before_is_told(self, database, seeder, content, shown):
        media = {place: (row, row.media_ref) for place, row in shown.items()}
        choices = tuple(content.choices)
        seeder.item("bells-7", seeder.draft(content.prompt, media, "omar", choices, 2), Action.SUBMIT)
        (note,) = self.notes(database, content).notes
        assert (note.code, note.field, "bells-7" in note.text) == ("duplicate_question", "prompt", True)

    def test_a_material_that_was_dropped_meanwhile_is_told(self, database, content, shown):
        with database.session() as session:
            session.merge(shown["image_1"]).state = "dropped"
        assert ("media_unusable", "error") in {(n.code, n.severity) for n in self.notes(database, content).notes}


class TestHandingIn:
    def test_a_draft_becomes_an_item_under_review(self, database, begin, submit, mei, content, shown):
        evidence = {"audio_1": Evidence(start_s=0.5, end_s=1.5)}
        draft = begin(mei, content.model_copy(update={"evidence": evidence}))
        item = submit(mei, draft)
        with database.reading() as session:
            revision = current_revision(session, get_item(session, item.name))
            assert (item.name, item.state) == ("counting-001", ItemState.SUBMITTED)
            assert revision.as_question().prompt_text == content.prompt
            assert revision.author == mei.user_id
            assert revision.notes == {"evidence": {"audio_1": {"start_s": 0.5, "end_s": 1.5}}}
            closed = get_draft(session, mei, draft.id)
            assert (closed.closed_as, closed.revision_id, closed.item_id) == ("submitted", revision.id, item.id)

    def test_the_same_form_twice_is_one_item(self, database, begin, submit, mei, content):
        draft, key = begin(mei, content), new_form_key()
        assert submit(mei, draft, key=key).id == submit(mei, draft, key=key).id
        with database.reading() as session:
            assert len(session.exec(select(Item)).all()) == 1
        with pytest.raises(DraftClosed):
            submit(mei, draft)

    def test_a_form_of_another_person_is_none(self, begin, submit, mei, ada, content):
        draft, key = begin(mei, content), new_form_key()
        submit(mei, draft, key=key)
        for key_of_ada in (key, "", "../../x"):
            with pytest.raises(FormMisused):
                submit(ada, draft, key=key_of_ada)

    def test_what_is_not_ready_stays_a_draft(self, database, begin, submit, mei, content):
        draft = begin(mei, content.model_copy(update={"correct": []}))
        with pytest.raises(NotReady) as caught:
            submit(mei, draft)
        assert [note.field for note in caught.value.notes] == ["correct"]
        with database.reading() as session:
            assert get_draft(session, mei, draft.id).closed_at is None
            assert session.exec(select(Item)).first() is None

    def test_what_was_saved_elsewhere_is_looked_at_first(self, begin, submit, save, mei, content):
        draft = begin(mei, content)
        save(mei, draft, draft.version, "other")
        with pytest.raises(DraftChanged):
            submit(mei, draft)

    def test_a_taken_name_is_told(self, begin, submit, mei, content):
        named = content.model_copy(update={"name": "钟声"})
        submit(mei, begin(mei, named))
        other = named.model_copy(update={"prompt": "<image_1><audio_1> Which shape is struck first, of all?"})
        with pytest.raises(ItemNameTaken, match="钟声"):
            submit(mei, begin(mei, other))

    def test_names_that_no_file_could_have_are_refused(self, begin, submit, mei, content):
        with pytest.raises(NotReady):
            submit(mei, begin(mei, content.model_copy(update={"name": "../etc/passwd"})))

    def test_a_revision_starts_from_what_the_item_says(self, database, begin, submit, mei, content):
        item = submit(mei, begin(mei, content))
        draft = begin(mei, item=item.name)
        again = DraftContent.parse(draft.content)
        assert (again.prompt, again.choices, again.correct, again.media) == (
            content.prompt, content.choices, content.correct, content.media,
        )  # fmt: skip
        assert begin(mei, item=item.name).id == draft.id
        with pytest.raises(SameAsBefore):
            submit(mei, draft)
        with database.session() as session:
            changed = again.model_copy(update={"correct": [1]})
            save_draft(session, mei, draft.id, Save(draft.version, changed))
        revised = submit(mei, begin(mei, item=item.name))
        with database.reading() as session:
            revision = current_revision(session, get_item(session, item.name))
            assert (revised.id, revision.number, revision.as_question().answer.correct) == (item.id, 2, (1,))

    def test_an_item_that_moved_on_keeps_what_it_says(self, database, begin, submit, seeder, mei, content, shown):
        item = submit(mei, begin(mei, content))
        draft = begin(mei, content.model_copy(update={"correct": [1]}), item.name)
        media = {place: (row, row.media_ref) for place, row in shown.items()}
        seeder.revise(item.id, seeder.draft("<image_1><audio_1> Quite another question?", media, mei.user_id))
        with pytest.raises(ItemMovedOn):
            submit(mei, draft)
        with database.reading() as session:
            assert get_draft(session, mei, draft.id).closed_at is None

    def test_another_authors_item_is_not_revised(self, begin, submit, add_person, sign_in, mei, ada, content):
        item = submit(mei, begin(mei, content))
        add_person("eve", Role.ANNOTATOR)
        for name in (item.name, "no-such-item"):
            with pytest.raises(NotRevisable):
                begin(sign_in("eve")[1], item=name)
        assert begin(ada, item=item.name).content["prompt"] == content.prompt

    def test_who_helped_will_not_review(self, database, begin, submit, save, mei, ada, content):
        draft = begin(mei)
        save(ada, draft, 1, "from ada", "a", 1)
        with database.session() as session:
            save_draft(session, mei, draft.id, Save(2, content, "m", 1))
        item = submit(mei, begin_again(database, mei, draft))
        with database.reading() as session:
            assert session.exec(own_items(session, "ada")).all() == [item.id]
            assert session.exec(own_items(session, "mei")).all() == [item.id]

    @pytest.mark.parametrize("kind", [QuestionKind.OPEN, QuestionKind.MULTI_STEP])
    def test_other_kinds_come_back_as_they_were_written(self, begin, submit, mei, content, kind):
        step = {"ask": "How many?", "points": 10, "accepted": ["three", "3"], "grader": "number", "rubric": "Ten."}
        given = {"kind": kind, "accepted": ["three", "3"], "grader": "number", "tolerance": 0.5, "choices": []}
        given |= {"correct": []} | ({"steps": [step]} if kind is QuestionKind.MULTI_STEP else {})
        written = DraftContent.parse(content.as_json() | given)
        if kind is QuestionKind.MULTI_STEP:
            written = written.model_copy(update={"accepted": [], "grader": None, "tolerance": None})
        item = submit(mei, begin(mei, written))
        again = DraftContent.parse(begin(mei, item=item.name).content)
        assert again == written.model_copy(update={"name": item.name, "required": ["audio", "image"]})


def begin_again(database, who, draft):
    with database.reading() as session:
        return get_draft(session, who, draft.id)


class TestTwins:
    def test_a_twin_swaps_one_material_and_asks_for_another_key(self, database, begin, submit, seeder, mei, content):
        item = submit(mei, begin(mei, content))
        other = seeder.sound(2)[0]
        key = new_form_key()
        with database.session() as session:
            twin = twin_of_item(session, mei, item.name, "audio_1", other.id, key)
            assert twin_of_item(session, mei, item.name, "audio_1", other.id, key).id == twin.id
        told = DraftContent.parse(twin.content)
        assert told.media == content.media | {"audio_1": other.id}
        assert (told.prompt, told.choices, told.correct, told.name) == (content.prompt, content.choices, [], "")
        with database.session() as session:
            answered = told.model_copy(update={"correct": [2]})
            save_draft(session, mei, twin.id, Save(twin.version, answered, "t", 1))
            checked = check_draft(session, mei.user_id, answered, None, EN)
            assert [note.code for note in checked.notes] == ["twins_not_counterfactual"]
            save_draft(session, mei, twin.id, Save(2, told.model_copy(update={"correct": [0]}), "t", 2))
        sibling = submit(mei, begin_again(database, mei, twin))
        with database.reading() as session:
            assert sibling.twin_group == get_item(session, item.name).twin_group == item.name

    def test_only_another_kept_material_of_the_modality_fits(
        self, database, begin, submit, seeder, mei, content, shown
    ):
        item = submit(mei, begin(mei, content))
        unfit = [seeder.picture(5)[0], shown["audio_1"], seeder.sound(6, state="dropped")[0]]
        for material_id in [one.id for one in unfit] + ["no-such-id"]:
            with pytest.raises(NotSwappable), database.session() as session:
                twin_of_item(session, mei, item.name, "audio_1", material_id, new_form_key())
        with database.reading() as session:
            assert get_item(session, item.name).twin_group is None
