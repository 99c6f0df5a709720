import json
import shutil
from itertools import combinations

import numpy as np
import pytest
from PIL import Image
from scipy.fft import dctn
from sqlmodel import col, select

from core.content import Modality
from core.media.audio import load_audio
from core.media.video import iter_frames
from curation.dedupe.cosine import TURNINGS, WHOLE, coefficients, hashes_of, turned
from curation.dedupe.films import Films, near_films
from curation.dedupe.link import duplicate_groups, looks_cache
from curation.dedupe.match import told
from curation.dedupe.perturb import (
    FILM_CHANGES,
    PICTURE_CHANGES,
    SOUND_CHANGES,
    Film,
    encode_film,
)
from curation.dedupe.pictures import Pictures, near_pictures
from curation.dedupe.renditions import FILM_HZ, METHODS, read, rendered_audio, rendered_image, rendered_video
from curation.dedupe.sounds import AUDIO_RATE_HZ, Sounds, levels_of, near_sounds
from curation.dedupe.timeline import alignments
from curation.filters.views import small_grey
from warehouse.release.splits import SplitPlan, assign_splits, item_groups
from warehouse.tables import DuplicateLink, Material, MaterialState, MaterialWork
from warehouse.workspace import open_workspace

GOALS = ("re-encode", "resize", "crop 10%", "turn", "watermark")


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def pictures_of(images) -> Pictures:
    rows = [read(Modality.IMAGE, rendered_image(image)).rows for image in images]
    return Pictures.of(np.concatenate(rows).reshape(-1, 32, 32))


def everything(count: int) -> np.ndarray:
    return np.ones(count, dtype=bool)


def test_coefficients_are_those_of_a_cosine_transform():
    # Of a smooth picture: the integral over a pixel and its middle differ the less, the lower the frequency.
    luma = np.add.outer(np.sin(np.arange(32) / 9), np.cos(np.arange(32) / 7)).astype(np.float32)
    expected = dctn(luma, norm="ortho") / 32
    np.testing.assert_allclose(coefficients(luma[None], [WHOLE])[0, 0, 0, :6, :6], expected[:6, :6], atol=0.01)


@pytest.mark.parametrize("turning", TURNINGS, ids=lambda one: one.name)
def test_turning_coefficients_is_turning_the_picture(turning):
    luma = rng().normal(size=(1, 32, 32)).astype(np.float32)
    picture = luma.transpose(0, 2, 1) if turning.transposed else luma
    picture = picture[:, ::-1] if turning.upside_down else picture
    picture = picture[:, :, ::-1] if turning.mirrored else picture
    found = turned(coefficients(luma, [WHOLE]), turning)
    np.testing.assert_allclose(found, coefficients(picture, [WHOLE]), atol=1e-5)


def test_a_symmetric_picture_has_the_same_hash_in_noise():
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    disc = 200.0 * (x**2 + y**2 < 0.5)
    noise = rng().normal(0, 1, (2, 32, 32))
    one, other = hashes_of(coefficients((disc + noise).astype(np.float32), [WHOLE])).ravel()
    assert int(one ^ other).bit_count() <= 2


def test_copies_of_pictures_are_found_and_nothing_else(media):
    originals = [media.photo(seed) for seed in range(6)]
    for kind, change in PICTURE_CHANGES.items():
        if not kind.startswith(GOALS):
            continue
        pictures = pictures_of([*originals, *(change(image, rng()) for image in originals)])
        found = near_pictures(pictures, np.arange(12) >= 6)
        assert set(found) == {(place, place + 6) for place in range(6)}, kind


def test_pictures_of_different_numbers_of_dots_are_different(media):
    assert near_pictures(pictures_of([media.dots(count) for count in range(1, 8)]), everything(7)) == {}


def test_evidence_of_a_cropped_and_turned_picture(media):
    photo = media.photo(3)
    part = photo.crop((32, 0, 320, 216)).transpose(Image.Transpose.ROTATE_90)
    ((pair, match),) = near_pictures(pictures_of([part, photo]), everything(2)).items()
    assert pair == (0, 1)
    assert match.evidence["turning"] == "turned 90 right"
    np.testing.assert_allclose(match.evidence["box"], [0.1, 0, 1, 0.9], atol=0.015)
    assert told(match.evidence).startswith("; the first turned 90 right; it is 10% to 100% across and 0% to 90% down")


def test_the_order_of_pictures_and_who_is_asked_for_make_no_difference(media):
    changes = ("re-encode: JPEG 50", "crop 10%: corner", "turn: 90", "watermark: logo 10%, centre", "turn: mirrored")
    images = [PICTURE_CHANGES[change](media.photo(seed), rng()) for seed in (1, 2) for change in changes]
    at_once = near_pictures(pictures_of(images), everything(10))
    assert len(at_once) >= 16
    order = rng().permutation(10)
    moved = near_pictures(pictures_of([images[place] for place in order]), everything(10))
    expected = {tuple(sorted((order[i], order[j]))): match.distance for (i, j), match in moved.items()}
    assert {pair: match.distance for pair, match in at_once.items()} == expected
    in_steps = {}
    for count in range(1, 11):
        in_steps |= near_pictures(pictures_of(images[:count]), np.arange(count) == count - 1)
    assert in_steps == at_once


def sounds_of(files) -> Sounds:
    return Sounds.of([levels_of(load_audio(data, AUDIO_RATE_HZ)) for data in files])


def test_copies_of_sounds_are_found_and_nothing_else(media):
    voices = [media.voice(seed, 4.0).astype(np.float32) for seed in range(3)]
    for kind, change in SOUND_CHANGES.items():
        files = [*(media.wav(voice) for voice in voices), *(change(voice, 16000, rng()) for voice in voices)]
        found = near_sounds(sounds_of(files), np.arange(6) >= 3)
        assert set(found) == {(place, place + 3) for place in range(3)}, kind


def test_evidence_of_a_sound_that_is_faster_and_cut(media):
    voice = media.voice(1, 6.0).astype(np.float32)
    faster = SOUND_CHANGES["speed: +10%"](voice, 16000, rng())
    cut = SOUND_CHANGES["trim: 30% at the start"](voice, 16000, rng())
    found = near_sounds(sounds_of([faster, media.wav(voice), cut]), everything(3))
    one, other = found[0, 1].evidence, found[1, 2].evidence
    assert one["speed"] == pytest.approx(1.1, abs=0.02)
    assert one["semitones"] == pytest.approx(-12 * np.log2(1.1), abs=0.5)
    assert other["offset_s"] == pytest.approx(-1.8, abs=0.1)
    assert other["speed"] == pytest.approx(1, abs=0.02)


def test_silence_is_like_nothing(media):
    files = [media.wav(np.zeros(16000)), media.wav(np.zeros(16000)), media.wav(media.voice(1))]
    assert near_sounds(sounds_of(files), everything(3)) == {}


def films_of(files) -> Films:
    rendered = []
    for data in files:
        frames = [small_grey(pixels) for _, pixels in iter_frames(data, at_hz=FILM_HZ)]
        rendered.append(read(Modality.VIDEO, rendered_video(frames)))
    frames = Pictures(
        np.concatenate([one.rows for one in rendered]).reshape(-1, 32, 32),
        np.concatenate([one.hashes for one in rendered]),
    )
    starts = np.concatenate([[0], np.cumsum([len(one.rows) for one in rendered])])
    return Films(frames, starts, np.array([one.hz for one in rendered]))


def test_copies_of_films_are_found_and_nothing_else(media):
    films = [Film(media.cartoon(seed, 4), 10) for seed in (1, 2, 3)]
    originals = [encode_film(film) for film in films]
    for kind, change in FILM_CHANGES.items():
        found = near_films(films_of([*originals, *(change(film, rng()) for film in films)]), np.arange(6) >= 3)
        assert set(found) == {(place, place + 3) for place in range(3)}, kind


def test_evidence_of_a_film_without_its_beginning(media):
    frames = media.cartoon(5, 6)
    late = [frame.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for frame in frames[15:]]
    ((_, match),) = near_films(
        films_of([encode_film(Film(late, 10)), encode_film(Film(frames, 10))]), everything(2)
    ).items()
    assert match.evidence["turning"] == "mirrored"
    assert match.evidence["offset_s"] == pytest.approx(1.5, abs=0.3)


def slides(real_media, show: str) -> bytes:
    """Real photos, one for each letter, each shown for two seconds."""
    photos = [medium.path for medium in real_media if medium.modality is Modality.IMAGE]
    shown = [Image.open(photos["abcdefg".index(letter)]).convert("RGB").resize((320, 240)) for letter in show]
    return encode_film(Film([photo for photo in shown for _ in range(10)], 5))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("abcd", "aefg"),
        ("abcd", "efga"),
        ("abcd", "efag"),
        ("abcd", "abef"),
        ("abcd", "aebf"),
        ("abcd", "efba"),
        ("abcd", "cdef"),
        ("ab", "ac"),
        ("ab", "ca"),
    ],
)
def test_shows_of_slides_that_share_up_to_half_of_their_photos_are_different(real_media, one, other):
    films = films_of([slides(real_media, show) for show in (one, other)])
    assert near_films(films, everything(2)) == {}


@pytest.mark.parametrize(("one", "other"), [("abcd", "abcd"), ("abcd", "abc"), ("abcd", "bcd"), ("abcd", "abce")])
def test_shows_of_slides_that_share_most_of_their_photos_are_near(real_media, one, other):
    films = films_of([slides(real_media, show) for show in (one, other)])
    assert set(near_films(films, everything(2))) == {(0, 1)}


@pytest.mark.parametrize(("one", "other"), [("abcd", "abef"), ("abcd", "efab"), ("ab", "ac")])
def test_films_that_share_half_are_found_by_who_asks_for_less(real_media, one, other):
    films = films_of([slides(real_media, show) for show in (one, other)])
    assert set(near_films(films, everything(2), shared_min=0.3)) == {(0, 1)}
    different = films_of([slides(real_media, show) for show in ("abc", "efg")])
    assert near_films(different, everything(2), shared_min=0.3) == {}


def test_a_fade_to_black_says_nothing_about_a_film(media):
    frames = media.cartoon(5, 3)
    films = [Film([*frames, *[Image.new("RGB", (320, 240))] * black], 10) for black in (40, 25)]
    assert set(near_films(films_of([encode_film(film) for film in films]), everything(2))) == {(0, 1)}


def test_a_long_film_keeps_fewer_frames_a_second():
    frames = [Image.fromarray(rng().integers(0, 255, (32, 32), dtype=np.uint8))] * 2500
    look = rendered_video(frames)
    assert look["hz"] == pytest.approx(2 / 3)
    assert len(read(Modality.VIDEO, look).rows) == 834


def test_the_line_through_most_moments_wins():
    first = np.array([0.0, 1, 2, 3, 4, 2])
    best = alignments(first, np.array([5.0, 6.1, 7.2, 8.3, 9.4, 1.0]), 0.125, 1)[0]
    assert best.speed == pytest.approx(1.1, abs=0.02)
    assert best.offset_s == pytest.approx(5, abs=0.15)
    assert best.votes == 5
    back = best.reversed()
    assert back.speed * (best.speed * 3 + best.offset_s) + back.offset_s == pytest.approx(3)


def facts_of(project) -> set[tuple]:
    """Links by what they are between, with their evidence."""
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        sha256 = {one.id: one.sha256 for one in session.exec(select(Material))}
        links = session.exec(select(DuplicateLink)).all()
        told = [(one.method, one.distance, json.dumps(one.evidence, sort_keys=True)) for one in links]
        return {(sha256[one.first_id], sha256[one.second_id], *what) for one, what in zip(links, told, strict=True)}


@pytest.fixture
def folder(tmp_path, media):
    """A photo; a copy of it; a copy of the copy, which is too far from the photo to be found; and another photo."""
    photo = media.photo(1)
    files = {"a": photo, "b": photo.crop((0, 0, 288, 216)), "c": photo.crop((0, 0, 256, 192)), "other": media.photo(2)}
    (tmp_path / "files").mkdir()
    for name, image in files.items():
        (tmp_path / "files" / f"{name}.png").write_bytes(media.coded(image, "PNG"))
    return tmp_path / "files"


def test_a_copy_of_a_copy_is_in_the_same_group(folder, project, call):
    call("ingest", folder, project=project)
    (group,) = call("duplicates", project=project)
    assert sorted(one["origin"].rsplit("/", 1)[1] for one in group["materials"]) == ["a.png", "b.png", "c.png"]
    linked = {(link["first"], link["second"]) for link in group["links"]}
    assert len(linked) == 2, "the copy's copy is joined by the copy alone"
    assert all(link["evidence"]["turning"] == "upright" for link in group["links"])


def test_links_are_the_same_in_any_order_with_and_without_the_cache(folder, tmp_path, call):
    from warehouse.workspace import init_project

    names = ["a.png", "b.png", "c.png", "other.png"]
    seen = []
    for number, order in enumerate((names, names[::-1], ["b.png", "other.png", "c.png", "a.png"])):
        project = init_project(tmp_path / f"project{number}").root
        for name in order:
            call("ingest", folder / name, project=project)
            if number == 2:
                for file in (project / "cache").rglob("*.npz"):
                    file.write_bytes(file.read_bytes()[:100])
        seen.append(facts_of(project))
    assert len(seen[0]) == 2
    assert seen[0] == seen[1] == seen[2]


def test_what_was_taken_back_is_neither_compared_nor_kept_in_the_cache(folder, project, call):
    call("ingest", folder / "a.png", project=project)
    with open_workspace(project) as workspace, workspace.database.session() as session:
        session.exec(select(Material)).one().state = MaterialState.WITHDRAWN
        cache = looks_cache(workspace.project)
    call("ingest", folder / "b.png", project=project)
    assert facts_of(project) == set()
    held = [np.load(file)["ids"].tolist() for file in cache.rglob("*.npz")]
    assert sum(map(len, held)) == 1


def as_before(project) -> None:
    """As the first version left materials: with hashes, compared, without renditions."""
    shutil.rmtree(project / "cache")
    with open_workspace(project) as workspace, workspace.database.session() as session:
        for link in session.exec(select(DuplicateLink)):
            session.delete(link)
        for mark in session.exec(select(MaterialWork)):
            session.delete(mark)
        for material in session.exec(select(Material)):
            kept = {name: look for name, look in material.looks.items() if name not in METHODS.values()}
            material.looks = kept | {"compared_by": list(kept)}


def test_materials_of_an_earlier_version_are_looked_at_and_compared(tmp_path, folder, project, call, media):
    (folder / "voice.wav").write_bytes(media.wav(media.voice(1)))
    (folder / "film.mp4").write_bytes(media.film(media.cartoon(1, 2)))
    call("ingest", folder, project=project)
    expected = facts_of(project)
    as_before(project)
    call("ingest", folder, project=project)
    assert facts_of(project) == set()
    assert call("look", "--dry-run", project=project)["done"] == 6
    report = call("look", project=project)
    assert (report["done"], report["failures"], report["duplicate_links"]) == (6, {}, 2)
    assert facts_of(project) == expected
    assert call("look", project=project)["done"] == 0
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        assert all("compared_by" in one.looks for one in session.exec(select(Material)))
    again = call("look", "--again", project=project)
    assert (again["done"], again["duplicate_links"]) == (6, 0)


def test_a_working_copy_that_is_gone_fails_alone(folder, project, call):
    call("ingest", folder, project=project)
    as_before(project)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        lost = session.exec(select(Material).order_by(col(Material.id))).first().media["sha256"]
        workspace.blobs.remove(lost)
    report = call("look", project=project)
    assert report["done"] == 3
    assert list(report["failures"]) == [lost]


def test_a_group_is_in_one_split_of_a_release(folder, project, call):
    call("ingest", folder, project=project)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        (group,) = duplicate_groups(session)
        others = [one.id for one in session.exec(select(Material)) if one.id not in group]
        members = [Shown(f"item-{place}", session.get(Material, id_)) for place, id_ in enumerate([*group, *others])]
        groups = item_groups(session, members)
    assert sorted(map(sorted, groups)) == [["item-0", "item-1", "item-2"], ["item-3"]]
    for seed in range(5):
        splits = assign_splits(groups, SplitPlan(0.4, 0.3, seed))
        assert all(splits[one] == splits[other] for one, other in combinations(["item-0", "item-1", "item-2"], 2))


def test_a_film_and_the_sound_it_shares_with_another_are_in_one_split(tmp_path, project, media, call):
    for seed in (1, 2):
        (tmp_path / f"{seed}.mp4").write_bytes(media.film(media.cartoon(seed), sound=media.voice(8)))
        call("ingest", tmp_path / f"{seed}.mp4", project=project)
    with open_workspace(project) as workspace, workspace.database.reading() as session:
        (heard,) = session.exec(select(Material).where(Material.modality == "audio"))
        films = session.exec(select(Material).where(Material.modality == "video")).all()
        (second,) = [film for film in films if film.id != heard.parent_id]
        groups = item_groups(session, [Shown("seen", second), Shown("heard", heard)])
    assert groups == [{"seen", "heard"}]


class Shown:
    """What `item_groups` reads of a release's member: an item that shows one material."""

    def __init__(self, name: str, material: Material) -> None:
        self.item = type("Item", (), {"name": name, "twin_group": None})
        self.materials = {"image_1": material}


def test_the_stored_looks_are_small(media):
    looks = json.dumps(rendered_image(media.photo(1)))
    assert len(looks) < 1500
    assert len(json.dumps(rendered_audio(media.voice(1, 10.0)[::2].astype(np.float32)))) < 10 * 1000


def beeps(count, gap_s=0.5, rate_hz=16000):
    """So many beeps of a fifth of a second, on a quiet background."""
    sound = 1e-4 * np.random.default_rng(count).standard_normal(round((count * gap_s + 0.4) * rate_hz))
    tone = 0.5 * np.sin(2 * np.pi * 880 * np.arange(rate_hz // 5) / rate_hz)
    for number in range(count):
        start = round((0.2 + number * gap_s) * rate_hz)
        sound[start : start + len(tone)] += tone
    return sound.astype(np.float32)


def test_four_beeps_are_not_five_and_a_copy_of_five_is(tmp_path, project, media, call):
    for count in (1, 2, 3, 4, 5, 8):
        (tmp_path / f"{count}.wav").write_bytes(media.wav(beeps(count)))
    (tmp_path / "again.mp3").write_bytes(media.coded_sound(beeps(5), 16000, "mp3", "libmp3lame", 64000))
    call("ingest", tmp_path, project=project)
    (group,) = call("duplicates", project=project)
    assert {one["origin"].rpartition("/")[2] for one in group["materials"]} == {"5.wav", "again.mp3"}
