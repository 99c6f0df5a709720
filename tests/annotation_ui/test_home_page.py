"""The start page: my work, throughput, how long rounds take, targets and the way to write what lacks."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from annotation_ui.forms import new_form_key
from annotation_ui.targets import Shape, Target, store_targets
from annotation_ui.views.my_work import tasks
from annotation_ui.views.throughput import WEEKS, throughput
from annotation_ui.words import words_in
from evaluation.exam.holding import NewExam, create_exam, invite, open_exam
from warehouse import events
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Decision, ItemDraft
from warehouse.verdicts import Judgement

EN, ZH = words_in("en"), words_in("zh")
TEXT = "See <image_1>."
# A Wednesday; the seed's own items begin on the second of March, a Monday.
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


@pytest.fixture
def media(seeder):
    return {"image_1": seeder.picture(1)}


@pytest.fixture
def measures(database):
    """Counts of each measure by week, the present one last, without those that are all 0."""

    def read(who, now=NOW, **more):
        with database.reading() as session:
            found = throughput(session, who, now, EN, **more)
        return {one.label: [week.count for week in one.weeks][-2:] for one in found.measures if one.total}, found

    return read


def returned(number):
    return Judgement(number, "panel@1", False, Decision.RETURN, ("ambiguous",))


class TestThroughput:
    def test_steps_by_week_and_whose(self, seeder, seed, media, people, principal_of, measures):
        mine, theirs = people[Role.ANNOTATOR].id, people[Role.MAINTAINER].id
        seeder.item("a", seeder.draft(TEXT, media, mine), Action.SUBMIT, seed.passed(1), seed.passed(2), seed.passed(3))
        back, _ = seeder.item("b", seeder.draft(TEXT, media, mine), Action.SUBMIT, returned(1))
        seeder.item("c", seeder.draft(TEXT, media, theirs), Action.SUBMIT, seed.passed(1), returned(2))
        seeder.item("d", seeder.draft(TEXT, media, theirs))
        seeder.moments += 7 * 24 * 60
        seeder.revise(back.id, seeder.draft(TEXT, media, mine, correct=2))
        every, found = measures(principal_of(Role.ANNOTATOR))
        assert every == {
            "Handed in": [3, 1],
            "Decided in round 1": [3, 0],
            "Decided in round 2": [2, 0],
            "Decided in round 3": [1, 0],
            "Accepted": [1, 0],
        }
        assert found.weeks[-2:] == ["Mar 2", "Mar 9"] and len(found.weeks) == WEEKS
        assert [week.share for week in found.measures[0].weeks[-2:]] == [1.0, 1 / 3]
        assert measures(principal_of(Role.ANNOTATOR), mine=True)[0] == {
            "Handed in": [2, 1],
            "Decided in round 1": [2, 0],
            "Decided in round 2": [1, 0],
            "Decided in round 3": [1, 0],
            "Accepted": [1, 0],
        }
        assert measures(principal_of(Role.REVIEWER), mine=True)[1].is_empty

    def test_only_the_last_weeks_and_no_other_decisions(self, seeder, seed, media, principal_of, measures, database):
        done, revision = seeder.item("a", seeder.draft(TEXT, media, "m"), Action.SUBMIT, seed.passed(1))
        who = principal_of(Role.MAINTAINER)
        assert measures(who, NOW + timedelta(weeks=WEEKS - 2))[1].measures[0].weeks[0].count == 1
        assert measures(who, NOW + timedelta(weeks=WEEKS - 1))[1].is_empty

    def test_waits_are_from_the_step_before_to_the_decision(self, seeder, media, principal_of, measures, database):
        who = principal_of(Role.MAINTAINER)
        for hours in range(1, 11):
            item, revision = seeder.item(f"item-{hours}", seeder.draft(TEXT, media, "m"), Action.SUBMIT)
            seeder.moments += hours * 60
            with database.session() as session:
                seeder.act(session, item, revision, "m", Judgement(1, "checks@1", False, Decision.PASS))
        (wait,) = measures(who)[1].waits
        # The verdict is one moment, one minute, before the step that it settles.
        assert (wait.label, wait.count, wait.usual, wait.long) == ("Round 1", 10, "5 hours", "9 hours")

    def test_takes_and_reviews_are_counted_by_who_did_them(self, database, principal_of, people, measures):
        who = principal_of(Role.REVIEWER)
        with database.session() as session:
            for actor in (who.user_id, who.name, people[Role.ANNOTATOR].id):
                events.record(session, actor, "recording", "r", "record", lambda: NOW)
                events.record(session, actor, "review", "v", "finish", lambda: NOW)
            events.record(session, who.name, "review", "v", "answer_full", lambda: NOW)
        assert measures(who)[0] == {"Takes recorded": [0, 3], "Reviews finished": [0, 3]}
        assert measures(who, mine=True)[0] == {"Takes recorded": [0, 2], "Reviews finished": [0, 2]}

    def test_days_are_written_as_the_language_does(self, database, principal_of):
        with database.reading() as session:
            assert throughput(session, principal_of(Role.MAINTAINER), NOW, ZH).weeks[-1] == "3月9日"


class TestMyWork:
    def test_what_waits_for_a_reviewer_is_what_their_desk_has(
        self, seeder, seed, media, people, principal_of, database
    ):
        passed_two = (Action.SUBMIT, seed.passed(1), seed.passed(2))
        seeder.item("a", seeder.draft(TEXT, media, "m"), *passed_two)
        seeder.item("b", seeder.draft(TEXT, media, people[Role.REVIEWER].id), *passed_two)
        seeder.item("c", seeder.draft(TEXT, media, "m"), Action.SUBMIT, seed.passed(1))
        undecided = Judgement(1, "checks@1", False, Decision.UNKNOWN)
        seeder.item("d", seeder.draft(TEXT, media, "m"), Action.SUBMIT, undecided)
        with database.reading() as session:
            found = tasks(session, principal_of(Role.REVIEWER), NOW, EN)
            maintainer = tasks(session, principal_of(Role.MAINTAINER), NOW, EN)
        assert {task.label: task.count for task in found} == {
            "Questions to review": 1, "Open cases to decide": 1, "Takes to decide": 0
        }  # fmt: skip
        assert {task.label for task in maintainer} == {"Your drafts", "Returned to you", "Takes to decide"}


def test_a_participants_home_is_their_exams(visit, token, seeder, seed, media, database, people, clock):
    full = (Action.SUBMIT, seed.passed(1), seed.passed(2), seed.passed(3))
    seeder.item("a", seeder.draft(TEXT, media, "m"), *full)
    entry = token(Role.PARTICIPANT)
    assert "invite you to an exam" in html(visit("home", entry))
    with database.session() as session:
        create_exam(session, NewExam(name="spring", size=1), "maintainer", clock)
        invite(session, "spring", ["participant"], "maintainer", clock)
        open_exam(session, "spring", "maintainer", clock=clock)
    app = visit("home", entry)
    text = html(app)
    assert "<b>1</b>" in text and "Exams to sit" in text and "From materials" not in text
    app.button(key="open-task-0").click().run()
    assert not app.exception and "spring" in html(app)


def html(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def labels(app):
    return [button.label for button in app.button]


@pytest.fixture
def wanted(database, principal_of):
    with database.session() as session:
        rows = [Target(Shape("spot_the_difference", "", "zh"), 9), Target(Shape("counting"), 1)]
        store_targets(session, principal_of(Role.MAINTAINER), new_form_key(), rows)


def test_an_author_begins_what_lacks_most(visit, token, seeder, media, database, wanted):
    seeder.item("a", seeder.draft(TEXT, media, "m"))
    entry = token(Role.ANNOTATOR)
    app = visit("home", entry)
    text = html(app)
    assert text.index("Spot the Difference") < text.index("<b>Counting</b>")
    assert "10 questions are missing still" in text and "0 of 9" in text
    assert "targets" not in [link.proto.page for link in app.main.get("page_link")]
    app.button(key="write-target-0").click().run()
    assert not app.exception
    with database.reading() as session:
        (draft,) = session.exec(select(ItemDraft)).all()
    assert draft.content == {"task_type": "spot_the_difference", "language": "zh"}
    assert app.query_params["draft"] in (draft.id, [draft.id])
    # Somebody who comes back to the same begins no second one.
    again = visit("home", entry)
    again.button(key="write-target-0").click().run()
    with database.reading() as session:
        assert len(session.exec(select(ItemDraft)).all()) == 1


def test_who_does_not_write_is_not_asked_to_and_maintainers_can_set_targets(visit, token, seeder, media, wanted):
    seeder.item("a", seeder.draft(TEXT, media, "m"))
    app = visit("home", token(Role.REVIEWER))
    assert "Write one" not in labels(app) and "Spot the Difference" in html(app)
    links = [link.proto.page for link in visit("home", token()).main.get("page_link")]
    assert "targets" in links


def test_throughput_of_the_project_or_mine_stands_in_the_address(visit, token, seeder, media, clock):
    seeder.item("a", seeder.draft(TEXT, media, "m"), Action.SUBMIT)
    entry = token(Role.ANNOTATOR)
    assert 'scope="row">Handed in' in html(visit("home", entry))
    assert "Nothing was handed in" in html(visit("home", entry, whose="mine"))
