"""Tags by a model that compares pictures with words, without being trained for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sqlmodel import Session

from core.content import MediaRef
from core.grading import FailedOutcome, Failure, FailureKind
from core.ids import Clock, utc_now
from curation.embedding import BadEmbedder, Embedder, Vectors
from curation.embedding.embed import SEEN, embed_pictures
from curation.embedding.stored import stored_vectors
from curation.passes import PassReport, Which, Work, run_pass
from curation.tagging.tags import Tag, store_machine_tags
from curation.tagging.vocabulary import PLACE, Facet, Vocabulary
from warehouse.tables import Material
from warehouse.workspace import Workspace

TAG = "tag"
AUTHOR = "clip-zero-shot@1"
COMMAND = "material tag"
BATCH = 64

Scores = Mapping[Tag, float]


@dataclass(frozen=True)
class ZeroShot:
    """Values of facets as vectors of a model.

    `facets` are names, facets, and vectors of shape (values, d), rows of length 1; `logit_scale` is the model's.
    """

    facets: tuple[tuple[str, Facet, Vectors], ...]
    logit_scale: float

    @classmethod
    def of(cls, embedder: Embedder, vocabulary: Vocabulary) -> Self:
        """Embed the prompts of all values. A value is the mean of all its sentences (Radford et al. 2021, 3.1.4).

        Raises:
            BadEmbedder: The model takes no pictures.
        """
        scale = embedder.logit_scale
        if scale is None:
            raise BadEmbedder(f"{embedder.fingerprint} takes no pictures; name another model in the setting clip_model")
        facets = ((name, facet, _directions(embedder, facet)) for name, facet in vocabulary.ordered())
        return cls(tuple(facets), scale)

    def scores(self, vectors: Vectors) -> list[Scores]:
        """Tags of pictures with their probabilities among the values of a facet, as its threshold and `top` allow.

        Args:
            vectors: Of the pictures, shape (n, d), rows of length 1.
        """
        found: list[dict[Tag, float]] = [{} for _ in range(len(vectors))]
        for name, facet, directions in self.facets:
            shares = softmax(self.logit_scale * (vectors @ directions.T).astype(np.float64), axis=1)
            best = np.argsort(-shares, axis=1, kind="stable")[:, : facet.top]
            for tags, columns, share in zip(found, best.tolist(), shares.tolist(), strict=True):
                said = {column: share[column] for column in columns if share[column] >= facet.threshold}
                tags |= {Tag(name, facet.values[column].id): round(one, 4) for column, one in said.items()}
        return list(found)


@dataclass(frozen=True)
class TagReport:
    """What became of the pictures that had no vectors yet, and of the tags."""

    embedded: PassReport
    tagged: PassReport
    maker: str


def tag_materials(
    workspace: Workspace,
    embedder: Embedder,
    vocabulary: Vocabulary,
    which: Which,
    *,
    workers: int = 1,
    dry_run: bool = False,
    clock: Clock = utc_now,
) -> TagReport:
    """Tag images and videos by the words of a vocabulary, in place of what was said by another one or another model.

    Vectors that are stored are used, those that are missing are made first: a new vocabulary decodes nothing.

    Args:
        workspace: The opened project.
        embedder: One that takes pictures.
        vocabulary: The words.
        which: On which materials.
        workers: Processes that decode pictures without vectors.
        dry_run: Only count.
        clock: For the rows' times.

    Raises:
        UnusableModel, MissingExtra: The model cannot be loaded, and there is something to do.
    """
    seen = Which(which.material_ids)
    embedded = embed_pictures(workspace, embedder, seen, command=COMMAND, workers=workers, dry_run=dry_run, clock=clock)
    maker = f"{AUTHOR} {embedder.fingerprint} vocabulary:{vocabulary.sha256[:16]}"
    tagger = _Tagger(workspace, embedder, vocabulary, clock)
    work = Work(
        TAG,
        maker,
        SEEN,
        tagger.vector,
        tagger.store,
        "tagging",
        make_many=tagger.scores,
        batch=BATCH,
        reads=False,
        prepare=tagger.prepare,
        replaces=True,
    )
    return TagReport(embedded, run_pass(workspace, COMMAND, work, which, dry_run=dry_run, clock=clock), maker)


class _Tagger:
    def __init__(self, workspace: Workspace, embedder: Embedder, vocabulary: Vocabulary, clock: Clock) -> None:
        self._workspace, self._embedder, self._vocabulary, self._clock = workspace, embedder, vocabulary, clock

    def prepare(self) -> None:
        self._zero_shot = ZeroShot.of(self._embedder, self._vocabulary)
        self._vectors = stored_vectors(self._workspace.facts, self._embedder.fingerprint).by_subject()

    def vector(self, ref: MediaRef, _: bytes) -> Vectors:
        if ref.sha256 not in self._vectors:
            message = "it has no vector, for it could not be embedded; 'interplay material embed' says why"
            raise FailedOutcome(Failure(kind=FailureKind.BAD_INPUT, message=message))
        return self._vectors[ref.sha256]

    def scores(self, vectors: Sequence[Vectors]) -> list[Scores]:
        return self._zero_shot.scores(np.stack(vectors))

    def store(self, session: Session, material: Material, scores: Scores, run_id: str) -> dict[str, Any]:
        store_machine_tags(session, material.id, scores, AUTHOR, run_id, self._clock)
        return {"tags": len(scores)}


def _directions(embedder: Embedder, facet: Facet) -> Vectors:
    sentences = [
        [template.replace(PLACE, phrase) for template in facet.templates for phrase in value.phrases]
        for value in facet.values
    ]
    vectors = embedder.embed_texts([sentence for some in sentences for sentence in some])
    ends = np.cumsum([len(some) for some in sentences])
    means = np.stack([part.mean(axis=0) for part in np.split(vectors, ends[:-1])])
    directions: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    return directions
