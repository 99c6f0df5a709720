import errno
import hashlib
import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warehouse.blobs import BlobStore, DamagedBlob, MissingBlob

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, example 1


@pytest.fixture(params=["folder", "file_url", "memory"])
def store(request, tmp_path: Path) -> BlobStore:
    places = {
        "folder": str(tmp_path / "blobs"),
        "file_url": f"file://{tmp_path}/blobs",
        "memory": f"memory://{uuid.uuid4().hex}/blobs",
    }
    return BlobStore(places[request.param])


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_bytes_are_stored_under_their_sha256(store):
    assert not store.exists(ABC)
    assert store.put(b"abc") == ABC
    assert store.exists(ABC)
    assert store.get(ABC) == b"abc"
    store.verify(ABC)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(data=st.binary(max_size=2000))
def test_what_is_put_comes_back(store, data):
    sha256 = store.put(data)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert store.get(sha256) == data
    with store.open(sha256) as stream:
        stream.seek(len(data) // 2)
        assert stream.read() == data[len(data) // 2 :]


def test_putting_again_is_nothing(tmp_path):
    store = BlobStore(str(tmp_path))
    store.put(b"abc")
    (file,) = files(tmp_path)
    before = file.stat()
    assert store.put(b"abc") == ABC
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("call", ["get", "open", "verify"])
@pytest.mark.parametrize("name", ["0" * 64, "../../etc/passwd", "", ABC.upper(), ABC + "\n"])
def test_what_is_not_there_is_told(store, call, name):
    store.put(b"abc")
    with pytest.raises(MissingBlob):
        getattr(store, call)(name)
    assert not store.exists(name)


def test_no_name_leads_out_of_the_store(tmp_path):
    (tmp_path / "secret").write_bytes(b"mine")
    store = BlobStore(str(tmp_path / "blobs"))
    store.put(b"abc")
    with pytest.raises(MissingBlob, match="is not a sha256"):
        store.get("../secret")


@pytest.mark.parametrize("damage", [b"abd", b"", b"abcabc"])
def test_damage_is_found(tmp_path, damage):
    store = BlobStore(str(tmp_path))
    store.put(b"abc")
    (file,) = files(tmp_path)
    file.write_bytes(damage)
    for read in (store.get, store.verify):
        with pytest.raises(DamagedBlob, match=f"blob {ABC} in .* is damaged; delete that file"):
            read(ABC)


def test_a_truncated_file_is_written_anew(tmp_path):
    store = BlobStore(str(tmp_path))
    store.put(b"abc")
    (file,) = files(tmp_path)
    file.write_bytes(b"a")
    store.put(b"abc")
    assert store.get(ABC) == b"abc"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_is_cut_short_leaves_nothing(tmp_path, monkeypatch, step):
    """The disk is full, or the process is stopped, before the bytes have their name."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    store = BlobStore(str(tmp_path))
    with monkeypatch.context() as broken:
        broken.setattr(os, step, stop)
        with pytest.raises(KeyboardInterrupt):
            store.put(b"abc")
    assert not store.exists(ABC)
    assert files(tmp_path) == []
    store.put(b"abc")
    assert store.get(ABC) == b"abc"


def test_the_bytes_are_on_the_disk_before_they_have_their_name(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (synced.append([p.name for p in files(tmp_path)]), real(number)))
    BlobStore(str(tmp_path)).put(b"abc")
    assert len(synced) == 1
    assert ABC not in synced[0]


def written(place: Path, data: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(data=st.binary(max_size=2000))
def test_a_file_is_stored_as_its_bytes_are(store, tmp_path, data):
    sha256 = hashlib.sha256(data).hexdigest()
    for _ in range(2):
        store.put_file(written(tmp_path / "given" / "file", data), sha256)
        assert store.get(sha256) == data
        assert store.put(data) == sha256


def test_a_local_store_takes_the_file_itself(tmp_path):
    store = BlobStore(str(tmp_path / "blobs"))
    file = written(store.incoming / "file", b"abc")
    node = file.stat().st_ino
    store.put_file(file, ABC)
    (stored,) = files(tmp_path)
    assert (stored.name, stored.stat().st_ino) == (ABC, node)


def test_a_file_of_another_disk_is_copied(tmp_path, monkeypatch):
    real = os.replace

    def across(source: object, place: object) -> None:
        if Path(source).name == "file":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real(source, place)

    monkeypatch.setattr(os, "replace", across)
    store = BlobStore(str(tmp_path / "blobs"))
    store.put_file(written(tmp_path / "given" / "file", b"abc"), ABC)
    assert store.get(ABC) == b"abc"
    assert [path.name for path in files(tmp_path / "blobs")] == [ABC]


def test_a_file_of_other_bytes_is_not_stored(store, tmp_path):
    with pytest.raises(DamagedBlob, match=f"was to hold blob {ABC}"):
        store.put_file(written(tmp_path / "given" / "file", b"abd"), ABC)
    assert not store.exists(ABC)
    assert not store.exists(hashlib.sha256(b"abd").hexdigest())


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_storing_a_file_that_is_cut_short_leaves_nothing(tmp_path, monkeypatch, step):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    store = BlobStore(str(tmp_path / "blobs"))
    with monkeypatch.context() as broken:
        broken.setattr(os, step, stop)
        with pytest.raises(KeyboardInterrupt):
            store.put_file(written(tmp_path / "given" / "file", b"abc"), ABC)
    assert not store.exists(ABC)
    assert files(tmp_path / "blobs") == []
    store.put_file(written(tmp_path / "given" / "file", b"abc"), ABC)
    assert store.get(ABC) == b"abc"


def test_many_may_put_the_same_bytes_at_once(tmp_path):
    store, data = BlobStore(str(tmp_path)), bytes(300_000)
    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(store.put, [data] * 32))
    assert len(names) == 1
    assert store.get(names.pop()) == data
    assert len(files(tmp_path)) == 1
