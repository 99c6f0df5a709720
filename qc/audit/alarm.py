"""Whether what models answer with something missing contradicts what people certified."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.condition import OPENED
from evaluation.metrics import ALPHA, holm
from evaluation.report.build import build_report
from evaluation.report.comparisons import TAKEN_AWAY
from evaluation.report.document import Cell
from evaluation.report.items import ItemFacts, item_facts
from evaluation.run import evaluated_models
from warehouse.release.records import get_release, members_of
from warehouse.workspace import Workspace


@dataclass(frozen=True)
class Estimate:
    """How much one model answers under one condition in which something is missing.

    Attributes:
        model, condition: Names.
        items: Choice questions with one right answer that have a graded answer.
        accuracy, chance: Shares in [0, 1].
        solvable: (accuracy - chance) / (1 - chance): the share that it solves, if it guesses the rest.
        low, high: The 95% interval of `solvable`, from that of the accuracy; clusters of items count, not answers.
        p: Of the hypothesis that no more than the certified share is solvable; `p_holm` with Holm's correction over all
            models and conditions. None without a certificate.
        reason: Why there are no numbers.
    """

    model: str
    condition: str
    items: int
    accuracy: float | None = None
    chance: float | None = None
    solvable: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    reason: str | None = None

    @property
    def is_conflict(self) -> bool:
        """Whether it contradicts the certificate."""
        return self.p_holm is not None and self.p_holm <= ALPHA


def model_estimates(workspace: Workspace, name: str, version: str, bound: float | None) -> list[Estimate]:
    """Estimates from the stored answers of all models that were evaluated on a release, by model and condition.

    Args:
        workspace: Of the project.
        name: Of the release.
        version: Of the release.
        bound: The certified share of items that are solvable without something; None where nothing is certified.

    Raises:
        UnknownName: No such release.
    """
    with workspace.database.reading() as session:
        members = members_of(session, get_release(session, name, version))
        everything = item_facts(session, [member.revision.id for member in members])
        models = evaluated_models(session, f"{name} {version}")
    items = {revision_id: one for revision_id, one in everything.items() if one.chance is not None}
    if models is None or not items:
        return []
    report = build_report(workspace.facts, "", items, models, with_tables=False, with_answers=False)
    cells = [cell for cell in report.cells if _is_missing_something(cell.condition)]
    found = [_estimate(cell, bound, len(everything), items) for cell in cells]
    adjusted = iter(holm([one.p for one in found if one.p is not None]))
    return [one if one.p is None else replace(one, p_holm=next(adjusted)) for one in found]


def p_value(right: float, items: int, chance: float, solvable: float) -> float:
    """The chance to get so many right, or more, if a share `solvable` of the items is solved and the rest is guessed.

    The tail of Binomial(items, chance + solvable (1 - chance)). Where items have different numbers of choices, `chance`
    is their mean: a sum of trials of different chances varies less than this binomial count (Hoeffding 1956), so the
    tail is too large rather than too small. `right` may be a sum of shares (answers of one item that was asked several
    times count as one, with their mean); it is rounded down.
    """
    from scipy.stats import binomtest

    return float(binomtest(int(right + 1e-9), items, chance + solvable * (1 - chance), alternative="greater").pvalue)


def _estimate(cell: Cell, bound: float | None, population: int, items: Mapping[str, ItemFacts]) -> Estimate:
    if cell.points is None or cell.chance is None or cell.low is None or cell.high is None:
        return Estimate(cell.model, cell.condition, cell.items, reason=cell.reason)
    accuracy, chance = cell.points / 100, cell.chance / 100
    solved, low, high = ((one / 100 - chance) / (1 - chance) for one in (cell.points, cell.low, cell.high))
    p = None
    if bound is not None:
        # The certificate speaks of all items. At worst all that are solvable are among those that were asked under this
        # condition, and they are those that are hardest to guess.
        share = min(1.0, bound * population / cell.items)
        least = min(one.chance for one in items.values() if one.chance is not None)
        p = p_value(accuracy * cell.items, cell.items, chance, min(1.0, share * (1 - least) / (1 - chance)))
    return Estimate(cell.model, cell.condition, cell.items, accuracy, chance, solved, low, high, p)


def _is_missing_something(condition: str) -> bool:
    # A probe without the choices is not answered by choosing: chance is nothing there.
    return condition.startswith(TAKEN_AWAY) and not condition.endswith(OPENED)
