"""Where benchmarks come from: tables of questions, folders of media, imported question sets, exported releases."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, ValidationError
from sqlmodel import Session, select

from core.content import Frozen
from core.errors import InterplayError, UnknownName, first_problem
from core.question import Question, choice_label
from curation.contamination.entries import PublicMedium, PublicText, Source, document_from, document_of, merged_media
from curation.contamination.texts import Document
from curation.entries import Rejected
from curation.questions.importers import QUESTION_FORMATS
from curation.questions.importers.base import BadRecord, CopyOf, Draft, Given, QuestionFormat, Row
from curation.questions.importers.fields import first_of, text_of, texts_of
from curation.questions.media import from_base64, from_value, parts_of, source_of
from curation.questions.rows import TABLE_ENDINGS, read_rows
from warehouse.blobs import MediaSource
from warehouse.release.opened import open_export
from warehouse.tables import PublicQuestion, QuestionSet


class BadLayout(InterplayError):
    """A table whose columns are not known, or a mapping file that cannot be read."""


Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
_BY_MAPPING = "generic"
_IDS = ("id", "qid", "question_id", "questionId", "pid", "uid", "index")
_TEXTS = ("question", "prompt", "text", "query")
_OPTIONS = ("options", "choices", "candidates")
_MEDIA = ("image", "images", "image_path", "audio", "audio_path", "video", "video_path", "decoded_image")


class Layout(Frozen):
    """Which columns of a table hold what; what a mapping leaves out is guessed by the usual names.

    Attributes:
        id: What the benchmark calls a question; the record's place where there is none.
        text: Its texts, in order: hint, passage, question, steps.
        options: Columns of the options in order, or one that holds a list.
        media: Paths beside the table, bytes as Parquet holds them, base64, or lists of these.
        base64: Columns of media that hold nothing but base64: a text in them is never a path.
    """

    id: str | None = None
    text: Names = ()
    options: Names = ()
    media: Names = ()
    base64: Names = ()


@dataclass(frozen=True)
class Read:
    """A benchmark, and the records that could not be read."""

    source: Source
    failures: tuple[Rejected, ...] = ()


@contextmanager
def from_files(place: Path, layout: Layout | None = None) -> Iterator[Read]:
    """A table of questions, or a folder: of the tables that lie in it, or else of media alone.

    Media that stand in a table are laid into a folder that goes when the context ends.

    Raises:
        BadLayout: The columns of a table are not known.
        BadQuestionFile: A table cannot be read.
    """
    tables = [place] if place.is_file() else [one for one in sorted(place.glob("*")) if one.suffix in TABLE_ENDINGS]
    with tempfile.TemporaryDirectory(prefix="interplay-index-") as spilled:
        if tables:
            reading = _Tables(Path(spilled), layout)
            for table in tables:
                reading.read(table)
            texts, media, failures = tuple(reading.texts), merged_media(reading.media), tuple(reading.failures)
        else:
            texts, media, failures = (), _media_in(place), ()
        source = Source(place.stem, place.name, texts, media)
        yield Read(source, failures)


def from_set(session: Session, blobs: MediaSource, name: str) -> Source:
    """A question set that was imported into the project.

    Raises:
        UnknownName: There is none of that name.
    """
    held = session.exec(select(QuestionSet).where(QuestionSet.name == name)).first()
    if held is None:
        raise UnknownName("question set", name, session.exec(select(QuestionSet.name)))
    rows = session.exec(select(PublicQuestion).where(PublicQuestion.set_id == held.id)).all()
    questions = {row.qid: row.as_question() for row in rows}
    texts, media = _from_questions(questions, blobs)
    return Source(held.name, held.origin, texts, media, None, held.licence)


def from_release(folder: Path) -> Source:
    """A release that was exported by this platform.

    Raises:
        NoExport, DamagedExport: As `open_export`.
    """
    export = open_export(folder)
    manifest = export.manifest
    texts, media = _from_questions({row.qid: row.question for row in manifest.rows}, export)
    return Source(manifest.name, manifest.title, texts, media, manifest.version, manifest.licence)


def read_layout(file: Path) -> Layout:
    """A mapping file in YAML: the fields of `Layout`.

    Raises:
        BadLayout: It cannot be read, or names an unknown field.
    """
    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
        return Layout.model_validate(written)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadLayout(f"{file} cannot be read as YAML ({' '.join(str(error).split())[:200]})") from error
    except ValidationError as error:
        raise BadLayout(f"{file}: {first_problem(error, Layout.model_fields)}") from error


def guess_layout(columns: Mapping[str, Any], where: str, told: Layout) -> Layout:
    """The usual names of columns, and what a mapping tells in their place or beside them.

    Raises:
        BadLayout: The columns have neither texts nor media under any of these names.
    """
    options = [name for name in _OPTIONS if name in columns][:1]
    letters = [letter for letter in map(choice_label, range(26)) if letter in columns]
    found = Layout(
        id=next((name for name in _IDS if name in columns), None),
        text=tuple(name for name in ("hint", *_TEXTS) if name in columns),
        options=tuple(options or (letters if letters[:2] == ["A", "B"] else ())),
        media=tuple(name for name in _MEDIA if name in columns),
    )
    found = found.model_copy(update={name: getattr(told, name) for name in told.model_fields_set})
    found = found.model_copy(update={"media": tuple(dict.fromkeys((*found.media, *found.base64)))})
    if not any(name in columns for name in (*found.text, *found.media)):
        raise BadLayout(
            f"{where} has the columns {', '.join(sorted(columns))}; say with --mapping which hold "
            "the text, the options and the media"
        )
    return found


def known_formats(ending: str) -> list[QuestionFormat]:
    """The formats that `question import` knows by their fields, for tables of an ending; the most telling first."""
    formats = [entry.load().with_mapping(None) for entry in QUESTION_FORMATS if entry.name != _BY_MAPPING]
    return sorted((one for one in formats if ending in one.endings), key=lambda one: -len(one.needs))


@dataclass
class _Tables:
    """Questions and media of tables, as they are read: in a format that is known, else by a layout."""

    spilled: Path
    layout: Layout | None
    texts: list[PublicText] = field(default_factory=list)
    media: list[PublicMedium] = field(default_factory=list)
    failures: list[Rejected] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)
    _shown: dict[tuple[str, str], PublicMedium] = field(default_factory=dict)
    """By question and column or placeholder, for records that show the medium of another one."""

    def read(self, table: Path) -> None:
        """Take in one table."""
        # A mapping says how the table is to be read, whatever it looks like.
        formats = known_formats(table.suffix.lower()) if self.layout is None else []
        for row in read_rows(table):
            for layout, record in _records(formats, row):
                try:
                    self._take(layout, record, table)
                except BadRecord as error:
                    self.failures.append(Rejected(record.where, error.reason, str(error)))
                except CopyOf:
                    pass  # the same question with its choices turned

    def _take(self, layout: QuestionFormat | None, record: Row, table: Path) -> None:
        if isinstance(record.data, BadRecord):
            raise record.data
        if layout is not None:
            try:
                draft = layout.draft(record.where, record.data)
            except BadRecord:
                pass  # an index needs no answers and no choices: what is no question yet is read by its columns
            else:
                self._draft(draft, table.parent)
                return
        # Lines of JSON need not have the same fields.
        columns = guess_layout(record.data, table.name, self.layout or Layout())
        self._record(columns, record.key or record.where, record.data, table.parent)

    def _draft(self, draft: Draft, folder: Path) -> None:
        self._claim(draft.qid)
        asked = [part for part in draft.prompt if isinstance(part, str)]
        document = document_from(asked, draft.steps, draft.choices)
        if document.all_fields:
            self.texts.append(PublicText(draft.qid, document))
        for given in draft.given:
            self._medium(f"{draft.qid}/{given.name}", (draft.qid, given.name), partial(_itself, given), folder)

    def _record(self, layout: Layout, place: str, data: Mapping[str, Any], folder: Path) -> None:
        id_ = (first_of(data, layout.id) if layout.id else None) or place
        texts = [(name, text) for name in layout.text if (text := text_of(data.get(name), name)) is not None]
        document = Document.of(texts, _options(layout, data))
        self._claim(id_)
        if document.all_fields:
            self.texts.append(PublicText(id_, document))
        for column in layout.media:
            values = data.get(column)
            several = parts_of(values) if isinstance(values, str) else values
            is_list = isinstance(several, list) and several != [values]
            for number, value in enumerate(several if isinstance(several, list) else [several], start=1):
                if value is not None and value != "":
                    place = f"{column}/{number}" if is_list else column
                    given = partial(self._given, value, column, column in layout.base64)
                    self._medium(f"{id_}/{place}", (id_, place), given, folder)

    def _claim(self, id_: str) -> None:
        if id_ in self._taken:
            raise BadRecord("same_id", f"another question has the id {id_!r}")
        self._taken.add(id_)

    def _given(self, value: Any, column: str, is_base64: bool) -> Given:
        # Where it stands in the prompt makes no difference here.
        if isinstance(value, str) and (value.strip(), column) in self._shown:
            return Given(column, same_as=value.strip())
        if isinstance(value, str) and is_base64:
            return Given(column, data=from_base64(value))
        return from_value(column, value)

    def _medium(self, name: str, place: tuple[str, str], given_of: Callable[[], Given], folder: Path) -> None:
        id_ = place[0]
        try:
            given = given_of()
            if given.same_as is not None:
                other = self._shown.get((given.same_as, given.name))
                if other is None:
                    raise BadRecord("missing_media", f"it is that of {given.same_as[:64]!r}, of which there is none")
                self.media.append(PublicMedium(other.id, (id_,), other.open))
                return
            found = source_of(given, folder)
        except BadRecord as error:
            self.failures.append(Rejected(name, error.reason, str(error)))
            return
        if isinstance(found, bytes):
            path = self.spilled / hashlib.sha256(found).hexdigest()
            path.write_bytes(found)
        else:
            assert isinstance(found, Path)
            path, name = found, given.paths[0]
        self._shown[place] = PublicMedium(name, (id_,), partial(_standing, path))
        self.media.append(self._shown[place])


def _records(formats: Sequence[QuestionFormat], row: Row) -> Iterator[tuple[QuestionFormat | None, Row]]:
    """What a row holds, by the first format that has its fields; by none where no format does."""
    for layout in formats:
        records = list(layout.records(row))
        if records and all(isinstance(one.data, Mapping) and set(layout.needs) <= one.data.keys() for one in records):
            yield from ((layout, one) for one in records)
            return
    yield None, row


def _itself(given: Given) -> Given:
    return given


def _options(layout: Layout, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if len(layout.options) == 1:
        told = data.get(layout.options[0])
        held = list(told.values()) if isinstance(told, Mapping) else told
        texts: list[str | None] = list(texts_of(held, layout.options[0]))
    else:
        texts = [text_of(data.get(name), name) for name in layout.options]
    for place, text in enumerate(texts):
        if text is not None:
            yield f"choice {choice_label(place)}" if place < 26 else f"choice {place + 1}", text


def _media_in(folder: Path) -> tuple[PublicMedium, ...]:
    """Files under a folder, but for hidden ones, by their paths in it."""
    paths = (one.relative_to(folder) for one in sorted(folder.rglob("*")) if one.is_file())
    shown = [one for one in paths if not any(part.startswith(".") for part in one.parts)]
    return tuple(PublicMedium(one.as_posix(), (), partial(_standing, folder / one)) for one in shown)


def _from_questions(
    questions: Mapping[str, Question], media: MediaSource
) -> tuple[tuple[PublicText, ...], tuple[PublicMedium, ...]]:
    texts = tuple(PublicText(id_, document_of(question)) for id_, question in questions.items())
    shown = (
        PublicMedium(part.media.sha256, (id_,), _written(media, part.media.sha256))
        for id_, question in questions.items()
        for part in question.media
    )
    return texts, merged_media(shown)


def _written(media: MediaSource, sha256: str) -> Callable[[], AbstractContextManager[Path]]:
    @contextmanager
    def opened() -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="interplay-index-") as folder:
            path = Path(folder) / sha256
            path.write_bytes(media.get(sha256))
            yield path

    return opened


@contextmanager
def _standing(path: Path) -> Iterator[Path]:
    yield path
