"""A dataset folder for the Hugging Face hub: Parquet with the media inside, one config a kind of question.

Pictures and sounds are embedded as the `Image` and `Audio` features of `datasets`. Videos are files under `videos/`,
which the rows name: embedded, one of them would fill a row group.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from core.content import MediaRef, MisplacedMedia, Modality
from core.progress import Ticker, progress
from core.provenance import canonical_json
from core.question import Question, QuestionKind
from warehouse.blobs import BlobStore
from warehouse.exporters.base import ReadRow, copy_media, file_name
from warehouse.exporters.card import card_header, card_text
from warehouse.exporters.rows import flat_row, question_from
from warehouse.exporters.shards import ShardLimits, plan_shards
from warehouse.release.manifest import Damage, Manifest, ManifestRow

_TEXT = pa.string()
_FILE = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_KEY = pa.struct(
    [("correct", pa.list_(pa.int64())), ("accepted", pa.list_(_TEXT)), ("grader", _TEXT), ("tolerance", pa.float64())]
)
_STEP = pa.struct([("ask", _TEXT), ("points", pa.int64()), ("rubric", _TEXT), ("answer_key", _KEY)])
_MEDIUM = pa.struct([("name", _TEXT), ("modality", _TEXT), ("media_type", _TEXT), ("sha256", _TEXT)])
_COLUMNS: dict[str, pa.DataType] = {
    "qid": _TEXT,
    "kind": _TEXT,
    "language": _TEXT,
    "asked_in": _TEXT,
    "task_type": _TEXT,
    "ability": _TEXT,
    "prompt": _TEXT,
    "choices": pa.list_(_TEXT),
    "answer": _TEXT,
    "answer_key": _KEY,
    "steps": pa.list_(_STEP),
    "required": pa.list_(_TEXT),
    "media": pa.list_(_MEDIUM),
    "images": pa.list_(_FILE),
    "audios": pa.list_(_FILE),
    "videos": pa.list_(_TEXT),
    "revision": _TEXT,
    "canary": _TEXT,
}
_EMBEDDED = {Modality.IMAGE: "images", Modality.AUDIO: "audios"}
_FEATURES = {"images": "Image", "audios": "Audio"}
# Columns of row groups that are held while their media are read one by one.
_HELD_COLUMNS = 4
_OMNI = {QuestionKind.CHOICE: "omni_mc", QuestionKind.MULTI_STEP: "omni_mo", QuestionKind.OPEN: "omni_open"}


class HuggingFaceExporter:
    """For `datasets.load_dataset` and the hub."""

    def __init__(self, limits: ShardLimits | None = None) -> None:
        self._limits = limits or ShardLimits()

    def write(self, manifest: Manifest, blobs: BlobStore, folder: Path) -> None:
        """Write Parquet, videos and the card."""
        videos = [one.media for one in manifest.media.values() if one.media.modality is Modality.VIDEO]
        with progress("media written", len(videos)) as ticker:
            for video in videos:
                copy_media(blobs, video, folder / "videos")
                ticker.advance()
        parts: dict[str, dict[str, list[ManifestRow]]] = {}
        for row in manifest.rows:
            parts.setdefault(config_of(row.question), {}).setdefault(row.split, []).append(row)
        with progress("questions written", len(manifest.rows)) as ticker:
            for config, splits in sorted(parts.items()):
                for split, rows in sorted(splits.items()):
                    self._write_split(manifest, blobs, rows, folder / config, split, ticker)
        text = card_header(manifest, _configs(parts)) + card_text(manifest, _loading(parts))
        (folder / "README.md").write_text(text, encoding="utf-8")

    def read(self, folder: Path, manifest: Manifest) -> Iterator[ReadRow | Damage]:
        """Read every Parquet file, a row group at a time."""
        for file in sorted(folder.glob("*/*.parquet")):
            place = file.relative_to(folder).as_posix()
            try:
                with pq.ParquetFile(file) as parquet:
                    for group in range(parquet.num_row_groups):
                        for record in parquet.read_row_group(group).to_pylist():
                            yield _read(record, place, folder, manifest)
            except (OSError, pa.ArrowException) as error:
                yield Damage(place, f"cannot be read as Parquet ({str(error).splitlines()[0]})")

    def media(self, folder: Path, manifest: Manifest) -> Mapping[str, Callable[[], bytes]]:
        """Videos from their files, all else from the Parquet files, of which few columns of row groups are held."""
        column_of = lru_cache(maxsize=_HELD_COLUMNS)(_column)

        def embedded(file: Path, group: int, column: str, row: int, place: int) -> bytes:
            data: bytes = column_of(file, group, column)[row][place]["bytes"].as_py()
            return data

        found: dict[str, Callable[[], bytes]] = {
            sha256: (folder / "videos" / file_name(one.media)).read_bytes
            for sha256, one in manifest.media.items()
            if one.media.modality is Modality.VIDEO
        }
        for file in sorted(folder.glob("*/*.parquet")):
            for sha256, place in _embedded_places(file):
                found.setdefault(sha256, partial(embedded, file, *place))
        return found

    def _write_split(
        self,
        manifest: Manifest,
        blobs: BlobStore,
        rows: Sequence[ManifestRow],
        folder: Path,
        split: str,
        ticker: Ticker,
    ) -> None:
        folder.mkdir(exist_ok=True)
        shards = plan_shards([_row_bytes(row) for row in rows], self._limits)
        for number, groups in enumerate(shards):
            file = folder / f"{split}-{number:05d}-of-{len(shards):05d}.parquet"
            # Media do not compress, and a dictionary of them would hold every byte twice.
            with pq.ParquetWriter(
                file, _schema(), compression="zstd", use_dictionary=False, write_page_index=True
            ) as writer:
                for group in groups:
                    records = [_record(rows[place], manifest, blobs) for place in group]
                    writer.write_table(pa.Table.from_pylist(records, schema=_schema()), row_group_size=len(records))
                    ticker.advance(len(records))


def _column(file: Path, group: int, column: str) -> pa.ChunkedArray:
    with pq.ParquetFile(file) as parquet:
        return parquet.read_row_group(group, columns=[column]).column(column)


def _embedded_places(file: Path) -> Iterator[tuple[str, tuple[int, str, int, int]]]:
    """sha256, and row group, column, row in the group and place in the row of each embedded medium."""
    for group in range(pq.read_metadata(file).num_row_groups):
        for row, parts in enumerate(_column(file, group, "media").to_pylist()):
            places: Counter[str] = Counter()
            for part in parts:
                column = _EMBEDDED.get(Modality(part["modality"]))
                if column is not None:
                    yield part["sha256"], (group, column, row, places[column])
                    places[column] += 1


def config_of(question: Question) -> str:
    """The config that a question belongs to: `omni_*` when it shows and sounds, `uni_*` when it does one of them."""
    sounds = Modality.AUDIO in question.modalities
    shows = not question.modalities.isdisjoint({Modality.IMAGE, Modality.VIDEO})
    if sounds and shows:
        return _OMNI[question.kind]
    if sounds or shows:
        return "uni_audio" if sounds else "uni_visual"
    return "text"


def _record(row: ManifestRow, manifest: Manifest, blobs: BlobStore) -> dict[str, Any]:
    parts = row.question.media
    record = flat_row(row, manifest)
    del record["split"]  # the file's name says it
    record["media"] = [
        {"name": part.name, **part.media.model_dump(mode="json", include={"modality", "media_type", "sha256"})}
        for part in parts
    ]
    for modality, column in _EMBEDDED.items():
        refs = [part.media for part in parts if part.media.modality is modality]
        record[column] = [{"bytes": blobs.get(ref.sha256), "path": file_name(ref)} for ref in refs]
    videos = [part.media for part in parts if part.media.modality is Modality.VIDEO]
    record["videos"] = [f"videos/{file_name(ref)}" for ref in videos]
    return record


def _read(record: Mapping[str, Any], place: str, folder: Path, manifest: Manifest) -> ReadRow | Damage:
    place = f"{place} row {record.get('qid')!r}"
    try:
        embedded = {column: iter(record[column]) for column in _EMBEDDED.values()}
        refs: dict[str, MediaRef] = {}
        media: dict[str, bytes | Path] = {}
        for part in record["media"]:
            ref = manifest.media[part["sha256"]].media
            refs[part["name"]] = ref
            column = _EMBEDDED.get(ref.modality)
            # Only paths that the manifest itself leads to are opened.
            media[ref.sha256] = next(embedded[column])["bytes"] if column else folder / "videos" / file_name(ref)
        return ReadRow(
            place=place,
            qid=record["qid"],
            split=place.split("/")[1].split("-")[0],
            revision=record["revision"],
            canary=record["canary"],
            question=question_from(record, refs),
            media=media,
        )
    except (ValueError, KeyError, TypeError, StopIteration, ValidationError, MisplacedMedia) as error:
        return Damage(place, f"is not a question ({type(error).__name__}: {error})")


def _row_bytes(row: ManifestRow) -> int:
    embedded = sum(part.media.byte_count for part in row.question.media if part.media.modality in _EMBEDDED)
    return embedded + len(canonical_json(row.question.model_dump(mode="json")).encode())


def _schema() -> pa.Schema:
    features = {name: _feature(kind, _FEATURES.get(name)) for name, kind in _COLUMNS.items()}
    described = json.dumps({"info": {"features": features}})
    return pa.schema(list(_COLUMNS.items()), metadata={"huggingface": described})


def _feature(kind: pa.DataType, media: str | None = None) -> dict[str, Any]:
    """A column as `datasets` describes it; `media` is the feature of the files in it."""
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type, media), "_type": "List"}
    if media is not None:
        return {"_type": media}
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": "float64" if pa.types.is_float64(kind) else str(kind), "_type": "Value"}


def _configs(parts: Mapping[str, Mapping[str, Sequence[ManifestRow]]]) -> list[dict[str, Any]]:
    return [
        {
            "config_name": config,
            "data_files": [{"split": split, "path": f"{config}/{split}-*.parquet"} for split in sorted(splits)],
        }
        for config, splits in sorted(parts.items())
    ]


def _loading(parts: Mapping[str, Mapping[str, Sequence[ManifestRow]]]) -> str:
    if not parts:  # all are held out, or were withdrawn
        return "No question of this version is published, so there is nothing to load.\n"
    config = min(parts)
    return f"""\
With `datasets` 4 or newer; the configs are {", ".join(f"`{name}`" for name in sorted(parts))}:

```python
from datasets import load_dataset

questions = load_dataset("PATH_OR_REPOSITORY", "{config}", split="{min(parts[config])}")
```

`media` gives the placeholders of each prompt in order; the n-th `image_*` among them is the n-th of `images`, and so
on. `videos` are paths in this repository.
"""
