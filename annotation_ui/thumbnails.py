"""Small pictures of media for lists: pictures and video frames scaled down, sounds as waveforms."""

import io
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from core.media.audio import load_audio
from core.media.preview import thumbnail, waveform
from warehouse.blobs import CHUNK_BYTES, BlobStore, write_atomically

SMALL_SIDE_PX = 480
WAVE_SIZE_PX = (480, 160)
WAVE_BINS = 120
WAVE_RATE_HZ = 16000
_WAVE_COLOUR, _WAVE_GROUND = "#4c6a92", "#f1f4f8"
DECODERS_AT_ONCE = 2


class Thumbnails:
    """Makes small pictures once and keeps them in a folder that may be deleted at any time."""

    def __init__(self, blobs: BlobStore, folder: Path) -> None:
        self._blobs = blobs
        self._folder = folder
        self._decoding = threading.BoundedSemaphore(DECODERS_AT_ONCE)

    def get(self, sha256: str, media_type: str) -> tuple[bytes, str]:
        """The small picture and its media type.

        Raises:
            MissingBlob: The media is not in the store.
            MediaError: It cannot be decoded.
        """
        kind = media_type.partition("/")[0]
        kept = self._folder / sha256[:2] / f"{sha256}.{'png' if kind == 'audio' else 'jpg'}"
        made_type = "image/png" if kind == "audio" else "image/jpeg"
        if kept.is_file():
            return kept.read_bytes(), made_type
        with self._decoding, as_local_file(self._blobs, sha256) as file:
            made = draw_waveform(file) if kind == "audio" else thumbnail(file, SMALL_SIDE_PX)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, made)
        return made, made_type


@contextmanager
def as_local_file(blobs: BlobStore, sha256: str) -> Iterator[Path]:
    """Stored media as a local file; decoders seek, so what lies elsewhere is copied first.

    Raises:
        MissingBlob: The media is not in the store.
    """
    with blobs.open(sha256) as stream:
        local = Path(str(getattr(stream, "path", "")))
        if local.is_file():
            yield local
            return
        with tempfile.NamedTemporaryFile(prefix="interplay-") as copy:
            _copy(stream, copy)
            yield Path(copy.name)


def draw_waveform(file: Path) -> bytes:
    """A PNG of a sound's loudness over time, its loudest point filling the height."""
    spans = waveform(load_audio(file, sample_rate_hz=WAVE_RATE_HZ), WAVE_BINS)
    return _draw(spans / max(float(np.abs(spans).max()), 1e-6))


def _draw(spans: npt.NDArray[np.float32]) -> bytes:
    width_px, height_px = WAVE_SIZE_PX
    picture = Image.new("RGB", WAVE_SIZE_PX, _WAVE_GROUND)
    pen = ImageDraw.Draw(picture)
    step_px, middle_px, reach_px = width_px / len(spans), height_px / 2, height_px * 0.42
    for place, (low, high) in enumerate(spans):
        left_px = place * step_px
        top_px, bottom_px = middle_px - high * reach_px, middle_px - low * reach_px
        pen.rectangle(
            (left_px, min(top_px, middle_px - 1), left_px + step_px * 0.6, max(bottom_px, middle_px + 1)), _WAVE_COLOUR
        )
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while chunk := source.read(CHUNK_BYTES):
        target.write(chunk)
    target.flush()
