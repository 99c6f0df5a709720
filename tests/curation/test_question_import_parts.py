"""The parts of the import by themselves: tables read record by record, options and answers, prompts, mappings."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.questions import rows
from curation.questions.importers import QUESTION_FORMATS
from curation.questions.importers.answers import by_index, by_letter, by_text, checked_choices, split_options
from curation.questions.importers.base import BadQuestionFile, BadRecord, Given
from curation.questions.importers.fields import choices_of, labels_of, text_of, texts_of
from curation.questions.importers.generic import GENERIC, QuestionMapping
from curation.questions.importers.prompts import task_type, woven
from curation.questions.language import language_of
from curation.questions.rows import read_rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
RECORDS = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6)


def held(file):
    return [row.data for row in read_rows(file)]


@given(records=RECORDS, block=st.integers(1, 40), indent=st.none() | st.integers(0, 2), ascii_only=st.booleans())
def test_json_read_in_pieces_is_what_json_reads_whole(tmp_path_factory, records, block, indent, ascii_only):
    file = tmp_path_factory.mktemp("json") / "set.json"
    by_name = {str(place): record for place, record in enumerate(records)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rows, "BLOCK_CHARACTERS", block)
        for document, keys in ((records, [None] * len(records)), (by_name, list(by_name))):
            file.write_text(json.dumps(document, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
            found = list(read_rows(file))
            assert [row.data for row in found] == records
            assert [row.key for row in found] == keys


@given(records=RECORDS.filter(bool))
def test_arrays_one_behind_the_other_and_lines_read_the_same(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "set.json").write_text("".join(json.dumps([one]) for one in records), encoding="utf-8")
    (folder / "set.jsonl").write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8-sig")
    assert held(folder / "set.json") == held(folder / "set.jsonl") == records


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", None),
        ('"a text"', "neither a JSON array nor an object"),
        ("[1", "cannot be read on|the end"),
        ('[{"a": 1} {"b": 2}]', "where ',' is needed"),
        ('[{"a": tru}]', "cannot be read on"),
        ('[{"a": "b', "cannot be read on"),
        ('{"a" {}}', "where ':' is needed"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_none_is_told(tmp_path, text, told):
    file = tmp_path / "set.json"
    file.write_text(text, encoding="utf-8")
    if told is None:
        assert held(file) == []
        return
    with pytest.raises(BadQuestionFile, match=told):
        held(file)


def test_a_mistake_in_json_is_found_without_reading_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_CHARACTERS", 64)
    file = tmp_path / "set.json"
    file.write_text('[{"a": oops}, ' + '{"b": 1}, ' * 10_000, encoding="utf-8")
    characters = rows._Characters(file)
    characters.skip("[")
    with pytest.raises(BadQuestionFile):
        characters.value()
    assert characters.read_bytes <= 256
    characters.close()


def test_what_is_before_a_mistake_is_given(tmp_path):
    file = tmp_path / "set.json"
    file.write_text('[{"a": 1}, {"a": 2}, oops]', encoding="utf-8")
    found = []
    with pytest.raises(BadQuestionFile):
        for row in read_rows(file):
            found.append(row.data)
    assert found == [{"a": 1}, {"a": 2}]


def test_separated_tables(tmp_path):
    (tmp_path / "a.tsv").write_text('id\tq\r\n1\t"two\nlines, ""quoted"""\r\n\r\n2\tx\ty\n3\n', encoding="utf-8-sig")
    found = list(read_rows(tmp_path / "a.tsv"))
    assert [row.data for row in found if not isinstance(row.data, BadRecord)] == [
        {"id": "1", "q": 'two\nlines, "quoted"'},
        {"id": "3"},
    ]
    assert [row.where for row in found] == ["a.tsv line 2", "a.tsv line 5", "a.tsv line 6"]
    (tmp_path / "b.csv").write_text("id,q,q\n1,2,3\n", encoding="utf-8")
    with pytest.raises(BadQuestionFile, match="two columns 'q'"):
        held(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_bytes("id,q\n1,中文图片\n".encode("gb18030"))
    with pytest.raises(BadQuestionFile, match="not UTF-8"):
        held(tmp_path / "c.csv")
    (tmp_path / "d.txt").write_text("id\n1\n", encoding="utf-8")
    with pytest.raises(BadQuestionFile, match=r"known endings: \.csv, \.json"):
        held(tmp_path / "d.txt")


def test_parquet_row_by_row_in_order_over_row_groups(tmp_path):
    records = [{"n": n, "words": [str(n)] * (n % 3), "blob": {"bytes": bytes([n]), "path": None}} for n in range(50)]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "set.parquet", row_group_size=7)
    assert held(tmp_path / "set.parquet") == records


def test_parquet_text_that_is_no_text_costs_its_row(tmp_path):
    broken = pa.array([b"fine", b"\xff\xfe", b"well"], pa.binary()).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"q": broken}), tmp_path / "set.parquet")
    found = held(tmp_path / "set.parquet")
    assert (found[0], found[2]) == ({"q": "fine"}, {"q": "well"})
    assert (found[1].reason, len(found)) == ("broken_text", 3)


@pytest.mark.parametrize(
    ("choices", "cleaned"),
    [
        (["A. one", "B. two"], ("one", "two")),
        (["(A) one", "(B) two"], ("one", "two")),
        (["A、一", "B、二"], ("一", "二")),
        (["A: one", "B: two", "C: three"], ("one", "two", "three")),
        (["A", "B", "C"], ("A", "B", "C")),
        (["A. Smith", "C. Jones"], ("A. Smith", "C. Jones")),
        (["A. one", "two"], ("A. one", "two")),
        (["A. U.S.A.", "B. U.K."], ("U.S.A.", "U.K.")),
    ],
)
def test_letters_before_choices(choices, cleaned):
    assert checked_choices(choices) == cleaned


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        (["one"], "no_choices"),
        ([], "no_choices"),
        ([str(n) for n in range(27)], "too_many_choices"),
        (["A. one", "B. one"], "repeated_choices"),
    ],
)
def test_choices_that_are_none(choices, reason):
    with pytest.raises(BadRecord) as told:
        checked_choices(choices)
    assert told.value.reason == reason


def test_the_last_choices_may_be_empty_but_none_before_them():
    names = ("A", "B", "C", "D")
    assert choices_of({"A": "one", "B": "two", "C": " ", "D": float("nan")}, names) == ("one", "two")
    assert choices_of({}, names) == ()
    with pytest.raises(BadRecord, match="B is empty, but D is not") as told:
        choices_of({"A": "one", "B": None, "C": "", "D": "four"}, names)
    assert told.value.reason == "empty_choice"


@pytest.mark.parametrize(
    ("answer", "places"),
    [("B", (1,)), ("b", (1,)), ("(C)", (2,)), ("B.", (1,)), ("AC", (0, 2)), ("A, C", (0, 2)), ("C、A", (0, 2))],
)
def test_answers_by_letter(answer, places):
    assert by_letter(answer, ["x", "y", "z"]).correct == places


@pytest.mark.parametrize("answer", ["D", "1", "x", "A or B", "", "A" + " A" * 5000 + "!"])
def test_answers_that_are_no_letters(answer):
    with pytest.raises(BadRecord) as told:
        by_letter(answer, ["x", "y", "z"])
    assert told.value.reason == "answer_not_a_choice"
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("answer", "place"),
    [("B", 1), ("A", 0), ("a Tiger", 2), ("(C) a tiger", 2), ("C. a tiger", 2), ("a  tiger", 2), ("4/4", 3)],
)
def test_answers_by_text(answer, place):
    """MathVista has choices that are letters: there the answer E is the text E."""
    assert by_text(answer, ["A", "B", "a tiger", "4/4"]).correct == (place,)


@pytest.mark.parametrize("answer", ["C", "(B) a tiger", "a lion", "tiger"])
def test_answers_that_are_no_text_of_a_choice(answer):
    with pytest.raises(BadRecord) as told:
        by_text(answer, ["A", "B", "a tiger", "4/4"])
    assert told.value.reason == "answer_not_a_choice"


def test_answers_by_number():
    assert by_index("0", ["x", "y"], 0).correct == by_index("1", ["x", "y"], 1).correct == (0,)
    for answer in ("2", "-1", "9" * 5000, "one", "1.5"):
        with pytest.raises(BadRecord):
            by_index(answer, ["x", "y"], 0)
    with pytest.raises(BadRecord) as told:
        by_index(None, ["x", "y"], 0)
    assert told.value.reason == "no_answer"


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("Which?\nA. one\nB. two", ("Which?", ("one", "two"))),
        ("哪个？\nA．一\nB．二\nC．三", ("哪个？", ("一", "二", "三"))),
        ("李白是哪个朝代的诗人？A. 唐朝 B. 宋朝 C. 元朝", None),
        ("李白是哪个朝代的诗人？ A. 唐朝 B. 宋朝 C. 元朝", ("李白是哪个朝代的诗人？", ("唐朝", "宋朝", "元朝"))),
        ("Plan A. is bad.\n(A) yes\n(B) no\n\nAnswer by letter.", ("Plan A. is bad.", ("yes", "no"))),
        ("A. x\nB. y\nWhich of these?\nA. first\nB. second", ("A. x\nB. y\nWhich of these?", ("first", "second"))),
        ("Which?\nA. two\nlines\nB. one", ("Which?", ("two\nlines", "one"))),
        ("Which? yes or no", None),
        ("A. only", None),
        ("A. " * 20_000, None),
    ],
)
def test_options_in_the_text(text, parted):
    assert split_options(text) == parted


def test_media_stand_where_the_text_names_them():
    media = [Given(name, data=b"x") for name in ("image_1", "audio_1", "image_2", "video_1")]
    first, sound, second, film = media
    prompt, choices = woven("See <image_1>, hear <audio_1>; <image_1> again.", media, ["<image_2>", "none"])
    assert prompt == (film, "\nSee ", first, ", hear ", sound, "; <image_1> again.", "\nimage_2: ", second)
    assert choices == ("image_2", "none")
    with pytest.raises(BadRecord) as told:
        woven("Look at <image_9>.", media)
    assert told.value.reason == "missing_media"


def test_task_types_come_from_the_table_then_the_taxonomy_then_the_default():
    table = {"object counting": "counting"}
    assert task_type("Object_Counting", table, "code") == ("counting", "category")
    assert task_type("Scene Recognition", {}, "code") == ("scene_recognition", "category")
    assert task_type("计数", {}, "code") == ("counting", "category")
    assert task_type("Whatever", table, "code") == ("code", "default")
    assert task_type(None, table, "code") == ("code", "default")


@pytest.mark.parametrize(
    ("prompt", "choices", "language"),
    [
        ("图中有几个 dots?", (), "zh"),
        ("What does the sign 出口 say?", (), "en"),
        ("△ABC的两内角平分线OB、OC相交于点O，若∠A＝110°，则∠BOC＝（）", (), "zh"),
        ("录音里是谁在说话？", ("Man", "Woman"), "zh"),
        ("?", ("两个", "三个"), "zh"),
        ("1 + 1 = ?", ("1", "2"), "en"),
    ],
)
def test_languages(prompt, choices, language):
    assert language_of(prompt, choices) == language


def test_values():
    assert text_of(3.0, "n") == text_of(" 3 ", "n") == text_of(3, "n") == "3"
    assert text_of(float("nan"), "n") is text_of("  ", "n") is text_of(None, "n") is None
    assert texts_of('["a", "b"]', "c") == texts_of(["a", "b"], "c") == ("a", "b")
    data = {"id": 1, "Level": 2, "tags": ["x", "y"], "gone": None, "nan": float("nan"), "long": "x" * 501, "ok": True}
    assert labels_of(data, ["id"], {"difficulty": "Level", "category": "gone"}) == {
        "Level": 2,
        "difficulty": 2,
        "tags": "x; y",
        "ok": "true",
    }


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("id: [", "cannot be read as YAML"),
        ("- a\n- b", "holds no mapping"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: counting\nchoice: c", "unknown field 'choice'"),
        ("id: i\nprompt: p\nanswer: a", "task_type: is missing"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: countin", "did you mean 'counting'"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: {field: f, default: nothing}", "unknown task type"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: counting\ngrader: numbr", "did you mean 'number'"),
        ("id: i\nprompt: p\nanswer: a\ntask_type: counting\nmedia: {picture: x}", "media"),
    ],
)
def test_mappings_that_say_something_impossible(tmp_path, written, told):
    file = tmp_path / "map.yaml"
    file.write_text(written, encoding="utf-8")
    with pytest.raises(BadQuestionFile, match=told) as error:
        GENERIC.with_mapping(file)
    assert "map.yaml" in str(error.value)


def test_only_generic_takes_a_mapping_and_it_needs_one(tmp_path):
    with pytest.raises(BadQuestionFile, match="needs --mapping"):
        GENERIC.with_mapping(None)
    with pytest.raises(BadQuestionFile, match="only the format 'generic'"):
        QUESTION_FORMATS["mmau"].load().with_mapping(tmp_path / "map.yaml")


def test_the_page_s_mapping_reads_the_page_s_table(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "public-questions.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```(yaml|jsonl)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    (tmp_path / "mapping.yaml").write_text(blocks["yaml"], encoding="utf-8")
    (tmp_path / "own.jsonl").write_text(blocks["jsonl"], encoding="utf-8")
    layout = GENERIC.with_mapping(tmp_path / "mapping.yaml")
    dots, weights = (layout.draft(row.where, row.data) for row in read_rows(tmp_path / "own.jsonl"))
    assert dots.prompt == ("How many are in ", Given("image_1", paths=("dots.png",)), "?")
    assert (dots.choices, dots.answer.correct, dots.language) == (("two", "three"), (1,), "en")
    assert (dots.task_type, dots.labels) == ("counting", {"topic": "how many", "level": 2, "difficulty": 2})
    assert (weights.answer.correct, weights.language, weights.task_type_by) == ((2,), "zh", "default")
    fields = {name for row in re.findall(r"^\| (`[a-z_`, ]+`) \|", page, re.MULTILINE) for name in row.split("`")[1::2]}
    assert set(QuestionMapping.model_fields) - {"base64"} <= fields


def test_the_page_tells_of_every_format_with_its_endings():
    page = (Path(__file__).parents[2] / "docs" / "public-questions.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| ((?:`\.\w+`(?:, )?)+) \|", page, re.MULTILINE))
    assert {name: tuple(endings.split("`")[1::2]) for name, endings in told.items()} == {
        entry.name: entry.load().endings for entry in QUESTION_FORMATS
    }


def test_an_answer_made_of_letters_and_blanks_holds_nothing_up():
    """Between letters there is one way to read a blank, or reading a long answer would never end."""
    record = {"qid": "u", "question": "Which?\nA. one\nB. two", "answer": "A" + " A" * 5000 + " !", "score_type": 0}
    draft = QUESTION_FORMATS["unobench"].load().draft("here", record)
    assert draft.answer.grader == "short_text"
