"""The Hugging Face folder, loaded back by the library that its users load it with."""

import hashlib
import json
from collections.abc import Iterator
from types import ModuleType

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core.content import parse_prompt
from warehouse.exporters.huggingface import HuggingFaceExporter, config_of
from warehouse.exporters.shards import ShardLimits, plan_shards
from warehouse.release.build import Query, Recipe, build_release
from warehouse.release.export import export_release, sealed_manifest
from warehouse.release.seal import SealOrder, seal_release
from warehouse.release.splits import SplitPlan


@pytest.fixture(scope="module")
def datasets() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_DATASETS_OFFLINE", "1")
        import datasets

        datasets.disable_progress_bars()
        yield datasets


@pytest.fixture(scope="module")
def release(shared_world):
    """Questions of every config, sealed."""
    world = shared_world
    for name in "abcdef":
        world.choice_item(name, ord(name))
    world.steps_item("film", 9)
    picture, sound = world.material(world.picture(500)), world.material(world.sound(500))
    world.accept("seen", world.open_question(picture), {"image_1": picture})
    world.accept("heard", world.open_question(sound), {"audio_1": sound})
    both = {"image_1": picture.media_ref, "audio_1": sound.media_ref}
    question = world.open_question(picture, prompt=parse_prompt("<image_1> <audio_1> <image_1>?", both))
    world.accept("both", question, {"image_1": picture, "audio_1": sound})
    recipe = Recipe(Query(), SplitPlan(0.4), "CC-BY-4.0")
    build_release(world.database, "zoo", "1.0.0", recipe, "max", world.clock)
    return seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock).release


@pytest.fixture(scope="module")
def folder(shared_world, release, tmp_path_factory):
    world, target = shared_world, tmp_path_factory.mktemp("out") / "zoo"
    return export_release(world.database, world.blobs, "zoo", "1.0.0", "huggingface", target, world.clock).folder


def header(folder):
    return yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def test_datasets_gives_back_every_row_and_every_byte(datasets, shared_world, release, folder, tmp_path):
    manifest, _ = sealed_manifest(shared_world.blobs, release)
    wanted = {row.qid: row for row in manifest.rows}
    seen = {}
    configs = datasets.get_dataset_config_names(str(folder))
    assert set(configs) == {"omni_mc", "omni_mo", "omni_open", "uni_audio", "uni_visual"}
    for config in configs:
        loaded = datasets.load_dataset(str(folder), config, cache_dir=str(tmp_path / "cache"))
        for split, table in loaded.items():
            assert table.features["images"] == datasets.List(datasets.Image())
            assert table.features["audios"] == datasets.List(datasets.Audio())
            plain = table.cast_column("images", datasets.List(datasets.Image(decode=False)))
            plain = plain.cast_column("audios", datasets.List(datasets.Audio(decode=False)))
            seen |= {row["qid"]: (config, split, row) for row in plain}
    assert seen.keys() == wanted.keys()
    for qid, (config, split, row) in seen.items():
        question = wanted[qid].question
        assert (config, split) == (config_of(question), wanted[qid].split)
        assert row["prompt"] == question.prompt_text
        assert row["choices"] == [choice.text for choice in question.choices]
        assert row["answer_key"]["correct"] == list(question.answer.correct)
        assert row["answer_key"]["accepted"] == list(question.answer.accepted)
        assert [(step["ask"], step["points"]) for step in row["steps"]] == [(s.ask, s.points) for s in question.steps]
        assert [part["name"] for part in row["media"]] == [part.name for part in question.media]
        assert row["required"] == sorted(question.required)
        embedded = {"image": iter(row["images"]), "audio": iter(row["audios"])}
        videos = iter(row["videos"])
        for part in question.media:
            is_video = part.media.modality == "video"
            held = (folder / next(videos)).read_bytes() if is_video else next(embedded[part.media.modality])["bytes"]
            assert held == shared_world.blobs.get(part.media.sha256)


def test_pictures_decode_as_pictures(datasets, folder, tmp_path):
    loaded = datasets.load_dataset(str(folder), "uni_visual", cache_dir=str(tmp_path / "cache"))
    (row,) = [row for table in loaded.values() for row in table]
    (picture,) = row["images"]
    assert picture.size == (12, 8)
    assert picture.getpixel((0, 0)) == (500 % 256, 500 // 256, 7)


def test_the_features_are_those_that_datasets_itself_would_write(datasets, folder):
    for file in folder.glob("*/*.parquet"):
        schema = pq.read_schema(file)
        features = datasets.Features.from_arrow_schema(schema)
        assert json.loads(schema.metadata[b"huggingface"]) == json.loads(features.arrow_schema.metadata[b"huggingface"])
        assert features.arrow_schema.types == schema.types


def test_several_pictures_of_a_row_keep_their_order(shared_world, folder):
    (file,) = folder.glob("omni_mo/*.parquet")
    (row,) = pq.read_table(file).to_pylist()
    held = [picture["bytes"] for picture in row["images"]]
    assert held == [shared_world.picture(3009), shared_world.picture(4009)]
    assert [part["name"] for part in row["media"]] == ["video_1", "audio_1", "image_1", "image_2"]
    assert [picture["path"] for picture in row["images"]] == [f"{hashlib.sha256(d).hexdigest()}.png" for d in held]


def test_row_groups_and_shards_keep_to_their_limits_and_lose_nothing(datasets, shared_world, release, tmp_path):
    manifest, _ = sealed_manifest(shared_world.blobs, release)
    limits = ShardLimits(group_rows=2, group_bytes=10**6, shard_bytes=5_000)
    (tmp_path / "out").mkdir()
    HuggingFaceExporter(limits).write(manifest, shared_world.blobs, tmp_path / "out")
    files = sorted(file.name for file in (tmp_path / "out" / "omni_mc").iterdir())
    assert len(files) > 2
    for file in (tmp_path / "out").glob("*/*.parquet"):
        metadata = pq.ParquetFile(file).metadata
        for group in range(metadata.num_row_groups):
            assert metadata.row_group(group).num_rows <= 2
            assert metadata.row_group(group).column(0).has_offset_index
    loaded = datasets.load_dataset(str(tmp_path / "out"), "omni_mc", cache_dir=str(tmp_path / "cache"))
    found = [row["qid"] for table in loaded.values() for row in table.select_columns("qid")]
    assert sorted(found) == list("abcdef")


SIZES = st.lists(st.integers(0, 30), max_size=60)
LIMITS = st.builds(ShardLimits, st.integers(1, 5), st.integers(1, 40), st.integers(1, 90))


@given(SIZES, LIMITS)
def test_shards_hold_every_row_once_in_order_within_the_limits(sizes, limits):
    shards = plan_shards(sizes, limits)
    assert [place for shard in shards for group in shard for place in group] == list(range(len(sizes)))
    for shard in shards:
        assert shard
        held = [sum(sizes[place] for place in group) for group in shard]
        assert sum(held) <= limits.shard_bytes or len(shard) == 1
        for group, size in zip(shard, held, strict=True):
            assert 1 <= len(group) <= limits.group_rows
            assert size <= limits.group_bytes or len(group) == 1


def test_the_usual_limits():
    assert ShardLimits() == ShardLimits(group_rows=100, group_bytes=100_000_000, shard_bytes=500_000_000)
    # 250 rows of a megabyte: 100 rows fill a group by count and by size.
    assert plan_shards([10**6] * 250, ShardLimits()) == [[range(100), range(100, 200), range(200, 250)]]
    # A row of 600 MB stands alone in its group and in its file.
    assert plan_shards([1, 6 * 10**8, 1], ShardLimits()) == [[range(1)], [range(1, 2)], [range(2, 3)]]


def test_the_header_tells_the_hub_what_is_inside(folder):
    found = header(folder)
    assert found["pretty_name"] == "zoo 1.0.0"
    # CC-BY-4.0 and MIT media.
    assert (found["license"], found["license_link"]) == ("other", "README.md#licences")
    assert found["language"] == ["en", "zh"]
    assert set(found["task_categories"]) == {"multiple-choice", "question-answering", "visual-question-answering"}
    assert found["size_categories"] == ["n<1K"]
    assert {"audio", "image", "video"} <= set(found["tags"])
    for config in found["configs"]:
        for part in config["data_files"]:
            assert list(folder.glob(part["path"])), part


def test_one_licence_for_all_is_the_licence_of_the_dataset(world, tmp_path):
    world.choice_item("a", 1)
    build_release(world.database, "one", "1.0.0", Recipe(licence="CC-BY-4.0"), "max", world.clock)
    seal_release(world.database, world.blobs, SealOrder("one", "1.0.0", "max"), world.clock)
    export_release(world.database, world.blobs, "one", "1.0.0", "huggingface", tmp_path / "one", world.clock)
    assert header(tmp_path / "one")["license"] == "cc-by-4.0"


def test_the_card_attributes_every_medium_and_cannot_be_broken_by_a_name(world, tmp_path):
    nasty = world.material(world.picture(1), author="A | B\n# <script>alert(1)</script>", source=None)
    world.accept("a", world.open_question(nasty), {"image_1": nasty})
    build_release(world.database, "zoo", "1.0.0", Recipe(), "max", world.clock)
    release = seal_release(world.database, world.blobs, SealOrder("zoo", "1.0.0", "max"), world.clock).release
    export_release(world.database, world.blobs, "zoo", "1.0.0", "huggingface", tmp_path / "out", world.clock)
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    sha256 = nasty.media_ref.sha256
    (line,) = [line for line in text.splitlines() if line.startswith(f"| `{sha256[:16]}`")]
    assert line == (
        f"| `{sha256[:16]}` (image) | CC-BY-4.0 | A \\| B # &lt;script&gt;alert(1)&lt;/script&gt; | not stated |"
    )
    manifest, _ = sealed_manifest(world.blobs, release)
    assert manifest.canary in text
    assert manifest.certificate in text
    assert "No licence is stated for the questions" in text
    assert "| 3 | 1 | 0 |" in text, "one person passed round 3"
