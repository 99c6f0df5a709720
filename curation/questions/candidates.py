"""What the rules of supplementing look at: candidates out of public sets, and what the project has already."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session, col, select

from core.content import MediaRef
from core.question import Question
from curation.filters.language import is_wanted
from curation.questions.judged import judged_media
from curation.questions.scores import NoScores, Scores, pool_scores
from curation.questions.sets import find_set, iter_questions
from curation.questions.supplement import Candidate, Target, combination
from curation.tagging.tags import FREE, tags_of
from warehouse.items import revisions_in
from warehouse.tables import ItemRevision, ItemState, Material, PublicQuestion, RevisionMedia
from warehouse.workspace import Workspace

TYPE_LABELS = ("material_type", "image_type", "audio_type", "context", "source")
"""Labels of public questions that say what kind of material they show, where a set has them."""
_WORK = (ItemState.SUBMITTED, ItemState.ROUND1_PASSED, ItemState.ROUND2_PASSED, ItemState.ACCEPTED, ItemState.RELEASED)
"""Items in these states count as there: drafts may never be handed in."""


@dataclass(frozen=True)
class Wanted:
    """Which public questions, and which of their labels say what.

    Attributes:
        sets: Names of the sets; empty for all.
        subset_label: What parts a set into subsets; a set without that label is one.
        type_labels: What says which kind of material a question shows.
        pool: Of the models' scores, whose benchmarks are called as the sets are; None without.
    """

    sets: tuple[str, ...] = ()
    subset_label: str = "subset"
    type_labels: tuple[str, ...] = TYPE_LABELS
    pool: str | None = None


def read_candidates(workspace: Workspace, wanted: Wanted) -> tuple[list[Candidate], dict[str, Scores]]:
    """Candidates with their problems, and the scores of the models by subset.

    A candidate has a problem when it is asked already (in the project or by an earlier candidate), is in a language
    that the project does not take, or shows media that are missing or that the filters would drop.

    Raises:
        UnknownName: There is no such set, or no such pool.
    """
    languages = workspace.project.settings.languages
    read: list[tuple[Candidate, tuple[tuple[str, str], ...]]] = []
    refs: dict[str, MediaRef] = {}
    with workspace.database.reading() as session:
        asked = dict.fromkeys(session.exec(select(ItemRevision.content_hash)), "asked in the project already")
        # Row by row: of hundreds of thousands of questions nothing is kept but what the rules look at.
        for name in dict.fromkeys(wanted.sets) or [None]:
            for row, set_name in iter_questions(session, name):
                question = row.as_question()
                problems = [asked[row.content_hash]] if row.content_hash in asked else []
                asked.setdefault(row.content_hash, f"the same question as {set_name} {row.qid}")
                if languages and not is_wanted(question.language, languages):
                    problems.append(f"in {question.language}, which the project does not take")
                one = replace(_candidate(row, set_name, question, wanted), problems=tuple(problems))
                read.append((one, tuple((part.name, part.media.sha256) for part in question.media)))
                refs |= {part.media.sha256: part.media for part in question.media}
    bad = judged_media(workspace, refs)
    candidates = [
        replace(one, problems=(*one.problems, *(f"{name}: {bad[sha256]}" for name, sha256 in media if sha256 in bad)))
        for one, media in read
    ]
    return candidates, _scores(workspace, wanted.pool, candidates) if wanted.pool else {}


def read_target(workspace: Workspace) -> Target:
    """How many items of the project, from submitted on, each cell has, and how many show each type of material."""
    cells: Counter[tuple[str, str]] = Counter()
    types: Counter[str] = Counter()
    with workspace.database.reading() as session:
        for _, revision in revisions_in(session, *_WORK):
            question = revision.as_question()
            cells[question.task_type, combination(question.modalities)] += 1
            types.update(_shown_types(session, revision.id))
    return Target(cells, types)


def _candidate(row: PublicQuestion, set_name: str, question: Question, wanted: Wanted) -> Candidate:
    subset = row.labels.get(wanted.subset_label)
    types = {f"{name}:{row.labels[name]}" for name in wanted.type_labels if row.labels.get(name) not in (None, "")}
    choices = len(question.choices)
    return Candidate(
        id=row.id,
        qid=row.qid,
        set_name=set_name,
        subset=f"{set_name}/{subset}" if subset not in (None, "") else set_name,
        task_type=question.task_type,
        modalities=question.modalities,
        material_types=frozenset(types),
        chance=1 / choices if choices and len(question.answer.correct) == 1 else None,
    )


def _scores(workspace: Workspace, pool: str, candidates: Sequence[Candidate]) -> dict[str, Scores]:
    by_subset: dict[tuple[str, str], list[str]] = {}
    for one in candidates:
        by_subset.setdefault((one.set_name, one.subset), []).append(one.qid)
    found: dict[str, Scores] = {}
    for (set_name, subset), qids in sorted(by_subset.items()):
        try:
            found[subset] = pool_scores(workspace.facts, pool, set_name, qids)
        except NoScores:
            continue  # the report says that this subset was not judged
    return found


def _shown_types(session: Session, revision_id: str) -> Iterator[str]:
    query = select(Material).join(RevisionMedia).where(RevisionMedia.revision_id == revision_id)
    shown = {material.id: material for material in session.exec(query.order_by(col(Material.id)))}
    found: set[str] = set()
    for material_id, tags in tags_of(session, shown).items():
        found |= {str(tag.value) if tag.facet == FREE else f"{tag.facet}:{tag.value}" for tag in tags}
        if shown[material_id].audio_type:
            found.add(f"audio_type:{shown[material_id].audio_type}")
    yield from sorted(found)


def set_licences(session: Session, names: Sequence[str]) -> Mapping[str, str | None]:
    """The licence of each set."""
    return {name: find_set(session, name).licence for name in names}
