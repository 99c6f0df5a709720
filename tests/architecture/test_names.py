"""Our packages have the names of folders at the top: none may hide a module of Python's own."""

import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(file.parent.name for file in ROOT.glob("*/__init__.py"))
PYTHONS = SpecifierSet(SETTINGS["project"]["requires-python"])


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_hides_one_of_the_standard_library(package):
    assert package not in sys.stdlib_module_names


def test_python_3_14_which_has_a_compression_of_its_own_is_left_out():
    assert "compression" in PACKAGES
    assert "3.14" not in PYTHONS
    assert "3.14.0" not in PYTHONS
    assert {"3.11", "3.12.9", "3.13.1"} == set(PYTHONS.filter(["3.10.9", "3.11", "3.12.9", "3.13.1", "3.14.2", "4.0"]))


def test_the_wheel_holds_every_package():
    assert sorted(SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == PACKAGES


def test_the_classifiers_name_the_pythons_that_are_allowed():
    named = [text.rsplit(" :: ")[-1] for text in SETTINGS["project"]["classifiers"] if "Python :: 3." in text]
    assert named == [f"3.{minor}" for minor in range(30) if f"3.{minor}" in PYTHONS]
