"""What blocks sealing: every finding is collected, so that all are seen at once."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.content import MisplacedMedia, parse_prompt
from core.errors import UnknownName
from core.question import Question
from core.taxonomy import load_taxonomy
from warehouse.consents import Scope, consent_problems
from warehouse.release.licences import may_publish
from warehouse.release.records import RELEASABLE, Contents, Member, question_of
from warehouse.tables import Consent, Decision, Material, MaterialSource, MaterialState, Verdict

ROUNDS = (1, 2, 3)
_NAMED_AT_MOST = 3


@dataclass(frozen=True)
class Finding:
    """Something that blocks sealing: in which item, what, and the mend."""

    subject: str
    problem: str
    mend: str

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
    for material, subject in _used_materials(contents.members):
        line = contents.lineage[material.id]
        findings += _state(material, line, subject)
        findings += _licence(contents.sources[material.id], allowed_licences, subject)
        findings += _consent(contents.consents[material.id], now, subject)
    return findings


def subjects_by_media(members: Iterable[Member]) -> dict[str, str]:
    """Where each sha256 that a question shows is shown, in words."""
    places: dict[str, list[str]] = defaultdict(list)
    for member in members:
        question = question_of(member.revision)
        for part in question.media if question else ():
            places[part.media.sha256].append(f"{member.item.name} <{part.name}>")
    return {sha256: _listed(found) for sha256, found in places.items()}


def _standing(member: Member) -> Iterator[Finding]:
    item, revision = member.item, member.revision
    if item.current_revision_id != revision.id:
        problem = f"revision {revision.number} was chosen, but the item has a newer one"
        yield Finding(item.name, problem, "discard the release and build it again")
    elif item.state not in RELEASABLE:
        yield Finding(item.name, f"the item is {item.state.value}", "finish its review, or build again without it")


def _rounds(member: Member, passed: Collection[tuple[str, int]]) -> Iterator[Finding]:
    for number in ROUNDS:
        if (member.revision.id, number) not in passed:
            problem = f"revision {member.revision.number} has no passing verdict of round {number}"
            yield Finding(member.item.name, problem, f"take it through round {number}, or build again without it")


def _question(member: Member) -> Iterator[Finding]:
    question = question_of(member.revision)
    if question is None or question.content_hash != member.revision.content_hash:
        problem = "its question is not valid in this version of Interplay, or is not what its content hash says"
        yield Finding(member.item.name, problem, "revise the item")
        return
    for problem in (*_wording(question), *_shown(question, member.materials)):
        yield Finding(member.item.name, problem, "revise the item")


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


def _shown(question: Question, materials: Mapping[str, Material]) -> Iterator[str]:
    for part in question.media:
        material = materials.get(part.name)
        if material is None:
            yield f"<{part.name}> shows media of no material in the library"
        elif material.media_ref != part.media:
            yield f"<{part.name}> shows media that is not the working copy of material {material.id}"


def _splits(members: Iterable[Member], groups: Iterable[frozenset[str]]) -> Iterator[Finding]:
    splits = {member.item.name: member.split for member in members}
    for group in groups:
        torn = sorted({splits[name] for name in group})
        if len(torn) > 1:
            problem = f"twins or duplicates lie in {' and '.join(torn)}"
            yield Finding(_listed(sorted(group)), problem, "discard the release and build it again")


def _used_materials(members: Iterable[Member]) -> Iterator[tuple[Material, str]]:
    places: dict[str, list[str]] = defaultdict(list)
    materials: dict[str, Material] = {}
    for member in members:
        for placeholder, material in sorted(member.materials.items()):
            materials[material.id] = material
            places[material.id].append(f"{member.item.name} <{placeholder}>")
    yield from ((material, _listed(places[id_])) for id_, material in materials.items())


def _state(material: Material, line: Sequence[Material], subject: str) -> Iterator[Finding]:
    withdrawn = next((one for one in line if one.state == MaterialState.WITHDRAWN), None)
    if withdrawn is not None:
        yield Finding(subject, f"material {withdrawn.id} is withdrawn", "retire or revise the item, and build again")
    elif material.state == MaterialState.DROPPED:
        problem = f"material {material.id} is dropped ({material.drop_reason or 'no reason is given'})"
        yield Finding(subject, problem, "overrule the drop, or revise the item and build again")


def _licence(sources: Sequence[MaterialSource], allowed: Collection[str], subject: str) -> Iterator[Finding]:
    named = sorted({source.licence for source in sources if source.licence})
    if not named:
        yield Finding(subject, "no licence is on record", "record the material's licence, or use another material")
    elif not any(may_publish(licence, allowed) for licence in named):
        problem = f"licence {' and '.join(named)} is not known to allow publishing"
        yield Finding(subject, problem, f"read it and seal with --allow-licence '{named[0]}', or use another material")


def _consent(consents: Iterable[Consent], now: datetime, subject: str) -> Iterator[Finding]:
    for consent in consents:
        may_ask = consent.withdrawn_at is None
        mend = "ask for a new consent, or use another material" if may_ask else "use another material"
        for problem in consent_problems(consent, [Scope.PUBLISH], now):
            yield Finding(subject, problem, mend)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {rest} more" if rest > 0 else "")
