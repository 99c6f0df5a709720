"""`interplay exam ...`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from sqlmodel import Session

from evaluation.conditions import NAMES
from evaluation.exam.grading import grade_exam
from evaluation.exam.holding import (
    SETTLED,
    NewExam,
    all_exams,
    close_exam,
    create_exam,
    discard_exam,
    draw_exam,
    get_exam,
    invite,
    open_exam,
    progress_of,
    strata_of,
)
from evaluation.exam.results import ExamResults, Group, Times, exam_results
from evaluation.report.terminal import table_as_text
from warehouse.command_line import JsonOption, ProjectOption, by_option, show, show_table
from warehouse.people import Role
from warehouse.tables import Exam
from warehouse.workspace import open_workspace

app = typer.Typer(no_args_is_help=True, help="Ask people what models are asked.", rich_markup_mode=None)
ByOption = Annotated[str, by_option(Role.MAINTAINER)]
NameArgument = Annotated[str, typer.Argument(help="Exam name.")]


@app.command()
def create(
    name: NameArgument,
    size: Annotated[int, typer.Option(min=1, help="How many questions each person is asked.")],
    by: ByOption,
    release: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--release",
            help="Whose questions; none: all that are accepted.",
            metavar="NAME VERSION",
            show_default=False,
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option("--condition", help=f"Of {', '.join(NAMES)}; repeat. When none is given: full."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the sample, the conditions and the order.")] = 1,
    limit_s: Annotated[int | None, typer.Option("--limit-s", help="Seconds that one question may take.")] = None,
    confidence: Annotated[bool, typer.Option("--confidence/--no-confidence", help="Ask how sure people are.")] = True,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Draw the questions of an exam, some of each task type and combination of media; nobody sees it before it opens.

    Example: interplay exam create spring --release zoo 1.0.0 --size 40 --condition full --condition without_audio
    """
    new = NewExam(
        name=name,
        release=release,
        conditions=tuple(condition or ("full",)),
        size=size,
        seed=seed,
        limit_s=limit_s,
        asks_confidence=confidence,
    )
    with open_workspace(project) as workspace:
        with workspace.database.reading() as session:
            sample = draw_exam(session, new)
        with workspace.database.session() as session:
            exam = create_exam(session, new, by, sample=sample)
            document = _document(session, exam)
    show(document, [_line(exam, document), *_strata_lines(document)], as_json)


@app.command("invite")
def invite_command(
    name: NameArgument,
    person: Annotated[list[str], typer.Argument(help="User names.")],
    by: ByOption,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Give people a seat, each with questions that they never had to do with.

    Example: interplay exam invite spring mei jo
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        seats = invite(session, name, person, by)
        exam = get_exam(session, name)
        new = {seat.id for seat in seats}
        people = [one for one in progress_of(session, exam) if one.seat.id in new]
    documents = [
        {"person": one.user.name, "profile": one.seat.profile, "questions": one.total, "missing": one.seat.missing}
        for one in people
    ]
    lines = [
        f"{one.user.name}: {one.total} questions" + (f"; {_missing(one.seat.missing)}" if one.seat.missing else "")
        for one in people
    ]
    show(documents, lines, as_json)


@app.command("open")
def open_command(name: NameArgument, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Let those who are invited begin, in the studio.

    Example: interplay exam open spring
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        document = _document(session, open_exam(session, name, by))
    show(document, [f"{name} is open; people find it in the studio under 'Exam'"], as_json)


@app.command()
def close(name: NameArgument, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Take no more answers.

    Example: interplay exam close spring
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        document = _document(session, close_exam(session, name, by))
    show(document, [f"{name} is closed; 'interplay exam grade' stores what was answered"], as_json)


@app.command()
def discard(name: NameArgument, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Throw away an exam that was never open.

    Example: interplay exam discard spring
    """
    with open_workspace(project) as workspace, workspace.database.session() as session:
        discard_exam(session, name, by)
    show({"discarded": name}, [f"{name} is gone"], as_json)


@app.command()
def grade(name: NameArgument, by: ByOption, as_json: JsonOption = False, project: ProjectOption = None) -> None:
    """Store the answers of a closed exam like those of models, and grade them; then they stand in the reports.

    Example: interplay exam grade spring
    """
    with open_workspace(project) as workspace:
        graded = grade_exam(workspace, name, by)
    news = graded.words if graded.graded + graded.ungraded else "all graded before"
    show(vars(graded), [news], as_json)


@app.command("show")
def show_command(
    name: Annotated[str | None, typer.Argument(help="Exam name; none: all exams.")] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show an exam: how far people are, and once it is graded, people against models; without a name, all exams.

    Example: interplay exam show spring
    """
    with open_workspace(project) as workspace:
        with workspace.database.reading() as session:
            exams = all_exams(session) if name is None else [get_exam(session, name)]
            documents = [_document(session, exam) for exam in exams]
        if name is None:
            rows = [
                [one["name"], one["state"], one["about"], one["size"], one["invited"], one["finished"]]
                for one in documents
            ]
            show_table(documents, ["name", "state", "questions of", "size", "invited", "finished"], rows, as_json)
            return
        results = None
        if exams[0].graded_run_id is not None:
            with workspace.database.reading() as session:
                results = exam_results(session, workspace.facts, exams[0])
    _show_one(exams[0], documents[0], results, as_json)


def _show_one(exam: Exam, document: dict[str, Any], results: ExamResults | None, as_json: bool) -> None:
    groups = results.groups if results else ()
    tables = [one for one in results.report.tables if one.key in ("people", "single_people")] if results else []
    if as_json:
        told = {
            "groups": [one.model_dump(mode="json") for one in groups],
            "tables": [one.model_dump(mode="json") for one in tables],
        }
        show({**document, **told}, (), True)
        return
    show(None, [_line(exam, document), *_strata_lines(document)], False)
    rows = [
        [one["person"], one["profile"], f"{one['done']} of {one['questions']}", _missing(one["missing"])]
        for one in document["people"]
    ]
    show_table(None, ["person", "profile", "done", "missing"], rows, False)
    for table in tables:
        show_table(None, *table_as_text(table), False)
    show(None, [line for one in groups for line in _group_lines(one)], False)


def _document(session: Session, exam: Exam) -> dict[str, Any]:
    people = progress_of(session, exam)
    return {
        "name": exam.name,
        "state": exam.state.value,
        "about": exam.subject or SETTLED,
        "conditions": exam.conditions,
        "size": exam.size,
        "seed": exam.seed,
        "limit_s": exam.limit_s,
        "asks_confidence": exam.asks_confidence,
        "is_graded": exam.graded_run_id is not None,
        "strata": {name: {"asked": asked, "of": of} for name, (asked, of) in strata_of(session, exam).items()},
        "invited": len(people),
        "finished": sum(one.seat.finished_at is not None for one in people),
        "people": [
            {
                "person": one.user.name,
                "profile": one.seat.profile,
                "questions": one.total,
                "done": one.done,
                "missing": one.seat.missing,
            }
            for one in people
        ],
    }


def _line(exam: Exam, document: dict[str, Any]) -> str:
    limit = f", {exam.limit_s} s each" if exam.limit_s else ""
    conditions = ", ".join(exam.conditions)
    return (
        f"{exam.name}: {exam.state.value}; questions of {document['about']}, {exam.size} a person{limit}; "
        f"{conditions}; {document['invited']} invited, {document['finished']} finished"
    )


def _strata_lines(document: dict[str, Any]) -> list[str]:
    return [f"  {name}: {counts['asked']} of {counts['of']}" for name, counts in document["strata"].items()]


def _missing(missing: dict[str, int]) -> str:
    """What there was no unknown question for."""
    told = ", ".join(f"{name}: {count}" for name, count in sorted(missing.items()))
    return f"no question that they do not know for {told}" if told else ""


def _group_lines(group: Group) -> Sequence[str]:
    lines = [
        f"{group.name}: {group.people} people; answered {group.answered}, could not tell {group.abstained}, "
        f"out of time {group.timed_out}, left {group.left}"
    ]
    if group.taken is not None and group.seen is not None:
        lines.append(f"  time: {_span(group.taken)}; without pauses: {_span(group.seen)}")
    if group.confidence is not None and group.points is not None and group.brier is not None:
        lines.append(f"  sure of {group.confidence:.0f}%, right in {group.points:.0f}%; Brier score {group.brier:.3f}")
    return lines


def _span(times: Times) -> str:
    return f"median {times.median_s:.0f} s (middle half {times.low_s:.0f} to {times.high_s:.0f} s)"
