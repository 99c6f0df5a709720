"""The forms that a law may have: the compositional law of UNO-Bench (section 5) and the four alternates of its Table 7.

Every form is a sum of columns, each times a coefficient; *shape* parameters (exponents, a weight) bend the columns.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.errors import UnknownName

Array = np.ndarray[Any, Any]

_EXPONENTS = (-8.0, -4.0, -2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
FREE = (-np.inf, np.inf)


@dataclass(frozen=True)
class Form:
    """One form of the law.

    Attributes:
        name, formula: For people.
        coefficients: Names of what multiplies the columns.
        shape: Names of the shape parameters.
        columns: (shape parameters, audio shares [n], visual shares [n]) -> columns [n, len(coefficients)].
        starts: Values that the search for each shape parameter begins from.
        bounds: Where each shape parameter may lie.
    """

    name: str
    formula: str
    coefficients: tuple[str, ...]
    columns: Callable[[Array, Array, Array], Array]
    shape: tuple[str, ...] = ()
    starts: tuple[tuple[float, ...], ...] = ()
    bounds: tuple[tuple[float, float], ...] = field(default=())

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters: the coefficients, then the shape."""
        return self.coefficients + self.shape

    def predict(self, parameters: Array, audio: Array, visual: Array) -> Array:
        """Omni-modal shares [n] for all parameters in the order of `parameters`."""
        split = len(self.coefficients)
        with np.errstate(all="ignore"):
            return self.columns(parameters[split:], audio, visual) @ parameters[:split]


def _power(base: Array, exponent: float) -> Array:
    return np.maximum(base, 0.0) ** exponent


def _symmetric(shape: Array, audio: Array, visual: Array) -> Array:
    return np.stack([_power(audio * visual, shape[0]), np.ones_like(audio)], axis=-1)


def _generalised(shape: Array, audio: Array, visual: Array) -> Array:
    return np.stack([_power(audio, shape[0]) * _power(visual, shape[1]), np.ones_like(audio)], axis=-1)


def _weighted_sum(shape: Array, audio: Array, visual: Array) -> Array:
    return np.stack(
        [_power(shape[0] * audio + (1 - shape[0]) * visual, shape[1]), np.ones_like(audio)],
        axis=-1,
    )


def _interaction(shape: Array, audio: Array, visual: Array) -> Array:
    return np.stack([np.ones_like(audio), audio, visual, audio * visual], axis=-1)


def _linear(shape: Array, audio: Array, visual: Array) -> Array:
    return np.stack([np.ones_like(audio), audio, visual], axis=-1)


SYMMETRIC = Form(
    name="symmetric",
    formula="C (P_A P_V)^alpha + b",
    coefficients=("C", "b"),
    columns=_symmetric,
    shape=("alpha",),
    starts=(_EXPONENTS,),
    bounds=(FREE,),
)
FORMS = (
    SYMMETRIC,
    Form(
        name="generalised",
        formula="C P_A^alpha_audio P_V^alpha_visual + b",
        coefficients=("C", "b"),
        columns=_generalised,
        shape=("alpha_audio", "alpha_visual"),
        starts=(_EXPONENTS, _EXPONENTS),
        bounds=(FREE, FREE),
    ),
    Form(
        name="linear_interaction",
        formula="w_audio P_A + w_visual P_V + w_both P_A P_V + b",
        coefficients=("b", "w_audio", "w_visual", "w_both"),
        columns=_interaction,
    ),
    Form(
        name="weighted_sum",
        formula="C (w_audio P_A + (1 - w_audio) P_V)^alpha + b",
        coefficients=("C", "b"),
        columns=_weighted_sum,
        shape=("w_audio", "alpha"),
        starts=((-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0), _EXPONENTS),
        bounds=(FREE, FREE),
    ),
    Form(
        name="weighted_sum_bounded",
        formula="C (w_audio P_A + (1 - w_audio) P_V)^alpha + b with w_audio in [0, 1]",
        coefficients=("C", "b"),
        columns=_weighted_sum,
        shape=("w_audio", "alpha"),
        starts=((0.0, 0.25, 0.5, 0.75, 1.0), _EXPONENTS),
        bounds=((0.0, 1.0), FREE),
    ),
    Form(
        name="linear",
        formula="w_audio P_A + w_visual P_V + b",
        coefficients=("b", "w_audio", "w_visual"),
        columns=_linear,
    ),
)


def find_form(name: str) -> Form:
    """The form of a name.

    Raises:
        UnknownName: There is none.
    """
    for form in FORMS:
        if form.name == name:
            return form
    raise UnknownName("form of the law", name, [form.name for form in FORMS])
