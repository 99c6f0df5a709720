"""Numbers that a text states, with their units, and whether two of them are the same."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from evaluation.graders.units import Unit, currency_before, relatives, unit_after

# Languages that write 1.000,5 where English writes 1,000.5.
_DECIMAL_COMMA = frozenset((
    "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "cs", "sk", "da", "sv", "no", "nb", "fi", "el", "ro",
    "hu", "tr", "id", "vi", "bg", "hr", "sr", "sl",
))  # fmt: skip
_MYRIADS = frozenset(("zh", "ja", "ko"))
_MOST_DIGITS, _MOST_EXPONENT = 400, 400

_NUMERAL = r"(?:\d{1,3}(?:\ \d{3}){1,9}(?!\d)(?:[.,]\d{1,40})?|\d{1,500}(?:[.,']\d{1,500}){0,40}|\.\d{1,400})"
_QUANTITY = re.compile(
    rf"""
    (?P<number>{_NUMERAL})
    (?: \ ?[×x*]\ ?10\ ?\^\ ?\(?(?P<exponent>[-+]?\d{{1,4}})\)? | [eE](?P<e>[-+]?\d{{1,4}})(?![\d.])
      | \ ?\^\ ?\(?(?P<power>[-+]?\d{{1,3}})(?!\d)\)? )?
    (?: (?P<ratio>(?:\ ?:\ ?\d{{1,40}}(?:\.\d{{1,40}})?){{1,5}})
      | \ (?P<part>\d{{1,4}})/(?P<whole>\d{{1,4}})(?![\d/])
      | \ ?/\ ?(?P<divisor>{_NUMERAL})(?!\ ?/) )?
    (?P<ordinal>(?:st|nd|rd|th)\b)?
    (?: \ ?(?P<percent>%|‰|percent\b|per\ cent\b|pct\b|percentage\ points?\b) )?
    """,
    re.VERBOSE,
)
_MINUS_BEFORE = re.compile(r"(?:(?<![^\W_])(?<!\))- ?|\b(?:minus|negative) |负)(?:US)?[$€£]?$", re.I)
_NEGATED_BEFORE = re.compile(
    r"\b(?:not|isn't|wasn't|aren't) (?:equal to |just |exactly |about )?$|(?:不是|并非|不等于)$", re.I
)
_BOUND_BEFORE = re.compile(
    r"(?:[<>≤≥]=?|\b(?:more|less|fewer|greater|larger|smaller|higher|lower) than|\bat (?:least|most)"
    r"|\b(?:over|under|above|below|up to|between)"
    r"|超过|少于|多于|大于|小于|不到|至少|至多|最多|最少|不足|高于|低于|介于) ?(?:or equal to )?(?:US)?[$€£]?$",
    re.I,
)
_BOUND_AFTER = re.compile(r" ?(?:\+(?![\w ])|or (?:more|less|fewer|above|below)\b|plus\b(?! \d)|以上|以下|多)", re.I)
# Two values (±5), of which nobody chose one.
_EITHER_SIGN_BEFORE = re.compile(r"(?:±|\+ ?/ ?-|\bplus or minus) ?$", re.I)
_LABEL_BEFORE = re.compile(
    r"\b(?:steps?|questions?|parts?|figures?|fig\.|tables?|options?|equations?|eq\.|lines?|sections?|no\.|items?)"
    r" ?[#(]?$|(?:步骤|图|表|题|公式|选项|第) ?$|#$",
    re.I,
)
# How sure an answer is, or how often it was checked, is no part of it.
_ASIDE_BEFORE = re.compile(r"(?:\bconfiden\w{2,3}|置信度|把握)[\s:=(是为]{0,3}(?:of |level |is )?$", re.I)
_ASIDE_AFTER = re.compile(r" (?:sure|certain|confident|confidence)\b|的?(?:把握|确定|确信|置信度)", re.I)
_CHECKED_BEFORE = re.compile(
    r"\b(?:(?:re|double-?)?checked|verified|counted|confirmed|repeated|recounted) (?:it |this |that |them )?$", re.I
)
_OUT_OF = re.compile(r" (?:\w{1,20} )?out of (?:the |a total of )?", re.I)
_LOOK_BACK = 24
# An operator between numbers or variables, or a root, power or constant beside them.
_OPERATOR = re.compile(
    r"[√^π]|\bsqrt\b|\bpi\b|0!(?:\S|$)|[0)] ?[+×÷·*] ?[0(]|0 - 0|0\(|\) ?[0(/]|0 ?/ ?[a-z(]"
    r"|\b[a-z] ?[-+*/] ?0|0 ?[+*] ?[a-z]\b"
)


@dataclass(frozen=True)
class Quantity:
    """A number with what it says of itself.

    Attributes:
        value: The number as written, a percentage's without its percent; None when it cannot be read.
        start: Where it begins in the text.
        end: Where it ends, unit included.
        scale: 1/100 for percent, 1/1000 for per mille.
        other: The value in another country's way of writing (10.000), when there are two.
        unit: A known unit.
        ratio: The terms of a ratio (3:1) in lowest terms.
        bounded: Written as a bound ("more than 5").
        ordinal: Written as "3rd".
        partial: Part of an expression that was not computed.
    """

    value: Fraction | float | None
    start: int = 0
    end: int = 0
    scale: Fraction | None = None
    other: Fraction | None = None
    unit: Unit | None = None
    ratio: tuple[Fraction, ...] | None = None
    bounded: bool = False
    ordinal: bool = False
    partial: bool = False


def read_numeral(face: str, language: str) -> tuple[Fraction | None, Fraction | None]:
    """The value of digits with separators, and the value that another country would read, if there is one."""
    if len(face) > _MOST_DIGITS:
        return None, None
    face = face.replace(" ", "").replace("'", "")
    comma_first = language.partition("-")[0] in _DECIMAL_COMMA
    if re.fullmatch(r"\d+|\d*\.\d+", face) and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", face):
        return Fraction(face), None
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", face):
        readings = Fraction(face), Fraction(face.replace(".", ""))
        return (readings[1], readings[0]) if comma_first else readings
    if re.fullmatch(r"[1-9]\d{0,2},\d{3}", face):
        readings = Fraction(face.replace(",", "")), Fraction(face.replace(",", "."))
        return (readings[0], None) if not comma_first else (readings[1], readings[0])
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[1-9]\d?(?:,\d\d)+,\d{3}(?:\.\d+)?", face):
        return Fraction(face.replace(",", "")), None
    if re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}", face):
        return Fraction(face.replace(".", "").replace(",", ".")), None
    if language.partition("-")[0] in _MYRIADS and re.fullmatch(r"[1-9]\d{0,3}(?:,\d{4})+(?:\.\d+)?", face):
        return Fraction(face.replace(",", "")), None
    return (Fraction(face.replace(",", ".")), None) if re.fullmatch(r"\d+,\d+", face) else (None, None)


def is_expression(text: str) -> bool:
    """Whether the numbers of a text are parts of a computation."""
    return _OPERATOR.search(_QUANTITY.sub("0", text)) is not None


def quantities(text: str, language: str) -> list[Quantity]:
    """The quantities of a text whose number words are in digits, without labels, parts of words and denied ones."""
    partial = is_expression(text)
    found = [
        _quantity(match, text, language, partial) for match in _QUANTITY.finditer(text) if _stands_alone(match, text)
    ]
    return list(_compounded(found, text))


def _stands_alone(match: re.Match[str], text: str) -> bool:
    before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
    previous, following = before[-1:], text[match.end() : match.end() + 1]
    if _is_letter(previous) or previous == "_" or (previous == "-" and _is_letter(before[-2:-1])):
        return False
    if _is_letter(following) and not unit_after(text, match.end()):
        return False
    if _CHECKED_BEFORE.search(before) and text.startswith(" times", match.end()):
        return False
    if match["percent"] and (_ASIDE_BEFORE.search(before) or _ASIDE_AFTER.match(text, match.end())):
        return False
    return not (_LABEL_BEFORE.search(before) or _NEGATED_BEFORE.search(before))


def _is_letter(character: str) -> bool:
    return character.isalpha() and not "\u3040" <= character <= "\u9fff" and not "\uac00" <= character <= "\ud7af"


def _quantity(match: re.Match[str], text: str, language: str, partial: bool) -> Quantity:
    value, other = _value(match, language)
    before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
    minus = _MINUS_BEFORE.search(before)
    if minus and value is not None:
        value, other = -value, (None if other is None else -other)
    bound = _BOUND_BEFORE.search(before[: minus.start()] if minus else before)
    unit, end = unit_after(text, match.end()) or (currency_before(text, match.start()), match.end())
    return Quantity(
        value=value,
        start=match.start(),
        end=end,
        scale={"": None, "‰": Fraction(1, 1000)}.get(match["percent"] or "", Fraction(1, 100)),
        other=other,
        unit=unit,
        ratio=_ratio(value, match["ratio"]) if match["ratio"] else None,
        bounded=bool(bound or _BOUND_AFTER.match(text, end) or _EITHER_SIGN_BEFORE.search(before)),
        ordinal=bool(match["ordinal"]),
        partial=partial,
    )


def _value(match: re.Match[str], language: str) -> tuple[Fraction | None, Fraction | None]:
    value, other = read_numeral(match["number"], language)
    if value is None:
        return None, None
    exponent = int(match["exponent"] or match["e"] or 0)
    if exponent:
        return (value * Fraction(10) ** exponent if abs(exponent) <= _MOST_EXPONENT else None), None
    if match["power"]:
        power = int(match["power"])
        small = abs(power) * len(match["number"]) <= _MOST_EXPONENT and (value or power > 0)
        return (Fraction(value**power) if small else None), None
    if match["part"]:
        return (value + Fraction(int(match["part"]), int(match["whole"])) if int(match["whole"]) else None), None
    if match["divisor"]:
        below = read_numeral(match["divisor"], language)[0]
        return (value / below if below else None), None
    return value, other


def _ratio(first: Fraction | None, rest: str) -> tuple[Fraction, ...]:
    terms = [first or Fraction(0), *(Fraction(term) for term in rest.replace(" ", "").split(":")[1:])]
    largest = next((term for term in terms if term), Fraction(1))
    return tuple(term / largest for term in terms)


def _compounded(found: list[Quantity], text: str) -> Iterator[Quantity]:
    """2 hours 30 minutes is one quantity, and so is 3 out of 4, which may mean 3 or 3/4."""
    held: Quantity | None = None
    for one in found:
        joined = held and (_sum(held, one, text) or _share(held, one, text))
        if held and not joined:
            yield held
        held = joined or one
    if held:
        yield held


def _sum(large: Quantity, small: Quantity, text: str) -> Quantity | None:
    if (
        large.unit is None
        or small.unit is None
        or text[large.end : small.start].strip() not in ("", "and", "又", "零", ",")
    ):
        return None
    if large.unit.dimension != small.unit.dimension or large.unit.factor <= small.unit.factor or large.unit.offset:
        return None
    if not isinstance(large.value, Fraction) or not isinstance(small.value, Fraction):
        return None
    total = large.value + small.value * small.unit.factor / large.unit.factor
    return replace(large, value=total, end=small.end)


def _share(part: Quantity, whole: Quantity, text: str) -> Quantity | None:
    if not _OUT_OF.fullmatch(text, part.end, whole.start) or not whole.value or part.value is None:
        return None
    if not isinstance(part.value, Fraction) or not isinstance(whole.value, Fraction):
        return None
    return replace(part, other=part.value / whole.value, end=whole.end)


def same(wanted: Quantity, said: Quantity, tolerance: float | None) -> bool | None:
    """Whether an answer's quantity is the key's; None when that depends on how it is read.

    A unit matters only where both state one. The tolerance is absolute, in the key's unit.
    """
    if wanted.ratio or said.ratio:
        return _same_ratio(wanted, said, tolerance)
    if _agree(wanted, said, tolerance):
        return None if said.bounded and not wanted.bounded else True
    readings = [replace(said, value=said.other)] if said.other is not None else []
    keys = [wanted, *([replace(wanted, value=wanted.other)] if wanted.other is not None else [])]
    if any(_agree(key, one, tolerance) for key in keys for one in [said, *readings]):
        return None
    # 150 asked and 2.5 hours answered: right where the question asked for minutes.
    units = relatives(said.unit) if wanted.unit is None and said.unit is not None else set()
    if any(_agree(replace(wanted, unit=unit), said, tolerance) for unit in units):
        return None
    # 0.25 asked and 0.25% answered: the sign may be careless or may be meant.
    if wanted.scale is None and said.scale is not None and _close(wanted.value, said.value, tolerance):
        return None
    return None if said.value is None else False


def _same_ratio(wanted: Quantity, said: Quantity, tolerance: float | None) -> bool | None:
    if wanted.ratio and said.ratio:
        return wanted.ratio == said.ratio
    as_number = [replace(one, ratio=None, value=_as_fraction(one)) for one in (wanted, said)]
    return None if _agree(as_number[0], as_number[1], tolerance) else False


def _as_fraction(one: Quantity) -> Fraction | float | None:
    if not one.ratio:
        return one.value
    return one.ratio[0] / one.ratio[1] if len(one.ratio) == 2 and one.ratio[1] else None


def _agree(wanted: Quantity, said: Quantity, tolerance: float | None) -> bool:
    if wanted.value is None or said.value is None:
        return False
    if wanted.scale is not None or said.scale is not None:
        return _agree_in_percent(wanted, said, tolerance)
    if wanted.unit is None or said.unit is None or wanted.unit == said.unit:
        return _close(wanted.value, said.value, tolerance)
    if wanted.unit.dimension != said.unit.dimension:
        return False
    if not isinstance(wanted.value, Fraction) or not isinstance(said.value, Fraction):
        return False
    allowed = Fraction(str(tolerance or 0)) * wanted.unit.factor
    return abs(wanted.unit.base(wanted.value) - said.unit.base(said.value)) <= allowed


def _agree_in_percent(wanted: Quantity, said: Quantity, tolerance: float | None) -> bool:
    """25% is 25%, 0.25 and a bare 25 where the key says percent; a bare key above 1 counts percents."""
    if wanted.value is None or said.value is None:
        return False
    if wanted.scale is not None:
        in_key = said.value * (said.scale or Fraction(1)) / wanted.scale
        return _close(wanted.value, in_key, tolerance) or (
            said.scale is None and _close(wanted.value, said.value, tolerance)
        )
    if said.scale is None:
        return False
    if _close(wanted.value, said.value * said.scale, tolerance):
        return True
    return not -1 <= wanted.value <= 1 and _close(wanted.value, said.value, tolerance)


def _close(wanted: Fraction | float | None, said: Fraction | float | None, tolerance: float | None) -> bool:
    if wanted is None or said is None:
        return False
    if isinstance(wanted, Fraction) and isinstance(said, Fraction):
        return abs(wanted - said) <= Fraction(str(tolerance or 0))
    try:
        return math.isclose(wanted, said, rel_tol=1e-9, abs_tol=tolerance or 0)
    except OverflowError:
        return False
