"""Vectors for all materials: of pictures and films by how they look, of whatever has words by what these say."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from sqlmodel import Session, col, select

from core.content import MediaRef, Modality
from core.ids import Clock, utc_now
from core.provenance import content_hash
from curation.embedding import Embedder, Vectors
from curation.embedding.views import mean_directions, pictures_of, pieces_of
from curation.embedding.words import Words, words_of_library
from curation.passes import PassReport, Which, Work, run_pass
from warehouse.facts import FactWriter
from warehouse.tables import Material, MaterialWork
from warehouse.workspace import Workspace

EMBED_PICTURES = "embed_pictures"
EMBED_WORDS = "embed_words"
SEEN = frozenset({Modality.IMAGE, Modality.VIDEO})
PICTURES_BATCH = 16
WORDS_BATCH = 64
COMMAND = "material embed"


def embed_pictures(
    workspace: Workspace,
    embedder: Embedder,
    which: Which,
    *,
    command: str = COMMAND,
    workers: int = 1,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> PassReport:
    """Vectors of images, and of videos by the mean of their frames, as facts `embedding`.

    Args:
        workspace: The opened project.
        embedder: One that takes pictures.
        which: On which materials.
        command: Of the run.
        workers: Processes that decode; the model stays in this one.
        dry_run: Only count.
        clock: For the rows' times.

    Raises:
        UnusableModel, MissingExtra: The model cannot be loaded, and there is something to do.
    """

    def embedded(shown: Sequence[Sequence[Any]]) -> list[Vectors]:
        vectors = embedder.embed_images([picture for pictures in shown for picture in pictures])
        return mean_directions(vectors, [len(pictures) for pictures in shown])

    with _Vectors.opened(workspace, embedder, clock) as keeper:
        work = Work(
            EMBED_PICTURES,
            embedder.fingerprint,
            SEEN,
            partial(pictures_of, limits=workspace.project.media_limits),
            keeper.keep,
            "embedding pictures",
            make_many=embedded,
            batch=PICTURES_BATCH,
            prepare=embedder.load,
        )
        return run_pass(workspace, command, work, which, workers=workers, dry_run=dry_run, clock=clock)


def embed_words(
    workspace: Workspace,
    embedder: Embedder,
    words: Sequence[Words],
    *,
    again: bool = False,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> PassReport:
    """Vectors of what is said in materials and of them, as facts `embedding`; anew where the words have changed.

    Args:
        workspace: The opened project.
        embedder: One of texts.
        words: Of the materials, as `words_of_library` finds them.
        again: Also where nothing has changed.
        dry_run: Only count.
        clock: For the rows' times.

    Raises:
        UnusableModel, MissingExtra: The model cannot be loaded, and there is something to do.
    """
    texts = _texts_by_copy(words)
    pending = [one.material_id for one in words]
    if not again:
        with workspace.database.reading() as session:
            done = _done(session, embedder)
        pending = [one.material_id for one in words if done.get(one.material_id) != content_hash(texts[one.subject])]
    with _Vectors.opened(workspace, embedder, clock) as keeper:
        work = _words_work(embedder, texts, keeper)
        report = run_pass(workspace, COMMAND, work, Which(pending, again=True), dry_run=dry_run, clock=clock)
    report.known = len(words) - len(pending)
    return report


def words_in(workspace: Workspace) -> list[Words]:
    """The words of the project's kept materials."""
    with workspace.database.reading() as session:
        return words_of_library(session)


class _Vectors:
    """Writes vectors before the transaction that marks them as made is over: a mark never stands without its vector."""

    def __init__(self, workspace: Workspace, embedder: Embedder, clock: Clock, stack: ExitStack) -> None:
        self._facts, self._embedder, self._clock, self._stack = workspace.facts, embedder, clock, stack
        self._writer: FactWriter | None = None

    @classmethod
    @contextmanager
    def opened(cls, workspace: Workspace, embedder: Embedder, clock: Clock) -> Iterator["_Vectors"]:
        with ExitStack() as stack:
            yield cls(workspace, embedder, clock, stack)

    def keep(self, session: Session, material: Material, vector: Vectors, run_id: str) -> Mapping[str, Any]:
        del session
        if self._writer is None:
            self._writer = self._stack.enter_context(self._facts.writer("embedding", run_id))
        row = {"subject": material.media["sha256"], "embedder": self._embedder.fingerprint, "vector": vector.tolist()}
        self._writer.add({**row, "recorded_at": self._clock().isoformat()})
        return {"dimensions": len(vector)}


def _words_work(embedder: Embedder, texts: Mapping[str, str], keeper: _Vectors) -> Work[Vectors]:
    def read(ref: MediaRef, _: bytes) -> list[str]:
        return pieces_of(texts[ref.sha256])

    def embedded(held: Sequence[Sequence[str]]) -> list[Vectors]:
        vectors = embedder.embed_texts([piece for pieces in held for piece in pieces])
        return mean_directions(vectors, [len(pieces) for pieces in held])

    def keep(session: Session, material: Material, vector: Vectors, run_id: str) -> dict[str, Any]:
        text = content_hash(texts[material.media["sha256"]])
        return {**keeper.keep(session, material, vector, run_id), "text": text}

    return Work(
        EMBED_WORDS,
        embedder.fingerprint,
        frozenset(Modality),
        read,
        keep,
        "embedding words",
        make_many=embedded,
        batch=WORDS_BATCH,
        reads=False,
        prepare=embedder.load,
    )


def _texts_by_copy(words: Sequence[Words]) -> dict[str, str]:
    """Texts by the sha256 of the working copy: materials that share it share one vector."""
    parts: dict[str, list[str]] = defaultdict(list)
    for one in words:
        parts[one.subject].append(one.text)
    return {subject: "\n".join(dict.fromkeys(held)) for subject, held in parts.items()}


def _done(session: Session, embedder: Embedder) -> dict[str, str | None]:
    """The hash of the words that each material's vector was made of."""
    mine = (MaterialWork.work == EMBED_WORDS, MaterialWork.maker == embedder.fingerprint)
    query = select(MaterialWork.material_id, MaterialWork.result).where(*mine, col(MaterialWork.failure).is_(None))
    return {material_id: result.get("text") for material_id, result in session.exec(query)}
