"""Whether the bytes that would be published are whole, decode, and carry nothing about people."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from core.content import MediaRef, Modality
from core.executor import Backend, map_units
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.probe import probe
from core.progress import progress
from warehouse.blobs import BlobStore
from warehouse.release.checks import Block, Finding, shown_media
from warehouse.release.records import Contents


@dataclass(frozen=True)
class MediaChecks:
    """How media are checked: bounds for one file, and where and how many at once."""

    limits: MediaLimits = DEFAULT_LIMITS
    backend: Backend = "local"
    workers: int = 1


def media_findings(contents: Contents, blobs: BlobStore, how: MediaChecks) -> list[Finding]:
    """Findings in the bytes of all media that the release shows, each looked at once."""
    questions = [member.question for member in contents.members if member.question]
    refs = {part.media.sha256: part.media for question in questions for part in question.media}
    shown = shown_media(contents.members)
    findings: list[Finding] = []
    with progress("media checked", len(refs)) as ticker:
        units = [refs[sha256] for sha256 in sorted(refs)]
        look = partial(_problems, blobs, how.limits)
        for ref, outcome in map_units(look, units, backend=how.backend, workers=how.workers):
            where = shown[ref.sha256]
            if outcome.failure is not None:
                why = " ".join(outcome.failure.message.split())
                problem = f"media {ref.sha256} cannot be read"
                findings.append(where.finding(Block.UNREADABLE_MEDIA, problem, why, detail=why))
            else:
                findings += (
                    where.finding(kind, problem, "ingest the material again and revise the item")
                    for kind, problem in outcome.unwrap()
                )
            ticker.advance()
    return sorted(findings, key=lambda finding: (finding.subject, finding.problem))


def _problems(blobs: BlobStore, limits: MediaLimits, ref: MediaRef) -> list[tuple[Block, str]]:
    return list(_found(blobs, limits, ref))


def _found(blobs: BlobStore, limits: MediaLimits, ref: MediaRef) -> Iterator[tuple[Block, str]]:
    seen = probe(blobs.get(ref.sha256), limits)
    if (seen.media_type, seen.modality, seen.byte_count) != (ref.media_type, ref.modality, ref.byte_count):
        stated = f"{ref.media_type} of {ref.byte_count} bytes"
        yield Block.OTHER_MEDIA, f"media {ref.sha256} is {seen.media_type} of {seen.byte_count} bytes, not {stated}"
    if seen.has_metadata:
        yield Block.METADATA, f"media {ref.sha256} carries metadata that may tell of people or places"
    if seen.modality is Modality.VIDEO and seen.has_audio:
        yield Block.SOUND_IN_VIDEO, f"video {ref.sha256} carries sound, which no condition could leave out"
