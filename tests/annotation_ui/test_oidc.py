"""Signing in through a service that speaks OpenID Connect: a real one on loopback, right and misbehaving."""

import base64
import importlib.util
import re
import shutil
import time
from pathlib import Path

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey
from sqlmodel import select
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from annotation_ui import accounts
from annotation_ui.auth_routes import AuthRoutes
from annotation_ui.oidc_routes import OidcRoutes
from annotation_ui.server import Door
from annotation_ui.studio import open_studio
from warehouse import events
from warehouse.people import Role, get_user
from warehouse.tables import User

URL = "https://studio.test"
PASSWORD = "correct horse battery"
HTML = {"Accept": "text/html"}
ISSUER_AND_SUBJECT = "{issuer}#u-1"


def _load():
    spec = importlib.util.spec_from_file_location("oidc_provider", Path(__file__).parent / "oidc_provider.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def service():
    return _load()


@pytest.fixture
def provider(service):
    with service.running() as running:
        yield running


@pytest.fixture
def more():
    """Lines for the table `[oidc]`."""
    return ""


@pytest.fixture
def studio(tmp_path, new_project, clock, provider, service, more):
    shutil.copytree(new_project, tmp_path / "project")
    file = tmp_path / "project" / "interplay.toml"
    file.write_text(
        f'studio_url = "{URL}"\n{file.read_text()}\n[oidc]\nissuer = "{provider.issuer}"\nlabel = "Uni"\n'
        f'client_id = "{service.CLIENT_ID}"\nclient_secret = "{service.CLIENT_SECRET}"\n{more}\n'
    )
    with open_studio(tmp_path / "project", clock) as opened:
        yield opened


@pytest.fixture
def browser(studio, auth):
    """A browser before the studio: a client that keeps cookies."""
    door = AuthRoutes(studio, auth)
    inside = Route("/{path:path}", lambda request: HTMLResponse("inside"))
    app = Starlette(
        routes=[*door.routes(), *OidcRoutes(studio, auth, door).routes(), inside],
        middleware=[Middleware(Door, auth=auth, cookie_name=studio.cookie_name)],
    )
    return lambda: TestClient(app, base_url=URL, follow_redirects=False)


@pytest.fixture
def client(browser):
    return browser()


def there(client, path="/auth/oidc", post=False):
    """To the service and back as far as the address that it sends the browser to."""
    sent = client.post(path, headers={"Origin": URL}) if post else client.get(path)
    assert sent.status_code == 302, sent.text
    back = httpx.get(sent.headers["location"])
    assert back.headers["location"].startswith(f"{URL}/auth/oidc/callback?")
    return back.headers["location"].removeprefix(URL)


def come(client, path="/auth/oidc"):
    return client.get(there(client, path))


def problem(answer):
    assert answer.status_code == 400
    return re.search(r'role="alert">([^<]*)<', answer.text).group(1)


@pytest.fixture
def known(people, database, provider):
    """The reviewer's account, which the service's account opens."""
    with database.session() as session:
        user = get_user(session, "reviewer")
        accounts.link_external(session, user, ISSUER_AND_SUBJECT.format(issuer=provider.issuer), "test")
        return user


def told(database, user):
    with database.reading() as session:
        return [event.action for event in events.history(session, "user", user.id)]


def test_a_linked_person_enters_a_session_of_the_studio(client, known, auth, studio, provider):
    answer = come(client, "/auth/oidc?next=/items%3Fstate%3Ddraft")
    assert answer.headers["location"] == "/items?state=draft"
    who = auth.principal(client.cookies[studio.cookie_name])
    assert (who.name, who.roles) == ("reviewer", {Role.REVIEWER})
    flags = next(value for value in answer.headers.get_list("set-cookie") if value.startswith(f"{studio.cookie_name}="))
    assert {"HttpOnly", "SameSite=lax", "Secure", "Path=/"} <= set(flags.split("; "))
    asked = provider.asked[0]
    assert (asked["redirect_uri"], asked["response_type"], asked["code_challenge_method"]) == (
        f"{URL}/auth/oidc/callback", "code", "S256",
    )  # fmt: skip
    assert asked["nonce"] and asked["state"] and set(asked["scope"].split()) == {"openid", "email", "profile"}


def test_the_callback_does_not_depend_on_the_host_that_a_request_names(client, known, provider):
    client.get("/auth/oidc", headers={"Host": "evil.test", "X-Forwarded-Host": "evil.test"})
    sent = client.get("/auth/oidc", headers={"Host": "evil.test"})
    assert "redirect_uri=https%3A%2F%2Fstudio.test%2Fauth%2Foidc%2Fcallback" in sent.headers["location"]


def test_deactivation_ends_what_the_service_opened(client, known, auth, studio, database):
    come(client)
    token = client.cookies[studio.cookie_name]
    with database.session() as session:
        accounts.set_active(session, get_user(session, "reviewer"), False)
    assert auth.principal(token) is None
    assert client.get("/", headers=HTML).status_code == 303
    assert "not active" in problem(come(client))
    with database.session() as session:
        accounts.set_active(session, get_user(session, "reviewer"), True)
    assert auth.principal(token) is None, "switching on again revives no old session"


@pytest.mark.parametrize("onward", ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)"])
def test_the_way_back_leads_to_no_other_site(client, known, onward):
    assert client.get(there(client, f"/auth/oidc?next={onward}")).headers["location"] == "/"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ({"nonce": "another"}, "does not prove"),
        ({"nonce": None}, "does not prove"),
        ({"aud": "another-client"}, "does not prove"),
        ({"aud": ["studio", "another-client"]}, "does not prove"),
        ({"aud": None}, "does not prove"),
        ({"iss": "https://evil.test"}, "does not prove"),
        ({"iss": None}, "does not prove"),
        ({"sub": None}, "does not prove"),
        ({"azp": "another-client"}, "does not prove"),
        ({"exp": 1_000_000_000}, "clocks"),
        ({"exp": None}, "does not prove"),
        ({"iat": 4_000_000_000}, "clocks"),
        ({"nbf": 4_000_000_000}, "clocks"),
        ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "does not prove"),
    ],
)
def test_a_token_that_proves_nothing_lets_nobody_in(client, known, provider, spoil, said, studio):
    provider.spoil = spoil
    assert said in problem(come(client))
    assert studio.cookie_name not in client.cookies


@pytest.mark.parametrize("header", [{}, {"kid": "two"}, {"kid": None}])
def test_a_token_that_another_key_signed_lets_nobody_in(client, known, provider, header):
    provider.signs_with, provider.header = RSAKey.generate_key(2048, private=True), header
    assert "does not prove" in problem(come(client))


def test_the_clients_own_secret_signs_no_token(client, known, provider, service):
    """Even a service that claims to offer it: only what the service alone knows proves who somebody is."""
    provider.algorithms = ["HS256", "none", "RS256"]
    shared = {"kty": "oct", "k": base64.urlsafe_b64encode(service.CLIENT_SECRET.encode()).decode().rstrip("=")}
    provider.signs_with, provider.header = OctKey.import_key(shared), {"alg": "HS256"}
    assert "does not prove" in problem(come(client))


def test_a_clock_that_is_a_little_off_is_no_trouble(client, known, provider):
    now = int(time.time())
    provider.spoil = {"iat": now + 60, "exp": now - 60}
    assert come(client).status_code == 303


def test_keys_may_be_changed_while_the_studio_runs(client, known, provider):
    assert come(client).status_code == 303
    provider.key = RSAKey.generate_key(2048, {"kid": "two"}, private=True)
    provider.header = {"kid": "two"}
    assert come(client).status_code == 303


def test_an_answer_counts_once(client, known, provider, studio):
    back = there(client)
    kept = dict(client.cookies)
    assert client.get(back).status_code == 303
    assert "used before" in problem(client.get(back))
    client.cookies.update(kept)  # even for who kept the cookie of the way there
    assert "used before" in problem(client.get(back))
    assert provider.tokens == 1


def test_an_answer_is_no_good_in_another_browser(browser, known):
    """Else one could sign somebody in under one's own account, and read what they do there."""
    attacker, victim = browser(), browser()
    back = there(attacker)
    assert "another window" in problem(victim.get(back))
    there(victim)  # a way of their own has begun
    assert "another window" in problem(victim.get(back))


@pytest.mark.parametrize("spoilt", ["state=x&code=y", "code=y", "state=x", "", "state=x&code=y&state=z"])
def test_an_answer_that_nobody_asked_for_is_refused(client, known, spoilt):
    there(client)
    assert "another window" in problem(client.get(f"/auth/oidc/callback?{spoilt}"))


def test_too_long_a_way_is_refused(client, known, monkeypatch):
    from itsdangerous import timed

    back = there(client)
    now = time.time()
    monkeypatch.setattr(timed.time, "time", lambda: now + 16 * 60)
    assert "too long" in problem(client.get(back))


@pytest.mark.parametrize(
    ("error", "said"),
    [("access_denied", "did not let you in"), ("temporarily_unavailable", "cannot be reached"), ("x", "prove")],
)
def test_who_is_turned_away_there_is_told_in_our_words(client, known, provider, error, said):
    provider.denies = error
    answer = come(client)
    assert said in problem(answer) and "<script" not in answer.text


def test_a_service_that_is_down_is_told_and_tried_again(client, known, provider):
    provider.is_down = True
    assert "Uni cannot be reached" in problem(client.get("/auth/oidc"))
    provider.is_down = False
    back = there(client)
    provider.is_down = True
    assert "Uni cannot be reached" in problem(client.get(back))
    provider.is_down = False
    assert come(client).status_code == 303
    back = there(client)
    provider.stop()
    assert "Uni cannot be reached" in problem(client.get(back))


def test_a_service_that_calls_itself_otherwise_is_not_trusted_until_it_is_set_right(client, known, provider):
    provider.issuer_told = "https://evil.test"
    assert "does not prove" in problem(client.get("/auth/oidc"))
    provider.issuer_told = None
    assert come(client).status_code == 303


def test_a_stranger_is_told_whom_to_ask(client, people, database):
    assert "Ask a maintainer to add you" in problem(come(client))
    with database.reading() as session:
        assert len(accounts.all_users(session)) == len(people)


class TestWaiting:
    """Projects that let strangers ask."""

    @pytest.fixture
    def more(self):
        return 'new_people = "waiting"'

    def row(self, database, name="mei@uni.test"):
        with database.reading() as session:
            return get_user(session, name)

    def test_a_stranger_waits_without_a_role_until_somebody_decides(self, client, people, database, auth, studio):
        assert "with the maintainers" in problem(come(client))
        assert "with the maintainers" in problem(come(client))
        waiting = self.row(database)
        assert (waiting.active, waiting.roles, waiting.display_name) == (False, [], "Mei Lin")
        assert accounts.is_waiting(waiting) and told(database, waiting) == ["ask"]
        with database.session() as session:
            user = session.get(User, waiting.id)
            accounts.set_roles(session, user, [Role.ANNOTATOR])
            accounts.set_active(session, user, True)
        assert come(client).status_code == 303
        assert auth.principal(client.cookies[studio.cookie_name]).roles == {Role.ANNOTATOR}

    def test_nobody_is_taken_for_a_local_user_by_their_address(self, client, add_person, database, auth, studio):
        local = add_person("mei@uni.test", Role.MAINTAINER)
        assert "with the maintainers" in problem(come(client))
        with database.reading() as session:
            names = {user.name: user for user in session.exec(select(User))}
        assert len(names) == 2 and names["mei@uni.test"].id == local.id
        assert names["mei@uni.test"].external_id is None

    @pytest.mark.parametrize("claims", [{"email_verified": False}, {"email_verified": None}, {"email": None}])
    def test_an_address_that_was_not_checked_names_nobody(self, client, people, database, provider, claims):
        provider.spoil = claims | {"preferred_username": "annotator"}
        provider.person |= {name: None for name, value in claims.items() if value is None}
        come(client)
        with database.reading() as session:
            new = session.exec(select(User).where(User.external_id.is_not(None))).one()
        assert re.fullmatch("sso-[0-9a-f]{12}", new.name)

    def test_text_of_the_service_is_no_more_than_text(self, client, people, database, provider):
        provider.person |= {"name": "<script>alert(1)</script>\n" + "x" * 500, "email": "a'b+c <d>@uni.test"}
        come(client)
        waiting = self.row(database, "a-b-c--d-@uni.test")
        assert len(waiting.display_name) == 128 and "\n" not in waiting.display_name

    def test_who_was_turned_away_is_told_so(self, client, people, database):
        come(client)
        with database.session() as session:
            user = get_user(session, "mei@uni.test")
            accounts.stop_waiting(session, user)
        assert "not active" in problem(come(client))


class TestLists:
    """Projects that let only some addresses in."""

    @pytest.fixture
    def more(self):
        return 'allowed_domains = ["uni.test"]\nallowed_emails = ["Guest@Home.test"]\nnew_people = "waiting"'

    @pytest.mark.parametrize(
        ("email", "is_in"),
        [
            ("mei@uni.test", True), ("MEI@UNI.TEST", True), ("guest@home.test", True), ("other@home.test", False),
            ("mei@evil-uni.test", False), ("mei@sub.uni.test", False),
            ("mei@uni.test@evil.test", False), ("mei@uni.test.evil.test", False),
        ],
    )  # fmt: skip
    def test_only_listed_addresses_may_ask(self, client, people, provider, email, is_in):
        provider.person["email"] = email
        assert ("with the maintainers" if is_in else "lets in only some addresses") in problem(come(client))

    def test_an_address_counts_only_when_it_was_checked(self, client, people, provider):
        provider.spoil = {"email_verified": False}
        assert "Confirm the address there" in problem(come(client))

    def test_the_lists_hold_for_who_is_linked_too(self, client, known, provider):
        provider.person["email"] = "mei@elsewhere.test"
        assert "lets in only some addresses" in problem(come(client))

    def test_an_address_that_only_the_user_info_tells_counts(self, client, known, provider):
        provider.thin = True
        assert come(client).status_code == 303
        provider.person = {**provider.person, "sub": "u-2"}
        provider.spoil = {"sub": "u-1"}
        assert "does not prove" in problem(come(client))


class TestLinkingOnesOwn:
    @pytest.fixture
    def more(self):
        return 'new_people = "waiting"'

    def enter(self, client, name="reviewer"):
        return client.post("/auth/sign-in", data={"name": name, "password": PASSWORD})

    def test_who_is_signed_in_links_their_account(self, client, browser, people, database, provider, auth, studio):
        assert "with the maintainers" in problem(come(client))  # they asked before; that is settled by linking
        self.enter(client)
        assert client.get(there(client, "/auth/oidc/link", post=True)).headers["location"] == "/account"
        with database.reading() as session:
            assert get_user(session, "reviewer").external_id == ISSUER_AND_SUBJECT.format(issuer=provider.issuer)
            asked = get_user(session, "mei@uni.test")
            assert asked.external_id is None and not accounts.is_waiting(asked)
        other = browser()
        come(other)
        assert auth.principal(other.cookies[studio.cookie_name]).name == "reviewer"

    def test_another_site_cannot_start_it(self, client, people, provider):
        self.enter(client)
        answer = client.post("/auth/oidc/link", headers={"Origin": "https://evil.test"})
        assert "not sent from this studio" in problem(answer)
        assert client.get("/auth/oidc/link").status_code != 302 and provider.asked == []

    def test_nobody_links_without_a_session(self, client, people, provider):
        assert problem(client.post("/auth/oidc/link", headers={"Origin": URL})) and provider.asked == []

    def test_somebody_else_who_comes_back_links_nothing(self, client, people, database):
        self.enter(client)
        back = there(client, "/auth/oidc/link", post=True)
        self.enter(client, "maintainer")
        assert "Start it again" in problem(client.get(back))
        with database.reading() as session:
            assert not any(user.external_id for user in accounts.all_users(session))

    def test_an_account_of_somebody_else_is_not_taken(self, client, known, people):
        self.enter(client, "maintainer")
        answer = client.get(there(client, "/auth/oidc/link", post=True))
        assert "opens somebody else" in problem(answer) and 'href="/account"' in answer.text


def test_the_form_offers_the_service_and_keeps_the_way(client, people):
    form = client.get("/auth/sign-in?next=/items").text
    assert "Sign in with Uni" in form and 'href="/auth/oidc?next=%2Fitems"' in form
    assert "用 Uni 登录" in client.get("/auth/sign-in?lang=zh").text


def test_without_a_service_there_is_no_such_way(tmp_path, new_project, clock):
    from annotation_ui.auth import Auth

    with open_studio(new_project, clock) as plain:
        auth = Auth(plain.workspace.database, plain.key, clock)
        assert OidcRoutes(plain, auth, AuthRoutes(plain, auth)).routes() == []
