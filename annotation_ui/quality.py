"""What quality control counts over all items, or over a whole release: kept until something changes.

To count ten thousand items takes half a minute, so that pages show what was counted last, and say when that was.
"""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session, col, func, select

from annotation_ui.lately import Lately
from core.ids import Clock, utc_now
from core.provenance import content_hash
from qc.item_analysis import ItemAnalysis, analyse_release
from qc.key_bias import Position, key_positions
from qc.report.build import overview
from qc.report.document import QcReport
from qc.report.standing import Standing
from warehouse.facts import FactStore
from warehouse.tables import Event, Item, ItemState, Release, ReleaseItem
from warehouse.workspace import Workspace

COUNT = "quality"
# So many items are counted, or analysed, while a page waits.
QUICK_ITEMS = 300
# What is older than this is counted anew as soon as somebody looks at it.
OLD = timedelta(minutes=10)
_ANALYSES_KEPT = 4
# Of events that change what is counted.
_SUBJECTS = ("item", "review", "gold_item")
_IN_THE_BENCHMARK = frozenset({ItemState.ACCEPTED.value, ItemState.RELEASED.value})


@dataclass(frozen=True)
class Counted:
    """The report of quality control at a moment; `keys` are places of right choices of accepted and released items.

    `sequence` is of the last event before it.
    """

    report: QcReport
    keys: Position
    at: datetime
    sequence: int


@dataclass(frozen=True)
class Analysed:
    """The item analysis of a release; `answers` names the stored answers and grades that it rests on."""

    analysis: ItemAnalysis
    answers: str


@dataclass(frozen=True)
class Freshness:
    """How many items there are, and how many changes came since a count."""

    items: int
    changes: int

    @property
    def is_quick(self) -> bool:
        """Whether a page may wait for a count."""
        return self.items <= QUICK_ITEMS


class Quality:
    """What was counted last, for all visitors of one server."""

    def __init__(self) -> None:
        self._standing = Standing()
        self._counted: Counted | None = None
        self._analysed: Lately[Analysed] = Lately(_ANALYSES_KEPT)
        self._lock = threading.Lock()

    @property
    def counted(self) -> Counted | None:
        """What was counted last; None before the first count."""
        return self._counted

    def count(self, workspace: Workspace, clock: Clock = utc_now) -> Counted:
        """Count anew; of items only those that changed are read again. Who comes at the same time waits."""
        with self._lock:
            at = clock()
            with workspace.database.reading() as session:
                sequence = session.exec(select(func.max(Event.sequence))).one() or 0
            if self._counted is not None and self._counted.sequence == sequence:
                return self._counted
            report = overview(workspace, self._standing)
            kept = [item for item in report.items if item.state in _IN_THE_BENCHMARK and len(item.correct) == 1]
            keys = key_positions([item.correct[0] for item in kept], [len(item.choices) for item in kept])
            self._counted = Counted(report, keys, at, sequence)
            return self._counted

    def analysed(self, release: Release) -> Analysed | None:
        """The last analysis of a release; None before the first one."""
        return self._analysed.get(release.id)

    def analyse(self, workspace: Workspace, release: Release) -> Analysed:
        """Analyse a release by the answers that are stored now."""
        answers = stored_answers_name(workspace.facts)
        found = Analysed(analyse_release(workspace, release.name, release.version), answers)
        self._analysed.put(release.id, found)
        return found


def analysis_key(release: Release) -> str:
    """What the long work of analysing a release is called."""
    return f"{COUNT} {release.id}"


def release_size(session: Session, release: Release) -> int:
    """How many items a release holds."""
    return session.exec(select(func.count()).where(ReleaseItem.release_id == release.id)).one()


def stored_answers_name(facts: FactStore) -> str:
    """A name of all answers and grades that are stored; another one as soon as any is added."""
    return content_hash([facts.files("response"), facts.files("grade")])


def freshness(session: Session, counted: Counted | None) -> Freshness:
    """How far a count is behind what is stored."""
    items = session.exec(select(func.count()).select_from(Item)).one()
    since = select(func.count()).select_from(Event).where(col(Event.subject_kind).in_(_SUBJECTS))
    changes = 0 if counted is None else session.exec(since.where(col(Event.sequence) > counted.sequence)).one()
    return Freshness(items, changes)
