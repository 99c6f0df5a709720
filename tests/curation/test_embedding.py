"""Vectors of materials, by an embedder that sees mean colours and reads their names."""

import os
import signal
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sqlmodel import select

from core.media.limits import DEFAULT_LIMITS
from core.media.probe import probe
from curation.dedupe.link import duplicate_groups
from curation.embedding import clip_embedder
from curation.embedding.neighbours import BadThreshold, near_rows
from curation.embedding.stored import stored_vectors
from curation.embedding.views import FRAMES_MAX, PIECE_CHARACTERS, pictures_of, pieces_of
from curation.models import UnusableModel
from curation.passes import works_of
from qc.checks.near_duplicates import representatives
from warehouse.tables import DuplicateLink, MaterialState, MaterialWork, Segment
from warehouse.workspace import open_workspace

pytestmark = pytest.mark.usefixtures("fake_embedder")


def coloured(colour, side: int = 20) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (side, side), colour).save(buffer, "PNG")
    return buffer.getvalue()


def vectors(workspace, fingerprint: str = "fake:colours@1") -> dict[str, list[float]]:
    found = stored_vectors(workspace.facts, fingerprint).by_subject()
    return {subject: [round(float(value), 3) for value in vector] for subject, vector in found.items()}


def marks(workspace, work: str = "embed_pictures") -> dict[str, str | None]:
    with workspace.database.reading() as session:
        return {
            one.material_id: one.failure for one in session.exec(select(MaterialWork).where(MaterialWork.work == work))
        }


def test_images_get_vectors_once_and_a_failure_is_kept_with_its_reason(call, library, project):
    red, blue = library.add(coloured("red")), library.add(coloured("blue"))
    black = library.add(coloured("black"))
    library.add(coloured("lime"), state=MaterialState.DROPPED)
    found = call("embed", "--kind", "clip", project=project)["clip"]
    assert found["counts"] == {"done": 2, "known": 0, "failed": 1}
    assert "no numbers, or cancel out" in found["failures"][black.media["sha256"]]
    right = {red.media["sha256"]: [1, 0, 0], blue.media["sha256"]: [0, 0, 1]}
    assert vectors(library.workspace) == right
    assert marks(library.workspace)[red.id] is None
    assert call("embed", "--kind", "clip", project=project, exit_code=2)["clip"]["counts"]["known"] == 2
    assert call("embed", "--kind", "clip", "--again", project=project)["clip"]["counts"]["done"] == 2
    assert vectors(library.workspace) == right


def test_a_video_is_the_mean_of_its_seconds(call, library, project, media):
    film = media.film([Image.new("RGB", (64, 64), colour) for colour in ("red", "red", "red", "blue")], rate_hz=1)
    added = library.add(film)
    call("embed", project=project)
    found = np.array(vectors(library.workspace)[added.media["sha256"]])
    # Three seconds of red and one of blue; coding shifts the colours a little.
    np.testing.assert_allclose(found, np.array([3, 0, 1]) / np.sqrt(10), atol=0.05)


def test_a_long_video_is_shown_in_sixteen_pictures(media):
    data = media.film((Image.new("RGB", (64, 64), (12 * place, 0, 0)) for place in range(20)), rate_hz=1)
    shown = pictures_of(probe(data).media_ref(), data, DEFAULT_LIMITS)
    assert len(shown) == FRAMES_MAX
    reds = [np.asarray(one)[..., 0].mean() for one in shown]
    assert reds == sorted(reds) and reds[0] < 20 and reds[-1] > 200


def test_a_photo_is_shown_no_larger_than_models_look_at():
    buffer = BytesIO()
    Image.new("RGB", (1800, 900), "red").save(buffer, "PNG")
    (shown,) = pictures_of(probe(buffer.getvalue()).media_ref(), buffer.getvalue(), DEFAULT_LIMITS)
    assert shown.size == (896, 448)


def test_what_is_decoded_is_bound_by_the_projects_own_limits(call, library, project, media):
    films = [media.film([Image.new("RGB", (64, 64), colour)] * 2, rate_hz=1) for colour in ("red", "blue")]
    added = [library.add(film) for film in films]
    with (project / "interplay.toml").open("a") as settings:
        settings.write("max_file_bytes = 10\n")
    found = call("embed", "--kind", "clip", project=project, exit_code=2)["clip"]
    assert set(found["failures"]) == {one.media["sha256"] for one in added}
    assert all("at most 10 are taken" in said for said in found["failures"].values())


def test_words_get_vectors_and_new_ones_when_they_change(call, library, project, media):
    workspace = library.workspace
    sound = library.add(media.wav(media.voice(1)), audio_content="a green bell", audio_content_by="human")
    library.add(media.wav(media.voice(2)))
    subject = sound.media["sha256"]
    assert call("embed", "--kind", "text", project=project)["text"]["counts"] == {"done": 1, "known": 0, "failed": 0}
    assert vectors(workspace, "fake:words@1") == {subject: [0, 1, 0]}
    with workspace.database.session() as session:
        said = {"material_id": sound.id, "made_by": "m@1", "run_id": sound.run_id}
        session.add(Segment(start_s=1, end_s=2, text="and red", **said))
        session.add(Segment(start_s=0, end_s=1, text="red, red", **said))
    assert call("embed", "--kind", "text", project=project)["text"]["counts"]["done"] == 1
    assert vectors(workspace, "fake:words@1")[subject] == [0.949, 0.316, 0]  # (3, 1, 0) / sqrt(10)
    assert call("embed", "--kind", "text", project=project)["text"]["counts"] == {"done": 0, "known": 1, "failed": 0}


def test_without_words_no_text_model_is_needed(call, library, project, monkeypatch):
    monkeypatch.setenv("INTERPLAY_TEXT_MODEL", "fake:gone")
    library.add(coloured("red"))
    assert call("embed", project=project)["clip"]["counts"]["done"] == 1


def test_a_model_out_of_reach_is_one_mistake_and_no_failure_of_a_material(call, library, project, monkeypatch):
    library.add(coloured("red"))
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", "fake:gone")
    with pytest.raises(UnusableModel):
        call("embed", project=project)
    assert not marks(library.workspace)
    assert call("embed", "--dry-run", project=project)["clip"]["counts"]["done"] == 1


KILLER = """
import os, signal, sys
from warehouse.facts import FactWriter

left = int(sys.argv[1])
plain = FactWriter.add

def add(self, row):
    global left
    plain(self, row)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

FactWriter.add = add
from curation.cli import app
app(["embed", "--kind", "clip", "--project", sys.argv[2]])
"""


def test_killed_between_a_vector_and_its_mark_nothing_is_marked_that_has_no_vector(
    call, library, project, fake_embedder
):
    added = [library.add(coloured((200, 10 * place, 0))) for place in range(20)]
    for at, marked in ((3, 0), (18, 16)):
        environment = os.environ | {"PYTHONPATH": str(fake_embedder)}
        told = subprocess.run([sys.executable, "-c", KILLER, str(at), str(project)], env=environment, check=False)
        assert told.returncode == -signal.SIGKILL
        held = vectors(library.workspace)
        done = marks(library.workspace)
        assert len(done) == marked
        assert all(one.media["sha256"] in held for one in added if one.id in done)
    assert call("embed", "--kind", "clip", project=project)["clip"]["counts"] == {"done": 4, "known": 16, "failed": 0}
    assert len(vectors(library.workspace)) == 20


def test_near_materials_are_linked_softly(call, library, project):
    workspace = library.workspace
    red, reddish, blue = (library.add(coloured(colour)) for colour in ((250, 0, 0), (250, 50, 0), (0, 0, 250)))
    call("embed", project=project)
    # cos of (25, 0, 0) and (25, 5, 0) is 25 / sqrt(650) = 0.98058
    assert call("relate", project=project)["clip"] | {"run_id": None} == {
        "dry_run": False,
        "run_id": None,
        "counts": {"done": 3, "known": 0, "failed": 0},
        "failures": {},
        "links": 1,
        "groups": 1,
        "largest": 2,
    }
    with workspace.database.reading() as session:
        (link,) = session.exec(select(DuplicateLink)).all()
        first, second = sorted((red, reddish), key=lambda material: material.sha256)
        assert (link.first_id, link.second_id) == (first.id, second.id)
        assert link.distance == pytest.approx(1 - 25 / 650**0.5, abs=1e-6)
        assert duplicate_groups(session) == []
        assert duplicate_groups(session, semantic=True) == [sorted((red.id, reddish.id))]
    assert call("relate", project=project)["clip"]["counts"]["known"] == 3
    library.add(coloured((250, 0, 10)))
    call("embed", project=project)
    found = call("relate", project=project)["clip"]
    assert (found["counts"]["done"], found["links"], found["largest"]) == (1, 3, 3)
    assert call("relate", "--threshold", "0.99", project=project)["clip"]["links"] == 1
    # Back to the first threshold: what stands is what it says, not what was marked as done before.
    assert call("relate", project=project)["clip"]["links"] == 3
    with workspace.database.reading() as session:
        ids = [red.id, reddish.id, blue.id]
        marks = works_of(session, ids, "relate_clip")
        assert [marks[id_].result["neighbours"] for id_ in ids] == [2, 2, 0]


def test_review_does_not_take_a_softly_linked_photo_for_the_same(call, library, project):
    for colour in ((250, 0, 0), (250, 50, 0)):
        library.add(coloured(colour))
    call("embed", project=project)
    assert call("relate", project=project)["clip"]["links"] == 1
    with library.workspace.database.reading() as session:
        assert representatives(session) == {}


def test_a_threshold_that_links_everything_is_refused(call, project):
    with pytest.raises(BadThreshold):
        call("relate", "--threshold", "0", project=project)


def test_an_unknown_embedder_is_read_as_a_name_of_open_clip(project, monkeypatch):
    monkeypatch.setenv("INTERPLAY_CLIP_MODEL", "fake:colours")
    with open_workspace(project) as workspace:
        assert clip_embedder(workspace.project).fingerprint == "fake:colours@1"


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.3, 0.99))
def test_near_rows_are_those_that_comparing_each_pair_finds(seed, count, threshold):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((count, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows.astype(float) @ rows.T.astype(float)
    found = near_rows(rows, rows, threshold)
    for i, near in enumerate(found):
        held = dict(near)
        for j in range(count):
            if abs(cosines[i, j] - threshold) > 1e-5:
                assert (j in held) == (cosines[i, j] > threshold)
        # It does not matter who is asked, and among whom.
        assert near_rows(rows[i : i + 1], rows, threshold) == [near]
        assert all(dict(found[j])[i] == cosine for j, cosine in near)


@given(st.text(alphabet="ab 中\n", max_size=3000))
def test_pieces_lose_nothing_but_white_space(text):
    pieces = pieces_of(text)
    assert all(0 < len(piece) <= PIECE_CHARACTERS for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
