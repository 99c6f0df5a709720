"""Which public questions to take in: four rules (UNO-Bench, arXiv:2510.18915, section 3.2.1), and what each did.

Quality and discrimination drop candidates; comprehensiveness and diversity choose among those that are left.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.content import Modality
from curation.questions.scores import Scores
from evaluation.metrics import Values

Cell = tuple[str, str]
"""Task type, and the combination of modalities, as 'audio+image'."""

CHANCE_ERRORS = 2.0
SPREAD_MIN = 0.02
"""Models whose true means differ by less than this standard deviation are not told apart."""
FEWEST_SCORES = 10
"""A subset with fewer scored questions says nothing of how it tells models apart."""


@dataclass(frozen=True)
class Candidate:
    """A public question as the rules see it.

    Attributes:
        id: Of the public question.
        qid: As its set names it.
        set_name: Its set.
        subset: The set, or what its label says, of which discrimination is judged as a whole.
        task_type: Of the taxonomy.
        modalities: Of its media.
        material_types: What kinds of material it shows, as its labels and media say.
        problems: What is wrong with it; empty for a sound one.
        chance: What guessing gets, None where that cannot be told.
    """

    id: str
    qid: str
    set_name: str
    subset: str
    task_type: str
    modalities: frozenset[Modality]
    material_types: frozenset[str]
    problems: tuple[str, ...] = ()
    chance: float | None = None

    @property
    def cell(self) -> Cell:
        """Where it counts."""
        return self.task_type, combination(self.modalities)


@dataclass(frozen=True)
class Target:
    """What is there already: how many items each cell has, and how many show each type of material."""

    cells: Mapping[Cell, int] = field(default_factory=dict)
    material_types: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SubsetVerdict:
    """Whether a subset tells models apart.

    `spread` is the standard deviation of the models' true means, noise taken off; None where nothing can be said.
    `kept` is False only where the scores show that it does not.
    """

    subset: str
    questions: int
    models: int
    best: float | None
    spread: float | None
    kept: bool
    why: str


@dataclass(frozen=True)
class Choice:
    """A question that is taken, by which rule, and why."""

    candidate: Candidate
    rule: str
    why: str


@dataclass(frozen=True)
class Selection:
    """What the rules did.

    Attributes:
        chosen: In the order in which they were taken.
        dropped: By candidate id, the rule and why.
        subsets: How discrimination judged each of them.
        cells: By cell, how many items there were, and how many there are with the chosen ones.
        material_types: The same by type of material.
        open_cells: How many items each cell still lacks.
    """

    chosen: tuple[Choice, ...]
    dropped: Mapping[str, tuple[str, str]]
    subsets: tuple[SubsetVerdict, ...]
    cells: Mapping[Cell, tuple[int, int]]
    material_types: Mapping[str, tuple[int, int]]
    open_cells: Mapping[Cell, int]

    def counts(self) -> dict[str, int]:
        """How many questions each rule dropped or added."""
        counted = Counter(f"dropped_by_{rule}" for rule, _ in self.dropped.values())
        counted.update(f"added_by_{choice.rule}" for choice in self.chosen)
        return dict(sorted(counted.items()))


def combination(modalities: Iterable[Modality]) -> str:
    """A combination of modalities as one word: 'audio+image', or 'text' without media."""
    return "+".join(sorted(modality.value for modality in modalities)) or Modality.TEXT.value


def select_supplement(
    candidates: Sequence[Candidate],
    target: Target,
    scores: Mapping[str, Scores],
    *,
    floor: int,
    size: int,
    rng: np.random.Generator,
) -> Selection:
    """Apply the four rules.

    1. Quality: a candidate with a problem is dropped.
    2. Discrimination: a subset whose scores show that it does not tell models apart is dropped.
    3. Comprehensiveness: cells that candidates have and that hold fewer than `floor` items are filled, the emptiest
       first; among the candidates of a cell, those whose types of material are least covered go first.
    4. Diversity: then candidates that show a type of material which nothing shows yet, until `size` are chosen.

    Args:
        candidates: Public questions.
        target: What is there already.
        scores: By subset, scores of models on its questions (by `qid`).
        floor: How many items each cell should have.
        size: How many questions are taken at most.
        rng: Breaks ties.
    """
    dropped = {one.id: ("quality", "; ".join(one.problems)) for one in candidates if one.problems}
    sound = [one for one in candidates if one.id not in dropped]
    subsets = _judged(sound, scores)
    blunt = {verdict.subset: verdict.why for verdict in subsets if not verdict.kept}
    dropped |= {one.id: ("discrimination", blunt[one.subset]) for one in sound if one.subset in blunt}
    ready = [one for one in sound if one.subset not in blunt]
    cover = _Cover(target, [ready[place] for place in rng.permutation(len(ready))])
    cover.fill(floor, size)
    cover.diversify(size)
    cells = sorted(set(cover.cells) | set(target.cells))
    return Selection(
        chosen=tuple(cover.chosen),
        dropped=dropped,
        subsets=tuple(subsets),
        cells={cell: (target.cells.get(cell, 0), cover.cells[cell]) for cell in cells},
        material_types={
            name: (target.material_types.get(name, 0), count) for name, count in sorted(cover.types.items())
        },
        open_cells={cell: floor - cover.cells[cell] for cell in cells if cover.cells[cell] < floor},
    )


def judge_subset(subset: str, points: Values, chance: float | None) -> SubsetVerdict:
    """Whether a subset tells models apart.

    The variance of the models' means is that of their abilities and that of the questions drawn; the second is taken
    off. Paired: what all models share of a question's difficulty moves them together and is no noise here; so
    questions with one score alone do not count, and neither do models with fewer than two scores.

    The noise is the residual mean square of models by questions, with (models - 1)(questions - 1) degrees of freedom
    where all scores are there (two-way analysis of variance; Brennan, Generalizability Theory, 2001, section 2.1).

    Args:
        subset: Its name.
        points: Shape (models, questions), NaN where there is no score.
        chance: What guessing gets.
    """
    points = _paired(points)
    models, questions = points.shape
    if models < 2 or questions < FEWEST_SCORES:
        why = f"not judged: {models} models on {questions} questions"
        return SubsetVerdict(subset, questions, models, None, None, True, why)
    means = np.nanmean(points, axis=1)
    shared = (~np.isnan(points)).sum(axis=0)
    # What is left of a question when its mean is taken off varies less than the scores do, by this much.
    centred = (points - np.nanmean(points, axis=0)) * np.sqrt(shared / (shared - 1))
    counts = (~np.isnan(points)).sum(axis=1)
    noise = float(np.mean(np.nanvar(centred, axis=1, ddof=1) / counts))
    variance = float(np.var(means, ddof=1)) - noise
    spread = float(np.sqrt(max(0.0, variance)))
    best = float(means.max())
    if chance is not None:
        error = float(np.sqrt(max(best * (1 - best), 1e-9) / counts[int(means.argmax())]))
        if best <= chance + CHANCE_ERRORS * error:
            why = f"too hard: the best of {models} models has {best:.3f}, guessing {chance:.3f}"
            return SubsetVerdict(subset, questions, models, best, spread, False, why)
    most = _most_spread(variance + noise, noise, models, questions)
    if most < SPREAD_MIN:
        why = f"flat: with 95% confidence the means of {models} models differ by less than {most:.3f}"
        return SubsetVerdict(subset, questions, models, best, spread, False, why)
    return SubsetVerdict(
        subset, questions, models, best, spread, True, f"means differ by {spread:.3f} (noise taken off)"
    )


def _most_spread(between: float, noise: float, models: int, questions: int) -> float:
    """The upper 95% bound of the models' true spread.

    The mean squares of models and of the residual have the ratio F of (models - 1) and (models - 1)(questions - 1)
    degrees of freedom, times 1 + questions * spread^2 / residual (Searle, Casella and McCulloch, Variance Components,
    1992, section 3.6).
    """
    from scipy.stats import f

    if noise <= 0:
        return float(np.sqrt(max(0.0, between)))
    ratio = between / noise
    low = float(f.ppf(0.05, models - 1, (models - 1) * (questions - 1)))
    return float(np.sqrt(max(0.0, noise * (ratio / low - 1))))


def _paired(points: Values) -> Values:
    """The models with at least two scores on the questions with at least two."""
    while points.size:
        held = ~np.isnan(points)
        models, questions = held.sum(axis=1) > 1, held.sum(axis=0) > 1
        if models.all() and questions.all():
            break
        points = points[models][:, questions]
    return points


def _judged(sound: Sequence[Candidate], scores: Mapping[str, Scores]) -> list[SubsetVerdict]:
    verdicts = []
    for subset in sorted({one.subset for one in sound}):
        mine = [one for one in sound if one.subset == subset]
        held = scores.get(subset)
        if held is None:
            why = "not judged: no scores"
            verdicts.append(SubsetVerdict(subset, len(mine), 0, None, None, True, why))
            continue
        wanted = {one.qid for one in mine}
        columns = [place for place, name in enumerate(held.questions) if name in wanted]
        chances = [one.chance for one in mine if one.chance is not None]
        chance = float(np.mean(chances)) if len(chances) == len(mine) else None
        verdicts.append(judge_subset(subset, held.points[:, columns], chance))
    return verdicts


class _Cover:
    """What is covered while questions are taken."""

    def __init__(self, target: Target, ready: Sequence[Candidate]) -> None:
        self.cells: Counter[Cell] = Counter({one.cell: 0 for one in ready} | dict(target.cells))
        self.types: Counter[str] = Counter(
            {name: 0 for one in ready for name in one.material_types} | dict(target.material_types)
        )
        self.chosen: list[Choice] = []
        self._ready = {one.id: one for one in ready}

    def fill(self, floor: int, size: int) -> None:
        """Comprehensiveness."""
        # By cell and types of material, for among hundreds of thousands of candidates few differ in both.
        alike: dict[Cell, dict[frozenset[str], deque[tuple[int, Candidate]]]] = {}
        for place, one in enumerate(self._ready.values()):
            alike.setdefault(one.cell, {}).setdefault(one.material_types, deque()).append((place, one))
        while len(self.chosen) < size:
            lacking = [cell for cell, left in alike.items() if left and self.cells[cell] < floor]
            if not lacking:
                return
            cell = min(lacking, key=lambda cell: (self.cells[cell], cell))
            left = alike[cell]
            types = min(left, key=lambda types: (self._covered(types), left[types][0][0]))
            _, best = left[types].popleft()
            if not left[types]:
                del left[types]
            self._take(best, "comprehensiveness", f"{cell[0]} with {cell[1]} had {self.cells[cell]} of {floor}")

    def diversify(self, size: int) -> None:
        """Diversity."""
        for one in list(self._ready.values()):
            fresh = sorted(name for name in one.material_types if not self.types[name])
            if len(self.chosen) >= size:
                return
            if fresh:
                self._take(one, "diversity", f"nothing showed {', '.join(fresh)}")

    def _covered(self, types: frozenset[str]) -> float:
        """How often types of material are shown, on average; what tells none counts as shown most."""
        return sum(self.types[name] for name in types) / len(types) if types else float("inf")

    def _take(self, candidate: Candidate, rule: str, why: str) -> None:
        del self._ready[candidate.id]
        self.chosen.append(Choice(candidate, rule, why))
        self.cells[candidate.cell] += 1
        self.types.update(candidate.material_types)
