"""A panel's answers to items of known truth, drawn as votes: no media, no endpoints, thousands of items a second."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.condition import FULL, TEXT_ONLY, without
from core.content import Modality
from qc.ground_truth import DEFAULT_MIX
from qc.ground_truth_facts import TruthClass

Places = NDArray[np.int64]

SEEN, HEARD = Modality.IMAGE, Modality.AUDIO
REMOVALS = {SEEN: without(SEEN).name, HEARD: without(HEARD).name}
ABLATED = (TEXT_ONLY.name, *REMOVALS.values())
CONDITIONS = (FULL.name, *ABLATED)
REPEATS = 10
NO_ANSWER = -1
TRUTHS = tuple(TruthClass)


@dataclass(frozen=True)
class Knobs:
    """How a panel of models answers; rates and strengths are probabilities.

    Whether a family can work an item out is drawn once, for a model that cannot hear something hears it in no rotation.
    What a guess follows is drawn for each call. With the defaults, two families that are both wrong give the same
    answer in 58% of cases, and of the sound items, one call flags 25% under one condition, the pooled test over 40
    calls 26%, and MMMU-Pro's rule 14% (12% in the study that these figures come from).

    Attributes:
        choices: Of each item, at most `domain`.
        families: Of models, each with one model.
        perception: That a family can work out an item for which it is shown enough.
        shared_prior: That a guess follows the preference that all families share for the item.
        own_prior: That it else follows the family's own preference for the item.
        position: That it else takes the choice at the family's favourite place, else any.
        domain: Answers between which a guess without options chooses. The preferred choice is the preferred answer
            where that is among the choices: who guesses the key openly picks it among the choices too.
        errors: That a call gives no answer that can be read.
        person: That a person who is asked decides rightly.
    """

    choices: int = 4
    families: int = 4
    perception: float = 0.9
    shared_prior: float = 0.55
    own_prior: float = 0.9
    position: float = 0.5
    domain: int = 10
    errors: float = 0.0
    person: float = 0.95


@dataclass(frozen=True)
class Answers:
    """What the panel answers, whether or not a rule asks for it; a choice stands by its place in the original order.

    Attributes:
        knobs: From which they were drawn.
        truth: Of each item, an index into `TRUTHS`.
        not_needed: 0 where what is seen is not needed by a partial item, 1 where what is heard is not.
        key: Place of the choice that the key names.
        first: The family that is asked first about an item.
        person_errs: Whether a person who is asked about the item decides wrongly.
        rotated: By condition, the answers (items, families, rotations); `NO_ANSWER` where there is none to read.
        repeated: By condition, the answers in the original order (items, families, `REPEATS`).
        opened: By condition, whether the answer without options is right: 1, 0 or `NO_ANSWER` (items, families).
    """

    knobs: Knobs
    truth: Places
    not_needed: Places
    key: Places
    first: Places
    person_errs: NDArray[np.bool_]
    rotated: Mapping[str, Places]
    repeated: Mapping[str, Places]
    opened: Mapping[str, Places]

    def __len__(self) -> int:
        return len(self.truth)

    def of(self, *truths: TruthClass) -> NDArray[np.bool_]:
        """Which items are of those classes."""
        return np.isin(self.truth, [TRUTHS.index(one) for one in truths])

    def solvable(self, condition: str) -> NDArray[np.bool_]:
        """For which items a family that perceives what it is shown can work the true answer out."""
        if condition == FULL.name:
            return ~self.of(TruthClass.IMPOSSIBLE)
        found = self.of(TruthClass.LEAKED)
        if condition != TEXT_ONLY.name:
            found |= self.of(TruthClass.REDUNDANT)
            found |= self.of(TruthClass.PARTIAL) & (self.not_needed == list(REMOVALS.values()).index(condition))
        return found

    def take(self, rows: Sequence[int] | Places) -> "Answers":
        """Those items, in that order."""

        def picked(answers: Mapping[str, Places]) -> dict[str, Places]:
            return {condition: of_condition[rows] for condition, of_condition in answers.items()}

        return replace(
            self,
            truth=self.truth[rows],
            not_needed=self.not_needed[rows],
            key=self.key[rows],
            first=self.first[rows],
            person_errs=self.person_errs[rows],
            rotated=picked(self.rotated),
            repeated=picked(self.repeated),
            opened=picked(self.opened),
        )


@dataclass(frozen=True)
class _Minds:
    """What families lean to, by item (rows) and family (columns), with and without options."""

    key: Places
    true_place: Places
    perceives: NDArray[np.bool_]
    shared: Places
    own: Places
    shared_open: Places
    own_open: Places
    favourite: Places


def draw(items: int, knobs: Knobs, seed: int, mix: Mapping[TruthClass, float] = DEFAULT_MIX) -> Answers:
    """A panel's answers to so many items.

    Errors have a stream of their own: the same seed with another rate gives the same answers, less those that are lost.

    Args:
        items: How many.
        knobs: Of the panel.
        seed: Of all that is drawn.
        mix: Share of each class; shares need not sum to 1.
    """
    of_items, of_minds, of_calls, of_errors, of_persons = np.random.default_rng(seed).spawn(5)
    shares = np.array([mix.get(truth, 0.0) for truth in TRUTHS])
    bare = Answers(
        knobs=knobs,
        truth=of_items.choice(len(TRUTHS), size=items, p=shares / shares.sum()),
        not_needed=of_items.integers(2, size=items),
        key=of_items.integers(knobs.choices, size=items),
        first=of_items.integers(knobs.families, size=items),
        person_errs=of_persons.random(items) >= knobs.person,
        rotated={},
        repeated={},
        opened={},
    )
    minds = _minds(bare, of_minds)
    worked_out = {condition: bare.solvable(condition)[:, None] & minds.perceives for condition in CONDITIONS}
    turns, repeats = np.arange(knobs.choices), np.zeros(REPEATS, dtype=np.int64)
    rotated = {one: _calls(minds, worked_out[one], turns, knobs, of_calls) for one in CONDITIONS}
    repeated = {one: _calls(minds, worked_out[one], repeats, knobs, of_calls) for one in ABLATED}
    opened = {one: _open_calls(minds, worked_out[one], knobs, of_calls) for one in ABLATED}

    def less_errors(drawn: Mapping[str, Places]) -> dict[str, Places]:
        return {
            condition: np.where(of_errors.random(answers.shape) < knobs.errors, NO_ANSWER, answers)
            for condition, answers in drawn.items()
        }

    return replace(bare, rotated=less_errors(rotated), repeated=less_errors(repeated), opened=less_errors(opened))


def _minds(answers: Answers, rng: np.random.Generator) -> _Minds:
    knobs, items = answers.knobs, len(answers)
    by_family = (items, knobs.families)
    shared_open = rng.integers(knobs.domain, size=items)[:, None]
    own_open = rng.integers(knobs.domain, size=by_family)
    # The first answers of the domain are the choices; who prefers none of these prefers any of them.
    shared = np.where(shared_open < knobs.choices, shared_open, rng.integers(knobs.choices, size=(items, 1)))
    own = np.where(own_open < knobs.choices, own_open, rng.integers(knobs.choices, size=by_family))
    wrong = (answers.key + rng.integers(1, knobs.choices, size=items)) % knobs.choices
    return _Minds(
        key=answers.key,
        true_place=np.where(answers.of(TruthClass.MIS_KEYED), wrong, answers.key),
        perceives=rng.random(by_family) < knobs.perception,
        shared=shared,
        own=own,
        shared_open=shared_open,
        own_open=own_open,
        favourite=rng.integers(knobs.choices, size=knobs.families),
    )


def _calls(
    minds: _Minds, worked_out: NDArray[np.bool_], rotations: Places, knobs: Knobs, rng: np.random.Generator
) -> Places:
    """Answers with options (items, families, rotations)."""
    shape = (*worked_out.shape, len(rotations))
    by_position = (minds.favourite[:, None] - rotations) % knobs.choices
    blind = np.where(rng.random(shape) < knobs.position, by_position, rng.integers(knobs.choices, size=shape))
    guess = _guess(minds.shared[:, :, None], minds.own[:, :, None], blind, knobs, rng)
    answers: Places = np.where(worked_out[:, :, None], minds.true_place[:, None, None], guess)
    return answers


def _open_calls(minds: _Minds, worked_out: NDArray[np.bool_], knobs: Knobs, rng: np.random.Generator) -> Places:
    """Whether answers without options are right (items, families): 1 or 0."""
    blind = rng.integers(knobs.domain, size=worked_out.shape)
    guess = _guess(minds.shared_open, minds.own_open, blind, knobs, rng)
    answers = np.where(worked_out, minds.true_place[:, None], guess)
    right: Places = (answers == minds.key[:, None]).astype(np.int64)
    return right


def _guess(shared: Places, own: Places, blind: Places, knobs: Knobs, rng: np.random.Generator) -> Places:
    """What all prefer, else what the family prefers, else anything: drawn for each call."""
    alone = np.where(rng.random(blind.shape) < knobs.own_prior, own, blind)
    guess: Places = np.where(rng.random(blind.shape) < knobs.shared_prior, shared, alone)
    return guess
