"""What the project's tests have and a benchmark takes from there."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def borrowed(place: str) -> ModuleType:
    """The module in a file below `tests`."""
    file = Path(__file__).parents[2] / "tests" / place
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for themselves
    spec.loader.exec_module(module)
    return module
