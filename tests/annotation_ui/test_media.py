"""Signed media addresses, the route behind them, and small pictures."""

import hashlib
import io
import math
import os
import stat
import struct
import wave
from datetime import timedelta

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from annotation_ui import accounts, media_routes
from annotation_ui.media_links import WINDOW, MediaLinks
from annotation_ui.media_routes import ByteRange, MediaRoutes, UnsatisfiableRange, parse_range
from annotation_ui.studio import KeyExposed, read_or_make_key
from core.content import MediaRef, Modality
from warehouse.people import Role, get_user

BYTES = bytes(range(256)) * 20


@pytest.fixture
def client(studio, auth):
    return TestClient(Starlette(routes=MediaRoutes(studio, auth).routes()))


@pytest.fixture
def links(studio):
    return MediaLinks(studio.key, studio.clock)


@pytest.fixture
def reader(people, sign_in, studio, client):
    """An annotator whose browser holds their cookie."""
    token, who = sign_in("annotator")
    client.cookies.set(studio.cookie_name, token)
    return who


def stored(studio, data=BYTES, media_type="audio/wav", modality=Modality.AUDIO):
    sha256 = studio.workspace.blobs.put(data)
    return MediaRef(sha256=sha256, media_type=media_type, modality=modality, byte_count=len(data))


def test_whole_media_with_the_headers_that_guard_it(studio, client, links, reader):
    media = stored(studio)
    answer = client.get(links.url(media, reader.user_id))
    assert (answer.status_code, answer.content) == (200, BYTES)
    headers = answer.headers
    assert headers["content-type"] == "audio/wav"
    assert headers["content-length"] == str(len(BYTES))
    assert headers["accept-ranges"] == "bytes"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["content-disposition"] == f'inline; filename="{media.sha256[:16]}"'
    assert "private" in headers["cache-control"]


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [("bytes=0-0", 0, 0), ("bytes=10-19", 10, 19), ("bytes=5100-", 5100, 5119), ("bytes=-7", 5113, 5119), ("bytes=5000-9999999", 5000, 5119), ("bytes=-99999", 0, 5119)],
)  # fmt: skip
def test_ranges(studio, client, links, reader, header, first, last):
    answer = client.get(links.url(stored(studio), reader.user_id), headers={"Range": header})
    assert answer.status_code == 206
    assert answer.content == BYTES[first : last + 1]
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(BYTES)}"
    assert answer.headers["content-length"] == str(last + 1 - first)


@pytest.mark.parametrize("header", ["bytes=5120-", "bytes=9999-10000", "bytes=-0"])
def test_a_range_outside_the_media_is_refused_with_its_size(studio, client, links, reader, header):
    answer = client.get(links.url(stored(studio), reader.user_id), headers={"Range": header})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */5120")


@pytest.mark.parametrize(
    "header", ["bytes=9-3", "bytes=a-b", "bytes=", "bytes=-", "items=0-1", "bytes=0-1,4-5", "bytes=+1-2", "bytes=١-٢"]
)
def test_what_is_no_single_range_gets_the_whole(header):
    assert parse_range(header, 100) is None


def test_range_laws():
    for size in (1, 2, 9):
        for start in range(size):
            for end in range(start, size):
                assert parse_range(f"bytes={start}-{end}", size) == ByteRange(start, end)
        with pytest.raises(UnsatisfiableRange):
            parse_range(f"bytes={size}-", size)


def test_head_sends_no_body_and_caches_are_answered(studio, client, links, reader):
    url = links.url(stored(studio), reader.user_id)
    head = client.head(url)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "5120")
    assert client.get(url, headers={"If-None-Match": head.headers["etag"]}).status_code == 304
    changed = client.get(url, headers={"Range": "bytes=0-1", "If-Range": '"other"'})
    assert (changed.status_code, len(changed.content)) == (200, 5120)


def test_media_is_read_in_chunks(studio, client, links, reader, monkeypatch):
    asked = []
    real = studio.workspace.blobs.open(stored(studio).sha256).__class__.read
    monkeypatch.setattr(media_routes, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(
        type(studio.workspace.blobs.open(stored(studio).sha256)),
        "read",
        lambda self, n=-1: asked.append(n) or real(self, n),
        raising=False,
    )
    with client.stream("GET", links.url(stored(studio), reader.user_id)) as answer:
        assert b"".join(answer.iter_raw()) == BYTES
    assert max(asked) <= 1000 and -1 not in asked


def test_nobody_is_told_to_sign_in(studio, client, links, people):
    answer = client.get(links.url(stored(studio), people[Role.ANNOTATOR].id))
    assert answer.status_code == 401


def test_an_address_made_for_somebody_else_is_refused(studio, client, links, reader, people):
    answer = client.get(links.url(stored(studio), people[Role.REVIEWER].id))
    assert answer.status_code == 403


def test_who_may_not_see_media_is_refused_with_an_address_of_their_own(studio, client, links, people, sign_in):
    token, who = sign_in("participant")
    client.cookies.set(studio.cookie_name, token)
    assert client.get(links.url(stored(studio), who.user_id)).status_code == 403


def test_deactivation_closes_the_route_at_once(studio, client, links, reader, database):
    url = links.url(stored(studio), reader.user_id)
    assert client.get(url).status_code == 200
    with database.session() as session:
        accounts.set_active(session, get_user(session, "annotator"), False)
    assert client.get(url).status_code == 401


def test_addresses_expire(studio, client, links, reader, clock):
    url = links.url(stored(studio), reader.user_id)
    clock.turn(minutes=10)
    assert client.get(url).status_code == 200
    clock.turn(minutes=10)
    assert client.get(url).status_code == 403


def test_an_address_stays_the_same_within_its_window_and_lives_one_to_two_windows(links, studio, clock):
    media = stored(studio)
    first = links.url(media, "u")
    clock.turn(seconds=WINDOW.total_seconds() - 1)
    assert links.url(media, "u") == first
    clock.turn(seconds=1)
    assert links.url(media, "u") != first
    assert links.grant(first.rpartition("/")[2]) is not None
    clock.now += timedelta(seconds=WINDOW.total_seconds())
    assert links.grant(first.rpartition("/")[2]) is None


def test_tampered_addresses_are_refused(studio, client, links, reader):
    good = links.url(stored(studio), reader.user_id).rpartition("/")[2]
    other = links.url(stored(studio, b"other"), reader.user_id).rpartition("/")[2]
    payload, signature = good.rsplit(".", 1)
    for bad in (
        f"{other.rsplit('.', 1)[0]}.{signature}", payload, f"{payload}.", f"{payload}.{signature[:-3]}AAA", "a.b", ".", signature,
        MediaLinks(b"another key", studio.clock).url(stored(studio), reader.user_id).rpartition("/")[2],
    ):  # fmt: skip
        answer = client.get(f"/files/{bad}")
        assert answer.status_code in {403, 404}, bad
        assert BYTES not in answer.content


@pytest.mark.parametrize(
    "path",
    [
        "/files/../studio.key",
        "/files/%2e%2e%2fstudio.key",
        "/files/..%5c..%5cinterplay.db",
        "/files//etc/passwd",
        "/files/",
        "/files/%00",
    ],
)
def test_paths_lead_nowhere(studio, client, reader, path):
    answer = client.get(path)
    assert answer.status_code in {403, 404}
    assert studio.key.hex() not in answer.text


def test_a_signed_name_that_is_no_hash_opens_no_file(studio, client, links, reader, tmp_path):
    (tmp_path / "secret").write_text("secret")
    forged = stored(studio).model_copy(update={"sha256": "../secret"})
    for variant in ("whole", "small"):
        answer = client.get(links.url(forged, reader.user_id, variant))
        assert (answer.status_code, "secret" in answer.text) == (404, False)


def test_media_that_is_not_there_is_not_found(studio, client, links, reader):
    media = stored(studio).model_copy(update={"sha256": "0" * 64})
    assert client.get(links.url(media, reader.user_id)).status_code == 404
    assert client.get(links.url(media, reader.user_id, "small")).status_code == 404


@pytest.mark.parametrize(
    "media_type", ["image/svg+xml", "text/html", "application/xhtml+xml", "text/xml", "application/pdf"]
)
def test_what_a_browser_could_run_is_only_offered_for_saving(studio, client, links, reader, media_type):
    media = stored(studio, b"<svg onload='alert(1)'/>", media_type, Modality.IMAGE)
    answer = client.get(links.url(media, reader.user_id))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


def test_small_pictures_of_pictures_films_and_sounds(studio, client, links, reader, seed):
    cases = [
        (seed.png(3, 1200, 800), "image/png", Modality.IMAGE, (480, 320)),
        (seed.mp4(1), "video/mp4", Modality.VIDEO, (160, 96)),
        (seed.wav(1), "audio/wav", Modality.AUDIO, (480, 160)),
    ]
    for data, media_type, modality, size in cases:
        url = links.url(stored(studio, data, media_type, modality), reader.user_id, "small")
        answer = client.get(url)
        assert answer.status_code == 200
        assert Image.open(io.BytesIO(answer.content)).size == size
        assert client.get(url).content == answer.content
    kept = [path for path in studio.thumbnail_folder.rglob("*") if path.is_file()]
    assert len(kept) == len(cases)


def test_media_that_cannot_be_decoded_has_no_small_picture(studio, client, links, reader):
    media = stored(studio, b"not a picture", "image/png", Modality.IMAGE)
    assert client.get(links.url(media, reader.user_id, "small")).status_code == 404


def test_a_waveform_is_tall_where_the_sound_is_loud(studio, client, links, reader):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        quiet, loud = [0] * 8000, [int(12000 * math.sin(math.tau * place / 8)) for place in range(8000)]
        out.writeframes(struct.pack("<16000h", *quiet, *loud))
    url = links.url(stored(studio, buffer.getvalue()), reader.user_id, "small")
    picture = Image.open(io.BytesIO(client.get(url).content)).convert("RGB")
    ground = picture.getpixel((0, 0))

    def inked(x_range):
        return sum(picture.getpixel((x, y)) != ground for x in x_range for y in range(160))

    assert inked(range(300, 460)) > 10 * inked(range(20, 180))


def test_the_key_is_the_owners_alone_and_stays(tmp_path):
    key = read_or_make_key(tmp_path)
    assert len(key) == 32 and read_or_make_key(tmp_path) == key
    file = tmp_path / "studio.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    os.chmod(file, 0o644)
    with pytest.raises(KeyExposed, match="chmod 600"):
        read_or_make_key(tmp_path)


def test_two_projects_have_two_keys_and_two_cookies(tmp_path, studio):
    other = type(studio)(studio.workspace, b"other", studio.clock)
    assert other.cookie_name != studio.cookie_name
    assert hashlib.sha256(b"cookie" + studio.key).hexdigest()[:12] in studio.cookie_name
