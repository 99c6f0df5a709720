"""What a statement says about lettered options: letters, an option's text, both in agreement, or a contradiction."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.question import choice_label
from evaluation.graders.cleaning import clean_fragment
from evaluation.graders.phrases import Standing, Words, find_phrase, read_words, standing

_HAN = "\u3400-\u9fff"
_LEAD = re.compile(
    r"[\s:\"'「『《\[{=]*"
    r"(?:(?:(?:the )?(?:option|choice|letter|answer)s?\b|(?:clearly|therefore|definitely|probably|both|only)\b"
    r"|选项|选择|选|只有|仅)"
    r"[\s:\"'「]*){0,3}",
    re.I,
)
_QUOTES = " :\"'「」『』《》[]{}="
_LABEL = re.compile(rf"\(?(?P<run>[A-Z]{{1,26}})(?:\b|(?=[{_HAN}]))\)?|\((?P<low>[a-z])\)")
_LONE_LOW = re.compile(r"\(?([a-z])\)?[.)]?[\s\"'」】}]*$|([a-z])[.):](?=\s)")
_NO_LABEL_AFTER = re.compile(r"'(?=\w)|[+#]|[-/](?=\w)|\.[A-Za-z]\.?")
# "A dog": here the letter is an article or a pronoun.
_ARTICLE_AFTER = re.compile(
    r" (?!because|since|as|is|and|or|due|with|for|which|given|based|from|if|are|because|only)[a-z]"
)
# A letter later in a list that begins a clause of its own is no further answer.
_NEW_CLAUSE = re.compile(r" (?!and|or|are|both|because|since|as|only)[a-z]|(?:选?项)?(?:是|不|错|说|中|表|的)")
_AFTER_LABEL = re.compile(r"[\s\"']{0,3}(?:[.):,;。、】」\]-]|选?项是?|is\b){0,4}[\s\"'(]{0,3}")
_SEPARATOR = re.compile(
    r"[\s,;、&+/\"'项]{0,4}(?:(?:\b(?:and|as well as)\b|和|与|及|以及|跟)\s?)?(?:(?:options?|choices?|选项)\s?)?"
)
_OR_ANOTHER = re.compile(r"[\s\"']{0,3}(?:or|或者|或|还是)[\s\"']{0,3}(?:option |choice )?\(?[A-Z](?![A-Za-z])")
_BRACKETED = re.compile(
    rf"\(([A-Z])\)|\b(?:option|choice) ([A-Z])\b|选项 ?([A-Z])(?![A-Za-z])|(?<![A-Za-z])([A-Z])(?:选项|项)[^{_HAN}]"
)
_LETTER_IN_BRACKETS = re.compile(r"[\s,]{0,3}[(\[]([A-Za-z])[)\]]")
_LONGEST_LINE = 1500
_COPY_LEFTOVER = 12


@dataclass(frozen=True)
class Reading:
    """The options that a statement names; `doubt` says why they cannot be taken as they stand."""

    chosen: frozenset[int]
    doubt: str = ""


@dataclass(frozen=True)
class Options:
    """The options of a question in cleaned form, labelled A, B, ...; without `texts` only their letters are known."""

    texts: tuple[str, ...]
    count: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Options":
        """Options by their texts, in order."""
        return _cleaned(tuple(texts))

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(_same_length_folded(text) for text in self.texts)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._folded), default=0)

    @cached_property
    def _phrases(self) -> tuple[tuple[str, ...], ...]:
        return tuple(read_words(text).content for text in self.texts)

    def places(self, letters: str) -> frozenset[int]:
        """AC to {0, 2}; empty when a letter labels no option or stands twice."""
        found = [ord(letter) - ord("A") for letter in letters.upper()]
        sound = len(set(found)) == len(found) and all(0 <= place < self.count for place in found)
        return frozenset(found) if sound else frozenset()

    def direct(self, statement: str) -> Reading | None:
        """The options that a statement begins with, by letter, text or both; None when it begins otherwise."""
        line = statement[:_LONGEST_LINE]
        lead = _LEAD.match(line)
        at = lead.end() if lead else 0
        start = len(line) - len(line.lstrip(_QUOTES))
        whole, whole_end = self._text_at(line, start)
        if whole is not None and whole_end > at > start:  # "both A and B" is an option of its own
            return self._by_text(whole, line, whole_end)
        text, text_end = self._text_at(line, at)
        letters, end = self._letters(line, at)
        if text is not None and text_end > end:
            return self._by_text(text, line, text_end)
        return self._by_letter(letters, text, line, end) if letters else None

    def item(self, line: str) -> frozenset[int]:
        """The options of a line that is nothing but labels, each with or without its own text; else empty."""
        letters, end = self._letters(line, 0)
        return letters if letters and not line[end:].strip(" .,;。)\"'") else frozenset()

    def lone(self, line: str) -> frozenset[int]:
        """The options of a line that is nothing but labels after words such as "option" or "only"; else empty."""
        lead = _LEAD.match(line)
        return self.item(line[lead.end() :]) if lead else frozenset()

    def labelled(self, line: str) -> Reading | None:
        """The options of a line that begins with a label, set off by punctuation or its own text, or is a label."""
        letters, end = self._letters(line, 0)
        if letters and (
            end >= len(line) or line[end] in ".):,;。、-—" or line[end : end + 2] == " -" or self.item(line)
        ):
            return self._by_letter(letters, None, line, end)
        return None

    def inside(self, statement: str) -> Reading | None:
        """The options that a statement names anywhere, by affirmed text or by a letter in brackets."""
        line = statement[:_LONGEST_LINE]
        texts = self.affirmed(line)
        runs = [found[found.lastindex or 0] for found in _BRACKETED.finditer(line)]
        letters = frozenset(place for run in runs for place in self.places(run))
        if texts and letters and texts != letters:
            return Reading(letters, "its letters and its words name different options")
        return Reading(letters or texts) if letters or texts else None

    def whole(self, text: str) -> Reading | None:
        """The one option whose words are the whole text."""
        words, folded = read_words(text).content, _same_length_folded(text)
        exact = [place for place, option in enumerate(self._folded) if option == folded]
        alike = [place for place, phrase in enumerate(self._phrases) if phrase and phrase == words]
        found = exact or alike
        if len(found) != 1 or self.places(text.strip("()")) - set(found):
            return None
        return Reading(frozenset(found))

    def affirmed(self, text: str) -> frozenset[int]:
        """The options whose text stands affirmed in it, without those that are only part of a longer one there."""
        words = read_words(text)
        affirmed = [
            place
            for place, phrase in enumerate(self._phrases)
            if phrase and standing(phrase, words) is Standing.AFFIRMED
        ]
        return frozenset(place for place in affirmed if not self._is_nested(place, words))

    def are_all_copied(self, text: str) -> bool:
        """Whether the text is nothing but all options, with or without their letters."""
        left = _same_length_folded(text)
        for option in sorted(self._folded, key=len, reverse=True):
            if not option or option not in left:
                return False
            left = left.replace(option, " ", 1)
        left = re.sub(r"\b[a-z]\b", "", left)
        return bool(self._folded) and sum(character.isalnum() for character in left) <= _COPY_LEFTOVER

    def _text_at(self, line: str, at: int) -> tuple[int | None, int]:
        """The longest option text that begins at that place, and its end; none when several options have it."""
        folded = _same_length_folded(line[at : at + self._longest + 2])
        best: tuple[int | None, int] = (None, at)
        for place, text in enumerate(self._folded):
            end = at + len(text)
            if text and end > best[1] and folded.startswith(text) and _is_bounded(folded, len(text)):
                best = (place, end)
        same = [text for text in self._folded if best[0] is not None and text == self._folded[best[0]]]
        return best if len(same) == 1 else (None, at)

    def _letters(self, line: str, at: int) -> tuple[frozenset[int], int]:
        lone = _LONE_LOW.match(line, at)
        if lone:
            places = self.places(lone[1] or lone[2])
            return places, (lone.end() if places else at)
        chosen: set[int] = set()
        end = at
        while found := _LABEL.match(line, at):
            places = self.places(found["run"] or found["low"])
            own_end = self._own_text_end(found.end(), line, places)
            if (
                not places
                or places <= chosen
                or (own_end == found.end() and self._is_no_label(found, line, first=not chosen))
            ):
                break
            chosen |= places
            end = own_end
            separator = _SEPARATOR.match(line, end)
            at = separator.end() if separator else end
            if at == end:
                break
        return frozenset(chosen), end

    def _is_no_label(self, found: re.Match[str], line: str, *, first: bool) -> bool:
        if _NO_LABEL_AFTER.match(line, found.end()):
            return True
        if first:
            return found.group() in ("A", "I") and _ARTICLE_AFTER.match(line, found.end()) is not None
        return _NEW_CLAUSE.match(line, found.end()) is not None

    def _own_text_end(self, end: int, line: str, places: frozenset[int]) -> int:
        between = _AFTER_LABEL.match(line, end)
        text, text_end = self._text_at(line, between.end() if between else end)
        return text_end if text is not None and places == {text} else end

    def _by_text(self, first: int, line: str, end: int) -> Reading:
        """An option's text came first; a letter in brackets may follow each, and further texts of a list."""
        chosen: set[int] = set()
        text: int | None = first
        while text is not None:
            chosen.add(text)
            bracketed = _LETTER_IN_BRACKETS.match(line, end)
            if bracketed and self.places(bracketed[1]) != {text}:
                return Reading(frozenset(chosen), f"the words say {choice_label(text)}, the letter {bracketed[1]}")
            end = bracketed.end() if bracketed else end
            separator = _SEPARATOR.match(line, end)
            at = separator.end() if separator else end
            text, end = self._text_at(line, at) if at > end else (None, end)
        return Reading(frozenset(chosen))

    def _by_letter(self, letters: frozenset[int], same_place: int | None, line: str, end: int) -> Reading:
        if same_place is not None and same_place not in letters:
            return Reading(letters, "the letter is the text of another option")
        if _OR_ANOTHER.match(line, end):
            return Reading(letters, "it leaves several letters open")
        between = _AFTER_LABEL.match(line, end)
        other, _ = self._text_at(line, between.end() if between else end)
        if other is not None and len(letters) == 1 and other not in letters and len(self.texts[other]) > 1:
            return Reading(letters, f"the letter says {choice_label(min(letters))}, the words {choice_label(other)}")
        return Reading(letters)

    def _is_nested(self, place: int, words: Words) -> bool:
        mine = self._phrases[place]
        covered: set[int] = set()
        for longer in self._phrases:
            if len(longer) > len(mine) and any(longer[at : at + len(mine)] == mine for at in range(len(longer))):
                for start in find_phrase(longer, words):
                    covered.update(range(start, start + len(longer)))
        return all(start in covered for start in find_phrase(mine, words))


# Many answers to one question are read one after the other, in a few turns of its choices.
@lru_cache(maxsize=64)
def _cleaned(texts: tuple[str, ...]) -> Options:
    return Options(tuple(clean_fragment(text) for text in texts), len(texts))


def _same_length_folded(text: str) -> str:
    """Case folded, but for letters such as ß that would become two."""
    folded = text.casefold()
    return folded if len(folded) == len(text) else "".join(c if len(c.casefold()) != 1 else c.casefold() for c in text)


def _is_bounded(text: str, end: int) -> bool:
    if end >= len(text):
        return True
    last, following = text[end - 1], text[end]
    if _is_word(last) and _is_word(following):
        return False
    return not (last.isdigit() and following in ".,:/%" and (following == "%" or text[end + 1 : end + 2].isdigit()))


def _is_word(character: str) -> bool:
    return character.isalnum() and not "\u3040" <= character <= "\u9fff"
