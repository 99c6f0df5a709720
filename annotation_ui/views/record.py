"""The recording desk in words: speakers, consents, scripts, and what a withdrawal takes away."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect
from sqlmodel import Session, col, func, select

from annotation_ui import labels
from annotation_ui.recording.speakers import Speaker
from annotation_ui.views.formats import searched
from annotation_ui.views.paging import paging
from annotation_ui.words import N_, Words
from curation.recordings.contributors import Gender
from curation.recordings.withdrawal import WithdrawalReport
from warehouse.consents import Scope
from warehouse.tables import Consent, Recording, Script

PAGE_SIZE = 20
FEW_PEOPLE = 3
_SNIPPET = 200

SCOPES = {
    Scope.VOICE: N_("My voice is recorded and kept for this project. (Needed to record.)"),
    Scope.PUBLISH: N_("The recordings are published as part of the benchmark."),
    Scope.EVALUATE: N_("Models are tested with the recordings."),
    Scope.TRAIN: N_("Models are trained with the recordings."),
    Scope.FACE: N_("My face is recorded."),
}
SHORT_SCOPES = {
    Scope.VOICE: N_("voice"),
    Scope.PUBLISH: N_("publishing"),
    Scope.EVALUATE: N_("testing models"),
    Scope.TRAIN: N_("training models"),
    Scope.FACE: N_("face"),
}
GENDERS = {Gender.FEMALE: N_("female"), Gender.MALE: N_("male"), Gender.OTHER: N_("other")}
RECORDED = {
    "not_mine": N_("Not yet by this speaker"),
    "nobody": N_("By nobody yet"),
    "few": N_("By fewer than 3 people"),
}
ITEM_STEPS = {
    "retire": N_("{name} is retired"),
    "return": N_("{name} goes back to its author"),
}


@dataclass(frozen=True)
class ScriptQuery:
    """What the list of scripts is narrowed to; `recorded` is a key of `RECORDED`."""

    language: str | None = None
    dialect: str | None = None
    role: str | None = None
    recorded: str | None = None
    text: str = ""
    page: int = 1


@dataclass(frozen=True)
class ScriptRow:
    """One script in a list."""

    id: str
    name: str
    snippet: str
    code: str
    language: str
    about: str
    people: str
    is_mine: bool


@dataclass(frozen=True)
class ScriptsPage:
    """A page of scripts; `any_open` is False where the project wants no takes at all."""

    rows: Sequence[ScriptRow]
    total: int
    page_count: int


@dataclass(frozen=True)
class ScriptChoices:
    """What open scripts can be narrowed to."""

    languages: Sequence[str]
    dialects: Sequence[str]
    roles: Sequence[str]


def speaker_label(t: Words, speaker: Speaker) -> str:
    """A speaker as a list names them: pseudonym and coarse facts, told by their own account only to themselves."""
    one = speaker.contributor
    gender = t(GENDERS[Gender(one.gender)]) if one.gender in set(Gender) else one.gender
    facts = [fact for fact in (one.dialect, one.age_band, gender) if fact]
    label = " · ".join([one.pseudonym, *facts])
    return t("{speaker} (you)", speaker=label) if speaker.is_self else label


def consent_line(t: Words, consent: Consent) -> str:
    """What somebody agreed to, in one line."""
    scopes = t(", ").join(t(SHORT_SCOPES[Scope(one)]) for one in consent.scope if one in set(Scope))
    given = t(
        "Consent {version} of {day}: {scopes}",
        version=consent.text_version, day=f"{consent.given_at:%Y-%m-%d}", scopes=scopes,
    )  # fmt: skip
    if consent.expires_at is None:
        return given
    return f"{given} · " + t("until {day}", day=consent.expires_at.date())


def script_choices(session: Session) -> ScriptChoices:
    """Languages, dialects and roles of open scripts."""

    def values(column: Any) -> list[str]:
        return sorted(one for one in session.exec(select(column).where(col(Script.active)).distinct()) if one)

    return ScriptChoices(values(Script.language), values(Script.dialect), values(Script.role))


def scripts_page(session: Session, query: ScriptQuery, contributor_id: str, t: Words) -> ScriptsPage:
    """Open scripts by name; a page beyond the last is the last."""
    conditions = _conditions(query, contributor_id)
    total = session.exec(select(func.count()).select_from(Script).where(*conditions)).one()
    at = paging(total, PAGE_SIZE, query.page)
    chosen = select(Script, _people(), _by(contributor_id)).where(*conditions).order_by(col(Script.name))
    found = session.exec(chosen.offset(at.start).limit(PAGE_SIZE)).all()
    return ScriptsPage([_row(script, count, bool(own), t) for script, count, own in found], total, at.page_count)


def next_script(session: Session, query: ScriptQuery, contributor_id: str, after: Script) -> str | None:
    """The first script behind this one that the speaker has not recorded, else the first of all; None for none."""
    conditions = [
        *_conditions(query, contributor_id),
        ~_by(contributor_id),
    ]
    wanted = select(Script.id).where(*conditions, Script.id != after.id).order_by(col(Script.name))
    behind = session.exec(wanted.where(col(Script.name) > after.name)).first()
    return behind or session.exec(wanted).first()


def script_about(t: Words, script: Script) -> str:
    """Dialect, role, and how many speak."""
    speakers = "" if script.speakers == 1 else t.plural("{count} speaker", "{count} speakers", script.speakers)
    return " · ".join(fact for fact in (script.dialect, script.role, speakers) if fact)


def withdrawal_lines(reports: Sequence[WithdrawalReport], t: Words) -> list[str]:
    """What a withdrawal takes away, or took, in plain words."""
    return [line for report in reports for line in _touched(report, t)] or [t("Nothing was recorded under it yet.")]


def _touched(report: WithdrawalReport, t: Words) -> Iterator[str]:
    touched = report.touched
    if count := len(touched["recordings"]):
        yield t.plural("{count} recording is deleted for good.", "{count} recordings are deleted for good.", count)
    if count := len(touched["materials"]):
        yield t.plural(
            "{count} material made of them leaves the library.", "{count} materials made of them leave the library.",
            count,
        )  # fmt: skip
    for item in touched["items"]:
        if item["step"] in ITEM_STEPS:
            yield t(ITEM_STEPS[item["step"]], name=item["name"])
    for release in touched["releases"]:
        yield t(
            "Release {name} {version} holds them: copies that others have cannot be called back; the next release "
            "leaves them out.",
            name=release["name"], version=release["version"],
        )  # fmt: skip
    for kind, label in (("packs", N_("The game pack {name} must be made again.")),
                        ("subsets", N_("The subset {name} must be selected again."))):  # fmt: skip
        for name in touched[kind]:
            yield t(label, name=name)


def _row(script: Script, people: int, is_mine: bool, t: Words) -> ScriptRow:
    return ScriptRow(
        id=script.id,
        name=script.name,
        snippet=script.text[:_SNIPPET],
        code=script.language,
        language=labels.question_language(t, script.language),
        about=script_about(t, script),
        people=t.plural("{count} person so far", "{count} people so far", people) if people else t("nobody so far"),
        is_mine=is_mine,
    )


def _counts() -> list[ColumnElement[bool]]:
    """Conditions on takes of the outer query's script that count: not refused, not withdrawn."""
    withdrawn = select(Consent.id).where(col(Consent.withdrawn_at).is_not(None))
    return [
        col(Recording.script_id) == col(Script.id),
        col(Recording.accepted).is_not(False),
        col(Recording.consent_id).not_in(withdrawn),
    ]


def _is_recorded(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return select(Recording.id).where(*_counts(), *conditions).correlate(Script).exists()


def _by(contributor_id: str) -> ColumnElement[bool]:
    return _is_recorded(col(Recording.contributor_id) == contributor_id)


def _people() -> ScalarSelect[int]:
    counted = select(func.count(func.distinct(col(Recording.contributor_id)))).where(*_counts())
    return counted.correlate(Script).scalar_subquery()


def _conditions(query: ScriptQuery, contributor_id: str) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [col(Script.active).is_(True)]
    for column, wanted in (
        (Script.language, query.language),
        (Script.dialect, query.dialect),
        (Script.role, query.role),
    ):
        if wanted is not None:
            found.append(col(column) == wanted)
    if text := searched(query.text):
        found.append(
            col(Script.name).icontains(text, autoescape=True) | col(Script.text).icontains(text, autoescape=True)
        )
    if query.recorded == "not_mine":
        found.append(~_by(contributor_id))
    elif query.recorded == "nobody":
        found.append(~_is_recorded())
    elif query.recorded == "few":
        found.append(_people() < FEW_PEOPLE)
    return found
