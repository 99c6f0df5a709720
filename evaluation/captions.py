"""Let a model put the media of items into words: each answer becomes a proposed caption, which people decide on."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session

from core.errors import InterplayError
from core.ids import Clock, utc_now
from evaluation.asking import Asker, Prompt, Solved, Unit
from evaluation.caption_prompts import instruction
from evaluation.graders.cleaning import without_thinking
from evaluation.models.catalogue import ModelSpec
from warehouse.caption_search import Search, find_captions
from warehouse.caption_texts import told_by_people
from warehouse.captions import KINDS, Proposal, language_of, propose_caption
from warehouse.facts import FactStore
from warehouse.items import current_revision, get_item, revisions_in
from warehouse.ledger import settled_keys, stored_answers
from warehouse.release.records import get_release, materials_of, members_of
from warehouse.runs import open_run
from warehouse.tables import CaptionKind, ItemRevision, ItemState, Material, MaterialState
from warehouse.workspace import Workspace

COMMAND = "caption make"
PURPOSE = "captions"


class NoScope(InterplayError):
    """Nobody said whose media are meant, or said it in two ways."""


@dataclass(frozen=True)
class Scope:
    """Whose media: a release (name, version), or items by name, or all items in some states; one of the three.

    Raises:
        NoScope: Not exactly one is given.
    """

    release: tuple[str, str] | None = None
    items: Sequence[str] = ()
    states: Sequence[ItemState] = ()

    def __post_init__(self) -> None:
        if sum(map(bool, (self.release, self.items, self.states))) != 1:
            raise NoScope("say one of: a release by name and version, items by name, or states of items")

    @property
    def told(self) -> str:
        """In words, for the record."""
        if self.release:
            return " ".join(self.release)
        return ", ".join(self.items or [state.value for state in self.states])


@dataclass(frozen=True)
class CaptionOrder:
    """What to make: by which model, in which languages and kinds (None: all), for at most how many US dollars."""

    model: ModelSpec
    kinds: Sequence[CaptionKind] = tuple(CaptionKind)
    languages: Sequence[str] | None = None
    budget_usd: float | None = None

    def takes(self, shown: "Shown") -> bool:
        """Whether words for this material in this language are among those wanted."""
        wanted = self.languages is None or shown.language in map(language_of, self.languages)
        return wanted and KINDS[shown.material.modality] in self.kinds


@dataclass(frozen=True)
class Made:
    """What one call of `make_captions` did, counted in texts: a material's words in one language.

    Attributes:
        proposed: New captions.
        known: Captions that this very request had brought before.
        without: Requests whose answer is no caption, by its state (refusal, truncated, empty, blocked, api_error, ...).
        by_people: Not asked for: a person said what is heard when the sound came into the library.
        withdrawn: Not asked for: the material was withdrawn.
        solved: The calls.
    """

    proposed: int
    known: int
    without: dict[str, int]
    by_people: int
    withdrawn: int
    solved: Solved


@dataclass(frozen=True)
class Shown:
    """A material that items show in questions of one language; `items` are their names."""

    material: Material
    language: str
    items: tuple[str, ...]


@dataclass
class _Plan:
    units: dict[str, tuple[Unit[Prompt], Shown]] = field(default_factory=dict)
    by_people: int = 0
    withdrawn: int = 0


def media_of(session: Session, scope: Scope) -> list[Shown]:
    """The materials that the items show, once for each language of their questions, in an order of their own.

    Raises:
        UnknownName: There is no such release or item.
    """
    revisions = _revisions(session, scope)
    shown = materials_of(session, [revision.id for _, revision in revisions])
    materials: dict[str, Material] = {}
    items: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, revision in revisions:
        for material in shown.get(revision.id, {}).values():
            materials[material.id] = material
            items[material.id, language_of(revision.question["language"])].append(name)
    return [
        Shown(materials[id_], language, tuple(dict.fromkeys(names))) for (id_, language), names in sorted(items.items())
    ]


def _revisions(session: Session, scope: Scope) -> list[tuple[str, ItemRevision]]:
    """Those in the release, or the current ones of the items."""
    if scope.release:
        members = members_of(session, get_release(session, *scope.release))
        return [(member.item.name, member.revision) for member in members]
    if scope.items:
        items = [get_item(session, name) for name in dict.fromkeys(scope.items)]
        return [(item.name, current_revision(session, item)) for item in items]
    return [(item.name, revision) for item, revision in revisions_in(session, *scope.states)]


def make_captions(workspace: Workspace, scope: Scope, order: CaptionOrder, clock: Clock = utc_now) -> Made:
    """Ask the model for words for the media of the items, and store what it says as proposals.

    Stop it at any moment: answers are stored as they come, and the next call makes captions of all that are there.
    A refused, cut-off or empty answer makes no caption and is not asked again; a call that failed is.

    Raises:
        UnknownName: There is no such release or item.
        ModelUnavailable, BadModelSettings, NoPrice: The model cannot be asked so; nothing was asked.
    """
    settings = {
        "scope": scope.told,
        "model": order.model.settings,
        "kinds": [kind.value for kind in order.kinds],
        "languages": None if order.languages is None else sorted(map(language_of, order.languages)),
        "budget_usd": order.budget_usd,
    }
    plan = _plan(workspace, scope, order)
    with open_run(workspace.database, COMMAND, settings, clock=clock) as run:
        asker = Asker(
            workspace.facts,
            workspace.blobs,
            workspace.project.root,
            PURPOSE,
            run.id,
            clock=clock,
            budget_usd=order.budget_usd,
        )
        solved = asker.ask(unit for unit, _ in plan.units.values())
        with workspace.database.session() as session:
            proposed, known, without = _store(session, workspace.facts, plan, order.model, run.id, clock)
        made = Made(proposed, known, without, plan.by_people, plan.withdrawn, solved)
        run.summary = {name: value for name, value in vars(made).items() if name != "solved"} | {
            "asked": solved.asked,
            "left": solved.left,
            "cost_usd": solved.cost_usd,
        }
    return made


def count_requests(workspace: Workspace, scope: Scope, order: CaptionOrder) -> int:
    """How many texts `make_captions` would ask the model for, were there no budget.

    Raises:
        UnknownName: There is no such release or item.
    """
    requests = {unit.request_key for unit, _ in _plan(workspace, scope, order).units.values()}
    return len(requests - settled_keys(workspace.facts, requests, "request_key"))


def _plan(workspace: Workspace, scope: Scope, order: CaptionOrder) -> _Plan:
    with workspace.database.reading() as session:
        shown = [one for one in media_of(session, scope) if order.takes(one)]
    plan = _Plan()
    for one in shown:
        if one.material.state == MaterialState.WITHDRAWN:
            plan.withdrawn += 1
        elif told_by_people(one.material):
            plan.by_people += 1
        else:
            prompt = Prompt(instruction(one.material, one.language), KINDS[one.material.modality].value)
            unit = Unit(order.model, one.material.id, one.material.sha256, prompt)
            plan.units[unit.key] = (unit, one)
    return plan


def _store(
    session: Session, facts: FactStore, plan: _Plan, model: ModelSpec, run_id: str, clock: Clock
) -> tuple[int, int, dict[str, int]]:
    """Captions of the answers: how many are new, how many were there, and the states of those that are none."""
    materials = sorted({shown.material.id for _, shown in plan.units.values()})
    there = {caption.response_key for caption in find_captions(session, Search(materials))}
    proposed, known = 0, 0
    without: Counter[str] = Counter()
    for key, row in stored_answers(facts, plan.units).items():
        if key in there:
            known += 1
            continue
        text = spoken(row)
        if text is None:
            without["empty" if row["state"] == "ok" else row["state"]] += 1
            continue
        _, shown = plan.units[key]
        proposal = Proposal(
            material_id=shown.material.id,
            kind=KINDS[shown.material.modality],
            language=shown.language,
            text=text,
            model=model.name,
            model_fingerprint=model.fingerprint,
            response_key=key,
            run_id=run_id,
        )
        if propose_caption(session, proposal, clock) is None:
            known += 1
        else:
            proposed += 1
    return proposed, known, dict(sorted(without.items()))


def spoken(row: Mapping[str, Any]) -> str | None:
    """What a whole answer says, without the model's thinking; None where it says nothing or is no whole answer."""
    said = without_thinking(row["answer"]) if row["state"] == "ok" else None
    return (said or "").strip() or None
