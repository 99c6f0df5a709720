"""What embedders are shown of materials."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from core.content import MediaRef, Modality
from core.grading import FailedOutcome, Failure, FailureKind
from core.media.image import load_image
from core.media.limits import MediaLimits
from core.media.video import iter_frames
from curation.embedding import Vectors

FRAMES_MAX = 16
SHORT_SIDE_PX = 448
"""Models look at 224 to 448 px; a batch of whole photos would not fit into memory."""
PIECE_CHARACTERS = 512
"""About what a sentence model reads at once (256 word pieces)."""
PIECES_MAX = 64


def pictures_of(ref: MediaRef, data: bytes, limits: MediaLimits) -> list[Image.Image]:
    """An image; of a video what is shown in the middle of each of its seconds, or of each of 16 equal parts.

    `limits` are the project's, as the file was taken under them.

    Raises:
        MediaError: It cannot be decoded.
    """
    if ref.modality == Modality.IMAGE:
        return [_small(load_image(data, limits))]
    count = min(FRAMES_MAX, max(1, round(ref.duration_s or 0)))
    return [_small(Image.fromarray(pixels)) for _, pixels in iter_frames(data, count=count, limits=limits)]


def pieces_of(text: str) -> list[str]:
    """A text in pieces that a model reads whole, cut at white space where there is any; long texts end after 64."""
    rest = " ".join(text.split())
    pieces: list[str] = []
    while rest and len(pieces) < PIECES_MAX:
        cut = len(rest) if len(rest) <= PIECE_CHARACTERS else rest.rfind(" ", 1, PIECE_CHARACTERS + 1)
        cut = cut if cut > 0 else PIECE_CHARACTERS
        pieces.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return pieces


def mean_directions(vectors: Vectors, counts: Sequence[int]) -> list[Vectors]:
    """Of vectors that follow one another, so many for each material, the mean of each material's, at length 1.

    Args:
        vectors: Shape (sum of counts, d).
        counts: How many belong to each.

    Raises:
        FailedOutcome: A mean has no direction, or a number in it is none.
    """
    ends = np.cumsum(counts)
    means = [vectors[end - count : end].mean(axis=0) for end, count in zip(ends, counts, strict=True)]
    lengths = [float(np.linalg.norm(mean)) for mean in means]
    if not all(np.isfinite(length) and length > np.finfo(np.float32).eps for length in lengths):
        message = "the model gives vectors that are no numbers, or cancel out; try another model"
        raise FailedOutcome(Failure(kind=FailureKind.BAD_INPUT, message=message))
    return [(mean / length).astype(np.float32) for mean, length in zip(means, lengths, strict=True)]


def _small(image: Image.Image) -> Image.Image:
    factor = SHORT_SIDE_PX / min(image.size)
    if factor >= 1:
        return image
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.BICUBIC, reducing_gap=3.0)
