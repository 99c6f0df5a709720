import base64
import hashlib
import io
import threading
import wave
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from core.content import MediaPart, Message, TextPart
from core.media.audio import load_audio
from core.media.errors import MediaError, TooLarge
from core.media.probe import probe
from core.media.video import iter_frames
from evaluation.adaptation import Adapter, KindNotTaken
from evaluation.delivery import CannotMix, TooManyParts, deliver
from evaluation.models.omni.capabilities import capability_for
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


def film(
    container: str, codec: str, size: tuple[int, int] = (64, 48), frames: int = 12, begin: int = 0, options=None
) -> bytes:
    """Frames that grow brighter, ten a second; the first is shown at `begin` tenths of a second."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        stream = out.add_stream(codec, rate=10, options=options or {})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for place in range(frames):
            pixels = np.full((size[1], size[0], 3), 20 * place, np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = begin + place, Fraction(1, 10)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return buffer.getvalue()


def image(kind: str, mode: str = "RGB", **settings) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (10, 6), (200, 30, 40, 128)[: len(mode)]).save(buffer, kind, **settings)
    return buffer.getvalue()


def server(endpoint: str = "inspect", **overrides):
    return capability_for("some/model", endpoint, overrides)


EVERYTHING = server()


def stored(blobs: BlobStore, data: bytes, number: int = 1) -> MediaPart:
    blobs.put(data)
    ref = probe(data).media_ref()
    return MediaPart(name=f"{ref.modality.value}_{number}", media=ref)


def asked(*parts: MediaPart | str) -> tuple[Message, ...]:
    return (
        Message(role="user", parts=tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)),
    )


def payload(content) -> tuple[str, bytes]:
    """Media type and bytes of a part, as they arrive."""
    head, coded = getattr(content, content.type).split(",")
    assert head.startswith("data:") and head.endswith(";base64")
    return head.removeprefix("data:").removesuffix(";base64"), base64.b64decode(coded)


def check_sent(row, contents) -> None:
    """The manifest says exactly what arrives."""
    arrived = [payload(content) for content in contents if content.type != "text"]
    assert [(one["media_type"], one["sha256"], one["byte_count"]) for one in row["sent"]] == [
        (media_type, hashlib.sha256(data).hexdigest(), len(data)) for media_type, data in arrived
    ]


def sent(blobs: BlobStore, data: bytes, capability=EVERYTHING):
    """One medium on its way: the content part, its bytes as they arrive, and its row in the manifest."""
    part = stored(blobs, data)
    turns, manifest = deliver(asked(part), Adapter(blobs), capability)
    (content,) = turns[0].content
    (row,) = manifest
    check_sent(row, [content])
    ref = part.media
    assert (row["name"], row["modality"], row["sha256"]) == (part.name, ref.modality.value, ref.sha256)
    assert row["duration_s"] == ref.duration_s
    return content, payload(content)[1], row


def said(row) -> list[tuple[str, str]]:
    assert all(set(change) == {"what", "loss", "detail"} and change["detail"] for change in row["adaptations"])
    return [(change["what"], change["loss"]) for change in row["adaptations"]]


def talkie(container: str = "mp4", codec: str = "libx264", seconds: float = 1.0, size=(64, 48)) -> bytes:
    """Frames that grow brighter, ten a second, with a tone."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as out:
        picture = out.add_stream(codec, rate=10)
        picture.width, picture.height, picture.pix_fmt = *size, "yuv420p"
        sound = out.add_stream("libopus" if container == "webm" else "aac", rate=48_000, layout="mono")
        for place in range(round(10 * seconds)):
            pixels = np.full((size[1], size[0], 3), 20 * (place % 12), np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = place, Fraction(1, 10)
            out.mux(picture.encode(frame))
        out.mux(picture.encode(None))
        wave_form = 0.4 * np.sin(2 * np.pi * 440 * np.arange(round(48_000 * seconds)) / 48_000)
        resampler = av.AudioResampler(
            format=sound.format, layout="mono", rate=48_000, frame_size=sound.frame_size or 960
        )
        frame = av.AudioFrame.from_ndarray(wave_form[None].astype("f4"), format="fltp", layout="mono")
        frame.sample_rate = 48_000
        for ready in [*resampler.resample(frame), *resampler.resample(None)]:
            out.mux(sound.encode(ready))
        out.mux(sound.encode(None))
    return buffer.getvalue()


def tone(hertz: float, seconds: float, rate_hz: int = 16_000) -> bytes:
    samples = 0.4 * np.sin(2 * np.pi * hertz * np.arange(round(rate_hz * seconds)) / rate_hz)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes((samples * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def pitch_hz(data: bytes) -> float:
    """The loudest frequency in a sound or film."""
    samples = load_audio(data, 16_000)
    return float(np.argmax(np.abs(np.fft.rfft(samples))) * 16_000 / samples.shape[0])


def noise(size: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (size, size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


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
    turns, manifest = deliver(messages, Adapter(blobs), EVERYTHING)
    assert [turn.role for turn in turns] == ["system", "user"]
    assert [piece.type for piece in turns[1].content] == ["text", "image", "text"]
    assert [piece.text for piece in turns[1].content if piece.type == "text"] == ["Look: ", "Well?"]
    assert len(manifest) == 1


class TestAsItIs:
    @pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
    def test_common_pictures(self, blobs, kind):
        data = image(kind)
        _, received, row = sent(blobs, data)
        assert (received, said(row), row["sent"][0]["media_type"]) == (data, [], f"image/{kind.lower()}")

    @pytest.mark.parametrize(("container", "codec", "format_"), [("wav", "pcm_s16le", "wav"), ("mp3", "mp3", "mp3")])
    def test_wav_and_mp3(self, blobs, container, codec, format_):
        data = coded_sound(stereo(), container, codec)
        content, received, row = sent(blobs, data)
        assert (received, said(row), content.format) == (data, [], format_)

    @pytest.mark.parametrize(("container", "format_"), [("mp4", "mp4"), ("mov", "mov")])
    def test_mp4_and_quicktime(self, blobs, container, format_):
        data = film(container, "libx264")
        content, received, row = sent(blobs, data)
        assert (received, said(row), content.format) == (data, [], format_)


class TestSounds:
    def test_flac_keeps_its_channels_rate_and_every_sample(self, blobs):
        samples = stereo()
        content, received, row = sent(blobs, coded_sound(samples, "flac", "flac"))
        rate_hz, arrived = heard(received)
        assert (content.format, row["sent"][0]["media_type"]) == ("wav", "audio/wav")
        assert rate_hz == 44_100
        np.testing.assert_array_equal(arrived, samples)
        assert said(row) == [("coded again", "lossless")]

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
        assert said(row) == [("coded again", "lossy")]

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
        assert said(row) == [("coded again", "lossy")]


class TestPictures:
    @pytest.mark.parametrize("kind", ["BMP", "TIFF", "GIF"])
    def test_other_pictures_become_png_of_the_same_pixels(self, blobs, kind):
        data = image(kind)
        _, received, row = sent(blobs, data)
        before, after = Image.open(io.BytesIO(data)).convert("RGB"), Image.open(io.BytesIO(received))
        assert (after.format, row["sent"][0]["media_type"]) == ("PNG", "image/png")
        np.testing.assert_array_equal(np.asarray(after), np.asarray(before))
        assert said(row) == [("coded again", "lossless")]

    def test_of_a_moving_gif_the_first_frame(self, blobs):
        frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
        buffer = io.BytesIO()
        frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
        _, received, row = sent(blobs, buffer.getvalue())
        assert Image.open(io.BytesIO(received)).getpixel((0, 0)) == (255, 0, 0)
        assert said(row) == [("coded again", "lossy")]

    def test_what_shows_through_is_laid_on_white_and_called_lossy(self, blobs):
        _, _, row = sent(blobs, image("TIFF", "RGBA"))
        assert said(row) == [("coded again", "lossy")]


class TestVideos:
    def test_webm_of_a_codec_that_mp4_knows_is_copied(self, blobs):
        data = film("webm", "libvpx-vp9")
        content, received, row = sent(blobs, data)
        before, after = probe(data), probe(received)
        assert (content.format, after.codecs, said(row)) == ("mp4", before.codecs, [("copied", "lossless")])
        assert (after.frame_count, after.duration_s) == (12, pytest.approx(before.duration_s, abs=0.02))

    @pytest.mark.parametrize(
        ("container", "codec", "size"),
        [("webm", "libvpx", (64, 48)), ("avi", "mpeg4", (64, 48)), ("matroska", "ffv1", (65, 49))],
    )
    def test_what_mp4_cannot_carry_is_coded_again_frame_by_frame(self, blobs, container, codec, size):
        data = film(container, codec, size)
        content, received, row = sent(blobs, data)
        after = probe(received)
        assert (content.format, said(row)) == ("mp4", [("coded again", "lossy")])
        assert (after.codecs, after.frame_count) == (("h264",), 12)
        assert (after.width_px, after.height_px) == (size[0] // 2 * 2, size[1] // 2 * 2)
        assert after.duration_s == pytest.approx(1.2, abs=0.02)
        with av.open(io.BytesIO(received)) as opened:
            levels = [frame.to_ndarray(format="gray").mean() for frame in opened.decode(video=0)]
        assert levels == pytest.approx([20 * place for place in range(12)], abs=6)

    def test_the_same_video_gives_the_same_bytes(self, blobs):
        data = film("webm", "libvpx")
        assert sent(blobs, data)[2]["sent"] == sent(blobs, data)[2]["sent"]

    @pytest.mark.parametrize(
        ("container", "codec", "changes"),
        [
            ("mp4", "libx264", [("muted", "lossless")]),
            ("webm", "libvpx-vp9", [("muted", "lossless"), ("copied", "lossless")]),
        ],
    )
    def test_a_video_that_still_has_sound_is_sent_without_it(self, blobs, container, codec, changes):
        data = talkie(container, codec)
        assert probe(data).has_audio
        _, received, row = sent(blobs, data)
        after = probe(received)
        assert (after.has_audio, after.frame_count, said(row)) == (False, 10, changes)


class TestAdapter:
    def test_what_was_adapted_once_is_not_adapted_again(self, blobs, monkeypatch):
        data = coded_sound(stereo(), "flac", "flac")
        ref = probe(data).media_ref()
        blobs.put(data)
        adapter = Adapter(blobs)
        first = adapter.fetch(ref, EVERYTHING)
        monkeypatch.setattr("evaluation.adaptation.wav", lambda *_: pytest.fail("adapted again"))
        assert adapter.fetch(ref, EVERYTHING) is first

    def test_it_keeps_no_more_than_it_may(self, blobs):
        clips = [coded_sound(stereo()[:, : 8000 + place], "flac", "flac") for place in range(3)]
        refs = [probe(data).media_ref() for data in clips]
        for data in clips:
            blobs.put(data)
        adapter = Adapter(blobs, kept_bytes=70_000)  # two of them: 32 kB each
        firsts = [adapter.fetch(ref, EVERYTHING) for ref in refs]
        assert adapter.fetch(refs[2], EVERYTHING) is firsts[2]
        assert adapter.fetch(refs[0], EVERYTHING) is not firsts[0]

    def test_media_that_are_gone_or_damaged_are_named(self, blobs, small_media, tmp_path):
        ref = probe(small_media["image"]).media_ref()
        message = Message(role="user", parts=(MediaPart(name="image_1", media=ref),))
        with pytest.raises(MissingBlob, match=ref.sha256):
            deliver((message,), Adapter(blobs), EVERYTHING)
        blobs.put(small_media["image"])
        (file,) = [file for file in (tmp_path / "blobs").rglob("*") if file.is_file()]
        file.write_bytes(b"x" * len(small_media["image"]))
        with pytest.raises(DamagedBlob, match=ref.sha256):
            deliver((message,), Adapter(blobs), EVERYTHING)

    def test_media_that_do_not_decode_are_named(self, blobs):
        data = b"fLaC" + b"\x00" * 60
        blobs.put(data)
        ref = probe(coded_sound(stereo(), "flac", "flac")).media_ref()
        ref = ref.model_copy(update={"sha256": hashlib.sha256(data).hexdigest()})
        with pytest.raises(MediaError):
            Adapter(blobs).fetch(ref, EVERYTHING)

    def test_threads_that_want_the_same_make_it_once(self, blobs, monkeypatch):
        import evaluation.adaptation as module

        ref = stored(blobs, coded_sound(stereo(), "flac", "flac")).media
        made, start, make = [], threading.Barrier(4), module.wav
        monkeypatch.setattr(module, "wav", lambda media, data: made.append(1) or make(media, data))
        adapter = Adapter(blobs)

        def fetch(_):
            start.wait(timeout=30)
            return adapter.fetch(ref, EVERYTHING)

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(fetch, range(4)))
        assert len(made) == 1
        assert all(result is results[0] for result in results)

    def test_servers_that_take_something_else_get_something_else(self, blobs):
        part = stored(blobs, film("mp4", "libx264"))
        adapter = Adapter(blobs)
        two, three = (adapter.fetch(part.media, server(video="frames", frames=count)) for count in (2, 3))
        assert (len(two.pieces), len(three.pieces)) == (2, 3)
        assert len(adapter.fetch(part.media, server(video="frames", frames=2)).pieces) == 2


class TestFrames:
    def test_evenly_spaced_pictures_behind_a_note(self, blobs):
        data = film("mp4", "libx264")
        part = stored(blobs, data)
        turns, (row,) = deliver(asked("Look: ", part, "How many?"), Adapter(blobs), server(video="frames", frames=4))
        contents = turns[0].content
        assert [one.type for one in contents] == ["text", "text", "image", "image", "image", "image", "text"]
        check_sent(row, contents)
        # 1.2 s in four parts of 0.3 s, each by its middle; frame n of brightness 20n is shown from n/10 s on.
        assert row["times_s"] == pytest.approx([0.15, 0.45, 0.75, 1.05])
        levels = [np.asarray(Image.open(io.BytesIO(payload(one)[1])).convert("L")).mean() for one in contents[2:6]]
        assert levels == pytest.approx([20, 80, 140, 200], abs=8)
        assert (row["frames_requested"], row["frames_sent"], row["duration_s"]) == (4, 4, part.media.duration_s)
        assert said(row) == [("frames sampled", "lossy")]
        assert "4 pictures are frames of <video_1>" in contents[1].text
        assert "0.15, 0.45, 0.75, 1.05 s of 1.2 s" in contents[1].text

    def test_the_note_speaks_the_language_of_the_question(self, blobs):
        part = stored(blobs, film("mp4", "libx264"))
        turns, _ = deliver(asked(part, "有几个？\n请作答"), Adapter(blobs), server(video="frames", frames=2))
        assert "以下 2 张图片是 <video_1> 的画面" in turns[0].content[0].text

    def test_short_videos_give_fewer_by_the_frames_per_second(self, blobs):
        part = stored(blobs, film("mp4", "libx264"))
        row = deliver(asked(part), Adapter(blobs), server(video="frames", frames=32, frames_per_second=2))[1][0]
        assert (row["frames_requested"], row["frames_sent"]) == (32, 2)  # 1.2 s at 2 a second

    def test_they_share_the_pictures_that_a_server_takes(self, blobs):
        parts = [stored(blobs, image("PNG")), stored(blobs, film("mp4", "libx264"))]
        takes = server(video="frames", image={"most_parts": 6})
        _, rows = deliver(asked(*parts), Adapter(blobs), takes)
        assert (rows[1]["frames_requested"], rows[1]["frames_sent"]) == (32, 5)
        with pytest.raises(TooManyParts, match="1 pictures and the frames of 1 videos"):
            deliver(asked(*parts), Adapter(blobs), server(video="frames", image={"most_parts": 1}))

    def test_a_talking_film_is_said_to_be_muted(self, blobs):
        row = deliver(asked(stored(blobs, talkie())), Adapter(blobs), server(video="frames", frames=2))[1][0]
        assert said(row) == [("frames sampled", "lossy"), ("muted", "lossless")]

    def test_a_list_of_frames_stays_together_without_a_note(self, blobs):
        part = stored(blobs, film("mp4", "libx264"))
        turns, (row,) = deliver(asked(part), Adapter(blobs), server("dashscope", video="frame_list", frames=3))
        assert [one.internal for one in turns[0].content] == [{"frame_of": "video_1"}] * 3
        check_sent(row, turns[0].content)

    def test_where_the_server_samples_the_manifest_says_so(self, blobs):
        _, _, row = sent(blobs, film("mp4", "libx264"), server("vllm-qwen-omni", frames=8))
        assert (row["frames_requested"], row["frames_sent"], row["times_s"]) == (8, None, None)
        (change,) = row["adaptations"]
        assert (change["what"], change["loss"]) == ("frames sampled", "lossy")
        assert "the server samples frames itself; asked for 8" in change["detail"]


class TestOneFilm:
    """For a server that takes one kind of media in a message."""

    def test_a_video_and_its_sound(self, blobs):
        video, sound = stored(blobs, talkie(seconds=1)), stored(blobs, tone(1000, 1))
        turns, rows = deliver(asked(video, " and ", sound, "?"), Adapter(blobs), server("dashscope"))
        contents = turns[0].content
        assert [one.type for one in contents] == ["video", "text", "text", "text"]
        assert contents[2].text == "[<audio_1> is the sound of the film above.]"
        media_type, data = payload(contents[0])
        found = probe(data)
        assert (media_type, found.has_audio, found.frame_count) == ("video/mp4", True, 10)
        assert "h264" in found.codecs
        assert pitch_hz(data) == pytest.approx(1000, abs=5)  # not the 440 Hz that the video came with
        assert found.duration_s == pytest.approx(1, abs=0.1)
        levels = [float(pixels.mean()) for _, pixels in iter_frames(data)]
        assert levels == pytest.approx([20 * place for place in range(10)], abs=6)
        check_sent(rows[0], [contents[0]])
        assert rows[0]["sent"] == rows[1]["sent"]
        assert [said(row) for row in rows] == [[("muted", "lossless"), ("muxed", "lossy")]] * 2
        assert [row["name"] for row in rows] == ["video_1", "audio_1"]

    @pytest.mark.parametrize("container", ["matroska", "mp4"])
    def test_picture_and_sound_begin_together(self, blobs, container):
        parts = stored(blobs, film(container, "libx264", begin=50)), stored(blobs, tone(1000, 2))
        turns, rows = deliver(asked(*parts), Adapter(blobs), server("dashscope"))
        with av.open(io.BytesIO(payload(turns[0].content[0])[1])) as made:
            begins = {stream.type: float(stream.start_time * stream.time_base) for stream in made.streams}
        assert begins == {"video": pytest.approx(0, abs=0.03), "audio": pytest.approx(0, abs=0.03)}
        # The film is as long as the longer of the two: 1.2 s of pictures, 2 s of sound.
        assert rows[0]["sent"][0]["duration_s"] == pytest.approx(2, abs=0.1)

    def test_a_container_without_times_is_not_copied(self, blobs):
        shown = film("avi", "mpeg4", options={"bf": "2"})
        turns, _ = deliver(
            asked(stored(blobs, shown), stored(blobs, tone(1000, 1))), Adapter(blobs), server("dashscope")
        )
        with av.open(io.BytesIO(payload(turns[0].content[0])[1])) as made:
            assert made.streams.video[0].start_time == 0
            assert made.streams.video[0].codec_context.name == "h264"

    @pytest.mark.parametrize("first", ["image", "audio"])
    def test_a_picture_stands_as_long_as_the_sound_lasts(self, blobs, first):
        buffer = io.BytesIO()
        Image.new("RGB", (65, 49), (200, 30, 40)).save(buffer, "PNG")
        parts = [stored(blobs, buffer.getvalue()), stored(blobs, tone(700, 3))]
        turns, rows = deliver(asked(*(parts if first == "image" else parts[::-1])), Adapter(blobs), server("dashscope"))
        contents = turns[0].content
        assert [one.type for one in contents][:2] == ["text", "video"]
        assert "<image_1> as its picture and <audio_1> as its sound" in contents[0].text
        _, data = payload(contents[1])
        assert probe(data).duration_s == pytest.approx(3, abs=0.1)
        assert pitch_hz(data) == pytest.approx(700, abs=5)
        shown = [pixels for _, pixels in iter_frames(data)]
        assert len(shown) >= 4
        assert all(pixels.mean(axis=(0, 1)) == pytest.approx([200, 30, 40], abs=6) for pixels in shown)
        assert [said(row) for row in rows] == [[("muxed", "lossy")]] * 2

    def test_the_same_bytes_each_time(self, blobs):
        parts = asked(stored(blobs, film("mp4", "libx264")), stored(blobs, tone(1000, 1)))
        once, again = (deliver(parts, Adapter(blobs), server("dashscope"))[1] for _ in range(2))
        assert once == again

    def test_one_kind_alone_goes_as_it_is(self, blobs):
        _, received, row = sent(blobs, tone(500, 0.2), server("dashscope"))
        assert (received, said(row)) == (tone(500, 0.2), [])

    def test_what_makes_no_film_is_refused(self, blobs):
        pictures = [stored(blobs, image("PNG")), stored(blobs, image("JPEG"), 2)]
        sound = stored(blobs, tone(500, 0.2))
        with pytest.raises(CannotMix, match="image_1 and image_2 and audio_1 make no one film"):
            deliver(asked(*pictures, sound), Adapter(blobs), server("dashscope"))
        with pytest.raises(CannotMix, match="image_1 and video_1"):
            deliver(asked(pictures[0], stored(blobs, film("mp4", "libx264"))), Adapter(blobs), server("dashscope"))
        with pytest.raises(CannotMix):
            deliver(asked(pictures[0], sound), Adapter(blobs), server("openai", mixed=False))

    def test_frames_and_pictures_are_of_one_kind(self, blobs):
        parts = asked(stored(blobs, image("PNG")), stored(blobs, film("mp4", "libx264")))
        turns, _ = deliver(parts, Adapter(blobs), server("openai", mixed=False, frames=2))
        assert [one.type for one in turns[0].content] == ["image", "text", "image", "image"]


class TestLimits:
    def test_a_kind_that_is_not_taken_is_refused_not_dropped(self, blobs):
        parts = asked("Listen: ", stored(blobs, tone(500, 0.1)))
        with pytest.raises(KindNotTaken, match="takes no audio") as raised:
            deliver(parts, Adapter(blobs), server("inspect-pictures"))
        assert isinstance(raised.value, MediaError)

    def test_more_parts_than_are_taken(self, blobs):
        parts = asked(stored(blobs, tone(500, 0.1)), stored(blobs, tone(600, 0.1), 2))
        with pytest.raises(TooManyParts, match="2 audio parts, but endpoint 'dashscope' takes 1"):
            deliver(parts, Adapter(blobs), server("dashscope"))

    def test_a_picture_is_scaled_down(self, blobs):
        data = noise(300)
        _, received, row = sent(blobs, data, server(image={"most_bytes": 20_000}))
        after = Image.open(io.BytesIO(received))
        assert len(received) <= 20_000 < len(data)
        assert after.size[0] < 300
        assert said(row) == [("downscaled", "lossy")]
        assert "300 x 300 to" in row["adaptations"][0]["detail"]

    def test_a_sound_is_made_small(self, blobs):
        data = tone(440, 2, 48_000)
        _, received, row = sent(blobs, data, server(audio={"most_bytes": 100_000}))
        assert (len(received) <= 100_000 < len(data), said(row)) == (True, [("transcoded", "lossy")])
        assert heard(received)[0] == 16_000
        content, received, row = sent(blobs, data, server(audio={"most_bytes": 30_000}))
        assert (content.format, len(received) <= 30_000) == ("mp3", True)
        assert pitch_hz(received) == pytest.approx(440, abs=5)
        assert load_audio(received).shape[0] / 16_000 == pytest.approx(2, abs=0.1)

    def test_a_video_is_scaled_down(self, blobs):
        rng = np.random.default_rng(0)
        buffer = io.BytesIO()
        with av.open(buffer, "w", format="mp4") as out:
            stream = out.add_stream("libx264", rate=10, options={"crf": "10"})
            stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
            for _ in range(10):
                pixels = rng.integers(0, 255, (120, 160, 3), dtype=np.uint8)
                out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            out.mux(stream.encode(None))
        data = buffer.getvalue()
        _, received, row = sent(blobs, data, server(video={"most_bytes": 40_000}))
        assert len(received) <= 40_000 < len(data)
        assert probe(received).frame_count == 10
        assert said(row) == [("downscaled", "lossy")]

    def test_what_cannot_be_made_small_enough_is_refused(self, blobs):
        with pytest.raises(TooLarge, match="the endpoint takes 100"):
            sent(blobs, tone(440, 2), server(audio={"most_bytes": 100}))

    def test_frames_obey_the_limit_of_pictures(self, blobs):
        part = stored(blobs, film("mp4", "libx264", (640, 480)))
        takes = server(video="frames", frames=2, image={"most_bytes": 3000})
        turns, (row,) = deliver(asked(part), Adapter(blobs), takes)
        check_sent(row, turns[0].content)
        assert all(one["byte_count"] <= 3000 for one in row["sent"])
        assert row["times_s"] == pytest.approx([0.3, 0.9])
