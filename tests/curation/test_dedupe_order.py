"""Who came first, and who was compared with whom when, is chance: links and their evidence must not depend on it."""

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from sqlmodel import select

from core.content import Modality
from core.media.audio import load_audio
from core.media.video import iter_frames
from curation.dedupe.link import SAME_BYTES_METHOD, link_duplicates
from curation.dedupe.perturb import PICTURE_CHANGES, SOUND_CHANGES, Film, encode_film
from curation.dedupe.pictures import Pictures, near_pictures
from curation.dedupe.renditions import (
    AUDIO_METHOD,
    FILM_HZ,
    IMAGE_METHOD,
    METHODS,
    VIDEO_METHOD,
    rendered_audio,
    rendered_image,
    rendered_video,
)
from curation.dedupe.sounds import AUDIO_RATE_HZ
from curation.filters.views import small_grey
from warehouse.runs import open_run
from warehouse.tables import DuplicateLink, Material
from warehouse.workspace import init_project, open_workspace

Given = tuple[str, Modality, str, dict]
"""sha256 as received, modality, sha256 of the working copy, rendition."""


def named(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def film_look(frames: list[Image.Image]) -> dict:
    data = encode_film(Film(frames, 10))
    return rendered_video([small_grey(pixels) for _, pixels in iter_frames(data, at_hz=FILM_HZ)])


@pytest.fixture(scope="module")
def looked_at(media) -> list[Given]:
    """Copies that are turned, cropped, cut and faster, of pictures, films and sounds; two have one working copy."""
    rng = np.random.default_rng(3)
    photo, frames, voice = media.photo(1), media.cartoon(2, 4), media.voice(1, 4.0).astype(np.float32)
    changes = ("crop 10%: corner", "turn: 90", "watermark: logo 10%, centre", "turn: mirrored")
    pictures = [photo, *(PICTURE_CHANGES[change](photo, rng) for change in changes)]
    mirrored = [frame.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for frame in frames]
    films = [frames, mirrored[8:], frames[::2], [frame.crop((16, 12, 320, 240)) for frame in frames[:32]]]
    sounds = [media.wav(voice)]
    sounds += [SOUND_CHANGES[change](voice, 16000, rng) for change in ("speed: +10%", "trim: 30% at the start")]
    looks = [(Modality.IMAGE, rendered_image(image)) for image in pictures]
    looks += [(Modality.VIDEO, film_look(film)) for film in films]
    looks += [(Modality.AUDIO, rendered_audio(load_audio(data, AUDIO_RATE_HZ))) for data in sounds]
    found = [(named(f"file {n}"), kind, named(f"copy {n}"), look) for n, (kind, look) in enumerate(looks)]
    return [*found, (named("with other metadata"), *found[0][1:])]


def linked(folder, given: Sequence[Given], sizes: Sequence[int]) -> list[tuple]:
    """All of the links, when so many materials come at a time, with ids in the order in which they come."""
    with open_workspace(init_project(folder).root) as workspace:
        with open_run(workspace.database, "test", {}) as run:
            start = 0
            for size in sizes:
                with workspace.database.session() as session:
                    for place in range(start, start + size):
                        sha256, kind, copy, look = given[place]
                        media, looks = {"sha256": copy}, {METHODS[kind]: look}
                        facts = {"media": media, "modality": kind.value, "looks": looks, "run_id": run.id}
                        session.add(Material(id=f"{place:036d}", sha256=sha256, **facts))
                link_duplicates(workspace.database, run.id)
                start += size
        with workspace.database.reading() as session:
            links = session.exec(select(DuplicateLink)).all()
        told = [one.model_dump(exclude={"id", "run_id"}) for one in links]
    for one in told:
        one |= {end: given[int(one[end])][0] for end in ("first_id", "second_id")}
    return sorted(told, key=lambda one: (one["first_id"], one["second_id"], one["method"]))


@pytest.fixture(scope="module")
def at_once(looked_at, tmp_path_factory) -> list[dict]:
    return linked(tmp_path_factory.mktemp("at_once") / "project", looked_at, [len(looked_at)])


def test_there_is_something_to_compare(at_once):
    methods = [one["method"] for one in at_once]
    assert {SAME_BYTES_METHOD, IMAGE_METHOD, VIDEO_METHOD, AUDIO_METHOD} == set(methods)
    assert all(one["first_id"] < one["second_id"] for one in at_once)
    told = [one["evidence"] for one in at_once]
    assert {one.get("turning") for one in told} >= {"mirrored", "upright"}
    assert any(one.get("offset_s") for one in told)
    assert any(one.get("speed", 1) != 1 for one in told)


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_in_any_order_and_in_any_steps_the_links_and_their_evidence_are_the_same(
    looked_at, at_once, tmp_path_factory, data
):
    order = data.draw(st.permutations(looked_at))
    cuts = sorted({0, len(order), *data.draw(st.lists(st.integers(0, len(order)), max_size=3))})
    folder = tmp_path_factory.mktemp("ordered") / "project"
    assert linked(folder, order, np.diff(cuts).tolist()) == at_once


def symmetric(seed: int) -> np.ndarray:
    """A face-like picture of 32 x 32: the same on both sides, but for what coding leaves."""
    rng = np.random.default_rng(seed)
    half = np.kron(rng.uniform(0, 255, (8, 4)), np.ones((4, 4)))
    whole = np.concatenate([half, half[:, ::-1]], axis=1) + rng.normal(0, 4, (32, 32))
    return np.clip(whole, 0, 255).astype(np.uint8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=8, max_size=8))
def test_of_symmetric_pictures_either_may_be_asked_for(seed, is_asked):
    """Half of their coefficients count as nothing, and give the bit 0 whichever way the picture is turned."""
    rng = np.random.default_rng(seed)
    shown = [symmetric(seed), symmetric(seed + 1)]
    for luma in shown[:2] * 3:
        noisy = np.clip(luma + rng.normal(0, rng.uniform(2, 12), luma.shape), 0, 255).astype(np.uint8)
        shown.append(np.rot90(noisy, rng.integers(4)))
    pictures, asked = Pictures.of(np.stack(shown)), np.array(is_asked)
    every = near_pictures(pictures, np.ones(8, dtype=bool))
    expected = {pair: match for pair, match in every.items() if asked[list(pair)].any()}
    assert near_pictures(pictures, asked) == expected
