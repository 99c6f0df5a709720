"""Whether the key shows from outside: by its place among the choices, its length, or words that the prompt holds too.

Only choice questions with one right choice are looked at. Nobody needs to have answered them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.content import Frozen, TextPart
from core.question import Question
from evaluation.graders.phrases import UNSPACED
from evaluation.metrics import Values
from qc.checks.authoring import normalise
from qc.measure import Measure, undefined

EXPECTED_AT_LEAST = 5
# Up to so many questions of one number of choices every outcome is counted.
EXACT_QUESTIONS = 60
# Sums of shares that are told apart; with ties of up to 8 choices they are 840 a question.
_MOST_SUMS = 2_000_000
_RUN = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|(?:(?![{UNSPACED}])[^\W_])+")


class Position(Frozen):
    """How often the key stands in each place.

    Attributes:
        counts: Keys by place.
        expected: What places drawn at random give, from the number of choices of each question.
        statistic: Pearson's chi-square; neighbouring places that are expected fewer than 5 times count as one.
            Where the numbers of choices differ, its p is somewhat too large.
        test: What p comes from.
        p: That keys placed at random lie at least as unevenly.
    """

    counts: tuple[int, ...]
    expected: tuple[float, ...]
    statistic: Measure
    test: Literal["chi-square", "exact multinomial"] | None
    p: Measure


class Standout(Frozen):
    """How often the key is the choice that stands out by something.

    Attributes:
        trait: `longest`, `shortest` (in characters) or `overlap` (most words that the prompt holds too).
        questions: Those whose choices differ in it.
        observed: How often the key stands out; one of t choices that stand out alike counts 1 / t.
        expected: How often a choice drawn at random would: the sum of 1 / K.
        p: Twice the smaller tail of the exact distribution of `observed` (with one number of choices and no ties the
            binomial one).
    """

    trait: str
    questions: int
    observed: float
    expected: float
    p: Measure


class KeyBias(Frozen):
    """What the choices tell of the key: `questions` have one right choice, `left_out` have none or several."""

    questions: int
    left_out: int
    position: Position
    traits: tuple[Standout, ...]


def key_bias(questions: Sequence[Question]) -> KeyBias:
    """Look at the keys of these questions."""
    single = [question for question in questions if len(question.answer.correct) == 1]
    traits: dict[str, Callable[[Question], list[int]]] = {
        "longest": lambda question: [len(choice.text) for choice in question.choices],
        "shortest": lambda question: [-len(choice.text) for choice in question.choices],
        "overlap": _overlaps,
    }
    keys = [question.answer.correct[0] for question in single]
    return KeyBias(
        questions=len(single),
        left_out=len(questions) - len(single),
        position=key_positions(keys, [len(question.choices) for question in single]),
        traits=tuple(
            standout(trait, keys, [measured(question) for question in single]) for trait, measured in traits.items()
        ),
    )


def key_positions(keys: Sequence[int], choices: Sequence[int]) -> Position:
    """Set the places of the keys against chance.

    Args:
        keys: The place of each key, from 0.
        choices: The number of choices of each question.
    """
    from scipy.stats import chisquare

    widest = max(choices, default=0)
    counts = np.bincount(np.array(keys, dtype=int), minlength=widest)
    expected = np.array([math.fsum(1 / count for count in choices if count > place) for place in range(widest)])
    told = {"counts": tuple(counts.tolist()), "expected": tuple(expected.tolist())}
    if not keys:
        none = undefined("no question has one right choice")
        return Position(**told, statistic=none, test=None, p=none)
    if expected.min() < EXPECTED_AT_LEAST and len(set(choices)) == 1 and len(keys) <= EXACT_QUESTIONS:
        rare = f"places are expected {expected.min():.1f} times, {EXPECTED_AT_LEAST} are needed"
        p = Measure(value=exact_multinomial_p(counts.tolist()))
        return Position(**told, statistic=undefined(rare), test="exact multinomial", p=p)
    seen, chances = _pooled(counts, expected)
    if len(chances) < 2:
        few = undefined(f"{len(keys)} questions are too few: two places must be expected {EXPECTED_AT_LEAST} times")
        return Position(**told, statistic=few, test=None, p=few)
    found = chisquare(seen, chances)
    statistic, p = Measure(value=float(found.statistic)), Measure(value=float(found.pvalue))
    return Position(**told, statistic=statistic, test="chi-square", p=p)


def _pooled(counts: NDArray[Any], expected: Values) -> tuple[Values, Values]:
    """Neighbouring places taken together from the last one on, until each is expected often enough."""
    groups: list[tuple[float, float]] = []
    count = share = 0.0
    for seen, chance in zip(counts[::-1].tolist(), expected[::-1].tolist(), strict=True):
        count, share = count + seen, share + chance
        if share >= EXPECTED_AT_LEAST:
            groups.append((count, share))
            count = share = 0.0
    if groups:
        groups[-1] = groups[-1][0] + count, groups[-1][1] + share
    told = np.array(groups).reshape(-1, 2)
    return told[:, 0], told[:, 1]


def exact_multinomial_p(counts: Sequence[int]) -> float:
    """The chance that as many throws over as many equal places give a chi-square at least as large.

    For equal places chi-square grows with the sum of squared counts s. The outcomes are summed up by (throws used, s),
    place by place: n! / K^n times the sum of the products of 1 / x_k!.
    """
    n, places = sum(counts), len(counts)
    weights = np.zeros((n + 1, n**2 + 1))
    weights[0, 0] = 1.0
    for _ in counts:
        added = np.zeros_like(weights)
        for x in range(n + 1):
            kept = weights[: n + 1 - x, : n**2 + 1 - x**2]
            added[x:, x**2 :] += kept / math.factorial(x)
        weights = added
    reached = sum(x**2 for x in counts)
    return float(min(1.0, weights[n, reached:].sum() * math.factorial(n) / float(places) ** n))


def standout(trait: str, keys: Sequence[int], measured: Sequence[Sequence[int]]) -> Standout:
    """How often the key has the largest value among its choices, and how often by chance.

    Args:
        trait: What is measured.
        keys: The place of each key.
        measured: The value of each choice of each question.
    """
    groups: Counter[tuple[int, int]] = Counter()
    hits: Counter[int] = Counter()
    for key, values in zip(keys, measured, strict=True):
        tied = sum(value == max(values) for value in values)
        if tied < len(values):
            groups[tied, len(values)] += 1
            hits[tied] += values[key] == max(values)
    count = sum(groups.values())
    p = _two_tails(groups, hits) if count else undefined("no question has choices that differ in it")
    return Standout(
        trait=trait,
        questions=count,
        observed=math.fsum(number / tied for tied, number in hits.items()),
        expected=math.fsum(number / size for (_, size), number in groups.items()),
        p=p,
    )


def _two_tails(groups: Counter[tuple[int, int]], hits: Counter[int]) -> Measure:
    """Twice the smaller tail of the sum of shares 1 / t, each got with chance t / K; counted in units of 1 / lcm."""
    from scipy.stats import binom

    unit = math.lcm(*(tied for tied, _ in groups))
    if sum(count * (unit // tied) for (tied, _), count in groups.items()) > _MOST_SUMS:
        return undefined("the ties are of too many sizes for an exact p")
    chances: Values = np.ones(1)
    for count, tied, size in sorted(((count, *group) for group, count in groups.items()), reverse=True):
        step = unit // tied
        spread = np.zeros(len(chances) + count * step)
        for right, chance in enumerate(binom.pmf(np.arange(count + 1), count, tied / size)):
            spread[right * step : right * step + len(chances)] += chance * chances
        chances = spread
    observed = sum(number * (unit // tied) for tied, number in hits.items())
    return Measure(value=float(min(1.0, 2 * min(chances[: observed + 1].sum(), chances[observed:].sum()))))


def _overlaps(question: Question) -> list[int]:
    """How many different words of each choice the prompt holds."""
    text = normalise(" ".join(part.text for part in question.prompt if isinstance(part, TextPart)))
    # A choice of one character finds it inside any word of a script without spaces.
    held = _words(text) | set(re.findall(f"[{UNSPACED}]", text))
    return [len(_words(normalise(choice.text)) & held) for choice in question.choices]


def _words(text: str) -> set[str]:
    """Words; in scripts without spaces pairs of neighbouring characters, or one that stands alone."""
    found: set[str] = set()
    for run in _RUN.finditer(text):
        word = run.group()
        pairs = {word[place : place + 2] for place in range(len(word) - 1)}
        found |= pairs if run["unspaced"] and pairs else {word}
    return found
