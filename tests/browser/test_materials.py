"""The library in a real browser: Chinese words found, a line of speech heard, a tag added and contradicted."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_words_are_found_heard_and_tagged(tabs, studio):
    page = tabs.by_link(studio.first_link(), "ada", "Ada")
    page.goto(f"{studio.address.rstrip('/')}/materials")
    words = page.get_by_label("Search", exact=True)
    words.fill("停了")
    words.press("Enter")
    expect(page.get_by_text("1 material", exact=True)).to_be_visible()
    expect(page.locator(".ip-card-snippet")).to_contain_text("然后停了")
    card = page.locator("[class*=st-key-card-] button")
    expect(card).to_have_count(1)  # cards of before stay until the page is drawn to its end
    card.click()

    page.get_by_role("button", name=re.compile("然后停了")).click()
    player = page.locator(".st-key-material-player audio")
    page.wait_for_function("document.querySelector('.st-key-material-player audio').currentTime >= 1")
    expect(page.locator("ol.lines button").nth(0)).not_to_have_attribute("aria-current", "true")
    expect(player).to_be_visible()

    tag = page.get_by_role("combobox", name="Add a tag")
    tag.fill("自然")
    page.get_by_role("option", name=re.compile("Theme: nature · 自然")).click()
    page.get_by_role("button", name="Add the tag").click()
    line = page.locator("[class*=st-key-tag-line-]").filter(has_text="nature")
    expect(line).to_contain_text("Ada")
    line.get_by_role("button", name="Wrong").click()
    expect(line).to_contain_text("said to be wrong")
