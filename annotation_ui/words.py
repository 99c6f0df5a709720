"""What the studio says, in the reader's language: gettext catalogues, dates and numbers."""

import gettext
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files

from babel import Locale
from babel.dates import format_datetime, format_skeleton, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent

# English is what the code says; every other language is a catalogue.
LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}
DEFAULT_LANGUAGE = "en"


def N_(text: str) -> str:  # noqa: N802 - gettext's own name for "translate this later"
    """Mark a text for the catalogue; it is translated where it is shown."""
    return text


@dataclass(frozen=True)
class Words:
    """The words of one language. Call it with an English text: `t("{count} items", count=3)`."""

    language: str
    catalogue: gettext.NullTranslations

    def __call__(self, text: str, /, **values: object) -> str:
        """The text in this language, its braces filled."""
        found = self.catalogue.gettext(text)
        return found.format(**values) if values else found

    def plural(self, one: str, many: str, count: int, /, **values: object) -> str:
        """The form that the count needs; `{count}` is filled with the number as this language writes it."""
        return self.catalogue.ngettext(one, many, count).format(count=self.number(count), **values)

    def number(self, value: float) -> str:
        """A number with its thousands apart."""
        return format_decimal(value, locale=self._locale)

    def percent(self, share: float) -> str:
        """A share in [0, 1] as percent with one decimal."""
        return format_percent(share, format="#,##0.0%", locale=self._locale)

    def moment(self, at: datetime) -> str:
        """A moment as date and time, in UTC as it is stored."""
        return f"{format_datetime(at, 'yyyy-MM-dd HH:mm', locale=self._locale)} UTC"

    def day(self, at: datetime) -> str:
        """A day of this year or the last, without its year."""
        return format_skeleton("MMMd", at, locale=self._locale)

    def ago(self, at: datetime, now: datetime) -> str:
        """How long ago that was."""
        return format_timedelta(min(at - now, timedelta(seconds=-1)), add_direction=True, locale=self._locale)

    def span(self, length: timedelta) -> str:
        """A length of time in its largest unit."""
        return format_timedelta(length, locale=self._locale)

    @property
    def _locale(self) -> Locale:
        return Locale.parse("zh_Hans_CN" if self.language == "zh" else "en")


@cache
def words_in(language: str) -> Words:
    """The words of a language; those of English for a language that there is no catalogue of."""
    if language == DEFAULT_LANGUAGE or language not in LANGUAGES:
        return Words(DEFAULT_LANGUAGE, gettext.NullTranslations())
    text = files("annotation_ui").joinpath("locale", language, "LC_MESSAGES", "studio.po").read_bytes()
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(text), locale=language))
    compiled.seek(0)
    return Words(language, gettext.GNUTranslations(compiled))


def closest_language(wanted: str | None) -> str:
    """The language of ours for a browser's locale or an Accept-Language header."""
    for entry in (wanted or "").split(","):
        code = entry.split(";")[0].strip().lower().split("-")[0]
        if code in LANGUAGES:
            return code
    return DEFAULT_LANGUAGE
