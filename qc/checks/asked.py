"""The questions of a project by the media they show, so that a new one is compared with few."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from core.question import Question
from qc.checks.authoring import fingerprint_text


class Asked:
    """Questions by item name; `put` again replaces.

    Args:
        questions: Name and question.
        alike: The sha256 of media that have near-duplicates to that of one which stands for all of them, as
            `qc.checks.near_duplicates` reads it: whatever has one representative counts as the same media.
    """

    def __init__(self, questions: Iterable[tuple[str, Question]] = (), alike: Mapping[str, str] | None = None) -> None:
        self._alike = alike or {}
        self._texts: dict[str, str] = {}
        self._media: dict[str, frozenset[str]] = {}
        self._showing: defaultdict[str, set[str]] = defaultdict(set)
        for name, question in questions:
            self.put(name, question)

    def put(self, name: str, question: Question) -> None:
        """Take an item's question in."""
        for sha256 in self._media.get(name, ()):
            self._showing[sha256].discard(name)
        self._texts[name], self._media[name] = fingerprint_text(question), self._shown(question)
        for sha256 in self._media[name]:
            self._showing[sha256].add(name)

    def beside(self, name: str, question: Question) -> dict[str, str]:
        """Other items that show all of the question's media, with their texts; none for a question without media."""
        groups = [self._showing.get(sha256, set()) for sha256 in self._shown(question)]
        names = set.intersection(*groups) - {name} if groups else set()
        return {other: self._texts[other] for other in sorted(names)}

    def _shown(self, question: Question) -> frozenset[str]:
        return frozenset(self._alike.get(part.media.sha256, part.media.sha256) for part in question.media)
