"""Texts by what they mean, by sentence-transformers."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from curation.embedding import BadEmbedder, Vectors
from curation.models import digest, load_model, package_version

BATCH = 32
SETTING = "text_model in interplay.toml"
_CARD = "config.json"


class TextEmbedder:
    """A model of sentence-transformers, by its name on the hub or the folder that holds it.

    Raises:
        MissingExtra: sentence-transformers is not installed.
    """

    logit_scale = None

    def __init__(self, name: str, root: Path) -> None:
        self._name, self._folder = name, root / name
        self._version = package_version("sentence-transformers", "Embedding texts", "text")

    @cached_property
    def fingerprint(self) -> str:
        """Name, and the revision on the hub or the sha256 of the folder; one that was fetched before stays.

        Raises:
            UnusableModel: It is not on this machine, and the hub does not give it.
        """
        if self._folder.is_dir():
            return f"text:{self._folder.resolve().name}/sha256-{digest(self._folder)}@{self._version}"
        return f"text:{self._name}/{self._revision[:12]}@{self._version}"

    def load(self) -> None:
        """Load it now.

        Raises:
            UnusableModel: It cannot be loaded.
        """
        _ = self._model

    def embed_images(self, images: Sequence[Image.Image]) -> Vectors:
        """It takes no pictures.

        Raises:
            BadEmbedder: Always.
        """
        raise BadEmbedder(f"{self._name} takes texts and no pictures; those are for clip_model")

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, shape (len(texts), d), rows of length 1; long texts are cut."""
        if not texts:
            raise BadEmbedder("there is nothing to embed; give at least one text")
        found = self._model.encode(
            list(texts), batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(found, dtype=np.float32)

    @cached_property
    def _revision(self) -> str:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache

        held = try_to_load_from_cache(self._name, _CARD)
        if not isinstance(held, str):
            held = load_model(lambda: hf_hub_download(self._name, _CARD), self._name, SETTING, True)
        # .../snapshots/REVISION/config.json
        return Path(held).parent.name

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        if not torch.cuda.is_available():
            # On cores that others use too, several threads wait for one another most of the time.
            torch.set_num_threads(1)
        local = self._folder.is_dir()
        named, revision = (str(self._folder), None) if local else (self._name, self._revision)
        make = lambda: SentenceTransformer(named, revision=revision)  # noqa: E731
        return load_model(make, self._name, SETTING, not local)
