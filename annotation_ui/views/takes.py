"""Takes in words: how they stand, what the checks measured, and where the reading left its script."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from enum import StrEnum

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, func, select

from annotation_ui.people import display_names
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.recording.speakers import own_contributor, recorded_by
from annotation_ui.recording.takes import REDONE, is_held, is_mine, not_held, visible_take
from annotation_ui.views.changes import MOST_WORDS, Stretch
from annotation_ui.views.paging import paging
from annotation_ui.words import N_, Words
from curation.recordings.findings import Finding, findings_of
from curation.recordings.limits import Outcome
from curation.recordings.takes import Take, list_takes
from curation.recordings.wording import is_spaceless, normalised
from warehouse.tables import Consent, Recording

PAGE_SIZE = 20
MOST_SIBLINGS = 4


class TakeState(StrEnum):
    """How a take stands."""

    HELD = "held"
    WAITING = "waiting"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    REDONE = "redone"
    WITHDRAWN = "withdrawn"


STATES = {
    TakeState.HELD: N_("Not handed in"),
    TakeState.WAITING: N_("Waiting for a decision"),
    TakeState.ACCEPTED: N_("Accepted"),
    TakeState.REFUSED: N_("Refused"),
    TakeState.REDONE: N_("Set aside"),
    TakeState.WITHDRAWN: N_("Withdrawn"),
}
CHECKS = {
    "sample_rate": N_("Sample rate"),
    "duration": N_("Pace"),
    "clipping": N_("Clipping"),
    "loudness": N_("Loudness"),
    "snr": N_("Voice over noise"),
    "leading_silence": N_("Silence before"),
    "trailing_silence": N_("Silence after"),
    "speakers": N_("Speakers"),
    "transcript": N_("Words read otherwise"),
}
OUTCOMES = {
    Outcome.PASS: N_("Good"),
    Outcome.WARN: N_("Look at this"),
    Outcome.FAIL: N_("Not good enough"),
    Outcome.NOT_DONE: N_("Not done"),
}
_LIMIT = re.compile(r"(at least|at most) (\S+?)(?:,|$)")


@dataclass(frozen=True)
class CheckLine:
    """One check: what was measured, where the line is drawn, what to do."""

    label: str
    outcome: Outcome
    outcome_label: str
    measured: str
    limit: str
    advice: str


@dataclass(frozen=True)
class TakeRow:
    """A take in a list."""

    id: str
    script: str
    snippet: str
    speaker: str
    state: TakeState
    state_label: str
    when: str
    why: str
    problems: str


@dataclass(frozen=True)
class TakeDetail:
    """A take with everything known of it; the addresses are empty where it is heard no more."""

    row: TakeRow
    script_id: str
    text: str
    code: str
    device: str
    sha256: str
    sound_url: str
    picture_url: str
    checks: Sequence[CheckLine]
    needs_ears: bool
    stretches: Sequence[Stretch]
    decided: str
    material_id: str | None
    is_mine: bool
    may_decide: bool


@dataclass(frozen=True)
class TakesPage:
    """A page of takes."""

    rows: Sequence[TakeRow]
    total: int
    page_count: int


def my_takes(
    session: Session, who: Principal, state: TakeState | None, page: int, now: datetime, t: Words
) -> TakesPage:
    """Takes of those whom this person records, the latest first.

    Raises:
        NotAllowed: They may not record.
    """
    require(who, Permission.RECORD)
    conditions = [recorded_by(session, who), *([_standing(state)] if state else [])]
    return _page(session, conditions, page, True, now, t)


def waiting_takes(session: Session, who: Principal, page: int, now: datetime, t: Words) -> TakesPage:
    """Takes that wait for a decision, the oldest first.

    Raises:
        NotAllowed: They may not decide.
    """
    require(who, Permission.REVIEW)
    return _page(session, [_standing(TakeState.WAITING)], page, False, now, t)


def takes_to_decide(session: Session, who: Principal) -> int:
    """How many takes wait for this person's decision: of one's own voice only maintainers decide.

    Raises:
        NotAllowed: They may not decide.
    """
    require(who, Permission.REVIEW)
    query = select(func.count()).select_from(Recording).join(Consent, col(Consent.id) == col(Recording.consent_id))
    query = query.where(_standing(TakeState.WAITING))
    own = own_contributor(session, who)
    if own is not None and not who.may(Permission.MANAGE_PEOPLE):
        query = query.where(Recording.contributor_id != own)
    return session.exec(query).one()


def next_waiting(session: Session, after: str) -> str | None:
    """Another take that waits; None for none."""
    query = select(Recording.id).join(Consent, col(Consent.id) == col(Recording.consent_id))
    waiting = query.where(_standing(TakeState.WAITING), Recording.id != after)
    return session.exec(waiting.order_by(col(Recording.created_at), col(Recording.id))).first()


def take_detail(session: Session, who: Principal, recording_id: str, now: datetime, t: Words) -> TakeDetail:
    """One take.

    Raises:
        UnknownTake: There is none that this person may see.
    """
    take = visible_take(session, who, recording_id)
    recording, findings = take.recording, findings_of(take.recording.checks)
    row = _row(take, _state(take, is_held(session, recording.id)), now, t)
    heard = next((one.evidence for one in findings if one.name == "transcript" and one.evidence), None)
    is_there = row.state != TakeState.WITHDRAWN
    speaks = own_contributor(session, who) == take.contributor.id
    decides = who.may(Permission.REVIEW) and (not speaks or who.may(Permission.MANAGE_PEOPLE))
    return TakeDetail(
        row=row,
        script_id=take.script.id,
        text=recording.script,
        code=take.script.language,
        device=recording.device or "",
        sha256=recording.sha256,
        sound_url=f"/recordings/{recording.id}/sound" if is_there else "",
        picture_url=f"/recordings/{recording.id}/picture" if is_there else "",
        checks=[_check_line(one, t) for one in findings],
        needs_ears=is_there and not recording.checks.get("made_by") and recording.accepted is None,
        stretches=reading_diff(recording.script, heard, take.script.language) if heard else [],
        decided=_decided(session, take, row.state, t),
        material_id=recording.material_id if is_there else None,
        is_mine=is_mine(session, who, take),
        may_decide=decides and row.state == TakeState.WAITING,
    )


def siblings(session: Session, who: Principal, detail: TakeDetail, now: datetime, t: Words) -> list[TakeDetail]:
    """Other takes of the same script, the latest first, for who decides.

    Raises:
        NotAllowed: They may not decide.
    """
    require(who, Permission.REVIEW)
    others = list_takes(
        session,
        Recording.script_id == detail.script_id,
        Recording.id != detail.row.id,
        _standing(TakeState.WAITING) | _standing(TakeState.ACCEPTED),
    )[::-1]
    return [take_detail(session, who, one.recording.id, now, t) for one in others[:MOST_SIBLINGS]]


def reading_diff(script: str, heard: str, language: str) -> list[Stretch]:
    """The script with what was heard otherwise: by words, or by characters where none are written apart.

    Punctuation, case, full width and the way numbers are written are no difference.
    """
    old, new = (_spoken(text, language) for text in (script, heard))
    if len(old) + len(new) > MOST_WORDS:
        return [Stretch("old", script), Stretch("new", heard)]
    found: list[Stretch] = []
    matcher = SequenceMatcher(None, [key for key, _ in old], [key for key, _ in new], autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            found.append(Stretch("kept", "".join(text for _, text in old[start:end])))
            continue
        if end > start:
            found.append(Stretch("old", "".join(text for _, text in old[start:end])))
        if new_end > new_start:
            found.append(Stretch("new", "".join(text for _, text in new[new_start:new_end])))
    return found


def _spoken(text: str, language: str) -> list[tuple[str, str]]:
    """What is spoken, as (what is compared, what is shown); what is not heard hangs on what stands before it."""
    found: list[tuple[str, str]] = []
    for piece in re.findall(r"\s*\S" if is_spaceless(language) else r"\S+\s*", text):
        key = normalised(piece, language)
        if key or not found:
            found.append((key, piece))
        else:
            found[-1] = (found[-1][0], found[-1][1] + piece)
    return found


def _check_line(finding: Finding, t: Words) -> CheckLine:
    measure = None if finding.measure is None else _number(finding.measure, finding.unit)
    return CheckLine(
        label=t(CHECKS[finding.name]) if finding.name in CHECKS else finding.name,
        outcome=finding.outcome,
        outcome_label=t(OUTCOMES[finding.outcome]),
        measured="" if measure is None else _with_unit(measure, finding.unit, t),
        limit=_limit(finding, t),
        advice="" if finding.outcome is Outcome.PASS else finding.text(t.language),
    )


def _limit(finding: Finding, t: Words) -> str:
    """Where the line is drawn: one bound, or the range between two."""
    bounds = {end: _number(float(value), finding.unit) for end, value in _LIMIT.findall(finding.limit or "")}
    low, high = bounds.get("at least"), bounds.get("at most")
    if finding.name == "speakers":
        return low or high or ""
    if low is not None and high is not None:
        return _with_unit(t("{low} to {high}", low=low, high=high), finding.unit, t)
    if low is not None:
        return t("at least {value}", value=_with_unit(low, finding.unit, t))
    return "" if high is None else t("at most {value}", value=_with_unit(high, finding.unit, t))


def _number(value: float, unit: str) -> str:
    """A measure as people read it, in the unit that `_with_unit` adds."""
    match unit:
        case "Hz":
            return f"{value / 1000:g}"
        case "of the samples":
            return f"{100 * value:.2g}"
        case "CER" | "WER":
            return f"{100 * value:.0f}"
        case "speakers":
            return f"{value:g}"
        case "s" | "s a word" | "s a character":
            return f"{value:.2f}"
    return f"{value:.1f}"


def _with_unit(number: str, unit: str, t: Words) -> str:
    words = {
        "Hz": "{value} kHz",
        "of the samples": N_("{value}% of the samples"),
        "CER": N_("{value}% of the characters"),
        "WER": N_("{value}% of the words"),
        "speakers": "{value}",
        "s a word": N_("{value} s a word"),
        "s a character": N_("{value} s a character"),
    }
    return t(words[unit], value=number) if unit in words else f"{number} {unit}"


def _page(
    session: Session, conditions: Sequence[ColumnElement[bool]], page: int, latest_first: bool, now: datetime, t: Words
) -> TakesPage:
    under = col(Consent.id) == col(Recording.consent_id)
    counted = select(func.count(col(Recording.id))).join(Consent, under)
    total = session.exec(counted.where(*conditions)).one()
    at = paging(total, PAGE_SIZE, page)
    order = [col(Recording.created_at), col(Recording.id)]
    chosen = select(Recording.id).join(Consent, under).where(*conditions)
    ordered = chosen.order_by(*(one.desc() for one in order) if latest_first else order)
    ids = session.exec(ordered.offset(at.start).limit(PAGE_SIZE)).all()
    takes = {one.recording.id: one for one in list_takes(session, col(Recording.id).in_(ids))}
    handed = set(session.exec(select(Recording.id).where(col(Recording.id).in_(ids), not_held())))
    rows = [_row(takes[id_], _state(takes[id_], id_ not in handed), now, t) for id_ in ids]
    return TakesPage(rows, total, at.page_count)


def _standing(state: TakeState) -> ColumnElement[bool]:
    accepted, there = col(Recording.accepted), col(Consent.withdrawn_at).is_(None)
    redone = func.coalesce(col(Recording.decided_why), "") == REDONE
    return {
        TakeState.HELD: accepted.is_(None) & there & ~not_held(),
        TakeState.WAITING: accepted.is_(None) & there & not_held(),
        TakeState.ACCEPTED: accepted.is_(True) & there,
        TakeState.REFUSED: accepted.is_(False) & there & ~redone,
        TakeState.REDONE: accepted.is_(False) & there & redone,
        TakeState.WITHDRAWN: ~there,
    }[state]


def _state(take: Take, held: bool) -> TakeState:
    if take.consent.withdrawn_at is not None:
        return TakeState.WITHDRAWN
    if take.recording.accepted is None:
        return TakeState.HELD if held else TakeState.WAITING
    if take.recording.accepted:
        return TakeState.ACCEPTED
    return TakeState.REDONE if take.recording.decided_why == REDONE else TakeState.REFUSED


def _row(take: Take, state: TakeState, now: datetime, t: Words) -> TakeRow:
    recording = take.recording
    bad = [one for one in findings_of(recording.checks) if one.outcome in (Outcome.FAIL, Outcome.WARN)]
    return TakeRow(
        id=recording.id,
        script=take.script.name,
        snippet=recording.script[:200],
        speaker=take.contributor.pseudonym,
        state=state,
        state_label=t(STATES[state]),
        when=t.ago(recording.created_at, now),
        why=recording.decided_why or "" if state in (TakeState.REFUSED, TakeState.ACCEPTED) else "",
        problems=t(", ").join(t(CHECKS[one.name]) for one in bad if one.name in CHECKS),
    )


def _decided(session: Session, take: Take, state: TakeState, t: Words) -> str:
    if state not in (TakeState.ACCEPTED, TakeState.REFUSED) or not take.recording.decided_by:
        return ""
    names = display_names(session, [take.recording.decided_by])
    name = names[take.recording.decided_by]
    return t("{state} by {name}", state=t(STATES[state]), name=name)
