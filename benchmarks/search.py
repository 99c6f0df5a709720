"""How long search takes in a library of 100,000 materials: each way of asking, from the call to the hits.

    python benchmarks/search.py [--materials 100000]

Texts are sentences of words drawn by Zipf's law, half of them Chinese; vectors are random, 512 numbers for pictures and
384 for texts. Nothing is decoded: what is measured is the index. Medians of repeated calls, in milliseconds, in one
process; beside them the same question put to the tables themselves with `LIKE`, as the studio did it before.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import insert
from sqlmodel import col, select

from core.content import Modality
from core.ids import new_id, utc_now
from curation.search.search import Query, facet_counts, search
from curation.tagging.tags import Tag
from warehouse import events
from warehouse.runs import open_run
from warehouse.tables import Material, MaterialSource, MaterialTag, Segment
from warehouse.workspace import Workspace, init_project, open_workspace

BATCH = 5_000
REPEATS = 9
CLIP_NUMBERS, TEXT_NUMBERS = 512, 384
WORDS = 20_000


class Fixed:
    """An embedder that answers at once: what its model takes is not the index's time."""

    def __init__(self, fingerprint: str, numbers: int) -> None:
        self.fingerprint, self.logit_scale = fingerprint, 100.0
        self._vector = _unit(np.random.default_rng(7).standard_normal((1, numbers)))

    def embed_texts(self, texts: Any) -> Any:
        """The same vector for each."""
        return np.repeat(self._vector, len(texts), axis=0)

    embed_images = embed_texts


def main() -> None:
    """Build the library, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--materials", type=int, default=100_000)
    count = parser.parse_args().materials
    with tempfile.TemporaryDirectory() as folder:
        init_project(Path(folder) / "project")
        with open_workspace(Path(folder) / "project") as workspace:
            _fill(workspace, count)
            _report(workspace, count)


def _report(workspace: Workspace, count: int) -> None:
    begun = time.perf_counter()
    search(workspace, Query(), limit=1)
    print(f"{count} materials; making the index anew: {time.perf_counter() - begun:.1f} s")
    embedders = [Fixed("clip:bench", CLIP_NUMBERS), Fixed("text:bench", TEXT_NUMBERS)]
    with workspace.database.reading() as session:
        like = session.exec(select(Material).where(Material.modality == "image")).first()
    assert like is not None
    asked = {
        "newest": Query(),
        "one rare word": Query(words="word900"),
        "one frequent word": Query(words="word1"),
        "three words, one facet": Query(words="word3 word5 word8", modalities=[Modality.AUDIO]),
        "Chinese, two characters": Query(said="天气"),
        "tag, licence, duration, unused": Query(
            tags=[Tag("theme", "theme3")], licences=["CC0-1.0"], shortest_s=3, longest_s=30, unused=True
        ),
        "meaning": Query(meaning="anything"),
        "meaning, words and facets": Query(meaning="anything", words="word2", languages=["en"]),
        "like a material": Query(like=like.media["sha256"]),
    }
    for name, query in asked.items():
        print(f"{name:32} {_median_ms(lambda q=query: search(workspace, q, embedders)):8.1f} ms")  # type: ignore[misc]
    print(f"{'counts of all facets':32} {_median_ms(lambda: facet_counts(workspace, Query())):8.1f} ms")
    print(f"{'LIKE over the tables, one word':32} {_median_ms(lambda: _like(workspace)):8.1f} ms")
    _touch(workspace, like.id)
    print(f"{'after one change, newest':32} {_median_ms(lambda: search(workspace, Query()), 1):8.1f} ms")


def _median_ms(call: Callable[[], Any], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times)


def _like(workspace: Workspace) -> int:
    with workspace.database.reading() as session:
        said = select(Segment.material_id).where(col(Segment.text).icontains("word900"))
        return len(session.exec(said).all())


def _touch(workspace: Workspace, material_id: str) -> None:
    with workspace.database.session() as session:
        events.record(session, "bench", "material", material_id, "touch")


def _fill(workspace: Workspace, count: int) -> None:
    generator = np.random.default_rng(1)
    with open_run(workspace.database, "benchmark", {}) as run:
        pass
    for start in range(0, count, BATCH):
        numbers = range(start, min(start + BATCH, count))
        rows = [_rows(generator, number, run.id) for number in numbers]
        with workspace.database.session() as session:
            for place, table in enumerate((Material, MaterialSource, MaterialTag, Segment)):
                given = [row[place] for row in rows if row[place] is not None]
                session.connection().execute(insert(table), given)
            events.record(session, "bench", "run", run.id, "fill")
        for modality, embedder, size in (("image", "clip:bench", CLIP_NUMBERS), ("audio", "text:bench", TEXT_NUMBERS)):
            subjects = [row[0]["sha256"] for row in rows if row[0]["modality"] == modality]
            vectors = _unit(generator.standard_normal((len(subjects), size))).astype(np.float32)
            column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), size).cast(pa.list_(pa.float32()))
            table = {"subject": subjects, "embedder": [embedder] * len(subjects), "vector": column}
            workspace.facts.add_table("embedding", run.id, pa.table(table))


def _rows(generator: np.random.Generator, number: int, run_id: str) -> tuple[dict[str, Any], ...]:
    modality = "audio" if number % 2 else "image"
    id_, sha256, now = new_id(), f"{number:064x}", utc_now()
    length = float(generator.uniform(1, 60)) if modality == "audio" else None
    media = {"sha256": sha256, "media_type": f"{modality}/x", "modality": modality, "byte_count": 1}
    made = {"run_id": run_id, "created_at": now}
    material = made | {
        "id": id_, "sha256": sha256, "media": media | {"duration_s": length}, "modality": modality, "state": "kept",
        "version": 1, "measures": {}, "looks": {}, "original_kept": False,
    }  # fmt: skip
    source = made | {
        "id": new_id(),
        "material_id": id_,
        "origin": f"{number}.bin", "licence": ("CC0-1.0", "CC-BY-4.0")[number % 3 == 0],
    }  # fmt: skip
    tag = made | {
        "id": new_id(), "material_id": id_, "facet": "theme", "value": f"theme{generator.integers(20)}",
        "by_person": True, "holds": True, "author": "people",
    }  # fmt: skip
    language = "zh" if number % 4 == 1 else "en"
    segment = {
        "id": new_id(), "material_id": id_, "start_s": 0.0, "end_s": 1.0, "text": _sentence(generator, language),
        "language": language, "words": [], "made_by": "bench@1", "run_id": run_id,
    }  # fmt: skip
    return material, source, tag, segment


def _sentence(generator: np.random.Generator, language: str) -> str:
    if language == "zh":
        return "".join(generator.choice(list("今天气很好我们去公园散步看花听雨风雪山水人城车"), 40))
    ranks = np.minimum(generator.zipf(1.3, 40), WORDS)
    return " ".join(f"word{rank}" for rank in ranks)


def _unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
