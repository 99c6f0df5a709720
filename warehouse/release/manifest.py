"""What a release says about itself: the sealed document from which every export is made.

It holds no moment, no random identity and nothing of the machine, so the same items make the same bytes anywhere.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from core.content import Frozen, MediaRef
from core.errors import InterplayError, first_problem
from core.provenance import canonical_json, content_hash
from core.question import Question
from core.taxonomy import load_taxonomy
from warehouse.release.records import Contents, Member
from warehouse.release.splits import Split
from warehouse.tables import Decision, ItemState, MaterialSource, Verdict

FORMAT = "interplay-release@1"
NO_CERTIFICATE = (
    "None: no random audit by people backs a bound on how many of these items are solvable without some modality"
)
# The namespace under which release names become canary GUIDs; it must never change.
_CANARY_NAMESPACE = uuid.UUID("6f0f7c0e-2f0b-5d3f-9c55-7a1f0a4c1b7d")


# How far the project's questions came, in the order in which they go.
FUNNEL_STAGES = ("written", "draft", "in_review", "returned", "rejected", "retired", "accepted", "in_this_release")


class UnreadableManifest(InterplayError):
    """Bytes that are no manifest of this format."""


class Paper(Frozen):
    """Under which licence, by whom and from where a material came."""

    licence: str | None = None
    author: str | None = None
    source: str | None = None


class ManifestMedia(Frozen):
    """Media of the release; its sha256 is that of the published bytes."""

    media: MediaRef
    papers: tuple[Paper, ...]


class ManifestRow(Frozen):
    """A published question. `revision` is its content hash, `media` the sha256 of what it shows, in prompt order.

    `sha256` is over the canonical JSON of all the other fields.
    """

    qid: str
    split: str
    revision: str
    question: Question
    media: tuple[str, ...]
    sha256: str


class Withheld(Frozen):
    """A question of the hold-out: its name, and a salted hash by which it can be proved later that it never changed.

    `commitment` is the sha256 over the canonical JSON of [salt, qid, question with its answer].
    """

    qid: str
    commitment: str


class Tombstone(Frozen):
    """A question of an earlier release that is gone because somebody withdrew what it showed.

    `last_version` is the last release of this name that held it; `media` are the sha256 of the withdrawn media that it
    published, so that whoever holds an older copy knows what to delete.
    """

    qid: str
    reason: Literal["withdrawn"]
    last_version: str
    media: tuple[str, ...]


class RoundRecord(Frozen):
    """Passing verdicts of one round on the released revisions; `checks` are the `name@version` of what decided."""

    round: int
    by_people: int
    by_checks: int
    checks: tuple[str, ...]


class Manifest(Frozen):
    """The whole release."""

    format: Literal["interplay-release@1"] = "interplay-release@1"
    name: str
    version: str
    canary: str
    certificate: str
    taxonomy: str
    licence: str | None
    seed: int
    dev_share: float
    holdout_share: float
    funnel: Mapping[str, int]
    rounds: tuple[RoundRecord, ...]
    media: Mapping[str, ManifestMedia]
    rows: tuple[ManifestRow, ...]
    holdout: tuple[Withheld, ...]
    # Releases that were sealed before there were any have none.
    tombstones: tuple[Tombstone, ...] = ()

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def to_bytes(self) -> bytes:
        """Canonical JSON, and a newline."""
        return canonical_json(self.model_dump(mode="json")).encode() + b"\n"


@dataclass(frozen=True)
class Damage:
    """Something that is not as it was sealed, and where."""

    place: str
    what: str

    def line(self) -> str:
        """For people."""
        return f"{self.place}: {self.what}"


def canary_of(release_name: str) -> str:
    """The GUID that every file of a release carries: a model that can recite it was trained on the release."""
    return str(uuid.uuid5(_CANARY_NAMESPACE, release_name))


def read_manifest(data: bytes, place: str) -> Manifest:
    """Parse a manifest.

    Raises:
        UnreadableManifest: It is none, or is of another format.
    """
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        raise UnreadableManifest(
            f"{place} is not a manifest of the format {FORMAT} ({first_problem(error)}); get the release again"
        ) from error


def compose(
    contents: Contents,
    verdicts: Iterable[Verdict],
    states: Mapping[ItemState, int],
    certificate: str = NO_CERTIFICATE,
    tombstones: tuple[Tombstone, ...] = (),
) -> Manifest:
    """The manifest of a release that has passed its checks.

    Args:
        contents: What it holds.
        verdicts: All verdicts on its revisions.
        states: How many items of the project stand in each state.
        certificate: The sentence of the certificate of this very content.
        tombstones: What earlier releases held and was withdrawn.
    """
    settings = contents.release.settings
    published = [member for member in contents.members if member.split != Split.HOLDOUT]
    return Manifest(
        name=contents.release.name,
        version=contents.release.version,
        canary=canary_of(contents.release.name),
        certificate=certificate,
        taxonomy=load_taxonomy().version,
        licence=settings["licence"],
        seed=settings["seed"],
        dev_share=settings["dev_share"],
        holdout_share=settings["holdout_share"],
        funnel=funnel_of(states, len(contents.members)),
        rounds=tuple(_rounds(verdicts)),
        media=_media(contents, published),
        rows=tuple(_row(member) for member in published),
        holdout=tuple(
            Withheld(qid=member.item.name, commitment=commitment(settings["salt"], member))
            for member in contents.members
            if member.split == Split.HOLDOUT
        ),
        tombstones=tombstones,
    )


def commitment(salt: str, member: Member) -> str:
    """The salted hash of a held-out question; the salt keeps a short answer from being found by trying."""
    return content_hash([salt, member.item.name, member.revision.question])


def row_hash(row: Mapping[str, Any]) -> str:
    """sha256 over all fields of a manifest's row but `sha256` itself."""
    return content_hash({name: value for name, value in row.items() if name != "sha256"})


def manifest_damages(document: Mapping[str, Any], place: str) -> Iterator[Damage]:
    """What in a manifest (as parsed JSON that `read_manifest` takes) does not agree with itself."""
    if document["canary"] != canary_of(document["name"]):
        yield Damage(place, f"the canary is {document['canary']!r}, not {canary_of(document['name'])}")
    if not document["certificate"].strip():
        yield Damage(place, "neither names a certificate nor says that there is none")
    for sha256, media in document["media"].items():
        if media["media"]["sha256"] != sha256:
            yield Damage(place, f"media {sha256} is described as {media['media']['sha256']}")
    for row in document["rows"]:
        if row_hash(row) != row["sha256"]:
            yield Damage(place, f"row {row['qid']!r} is not what its sha256 says")
        if Question.model_validate(row["question"]).content_hash != row["revision"]:
            yield Damage(place, f"the question of row {row['qid']!r} is not the revision that it names")
        for sha256 in row["media"]:
            if sha256 not in document["media"]:
                yield Damage(place, f"row {row['qid']!r} shows media {sha256}, which is not listed")
    for stone in document.get("tombstones", ()):
        for sha256 in sorted(document["media"].keys() & stone["media"]):
            yield Damage(place, f"media {sha256} of {stone['qid']!r} is listed, though it was withdrawn")
    rows = [*document["rows"], *document["holdout"], *document.get("tombstones", ())]
    names = Counter(row["qid"] for row in rows)
    yield from (Damage(place, f"{count} rows are named {name!r}") for name, count in names.items() if count > 1)


def _question(member: Member) -> Question:
    assert member.question is not None, "the checks refuse a question that cannot be read"
    return member.question


def _row(member: Member) -> ManifestRow:
    question = _question(member)
    row = {
        "qid": member.item.name,
        "split": member.split,
        "revision": member.revision.content_hash,
        "question": question.model_dump(mode="json"),
        "media": list(dict.fromkeys(part.media.sha256 for part in question.media)),
    }
    return ManifestRow.model_validate({**row, "sha256": row_hash(row)})


def _media(contents: Contents, members: Iterable[Member]) -> dict[str, ManifestMedia]:
    found: dict[str, ManifestMedia] = {}
    for member in members:
        for part in _question(member).media:
            sources = contents.sources[member.materials[part.name].id]
            known = found[part.media.sha256].papers if part.media.sha256 in found else ()
            papers = {*known, *map(_paper, sources)}
            found[part.media.sha256] = ManifestMedia(
                media=part.media, papers=tuple(sorted(papers, key=lambda paper: canonical_json(paper.model_dump())))
            )
    return found


def _paper(source: MaterialSource) -> Paper:
    return Paper(licence=source.licence, author=source.author, source=source.source or _public(source.origin))


def _public(origin: str) -> str | None:
    """The origin where it is a web address; a file's name or place says nothing to others and may name people."""
    address = urlsplit(origin)
    is_public = address.scheme in {"http", "https"} and "@" not in address.netloc
    return origin if is_public else None


def funnel_of(states: Mapping[ItemState, int], released: int) -> dict[str, int]:
    """How many questions came how far (`FUNNEL_STAGES`), from the numbers of items in each state and in the release."""
    in_review = (ItemState.SUBMITTED, ItemState.ROUND1_PASSED, ItemState.ROUND2_PASSED)
    accepted = (ItemState.ACCEPTED, ItemState.RELEASED)
    alone = (ItemState.RETURNED, ItemState.REJECTED, ItemState.RETIRED)
    counts = {
        "written": sum(states.values()),
        "draft": states.get(ItemState.DRAFT, 0),
        "in_review": sum(states.get(state, 0) for state in in_review),
        **{state.value: states.get(state, 0) for state in alone},
        "accepted": sum(states.get(state, 0) for state in accepted),
        "in_this_release": released,
    }
    return {stage: counts[stage] for stage in FUNNEL_STAGES}


def _rounds(verdicts: Iterable[Verdict]) -> Iterator[RoundRecord]:
    passing = [verdict for verdict in verdicts if verdict.decision == Decision.PASS]
    for number in sorted({verdict.round for verdict in passing}):
        own = [verdict for verdict in passing if verdict.round == number]
        yield RoundRecord(
            round=number,
            by_people=sum(verdict.by_person for verdict in own),
            by_checks=sum(not verdict.by_person for verdict in own),
            checks=tuple(sorted({verdict.decider for verdict in own if not verdict.by_person})),
        )
