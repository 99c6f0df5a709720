"""A pass with a model that works on many at once. Materials are pictures of 1 to 7 px, in the order of their ids."""

from io import BytesIO

import pytest
from PIL import Image
from sqlmodel import select

from core.content import Modality
from core.errors import InterplayError
from core.grading import FailedOutcome, Failure, FailureKind
from curation.passes import Which, Work, run_pass, works_of
from warehouse.tables import Material, MaterialWork, Run


class Broken(InterplayError):
    """What a model says of material 3."""


def picture(side: int) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (side, side)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture
def materials(library) -> list[Material]:
    return [library.add(picture(side)) for side in range(1, 8)]


def width(ref, data):
    if ref.width_px == 5:
        raise Broken("5 cannot be decoded")
    return ref.width_px


def keep(session, material, value, run_id):
    return {"value": value}


def work(**more) -> Work:
    return Work("square", "squarer@1", frozenset({Modality.IMAGE}), width, keep, "squaring", **more)


def marks(workspace) -> dict[int, tuple]:
    with workspace.database.reading() as session:
        rows = session.exec(select(MaterialWork, Material).where(MaterialWork.material_id == Material.id)).all()
        return {material.media["width_px"]: (mark.result.get("value"), mark.failure) for mark, material in rows}


def test_one_that_breaks_a_batch_fails_alone_and_the_next_call_tries_it_again(workspace, materials):
    asked = []

    def squares(values):
        asked.append(list(values))
        if 3 in values:
            raise Broken("3 breaks the model")
        return [value**2 for value in values]

    report = run_pass(workspace, "test", work(make_many=squares, batch=4))
    assert report.counts == {"done": 5, "known": 0, "failed": 2}
    assert marks(workspace) == {
        **{side: (side**2, None) for side in (1, 2, 4, 6, 7)},
        3: (None, "bad_input: 3 breaks the model"),
        5: (None, "bad_input: 5 cannot be decoded"),
    }
    assert asked == [[1, 2, 3, 4], [1], [2], [3], [4], [6, 7]]
    again = run_pass(workspace, "test", work(make_many=lambda values: [0 for _ in values], batch=4))
    assert again.counts == {"done": 1, "known": 5, "failed": 1}
    assert marks(workspace)[3] == (0, None)


def test_a_failure_without_a_word_is_one_too(workspace, materials):
    def silent(values):
        raise FailedOutcome(Failure(kind=FailureKind.EMPTY, message=" "))

    assert run_pass(workspace, "test", work(make_many=silent)).counts == {"done": 0, "known": 0, "failed": 7}
    assert marks(workspace)[1] == (None, "empty: ")


def test_a_long_fingerprint_is_kept_shortened_and_known_again(workspace, materials):
    for maker, done in (("m" * 300, 6), ("m" * 300, 0), ("m" * 301, 6)):
        one = Work("square", maker, frozenset({Modality.IMAGE}), width, keep, "")
        assert run_pass(workspace, "test", one).done == done
    with workspace.database.reading() as session:
        assert {len(maker) for maker in session.exec(select(MaterialWork.maker))} == {256}


def test_what_needs_no_bytes_gets_none(workspace, materials, monkeypatch):
    monkeypatch.setattr(type(workspace.blobs), "get", None)
    seen = []
    report = run_pass(workspace, "test", work(make_many=lambda values: seen.extend(values) or values, reads=False))
    assert (report.done, seen) == (6, [1, 2, 3, 4, 6, 7])


def test_a_model_that_is_not_there_is_one_mistake_and_no_run(workspace, materials):
    def load():
        raise Broken("no such model")

    with pytest.raises(Broken):
        run_pass(workspace, "pass", work(prepare=load))
    assert not marks(workspace)
    with workspace.database.reading() as session:
        assert not session.exec(select(Run.id).where(Run.command == "pass")).all()
    assert run_pass(workspace, "test", work(prepare=load), dry_run=True).done == 7
    run_pass(workspace, "test", work())
    assert run_pass(workspace, "test", work(prepare=load), Which([materials[0].id])).known == 1


def test_work_that_stands_in_place_of_other_makers_lets_them_do_it_again(workspace, materials):
    first = work(replaces=True)
    second = Work("square", "other@1", first.modalities, width, keep, "", replaces=True)
    for one, done in ((first, 6), (first, 0), (second, 6), (second, 0), (first, 6)):
        assert run_pass(workspace, "test", one).done == done
    with workspace.database.reading() as session:
        ids = [material.id for material in materials]
        assert {mark.maker for mark in works_of(session, ids, "square").values()} == {"squarer@1"}
