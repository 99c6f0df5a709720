"""An exam in a real browser: sat under rotation, through a reload and a killed server, then closed and compared."""

import pytest
from playwright.sync_api import expect
from sqlmodel import select

from annotation_ui.accounts import set_profile
from annotation_ui.profiles import PersonKind, Profile
from annotation_ui.studio import open_studio
from core.question import AnswerKey, Step
from evaluation.exam.holding import NewExam, create_exam, invite, open_exam
from warehouse.items import Draft, create_item, current_revision, get_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.people import Role, get_user
from warehouse.tables import ExamPlace, PlaceState

pytestmark = pytest.mark.browser
CONDITIONS = ("full", "without_audio", "text_only")


@pytest.fixture
def desk(studio, enrol):
    """The project behind the studio: an open exam of three questions, one of them in steps, and two people."""
    with open_studio(studio.project) as opened:
        database = opened.workspace.database
        enrol(opened, mara=Role.MAINTAINER, pia=Role.PARTICIPANT)
        with database.session() as session:
            set_profile(session, get_user(session, "pia"), Profile(PersonKind.EXPERT, ("en",), ()))
            question = current_revision(session, get_item(session, "bells-001")).as_question()
            key = AnswerKey(accepted=("three",))
            steps = (Step(ask="How many?", points=4, answer=key), Step(ask="And now?", points=6, answer=key))
            stepped = question.model_dump() | {
                "kind": "multi_step", "choices": (), "answer": AnswerKey(), "steps": steps, "task_type": "puzzle",
            }  # fmt: skip
            item, _ = create_item(session, "steps-200", Draft(question.model_validate(stepped), {}, "hal"))
            for action in (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT):
                item = advance(session, item.id, item.version, Advance(action, "test"))
            exam = create_exam(session, NewExam(name="Spring", size=3, conditions=CONDITIONS), "mara")
            (seat,) = invite(session, "Spring", ["pia"], "mara")
            open_exam(session, "Spring", "mara")
        yield Desk(database, exam.id, seat.id)


class Desk:
    """What is stored of the exam."""

    def __init__(self, database, exam_id, seat_id):
        self.database, self.exam_id, self.seat_id = database, exam_id, seat_id

    def places(self):
        with self.database.reading() as session:
            return session.exec(select(ExamPlace).order_by(ExamPlace.position)).all()


def at(page, number):
    expect(page.locator(".ip-sitting b")).to_have_text(f"Question {number} of 3")
    expect(page.locator(".as")).to_be_visible()
    page.settle()


def fill(page, mark):
    """Fill in whatever is asked, by keys where there are choices; gives what must come back after a reload."""
    fields = page.locator(".as textarea")
    if fields.count():
        for place in range(fields.count()):
            fields.nth(place).fill(f"{mark} {place}")
    else:
        page.keyboard.press("b")
        expect(page.locator(".as-pick.on")).to_have_count(1)
    page.locator(".as-level").nth(3).click()
    expect(page.get_by_text("Kept", exact=True)).to_be_visible()
    return fields.all_inner_texts(), fields.evaluate_all("all => all.map((one) => one.value)")


def filled(page):
    fields = page.locator(".as textarea")
    expect(page.locator(".as-level.on")).to_have_count(1)
    return fields.all_inner_texts(), fields.evaluate_all("all => all.map((one) => one.value)")


def test_an_exam_from_the_first_question_to_the_comparison(tabs, studio, desk, request):
    page = tabs.sign_in(f"{studio.address}/exam", "pia")
    page.get_by_role("button", name="Begin").click()
    at(page, 1)
    before = fill(page, "one")
    page.reload()
    at(page, 1)
    assert filled(page) == before, "what was kept is there after a reload"
    page.get_by_role("button", name="Hand in the answer").click()
    at(page, 2)

    before = fill(page, "two")
    studio.process.kill()
    studio.process.communicate()
    again = type(studio)(studio.project, studio.home, "--port", studio.address.rpartition(":")[2])
    request.addfinalizer(lambda: (again.process.kill(), again.process.communicate()))
    page.reload()
    at(page, 2)
    assert filled(page) == before, "and after the server was killed"
    page.get_by_role("button", name="Hand in and stop for now").click()
    expect(page.get_by_text("2 of 3 questions are behind you")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    at(page, 3)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".as-problem")).to_have_text("Give an answer first, or say that you cannot tell.")
    page.get_by_role("button", name="I cannot tell from this").click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="That was the last question")).to_be_visible()
    assert page.crashes == []

    places = desk.places()
    assert sorted(one.condition["name"] for one in places) == sorted(CONDITIONS), (
        "each question under another condition"
    )
    assert [one.state for one in places] == [PlaceState.ANSWERED, PlaceState.ANSWERED, PlaceState.ABSTAINED]
    assert [one.confidence for one in places] == [75, 75, None] and all(one.spans for one in places)

    page = tabs.sign_in(f"{again.address}/held_exam?id={desk.exam_id}", "mara")
    expect(page.get_by_text("3 of 3")).to_be_visible()
    expect(page.get_by_text("What came out")).to_have_count(0)
    page.get_by_role("button", name="Close the exam").click()
    page.get_by_role("button", name="Close it for good").click()
    page.get_by_role("button", name="Grade the answers").click()
    expect(page.get_by_role("heading", name="Time and confidence")).to_be_visible()
    expect(page.get_by_role("rowheader", name="human/expert").first).to_be_visible()
    expect(page.get_by_text("On average 75% sure")).to_be_visible()
    assert page.crashes == []
