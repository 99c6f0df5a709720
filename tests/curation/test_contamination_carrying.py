"""A person's word on a match holds for later revisions and indexes, as long as what matched is the same."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import col, select

from curation.contamination.check import Which, check
from curation.contamination.records import clear, matches_of, reopen
from curation.contamination.show import lines_of, page, shown
from curation.contamination.subjects import subjects_of
from qc.checks.contamination import contamination_problems
from warehouse import events
from warehouse.items import current_revision, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import get_user
from warehouse.tables import ContaminationMatch, ItemRevision, Material, RevisionMedia, Segment
from warehouse.workspace import open_workspace


def _house():
    spec = importlib.util.spec_from_file_location("house", Path(__file__).parent / "test_contamination_check.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["house"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


HOUSE = _house()
KEEPER, OPTIONS, BARGE, SAID = HOUSE.KEEPER, HOUSE.OPTIONS, HOUSE.BARGE, HOUSE.SAID
WORDS = KEEPER.removesuffix("?").split()
STRANGE = st.lists(st.sampled_from(["grulm", "fobbet", "snarve", "tiddock", "plunze"]), max_size=6)


@pytest.fixture
def opened(project):
    with open_workspace(project) as workspace:
        yield workspace


@pytest.fixture
def house(opened, tmp_path):
    return HOUSE.House(opened, tmp_path)


def revised(house, name, text, options=("yes", "no")):
    with house.workspace.database.session() as session:
        item = get_item(session, name)
        return revise_item(session, item, item.version, house.draft(session, text, options)).id


def cleared(house, match_id, why="A saying."):
    with house.workspace.database.session() as session:
        clear(session, match_id, why, get_user(session, "rita"))


def found(house, revision_id):
    """By kind, the matches of a revision."""
    with house.workspace.database.reading() as session:
        query = select(ContaminationMatch).where(ContaminationMatch.subject_id == revision_id)
        return {one.kind: one for one in session.exec(query.order_by(col(ContaminationMatch.id)))}


def counting(house, name):
    """Ids of the matches that count for an item: by the list, and by the gate of round 1."""
    with house.workspace.database.reading() as session:
        item = get_item(session, name)
        revision = current_revision(session, item)
        query = select(RevisionMedia.placeholder, Material).join(Material)
        media = session.exec(query.where(RevisionMedia.revision_id == revision.id)).all()
        problems = contamination_problems(session, revision, media)
        gate = {one.message.rpartition("match ")[2] for one in problems if one.code == "contaminated"}
        listed = {one.id for one in matches_of(session, subjects_of(session, name), open_only=True)}
        everywhere = {one.id for one in matches_of(session, open_only=True)}
    return gate, listed, everywhere


def test_a_cleared_match_holds_for_a_later_revision_that_changed_something_else(house):
    first = house.item("one", f"Look at the picture. {KEEPER}")
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    cleared(house, found(house, first)["words"].id)
    second = revised(house, "one", f"{KEEPER} Name him in grulm letters, please.")
    check(house.workspace, index)
    match = found(house, second)["words"]
    assert (match.cleared_by, match.cleared_why) == ("rita", "A saying.")
    third = revised(house, "one", f"Snarve. {KEEPER}")
    check(house.workspace, index)
    with house.workspace.database.reading() as session:
        (event,) = events.history(session, "contamination_match", found(house, third)["words"].id)
        (told,) = [one for one in shown(session, matches_of(session)) if one.match.subject_id == third]
    assert (event.action, event.detail["revision"], event.detail["by"]) == ("carry_over", 1, "rita")
    assert event.detail["reason"] == "A saying."
    assert "cleared by rita: A saying. (carried over from revision 1)" in lines_of(told)[0]
    assert "carried over from revision 1" in page([told], "en")
    assert "沿用第 1 版的结论" in page([told], "zh")
    assert counting(house, "one") == (set(), set(), set())


def test_a_match_whose_matched_part_changed_is_open_again(house):
    first = house.item("one", KEEPER, OPTIONS)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    for match in found(house, first).values():
        cleared(house, match.id)
    second = revised(house, "one", KEEPER.replace("the old lighthouse", "the grulm old lighthouse"), OPTIONS)
    check(house.workspace, index)
    by_kind = found(house, second)
    assert {kind: one.cleared_at is None for kind, one in by_kind.items()} == {"words": True, "options": False}
    assert counting(house, "one") == ({by_kind["words"].id},) * 3
    back = revised(house, "one", KEEPER, tuple(reversed(OPTIONS)))
    check(house.workspace, index)
    assert counting(house, "one") == (set(), set(), set())
    assert all(one.cleared_why == "A saying." for one in found(house, back).values())


def test_another_public_record_and_another_kind_need_a_word_of_their_own(house):
    first = house.item("one", KEEPER)
    check(house.workspace, house.index(("q1", KEEPER)))
    cleared(house, found(house, first)["words"].id)
    second = revised(house, "one", f"{KEEPER} Grulm.")
    check(house.workspace, house.index(("q9", KEEPER), name="other"))
    assert found(house, second)["words"].cleared_at is None
    check(house.workspace, house.index(("q1", KEEPER), name="elsewhere", of="aquarium"))
    assert len(counting(house, "one")[1]) == 2


def test_what_was_taken_back_is_not_carried_on(house):
    first = house.item("one", KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    cleared(house, found(house, first)["words"].id)
    second = revised(house, "one", f"{KEEPER} Grulm.")
    check(house.workspace, index)
    with house.workspace.database.session() as session:
        reopen(session, found(house, second)["words"].id, "It is a copy.", get_user(session, "rita"))
    check(house.workspace, index, Which(again=True))
    check(house.workspace, house.index(("q1", KEEPER), ("q2", BARGE), name="next"))
    third = revised(house, "one", f"{KEEPER} Grulm. Fobbet.")
    check(house.workspace, index)
    assert found(house, second)["words"].cleared_at is found(house, third)["words"].cleared_at is None


def test_a_word_also_holds_for_what_was_compared_before_it_was_said(house):
    first = house.item("one", KEEPER)
    index, nxt = house.index(("q1", KEEPER)), house.index(("q1", KEEPER), ("q2", BARGE), name="next")
    check(house.workspace, index)
    second = revised(house, "one", f"{KEEPER} Grulm.")
    third_index = check(house.workspace, index)
    assert third_index.matches == {"words": 1}
    check(house.workspace, nxt)
    cleared(house, found(house, first)["words"].id)
    assert counting(house, "one") == (set(), set(), set())
    with house.workspace.database.reading() as session:
        query = select(ContaminationMatch).where(ContaminationMatch.subject_id == second)
        assert {one.index_name: one.cleared_by for one in session.exec(query)} == {"public": "rita", "next": "rita"}


def test_a_later_word_says_nothing_of_an_earlier_revision(house):
    first = house.item("one", KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    second = revised(house, "one", f"{KEEPER} Grulm.")
    check(house.workspace, index)
    cleared(house, found(house, second)["words"].id)
    assert found(house, first)["words"].cleared_at is None
    # Nobody is asked about it either: it is no question of the item any more.
    assert counting(house, "one") == (set(), set(), set())


def test_what_is_open_of_a_rejected_item_does_not_count(house):
    house.item("one", KEEPER)
    check(house.workspace, house.index(("q1", KEEPER)))
    assert len(counting(house, "one")[2]) == 1
    with house.workspace.database.session() as session:
        item = get_item(session, "one")
        advance(session, item.id, item.version, Advance(Action.SUBMIT, "ann"))
        advance(session, item.id, item.version, Advance(Action.REJECT, "rita", reason_codes=("contaminated",)))
    assert counting(house, "one")[2] == set()


def test_a_material_keeps_its_word_while_its_matched_words_are_the_same(house):
    material = house.material(1, {}, "audio")
    house.say(material, SAID)
    index = house.index(("q1", SAID))
    check(house.workspace, index)
    match_id = found(house, material)["words"].id
    cleared(house, match_id)

    def said(text):
        with house.workspace.database.session() as session:
            session.exec(select(Segment)).one().text = text
        check(house.workspace, index)
        return found(house, material)["words"]

    assert said(f"Well, {SAID} and nobody grulmed").cleared_by == "rita"
    assert said(SAID.replace("great storm", "great grulm storm")).cleared_at is None
    with house.workspace.database.reading() as session:
        told = [(one.actor, one.action) for one in events.history(session, "contamination_match", match_id)]
    assert [action for _, action in told] == ["clear", "reopen"]
    assert told[0][0] == "rita" != told[1][0]


def test_a_picture_s_word_holds_for_a_later_index_of_the_same_file(house, media, tmp_path):
    from curation.dedupe.looks import image_looks

    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "photo.jpg").write_bytes(media.coded(media.photo(1), "JPEG", quality=60))
    material = house.material(1, image_looks(media.photo(1)))
    check(house.workspace, house.index(files=tmp_path / "public"))
    cleared(house, found(house, material)["image"].id, "Our own photo.")
    check(house.workspace, house.index(("q2", BARGE), files=tmp_path / "public", name="next"))
    (tmp_path / "public" / "photo.jpg").write_bytes(media.coded(media.photo(1), "JPEG", quality=40))
    check(house.workspace, house.index(files=tmp_path / "public", name="third"))
    with house.workspace.database.reading() as session:
        by_index = {one.index_name: one for one in matches_of(session)}
        (told,) = [one for one in shown(session, matches_of(session)) if one.match.index_name == "next"]
    assert by_index["next"].cleared_why == "Our own photo."
    assert told.carried == "public"
    assert by_index["third"].cleared_at is None


def test_the_list_as_json_says_from_where_a_word_is(house):
    house.item("one", KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    cleared(house, house.rows(ContaminationMatch)[0].id)
    revised(house, "one", f"{KEEPER} Grulm.")
    check(house.workspace, index)
    (match,) = house.call("matches", "--subject", "one", "--json")
    assert (match["carried_from"], match["name"]) == (1, "one, revision 2")
    assert json.loads(json.dumps(match["evidence"]))["matched"]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=STRANGE, after=STRANGE, place=st.integers(1, len(WORDS) - 1), change=st.sampled_from(["add", "take"]))
def test_editing_anything_else_never_opens_a_match_and_editing_what_matched_always_does(
    house, before, after, place, change
):
    name = f"i{len(house.rows(ItemRevision))}"
    first = house.item(name, KEEPER)
    index = house.index(("q1", KEEPER))
    check(house.workspace, index)
    cleared(house, found(house, first)["words"].id)
    around = revised(house, name, f"{' '.join(before)} {KEEPER} {' '.join(after)} Say it.")
    check(house.workspace, index)
    assert found(house, around)["words"].cleared_by == "rita"
    assert counting(house, name)[0] == counting(house, name)[1] == set()
    words = [*WORDS[:place], "quorl", *WORDS[place:]] if change == "add" else [*WORDS[:place], *WORDS[place + 1 :]]
    changed = revised(house, name, " ".join([*before, *words, *after]))
    check(house.workspace, index)
    match = found(house, changed).get("words")  # so little may be left of it that nothing matches
    assert match is None or match.cleared_at is None
    gate, listed, _ = counting(house, name)
    assert gate == listed == ({match.id} if match else set())
