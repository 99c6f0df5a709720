"""What maintainers do with people and people with their own account, on each database."""

import threading

import pytest
from argon2 import PasswordHasher
from sqlmodel import select

from annotation_ui import accounts, managing
from annotation_ui.auth import Auth, DeadLink, SignInLocked, WrongCredentials, WrongOldPassword
from annotation_ui.forms import FormMisused, new_form_key
from annotation_ui.managing import Change, NewPerson, NobodyThere, NotWaiting, StaleAccount
from annotation_ui.oidc import Identity
from annotation_ui.outsiders import StillWaiting, Stranger, enter, link_own
from annotation_ui.permissions import AccountInactive, NotAllowed, Permission, authorize
from annotation_ui.profiles import BadProfile, PersonKind, Profile
from annotation_ui.views import people as view
from annotation_ui.words import words_in
from core.ids import utc_now
from core.settings import Oidc
from warehouse import events
from warehouse.database import Database
from warehouse.people import Role, get_user
from warehouse.tables import Event, User

PASSWORD, ANOTHER = "correct horse battery", "another long password"
EN = words_in("en")


@pytest.fixture
def database(database_url):
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def auth(database, clock):
    return Auth(database, b"k" * 32, clock, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def clock():
    return utc_now


@pytest.fixture
def ada(add_person, sign_in):
    """A maintainer's principal."""
    add_person("ada", Role.MAINTAINER)
    return sign_in("ada")[1]


@pytest.fixture
def change(database):
    """A form about somebody, as it is drawn now."""

    def drawn(name):
        with database.reading() as session:
            user = get_user(session, name)
            return Change(new_form_key(), user.id, managing.account_version(session, user.id))

    return drawn


@pytest.fixture
def waiting(database, ada):
    """Somebody whom the sign-in service sent."""
    with database.session() as session:
        user = User(name="wei@uni.test", display_name="Wei", active=False, external_id="https://id.test#1",
                    profile={accounts.WAITING: "2026-03-03"})  # fmt: skip
        session.add(user)
        session.flush()
        events.record(session, "sign-in-service", "user", user.id, "ask")
    return user


def row(database, name):
    with database.reading() as session:
        return get_user(session, name)


def new(name="mei", roles=(Role.ANNOTATOR,), **profile):
    return NewPerson(name, "", list(roles), Profile(**profile))


def test_somebody_is_added_once_and_the_last_link_works(database, auth, ada):
    key = new_form_key()
    links = []
    for _ in range(2):  # handed in twice
        with database.session() as session:
            person, link = managing.add_person(
                session, ada, key, new(kind=PersonKind.EXPERT, languages=("ZH", "zh"), dialects=(" Hakka ",)), auth
            )
            links.append(link)
    with database.reading() as session:
        assert [user.name for user in accounts.all_users(session)] == ["ada", "mei"]
        told = events.history(session, "user", person.id)
    assert [(event.action, event.actor) for event in told] == [
        ("create", ada.user_id), ("profile", ada.user_id), ("link", ada.user_id), ("link", ada.user_id),
    ]  # fmt: skip
    assert Profile.of(row(database, "mei").profile) == Profile(PersonKind.EXPERT, ("zh",), ("Hakka",))
    with pytest.raises(DeadLink):
        auth.set_up(links[0], PASSWORD)
    token = auth.set_up(links[1], PASSWORD).token
    assert auth.principal(token).name == "mei"
    with pytest.raises(DeadLink):
        auth.set_up(links[1], ANOTHER)


def test_a_link_is_used_by_one_of_many_at_once(database, auth, ada, add_person):
    mei = add_person("mei", Role.ANNOTATOR)
    link = auth.user_link(mei)
    outcomes = []

    def use(number):
        try:
            outcomes.append(auth.set_up(link, f"{PASSWORD} {number}").token)
        except DeadLink:
            outcomes.append(None)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 6 and sum(token is not None for token in outcomes) == 1


def test_a_link_dies_with_deactivation_and_is_not_revived(database, auth, ada, add_person, change):
    link = auth.user_link(add_person("mei", Role.ANNOTATOR))
    for active in (False, True):
        with database.session() as session:
            managing.switch(session, ada, change("mei"), active)
    with pytest.raises(DeadLink):
        auth.link_owner(link)


@pytest.mark.parametrize("roles", [(Role.ANNOTATOR, Role.REVIEWER), (Role.PARTICIPANT,)])
def test_only_maintainers_manage(database, auth, ada, add_person, sign_in, change, waiting, roles):
    add_person("mei", *roles)
    who = sign_in("mei")[1]
    acts = [
        lambda session: managing.add_person(session, who, new_form_key(), new("eve", [Role.MAINTAINER]), auth),
        lambda session: managing.new_link(session, who, ada.user_id, auth),
        lambda session: managing.change_roles(session, who, change("mei"), [Role.MAINTAINER]),
        lambda session: managing.change_profile(session, who, change("mei"), "x", Profile()),
        lambda session: managing.switch(session, who, change("ada"), False),
        lambda session: managing.let_in(session, who, change("wei@uni.test"), [Role.ANNOTATOR]),
        lambda session: managing.turn_away(session, who, change("wei@uni.test")),
        lambda session: managing.link_to(session, who, change("wei@uni.test"), who.user_id),
        lambda session: managing.unlink(session, who, change("mei")),
        lambda session: view.people_page(session, who, view.PeopleQuery(), None, EN),
        lambda session: view.person_detail(session, who, ada.user_id, None, EN),
        lambda session: view.known_people(session, who),
        lambda session: view.spoken_languages(session, who),
    ]
    for act in acts:
        with database.session() as session, pytest.raises(NotAllowed):
            act(session)


def test_a_maintainer_who_was_one_when_the_page_was_drawn_manages_no_more(database, auth, ada, add_person, sign_in):
    add_person("mei", Role.MAINTAINER)
    who = sign_in("mei")[1]
    with database.session() as session:
        accounts.set_roles(session, get_user(session, "mei"), [Role.REVIEWER])
    with database.session() as session, pytest.raises(NotAllowed):
        managing.new_link(session, who, ada.user_id, auth)
    with database.session() as session:
        accounts.set_active(session, get_user(session, "mei"), False)
    with database.session() as session, pytest.raises(AccountInactive):
        managing.new_link(session, who, ada.user_id, auth)


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(database, ada, add_person, change):
    add_person("mei", Role.ANNOTATOR)
    first, second = change("mei"), change("mei")
    with database.session() as session:
        managing.change_roles(session, ada, first, [Role.REVIEWER])
    with database.session() as session, pytest.raises(StaleAccount):
        managing.change_roles(session, ada, second, [Role.MAINTAINER])
    with database.session() as session:  # the first, handed in twice, is done once
        managing.change_roles(session, ada, first, [Role.REVIEWER])
    assert row(database, "mei").roles == ["reviewer"]
    with database.session() as session, pytest.raises(FormMisused):
        managing.switch(session, ada, first, False)
    with database.session() as session, pytest.raises(NobodyThere):
        managing.switch(session, ada, Change(new_form_key(), "nobody", 0), False)


def test_deactivation_ends_sessions_and_switching_on_revives_none(database, auth, ada, add_person, sign_in, change):
    add_person("mei", Role.ANNOTATOR)
    token, who = sign_in("mei")
    with database.session() as session:
        managing.switch(session, ada, change("mei"), False)
    assert auth.principal(token) is None
    with database.session() as session, pytest.raises(AccountInactive):
        authorize(session, who, Permission.AUTHOR)
    with database.session() as session:
        managing.switch(session, ada, change("mei"), True)
    assert auth.principal(token) is None


def test_of_two_maintainers_who_switch_each_other_off_at_once_one_stays(database, ada, add_person, sign_in, change):
    add_person("mei", Role.MAINTAINER)
    mei = sign_in("mei")[1]
    pairs = [(ada, change("mei")), (mei, change("ada"))]
    begun, outcomes = threading.Barrier(2), []

    def act(who, about):
        begun.wait()
        try:
            with database.session() as session:
                managing.switch(session, who, about, False)
            outcomes.append("done")
        except (accounts.LastMaintainer, AccountInactive, NotAllowed) as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=act, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["AccountInactive", "done"]


def test_who_waits_is_let_in_turned_away_or_linked(database, auth, ada, add_person, change, waiting):
    with database.session() as session, pytest.raises(accounts.NoRoles):
        managing.let_in(session, ada, change("wei@uni.test"), [])
    assert not row(database, "wei@uni.test").active
    with database.session() as session:
        managing.let_in(session, ada, change("wei@uni.test"), [Role.REVIEWER])
    let_in = row(database, "wei@uni.test")
    assert let_in.active and let_in.roles == ["reviewer"] and accounts.WAITING not in let_in.profile
    with database.session() as session, pytest.raises(NotWaiting):
        managing.turn_away(session, ada, change("wei@uni.test"))


def test_who_was_turned_away_waits_no_more(database, ada, change, waiting):
    with database.session() as session:
        managing.turn_away(session, ada, change("wei@uni.test"))
    turned = row(database, "wei@uni.test")
    assert not turned.active and not accounts.is_waiting(turned)
    with database.session() as session, pytest.raises(accounts.NoRoles):
        managing.switch(session, ada, change("wei@uni.test"), True)


def test_who_waits_may_be_somebody_known(database, auth, ada, add_person, change, waiting):
    mei = add_person("mei", Role.ANNOTATOR)
    with database.session() as session:
        owner = managing.link_to(session, ada, change("wei@uni.test"), mei.id)
    assert owner.external_id == "https://id.test#1" and row(database, "wei@uni.test").external_id is None
    with database.session() as session:
        session.add(User(name="x", display_name="X", active=False, external_id="https://id.test#2",
                         profile={accounts.WAITING: "2026"}))  # fmt: skip
    with database.session() as session, pytest.raises(accounts.HasExternalAccount):
        managing.link_to(session, ada, change("x"), mei.id)
    token = auth.sign_in("mei", PASSWORD).token
    with database.session() as session:
        managing.unlink(session, ada, change("mei"))
    assert row(database, "mei").external_id is None and auth.principal(token) is None


def test_ones_own_password_needs_the_old_one_and_ends_the_other_sessions(database, auth, ada, add_person, sign_in):
    add_person("mei", Role.ANNOTATOR)
    here, there = sign_in("mei")[0], sign_in("mei")[0]
    with pytest.raises(WrongOldPassword):
        auth.change_password(here, "wrong", ANOTHER)
    with pytest.raises(accounts.WeakPassword):
        auth.change_password(here, PASSWORD, "short")
    assert auth.principal(there) is not None
    auth.change_password(here, PASSWORD, ANOTHER)
    assert auth.principal(here) is not None and auth.principal(there) is None
    with pytest.raises(WrongCredentials):
        auth.sign_in("mei", PASSWORD)
    later = auth.sign_in("mei", ANOTHER).token
    auth.change_password(later, ANOTHER, PASSWORD)
    assert auth.principal(here) is None, "kept once is not kept for ever"
    for nobody in (None, "x", there):
        with pytest.raises(AccountInactive):
            auth.change_password(nobody, PASSWORD, ANOTHER)
    with database.reading() as session:
        told = [event.model_dump_json() for event in session.exec(select(Event))]
    assert not any(later in text or ANOTHER in text for text in told)


def test_guessing_the_old_password_in_an_open_session_is_throttled(auth, ada, add_person, sign_in):
    add_person("mei", Role.ANNOTATOR)
    token = sign_in("mei")[0]
    for _ in range(5):
        with pytest.raises(WrongOldPassword):
            auth.change_password(token, "wrong", ANOTHER)
    with pytest.raises(SignInLocked):
        auth.change_password(token, PASSWORD, ANOTHER)


def test_leaving_everywhere_ends_all_sessions_of_ones_own_only(database, auth, ada, add_person, sign_in):
    add_person("mei", Role.ANNOTATOR)
    tokens = [sign_in("mei")[0] for _ in range(3)]
    kept = sign_in("ada")[0]
    with database.session() as session:
        managing.leave_everywhere(session, auth.principal(tokens[0]), new_form_key())
    assert [auth.principal(token) for token in tokens] == [None] * 3
    assert auth.principal(kept) is not None
    assert auth.principal(sign_in("mei")[0]) is not None


def test_people_change_their_own_name_and_languages_but_not_their_kind(database, ada, add_person, sign_in, change):
    add_person("mei", Role.ANNOTATOR)
    who, own = sign_in("mei")[1], Profile(PersonKind.EXPERT, ("yue",), ("Hakka",))
    with database.session() as session:
        managing.change_own(session, who, change("mei"), "  Mei\nLin ", own)
    mei = row(database, "mei")
    assert (mei.display_name, Profile.of(mei.profile)) == ("Mei Lin", Profile(None, ("yue",), ("Hakka",)))
    with database.session() as session, pytest.raises(BadProfile):
        managing.change_own(session, who, change("mei"), "Mei", Profile(None, ("not a code",)))


@pytest.mark.parametrize(
    ("taken", "wanted"), [("Müller", "MÜLLER"), ("mei", "ｍｅｉ"), ("é", "é"), ("Straße", "STRASSE"), ("mei", " Mei ")]
)
def test_names_that_look_alike_are_one_name(database, ada, taken, wanted):
    with database.session() as session:
        accounts.create_user(session, taken, [Role.ANNOTATOR])
    with database.session() as session, pytest.raises(accounts.UserNameTaken):
        accounts.create_user(session, wanted, [Role.ANNOTATOR])


def test_other_ways_to_write_a_name_give_no_further_tries(auth, ada, add_person):
    add_person("mei", Role.ANNOTATOR)
    for name in ("mei", "ｍｅｉ", " mei", "mei ", "ⓜei"):
        with pytest.raises(WrongCredentials):
            auth.sign_in(name, "wrong")
    with pytest.raises(SignInLocked):
        auth.sign_in("mei", PASSWORD)


def test_a_name_that_nobody_has_is_locked_like_any_other(auth, ada, add_person):
    """Else the sixth try would tell who is here."""
    add_person("mei", Role.ANNOTATOR)
    told = {}
    for name in ("mei", "nobody"):
        told[name] = []
        for _ in range(7):
            with pytest.raises((WrongCredentials, SignInLocked)) as caught:
                auth.sign_in(name, "wrong")
            told[name].append(str(caught.value))
    assert told["mei"] == told["nobody"] and "Too many tries" in told["mei"][-1]


def test_the_list_is_narrowed_and_counts_by_profile(database, ada, add_person, change, waiting, clock):
    add_person("mei", Role.ANNOTATOR)
    with database.session() as session:
        managing.change_profile(session, ada, change("mei"), "Mei", Profile(PersonKind.CROWD, ("zh",), ("Hakka",)))

    def names(**query):
        with database.reading() as session:
            return [found.name for found in view.people_page(session, ada, view.PeopleQuery(**query), clock(), EN).rows]

    assert names() == ["wei@uni.test", "ada", "mei"]
    assert names(kind="crowd") == names(language="zh") == names(text="MEI") == names(role=Role.ANNOTATOR) == ["mei"]
    assert names(state=view.AccountState.WAITING) == ["wei@uni.test"]
    assert names(kind=view.NO_KIND) == ["wei@uni.test", "ada"]
    with database.reading() as session:
        page = view.people_page(session, ada, view.PeopleQuery(), clock(), EN)
        detail = view.person_detail(session, ada, row(database, "mei").id, clock(), EN)
        spoken = view.spoken_languages(session, ada)
    assert [(label, count) for label, count, _ in page.by_kind] == [("Crowd", 1), ("No profile", 2)]
    assert spoken == ["zh"]
    assert page.rows[2].profile == "Crowd · Chinese, Hakka"
    assert [line.what for line in detail.history] == ["changed the profile", "added this account"]
    rows = list(view.work_rows(database, ada, view.PeopleQuery(kind="crowd"), clock(), EN))
    assert len(rows) == 1 and len(rows[0]) == len(view.work_columns(EN))


OIDC = Oidc(issuer="https://id.test", client_id="studio", label="Uni", new_people="waiting")
WEI = Identity("https://id.test", "7", "wei@uni.test", "Wei")


def test_a_stranger_in_many_windows_at_once_waits_once(database, auth, clock):
    outcomes = []

    def come():
        try:
            enter(database, auth, OIDC, WEI, clock)
        except StillWaiting:
            outcomes.append("waits")

    threads = [threading.Thread(target=come) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["waits"] * 6
    with database.reading() as session:
        assert [user.name for user in accounts.all_users(session)] == ["wei@uni.test"]


def test_an_outside_account_enters_only_where_it_is_linked(database, auth, ada, add_person, sign_in, change, clock):
    add_person("mei", Role.ANNOTATOR)
    who = sign_in("mei")[1]
    with pytest.raises(Stranger):
        enter(database, auth, OIDC.model_copy(update={"new_people": "refuse"}), WEI, clock)
    with pytest.raises(StillWaiting):
        enter(database, auth, OIDC, WEI, clock)
    with database.session() as session:
        link_own(session, who, OIDC, WEI, clock)
    token = enter(database, auth, OIDC, WEI, clock).token
    assert auth.principal(token).name == "mei"
    with database.session() as session:
        managing.unlink(session, ada, change("mei"))
    assert auth.principal(token) is None
    with database.session() as session:
        accounts.set_active(session, get_user(session, "mei"), False)
    with database.session() as session, pytest.raises(AccountInactive):
        link_own(session, who, OIDC, WEI, clock)
