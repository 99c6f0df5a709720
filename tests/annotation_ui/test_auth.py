"""Signing in, throttling, sessions, one-time links, accounts."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher
from sqlmodel import select

from annotation_ui import accounts
from annotation_ui.auth import Auth, DeadLink, SignInLocked, WrongCredentials
from annotation_ui.permissions import AccountInactive, NotAllowed, Permission, authorize, require
from core.errors import UnknownName
from warehouse.people import Role, get_user
from warehouse.tables import Event, User

PASSWORD = "correct horse battery"


def row(database, name):
    with database.reading() as session:
        return get_user(session, name)


def test_sign_in_gives_a_session_that_names_the_person(auth, people):
    token = auth.sign_in("reviewer", PASSWORD).token
    who = auth.principal(token)
    assert (who.name, who.display_name, who.roles) == ("reviewer", "Reviewer", {Role.REVIEWER})


@pytest.mark.parametrize("token", [None, "", "x", "a" * 43])
def test_unknown_tokens_are_nobody(auth, people, token):
    assert auth.principal(token) is None


def test_neither_passwords_nor_tokens_are_stored(auth, people, database):
    token = auth.sign_in("reviewer", PASSWORD).token
    with database.reading() as session:
        users = [user.model_dump_json() for user in session.exec(select(User))]
        events = [event.model_dump_json() for event in session.exec(select(Event))]
    assert row(database, "reviewer").password_hash.startswith("$argon2id$")
    assert not any(PASSWORD in text or token in text for text in users + events)


def test_wrong_name_and_wrong_password_are_told_alike(auth, people):
    with pytest.raises(WrongCredentials) as unknown:
        auth.sign_in("nobody", PASSWORD)
    with pytest.raises(WrongCredentials) as wrong:
        auth.sign_in("reviewer", "not the password")
    assert str(unknown.value) == str(wrong.value)


def test_fifth_wrong_password_locks_the_name_even_for_the_right_one(auth, people, clock):
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            auth.sign_in("reviewer", "wrong")
    with pytest.raises(SignInLocked, match="in 1 min"):
        auth.sign_in("reviewer", PASSWORD)
    auth.sign_in("annotator", PASSWORD)  # others are not locked out
    clock.turn(seconds=61)
    assert auth.sign_in("reviewer", PASSWORD).token


def test_each_wrong_password_after_a_lock_doubles_it_up_to_an_hour(auth, people, clock, database):
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            auth.sign_in("reviewer", "wrong")
    minutes = []
    for _ in range(8):
        clock.now = row(database, "reviewer").locked_until
        with pytest.raises(WrongCredentials):
            auth.sign_in("reviewer", "wrong")
        minutes.append((row(database, "reviewer").locked_until - clock.now).total_seconds() / 60)
    assert minutes == [2, 4, 8, 16, 32, 60, 60, 60]


def test_a_right_password_forgets_the_wrong_ones(auth, people):
    for _ in range(3):
        for _ in range(4):
            with pytest.raises(WrongCredentials):
                auth.sign_in("reviewer", "wrong")
        auth.sign_in("reviewer", PASSWORD)


def test_many_tries_at_once_are_no_way_around_the_lock(auth, people):
    outcomes = []

    def guess():
        try:
            auth.sign_in("reviewer", "wrong")
        except (WrongCredentials, SignInLocked) as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=guess) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(WrongCredentials) == 5
    assert outcomes.count(SignInLocked) == 7


def test_passwords_are_looked_at_by_no_more_at_once_than_there_are_processors(people, database, clock, monkeypatch):
    monkeypatch.setattr("annotation_ui.auth.os.cpu_count", lambda: 2)
    together, most, both = set(), [], threading.Barrier(2)

    class Slow(PasswordHasher):
        def verify(self, *args):
            together.add(threading.get_ident())
            both.wait(timeout=30)  # two can always be here together
            most.append(len(together))
            both.wait(timeout=30)
            together.discard(threading.get_ident())
            return super().verify(*args)

    auth = Auth(database, b"k" * 32, clock, Slow(time_cost=1, memory_cost=8, parallelism=1))
    with ThreadPoolExecutor(6) as pool:
        signed_in = list(pool.map(lambda _: auth.sign_in("reviewer", PASSWORD).token, range(4)))
    assert len(set(signed_in)) == 4
    assert set(most) == {2}


def test_signing_out_ends_this_session_and_no_other(auth, people):
    first, second = auth.sign_in("reviewer", PASSWORD).token, auth.sign_in("reviewer", PASSWORD).token
    auth.sign_out(first)
    assert auth.principal(first) is None
    assert auth.principal(second) is not None


def test_a_session_ends_after_a_week(auth, people, clock):
    token = auth.sign_in("reviewer", PASSWORD).token
    clock.turn(days=7, seconds=-1)
    assert auth.principal(token) is not None
    clock.turn(seconds=1)
    assert auth.principal(token) is None


def test_deactivation_works_at_once(auth, people, database):
    token = auth.sign_in("reviewer", PASSWORD).token
    who = auth.principal(token)
    with database.session() as session:
        accounts.set_active(session, get_user(session, "reviewer"), False)
    assert auth.principal(token) is None
    with pytest.raises(AccountInactive):
        auth.sign_in("reviewer", PASSWORD)
    with database.session() as session, pytest.raises(AccountInactive):
        authorize(session, who, Permission.CURATE)


def test_a_role_taken_away_is_gone_for_a_page_that_was_drawn_before(auth, people, database, sign_in):
    _, who = sign_in("annotator")
    with database.session() as session:
        accounts.set_roles(session, get_user(session, "annotator"), [Role.PARTICIPANT])
    assert who.may(Permission.CURATE)
    with database.session() as session, pytest.raises(NotAllowed):
        authorize(session, who, Permission.CURATE)


def test_the_first_link_makes_a_maintainer_once(auth, database):
    link, twin = auth.first_link(), auth.first_link()
    token = auth.set_up(link, PASSWORD, "ada", "Ada Lind").token
    who = auth.principal(token)
    assert who.display_name == "Ada Lind"
    assert who.roles == {Role.ANNOTATOR, Role.REVIEWER, Role.MAINTAINER}
    assert auth.first_link() is None
    for used in (link, twin):
        with pytest.raises(DeadLink):
            auth.set_up(used, PASSWORD, "eve")
    with database.reading() as session:
        assert [user.name for user in accounts.all_users(session)] == ["ada"]


def test_a_link_of_ones_own_sets_the_password_once_and_ends_older_sessions(auth, people, database):
    old = auth.sign_in("reviewer", PASSWORD).token
    link = auth.user_link(row(database, "reviewer"))
    new = auth.set_up(link, "another long password").token
    assert auth.principal(old) is None
    assert auth.principal(new).name == "reviewer"
    with pytest.raises(DeadLink):
        auth.set_up(link, "yet another password")
    with pytest.raises(WrongCredentials):
        auth.sign_in("reviewer", PASSWORD)
    auth.sign_in("reviewer", "another long password")


def test_links_expire_and_cannot_be_altered(auth, people, database, clock):
    link = auth.user_link(row(database, "reviewer"))
    for bad in ("", "x.y", link[:-2], link[::-1]):
        with pytest.raises(DeadLink):
            auth.link_owner(bad)
    clock.turn(days=3)
    with pytest.raises(DeadLink):
        auth.link_owner(link)


def test_a_link_does_not_open_a_deactivated_account(auth, people, database):
    link = auth.user_link(row(database, "reviewer"))
    with database.session() as session:
        accounts.set_active(session, get_user(session, "reviewer"), False)
    with pytest.raises(DeadLink):
        auth.link_owner(link)


def test_somebody_without_a_password_cannot_sign_in(auth, database):
    with database.session() as session:
        accounts.create_user(session, "new", [Role.ANNOTATOR])
    for password in ("", "None", PASSWORD):
        with pytest.raises(WrongCredentials):
            auth.sign_in("new", password)


@pytest.mark.parametrize("password", ["", "short", "ninechars", "a-name-of-somebody", "A-Name-Of-Somebody", "x" * 1025])
def test_weak_passwords_are_refused(auth, password):
    with pytest.raises(accounts.WeakPassword):
        auth.hash_password("a-name-of-somebody", password)


@pytest.mark.parametrize("name", ["", "two words", "x" * 65, "<b>", "a\nb", "../up"])
def test_bad_sign_in_names_are_refused(database, name):
    with database.session() as session, pytest.raises(accounts.BadUserName):
        accounts.create_user(session, name, [Role.ANNOTATOR])


def test_chinese_names_are_good_and_names_differ_in_more_than_case(database):
    with database.session() as session:
        accounts.create_user(session, "李梅", [Role.ANNOTATOR])
        accounts.create_user(session, "Mei", [Role.ANNOTATOR])
    with database.session() as session, pytest.raises(accounts.UserNameTaken):
        accounts.create_user(session, "mei", [Role.ANNOTATOR])


def test_the_last_maintainer_stays(people, database):
    with database.session() as session:
        maintainer = get_user(session, "maintainer")
        with pytest.raises(accounts.LastMaintainer):
            accounts.set_active(session, maintainer, False)
        with pytest.raises(accounts.LastMaintainer):
            accounts.set_roles(session, maintainer, [Role.REVIEWER])
        accounts.set_roles(session, get_user(session, "reviewer"), [Role.MAINTAINER])
        accounts.set_active(session, maintainer, False)
    assert not row(database, "maintainer").active


def test_who_does_not_exist_is_named_with_the_nearest(people, database):
    with database.reading() as session, pytest.raises(UnknownName, match="did you mean 'reviewer'"):
        get_user(session, "reviewr")


def test_roles_allow_what_they_are_for(principal_of):
    may = {role: {permission.value for permission in Permission if principal_of(role).may(permission)} for role in Role}
    assert may[Role.PARTICIPANT] == {"take_exam"}
    assert may[Role.MAINTAINER] == {permission.value for permission in Permission}
    assert "author" in may[Role.ANNOTATOR] and "review" not in may[Role.ANNOTATOR]
    assert "review" in may[Role.REVIEWER] and "author" not in may[Role.REVIEWER]
    assert "see_every_key" not in may[Role.ANNOTATOR] | may[Role.REVIEWER]
    with pytest.raises(NotAllowed):
        require(principal_of(Role.PARTICIPANT), Permission.SEE_LIBRARY)
