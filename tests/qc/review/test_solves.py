"""People's ablation solves, counted by hand, with intervals from another library."""

import pytest
from scipy.stats import binomtest

from core.ids import utc_now
from qc.review.gold import add_gold
from qc.review.solves import ablation_solves, solves_of
from warehouse.tables import Decision, Review


@pytest.fixture
def database(workspace):
    return workspace.database


def review(hidden: str | None, *answers: tuple[str | None, float | None]) -> Review:
    """A review with the answers of the stages that were reached, one of no modality hidden beginning with the full."""
    stages = ("partial", "full") if hidden else ("full",)
    more = {}
    for stage, (answer, points) in zip(stages, answers, strict=False):
        more |= {f"{stage}_answer": answer, f"{stage}_points": points, f"{stage}_at": utc_now()}
    return Review(revision_id="r", reviewer="x", assignment_id="a", hidden=hidden, **more)


def test_right_answers_by_what_was_hidden():
    found = solves_of(
        [
            review("audio", ("B", 1.0), ("B", 1.0)),
            review("audio", ("A", 0.0), ("half", 0.5)),
            review("audio", (None, None)),
            review("image", ("what?", None), ("B", 1.0)),
            review(None, (None, None)),
            review("video"),
        ]
    )
    assert [(one.hidden, one.right, one.answered, one.ungraded) for one in found] == [
        (None, 2, 4, 0),
        ("audio", 1, 3, 0),
        ("image", 0, 0, 1),
    ]
    for one in found[:2]:
        expected = binomtest(one.right, one.answered).proportion_ci(method="wilson")
        assert (one.low, one.high) == pytest.approx((expected.low, expected.high))
    assert (found[2].low, found[2].high) == (None, None)
    assert found[2].words == "without image: 0 of 0 right (undefined, 1 not graded)"
    assert found[1].words == "without audio: 1 of 3 right (95% interval 0.06 to 0.79)"


def test_of_one_revision_or_of_all_without_gold(desk, ask):
    desk.item("gold", passed=3)
    with desk.database.session() as session:
        add_gold(session, "gold", Decision.PASS, by="mara")
    one, two = desk.item("one", ask(shows=("audio_1",))), desk.item("two", ask(shows=("image_1",)))
    assert desk.review("r0", gold_every=1) == "gold"
    # Answers rightly with everything alone.
    assert [desk.review("r0"), desk.review("r1"), desk.review("r0")] == ["one", "one", "two"]
    with desk.database.reading() as session:
        counts = [
            [(solves.hidden, solves.right, solves.answered) for solves in ablation_solves(session, *which)]
            for which in ([], [one], [two], ["nobody's"])
        ]
    assert counts == [
        [(None, 3, 3), ("audio", 0, 2), ("image", 0, 1)],
        [(None, 2, 2), ("audio", 0, 2)],
        [(None, 1, 1), ("image", 0, 1)],
        [],
    ]
