"""Senses that are not perfect: each count, digit, figure and photo is right with a stated probability."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.models.sim.chance import pick, share
from evaluation.models.sim.percepts import Clip, Percept, Picture, Sound


@dataclass(frozen=True)
class Senses:
    """One member's senses on one piece of media.

    Attributes:
        accuracy: Probability that a percept is right.
        photo_count: Photos in the gallery; a photo is taken for another one of them.
        key: Who looks, at what, in which replicate: the same key errs in the same way.
    """

    accuracy: float
    photo_count: int
    key: str

    def blur(self, percept: Percept) -> Percept:
        """The percept as this member has it."""
        changes: dict[str, object]
        match percept:
            case Picture():
                changes = {
                    "dots": self._count(percept.dots, "dots"),
                    "photo": self._row(percept.photo, "photo", self.photo_count),
                    "tiles": self._rows(percept.tiles, "tile", self.photo_count),
                    "number": None if percept.number is None else self._figures(percept.number),
                }
            case Sound():
                changes = {
                    "beeps": self._count(percept.beeps, "beeps"),
                    "digits": self._rows(percept.digits, "digit", 10),
                }
            case Clip():
                changes = {
                    "flashes": self._count(percept.flashes, "flashes"),
                    "dots": self._count(percept.dots, "dots"),
                    "shots": self._rows(percept.shots, "shot", self.photo_count),
                    "numbers": self._figures(percept.numbers),
                    "sound": None if percept.sound is None else self.blur(percept.sound),
                }
        return percept.model_copy(update=changes)

    def _right(self, name: str) -> bool:
        return share(self.key, "right", name) < self.accuracy

    def _count(self, value: int, name: str) -> int:
        return value if self._right(name) else pick([value + 1, value - 1][: 1 + (value > 0)], self.key, "off", name)

    def _figures(self, number: str) -> str:
        return "".join(map(str, self._rows([int(figure) for figure in number], "figure", 10)))

    def _row(self, value: int | None, name: str, rows: int) -> int | None:
        if value is None or rows < 2 or self._right(name):
            return value
        return (value + 1 + pick(range(rows - 1), self.key, "taken for", name)) % rows

    def _rows(self, values: Sequence[int | None], name: str, rows: int) -> tuple[int | None, ...]:
        return tuple(self._row(value, f"{name} {place}", rows) for place, value in enumerate(values))
