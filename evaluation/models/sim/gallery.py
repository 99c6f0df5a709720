"""What simulated panel members know by sight and by ear: labelled photos and spoken digits."""

import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.content import Frozen
from core.errors import InterplayError
from core.media.audio import Samples, load_audio
from core.media.image import load_image
from evaluation.models.sim.hearing import RATE_HZ, references, spoken_digits

_THUMBNAIL_PX = 16
# Photos in a grid carry a number in their corner, so the rim of a photo does not count.
_RIM = 0.15
_LEAST_LIKENESS = 0.8
_MEND = "'interplay demo' writes one, demo-project/gallery.npz"


class BadGallery(InterplayError):
    """A gallery file that is missing or is no gallery."""


class LabelledPhoto(Frozen):
    """A photo file and what it shows, in English and Chinese."""

    path: Path
    label_en: str
    label_zh: str


@dataclass(frozen=True)
class Gallery:
    """Labelled references, found again by nearest neighbour.

    Attributes:
        labels_en: Photo labels in English, one for each row of `photos`.
        labels_zh: The same in Chinese.
        photos: Shape (p, d), thumbnails of mean 0 and length 1.
        digits: Shape (n,), one for each row of `voices`.
        voices: Shape (n, d), fingerprints of spoken digits; several rows for each digit.
    """

    labels_en: tuple[str, ...]
    labels_zh: tuple[str, ...]
    photos: NDArray[np.float32]
    digits: NDArray[np.int64]
    voices: NDArray[np.float32]

    @classmethod
    def build(cls, photos: Iterable[LabelledPhoto], digits: Mapping[int, Path]) -> Self:
        """Look at each photo and listen to each digit once.

        Args:
            photos: Photos to know; there may be none.
            digits: Digit to a recording of that one word.

        Raises:
            NotOneWord: A digit's recording is not one word between silences.
        """
        known = list(photos)
        voices = {digit: references(load_audio(path, RATE_HZ)) for digit, path in sorted(digits.items())}
        return cls(
            labels_en=tuple(photo.label_en for photo in known),
            labels_zh=tuple(photo.label_zh for photo in known),
            photos=np.array([thumbnail(load_image(photo.path)) for photo in known], np.float32).reshape(
                -1, 3 * _THUMBNAIL_PX**2
            ),
            digits=np.repeat(np.array(list(voices), np.int64), [len(rows) for rows in voices.values()]),
            voices=np.concatenate(list(voices.values())),
        )

    def save(self, file: Path) -> None:
        """Write one `.npz` file of plain arrays."""
        with file.open("wb") as out:
            np.savez(
                out,
                labels_en=np.array(self.labels_en, np.str_),
                labels_zh=np.array(self.labels_zh, np.str_),
                photos=self.photos,
                digits=self.digits,
                voices=self.voices,
            )

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read what `save` wrote.

        Raises:
            BadGallery: The file is not there or is no gallery.
        """
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return cls(
                    labels_en=tuple(arrays["labels_en"].tolist()),
                    labels_zh=tuple(arrays["labels_zh"].tolist()),
                    photos=arrays["photos"],
                    digits=arrays["digits"],
                    voices=arrays["voices"],
                )
        except FileNotFoundError as error:
            raise BadGallery(f"there is no gallery {file}; {_MEND}") from error
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise BadGallery(f"{file} is no gallery of a simulated member; {_MEND}") from error

    def labels(self, language: str) -> tuple[str, ...]:
        """All photo labels in that language."""
        return self.labels_zh if language == "zh" else self.labels_en

    def recognise(self, photo: Image.Image) -> int | None:
        """The row of the photo that this is, or None if it is like none of them."""
        if not len(self.photos):
            return None
        likeness = self.photos @ thumbnail(photo)
        best = int(likeness.argmax())
        return best if likeness[best] >= _LEAST_LIKENESS else None

    def listen(self, recording: Samples) -> tuple[int | None, ...]:
        """The spoken digits of a recording, in order; None for a sound that is like no digit."""
        return spoken_digits(recording, self.digits, self.voices)


def square(photo: Image.Image) -> Image.Image:
    """The middle square of a photo."""
    side = min(photo.size)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    return photo.crop((left, top, left + side, top + side))


def thumbnail(photo: Image.Image) -> NDArray[np.float32]:
    """The inner part of the middle square, small, as a vector of mean 0 and length 1 (0 for an even surface)."""
    middle = square(photo.convert("RGB"))
    rim = round(_RIM * middle.width)
    inner = middle.crop((rim, rim, middle.width - rim, middle.height - rim))
    small = np.asarray(inner.resize((_THUMBNAIL_PX, _THUMBNAIL_PX), Image.Resampling.BOX), np.float32).ravel()
    vector = small - small.mean()
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1 else np.zeros_like(vector)
