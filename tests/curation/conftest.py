import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter
from typer.testing import CliRunner

from core.media.audio import encode_wav
from curation.cli import app
from warehouse.workspace import Workspace, init_project, open_workspace


class Media:
    """Media made up here and now."""

    @staticmethod
    def photo(seed: int, size: tuple[int, int] = (320, 240)) -> Image.Image:
        """Light, colour and shapes at many scales, as photographs have them."""
        generator = np.random.default_rng(seed)
        width, height = size
        pixels = np.zeros((height, width, 3))
        for scale, weight in ((40, 30), (12, 10), (3, 2)):
            noise = generator.standard_normal((height, width, 3))
            smooth = np.stack([gaussian_filter(noise[..., c], scale) for c in range(3)], axis=-1)
            pixels += weight * smooth / smooth.std()
        image = Image.fromarray(np.clip(128 + pixels, 0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        for _ in range(6):
            x, y, r = generator.uniform(0, width), generator.uniform(0, height), generator.uniform(10, 60)
            draw.ellipse((x - r, y - r, x + r, y + r / 2), fill=tuple(int(c) for c in generator.integers(0, 256, 3)))
        return image

    @staticmethod
    def dots(count: int) -> Image.Image:
        image = Image.new("RGB", (320, 240), (250, 250, 240))
        for number in range(count):
            x = 30 + 40 * number
            ImageDraw.Draw(image).ellipse((x, 100, x + 24, 124), fill=(200, 30, 30))
        return image

    @staticmethod
    def coded(image: Image.Image, kind: str = "JPEG", **options: object) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, kind, **options)
        return buffer.getvalue()

    @staticmethod
    def gps_photo(seed: int) -> bytes:
        """A photo that says who took it, with which camera and where."""
        exif = Image.Exif()
        exif[0x010F], exif[0x013B] = "Camera Maker 4711", "Jane Doe"
        exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 8.0, 13.0), 3: "E", 4: (11.0, 34.0, 31.0)})
        return Media.coded(Media.photo(seed), exif=exif, quality=90)

    @staticmethod
    def voice(seed: int, duration_s: float = 2.0, rate_hz: int = 16000) -> np.ndarray:
        """Syllables: harmonics of a gliding pitch under moving formants, with pauses."""
        generator = np.random.default_rng(seed)
        time_s = np.arange(round(duration_s * rate_hz)) / rate_hz
        knots = np.linspace(0, duration_s, max(4, round(duration_s * 6)))
        pitch_hz = np.interp(time_s, knots, generator.uniform(90, 260, len(knots)))
        phase = 2 * np.pi * np.cumsum(pitch_hz) / rate_hz
        loud = np.interp(time_s, knots, generator.uniform(0, 1, len(knots)) ** 2)
        sound = np.zeros_like(time_s)
        formants = [np.interp(time_s, knots, generator.uniform(200, 3200, len(knots))) for _ in range(3)]
        for harmonic in range(1, 16):
            weight = sum(np.exp(-(((harmonic * pitch_hz - formant) / 250) ** 2)) for formant in formants)
            sound += weight * np.sin(harmonic * phase)
        return (0.5 * loud * sound / np.abs(sound).max()).astype(np.float32)

    @staticmethod
    def wav(samples: np.ndarray, rate_hz: int = 16000) -> bytes:
        return encode_wav(samples, rate_hz)

    @staticmethod
    def coded_sound(samples: np.ndarray, rate_hz: int, container: str, codec: str, bit_rate: int) -> bytes:
        buffer = io.BytesIO()
        with av.open(buffer, "w", format=container) as out:
            stream = out.add_stream(codec, rate=48000, layout="mono")
            stream.bit_rate = bit_rate
            _mux_sound(out, stream, samples, rate_hz)
        return buffer.getvalue()

    @staticmethod
    def film(
        frames: Iterable[Image.Image],
        rate_hz: int = 10,
        sound: np.ndarray | None = None,
        bit_rate: int = 600_000,
        metadata: dict[str, str] | None = None,
    ) -> bytes:
        """An MP4 of pictures, with sound (16 kHz) if given."""
        images = list(frames)
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="mp4") as out:
            out.metadata.update(metadata or {})
            picture = out.add_stream("mpeg4", rate=rate_hz)
            picture.width, picture.height, picture.pix_fmt, picture.bit_rate = *images[0].size, "yuv420p", bit_rate
            heard = out.add_stream("aac", rate=48000, layout="mono") if sound is not None else None
            for place, image in enumerate(images):
                frame = av.VideoFrame.from_image(image)
                frame.pts, frame.time_base = place, Fraction(1, rate_hz)
                out.mux(picture.encode(frame))
            out.mux(picture.encode(None))
            if heard is not None and sound is not None:
                _mux_sound(out, heard, sound, 16000)
        return buffer.getvalue()

    @staticmethod
    def cartoon(
        seed: int, seconds: int = 3, rate_hz: int = 10, size: tuple[int, int] = (320, 240)
    ) -> list[Image.Image]:
        """A ball that crosses a scene, with a cut each second."""
        scenes = [Media.photo(seed * 1000 + second) for second in range(seconds)]
        images = []
        for place in range(seconds * rate_hz):
            image = scenes[place // rate_hz].copy()
            x = 20 + place * 5 % 280
            ImageDraw.Draw(image).ellipse((x, 100, x + 20, 120), fill="yellow")
            images.append(image)
        return images


def _mux_sound(out: av.container.OutputContainer, stream: av.AudioStream, samples: np.ndarray, rate_hz: int) -> None:
    frame = av.AudioFrame.from_ndarray(samples[np.newaxis].astype(np.float32), format="fltp", layout="mono")
    frame.sample_rate = rate_hz
    resampler = av.AudioResampler(format=stream.format, layout="mono", rate=48000)
    for ready in [*resampler.resample(frame), *resampler.resample(None)]:
        out.mux(stream.encode(ready))
    out.mux(stream.encode(None))


@pytest.fixture(scope="session")
def media() -> type[Media]:
    return Media


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return init_project(tmp_path / "project").root


@pytest.fixture
def workspace(project: Path) -> Iterator[Workspace]:
    with open_workspace(project) as opened:
        yield opened


Call = Callable[..., dict]


@pytest.fixture(scope="session")
def call() -> Call:
    """Run `interplay material ...` in this process and read its JSON; a mistake comes out as its exception."""

    def run(*arguments: object, project: Path, exit_code: int = 0) -> dict:
        texts = [str(argument) for argument in arguments]
        result = CliRunner().invoke(app, [*texts, "--json", "--project", str(project)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == exit_code, result.output
        return json.loads(result.stdout)

    return run


FAKE_EMBEDDER = """
import numpy as np

from curation.models import UnusableModel

NAMES = ("red", "green", "blue")
SHOWN = []


class Fake:
    # Sees the mean colour, reads names of colours; what is black has no direction.
    def __init__(self, name, root):
        self.fingerprint = f"fake:{name}@1"
        self.logit_scale = None if name == "blind" else 10.0

    def load(self):
        if self.fingerprint == "fake:gone@1":
            raise UnusableModel("the hub cannot be reached; name a folder in clip_model")

    def embed_images(self, images):
        SHOWN.append(len(images))
        return self._unit([np.asarray(image, dtype=np.float32).mean(axis=(0, 1)) // 10 for image in images])

    def embed_texts(self, texts):
        return self._unit([[text.count(name) for name in NAMES] for text in texts])

    def _unit(self, rows):
        rows = np.asarray(rows, dtype=np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
"""


@pytest.fixture
def fake_embedder(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An embedder as an installed package offers it, named in the project's settings; gives the package's folder."""
    folder = tmp_path / "site"
    (folder / "fake_embedder-1.dist-info").mkdir(parents=True)
    (folder / "fake_embedder-1.dist-info" / "METADATA").write_text("Name: fake-embedder\nVersion: 1\n")
    entry = "[interplay.embedders]\nfake@1 = fake_embedder:Fake\n"
    (folder / "fake_embedder-1.dist-info" / "entry_points.txt").write_text(entry)
    (folder / "fake_embedder.py").write_text(FAKE_EMBEDDER)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "fake_embedder", raising=False)
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", "fake:colours")
    monkeypatch.setenv("INTERPLAY_TEXT_MODEL", "fake:words")
    monkeypatch.setenv("INTERPLAY_WORKERS", "1")
    return folder
