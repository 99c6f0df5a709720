"""An exported folder, opened without its project."""

import hashlib
import shutil
from pathlib import Path

import pytest

from warehouse.blobs import DamagedBlob, MissingBlob
from warehouse.release.build import Query, Recipe, build_release
from warehouse.release.export import export_release
from warehouse.release.opened import DamagedExport, open_export
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan
from warehouse.release.verify import NoExport

FORMATS = ["huggingface", "jsonl"]


@pytest.fixture(scope="module")
def exports(shared_world, tmp_path_factory):
    """One release of pictures, sounds and a film in every format."""
    world = shared_world
    for name in "abc":
        world.choice_item(name, ord(name))
    world.steps_item("film", 9)
    recipe = Recipe(Query(), SplitPlan(0.4), "CC-BY-4.0", salt="pepper")
    build_release(world.database, "zoo", "1.0.0", recipe, "max", world.clock)
    seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock)
    folders = {name: tmp_path_factory.mktemp(name) / "out" for name in FORMATS}
    for name, folder in folders.items():
        export_release(world.database, world.blobs, "zoo", "1.0.0", name, folder, world.clock)
    return folders


@pytest.fixture
def exported(exports, tmp_path, request):
    """A copy, to be damaged."""
    return Path(shutil.copytree(exports[request.param], tmp_path / "out"))


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_every_medium_is_found_by_its_content(exported, shared_world):
    opened = open_export(exported)
    assert opened.manifest.title == "zoo 1.0.0"
    assert opened.manifest_sha256 == hashlib.sha256((exported / "manifest.json").read_bytes()).hexdigest()
    assert {one.media.modality.value for one in opened.manifest.media.values()} == {"image", "audio", "video"}
    for sha256 in opened.manifest.media:
        assert opened.get(sha256) == shared_world.blobs.get(sha256)


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_media_that_are_lost_or_changed_later_are_said_so(exported):
    opened = open_export(exported)
    with pytest.raises(MissingBlob, match="media 0000 is not in"):
        opened.get("0000")
    (film,) = (sha256 for sha256, one in opened.manifest.media.items() if one.media.modality.value == "video")
    (file,) = exported.glob(f"*/{film}.mp4")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DamagedBlob, match=f"media {film} in .* is damaged; get the release again"):
        opened.get(film)
    shutil.rmtree(exported)
    for sha256 in opened.manifest.media:
        with pytest.raises(MissingBlob, match="get the release again"):
            opened.get(sha256)


@pytest.mark.parametrize("exported", FORMATS, indirect=True)
def test_a_damaged_export_is_not_opened(exported, tmp_path):
    (exported / "README.md").write_text("other")
    with pytest.raises(
        DamagedExport, match=r"out is damaged: README.md: its bytes are not those that were exported; get"
    ):
        open_export(exported)
    (exported / "more").write_text("")
    with pytest.raises(DamagedExport, match="and 1 more damages"):
        open_export(exported)
    with pytest.raises(NoExport):
        open_export(tmp_path)
