"""Numbers in words rewritten as digits: by text2num for European languages, and Chinese numerals."""

import re
from fractions import Fraction

from text_to_num import alpha2digit

_DIGITS = dict(zip("零〇一二三四五六七八九", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)) | {
    "两": 2, "兩": 2, "壹": 1, "贰": 2, "貳": 2, "叁": 3, "參": 3, "肆": 4, "伍": 5, "陆": 6, "陸": 6, "柒": 7, "捌": 8,
    "玖": 9,
}  # fmt: skip
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_BIG_UNITS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_D, _U = "".join(_DIGITS), "".join(_UNITS) + "".join(_BIG_UNITS)
_ARABIC = r"\d{1,40}(?:,\d{3}){0,12}(?:\.\d{1,40})?"
_TOKEN = re.compile(rf"{_ARABIC}|[{_D}{_U}]")
_RUN = (
    rf"(?:{_ARABIC} ?(?=[{_U}]))?[{_D}{_U}]{{1,80}}(?:\d{{1,9}}[{_U}]{{1,3}}){{0,9}}(?:\d{{1,9}})?"
    rf"(?:[点點][{_D}]{{1,40}})?"
)
_CHINESE = re.compile(_RUN)
_FRACTION = re.compile(rf"({_RUN}|\d{{1,9}})分之({_RUN}|{_ARABIC})")
_PERCENT = re.compile(rf"百分之({_RUN}|{_ARABIC})")
_PERMILLE = re.compile(rf"千分之({_RUN}|{_ARABIC})")
_TENTHS = re.compile(rf"([{_D}]|\d)成(?![为功员立本年长熟果就绩分])")
_HALF = re.compile("一半|半数")
_AND_HALF = re.compile(
    rf"(?:({_RUN})|(\d{{1,9}}))(个|年|天|周|小时|分钟|公里|千米|米|公斤|千克|斤|吨|倍|元|块|度)半"
    r"(?![径年价圆球场])"
)
_LONGEST_RUN = 80
# Words that hold a numeral's character and no number.
_NO_NUMERAL = re.compile(
    rf"(?<![{_D}{_U}])(?:万一(?![{_D}{_U}])|千万(?=[不别要])|十分(?![之钟])|一(?=[些样般定直起下旦切致律边向时共])|统一|唯一|单一"
    r"|(?<!分)之一|三角|四川|九州|百姓|四边|零食)"
)
_COUNTED = (
    "个個只隻条條张張本名位件台辆輛头頭匹棵朵座栋层次回遍年月日号天岁歲元块角分秒点点米克斤吨升度倍种類类项步人杯瓶碗颗粒支枝把间幅页行句字"
    "首家所户场声双对副组排公千厘毫平立小磅英美欧%"
)

_LANGUAGES = frozenset(("en", "fr", "es", "pt", "de", "nl", "da", "it"))
_MAGNITUDES = {"hundred": 2, "thousand": 3, "k": 3, "million": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12}
_MAGNITUDE = re.compile(
    r"(\d[\d,]{0,60}(?:\.\d{1,60})?) ?(hundred|thousand|[mb]illion|trillion|[mb]n|(?<=\d)k)\b(?!/)", re.I
)
_SPLIT_MAGNITUDE = re.compile(r"(\d{1,60}\.\d{1,60}) 1((?:000){1,5})\b")
_HALF_A = re.compile(
    r"\bhalf an? (?=dozen|hundred|thousand|million|billion|trillion|hour|minute|second|day|year|mile|inch|pound"
    r"|kilo|ton|lit(?:er|re)|met(?:er|re)|cent)",
    re.I,
)
_DOZEN = re.compile(r"\b(?:(\d{1,9}) |an? |(0\.5 ))dozen\b", re.I)
_AND_A_HALF = re.compile(r"\b(\d{1,9}) and (?:a|1|one) half\b", re.I)
_DENOMINATORS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "twelfth": 12, "twentieth": 20, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_NUMERATORS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NAMED_FRACTION = re.compile(
    rf"\b(an?|{'|'.join(_NUMERATORS)}|\d{{1,4}})[ -]({'|'.join(_DENOMINATORS)})(s?)\b"
    r"(?! (?:graders?|floor|place|time)\b)",
    re.I,
)
_BARE_HALF = re.compile(r"\bhalf(?= of\b|$|[.,;])", re.I)
_ISOLATED_FROM = 1.5


def with_digits(text: str, language: str, *, lone: bool = False) -> str:
    """The text with its number words in digits ("3×10^6", "25%", "3/4" where they stand for such).

    Args:
        text: A sentence or two.
        language: The question's language; English and Chinese words are always read.
        lone: Read also what is mostly no number: a lone "one" or "zero", and single Chinese numerals inside words.
    """
    text = _european(_chinese(text, lone), "en", lone)
    primary = language.partition("-")[0]
    return _european(text, primary, lone) if primary in _LANGUAGES - {"en"} else text


def _european(text: str, language: str, lone: bool) -> str:
    text = _HALF_A.sub("0.5 ", text)
    text = _MAGNITUDE.sub(lambda found: f"{found[1]}×10^{_MAGNITUDES[found[2].lower()]}", text)
    text = _NAMED_FRACTION.sub(_named_fraction, text)
    text = alpha2digit(text, language, -1.0 if lone else _ISOLATED_FROM)
    text = _SPLIT_MAGNITUDE.sub(lambda found: f"{found[1]}×10^{len(found[2])}", text)
    text = _DOZEN.sub(lambda found: "6" if found[2] else str(12 * int(found[1] or 1)), text)
    return _BARE_HALF.sub("1/2", _AND_A_HALF.sub(r"\1 1/2", text))


def _named_fraction(found: re.Match[str]) -> str:
    top, bottom, plural = found[1].lower(), found[2].lower(), found[3] or found[2].lower() == "halves"
    number = 1 if top in ("a", "an") else _NUMERATORS.index(top) + 1 if top in _NUMERATORS else int(top)
    if (number == 1) == bool(plural):
        return found.group()
    # "Two and a half" is a mixed number.
    if found.string[: found.start()].endswith(" and "):
        return found.group()
    return f"{number}/{_DENOMINATORS[bottom]}"


def _chinese(text: str, lone: bool) -> str:
    if text.isascii():
        return text
    text = _NO_NUMERAL.sub(lambda found: "_" * len(found.group()), text)
    text = _HALF.sub("1/2", text)
    text = _AND_HALF.sub(_and_half, text)
    text = _PERCENT.sub(lambda found: _or_same(found, f"{_decimal(found[1])}%"), text)
    text = _PERMILLE.sub(lambda found: _or_same(found, f"{_decimal(found[1])}‰"), text)
    text = _FRACTION.sub(lambda found: _or_same(found, f"{_decimal(found[2])}/{_decimal(found[1])}"), text)
    text = _TENTHS.sub(lambda found: f"{int(_decimal(found[1])) * 10}%", text)
    return _CHINESE.sub(lambda found: _numeral(found, lone), text)


def _and_half(found: re.Match[str]) -> str:
    """一个半 is 1.5个, 两年半 is 2.5年."""
    whole = _decimal(found[1]) if found[1] else found[2]
    return f"{whole}.5{found[3]}" if whole.isdigit() else found.group()


def _or_same(found: re.Match[str], digits: str) -> str:
    return found.group() if "?" in digits else digits


def _numeral(found: re.Match[str], lone: bool) -> str:
    run = found.group()
    if len(run) == 1 and not lone:
        before, after = found.string[: found.start()][-1:], found.string[found.end() :][:1]
        if run not in _DIGITS or before == "第" or (_is_han(after) and after not in _COUNTED):
            return run
    digits = _decimal(run)
    return run if "?" in digits else digits


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff"


def _decimal(run: str) -> str:
    value = chinese_value(run)
    if value is None:
        return "?"
    if value.denominator == 1:
        return str(value.numerator)
    places = next(places for places in range(1, 400) if not 10**places % value.denominator)
    digits = str(value.numerator * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def chinese_value(run: str) -> Fraction | None:
    """The value of a numeral in Chinese or mixed writing (三百六十四, 3万5千, 二〇二四, 三点一四), or None."""
    if len(run) > _LONGEST_RUN:
        return None
    whole, point, decimals = run.replace("點", "点").partition("点")
    value = _positional(whole) if all(character in _DIGITS for character in whole) else _additive(whole)
    if value is None or not point:
        return value
    digits = "".join(str(_DIGITS[character]) for character in decimals)
    return value + Fraction(int(digits), 10 ** len(digits))


def _positional(run: str) -> Fraction | None:
    digits = "".join(str(_DIGITS[character]) for character in run)
    # Two or three digits in a row, as 三四个, mean "three or four".
    return Fraction(int(digits)) if len(digits) == 1 or len(digits) > 3 or "0" in digits else None


def _additive(run: str) -> Fraction | None:
    total, section = Fraction(0), Fraction(0)
    number: Fraction | None = None
    unit, after_zero, arabic = 1, False, False
    for symbol in _TOKEN.findall(run):
        if symbol in _UNITS:
            unit, after_zero = _UNITS[symbol], False
            section, number = section + (1 if number is None else number) * unit, None
        elif symbol in _BIG_UNITS:
            unit, after_zero = _BIG_UNITS[symbol], False
            section, number = section + (number or 0), None
            total, section = (total + section) * unit if unit == 10**8 else total + (section or 1) * unit, Fraction(0)
        elif symbol in "零〇":
            after_zero = True
        elif number is not None:
            return None
        else:
            arabic = symbol not in _DIGITS
            number = Fraction(symbol.replace(",", "")) if arabic else Fraction(_DIGITS[symbol])
    # 一百五 is 150, 三万五 is 35000; 一百零五 is 105.
    if number is not None and unit >= 100 and not after_zero and not arabic:
        number = number * unit / 10
    return total + section + (number or 0)
