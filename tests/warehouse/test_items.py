import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import select

from core.content import MediaRef, TextPart, parse_prompt
from core.errors import UnknownName
from core.question import AnswerKey, Question
from warehouse import events
from warehouse.database import Database
from warehouse.items import (
    Draft,
    NameTaken,
    create_item,
    current_revision,
    find_item,
    get_item,
    revise_item,
    revisions_in,
)
from warehouse.lifecycle import Action, Advance, ImpossibleAction, StaleVersion, advance
from warehouse.tables import Item, ItemRevision, ItemState, Material, RevisionMedia


def question(text: str = "How many?") -> Question:
    key = AnswerKey(accepted=("3",))
    return Question(prompt=(TextPart(text=text),), kind="open", answer=key, task_type="counting", language="en")


def draft(text: str = "How many?", **changes) -> Draft:
    return Draft(**{"question": question(text), "materials": {}, "author": "ann"} | changes)


def make(database: Database, name: str = "apples", *actions: Action) -> Item:
    with database.session() as session:
        item, _ = create_item(session, name, draft())
        for action in actions:
            advance(session, item.id, item.version, Advance(action, "ann", ("why",)))
    return item


def revisions(database: Database) -> list[tuple[int, str]]:
    with database.reading() as session:
        rows = session.exec(select(ItemRevision).order_by(ItemRevision.item_id, ItemRevision.number)).all()
        return [(row.number, row.as_question().prompt_text) for row in rows]


def test_a_new_item_is_a_draft_with_its_first_revision(database, run_id, clock):
    ref = MediaRef(sha256="a" * 64, media_type="image/png", modality="image", byte_count=9)
    asked = question().model_copy(update={"prompt": parse_prompt("See <image_1>", {"image_1": ref})})
    with database.session() as session:
        session.add(Material(id="m", sha256="a" * 64, modality="image", run_id=run_id))
        session.flush()
        notes = {"evidence": {"image": [0, 0, 9, 9]}}
        item, revision = create_item(
            session, "apples", draft(question=asked, materials={"image_1": "m"}, notes=notes), "twins", clock
        )
    with database.reading() as session:
        found = get_item(session, "apples")
        assert (found.id, found.state, found.version, found.twin_group) == (item.id, ItemState.DRAFT, 1, "twins")
        kept = current_revision(session, found)
        assert (kept.id, kept.number, kept.author, kept.created_at) == (revision.id, 1, "ann", clock())
        assert (kept.as_question(), kept.content_hash, kept.notes) == (asked, asked.content_hash, notes)
        (media,) = session.exec(select(RevisionMedia)).all()
        assert (media.revision_id, media.placeholder, media.material_id) == (revision.id, "image_1", "m")
        (event,) = events.history(session, "item", item.id)
        assert (event.actor, event.action) == ("ann", "create")
        assert event.detail == {"name": "apples", "revision_id": revision.id, "version": 1}


def test_a_name_is_given_once_and_the_transaction_goes_on(database):
    make(database)
    with database.session() as session:
        with pytest.raises(NameTaken, match="an item named 'apples' exists already; choose another name"):
            create_item(session, "apples", draft("Another?"))
        create_item(session, "pears", draft())
    assert revisions(database) == [(1, "How many?")] * 2


def test_of_two_who_want_one_name_one_gets_it(database):
    start = threading.Barrier(2)

    def want(_: int) -> str:
        start.wait(timeout=60)
        try:
            make(database)
        except NameTaken:
            return "taken"
        return "made"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(want, range(2))) == ["made", "taken"]
    assert len(revisions(database)) == 1


def test_an_item_needs_materials_that_exist(database):
    with pytest.raises(IntegrityError), database.session() as session:
        create_item(session, "apples", draft(materials={"image_1": "nothing"}))
    assert revisions(database) == []


@pytest.mark.parametrize(
    ("walk", "after"),
    [
        ((), ItemState.DRAFT),
        ((Action.SUBMIT,), ItemState.SUBMITTED),
        ((Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2), ItemState.SUBMITTED),
        ((Action.SUBMIT, Action.RETURN), ItemState.SUBMITTED),
    ],
)
def test_a_revision_starts_the_rounds_again(database, walk, after):
    item = make(database, "apples", *walk)
    with database.session() as session:
        revision = revise_item(session, get_item(session, "apples"), item.version, draft("How many now?", author="bob"))
    with database.reading() as session:
        found = get_item(session, "apples")
        assert (found.state, found.version, found.current_revision_id) == (after, item.version + 1, revision.id)
        assert events.history(session, "item", item.id)[-1].detail["revision_id"] == revision.id
    assert revisions(database) == [(1, "How many?"), (2, "How many now?")]


def test_the_same_question_is_no_revision(database):
    item = make(database)
    with database.session() as session:
        assert revise_item(session, item, item.version, draft(author="bob")) is None
    assert revisions(database) == [(1, "How many?")]


@pytest.mark.parametrize(
    ("walk", "counts"),
    [
        ((), True),
        ((Action.SUBMIT, Action.RETURN), True),
        ((Action.SUBMIT,), False),
        ((Action.SUBMIT, Action.PASS_ROUND1), False),
    ],
)
def test_other_notes_are_a_revision_only_while_the_item_is_its_authors(database, walk, counts):
    item = make(database, "apples", *walk)
    with database.session() as session:
        noted = draft(notes={"evidence": {"audio_1": {"start_s": 1.0}}})
        revision = revise_item(session, get_item(session, "apples"), item.version, noted)
        assert (revision is not None) == counts
    assert len(revisions(database)) == (2 if counts else 1)


@pytest.mark.parametrize(
    ("walk", "behind", "error"), [((), 1, StaleVersion), ((Action.SUBMIT, Action.REJECT), 0, ImpossibleAction)]
)
def test_a_revision_that_cannot_be_leaves_nothing_even_when_the_caller_goes_on(database, walk, behind, error):
    item = make(database, "apples", *walk)
    with database.session() as session, pytest.raises(error):
        revise_item(session, get_item(session, "apples"), item.version - behind, draft("Other?"))
    assert revisions(database) == [(1, "How many?")]
    with database.reading() as session:
        assert get_item(session, "apples").version == item.version


def test_of_two_editors_of_one_version_one_is_told(database):
    item = make(database)
    start = threading.Barrier(2)

    def edit(number: int) -> str:
        start.wait(timeout=60)
        try:
            with database.session() as session:
                revise_item(session, get_item(session, "apples"), item.version, draft(f"Edit {number}?"))
        except StaleVersion:
            return "stale"
        return "saved"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(edit, range(2))) == ["saved", "stale"]
    assert [number for number, _ in revisions(database)] == [1, 2]


def test_items_are_found_by_name_or_id(database):
    item = make(database)
    with database.reading() as session:
        assert get_item(session, "apples").id == get_item(session, item.id).id == item.id
        assert find_item(session, "aples") is None
        with pytest.raises(UnknownName, match="unknown item 'aples'; did you mean 'apples'"):
            get_item(session, "aples")


def test_items_in_some_states_come_by_name_with_their_current_revision(database):
    make(database, "pears", Action.SUBMIT)
    apples = make(database, "apples", Action.SUBMIT)
    make(database, "plums")
    with database.session() as session:
        newer = revise_item(session, apples, apples.version, draft("Now?"))
    with database.reading() as session:
        found = [(item.name, revision.number) for item, revision in revisions_in(session, ItemState.SUBMITTED)]
        assert found == [("apples", 2), ("pears", 1)]
        both = revisions_in(session, ItemState.SUBMITTED, ItemState.DRAFT)
        assert [item.name for item, _ in both] == ["apples", "pears", "plums"]
        assert both[0][1].id == newer.id
        assert revisions_in(session, ItemState.RETIRED) == []
