"""Small public question sets as their makers lay them out: a few questions of each format, media and all."""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Sample:
    """Where a sample lies, what else its import is told, and the ids of its questions."""

    source: Path
    qids: list[str]
    told: dict[str, Any] = field(default_factory=dict)


def as_json(file: Path, value: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return file


def as_parquet(file: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), file, **options)
    return file


def as_tsv(file: Path, rows: list[dict[str, Any]]) -> Path:
    names = list(rows[0])
    lines = ["\t".join(names), *("\t".join(str(row.get(name, "")) for name in names) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def keep(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def mmbench(folder: Path, media: Any) -> Sample:
    dots = {count: base64_of(media.coded(media.dots(count), "PNG")) for count in (2, 3)}
    rows = [
        {
            "index": 241,
            "question": "How many dots are there?",
            "hint": "Red ones count.",
            "A": "one",
            "B": "two",
            "C": "three",
            "D": "",
            "answer": "B",
            "category": "attribute_recognition",
            "l2-category": "finegrained_perception (instance-level)",
            "split": "dev",
            "image": dots[2],
        },
        {"index": 1000241, "question": "How many dots are there?", "A": "two", "B": "three", "C": "one", "answer": "A"}
        | {"category": "attribute_recognition", "split": "dev", "image": "241"},
        {"index": 252, "question": "图中有几个红点？", "A": "两个", "B": "三个", "answer": "B", "split": "dev"}
        | {"category": "spatial_relationship", "image": dots[3]},
        {"index": 253, "question": "Are the dots red?", "A": "yes", "B": "no", "answer": "A", "split": "test"}
        | {"category": "image_quality", "image": "241"},
    ]
    return Sample(as_tsv(folder / "mmbench.tsv", rows), ["241", "252", "253"])


def mmau(folder: Path, media: Any) -> Sample:
    keep(folder / "test-mini-audios" / "3fe6.wav", media.wav(media.voice(1)))
    record = {
        "id": "3fe6",
        "audio_id": "./test-mini-audios/3fe6.wav",
        "question": "Who speaks in the given audio?",
        "choices": ["Man", "Woman", "Child", "Robot"],
        "answer": "(B) Woman",
        "dataset": "AudioSet",
        "task": "sound",
        "split": "test-mini",
        "category": "Reasoning",
        "sub-category": "Acoustic Source Inference",
        "difficulty": "medium",
    }
    other = {**record, "id": "72fb", "answer": "Child", "question": "录音里是谁在说话？", "difficulty": "hard"}
    return Sample(as_json(folder / "mmau-test-mini.json", [record, other]), ["3fe6", "72fb"])


def mathvista(folder: Path, media: Any) -> Sample:
    for number in (1, 3, 4):
        keep(folder / "images" / f"{number}.jpg", media.coded(media.dots(number)))
    about = {"split": "testmini", "source": "SciBench", "category": "math-targeted-vqa", "context": "scientific figure"}
    records = {
        "1": {
            "pid": "1",
            "question": "By what distance is the spring compressed?",
            "image": "images/1.jpg",
            "choices": None,
            "unit": "cm",
            "precision": 1,
            "answer": "1.2",
            "question_type": "free_form",
            "answer_type": "float",
            "metadata": {**about, "language": "english", "grade": "college", "skills": ["scientific reasoning"]},
        },
        "3": {
            "pid": "3",
            "question": "若∠A＝110°，则∠BOC＝（）",
            "image": "images/3.jpg",
            "choices": ["135°", "140°", "145°", "150°"],
            "unit": None,
            "precision": None,
            "answer": "145°",
            "question_type": "multi_choice",
            "answer_type": "text",
            "metadata": {**about, "language": "chinese", "grade": "high school", "skills": ["a", "b"]},
        },
        "4": {
            "pid": "4",
            "question": "Which numbers are on the dots?",
            "image": "images/4.jpg",
            "choices": None,
            "unit": None,
            "precision": None,
            "answer": "[0, 2, 7]",
            "question_type": "free_form",
            "answer_type": "list",
            "metadata": {**about, "language": "english"},
        },
    }
    return Sample(as_json(folder / "testmini.json", records), ["1", "3", "4"])


def unobench(folder: Path, media: Any) -> Sample:
    keep(folder / "images" / "1.png", media.coded(media.dots(3), "PNG"))
    keep(folder / "audios" / "1.wav", media.wav(media.voice(2)))
    keep(folder / "videos" / "1.mp4", media.film(media.cartoon(1, 1), sound=media.voice(3, 1.0)))
    nothing = {"images": {}, "audios": {}, "videos": {}}
    rows = [
        {
            "qid": "omni_0001",
            "subset_name": "omni-mc",
            "task": "Counting",
            "question": "结合图片<image_1>和音频<audio_1>，图中共有几个红点？\nA. 两个\nB. 三个\nC. 四个",
            "answer": "B",
            "score_type": 0,
            "images": {"<image_1>": "images/1.png"},
            "audios": {"<audio_1>": "audios/1.wav"},
            "videos": {"<video_1>": None},
        },
        nothing
        | {
            "qid": "omni_0002",
            "subset_name": "omni-mo",
            "task": None,
            "question": "Look at <video_1>.\n1. How often does it cut?\n2. What colour is the ball?",
            "answer": "1. 3 (4 points);\n2. yellow (6 points).",
            "score_type": 1,
            "videos": {"<video_1>": "videos/1.mp4"},
        },
        nothing
        | {
            "qid": "ocr_0001",
            "subset_name": "OCRBench",
            "task": None,
            "question": "<image_1>\nWhat does the sign say?",
            "answer": "['EXIT', 'Exit']",
            "score_type": 2,
            "images": {"<image_1>": "images/1.png"},
        },
    ]
    kind = pa.struct([("<image_1>", pa.string())])
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("qid", "subset_name", "task", "question", "answer")),
            ("score_type", pa.int64()),
            ("images", kind),
            ("audios", pa.struct([("<audio_1>", pa.string())])),
            ("videos", pa.struct([("<video_1>", pa.string())])),
        ]
    )
    file = folder / "validation.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
    return Sample(file, ["omni_0001", "omni_0002", "ocr_0001"])


def omnibench(folder: Path, media: Any) -> Sample:
    keep(folder / "mm_data" / "image" / "2_009.png", media.coded(media.dots(2), "PNG"))
    keep(folder / "mm_data" / "audio" / "2_009.wav", media.wav(media.voice(4)))
    record = {
        "task type": "Count and Quantity",
        "audio type": "speech",
        "question": "How many more dots are spoken of?",
        "audio content": "Two people talking.",
        "image content": "dots " * 200,
        "audio_path": "2_009.wav",
        "image_path": "2_009.png",
        "index": 0,
        "answer": "Two more dots.",
        "options": ["One more dot.", "Two more dots.", "None."],
    }
    file = folder / "batch-5.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return Sample(file, ["0"])


def worldsense(folder: Path, media: Any) -> Sample:
    keep(folder / "videos" / "bKgmkZ.mp4", media.film(media.cartoon(2, 1), sound=media.voice(5, 1.0)))
    film = {
        "video_caption": "A ball.",
        "duration": "<1min",
        "domain": "Sports",
        "sub_category": "Ball games",
        "audio_class": ["Event", "Speech"],
        "task0": {
            "task_domain": "Recognition",
            "task_type": "Audio Counting",
            "question": "How often is the whistle blown?",
            "candidates": ["A. once", "B. twice", "C. never", "D. three times"],
            "answer": "C",
        },
        "task1": {
            "task_domain": "Reasoning",
            "task_type": "Attribute Reasoning",
            "question": "Why is the ball yellow?",
            "candidates": ["A. It was painted.", "B. It is a lemon."],
            "answer": "A",
        },
    }
    return Sample(as_json(folder / "worldsense_qa.json", {"bKgmkZ": film}), ["bKgmkZ-task0", "bKgmkZ-task1"])


def dailyomni(folder: Path, media: Any) -> Sample:
    keep(folder / "Videos" / "G_V" / "G_V_video.mp4", media.film(media.cartoon(3, 1), sound=media.voice(6, 1.0)))
    record = {
        "Question": "Which sound is heard while the ball crosses?",
        "Choice": ["A. gunfire", "B. a countdown", "C. a swoosh", "D. a voice"],
        "Answer": "D",
        "Explanation": "It is.",
        "video_id": "G_V",
        "Type": "AV Event Alignment",
        "video_category": "Sports",
        "video_duration": "30s",
        "content_parent_category": "Sports",
    }
    other = {**record, "Question": "What happens first?", "Answer": "A", "Type": "Comparative"}
    file = folder / "qa.json"
    # As the set's pipeline writes them: arrays one behind the other.
    file.write_text(json.dumps([record]) + json.dumps([other]), encoding="utf-8")
    return Sample(file, ["G_V-52774918b342", "G_V-7b3532476b63"])


def avodyssey(folder: Path, media: Any) -> Sample:
    pictures = [media.coded(media.dots(count), "PNG") for count in (1, 2, 3, 4)]
    sound = media.wav(media.voice(7))
    film = media.film(media.cartoon(4, 1), sound=media.voice(8, 1.0))
    empty = {f"{sense}_{n}": None for sense in ("image", "audio") for n in range(1, 5)} | {"video_1": None}
    rows = [
        empty
        | {
            "question_type_id": 1,
            "question_id": "1_0",
            "data_type": "image+audio",
            "subfield": "Timbre",
            "question": "Which picture goes with the sound [audio1]?",
            "options": ["[img1]", "[img2]", "[img3]", "[img4]"],
            "answer": "C",
            "audio_1": sound,
            **{f"image_{n}": picture for n, picture in enumerate(pictures, start=1)},
        },
        empty
        | {
            "question_type_id": 24,
            "question_id": "24_7",
            "data_type": "video+audio",
            "subfield": "Hallucination",
            "question": "Does [audio1] belong to [video1]?",
            "options": ["A. yes", "B. no"],
            "answer": "B",
            "audio_1": sound,
            "video_1": film,
        },
    ]
    as_parquet(folder / "av_odyssey_part1.parquet", rows[:1])
    as_parquet(folder / "av_odyssey_part2.parquet", rows[1:])
    return Sample(folder, ["1_0", "24_7"])


MAPPING = """\
id: key
prompt: text
media: {image_1: picture, audio_1: sound}
choices: [opt_a, opt_b, opt_c]
answer: right
answer_is: text
task_type: {field: topic, map: {sums: mathematics}, default: life_reasoning}
labels: [topic, level]
rename: {difficulty: level}
"""


def generic(folder: Path, media: Any) -> Sample:
    keep(folder / "media" / "红点.png", media.coded(media.dots(3), "PNG"))
    keep(folder / "media" / "voice.wav", media.wav(media.voice(9)))
    lines = [
        {
            "key": "q1",
            "text": "看<image_1>，听<audio_1>：几个？",
            "opt_a": "二",
            "opt_b": "三",
            "right": "三",
            "topic": "Sums",
        }
        | {"picture": "红点.png", "sound": "voice.wav", "level": 2},
        {"key": "q2", "text": "Say what you hear.", "right": "a voice", "topic": "ears", "sound": "voice.wav"},
    ]
    file = folder / "own.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    (folder / "mapping.yaml").write_text(MAPPING, encoding="utf-8")
    return Sample(file, ["q1", "q2"], {"mapping": folder / "mapping.yaml", "media": folder / "media"})


SAMPLES = {
    "avodyssey": avodyssey,
    "dailyomni": dailyomni,
    "generic": generic,
    "mathvista": mathvista,
    "mmau": mmau,
    "mmbench": mmbench,
    "omnibench": omnibench,
    "unobench": unobench,
    "worldsense": worldsense,
}
