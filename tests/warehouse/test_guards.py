import pytest
from sqlmodel import delete, select, update

from core.content import TextPart
from core.question import AnswerKey, Question
from warehouse import events
from warehouse.guards import ImmutableRow, StateWrittenDirectly
from warehouse.items import Draft, create_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import (
    Caption,
    CaptionKind,
    CaptionState,
    Decision,
    Event,
    Item,
    ItemRevision,
    ItemState,
    Material,
    Release,
    ReleaseItem,
    ReleaseState,
    RevisionMedia,
    Verdict,
)

QUESTION = Question(
    prompt=(TextPart(text="How many?"),),
    kind="open",
    answer=AnswerKey(accepted=("3",)),
    task_type="counting",
    language="en",
)


@pytest.fixture
def item(database, run_id) -> Item:
    """An item with one row of every kind that never changes, two of its revisions in a built and a sealed release."""
    with database.session() as session:
        session.add(Material(id="m", sha256="a" * 64, modality="image", run_id=run_id))
        session.flush()
        item, revision = create_item(session, "apples", Draft(QUESTION, {"image_1": "m"}, "ann"))
        session.add(
            Verdict(
                revision_id=revision.id,
                round=1,
                by_person=True,
                decider="bob",
                decision=Decision.PASS,
                idempotency_key="k",
            )
        )
        words = {"kind": CaptionKind.CAPTION, "language": "en", "text": "Apples.", "author": "ann", "by_person": True}
        session.add(Caption(material_id="m", **words))
        for name in ("open", "closed"):
            session.add(Release(id=name, name=name, version="1.0.0", run_id=run_id))
            session.flush()
            session.add(ReleaseItem(release_id=name, revision_id=revision.id, split="test", position=0))
    with database.session() as session:
        session.get(Release, "closed").state = ReleaseState.SEALED
    return item


CHANGES = [
    (Event, "actor", "eve"),
    (ItemRevision, "author", "eve"),
    (ItemRevision, "question", {}),
    (RevisionMedia, "placeholder", "image_2"),
    (Verdict, "decision", Decision.REJECT),
    (ReleaseItem, "split", "dev"),
]


@pytest.mark.parametrize(("table", "column", "value"), CHANGES)
def test_history_is_never_changed(database, item, table, column, value):
    with pytest.raises(ImmutableRow, match=f"{table.__name__} rows are never changed"), database.session() as session:
        setattr(session.exec(select(table)).first(), column, value)
    with database.reading() as session:
        assert value not in session.exec(select(getattr(table, column))).all()


@pytest.mark.parametrize(("column", "value"), [("text", "Pears."), ("author", "eve"), ("language", "zh")])
def test_of_a_caption_only_the_state_changes(database, item, column, value):
    told = "only the state changes; write a new version with captions.edit_caption"
    with pytest.raises(ImmutableRow, match=told), database.session() as session:
        caption = session.exec(select(Caption)).one()
        caption.state = CaptionState.ACCEPTED
        setattr(caption, column, value)
    with database.session() as session:
        caption = session.exec(select(Caption)).one()
        assert (caption.text, caption.author, caption.language, caption.state) == ("Apples.", "ann", "en", "proposed")
        caption.state = CaptionState.ACCEPTED
    with database.reading() as session:
        assert session.exec(select(Caption.state)).one() is CaptionState.ACCEPTED


@pytest.mark.parametrize("table", [Event, ItemRevision, RevisionMedia, Verdict, Caption])
def test_history_is_never_deleted(database, item, table):
    with pytest.raises(ImmutableRow, match=f"{table.__name__} rows are never deleted"), database.session() as session:
        session.delete(session.exec(select(table)).first())
    with database.reading() as session:
        assert session.exec(select(table)).first() is not None


@pytest.mark.parametrize("statement", [delete, lambda table: update(table).values(**{CHANGES_BY_TABLE[table]: "x"})])
@pytest.mark.parametrize("table", [Event, ItemRevision, RevisionMedia, Verdict, ReleaseItem, Release, Caption])
def test_statements_in_bulk_cannot_do_it_either(database, item, table, statement):
    with pytest.raises(ImmutableRow, match="in bulk"), database.session() as session:
        session.exec(statement(table))


CHANGES_BY_TABLE = {table: column for table, column, _ in CHANGES} | {Release: "name", Caption: "text"}


def test_a_row_that_is_written_with_its_own_values_is_not_changed(database, item):
    with database.session() as session:
        revision = session.exec(select(ItemRevision)).one()
        revision.author = revision.author


def test_the_state_of_an_item_is_advanced_and_never_assigned(database, item):
    with (
        pytest.raises(StateWrittenDirectly, match=r"item 'apples': .*lifecycle\.advance"),
        database.session() as session,
    ):
        session.get(Item, item.id).state = ItemState.ACCEPTED
    with pytest.raises(StateWrittenDirectly), database.session() as session:
        session.exec(update(Item).values(state=ItemState.ACCEPTED))
    with database.reading() as session:
        assert session.get(Item, item.id).state is ItemState.DRAFT


def test_advancing_one_item_lets_no_other_slip_through(database, item):
    with database.session() as session:
        other, _ = create_item(session, "pears", Draft(QUESTION, {}, "ann"))

    def smuggle(session) -> None:
        smuggled, walked = session.get(Item, other.id), session.get(Item, item.id)
        with session.no_autoflush:
            smuggled.state = ItemState.ACCEPTED
            advance(session, walked.id, walked.version, Advance(Action.SUBMIT, "ann"))

    with pytest.raises(StateWrittenDirectly, match="pears"), database.session() as session:
        smuggle(session)
    with database.reading() as session:
        assert {row.state for row in session.exec(select(Item))} == {ItemState.DRAFT}


def test_other_columns_of_an_item_may_change(database, item):
    with database.session() as session:
        session.get(Item, item.id).twin_group = "fruit"


def test_a_sealed_release_is_closed(database, item, run_id):
    with database.session() as session:
        _, other = create_item(session, "pears", Draft(QUESTION, {}, "ann"))
    late = ReleaseItem(release_id="closed", revision_id=other.id, split="test", position=1)
    changes = {
        "is sealed; build a new version": lambda s: setattr(s.get(Release, "closed"), "version", "1.0.1"),
        "sealed; build a new": lambda s: setattr(s.get(Release, "closed"), "state", ReleaseState.BUILT),
        "is sealed and never deleted": lambda s: s.delete(s.get(Release, "closed")),
        "ReleaseItem rows are never deleted": lambda s: s.delete(
            s.get(ReleaseItem, ("closed", item.current_revision_id))
        ),
        "a sealed release takes no more items": lambda s: s.add(late),
    }
    for told, change in changes.items():
        with pytest.raises(ImmutableRow, match=told), database.session() as session:
            change(session)
    with database.reading() as session:
        assert session.get(Release, "closed").state is ReleaseState.SEALED
        members = session.exec(select(ReleaseItem.revision_id).where(ReleaseItem.release_id == "closed")).all()
        assert members == [item.current_revision_id]


def test_a_built_release_can_be_filled_sealed_or_discarded(database, item, run_id):
    with database.session() as session:
        _, other = create_item(session, "pears", Draft(QUESTION, {}, "ann"))
        session.add(ReleaseItem(release_id="open", revision_id=other.id, split="test", position=1))
    with database.session() as session:
        for member in session.exec(select(ReleaseItem).where(ReleaseItem.release_id == "open")):
            session.delete(member)
        session.delete(session.get(Release, "open"))
    with database.session() as session:
        session.add(Release(id="new", name="new", version="1.0.0", run_id=run_id))
        session.flush()
        session.add(ReleaseItem(release_id="new", revision_id=other.id, split="test", position=0))
        session.get(Release, "new").state = ReleaseState.SEALED
    with database.reading() as session:
        assert {release.id: release.state.value for release in session.exec(select(Release))} == {
            "closed": "sealed",
            "new": "sealed",
        }


def test_events_are_only_appended(database, item):
    with database.session() as session:
        events.record(session, "ann", "item", item.id, "look", why="curious")
    with database.reading() as session:
        told = events.history(session, "item", item.id)
    assert [event.action for event in told] == ["create", "look"]
    assert told[1].detail == {"why": "curious"}
