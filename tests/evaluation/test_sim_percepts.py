import io
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from core.content import Modality
from core.media.audio import load_audio
from core.media.errors import MediaError
from core.media.image import load_image
from core.media.video import iter_frames
from evaluation.models.sim import stimuli
from evaluation.models.sim.gallery import BadGallery, Gallery, square
from evaluation.models.sim.hearing import RATE_HZ, NotOneWord
from evaluation.models.sim.percepts import perceive
from interplay.demo_media import collect, digits, gallery, photos


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("media"))


@pytest.fixture(scope="module")
def known(media):
    return gallery(media)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def as_jpeg(data, *, quality=85, side_px=None):
    image = load_image(data)
    if side_px:
        image = image.resize((side_px, side_px))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def as_sound_file(samples, container, codec, bit_rate=None):
    out = io.BytesIO()
    with av.open(out, "w", format=container) as file:
        stream = file.add_stream(codec, rate=RATE_HZ, layout="mono")
        if bit_rate:
            stream.bit_rate = bit_rate
        frame = av.AudioFrame.from_ndarray((samples * 32767).astype(np.int16)[None], format="s16", layout="mono")
        frame.sample_rate = RATE_HZ
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


def as_webm(video, side_px):
    """Another codec, another size: what a server that resizes and transcodes would see."""
    out = io.BytesIO()
    with av.open(out, "w", format="webm") as file:
        stream = file.add_stream("libvpx", rate=stimuli.FRAME_RATE, options={"crf": "30", "deadline": "realtime"})
        stream.width, stream.height, stream.pix_fmt = side_px, side_px * 3 // 4, "yuv420p"
        for place, (_, pixels) in enumerate(iter_frames(video)):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(side_px, side_px * 3 // 4, "yuv420p")
            frame.pts, frame.time_base = place, Fraction(1, stimuli.FRAME_RATE)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return out.getvalue()


SOUND_FILES = {
    "wav": stimuli.wav,
    "flac": lambda samples: as_sound_file(samples, "flac", "flac"),
    "m4a": lambda samples: as_sound_file(samples, "ipod", "aac"),
    "mp3": lambda samples: as_sound_file(samples, "mp3", "libmp3lame", 32_000),
}
PICTURE_FILES = {
    "as it is": lambda data: data,
    "jpeg 85": as_jpeg,
    "smaller": lambda data: as_jpeg(data, side_px=200),
    "larger": lambda data: as_jpeg(data, side_px=500),
}


@pytest.mark.parametrize("form", SOUND_FILES)
def test_every_digit_is_understood(form, media, known, rng):
    for digit, recording in digits(media).items():
        data = SOUND_FILES[form](stimuli.spoken([recording], rng))
        assert perceive(Modality.AUDIO, data, known).digits == (digit,)


@pytest.mark.parametrize("form", SOUND_FILES)
def test_digits_are_understood_in_order(form, media, known, rng):
    said = (3, 1, 4, 1, 5, 9, 2, 6, 0, 8, 7)
    heard = perceive(
        Modality.AUDIO, SOUND_FILES[form](stimuli.spoken([digits(media)[digit] for digit in said], rng)), known
    )
    assert (heard.digits, heard.beeps) == (said, 0)


@pytest.mark.parametrize("form", SOUND_FILES)
def test_beeps_are_counted_and_are_no_digits(form, known, rng):
    for count in range(9):
        heard = perceive(Modality.AUDIO, SOUND_FILES[form](stimuli.beeps(count, rng)), known)
        assert (heard.beeps, heard.digits) == (count, ())


def test_beeps_and_digits_in_one_recording_are_told_apart(media, known, rng):
    mixed = np.concatenate([stimuli.beeps(2, rng), stimuli.spoken([digits(media)[7]], rng)])
    heard = perceive(Modality.AUDIO, stimuli.wav(mixed), known)
    assert (heard.beeps, heard.digits) == (2, (7,))


def test_other_sounds_are_no_digits(media, known):
    chimes = [medium for medium in media if medium.name.startswith("chime")]
    assert len(chimes) == 4
    for chime in chimes:
        assert set(perceive(Modality.AUDIO, chime.path.read_bytes(), known).digits) <= {None}


@pytest.mark.parametrize("form", PICTURE_FILES)
def test_dots_are_counted_on_grey_and_on_every_photo(form, media, known, rng):
    backgrounds = [None, *(photo.path for photo in photos(media))]
    for count, background in enumerate(backgrounds):
        data = PICTURE_FILES[form](stimuli.dots_picture(count % 10, rng, background))
        assert perceive(Modality.IMAGE, data, known).dots == count % 10


def test_more_dots_than_fit_are_refused(rng):
    with pytest.raises(stimuli.TooManyDots, match="at most 9"):
        stimuli.dots_picture(10, rng)


@pytest.mark.parametrize("form", PICTURE_FILES)
def test_the_photos_of_a_grid_are_recognised_in_reading_order(form, media, known, rng):
    shown = photos(media)
    for _ in range(5):
        rows = tuple(int(row) for row in rng.permutation(len(shown))[:4])
        seen = perceive(
            Modality.IMAGE, PICTURE_FILES[form](stimuli.grid_picture([shown[row].path for row in rows])), known
        )
        assert (seen.tiles, seen.photo) == (rows, None)


@pytest.mark.parametrize("form", PICTURE_FILES)
def test_a_single_photo_is_recognised(form, media, known):
    for row, photo in enumerate(photos(media)):
        out = io.BytesIO()
        square(load_image(photo.path)).save(out, "BMP")
        assert perceive(Modality.IMAGE, PICTURE_FILES[form](out.getvalue()), known).photo == row


def test_an_even_surface_is_no_known_photo(known):
    out = io.BytesIO()
    Image.new("RGB", (100, 100), (40, 90, 200)).save(out, "PNG")
    seen = perceive(Modality.IMAGE, out.getvalue(), known)
    assert (seen.photo, seen.tiles, seen.dots) == (None, (None,) * 4, 0)


NUMBERS = ["0", "1", "11", "47", "100", "236", "589", "0815", "2468", "8888", "1171"]


@pytest.mark.parametrize("form", [*PICTURE_FILES, "half, jpeg 30"])
def test_printed_numbers_are_read(form, known, rng):
    files = PICTURE_FILES | {"half, jpeg 30": lambda data: as_jpeg(data, quality=30, side_px=stimuli.SIZE_PX // 2)}
    for number in [*NUMBERS, *NUMBERS[:3]]:
        seen = perceive(Modality.IMAGE, files[form](stimuli.number_picture(number, rng)), known)
        assert (seen.number, seen.dots, seen.photo, seen.tiles) == (number, 0, None, (None,) * 4)


def test_printed_numbers_come_dark_on_light_and_light_on_dark(rng):
    grounds = {load_image(stimuli.number_picture("7", rng)).getpixel((2, 2))[0] > 128 for _ in range(20)}
    assert grounds == {False, True}


@pytest.mark.parametrize("number", ["", "12345", "1a", "-1", "一"])
def test_what_is_no_short_number_is_not_printed(number, rng):
    with pytest.raises(stimuli.UnprintableNumber):
        stimuli.number_picture(number, rng)


def test_other_pictures_carry_no_number(media, known, rng):
    shown = photos(media)
    pictures = [photo.path.read_bytes() for photo in shown]
    pictures += [stimuli.dots_picture(count, rng, [None, shown[count].path][count % 2]) for count in range(10)]
    pictures += [stimuli.grid_picture([photo.path for photo in shown[start : start + 4]]) for start in range(3)]
    assert {perceive(Modality.IMAGE, picture, known).number for picture in pictures} == {None}


@pytest.mark.parametrize("text", ["7A", "x", "12:34", "(4)", "3.5", "10%"])
def test_other_writing_is_no_number(text, known):
    image = Image.new("RGB", (320, 320), (190, 190, 190))
    ImageDraw.Draw(image).text((40, 100), text, fill="black", font=ImageFont.load_default(size=100), stroke_width=3)
    out = io.BytesIO()
    image.save(out, "PNG")
    assert perceive(Modality.IMAGE, out.getvalue(), known).number is None


@pytest.mark.parametrize("transcoded", [False, True])
@pytest.mark.parametrize("shown", ["7", "1123", "990045", "8680"])
def test_figures_that_follow_each_other_are_read(transcoded, shown, known, rng):
    data = stimuli.numbers_video(shown, rng)
    seen = perceive(Modality.VIDEO, as_webm(data, 160) if transcoded else data, known)
    assert (seen.numbers, seen.flashes, seen.dots, seen.shots, seen.sound) == (shown, 0, 0, (), None)


def test_a_video_of_figures_can_have_a_sound_track(media, known, rng):
    data = stimuli.numbers_video("31", rng, stimuli.spoken([digits(media)[4]], rng))
    seen = perceive(Modality.VIDEO, data, known)
    assert (seen.numbers, seen.sound.digits) == ("31", (4,))


def test_other_videos_show_no_figures(media, known, rng):
    shown = [photo.path for photo in photos(media)[:4]]
    rabbit = next(medium for medium in media if medium.name == "bigbuckbunny")
    films = [stimuli.flashes_video(3, rng), stimuli.photos_video(shown), rabbit.path.read_bytes()]
    assert {perceive(Modality.VIDEO, film, known).numbers for film in films} == {""}


@pytest.mark.parametrize("transcoded", [False, True])
def test_flashes_are_counted(transcoded, media, known, rng):
    for count in (0, 1, 4) if transcoded else range(5):
        data = stimuli.flashes_video(count, rng, photos(media)[count].path)
        seen = perceive(Modality.VIDEO, as_webm(data, 160) if transcoded else data, known)
        assert (seen.flashes, seen.dots, seen.sound) == (count, 0, None)


@pytest.mark.parametrize("transcoded", [False, True])
def test_photos_that_follow_each_other_are_recognised_in_order(transcoded, media, known, rng):
    shown = photos(media)
    rows = tuple(int(row) for row in rng.permutation(len(shown))[:4])
    data = stimuli.photos_video([shown[row].path for row in rows])
    assert perceive(Modality.VIDEO, as_webm(data, 160) if transcoded else data, known).shots == rows


def test_dots_in_a_video_are_counted(known, rng):
    picture = np.asarray(load_image(stimuli.dots_picture(6, rng)))
    assert perceive(Modality.VIDEO, stimuli.mp4([picture] * 10), known).dots == 6


def test_the_sound_track_of_a_video_is_heard(media, known, rng):
    track = stimuli.spoken([digits(media)[digit] for digit in (8, 2)], rng)
    seen = perceive(Modality.VIDEO, stimuli.flashes_video(3, rng, sound=track), known)
    assert (seen.flashes, seen.sound.digits) == (3, (8, 2))


def test_a_real_film_has_no_flashes_and_no_digits(media, known):
    rabbit = next(medium for medium in media if medium.name == "bigbuckbunny")
    seen = perceive(Modality.VIDEO, rabbit.path.read_bytes(), known)
    assert (seen.flashes, seen.shots) == (0, ())
    assert seen.sound is not None
    assert set(seen.sound.digits) <= {None}


def test_the_same_arguments_make_the_same_bytes(media):
    def made():
        rng = np.random.default_rng(5)
        track = stimuli.spoken([digits(media)[4]], rng)
        paths = [photo.path for photo in photos(media)[:4]]
        return [
            stimuli.dots_picture(5, rng, paths[0]),
            stimuli.grid_picture(paths),
            stimuli.wav(track),
            stimuli.number_picture("42", rng),
            stimuli.flashes_video(2, rng, paths[1], track),
            stimuli.numbers_video("42", rng),
            *(stimuli.photos_video(paths) for _ in range(4)),
        ]

    first = made()
    assert first == made()
    assert len(set(first[-4:])) == 1


def test_what_is_no_such_media_is_an_error(known):
    with pytest.raises(MediaError):
        perceive(Modality.IMAGE, b"no picture at all", known)


def test_a_gallery_is_the_same_after_saving_and_loading(known, tmp_path):
    known.save(tmp_path / "gallery.npz")
    loaded = Gallery.load(tmp_path / "gallery.npz")
    assert (loaded.labels_en, loaded.labels_zh) == (known.labels_en, known.labels_zh)
    assert loaded.labels("zh")[2] == "猫"
    for name in ("photos", "digits", "voices"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(known, name))


def test_a_gallery_that_is_missing_or_something_else_is_named(tmp_path):
    with pytest.raises(BadGallery, match=r"there is no gallery .*interplay demo"):
        Gallery.load(tmp_path / "gallery.npz")
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(BadGallery, match=r"is no gallery of a simulated member; .*interplay demo"):
        Gallery.load(tmp_path / "text.npz")
    np.savez(tmp_path / "pickled.npz", labels_en=np.array([{}], dtype=object))
    with pytest.raises(BadGallery, match=r"is no gallery of a simulated member; .*interplay demo"):
        Gallery.load(tmp_path / "pickled.npz")


def test_a_reference_that_is_two_words_is_refused(media, tmp_path, rng):
    (tmp_path / "two.wav").write_bytes(stimuli.wav(stimuli.spoken([digits(media)[1]] * 2, rng)))
    with pytest.raises(NotOneWord, match="2 stretches"):
        Gallery.build(photos(media), {1: tmp_path / "two.wav"})


def test_recordings_hold_the_silence_that_separates_words(media, rng):
    sound = load_audio(stimuli.wav(stimuli.spoken([digits(media)[3]], rng)), RATE_HZ)
    assert np.abs(sound[: RATE_HZ // 5]).max() < 0.01
    assert np.abs(sound).max() > 0.1
