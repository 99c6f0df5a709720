"""Who said what: words given to the turns of speakers, and put together to segments."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curation.speech.heard import Span, Turn, Word

FAR_S = 2.0
"""A word further than this from every turn is nobody's."""
PAUSE_S = 1.0
"""A longer pause ends a segment."""
LONG_S = 15.0
"""From this length on a segment ends with its sentence."""
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…")


@dataclass(frozen=True)
class SpokenSegment:
    """What one speaker says without a long pause; `speaker` is None where no turn is near."""

    speaker: str | None
    words: tuple[Word, ...]

    @property
    def span(self) -> Span:
        """From its first word to its last."""
        return Span(self.words[0].start_s, max(word.end_s for word in self.words))

    @property
    def text(self) -> str:
        """The words as their language writes them in a row."""
        return "".join(word.text for word in self.words).strip()

    @property
    def language(self) -> str | None:
        """The language of most of its words."""
        return main_language(self.words)


def who_said_what(words: Iterable[Word], turns: Sequence[Turn]) -> list[SpokenSegment]:
    """Give each word to the turn that it shares most time with, else to the nearest, and put words in a row together.

    Speakers are named anew, in the order in which they are first heard: SPEAKER_00, SPEAKER_01 ...
    """
    held: list[tuple[str | None, list[Word]]] = []
    names: dict[str, str] = {}
    for word in sorted(words, key=lambda word: (word.start_s, word.end_s)):
        turn = _turn_of(word, turns)
        speaker = None if turn is None else names.setdefault(turn.speaker, f"SPEAKER_{len(names):02d}")
        if held and held[-1][0] == speaker and not _ends(held[-1][1], word):
            held[-1][1].append(word)
        else:
            held.append((speaker, [word]))
    return [SpokenSegment(speaker, tuple(spoken)) for speaker, spoken in held]


def main_language(words: Iterable[Word]) -> str | None:
    """The language of most words; of two that have as many, the first in the alphabet."""
    counted = Counter(word.language for word in words if word.language)
    return min(counted, key=lambda language: (-counted[language], language), default=None)


def _turn_of(word: Word, turns: Sequence[Turn]) -> Turn | None:
    span = Span(word.start_s, word.end_s)
    best = min(turns, key=lambda turn: (-span.shared_s(turn), _away_s(span, turn), turn), default=None)
    return best if best is not None and _away_s(span, best) <= FAR_S else None


def _away_s(word: Span, turn: Turn) -> float:
    return max(0.0, turn.start_s - word.end_s, word.start_s - turn.end_s)


def _ends(spoken: Sequence[Word], word: Word) -> bool:
    last = spoken[-1]
    is_long = word.end_s - spoken[0].start_s > LONG_S
    return word.start_s - last.end_s > PAUSE_S or (is_long and last.text.rstrip().endswith(_SENTENCE_ENDS))
