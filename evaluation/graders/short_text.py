"""Short text: an accepted answer, as the whole answer or as a phrase in what is stated, affirmed and not negated."""

from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.phrases import Standing, Words, read_words, standing
from evaluation.graders.reading import statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong
from core.question import AnswerKey

_FEWEST_LISTED, _LONGEST_LISTED = 4, 3


class ShortTextGrader(RuleGrader):
    """Holds an accepted phrase. The accepted variants are whole answers, each of which is enough."""

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Compare words in normal form; synonyms that the key does not list are beyond this rule and count as wrong."""
        variants = [clean_fragment(text) for text in key.accepted]
        if not any(variants):
            return not_graded(Why.BAD_KEY, "the key accepts no visible text")
        stated = next(statements(answer), answer)
        if any(_is_whole(variant, text) for variant in variants for text in (answer, stated)):
            return right(f"{shown(stated)} is an accepted answer")
        stated = without_declining(stated)
        said = read_words(stated)
        stands = {variant: standing(_phrase(variant), said) for variant in variants}
        best = max(stands, key=lambda variant: stands[variant])
        if stands[best] is Standing.AFFIRMED and _is_list(said):
            return not_graded(Why.HEDGED, f"{shown(stated)} lists {shown(best)} among other answers")
        return _mark(stands[best], best, answer, stated)


def _mark(found: Standing, variant: str, answer: str, stated: str) -> Mark:
    match found:
        case Standing.AFFIRMED:
            return right(f"holds {shown(variant)}")
        case Standing.UNSURE:
            return not_graded(Why.HEDGED, f"{shown(stated)} names {shown(variant)}, but does not plainly affirm it")
        case Standing.NEGATED:
            return wrong(f"{shown(stated)} denies {shown(variant)}")
        case Standing.ABSENT:
            nothing = nothing_found(answer, "answer")
            return wrong(f"{shown(stated)} holds no accepted answer") if nothing.why is Why.UNREAD else nothing


def _is_whole(variant: str, text: str) -> bool:
    phrase = _phrase(variant)
    if not phrase:
        return bool(variant) and variant == text
    return phrase == read_words(text).content


def _phrase(variant: str) -> tuple[str, ...]:
    """The words to find; a lone letter is found only as a whole answer, for as a word it is mostly an article."""
    return read_words(variant).content


def _is_list(said: Words) -> bool:
    lengths = [said.clauses.count(clause) for clause in set(said.clauses)]
    return len(lengths) >= _FEWEST_LISTED and max(lengths) <= _LONGEST_LISTED
