"""Dates in one writing: 20 July 1969, 20th of July, 1969, 1969-07-20 and 1969年7月20日 become "20 july 1969"."""

import re

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_NAME = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_YEAR = r"(?:,? ?(?:of )?(?P<year>[12]\d{3})\b)?"
_DAY_FIRST = re.compile(rf"(?<![\w.,:/-]){_DAY}(?:st|nd|rd|th)?(?: of)?[ -]{_NAME}(?:-|(?=\W|$)){_YEAR}")
_MONTH_FIRST = re.compile(rf"(?<![\w-]){_NAME} (?:the )?{_DAY}(?:st|nd|rd|th)?(?![\w:/%]|[.,]\d){_YEAR}")
_NUMBER = r"(?P<number>0?[1-9]|1[0-2])"
_ISO = re.compile(rf"(?<![\w.,:/-])(?P<year>[12]\d{{3}})([-/.]){_NUMBER}\2{_DAY}(?![\w/-]|[.,:]\d)")
_CHINESE = re.compile(rf"(?:(?<!\d)(?P<year>[12]\d{{3}}) ?年 ?)?(?<!\d){_NUMBER} ?月 ?{_DAY} ?[日号]")


def with_plain_dates(text: str) -> str:
    """The text with every date that names a month and a day as "20 july 1969".

    Args:
        text: Lower-case text with western digits. Numeric dates whose order depends on the country (7/20/1969) stay.
    """
    if not any(character.isdigit() for character in text):
        return text
    for pattern in (_ISO, _CHINESE, _DAY_FIRST, _MONTH_FIRST):
        text = pattern.sub(_plain, text)
    return text


def _plain(found: re.Match[str]) -> str:
    parts = found.groupdict()
    if parts.get("month"):
        month = next(name for name in _MONTHS if name.startswith(parts["month"][:3]))
    else:
        month = _MONTHS[int(parts["number"]) - 1]
    year = f" {parts['year']}" if parts["year"] else ""
    return f"{int(parts['day'])} {month}{year}"
