"""What importing a package loads: nothing that takes seconds or is an optional extra. No linter sees that."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = [
    "torch",
    "streamlit",
    "pyannote",
    "open_clip",
    "faster_whisper",
    "sentence_transformers",
    "label_studio_sdk",
    "inspect_ai",
    "matplotlib",
    "pandas",
]
PACKAGES = sorted(file.parent.name for file in ROOT.glob("*/__init__.py"))
# A command line is imported by whoever asks for help. `interplay.cli` names those that live under another name.
DOORS = sorted(f"{file.parent.name}.{file.stem}" for name in PACKAGES for file in (ROOT / name).glob("*cli.py"))

# Records who asks for a heavy package, whether it is installed or not, and gives it to nobody: so one process can ask
# about every module, and a module that was content with a failed import is found out all the same.
LOOK = """
import json, sys
from importlib import import_module

heavy, names = json.loads(input())
asked = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in heavy:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            asked.append([name, f"{frame.f_globals.get('__name__')}:{frame.f_lineno}"])
            raise ModuleNotFoundError(f"{name} is watched", name=name)

sys.meta_path.insert(0, Watch())
told = {}
for name in names:
    before = len(asked)
    try:
        import_module(name)
        failure = None
    except ImportError as error:
        failure = str(error)
    told[name] = {"asked": asked[before:], "failure": failure}
told["loaded"] = sorted(heavy_one for heavy_one in heavy if heavy_one in sys.modules)
print(json.dumps(told))
"""


def look(names: list[str], *, path: Path = ROOT) -> dict:
    line = [sys.executable, "-c", LOOK]
    done = subprocess.run(line, input=json.dumps([HEAVY, names]), cwd=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def targets() -> list[str]:
    from interplay.cli import NOUNS

    return sorted({target.split(":")[0] for target, *_ in NOUNS.values()})


def test_importing_us_loads_nothing_heavy():
    told = look([*PACKAGES, *sorted({"interplay.cli", *DOORS, *targets()})])
    assert told.pop("loaded") == []
    assert {name: found for name, found in told.items() if found["asked"] or found["failure"]} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import torch",
        "from pandas import DataFrame",
        "import pyannote.audio",
        "try:\n    import label_studio_sdk\nexcept ImportError:\n    pass",
    ],
)
def test_the_watch_sees_every_attempt(tmp_path, source):
    (tmp_path / "guilty.py").write_text(source)
    (tmp_path / "innocent.py").write_text("def late():\n    import torch\n")
    told = look(["innocent", "guilty"], path=tmp_path)
    assert told["innocent"] == {"asked": [], "failure": None}
    ((name, place),) = told["guilty"]["asked"]
    assert name.split(".")[0] in HEAVY
    assert place.startswith("guilty:")
