import base64
import hashlib
import io
import wave
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from core.content import MediaPart, Message, TextPart
from core.media.errors import MediaError
from core.media.probe import probe
from evaluation.adaptation import Adapter
from evaluation.delivery import deliver
from warehouse.blobs import BlobStore, DamagedBlob, MissingBlob


@pytest.fixture
def blobs(tmp_path) -> BlobStore:
    return BlobStore(str(tmp_path / "blobs"))


def stereo(rate_hz: int = 44_100, bits: int = 16) -> np.ndarray:
    """A low tone on the left, a higher and softer one on the right: a quarter of a second, int16."""
    time_s = np.arange(rate_hz // 4) / rate_hz
    left, right = 0.5 * np.sin(2 * np.pi * 440 * time_s), 0.2 * np.sin(2 * np.pi * 1760 * time_s)
    return np.round(np.stack([left, right]) * 32767).astype(np.int16)


def coded_sound(samples: np.ndarray, container: str, codec: str, rate_hz: int = 44_100) -> bytes:
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        stream = out.add_stream(codec, rate=rate_hz, layout="stereo")
        frame = av.AudioFrame.from_ndarray(samples.T.reshape(1, -1).copy(), format="s16", layout="stereo")
        frame.sample_rate = rate_hz
        resampler = av.AudioResampler(format=stream.format, layout="stereo", rate=rate_hz)
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            out.mux(stream.encode(ready))
        out.mux(stream.encode(None))
    return buffer.getvalue()


def film(container: str, codec: str, size: tuple[int, int] = (64, 48), frames: int = 12) -> bytes:
    """Frames that grow brighter, ten a second."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        stream = out.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for place in range(frames):
            pixels = np.full((size[1], size[0], 3), 20 * place, np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = place, Fraction(1, 10)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return buffer.getvalue()


def image(kind: str, mode: str = "RGB", **settings) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (10, 6), (200, 30, 40, 128)[: len(mode)]).save(buffer, kind, **settings)
    return buffer.getvalue()


def sent(blobs: BlobStore, data: bytes):
    """One medium on its way: the content part, its bytes as they arrive, and its row in the manifest."""
    ref = probe(data).media_ref()
    blobs.put(data)
    part = MediaPart(name=f"{ref.modality.value}_1", media=ref)
    turns, manifest = deliver((Message(role="user", parts=(part,)),), Adapter(blobs))
    (content,) = turns[0].content
    url = getattr(content, ref.modality.value)
    head, payload = url.split(",")
    (row,) = manifest
    received = base64.b64decode(payload)
    assert head == f"data:{row['sent_media_type']};base64"
    assert row["sent_sha256"] == hashlib.sha256(received).hexdigest()
    assert (row["asked_sha256"], row["sent_bytes"]) == (ref.sha256, len(received))
    assert (row["name"], row["modality"], row["duration_s"]) == (part.name, ref.modality.value, ref.duration_s)
    return content, received, row


def heard(data: bytes) -> tuple[int, np.ndarray]:
    """Rate and samples of a 16-bit WAV, by the standard library."""
    with wave.open(io.BytesIO(data)) as file:
        assert file.getsampwidth() == 2
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, file.getnchannels())
        return file.getframerate(), samples.T


def test_text_and_media_keep_their_order_and_roles(blobs, small_media):
    ref = probe(small_media["image"]).media_ref()
    blobs.put(small_media["image"])
    parts = (TextPart(text="Look: "), MediaPart(name="image_1", media=ref), TextPart(text="Well?"))
    messages = (Message(role="system", parts=(TextPart(text="Be brief."),)), Message(role="user", parts=parts))
    turns, manifest = deliver(messages, Adapter(blobs))
    assert [turn.role for turn in turns] == ["system", "user"]
    assert [piece.type for piece in turns[1].content] == ["text", "image", "text"]
    assert [piece.text for piece in turns[1].content if piece.type == "text"] == ["Look: ", "Well?"]
    assert len(manifest) == 1


class TestAsItIs:
    @pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
    def test_common_pictures(self, blobs, kind):
        data = image(kind)
        _, received, row = sent(blobs, data)
        assert (received, row["adaptation"], row["sent_media_type"]) == (data, None, f"image/{kind.lower()}")

    @pytest.mark.parametrize(("container", "codec", "format_"), [("wav", "pcm_s16le", "wav"), ("mp3", "mp3", "mp3")])
    def test_wav_and_mp3(self, blobs, container, codec, format_):
        data = coded_sound(stereo(), container, codec)
        content, received, row = sent(blobs, data)
        assert (received, row["adaptation"], content.format) == (data, None, format_)

    @pytest.mark.parametrize(("container", "format_"), [("mp4", "mp4"), ("mov", "mov")])
    def test_mp4_and_quicktime(self, blobs, container, format_):
        data = film(container, "libx264")
        content, received, row = sent(blobs, data)
        assert (received, row["adaptation"], content.format) == (data, None, format_)


class TestSounds:
    def test_flac_keeps_its_channels_rate_and_every_sample(self, blobs):
        samples = stereo()
        content, received, row = sent(blobs, coded_sound(samples, "flac", "flac"))
        rate_hz, arrived = heard(received)
        assert (content.format, row["sent_media_type"]) == ("wav", "audio/wav")
        assert rate_hz == 44_100
        np.testing.assert_array_equal(arrived, samples)
        assert row["adaptation"] == "decoded to WAV of 16 bits (lossless)"

    @pytest.mark.parametrize("container", ["ogg", "webm"])
    def test_opus_keeps_its_two_channels_and_is_called_lossy(self, blobs, container):
        samples = stereo(48_000)
        _, received, row = sent(blobs, coded_sound(samples, container, "libopus", 48_000))
        rate_hz, arrived = heard(received)
        assert rate_hz == 48_000
        assert arrived.shape[0] == 2
        length = min(arrived.shape[1], samples.shape[1])
        for channel in range(2):
            assert np.corrcoef(arrived[channel, :length], samples[channel, :length])[0, 1] > 0.98
        assert row["adaptation"] == "decoded to WAV of 16 bits (lossy)"

    def test_flac_of_24_bits_is_called_lossy(self, blobs):
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="flac") as out:
            stream = out.add_stream("flac", rate=8000, layout="mono")
            stream.codec_context.format = "s32"
            frame = av.AudioFrame.from_ndarray(np.arange(4096, dtype="<i4")[None] << 8, format="s32", layout="mono")
            frame.sample_rate = 8000
            out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
        _, _, row = sent(blobs, buffer.getvalue())
        assert row["adaptation"] == "decoded to WAV of 16 bits (lossy)"


class TestPictures:
    @pytest.mark.parametrize("kind", ["BMP", "TIFF", "GIF"])
    def test_other_pictures_become_png_of_the_same_pixels(self, blobs, kind):
        data = image(kind)
        _, received, row = sent(blobs, data)
        before, after = Image.open(io.BytesIO(data)).convert("RGB"), Image.open(io.BytesIO(received))
        assert (after.format, row["sent_media_type"]) == ("PNG", "image/png")
        np.testing.assert_array_equal(np.asarray(after), np.asarray(before))
        assert "PNG" in row["adaptation"]

    def test_of_a_moving_gif_the_first_frame(self, blobs):
        frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
        buffer = io.BytesIO()
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
        _, received, _ = sent(blobs, buffer.getvalue())
        assert Image.open(io.BytesIO(received)).getpixel((0, 0)) == (255, 0, 0)


class TestVideos:
    def test_webm_of_a_codec_that_mp4_knows_is_copied(self, blobs):
        data = film("webm", "libvpx-vp9")
        content, received, row = sent(blobs, data)
        before, after = probe(data), probe(received)
        assert (content.format, after.codecs, row["adaptation"]) == ("mp4", before.codecs, "copied into MP4 (lossless)")
        assert (after.frame_count, after.duration_s) == (12, pytest.approx(before.duration_s, abs=0.02))

    @pytest.mark.parametrize(
        ("container", "codec", "size"),
        [("webm", "libvpx", (64, 48)), ("avi", "mpeg4", (64, 48)), ("matroska", "ffv1", (65, 49))],
    )
    def test_what_mp4_cannot_carry_is_coded_again_frame_by_frame(self, blobs, container, codec, size):
        data = film(container, codec, size)
        content, received, row = sent(blobs, data)
        after = probe(received)
        assert (content.format, row["adaptation"]) == ("mp4", "coded again as H.264 in MP4 (lossy)")
        assert (after.codecs, after.frame_count) == (("h264",), 12)
        assert (after.width_px, after.height_px) == (size[0] // 2 * 2, size[1] // 2 * 2)
        assert after.duration_s == pytest.approx(1.2, abs=0.02)
        with av.open(io.BytesIO(received)) as opened:
            levels = [frame.to_ndarray(format="gray").mean() for frame in opened.decode(video=0)]
        assert levels == pytest.approx([20 * place for place in range(12)], abs=6)

    def test_the_same_video_gives_the_same_bytes(self, blobs):
        data = film("webm", "libvpx")
        assert sent(blobs, data)[2]["sent_sha256"] == sent(blobs, data)[2]["sent_sha256"]


class TestAdapter:
    def test_what_was_adapted_once_is_not_adapted_again(self, blobs, monkeypatch):
        data = coded_sound(stereo(), "flac", "flac")
        ref = probe(data).media_ref()
        blobs.put(data)
        adapter = Adapter(blobs)
        first = adapter.fetch(ref)
        monkeypatch.setattr("evaluation.adaptation.adapt", lambda *_: pytest.fail("adapted again"))
        assert adapter.fetch(ref) is first

    def test_it_keeps_no_more_than_it_may(self, blobs):
        clips = [coded_sound(stereo()[:, : 8000 + place], "flac", "flac") for place in range(3)]
        refs = [probe(data).media_ref() for data in clips]
        for data in clips:
            blobs.put(data)
        adapter = Adapter(blobs, kept_bytes=70_000)  # two of them: 32 kB each
        firsts = [adapter.fetch(ref) for ref in refs]
        assert adapter.fetch(refs[2]) is firsts[2]
        assert adapter.fetch(refs[0]) is not firsts[0]

    def test_media_that_are_gone_or_damaged_are_named(self, blobs, small_media, tmp_path):
        ref = probe(small_media["image"]).media_ref()
        message = Message(role="user", parts=(MediaPart(name="image_1", media=ref),))
        with pytest.raises(MissingBlob, match=ref.sha256):
            deliver((message,), Adapter(blobs))
        blobs.put(small_media["image"])
        (file,) = [file for file in (tmp_path / "blobs").rglob("*") if file.is_file()]
        file.write_bytes(b"x" * len(small_media["image"]))
        with pytest.raises(DamagedBlob, match=ref.sha256):
            deliver((message,), Adapter(blobs))

    def test_media_that_do_not_decode_are_named(self, blobs):
        data = b"fLaC" + b"\x00" * 60
        blobs.put(data)
        ref = probe(coded_sound(stereo(), "flac", "flac")).media_ref()
        ref = ref.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
        with pytest.raises(MediaError):
            Adapter(blobs).fetch(ref)
