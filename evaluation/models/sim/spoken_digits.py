"""The spoken digits that the `captcha` package ships: found by where it is installed, without importing it."""

from importlib.util import find_spec
from pathlib import Path

from core.errors import MissingExtra

MODULE = "captcha"


def file_of(digit: int) -> str:
    """Where the package keeps its recording of a digit."""
    return f"data/{digit}/default.wav"


def package_folder(module: str, feature: str) -> Path:
    """The folder of an installed package of the demo's.

    Raises:
        MissingExtra: It is not installed.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(feature, "demo")
    return Path(spec.submodule_search_locations[0])


def installed_digits() -> dict[int, Path]:
    """Digit to its recording.

    Raises:
        MissingExtra: The package is not installed.
    """
    folder = package_folder(MODULE, "A gallery of spoken digits")
    return {digit: folder / file_of(digit) for digit in range(10)}
