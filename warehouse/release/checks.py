"""What blocks sealing: every finding is collected, so that all are seen at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from core.content import MisplacedMedia, parse_prompt
from core.errors import UnknownName
from core.question import Question
from core.taxonomy import load_taxonomy
from warehouse.consents import Scope, consent_problems
from warehouse.release.licences import may_publish
from warehouse.release.records import RELEASABLE, Contents, Member
from warehouse.tables import Consent, Decision, Material, MaterialSource, MaterialState, Verdict

ROUNDS = (1, 2, 3)
_NAMED_AT_MOST = 3


class Block(StrEnum):
    """What can block sealing."""

    NEWER_REVISION = "newer_revision"
    NOT_ACCEPTED = "not_accepted"
    NO_VERDICT = "no_verdict"
    BAD_QUESTION = "bad_question"
    FOREIGN_MEDIA = "foreign_media"
    TORN_GROUP = "torn_group"
    WITHDRAWN_MATERIAL = "withdrawn_material"
    DROPPED_MATERIAL = "dropped_material"
    NO_LICENCE = "no_licence"
    UNKNOWN_LICENCE = "unknown_licence"
    CONSENT = "consent"
    UNREADABLE_MEDIA = "unreadable_media"
    OTHER_MEDIA = "other_media"
    METADATA = "metadata"
    SOUND_IN_VIDEO = "sound_in_video"
    BUG = "bug"


@dataclass(frozen=True)
class Finding:
    """Something that blocks sealing: in which item, what, and the mend.

    `kind`, `items`, `material_id` and `values` say the same to programs, which may put it in words of their own.
    """

    subject: str
    problem: str
    mend: str
    kind: Block = Block.BUG
    items: tuple[str, ...] = ()
    material_id: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    def line(self) -> str:
        """For people."""
        return f"{self.subject}: {self.problem}; {self.mend}"


def record_findings(
    contents: Contents,
    verdicts: Iterable[Verdict],
    groups: Iterable[frozenset[str]],
    allowed_licences: Collection[str],
    now: datetime,
) -> list[Finding]:
    """Findings in what the tables say: standing, verdicts, questions, splits, materials and their papers.

    Args:
        contents: What the release holds.
        verdicts: All verdicts on its revisions.
        groups: Names of items that must not be torn apart.
        allowed_licences: Licences that are not on the list but were read and allowed.
        now: The moment at which consents must hold.
    """
    passed = {(v.revision_id, v.round) for v in verdicts if v.decision == Decision.PASS}
    findings: list[Finding] = []
    for member in contents.members:
        findings += _standing(member)
        findings += _rounds(member, passed)
        findings += _question(member)
    findings += _splits(contents.members, groups)
    for used in _used_materials(contents.members):
        line = contents.lineage[used.material.id]
        findings += _state(used, line)
        findings += _licence(used, contents.sources[used.material.id], allowed_licences)
        findings += _consent(used, contents.consents[used.material.id], now)
    return findings


@dataclass(frozen=True)
class Shown:
    """Where the questions show something, as (item, placeholder), and of which material it is, where there is one."""

    places: tuple[tuple[str, str], ...]
    material_id: str | None = None

    @property
    def subject(self) -> str:
        """In words."""
        return _listed([f"{item} <{placeholder}>" for item, placeholder in self.places])

    def finding(self, kind: Block, problem: str, mend: str, **values: str) -> Finding:
        """A finding about it."""
        items = tuple(dict.fromkeys(item for item, _ in self.places))
        return Finding(self.subject, problem, mend, kind, items, self.material_id, values)


def shown_media(members: Iterable[Member]) -> dict[str, Shown]:
    """Where each sha256 that a question shows is shown."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    materials: dict[str, str] = {}
    for member in members:
        for part in member.question.media if member.question else ():
            places[part.media.sha256].append((member.item.name, part.name))
            if part.name in member.materials:
                materials[part.media.sha256] = member.materials[part.name].id
    return {sha256: Shown(tuple(found), materials.get(sha256)) for sha256, found in places.items()}


def _standing(member: Member) -> Iterator[Finding]:
    item, revision = member.item, member.revision
    if item.current_revision_id != revision.id:
        problem = f"revision {revision.number} was chosen, but the item has a newer one"
        mend = "discard the release and build it again"
        yield _of(member, Block.NEWER_REVISION, problem, mend, number=str(revision.number))
    elif item.state not in RELEASABLE:
        mend = "finish its review, or build again without it"
        yield _of(member, Block.NOT_ACCEPTED, f"the item is {item.state.value}", mend, state=item.state.value)


def _rounds(member: Member, passed: Collection[tuple[str, int]]) -> Iterator[Finding]:
    for number in ROUNDS:
        if (member.revision.id, number) not in passed:
            problem = f"revision {member.revision.number} has no passing verdict of round {number}"
            mend = f"take it through round {number}, or build again without it"
            values = {"number": str(member.revision.number), "round": str(number)}
            yield _of(member, Block.NO_VERDICT, problem, mend, **values)


def _question(member: Member) -> Iterator[Finding]:
    question = member.question
    if question is None or question.content_hash != member.revision.content_hash:
        problem = "its question is not valid in this version of Interplay, or is not what its content hash says"
        yield _of(member, Block.BAD_QUESTION, problem, "revise the item")
        return
    for problem in _wording(question):
        yield _of(member, Block.BAD_QUESTION, problem, "revise the item", detail=problem)
    for placeholder, problem in _foreign(question, member.materials):
        yield _of(member, Block.FOREIGN_MEDIA, problem, "revise the item", placeholder=placeholder)


def _of(member: Member, kind: Block, problem: str, mend: str, **values: str) -> Finding:
    return Finding(member.item.name, problem, mend, kind, (member.item.name,), values=values)


def _wording(question: Question) -> Iterator[str]:
    try:
        load_taxonomy().get(question.task_type)
    except UnknownName as error:
        yield str(error).replace(";", ",")
    missing = sorted(question.required - question.modalities - {"text"})
    if missing:
        yield f"it requires {', '.join(missing)}, but shows none"
    try:
        written = parse_prompt(question.prompt_text, {part.name: part.media for part in question.media})
    except MisplacedMedia as error:
        yield str(error).replace(";", ",")
    else:
        if written != question.prompt:
            yield "its prompt does not come back from its written form (text parts side by side, or media named twice)"


def _foreign(question: Question, materials: Mapping[str, Material]) -> Iterator[tuple[str, str]]:
    for part in question.media:
        material = materials.get(part.name)
        if material is None:
            yield part.name, f"<{part.name}> shows media of no material in the library"
        elif material.media_ref != part.media:
            yield part.name, f"<{part.name}> shows media that is not the working copy of material {material.id}"


def _splits(members: Iterable[Member], groups: Iterable[frozenset[str]]) -> Iterator[Finding]:
    splits = {member.item.name: member.split for member in members}
    for group in groups:
        torn = sorted({splits[name] for name in group})
        if len(torn) > 1:
            problem = f"twins or duplicates lie in {' and '.join(torn)}"
            names = tuple(sorted(group))
            mend = "discard the release and build it again"
            yield Finding(_listed(names), problem, mend, Block.TORN_GROUP, names, values={"splits": " ".join(torn)})


@dataclass(frozen=True)
class _Used:
    """A material, and where it is shown."""

    material: Material
    shown: Shown


def _used_materials(members: Iterable[Member]) -> Iterator[_Used]:
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    materials: dict[str, Material] = {}
    for member in members:
        for placeholder, material in sorted(member.materials.items()):
            materials[material.id] = material
            places[material.id].append((member.item.name, placeholder))
    yield from (_Used(one, Shown(tuple(places[one.id]), one.id)) for one in materials.values())


def _state(used: _Used, line: Sequence[Material]) -> Iterator[Finding]:
    material = used.material
    withdrawn = next((one for one in line if one.state == MaterialState.WITHDRAWN), None)
    if withdrawn is not None:
        problem, mend = f"material {withdrawn.id} is withdrawn", "retire or revise the item, and build again"
        yield used.shown.finding(Block.WITHDRAWN_MATERIAL, problem, mend)
    elif material.state == MaterialState.DROPPED:
        problem = f"material {material.id} is dropped ({material.drop_reason or 'no reason is given'})"
        mend = "overrule the drop, or revise the item and build again"
        yield used.shown.finding(Block.DROPPED_MATERIAL, problem, mend, reason=material.drop_reason or "")


def _licence(used: _Used, sources: Sequence[MaterialSource], allowed: Collection[str]) -> Iterator[Finding]:
    named = sorted({source.licence for source in sources if source.licence})
    if not named:
        mend = "record the material's licence, or use another material"
        yield used.shown.finding(Block.NO_LICENCE, "no licence is on record", mend)
    elif not any(may_publish(licence, allowed) for licence in named):
        problem = f"licence {' and '.join(named)} is not known to allow publishing"
        mend = f"read it and seal with --allow-licence '{named[0]}', or use another material"
        yield used.shown.finding(Block.UNKNOWN_LICENCE, problem, mend, licence=named[0])


def _consent(used: _Used, consents: Iterable[Consent], now: datetime) -> Iterator[Finding]:
    for consent in consents:
        may_ask = consent.withdrawn_at is None
        mend = "ask for a new consent, or use another material" if may_ask else "use another material"
        for problem in consent_problems(consent, [Scope.PUBLISH], now):
            values = {"detail": problem, "may_ask": "yes" if may_ask else ""}
            yield used.shown.finding(Block.CONSENT, problem, mend, **values)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")
