"""Results in a real browser: from a number to its answers by the keyboard, and pictures that are there."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_a_number_leads_to_its_answers_and_one_of_these_to_the_item(tabs, studio):
    page = tabs.by_link(studio.first_link(), "ada", width=1024, height=768)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Results").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="hearing-model", exact=True))
    number = row.get_by_role("link").first
    # A new tab finds the same by the address alone.
    with page.context.expect_page() as opened:
        number.click(button="middle")
    expect(opened.value.get_by_text("2 answers")).to_be_visible()
    opened.value.close()
    number.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 answers")).to_be_visible()
    assert "of.model=hearing-model" in page.url and "of.condition=full" in page.url
    page.get_by_role("link", name="bells-002").click()
    expect(page.get_by_text("1 of 2")).to_be_visible()
    expect(page.get_by_text("Read as")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("2 answers")).to_be_visible()
    page.get_by_test_id("stMain").get_by_text("What each modality adds", exact=True).click()
    expect(page.get_by_role("heading", name="What is lost without")).to_be_visible()
    expect(page).to_have_url(re.compile(r"show=conditions"))
    assert "of.model" not in page.url
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as SVG").click()
    assert saving.value.path().read_text().lstrip().startswith("<?xml")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
