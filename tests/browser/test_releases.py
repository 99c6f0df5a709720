"""A release in a real browser: built, blocked, mended, sealed with a typed confirmation, exported and fetched."""

import zipfile

import pytest
from playwright.sync_api import expect
from sqlmodel import select

from warehouse.release.records import all_releases
from warehouse.tables import Item, Material, MaterialState, ReleaseState, RevisionMedia
from warehouse.workspace import open_workspace

pytestmark = pytest.mark.browser


def test_a_release_from_the_form_to_the_file(running_studio, port, tabs):
    # Processes of its own would outlive the studio that the fixture kills, and hold what it says open.
    studio = running_studio("--port", str(port), settings='executor = "threads"')
    with open_workspace(studio.project) as workspace:
        tab = tabs.by_link(studio.first_link(), "ada")
        tab.get_by_test_id("stSidebarNavLink").filter(has_text="Releases").click()
        tab.get_by_text("Build a release", exact=True).click()
        expect(tab.get_by_text("4 questions fit.")).to_be_visible()
        tab.get_by_label("Release name").fill("zoo")
        tab.get_by_label("Version").fill("1.0.0")
        with workspace.database.session() as session:
            dropped = session.get(Material, _shown_material(session))
            dropped.state = MaterialState.DROPPED
        tab.get_by_role("button", name="Build the draft").click()
        expect(tab.get_by_text("1 finding blocks sealing.")).to_be_visible()
        expect(tab.get_by_role("button", name="Seal for good")).to_have_count(0)

        # The way to mend it leads to the material itself.
        release = tab.url
        tab.get_by_role("link", name="The material", exact=True).click()
        tab.get_by_label("Why keep it after all?").fill("It is good")
        tab.get_by_role("button", name="Keep", exact=True).click()
        expect(tab.get_by_role("button", name="Drop", exact=True)).to_be_visible()
        tab.goto(release)
        tab.get_by_role("button", name="Check what blocks it").click()
        expect(tab.get_by_text("Nothing blocks it")).to_be_visible()
        tab.settle()
        tab.get_by_label("To confirm").fill("zoo 1.1.0")
        tab.get_by_role("button", name="Seal for good").click()
        expect(tab.get_by_text("exactly as it stands")).to_be_visible()
        tab.settle()
        tab.get_by_label("To confirm").fill("zoo 1.0.0")
        tab.get_by_role("button", name="Seal for good").click()
        expect(tab.get_by_text("sealed by now")).to_be_visible()
        with workspace.database.reading() as session:
            (sealed,) = all_releases(session, "zoo")
        assert sealed.state == ReleaseState.SEALED
        expect(tab.get_by_text(sealed.manifest_sha256)).to_be_visible()
        tab.settle()
        tab.locator(".st-key-make-jsonl").get_by_role("button").click()
        with tab.expect_download() as fetched:
            tab.get_by_role("button", name="Fetch as ZIP").click()
        with zipfile.ZipFile(fetched.value.path()) as archive:
            assert len(archive.read("zoo-1.0.0/questions.jsonl").splitlines()) == 4


def _shown_material(session):
    item = session.exec(select(Item).where(Item.name == "bells-001")).one()
    query = select(RevisionMedia.material_id).where(RevisionMedia.revision_id == item.current_revision_id)
    return session.exec(query).first()
