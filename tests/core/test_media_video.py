import hashlib
import io

import av
import numpy as np
import pytest

from core.content import Modality
from core.media.audio import load_audio
from core.media.errors import DisguisedMedia, MediaError, UndecodableMedia
from core.media.preview import thumbnail, waveform
from core.media.probe import probe
from core.media.video import demux, iter_frames

FILMS = [
    ("mp4", "libx264", "aac"),
    ("mp4", "libx265", "libmp3lame"),
    ("mp4", "libsvtav1", "aac"),
    ("mov", "libx264", "pcm_s16le"),
    ("mov", "libx264", "pcm_s24be"),
    ("mov", "libx264", "alac"),
    ("webm", "libvpx-vp9", "libopus"),
    ("matroska", "libx264", "flac"),
    ("matroska", "libx264", "ac3"),
    ("avi", "mpeg4", "libmp3lame"),
    ("avi", "libx264", "pcm_s16le"),
]
EXACT = [film for film in FILMS if film[2] in ("pcm_s16le", "pcm_s24be", "alac", "flac")]
SOUND_TYPES = {
    "aac": "audio/mp4",
    "alac": "audio/mp4",
    "libmp3lame": "audio/mpeg",
    "libopus": "audio/ogg",
    "flac": "audio/flac",
    "pcm_s16le": "audio/wav",
    "pcm_s24be": "audio/wav",
    "ac3": "audio/wav",
}
TAGS = {"title": "secret", "location": "+39.9000-116.4000/", "make": "Snooper", "comment": "secret"}


def frame_hashes(data: bytes) -> list[str]:
    with av.open(io.BytesIO(data)) as container:
        return [
            hashlib.sha256(frame.to_ndarray(format="rgb24").tobytes()).hexdigest()
            for frame in container.decode(video=0)
        ]


def frame_times(data: bytes) -> list[float]:
    with av.open(io.BytesIO(data)) as container:
        return [frame.time for frame in container.decode(video=0)]


@pytest.mark.parametrize("film", FILMS, ids="-".join)
def test_demuxing_keeps_every_frame_and_nothing_else(make_film, film):
    data = make_film(*film, tags=TAGS)
    muted = demux(data).muted_video
    assert frame_hashes(muted) == frame_hashes(data)
    with av.open(io.BytesIO(muted)) as container:
        assert [stream.type for stream in container.streams] == ["video"]
    found, before = probe(muted), probe(data)
    assert (found.modality, found.has_audio, found.has_metadata) == (Modality.VIDEO, False, False)
    assert (found.media_type, found.frame_rate_hz) == (before.media_type, before.frame_rate_hz)
    for secret in (b"secret", b"+39.9", b"Snooper"):
        assert secret not in muted


@pytest.mark.parametrize("film", FILMS, ids="-".join)
def test_demuxed_sound_is_a_plain_sound_file(make_film, film):
    audio = demux(make_film(*film, tags=TAGS)).audio
    found = probe(audio)
    assert (found.modality, found.media_type) == (Modality.AUDIO, SOUND_TYPES[film[2]])
    assert not found.has_metadata
    assert found.duration_s == pytest.approx(1.0, abs=0.06)
    assert (found.sample_rate_hz, found.channel_count) == (48000, 1)


@pytest.mark.parametrize("film", EXACT, ids="-".join)
def test_demuxed_lossless_sound_is_the_same_sample_for_sample(make_film, make_tone, film):
    audio = demux(make_film(*film)).audio
    assert np.array_equal(load_audio(audio, sample_rate_hz=None), make_tone(1.0).astype(np.float32) / 32768)


@pytest.mark.parametrize("film", [f for f in FILMS if f not in EXACT and f[2] != "libopus"], ids="-".join)
def test_demuxed_lossy_sound_decodes_to_the_same_samples_at_the_same_time(make_film, film):
    data = make_film(*film)
    parts = demux(data)
    # MP3 cannot leave out what its encoder put in front of the sound, so its file begins that much before the picture.
    lead = round(-parts.offset_s * 48000)
    assert lead == (1105 if film[2] == "libmp3lame" and film[0] == "mp4" else 0)
    after, before = load_audio(parts.audio, sample_rate_hz=None), load_audio(data, sample_rate_hz=None)
    assert np.array_equal(after[lead:], before)


def test_demuxed_opus_may_keep_the_padding_of_its_last_packet(make_film):
    data = make_film("webm", "libvpx-vp9", "libopus")
    before, after = load_audio(data, sample_rate_hz=None), load_audio(demux(data).audio, sample_rate_hz=None)
    assert 0 <= len(after) - len(before) <= 0.02 * 48000
    assert np.abs(after[: len(before)] - before).max() < 1e-3


@pytest.mark.parametrize("film", FILMS, ids="-".join)
def test_demuxing_is_deterministic(make_film, film):
    data = make_film(*film)
    assert demux(data) == demux(data)


# AVI has no clock on which sound could begin later.
@pytest.mark.parametrize("film", [f for f in EXACT if f[0] != "avi"], ids="-".join)
@pytest.mark.parametrize("delay_s", [0.0, 0.25, 0.5])
def test_offset_is_when_the_sound_begins(make_film, film, delay_s):
    parts = demux(make_film(*film, sound_delay_s=delay_s))
    assert parts.offset_s == pytest.approx(delay_s, abs=1e-3)
    with av.open(io.BytesIO(parts.audio)) as container:
        assert next(container.decode(audio=0)).time == pytest.approx(0.0, abs=1e-3)
    assert frame_times(parts.muted_video)[0] == 0.0


def test_film_that_begins_late_begins_at_zero_and_tells_so(make_film):
    late = _with_video_moved(make_film("matroska", "libx264", "flac"), by_ms=300)
    parts = demux(late)
    assert parts.offset_s == pytest.approx(-0.3, abs=1e-3)
    assert frame_times(parts.muted_video)[:3] == pytest.approx([0.0, 0.1, 0.2], abs=1e-3)


def test_silent_film_is_muted_video_alone(make_film):
    parts = demux(make_film("mp4", "libx264", None))
    assert (parts.audio, parts.offset_s) == (None, 0.0)


@pytest.mark.parametrize("muxer", ["mp4", "mov", "matroska"])
@pytest.mark.parametrize("rotation", [(90, False), (180, False), (270, True), (0, True)])
def test_rotation_outlives_demuxing(make_film, muxer, rotation):
    data = make_film(muxer, "libx264", "aac", rotation=rotation)
    before, after = probe(data), probe(demux(data).muted_video)
    assert (after.rotation_degrees, after.width_px) == (before.rotation_degrees, before.width_px)
    shown = [next(iter_frames(film))[1] for film in (data, demux(data).muted_video)]
    assert np.array_equal(*shown)


def test_demuxing_wants_a_film(make_film, make_picture):
    with pytest.raises(UndecodableMedia, match="no picture"):
        demux(make_film("mp4", None, "aac"))
    with pytest.raises(DisguisedMedia):
        demux(make_picture())


@pytest.mark.parametrize("film", [f for f in FILMS if f[0] != "avi"], ids="-".join)
def test_every_frame_with_its_time(make_film, film):
    shots = list(iter_frames(make_film(*film)))
    assert [time_s for time_s, _ in shots] == pytest.approx([place / 10 for place in range(10)], abs=1e-3)
    assert {pixels.shape for _, pixels in shots} == {(48, 64, 3)}
    assert {pixels.dtype for _, pixels in shots} == {np.dtype(np.uint8)}
    # Frame i is grey of level 20 + 4 i.
    assert [int(pixels[40, 50].mean()) for _, pixels in shots] == pytest.approx([20 + 4 * i for i in range(10)], abs=3)


def test_frames_at_a_rate_are_what_is_shown_then(make_film):
    data = make_film("mp4", "libx264", None)
    every = [pixels for _, pixels in iter_frames(data)]
    for at_hz, places in ((5, [0, 2, 4, 6, 8]), (20, [i // 2 for i in range(20)]), (4, [0, 2, 5, 7]), (0.5, [0])):
        shots = list(iter_frames(data, at_hz=at_hz))
        assert [time_s for time_s, _ in shots] == [i / at_hz for i in range(len(places))]
        assert all(np.array_equal(pixels, every[place]) for (_, pixels), place in zip(shots, places, strict=True))


def test_so_many_frames_are_spread_evenly(make_film):
    data = make_film("mp4", "libx264", None)
    every = [pixels for _, pixels in iter_frames(data)]
    for count, places in ((1, [5]), (2, [2, 7]), (5, [1, 3, 5, 7, 9]), (20, [i // 2 for i in range(20)])):
        shots = list(iter_frames(data, count=count))
        assert [time_s for time_s, _ in shots] == pytest.approx([(i + 0.5) / count for i in range(count)])
        assert all(np.array_equal(pixels, every[place]) for (_, pixels), place in zip(shots, places, strict=True))


@pytest.mark.parametrize("film", [("mp4", "libx264"), ("webm", "libvpx-vp9"), ("matroska", "libx264")])
def test_long_gaps_are_jumped_to_the_same_frames(make_film, film):
    data = make_film(*film, None, seconds=40, size=(16, 16))
    every = list(iter_frames(data))
    for wanted_s, pixels in iter_frames(data, count=3):
        assert np.array_equal(pixels, [shown for time_s, shown in every if time_s <= wanted_s + 1e-3][-1])


# set_display_rotation turns counter-clockwise, as np.rot90 does, and mirrors behind it.
@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("mirrored", [False, True])
def test_frames_are_upright(make_film, quarter, mirrored):
    flat = next(iter_frames(make_film("mp4", "libx264", None, seconds=0.1)))[1]
    turned = next(iter_frames(make_film("mp4", "libx264", None, seconds=0.1, rotation=(90 * quarter, mirrored))))[1]
    expected = np.rot90(flat, quarter)
    assert np.array_equal(turned, expected[:, ::-1] if mirrored else expected)


@pytest.mark.parametrize("wrong", [{"at_hz": 0}, {"count": 0}, {"at_hz": -1}, {"count": -1}, {"at_hz": 1, "count": 1}])
def test_frames_want_one_positive_number(make_film, wrong):
    with pytest.raises(ValueError, match="positive"):
        next(iter_frames(make_film(), **wrong))


def test_sound_has_no_frames(make_film):
    for wanted in ({}, {"at_hz": 1.0}, {"count": 2}):
        with pytest.raises(MediaError):
            next(iter_frames(make_film("mp4", None, "aac"), **wanted))


def test_thumbnails_are_small_upright_jpegs(make_film, make_picture, make_exif):
    photo = make_picture("PNG", size=(600, 300), exif=make_exif(6))
    for source in (photo, make_film(size=(640, 320), rotation=(90, False))):
        found = probe(thumbnail(source, max_side_px=100))
        assert (found.media_type, found.width_px, found.height_px) == ("image/jpeg", 50, 100)
    small = make_picture("PNG")
    assert probe(thumbnail(small)).width_px == 60
    assert thumbnail(small) == thumbnail(small)


def test_sound_has_no_thumbnail(make_film):
    with pytest.raises(MediaError):
        thumbnail(make_film("wav", None, "pcm_s16le"))


def test_waveform_is_lowest_and_highest():
    samples = np.array([0.0, 1.0, -1.0, 0.5, 0.25, 0.0], np.float32)
    assert waveform(samples, 3).tolist() == [[0.0, 1.0], [-1.0, 0.5], [0.0, 0.25]]
    assert waveform(np.stack([samples, -samples]), 1).tolist() == [[-1.0, 1.0]]
    assert waveform(samples, 12).shape == (12, 2)
    assert waveform(samples, 12)[:2].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="samples"):
        waveform(np.array([], np.float32), 3)


def _with_video_moved(data: bytes, by_ms: int) -> bytes:
    """The same film with its picture that much later, copied packet by packet."""
    buffer = io.BytesIO()
    with av.open(io.BytesIO(data)) as source, av.open(buffer, "w", format="matroska") as out:
        copies = [out.add_stream_from_template(stream, opaque=True) for stream in source.streams]
        for packet in source.demux():
            if packet.size == 0:
                continue
            if packet.stream.type == "video":
                packet.pts += by_ms
                packet.dts = None if packet.dts is None else packet.dts + by_ms
            packet.stream = copies[packet.stream_index]
            out.mux(packet)
    return buffer.getvalue()
