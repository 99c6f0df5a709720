"""The places of Judge and Play: what they say honestly, and what of grading can be counted already."""

from evaluation.grade_counts import GradeCounts, grade_counts
from warehouse.lifecycle import Action
from warehouse.people import Role


def html(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def grade(seeder, key, grader, points, at="2026-03-02T10:00:00+00:00"):
    with seeder.workspace.facts.writer("grade", seeder.run_id) as writer:
        writer.add(
            {
                "response_key": key, "grader": grader, "points": points, "step_points": [], "reason": "",
                "recorded_at": at,
            }
        )  # fmt: skip


def test_what_no_grader_decided_and_where_they_differ_is_counted(visit, token, seeder, studio):
    assert grade_counts(studio.workspace.facts) == GradeCounts(0, 0, 0)
    media = {"image_1": seeder.picture(1)}
    _, revision = seeder.item("a", seeder.draft("See <image_1>.", media, "m"), Action.SUBMIT)
    for model, points in (("one", 1.0), ("two", 0.0), ("three", None), ("four", 1.0)):
        seeder.response(revision, "a", model, "full", points)
    grade(seeder, "one/a/full", "keen@1", 0.0)  # another grader says otherwise
    grade(seeder, "two/a/full", "keen@1", 0.0)  # another says the same
    grade(seeder, "three/a/full", "keen@1", None)  # another cannot tell either
    # A later version of the same grader is not another grader.
    grade(seeder, "four/a/full", "keen@1", 0.0)
    grade(seeder, "four/a/full", "keen@2", 1.0, at="2026-03-02T11:00:00+00:00")
    assert grade_counts(studio.workspace.facts) == GradeCounts(answers=4, ungraded=1, split=1)
    text = html(visit("judge", token(Role.REVIEWER)))
    assert "People do not judge answers here yet" in text and text.count("<b>1</b>") == 2


def test_play_says_what_will_stand_there_also_to_participants(visit, token):
    for role in (Role.PARTICIPANT, Role.ANNOTATOR):
        app = visit("play", token(role))
        assert "There is no game to play yet" in html(app) and "Whispered Pathfinding" in html(app)
        assert ("interplay material ingest" in html(app)) == (role is Role.ANNOTATOR)
