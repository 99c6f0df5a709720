"""A release as a task of Inspect AI: the rows of an exported folder, asked and graded as `evaluation run` does.

`interplay.inspect_entry` registers what stands here under names that Inspect AI finds.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import SampleScore, Score, Scorer
from inspect_ai.solver import Generate, Solver, TaskState
from pydantic import ValidationError

from core.condition import Condition
from core.content import Message, TextPart
from core.errors import InterplayError, UnknownName
from core.grading import Grade
from core.media.errors import MediaError
from core.question import Question, QuestionKind, choice_label
from evaluation.adaptation import Adapter
from evaluation.conditions import STANDARD
from evaluation.delivery import deliver
from evaluation.grade import grade_answer
from evaluation.graders import grader_for
from evaluation.graders.verdicts import Verdict, verdict_of, why_of
from evaluation.models.catalogue import ModelSpec
from evaluation.models.client import UnreadableReply, answered
from evaluation.models.omni.capabilities import Capability, capability_for
from evaluation.report.items import clusters_of
from evaluation.solve import Showing
from warehouse.release.manifest import Manifest, ManifestRow
from warehouse.release.opened import Export, open_export
from warehouse.release.splits import Split

logger = logging.getLogger("interplay")

ALL = "all"
# Under this name the store of a sample holds `sent` (the manifest of the media), or `failure` with state and error.
DELIVERY = "interplay_delivery"
_CHARACTERS_A_TOKEN = 4


class NothingToAsk(InterplayError):
    """A selection of a release that holds no question."""


class NoFolder(InterplayError):
    """Nobody said which release is asked."""


class NoQuestion(InterplayError):
    """A sample that is not one of ours."""


class ToldTwice(InterplayError):
    """What a server takes is said to the task, though the model says it itself."""


@dataclass(frozen=True)
class Selection:
    """Which rows are asked, and what of them is shown; `language` may be a tag (`zh-Hant`) or its first part (`zh`)."""

    split: str
    condition: Condition
    language: str | None

    def rows(self, manifest: Manifest) -> list[ManifestRow]:
        """The rows of the split and language, whether the condition applies to them or not.

        Raises:
            NothingToAsk: There are none.
        """
        in_split = [row for row in manifest.rows if self.split in (row.split, ALL)]
        if not in_split:
            have = ", ".join(sorted({row.split for row in manifest.rows})) or "none"
            raise NothingToAsk(f"{manifest.title} has no questions in split {self.split!r}; splits with some: {have}")
        rows = [row for row in in_split if self.language in (None, *_tags(row.question.language))]
        if not rows:
            have = ", ".join(sorted({row.question.language for row in in_split}))
            raise NothingToAsk(f"{manifest.title} has no questions in language {self.language!r}; it has {have}")
        return rows


def selection_of(split: str, condition: str, language: str | None) -> Selection:
    """A selection by names.

    Raises:
        UnknownName: There is no such split or condition.
        NothingToAsk: The split is in no export.
    """
    if split == Split.HOLDOUT:
        raise NothingToAsk(
            "held-out questions are in no export, so they cannot be asked or graded from one; use 'interplay "
            "evaluation run' in the project"
        )
    splits = [Split.DEV.value, Split.TEST.value, ALL]
    if split not in splits:
        raise UnknownName("split", split, splits)
    if condition not in STANDARD:
        raise UnknownName("condition", condition, STANDARD)
    return Selection(split, STANDARD[condition], language)


def release_task(export: Export, selection: Selection, solver: Solver, scorer: Scorer) -> Task:
    """The task: one sample for each selected row to which the condition applies.

    Raises:
        NothingToAsk: There is none.
    """
    manifest, condition = export.manifest, selection.condition
    rows = selection.rows(manifest)
    asked = [row for row in rows if condition.applies_to(row.question)]
    if not asked:
        raise NothingToAsk(
            f"condition {condition.name!r} applies to none of the {len(rows)} questions of {manifest.title}: none of "
            "them holds what it takes away; choose another condition"
        )
    left_out = len(rows) - len(asked)
    if left_out:
        logger.warning("%d of %d questions are left out: %s does not apply", left_out, len(rows), condition.name)
    # All rows of the release: two that are asked may hang together through one that is not.
    clusters = clusters_of(
        {row.qid: row.question for row in manifest.rows}, dict.fromkeys(row.qid for row in manifest.rows)
    )
    samples = [_sample(row, condition, clusters[row.qid]) for row in asked]
    return Task(
        dataset=MemoryDataset(samples, name=manifest.title, location=str(export.folder)),
        solver=solver,
        scorer=scorer,
        version=manifest.version,
        metadata={
            "release": manifest.title,
            "manifest_sha256": export.manifest_sha256,
            "canary": manifest.canary,
            "split": selection.split,
            "condition": condition.name,
            "language": selection.language,
            "asked": len(asked),
            "left_out": left_out,
        },
    )


def open_folder(folder: str) -> Export:
    """The exported folder, verified.

    Raises:
        NoFolder: There is no name.
        NoExport, DamagedExport: As `open_export`.
    """
    if not folder:
        raise NoFolder("name the folder that 'interplay release export' made: -T folder=FOLDER")
    return open_export(Path(folder).expanduser())


async def ask(
    state: TaskState, generate: Generate, media: Adapter, endpoint: str | None, delivery: Mapping[str, Any]
) -> TaskState:
    """Put a sample to the model in use, its media in the form that the model's server takes.

    Raises:
        NoQuestion: The sample is not one of ours.
        UnknownName, BadCapability, ToldTwice: `endpoint` or `delivery` do not fit the model.
        MissingBlob, DamagedBlob: The export was changed after it was opened.
    """
    model = get_model()
    if state.model.api == "mockllm":
        _count_offline(model)
    capability = _capability(model, state, endpoint, delivery)
    showing = Showing(_question(state), STANDARD[state.metadata["condition"]])
    try:
        state.messages, sent = await run_sync(deliver, showing.messages, media, capability)
        state.store.set(DELIVERY, {"sent": sent})
        return await generate(state)
    except MediaError as error:
        state.store.set(DELIVERY, {"failure": {"state": "blocked", "error": str(error)}})
    except UnreadableReply as error:
        state.store.set(DELIVERY, {"failure": {"state": "unparsed", "error": str(error)}})
    state.completed = True
    return state


async def grade(state: TaskState) -> Score:
    """The grade of a sample; what could not be graded is unscored, which is no zero and in no mean.

    Raises:
        NoQuestion: The sample is not one of ours.
    """
    question = _question(state)
    failure = (state.store.get(DELIVERY) or {}).get("failure")
    if failure is not None:
        return Score.unscored(reason=failure["state"], explanation=failure["error"])
    if state.output.empty:
        return Score.unscored(reason="no_output", explanation="the model gave no output, so nothing can be graded")
    name = str(state.model)
    response = answered(ModelSpec(name=name, provider=name, family=name), state.output)
    if response["state"] == "api_error":
        return Score.unscored(reason="api_error", explanation=response["error"])
    try:
        entry = grader_for(question)
    except InterplayError as error:
        return Score.unscored(reason="scoring_failed", answer=response["answer"], explanation=str(error))
    # Not all graders are rules that take no time.
    given = await run_sync(grade_answer, question, response["state"], response["answer"], entry)
    return _score(given, response)


def counts(scores: list[SampleScore]) -> dict[str, int]:
    """How many replies were graded, and how many of them were no valid answer (and got zero points for that)."""
    verdicts = [(score.score.metadata or {}).get("verdict") for score in scores]
    return {"graded": len(verdicts), "invalid": verdicts.count(Verdict.INVALID.value)}


def _score(given: Grade, response: Mapping[str, Any]) -> Score:
    verdict, why = verdict_of(given), why_of(given)
    metadata = {"state": response["state"], "verdict": verdict.value, "grader": given.grader}
    if given.step_points:
        metadata["step_points"] = list(given.step_points)
    reason = why.value if why and verdict in (Verdict.INVALID, Verdict.NOT_GRADED) else None
    told = {"reason": reason, "answer": response["answer"], "explanation": given.reason, "metadata": metadata}
    return Score.unscored(**told) if given.points is None else Score(value=given.points, **told)


def _sample(row: ManifestRow, condition: Condition, cluster: str) -> Sample:
    question = row.question
    return Sample(
        id=row.qid,
        input="\n\n".join(map(_readable, Showing(question, condition).messages)),
        target=_key(question),
        metadata={
            "revision": row.revision,
            "split": row.split,
            "kind": question.kind.value,
            "task_type": question.task_type,
            "language": question.language,
            "required": sorted(question.required),
            "condition": condition.name,
            "cluster": cluster,
            "question": question.model_dump(mode="json"),
        },
    )


def _question(state: TaskState) -> Question:
    try:
        return Question.model_validate(state.metadata["question"])
    except (KeyError, ValidationError) as error:
        raise NoQuestion(
            f"sample {state.sample_id!r} holds no question of a release; use this with the task interplay/omni"
        ) from error


def _capability(model: Model, state: TaskState, endpoint: str | None, delivery: Mapping[str, Any]) -> Capability:
    own = getattr(model.api, "capability", None)
    if not isinstance(own, Capability):
        return capability_for(str(state.model), endpoint, delivery)
    if endpoint is not None or delivery:
        raise ToldTwice(
            f"{state.model} knows what its server takes; give 'endpoint' and 'delivery' as model arguments (-M), "
            "not to the task (-T)"
        )
    return own


def _readable(message: Message) -> str:
    return "".join(part.text if isinstance(part, TextPart) else f"<{part.name}>" for part in message.parts)


def _key(question: Question) -> str | list[str]:
    """The right answer for people; grades come from the question's own key."""
    match question.kind:
        case QuestionKind.CHOICE:
            return ", ".join(choice_label(index) for index in question.answer.correct)
        case QuestionKind.MULTI_STEP:
            return [step.answer.accepted[0] for step in question.steps]
        case QuestionKind.OPEN:
            return question.answer.accepted[0]


def _tags(language: str) -> Iterator[str]:
    yield language
    yield language.partition("-")[0]


def _count_offline(model: Model) -> None:
    """Let Inspect AI's mock model count tokens by characters: its own way fetches a vocabulary from the network."""

    async def count(text: str) -> int:
        return max(1, len(text) // _CHARACTERS_A_TOKEN)

    model.api.count_text_tokens = count  # type: ignore[method-assign]
