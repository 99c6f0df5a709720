import sys
from pathlib import Path

import pytest

from core.errors import UnknownName
from core.registry import BrokenPlugin, Entry, Registry


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, for packages of other people."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path, name: str, source: str, entry_points: str) -> None:
    """What an installer leaves behind: a module, and metadata with entry points."""
    (site / f"{name}.py").write_text(source)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)


REGISTRY = Registry(
    "dances",
    (Entry("waltz", "2", "math:pi"), Entry("tango", "1", "math:no_such"), Entry("samba", "1", "no_such_module:x")),
)


def test_an_entry_loads_its_target_and_has_a_fingerprint():
    entry = REGISTRY["waltz"]
    assert entry.load() == pytest.approx(3.14159265)
    assert entry.fingerprint == "waltz@2"


def test_entries_come_by_name():
    assert [entry.name for entry in REGISTRY] == ["samba", "tango", "waltz"]


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName, match="unknown dance 'walz'; did you mean 'waltz'"):
        REGISTRY["walz"]


@pytest.mark.parametrize("name", ["tango", "samba"])
def test_a_target_that_is_not_there_is_named(name):
    entry = REGISTRY[name]
    with pytest.raises(BrokenPlugin, match=f"'{name}' points to '{entry.target}', which cannot be loaded"):
        entry.load()


def test_nothing_is_imported_before_it_is_loaded(site):
    (site / "late_module.py").write_text("x = 7\n")
    registry = Registry("late", (Entry("late", "1", "late_module:x"),))
    assert [entry.fingerprint for entry in registry] == ["late@1"]
    assert "late_module" not in sys.modules
    assert registry["late"].load() == 7
    del sys.modules["late_module"]


def test_installed_packages_add_entries_but_never_replace_ours(site):
    install(
        site,
        "their_dances",
        "polka = 'theirs'\nwaltz = 'theirs'\n",
        "[interplay.dances]\npolka@3 = their_dances:polka\nplain = their_dances:polka\nwaltz@9 = their_dances:waltz\n"
        "[interplay.songs]\nfado@1 = their_dances:fado\n",
    )
    fingerprints = [entry.fingerprint for entry in REGISTRY]
    assert fingerprints == ["plain@0", "polka@3", "samba@1", "tango@1", "waltz@2"]
    assert REGISTRY["polka"].load() == "theirs"
    assert REGISTRY["waltz"].load() == pytest.approx(3.14159265)
    sys.modules.pop("their_dances", None)
