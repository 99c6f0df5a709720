"""Files of scores and lists that come from browsers, and what is typed beside them."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from annotation_ui.pools.mistakes import ColumnsUnreadable, FloorUnreadable, ModelNeeded
from compression.importers import IMPORTERS
from compression.importers.base import Reading

COLUMNS = ("benchmark", "question_id", "model", "family", "score")
# So many letters fit a file system's 255 bytes in any script.
MOST_NAME = 80
_ONE_MODEL_A_FOLDER = {".json", ".jsonl"}


@dataclass(frozen=True)
class GivenFile:
    """A file from somebody's browser."""

    name: str
    data: bytes


def read_columns(text: str) -> dict[str, str]:
    """Names of columns in a file by ours, of lines `OURS=THEIRS`.

    Raises:
        ColumnsUnreadable: A line is none.
    """
    columns = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        ours, sign, theirs = (part.strip() for part in line.partition("="))
        if ours not in COLUMNS or not sign or not theirs:
            raise ColumnsUnreadable(line=line)
        columns[ours] = theirs
    return columns


def read_floors(text: str) -> dict[str, int]:
    """Least numbers of questions of each label by column, of lines `COLUMN=NUMBER`.

    Raises:
        FloorUnreadable: A line is none, or a column is named twice.
    """
    floors: dict[str, int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        column, _, least = (part.strip() for part in line.partition("="))
        if not column or not re.fullmatch("[1-9][0-9]{0,8}", least) or column in floors:
            raise FloorUnreadable(line=line)
        floors[column] = int(least)
    return floors


def list_of_ids(ids: Sequence[str]) -> bytes:
    """Ids of questions as the file that a command would be given."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([["question_id"], *([one] for one in ids)])
    return stream.getvalue().encode()


def written(folder: Path, given: Sequence[GivenFile]) -> list[Path]:
    """The files in a folder, each under the name that it had, as far as that is one of a plain file."""
    folder.mkdir(exist_ok=True)
    files = []
    for number, one in enumerate(given):
        # A folder each: two files of one name stay two, and a format may read what lies beside.
        place = folder / str(number) / safe_name(one.name)
        place.parent.mkdir()
        place.write_bytes(one.data)
        files.append(place)
    return files


def safe_name(name: str) -> str:
    """The last part of a path as a browser tells it, without letters that a pattern or another folder is made of."""
    last = PurePosixPath(name.replace("\\", "/")).name
    kept = re.sub(r"[^\w.+ -]", "_", last).lstrip(".")[-MOST_NAME:]
    return kept or "file"


def know_model(file: Path, reading: Reading) -> None:
    """Formats that tell the model by the folder say nothing of it when a single file comes."""
    told = reading.model is not None or reading.format == "inspect"
    if file.suffix.lower() in _ONE_MODEL_A_FOLDER and not told and not IMPORTERS["inspect"].load().knows(file):
        raise ModelNeeded(name=file.name)
