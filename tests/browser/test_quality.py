"""Quality control in a real browser: from a reason to its item and back, where nothing that was narrowed is lost."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_from_a_reason_to_an_item_and_back(tabs, studio):
    page = tabs.by_link(studio.first_link(), "ada", width=1024, height=800)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Quality control").click()
    expect(page.get_by_role("heading", name="The three rounds")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    page.locator(".st-key-row-reason-ambiguous").get_by_role("button", name="Show these items").click()
    rows = page.locator("[class*=st-key-row-]")
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="Open").press("Enter")
    expect(page.get_by_role("tab", name="Quality control")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".ip-verdict").filter(has_text="Please say which")).to_be_visible()

    page.get_by_role("link", name="Back to quality control").click()
    expect(rows).to_have_count(1)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    assert "bells-007" in saved.value.path().read_text("utf-8-sig")
