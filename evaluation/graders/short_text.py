"""Short text: an accepted answer, as the whole answer or as a phrase in what is stated, affirmed and not negated."""

import re
from itertools import groupby

from core.question import AnswerKey
from evaluation.graders.base import RuleGrader, nothing_found
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.phrases import Standing, Words, find_phrase, read_words, standing
from evaluation.graders.reading import declines, has_content, statements, without_declining
from evaluation.graders.verdicts import Mark, Why, not_graded, right, shown, wrong

# A list that holds the answer by luck: so many short pieces, or lines; or so many words that make no sentence.
_FEWEST_LISTED, _FEWEST_LINES, _LONGEST_LISTED, _FEWEST_LOOSE_WORDS = 4, 2, 3, 7
_LINE_END = re.compile(r"[;\n]")
_JOINS = frozenset(("and", "or", "plus"))
_VERBS = frozenset((
    "is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does", "did", "will", "can", "would",
))  # fmt: skip
_SENTENCE_WORDS = _VERBS | frozenset((
    "a", "an", "the", "it", "he", "she", "they", "we", "i", "you", "this", "that", "these", "there", "who", "which",
    "what", "when", "where", "of", "in", "on", "at", "to", "from", "for", "by", "with", "as", "and", "or", "but", "not",
    "no", "its", "his", "her", "their", "also",
))  # fmt: skip


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
            case Standing.AFFIRMED if is_one_of_many(best, stated):
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


def is_one_of_many(variant: str, stated: str) -> bool:
    """Whether a statement names the variant only among others, so that it would be right by luck.

    It does where it is four or more short pieces ("Paris, London and Rome and Berlin"), two or more short lines, a
    choice that is left open ("Paris, London or Rome"), or a heap of words that make no sentence.
    """
    said = read_words(stated)
    clauses = [[word for _, word in group] for _, group in groupby(zip(said.clauses, said.words, strict=True), _first)]
    if len(clauses) >= _FEWEST_LISTED and max(map(len, clauses)) <= _LONGEST_LISTED:
        return True
    if _JOINS.intersection(said.words) and not _VERBS.intersection(said.words):
        pieces = {piece for clause in clauses for piece in _parted(clause)}
        if len(pieces) > _FEWEST_LISTED - (len(clauses) == 1) and max(map(len, pieces)) <= _LONGEST_LISTED:
            return True
    lines = {read_words(line).content for line in _LINE_END.split(stated) if "?" not in line} - {()}
    phrase = read_words(variant).content
    others = [line for line in lines if not find_phrase(phrase, read_words(" ".join(line)))]
    if len(lines) >= _FEWEST_LINES and others and max(map(len, lines)) <= _LONGEST_LISTED:
        return True
    loose = len(said.words) >= _FEWEST_LOOSE_WORDS + len(phrase) and len(set(said.clauses)) == 1
    if loose and all(word.isascii() for word in said.words) and not _SENTENCE_WORDS.intersection(said.words):
        return True
    return _is_left_open(phrase, said)


def _first(pair: tuple[int, str]) -> int:
    return pair[0]


def _parted(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(group) for joins, group in groupby(words, key=_JOINS.__contains__) if not joins]


def _is_left_open(phrase: tuple[str, ...], said: Words) -> bool:
    """Whether short pieces follow the phrase up to an "or" inside or before the last ("Paris, Rome or London").

    An "or" right after the phrase may add another name of the same thing (lignite, or brown coal).
    """
    for place in find_phrase(phrase, said)[-1:]:
        end = place + len(phrase)
        rest = [at for at in range(end, len(said.words)) if said.sentences[at] == said.sentences[place]]
        if not rest or said.clauses[rest[0]] == said.clauses[place] or said.words[rest[0]] == "or":
            return False
        for _, group in groupby(rest, key=said.clauses.__getitem__):
            piece = [said.words[at] for at in group]
            if "or" in piece[: _LONGEST_LISTED + 1]:
                return True
            if len(piece) > _LONGEST_LISTED:
                return False
    return False


SHORT_TEXT = ShortTextGrader("short_text@2")
