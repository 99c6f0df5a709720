"""Pictures and texts in one space, by open_clip."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from core.errors import UnknownName
from curation.embedding import BadEmbedder, Vectors
from curation.models import UnusableModel, check_reach, digest, load_model, package_version

BATCH = 32
HUB = "hf-hub:"
CONFIG = "open_clip_config.json"
SETTING = "clip_model in interplay.toml"
_FILES = (".pt", ".pth", ".bin", ".safetensors", ".npz")


@dataclass(frozen=True)
class _Source:
    """What open_clip is asked for, and how the fingerprint names it."""

    model: str
    pretrained: str | None
    title: str
    from_hub: bool


@dataclass(frozen=True)
class _Loaded:
    model: Any
    prepare: Any
    tokenize: Any
    device: str


class ClipEmbedder:
    """A model of open_clip, by one of four kinds of names.

    - `ARCHITECTURE/TAG`: weights that open_clip knows, fetched from the hub;
    - `ARCHITECTURE/FILE`: a checkpoint on this machine, of an architecture that open_clip knows;
    - a folder with `open_clip_config.json` and weights, as open_clip writes them: also private architectures;
    - `hf-hub:OWNER/NAME`: such a folder on the hub.

    Raises:
        UnusableModel: The name is none of these.
        MissingExtra: open_clip is not installed.
    """

    def __init__(self, name: str, root: Path) -> None:
        self._name = name
        version = package_version("open_clip_torch", "Embedding pictures", "vision")
        self._source = _source_of(name, root)
        self.fingerprint = f"clip:{self._source.title}@{version}"

    @property
    def logit_scale(self) -> float:
        """What the model learned to multiply cosines by."""
        return float(self._loaded.model.logit_scale.exp().item())

    def load(self) -> None:
        """Load it now.

        Raises:
            UnusableModel: It cannot be loaded.
            UnknownName: open_clip knows no such architecture or weights.
        """
        _ = self._loaded

    def embed_images(self, images: Sequence[Image.Image]) -> Vectors:
        """Vectors of RGB pictures, shape (len(images), d), rows of length 1."""
        return self._embedded(images, lambda model, held: model.encode_image(held), self._pixels)

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, shape (len(texts), d), rows of length 1; long texts are cut."""
        return self._embedded(texts, lambda model, held: model.encode_text(held), self._loaded.tokenize)

    def _pixels(self, images: Sequence[Image.Image]) -> Any:
        import torch

        return torch.stack([self._loaded.prepare(image) for image in images])

    def _embedded(self, values: Sequence[Any], encode: Any, prepare: Any) -> Vectors:
        import torch

        loaded = self._loaded
        parts: list[Vectors] = []
        with torch.inference_mode():
            for batch in _batches(values):
                found = encode(loaded.model, prepare(batch).to(loaded.device)).float()
                parts.append(torch.nn.functional.normalize(found, dim=-1).cpu().numpy())
        if not parts:
            raise BadEmbedder("there is nothing to embed; give at least one picture or text")
        return np.concatenate(parts).astype(np.float32)

    @cached_property
    def _loaded(self) -> _Loaded:
        source = self._source
        if source.from_hub:
            self._check_reach()
        import open_clip
        import torch

        _check(open_clip, source, self._name)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu":
            # On cores that others use too, several threads wait for one another most of the time.
            torch.set_num_threads(1)

        def make() -> _Loaded:
            model, prepare = open_clip.create_model_from_pretrained(source.model, source.pretrained, device=device)
            return _Loaded(model.eval(), prepare, open_clip.get_tokenizer(source.model), device)

        return load_model(make, self._name, SETTING, source.from_hub or _needs_hub(open_clip, source.model))

    def _check_reach(self) -> None:
        """Look for the weights before open_clip is imported, which takes seconds; a misspelt name has a nearer mend."""
        try:
            check_reach(self._name, SETTING)
        except UnusableModel:
            import open_clip

            _check(open_clip, self._source, self._name)
            raise


def _source_of(name: str, root: Path) -> _Source:
    if name.startswith(HUB):
        return _Source(name, None, name, True)
    folder = root / name
    if folder.is_dir():
        if not (folder / CONFIG).is_file():
            raise UnusableModel(f"{folder} holds no {CONFIG}; {SETTING} takes a folder as open_clip writes it")
        return _Source(f"local-dir:{folder}", None, f"{folder.name}/sha256-{digest(folder)}", False)
    architecture, slash, rest = name.partition("/")
    if not (architecture and slash and rest):
        raise UnusableModel(
            f"{name!r} is no ARCHITECTURE/TAG, no ARCHITECTURE/FILE and no folder; write for example "
            f"'ViT-B-32/laion2b_s34b_b79k', or the path of a folder that open_clip wrote, as {SETTING}"
        )
    file = root / rest
    if file.is_file():
        return _Source(architecture, str(file), f"{architecture}/sha256-{digest(file)}", False)
    if file.suffix in _FILES or "/" in rest:
        raise UnusableModel(f"{SETTING} names the checkpoint {file}, and there is no such file; correct the path")
    return _Source(architecture, rest, name, True)


def _check(open_clip: Any, source: _Source, name: str) -> None:
    """Whether open_clip knows the architecture and the tag."""
    if source.pretrained is None:
        return
    if source.model not in open_clip.list_models():
        raise UnknownName("architecture of open_clip", source.model, open_clip.list_models())
    if not Path(source.pretrained).is_file() and not open_clip.get_pretrained_cfg(source.model, source.pretrained):
        known = open_clip.list_pretrained_tags_by_model(source.model)
        raise UnknownName(f"weights of {source.model} in {SETTING} {name!r}:", source.pretrained, known)


def _needs_hub(open_clip: Any, model: str) -> bool:
    """Whether beside the weights something is fetched: the tokenizer of some architectures."""
    config = open_clip.get_model_config(model) or {}
    return not model.startswith("local-dir:") and any(key.startswith("hf_") for key in config.get("text_cfg", {}))


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[start : start + BATCH] for start in range(0, len(values), BATCH))
