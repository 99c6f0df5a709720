"""Who speaks when, through a pipeline of pyannote.audio."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import InterplayError
from core.media.audio import Samples
from core.settings import environment_value
from curation.models import UnusableModel, identity, load_model, package_version
from curation.speech.features import RATE_HZ
from curation.speech.heard import Span, Turn

_CONFIG = "config.yaml"
_SETTING = "diarization_model in interplay.toml"
_NEEDS_PLDA = "VBxClustering"


class NoDiarizationModel(InterplayError):
    """The pyannote diarizer was asked for, and no setting names its model."""


@dataclass(frozen=True)
class PyannoteDiarizer:
    """A pipeline of pyannote.audio 4; `model` is a hub id, a folder with config.yaml, or such a file."""

    model: str

    @property
    def fingerprint(self) -> str:
        """Name, version and model."""
        return f"pyannote-audio@{_version()}/{identity(self.model)}"

    @property
    def lighter(self) -> bool:
        """It is not the lighter way."""
        return False

    def load(self) -> None:
        """Load the pipeline.

        Raises:
            MissingExtra: pyannote.audio is not installed.
            UnusableModel: There is no such pipeline to be had.
        """
        _pipeline(self.model)

    def diarize(self, samples: Samples, speech: Sequence[Span]) -> list[Turn]:
        """Who speaks when; the pipeline finds speech by itself, and of two who speak at once the likelier is named."""
        del speech
        import torch

        sound = {"waveform": torch.from_numpy(samples)[None], "sample_rate": RATE_HZ}
        found = _pipeline(self.model)(sound)
        turns = found.exclusive_speaker_diarization.itertracks(yield_label=True)
        return sorted(Turn(turn.start, turn.end, str(speaker)) for turn, _, speaker in turns)


def pyannote_diarizer(model: str | None) -> PyannoteDiarizer:
    """The diarizer of that model.

    Raises:
        NoDiarizationModel: None is named.
    """
    if model is None:
        raise NoDiarizationModel(
            "no diarization model is set; write diarization_model = 'pyannote/speaker-diarization-community-1', or the "
            "folder of one, into interplay.toml, or use the light diarizer"
        )
    return PyannoteDiarizer(model)


def _version() -> str:
    return package_version("pyannote-audio", "Diarization", "speech")


@cache
def _pipeline(model: str) -> Any:
    _version()
    token = environment_value("HF_TOKEN")
    # First, for what cannot be had is said before a slow library is imported.
    needs_plda = load_model(lambda: _needs_plda(model, token), model, _SETTING, not Path(model).exists())
    from pyannote.audio import Pipeline
    from pyannote.audio.telemetry import set_telemetry_metrics

    # It would tell its makers how long each sound is.
    set_telemetry_metrics(False)
    with _plda(needs_plda):
        # Also a folder's configuration can name parts that are on the hub.
        pipeline = load_model(lambda: Pipeline.from_pretrained(model, token=token), model, _SETTING, True)
    if pipeline is None or not hasattr(pipeline, "apply"):
        raise UnusableModel(f"{model!r} holds no pipeline of pyannote.audio; let {_SETTING} name another")
    return pipeline.to(_device())


def _needs_plda(model: str, token: str | None) -> bool:
    import yaml
    from huggingface_hub import hf_hub_download

    place = Path(model)
    if not place.exists():
        place = Path(hf_hub_download(model, _CONFIG, token=token))
    config = place / _CONFIG if place.is_dir() else place
    parameters = yaml.safe_load(config.read_text(encoding="utf-8"))["pipeline"].get("params") or {}
    return bool(parameters.get("clustering", _NEEDS_PLDA) == _NEEDS_PLDA)


@contextmanager
def _plda(needed: bool) -> Iterator[None]:
    """Every pipeline fetches a PLDA model from the hub, though most kinds of clustering have no use for one."""
    from pyannote.audio.pipelines import speaker_diarization

    module: Any = speaker_diarization
    fetch = module.get_plda
    if not needed:
        module.get_plda = lambda *arguments, **options: None
    try:
        yield
    finally:
        module.get_plda = fetch


def _device() -> Any:
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
