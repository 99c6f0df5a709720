"""The demo's material and items, as a team would hand them in: a manifest with media files, and an item file."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import yaml

from core.content import Modality
from interplay import demo_media
from interplay.demo_media import DemoMedium
from qc.ground_truth import Family, GroundTruthItem, Materials, TruthClass, generate, write_items
from warehouse.blobs import write_atomically

MANIFEST = "manifest.csv"
GALLERY = "gallery.npz"
SOUND_ITEMS = 20
# One of each way to be wrong; as choice questions, whose wrong keys a panel can point at.
PLANTED = (TruthClass.REDUNDANT, TruthClass.LEAKED, TruthClass.PARTIAL, TruthClass.MIS_KEYED, TruthClass.IMPOSSIBLE)
# Pictures that anybody may change and pass on, so that what is made from them may be released.
_FREE = {"CC0-1.0", demo_media.PUBLIC_DOMAIN}

SETTINGS = f"""
# Four simulated families for quality control: they decode what they receive, and guess what they cannot perceive.
# Each prefers a place of the options when it guesses, as real models do; asking every rotation cancels that.
[models.ada]
provider = "interplay-sim/ada"
panel = true
arguments = {{ gallery = "project:{GALLERY}", seed = 1, position_bias = 1.0 }}

[models.bo]
provider = "interplay-sim/bo"
panel = true
arguments = {{ gallery = "project:{GALLERY}", seed = 2, position_bias = 0.9, perception = 0.98 }}

[models.chen]
provider = "interplay-sim/chen"
panel = true
arguments = {{ gallery = "project:{GALLERY}", seed = 3, position_bias = 0.8 }}

[models.dia]
provider = "interplay-sim/dia"
panel = true
arguments = {{ gallery = "project:{GALLERY}", seed = 4, position_bias = 0.9, perception = 0.97 }}

# Two more to evaluate: one that perceives well, one that often mishears and prefers the first place.
[models.keen]
provider = "interplay-sim/keen"
arguments = {{ gallery = "project:{GALLERY}", seed = 11, perception = 0.99 }}

[models.hasty]
provider = "interplay-sim/hasty"
arguments = {{ gallery = "project:{GALLERY}", seed = 12, perception = 0.6, position_bias = 0.2 }}
"""


def prepare(project: Path) -> Path:
    """Write the source folder, and what the simulated models know, unless both are there; returns the source folder.

    The manifest is written last, so a source folder with one is whole.

    Raises:
        MissingExtra: The packages that ship the media are not installed.
    """
    source = project / "source"
    if (source / MANIFEST).is_file():
        return source
    media = demo_media.collect(source / "real")
    demo_media.gallery(media).save(project / GALLERY)
    free = [one for one in media if one.modality is not Modality.IMAGE or one.licence in _FREE]
    items = generate_items(demo_media.materials(free))
    write_items(items, source)
    _plant_broken_files(source)
    write_atomically(source / MANIFEST, _manifest(media, items, source).encode())
    return source


def generate_items(materials: Materials) -> list[GroundTruthItem]:
    """Sound items of every family in both languages, and one planted item of each wrong kind.

    A leak that announces the answer is found by the automatic checks; one that only tells in words what the media show
    (the last item) is found by asking without them.
    """
    sound = generate(SOUND_ITEMS, 1, materials, mix={TruthClass.SOUND: 1.0})
    planted = generate(len(PLANTED), 2, materials, mix=dict.fromkeys(PLANTED, 1.0), families=(Family.SUM,))
    (told,) = generate(1, 3, materials, mix={TruthClass.SOUND: 1.0}, families=(Family.SUM,))
    words = " ".join(file.caption for file in told.media.values())
    in_words = told.model_copy(update={"truth": TruthClass.LEAKED, "prompt": f"{told.prompt} {words}"})
    return [*sound, *planted, in_words]


def truths(source: Path) -> dict[str, str]:
    """What each item was made to be, by its name."""
    known = yaml.safe_load((source / "truth.yaml").read_text(encoding="utf-8"))
    return {name: truth["truth"] for name, truth in known.items()}


def _plant_broken_files(source: Path) -> None:
    """Files that every library meets: one of them empty, one cut off, one that is not what its name says."""
    broken = source / "broken"
    broken.mkdir(exist_ok=True)
    photo = (source / "real" / "china.jpg").read_bytes()
    (broken / "empty.wav").write_bytes(b"")
    (broken / "cut-off.jpg").write_bytes(photo[: len(photo) // 2])
    # One more byte after the picture's end: another file than the photo, and a picture all the same.
    (broken / "not-a-film.mp4").write_bytes(photo + b"\n")


def _manifest(media: Sequence[DemoMedium], items: Sequence[GroundTruthItem], source: Path) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["path", "source", "licence", "author", "tags"])
    for one in media:
        path = one.path.relative_to(source).as_posix()
        writer.writerow([path, f"{one.package}: {one.package_file}", one.licence, one.author, one.label_en])
    for item in items:
        for placeholder, file in item.media.items():
            path = f"media/{item.name}-{placeholder}.{file.extension}"
            # The voice keeps the licence of the package that it came with; all else is drawn, or free.
            spoken = placeholder.startswith("audio")
            licence = "BSD-3-Clause" if spoken else "CC0-1.0"
            author = "Hsiaoming Yang (voice), Interplay demo" if spoken else "Interplay demo"
            writer.writerow([path, "generated by interplay demo", licence, author, "generated"])
    for name in ("cut-off.jpg", "empty.wav", "not-a-film.mp4"):
        writer.writerow(
            [f"broken/{name}", "made by interplay demo to be refused", "CC0-1.0", "Interplay demo", "broken"]
        )
    return text.getvalue()
