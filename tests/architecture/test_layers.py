"""The floors of the house. import-linter holds them; here: that it sees the whole house, and that it is content."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINTER = SETTINGS["tool"]["importlinter"]
FLOORS = [
    {"interplay"},
    {"annotation_ui"},
    {"curation", "qc", "compression", "scorer_training", "game_assets"},
    {"evaluation"},
    {"warehouse"},
    {"core"},
]


def lint_imports(folder: Path, config: Path) -> subprocess.CompletedProcess[str]:
    line = [str(Path(sys.executable).parent / "lint-imports"), "--config", str(config), "--no-cache"]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


def test_packages_import_only_from_floors_below():
    done = lint_imports(ROOT, ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_is_told_of_every_package_and_of_every_floor():
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    assert packages == set().union(*FLOORS)
    assert set(LINTER["root_packages"]) == packages
    (contract,) = LINTER["contracts"]
    assert [set(layer.split(" | ")) for layer in contract["layers"]] == FLOORS
    assert "ignore_imports" not in contract


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("core", "import warehouse"),
        ("evaluation", "from qc import x"),
        ("qc", "def late():\n    import curation"),
        ("warehouse", "from interplay.cli import app"),
    ],
)
def test_the_linter_would_find_a_wrong_import(tmp_path, package, source):
    """The same contract over an empty house with one wrong import in it."""
    for name in LINTER["root_packages"]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "interplay" / "cli.py").touch()
    (tmp_path / package / "wrong.py").write_text(source)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    done = lint_imports(tmp_path, tmp_path / "pyproject.toml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{package}.wrong" in done.stdout
