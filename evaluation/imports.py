"""Answers from elsewhere: of people, or of models that another harness asked; graded and reported beside ours."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from core.content import Frozen
from core.errors import InterplayError, UnknownName, first_problem
from core.ids import Clock, utc_now
from core.provenance import canonical_json, content_hash
from evaluation.conditions import STANDARD
from evaluation.grade import Graded, grade_answers
from evaluation.run import COMMAND, release_revisions
from evaluation.solve import Showing
from warehouse.runs import open_run
from warehouse.tables import ItemRevision
from warehouse.workspace import Workspace


class BadAnswerFile(InterplayError):
    """A file of answers that cannot be read; nothing of it was stored."""


class NameTaken(InterplayError):
    """Answers from elsewhere under the name of a model of the project."""


class GivenAnswer(Frozen):
    """One line of the file.

    Attributes:
        item: The item's name.
        answer: What was answered; may be left out where `state` says why there is none.
        condition: What was shown.
        state: `ok`, or how there came to be no valid answer.
        who: A pseudonym, where several people answered: each counts as a repetition.
    """

    item: str
    answer: str | None = None
    condition: str = "full"
    state: Literal["ok", "refusal", "truncated", "empty"] = "ok"
    who: str = Field(default="", max_length=64)


def import_answers(
    workspace: Workspace,
    release: tuple[str, str],
    file: Path,
    model: str,
    *,
    human: bool = False,
    clock: Clock = utc_now,
) -> tuple[int, Graded]:
    """Store the answers of a JSONL file as those of a model to a release, and grade them; all of the file or nothing.

    The same line again changes nothing; another answer of the same person to the same question takes the place of the
    first. Gives how many answers the file holds, and what was graded.

    Args:
        workspace: Of the project.
        release: Name and version.
        file: A `GivenAnswer` a line.
        model: What reports call the one that answered.
        human: Whether that is people.
        clock: Tells the time.

    Raises:
        NameTaken: The project has a model of that name.
        UnknownName: No such release.
        BadAnswerFile: A line cannot be read, names no item of the release, or a condition that does not apply to it.
    """
    if model in workspace.project.settings.models:
        raise NameTaken(f"{model!r} is a model of interplay.toml, which answers by itself; choose another --model")
    revisions = dict(release_revisions(workspace, *release))
    given = list(_read(file, revisions))
    settings = {
        "release": " ".join(release),
        "models": [{"name": model, "imported": file.name, "is_human": human}],
        "sha256": content_hash([one.model_dump() for one, _ in given]),
    }
    with open_run(workspace.database, COMMAND, settings, clock=clock) as run:
        with workspace.facts.writer("response", run.id) as writer:
            for one, revision in given:
                writer.add(_row(one, revision, model, human, clock().isoformat()))
        questions = {one.id: one.as_question() for one in revisions.values()}
        graded = grade_answers(workspace.facts, run.id, questions, clock)
        run.summary = {"imported": len(given), "graded": graded.graded}
    return len(given), graded


def _read(file: Path, revisions: Mapping[str, ItemRevision]) -> Iterator[tuple[GivenAnswer, ItemRevision]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise BadAnswerFile(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadAnswerFile(f"{file} is not in UTF-8 ({error}); save it in UTF-8") from error
    seen: dict[tuple[str, str, str], int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            one = GivenAnswer.model_validate_json(line)
            revision = _revision(one, revisions)
        except ValidationError as error:
            problem = first_problem(error, GivenAnswer.model_fields)
            raise BadAnswerFile(f"{file}, line {number}: {problem}; nothing was imported") from error
        except InterplayError as error:
            raise BadAnswerFile(f"{file}, line {number}: {error}; nothing was imported") from error
        before = seen.setdefault((one.item, one.condition, one.who), number)
        if before != number:
            raise BadAnswerFile(
                f"{file}, line {number}: {one.item} was answered on line {before} already; "
                "tell people apart with 'who'; nothing was imported"
            )
        yield one, revision
    if not seen:
        raise BadAnswerFile(f'{file} holds no answer; write one a line: {{"item": "NAME", "answer": "Answer: B"}}')


def _revision(one: GivenAnswer, revisions: Mapping[str, ItemRevision]) -> ItemRevision:
    if one.item not in revisions:
        raise UnknownName("item of the release", one.item, revisions)
    if one.condition not in STANDARD:
        raise UnknownName("condition", one.condition, STANDARD)
    if not STANDARD[one.condition].applies_to(revisions[one.item].as_question()):
        raise BadAnswerFile(f"{one.item} has nothing that {one.condition!r} takes away")
    if one.state == "ok" and not (one.answer or "").strip():
        raise BadAnswerFile("there is no answer; say why with state: refusal, truncated or empty")
    return revisions[one.item]


def _row(one: GivenAnswer, revision: ItemRevision, model: str, human: bool, recorded_at: str) -> dict[str, Any]:
    condition = STANDARD[one.condition]
    asked = ["imported", model, human, revision.id, condition.fingerprint, one.who]
    unknown = (
        "error",
        "served_model",
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "tokens_by_modality",
        "attempts",
    )
    return dict.fromkeys((*unknown, "latency_s", "cost_usd")) | {
        # Another answer to the same question is another response: the grade of the first is not its grade.
        "key": content_hash([*asked, one.answer, one.state]),
        "request_key": content_hash(asked),
        "purpose": "imported",
        "model": model,
        "family": model,
        "item_name": one.item,
        "revision_id": revision.id,
        **Showing(revision.as_question(), condition).columns,
        "replicate": int(content_hash(one.who)[:12], 16) if one.who else 0,
        "parameters": canonical_json({"imported": True, "is_human": human}),
        "state": one.state,
        "answer": one.answer or "",
        "sent": "[]",
        "recorded_at": recorded_at,
    }
