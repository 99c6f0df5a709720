"""BLEU-1; the right values are from the paper, nltk 3.10.4, sacrebleu 2.6.0 and pencil."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.question import AnswerKey
from evaluation.graders.bleu import BLEU_1, MOST_GRADED, bleu_1, tokens
from evaluation.graders.verdicts import Verdict, Why, verdict_of, why_of

# Papineni et al. 2002, Examples 1 and 2.
GUIDE = (
    "It is a guide to action that ensures that the military will forever heed Party commands.",
    "It is the guiding principle which guarantees the military forces always being under the command of the Party.",
    "It is the practical guide for the army always to heed the directions of the party.",
)
CAT = ("The cat is on the mat.", "There is a cat on the mat.")


@pytest.mark.parametrize(
    ("answer", "references", "value"),
    [
        # 17 of 18 words, longer than the nearest reference (18); the paper's first candidate.
        (
            "It is a guide to action which ensures that the military always obeys the commands of the party.",
            GUIDE,
            17 / 18,
        ),
        # 8 of 14 words, the nearest reference has 16; sentence_bleu(weights=(1,)) and BLEU(max_ngram_order=1): 0.495359.
        ("It is to insure the troops forever hearing the activity guidebook that party direct.", GUIDE, 0.495359),
        # The paper's clipping example, 2 of 7.
        ("the the the the the the the", CAT, 2 / 7),
        # All words right, 2 of 6: exp(1 - 6/2); nltk and sacrebleu: 0.135335.
        ("the cat", CAT[:1], math.exp(-2)),
        # Of two references equally near, the shorter one counts, so no penalty; nltk and sacrebleu: 1.
        ("a b c", ("a b", "a b c d"), 1.0),
        # Chinese by characters: 5 of 5 right, 6 wanted; sacrebleu's zh tokenizer: 0.818731.
        ("今天天气好", ("今天天气很好",), math.exp(1 - 6 / 5)),
        ("全然不同", ("今天天气很好",), 0.0),
    ],
)
def test_the_formula(answer: str, references: tuple[str, ...], value: float) -> None:
    assert bleu_1(tokens(answer), [tokens(one) for one in references]) == pytest.approx(value, abs=1e-6)
    given_grade = BLEU_1.grade_key(AnswerKey(accepted=references), answer, "en")
    assert given_grade.points == pytest.approx(value, abs=1e-6)


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("abcd"), min_size=1))
def test_it_is_a_share_and_one_for_the_reference_itself(said: list[str], wanted: list[str]) -> None:
    assert 0 <= bleu_1(said, [wanted]) <= 1
    assert bleu_1(wanted, [wanted]) == 1
    assert bleu_1(said, [wanted, said]) == 1


def test_tokens_are_words_and_characters_without_punctuation() -> None:
    assert tokens("Don't panic, it's 3.5 km — 今天下雨。") == ["don't", "panic", "it's", "3.5", "km", *"今天下雨"]


@pytest.mark.parametrize(
    "answer",
    [
        "The cat is on the mat.",
        "**The cat** is\n\non the mat",
        "<think>A dog?</think>The cat is on the mat.",
        "I read it twice.\nAnswer: The cat is on the mat.",
        "<answer>the cat is on the mat</answer>",
        "ＴＨＥ ＣＡＴ is on the mat",
    ],
)
def test_layout_and_what_stands_before_the_answer_cost_nothing(answer: str) -> None:
    given_grade = BLEU_1.grade_key(AnswerKey(accepted=CAT), answer, "en")
    assert (given_grade.points, verdict_of(given_grade)) == (1, Verdict.RIGHT)


def test_a_part_is_a_partial_grade_and_says_its_value() -> None:
    given_grade = BLEU_1.grade_key(AnswerKey(accepted=CAT[:1]), "the cat", "en")
    assert verdict_of(given_grade) is Verdict.PARTIAL
    assert given_grade.reason == "partial: BLEU-1 is 0.1353 over 2 tokens"


def test_a_refusal_is_invalid_unless_it_is_the_text() -> None:
    refusal = "I cannot see the image."
    assert why_of(BLEU_1.grade_key(AnswerKey(accepted=CAT), refusal, "en")) is Why.REFUSAL
    assert BLEU_1.grade_key(AnswerKey(accepted=(refusal,)), refusal, "en").points == 1


def test_what_is_not_compared_is_not_graded() -> None:
    assert why_of(BLEU_1.grade_key(AnswerKey(accepted=("...",)), "a text", "en")) is Why.BAD_KEY
    long = "word " * (MOST_GRADED // 5 + 1)
    assert why_of(BLEU_1.grade_key(AnswerKey(accepted=CAT), long, "en")) is Why.UNREAD


def test_a_long_page_is_compared_whole() -> None:
    page = " ".join(f"word{number}" for number in range(10_000))
    assert BLEU_1.grade_key(AnswerKey(accepted=(page,)), page, "en").points == 1
