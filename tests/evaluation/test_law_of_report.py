import pytest

from evaluation.law.of_report import NoUniModalScores, points_of
from evaluation.report.document import Column, Number, Report, Row, Table


def report(**rows):
    """A report whose Table 2 has these scores (audio, visual, omni choice) by model."""
    titles = ("Audio", "Visual", "Omni-MC", "Omni-MO")
    table = Table(
        key="table2",
        title="",
        note="",
        head="model",
        columns=tuple(Column(title=title) for title in titles),
        rows=tuple(
            Row(label=name, cells=tuple(Number(points=one, low=one and one - 5, high=one and one + 5, selection={}) for one in (*scores, None)))
            for name, scores in rows.items()
        ),
    )  # fmt: skip
    return Report(title="zoo 1.0.0", cells=(), tables=(table,), people=("human",))


def test_percents_become_shares_with_their_intervals():
    first, second = points_of(report(b=(60.0, 50.0, 30.0), a=(80.0, 70.0, 40.0)))
    assert (first.model, first.audio, first.visual, first.omni) == ("a", 0.8, 0.7, 0.4)
    assert second.intervals["omni"] == pytest.approx((0.25, 0.35))


def test_people_and_models_without_all_three_scores_are_no_points():
    found = points_of(report(a=(80.0, 70.0, 40.0), b=(80.0, None, 40.0), human=(99.0, 99.0, 95.0)))
    assert [point.model for point in found] == ["a"]


def test_without_uni_modal_questions_it_is_said_what_is_missing():
    with pytest.raises(NoUniModalScores, match=r"in zoo 1\.0\.0 no model has scores on questions that are only heard"):
        points_of(report(a=(None, None, 40.0)))
    with pytest.raises(NoUniModalScores):
        points_of(Report(title="zoo 1.0.0", cells=()))
