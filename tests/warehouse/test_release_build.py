"""Choosing items for a release and putting them into splits."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.content import Modality
from core.errors import UnknownName
from warehouse.items import get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.release import build as building
from warehouse.release.build import (
    NothingToRelease,
    Query,
    Recipe,
    SealedForGood,
    build_release,
    describe_release,
    discard_release,
)
from warehouse.release.records import BadReleaseName, BadVersion, VersionTaken, all_releases, materials_of, members_of
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import BadShares, Split, SplitPlan, assign_splits
from warehouse.tables import DuplicateLink, ItemState, Release

PLAN = SplitPlan(dev_share=0.3, holdout_share=0.2, seed=4)
NAMES = st.sets(st.text("abcdef0123456789-", min_size=1, max_size=6), min_size=1, max_size=30)


def build(world, name="zoo", version="1.0.0", query=None, plan=PLAN):
    recipe = Recipe(query or Query(), plan, salt="pepper")
    return build_release(world.database, name, version, recipe, "max", world.clock)


def splits_of(world, version):
    with world.database.session() as session:
        release = next(one for one in all_releases(session) if one.version == version)
        return {member.item.name: member.split for member in members_of(session, release)}


def test_no_write_waits_while_items_are_chosen(world, monkeypatch):
    """Of ten thousand items that takes seconds."""
    world.choice_item("ape", 1)
    choose, calls = building._chosen, []

    def chosen(*arguments):
        with closing(sqlite3.connect(world.database.engine.url.database, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
        calls.append(arguments)
        return choose(*arguments)

    monkeypatch.setattr(building, "_chosen", chosen)
    build(world)
    assert len(calls) == 1 and set(splits_of(world, "1.0.0")) == {"ape"}


def test_what_changes_while_items_are_chosen_counts(world, monkeypatch):
    for shade, name in enumerate(("ape", "bee"), start=1):
        world.choice_item(name, shade)
    choose = building._chosen

    def chosen(*arguments):
        monkeypatch.setattr(building, "_chosen", choose)
        found = choose(*arguments)
        retire(world, "bee")
        return found

    monkeypatch.setattr(building, "_chosen", chosen)
    build(world)
    assert set(splits_of(world, "1.0.0")) == {"ape"}


def retire(world, name):
    with world.database.session() as session:
        item = get_item(session, name)
        advance(session, item.id, item.version, Advance(Action.RETIRE, "max", ("too_easy",)), world.clock)


def lone(names):
    return [frozenset({name}) for name in names]


@given(NAMES, NAMES, st.integers(0, 5))
def test_adding_items_moves_no_other_item(names, more, seed):
    plan = SplitPlan(0.3, 0.2, seed)
    before = assign_splits(lone(names), plan)
    after = assign_splits(lone(names | more), plan)
    assert {name: after[name] for name in names} == before


@settings(max_examples=50)
@given(st.lists(NAMES, min_size=1, max_size=8), st.dictionaries(st.text("abcdef", max_size=3), st.sampled_from(Split)))
def test_a_group_lies_in_one_split_and_released_items_stay_or_become_more_public(groups, earlier):
    disjoint, seen = [], set()
    for group in groups:
        if group - seen:
            disjoint.append(frozenset(group - seen))
            seen |= group
    found = assign_splits(disjoint, PLAN, earlier)
    for group in disjoint:
        assert len({found[name] for name in group}) == 1
    publicity = [Split.DEV, Split.TEST, Split.HOLDOUT]
    for name in seen & earlier.keys():
        assert publicity.index(found[name]) <= publicity.index(earlier[name])


def test_shares_are_those_asked_for_also_when_groups_are_large():
    groups = [frozenset({f"a{i}", f"b{i}", f"c{i}", f"d{i}"}) for i in range(4000)]
    found = assign_splits(groups, PLAN)
    shares = {split: sum(one == split for one in found.values()) / len(found) for split in Split}
    # 3 standard errors of a share over 4000 groups: 3 * sqrt(.3 * .7 / 4000) = .022
    assert shares[Split.DEV] == pytest.approx(0.3, abs=0.022)
    assert shares[Split.HOLDOUT] == pytest.approx(0.2, abs=0.022)


def test_another_seed_draws_other_splits():
    names = lone(f"item-{number}" for number in range(50))
    assert assign_splits(names, SplitPlan(0.5, 0, 0)) != assign_splits(names, SplitPlan(0.5, 0, 1))


@pytest.mark.parametrize("shares", [(-0.1, 0), (0.6, 0.5), (0, 1.1), (float("nan"), 0)])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(BadShares, match="sum to at most 1"):
        SplitPlan(*shares)


def test_only_accepted_items_that_fit_the_query_are_chosen(world):
    world.choice_item("english", 1)
    world.choice_item("chinese", 2, language="zh-CN")
    world.steps_item("film", 3)
    picture = world.material(world.picture(9))
    world.accept("not-yet", world.open_question(picture), {"image_1": picture}, rounds=2)
    assert build(world, version="1.0.0").splits.keys() <= set(Split)
    assert set(splits_of(world, "1.0.0")) == {"english", "chinese", "film"}
    build(world, version="1.0.1", query=Query(languages=["zh"]))
    assert set(splits_of(world, "1.0.1")) == {"chinese", "film"}
    build(world, version="1.0.2", query=Query(modalities=[Modality.VIDEO]))
    assert set(splits_of(world, "1.0.2")) == {"film"}
    build(world, version="1.0.3", query=Query(task_types=["Human & Animal Recognition"]))
    assert set(splits_of(world, "1.0.3")) == {"english", "chinese", "film"}


def test_coverage_counts_task_type_media_and_language(world):
    world.choice_item("a", 1)
    world.choice_item("b", 2)
    world.steps_item("c", 3)
    cells = [(cell.task_type, cell.modalities, cell.language, cell.count) for cell in build(world).coverage]
    kind = "human_and_animal_recognition"
    assert cells == [(kind, "image+audio", "en", 2), (kind, "image+audio+video", "zh-CN", 1)]


def test_twins_and_duplicates_share_a_split(world):
    for number in range(12):
        world.choice_item(f"item-{number}", number, twin_group="pair" if number in {0, 5} else None)
    # 1 and 2 are linked only through a picture that no item shows.
    with world.database.session() as session:
        names = ["item-1", "item-2", "item-7", "item-8"]
        revisions = [get_item(session, name).current_revision_id for name in names]
        shown = materials_of(session, revisions)
        pictures = [shown[revision]["image_1"] for revision in revisions]
    between = world.material(world.picture(999))
    with world.database.session() as session:
        for material in pictures[:2]:
            first, second = sorted([material.id, between.id])
            session.add(
                DuplicateLink(first_id=first, second_id=second, method="phash@1", distance=1, run_id=world.run_id)
            )
    seen = set()
    for seed in range(12):
        build(world, version=f"1.0.{seed}", plan=SplitPlan(0.5, 0, seed))
        splits = splits_of(world, f"1.0.{seed}")
        assert splits["item-0"] == splits["item-5"]
        assert splits["item-1"] == splits["item-2"]
        seen.add((splits["item-0"], splits["item-1"], splits["item-7"] == splits["item-8"]))
    assert len(seen) > 4, "the groups do move with the seed, and lone items do part"


def test_the_sound_of_a_film_and_the_film_share_a_split(world):
    shown = world.material(world.film(50))
    heard = world.material(world.sound(440), licence=None, parent=shown)
    world.accept("sees", world.open_question(shown), {"video_1": shown})
    world.accept("hears", world.open_question(heard), {"audio_1": heard})
    splits = set()
    for seed in range(8):
        build(world, version=f"1.0.{seed}", plan=SplitPlan(0.5, 0, seed))
        found = splits_of(world, f"1.0.{seed}")
        assert found["sees"] == found["hears"]
        splits.add(found["sees"])
    assert splits == {"dev", "test"}


def test_sealed_items_keep_their_split_in_later_versions(world):
    for number in range(6):
        world.choice_item(f"item-{number}", number)
    build(world, plan=SplitPlan(0.5, 0, 1))
    seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock)
    before = splits_of(world, "1.0.0")
    world.choice_item("item-new", 77)
    build(world, version="1.1.0", plan=SplitPlan(0.5, 0, 2))
    after = splits_of(world, "1.1.0")
    assert {name: after[name] for name in before} == before
    assert set(before.values()) == {"dev", "test"}
    # The other seed does draw other splits where nothing was sealed.
    build(world, name="other", version="1.2.0", plan=SplitPlan(0.5, 0, 2))
    assert {name: splits_of(world, "1.2.0")[name] for name in before} != before


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0\n", "", "१.0.0"])
def test_a_version_must_be_semantic(world, version):
    with pytest.raises(BadVersion, match=r"1\.0\.0"):
        build(world, version=version)


@pytest.mark.parametrize("name", ["", "Zoo", "a b", "../x", "-a", "a--b", "a" * 65, "动物"])
def test_a_name_must_fit_into_paths(world, name):
    with pytest.raises(BadReleaseName):
        build(world, name=name)


def test_a_taken_version_nothing_accepted_and_an_unknown_task_type_are_said(world):
    with pytest.raises(NothingToRelease, match="no accepted item"):
        build(world)
    world.choice_item("a", 1)
    with pytest.raises(UnknownName, match="did you mean"):
        build(world, query=Query(task_types=["human_and_animal_recogniton"]))
    build(world, version="1.0.0-rc.1+build.5")
    with pytest.raises(VersionTaken, match=r"release discard zoo 1\.0\.0-rc\.1\+build\.5"):
        build(world, version="1.0.0-rc.1+build.5")
    with world.database.session() as session:
        assert len(all_releases(session)) == 1


def test_of_two_that_build_one_version_at_once_one_is_told(any_world):
    any_world.choice_item("a", 1)
    with ThreadPoolExecutor(1) as other:
        with any_world.database.session() as session:
            session.add(Release(name="zoo", version="1.0.0", run_id=any_world.run_id))
            session.flush()
            building = other.submit(build, any_world)
        with pytest.raises(VersionTaken, match=r"zoo 1\.0\.0 exists already and is built"):
            building.result()


def test_a_built_release_can_be_discarded_and_a_sealed_one_cannot(world):
    world.choice_item("a", 1)
    build(world)
    with world.database.session() as session:
        discard_release(session, "zoo", "1.0.0", "max", world.clock)
        assert all_releases(session) == []
    build(world)
    seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock)
    with world.database.session() as session, pytest.raises(SealedForGood):
        discard_release(session, "zoo", "1.0.0", "max", world.clock)
    with world.database.session() as session:
        assert describe_release(session, "zoo", "1.0.0").splits
    assert world.reload("a").state == ItemState.RELEASED
