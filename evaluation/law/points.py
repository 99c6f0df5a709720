"""What the compositional law is fitted to: each model's audio, visual and omni-modal score, as shares."""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.content import Frozen
from core.errors import InterplayError

SCORES = ("audio", "visual", "omni")
Interval = tuple[float, float]


class BadLawFile(InterplayError):
    """A file of scores that cannot be read as such."""


class NotAShare(InterplayError):
    """A score outside 0 to 1."""


class MixedUnits(InterplayError):
    """Shares and percentages side by side."""


class DuplicateModel(InterplayError):
    """A model that stands twice."""


class LawPoint(Frozen):
    """One model's scores, each a share from 0 to 1.

    `intervals` holds the 95% interval of those scores for which one is known, by the score's name.
    """

    model: str
    audio: float
    visual: float
    omni: float
    intervals: Mapping[str, Interval] = {}


def law_points(
    scores: Mapping[str, Sequence[float]], intervals: Mapping[str, Mapping[str, Interval]] | None = None
) -> tuple[LawPoint, ...]:
    """Points from each model's (audio, visual, omni) shares, in the order of the models' names.

    Args:
        scores: By model; shares from 0 to 1.
        intervals: By model and by score ("audio", "visual", "omni"): 95% intervals, shares too.

    Raises:
        NotAShare: A score outside 0 to 1; the text says so where it looks like a percentage.
    """
    for model, values in scores.items():
        for name, value in zip(SCORES, values, strict=True):
            _check_share(f"{name} of {model!r}", value)
    return tuple(
        LawPoint(model=model, **dict(zip(SCORES, map(float, scores[model]), strict=True)), intervals=known)
        for model in sorted(scores)
        for known in [(intervals or {}).get(model, {})]
    )


def read_points(path: Path, *, percent: bool = False) -> tuple[tuple[LawPoint, ...], bool]:
    """Points from a CSV or JSON file, and whether its numbers are percentages.

    Columns: `model`, `audio`, `visual`, `omni`, and at will `audio_low`, `audio_high` and so on for 95% intervals. JSON
    is a list of objects with these keys. Numbers are shares, unless `percent` is set or the three columns are called
    `audio_percent`, `visual_percent`, `omni_percent`; this is never guessed.

    Raises:
        BadLawFile: Not a table with these columns, or a cell that is no number.
        DuplicateModel, NotAShare, MixedUnits: A wrong row, which the text names.
    """
    rows = _rows(path)
    if not rows:
        raise BadLawFile(f"{path} holds no models; give a row with model, audio, visual and omni for each")
    in_header = {name for name in SCORES if f"{name}_percent" in rows[0]}
    if in_header and in_header != set(SCORES):
        raise MixedUnits(f"{path} has {sorted(in_header)} in percent and the rest not; use one unit for all three")
    percent, suffix = percent or bool(in_header), "_percent" if in_header else ""
    scores: dict[str, list[float]] = {}
    intervals: dict[str, dict[str, Interval]] = {}
    for place, row in enumerate(rows, start=1):
        where = f"{path}, row {place}"
        model = str(row.get("model") or "").strip()
        if not model:
            raise BadLawFile(f"{where} names no model; the column is called 'model'")
        if model in scores:
            raise DuplicateModel(f"{where}: the model {model!r} stands twice; keep one row, or give them two names")
        scores[model] = [_number(row, f"{name}{suffix}", where) for name in SCORES]
        intervals[model] = dict(_intervals(row, where))
    if percent:
        _check_percent(path, scores)
        scores = {model: [value / 100 for value in values] for model, values in scores.items()}
        intervals = {
            model: {name: (low / 100, high / 100) for name, (low, high) in known.items()}
            for model, known in intervals.items()
        }
    else:
        _check_no_percent(path, scores)
    return law_points(scores, intervals), percent


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadLawFile(f"{path} cannot be read ({error}); give a CSV or JSON file in UTF-8") from error
    if path.suffix.lower() != ".json":
        reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
        return [{str(name).strip().lower(): cell for name, cell in row.items()} for row in reader]
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadLawFile(f"{path} is no JSON ({error})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadLawFile(f"{path} must be a list of objects with model, audio, visual and omni")
    return rows


def _number(row: Mapping[str, Any], name: str, where: str) -> float:
    if name not in row:
        raise BadLawFile(f"{where} has no column {name!r}; the columns are model, audio, visual, omni")
    try:
        value = float(row[name])
    except (TypeError, ValueError) as error:
        raise BadLawFile(f"{where}: {name} is {row[name]!r}, which is no number") from error
    if not math.isfinite(value):
        raise BadLawFile(f"{where}: {name} is {row[name]!r}; leave out models without a score")
    return value


def _intervals(row: Mapping[str, Any], where: str) -> Iterable[tuple[str, Interval]]:
    for name in SCORES:
        given = [end for end in (f"{name}_low", f"{name}_high") if row.get(end) not in {None, ""}]
        if len(given) == 1:
            raise BadLawFile(f"{where} has {given[0]} alone; an interval needs {name}_low and {name}_high")
        if given:
            low, high = (_number(row, end, where) for end in given)
            if low > high:
                raise BadLawFile(f"{where}: {name}_low is above {name}_high")
            yield name, (low, high)


def _check_share(what: str, value: float) -> None:
    if 1 < value <= 100:
        raise NotAShare(f"{what} is {value:g}, which looks like a percentage; shares from 0 to 1 are needed")
    if not 0 <= value <= 1:
        raise NotAShare(f"{what} is {value:g}; a share lies from 0 to 1")


def _check_percent(path: Path, scores: Mapping[str, Sequence[float]]) -> None:
    for model, values in scores.items():
        for name, value in zip(SCORES, values, strict=True):
            if not 0 <= value <= 100:
                raise NotAShare(f"{path}: {name} of {model!r} is {value:g}; a percentage lies from 0 to 100")
    shares = [model for model, values in scores.items() if max(values) <= 1]
    if shares:
        raise MixedUnits(
            f"{path} is read as percentages, but {shares[0]!r} has none above 1 and looks like shares; use one unit"
        )


def _check_no_percent(path: Path, scores: Mapping[str, Sequence[float]]) -> None:
    above = [model for model, values in scores.items() if max(values) > 1]
    if not above:
        return
    if all(min(values) >= 0 and max(values) <= 100 for values in scores.values()) and len(above) == len(scores):
        raise NotAShare(f"{path} holds percentages (such as {max(scores[above[0]]):g} of {above[0]!r}); add --percent")
    raise MixedUnits(
        f"{path} has values above 1 for {above[0]!r} and not for every model; use shares or percentages throughout"
    )
