"""`interplay qc review ...`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlmodel import Session, col, select

from core.content import MediaPart, Message, TextPart
from core.errors import InterplayError
from core.taxonomy import Language
from evaluation.prompts import render
from qc.audit.subjects import shown_of
from qc.review.blind import Background, CaseView, ReviewView, Stage, answer_full, answer_partial, open_case, open_review
from qc.review.gold import add_gold, gold_items, gold_score, retire_gold
from qc.review.opinions import Comment, Opinion, decide_case, give_review
from qc.review.queue import Task, present_task, release_task, take_open_case, take_review
from qc.review.solves import ablation_solves
from qc.review.verdicts import adjudicate
from qc.review.waiting import OPEN_CASE, Waiting, open_cases, waiting_for_review
from warehouse.command_line import JsonOption, ProjectOption, by_option, show, show_table
from warehouse.exporters.base import copy_media, file_name
from warehouse.people import Role
from warehouse.tables import Decision, User
from warehouse.workspace import Workspace, open_workspace

app = typer.Typer(no_args_is_help=True, help="Review questions blind first, and decide.", rich_markup_mode=None)
gold_app = typer.Typer(no_args_is_help=True, help="Gold items, which measure attention.", rich_markup_mode=None)
app.add_typer(gold_app, name="gold")

ByOption = Annotated[str, by_option(Role.REVIEWER)]
MaintainerOption = Annotated[str, by_option(Role.MAINTAINER)]
DecisionOption = Annotated[Decision, typer.Option(help="What you decide.")]
ReasonOption = Annotated[list[str] | None, typer.Option("--reason", help="A reason code; see 'qc reasons'; repeat.")]
ItemArgument = Annotated[str, typer.Argument(help="Item name.")]
MediaOption = Annotated[
    Path | None, typer.Option("--media", file_okay=False, help="Copy the media that are shown now into this folder.")
]
LanguageOption = Annotated[Language, typer.Option(help="Language of the instructions.")]


class NoTask(InterplayError):
    """Somebody works on a task, but has none."""


class AnswerUnclear(InterplayError):
    """Both or none of an answer and "cannot tell" were given."""


@app.command("next")
def next_command(
    by: ByOption,
    case: Annotated[
        bool, typer.Option("--open-case", help="A case that a check of round 1 or 2 left open, instead of a review.")
    ] = False,
    media: MediaOption = None,
    language: LanguageOption = "en",
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show your present task, or take the next one.

    Example: interplay qc review next --by ana --media now/
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        present = present_task(session, by)
        is_case = case if present is None else present.kind == OPEN_CASE
        task = (take_open_case if is_case else take_review)(session, by)
        view = None if task is None else _open(session, task, by)
        if view is not None and media is not None:
            _lay_out(workspace, view, media)
    if view is None:
        show(None, ["nothing waits for you"], as_json)
    else:
        show(view.model_dump(mode="json"), _view_lines(view, language, media), as_json)


@app.command()
def answer(
    by: ByOption,
    text: Annotated[str | None, typer.Option("--answer", help="Your answer, written as a model is told to.")] = None,
    cannot_tell: Annotated[bool, typer.Option("--cannot-tell", help="What is shown is not enough to answer.")] = False,
    media: MediaOption = None,
    language: LanguageOption = "en",
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Answer the question of your present review as it is shown now; then the next stage is shown.

    Example: interplay qc review answer --by ana --answer B
    """
    if (text is None) != cannot_tell:
        raise AnswerUnclear("give an answer with --answer, or --cannot-tell, one of them")
    with open_workspace(project) as workspace, workspace.database.session() as session:
        task = _present(session, by)
        stage = open_review(session, task.assignment_id, by).stage
        store = answer_partial if stage is Stage.PARTIAL else answer_full
        view = store(session, task.assignment_id, by, text)
        if media is not None:
            _lay_out(workspace, view, media)
    show(view.model_dump(mode="json"), _view_lines(view, language, media), as_json)


@app.command()
def decide(
    by: ByOption,
    decision: DecisionOption,
    reason: ReasonOption = None,
    comment: Annotated[
        list[str] | None, typer.Option(help="Words for the author as 'PART: WORDS', as 'choice B: too long'; repeat.")
    ] = None,
    edit: Annotated[
        list[str] | None, typer.Option(help="A text that you suggest for a part, as 'PART: TEXT'; repeat.")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Decide on your present task, which ends it.

    Example: interplay qc review decide --by ana --decision return --reason ambiguous --comment "prompt: which lynx?"
    """
    opinion = Opinion(
        decision=decision,
        reason_codes=tuple(reason or ()),
        comments=tuple(Comment(part=part, text=text) for part, text in map(_anchored, comment or ())),
        suggested_edit=dict(map(_anchored, edit or ())),
    )
    with open_workspace(project) as workspace, workspace.database.session() as session:
        task = _present(session, by)
        (decide_case if task.kind == OPEN_CASE else give_review)(session, task.assignment_id, by, opinion)
    # Nothing of what follows from it: on a gold item nothing does, and that must not be seen.
    document = {"item": task.item, **opinion.model_dump(mode="json")}
    show(document, [f"{task.item}: {decision.value} by {by}"], as_json)


@app.command()
def release(by: ByOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Give your present task back; what you answered is kept.

    Example: interplay qc review release --by ana
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        task = _present(session, by)
        release_task(session, task.assignment_id, by)
    show(task.model_dump(mode="json"), [f"{task.item}: given back"], as_json)


@app.command()
def waiting(as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Show what waits for reviewers, for a third opinion, for a maintainer, and as an open case.

    Example: interplay qc review waiting
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        standing = [*waiting_for_review(session), *open_cases(session)]
        holders = {user for one in standing for user in one.at_work.values()}
        names = dict(session.exec(select(User.id, User.name).where(col(User.id).in_(holders))).all())
        solves = ablation_solves(session)
    documents = [_waiting_document(one, names) for one in standing]
    rows = [
        [
            one["item"],
            one["round"],
            one["waits_for"],
            one["since"],
            ", ".join(one["at_work"]),
            one["given"] or None,
            ", ".join(f"{given['decider']}: {given['decision']}" for given in one["opinions"]),
        ]
        for one in documents
    ]
    document = {"waiting": documents, "solves": [one.model_dump(mode="json") for one in solves]}
    show_table(document, ["item", "round", "waits for", "since", "at work", "given", "opinions"], rows, as_json)
    if not as_json:
        show(None, [f"people's answers {one.words}" for one in solves], False)


@app.command("adjudicate")
def adjudicate_command(
    item: ItemArgument,
    decision: DecisionOption,
    by: MaintainerOption,
    reason: ReasonOption = None,
    comment: Annotated[str | None, typer.Option(help="Words for the author.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Decide on an item whose reviewers cannot settle it; 'waiting' lists these.

    Example: interplay qc review adjudicate zoo-001 --decision pass --by mara
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        verdict, moved = adjudicate(session, item, by, decision, reason or (), comment)
    document = {"verdict": verdict.model_dump(mode="json"), "state": moved.state.value}
    show(document, [f"{moved.name}: {decision.value} by {by}; the item is {moved.state.value}"], as_json)


@gold_app.command("add")
def add_command(
    item: ItemArgument,
    decision: DecisionOption,
    by: MaintainerOption,
    reason: ReasonOption = None,
    note: Annotated[str | None, typer.Option(help="Why the verdict is right; reviewers never see it.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Give an accepted, rejected or released item to reviewers among their own; each reason code counts as right.

    Example: interplay qc review gold add zoo-001 --decision reject --reason wrong_key --by mara
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        gold = add_gold(session, item, decision, reason or (), by=by, note=note)
    show(gold.model_dump(mode="json"), [f"{item}: gold, {decision.value}"], as_json)


@gold_app.command("retire")
def retire_command(
    item: ItemArgument, by: MaintainerOption, as_json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Give a gold item to nobody any more.

    Example: interplay qc review gold retire zoo-001 --by mara
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        gold = retire_gold(session, item, by=by)
    show(gold.model_dump(mode="json"), [f"{item}: gold no more"], as_json)


@gold_app.command("list")
def list_command(by: MaintainerOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """List gold items, and how many each reviewer judged rightly.

    Example: interplay qc review gold list --by mara
    """
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found, scores = gold_items(session, by=by), gold_score(session)
    document = {
        "items": [{"item": name, **gold.model_dump(mode="json")} for name, gold in found],
        "scores": [score.model_dump(mode="json") for score in scores],
    }
    lines = [
        f"{name}: {gold.decision}"
        + (f" ({', '.join(gold.reason_codes)})" if gold.reason_codes else "")
        + ("" if gold.active else ", retired")
        for name, gold in found
    ]
    lines += [
        f"{score.reviewer}: {score.right} of {score.given} right (95% interval {score.low:.2f} to {score.high:.2f})"
        for score in scores
    ]
    show(document, lines or ["no gold items"], as_json)


def _present(session: Session, by: str) -> Task:
    task = present_task(session, by)
    if task is None:
        raise NoTask(f"{by} has no task (none was taken, or its lease ran out); take one with 'qc review next'")
    return task


def _open(session: Session, task: Task, by: str) -> ReviewView | CaseView:
    return (open_case if task.kind == OPEN_CASE else open_review)(session, task.assignment_id, by)


def _anchored(text: str) -> tuple[str, str]:
    part, colon, words = text.partition(":")
    if not colon or not words.strip():
        raise typer.BadParameter(f"{text!r} is no 'PART: WORDS'; write it as 'choice B: too long'")
    return part.strip(), words.strip()


def _waiting_document(one: Waiting, names: dict[str, str]) -> dict[str, Any]:
    reviewers = "a third reviewer" if one.is_disputed else "reviewers" if one.needed > 1 else "a reviewer"
    return {
        "item": one.item,
        "revision_id": one.revision_id,
        "round": one.round,
        "waits_for": "a maintainer" if one.waits_for_maintainer else reviewers,
        "needed": one.needed,
        "since": one.since.isoformat(timespec="minutes"),
        "at_work": sorted(names[user] for user in one.at_work.values()),
        "given": len(one.opinions),
        "opinions": [
            given.model_dump(mode="json", include={"decider", "decision", "reason_codes", "comment"})
            # Who still judges must not know what others said.
            for given in (one.opinions if one.waits_for_maintainer else ())
        ],
    }


def _message(view: ReviewView | CaseView) -> Message:
    return render(view.background.question)[0] if isinstance(view, CaseView) else view.shown.message


def _lay_out(workspace: Workspace, view: ReviewView | CaseView, folder: Path) -> None:
    """Copy what is shown now, and nothing that is still hidden."""
    for part in _message(view).parts:
        if isinstance(part, MediaPart):
            copy_media(workspace.blobs, part.media, folder)


def _view_lines(view: ReviewView | CaseView, language: Language, media: Path | None = None) -> list[str]:
    head = f"{view.item} (yours until {view.expires_at:%Y-%m-%d %H:%M} UTC)"
    lines = [f"{head}: {view.stage.value}" if isinstance(view, ReviewView) else f"{head}: round {view.round}"]
    lines.append(view.instruction.text(language))
    if isinstance(view, CaseView):
        lines.append(f"Evidence: interplay qc show {view.item}")
        return [*lines, "", *_message_lines(_message(view), media), *_background_lines(view.background)]
    lines += ["", *_message_lines(_message(view), media)]
    if view.revealed is None:
        return lines
    for given in view.revealed.answers:
        points = "not graded" if given.points is None else f"{given.points:g} of 1"
        shown = "with everything" if given.hidden is None else f"without {given.hidden.value}"
        lines.append(f"you answered {shown}: {given.answer or 'cannot tell'} ({points})")
    lines += [f"other reviewers {one.words}" for one in view.revealed.solves]
    return [*lines, *_background_lines(view.revealed)]


def _message_lines(message: Message, folder: Path | None) -> list[str]:
    """The question as a model is asked it, with media as files in the folder, or named by their content."""
    texts = [part.text if isinstance(part, TextPart) else _named(part, folder) for part in message.parts]
    return "".join(texts).splitlines()


def _named(part: MediaPart, folder: Path | None) -> str:
    where = f"{part.media.media_type} {part.media.sha256}" if folder is None else folder / file_name(part.media)
    return f"<{part.name}: {where}>"


def _background_lines(background: Background) -> list[str]:
    question = background.question
    lines = [f"answer: {line}" for line in shown_of(question)["answer"].splitlines()]
    lines += [f"rubric of step {place}: {step.rubric}" for place, step in enumerate(question.steps, 1) if step.rubric]
    lines.append(f"required: {', '.join(sorted(question.required))}")
    lines += [f"note on {name}: {value}" for name, value in background.notes.items()]
    for verdict in background.verdicts:
        words = _joined([", ".join(verdict.reason_codes), verdict.comment])
        lines.append(f"round {verdict.round}, {verdict.decider}: {verdict.decision}{words}")
    return [*lines, *(f"changed: {change.words}" for change in background.changes or ())]


def _joined(texts: Sequence[str | None]) -> str:
    return "".join(f"; {text}" for text in texts if text)
