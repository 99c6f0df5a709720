"""The numbers of the scopes that were looked at last, made once for everybody."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from annotation_ui.lately import Lately
from annotation_ui.results.scopes import Basis
from core.condition import FULL
from evaluation.law.fit import LawFit, fit_law
from evaluation.law.of_report import points_of
from evaluation.report.build import Answered, read_answers, report_of
from evaluation.report.comparisons import leaderboard, ranking
from evaluation.report.document import Report, Table
from evaluation.report.items import item_facts
from evaluation.report.tables import describe
from warehouse.analytics import analysis
from warehouse.facts import FactStore
from warehouse.workspace import Workspace

# A report of half a million answers takes some 150 MB.
MOST_KEPT = 3
# So much is counted within the drawing of a page, in about a second; more is counted beside it.
QUICK_QUESTIONS, QUICK_RESPONSES = 2_000, 10_000
# Matplotlib's settings are those of the whole process: two pictures at a time would take each other's.
_DRAWING = threading.Lock()


@dataclass(frozen=True)
class Results:
    """The numbers of one basis, and the responses behind them; without any answer `answered` is None.

    `boards` are leaderboards of one kind of question, by the kind.
    """

    basis: Basis
    report: Report
    answered: Answered | None
    boards: Mapping[str, Table]
    _pictures: dict[str, bytes | None] = field(default_factory=dict)

    def picture(self, key: str, draw: Callable[[], bytes | None]) -> bytes | None:
        """An SVG file, drawn once; None where there is nothing to draw."""
        with _DRAWING:
            if key not in self._pictures:
                self._pictures[key] = draw()
            return self._pictures[key]


@dataclass(frozen=True)
class KeptResults:
    """Results and fitted laws, by the keys of their bases."""

    results: Lately[Results] = field(default_factory=partial(Lately, MOST_KEPT))
    laws: Lately[LawFit] = field(default_factory=partial(Lately, MOST_KEPT))

    def older(self, basis: Basis) -> Results | None:
        """Results of the same questions from before the last answers came in."""
        return self.results.newest(lambda one: one.basis.questions == basis.questions)


def is_quick(facts: FactStore, basis: Basis) -> bool:
    """Whether there is so little to count that somebody can wait for it."""
    if len(basis.revision_ids) > QUICK_QUESTIONS:
        return False
    with analysis(facts, []) as connection:
        facts.register(connection, "response", latest=False)
        ((count,),) = connection.sql("SELECT count(*) FROM response").fetchall()
    return int(count) <= QUICK_RESPONSES


def make_results(workspace: Workspace, basis: Basis, kept: KeptResults) -> None:
    """Read the answers, take all means, and keep them."""
    with workspace.database.reading() as session:
        items = item_facts(session, basis.revision_ids)
    found = read_answers(workspace.facts, items, basis.models)
    if found is None:
        kept.results.put(basis.key, Results(basis, Report(title=basis.title, cells=()), None, {}))
        return
    report = report_of(found, basis.title, benchmarks=[describe(basis.title, items.values())])
    boards = {}
    for kind in found.frame.names("kind", {"condition": (FULL.name,)}):
        among = {"kind": (kind,)}
        board = leaderboard(found.frame, ranking(found.frame, found.people, among), found.people, among)
        if board is not None:
            boards[kind] = board
    kept.results.put(basis.key, Results(basis, report, found, boards))


def make_law(results: Results, kept: KeptResults) -> None:
    """Fit the law to the models of a report, and keep it.

    Raises:
        NoUniModalScores, TooFewModels, ConstantColumn, NoFit: It cannot be fitted to them.
    """
    kept.laws.put(results.basis.key, fit_law(points_of(results.report)))
