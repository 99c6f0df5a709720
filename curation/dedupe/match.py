"""What is said of two materials that show or sound the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from curation.dedupe.cosine import TURNINGS, UPRIGHT

Pair = tuple[int, int]
WHOLE_BOX = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class Match:
    """Two near materials: `distance` is 0 for equal ones, `evidence`, a JSON object, tells what was aligned."""

    distance: float
    evidence: dict[str, Any]


def placed(first_to_second: npt.NDArray[np.float64]) -> dict[str, Any]:
    """How one picture lies on another, in words and numbers.

    `turning` is what the first needs to stand like the second; `box` are the shares (left, top, right, bottom) of the
    second that the first shows, beyond 0 and 1 where it shows more.

    Args:
        first_to_second: Affine map (2, 3) of places from the centre, side 1.
    """
    corners = np.array([[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5], [1, 1, 1, 1]])
    seen = first_to_second @ corners + 0.5
    turning = max(TURNINGS, key=lambda one: float((one.matrix.T * first_to_second[:, :2]).sum()))
    return {
        "turning": turning.name,
        "box": [round(float(edge), 2) + 0.0 for edge in (*seen.min(axis=1), *seen.max(axis=1))],
    }


def inverse(maps: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Affine maps (..., 2, 3) the other way round."""
    square = np.zeros((*maps.shape[:-2], 3, 3))
    square[..., :2, :], square[..., 2, 2] = maps, 1
    turned_round: npt.NDArray[np.float64] = np.linalg.inv(square)[..., :2, :].astype(np.float64)
    return turned_round


def told(evidence: Mapping[str, Any]) -> str:
    """The evidence of a link in words, each behind a semicolon; nothing where nothing had to be aligned."""
    said = []
    if evidence.get("turning", UPRIGHT.name) != UPRIGHT.name:
        said.append(f"the first {evidence['turning']}")
    box = evidence.get("box", WHOLE_BOX)
    if max(abs(edge - whole) for edge, whole in zip(box, WHOLE_BOX, strict=True)) > 0.02:
        left, top, right, bottom = (f"{edge:.0%}" for edge in box)
        said.append(f"it is {left} to {right} across and {top} to {bottom} down of the second")
    if evidence.get("offset_s", 0.0):
        said.append(f"it begins at {evidence['offset_s']:g} s of the second")
    if evidence.get("speed", 1.0) != 1.0:
        said.append(f"of which {evidence['speed']:g} s pass in 1 s of it")
    if evidence.get("semitones", 0.0):
        said.append(f"the second is {evidence['semitones']:+g} semitones higher")
    return "".join(f"; {one}" for one in said)
