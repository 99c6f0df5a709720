"""What holds for every format of public question sets."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import select

from curation.questions.cli import import_command
from curation.questions.importers import QUESTION_FORMATS
from curation.questions.importers.base import BadQuestionFile, BadRecord, CopyOf, Draft, Row
from curation.questions.importing import import_questions
from curation.questions.plan import Wanted
from warehouse.tables import PublicQuestion, QuestionSet, Run

CURATION = Path(__file__).parents[1] / "curation"
ENTRIES = [pytest.param(entry, id=entry.name) for entry in QUESTION_FORMATS]
RUBBISH = {
    "empty": b"",
    "bytes": b"\x00\xff\xfe\x00PAR1",
    "no records": b"[]",
    "null": b"null",
    "cut off": b'[{"question": "wh',
    "another table": b'[{"name": "Ada", "age": 36}]',
    "another table in lines": b'{"name": "Ada"}\n{"name": "Grace"}\n',
    "another table in tabs": b"name\tage\nAda\t36\n",
}


def module(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


SAMPLES = module("question_samples", CURATION / "question_samples.py")
MEDIA = module("curation_media", CURATION / "conftest.py").Media


def layout_of(entry, folder: Path):
    mapping = None
    if entry.name == "generic":
        mapping = folder / "mapping.yaml"
        mapping.write_text(SAMPLES.MAPPING, encoding="utf-8")
    return entry.load().with_mapping(mapping), mapping


def test_every_format_has_a_sample():
    assert {entry.name for entry in QUESTION_FORMATS} == set(SAMPLES.SAMPLES)


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_imports_its_sample_once(entry, workspace, tmp_path):
    sample = SAMPLES.SAMPLES[entry.name](tmp_path, MEDIA)
    wanted = Wanted(sample.source, entry.name, "sample", **sample.told)
    first, second = (import_questions(workspace, wanted) for _ in range(2))
    assert (first.new, dict(first.bad)) == (len(sample.qids), {})
    assert (second.new, second.known, second.media, dict(second.bad)) == (0, len(sample.qids), 0, {})
    with workspace.database.reading() as session:
        held = session.exec(select(PublicQuestion).order_by(PublicQuestion.id)).all()
    assert [one.qid for one in held] == sample.qids
    for one in held:
        question = one.as_question()
        assert question.content_hash == one.content_hash
        assert question.required == question.modalities != frozenset()
        assert one.labels["task_type_by"] in ("category", "default")
        for part in question.media:
            assert len(workspace.blobs.get(part.media.sha256)) == part.media.byte_count


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("what", RUBBISH)
def test_rubbish_is_refused_with_the_name_of_the_file_and_leaves_no_set(entry, what, workspace, tmp_path):
    layout, mapping = layout_of(entry, tmp_path)
    for ending in layout.endings:
        file = tmp_path / f"strange{ending}"
        file.write_bytes(RUBBISH[what])
        with pytest.raises(BadQuestionFile, match="strange") as told:
            import_questions(workspace, Wanted(file, entry.name, "strange", mapping=mapping))
        assert "\n" not in str(told.value)
    with workspace.database.reading() as session:
        assert session.exec(select(QuestionSet)).all() == []
        assert {run.status.value for run in session.exec(select(Run))} == {"failed"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
    | st.sampled_from(["A", "B", "<image_1>", "[img1]", "\0", "\ud800", "9" * 5000, "A" + " A" * 40 + "!", "../x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMES = {
    "avodyssey": ["question_id", "question", "options", "answer", "image_1", "audio_path", "subfield"],
    "dailyomni": ["Question", "Choice", "Answer", "video_id", "Type"],
    "generic": ["key", "text", "opt_a", "opt_b", "right", "topic", "picture", "level"],
    "mathvista": ["pid", "question", "question_type", "choices", "answer", "answer_type", "precision", "metadata"],
    "mmau": ["id", "question", "choices", "answer", "audio", "audio_id"],
    "mmbench": ["index", "question", "A", "B", "answer", "image", "category"],
    "omnibench": ["index", "question", "options", "answer", "image", "audio_path"],
    "unobench": ["qid", "question", "answer", "score_type", "images", "audios"],
    "worldsense": ["question", "candidates", "answer", "video", "task0", "task1"],
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_whatever_stands_in_a_record_it_is_a_draft_or_a_bad_record(entry, tmp_path):
    layout, _ = layout_of(entry, tmp_path)
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES[entry.name], VALUES))

    @settings(max_examples=60)
    @given(fields)
    def check(data):
        for record in layout.records(Row("here", data, 0)):
            if isinstance(record.data, BadRecord):
                continue
            try:
                draft = layout.draft(record.where, record.data)
            except (BadRecord, CopyOf):
                continue
            assert isinstance(draft, Draft)
            for text in (draft.qid, *draft.choices, *map(str, draft.labels.values()), *map(str, draft.labels)):
                assert "\0" not in text
                text.encode()

    check()


def test_the_command_names_every_format():
    (option,) = (one for one in import_command.__annotations__["form"].__metadata__)
    for entry in QUESTION_FORMATS:
        assert entry.name in option.help
