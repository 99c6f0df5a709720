"""People in a real browser: added, let in by their link, out at once; and the way through a sign-in service."""

import importlib.util
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def _provider_module():
    place = Path(__file__).parents[1] / "annotation_ui" / "oidc_provider.py"
    spec = importlib.util.spec_from_file_location("oidc_provider", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def go(tab, title):
    tab.get_by_test_id("stSidebarNavLink").filter(has_text=title).click()
    expect(tab.get_by_role("heading", name=title, exact=True)).to_be_visible()
    tab.settle()


def open_person(tab, name):
    tab.locator("[class*=st-key-row-]").filter(has_text=name).get_by_role("button", name="Open").click()
    expect(tab.get_by_role("heading", name="What happened to this account")).to_be_visible()
    tab.settle()


def sockets(tab):
    """The tab's sockets to the studio, as they are opened."""
    found = []
    tab.on("websocket", lambda opened: found.append(opened))  # noqa: PLW0108 - Playwright marks its handlers
    return found


def test_somebody_is_added_enters_by_their_link_and_is_out_at_once(studio, tabs):
    ada, mei = tabs(), tabs()
    tabs.follow(ada, studio.first_link(), "ada")
    go(ada, "People")
    ada.get_by_text("Add somebody", exact=True).click()
    ada.get_by_label("Name to sign in with").fill("mei")
    ada.get_by_role("button", name="Add and make a link").click()
    link = ada.get_by_test_id("stCode")
    expect(link).to_contain_text(f"{studio.address}/auth/link/")
    expect(link.get_by_role("button", name="Copy to clipboard")).to_be_visible()
    opened = sockets(mei)
    tabs.follow(mei, link.inner_text().strip())

    go(mei, "Materials")
    expect(mei.get_by_test_id("stSidebarNavLink").filter(has_text="People")).to_have_count(0)
    go(ada, "People")
    open_person(ada, "mei")
    ada.get_by_role("button", name="Deactivate", exact=True).click()
    ada.get_by_role("button", name="Deactivate this account").click()
    expect(ada.get_by_text("The account is deactivated.")).to_be_visible()

    # The socket that was open before is still the one in use: what refuses is each message, not a new connection.
    mei.get_by_test_id("stSidebarNavLink").filter(has_text="Items").click()
    expect(mei.get_by_text("your session is over")).to_be_visible()
    assert len(opened) == 1 and not opened[0].is_closed()
    mei.reload()
    expect(mei.locator("[name=password]")).to_be_visible()
    mei.fill("[name=name]", "mei")
    mei.fill("[name=password]", tabs.password)
    mei.click("button[type=submit]")
    expect(mei.get_by_role("alert")).to_contain_text("not active")


def test_a_new_password_ends_the_sockets_of_other_browsers(studio, tabs):
    here = tabs.by_link(studio.first_link(), "ada")
    there = tabs.sign_in(studio.address, "ada")
    expect(there.get_by_role("heading", name="Hello,")).to_be_visible()
    here.get_by_role("link", name="My account").click()
    here.get_by_label("Old password").fill(tabs.password)
    here.get_by_label("New password, at least 10 characters").fill("another long password")
    here.get_by_label("The same password again").fill("another long password")
    here.get_by_role("button", name="Change the password").click()
    expect(here.get_by_text("The password is changed.")).to_be_visible()
    there.get_by_test_id("stSidebarNavLink").filter(has_text="Items").click()
    expect(there.get_by_text("your session is over")).to_be_visible()
    go(here, "People")


@pytest.fixture
def served(running_studio, port):
    """A studio that knows a sign-in service, and the service."""
    module = _provider_module()
    with module.running() as provider:
        lines = (
            f'studio_url = "http://127.0.0.1:{port}"\n[oidc]\nissuer = "{provider.issuer}"\nlabel = "Uni"\n'
            f'client_id = "{module.CLIENT_ID}"\nclient_secret = "{module.CLIENT_SECRET}"\nnew_people = "waiting"\n'
        )
        yield running_studio("--port", str(port), settings=lines), provider


def test_a_stranger_asks_is_let_in_and_enters_by_the_service(served, tabs):
    studio, provider = served
    ada, mei = tabs(), tabs()
    tabs.follow(ada, studio.first_link(), "ada")
    mei.goto(f"{studio.address}/items")
    mei.get_by_role("link", name="Sign in with Uni").click()
    expect(mei.get_by_role("alert")).to_contain_text("with the maintainers")

    go(ada, "People")
    open_person(ada, "Mei Lin")
    ada.get_by_role("button", name="Let in").click()
    expect(ada.get_by_text("This person may sign in now.")).to_be_visible()
    mei.goto(f"{studio.address}/items")
    mei.get_by_role("link", name="Sign in with Uni").click()
    expect(mei.get_by_role("heading", name="Items", exact=True)).to_be_visible()

    # A local account is linked from within, and opens by the service from then on.
    provider.person = {"sub": "u-2", "name": "Ada", "email": "ada@uni.test", "email_verified": True}
    ada.get_by_role("link", name="My account").click()
    ada.get_by_role("button", name="Link my account at Uni").click()
    expect(ada.get_by_text("Your account at Uni opens this one.")).to_be_visible()
    other = tabs()
    other.goto(studio.address)
    other.get_by_role("link", name="Sign in with Uni").click()
    expect(other.get_by_role("heading", name="Hello, ada")).to_be_visible()
