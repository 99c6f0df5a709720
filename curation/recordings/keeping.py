"""What a withdrawal leaves as it is although it may repeat what was said, and why: a report names all of it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, func, select

from curation.contamination.subjects import SubjectKind
from curation.materials import chunked
from curation.recordings.survey import Survey
from warehouse.facts import FactStore
from warehouse.forgetting import count_facts, response_keys
from warehouse.tables import (
    AuditFinding,
    AuditItem,
    ContaminationMatch,
    DuplicateLink,
    GoldItem,
    Privatization,
    Review,
    Verdict,
)

_WHYS = {
    "item_revision": "questions are their authors' words, and what a release held must stay provable",
    "verdict": "they prove how an item was reviewed; evidence and comments are the reviewers' own",
    "review": "they prove how an item was reviewed; answers and comments are the reviewers' own",
    "gold_item": "notes are the maintainers' own; the questions are out of use",
    "audit_finding": "they are what a certificate rests on; comments are the auditors' own",
    "contamination_match": "they compare the question's words, which stay",
    "privatization": "notes and proofs are about the question's words, which stay",
    "response": "published results rest on what models answered; look through them, and ask for a new evaluation",
    "grade": "published results rest on them; reasons may quote the answers",
    "script": "scripts are the project's words, which the speaker read out",
    "duplicate_link": "they hold no words, and lead to what looks or sounds the same",
    "subset": "members are names and weights; select it again",
    "pool_score": "they hold names and scores, no words",
    "asset_pack": "it is made from a release; make it again",
}


@dataclass(frozen=True)
class Kept:
    """Rows or facts of one kind that stay, and why."""

    what: str
    rows: int
    why: str


def kept(session: Session, facts: FactStore, found: Survey) -> list[Kept]:
    """What stays that is about, or was made from, what a withdrawal touches; kinds of which there is none are left out.

    Copies that people made are not known here: exported captions, item files and snapshots, backups.
    """
    counts = _of_revisions(session, found) | _of_answers(facts, found)
    counts |= {
        "privatization": _count(session, Privatization, Privatization.item_id, [item.id for item, _ in found.items]),
        "script": len({one.script_id for one in found.recordings if one.script_id}),
        "duplicate_link": _links(session, [one.id for one in found.materials]),
        "subset": len(found.subsets),
        "pool_score": count_facts(facts, "pool_score", "question_id", {item.name for item, _ in found.items}),
        "asset_pack": len(found.packs),
    }
    return [Kept(what, counts[what], why) for what, why in _WHYS.items() if counts[what]]


def _of_revisions(session: Session, found: Survey) -> dict[str, int]:
    ids = sorted(found.revision_ids)
    audited = select(func.count()).select_from(AuditFinding).join(AuditItem)
    compared = select(func.count()).select_from(ContaminationMatch)
    compared = compared.where(ContaminationMatch.subject_kind == SubjectKind.REVISION)
    return {
        "item_revision": len(ids),
        "verdict": _count(session, Verdict, Verdict.revision_id, ids),
        "review": _count(session, Review, Review.revision_id, ids),
        "gold_item": _count(session, GoldItem, GoldItem.revision_id, ids),
        "audit_finding": _total(session, ids, lambda some: audited.where(col(AuditItem.revision_id).in_(some))),
        "contamination_match": _total(
            session, ids, lambda some: compared.where(col(ContaminationMatch.subject_id).in_(some))
        ),
    }


def _of_answers(facts: FactStore, found: Survey) -> dict[str, int]:
    keys = response_keys(facts, "revision_id", found.revision_ids)
    return {"response": len(keys), "grade": count_facts(facts, "grade", "response_key", keys)}


def _links(session: Session, material_ids: Collection[str]) -> int:
    links: set[str] = set()
    for ids in chunked(material_ids):
        touches = col(DuplicateLink.first_id).in_(ids) | col(DuplicateLink.second_id).in_(ids)
        links |= set(session.exec(select(DuplicateLink.id).where(touches)))
    return len(links)


def _count(session: Session, table: Any, column: Any, values: Collection[str]) -> int:
    counted = select(func.count()).select_from(table)
    return _total(session, values, lambda some: counted.where(col(column).in_(some)))


def _total(session: Session, values: Collection[str], query: Callable[[list[str]], Any]) -> int:
    return sum(session.exec(query(some)).one() for some in chunked(values))
