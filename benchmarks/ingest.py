"""Ingest beside the tools that people clean picture folders with: the same files, whole commands, in turns.

    python -m venv peers && peers/bin/pip install cleanvision imagededup
    python benchmarks/ingest.py --peers peers/bin/python [--photos 1000] [--folder FOLDER]

Without `--folder` the files are JPEG pictures of 1280 x 960 px, each a different random part of the photographs that
scikit-image and scikit-learn ship. Subjects:

- `ingest`: `interplay material ingest` into a new project: every file hashed, decoded in full in guarded processes,
  stripped of metadata and stored, judged by the filters, looked at for duplicates, linked; rows in the tables.
- `ingest --dry-run`: the same without storing anything and without links.
- `CleanVision`: dark, light, blurry, low information, odd aspect ratio and size, exact and near duplicates.
- `imagededup`: PHash and the duplicates by it, the narrower task: no filters, no storing.

Fiftyone needs a MongoDB server; where `--fiftyone` names a Python that has both, its metadata and exact duplicates are
timed too.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

SIDES_PX = (1280, 960)
SHORTEST_SIDE_PX = 200

CLEANVISION = """
import sys
from cleanvision import Imagelab
kinds = "dark light blurry low_information odd_aspect_ratio odd_size exact_duplicates near_duplicates".split()
if __name__ == "__main__":
    lab = Imagelab(data_path=sys.argv[1])
    lab.find_issues({kind: {} for kind in kinds}, verbose=False)
    print(int(lab.issue_summary.num_images.sum()))
"""
IMAGEDEDUP = """
import sys
from imagededup.methods import PHash
if __name__ == "__main__":
    print(sum(map(len, PHash(verbose=False).find_duplicates(image_dir=sys.argv[1]).values())))
"""
FIFTYONE = """
import sys
import fiftyone as fo
import fiftyone.brain as fob
if __name__ == "__main__":
    dataset = fo.Dataset.from_images_dir(sys.argv[1])
    dataset.compute_metadata()
    print(len(fob.compute_exact_duplicates(dataset)))
"""


@dataclass(frozen=True)
class Subject:
    """A command that is timed; `{project}` in it is a new project each time."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Timed:
    """Seconds of the clock and of all processors."""

    wall_s: float
    cpu_s: float


def main() -> None:
    """Time all subjects in turns and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peers", help="a Python that has cleanvision and imagededup")
    parser.add_argument("--fiftyone", help="a Python that has fiftyone and its server")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        folder = asked.folder or make_photos(scratch / "photos", asked.photos)
        count = sum(file.is_file() for file in folder.rglob("*"))
        subjects = _subjects(folder, asked.peers, asked.fiftyone, scratch)
        taken: dict[str, list[Timed]] = {subject.name: [] for subject in subjects}
        for number in range(asked.rounds):
            for subject in subjects[number % len(subjects) :] + subjects[: number % len(subjects)]:
                taken[subject.name].append(_timed(subject, scratch))
        _print(taken, count)


def make_photos(folder: Path, count: int) -> Path:
    """Different parts of real photographs, so many, as JPEG files."""
    import skimage
    import sklearn

    places = (Path(skimage.__file__).parent / "data", Path(sklearn.__file__).parent / "datasets" / "images")
    found = sorted(file for place in places for file in place.rglob("*") if file.suffix in (".png", ".jpg", ".jpeg"))
    photos = [
        photo for photo in (Image.open(file).convert("RGB") for file in found) if min(photo.size) >= SHORTEST_SIDE_PX
    ]
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(count):
        photo = photos[number % len(photos)]
        share = generator.uniform(0.35, 0.8)
        width, height = int(photo.width * share), int(photo.height * share)
        x, y = generator.integers(0, photo.width - width + 1), generator.integers(0, photo.height - height + 1)
        part = photo.crop((x, y, x + width, y + height)).resize(SIDES_PX, Image.Resampling.LANCZOS)
        part.save(folder / f"{number:05d}.jpg", quality=90)
    return folder


def _subjects(folder: Path, peers: str | None, fiftyone: str | None, scratch: Path) -> list[Subject]:
    interplay = str(Path(sys.executable).with_name("interplay"))
    ours = (interplay, "material", "ingest", str(folder), "--project", "{project}", "--json")
    found = [Subject("ingest", ours), Subject("ingest --dry-run", (*ours, "--dry-run"))]
    scripts = [("CleanVision", CLEANVISION, peers), ("imagededup", IMAGEDEDUP, peers), ("fiftyone", FIFTYONE, fiftyone)]
    for name, text, python in scripts:
        if python is None:
            print(f"not measured: {name} (no Python that has it was named)")
            continue
        # Not its own name, which would hide the package.
        script = scratch / f"run_{name}.py"
        script.write_text(text, encoding="utf-8")
        found.append(Subject(name, (python, str(script), str(folder))))
    return found


def _timed(subject: Subject, scratch: Path) -> Timed:
    project = scratch / "project"
    shutil.rmtree(project, ignore_errors=True)
    interplay = str(Path(sys.executable).with_name("interplay"))
    subprocess.run([interplay, "init", str(project)], check=True, capture_output=True)
    command = [part.format(project=project) for part in subject.command]
    before, begun = _children_s(), time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    wall_s, cpu_s = time.perf_counter() - begun, _children_s() - before
    if done.returncode:
        raise SystemExit(f"{subject.name} failed: {done.stderr[-2000:]}")
    if subject.name == "ingest":
        counts = json.loads(done.stdout)["counts"]
        assert counts["new"], "nothing was taken in"
    return Timed(wall_s, cpu_s)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(taken: dict[str, list[Timed]], count: int) -> None:
    ours = statistics.median(one.wall_s for one in taken["ingest"])
    print(f"{count} files; medians of {len(taken['ingest'])} rounds\n")
    print("| subject | files a second | spread | ratio to ours | CPU ms a file |")
    print("| --- | --- | --- | --- | --- |")
    for name, times in taken.items():
        rates = sorted(count / one.wall_s for one in times)
        middle = statistics.median(one.wall_s for one in times)
        cpu_ms = 1000 * statistics.median(one.cpu_s for one in times) / count
        print(
            f"| {name} | {count / middle:.1f} | {rates[0]:.1f}-{rates[-1]:.1f} | {ours / middle:.2f} | {cpu_ms:.1f} |"
        )


if __name__ == "__main__":
    main()
