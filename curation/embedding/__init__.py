"""Embedders: models that put pictures and texts into one space of vectors, found by name and loaded when used."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.errors import InterplayError
from core.registry import Entry, Registry
from core.settings import Project

Vectors = npt.NDArray[np.float32]
"""Shape (n, d); rows of length 1."""


class BadEmbedder(InterplayError):
    """A model is asked for what it cannot do."""


class Embedder(Protocol):
    """A model; made without loading it, so that its fingerprint costs little.

    Attributes:
        fingerprint: What makes its vectors, as 'clip:ViT-B-32/laion2b_s34b_b79k@3.3.0'; vectors of different
            fingerprints cannot be compared.
        logit_scale: What cosines between a picture and texts are multiplied by before a softmax makes probabilities of
            them; loads the model. None for an embedder that takes no pictures.
    """

    @property
    def fingerprint(self) -> str:
        """See the attributes."""

    @property
    def logit_scale(self) -> float | None:
        """See the attributes."""

    def load(self) -> None:
        """Load the model now, so that one which is not there is a mistake before any work.

        Raises:
            UnusableModel, MissingExtra: It cannot be loaded.
        """

    def embed_images(self, images: Sequence[Image.Image]) -> Vectors:
        """Vectors of RGB pictures, shape (len(images), d).

        Raises:
            BadEmbedder: It takes no pictures, or there are none.
            UnusableModel, MissingExtra: It cannot be loaded.
        """

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, shape (len(texts), d); what is longer than the model reads is cut.

        Raises:
            BadEmbedder: There are none.
            UnusableModel, MissingExtra: It cannot be loaded.
        """


Factory = Callable[[str, Path], Embedder]
"""Makes an embedder of a model's name as the setting holds it; relative paths lie in the folder."""

CLIP = "clip"
TEXT = "text"

EMBEDDERS: Registry[Factory] = Registry(
    "embedders",
    (
        Entry(CLIP, "1", "curation.embedding.clip:ClipEmbedder"),
        Entry(TEXT, "1", "curation.embedding.text:TextEmbedder"),
    ),
)


def clip_embedder(project: Project) -> Embedder:
    """The project's embedder of pictures (and of texts about pictures), by its setting `clip_model`.

    Raises:
        UnusableModel, MissingExtra: There is no such model, or no package for it.
    """
    return _embedder(CLIP, project.settings.clip_model, project.root)


def text_embedder(project: Project) -> Embedder:
    """The project's embedder of texts, by its setting `text_model`.

    Raises:
        UnusableModel, MissingExtra: There is no such model, or no package for it.
    """
    return _embedder(TEXT, project.settings.text_model, project.root)


# A model stays loaded as long as the process: the setting may name another embedder of the registry, as 'siglip:base'.
@cache
def _embedder(kind: str, spec: str, root: Path) -> Embedder:
    name, _, rest = spec.partition(":")
    if rest and name in {entry.name for entry in EMBEDDERS}:
        kind, spec = name, rest
    return EMBEDDERS[kind].load()(spec, root)
