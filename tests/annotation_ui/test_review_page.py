"""The reviewer's desk in Streamlit's own test runner: blind stages, verdicts, leases, disputes, hostile text."""

from html import escape

import pytest
from sqlmodel import select

from annotation_ui.reviewing import desk
from core.question import AnswerKey, Step
from qc.review.queue import REVIEW_LEASE
from qc.review.waiting import OPEN_CASE, REVIEW
from warehouse.items import get_item
from warehouse.lifecycle import Action
from warehouse.people import Role, get_user
from warehouse.tables import Assignment, Decision, ItemDraft, ItemState, Review, Verdict
from warehouse.verdicts import Judgement, record_verdict

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> :red[**b**] $x$ {0}"
PASSED = (Action.SUBMIT, Action.PASS_ROUND1, Action.PASS_ROUND2)


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def press(app, label):
    """Click the last button of that label; returns the app after its rerun."""
    [button for button in app.button if button.label == label][-1].click()
    app.run()
    assert not app.exception, app.exception
    return app


@pytest.fixture
def ask(seeder):
    """Makes an item that waits for reviewers."""

    media = {}

    def make(name="zoo", author="mei", actions=PASSED, **more):
        if not media:
            media.update(image_1=seeder.picture(1), audio_1=seeder.sound(1))
        draft = seeder.draft("See <image_1>, hear <audio_1>. How many?", media, author, **more)
        return seeder.item(name, draft, *actions)

    return make


@pytest.fixture
def reviewers(add_person, sign_in):
    """Three more reviewers: name to (token, principal)."""
    for name in ("rita", "rob", "ronald"):
        add_person(name, Role.REVIEWER)
    return {name: sign_in(name) for name in ("rita", "rob", "ronald")}


@pytest.fixture
def at_work(visit, ask, reviewers):
    """Rita in front of the first stage of "zoo"."""
    ask()
    return press(visit("review", reviewers["rita"][0]), "Take the next one")


@pytest.fixture
def stored(database):
    """The only row of a table, and how the item stands."""

    def look(table=Review):
        with database.reading() as session:
            return session.exec(select(table)).one()

    return look


def state(database, name="zoo"):
    with database.reading() as session:
        return get_item(session, name).state


def answered(app, *letters):
    """Both blind stages."""
    for letter in letters:
        press(app, f"Choose {letter}")
        press(app, "Hand in the answer")
    return app


def decided(app, decision):
    next(group for group in app.get("button_group") if group.key.startswith("decision")).set_value(decision)
    app.run()
    return app


def given(database, clock, name, decision, *, codes=()):
    """A verdict of round 3 by somebody at another desk."""
    from qc.review.verdicts import give_verdict

    with database.session() as session:
        give_verdict(session, "zoo", 3, name, decision, codes, None, clock)


class TestBlind:
    def test_the_desk_says_how_much_waits_and_the_next_one_is_taken(self, visit, ask, reviewers):
        ask("zoo")
        ask("den")
        app = visit("review", reviewers["rita"][0])
        assert "<b>2</b>" in shown(app).replace("\n", "") and "Questions to review" in shown(app)
        assert "<b>zoo</b>" in shown(press(app, "Take the next one"))
        assert "<b>zoo</b>" in shown(visit("review", reviewers["rita"][0])), "a reload keeps one's place"

    def test_nothing_tells_the_key_or_the_hidden_media_before_its_time(self, at_work, stored, studio):
        hidden = stored().hidden
        text = shown(at_work)
        assert f"[{hidden} not provided]" in text and ("<audio" in text, "<img" in text) == (
            hidden != "audio", hidden != "image",
        )  # fmt: skip
        from annotation_ui.media_links import MediaLinks

        links = MediaLinks(studio.key, studio.clock)
        tokens = [piece.split('"')[0] for piece in text.split("/files/")[1:]]
        assert [links.grant(token).media_type.split("/")[0] for token in tokens] == [
            kind for kind in ("image", "audio") if kind != hidden
        ]
        assert 'class="right"' not in text and "AnswerKey" not in repr(at_work.session_state._state)
        press(at_work, "Choose C")
        press(at_work, "Hand in the answer")
        text = shown(at_work)
        assert "<audio" in text and "<img" in text and 'class="right"' not in text
        assert "What do you decide?" not in [group.label for group in at_work.get("button_group")]

    def test_then_everything_shows_with_both_answers_beside_the_author_s(self, at_work, stored):
        text = shown(answered(at_work, "C", "B"))
        assert '<li class="right"><b>B</b><span>three</span>' in text
        assert ">C. four<" in text and ">not right<" in text and ">B. three<" in text
        review = stored()
        assert (review.partial_answer, review.full_answer) == ("C", "B")

    def test_an_answer_is_asked_for_and_the_second_click_of_a_double_click_answers_nothing(self, at_work, stored):
        assert "Give an answer first" in shown(press(at_work, "Hand in the answer"))
        press(at_work, "I cannot tell from this")
        press(at_work, "Hand in the answer")
        assert "Give an answer first" in shown(press(at_work, "Hand in the answer"))
        review = stored()
        assert (review.partial_at is not None, review.partial_answer, review.full_at) == (True, None, None)

    def test_two_tabs_show_one_task_and_keep_one_answer(self, at_work, visit, reviewers, stored):
        other = visit("review", reviewers["rita"][0])
        press(at_work, "Choose A")
        press(other, "Choose D")
        press(at_work, "Hand in the answer")
        press(other, "Hand in the answer")
        assert '<li class="now" aria-current="step">With everything' in shown(other)
        assert stored().partial_answer == "A"

    def test_steps_are_answered_one_by_one(self, visit, ask, reviewers, stored):
        key = AnswerKey(accepted=("crimson",))
        ask(steps=[Step(ask="Which is left?", points=4, answer=key), Step(ask="Which sounds?", points=6, answer=key)])
        app = press(visit("review", reviewers["rita"][0]), "Take the next one")
        assert "Which sounds?" in shown(app) and "crimson" not in shown(app)
        app.text_area[0].input("crimson")
        app.text_area[1].input("blue\nor green")
        press(app, "Hand in the answer")
        assert stored().partial_answer == "Step 1: crimson\nStep 2: blue or green"
        assert stored().partial_points == 0.4

    def test_text_without_a_word_is_no_answer(self, visit, ask, reviewers, stored):
        ask(steps=[Step(ask="Which?", points=10, answer=AnswerKey(accepted=("red",)))])
        app = press(visit("review", reviewers["rita"][0]), "Take the next one")
        app.text_area[0].input("  \n ")
        assert "Give an answer first" in shown(press(app, "Hand in the answer"))
        assert stored().partial_at is None


class TestVerdict:
    def test_two_who_agree_move_the_item(self, at_work, visit, reviewers, database):
        press(decided(answered(at_work, "C", "B"), "pass"), "Hand in")
        assert "Your verdict on zoo is stored" in shown(at_work)
        assert state(database) is ItemState.ROUND2_PASSED
        other = press(visit("review", reviewers["rob"][0]), "Take the next one")
        press(decided(answered(other, "C", "B"), "pass"), "Hand in")
        assert state(database) is ItemState.ACCEPTED
        assert "zoo" in shown(other) and "Nothing waits for you" in shown(other)

    def test_the_next_one_is_taken_at_once(self, at_work, ask):
        ask("den")
        press(decided(answered(at_work, "C", "B"), "pass"), "Hand in and take the next")
        assert "<b>den</b>" in shown(at_work)
        press(decided(answered(at_work, "C", "B"), "pass"), "Hand in and take the next")
        assert "Your verdict on den is stored" in shown(at_work), "nobody else took the last one"
        assert "Somebody else" not in shown(at_work)

    def test_a_return_needs_a_reason_and_carries_comments_and_a_text(self, at_work, stored):
        decided(answered(at_work, "C", "B"), "return")
        assert "Give at least one reason" in shown(press(at_work, "Hand in"))
        reasons = at_work.multiselect[0]
        assert reasons.options[0] == "ambiguous: the question can be read in two ways · Question and answer"
        reasons.set_value(["ambiguous"])
        press(at_work, "Comment on a part, or suggest a text")
        at_work.selectbox[0].select("choice B")
        at_work.text_area[0].input("say what “three” counts")
        at_work.toggle[0].set_value(True)
        at_work.run()
        assert at_work.text_area[1].value == "three"
        at_work.text_area[1].input("three shapes")
        press(at_work, "Hand in")
        review, verdict = stored(), stored(Verdict)
        assert (review.decision, review.reason_codes) == ("return", ["ambiguous"])
        assert review.comments == [{"part": "choice B", "text": "say what “three” counts"}]
        assert review.suggested_edit == {"choice B": "three shapes"}
        assert verdict.comment == "choice B: say what “three” counts"

    def test_what_is_typed_outlasts_another_language(self, at_work, database):
        decided(answered(at_work, "C", "B"), "return")
        at_work.multiselect[0].set_value(["not_unique"])
        press(at_work, "Comment on a part, or suggest a text")
        at_work.text_area[0].input("两种读法")
        at_work.session_state["language"] = "zh"
        at_work.run()
        assert at_work.multiselect[0].value == ["not_unique"] and at_work.text_area[0].value == "两种读法"
        assert at_work.selectbox[0].options[0] == "题干"
        press(at_work, "提交")
        assert state(database) is ItemState.ROUND2_PASSED and "已保存" in shown(at_work)

    def test_gold_is_not_told_and_no_way_leads_to_the_item(self, at_work, visit, reviewers):
        press(decided(answered(at_work, "C", "B"), "pass"), "Hand in")
        text = shown(visit("review", reviewers["rita"][0]))
        assert "Your last reviews" in text and "gold" not in text.lower() and "Accepted" not in text
        assert not [button for button in at_work.button if button.label == "Open"]

    def test_script_text_in_all_fields_runs_nothing(self, visit, ask, reviewers, database, clock, sign_in, people):
        ask(choices=(ATTACK, "b"), notes={"evidence": {"audio_1": ATTACK}, ATTACK: ATTACK}, correct=0)
        app = press(visit("review", reviewers["rita"][0]), "Take the next one")
        assert escape(ATTACK, quote=False)[:30] in shown(app)
        decided(answered(app, "A", "A"), "reject")
        app.multiselect[0].set_value(["wrong_key"])
        press(app, "Comment on a part, or suggest a text")
        app.text_area[0].input(ATTACK)
        press(app, "Hand in")
        given(database, clock, "rob", Decision.PASS)
        given(database, clock, "ronald", Decision.UNKNOWN)
        other = visit("review", sign_in("maintainer")[0], name="zoo")
        for text in (shown(app), shown(other)):
            assert "<script" not in text and "<img src=x" not in text
        assert escape(ATTACK, quote=False)[:30] in shown(other)


class TestLeases:
    def test_one_that_ran_out_is_told_stores_nothing_and_loses_no_words(self, at_work, clock, stored):
        decided(answered(at_work, "C", "B"), "pass")
        press(at_work, "Comment on a part, or suggest a text")
        at_work.text_area[0].input("keep me")
        at_work.run()
        clock.turn(hours=4)
        press(at_work, "Hand in")
        assert "has run out" in shown(at_work) and "keep me" in shown(at_work)
        assert stored().finished_at is None
        press(at_work, "Take it again")
        assert at_work.text_area[0].value == "keep me"
        press(at_work, "Hand in")
        assert stored().comments == [{"part": "prompt", "text": "keep me"}]

    def test_one_that_somebody_else_took_meanwhile_is_told(self, at_work, clock, reviewers, database):
        press(at_work, "Choose A")
        clock.turn(hours=4)
        for name in ("rob", "ronald"):
            with database.session() as session:
                desk.take(session, reviewers[name][1], REVIEW, clock)
        press(at_work, "Hand in the answer")
        assert "Nothing waits for you" not in shown(at_work)
        press(at_work, "Take it again")
        assert "zoo is with somebody else now" in shown(at_work)

    def test_an_answer_holds_it_for_longer_and_so_does_the_button(self, at_work, clock, stored):
        clock.turn(hours=2, minutes=50)
        at_work.run()
        assert "Yours for 10 min more" in shown(at_work)
        press(at_work, "Keep it for longer")
        assert stored(Assignment).expires_at == clock.now + REVIEW_LEASE
        clock.turn(hours=1)
        press(at_work, "Choose A")
        press(at_work, "Hand in the answer")
        assert stored(Assignment).expires_at == clock.now + REVIEW_LEASE

    def test_one_that_was_decided_meanwhile_is_over_without_a_dead_end(self, at_work, database, clock, reviewers, ask):
        ask("den")
        for name in ("rob", "ronald"):
            given(database, clock, name, Decision.PASS)
        at_work.run()
        assert "decided or rewritten meanwhile" in shown(at_work)
        assert "<b>den</b>" in shown(press(at_work, "Take the next one"))

    def test_given_back_it_is_free_and_comes_last(self, at_work, ask, visit, reviewers):
        ask("den")
        assert "zoo is free for others" in shown(press(at_work, "Give it back"))
        assert "<b>den</b>" in shown(press(at_work, "Take the next one"))
        for name in ("rob", "ronald"):
            assert "<b>zoo</b>" in shown(press(visit("review", reviewers[name][0]), "Take the next one"))

    def test_not_more_people_than_are_needed_and_never_the_author_or_a_helper(
        self, visit, ask, reviewers, add_person, sign_in, database, clock
    ):
        author = add_person("anna", Role.ANNOTATOR, Role.REVIEWER)
        helper = add_person("hugo", Role.ANNOTATOR, Role.REVIEWER)
        _, revision = ask(author=author.id)
        with database.session() as session:
            draft = ItemDraft(
                author=author.id, item_id=revision.item_id, content={}, saved_by=helper.id, saved_at=clock.now,
                created_at=clock.now, closed_as="submitted", closed_at=clock.now,
            )  # fmt: skip
            session.add(draft)
        for name in ("anna", "hugo"):
            app = visit("review", sign_in(name)[0])
            assert "Nothing waits for you" in shown(app) and not [one for one in app.button if "Take" in one.label]
        for name in ("rita", "rob"):
            press(visit("review", reviewers[name][0]), "Take the next one")
        assert "Nothing waits for you" in shown(visit("review", reviewers["ronald"][0]))


class TestOthers:
    def test_an_open_case_shows_its_evidence_and_one_person_decides(self, visit, ask, reviewers, database, seeder):
        item, revision = ask(actions=(Action.SUBMIT,))
        unknown = Judgement(1, "checks@1", False, Decision.UNKNOWN, ("needs_a_person",), {"alike": "bells-7"})
        with database.session() as session:
            record_verdict(session, revision, unknown, seeder.clock)
        app = press(visit("review", reviewers["rita"][0]), "Take an open case")
        text = shown(app)
        assert "bells-7" in text and "What round 1 found" in text and '<li class="right">' in text
        decided(app, "pass")
        press(app, "Comment on a part, or suggest a text")
        app.toggle[0].set_value(True)
        app.run()
        app.text_area[1].input("See <image_1>. How many?")
        press(app, "Hand in")
        assert state(database) is ItemState.ROUND1_PASSED
        with database.reading() as session:
            by_person = session.exec(select(Verdict).where(Verdict.by_person)).one()  # type: ignore[arg-type]
        assert by_person.comment == "prompt: → See <image_1>. How many?"

    def test_a_maintainer_settles_what_three_could_not(self, visit, ask, reviewers, token, database, clock):
        ask()
        given(database, clock, "rita", Decision.PASS)
        given(database, clock, "rob", Decision.RETURN, codes=("ambiguous",))
        given(database, clock, "ronald", Decision.REJECT, codes=("wrong_key",))
        app = visit("review", token(Role.MAINTAINER))
        assert "Your decision is asked" in shown(app) and "To review you need the role" in shown(app)
        app = visit("review", token(Role.MAINTAINER), name="zoo")
        text = shown(app)
        assert "Rita" in text and "Ronald" in text and "the key is wrong" in text
        assert (
            "unknown"
            not in next(group for group in app.get("button_group") if group.key.startswith("decision")).options
        )
        assert "Choose what you decide first" in shown(press(app, "Hand in"))
        press(decided(app, "pass"), "Hand in")
        assert state(database) is ItemState.ACCEPTED
        assert "waits for no decision of yours" in shown(visit("review", token(Role.MAINTAINER), name="zoo"))

    def test_a_reviewer_opens_no_dispute_by_its_address(self, visit, ask, reviewers, database, clock):
        ask()
        for name, decision in (("rob", Decision.PASS), ("ronald", Decision.UNKNOWN)):
            given(database, clock, name, decision)
        text = shown(visit("review", reviewers["rita"][0], name="zoo"))
        assert "What the reviewers said" not in text and "Ronald" not in text

    def test_who_is_no_reviewer_is_refused(self, visit, token):
        assert "Your roles do not allow this" in shown(visit("review", token(Role.ANNOTATOR)))


class TestServices:
    def test_a_verdict_handed_in_twice_is_stored_once(self, ask, reviewers, database, clock, seeder):
        _, revision = ask(actions=(Action.SUBMIT,))
        with database.session() as session:
            record_verdict(session, revision, Judgement(1, "checks@1", False, Decision.UNKNOWN), seeder.clock)
        rita = reviewers["rita"][1]
        with database.session() as session:
            task = desk.take(session, rita, OPEN_CASE, clock)
        for _ in range(2):
            with database.session() as session:
                desk.hand_in(session, rita, "0" * 32, task, desk.Judged(Decision.PASS), clock)
        with database.reading() as session:
            assert len(session.exec(select(Verdict).where(Verdict.by_person)).all()) == 1  # type: ignore[arg-type]
        assert state(database) is ItemState.ROUND1_PASSED

    def test_another_s_task_by_its_id_is_nobody_s(self, ask, reviewers, database, clock):
        ask()
        with database.session() as session:
            task = desk.take(session, reviewers["rita"][1], REVIEW, clock)
        rob = reviewers["rob"][1]
        acts = [
            lambda session: desk.see_review(session, rob, task.assignment_id, clock),
            lambda session: desk.keep(session, rob, task.assignment_id, clock),
            lambda session: desk.give_back(session, rob, task.assignment_id, clock),
            lambda session: desk.answer(session, rob, task.assignment_id, desk.Stage.PARTIAL, "A", clock),
            lambda session: desk.hand_in(session, rob, "1" * 32, task, desk.Judged(Decision.PASS), clock),
        ]
        for act in acts:
            with pytest.raises(desk.TaskLost), database.session() as session:
                act(session)
        with database.reading() as session:
            assert desk.fate(session, rob, task.assignment_id) is None

    def test_another_answer_to_the_same_stage_is_told(self, ask, reviewers, database, clock, stored):
        ask()
        rita = reviewers["rita"][1]
        with database.session() as session:
            task = desk.take(session, rita, REVIEW, clock)
            for _ in range(2):
                desk.answer(session, rita, task.assignment_id, desk.Stage.PARTIAL, "A", clock)
        for stage, error in ((desk.Stage.PARTIAL, desk.AnsweredBefore), (desk.Stage.FULL, desk.NoAnswer)):
            with pytest.raises(error), database.session() as session:
                desk.answer(
                    session, rita, task.assignment_id, stage, "D" if stage is desk.Stage.PARTIAL else "Q", clock
                )
        assert (stored().partial_answer, stored().full_at) == ("A", None)

    def test_who_lost_the_role_writes_nothing_from_a_page_that_is_still_open(self, ask, reviewers, database, clock):
        from annotation_ui.permissions import NotAllowed

        ask()
        rita = reviewers["rita"][1]
        with database.session() as session:
            task = desk.take(session, rita, REVIEW, clock)
            get_user(session, "rita").roles = [Role.ANNOTATOR]
        with pytest.raises(NotAllowed), database.session() as session:
            desk.answer(session, rita, task.assignment_id, desk.Stage.PARTIAL, "A", clock)

    @pytest.mark.parametrize(
        ("judged", "error"),
        [
            (desk.Judged(None), desk.NoDecision),
            (desk.Judged(Decision.RETURN), desk.ReasonNeeded),
            (desk.Judged(Decision.PASS, ["ambiguous"]), desk.ReasonNeedless),
            (desk.Judged(Decision.PASS, (), [desk.Remark("prompt", "x" * 4001)]), desk.TooMuch),
            (
                desk.Judged(Decision.PASS, (), [desk.Remark("prompt", "", "a"), desk.Remark("prompt", "", "b")]),
                desk.TwoEdits,
            ),
            (desk.Judged(Decision.PASS, (), [desk.Remark("prompt", "a")] * 41), desk.TooMuch),
        ],
    )
    def test_what_cannot_be_a_verdict_is_told(self, judged, error, ask, reviewers, database, clock):
        ask()
        rita = reviewers["rita"][1]
        with database.session() as session:
            task = desk.take(session, rita, REVIEW, clock)
            for stage in (desk.Stage.PARTIAL, desk.Stage.FULL):
                desk.answer(session, rita, task.assignment_id, stage, "A", clock)
        with pytest.raises(error), database.session() as session:
            desk.hand_in(session, rita, "2" * 32, task, judged, clock)


def test_the_items_own_page_is_shut_while_it_is_judged_blind(visit, at_work, ask, reviewers, database):
    token, _ = reviewers["rita"]
    page = shown(visit("item", token, name="zoo"))
    assert "until then you judge it blind" in page
    assert "How many?" not in page and "/files/" not in page
    assert "How many?" in shown(visit("item", reviewers["rob"][0], name="zoo"))
