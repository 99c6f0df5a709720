"""What changed between two versions; the whole life of a release on both kinds of database."""

import pytest

from core.errors import UnknownName
from core.question import AnswerKey, Choice
from warehouse.items import Draft, current_revision, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release.build import Recipe, build_release, discard_release
from warehouse.release.diff import diff_releases
from warehouse.release.records import get_release, materials_of, members_of
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.verify import verify_release
from warehouse.tables import ReleaseState


def build(world, version, dev_share=1.0):
    build_release(world.database, "zoo", version, Recipe(plan=SplitPlan(dev_share)), "max", world.clock)


def revise(world, name, materials=None, **changes):
    """A new wording of an item, taken through all rounds again."""
    with world.database.session() as session:
        item = get_item(session, name)
        old = current_revision(session, item)
        shown = materials or materials_of(session, [old.id])[old.id]
        question = old.as_question().model_copy(update=changes)
        draft = Draft(question, {key: one.id for key, one in shown.items()}, "writer-7")
        world.pass_rounds(session, revise_item(session, item, item.version, draft, world.clock))


def current_prompt(world, name):
    with world.database.reading() as session:
        return current_revision(session, get_item(session, name)).as_question().prompt


def test_added_removed_and_changed_items_with_what_changed(world):
    for name in ("choices", "key", "language", "media", "prompt", "retired", "same"):
        world.choice_item(name, ord(name[0]) + len(name))
    build(world, "1.0.0")
    revise(world, "choices", choices=(Choice(text="a"), Choice(text="b")))
    revise(world, "key", answer=AnswerKey(correct=(0,)))
    revise(world, "language", language="en-GB")
    new = {"image_1": world.material(world.picture(900)), "audio_1": world.material(world.sound(900))}
    swapped = tuple(
        part.model_copy(update={"media": new[part.name].media_ref}) if part.type == "media" else part
        for part in current_prompt(world, "media")
    )
    revise(world, "media", new, prompt=swapped)
    parts = current_prompt(world, "prompt")
    worded = (parts[0].model_copy(update={"text": "Who is it? "}), *parts[1:])
    revise(world, "prompt", prompt=worded)
    with world.database.session() as session:
        gone = get_item(session, "retired")
        advance(session, gone.id, gone.version, Advance(Action.RETIRE, "max", ("withdrawn",)), world.clock)
    world.choice_item("added", 800)
    build(world, "2.0.0")
    with world.database.session() as session:
        found = diff_releases(session, "zoo", "1.0.0", "2.0.0")
    assert found.added == ["added"]
    assert found.removed == ["retired"]
    assert found.changed == {
        "choices": ["choices"],
        "key": ["answer"],
        "language": ["language"],
        "media": ["media"],
        "prompt": ["prompt"],
    }
    assert list(found.lines())[:3] == ["+ added", "- retired", "~ choices: choices"]


def test_moved_items_are_changed_and_nothing_is_no_change(world):
    world.choice_item("a", 1)
    build(world, "1.0.0", dev_share=1)
    build(world, "1.0.1", dev_share=0)
    with world.database.session() as session:
        assert diff_releases(session, "zoo", "1.0.0", "1.0.1").changed == {"a": ["split (dev -> test)"]}
        same = diff_releases(session, "zoo", "1.0.1", "1.0.1")
        assert (same.added, same.removed, same.changed) == ([], [], {})
        with pytest.raises(UnknownName, match=r"zoo 1\.0\.0"):
            diff_releases(session, "zoo", "1.0.0", "1.0.2")


def test_the_whole_life_on_both_databases(any_world):
    world = any_world
    consent = world.consent(["publish"])
    shown = world.material(world.film(30), consent=consent)
    heard = world.material(world.sound(700), licence=None, parent=shown)
    world.accept("heard", world.open_question(heard), {"audio_1": heard})
    world.choice_item("a", 1)
    build(world, "1.0.0")
    with world.database.session() as session:
        discard_release(session, "zoo", "1.0.0", "max", world.clock)
    build(world, "1.0.0")
    order = SealOrder("zoo", "1.0.0", "max")
    sealed = seal_release(world.database, world.blobs, order, world.clock)
    assert sealed.release.state == ReleaseState.SEALED
    assert not seal_release(world.database, world.blobs, order, world.clock).now
    world.choice_item("b", 2)
    build(world, "1.1.0", dev_share=0)
    with world.database.reading() as session:
        assert diff_releases(session, "zoo", "1.0.0", "1.1.0").added == ["b"]
        splits = {one.item.name: one.split for one in members_of(session, get_release(session, "zoo", "1.1.0"))}
    assert splits == {"a": "dev", "heard": "dev", "b": "test"}
    assert verify_release(world.database, world.blobs, "zoo", "1.0.0").damages == []
