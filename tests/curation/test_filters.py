from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageFilter

from core.content import Modality
from curation.filters.catalogue import filters, judge
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.filters.verdict import CLASS_OF_REASON, DropReason
from curation.filters.views import Film, Picture, Sound, see, watch


def picture(luma: np.ndarray, size: tuple[int, int] = (320, 240)) -> Picture:
    return Picture(*size, luma.astype(np.float32))


def sound(samples: np.ndarray, rate_hz: int = 48000) -> Sound:
    rows = np.atleast_2d(samples).astype(np.float32)
    return Sound(rows.shape[1] / rate_hz, rate_hz, rows)


def sine(frequency_hz: float, duration_s: float, rate_hz: int = 48000) -> np.ndarray:
    return np.sin(2 * np.pi * frequency_hz * np.arange(round(duration_s * rate_hz)) / rate_hz)


def reason(view: object, modality: Modality) -> str | None:
    drop = judge(view, modality, DEFAULT_THRESHOLDS).drop
    return drop.reason if drop else None


def measure(view: object, modality: Modality, name: str, key: str) -> float:
    return judge(view, modality, DEFAULT_THRESHOLDS).measures[f"{name}@1"][key]


@pytest.mark.parametrize("entry", list(filters()), ids=lambda entry: entry.name)
def test_every_filter_loads_and_names_the_modality_it_judges(entry):
    assert callable(entry.load())
    assert entry.name.split("-")[0] in set(Modality)


def test_every_reason_belongs_to_one_of_the_papers_classes():
    assert set(CLASS_OF_REASON) == set(DropReason)
    assert {str(one) for one in CLASS_OF_REASON.values()} == {"low_quality", "meaningless", "illogical"}


def test_laplacian_variance_is_that_of_the_definition():
    # Every column but the outer two has one neighbour that differs by 255: +255 or -255, of mean 0.
    stripes = np.tile([0, 0, 255, 255], (64, 16))
    found = measure(picture(stripes), Modality.IMAGE, "image-blur", "laplacian_variance")
    assert found == pytest.approx(255**2 * 62 / 64)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((64, 64), None), ((63, 400), "too_small"), ((800, 100), None), ((808, 100), "bad_aspect")],
)
def test_size_and_aspect_are_judged_at_their_limits(size, expected, media):
    luma = np.asarray(media.photo(1).convert("L"))
    assert reason(picture(luma, size), Modality.IMAGE) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda media: media.photo(3), None),
        (lambda media: media.dots(1), None),
        (lambda media: media.photo(3).filter(ImageFilter.GaussianBlur(2)), None),
        (lambda media: media.photo(3).filter(ImageFilter.GaussianBlur(25)), "blurred"),
        (lambda media: Image.new("RGB", (320, 240), "white"), "near_uniform"),
        (lambda media: media.photo(3).point(lambda value: value // 12), "bad_exposure"),
        (lambda media: media.photo(3).point(lambda value: 245 + value // 26), "bad_exposure"),
        (lambda media: Image.linear_gradient("L"), "blurred"),
    ],
    ids=["photo", "one dot", "soft", "blurred", "white", "dark", "bright", "gradient"],
)
def test_pictures_are_kept_unless_nothing_can_be_seen_in_them(make, expected, media):
    assert reason(see(make(media)), Modality.IMAGE) == expected


def test_loudness_is_that_of_the_standard():
    # ITU-R BS.1770-4: a 997 Hz sine at full scale in one channel is at -3.01 LUFS.
    found = measure(sound(sine(997, 3.0)), Modality.AUDIO, "audio-loudness", "loudness_lufs")
    assert found == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize("rate_hz", [8000, 44100])
def test_a_sound_shorter_than_a_loudness_block_has_the_loudness_of_a_longer_one(rate_hz):
    short, long = (sound(0.5 * sine(1000, s, rate_hz), rate_hz) for s in (0.05, 2.0))
    levels = [measure(one, Modality.AUDIO, "audio-loudness", "loudness_lufs") for one in (short, long)]
    assert levels[0] == pytest.approx(levels[1], abs=0.2)


def test_clipped_share_is_that_of_a_clipped_sine():
    # A sine of amplitude 2 is beyond 1 for two thirds of its period.
    clipped = sound(np.clip(2 * sine(100, 1.0), -1, 1))
    assert measure(clipped, Modality.AUDIO, "audio-clipping", "clipped_share") == pytest.approx(2 / 3, abs=0.01)
    assert reason(clipped, Modality.AUDIO) == "clipped"


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (np.zeros(48000), "silent"),
        (1e-5 * sine(440, 1.0), "silent"),
        (3e-3 * sine(1000, 1.0), None),
        (3e-3 * sine(30, 1.0), "too_quiet"),
        (0.4 * sine(880, 0.1), None),
        (0.4 * sine(880, 0.03), "too_short"),
        (np.sign(sine(440, 0.5) + 1e-9), None),
        (np.concatenate([0.4 * sine(880, 0.1), np.zeros(9 * 48000)]), None),
        (np.concatenate([0.4 * sine(880, 0.02), np.zeros(9 * 48000)]), "silent"),
        (np.stack([0.2 * sine(300, 1.0)] * 6), None),
    ],
    ids=[
        "zeros",
        "below hearing",
        "quiet",
        "infrasound",
        "beep",
        "tick",
        "square wave",
        "beep in silence",
        "click",
        "six channels",
    ],
)
def test_sounds_are_kept_unless_nothing_can_be_heard_in_them(samples, expected):
    assert reason(sound(samples), Modality.AUDIO) == expected


def test_thresholds_can_be_set():
    strict = replace(DEFAULT_THRESHOLDS, audio_loudness_min_lufs=-20.0)
    assert judge(sound(0.02 * sine(1000, 1.0)), Modality.AUDIO, strict).drop.reason == "too_quiet"


def film(frames: list[Image.Image]) -> Film:
    return watch((frame.convert("L") for frame in frames), len(frames) / 4)


def test_films_are_kept_when_something_moves_in_the_light(media):
    scene = media.photo(1)
    moved = scene.copy()
    moved.paste((255, 255, 0), (10, 10, 16, 16))
    night = Image.new("RGB", (320, 240))
    assert reason(film([scene, moved, scene, scene]), Modality.VIDEO) is None
    assert reason(film([scene] * 8), Modality.VIDEO) == "frozen"
    assert reason(film([night] * 8), Modality.VIDEO) == "black"
    assert reason(film([scene]), Modality.VIDEO) == "too_short"


def test_the_most_telling_reason_is_shown_and_all_are_kept():
    judgement = judge(see(Image.new("RGB", (16, 16))), Modality.IMAGE, DEFAULT_THRESHOLDS)
    assert judgement.drop.reason == "near_uniform"
    reasons = {facts["drop"] for facts in judgement.measures.values() if isinstance(facts, dict) and "drop" in facts}
    assert reasons == {"near_uniform", "too_small", "blurred", "bad_exposure"}
    assert judgement.measures["thresholds"] == DEFAULT_THRESHOLDS.version
