"""What a report must know of an item: its question, and what only the database tells."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from sqlmodel import Session, col, select

from core.condition import TEXT_ONLY
from core.content import Frozen, Modality
from core.errors import UnknownName
from core.provenance import content_hash
from core.question import Question, QuestionKind
from core.taxonomy import TaskType, load_taxonomy
from evaluation.report.document import ItemRow
from warehouse.database import portions
from warehouse.release.records import materials_of
from warehouse.tables import Item, ItemRevision

VISUAL = frozenset({Modality.IMAGE, Modality.VIDEO})
NOT_STATED, NONE = "not stated", "none"
SPEECH, ENVIRONMENT = "speech", "environment"


class ItemFacts(Frozen):
    """An item as a report needs it.

    Attributes:
        name: What people call it.
        question: Its question.
        cluster: Items of one cluster are no independent evidence.
        twin_group: The group of counterfactual twins that it belongs to, if another of them is in the report too.
        sound: `environment` (sounds and music) or `speech`; None where nothing says.
    """

    name: str
    question: Question
    cluster: str
    twin_group: str | None = None
    sound: str | None = None

    @property
    def scope(self) -> str:
        """`omni`, `audio`, `visual` or `text`, by the media that the prompt holds."""
        heard, seen = Modality.AUDIO in self.question.modalities, bool(self.question.modalities & VISUAL)
        return {(True, True): "omni", (True, False): "audio", (False, True): "visual", (False, False): "text"}[
            heard, seen
        ]

    @cached_property
    def task_type(self) -> TaskType | None:
        """Its place in the taxonomy; None for a type that is not in it (imported questions have such)."""
        try:
            return load_taxonomy().get(self.question.task_type)
        except UnknownName:
            return None

    @property
    def chance(self) -> float | None:
        """What guessing among the choices gives, where one is right."""
        return 1 / len(self.question.choices) if len(self.question.answer.correct) == 1 else None

    def row(self, revision_id: str) -> ItemRow:
        """The attributes that numbers select by."""
        task_type, question = self.task_type, self.question
        has_audio = Modality.AUDIO in question.modalities
        return ItemRow(
            revision_id=revision_id,
            item_name=self.name,
            kind=question.kind.value,
            scope=self.scope,
            modalities="+".join(sorted(question.modalities)) or NONE,
            task_type=question.task_type,
            branch=task_type.branch if task_type else NOT_STATED,
            ability=task_type.report_ability.value if task_type and task_type.report_ability else NONE,
            sound=(self.sound or NOT_STATED) if has_audio else NONE,
            steps=str(len(question.steps)),
            twin="yes" if self.twin_group else "no",
            twin_group=self.twin_group,
            cluster=self.cluster,
            step_points=tuple(step.points for step in question.steps),
        )


def item_facts(session: Session, revision_ids: Sequence[str]) -> dict[str, ItemFacts]:
    """The facts of these revisions, by id; those that share a medium or a twin group have one cluster.

    The sound of an item is `speech` if any of its audio is, else `environment` (which takes music in) if all of it is
    said to be; audio that nobody described leaves it open.
    """
    found: dict[str, tuple[ItemRevision, Item]] = {}
    query = select(ItemRevision, Item).join(Item, col(Item.id) == col(ItemRevision.item_id))
    for ids in portions(revision_ids):
        found |= {one.id: (one, item) for one, item in session.exec(query.where(col(ItemRevision.id).in_(ids)))}
    sounds = {
        revision_id: sound_of([one.audio_type for one in materials.values() if one.modality == Modality.AUDIO.value])
        for revision_id, materials in materials_of(session, revision_ids).items()
    }
    questions = {revision_id: found[revision_id][0].as_question() for revision_id in revision_ids}
    twins = {revision_id: found[revision_id][1].twin_group for revision_id in revision_ids}
    sizes = Counter(twins.values())
    twins = {revision_id: group if sizes[group] > 1 else None for revision_id, group in twins.items()}
    clusters = clusters_of(questions, twins)
    return {
        revision_id: ItemFacts(
            name=found[revision_id][1].name,
            question=question,
            cluster=clusters[revision_id],
            twin_group=twins[revision_id],
            sound=sounds.get(revision_id),
        )
        for revision_id, question in questions.items()
    }


def sound_of(audio_types: Sequence[str | None]) -> str | None:
    """The kind of sound of an item from those of its audio materials."""
    if SPEECH in audio_types:
        return SPEECH
    return ENVIRONMENT if audio_types and None not in audio_types else None


def clusters_of(questions: Mapping[str, Question], twin_groups: Mapping[str, str | None]) -> dict[str, str]:
    """A cluster for each revision: connected through shared media or a twin group; called by its first revision."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ids = list(questions)
    places: dict[tuple[str, str], int] = {}
    links: list[tuple[int, int]] = []
    for place, revision_id in enumerate(ids):
        shared = [("media", part.media.sha256) for part in questions[revision_id].media]
        if group := twin_groups[revision_id]:
            shared.append(("twins", group))
        links += [(place, places.setdefault(one, len(ids) + len(places))) for one in shared]
    size = len(ids) + len(places)
    if not size:
        return {}
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][: len(ids)]
    first: dict[int, str] = {}
    return {
        revision_id: first.setdefault(int(label), revision_id) for revision_id, label in zip(ids, labels, strict=True)
    }


def blind_ceiling(members: Sequence[Question]) -> float:
    """The best that a policy which sees no media can reach on a twin group: 0 where it cannot get all members right.

    It gives the same answer to members that read the same, so two of those that no one answer serves are out of its
    reach. The order of the choices is not taken to tell them apart.
    """
    faces: dict[str, list[Question]] = {}
    for question in members:
        shown = TEXT_ONLY.apply(question)
        asked = [shown.prompt_text, sorted(choice.text for choice in shown.choices), [step.ask for step in shown.steps]]
        faces.setdefault(content_hash(asked), []).append(question)
    return float(all(_share_an_answer(alike) for alike in faces.values()))


def _share_an_answer(alike: Sequence[Question]) -> bool:
    """Whether one answer is right for all of these questions, sub-question by sub-question."""
    return all(frozenset.intersection(*keys) for keys in zip(*map(_right_answers, alike), strict=True))


def _right_answers(question: Question) -> list[frozenset[object]]:
    match question.kind:
        case QuestionKind.CHOICE:
            return [frozenset({frozenset(question.choices[index].text for index in question.answer.correct)})]
        case QuestionKind.OPEN:
            return [frozenset(question.answer.accepted)]
        case QuestionKind.MULTI_STEP:
            return [frozenset(step.answer.accepted) for step in question.steps]
