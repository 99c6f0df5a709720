"""Round 1 returns what overlaps with a public benchmark, and says what was not compared."""

from dataclasses import replace

import pytest
from sqlmodel import select

from qc.checking import Checker
from qc.checks.contamination import HOW_TO_COMPARE, compared_at_all
from qc.reasons import REASONS
from qc.rounds import run_round1
from warehouse.items import get_item, revisions_in
from warehouse.tables import ContaminationCheck, ContaminationMatch, ItemState, Material, RevisionMedia, Run


class Comparisons:
    """What a comparison would have stored."""

    def __init__(self, bench, items) -> None:
        bench.bring(items)
        self.bench, self.workspace = bench, bench.workspace
        with self.workspace.database.session() as session:
            run = Run(command="test", fingerprint="0" * 64, host="test", process_id=1)
            session.add(run)
        self.common = {"index_name": "public", "index_sha256": "a" * 64, "run_id": run.id}

    def parts(self, name: str) -> list[tuple[str, str]]:
        with self.workspace.database.reading() as session:
            revision_id = get_item(session, name).current_revision_id
            shown = session.exec(select(RevisionMedia.material_id).where(RevisionMedia.revision_id == revision_id))
            return [("revision", revision_id), *(("material", one) for one in sorted(shown))]

    def compared(self, *parts: tuple[str, str]) -> None:
        with self.workspace.database.session() as session:
            for kind, id_ in parts:
                session.add(ContaminationCheck(subject_kind=kind, subject_id=id_, method="x@1", **self.common))

    def match(self, part: tuple[str, str], entry: str = "q7", **more) -> None:
        told = {"benchmark": "MMBench", "entry": entry, "kind": "words", "score": 0.9} | more
        with self.workspace.database.session() as session:
            session.add(ContaminationMatch(subject_kind=part[0], subject_id=part[1], **told, **self.common))

    def rulings(self):
        with self.workspace.database.reading() as session:
            waiting = {item.name: (item, revision) for item, revision in revisions_in(session, ItemState.SUBMITTED)}
        return Checker(self.workspace).check(waiting)

    def told(self, name: str) -> list[tuple[str, str]]:
        return [
            (one["severity"], one["code"])
            for one in self.rulings()[name].evidence["findings"]
            if one["code"] in ("contaminated", "not_compared")
        ]


@pytest.fixture
def comparisons(bench, make_items) -> Comparisons:
    return Comparisons(bench, make_items(2, 11))


@pytest.fixture
def names(comparisons) -> list[str]:
    return sorted(comparisons.rulings())


def test_a_project_without_an_index_is_not_stopped(comparisons, names):
    assert [comparisons.told(name) for name in names] == [[], []]
    with comparisons.workspace.database.reading() as session:
        assert not compared_at_all(session)


def test_what_was_not_compared_is_a_warning_once_anything_was(comparisons, names):
    first, second = names
    comparisons.compared(*comparisons.parts(first))
    assert comparisons.told(first) == []
    assert comparisons.told(second) == [("warning", "not_compared")]
    ruling = comparisons.rulings()[second]
    assert ruling.decision.value == "pass"
    (finding,) = [one for one in ruling.evidence["findings"] if one["code"] == "not_compared"]
    assert finding["message"].startswith("the text, ")
    assert HOW_TO_COMPARE in finding["message"]
    comparisons.compared(comparisons.parts(second)[0])
    (finding,) = [one for one in comparisons.rulings()[second].evidence["findings"] if one["code"] == "not_compared"]
    assert not finding["message"].startswith("the text")


@pytest.mark.parametrize("place", [0, 1])
def test_an_open_match_of_the_text_or_of_a_material_returns_the_item(comparisons, names, place):
    first, second = names
    comparisons.match(comparisons.parts(first)[place])
    rulings = comparisons.rulings()
    assert (rulings[first].decision.value, rulings[first].reason_codes) == ("return", ("contaminated",))
    assert (rulings[second].decision.value, rulings[second].reason_codes) == ("pass", ())
    (finding,) = [one for one in rulings[first].evidence["findings"] if one["code"] == "contaminated"]
    assert "overlaps with 'q7' of MMBench (words, 0.90)" in finding["message"]


def test_a_match_of_what_a_material_was_taken_from_counts(comparisons, names):
    first, _ = names
    _, (_, material_id), *_ = comparisons.parts(first)
    with comparisons.workspace.database.session() as session:
        material = session.get(Material, material_id)
        film = Material(sha256="f" * 64, media=material.media, modality="video", run_id=comparisons.common["run_id"])
        session.add(film)
        session.flush()
        material.parent_id = film.id
    comparisons.match(("material", film.id), "clip.mp4", kind="video")
    assert comparisons.told(first) == [("error", "contaminated")]


def test_a_match_that_a_person_cleared_stops_nothing(comparisons, names, clock):
    first, _ = names
    comparisons.match(comparisons.parts(first)[0], cleared_by="rita", cleared_why="A saying.", cleared_at=clock())
    assert comparisons.told(first) == []


def test_many_matches_are_counted_and_one_entry_is_told_once(comparisons, names):
    first, _ = names
    text = comparisons.parts(first)[0]
    for number in range(5):
        comparisons.match(text, f"q{number}", score=0.9 - number / 100)
    comparisons.match(text, "q0", kind="options", score=0.8)
    found = [
        one["message"] for one in comparisons.rulings()[first].evidence["findings"] if one["code"] == "contaminated"
    ]
    assert len(found) == 4
    assert "2 more overlaps with public benchmarks" in found
    assert [name for name in ("q0", "q1", "q2", "q3") if any(repr(name) in one for one in found)] == ["q0", "q1", "q2"]


def test_round_1_returns_the_item_without_asking_and_tells_when_nothing_was_compared(comparisons, names, make_panel):
    first, second = names
    panel = replace(make_panel(), reviews=False)
    comparisons.match(comparisons.parts(first)[0])
    report = run_round1(comparisons.workspace, panel)
    assert report.rulings[first] == ("return", ("contaminated",))
    assert report.rulings[second][0] == "pass"
    assert report.never_compared
    assert comparisons.bench.standing()[first][0] == "returned"


def test_the_reason_has_words_in_both_languages():
    for code in ("contaminated", "not_compared"):
        assert REASONS[code].en.isascii()
        assert "公开基准" in REASONS[code].zh
