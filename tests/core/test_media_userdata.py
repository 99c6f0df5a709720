import hashlib
import io

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from core.media.audio import strip_container
from core.media.probe import probe
from core.media.userdata import cutters
from core.media.video import demux

PLACE = b"GPS 48.2"
MDPM = b"\x17\xee\x8c\x60\xf8\x4d\x11\xd9\x8c\xd6\x08\x00\x20\x0c\x9a\x66" + b"MDPM"
"""The name under which AVCHD cameras write place, time and model."""
MESSAGE = bytes([5, len(MDPM + PLACE)]) + MDPM + PLACE
RECOVERY_POINT = bytes([6, 1, 0xC4])
AVC_SEI, HEVC_SEI = b"\x06", b"\x4e\x01"
START = b"\0\0\1"


def behind_length(unit):
    return len(unit).to_bytes(4, "big") + unit


def before(code, data):
    return lambda packet: packet.replace(code, data + code, 1)


NOTES = {
    ("mp4", "libx264"): lambda packet: behind_length(AVC_SEI + MESSAGE + b"\x80") + packet,
    ("mov", "libx264"): lambda packet: behind_length(AVC_SEI + RECOVERY_POINT + MESSAGE + b"\x80") + packet,
    ("matroska", "libx264"): lambda packet: behind_length(b"\x1f" + PLACE) + packet,
    ("avi", "libx264"): lambda packet: START + AVC_SEI + MESSAGE + b"\x80" + packet,
    ("mp4", "libx265"): lambda packet: behind_length(HEVC_SEI + MESSAGE + b"\x80") + packet,
    ("matroska", "libx265"): lambda packet: behind_length(HEVC_SEI + MESSAGE + b"\x80") + packet,
    ("mp4", "mpeg4"): before(START + b"\xb6", START + b"\xb2" + PLACE),
    ("avi", "mpeg4"): before(START + b"\xb6", START + b"\xb2" + PLACE),
    ("matroska", "mpeg2video"): before(START + b"\x01", START + b"\xb2" + PLACE),
    ("mp4", "libsvtav1"): lambda packet: packet + bytes([0x2A, len(PLACE) + 2, 7]) + PLACE + b"\x80",
    ("webm", "libsvtav1"): lambda packet: packet + bytes([0x2A, len(PLACE) + 2, 31]) + PLACE + b"\x80",
}
"""Container and codec to what writes the place into a packet."""


def rewritten(data, muxer, change):
    """The film with every packet of its picture changed."""
    buffer = io.BytesIO()
    with av.open(io.BytesIO(data)) as source, av.open(buffer, "w", format=muxer) as out:
        stream = source.streams.video[0]
        copy = out.add_stream_from_template(stream, opaque=True)
        for packet in source.demux(stream):
            if packet.dts is None and not packet.size:
                continue
            changed = av.Packet(change(bytes(packet)))
            changed.pts, changed.dts, changed.duration = packet.pts, packet.dts, packet.duration
            changed.time_base, changed.is_keyframe, changed.stream = packet.time_base, packet.is_keyframe, copy
            out.mux(changed)
    return buffer.getvalue()


def frames(data):
    """Times, kinds and pixels, as they come out of the decoder."""
    with av.open(io.BytesIO(data)) as container:
        return [
            (frame.time, frame.pict_type, hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest())
            for frame in container.decode(video=0)
        ]


@pytest.mark.parametrize(("muxer", "codec"), NOTES)
def test_user_data_is_cut_out_and_every_picture_stays(make_film, muxer, codec):
    noted = rewritten(make_film(muxer, codec, None, size=(160, 120)), muxer, NOTES[muxer, codec])
    assert PLACE in noted
    assert probe(noted).has_metadata
    for stripped in (strip_container(noted), demux(noted).muted_video):
        assert PLACE not in stripped
        assert b"MDPM" not in stripped
        assert b"rc=" not in stripped  # settings of x264
        assert b"x265" not in stripped
        assert not probe(stripped).has_metadata
        assert frames(stripped) == frames(noted)
    assert len(frames(noted)) == 10


@pytest.mark.parametrize(("muxer", "codec"), [media for media in NOTES if media[1] in ("libx264", "libx265")])
def test_cutting_settles(make_film, muxer, codec):
    once = strip_container(rewritten(make_film(muxer, codec, None), muxer, NOTES[muxer, codec]))
    assert strip_container(once) == once


def test_pictures_that_lean_on_others_stay_in_order(make_film):
    noted = rewritten(make_film("mp4", "libx264", None, seconds=3), "mp4", NOTES["mp4", "libx264"])
    assert PictureType.B in {kind for _, kind, _ in frames(noted)}
    with av.open(io.BytesIO(noted)) as first, av.open(io.BytesIO(strip_container(noted))) as second:
        times = [
            [(packet.pts, packet.dts, packet.duration, packet.is_keyframe) for packet in container.demux(video=0)]
            for container in (first, second)
        ]
    assert times[0] == times[1]


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_what_decoders_go_by_stays(codec):
    header = AVC_SEI if codec == "h264" else HEVC_SEI
    _, cut = cutters(codec, None)
    picture = START + (b"\x65" if codec == "h264" else b"\x26\x01") + b"\x88" * 8
    both = START + header + RECOVERY_POINT + MESSAGE + b"\x80" + picture
    assert cut(both) == START + header + RECOVERY_POINT + b"\x80" + picture
    alone = START + header + RECOVERY_POINT + b"\x80" + picture
    assert cut(alone) == alone


def test_escaped_bytes_are_read_and_written_as_such():
    # Mastering display colours (137) of zeros need an escape; so does the user data before it.
    colours = bytes([137, 8]) + bytes.fromhex("0000030000030000030001")
    note = bytes([5, 20]) + MDPM[:16] + bytes.fromhex("0000030000")
    _, cut = cutters("hevc", None)
    assert cut(START + HEVC_SEI + note + b"\x03" + colours + b"\x80") == START + HEVC_SEI + colours + b"\x80"


def test_packet_that_breaks_off_is_left_as_it_is():
    _, cut = cutters("h264", b"\x01\x64\x00\x0a\xff\xe1")
    broken = behind_length(AVC_SEI + MESSAGE)[:-3]
    assert cut(broken) == broken


def test_number_of_an_old_x264_stays_for_its_faults_to_be_undone():
    """Builds before 151 coded 4:4:4 with a fault that FFmpeg's decoder undoes where it finds the number."""
    buffer = io.BytesIO()
    down, across = np.mgrid[:160, :160]
    noise = np.random.default_rng(0).normal(0, 6, (160, 160, 3))
    with av.open(buffer, "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 160, "yuv444p"
        for place in range(3):
            smooth = np.stack([2 * across + 5 * place, down + across // 2, across * down // 50], axis=2) % 256
            pixels = np.clip(smooth + noise, 0, 255).astype(np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        out.mux(stream.encode(None))
    new = buffer.getvalue()
    build = new[new.index(b"x264 - core ") :][:15]
    old = new.replace(build, b"x264 - core 100")
    assert frames(old) != frames(new)
    assert frames(strip_container(old)) == frames(old)
    assert b"rc=" not in strip_container(old)
