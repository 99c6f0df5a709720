"""What Inspect AI finds of us: the task `interplay/omni`, its scorer `interplay/interplay_grade`, and our providers.

Inspect AI puts the root package of a module before the names that it registers, so this module lies in `interplay`.
It is loaded by every `inspect` command; whatever is heavy is imported when it is used.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # exported nowhere; its text is shown without a traceback
from inspect_ai.model import ModelAPI, modelapi
from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    grouped,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from rich.markup import escape

from core.errors import InterplayError

if TYPE_CHECKING:
    from warehouse.release.opened import Export


@task
def omni(
    folder: str = "",
    split: str = "test",
    condition: str = "full",
    language: str | None = None,
    endpoint: str | None = None,
    delivery: dict[str, Any] | None = None,
) -> Task:
    """An exported release, asked and graded as `interplay evaluation run` does.

    Args:
        folder: What `interplay release export` wrote, in any format.
        split: `test`, `dev` or `all`.
        condition: What is shown: `full`, `without_audio`, `without_image`, `without_video`, `without_visual`,
            `text_only` or `options_only`. Questions to which it does not apply are left out.
        language: Only questions in this language.
        endpoint: The row of `capabilities` that says what the model's server takes; else it follows from the provider.
        delivery: What differs from that row, as `{frames: 8}`.
    """
    from evaluation.inspect_task import open_folder, release_task, selection_of
    from evaluation.models.omni.capabilities import capability_for

    try:
        selection = selection_of(split, condition, language)
        capability_for("", endpoint, delivery or {})
        export = open_folder(folder)
        return release_task(export, selection, interplay_ask(export, endpoint, delivery), interplay_grade())
    except InterplayError as error:
        raise _plain(error) from error


@solver
def interplay_ask(export: "Export", endpoint: str | None = None, delivery: dict[str, Any] | None = None) -> Solver:
    """Send a question's text and media in the form that the server of the model in use takes; store what was sent."""
    from evaluation.adaptation import Adapter
    from evaluation.inspect_task import ask

    media = Adapter(export)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await ask(state, generate, media, endpoint, delivery or {})

    return solve


@metric(scores="unreduced")
def interplay_counts() -> Metric:
    """How many replies were graded, and how many of those were no valid answer."""

    def count(scores: list[SampleScore]) -> Value:
        from evaluation.inspect_task import counts

        return counts(scores)

    return count


@scorer(
    metrics=[
        mean(),
        stderr(cluster="cluster"),
        grouped(mean(), "kind", all=False, name_template="mean_{group_name}"),
        grouped(stderr(cluster="cluster"), "kind", all=False, name_template="stderr_{group_name}"),
        interplay_counts(),
    ]
)
def interplay_grade() -> Scorer:
    """Points in [0, 1] by the question's own grader; NaN, which Inspect AI leaves out, where it could not be graded."""

    async def score(state: TaskState, target: Target) -> Score:
        from evaluation.inspect_task import grade

        del target  # for people; the key itself is in the sample's question
        return await grade(state)

    return score


@modelapi(name="interplay-sim")
def interplay_sim() -> type[ModelAPI]:
    """Simulated panel members."""
    from evaluation.models.sim.provider import SimulatedAPI

    return _plainly(SimulatedAPI)


@modelapi(name="interplay-omni")
def interplay_omni() -> type[ModelAPI]:
    """OpenAI-compatible servers that take pictures, sounds and videos."""
    from evaluation.models.omni.provider import OmniAPI

    return _plainly(OmniAPI)


def _plainly(provider: Callable[..., ModelAPI]) -> type[ModelAPI]:
    """A provider whose mistakes of settings are shown as text."""

    @wraps(provider)
    def make(*values: Any, **arguments: Any) -> ModelAPI:
        try:
            return provider(*values, **arguments)
        except InterplayError as error:
            raise _plain(error) from error

    return cast(type[ModelAPI], make)


def _plain(error: InterplayError) -> PrerequisiteError:
    return PrerequisiteError(escape(str(error)))
