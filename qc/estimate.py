"""What a run of the rounds would ask and cost, before anything is asked."""

from collections.abc import Sequence
from functools import cache
from itertools import repeat
from statistics import fmean

import numpy as np

from core.condition import FULL, TEXT_ONLY
from core.content import Frozen
from core.errors import UnknownName
from core.question import AnswerKey, Choice, Question, QuestionKind
from qc.gates import Thresholds
from qc.model_review import review_units
from qc.panel import Vote, make_ballot, tally
from qc.removals import Removals
from qc.rounds import ROUND_RUN, Panel
from qc.stopping import Gate, ask_until_certain
from warehouse.analytics import analysis
from warehouse.facts import FactStore
from warehouse.items import revisions_in
from warehouse.ledger import settled_keys
from warehouse.tables import ItemRevision
from warehouse.verdicts import ROUND_NEEDS
from warehouse.workspace import Workspace

# What the expected number of calls rests on: so often the key is found with everything given; without, by chance.
FOUND_IN_FULL = 0.8
_DRAWS = 200


class Estimate(Frozen):
    """Calls that one round would make.

    Attributes:
        round: 1 or 2.
        items: That wait for it; for round 2 those too that wait for round 1, if that runs first.
        expected: If nothing stops an item, and the key is found in `FOUND_IN_FULL` of the answers with everything
            given, and by chance without.
        at_most: If no gate is certain early, none stops an item, and all are probed; less what is answered already.
        usd: What the expected calls would cost at the mean cost of this panel's calls so far; None where that is not
            known of every model.
    """

    round: int
    items: int
    expected: int
    at_most: int
    usd: float | None


def estimate(workspace: Workspace, panel: Panel, rounds: Sequence[int]) -> list[Estimate]:
    """What `run_round1` and `run_round2` would ask now, were there no budget and no endpoint in quarantine.

    What delivery canaries ask each endpoint once comes on top.
    """
    per_call = _mean_cost(workspace.facts, [model.name for model in panel.models])
    removals = Removals(workspace, panel.placebo)
    waiting: list[tuple[str, ItemRevision]] = []
    found = []
    for number in rounds:
        with workspace.database.reading() as session:
            waiting = waiting + [(item.name, revision) for item, revision in revisions_in(session, ROUND_NEEDS[number])]
        asked = [_of_item(panel, removals, number, *named) for named in waiting]
        requests = {key for _, keys in asked for key in keys}
        pending = len(requests - settled_keys(workspace.facts, requests, "request_key"))
        share = pending / len(requests) if requests else 0.0
        expected = round(share * sum(calls for calls, _ in asked))
        found.append(
            Estimate(
                round=number,
                items=len(waiting),
                expected=expected,
                at_most=pending,
                usd=None if per_call is None else expected * per_call,
            )
        )
    return found


def _of_item(
    panel: Panel, removals: Removals, number: int, item_name: str, revision: ItemRevision
) -> tuple[float, list[str]]:
    """Expected calls, and the requests of a full count with all probes."""
    question = revision.as_question()
    taken_away = removals.of(revision.id, question).values() if number == 2 else ()
    conditions = [FULL] if number == 1 else [TEXT_ONLY, *(one for together in taken_away for one in together)]
    ballots = [make_ballot(panel.models, item_name, revision, one) for one in conditions if one.applies_to(question)]
    gate = Gate.FULL if number == 1 else Gate.MISSING
    # Each step is judged with something missing, so questions in steps are counted whole (`qc.stopping`).
    if panel.whole or (number == 2 and question.kind is QuestionKind.MULTI_STEP):
        gate = Gate.WHOLE
    calls = [_calls(len(question.choices), tuple(one.planned.values()), gate, panel.limits) for one in ballots]
    if number == 2 and question.kind is QuestionKind.CHOICE:
        ballots += [make_ballot(panel.models, item_name, revision, one.condition.opened()) for one in ballots]
    requests = [unit.request_key for ballot in ballots for unit in ballot.units]
    reviews = _reviews(panel, item_name, revision) if number == 1 else []
    return sum(calls) + len(reviews), requests + reviews


def _reviews(panel: Panel, item_name: str, revision: ItemRevision) -> list[str]:
    try:
        units = review_units(panel.models, [(item_name, revision)] if panel.reviews else [])
    except UnknownName:
        return []  # of an unknown task type: the checks return it before anybody is asked
    return [unit.request_key for unit in units]


@cache
def _calls(choices: int, planned: tuple[int, ...], gate: Gate, limits: Thresholds) -> float:
    """Calls until a gate is certain: the mean over drawn answers."""
    rng = np.random.default_rng(0)
    right = FOUND_IN_FULL if gate is Gate.FULL else 1 / choices if choices else 0.0
    return fmean(_count_until_certain(choices, planned, gate, limits, right, rng) for _ in range(_DRAWS))


def _count_until_certain(
    choices: int, planned: tuple[int, ...], gate: Gate, limits: Thresholds, right: float, rng: np.random.Generator
) -> int:
    families = {str(place): count for place, count in enumerate(planned)}
    question = any_question(choices)
    places = (0 if rng.random() < right else int(rng.integers(1, max(2, choices))) for _ in repeat(None))
    answers = (Vote(right=float(place == 0), choices=frozenset({place})) for place in places)
    order = [family for turn in range(max(planned)) for family, count in families.items() if turn < count]
    votes = ask_until_certain(
        zip(order, answers, strict=False), lambda said: tally("", question, said, families), families, gate, limits
    )
    return votes.asked


def any_question(choices: int, right: int = 0) -> Question:
    """Some question with so many choices, of which the one at place `right` is right; an open one if there are none."""
    kind = QuestionKind.CHOICE if choices else QuestionKind.OPEN
    key = AnswerKey(correct=(right,)) if choices else AnswerKey(accepted=("0",))
    return Question(
        prompt=(),
        kind=kind,
        choices=tuple(Choice(text=str(place)) for place in range(choices)),
        answer=key,
        task_type="counting",
        language="en",
    )


def _mean_cost(facts: FactStore, models: Sequence[str]) -> float | None:
    """US dollars that a call to the panel cost so far in quality control, every model counted alike."""
    with analysis(facts, ["response"]) as connection:
        rows = connection.execute(
            "SELECT model, avg(cost_usd) FROM response WHERE starts_with(purpose, ?) "
            "AND cost_usd IS NOT NULL AND list_contains(?, model) GROUP BY model",
            [ROUND_RUN, list(models)],
        ).fetchall()
    costs = dict(rows)
    return fmean(costs[model] for model in models) if set(models) <= costs.keys() else None
