"""Small pictures of media for lists and editors."""

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.media.audio import Samples
from core.media.errors import UndecodableMedia
from core.media.formats import recognise
from core.media.image import load_image
from core.media.limits import DEFAULT_LIMITS, MediaLimits
from core.media.source import Source, open_source, source_name
from core.media.video import iter_frames

THUMBNAIL_QUALITY = 80


def thumbnail(source: Source, max_side_px: int = 320, limits: MediaLimits = DEFAULT_LIMITS) -> bytes:
    """A JPEG of a picture, or of the middle of a video, upright and at most `max_side_px` wide and high.

    Raises:
        As `load_image` and `iter_frames`.
    """
    name = source_name(source)
    with open_source(source, limits) as file:
        is_image = recognise(file, name).is_image
    if is_image:
        picture = load_image(source, limits)
    else:
        middle = next(iter_frames(source, count=1, limits=limits), None)
        if middle is None:
            raise UndecodableMedia(f"{name}: its picture track holds no picture")
        picture = Image.fromarray(middle[1])
    picture.thumbnail((max_side_px, max_side_px))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=THUMBNAIL_QUALITY)
    return buffer.getvalue()


def waveform(audio: Samples, bins: int) -> npt.NDArray[np.float32]:
    """The lowest and the highest sample in each of `bins` equal stretches.

    Args:
        audio: Shape (samples,) or (channels, samples); channels are taken together.
        bins: How many stretches; with fewer samples than bins, neighbours repeat.

    Returns:
        Shape (bins, 2): minimum and maximum.

    Raises:
        ValueError: There are no samples, or no bins.
    """
    rows = np.atleast_2d(audio)
    count = rows.shape[1]
    if count == 0 or bins < 1:
        raise ValueError(f"a waveform needs samples and bins, not {count} samples and {bins} bins")
    edges = np.linspace(0, count, bins + 1)
    starts = np.floor(edges[:-1]).astype(int)
    ends = np.maximum(np.ceil(edges[1:]).astype(int), starts + 1)
    spans = [rows[:, start:end] for start, end in zip(starts, ends, strict=True)]
    return np.array([(span.min(), span.max()) for span in spans], dtype=np.float32)
