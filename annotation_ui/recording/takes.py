"""Takes at the desk: received, handed in or set aside by who recorded them, decided on by reviewers.

A take is in the project once `receive` returns. Until it is handed in it waits at the desk and no reviewer is shown it.
"""

import io
import re
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from annotation_ui.permissions import Permission, Principal, authorize
from annotation_ui.recording.speakers import may_record, own_contributor, speaker
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.errors import UnknownName
from core.ids import Clock, utc_now
from core.media.errors import MediaError
from core.media.guard import Guard, guard_of_process
from curation.recordings.agreements import ConsentLacking
from curation.recordings.deciding import ChecksFailed, ImpossibleDecision, accept_take, refuse_take
from curation.recordings.scripts import ScriptClosed
from curation.recordings.takes import NewTake, Take, TakeKnown, TakeWithdrawn, add_take, list_takes
from warehouse import events
from warehouse.tables import Event, Recording, Script
from warehouse.workspace import Workspace

MOST_TAKE_S = 600
MOST_TAKE_BYTES = 64 * 2**20
"""Ten minutes at 48 kHz in 16 bits, one channel, and a little more."""
REDONE = "redone"
"""Why a take was refused that its own speaker set aside."""
MOST_REASON = 500
MOST_DEVICE = 128
_HOLD, _HAND_IN = "hold", "hand_in"
_RATES_HZ = range(8_000, 192_001)
# Systems name devices after their owners, as "Mei's AirPods" or "小梅的 AirPods".
_OWNER = re.compile(r"^.*?(?:['\u2019]s\s+|\s*的\s*)")
_PRINTABLE = re.compile(r"[\x00-\x1f\x7f]+")


class UnknownTake(Told):
    """A take that is not there, or not for this person's eyes."""

    text = N_("This take is not there, or not yours to see.")


class NoSound(Told):
    """Bytes that no recorder of ours sends."""

    text = N_("This is no recording. Record it again at the desk; other files are brought in as materials.")


class TakeTooLong(Told):
    """More than a script needs."""

    text = N_("A take may last {minutes} minutes at most. Stop sooner, or ask for a shorter script.")


class UnknownScript(Told):
    """A script that is not there or closed."""

    text = N_("No more takes are wanted of this script. Choose another one.")


class ConsentNeeded(Told):
    """Nothing is recorded without a consent that holds."""

    text = N_("There is no consent that allows this any more. Nothing was kept. Ask the speaker to sign again.")


class TakenElsewhere(Told):
    """Bytes that are another take already."""

    text = N_("This very sound is a take of another script or speaker already. Record it anew.")


class TakenBack(Told):
    """Bytes, or a take, that somebody withdrew."""

    text = N_("Who gave this sound has withdrawn it. Nothing of it is kept.")


class TakeDecided(Told):
    """A decision is made once."""

    text = N_("This take was decided on meanwhile. Reload the page to see how.")


class NotHandedIn(Told):
    """A take that still lies at the desk."""

    text = N_("This take is not handed in yet, so there is nothing to decide.")


class OwnVoice(Told):
    """Who is heard in a take does not decide on it."""

    text = N_("You speak in this take, so somebody else must decide on it.")


class TakeReasonNeeded(Told):
    """A decision that must say why."""

    text = N_("Say why: a refusal needs a reason, and so does accepting a take that failed a check or a filter.")


@dataclass(frozen=True)
class Sent:
    """What came from a recorder: whose take of what, the name of the microphone, and a WAV file."""

    contributor_id: str
    script_id: str
    device: str
    data: bytes


def receive(
    workspace: Workspace, who: Principal, sent: Sent, clock: Clock = utc_now, guard: Guard | None = None
) -> Recording:
    """Check, measure and seal a take; it is on disk when this returns. The same bytes again are the same take.

    Raises:
        NotAllowed, AccountInactive, UnknownSpeaker, ConsentNeeded, UnknownScript, NoSound, TakeTooLong,
        TakenElsewhere, TakenBack: As they say; no row tells of the bytes then.
    """
    with workspace.database.reading() as session:
        now = authorize(session, who, Permission.RECORD, reads=True)
        found = speaker(session, now, sent.contributor_id, clock())
        script = session.get(Script, sent.script_id)
    if found.consent is None:
        raise ConsentNeeded
    if script is None:
        raise UnknownScript
    check_wav(sent.data)
    new = NewTake(script.name, found.contributor.id, found.consent.id, device_name(sent.device))
    guard = guard or guard_of_process(workspace.project.media_limits)
    with _told():
        added = add_take(workspace, sent.data, new, now.user_id, guard=guard, clock=clock)
    if added.new:
        with workspace.database.session() as session:
            events.record(session, now.user_id, "recording", added.recording.id, _HOLD, clock)
    return added.recording


def check_wav(data: bytes) -> None:
    """Refuse what is no whole PCM WAV file of a take's length, before anything is decoded.

    Raises:
        NoSound, TakeTooLong: As they say.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate_hz, frames, channels = file.getframerate(), file.getnframes(), file.getnchannels()
            frame_bytes = channels * file.getsampwidth()
    except (wave.Error, EOFError, ValueError) as error:
        raise NoSound from error
    if rate_hz not in _RATES_HZ or channels > 2 or not frames or len(data) < frames * frame_bytes:
        raise NoSound
    if frames > MOST_TAKE_S * rate_hz:
        raise TakeTooLong(minutes=MOST_TAKE_S // 60)


def device_name(label: str) -> str | None:
    """A microphone's name as it may be kept: without its owner's."""
    told = " ".join(_PRINTABLE.sub(" ", _OWNER.sub("", label)).split())
    return told[:MOST_DEVICE] or None


def visible_take(session: Session, who: Principal, recording_id: str) -> Take:
    """A take for who recorded it and, once it is handed in, for who decides.

    Raises:
        UnknownTake: There is none, or it is neither's.
    """
    found = list_takes(session, Recording.id == recording_id)
    if not found:
        raise UnknownTake
    decides = who.may(Permission.REVIEW) and not is_held(session, recording_id)
    if not decides and not is_mine(session, who, found[0]):
        raise UnknownTake
    return found[0]


def is_mine(session: Session, who: Principal, take: Take) -> bool:
    """Whether somebody may hand a take in or set it aside."""
    return who.may(Permission.RECORD) and may_record(session, who, take.contributor.id)


def hand_in(session: Session, who: Principal, recording_id: str, clock: Clock = utc_now) -> None:
    """Show a take to those who decide; handed in again, nothing happens.

    Raises:
        NotAllowed, AccountInactive, UnknownTake, TakenBack, TakeDecided: As they say.
    """
    take, now = _own(session, who, recording_id)
    if is_held(session, take.recording.id):
        events.record(session, now.user_id, "recording", take.recording.id, _HAND_IN, clock)


def set_aside(session: Session, who: Principal, recording_id: str, clock: Clock = utc_now) -> None:
    """Say that a take of one's own is not to be used; its bytes stay sealed until its consent is withdrawn.

    Raises:
        NotAllowed, AccountInactive, UnknownTake, TakenBack, TakeDecided: As they say.
    """
    take, now = _own(session, who, recording_id)
    with _told():
        refuse_take(session, take.recording.id, now.user_id, REDONE, clock)


def accept(
    workspace: Workspace,
    who: Principal,
    recording_id: str,
    why: str,
    clock: Clock = utc_now,
    guard: Guard | None = None,
) -> None:
    """Make a material of a take; decided so twice by one person, it is decided once.

    Raises:
        NotAllowed, AccountInactive, UnknownTake, NotHandedIn, OwnVoice, TakeDecided, TakeReasonNeeded, ConsentNeeded,
        TakenBack, NoSound: As they say.
    """
    with workspace.database.session() as session:
        take, now = _to_decide(session, who, recording_id, True)
    if take is None:
        return
    reason = why.strip()[:MOST_REASON] or None
    guard = guard or guard_of_process(workspace.project.media_limits)
    with _told():
        accept_take(workspace, recording_id, now.user_id, reason, guard=guard, clock=clock)


def refuse(session: Session, who: Principal, recording_id: str, reason: str, clock: Clock = utc_now) -> None:
    """Say that a take is not to be used, and why; decided so twice by one person, it is decided once.

    Raises:
        As `accept`.
    """
    take, now = _to_decide(session, who, recording_id, False)
    if take is None:
        return
    if not reason.strip():
        raise TakeReasonNeeded
    with _told():
        refuse_take(session, recording_id, now.user_id, reason.strip()[:MOST_REASON], clock)


def is_held(session: Session, recording_id: str) -> bool:
    """Whether a take waits at the desk for its own speaker."""
    actions = {event.action for event in events.history(session, "recording", recording_id)}
    return _HOLD in actions and _HAND_IN not in actions


def not_held() -> ColumnElement[bool]:
    """The condition that a recording is handed in, or came by a command, which hands in at once."""
    told = select(Event.subject_id).where(Event.subject_kind == "recording")
    held, handed = (told.where(Event.action == action) for action in (_HOLD, _HAND_IN))
    return col(Recording.id).not_in(held) | col(Recording.id).in_(handed)


def _own(session: Session, who: Principal, recording_id: str) -> tuple[Take, Principal]:
    now = authorize(session, who, Permission.RECORD)
    take = visible_take(session, now, recording_id)
    if not is_mine(session, now, take):
        raise UnknownTake
    session.refresh(take.recording, with_for_update=True)
    _require_open(take)
    return take, now


def _to_decide(
    session: Session, who: Principal, recording_id: str, accepted: bool
) -> tuple[Take | None, Principal]:  # fmt: skip
    """The take, None where this person decided so before."""
    now = authorize(session, who, Permission.REVIEW)
    take = visible_take(session, now, recording_id)
    if (take.recording.accepted, take.recording.decided_by) == (accepted, now.user_id):
        return None, now
    _require_open(take)
    if is_held(session, recording_id):
        raise NotHandedIn
    # Where one person does everything nobody else could decide: a maintainer may.
    if own_contributor(session, now) == take.contributor.id and not now.may(Permission.MANAGE_PEOPLE):
        raise OwnVoice
    return take, now


def _require_open(take: Take) -> None:
    if take.consent.withdrawn_at is not None:
        raise TakenBack
    if take.recording.accepted is not None:
        raise TakeDecided


@contextmanager
def _told() -> Iterator[None]:
    """The workshop's mistakes in the reader's words."""
    words: dict[type[Exception], type[Told]] = {
        ConsentLacking: ConsentNeeded,
        ScriptClosed: UnknownScript,
        UnknownName: UnknownScript,
        TakeKnown: TakenElsewhere,
        TakeWithdrawn: TakenBack,
        ImpossibleDecision: TakeDecided,
        ChecksFailed: TakeReasonNeeded,
        MediaError: NoSound,
    }
    try:
        yield
    except tuple(words) as error:
        raise next(told for kind, told in words.items() if isinstance(error, kind)) from error
