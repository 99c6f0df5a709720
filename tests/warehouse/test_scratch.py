import subprocess
import sys

from warehouse.scratch import scratch_folder

KEPT_BY_ANOTHER = """
import os, sys
from pathlib import Path
from warehouse.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "half").write_bytes(bytes(10))
    print(folder.name, flush=True)
    sys.stdin.read()
    os._exit(1)  # as if it were killed: nothing is tidied up
"""


def test_a_folder_and_its_place_are_gone_afterwards(tmp_path):
    place = tmp_path / "blobs" / ".incoming"
    with scratch_folder(place) as first, scratch_folder(place) as second:
        assert first != second
        (first / "half").write_bytes(b"a")
        assert {path.parent for path in (first, second)} == {place}
    assert not place.exists()


def test_what_a_killed_process_left_goes_and_what_another_works_in_stays(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", KEPT_BY_ANOTHER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    left = tmp_path / other.stdout.readline().strip()
    with scratch_folder(tmp_path):
        assert (left / "half").exists()
    other.communicate("")
    assert (left / "half").exists()
    with scratch_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
