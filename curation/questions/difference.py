"""Proof that a private question is another one than the public question that it was made after.

Each check says what it measured and where the limit lies. The proof holds when none fails; what could not be measured
is said and proves nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from core.content import MediaRef, Modality
from core.question import Question
from core.taxonomy import load_taxonomy
from curation.contamination.entries import document_of
from curation.contamination.texts import CHARACTERS_SPAN, Document, Token, is_character

WORDS_RUN = 13
"""So many words in a row are taken over (Brown et al. 2020, appendix C); of characters, `CHARACTERS_SPAN`."""
LIMIT = WORDS_RUN * CHARACTERS_SPAN
COVERAGE_MAX = 0.6
"""Share of the private text that may lie in stretches of five and more tokens of the public one."""
SAYING = 3.0
"""A shared stretch counts from so many words on that are neither common nor numbers: instructions are free."""
_STRETCH = 5
PROOF_VERSION = "1"


@dataclass(frozen=True)
class Nearness:
    """Whether two media of one modality were compared, and their distance when they show or sound the same."""

    compared: bool
    distance: float | None = None


Near = Callable[[MediaRef, MediaRef], Nearness]
"""Compares two media of one modality."""


@dataclass(frozen=True)
class Check:
    """One check; `passed` is None where it could not be made. `en` and `zh` tell what was found."""

    name: str
    passed: bool | None
    measured: Any
    limit: Any
    en: str
    zh: str


@dataclass(frozen=True)
class Proof:
    """All checks of one pair of questions."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether no check fails."""
        return all(check.passed is not False for check in self.checks)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"version": PROOF_VERSION, "holds": self.holds, "checks": [asdict(check) for check in self.checks]}


def prove(private: Question, public: Question, near: Near, theirs: Mapping[str, Sequence[str]]) -> Proof:
    """Compare a private question with the public one that it was made after.

    Args:
        private: Ours.
        public: The one it was made after.
        near: Compares two media by what they show.
        theirs: By sha256 of our media, public questions that show the very bytes.
    """
    ours, original = document_of(private), document_of(public)
    return Proof(
        (
            _same_ability(private, public),
            _same_modalities(private, public),
            _own_media(private, theirs),
            _other_media(private, public, near),
            _other_words(ours, original),
            _other_options(ours, original),
        )
    )


def _same_ability(private: Question, public: Question) -> Check:
    taxonomy = load_taxonomy()
    held, wanted = (taxonomy.get(one.task_type).ability for one in (private, public))
    return Check(
        "same_ability",
        held == wanted,
        held,
        wanted,
        f"asks for {held}; the public question for {wanted}",
        f"考查能力为 {held}；公开题为 {wanted}",
    )


def _same_modalities(private: Question, public: Question) -> Check:
    held, wanted = sorted(private.modalities), sorted(public.modalities)
    shown, original = ("+".join(names) or Modality.TEXT.value for names in (held, wanted))
    return Check(
        "same_modalities",
        set(held) >= set(wanted),
        held,
        wanted,
        f"shows {shown}; the public question {original}",
        f"使用的模态为 {shown}；公开题为 {original}",
    )


def _own_media(private: Question, theirs: Mapping[str, Sequence[str]]) -> Check:
    taken = {part.name: list(theirs[part.media.sha256]) for part in private.media if part.media.sha256 in theirs}
    told = "; ".join(f"{name}: {', '.join(shown[:3])}" for name, shown in sorted(taken.items()))
    return Check(
        "private_media",
        not taken,
        taken,
        {},
        f"media are those of public questions ({told})" if taken else "no medium is one of a public question's",
        f"素材与公开题的素材完全相同（{told}）" if taken else "没有素材与任何公开题的素材相同",
    )


def _other_media(private: Question, public: Question, near: Near) -> Check:
    pairs = [
        (one.name, other.name, one.media, other.media)
        for one in private.media
        for other in public.media
        if one.media.modality == other.media.modality
    ]
    compared = {f"{name} = {other}": near(ours, original) for name, other, ours, original in pairs}
    found = {names: round(one.distance, 4) for names, one in compared.items() if one.distance is not None}
    unknown = sorted(names for names, one in compared.items() if not one.compared)
    if found:
        told = ", ".join(found)
        said = f"shows the same as the public question ({told})", f"与公开题的素材内容相同（{told}）"
    elif unknown:
        told = ", ".join(unknown)
        said = f"nothing to compare in {told}: one tone, or silence", f"{told} 没有可比较的内容（单色或静音）"
    else:
        said = f"{len(pairs)} pairs of media, none near", f"比较了 {len(pairs)} 对素材，没有相近的"
    passed = False if found else None if unknown else True
    return Check("other_media", passed, found, "no near pair", *said)


def _other_words(ours: Document, original: Document) -> Check:
    matched = _stretches(ours, original)
    telling = [run for run in matched if _says(ours, run)]
    longest = max(telling, key=_length, default=[])
    shared = [token for run in matched for token in run]
    coverage = len(shared) / len(ours.tokens) if _says(ours, shared) else 0.0
    passed = _length(longest) < LIMIT and coverage <= COVERAGE_MAX
    words = "".join(_text(ours, longest)) if longest else ""
    return Check(
        "other_words",
        passed,
        {"longest": words, "tokens": len(longest), "coverage": round(coverage, 4)},
        {"words": WORDS_RUN, "characters": CHARACTERS_SPAN, "coverage": COVERAGE_MAX},
        f"shares {len(longest)} tokens in a row and {coverage:.0%} of the text" + (f": {words!r}" if words else ""),
        f"连续相同 {len(longest)} 个词或字，重合部分占 {coverage:.0%}" + (f"：“{words}”" if words else ""),
    )


def _other_options(ours: Document, original: Document) -> Check:
    if not ours.options or not original.options:
        return Check("other_options", None, None, None, "one of the two has no options", "其中一题没有选项")
    options = [token.position for token in ours.tokens if token.field >= len(ours.fields)]
    says = ours.weight(options) >= SAYING
    same = ours.option_set == original.option_set
    if same and not says:
        told = "the options are the same, but such as many questions have"
        return Check("other_options", True, "same", "not the same", told, "选项相同，但属于常见选项")
    return Check(
        "other_options",
        not same,
        "same" if same else "other",
        "not the same",
        "the options are those of the public question" if same else "the set of options is another",
        "选项与公开题相同" if same else "选项集合不同",
    )


def _stretches(ours: Document, original: Document) -> list[list[Token]]:
    """Runs of ours, of five tokens and more, that the original has too."""
    matcher = SequenceMatcher(
        None, [token.text for token in ours.tokens], [token.text for token in original.tokens], autojunk=False
    )
    blocks = matcher.get_matching_blocks()
    return [list(ours.tokens[block.a : block.a + block.size]) for block in blocks if block.size >= _STRETCH]


def _says(document: Document, tokens: Iterable[Token]) -> bool:
    return document.weight(token.position for token in tokens) >= SAYING


def _length(run: Iterable[Token]) -> int:
    """How long a run is, `LIMIT` for 13 words or 8 characters, mixed ones in proportion: whole numbers add exactly."""
    return sum(WORDS_RUN if is_character(token.text) else CHARACTERS_SPAN for token in run)


def _text(document: Document, run: Sequence[Token]) -> list[str]:
    first, last = run[0], run[-1]
    fields = document.all_fields
    if first.field == last.field:
        return [fields[first.field].text[first.start : last.end]]
    between = [one.text for one in fields[first.field + 1 : last.field]]
    return [" / ".join([fields[first.field].text[first.start :], *between, fields[last.field].text[: last.end]])]
