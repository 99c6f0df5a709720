"""Choose revisions for a release, and put each into a split."""

import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError
from core.ids import Clock, utc_now
from core.question import Question
from core.taxonomy import load_taxonomy
from warehouse import events
from warehouse.database import Database
from warehouse.items import revisions_in
from warehouse.release.coverage import Cell, coverage
from warehouse.release.records import (
    RELEASABLE,
    Guard,
    Member,
    check_name_and_version,
    get_release,
    materials_of,
    members_of,
    question_of,
    version_taken,
)
from warehouse.release.splits import Split, SplitPlan, assign_splits, earlier_splits, item_groups
from warehouse.release.tombstones import tombstones_of
from warehouse.runs import open_run
from warehouse.tables import Item, ItemRevision, ItemState, Release, ReleaseItem, ReleaseState, RevisionMedia


class NothingToRelease(InterplayError):
    """No accepted item fits the query."""


class SealedForGood(InterplayError):
    """A sealed release was to be discarded."""


@dataclass(frozen=True)
class Query:
    """Which accepted items go in: of any of the task types, in any of the languages, with all of the media.

    Empty means any. A language covers its regions: `en` takes `en-GB` too.
    """

    task_types: Sequence[str] = ()
    languages: Sequence[str] = ()
    modalities: Sequence[Modality] = ()


@dataclass(frozen=True)
class Recipe:
    """What a release is made from. `licence` is that of the questions themselves; `salt` is for the hold-out's hashes.

    A salt that is not given is drawn, so give it where the hold-out's hashes must come out the same again.
    """

    query: Query = field(default_factory=Query)
    plan: SplitPlan = field(default_factory=SplitPlan)
    licence: str | None = None
    salt: str | None = None


@dataclass(frozen=True)
class Built:
    """A new release, its splits' sizes and what it covers."""

    release: Release
    splits: dict[str, int]
    coverage: list[Cell]


class Misfit(StrEnum):
    """Why an accepted item is not chosen: the first of the query's wishes that it does not meet."""

    TASK_TYPE = "task_type"
    LANGUAGE = "language"
    MODALITIES = "modalities"


@dataclass(frozen=True)
class Shape:
    """What of an item's question a query asks for, and the state of its review."""

    state: ItemState
    task_type: str
    language: str
    modalities: frozenset[Modality]


@dataclass(frozen=True)
class Fitting:
    """How many items a query chooses, and why the others are not: by the state of their review, or by what is asked."""

    chosen: int
    not_accepted: Mapping[ItemState, int]
    misfits: Mapping[Misfit, int]


def item_shapes(session: Session, release_id: str | None = None) -> list[Shape]:
    """Of every item, or of a release's, without reading whole questions: there may be ten thousand, and somebody waits.

    Of every item it is the current question, of a release's the released one.
    """
    among = select(Item.current_revision_id)
    if release_id is not None:
        among = select(ReleaseItem.revision_id).where(ReleaseItem.release_id == release_id)
    media = select(RevisionMedia.revision_id, RevisionMedia.placeholder)
    senses: dict[str, set[Modality]] = {}
    for revision_id, placeholder in session.exec(media.where(col(RevisionMedia.revision_id).in_(among))):
        senses.setdefault(revision_id, set()).add(Modality(placeholder.partition("_")[0]))
    question = col(ItemRevision.question)
    query = (
        select(ItemRevision.id, Item.state, question["task_type"].as_string(), question["language"].as_string())
        .join(Item, col(Item.id) == col(ItemRevision.item_id))
        .where(col(ItemRevision.id).in_(among))
    )
    return [
        Shape(ItemState(state), task_type, language, frozenset(senses.get(revision_id, ())))
        for revision_id, state, task_type, language in session.exec(query)
    ]


def fitting(shapes: Sequence[Shape], query: Query) -> Fitting:
    """What `build_release` would choose now, and what it would leave."""
    task_types = _known(query.task_types)
    ready = [shape for shape in shapes if shape.state in RELEASABLE]
    fates = Counter(_misfit(one.task_type, one.language, one.modalities, task_types, query) for one in ready)
    return Fitting(
        chosen=fates[None],
        not_accepted=Counter(shape.state for shape in shapes if shape.state not in RELEASABLE),
        misfits={fate: count for fate, count in fates.items() if fate is not None},
    )


def build_release(
    database: Database,
    name: str,
    version: str,
    recipe: Recipe,
    actor: str,
    clock: Clock = utc_now,
    guard: Guard | None = None,
) -> Built:
    """Make a release, which can be discarded until it is sealed. `guard` is asked in the transaction that stores it.

    Raises:
        BadReleaseName, BadVersion, VersionTaken: Name and version cannot be used.
        UnknownName: The query names an unknown task type.
        NothingToRelease: No accepted item fits it, and nothing that the name held before was withdrawn.
    """
    with database.reading() as session:
        check_name_and_version(session, name, version)
        # Here, for no write has to wait while it goes on: of ten thousand items it takes seconds.
        versions, chosen = _versions(session), _chosen(session, name, recipe.query)
    settings = _settings(recipe)
    with open_run(
        database, "release build", {**settings, "name": name, "version": version}, recipe.plan.seed, clock
    ) as run:
        with database.session() as session:
            if guard is not None:
                guard(session)
            check_name_and_version(session, name, version)
            if _versions(session) != versions:
                chosen = _chosen(session, name, recipe.query)
            members = _split(session, name, chosen, recipe.plan)
            private = {"salt": recipe.salt or secrets.token_hex(16)} if recipe.plan.holdout_share else {}
            release = Release(
                name=name, version=version, settings=settings | private, run_id=run.id, created_at=clock()
            )
            _add(session, release)
            for position, member in enumerate(members):
                row = ReleaseItem(
                    release_id=release.id, revision_id=member.revision.id, split=member.split, position=position
                )
                session.add(row)
            events.record(session, actor, "release", release.id, "build", clock, name=name, version=version)
        built = _describe(release, members)
        run.summary = {"splits": built.splits}
    return built


def describe_release(session: Session, name: str, version: str) -> Built:
    """Splits and coverage of a release.

    Raises:
        UnknownName: There is none of that name and version.
    """
    release = get_release(session, name, version)
    return _describe(release, members_of(session, release))


def discard_release(session: Session, name: str, version: str, actor: str, clock: Clock = utc_now) -> None:
    """Delete a release that is not sealed, so that its version is free again.

    Raises:
        UnknownName: There is none of that name and version.
        SealedForGood: It is sealed.
    """
    release = get_release(session, name, version)
    if release.state == ReleaseState.SEALED:
        raise SealedForGood(f"release {name} {version} is sealed and stays; build a new version instead")
    for member in members_of(session, release):
        session.delete(session.get_one(ReleaseItem, (release.id, member.revision.id)))
    session.flush()
    session.delete(release)
    events.record(session, actor, "release", release.id, "discard", clock, name=name, version=version)


def _add(session: Session, release: Release) -> None:
    try:
        with session.begin_nested():
            session.add(release)
    except IntegrityError as error:
        # Another process built it between our look and our insert.
        raise version_taken(release) from error


def _versions(session: Session) -> set[tuple[str, int]]:
    """Of all items: a step in the life of one, or a new revision, changes its own."""
    return set(session.exec(select(Item.id, Item.version)))


def _chosen(session: Session, name: str, query: Query) -> list[Member]:
    """What fits; nothing, where all that the name ever held was withdrawn: its tombstones must be told all the same."""
    task_types = _known(query.task_types)
    chosen = [
        Member(item, revision, split="")
        for item, revision in revisions_in(session, *RELEASABLE)
        if _fits(question_of(revision), task_types, query)
    ]
    if not chosen and not tombstones_of(session, Release(name=name, version="", run_id=""), ()):
        raise NothingToRelease(
            "no accepted item fits this query; 'interplay item list' shows the items and their states"
        )
    return chosen


def _known(task_types: Sequence[str]) -> set[str]:
    taxonomy = load_taxonomy()
    return {taxonomy.get(name).id for name in task_types}


def _fits(question: Question | None, task_types: Collection[str], query: Query) -> bool:
    if question is None:
        # A question that this version cannot read goes in where nothing is asked of it; sealing then names it.
        return not (query.task_types or query.languages or query.modalities)
    return _misfit(question.task_type, question.language, question.modalities, task_types, query) is None


def _misfit(
    task_type: str, language: str, modalities: frozenset[Modality], task_types: Collection[str], query: Query
) -> Misfit | None:
    spoken = {language.lower(), language.lower().split("-", maxsplit=1)[0]}
    if task_types and task_type not in task_types:
        return Misfit.TASK_TYPE
    if query.languages and spoken.isdisjoint(wanted.lower() for wanted in query.languages):
        return Misfit.LANGUAGE
    return None if modalities.issuperset(query.modalities) else Misfit.MODALITIES


def _split(session: Session, name: str, chosen: list[Member], plan: SplitPlan) -> list[Member]:
    by_revision = materials_of(session, [member.revision.id for member in chosen])
    members = [Member(m.item, m.revision, "", by_revision.get(m.revision.id, {})) for m in chosen]
    splits = assign_splits(item_groups(session, members), plan, earlier_splits(session, name))
    return [Member(m.item, m.revision, splits[m.item.name].value, m.materials) for m in members]


def _settings(recipe: Recipe) -> dict[str, Any]:
    plan, query = recipe.plan, recipe.query
    return {
        "task_types": sorted(query.task_types),
        "languages": sorted(query.languages),
        "modalities": sorted(query.modalities),
        "dev_share": plan.dev_share,
        "holdout_share": plan.holdout_share,
        "seed": plan.seed,
        "licence": recipe.licence,
    }


def _describe(release: Release, members: Sequence[Member]) -> Built:
    counts = {split.value: sum(member.split == split for member in members) for split in Split}
    return Built(
        release=release,
        splits={split: count for split, count in counts.items() if count},
        coverage=coverage(member.question for member in members if member.question is not None),
    )
