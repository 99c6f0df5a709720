"""The contract of every check of questions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import MediaPart, MediaRef, TextPart
from core.question import AnswerKey, Choice, Question, Step
from qc.checks import CHECKS, Finding, Subject
from qc.reasons import REASONS, Words

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
IMAGE = MediaRef(sha256="1" * 64, media_type="image/png", modality="image", byte_count=1)


def question(text: str, options: list[str]) -> Question:
    prompt = (TextPart(text=text), MediaPart(name="image_1", media=IMAGE))
    common = {"prompt": prompt, "task_type": text[:20], "language": "en", "required": ["image", "audio"]}
    if len(options) > 1:
        choices = tuple(Choice(text=option) for option in options)
        return Question(kind="choice", choices=choices, answer=AnswerKey(correct=(0,)), **common)
    key = AnswerKey(accepted=("4",))
    steps = (Step(ask=text, points=4, answer=key), Step(ask=f"Take step 1 and step 9: {text}", points=6, answer=key))
    return Question(kind="multi_step", steps=steps, **common)


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.name) for entry in CHECKS])
@given(text=TEXT, options=st.lists(TEXT, max_size=5), others=st.dictionaries(TEXT, TEXT, max_size=3))
def test_a_check_finds_or_not_and_never_raises(entry, text, options, others):
    subject = Subject(question(text, options), others, media_problems=(Words(en="image_1: gone", zh="image_1：缺失"),))
    found = list(entry.load()(subject))
    assert found == list(entry.load()(subject))
    for finding in found:
        assert isinstance(finding, Finding)
        assert finding.code in REASONS
        assert finding.severity in {"error", "warning"}
        assert finding.message
        assert re.search("[\u4e00-\u9fff]", finding.text("zh"))
