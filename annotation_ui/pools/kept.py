"""What was worked out of pools, kept in files so that the next visitor waits for nothing.

Each file is named by the pool's state and by what was asked. Scores that come in make another state, under which
nothing is kept yet; nothing here is lost for good when the folder is deleted.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, TypeAdapter, ValidationError

from compression.curve_values import Curve
from compression.matrix import MissingRule
from compression.pool_picture import PoolPicture, PoolState, pool_states
from compression.strata_view import StrataView
from compression.subset_view import LabelCount
from compression.validate import Protocol, Validation
from core.content import Frozen
from core.provenance import content_hash
from core.taxonomy import Language
from warehouse.blobs import write_atomically
from warehouse.workspace import Workspace

_Model = TypeVar("_Model", bound=BaseModel)
_STATES = TypeAdapter(list[PoolState])
LabelCounts = dict[str, list[LabelCount]]
_COUNTS = TypeAdapter(LabelCounts)
_LETTERS = 20


class CurveSettings(Frozen):
    """What is asked of a cost-benefit curve; `margin` is one whose exact size is wanted, in [0, 1]."""

    samplers: tuple[str, ...]
    splits: int
    repeats: int
    seed: int = 0
    missing: MissingRule = MissingRule.DROP
    margin: float | None = None


class StrataSettings(Frozen):
    """What is asked of strata."""

    sampler: str
    size: int
    seed: int = 0
    missing: MissingRule = MissingRule.DROP


class ValiditySettings(Frozen):
    """What is asked of a validation, as `compress validate` is asked; `held_out` is a share of the models."""

    size: int
    samplers: tuple[str, ...]
    splits: int = Protocol.splits
    repeats: int = Protocol.repeats
    held_out: float = Protocol.held_out
    missing: MissingRule = MissingRule.DROP


class KeptCurve(Frozen):
    """A curve with what was asked, by whom and when; `key` names its files."""

    settings: CurveSettings
    by: str
    at: datetime
    curve: Curve
    key: str = ""


class KeptStrata(Frozen):
    """Strata with what was asked, by whom and when."""

    settings: StrataSettings
    by: str
    at: datetime
    view: StrataView


class KeptValidity(Frozen):
    """How well subsets predict, with what was asked, by whom and when."""

    settings: ValiditySettings
    by: str
    at: datetime
    validation: Validation


_Dated = TypeVar("_Dated", KeptStrata, KeptValidity)


class PoolResults:
    """The kept results of one project."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._folder = workspace.project.pool_folder

    def states(self) -> list[PoolState]:
        """Every pool as it stands now; they are counted anew only when files of scores came or went."""
        files = content_hash(self._workspace.facts.files("pool_score"))
        place = self._folder / f"states-{files[:_LETTERS]}.json"
        try:
            return _STATES.validate_json(place.read_bytes())
        except (OSError, ValidationError):
            found = pool_states(self._workspace)
            self._write(place, _STATES.dump_json(found))
            return found

    def picture(self, state: PoolState) -> PoolPicture | None:
        """What is drawn of a pool; None where nobody looked at it yet."""
        return self._read(self._place(state, "picture.json"), PoolPicture)

    def questions_file(self, state: PoolState) -> Path | None:
        """Parquet of a pool's questions (see `picture_of`); None where nobody looked at it yet."""
        place = self._place(state, "questions.parquet")
        return place if place.is_file() else None

    def keep_picture(self, state: PoolState, picture: PoolPicture, questions: pa.Table) -> None:
        """The questions come first: whoever finds the picture finds them."""
        buffer = pa.BufferOutputStream()
        pq.write_table(questions, buffer, compression="zstd")
        self._write(self._place(state, "questions.parquet"), buffer.getvalue().to_pybytes())
        self._write(self._place(state, "picture.json"), picture.model_dump_json().encode())

    def curves(self, state: PoolState) -> list[KeptCurve]:
        """All curves of a pool as it stands, the newest first."""
        found = []
        for place in self._folder.glob(f"{self._start(state)}-curve-*.json"):
            kept = self._read(place, KeptCurve)
            if kept is not None:
                found.append(kept.model_copy(update={"key": place.stem}))
        return sorted(found, key=lambda kept: kept.at, reverse=True)

    def keep_curve(self, state: PoolState, kept: KeptCurve, pictures: dict[Language, bytes]) -> None:
        """The pictures come first, for the same reason."""
        place = self._place(state, f"curve-{_hash(kept.settings)}.json")
        for language, picture in pictures.items():
            self._write(place.with_name(f"{place.stem}-{language}.svg"), picture)
        self._write(place, kept.model_dump_json().encode())

    def curve_picture(self, kept: KeptCurve, language: str) -> bytes | None:
        """Its SVG in that language."""
        try:
            return (self._folder / f"{kept.key}-{language}.svg").read_bytes()
        except OSError:
            return None

    def strata(self, state: PoolState) -> list[KeptStrata]:
        """All strata of a pool as it stands, the newest first."""
        return self._newest(state, "strata", KeptStrata)

    def keep_strata(self, state: PoolState, kept: KeptStrata) -> None:
        """Under what was asked."""
        self._keep(state, "strata", kept)

    def validities(self, state: PoolState) -> list[KeptValidity]:
        """All validations of a pool as it stands, the newest first."""
        return self._newest(state, "validity", KeptValidity)

    def keep_validity(self, state: PoolState, kept: KeptValidity) -> None:
        """Under what was asked."""
        self._keep(state, "validity", kept)

    def file_of(self, sha256: str) -> Path | None:
        """A file of labels, or of fixed questions, that a subset was chosen with here."""
        return next(iter(sorted(self._folder.glob(f"labels-{sha256}.*"))), None)

    def keep_file(self, sha256: str, ending: str, data: bytes) -> None:
        """A manifest holds only the hash of such a file."""
        self._write(self._folder / f"labels-{sha256}{ending}", data)

    def label_counts(self, seal: str, labels: str, state: PoolState) -> LabelCounts | None:
        """What a subset keeps of each label of a file, by the subset's seal and the file's hash."""
        try:
            return _COUNTS.validate_json(
                self._place(state, f"kept-{seal[:_LETTERS]}-{labels[:_LETTERS]}.json").read_bytes()
            )
        except (OSError, ValidationError):
            return None

    def keep_label_counts(self, seal: str, labels: str, state: PoolState, counts: LabelCounts) -> None:
        """Of half a million labels it takes seconds to count them."""
        place = self._place(state, f"kept-{seal[:_LETTERS]}-{labels[:_LETTERS]}.json")
        self._write(place, _COUNTS.dump_json(counts))

    def _newest(self, state: PoolState, name: str, model: type[_Dated]) -> list[_Dated]:
        found = [self._read(place, model) for place in self._folder.glob(f"{self._start(state)}-{name}-*.json")]
        return sorted((kept for kept in found if kept is not None), key=lambda kept: kept.at, reverse=True)

    def _keep(self, state: PoolState, name: str, kept: KeptStrata | KeptValidity) -> None:
        self._write(self._place(state, f"{name}-{_hash(kept.settings)}.json"), kept.model_dump_json().encode())

    def _place(self, state: PoolState, name: str) -> Path:
        return self._folder / f"{self._start(state)}-{name}"

    def _start(self, state: PoolState) -> str:
        return state.sha256[:_LETTERS]

    def _read(self, place: Path, model: type[_Model]) -> _Model | None:
        # What another version wrote is worked out again.
        try:
            return model.model_validate_json(place.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, place: Path, data: bytes) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, data)


def state_of(states: Sequence[PoolState], pool: str) -> PoolState | None:
    """The state of the pool of that name."""
    return next((state for state in states if state.pool == pool), None)


def _hash(settings: Frozen) -> str:
    return content_hash(settings.model_dump(mode="json"))[:_LETTERS]
