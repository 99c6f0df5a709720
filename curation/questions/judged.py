"""What the filters hold against public media, kept beside the database: each medium is decoded once.

The cache is a folder of text files, one for each state of a modality's filters and thresholds, a line for each medium
(sha256, and the reason or null). It can be deleted at any time: media are looked at again.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from core.content import MediaRef, Modality
from core.executor import map_units
from core.grading import Outcome
from core.media.guard import Guard
from core.progress import progress
from core.provenance import content_hash
from curation.filters.catalogue import Judgement, filters_of
from curation.filters.thresholds import Thresholds, thresholds_of
from curation.judge import Looker
from warehouse.workspace import Workspace


def judged_media(
    workspace: Workspace, refs: Mapping[str, MediaRef], thresholds: Thresholds | None = None
) -> dict[str, str]:
    """By sha256, what the filters hold against a medium, or why it cannot be judged.

    A verdict is kept as soon as it is made. One that is missing from the store, or cannot be decoded, is looked at
    again in the next call.

    Args:
        workspace: The opened project.
        refs: By sha256.
        thresholds: Of the filters; else the project's.
    """
    thresholds = thresholds or thresholds_of(workspace.project.settings.filter_thresholds)
    folder, limits = workspace.project.root / "cache" / "judged", workspace.project.media_limits
    files = {modality: folder / _name(modality, thresholds) for modality in Modality}
    known = {modality: _read(file) for modality, file in files.items()}
    found: dict[str, str] = {}
    pending = []
    for sha256, ref in refs.items():
        if sha256 not in known[ref.modality] or not workspace.blobs.exists(sha256):
            pending.append(ref)
        elif (why := known[ref.modality][sha256]) is not None:
            found[sha256] = why
    if not pending:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    workers = min(workspace.project.workers, len(pending))
    with Guard(workers, limits) as guard, progress("Looking at media", len(pending)) as ticker:
        look = Looker(guard, workspace.blobs, limits, thresholds)
        for ref, outcome in map_units(look, pending, backend="threads", workers=workers):
            if (why := _problem(outcome)) is not None:
                found[ref.sha256] = why
            if outcome.failure is None:
                with files[ref.modality].open("a", encoding="utf-8") as file:
                    file.write(json.dumps([ref.sha256, why]) + "\n")
            ticker.advance()
    return found


def _name(modality: Modality, thresholds: Thresholds) -> str:
    asked = [fingerprint for fingerprint, _ in filters_of(modality.value)]
    return f"{modality.value}-{content_hash([thresholds.version, asked])[:16]}.jsonl"


def _read(file: Path) -> dict[str, str | None]:
    """Verdicts by sha256; a line that was broken off, or run into by another process, is left out."""
    found: dict[str, str | None] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else ():
        try:
            sha256, why = json.loads(line)
        except (ValueError, TypeError):
            continue
        if isinstance(sha256, str) and isinstance(why, str | None):
            found[sha256] = why
    return found


def _problem(outcome: Outcome[Judgement]) -> str | None:
    if outcome.failure is not None:
        return outcome.failure.last_line
    drop = outcome.unwrap().drop
    return None if drop is None else f"{drop.reason}: {drop.measure}"
