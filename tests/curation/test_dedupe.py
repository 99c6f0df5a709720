import io
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.signal import resample_poly
from sqlmodel import select

from core.media.audio import load_audio
from core.media.video import iter_frames
from curation.dedupe import renditions
from curation.dedupe.compare import DISTANCE_MAX, RADIUS, near_pictures, near_sequences
from curation.dedupe.index import near_pairs
from curation.dedupe.link import duplicate_groups, link_duplicates
from curation.dedupe.looks import (
    AUDIO_METHOD,
    AUDIO_RATE_HZ,
    IMAGE_METHOD,
    VIDEO_METHOD,
    audio_looks,
    image_looks,
    video_looks,
)
from curation.filters.views import small_grey
from warehouse.runs import open_run
from warehouse.tables import DuplicateLink, Material
from warehouse.workspace import init_project, open_workspace

WORD = st.integers(0, 2**64 - 1)


@st.composite
def near_hashes(draw: st.DrawFn) -> list[int]:
    """Hashes that lie near a few centres, so that every distance around the radius comes up."""
    centres = draw(st.lists(WORD, min_size=1, max_size=3))
    flips = st.sets(st.integers(0, 63), max_size=16).map(lambda bits: sum(1 << bit for bit in bits))
    return draw(st.lists(st.builds(int.__xor__, st.sampled_from(centres), flips), max_size=12))


@settings(max_examples=40, deadline=None)
@given(near_hashes(), near_hashes(), st.integers(0, 15))
def test_the_index_finds_exactly_the_pairs_that_comparing_all_finds(asked, known, radius):
    asked = asked + known[:3]
    rows, columns = near_pairs(np.array(asked, dtype=np.uint64), np.array(known, dtype=np.uint64), radius)
    every = product(range(len(asked)), range(len(known)))
    expected = [(i, j) for i, j in every if (asked[i] ^ known[j]).bit_count() <= radius]
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == expected


@pytest.mark.parametrize("radius", [-1, 16])
def test_an_index_refuses_a_radius_that_it_cannot_serve(radius):
    with pytest.raises(ValueError, match="between 0 and 15"):
        near_pairs(np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.uint64), radius)


@st.composite
def sequences(draw: st.DrawFn) -> list[dict]:
    pool = draw(st.lists(st.integers(0, 2**256 - 1), min_size=1, max_size=4))
    flips = st.sets(st.integers(0, 255), max_size=40).map(lambda bits: sum(1 << bit for bit in bits))
    element = st.one_of(st.none(), st.builds(lambda base, flip: f"{base ^ flip:064x}", st.sampled_from(pool), flips))
    one = st.builds(
        lambda first, hashes: {"first": first, "hashes": hashes}, st.integers(-3, 3), st.lists(element, max_size=5)
    )
    return draw(st.lists(one, min_size=1, max_size=4))


def bits_of(text: str) -> np.ndarray:
    return np.array([int(bit) for bit in f"{int(text, 16):0256b}"]).reshape(16, 16)


def brute_force_distance(first: dict, second: dict) -> float | None:
    """By the definition in `near_sequences`, bit by bit: None when no alignment is tried."""
    a, b = ({place: bits_of(h) for place, h in enumerate(s["hashes"], s["first"]) if h} for s in (first, second))
    shifts = {i - j for i, j in product(a, b) if (a[i] != b[j])[:8, :8].sum() <= RADIUS}
    distances = []
    for shift in shifts:
        moved = {place + shift: h for place, h in b.items()}
        every = [
            (a[place] != moved[place]).mean() if place in a and place in moved else 0.5
            for place in a.keys() | moved.keys()
        ]
        distances.append(sum(every) / len(every))
    return min(distances, default=None)


@settings(max_examples=40, deadline=None)
@given(sequences(), sequences())
def test_sequences_are_near_exactly_when_the_definition_says_so(asked, known):
    known = known + asked[:1]
    expected = {}
    for i, j in product(range(len(asked)), range(len(known))):
        distance = brute_force_distance(asked[i], known[j])
        if distance is not None and distance <= DISTANCE_MAX:
            expected[i, j] = pytest.approx(distance)
    assert near_sequences(asked, known) == expected


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    return coded(image, "JPEG", quality=quality)


def coded(image: Image.Image, kind: str, **options: object) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return Image.open(buffer)


def scaled(image: Image.Image, factor: float) -> Image.Image:
    return image.resize((round(image.width * factor), round(image.height * factor)))


COPIES = {
    "as it is": lambda image: image,
    "jpeg 40": lambda image: jpeg(image, 40),
    "webp 50": lambda image: coded(image, "WEBP", quality=50),
    "half": lambda image: scaled(image, 0.5),
    "one and a half": lambda image: scaled(image, 1.5),
    "third, jpeg 60": lambda image: jpeg(scaled(image, 1 / 3), 60),
    "turned": lambda image: jpeg(image.transpose(Image.Transpose.ROTATE_90), 60),
    "mirrored": lambda image: scaled(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT), 0.7),
    "transposed": lambda image: image.transpose(Image.Transpose.TRANSPOSE),
}


def test_copies_of_pictures_are_found_and_nothing_else(media):
    originals = [media.photo(seed) for seed in range(14)]
    looks = [image_looks(change(image))[IMAGE_METHOD] for image in originals for change in COPIES.values()]
    found = near_pictures(looks, looks)
    owner = [place // len(COPIES) for place in range(len(looks))]
    expected = {(i, j) for i, j in product(range(len(looks)), repeat=2) if owner[i] == owner[j]}
    recall = len(expected & set(found)) / len(expected)
    precision = len(expected & set(found)) / len(found)
    assert recall >= 0.99
    assert precision >= 0.99
    assert all(found[i, i] == 0 for i in range(len(looks)))


def test_who_is_asked_makes_no_difference(media):
    looks = [image_looks(change(media.photo(seed)))[IMAGE_METHOD] for seed in (1, 2) for change in COPIES.values()]
    asked, known = looks[::2], looks[1::2]
    assert near_pictures(asked, known) == {(j, i): d for (i, j), d in near_pictures(known, asked).items()}


def test_pictures_of_different_numbers_of_dots_are_different(media):
    looks = [image_looks(media.dots(count))[IMAGE_METHOD] for count in range(1, 8)]
    assert set(near_pictures(looks, looks)) == {(place, place) for place in range(7)}


def test_a_picture_of_one_tone_has_no_looks():
    assert set(image_looks(Image.new("RGB", (320, 240), "grey")).values()) == {None}
    looks = video_looks([Image.new("L", (160, 120))] * 3)
    assert looks[VIDEO_METHOD] == {"first": 0, "hashes": [None, None]}


SOUND_COPIES = {
    "mp3 64": lambda media, samples: media.coded_sound(samples, 16000, "mp3", "mp3", 64000),
    "m4a 96": lambda media, samples: media.coded_sound(samples, 16000, "ipod", "aac", 96000),
    "opus 64": lambda media, samples: media.coded_sound(samples, 16000, "ogg", "libopus", 64000),
    "quieter": lambda media, samples: media.wav(samples * 0.2),
    "8 kHz": lambda media, samples: media.wav(resample_poly(samples, 1, 2), 8000),
    "late": lambda media, samples: media.wav(np.pad(samples, (777, 5000))),
}


def sound_looks(data: bytes) -> dict:
    return audio_looks(load_audio(data, AUDIO_RATE_HZ))[AUDIO_METHOD]


@pytest.mark.parametrize("duration_s", [0.5, 4.0])
def test_copies_of_sounds_are_found_and_nothing_else(media, duration_s):
    voices = [media.voice(seed, duration_s) for seed in range(6)]
    originals = [sound_looks(media.wav(voice)) for voice in voices]
    for change in SOUND_COPIES.values():
        copies = [sound_looks(change(media, voice)) for voice in voices]
        found = near_sequences(copies, originals)
        assert set(found) == {(place, place) for place in range(6)}


def test_beeps_of_different_pitch_are_different(media):
    time_s = np.arange(8000) / 16000
    beeps = [sound_looks(media.wav(0.4 * np.sin(2 * np.pi * hz * time_s))) for hz in (300, 440, 880, 1500, 3000)]
    assert set(near_sequences(beeps, beeps)) == {(place, place) for place in range(5)}


def test_silence_has_no_looks(media):
    assert sound_looks(media.wav(np.zeros(8000))) == {"first": 0, "hashes": []}


def film_looks(data: bytes) -> dict:
    return video_looks(small_grey(pixels) for _, pixels in iter_frames(data, at_hz=2))[VIDEO_METHOD]


def test_copies_of_films_are_found_and_nothing_else(media):
    films = [media.cartoon(seed, 5) for seed in (1, 2, 3)]
    originals = [film_looks(media.film(film)) for film in films]
    smaller = [film_looks(media.film([frame.resize((160, 120)) for frame in film], bit_rate=150_000)) for film in films]
    # Half a second of a hundred is missing at the end, and the first second is there twice.
    longer = [film_looks(media.film([*film[:10], *film[:10], *film[10:]])) for film in films]
    assert set(near_sequences(smaller, originals)) == {(place, place) for place in range(3)}
    assert near_sequences(longer, originals) == {(place, place): pytest.approx(0.5 / 6, abs=0.02) for place in range(3)}


def links_of(project) -> set[tuple]:
    with open_workspace(project) as workspace, workspace.database.session() as session:
        name = {material.id: material.sha256 for material in session.exec(select(Material))}
        links = session.exec(select(DuplicateLink)).all()
        assert all(name[link.first_id] < name[link.second_id] for link in links)
        return {(name[k.first_id], name[k.second_id], k.method, k.distance, str(k.evidence)) for k in links}


def test_links_come_out_the_same_whether_files_come_at_once_or_in_steps(tmp_path, media, call):
    photo = media.photo(1)
    files = {
        "a.png": media.coded(photo, "PNG"),
        "b.jpg": media.coded(photo.transpose(Image.Transpose.ROTATE_90), quality=50),
        "c.jpg": media.coded(scaled(photo, 0.6).transpose(Image.Transpose.FLIP_LEFT_RIGHT), quality=70),
        "other.png": media.coded(media.photo(2), "PNG"),
        "voice.wav": media.wav(media.voice(3)),
        "voice.mp3": media.coded_sound(media.voice(3), 16000, "mp3", "mp3", 64000),
    }
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    at_once, in_steps = (init_project(tmp_path / name).root for name in ("at_once", "in_steps"))
    assert call("ingest", folder, project=at_once)["counts"]["duplicate_links"] == 4
    call("ingest", folder / "voice.mp3", folder / "c.jpg", project=in_steps)
    call("ingest", folder, project=in_steps)
    assert links_of(at_once) == links_of(in_steps)
    groups = call("duplicates", project=in_steps)
    members = sorted(sorted(one["origin"].rsplit("/", 1)[1] for one in group["materials"]) for group in groups)
    assert members == [["a.png", "b.jpg", "c.jpg"], ["voice.mp3", "voice.wav"]]


def test_files_that_differ_only_in_what_is_stripped_are_the_same_bytes(tmp_path, project, media, call):
    plain = media.coded(media.photo(1), quality=90)
    (tmp_path / "plain.jpg").write_bytes(plain)
    (tmp_path / "told.jpg").write_bytes(media.gps_photo(1))
    report = call("ingest", tmp_path / "plain.jpg", tmp_path / "told.jpg", project=project)
    assert report["counts"]["new"] == 2
    first, second = (link[3] for link in links_of(project))
    assert {link[2] for link in links_of(project)} == {"same_bytes@1", renditions.IMAGE_METHOD}
    assert first == second == 0


def test_groups_join_what_is_linked_by_others(tmp_path):
    project = init_project(tmp_path / "project").root
    with open_workspace(project) as workspace:
        with open_run(workspace.database, "test", {}) as run, workspace.database.session() as session:
            for letter in "abcdef":
                session.add(Material(id=letter, sha256=letter * 64, media={}, modality="text", run_id=run.id))
            session.flush()
            for first, second in ("ab", "bc", "ef"):
                session.add(DuplicateLink(first_id=first, second_id=second, method="m@1", distance=0, run_id=run.id))
        with workspace.database.session() as session:
            assert duplicate_groups(session) == [["a", "b", "c"], ["e", "f"]]


def test_a_library_without_duplicates_has_no_groups(project):
    with open_workspace(project) as workspace:
        assert link_duplicates(workspace.database, "none") == 0
        with workspace.database.session() as session:
            assert duplicate_groups(session) == []
