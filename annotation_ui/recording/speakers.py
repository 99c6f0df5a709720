"""Who speaks in front of the microphone, what they agreed to, and how they take it back.

Somebody records under a contributor of their own, or under those that they brought to the desk; a maintainer under any.
The link from an account to its contributor stands in the account's profile, never with what is published.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from annotation_ui.forms import once
from annotation_ui.permissions import Permission, Principal, authorize, require
from annotation_ui.told import Told
from annotation_ui.words import N_
from core.ids import Clock, utc_now
from core.provenance import content_hash
from curation.recordings.agreements import (
    BadConsentText,
    ConsentTextUsed,
    NewConsent,
    get_text,
    give_consent,
    list_texts,
    put_text,
)
from curation.recordings.contributors import AgeBand, Gender, NewContributor, PersonalData, add_contributor
from curation.recordings.withdrawal import WithdrawalReport, withdraw
from warehouse import events
from warehouse.consents import Scope, consent_problems
from warehouse.tables import Consent, ConsentText, Contributor, Event, Recording, User
from warehouse.workspace import Workspace

PROFILE_KEY = "contributor_id"
OFFERED_SCOPES = (Scope.VOICE, Scope.PUBLISH, Scope.EVALUATE, Scope.TRAIN)
"""What a voice can be given for; `face` is no matter of sound."""
MOST_CONSENT_CHARACTERS = 20_000


class UnknownSpeaker(Told):
    """A contributor that is not there, or not this person's to record."""

    text = N_("You cannot record for this speaker. Choose one from the list, or add one.")


class SpeakerKnown(Told):
    """An account has one contributor."""

    text = N_("You are in the list already. Choose yourself there.")


class BadDialect(Told):
    """A dialect that could tell who somebody is."""

    text = N_("Write only the name of a dialect, such as Sichuan: no numbers, addresses or names of people.")


class BadSignature(Told):
    """Somebody typed another word than the pseudonym."""

    text = N_("To sign, type {pseudonym} exactly as it is written here.")


class VoiceNeeded(Told):
    """A consent under which nothing can be recorded."""

    text = N_("Without consent to the recording of the voice nothing can be recorded. Tick it, or stop here.")


class WordsChanged(Told):
    """The words that somebody read are not those that would be signed."""

    text = N_("The words of the consent changed while you read them. Read them again and sign anew.")


class BadConsentWords(Told):
    """Words of a consent that cannot be stored."""

    text = N_("Write the consent in English and in Chinese, and give it a short version such as 1.0.")


class ConsentWordsUsed(Told):
    """A version that somebody has signed."""

    text = N_("Somebody has signed this version, so it never changes. Give the new words a new version.")


@dataclass(frozen=True)
class Speaker:
    """Somebody who can be recorded; `consent` is the latest that holds now and covers the voice."""

    contributor: Contributor
    consent: Consent | None
    is_self: bool


@dataclass(frozen=True)
class NewSpeaker:
    """What somebody tells of themselves; all of it may stay untold."""

    is_self: bool
    dialect: str = ""
    age_band: AgeBand | None = None
    gender: Gender | None = None


@dataclass(frozen=True)
class Signature:
    """What was signed: `seen` is the hash of the words that were shown (`words_hash`), `language` that of reading."""

    contributor_id: str
    version: str
    seen: str
    scope: Collection[Scope]
    typed: str
    language: str


def words_hash(text: ConsentText) -> str:
    """Names the words of a consent, whatever its version is called."""
    return content_hash([text.texts, text.licence])


def latest_text(session: Session) -> ConsentText | None:
    """The words that are signed now; None where the project has none yet."""
    return next(reversed(list_texts(session)), None)


def speakers(session: Session, who: Principal, now: datetime) -> list[Speaker]:
    """Whom this person may record: themselves first, then by pseudonym.

    Raises:
        NotAllowed: They may not record.
    """
    require(who, Permission.RECORD)
    own = own_contributor(session, who)
    query = select(Contributor).order_by(col(Contributor.pseudonym))
    if not who.may(Permission.MANAGE_PEOPLE):
        query = query.where(col(Contributor.id).in_(_brought(who)) | (col(Contributor.id) == own))
    found = session.exec(query).all()
    agreed = _standing(session, {one.id for one in found}, now)
    listed = [Speaker(one, agreed.get(one.id), one.id == own) for one in found]
    return sorted(listed, key=lambda one: not one.is_self)


def speaker(session: Session, who: Principal, contributor_id: str, now: datetime) -> Speaker:
    """One of `speakers`.

    Raises:
        NotAllowed, UnknownSpeaker: As they say.
    """
    require(who, Permission.RECORD)
    if not may_record(session, who, contributor_id):
        raise UnknownSpeaker
    contributor = session.get(Contributor, contributor_id)
    if contributor is None:
        raise UnknownSpeaker
    agreed = _standing(session, {contributor_id}, now)
    return Speaker(contributor, agreed.get(contributor_id), contributor_id == own_contributor(session, who))


def own_contributor(session: Session, who: Principal) -> str | None:
    """Under which contributor this person speaks, if they ever did."""
    user = session.get(User, who.user_id)
    found = user.profile.get(PROFILE_KEY) if user is not None else None
    return str(found) if found else None


def may_record(session: Session, who: Principal, contributor_id: str) -> bool:
    """Whether somebody speaks as this contributor, brought them, or is a maintainer."""
    if who.may(Permission.MANAGE_PEOPLE) or contributor_id == own_contributor(session, who):
        return True
    return session.exec(_brought(who).where(Event.subject_id == contributor_id)).first() is not None


def recorded_by(session: Session, who: Principal) -> ColumnElement[bool]:
    """The condition that a recording's speaker is this person, or was brought to the desk by them."""
    own = own_contributor(session, who)
    return col(Recording.contributor_id).in_(_brought(who)) | (col(Recording.contributor_id) == own)


def add_speaker(session: Session, who: Principal, key: str, new: NewSpeaker, clock: Clock = utc_now) -> str:
    """A new contributor under a pseudonym that is made up; the id. `key` was minted when the form was drawn.

    Raises:
        NotAllowed, AccountInactive, FormMisused, SpeakerKnown, BadDialect: As they say.
    """
    now = authorize(session, who, Permission.RECORD)

    def add() -> str:
        if new.is_self and own_contributor(session, now) is not None:
            raise SpeakerKnown
        facts = NewContributor(None, new.dialect.strip() or None, new.age_band, new.gender)
        try:
            added = add_contributor(session, facts, now.user_id, clock)
        except PersonalData:
            raise BadDialect from None
        if new.is_self:
            user = session.get_one(User, now.user_id)
            user.profile = {**user.profile, PROFILE_KEY: added.id}
            session.add(user)
        return added.id

    return once(session, now, key, "speaker.add", add, clock)


def sign(session: Session, who: Principal, key: str, signature: Signature, clock: Clock = utc_now) -> str:
    """Note that a speaker agreed, in the words that they saw; the id of the consent.

    Raises:
        NotAllowed, AccountInactive, FormMisused, UnknownSpeaker: As they say.
        BadSignature, VoiceNeeded, WordsChanged: It is no consent.
    """
    now = authorize(session, who, Permission.RECORD)
    found = speaker(session, now, signature.contributor_id, clock())
    pseudonym = found.contributor.pseudonym
    if Scope.VOICE not in signature.scope:
        raise VoiceNeeded
    if signature.typed.strip() != pseudonym:
        raise BadSignature(pseudonym=pseudonym)
    if words_hash(get_text(session, signature.version)) != signature.seen:
        raise WordsChanged

    def give() -> str:
        consent = give_consent(
            session, NewConsent(pseudonym, signature.version, signature.scope), now.user_id, clock
        )  # fmt: skip
        events.record(
            session, now.user_id, "consent", consent.id, "sign", clock,
            typed=pseudonym, language=signature.language, words=signature.seen,
        )  # fmt: skip
        return consent.id

    return once(session, now, key, "consent.sign", give, clock)


def write_words(
    session: Session, who: Principal, version: str, texts: dict[str, str], licence: str, clock: Clock = utc_now
) -> ConsentText:
    """Store the words of a consent; only maintainers do.

    Raises:
        NotAllowed, AccountInactive, BadConsentWords, ConsentWordsUsed: As they say.
    """
    now = authorize(session, who, Permission.MANAGE_PEOPLE)
    cut = {language: text[:MOST_CONSENT_CHARACTERS] for language, text in texts.items()}
    try:
        return put_text(session, version.strip(), cut, licence.strip() or None, now.user_id, clock)
    except BadConsentText:
        raise BadConsentWords from None
    except ConsentTextUsed:
        raise ConsentWordsUsed from None


def preview_withdrawal(workspace: Workspace, who: Principal, contributor_id: str) -> Sequence[WithdrawalReport]:
    """What would go if a speaker withdrew every consent that stands; nothing is written.

    Raises:
        NotAllowed, UnknownSpeaker: As they say.
    """
    with workspace.database.reading() as session:
        standing = _given(session, who, contributor_id)
    return [withdraw(workspace, consent, "preview", who.user_id, dry_run=True) for consent in standing]


def take_back(
    workspace: Workspace, who: Principal, contributor_id: str, typed: str, clock: Clock = utc_now
) -> Sequence[WithdrawalReport]:
    """Withdraw every consent of a speaker that stands, for good. Stopped half-way, the same call goes on.

    Raises:
        NotAllowed, AccountInactive, UnknownSpeaker, BadSignature: As they say.
    """
    with workspace.database.session() as session:
        now = authorize(session, who, Permission.RECORD)
        standing = _given(session, now, contributor_id)
        pseudonym = session.get_one(Contributor, contributor_id).pseudonym
    if typed.strip() != pseudonym:
        raise BadSignature(pseudonym=pseudonym)
    reason = "asked for at the recording desk"
    return [withdraw(workspace, consent, reason, now.user_id, clock=clock) for consent in standing]


def _given(session: Session, who: Principal, contributor_id: str) -> list[str]:
    """Consents that were not withdrawn, also those that have ended: what was given under them is still there."""
    speaker(session, who, contributor_id, utc_now())
    query = select(Consent.id).where(Consent.contributor_id == contributor_id, col(Consent.withdrawn_at).is_(None))
    return list(session.exec(query.order_by(col(Consent.given_at), col(Consent.id))))


def _standing(session: Session, contributor_ids: Collection[str], now: datetime) -> dict[str, Consent]:
    query = select(Consent).where(col(Consent.withdrawn_at).is_(None))
    if len(contributor_ids) == 1:
        query = query.where(Consent.contributor_id == next(iter(contributor_ids)))
    given = session.exec(query.order_by(col(Consent.given_at), col(Consent.id)))
    holding = [one for one in given if not list(consent_problems(one, [Scope.VOICE], now))]
    return {one.contributor_id: one for one in holding if one.contributor_id in contributor_ids}


def _brought(who: Principal) -> SelectOfScalar[str]:
    """Ids of contributors that somebody added; commands name people by their sign-in name."""
    return select(Event.subject_id).where(
        Event.subject_kind == "contributor", Event.action == "create", col(Event.actor).in_([who.user_id, who.name])
    )
