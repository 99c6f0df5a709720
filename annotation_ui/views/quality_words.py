"""Words of quality control, as its report has them, and its statistics as people read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from annotation_ui.words import Words
from qc.measure import Measure
from qc.report.words import texts, undefined_words


@dataclass(frozen=True)
class Figure:
    """A statistic, or that it is undefined and why."""

    text: str
    why: str = ""


@cache
def qc_words(language: str) -> Mapping[str, str]:
    """The words of the report of quality control by name, each beginning with a capital."""
    # A letter that stands for a quantity stays small.
    return {name: text if text[1:2] == " " else text[:1].upper() + text[1:] for name, text in texts(language).items()}


def figure(measure: Measure, t: Words) -> Figure:
    """A measure with three decimals."""
    if measure.value is None:
        return undefined(measure.reason or "", t)
    return Figure(measure.text)


def undefined(reason: str, t: Words) -> Figure:
    """That there is no value, and why."""
    return Figure(texts(t.language)["undefined"], undefined_words(reason).text(t.language))


def share(value: float | None, t: Words) -> str:
    """A share in percent; "undefined" for none."""
    return texts(t.language)["undefined"] if value is None else t.percent(value)
