"""Exams in the studio: sitting one, holding one, and what neither those who sit it nor their addresses may reach."""

import io
import re
import sqlite3
from contextlib import closing
from html import escape

import av
import pytest
from sqlalchemy import event
from sqlmodel import select
from starlette.applications import Starlette
from starlette.testclient import TestClient

from annotation_ui.accounts import set_profile
from annotation_ui.examining import desk, holding
from annotation_ui.forms import FormMisused, new_form_key
from annotation_ui.media_links import MediaLinks
from annotation_ui.media_routes import MediaRoutes
from annotation_ui.pages import exam as exam_page
from annotation_ui.permissions import NotAllowed
from annotation_ui.profiles import PersonKind, Profile
from core.errors import InterplayError
from core.question import AnswerKey, Step
from evaluation.exam.holding import NewExam
from evaluation.recoding import film_with_sound, has_sound
from warehouse.items import get_item
from warehouse.lifecycle import Action
from warehouse.people import Role
from warehouse.tables import Exam, ExamItem, ExamPlace, ExamState, PlaceState

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> :red[**b**] $x$ {0}"
ACCEPTED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2, Action.ACCEPT)
TOKEN = re.compile(r"/files/([^\"'&<> ]+)")


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app, label):
    next(button for button in app.button if button.label == label).click()
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.fixture
def ask(seeder):
    """Makes an accepted item about a picture of its own and a sound that all share."""
    sound = []

    def make(name, author="hal", **more):
        sound or sound.append(seeder.sound(1))
        number = int(name[-1]) if name[-1].isdigit() else 0
        media = {"image_1": seeder.picture(10 + number), "audio_1": sound[0]}
        return seeder.item(name, seeder.draft("See <image_1>, hear <audio_1>.", media, author, **more), *ACCEPTED)

    return make


@pytest.fixture
def hold(database, principal_of, clock):
    """Makes an open exam on all accepted items, and invites people by name; gives seat ids by name."""

    def make(*names, name="spring", size=9, opened=True, **more):
        mara = principal_of(Role.MAINTAINER)
        with database.session() as session:
            exam_id = holding.create(session, mara, new_form_key(), NewExam(name=name, size=size, **more), clock)
            holding.invite(session, mara, exam_id, names, clock)
            if opened:
                holding.open_exam(session, mara, exam_id, 1, clock)
        with database.reading() as session:
            seats = {one.user.name: one.seat.id for one in holding.holding.progress_of(session, session.get(Exam, exam_id))}  # fmt: skip
        return exam_id, seats

    return make


@pytest.fixture
def sheet(monkeypatch):
    """What the sheet in the browser would tell, and what it was given last."""

    class Stub:
        told, data = None, None

        def __call__(self, data, key, heard):
            self.data = data
            told, self.told = self.told, None
            if told:
                heard(*told)

        def tell(self, app, event, **told):
            """The browser's own sheet speaks before the page is drawn; this one is heard in the drawing after."""
            self.told = event, {"place": self.data["place"], **told}
            app.run()
            assert not app.exception, app.exception
            return app.run()

        def hand_in(self, app, *, stops=False, **filled):
            return self.tell(app, "hand_in", key=self.data["form_key"], stops=stops, sheet=filled)

    stub = Stub()
    monkeypatch.setattr(exam_page, "answer_sheet", stub)
    return stub


@pytest.fixture
def client(studio, auth):
    return TestClient(Starlette(routes=MediaRoutes(studio, auth).routes()))


class TestSitting:
    def test_begin_answer_stop_go_on_and_finish(self, visit, token, ask, hold, sheet, database):
        ask("zoo-1")
        ask("zoo-2")
        hold("participant")
        entry = token(Role.PARTICIPANT)
        app = visit("exam", entry)
        assert "2 questions" in shown(app) and "cannot be changed once it is handed in" in shown(app)
        press(app, "Begin")
        seat = {"id": app.query_params["id"]}
        app = visit("exam", entry, **seat)
        assert "Question 1 of 2" in shown(app)
        sheet.hand_in(app, chosen=[])
        assert sheet.data["problem"]["text"].startswith("Give an answer first")
        sheet.hand_in(app, chosen=[1])
        assert sheet.data["problem"]["text"].startswith("Say first how sure you are")
        sheet.hand_in(app, stops=True, chosen=[1], confidence=75)
        assert "1 of 2 questions are behind you" in shown(app)
        app = visit("exam", entry, **seat)
        assert "Question 2 of 2" in shown(app), "the place is kept"
        sheet.hand_in(app, cannot_tell=True)
        assert "That was the last question" in shown(app)
        with database.reading() as session:
            rows = session.exec(select(ExamPlace).order_by(ExamPlace.position)).all()
        assert [(one.state, one.answer, one.confidence) for one in rows] == [
            (PlaceState.ANSWERED, "B", 75), (PlaceState.ABSTAINED, None, None),
        ]  # fmt: skip

    def test_nothing_tells_what_it_is_or_what_is_withheld(self, visit, token, ask, hold, sheet, studio):
        ask("zoo-1", "the-author", correct=2, notes={"audio": "the second strike"})
        _, seats = hold("participant", conditions=("without_audio",), asks_confidence=False)
        text = shown(visit("exam", token(Role.PARTICIPANT), id=seats["participant"]))
        links = MediaLinks(studio.key, studio.clock)
        assert [links.grant(one).media_type for one in TOKEN.findall(text)] == ["image/png"]
        assert "[audio not provided]" in text and "320 ×" not in text
        everything = text + repr(sheet.data)
        for telling in ("zoo-1", "street-", "bell-", "counting", "the-author", "strike", "without_audio"):
            assert telling not in everything, telling
        assert [one["label"] for one in sheet.data["options"]] == ["A", "B", "C", "D"]

    def test_two_tabs_of_one_person_keep_one_answer(self, visit, token, ask, hold, sheet, database):
        ask("zoo-1")
        ask("zoo-2")
        _, seats = hold("participant", asks_confidence=False)
        entry = token(Role.PARTICIPANT)
        one = visit("exam", entry, id=seats["participant"])
        other = visit("exam", entry, id=seats["participant"])
        first = sheet.data
        sheet.hand_in(one, chosen=[0])
        sheet.data = first
        sheet.hand_in(other, chosen=[3])
        assert "Question 2 of 2" in shown(other), "what the other tab still had before it is dropped"
        with database.reading() as session:
            assert [row.answer for row in session.exec(select(ExamPlace).order_by(ExamPlace.position))] == ["A", None]

    def test_what_is_filled_in_outlasts_a_reload(self, visit, token, ask, hold, sheet):
        step = Step(ask="Which?", points=10, answer=AnswerKey(accepted=("crimson",)))
        ask("zoo-1", steps=[step])
        _, seats = hold("participant")
        entry = token(Role.PARTICIPANT)
        app = visit("exam", entry, id=seats["participant"])
        sheet.tell(app, "filled", stroke=3, sheet={"texts": ["half a th"], "confidence": 25})
        assert sheet.data["saved_stroke"] == 3
        visit("exam", entry, id=seats["participant"])
        assert sheet.data["saved"]["texts"] == ["half a th"] and sheet.data["saved"]["confidence"] == 25
        assert sheet.data["steps"][0]["ask"] == "Which?" and "crimson" not in repr(sheet.data)

    def test_what_could_not_be_stored_is_not_told_as_kept(self, visit, token, ask, hold, sheet, monkeypatch):
        ask("zoo-1")
        _, seats = hold("participant")
        app = visit("exam", token(Role.PARTICIPANT), id=seats["participant"])
        save = exam_page.desk.save

        def refused(session, *arguments):
            event.listen(session, "before_commit", fail)
            return save(session, *arguments)

        def fail(_session):
            raise InterplayError("the disk is full")

        monkeypatch.setattr(exam_page.desk, "save", refused)
        sheet.tell(app, "filled", stroke=3, sheet={"chosen": [1]})
        assert sheet.data["saved_stroke"] == 0

    def test_another_s_seat_and_one_that_is_closed_show_nothing(
        self, visit, token, ask, hold, sheet, add_person, sign_in, database, principal_of, clock
    ):
        ask("zoo-1")
        add_person("pan", Role.PARTICIPANT)
        exam_id, seats = hold("participant", "pan")
        mine = sign_in("pan")[0]
        for seat in (seats["participant"], "nonsense"):
            app = visit("exam", mine, id=seat)
            assert "This exam is not yours" in shown(app) and "/files/" not in shown(app) and sheet.data is None
        app = visit("exam", mine, id=seats["pan"])
        with database.session() as session:
            holding.close_exam(session, principal_of(Role.MAINTAINER), exam_id, 2, clock)
        sheet.hand_in(app, chosen=[0], confidence=0)
        assert "This exam is closed" in shown(app) and "/files/" not in shown(app)
        assert "Closed" in shown(visit("exam", mine))

    def test_a_draft_waits_for_nobody(self, visit, token, ask, hold):
        ask("zoo-1")
        hold("participant", opened=False)
        assert "No exam waits for you" in shown(visit("exam", token(Role.PARTICIPANT)))

    def test_hostile_text_stays_text(self, visit, token, ask, hold, sheet, database):
        ask("zoo-1", choices=(ATTACK, "b"), correct=0, steps=())
        ask("zoo-2", steps=[Step(ask=ATTACK, points=10, answer=AnswerKey(accepted=(ATTACK,)))])
        _, seats = hold("participant", name="x" + ATTACK[:60], asks_confidence=False)
        entry = token(Role.PARTICIPANT)
        text = shown(visit("exam", entry))
        assert "<script" not in text and escape(ATTACK, quote=False)[:20] in text
        app = visit("exam", entry, id=seats["participant"])
        for _ in range(2):
            assert "<script" not in shown(app)
            sheet.hand_in(app, chosen=[0], texts=[ATTACK])
        with database.reading() as session:
            answers = {row.answer for row in session.exec(select(ExamPlace))}
        assert answers == {"A", f"Step 1: {ATTACK}"}
        for page in ("exams", "exam"):
            assert "<script" not in shown(visit(page, token()))


class TestServices:
    """What no page of ours sends."""

    @pytest.fixture
    def pan(self, ask, hold, principal_of, database, clock):
        """A participant in front of a question."""
        ask("zoo-1")
        _, seats = hold("participant", asks_confidence=False)
        who = principal_of(Role.PARTICIPANT)
        with database.session() as session:
            asked = desk.ask(session, who, seats["participant"], clock)
        return who, seats["participant"], asked

    @pytest.mark.parametrize(
        "filled",
        [
            {"chosen": [-1]},
            {"chosen": ["A"]},
            {"texts": ["x" * 4_001]},
            {"points": 1},
            {"confidence": 33, "chosen": [0]},
        ],
    )
    def test_a_sheet_that_no_page_sends_is_refused(self, pan, database, filled):
        who, seat, asked = pan
        with pytest.raises(desk.BadSheet), database.session() as session:
            desk.hand_in(session, who, new_form_key(), seat, asked.place_id, filled)

    def test_a_form_is_handled_once_and_is_nobody_else_s(self, pan, database, principal_of):
        who, seat, asked = pan
        key = new_form_key()
        for _ in range(2):
            with database.session() as session:
                assert desk.hand_in(session, who, key, seat, asked.place_id, {"chosen": [1]}) is PlaceState.ANSWERED
        with pytest.raises(FormMisused), database.session() as session:
            desk.hand_in(session, principal_of(Role.ANNOTATOR), key, seat, asked.place_id, {"chosen": [1]})
        with pytest.raises(desk.AnsweredAlready), database.session() as session:
            desk.hand_in(session, who, new_form_key(), seat, asked.place_id, {"chosen": [2]})

    def test_neither_seat_nor_question_of_another_is_reached(self, pan, database, principal_of):
        _, seat, asked = pan
        other = principal_of(Role.ANNOTATOR)
        for act in (
            lambda session: desk.ask(session, other, seat),
            lambda session: desk.save(session, other, seat, asked.place_id, {"chosen": [1]}),
            lambda session: desk.note_seen(session, other, seat, asked.place_id, begins=True),
            lambda session: desk.hand_in(session, other, new_form_key(), seat, asked.place_id, {"chosen": [1]}),
        ):
            with pytest.raises(desk.SeatNotYours), database.session() as session:
                act(session)

    @pytest.mark.parametrize("role", [Role.PARTICIPANT, Role.ANNOTATOR, Role.REVIEWER])
    def test_only_maintainers_hold_exams(self, ask, hold, principal_of, database, studio, role):
        ask("zoo-1")
        exam_id, seats = hold("participant")
        who = principal_of(role)
        acts = (
            lambda session: holding.create(session, who, new_form_key(), NewExam(name="x", size=1)),
            lambda session: holding.invite(session, who, exam_id, ["reviewer"]),
            lambda session: holding.uninvite(session, who, exam_id, seats["participant"]),
            lambda session: holding.close_exam(session, who, exam_id, 2),
            lambda session: holding.find(session, who, exam_id),
            lambda session: holding.grade(studio.workspace, who, exam_id),
        )
        for act in acts[:-1]:
            with pytest.raises(NotAllowed), database.session() as session:
                act(session)
        with pytest.raises(NotAllowed):
            acts[-1](None)

    def test_a_seat_of_another_exam_is_not_taken_back_through_this_one(self, ask, hold, principal_of, database):
        ask("zoo-1")
        ask("zoo-2")
        one, _ = hold("participant", size=1)
        _, seats = hold("annotator", name="other", size=1)
        with pytest.raises(holding.ExamGone), database.session() as session:
            holding.uninvite(session, principal_of(Role.MAINTAINER), one, seats["annotator"])


class TestMedia:
    def test_a_participant_fetches_what_is_before_them_and_nothing_else(
        self, ask, hold, database, principal_of, sign_in, studio, client, seeder, clock
    ):
        ask("zoo-1")
        ask("zoo-2")
        _, seats = hold("participant", conditions=("without_audio",), asks_confidence=False)
        token, who = sign_in("participant")
        client.cookies.set(studio.cookie_name, token)
        links = MediaLinks(studio.key, studio.clock)
        pictures = {
            name: get_item_media(database, name, "image_1") for name in ("zoo-1", "zoo-2")
        }  # fmt: skip
        sound, outside = get_item_media(database, "zoo-1", "audio_1"), seeder.picture(77)[1]

        def fetched(media, variant="whole"):
            return client.get(links.url(media, who.user_id, variant)).status_code

        everything = [*pictures.values(), sound, outside]
        assert [fetched(one) for one in everything] == [403] * 4, "before the first question"
        with database.session() as session:
            asked = desk.ask(session, who, seats["participant"], clock)
        now = next(part.media for part in asked.prompt if hasattr(part, "media"))
        assert [fetched(one) for one in everything] == [200 if one == now else 403 for one in everything]
        assert fetched(now, "small") == 403
        other = sign_in("annotator")[1]
        assert client.get(links.url(now, other.user_id)).status_code == 403, "an address that was made for another"
        with database.session() as session:
            desk.hand_in(session, who, new_form_key(), seats["participant"], asked.place_id, {"cannot_tell": True})
        assert fetched(now) == 403, "and no more once it is answered"

    def test_a_film_comes_without_its_sound_as_models_get_it(self, seed, seeder, studio, client, sign_in, people):
        from core.content import MediaRef, Modality

        picture = seed.mp4(3)
        silent = MediaRef(sha256="0" * 64, media_type="video/mp4", modality=Modality.VIDEO, byte_count=1, frame_rate_hz=12.0)  # fmt: skip
        spoken = film_with_sound(silent, picture, seed.wav(2)).data
        token, who = sign_in("annotator")
        client.cookies.set(studio.cookie_name, token)
        links = MediaLinks(studio.key, studio.clock)
        for data in (spoken, picture):
            media = MediaRef(
                sha256=studio.workspace.blobs.put(data), media_type="video/mp4", modality=Modality.VIDEO,
                byte_count=len(data),
            )  # fmt: skip
            answer = client.get(links.url(media, who.user_id, "silent"))
            assert answer.status_code == 200 and answer.headers["x-content-type-options"] == "nosniff"
            assert not has_sound(answer.content)
            with av.open(io.BytesIO(answer.content)) as film:
                assert sum(1 for _ in film.decode(video=0)) == 12
            part = client.get(links.url(media, who.user_id, "silent"), headers={"Range": "bytes=0-9"})
            assert (part.status_code, part.content) == (206, answer.content[:10])
        assert has_sound(spoken)


def get_item_media(database, name, placeholder):
    from warehouse.items import current_revision

    with database.reading() as session:
        question = current_revision(session, get_item(session, name)).as_question()
    return next(part.media for part in question.media if part.name == placeholder)


class TestShut:
    def test_the_pages_of_its_items_are_shut_to_who_sits_it_until_they_are_through(
        self, visit, token, ask, hold, sheet, database, sign_in
    ):
        ask("zoo-1")
        _, seats = hold("annotator", asks_confidence=False)
        entry = token(Role.ANNOTATOR)
        app = visit("item", entry, name="zoo-1")
        assert "in an exam" in shown(app) and "/files/" not in shown(app)
        (link,) = [one for one in app.main.get("page_link") if one.proto.label == "To the exam"]
        assert link.proto.page == "exam"
        assert "zoo-1" not in shown(visit("items", entry)) and "zoo-1" in shown(visit("items", token(Role.REVIEWER)))
        assert "in an exam" not in shown(visit("item", token(Role.REVIEWER), name="zoo-1"))
        app = visit("exam", entry, id=seats["annotator"])
        sheet.hand_in(app, chosen=[1])
        assert "in an exam" not in shown(visit("item", entry, name="zoo-1"))

    def test_what_they_wrote_is_not_asked(self, visit, token, ask, hold, sheet, people, database, principal_of, clock):
        ask("own-1", author=people[Role.ANNOTATOR].id)
        ask("zoo-2")
        _, seats = hold("annotator", size=1)
        visit("exam", token(Role.ANNOTATOR), id=seats["annotator"])
        with database.reading() as session:
            asked = {one.revision_id for one in session.exec(select(ExamPlace))}
            assert asked == {get_item(session, "zoo-2").current_revision_id}


class TestHolding:
    def test_from_the_form_to_the_results(self, visit, token, ask, sheet, database, people, studio):
        for number in range(3):
            ask(f"zoo-{number}", task_type="counting" if number else "puzzle")
        with database.session() as session:
            set_profile(session, session.merge(people[Role.PARTICIPANT]), Profile(PersonKind.EXPERT, (), ()))
        entry = token()
        app = visit("exams", entry)
        press(app, "Draw the questions")
        assert "Give the exam a name" in shown(app)
        app.text_input[0].input("spring")
        press(app, "Draw the questions")
        with database.reading() as session:
            exam = session.exec(select(Exam)).one()
        app = visit("held_exam", entry, id=exam.id)
        assert "Nobody is invited yet" in shown(app) and "Puzzle" in shown(app)
        assert "Choose people first" in shown(press(app, "Invite them"))
        app.multiselect[0].set_value(["Participant (participant)"])
        press(app, "Invite them")
        assert "The invitation is taken back" in shown(press(app, "Take back"))
        app.multiselect[0].set_value(["Participant (participant)"])
        press(app, "Invite them")
        press(app, "Open the exam")
        assert "Participant" in shown(app) and "0 of 3" in shown(app)
        with database.reading() as session:
            seat = holding.holding.progress_of(session, exam)[0].seat.id
        sitting = visit("exam", token(Role.PARTICIPANT), id=seat)
        for _ in range(3):
            sheet.hand_in(sitting, chosen=[1], confidence=100)
        entry = token()
        app = visit("held_exam", entry, id=exam.id)
        assert "3 of 3" in shown(app) and "100% sure" not in shown(app) and "What came out" not in shown(app)
        press(app, "Close it for good")
        press(app, "Grade the answers")
        while not (job := studio_job(app, exam.id)).has_ended:
            app.run()
        assert job.problem is None and not job.crashed
        app = visit("held_exam", entry, id=exam.id)
        text = shown(app)
        assert "What came out" in text and "human/expert" in text and "100% sure and 100% right" in text
        assert "Grade again" in {button.label for button in app.button}
        assert "human/expert" in shown(visit("results", entry))

    def test_others_store_their_work_while_questions_are_drawn(self, visit, token, ask, database, monkeypatch):
        """Of ten thousand questions that takes seconds."""
        ask("zoo-1")
        draw, stored = holding.holding.draw_sample, []

        def drawn(*arguments):
            with closing(sqlite3.connect(database.engine.url.database, timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")
                stored.append(other.execute("SELECT count(*) FROM exam").fetchone())
            return draw(*arguments)

        monkeypatch.setattr(holding.holding, "draw_sample", drawn)
        app = visit("exams", token())
        app.text_input[0].input("spring")
        press(app, "Draw the questions")
        assert stored == [(0,)]
        with database.reading() as session:
            assert session.exec(select(ExamItem.place)).all() == [0]

    def test_a_page_that_is_out_of_date_changes_nothing(self, visit, token, ask, hold, database, principal_of):
        ask("zoo-1")
        exam_id, _ = hold("participant", opened=False)
        app = visit("held_exam", token(), id=exam_id)
        with database.session() as session:
            holding.open_exam(session, principal_of(Role.MAINTAINER), exam_id, 1)
        press(app, "Throw this exam away")
        assert "Somebody changed this exam meanwhile" in shown(app)
        with database.reading() as session:
            assert session.get(Exam, exam_id).state is ExamState.OPEN

    def test_an_exam_that_is_gone_says_so_and_leads_back(self, visit, token):
        app = visit("held_exam", token(), id="x")
        assert "not there any more" in shown(app)
        assert "exams" in [link.proto.page for link in app.main.get("page_link")]


def studio_job(app, exam_id):
    """The studio that the page itself opened: another one than the test's."""
    from annotation_ui.session import opened_studio

    return opened_studio(app.secrets["studio"]["project"]).studio.background.job(f"exam {exam_id}")
