"""Flat export: `questions.jsonl`, one question a line, with its media as files under `media/`."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from core.content import MediaRef, MisplacedMedia
from core.progress import progress
from warehouse.blobs import BlobStore
from warehouse.exporters.base import ReadRow, copy_media, file_name
from warehouse.exporters.card import card_text
from warehouse.exporters.rows import flat_row, question_from
from warehouse.release.manifest import Damage, Manifest, ManifestRow

ROWS = "questions.jsonl"
_LOADING = """\
Each line of `questions.jsonl` is one question; `media` gives the file behind each placeholder of its prompt.

```python
import json

with open("questions.jsonl", encoding="utf-8") as lines:
    questions = [json.loads(line) for line in lines]
```
"""


class JsonlExporter:
    """For people and programs that want plain files."""

    def write(self, manifest: Manifest, blobs: BlobStore, folder: Path) -> None:
        """Write rows, media and the card."""
        with progress("media written", len(manifest.media)) as ticker:
            for media in manifest.media.values():
                copy_media(blobs, media.media, folder / "media")
                ticker.advance()
        with (folder / ROWS).open("w", encoding="utf-8", newline="\n") as stream:
            for row in manifest.rows:
                stream.write(json.dumps(_record(row, manifest), ensure_ascii=False, allow_nan=False) + "\n")
        (folder / "README.md").write_text(card_text(manifest, _LOADING), encoding="utf-8")

    def read(self, folder: Path, manifest: Manifest) -> Iterator[ReadRow | Damage]:
        """Read rows, and name their media files."""
        try:
            lines = (folder / ROWS).read_bytes().splitlines()
        except OSError as error:
            yield Damage(ROWS, f"cannot be read ({error.strerror})")
            return
        for number, line in enumerate(lines, start=1):
            place = f"{ROWS} line {number}"
            try:
                yield _read(json.loads(line), place, folder, manifest)
            except (ValueError, KeyError, TypeError, AttributeError, ValidationError, MisplacedMedia) as error:
                yield Damage(place, f"is not a question ({_first_line(error)})")

    def media(self, folder: Path, manifest: Manifest) -> Mapping[str, Callable[[], bytes]]:
        """Each from its file."""
        return {sha256: (folder / "media" / file_name(one.media)).read_bytes for sha256, one in manifest.media.items()}


def _record(row: ManifestRow, manifest: Manifest) -> dict[str, Any]:
    media = {part.name: f"media/{file_name(part.media)}" for part in row.question.media}
    return {**flat_row(row, manifest), "media": media}


def _read(record: dict[str, Any], place: str, folder: Path, manifest: Manifest) -> ReadRow:
    refs: dict[str, MediaRef] = {}
    for name, path in record["media"].items():
        # Only paths that the manifest itself leads to are opened.
        refs[name] = manifest.media[Path(path).stem].media
        if path != f"media/{file_name(refs[name])}":
            raise ValueError(f"{name} lies at {path!r}")
    return ReadRow(
        place=place,
        qid=record["qid"],
        split=record["split"],
        revision=record["revision"],
        canary=record["canary"],
        question=question_from(record, refs),
        media={ref.sha256: folder / "media" / file_name(ref) for ref in refs.values()},
    )


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
