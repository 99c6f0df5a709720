"""What kind of annotator somebody is, and which languages and dialects they speak."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from annotation_ui.told import Told
from annotation_ui.words import N_

MOST_LANGUAGES = 20
MOST_DIALECTS = 20
LONGEST_DIALECT = 64
_CODE = re.compile(r"[a-z]{2,3}")


class PersonKind(StrEnum):
    """Where an annotator comes from; statistics are told apart by it."""

    EXPERT = "expert"
    CROWD = "crowd"


class BadProfile(Told):
    """A profile that cannot be stored."""

    text = N_(
        "A profile holds at most 20 languages and 20 dialects: languages by their codes (such as en, zh), "
        "dialects in at most 64 characters."
    )


@dataclass(frozen=True)
class Profile:
    """`languages` are primary subtags (`zh`), `dialects` free words. `User.profile` keeps other things beside it."""

    kind: PersonKind | None = None
    languages: Sequence[str] = ()
    dialects: Sequence[str] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """What a user's row says."""
        kind = stored.get("kind")
        return cls(
            PersonKind(kind) if kind in set(PersonKind) else None,
            tuple(stored.get("languages", ())),
            tuple(stored.get("dialects", ())),
        )

    def checked(self) -> Self:
        """The same with blanks and repeats taken away.

        Raises:
            BadProfile: Something is too long, too many or no code.
        """
        languages = _distinct(code.lower() for code in self.languages)
        dialects = _distinct(" ".join(dialect.split()) for dialect in self.dialects)
        too_many = len(languages) > MOST_LANGUAGES or len(dialects) > MOST_DIALECTS
        if too_many or any(len(dialect) > LONGEST_DIALECT for dialect in dialects):
            raise BadProfile
        if not all(_CODE.fullmatch(code) for code in languages):
            raise BadProfile
        return type(self)(self.kind, languages, dialects)

    def within(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """What the row is to hold: this profile, and whatever else was there."""
        return {
            **stored,
            "kind": self.kind.value if self.kind else None,
            "languages": list(self.languages),
            "dialects": list(self.dialects),
        }


def _distinct(words: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
