"""Whether an item overlaps with a public benchmark, or was never compared with any."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlmodel import Session, and_, col, or_, select

from qc.checks import Finding, error, warning
from qc.reasons import Words
from warehouse.release.records import lineages
from warehouse.tables import ContaminationCheck, ContaminationMatch, ItemRevision, Material

HOW_TO_COMPARE = "interplay contamination check --index FILE"
_TOLD = 3


@dataclass(frozen=True)
class _Part:
    """Something that is compared: the revision itself, or a material."""

    kind: str
    id: str
    name: str


def contamination_problems(
    session: Session, revision: ItemRevision, shown: Sequence[tuple[str, Material]]
) -> list[Finding]:
    """An error for each overlap that nobody cleared: of the revision, what it shows, and what that was taken from.

    Where the project has compared anything with an index of public benchmarks, a warning says what of the item was not.
    Where it never did, nothing is known of any item: that is told once for all (`compared_at_all`).

    Args:
        session: Of the warehouse.
        revision: The item's.
        shown: Placeholder and material of everything that it shows.
    """
    own = [_Part("revision", revision.id, "the text")]
    own += [_Part("material", material.id, placeholder) for placeholder, material in shown]
    lines = lineages(session, [material for _, material in shown])
    behind = [_Part("material", one.id, name) for name, material in shown for one in lines[material.id][1:]]
    told = list(_overlaps(session, [*own, *behind]))
    problems = [error("contaminated", words.en, words.zh) for words in told[:_TOLD]]
    if len(told) > _TOLD:
        count = len(told) - _TOLD
        problems.append(
            error("contaminated", f"{count} more overlaps with public benchmarks", f"另有 {count} 处与公开基准重合")
        )
    if compared_at_all(session):
        is_compared = or_(
            *(and_(ContaminationCheck.subject_kind == one.kind, ContaminationCheck.subject_id == one.id) for one in own)
        )
        columns = (ContaminationCheck.subject_kind, ContaminationCheck.subject_id)
        compared = set(session.exec(select(*columns).where(is_compared)))
        missing = [one.name for one in own if (one.kind, one.id) not in compared]
        if missing:
            en = f"{', '.join(missing)}: not compared with public benchmarks yet; run '{HOW_TO_COMPARE}'"
            zh = f"{'、'.join(missing)}：尚未与公开基准比对；请运行“{HOW_TO_COMPARE}”"
            problems.append(warning("not_compared", en, zh))
    return problems


def compared_at_all(session: Session) -> bool:
    """Whether anything of the project was ever compared with an index of public benchmarks."""
    return session.exec(select(ContaminationCheck.id).limit(1)).first() is not None


def _overlaps(session: Session, parts: Sequence[_Part]) -> Iterator[Words]:
    """What overlaps with what, nearest first; the same entry once for each part, whatever tells of it."""
    names = {(one.kind, one.id): one.name for one in reversed(parts)}
    mine = or_(
        *(and_(ContaminationMatch.subject_kind == kind, ContaminationMatch.subject_id == id_) for kind, id_ in names)
    )
    query = select(ContaminationMatch).where(mine, col(ContaminationMatch.cleared_at).is_(None))
    told: set[tuple[str, str, str]] = set()
    for match in sorted(session.exec(query), key=lambda one: (-one.score, one.benchmark, one.entry, one.id)):
        name = names[match.subject_kind, match.subject_id]
        if (name, match.benchmark, match.entry) not in told:
            told.add((name, match.benchmark, match.entry))
            yield Words(
                en=f"{name} overlaps with {match.entry!r} of {match.benchmark} ({match.kind}, {match.score:.2f}); "
                f"see 'interplay contamination matches', match {match.id}",
                zh=f"{name} 与 {match.benchmark} 的“{match.entry}”重合（{match.kind}，{match.score:.2f}）；"
                f"见“interplay contamination matches”，match {match.id}",
            )
