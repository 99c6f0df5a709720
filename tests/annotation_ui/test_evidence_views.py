"""What an author marked in the media, as readers see it: boxes and spans in percent, and nothing that does not hold."""

import re

import pytest

from annotation_ui.components.question_editor import _EVIDENCE, _text
from annotation_ui.drafting.content import DraftContent
from annotation_ui.html import render
from annotation_ui.media_links import MediaLinks
from annotation_ui.views.author_words import content_pairs
from annotation_ui.views.editor_words import TEXTS
from annotation_ui.views.evidence import Box, Span, marked_media
from annotation_ui.words import words_in
from core.content import parse_prompt
from warehouse.lifecycle import Action
from warehouse.people import Role

EN = words_in("en")
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> \" onload=alert(3) x='"


@pytest.fixture
def shown(seeder):
    return {"image_1": seeder.picture(1), "audio_1": seeder.sound(1), "video_1": seeder.film(1)}


@pytest.fixture
def marked(studio, shown):
    """What is shown of some evidence: (marked media by placeholder, the notes that are words)."""
    prompt = parse_prompt("<image_1><audio_1><video_1>", {name: media for name, (_, media) in shown.items()})
    links = MediaLinks(studio.key, studio.clock)

    def look(evidence):
        found, rest = marked_media({"evidence": evidence}, prompt, links, "me", studio.workspace.blobs, EN)
        return {one.block.name: one for one in found}, rest["evidence"]

    return look


def test_a_box_in_percent_of_its_picture(marked):
    box = {"left_px": 32, "top_px": 21, "width_px": 160, "height_px": 42, "note": "the bell"}
    found, rest = marked({"image_1": box, "audio_1": {"note": "its sound"}})
    one = found["image_1"]
    assert (one.box, one.span) == (Box(10, 10, 50, 20), None)
    assert one.words == "the box 160 × 42 px at 32, 21 px; the bell"
    assert "#" not in one.block.url
    assert rest == {"audio_1": {"note": "its sound"}}


@pytest.mark.parametrize(
    ("told", "span", "fragment"),
    [
        ({"start_s": 0.5, "end_s": 1.25}, Span(25, 37.5), "#t=0.5,1.25"),
        ({"start_s": 1.5}, Span(75, 25), "#t=1.5"),
        ({"end_s": 0.5}, Span(0, 25), "#t=0,0.5"),
        ({"start_s": 1.0, "end_s": 99}, Span(50, 50), "#t=1,99"),
    ],
    ids=["both", "from", "until", "beyond the end"],
)
def test_a_span_in_percent_of_its_sound_and_in_the_players_address(marked, told, span, fragment):
    one = marked({"audio_1": told})[0]["audio_1"]
    assert (one.span, one.box) == (span, None)
    assert one.block.url.endswith(fragment)


def test_a_film_has_both(marked):
    told = {"start_s": 0.25, "end_s": 0.5, "left_px": 0, "top_px": 48, "width_px": 400, "height_px": 48}
    one = marked({"video_1": told})[0]["video_1"]
    assert (one.box, one.span) == (Box(0, 50, 100, 50), Span(25, 25))


@pytest.mark.parametrize(
    "evidence",
    [
        {"image_1": {"left_px": 320, "top_px": 0, "width_px": 5, "height_px": 5}},
        {"image_1": {"left_px": 3, "top_px": 0, "width_px": 5}},
        {"image_1": {"start_s": 1.0}},
        {"audio_1": {"left_px": 0, "top_px": 0, "width_px": 5, "height_px": 5}},
        {"audio_1": {"start_s": 1.5, "end_s": 1.0}},
        {"audio_1": {"start_s": 7.0}},
        {"audio_1": {"start_s": -1, "end_s": 1.0}},
        {"audio_1": {"start_s": ATTACK}},
        {"audio_1": "0:02, the second strike"},
        {"image_9": {"left_px": 3, "top_px": 0, "width_px": 5, "height_px": 5}},
        "all of it",
    ],
    ids=str,
)
def test_what_cannot_be_drawn_stays_in_words(marked, evidence):
    assert marked(evidence) == ({}, evidence)


def test_hostile_words_stay_words(marked):
    found, _ = marked({"audio_1": {"start_s": 1.0, "note": ATTACK}})
    html = render("evidence.html", EN, marked=list(found.values()))
    assert "<script" not in html and "<img src=x" not in html and "onload=alert(3) x=" in html.replace("&#34; ", "")
    assert '<i style="left: 50.0%; width: 50.0%">' in html


def test_the_items_page_shows_them_with_the_key_only(visit, token, seeder, shown):
    evidence = {"image_1": {"left_px": 32, "top_px": 21, "width_px": 160, "height_px": 42}, "audio_1": {"note": "hear"}}
    media = {name: shown[name] for name in ("image_1", "audio_1")}
    draft = seeder.draft("<image_1><audio_1>", media, "mei", notes={"evidence": evidence})
    seeder.item("bells", draft, Action.SUBMIT)
    app = visit("item", token(), name="bells")
    assert 'class="ip-box"' not in text_of(app)
    app.toggle(key="key-bells").set_value(True).run()
    assert "left: 10.0%; top: 10.0%; width: 50.0%; height: 20.0%" in text_of(app)
    assert "<dt>audio_1</dt><dd>hear</dd>" in text_of(app)
    reviewer = visit("item", token(Role.REVIEWER), name="bells")
    assert 'class="ip-box"' not in text_of(reviewer) and "audio_1</dt>" not in text_of(reviewer)


def test_the_marking_has_words_for_all_it_says_and_asks_nobody_else():
    scripts = "\n".join(map(_text, _EVIDENCE))
    said = set(re.findall(r'"(ev_\w+)"', scripts)) | {
        f"ev_{name}" for name in ("left_px", "top_px", "width_px", "height_px", "span", "start", "end")
    }
    assert said <= set(TEXTS)
    assert {key for key in TEXTS if key.startswith("ev_")} == said | {"ev_dropped"}
    assert "innerHTML" not in scripts and "http" not in scripts


def test_a_version_of_a_draft_tells_them_in_words():
    evidence = {"audio_1": {"start_s": 0.0, "end_s": 1.5}, "image_1": {"note": "the bell"}}
    told = dict(content_pairs(DraftContent(evidence=evidence), EN))
    assert told["What each modality contributes"] == "audio_1: from 0.0 s to 1.5 s\nimage_1: the bell"


def text_of(app):
    return "\n".join(element.proto.body for element in app.get("html"))
