"""Short text: an accepted answer, as the whole answer or as a phrase in what is stated, affirmed and not negated."""

from collections import Counter

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.phrases import Standing, Words, read_words, standing
from evaluation.graders.reading import declines, has_content, statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong

_FEWEST_LISTED, _LONGEST_LISTED = 4, 3


class ShortTextGrader(RuleGrader):
    """Holds an accepted phrase. Each accepted variant is a whole answer."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Compare words in normal form; synonyms that the key does not list are beyond this rule and count as wrong."""
        variants = [variant for variant in map(clean_fragment, key.accepted) if variant]
        if not variants:
            return not_graded(Why.BAD_KEY, "the key accepts no visible text")
        stated = next(statements(answer), answer)
        if any(_is_whole(variant, text) for variant in variants for text in (answer, stated)):
            return right(f"{shown(stated)} is an accepted answer")
        if not any(declines(variant) for variant in variants):
            stated = without_declining(stated)
        said = read_words(stated)
        stands = {variant: _standing(variant, said) for variant in variants}
        best = max(stands, key=lambda variant: stands[variant])
        match stands[best]:
            case Standing.AFFIRMED if _is_list(said):
                return not_graded(Why.HEDGED, f"{shown(stated)} lists {shown(best)} among other answers")
            case Standing.AFFIRMED:
                return right(f"holds {shown(best)}")
            case Standing.UNSURE:
                return not_graded(Why.HEDGED, f"{shown(stated)} names {shown(best)}, but does not plainly affirm it")
            case Standing.NEGATED:
                return wrong(f"{shown(stated)} denies {shown(best)}")
            case Standing.ABSENT if has_content(stated):
                return wrong(f"{shown(stated)} holds no accepted answer", Why.NO_MATCH)
        return nothing_found(answer, "answer")


def _is_whole(variant: str, text: str) -> bool:
    phrase = read_words(variant).content
    return phrase == read_words(text).content if phrase else variant == text


def _standing(variant: str, said: Words) -> Standing:
    phrase = read_words(variant).content
    found = standing(phrase, said)
    # A lone letter inside a sentence is mostly an article or a pronoun.
    lone_letter = len(phrase) == 1 and len(phrase[0]) == 1 and phrase[0].isascii() and phrase[0].isalpha()
    return Standing.UNSURE if lone_letter and found is Standing.AFFIRMED else found


def _is_list(said: Words) -> bool:
    lengths = Counter(said.clauses).values()
    return len(lengths) >= _FEWEST_LISTED and max(lengths) <= _LONGEST_LISTED


SHORT_TEXT = ShortTextGrader("short_text@1")
