"""Media as model endpoints take them: most as they are, some kinds in another container or coding, always said so."""

import io
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock

import av
import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from core.content import MediaRef, Modality
from core.media.audio import PCM_SCALE, encode_wav, load_audio
from core.media.container import BITEXACT, codec_name, main_video, opened, remux
from core.media.errors import UndecodableMedia
from core.media.image import load_image
from core.media.limits import DEFAULT_LIMITS
from core.media.probe import probe
from core.media.video import iter_frames
from warehouse.blobs import BlobStore

KEPT_BYTES = 256 << 20

# What the providers behind Inspect AI have in common; its audio and video parts know no further formats at all.
TAKEN = {
    Modality.IMAGE: frozenset({"image/jpeg", "image/png", "image/webp"}),
    Modality.AUDIO: frozenset({"audio/wav", "audio/mpeg"}),
    Modality.VIDEO: frozenset({"video/mp4", "video/quicktime", "video/mpeg"}),
}
# Containers whose packets all carry their times, and codecs that players of MP4 know.
_COPIED_FROM = frozenset({"video/webm", "video/matroska"})
_COPIED_CODECS = frozenset({"h264", "hevc", "vp9", "av1", "mpeg4"})
_H264_OPTIONS = {"preset": "veryfast", "crf": "18"}
_CLOCK_HZ = 90_000
_USUAL_RATE_HZ = 25.0


@dataclass(frozen=True)
class Adapted:
    """Bytes to send; `adaptation` says what was changed and whether it is lossy, None when nothing was."""

    data: bytes
    media_type: str
    adaptation: str | None = None


class Adapter:
    """Media from the store in a form that endpoints take.

    What had to be changed is kept for the next call, up to `kept_bytes`: one item is put to many models, under many
    conditions, in many rotations. May be called from several threads.
    """

    def __init__(self, blobs: BlobStore, kept_bytes: int = KEPT_BYTES) -> None:
        self._blobs = blobs
        self._most = kept_bytes
        self._kept: OrderedDict[str, Adapted] = OrderedDict()
        self._working = Lock()

    def fetch(self, media: MediaRef) -> Adapted:
        """The media in a form that endpoints take.

        Raises:
            MissingBlob, DamagedBlob: They are not in the store.
            MediaError: They cannot be decoded.
        """
        data = self._blobs.get(media.sha256)
        if media.media_type in TAKEN.get(media.modality, frozenset()):
            return Adapted(data, media.media_type)
        with self._working:
            known = self._kept.get(media.sha256) or adapt(media, data)
            self._kept[media.sha256] = known
            self._kept.move_to_end(media.sha256)
            while len(self._kept) > 1 and sum(len(one.data) for one in self._kept.values()) > self._most:
                self._kept.popitem(last=False)
        return known


def adapt(media: MediaRef, data: bytes) -> Adapted:
    """Media of any kind that the library holds, in a form that endpoints take; same bytes in, same bytes out.

    Pictures become PNG (the first frame), sounds WAV of 16 bits in their own rate and channels, videos MP4 without
    sound: copied packet by packet where possible, else coded again.

    Raises:
        MediaError: They cannot be decoded.
    """
    ways: dict[Modality, Callable[[MediaRef, bytes], Adapted]] = {
        Modality.IMAGE: _as_png,
        Modality.AUDIO: _as_wav,
        Modality.VIDEO: _as_mp4,
    }
    return ways[media.modality](media, data)


def _as_png(_media: MediaRef, data: bytes) -> Adapted:
    buffer = io.BytesIO()
    load_image(data).save(buffer, "PNG")
    return Adapted(buffer.getvalue(), "image/png", "first frame as PNG of 8 bits, laid on white (lossless if it fits)")


def _as_wav(media: MediaRef, data: bytes) -> Adapted:
    samples = load_audio(data, sample_rate_hz=None, mono=False)
    rate_hz = media.sample_rate_hz or probe(data).sample_rate_hz
    if rate_hz is None:
        raise UndecodableMedia(f"sound {media.sha256[:12]} has no sampling rate; ingest it again")
    scaled = samples * PCM_SCALE
    # Float sounds that are no whole 16-bit steps, or louder than full scale, change a little.
    is_exact = bool(np.array_equal(scaled, np.clip(np.round(scaled), -PCM_SCALE, PCM_SCALE - 1)))
    adaptation = f"decoded to WAV of 16 bits ({'lossless' if is_exact else 'lossy'})"
    return Adapted(encode_wav(samples, rate_hz), "audio/wav", adaptation)


def _as_mp4(media: MediaRef, data: bytes) -> Adapted:
    if media.media_type in _COPIED_FROM:
        with opened(data, DEFAULT_LIMITS) as container:
            picture = main_video(container)
            if picture is not None and codec_name(picture) in _COPIED_CODECS:
                copied = remux(container, [picture], "mp4", f"video {media.sha256[:12]}")
                return Adapted(copied, "video/mp4", "copied into MP4 (lossless)")
    return Adapted(_as_h264(media, data), "video/mp4", "coded again as H.264 in MP4 (lossy)")


def _as_h264(media: MediaRef, data: bytes) -> bytes:
    buffer = io.BytesIO()
    try:
        with av.open(buffer, "w", format="mp4", container_options=BITEXACT) as out:
            stream: VideoStream | None = None
            for time_s, pixels in iter_frames(data):
                # H.264's usual colour format has one colour for 2 x 2 pixels.
                height_px, width_px = (size - size % 2 for size in pixels.shape[:2])
                if stream is None:
                    stream = _h264_stream(out, width_px, height_px, media.frame_rate_hz or _USUAL_RATE_HZ)
                even = np.ascontiguousarray(pixels[: stream.height, : stream.width])
                frame = VideoFrame.from_ndarray(even, format="rgb24")
                frame.pts, frame.time_base = round(time_s * _CLOCK_HZ), Fraction(1, _CLOCK_HZ)
                out.mux(stream.encode(frame))
            if stream is not None:
                out.mux(stream.encode(None))
    except (FFmpegError, ValueError) as error:
        raise UndecodableMedia(f"video {media.sha256[:12]} cannot be coded as H.264 ({error}); convert it") from error
    return buffer.getvalue()


def _h264_stream(out: av.container.OutputContainer, width_px: int, height_px: int, frame_rate_hz: float) -> VideoStream:
    # Frames carry their own times; the rate says how long the last one is shown.
    rate = Fraction(frame_rate_hz).limit_denominator(1001)
    stream = out.add_stream("libx264", rate=rate, options=_H264_OPTIONS)
    stream.width, stream.height, stream.pix_fmt = width_px, height_px, "yuv420p"
    stream.time_base = stream.codec_context.time_base = Fraction(1, _CLOCK_HZ)
    stream.codec_context.thread_count = 1  # with more threads, the bytes depend on how many
    return stream
