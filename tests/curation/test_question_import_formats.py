"""Each format's sample, question by question, as its maker would read it."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from sqlmodel import select

from core.question import AnswerKey
from curation.questions.importing import import_questions
from curation.questions.plan import Wanted
from warehouse.tables import PublicQuestion


def _samples():
    spec = importlib.util.spec_from_file_location("question_samples", Path(__file__).parent / "question_samples.py")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["question_samples"] = loaded
    spec.loader.exec_module(loaded)
    return loaded


SAMPLES = _samples()


@pytest.fixture
def workspace(project):
    from warehouse.workspace import open_workspace

    with open_workspace(project) as opened:
        yield opened


@pytest.fixture
def take(workspace, tmp_path, media):
    """Import a format's sample; its questions and labels by their ids."""

    def run(name):
        sample = SAMPLES.SAMPLES[name](tmp_path, media)
        import_questions(workspace, Wanted(sample.source, name, name, **sample.told))
        with workspace.database.reading() as session:
            return {one.qid: (one.as_question(), one.labels) for one in session.exec(select(PublicQuestion))}

    return run


def texts(question):
    return question.prompt_text, [choice.text for choice in question.choices]


def test_mmbench(take):
    found = take("mmbench")
    question, labels = found["241"]
    assert texts(question) == ("<image_1>\nRed ones count.\nHow many dots are there?", ["one", "two", "three"])
    assert (question.kind, question.answer, question.language) == ("choice", AnswerKey(correct=(1,)), "en")
    assert (question.task_type, labels["task_type_by"]) == ("feature_recognition", "default")
    assert labels["l2-category"] == labels["ability"] == "finegrained_perception (instance-level)"
    assert (labels["category"], labels["split"]) == ("attribute_recognition", "dev")
    chinese, labels = found["252"]
    assert texts(chinese) == ("<image_1>\n图中有几个红点？", ["两个", "三个"])
    assert (chinese.language, chinese.answer.correct) == ("zh", (1,))
    assert (chinese.task_type, labels["task_type_by"]) == ("spatial_relationship", "category")
    shared, _ = found["253"]
    assert shared.media[0].media == question.media[0].media != chinese.media[0].media
    assert (shared.media[0].media.width_px, shared.media[0].media.media_type) == (320, "image/png")


def rows_of(workspace, tmp_path, rows, name="other"):
    file = SAMPLES.as_tsv(tmp_path / f"{name}.tsv", rows)
    report = import_questions(workspace, Wanted(file, "mmbench", name))
    with workspace.database.reading() as session:
        return report, [one.qid for one in session.exec(select(PublicQuestion))]


def test_mmbench_counts_as_copies_only_what_turns_a_question_of_the_file(workspace, tmp_path, media):
    """VLMEvalKit: a copy's index is its question's plus a multiple of 1e6, in MMBench and CCBench; elsewhere it is any."""
    base = {"question": "How many?", "A": "one", "B": "two", "C": "three", "answer": "B", "split": "dev"}
    turned = base | {"A": "two", "B": "three", "C": "one", "answer": "A", "image": "241"}
    rows = [
        {"index": 241, "hint": "Red ones.", **base, "image": SAMPLES.base64_of(media.coded(media.dots(2), "PNG"))},
        {"index": 1000241, **turned},
        {"index": 2000241, **turned, "A": "three", "B": "one", "C": "two", "answer": "C"},
        {"index": 3000241, **turned, "answer": "B"},  # another answer
        {"index": 4000241, **turned, "question": "How few?"},
        {
            "index": 5000241,
            **turned,
            "A": "three",
            "B": "two",
            "C": "one",
            "answer": "B",
        },  # in another order, not turned
        {"index": 1000999, **base, "image": "241"},  # nothing before it has the index 999
        {"index": 2000999, **turned},
        {"index": 20231107001, **base, "image": "241"},
    ]
    report, qids = rows_of(workspace, tmp_path, rows)
    assert (report.copies, report.bad) == (3, {})
    assert qids == ["241", "3000241", "4000241", "5000241", "1000999", "20231107001"]
    again = import_questions(workspace, Wanted(tmp_path / "other.tsv", "mmbench", "other"))
    assert (again.new, again.known, again.copies) == (0, 6, 3)


def test_mmbench_pictures_that_are_neither_base64_nor_another_row_are_told_as_broken(workspace, tmp_path, media):
    picture = SAMPLES.base64_of(media.coded(media.dots(2), "PNG"))
    texts = {
        "short": "!!!not base64",
        "long": "no*base64" * 30,
        "cut": picture[: len(picture) // 4 * 4 - 7],
        "no row": 9,
    }
    rows = [
        {"index": number, "question": f"{name}?", "A": "yes", "B": "no", "answer": "A", "image": text}
        for number, (name, text) in enumerate(texts.items(), start=1)
    ]
    report, _ = rows_of(workspace, tmp_path, rows)
    assert report.bad == {"broken_base64": 3, "missing_media": 1}


def test_base64_is_told_from_a_path_by_what_it_holds(workspace, tmp_path, media):
    picture = SAMPLES.base64_of(media.coded(media.dots(2), "PNG"))
    (tmp_path / "map.yaml").write_text(
        "{id: id, prompt: q, answer: a, media: {image_1: picture}, task_type: counting}", encoding="utf-8"
    )
    hashed = "ab/" + "0f" * 40
    (tmp_path / "ab").mkdir()
    (tmp_path / hashed).write_bytes(media.coded(media.dots(3), "PNG"))
    broken = picture[:80] + "*" + picture[81:]
    rows = [{"id": name, "q": "How many?", "a": "2", "picture": text} for name, text in
            (("whole", picture), ("path", hashed), ("broken", broken))]  # fmt: skip
    file = SAMPLES.as_json(tmp_path / "own.json", rows)
    report = import_questions(workspace, Wanted(file, "generic", "own", mapping=tmp_path / "map.yaml"))
    assert (report.new, report.bad) == (2, {"broken_base64": 1})


def test_mmbench_copies_without_answers_are_copies_too(workspace, tmp_path, media):
    picture = SAMPLES.base64_of(media.coded(media.dots(2), "PNG"))
    rows = [
        {"index": 1, "question": "Red?", "A": "yes", "B": "no", "answer": "A", "image": picture},
        {"index": 7, "question": "How many?", "A": "one", "B": "two", "answer": "", "image": picture},
        {"index": 1000007, "question": "How many?", "A": "two", "B": "one", "answer": "", "image": "7"},
    ]
    report, _ = rows_of(workspace, tmp_path, rows)
    assert (report.new, report.copies, report.bad) == (1, 1, {"no_answer": 1})


def test_mmbench_as_parquet_says_nan_where_a_text_is_missing(workspace, tmp_path, media):
    """lmms-lab/MMBench, as lmms-eval's tasks/mmbench/en_utils.py reads it."""
    row = {"index": 7, "question": "Red?", "hint": "nan", "A": "yes", "B": "no", "C": "nan", "D": "nan", "answer": "A"}
    row |= {"category": "image_topic", "source": "nan", "L2-category": "coarse_perception", "comment": "nan"}
    row |= {"split": "dev", "image": {"bytes": media.coded(media.dots(2), "PNG"), "path": None}}
    file = SAMPLES.as_parquet(tmp_path / "dev.parquet", [row])
    assert import_questions(workspace, Wanted(file, "mmbench", "mm")).new == 1
    with workspace.database.reading() as session:
        (held,) = session.exec(select(PublicQuestion))
    assert texts(held.as_question()) == ("<image_1>\nRed?", ["yes", "no"])
    assert not {"source", "comment"} & set(held.labels)


def test_mmau(take):
    found = take("mmau")
    question, labels = found["3fe6"]
    assert texts(question) == ("<audio_1>\nWho speaks in the given audio?", ["Man", "Woman", "Child", "Robot"])
    assert question.answer == AnswerKey(correct=(1,))
    assert question.media[0].media.duration_s == pytest.approx(2.0)
    assert (question.task_type, question.required) == ("background_sound_recognition", {"audio"})
    assert labels == {
        "dataset": "AudioSet",
        "source": "AudioSet",
        "task": "sound",
        "subset": "sound",
        "split": "test-mini",
        "category": "Reasoning",
        "sub-category": "Acoustic Source Inference",
        "ability": "Acoustic Source Inference",
        "difficulty": "medium",
        "task_type_by": "category",
    }
    other, labels = found["72fb"]
    assert (other.answer.correct, other.language, labels["difficulty"]) == ((2,), "zh", "hard")


def test_mathvista(take):
    found = take("mathvista")
    question, labels = found["1"]
    assert texts(question) == ("<image_1>\nBy what distance is the spring compressed? (Unit: cm)", [])
    # One decimal: 1.16 and 1.24 are rounded to 1.2, 1.26 is not.
    assert question.answer == AnswerKey(accepted=("1.2",), grader="number", tolerance=0.05)
    assert (question.task_type, question.language) == ("mathematics", "en")
    assert (labels["grade"], labels["difficulty"], labels["source"]) == ("college", "college", "SciBench")
    chinese, labels = found["3"]
    assert texts(chinese) == ("<image_1>\n若∠A＝110°，则∠BOC＝（）", ["135°", "140°", "145°", "150°"])
    assert (chinese.answer.correct, chinese.language, labels["skills"]) == ((2,), "zh", "a; b")
    listed, _ = found["4"]
    assert listed.answer == AnswerKey(accepted=("0; 2; 7",), grader="ordered_enumeration")


def test_unobench(take):
    found = take("unobench")
    question, labels = found["omni_0001"]
    assert texts(question) == ("结合图片<image_1>和音频<audio_1>，图中共有几个红点？", ["两个", "三个", "四个"])
    assert (question.answer.correct, question.task_type, question.language) == ((1,), "counting", "zh")
    assert (labels["subset"], labels["score_type"], question.required) == ("omni-mc", 0, {"image", "audio"})
    steps, _ = found["omni_0002"]
    assert steps.prompt_text.startswith("Look at <video_1>.")
    assert [(step.ask, step.points, step.answer.accepted) for step in steps.steps] == [
        ("How often does it cut?", 4, ("3",)),
        ("What colour is the ball?", 6, ("yellow",)),
    ]
    # The film has a sound; UNO-Bench shows films without.
    assert (steps.kind, steps.task_type, steps.required) == ("multi_step", "multi_step_reasoning", {"video"})
    ocr, labels = found["ocr_0001"]
    assert ocr.answer == AnswerKey(accepted=("EXIT", "Exit"), grader="ocr_substring")
    assert (ocr.task_type, labels["task_type_by"]) == ("optical_character_recognition", "default")


def test_omnibench(take):
    question, labels = take("omnibench")["0"]
    assert texts(question)[0] == "<image_1><audio_1>\nHow many more dots are spoken of?"
    assert (question.answer.correct, question.task_type) == ((1,), "counting")
    assert question.required == {"image", "audio"}
    assert (labels["audio content"], labels["subset"]) == ("Two people talking.", "speech")
    assert "image content" not in labels  # a thousand characters are no label


def test_worldsense(take):
    found = take("worldsense")
    question, labels = found["bKgmkZ-task0"]
    choices = ["once", "twice", "never", "three times"]
    assert texts(question) == ("<video_1><audio_1>\nHow often is the whistle blown?", choices)
    assert (question.answer.correct, question.task_type) == ((2,), "counting")
    assert question.required == {"video", "audio"}
    assert [part.media.media_type for part in question.media] == ["video/mp4", "audio/mp4"]
    assert (labels["domain"], labels["category"], labels["ability"]) == ("Sports", "Audio Counting", "Recognition")
    other, labels = found["bKgmkZ-task1"]
    assert (other.task_type, labels["task_type_by"]) == ("event_recognition", "default")
    assert other.media == question.media


def test_dailyomni(take):
    first, second = take("dailyomni").values()
    question, labels = first
    choices = ["gunfire", "a countdown", "a swoosh", "a voice"]
    assert texts(question) == ("<video_1><audio_1>\nWhich sound is heard while the ball crosses?", choices)
    assert (question.answer.correct, question.task_type) == ((3,), "timing_alignment")
    assert (labels["category"], labels["subset"], labels["video_duration"]) == ("AV Event Alignment", "Sports", "30s")
    assert "Explanation" not in labels
    assert (second[0].answer.correct, second[1]["task_type_by"]) == ((0,), "default")


def test_avodyssey(take):
    found = take("avodyssey")
    question, labels = found["1_0"]
    named = "".join(f"\nimage_{n}: <image_{n}>" for n in range(1, 5))
    choices = ["image_1", "image_2", "image_3", "image_4"]
    assert texts(question) == (f"Which picture goes with the sound <audio_1>?{named}", choices)
    assert (question.answer.correct, question.task_type) == ((2,), "timing_alignment")
    assert (labels["subfield"], labels["question_type_id"]) == ("Timbre", 1)
    film, _ = found["24_7"]
    assert texts(film) == ("Does <audio_1> belong to <video_1>?", ["yes", "no"])
    # The film's own sound is not part of the question.
    assert [part.name for part in film.media] == ["audio_1", "video_1"]
    assert (film.task_type, film.answer.correct) == ("consistency_judgment", (1,))


def test_generic(take):
    found = take("generic")
    question, labels = found["q1"]
    assert texts(question) == ("看<image_1>，听<audio_1>：几个？", ["二", "三"])
    assert (question.answer.correct, question.language, question.task_type) == ((1,), "zh", "mathematics")
    assert labels == {"topic": "Sums", "level": 2, "difficulty": 2, "task_type_by": "category"}
    bare, labels = found["q2"]
    assert texts(bare) == ("<audio_1>\nSay what you hear.", [])
    assert (bare.answer, labels["task_type_by"]) == (AnswerKey(accepted=("a voice",)), "default")


def test_other_packings_of_the_same_sets(workspace, tmp_path, media):
    """As Parquet with media as bytes and structs, which is how hubs repack them."""
    picture, sound = media.coded(media.dots(2), "PNG"), media.wav(media.voice(1))
    film = media.film(media.cartoon(1, 1), sound=media.voice(3, 1.0))
    (tmp_path / "f.mp4").write_bytes(film)
    packed = {
        "mmbench": {"index": 7, "question": "?", "A": "x", "B": "y", "answer": "A", "L2-category": "logic"}
        | {"image": {"bytes": picture, "path": None}},
        "mmau": {"question_id": "m", "question": "?", "choices": '["x", "y"]', "answer": "y"}
        | {"audio": {"bytes": sound, "path": "a.wav"}},
        "mathvista": {"pid": "1", "question": "?", "question_type": "free_form", "answer_type": "integer"}
        | {"answer": "4", "decoded_image": {"bytes": picture, "path": None}, "image": "images/1.jpg"},
        "omnibench": {"index": 3, "task type": "Plot Inference", "question": "?", "options": ["x", "y"]}
        | {"answer": "x", "image": {"bytes": picture, "path": None}, "audio": {"bytes": sound, "path": None}},
        "worldsense": {"index": 5, "video": "f", "question": "?", "candidates": ["A. x", "B. y"], "answer": "B"},
        "unobench": {"qid": "u", "question": "<image_1>?", "answer": "yes", "score_type": 0}
        | {"images": json.dumps({"<image_1>": "p.png"})},
    }
    (tmp_path / "p.png").write_bytes(picture)
    for name, row in packed.items():
        file = SAMPLES.as_parquet(tmp_path / f"{name}.parquet", [row])
        report = import_questions(workspace, Wanted(file, name, name))
        assert (report.new, report.examples) == (1, {}), name
    with workspace.database.reading() as session:
        held = {one.qid: one for one in session.exec(select(PublicQuestion))}
    assert held["7"].labels["ability"] == "logic"
    assert held["1"].as_question().answer == AnswerKey(accepted=("4",), grader="number")
    assert held["u"].as_question().answer == AnswerKey(accepted=("yes",), grader="yes_no")
    assert held["5"].as_question().required == {"video", "audio"}
