import io
import json
import shutil
import wave
from pathlib import Path

import av
import numpy as np
import pytest
import yaml
from PIL import Image

from annotation_ui.item_files import BadRecord, Record, UnreadableItemFile, as_draft, parse_record, read_records
from core.question import QuestionKind
from warehouse.tables import MaterialState
from warehouse.workspace import open_workspace

GOOD = {
    "name": "zoo-001",
    "task_type": "counting",
    "language": "en",
    "kind": "choice",
    "prompt": "See <image_1>, hear <audio_1>. Which animal?",
    "media": {"image_1": "pictures/a.png", "audio_1": "a.wav"},
    "choices": ["a wolf", "a fox", "a bear"],
    "answer": "B",
    "required": ["image", "audio"],
}
STEPS = {
    **{key: value for key, value in GOOD.items() if key not in ("choices", "answer")},
    "kind": "multi_step",
    "steps": [
        {"ask": "How many?", "points": 4, "answer": "3", "grader": "number", "tolerance": 0.5},
        {"ask": "Where?", "points": 6, "answer": "left", "accepted": ["on the left"], "rubric": "The side counts."},
    ],
}
OPEN = {
    **{key: value for key, value in GOOD.items() if key != "choices"},
    "kind": "open",
    "answer": "4",
    "accepted": ["four"],
    "grader": "number",
}


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (shade, 30, 40)).save(buffer, "PNG")
    return buffer.getvalue()


def wav(pitch_hz: int = 440) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes((9000 * np.sin(2 * np.pi * pitch_hz * np.arange(800) / 8000)).astype("<i2").tobytes())
    return buffer.getvalue()


@pytest.fixture(scope="module")
def workspace(_project_template, tmp_path_factory):
    """One project for all tests here: they only add media to it."""
    root = Path(shutil.copytree(_project_template, tmp_path_factory.mktemp("shared") / "project"))
    with open_workspace(root) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, library) -> Path:
    """An item file's folder, with media that are in the library."""
    place = tmp_path / "items"
    (place / "pictures").mkdir(parents=True)
    for name, data in (("pictures/a.png", png(1)), ("a.wav", wav())):
        (place / name).write_bytes(data)
        library.add(data)
    return place


@pytest.fixture
def draft(workspace, folder):
    """Read one record all the way."""

    def read(data, where: str = "items.yaml item 1"):
        with workspace.database.reading() as session:
            return as_draft(session, Record(where, data), folder, "mei", None)[1]

    return read


def told(call, *arguments) -> str:
    with pytest.raises(BadRecord) as raised:
        call(*arguments)
    text = str(raised.value)
    assert "\n" not in text
    return text


def records(file: Path) -> list[Record]:
    return list(read_records(file))


class TestFiles:
    def test_yaml_json_and_jsonl_hold_the_same(self, tmp_path):
        (tmp_path / "i.yaml").write_text(yaml.safe_dump([GOOD, STEPS]), encoding="utf-8")
        (tmp_path / "i.yml").write_text(yaml.safe_dump([GOOD, STEPS]), encoding="utf-8")
        (tmp_path / "i.json").write_text(json.dumps([GOOD, STEPS], indent="\t"), encoding="utf-8")
        (tmp_path / "i.JSONL").write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(STEPS)}\n", encoding="utf-8-sig")
        read = [
            [parse_record(one) for one in records(tmp_path / f"i.{end}")] for end in ("yaml", "yml", "json", "JSONL")
        ]
        assert read[0] == read[1] == read[2] == read[3]
        assert [written.name for written in read[0]] == ["zoo-001", "zoo-001"]

    def test_each_record_knows_its_place(self, tmp_path):
        (tmp_path / "i.yaml").write_text(yaml.safe_dump([GOOD, "stray"]), encoding="utf-8")
        (tmp_path / "i.jsonl").write_text(f"\n{json.dumps(GOOD)}\n", encoding="utf-8")
        assert [one.where for one in records(tmp_path / "i.yaml")] == ["i.yaml item 1 (zoo-001)", "i.yaml item 2"]
        assert [one.where for one in records(tmp_path / "i.jsonl")] == ["i.jsonl line 2"]

    def test_a_bad_line_of_jsonl_fails_alone(self, tmp_path):
        lines = [json.dumps(GOOD), '{"name": ', "[" * 100_000, "9" * 5000, json.dumps(STEPS), '{"a": 1, "a": 2}']
        (tmp_path / "i.jsonl").write_text("\n".join(lines), encoding="utf-8")
        read = records(tmp_path / "i.jsonl")
        assert [isinstance(one.data, dict) for one in read] == [True, False, False, False, True, False]
        assert told(parse_record, read[1]).startswith("i.jsonl line 2: not JSON (Expecting value: line 1 column 10")
        assert "i.jsonl line 6: not JSON (the field 'a' is given twice); correct that line" in told(
            parse_record, read[5]
        )

    def test_line_breaks_of_unicode_inside_a_text_end_no_line(self, tmp_path):
        prompt = "One\u2028two\x85three\x0cfour"
        line = json.dumps({**GOOD, "prompt": prompt}, ensure_ascii=False).replace("\\f", "\x0c")
        (tmp_path / "i.jsonl").write_text(line.replace("\x0c", "\\f") + "\n", encoding="utf-8")
        (one,) = records(tmp_path / "i.jsonl")
        assert one.data["prompt"] == prompt

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("i.yaml", b"name: x", "must hold a list of items ('- name: ...'), it holds dict"),
            ("i.yaml", b"", "must hold a list of items ('- name: ...'), it holds NoneType"),
            ("i.yaml", b"- a: [", "is not valid YAML: while parsing"),
            (
                "i.yaml",
                b"- name: x\n  answer: a\n  answer: b\n",
                "is not valid YAML: the field 'answer' is given twice",
            ),
            ("i.json", b"[1,", "is not valid JSON: Expecting value"),
            ("i.yaml", b"- \xff\xfe", "save it as UTF-8 text"),
            ("i.txt", b"- name: x", "is neither .yaml, .json nor .jsonl; rename it or convert it"),
        ],
    )
    def test_a_file_that_is_none_is_told_as_a_whole(self, tmp_path, name, content, said):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnreadableItemFile) as raised:
            records(tmp_path / name)
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(UnreadableItemFile, match=r"cannot read .*none\.yaml"):
            records(tmp_path / "none.yaml")

    def test_tags_that_run_code_are_refused(self, tmp_path):
        (tmp_path / "i.yaml").write_text("- !!python/object/apply:os.system ['true']\n")
        with pytest.raises(UnreadableItemFile, match="is not valid YAML"):
            records(tmp_path / "i.yaml")


class TestValuesAsWritten:
    @pytest.mark.parametrize(
        "value",
        ["yes", "no", "Yes", "on", "off", "true", "4", "010", "0x1F", "1:30", "4.50", "1_000", "2024-05-01", "1e3"],
    )
    def test_plain_yaml_values_are_the_text_that_the_author_wrote(self, tmp_path, value):
        text = f"- answer: {value}\n  accepted: [{value}]\n  choices: [{value}, x]\n  steps:\n  - answer: {value}\n"
        (tmp_path / "i.yaml").write_text(text)
        (one,) = records(tmp_path / "i.yaml")
        assert one.data == {
            "answer": value, "accepted": [value], "choices": [value, "x"], "steps": [{"answer": value}],
        }  # fmt: skip

    def test_they_make_a_question(self, draft, tmp_path):
        fields = yaml.safe_dump({key: value for key, value in GOOD.items() if key not in ("choices", "answer")})
        (tmp_path / "i.yaml").write_text(
            "- " + fields.replace("\n", "\n  ") + "choices: [yes, no, 4, 4.50]\n  answer: no\n", encoding="utf-8"
        )
        (one,) = records(tmp_path / "i.yaml")
        question = draft(one.data).question
        assert [choice.text for choice in question.choices] == ["yes", "no", "4", "4.50"]
        assert question.answer.correct == (1,)

    def test_numbers_of_json_become_their_text(self, draft):
        question = draft({**GOOD, "choices": [3, 4, 2.5, True], "answer": 4}).question
        assert [choice.text for choice in question.choices] == ["3", "4", "2.5", "true"]
        assert question.answer.correct == (1,)

    def test_points_and_tolerances_are_numbers_all_the_same(self, draft, tmp_path):
        (tmp_path / "i.yaml").write_text(yaml.safe_dump([STEPS]), encoding="utf-8")
        (one,) = records(tmp_path / "i.yaml")
        assert one.data["steps"][0]["points"] == "4"
        steps = draft(one.data).question.steps
        assert [(step.points, step.answer.tolerance) for step in steps] == [(4, 0.5), (6, None)]

    def test_evidence_holds_numbers(self, draft, tmp_path):
        evidence = {"audio_1": {"start_s": 1.5, "end_s": 12, "note": "007"}, "image_1": [[0, 0, 8, 6]]}
        (tmp_path / "i.yaml").write_text(yaml.safe_dump([{**GOOD, "evidence": evidence}]), encoding="utf-8")
        (one,) = records(tmp_path / "i.yaml")
        assert draft(one.data).notes == {"evidence": evidence}

    def test_fields_left_blank_are_as_if_they_were_not_there(self, draft):
        blank = {**STEPS, "twin_group": None, "accepted": None, "choices": None}
        blank["steps"] = [{**step, "rubric": None} for step in STEPS["steps"]]
        bare = [{key: value for key, value in step.items() if key != "rubric"} for step in STEPS["steps"]]
        assert draft(blank).question == draft({**STEPS, "steps": bare}).question


class TestQuestions:
    def test_a_choice_question(self, draft, library):
        made = draft(GOOD)
        question = made.question
        assert question.prompt_text == GOOD["prompt"]
        assert [part.name for part in question.media] == ["image_1", "audio_1"]
        assert (question.kind, question.answer.correct, question.language) == (QuestionKind.CHOICE, (1,), "en")
        assert made.materials == {
            "image_1": library.add(png(1)).id,
            "audio_1": library.add(wav()).id,
        }
        assert (made.author, made.notes) == ("mei", {})

    def test_an_open_question(self, draft):
        key = draft(OPEN).question.answer
        assert (key.accepted, key.grader, key.correct) == (("4", "four"), "number", ())

    def test_steps(self, draft):
        first, second = draft(STEPS).question.steps
        assert (first.ask, first.points, first.answer.accepted) == ("How many?", 4, ("3",))
        assert (second.answer.accepted, second.rubric) == (("left", "on the left"), "The side counts.")

    @pytest.mark.parametrize(
        ("answer", "correct"),
        [
            ("B", (1,)),
            ("a fox", (1,)),
            ("B. a fox", (1,)),
            (["C", "A"], (0, 2)),
            (["a wolf", "C"], (0, 2)),
            (["A", "A"], (0,)),
        ],
    )
    def test_an_answer_by_letter_by_text_or_by_both(self, draft, answer, correct):
        assert draft({**GOOD, "answer": answer}).question.answer.correct == correct

    def test_an_answer_that_is_a_letter_and_another_choice_s_text_is_refused(self, draft):
        notes = {**GOOD, "choices": ["C", "D", "E", "F"]}
        text = told(draft, {**notes, "answer": "C"})
        assert text == (
            "items.yaml item 1: answer 'C' is the letter of one choice and the text of another; write 'A. C' or 'C. E'"
        )
        assert draft({**notes, "answer": "A. C"}).question.answer.correct == (0,)
        assert draft({**notes, "answer": "C. E"}).question.answer.correct == (2,)
        assert draft({**notes, "answer": "F"}).question.answer.correct == (3,)

    def test_chinese_and_a_spoken_question(self, draft):
        made = draft({**GOOD, "language": "zh-CN", "asked_in": "audio", "prompt": "看<image_1>，听<audio_1>。"})
        assert (made.question.language, made.question.asked_in) == ("zh-CN", "audio")


class TestMistakes:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"promt": "x"}, "unknown field 'promt'; did you mean 'prompt'?"),
            ({"kind": "choise"}, "kind: must be 'choice', 'open' or 'multi_step'"),
            ({"name": "zoo 1"}, "name 'zoo 1' cannot be used; use letters, digits, '.', '_' and '-', at most 128"),
            ({"twin_group": "a" * 65}, "cannot be used; use letters, digits, '.', '_' and '-', at most 64"),
            ({"language": "English"}, "language 'English' cannot be used; write a language code, as 'en' or 'zh'"),
            ({"task_type": "countin"}, "unknown task type 'countin'; did you mean 'counting'"),
            ({"required": ["picture"]}, "required.0: must be 'text', 'image', 'audio' or 'video'"),
            ({"choices": ["a wolf"], "answer": "A"}, "a choice question needs at least 2 choices, this one has 1"),
            ({"choices": ["a", ""], "answer": "a"}, "choices.1: must not be empty"),
            ({"answer": "D"}, "answer 'D' is neither a letter (A, B, C) nor the text of a choice"),
            ({"answer": "a foks"}, "answer 'a foks' is neither a letter (A, B, C) nor the text of a choice"),
            ({"answer": []}, "a choice question needs at least one correct choice"),
            ({"choices": [f"c{n}" for n in range(27)], "answer": "A"}, "27 choices are more than the 26 letters"),
            ({"accepted": ["fox"]}, "'accepted', 'grader' and 'tolerance' are for open answers and steps; remove them"),
            (
                {"media": {"image_1": "pictures/a.png"}},
                "names <audio_1>, but no media is given under 'audio_1'; add it",
            ),
            (
                {"prompt": "See <image_1>. Which?"},
                "media 'audio_1' has no placeholder; write <audio_1> where it belongs in the prompt",
            ),
            (
                {"prompt": "See <image_1>, <video_1>", "media": {"image_1": "pictures/a.png", "video_1": "a.wav"}},
                "<video_1> stands for audio media; rename it <audio_1>",
            ),
            ({"prompt": "half a pair \ud83d <image_1> <audio_1>"}, "prompt: must be text"),
        ],
    )
    def test_each_is_one_line_that_says_where_and_how_to_mend_it(self, draft, change, said):
        text = told(draft, {**GOOD, **change})
        assert text.startswith("items.yaml item 1: ")
        assert said in text

    @pytest.mark.parametrize("field", ["name", "task_type", "language", "kind", "prompt", "media", "required"])
    @pytest.mark.parametrize("blank", [True, False])
    def test_a_missing_field(self, draft, field, blank):
        data = {key: value for key, value in GOOD.items() if key != field} | ({field: None} if blank else {})
        assert told(draft, data) == f"items.yaml item 1: field {field!r} is missing; add it"

    @pytest.mark.parametrize(
        ("step", "said"),
        [
            ({"points": 5}, "the points of the steps must sum to 10, these sum to 11"),
            ({"points": 0}, "steps.0.points: must be greater than or equal to 1"),
            ({"points": "four"}, "steps.0.points: must be a whole number"),
            ({"answr": "x"}, "steps.0: unknown field 'answr'; did you mean 'answer' or "),
            ({"answer": None}, "field 'steps.0.answer' is missing; add it"),
            ({"answer": ""}, "steps.0.answer: must not be empty"),
            ({"grader": "numbr"}, "steps.0.grader: unknown grader 'numbr'; did you mean 'number'"),
            ({"grader": "multi_step"}, "steps.0.grader: unknown grader 'multi_step'"),
            ({"tolerance": -1}, "steps.0.tolerance: must be greater than or equal to 0"),
        ],
    )
    def test_steps(self, draft, step, said):
        text = told(draft, {**STEPS, "steps": [{**STEPS["steps"][0], **step}, STEPS["steps"][1]]})
        assert said in text

    def test_open_questions(self, draft):
        assert "grader: unknown grader 'shrot_text'; did you mean 'short_text'" in told(
            draft, {**OPEN, "grader": "shrot_text"}
        )
        assert "an open question needs at least one accepted answer" in told(
            draft, {**OPEN, "answer": [], "accepted": []}
        )
        assert "only choice questions have choices, this one is open" in told(draft, {**OPEN, "choices": ["a", "b"]})

    @pytest.mark.parametrize(("data", "kind"), [("stray", "str"), (["a"], "list"), (None, "NoneType"), (3, "int")])
    def test_what_is_no_record(self, draft, data, kind):
        assert told(draft, data) == f"items.yaml item 1: an item is a mapping of fields, this is {kind}"


class TestMedia:
    def test_by_sha256(self, draft, library):
        sha256 = library.add(png(1)).sha256
        by_hash = draft({**GOOD, "media": {"image_1": sha256.upper(), "audio_1": "a.wav"}})
        assert by_hash.question == draft(GOOD).question

    def test_not_in_the_library(self, draft, folder):
        (folder / "new.png").write_bytes(png(9))
        text = told(draft, {**GOOD, "media": {"image_1": "new.png", "audio_1": "a.wav"}})
        assert text == (
            "items.yaml item 1: image_1: new.png is not in the material library; "
            "run 'interplay material ingest' on it first"
        )

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ("none.png", "image_1: cannot read 'none.png' (No such file or directory); correct the path"),
            ("pictures", "image_1: cannot read 'pictures' (Is a directory); correct the path"),
            ("../outside.png", "lies outside the item file's folder; copy it there, or give its sha256"),
            ("/etc/passwd", "lies outside the item file's folder"),
            ("link.png", "lies outside the item file's folder"),
            ("loop.png", "cannot read 'loop.png'"),
            ("a\0b.png", "cannot read 'a\\x00b.png' (embedded null byte)"),
            ("x" * 300, "File name too long"),
            ("f" * 64, "is not in the material library"),
        ],
    )
    def test_paths_that_lead_nowhere_or_outside(self, draft, folder, value, said):
        (folder.parent / "outside.png").write_bytes(png(1))
        (folder / "link.png").symlink_to(folder.parent / "outside.png")
        (folder / "loop.png").symlink_to("loop.png")
        text = told(draft, {**GOOD, "media": {"image_1": value, "audio_1": "a.wav"}})
        assert said in text

    def test_a_link_inside_the_folder_is_followed(self, draft, folder):
        (folder / "again.png").symlink_to(folder / "pictures" / "a.png")
        made = draft({**GOOD, "media": {"image_1": "again.png", "audio_1": "a.wav"}})
        assert made.question == draft(GOOD).question

    @pytest.mark.parametrize(
        ("shade", "state", "reason", "said"),
        [
            (7, MaterialState.DROPPED, "too_dark", "material dark.png is dropped (too_dark); choose another one"),
            (8, MaterialState.WITHDRAWN, None, "material dark.png is withdrawn; choose another one"),
        ],
    )
    def test_material_that_may_not_be_used(self, draft, folder, library, shade, state, reason, said):
        (folder / "dark.png").write_bytes(png(shade))
        library.add(png(shade), state=state, drop_reason=reason)
        assert said in told(draft, {**GOOD, "media": {"image_1": "dark.png", "audio_1": "a.wav"}})


OF_A_FILM = {
    **GOOD,
    "prompt": "See <video_1>, hear <audio_1>.",
    "media": {"video_1": "film.mp4", "audio_1": "film.mp4"},
    "required": ["video", "audio"],
}


class TestSoundOfAVideo:
    @pytest.fixture
    def film(self, folder, library):
        """Make a film of one grey in the folder and the library."""

        def make(shade: int):
            buffer = io.BytesIO()
            pixels = np.full((32, 32, 3), shade, np.uint8)
            with av.open(buffer, "w", format="mp4") as out:
                stream = out.add_stream("mpeg4", rate=5)
                stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
                for _ in range(3):
                    out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
                out.mux(stream.encode(None))
            (folder / "film.mp4").write_bytes(buffer.getvalue())
            return library.add(buffer.getvalue())

        return make

    def test_audio_1_means_its_sound(self, draft, film, library):
        shown = film(10)
        sound = library.add(wav(523), parent=shown)
        made = draft(OF_A_FILM)
        assert made.materials == {"video_1": shown.id, "audio_1": sound.id}
        assert [part.media.sha256 for part in made.question.media] == [shown.sha256, sound.sha256]

    def test_a_still_of_it_is_no_sound(self, draft, film, library):
        shown = film(90)
        library.add(png(77), parent=shown)
        sound = library.add(wav(524), parent=shown)
        assert draft(OF_A_FILM).materials["audio_1"] == sound.id

    def test_a_silent_one_has_none(self, draft, film):
        film(200)
        assert told(draft, OF_A_FILM) == (
            "items.yaml item 1: audio_1: the video film.mp4 has no sound; name an audio file"
        )
