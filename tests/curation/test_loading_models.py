"""What is said of models that cannot be had or read: the same of every kind, in one line, with the mend."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from threading import Thread

import pytest

from core.errors import MissingExtra
from curation.embedding.clip import ClipEmbedder
from curation.embedding.text import TextEmbedder
from curation.models import UnusableModel
from curation.speech.audio_tagger import AudioTagger
from curation.speech.diarize import PyannoteDiarizer
from curation.speech.transcribe import FasterWhisper

pytestmark = pytest.mark.models


def clip(name: str) -> None:
    ClipEmbedder(name, Path("/")).load()


def text(name: str) -> None:
    TextEmbedder(name, Path("/")).load()


KINDS: list[tuple[Callable[[str], None], str, str]] = [
    (clip, "ViT-B-32/laion2b_s34b_b79k", "clip_model in interplay.toml"),
    (clip, "hf-hub:nobody/nothing", "clip_model in interplay.toml"),
    (text, "nobody/nothing", "text_model in interplay.toml"),
    (lambda name: FasterWhisper(name).load(), "small", "asr_model in interplay.toml"),
    (lambda name: PyannoteDiarizer(name).load(), "nobody/nothing", "diarization_model in interplay.toml"),
    (lambda name: AudioTagger(name).load(), "nobody/nothing", "--model"),
]
EVERY_KIND = pytest.mark.parametrize(
    ("load", "name", "setting"), KINDS, ids=["clip", "clip of the hub", "text", "whisper", "pyannote", "sounds"]
)


class Guarded(BaseHTTPRequestHandler):
    """A hub that is there, and gives nothing to who brings no token."""

    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == "/" else 401)
        self.send_header("X-Error-Code", "GatedRepo")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def guarded_hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hub_at(monkeypatch, tmp_path):
    """Say where the hub is; nothing was fetched from it before."""
    from huggingface_hub import constants

    def at(address: str) -> None:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))

    return at


def said(load: Callable[[str], None], name: str) -> str:
    with pytest.raises(UnusableModel) as caught:
        load(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@EVERY_KIND
def test_a_hub_out_of_reach_is_told_at_once(load, name, setting, hub_at):
    from huggingface_hub import constants

    hub_at("http://127.0.0.1:9")  # nothing listens there
    assert said(load, name) == (
        f"the model {name!r} is not on this machine, and the hub cannot be reached to fetch it; connect, or let "
        f"{setting} name a file or folder that holds it"
    )
    assert not constants.HF_HUB_OFFLINE


@EVERY_KIND
def test_a_hub_that_refuses_is_quoted_and_the_token_named(load, name, setting, hub_at, guarded_hub):
    hub_at(guarded_hub)
    told = said(load, name)
    assert told.startswith(f"the hub does not give the model {name!r} (401 Client Error")
    assert told.endswith(
        f"check its name, and HF_TOKEN for one that asks for a token, or let {setting} name a file or folder that "
        "holds it"
    )


@EVERY_KIND
def test_what_is_no_model_is_said_so_also_without_a_hub(load, name, setting, hub_at, tmp_path):
    hub_at("http://127.0.0.1:9")
    (tmp_path / "config.yaml").write_text("pipeline: {name: pyannote.audio.pipelines.Nothing}")
    (tmp_path / "open_clip_config.json").write_text("{}")
    told = said(load, str(tmp_path))
    if setting.startswith("asr_model"):  # what such a folder holds is known before anything is loaded
        assert f"names the folder {tmp_path}, which holds no model.bin" in told
        return
    assert told.startswith(f"the model '{tmp_path}' cannot be loaded (")
    assert told.endswith(f"); let {setting} name another")


def test_files_that_are_no_models_are_said_so(tmp_path):
    (tmp_path / "bad.pt").write_bytes(b"not a checkpoint")
    assert "cannot be loaded" in said(clip, f"ViT-B-32/{tmp_path / 'bad.pt'}")
    (tmp_path / "config.yaml").write_text("nothing: of use")
    assert "cannot be loaded" in said(lambda name: PyannoteDiarizer(name).load(), str(tmp_path / "config.yaml"))


@pytest.mark.parametrize(
    ("load", "extra"),
    [
        (clip, "vision"),
        (text, "text"),
        (lambda name: FasterWhisper(name).load(), "speech"),
        (lambda name: PyannoteDiarizer(name).load(), "speech"),
        (lambda name: AudioTagger(name).load(), "text"),
    ],
)
def test_a_missing_package_names_the_extra(load, extra, monkeypatch):
    def gone(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr("curation.models.version", gone)
    with pytest.raises(MissingExtra, match=rf"interplay\[{extra}\]"):
        load("nobody/nothing")
