"""The pages People, Person and My account in Streamlit's own test runner, and what an open socket may still do."""

import re
from datetime import timedelta

import pytest
from sqlmodel import Session, select
from streamlit.proto.BackMsg_pb2 import BackMsg

from annotation_ui import accounts, managing
from annotation_ui.auth import DeadLink, WrongCredentials
from annotation_ui.forms import new_form_key
from annotation_ui.managing import Change
from annotation_ui.server import redraw_only
from annotation_ui.views.work import together, work_by_person, work_words
from annotation_ui.words import words_in
from warehouse import events
from warehouse.people import Role, get_user
from warehouse.tables import Assignment, ItemRevision, Review, User

PASSWORD, ANOTHER = "correct horse battery", "another long password"
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) :red[**b**] $x$ {0} {name}"
EN = words_in("en")


def shown(app):
    return "\n".join(element.proto.body for element in app.get("html"))


def button(app, label):
    return next(found for found in app.button if found.label == label)


def field(app, label):
    return next(found for found in app.text_input if found.label == label)


def link_of(app):
    """The token of the link that is shown, or None."""
    found = re.search(r"/auth/link/(\S+)", "\n".join(code.value for code in app.code))
    return found.group(1) if found else None


def find(database, name):
    with database.reading() as session:
        return get_user(session, name)


def test_somebody_is_added_and_their_link_is_shown_once(visit, token, database, auth):
    app = visit("people", token())
    field(app, "Name to sign in with").input("mei")
    field(app, "Name that others see").input(ATTACK)
    button(app, "Add and make a link").click().run()
    assert not app.exception
    link = link_of(app)
    assert auth.link_owner(link).name == "mei" and "was added" in shown(app)
    assert "<script" not in shown(app)
    assert field(app, "Name to sign in with").value == "", "the form is empty again"
    app.run()
    assert link_of(app) is None
    assert find(database, "mei").roles == ["annotator"]


def test_a_mistake_keeps_what_was_typed(visit, token):
    app = visit("people", token())
    field(app, "Name to sign in with").input("annotator")
    button(app, "Add and make a link").click().run()
    assert "is taken" in shown(app) and link_of(app) is None
    assert field(app, "Name to sign in with").value == "annotator"


def test_roles_profile_and_state_are_changed(visit, token, database, people):
    mei = people[Role.ANNOTATOR]
    app = visit("person", token(), id=mei.id)
    app.get("button_group")[0].set_value([Role.REVIEWER])
    button(app, "Save the roles").click().run()
    assert not app.exception and "The roles are saved" in shown(app)
    field(app, "Name that others see").input("Mei Lin")
    app.multiselect[0].set_value(["zh"])
    button(app, "Save the profile").click().run()
    button(app, "Deactivate this account").click().run()
    assert "The account is deactivated" in shown(app)
    stored = find(database, "annotator")
    assert (stored.roles, stored.display_name, stored.active) == (["reviewer"], "Mei Lin", False)
    assert stored.profile["languages"] == ["zh"]
    button(app, "Activate").click().run()
    assert find(database, "annotator").active


def test_a_page_that_is_old_overwrites_nothing(visit, token, database, people):
    app = visit("person", token(), id=people[Role.ANNOTATOR].id)
    with database.session() as session:
        accounts.set_roles(session, get_user(session, "annotator"), [Role.REVIEWER])
    app.get("button_group")[0].set_value([Role.MAINTAINER])
    button(app, "Save the roles").click().run()
    assert "changed meanwhile" in shown(app)
    assert find(database, "annotator").roles == ["reviewer"]
    button(app, "Save the roles").click().run()  # what stands there now is what is stored
    assert find(database, "annotator").roles == ["reviewer"]


def test_the_last_maintainer_is_told_so(visit, token, people, database):
    app = visit("person", token(), id=people[Role.MAINTAINER].id)
    button(app, "Deactivate this account").click().run()
    assert "only maintainer" in shown(app) and find(database, "maintainer").active


def test_a_new_link_makes_the_old_one_useless(visit, token, people, auth):
    old = auth.user_link(people[Role.ANNOTATOR])
    app = visit("person", token(), id=people[Role.ANNOTATOR].id)
    button(app, "New one-time link").click().run()
    assert auth.link_owner(link_of(app)).name == "annotator"
    with pytest.raises(DeadLink):
        auth.link_owner(old)


def test_who_waits_is_let_in(visit, token, database):
    with database.session() as session:
        user = User(name="wei@uni.test", display_name=ATTACK, active=False, external_id="https://id.test#1",
                    profile={accounts.WAITING: "2026-03-03"})  # fmt: skip
        session.add(user)
        session.flush()
        events.record(session, "sign-in-service", "user", user.id, "ask")
    assert "Waits to be let in" in shown(visit("people", token()))
    app = visit("person", token(), id=user.id)
    assert "<script" not in shown(app)
    button(app, "Let in").click().run()
    assert find(database, "wei@uni.test").active and "may sign in now" in shown(app)


@pytest.mark.parametrize("role", [Role.ANNOTATOR, Role.REVIEWER, Role.PARTICIPANT])
@pytest.mark.parametrize("page", ["people", "person"])
def test_others_see_nobody(visit, token, people, role, page):
    app = visit(page, token(role), id=people[Role.MAINTAINER].id)
    assert "Your roles do not allow this" in shown(app) and not app.text_input


def test_an_id_of_nobody_is_told(visit, token):
    for nobody in ("", "x", "' OR 1=1"):
        assert "no such person" in shown(visit("person", token(), id=nobody))


def test_everybody_has_an_account_page_even_participants(visit, token):
    for role in Role:
        assert "My account" in shown(visit("account", token(role)))


def test_the_password_is_changed_with_the_old_one(visit, token, auth):
    entry = token(Role.ANNOTATOR)
    other = auth.sign_in("annotator", PASSWORD).token
    app = visit("account", entry)

    def change(old, new, again):
        field(app, "Old password").input(old)
        field(app, "New password, at least 10 characters").input(new)
        field(app, "The same password again").input(again)
        button(app, "Change the password").click().run()
        assert not app.exception
        assert field(app, "Old password").value == ""
        assert not any(word in repr(app.session_state) for word in (PASSWORD, ANOTHER))

    change(PASSWORD, ANOTHER, "something else")
    assert "not the same" in shown(app)
    change("wrong password", ANOTHER, ANOTHER)
    assert "old password is not right" in shown(app)
    change(PASSWORD, ANOTHER, ANOTHER)
    assert "The password is changed" in shown(app)
    assert auth.principal(entry) is not None and auth.principal(other) is None
    with pytest.raises(WrongCredentials):
        auth.sign_in("annotator", PASSWORD)


def test_the_language_is_changed_here_and_in_the_sidebar(visit, token, database):
    app = visit("account", token())
    app.radio[0].set_value("zh").run()
    assert "我的账号" in shown(app)
    app.run()
    assert find(database, "maintainer").profile["language"] == "zh"


def test_signing_out_everywhere_ends_this_page_too(visit, token, auth):
    entry = token()
    app = visit("account", entry)
    button(app, "Sign out everywhere").click().run()
    assert "/auth/sign-in" in shown(app) and auth.principal(entry) is None


def test_pages_in_chinese_hold_no_english(visit, token, database, people):
    with database.session() as session:
        accounts.set_language(session, people[Role.MAINTAINER].id, "zh")
    entry = token()
    for page, query in (("people", {}), ("person", {"id": people[Role.ANNOTATOR].id}), ("account", {})):
        app = visit(page, entry, **query)
        labels = [
            found.label for kind in ("button", "selectbox", "text_input", "multiselect") for found in app.get(kind)
        ]
        assert labels and not [label for label in labels if re.search("[A-Za-z]{3}", label)]


def test_work_is_counted_from_what_is_stored(seed, studio, database, people, principal_of):
    author, reviewer = people[Role.ANNOTATOR], people[Role.REVIEWER]
    seed.fill(studio.workspace.project.root, "annotator", reviewer.id)
    with database.session() as session:
        lease = Assignment(task_kind="review", task_id="x", user_id=reviewer.id, expires_at=seed.START)
        session.add(lease)
        session.flush()
        revisions = session.exec(select(ItemRevision.id)).all()[:3]
        for minutes, revision in zip((2, 4, 60), revisions, strict=True):
            session.add(Review(revision_id=revision, reviewer="reviewer", assignment_id=lease.id,
                               started_at=seed.START, finished_at=seed.START + timedelta(minutes=minutes)))  # fmt: skip
        events.record(session, "annotator", "recording", "take", "record")
        events.record(session, author.id, "recording", "take-2", "record")
        events.record(session, author.id, "recording", "take-2", "accept")
        session.add(User(name="bystander", display_name="B"))
    with database.reading() as session:
        users = accounts.all_users(session)
        work = work_by_person(session, users)
    wrote = work[author.id]
    assert (wrote.written, wrote.passed, wrote.decided, wrote.returns, wrote.recordings) == (12, 4, 6, 1, 2)
    words = work_words(wrote, EN)
    assert (words.pass_rate, words.interval) == ("66.7%", "30.0% to 90.3%, of 6")
    assert (work[reviewer.id].reviews, work_words(work[reviewer.id], EN).review_time) == (3, "4 minutes")
    total = together(work.values())
    assert (total.written, total.reviews, total.recordings) == (12, 3, 2)
    empty = work_words(work[find(database, "bystander").id], EN)
    assert set(vars(empty).values()) == {""}


def test_a_message_of_an_ended_session_only_draws_the_page_anew():
    sent = BackMsg()
    sent.rerun_script.page_script_hash = "the page"
    sent.rerun_script.query_string = "id=1"
    sent.rerun_script.fragment_id = "a part that asks nobody who is there"
    sent.rerun_script.widget_states.widgets.add(id="a button", trigger_value=True)
    bare = BackMsg.FromString(redraw_only(sent.SerializeToString()))
    assert bare.rerun_script.page_script_hash == "the page" and bare.rerun_script.query_string == "id=1"
    assert not bare.rerun_script.fragment_id and not bare.rerun_script.widget_states.widgets
    clear = BackMsg(clear_cache=True).SerializeToString()
    for other in (clear, b"", b"\xff\xff"):
        assert BackMsg.FromString(redraw_only(other)).WhichOneof("type") == "rerun_script"


def test_changes_of_two_people_are_not_mixed_up(database, people, principal_of):
    """A form's key, handed in for another person, does nothing to them."""
    who = principal_of(Role.MAINTAINER)

    def seen(session: Session, role):
        return managing.account_version(session, people[role].id)

    with database.session() as session:
        change = Change(new_form_key(), people[Role.ANNOTATOR].id, seen(session, Role.ANNOTATOR))
        managing.switch(session, who, change, False)
        again = Change(change.key, people[Role.REVIEWER].id, seen(session, Role.REVIEWER))
        managing.switch(session, who, again, False)
    assert find(database, "reviewer").active
