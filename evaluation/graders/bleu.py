"""BLEU-1 for long texts (transcribed pages, descriptions): a share of the points instead of right or wrong.

Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2, with N = 1: the
modified unigram precision of section 2.1.1 (a word counts at most as often as in the reference that holds it most
often) times the brevity penalty of section 2.2.2 against the reference of the nearest length. No smoothing.

Tokens: words in scripts with spaces, single characters in scripts without (Chinese, Japanese, Thai, ...), case folded.
Punctuation and markup are left out, so that a layout costs nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.grading import Grade
from core.question import AnswerKey
from evaluation.graders.base import Rule, RuleGrader, answer_of, nothing_found
from evaluation.graders.cleaning import MOST_READ, clean
from evaluation.graders.phrases import UNSPACED
from evaluation.graders.reading import declines, final_region
from evaluation.graders.verdicts import Mark, Verdict, Why, not_graded, partial

# Far longer than a page, and still graded in seconds.
MOST_GRADED = 200_000
_TOKEN = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+(?:['.,:/-](?:(?![{UNSPACED}])[^\W_])+)*")


def tokens(text: str) -> list[str]:
    """The words (or, in scripts without spaces, characters) of a text, case folded, punctuation left out."""
    return _TOKEN.findall(text.casefold())


def bleu_1(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """BLEU-1 in [0, 1] of a tokenised text; 0 for an empty one or without references."""
    if not candidate or not references:
        return 0.0
    counts = Counter(candidate)
    allowed: Counter[str] = Counter()
    for reference in references:
        allowed |= Counter(reference)
    precision = (counts & allowed).total() / len(candidate)
    nearest = min((len(reference) for reference in references), key=lambda r: (abs(r - len(candidate)), r))
    brevity = 1.0 if len(candidate) >= nearest else math.exp(1 - nearest / len(candidate))
    return brevity * precision


@dataclass(frozen=True)
class BleuGrader(RuleGrader):
    """The points are BLEU-1 against all accepted texts."""

    def read(self, answer_text: str, rule: Rule, accepted: Sequence[str] = ()) -> Grade:
        """Read long answers whole, and take "no, wait" for a part of the text."""
        answer = answer_of(answer_text, accepted, most=MOST_READ)
        return (answer if isinstance(answer, Mark) else rule(answer)).signed(self.fingerprint)

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """The better of two readings: the whole answer, and what follows its last answer mark."""
        references = [reference for reference in map(_reference, key.accepted) if reference]
        if not references:
            return not_graded(Why.BAD_KEY, "the key accepts no words")
        if max(map(len, (answer, *key.accepted))) > MOST_GRADED:
            return not_graded(Why.UNREAD, f"texts of more than {MOST_GRADED:,} characters are not compared")
        readings = [said for said in (tokens(answer), tokens(final_region(answer))) if said]
        nothing = nothing_found(answer, "text")
        refused = nothing.verdict is Verdict.INVALID and not any(map(declines, key.accepted))
        if not readings or (refused and len(readings[0]) < min(map(len, references))):
            return nothing
        share = max(bleu_1(said, references) for said in readings)
        return partial(share, f"BLEU-1 is {share:.4f} over {len(readings[0])} tokens")


def _reference(text: str) -> list[str]:
    return tokens(clean(text, MOST_READ) or "")


BLEU_1 = BleuGrader("bleu_1@1")
