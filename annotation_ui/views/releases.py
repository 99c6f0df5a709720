"""Releases as pages show them: the list, and what one of them holds. Counts and names; no key, salt or canary."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.releases.desk import ReleaseGone
from annotation_ui.views.formats import searched
from annotation_ui.views.paging import paging
from annotation_ui.words import N_, Words
from core.content import Modality
from warehouse.release.build import item_shapes
from warehouse.release.splits import Split
from warehouse.tables import (
    Event,
    Material,
    MaterialState,
    Release,
    ReleaseItem,
    ReleaseState,
    RevisionMedia,
)

PAGE_SIZE = 25
STATES = {ReleaseState.BUILT: N_("Draft"), ReleaseState.SEALED: N_("Sealed")}
SPLITS = {Split.DEV: N_("Dev"), Split.TEST: N_("Test"), Split.HOLDOUT: N_("Hold-out")}


@dataclass(frozen=True)
class ReleaseRow:
    """One release in the list; `manifest` is the hash of what was sealed, empty for a draft."""

    id: str
    title: str
    state: ReleaseState
    state_label: str
    questions: str
    by_modality: str
    made: str
    manifest: str


@dataclass(frozen=True)
class ReleasesPage:
    """One page of the list. `project_size` counts all releases."""

    rows: Sequence[ReleaseRow]
    total: int
    page_count: int
    project_size: int


@dataclass(frozen=True)
class CoverageTable:
    """Counts by task type and language (rows) and by what the question shows (columns)."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[int]]]


@dataclass(frozen=True)
class ReleaseDetail:
    """One release. `facts` say how it was built; `shows_withdrawn` that it may leave the project no more."""

    row: ReleaseRow
    name: str
    version: str
    created_at: datetime
    facts: Sequence[tuple[str, str]]
    splits: Sequence[tuple[str, int]]
    shows_withdrawn: bool
    may_release: bool

    @property
    def is_sealed(self) -> bool:
        """Whether it is final."""
        return self.row.state == ReleaseState.SEALED


def releases_page(session: Session, who: Principal, text: str, page: int, t: Words) -> ReleasesPage:
    """The asked page of the releases whose name or version holds the text, the newest first.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    project_size = session.exec(select(func.count()).select_from(Release)).one()
    title = col(Release.name) + " " + col(Release.version)
    fits = title.icontains(searched(text), autoescape=True)
    total = session.exec(select(func.count()).select_from(Release).where(fits)).one()
    at = paging(total, PAGE_SIZE, page)
    query = select(Release).where(fits).order_by(col(Release.created_at).desc(), col(Release.id).desc())
    found = session.exec(query.offset(at.start).limit(PAGE_SIZE)).all()
    return ReleasesPage(_rows(session, found, t), total, at.page_count, project_size)


def release_detail(session: Session, who: Principal, release_id: str, t: Words) -> ReleaseDetail:
    """One release without what is long: coverage, findings and changes are asked where they are shown.

    Raises:
        NotAllowed: The person may not see results.
        ReleaseGone: It is not there.
    """
    require(who, Permission.SEE_RESULTS)
    release = session.get(Release, release_id)
    if release is None:
        raise ReleaseGone
    (row,) = _rows(session, [release], t)
    return ReleaseDetail(
        row=row,
        name=release.name,
        version=release.version,
        created_at=release.created_at,
        facts=_facts(release.settings, t),
        splits=_splits(session, release, t),
        shows_withdrawn=_shows_withdrawn(session, release),
        may_release=who.may(Permission.RELEASE),
    )


def release_coverage(session: Session, release_id: str, t: Words) -> CoverageTable:
    """What a release covers."""
    cells = Counter(
        (one.task_type, one.language, labels.modality_set(t, one.modalities))
        for one in item_shapes(session, release_id)
    )
    columns = Counter[str]()
    for (_, _, combination), count in cells.items():
        columns[combination] += count
    ordered = [label for label, _ in columns.most_common()]
    rows = [
        (
            labels.task_type(t, task_type),
            labels.question_language(t, language),
            [cells[task_type, language, column] for column in ordered],
        )
        for task_type, language in sorted({(task_type, language) for task_type, language, _ in cells})
    ]
    return CoverageTable(ordered, rows)


def _rows(session: Session, releases: Sequence[Release], t: Words) -> list[ReleaseRow]:
    ids = [release.id for release in releases]
    sizes = dict(
        session.exec(
            select(ReleaseItem.release_id, func.count())
            .where(col(ReleaseItem.release_id).in_(ids))
            .group_by(col(ReleaseItem.release_id))
        ).all()
    )
    media = _by_modality(session, ids)
    acts = _acts(session, ids)
    names = display_names(session, {event.actor for event in acts.values()})
    rows = []
    for release in releases:
        size = sizes.get(release.id, 0)
        rows.append(
            ReleaseRow(
                id=release.id,
                title=f"{release.name} {release.version}",
                state=release.state,
                state_label=t(STATES[release.state]),
                questions=t.plural("{count} question", "{count} questions", size),
                by_modality=_modality_words(media.get(release.id, {}), t),
                made=_made(release, acts.get(release.id), names, t),
                manifest=release.manifest_sha256 or "",
            )
        )
    return rows


def _by_modality(session: Session, release_ids: Sequence[str]) -> dict[str, dict[Modality, int]]:
    """Questions that show each medium, by release."""
    query = (
        select(ReleaseItem.release_id, Material.modality, func.count(func.distinct(ReleaseItem.revision_id)))
        .join(RevisionMedia, col(RevisionMedia.revision_id) == col(ReleaseItem.revision_id))
        .join(Material, col(Material.id) == col(RevisionMedia.material_id))
        .where(col(ReleaseItem.release_id).in_(release_ids))
        .group_by(col(ReleaseItem.release_id), col(Material.modality))
    )
    found: dict[str, dict[Modality, int]] = {}
    for release_id, modality, count in session.exec(query):
        found.setdefault(release_id, {})[Modality(modality)] = count
    return found


def _modality_words(counts: Mapping[Modality, int], t: Words) -> str:
    return " · ".join(
        f"{t(labels.MODALITIES[modality])} {t.number(counts[modality])}" for modality in Modality if modality in counts
    )


def _acts(session: Session, release_ids: Sequence[str]) -> dict[str, Event]:
    """The last step of each release in its life."""
    query = (
        select(Event)
        .where(Event.subject_kind == "release", col(Event.subject_id).in_(release_ids))
        .where(col(Event.action).in_(["build", "seal"]))
        .order_by(col(Event.sequence))
    )
    return {event.subject_id: event for event in session.exec(query)}


def _made(release: Release, act: Event | None, names: Mapping[str, str], t: Words) -> str:
    sealed = release.sealed_at is not None
    when = t.moment(release.sealed_at or release.created_at)
    if act is None:
        return t("sealed {when}", when=when) if sealed else t("built {when}", when=when)
    text = N_("sealed {when} by {name}") if sealed else N_("built {when} by {name}")
    return t(text, when=when, name=names[act.actor])


def _facts(settings: Mapping[str, Any], t: Words) -> list[tuple[str, str]]:
    """How it was built. Only what is named here is shown: the settings hold the hold-out's salt too."""
    media = [Modality(code) for code in settings.get("modalities", ())]
    every = t("All")
    facts = [
        (t("Licence of the questions"), settings.get("licence") or t("not stated")),
        (t("Task types"), t(", ").join(labels.task_type(t, one) for one in settings.get("task_types", ())) or every),
        (t("Languages"), t(", ").join(labels.question_language(t, c) for c in settings.get("languages", ())) or every),
        (t("Shows at least"), labels.modality_set(t, media) if media else t("anything")),
    ]
    if "seed" in settings:
        shares = {name: t.percent(settings.get(name, 0.0)) for name in ("dev_share", "holdout_share")}
        told = t("{dev} to dev, {holdout} to the hold-out", dev=shares["dev_share"], holdout=shares["holdout_share"])
        facts += [(t("Shares asked for"), told), (t("Seed"), str(settings["seed"]))]
    allowed = settings.get("allowed_licences")
    return [*facts, (t("Licences allowed when sealing"), t(", ").join(allowed))] if allowed else facts


def _splits(session: Session, release: Release, t: Words) -> list[tuple[str, int]]:
    query = select(ReleaseItem.split, func.count()).where(ReleaseItem.release_id == release.id)
    counts = dict(session.exec(query.group_by(col(ReleaseItem.split))).all())
    return [(t(SPLITS[split]), counts[split.value]) for split in Split if split.value in counts]


def _shows_withdrawn(session: Session, release: Release) -> bool:
    query = (
        select(Material.id)
        .join(RevisionMedia, col(RevisionMedia.material_id) == col(Material.id))
        .join(ReleaseItem, col(ReleaseItem.revision_id) == col(RevisionMedia.revision_id))
        .where(ReleaseItem.release_id == release.id, ReleaseItem.split != Split.HOLDOUT.value)
        .where(Material.state == MaterialState.WITHDRAWN)
    )
    return session.exec(query.limit(1)).first() is not None
