"""What simulated panel members make of received bytes: counts, labels and digits, by plain signal processing."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import find_objects, label

from core.content import Frozen, Modality
from core.media.audio import Samples, load_audio
from core.media.errors import UndecodableMedia
from core.media.image import load_image
from core.media.video import iter_frames
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.hearing import RATE_HZ, count_beeps
from evaluation.models.sim.printed import read_number

_LOOKS_HZ = 5.0
_SHORTER_SIDE_PX = 240
_SATURATED = 0.7
_BRIGHT = 0.75
_SMALLEST_RADIUS = 0.015
_ROUND_FILL = (0.6, 0.95)
_ROUND_ASPECT = 1.4
_WHITE = 205.0
_EVEN = 35.0
_SHORTEST_SHOT = 0.08


class Picture(Frozen):
    """What is seen in an image: bright dots, photos by their row in the gallery, and a number printed big.

    `photo` is the whole image; `tiles` are its quarters in reading order. None is a photo that is not known, and no
    number.
    """

    dots: int
    photo: int | None
    tiles: tuple[int | None, int | None, int | None, int | None]
    number: str | None


class Sound(Frozen):
    """What is heard: beeps, and digits in order (None for a sound that is neither)."""

    beeps: int
    digits: tuple[int | None, ...]


class Clip(Frozen):
    """What is seen and heard in a video: white flashes, dots, known photos and printed numbers in order.

    `sound` is set if it has a track.
    """

    flashes: int
    dots: int
    shots: tuple[int, ...]
    numbers: str
    sound: Sound | None


Percept = Picture | Sound | Clip


def perceive(modality: Modality, data: bytes, gallery: Gallery) -> Percept:
    """Decode media and say what is in it.

    Args:
        modality: How it was sent: image, audio or video.
        data: The file as received, in any format that Pillow (images) or FFmpeg (the rest) reads.
        gallery: What is known.

    Raises:
        MediaError: The bytes cannot be read as that modality.
    """
    match modality:
        case Modality.IMAGE:
            return see(load_image(data), gallery)
        case Modality.AUDIO:
            return hear(load_audio(data, RATE_HZ), gallery)
        case Modality.VIDEO:
            return watch((frame for _, frame in iter_frames(data, at_hz=_LOOKS_HZ)), _track(data), gallery)
        case Modality.TEXT:
            raise ValueError("text is read, not perceived")


def perceive_frames(frames: Sequence[bytes], gallery: Gallery) -> Clip:
    """What is in a video that came as picture files, one a frame.

    Raises:
        MediaError: One of them cannot be read.
    """
    return watch((np.asarray(load_image(frame)) for frame in frames), None, gallery)


def see(image: Image.Image, gallery: Gallery) -> Picture:
    """Count dots and recognise photos in an image."""
    half_width, half_height = image.width // 2, image.height // 2
    corners = ((0, 0), (half_width, 0), (0, half_height), (half_width, half_height))
    boxes = [(left, top, left + half_width, top + half_height) for left, top in corners]
    one, two, three, four = (gallery.recognise(image.crop(box)) for box in boxes)
    return Picture(
        dots=count_dots(np.asarray(image)),
        photo=gallery.recognise(image),
        tiles=(one, two, three, four),
        number=read_number(image) or None,
    )


def hear(recording: Samples, gallery: Gallery) -> Sound:
    """Count beeps and read digits in a mono recording at 16 kHz."""
    return Sound(beeps=count_beeps(recording), digits=gallery.listen(recording))


def watch(pictures: Iterable[NDArray[np.uint8]], recording: Samples | None, gallery: Gallery) -> Clip:
    """Follow a video frame by frame, and its sound track if there is one."""
    white: list[bool] = []
    dots: list[int] = []
    photos: list[int | None] = []
    printed: list[str | None] = []
    for pixels in pictures:
        small = Image.fromarray(pixels).reduce(max(1, min(pixels.shape[:2]) // _SHORTER_SIDE_PX))
        frame = np.asarray(small)
        white.append(bool(frame.mean() > _WHITE and frame.std() < _EVEN))
        dots.append(count_dots(frame))
        photos.append(gallery.recognise(small))
        printed.append(read_number(small))
    counts = np.bincount([count for count, flash in zip(dots, white, strict=True) if not flash] or [0])
    return Clip(
        flashes=sum(flash for flash, _ in groupby(white)),
        dots=int(counts.argmax()),
        shots=_shots(photos),
        # A frame that cannot be read neither parts two figures nor joins them; a blank parts them.
        numbers="".join(number for number, _ in groupby(number for number in printed if number is not None)),
        sound=None if recording is None else hear(recording, gallery),
    )


def count_dots(image: NDArray[np.uint8]) -> int:
    """How many bright, saturated, round spots an image (height, width, 3) holds."""
    red, green, blue = (image[..., channel].astype(np.float32) for channel in range(3))
    brightest = np.maximum(np.maximum(red, green), blue)
    saturation = (brightest - np.minimum(np.minimum(red, green), blue)) / np.maximum(brightest, 1)
    spots, _ = label((saturation > _SATURATED) & (brightest > 255 * _BRIGHT))
    sizes = np.bincount(spots.ravel())
    least = 2 * _SMALLEST_RADIUS * min(image.shape[:2])
    return sum(
        _is_round(box[0].stop - box[0].start, box[1].stop - box[1].start, int(size), least)
        for box, size in zip(find_objects(spots), sizes[1:], strict=True)
    )


def _track(video: bytes) -> Samples | None:
    try:
        return load_audio(video, RATE_HZ)
    except UndecodableMedia:
        return None


def _is_round(height: int, width: int, area: int, least: float) -> bool:
    low, high = _ROUND_FILL
    shapely = max(height, width) <= _ROUND_ASPECT * min(height, width) and low <= area / (height * width) <= high
    return shapely and min(height, width) >= least


def _shots(photos: list[int | None]) -> tuple[int, ...]:
    """Photos in the order shown; a blend between two shots is too short to count."""
    runs = [(photo, sum(1 for _ in run)) for photo, run in groupby(photos)]
    lasting = [photo for photo, length in runs if photo is not None and length >= _SHORTEST_SHOT * len(photos)]
    return tuple(photo for photo, _ in groupby(lasting))
