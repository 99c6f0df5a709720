"""What holds for every importer of scores."""

import duckdb
import pytest

from compression.importers import IMPORTERS, load_scores
from compression.importers.base import BadPool, Reading
from compression.pool_cli import import_command

ENTRIES = [pytest.param(entry, id=entry.name) for entry in IMPORTERS]


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_knows_nothing_of_what_is_not_its_own(entry, tmp_path):
    (tmp_path / "notes.txt").write_text("hit\n", encoding="utf-8")
    (tmp_path / "other.json").write_text('{"hit": 1}', encoding="utf-8")
    (tmp_path / "other.jsonl").write_text('{"hit": 1}\n', encoding="utf-8")
    importer = entry.load()
    assert not any(importer.knows(path) for path in (tmp_path, *tmp_path.iterdir()))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"{}", b"[]", b"null", b"a,b\n1,2\n"])
def test_what_it_cannot_read_is_told_with_the_name_of_the_file(entry, content, tmp_path):
    file = tmp_path / "strange.csv"
    file.write_bytes(content)
    with duckdb.connect() as connection, pytest.raises(BadPool, match=r"strange\.csv"):
        load_scores(connection, file, Reading(format=entry.name))


def test_the_command_names_every_format():
    (option,) = (one for one in import_command.__annotations__["form"].__metadata__)
    for entry in IMPORTERS:
        assert entry.name in option.help
