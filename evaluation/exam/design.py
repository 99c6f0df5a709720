"""Which questions an exam asks, and who sees which under which condition: a seed decides, the same everywhere."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.errors import UnknownName
from core.provenance import content_hash
from core.question import Question
from core.taxonomy import load_taxonomy

T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """A question that an exam could ask; `family` is shared by those that tell each other's answers (twins)."""

    revision_id: str
    stratum: str
    ability: str
    family: str


@dataclass(frozen=True)
class Drawn:
    """A question of an exam: its turn in its stratum, and its place in the sample or None for one in reserve."""

    revision_id: str
    stratum: str
    rank: int
    place: int | None


def stratum_of(question: Question) -> str:
    """Task type and media, as `counting, audio+image`: what a sample must hold some of each of."""
    return f"{question.task_type[:120]}, {'+'.join(sorted(question.modalities)) or 'text'}"


def ability_of(question: Question) -> str:
    """The column of reports by ability that a question counts in; its task type where it counts in none."""
    try:
        ability = load_taxonomy().get(question.task_type).report_ability
    except UnknownName:
        return question.task_type
    return ability.value if ability else question.task_type


def draw_sample(candidates: Sequence[Candidate], size: int, seed: int) -> list[Drawn]:
    """All candidates, `size` of them (or as many as there are) as the sample, in the order of their strata.

    Each stratum gets one before any gets two, those of an ability that has none yet first; then each its share, by
    Sainte-Lague's highest quotients. Of twins one at most is in the sample: who has seen one knows how the other ends.
    """
    by_stratum: dict[str, list[Candidate]] = defaultdict(list)
    for one in shuffled(candidates, seed, "draw", [one.revision_id for one in candidates]):
        by_stratum[one.stratum].append(one)
    chosen = _chosen(by_stratum, size, seed)
    places = {one.revision_id: place for place, one in enumerate(one for few in chosen.values() for one in few)}
    return [
        Drawn(one.revision_id, stratum, rank, places.get(one.revision_id))
        for stratum in sorted(by_stratum)
        for rank, one in enumerate(by_stratum[stratum])
    ]


def _chosen(by_stratum: Mapping[str, Sequence[Candidate]], size: int, seed: int) -> dict[str, list[Candidate]]:
    waiting = {stratum: list(few) for stratum, few in by_stratum.items()}
    chosen: dict[str, list[Candidate]] = {stratum: [] for stratum in sorted(by_stratum)}
    order = shuffled(sorted(by_stratum), seed, "strata", sorted(by_stratum))
    abilities: Counter[str] = Counter()
    families: set[str] = set()

    def claim(stratum: str) -> tuple[bool, int, float]:
        taken = len(chosen[stratum])
        return (
            not taken,
            -abilities[waiting[stratum][0].ability] if not taken else 0,
            _share(by_stratum, stratum, taken),
        )

    while len(families) < size and any(waiting.values()):
        stratum = max((one for one in order if waiting[one]), key=claim)
        found = waiting[stratum].pop(0)
        if found.family not in families:
            chosen[stratum].append(found)
            families.add(found.family)
            abilities[found.ability] += 1
    return chosen


def _share(by_stratum: Mapping[str, Sequence[Candidate]], stratum: str, taken: int) -> float:
    return len(by_stratum[stratum]) / (2 * taken + 1)


def condition_at(conditions: Sequence[T], turn: int, number: int) -> T:
    """The condition under which seat `number` sees the question at place `turn` of the sample.

    A Latin square: of as many neighbouring seats as there are conditions each sees the question under another one, and
    of as many neighbouring questions each seat sees each under another one.
    """
    return conditions[(turn + number) % len(conditions)]


def shuffled(values: Iterable[T], seed: int, purpose: str, keys: Sequence[object]) -> list[T]:
    """The values in an order that seed and purpose decide, by the hashes of their keys."""
    hashes = [content_hash([seed, purpose, key]) for key in keys]
    return [value for _, value in sorted(zip(hashes, values, strict=True), key=lambda pair: pair[0])]
