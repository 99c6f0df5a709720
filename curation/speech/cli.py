"""Commands of `interplay material` about sound: transcribe, segments, edit-segments, classify-sound."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from sqlmodel import Session, col, select

from core.content import Modality
from core.errors import InterplayError, UnknownName, first_problem
from core.settings import Project
from curation.materials import HANDLE, find_material, sound_of
from curation.pass_cli import AgainOption, pass_lines
from curation.passes import PassReport, Which, works_of
from curation.speech.catalogue import (
    LIGHT_DIARIZER,
    MODEL_DIARIZER,
    SOUND_CLASSIFIER,
    TRANSCRIBER,
    diarizers,
    sound_classifiers,
    transcribers,
)
from curation.speech.pipeline import (
    CLASSIFY_SOUND,
    TRANSCRIBE,
    ClassifySound,
    TranscribeSound,
    run_speech_pass,
)
from curation.speech.subtitles import KINDS, Kind, subtitles
from curation.speech.transcripts import BadSegments, EditedSegment, edit_segments, edition, segments_of
from warehouse.captions import WRITERS
from warehouse.command_line import DryRunOption, JsonOption, ProjectOption, by_option, show
from warehouse.people import get_user
from warehouse.tables import Material, MaterialWork, Segment
from warehouse.workspace import Workspace, open_workspace

MaterialArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Material: its id or sha256, or how that begins; of a video its sound.")
]
MaterialsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="Materials: ids or sha256, or how they begin; else all.")
]


class NothingToHear(InterplayError):
    """A material without sound was named where sound is needed."""


_SHOWN_FIELDS: tuple[str, ...] = ("material_id", "sha256", "edition", "transcribed", "segments")
_SEGMENT_FIELDS = tuple(name for name in Segment.model_fields if name != "material_id")


@dataclass(frozen=True)
class _EditedFile:
    """What is read of the JSON of `material segments`."""

    edition: str
    segments: list[EditedSegment]


def transcribe_command(
    materials: MaterialsArgument = None,
    transcriber: Annotated[str, typer.Option(help="What writes down the words.")] = TRANSCRIBER,
    diarizer: Annotated[
        str | None,
        typer.Option(help="What tells speakers apart; else 'pyannote' where diarization_model is set, and 'light'."),
    ] = None,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Write down who says what in sounds; what was done is not done again, and people's edits stay.

    Models are those of asr_model and diarization_model in interplay.toml.

    Example: interplay material transcribe --dry-run
    """
    with open_workspace(project) as workspace:
        work = _transcription(workspace.project, transcriber, diarizer)
        which = _which(workspace, materials, again)
        report = run_speech_pass(workspace, work, which, dry_run=dry_run)
        marks = _marks(workspace, report, TRANSCRIBE)
    lines = _transcribed_lines(marks)
    if work.diarizer.lighter:
        lines.append(
            "speakers: told apart in the lighter way, without a model, which errs often; set diarization_model in "
            "interplay.toml for the better one"
        )
    document = _report_document(report, dry_run, work.maker, marks) | {"lighter": work.diarizer.lighter}
    show(document, [*pass_lines(report, "transcripts", dry_run), *lines], as_json)


def classify_sound_command(
    materials: MaterialsArgument = None,
    classifier: Annotated[str, typer.Option(help="'light', or 'transformers' with --model.")] = SOUND_CLASSIFIER,
    model: Annotated[
        str | None, typer.Option(help="Audio-classification model with AudioSet's labels: its hub name, or a folder.")
    ] = None,
    again: AgainOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say of sounds whether they are speech, environment or music; what people said of them stays.

    Example: interplay material classify-sound --dry-run
    """
    with open_workspace(project) as workspace:
        work = ClassifySound(sound_classifiers()[classifier].load()(model), workspace.project.media_limits)
        which = _which(workspace, materials, again)
        report = run_speech_pass(workspace, work, which, dry_run=dry_run)
        marks = _marks(workspace, report, CLASSIFY_SOUND)
    counted = Counter(str(mark["audio_type"]) for mark in marks)
    lines = [", ".join(f"{name} {count}" for name, count in sorted(counted.items()))] if counted else []
    lines += _left_to_people(marks)
    document = _report_document(report, dry_run, work.maker, marks)
    show(document, [*pass_lines(report, "sound classes", dry_run), *lines], as_json)


def segments_command(
    material: MaterialArgument,
    as_subtitles: Annotated[
        str | None, typer.Option("--subtitles", help=f"Print subtitles instead: {' or '.join(KINDS)}.")
    ] = None,
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show who says what in a sound; the JSON can be edited and given to 'material edit-segments'.

    Example: interplay material segments 4f6b2c --subtitles srt
    """
    kind: Kind | None = next((one for one in KINDS if one == as_subtitles), None)
    if as_subtitles is not None and kind is None:
        raise typer.BadParameter(f"--subtitles is {' or '.join(KINDS)}")
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        found = _heard(session, find_material(session, material))
        rows = segments_of(session, found.id)
        mark = works_of(session, [found.id], TRANSCRIBE).get(found.id)
        document = _document(found, rows, mark)
        lines = [subtitles(rows, kind)] if kind else _segment_lines(rows, mark)
    show(document, lines, as_json)


def edit_segments_command(
    material: MaterialArgument,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What 'segments --json' gave, edited.")],
    by: Annotated[str, by_option(*WRITERS)],
    as_json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Put your words, speakers and times in the place of a machine's; no machine changes them afterwards.

    Segments without an id are new, those that you leave out are removed.

    Example: interplay material edit-segments 4f6b2c segments.json --by mei
    """
    expected, wanted = _read(file)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        found = _heard(session, find_material(session, material))
        rows = edit_segments(session, found, wanted, get_user(session, by), expected)
        yours = sum(row.made_by == by for row in rows)
        document = _document(found, rows, None)
    show(document, [f"{found.sha256[:HANDLE]}: {len(rows)} segments, of them {yours} by {by}"], as_json)


def _transcription(project: Project, transcriber: str, diarizer: str | None) -> TranscribeSound:
    settings = project.settings
    chosen = diarizer or (MODEL_DIARIZER if settings.diarization_model else LIGHT_DIARIZER)
    return TranscribeSound(
        transcribers()[transcriber].load()(settings.asr_model),
        diarizers()[chosen].load()(settings.diarization_model),
        project.media_limits,
    )


def _which(workspace: Workspace, names: list[str] | None, again: bool) -> Which:
    if not names:
        return Which(again=again)
    with workspace.database.reading() as session:
        heard = [_heard(session, find_material(session, name)) for name in names]
    for material in heard:
        if material.modality != Modality.AUDIO:
            raise NothingToHear(
                f"material {material.sha256[:HANDLE]} is {material.modality} without a sound; leave it out"
            )
    return Which([material.id for material in heard], again)


def _heard(session: Session, material: Material) -> Material:
    """The material; of a video the sound that was taken out of it."""
    return sound_of(session, material) or material


def _marks(workspace: Workspace, report: PassReport, work: str) -> list[dict[str, Any]]:
    """What this run found, by material."""
    mine = (MaterialWork.run_id == report.run_id, MaterialWork.work == work, col(MaterialWork.failure).is_(None))
    query = select(MaterialWork).where(*mine).order_by(col(MaterialWork.material_id))
    with workspace.database.reading() as session:
        return [{"material_id": mark.material_id, **mark.result} for mark in session.exec(query)]


def _report_document(report: PassReport, dry_run: bool, maker: str, marks: list[dict[str, Any]]) -> dict[str, Any]:
    return report.document(dry_run) | {"maker": maker, "materials": marks}


def _transcribed_lines(marks: list[dict[str, Any]]) -> list[str]:
    if not marks:
        return []
    silent = sum(not mark["speech_s"] for mark in marks)
    spoken_s = sum(mark["speech_s"] for mark in marks)
    return [f"speech {spoken_s:.1f} s; without speech {silent}", *_left_to_people(marks)]


def _left_to_people(marks: list[dict[str, Any]]) -> list[str]:
    left = sum(not mark["stored"] for mark in marks)
    return [f"left as people have them: {left}"] if left else []


def _document(material: Material, rows: list[Segment], mark: MaterialWork | None) -> dict[str, Any]:
    return {
        "material_id": material.id,
        "sha256": material.sha256,
        "edition": edition(rows),
        "transcribed": None if mark is None else {"maker": mark.maker, **mark.result},
        "segments": [row.model_dump(mode="json", exclude={"material_id"}) for row in rows],
    }


def _segment_lines(rows: list[Segment], mark: MaterialWork | None) -> list[str]:
    if not rows:
        return ["nobody speaks in it" if mark is not None else "not transcribed; see 'interplay material transcribe'"]
    lines = [f"{row.start_s:8.2f} {row.end_s:8.2f}  {row.speaker or '?'}: {row.text or ''}" for row in rows]
    lines += [f"by {author}" for author in dict.fromkeys(row.made_by for row in rows)]
    if mark is not None and mark.result.get("lighter"):
        lines.append("speakers were told apart in the lighter way, which errs often")
    return lines


def _read(file: Path) -> tuple[str, list[EditedSegment]]:
    try:
        data = file.read_bytes()
        _check_fields(from_json(data))
        edited = TypeAdapter(_EditedFile).validate_json(data, strict=True)
    except (ValueError, UnknownName) as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else str(error)
        problem = problem if isinstance(error, ValidationError | UnknownName) else f"Invalid JSON: {problem}"
        raise BadSegments(f"{file} is not what 'interplay material segments --json' gives: {problem}") from error
    return edited.edition, edited.segments


def _check_fields(written: Any) -> None:
    """A misspelt field would be no edit at all; those that are shown and cannot be edited may stay.

    Raises:
        UnknownName: 'segments --json' gives no such field.
    """
    places = [(written, _SHOWN_FIELDS, "field")]
    segments = written.get("segments") if isinstance(written, dict) else None
    if isinstance(segments, list):
        places += [(one, _SEGMENT_FIELDS, f"field of segment {number}") for number, one in enumerate(segments, start=1)]
    for held, known, kind in places:
        for name in held if isinstance(held, dict) else ():
            if name not in known:
                raise UnknownName(kind, name, known)
