import io
import struct
import wave
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.media.audio import encode_wav, load_audio, strip_container
from core.media.errors import DisguisedMedia, MediaError, TooLarge, UndecodableMedia, UnsupportedMedia
from core.media.limits import MediaLimits
from core.media.probe import probe

LOSSLESS = [("wav", "pcm_s16le"), ("flac", "flac"), ("matroska", "flac"), ("ogg", "flac"), ("mp4", "alac")]
LOSSY = [("mp3", "libmp3lame"), ("ipod", "aac"), ("adts", "aac"), ("ogg", "libopus"), ("webm", "libopus")]
TAGS = {"title": "secret", "artist": "Snooper", "comment": "secret"}


@pytest.mark.parametrize(("muxer", "codec"), LOSSLESS)
def test_lossless_sound_is_loaded_sample_for_sample(make_film, make_tone, muxer, codec):
    samples = load_audio(make_film(muxer, None, codec), sample_rate_hz=None)
    assert samples.dtype == np.float32
    assert np.array_equal(samples, make_tone(1.0).astype(np.float32) / 32768)


@pytest.mark.parametrize(("muxer", "codec"), LOSSY)
def test_lossy_sound_is_loaded_as_it_sounds(make_film, muxer, codec):
    samples = load_audio(make_film(muxer, None, codec))
    assert samples.shape[0] == pytest.approx(16000, abs=500)
    spectrum = np.abs(np.fft.rfft(samples[:16000], n=16000))
    assert int(spectrum.argmax()) == pytest.approx(440, abs=1)
    assert samples[2000:14000].std() == pytest.approx(0.3 / np.sqrt(2), rel=0.06)


def test_sound_of_a_film_is_loaded(make_film, make_tone):
    samples = load_audio(make_film("mov", "libx264", "pcm_s16le"), sample_rate_hz=None)
    assert np.array_equal(samples, make_tone(1.0).astype(np.float32) / 32768)


def test_channels_stay_apart_or_are_mixed(tmp_path):
    left, right = np.full(800, 0.5), np.full(800, -0.25)
    path = tmp_path / "two.wav"
    path.write_bytes(encode_wav(np.stack([left, right]), 8000))
    apart = load_audio(path, sample_rate_hz=None, mono=False)
    assert apart.shape == (2, 800)
    assert (apart[0, 5], apart[1, 5]) == (0.5, -0.25)
    mixed = load_audio(path, sample_rate_hz=None)
    assert mixed.shape == (800,)
    assert mixed[5] == pytest.approx(0.125)


def test_film_without_sound_has_none_to_load(make_film):
    with pytest.raises(UndecodableMedia, match="no sound"):
        load_audio(make_film("mp4", "libx264", None))


def test_picture_is_no_sound(make_picture):
    for function in (load_audio, strip_container):
        with pytest.raises(DisguisedMedia):
            function(make_picture())


def test_loading_is_bounded(make_film):
    with pytest.raises(TooLarge, match="lasts longer"):
        load_audio(make_film("adts", None, "aac", seconds=2), limits=MediaLimits(max_duration_s=1.0))


@given(arrays(np.int16, st.tuples(st.integers(1, 3), st.integers(1, 50))), st.sampled_from([8000, 44100]))
def test_wav_holds_16_bit_samples_exactly(samples, rate):
    with wave.open(io.BytesIO(encode_wav(samples, rate))) as file:
        assert (file.getnchannels(), file.getframerate(), file.getsampwidth()) == (samples.shape[0], rate, 2)
        read = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, samples.shape[0]).T
    assert np.array_equal(read, samples)
    assert encode_wav(samples.astype(np.float64) / 32768, rate) == encode_wav(samples, rate)


def test_wav_clips_what_is_too_loud():
    samples = load_audio(encode_wav(np.array([2.0, -2.0] * 50), 16000))
    assert (samples.max(), samples.min()) == (32767 / 32768, -1.0)


@pytest.mark.parametrize(
    ("muxer", "codec", "cover"),
    [(*media, False) for media in (*LOSSLESS, *LOSSY)]
    + [("flac", "flac", True), ("mp3", "libmp3lame", True), ("mp4", "alac", True)],
)
def test_stripping_removes_tags_and_covers_and_no_sound(make_film, muxer, codec, cover):
    data = make_film(muxer, None, codec, tags=TAGS, cover=cover)
    stripped = strip_container(data)
    assert b"secret" not in stripped
    assert b"Snooper" not in stripped
    assert not probe(stripped).has_metadata
    assert probe(stripped).media_type == probe(data).media_type
    with av.open(io.BytesIO(stripped)) as container:
        assert [stream.type for stream in container.streams] == ["audio"]
    before, after = load_audio(data, sample_rate_hz=None), load_audio(stripped, sample_rate_hz=None)
    assert np.array_equal(before, after)


@pytest.mark.parametrize(("muxer", "codec"), [*LOSSLESS, *LOSSY])
def test_stripping_is_deterministic_and_settles(make_film, muxer, codec):
    data = make_film(muxer, None, codec, tags=TAGS)
    once = strip_container(data)
    assert strip_container(data) == once
    assert strip_container(once) == once


def test_stripping_keeps_picture_and_sound_together(make_film):
    data = make_film("mp4", "libx264", "aac", sound_delay_s=0.5, tags={"location": "+39.9-116.4/"})
    stripped = strip_container(data)
    assert b"+39.9" not in stripped
    with av.open(io.BytesIO(data)) as before, av.open(io.BytesIO(stripped)) as after:
        assert [s.type for s in after.streams] == ["video", "audio"]
        assert [s.start_time for s in after.streams] == [s.start_time for s in before.streams]
        assert [s.frames for s in after.streams] == [s.frames for s in before.streams]


def test_tags_in_front_of_and_behind_mp3_go(make_film):
    plain = strip_container(make_film("mp3", None, "libmp3lame"))
    id3v1 = b"TAG" + b"secret".ljust(125, b"\0")
    ape_items = b"\x06\0\0\0\0\0\0\0Title\0secret"
    ape = ape_items + b"APETAGEX" + (2000).to_bytes(4, "little") + (len(ape_items) + 32).to_bytes(4, "little")
    ape += (1).to_bytes(4, "little") + b"\0" * 12
    id3v2 = b"ID3\x04\0\0\0\0\0\x0a" + b"TIT2secret"
    assert strip_container(id3v2 + plain + ape + id3v1) == plain


def test_broadcast_notes_in_a_wav_go(make_film):
    plain = strip_container(make_film("wav", None, "pcm_s16le"))
    bext = b"bext" + (8).to_bytes(4, "little") + b"secret\0\0"
    noted = plain[:12] + bext + plain[12:]
    noted = noted[:4] + (len(noted) - 8).to_bytes(4, "little") + noted[8:]
    assert probe(noted).has_metadata
    assert strip_container(noted) == plain


def test_file_of_subtitles_alone_is_no_media():
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="matroska") as out:
        stream = out.add_mux_stream("subrip")
        line = av.Packet(b"secret")
        line.stream, line.pts, line.dts, line.duration, line.time_base = stream, 0, 0, 1000, Fraction(1, 1000)
        out.mux(line)
    for function in (probe, strip_container):
        with pytest.raises(UnsupportedMedia, match="without sound or picture"):
            function(buffer.getvalue())


@pytest.mark.parametrize("page_s", [1, 60])
@pytest.mark.parametrize("seconds", [0.9, 3.3])
@pytest.mark.parametrize("wrong_s", [0, -0.02, (1 << 32) / 8000])
def test_ogg_whose_last_page_says_an_odd_end_is_taken_as_it_sounds(page_s, seconds, wrong_s):
    """FFmpeg takes a stream of a single page for one that ends early, and copies it with an end 2**32 too late."""
    received = last_page_says(vorbis(seconds, page_s), round((seconds + wrong_s) * 8000))
    heard = load_audio(received, sample_rate_hz=None)
    assert heard.shape[0] / 8000 == pytest.approx(seconds, abs=0.15)  # a block is 1024 samples
    assert probe(received).duration_s == heard.shape[0] / 8000
    copy = strip_container(received)
    copied = load_audio(copy, sample_rate_hz=None)
    assert np.array_equal(copied, heard[: copied.shape[0]])
    assert copied.shape[0] / 8000 == probe(copy).duration_s == pytest.approx(seconds, abs=0.15)
    assert strip_container(copy) == copy
    with av.open(io.BytesIO(copy)) as container:
        assert container.duration / 1_000_000 == pytest.approx(seconds, abs=0.15)
    if page_s == 60:
        assert copied.shape == heard.shape


def vorbis(seconds: float, page_s: float) -> bytes:
    """A rising tone at 8 kHz on Ogg pages of at most so many seconds."""
    at_s = np.arange(round(seconds * 8000)) / 8000
    sound = (0.3 * np.sin(2 * np.pi * (200 + 100 * at_s) * at_s)).astype(np.float32)
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="ogg", options={"page_duration": str(round(page_s * 1_000_000))}) as out:
        stream = out.add_stream("vorbis", rate=8000, layout="stereo", options={"strict": "experimental"})
        frame = av.AudioFrame.from_ndarray(np.stack([sound, sound]), format="fltp", layout="stereo")
        frame.sample_rate, frame.pts = 8000, 0
        for one in (frame, None):
            out.mux(stream.encode(one))
    return buffer.getvalue()


def last_page_says(ogg: bytes, end: int) -> bytes:
    """An Ogg file whose last page has another granule position, and the checksum for it (RFC 3533)."""
    at = ogg.rfind(b"OggS")
    page = bytearray(ogg[at:])
    page[6:14], page[22:26] = struct.pack("<q", end), bytes(4)
    checksum = 0
    for byte in page:
        checksum ^= byte << 24
        for _ in range(8):
            checksum = (checksum << 1 ^ (0x04C11DB7 if checksum >> 31 else 0)) & 0xFFFFFFFF
    page[22:26] = struct.pack("<I", checksum)
    return ogg[:at] + bytes(page)


def test_damage_is_told(make_film):
    data = make_film("flac", None, "flac")
    with pytest.raises(MediaError):
        strip_container(data[:30])
