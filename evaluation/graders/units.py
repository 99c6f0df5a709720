"""Units of measure that answers name, in English and Chinese, with exact factors to one base unit a dimension."""

import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Unit:
    """A value v in this unit is v * factor + offset in the base unit of its dimension."""

    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)

    def base(self, value: Fraction) -> Fraction:
        """The value in the base unit."""
        return value * self.factor + self.offset


# dimension: [(factor to the base unit, names)]. One-letter names are matched by case, all others without.
_TABLE: dict[str, list[tuple[str, str]]] = {
    "length": [
        ("1/1000000000", "nm nanometer nanometre 纳米"),
        ("1/1000000", "μm um micrometer micrometre micron 微米"),
        ("1/1000", "mm millimeter millimetre 毫米"),
        ("1/100", "cm centimeter centimetre 厘米 公分"),
        ("1/10", "dm decimeter decimetre 分米"),
        ("1", "m meter metre 米 公尺"),
        ("1000", "km kilometer kilometre 千米 公里"),
        ("127/5000", "inch inches 英寸"),
        ("381/1250", "ft foot feet 英尺"),
        ("1143/1250", "yd yard 码"),
        ("201168/125", "mi mile 英里"),
        ("1852", "nmi 海里"),
    ],
    "area": [
        ("1/10000", "cm^2 cm2 sqcm 平方厘米"),
        ("1", "m^2 m2 sqm 平方米 平米"),
        ("1000000", "km^2 km2 平方千米 平方公里"),
        ("10000", "ha hectare 公顷"),
    ],
    "volume": [
        ("1/1000000", "ml milliliter millilitre cm^3 cm3 cc 毫升 立方厘米"),
        ("1/1000", "L l liter litre 升"),
        ("1", "m^3 m3 立方米"),
    ],
    "mass": [
        ("1/1000000", "mg milligram 毫克"),
        ("1/1000", "g gram gramme 克"),
        ("1", "kg kilo kilogram 千克 公斤"),
        ("1/2", "斤"),
        ("1000", "t ton tonne 吨"),
        ("45359237/100000000", "lb lbs pound-mass"),
        ("45359237/1600000000", "oz ounce 盎司"),
    ],
    "time": [
        ("1/1000", "ms millisecond 毫秒"),
        ("1", "s sec second 秒 秒钟"),
        ("60", "min minute 分钟"),
        ("3600", "h hr hour 小时 个小时"),
        ("86400", "day 天"),
        ("604800", "week 周 星期 个星期"),
    ],
    "months": [("1", "month 个月"), ("12", "yr year 年")],
    "speed": [
        ("1", "m/s mps 米/秒 米每秒"),
        ("5/18", "km/h kmh kph 千米/时 千米/小时 公里/小时 千米每小时 公里每小时"),
        ("1397/3125", "mph"),
    ],
    "frequency": [("1", "hz hertz 赫兹"), ("1000", "khz 千赫"), ("1000000", "mhz 兆赫"), ("1000000000", "ghz")],
    "data": [("1", "byte 字节"), ("1000", "kb"), ("1000000", "mb"), ("1000000000", "gb"), ("1000000000000", "tb")],
    "energy": [("1", "J joule 焦耳 焦"), ("1000", "kj kilojoule 千焦"), ("4184", "kcal 千卡 大卡")],
    "power": [("1", "W watt 瓦"), ("1000", "kw kilowatt 千瓦")],
    "force": [("1", "N newton 牛顿 牛")],
    "voltage": [("1", "V volt 伏特 伏")],
    "pressure": [("1", "pa pascal 帕"), ("1000", "kpa 千帕"), ("101325", "atm")],
    "dollars": [("1", "$ us$ usd dollar bucks 美元"), ("1/100", "cent ¢ 美分")],
    "euros": [("1", "€ eur euro 欧元")],
    "sterling": [("1", "£ gbp quid 英镑")],
    "yuan": [("1", "rmb cny yuan 元 块 块钱 人民币"), ("1/10", "角"), ("1/100", "分钱")],
    "yen": [("1", "jpy yen 日元")],
}
_TEMPERATURES = {
    "K kelvin 开尔文": Unit("temperature", Fraction(1)),
    "°c celsius °celsius 摄氏度 degrees-celsius": Unit("temperature", Fraction(1), Fraction(5463, 20)),
    "°f fahrenheit °fahrenheit 华氏度": Unit("temperature", Fraction(5, 9), Fraction(45967, 180)),
}


def _names() -> dict[str, Unit]:
    found = {
        name: Unit(dimension, Fraction(factor))
        for dimension, rows in _TABLE.items()
        for factor, names in rows
        for name in names.split()
    }
    return found | {name: unit for names, unit in _TEMPERATURES.items() for name in names.split()}


_BY_NAME = _names()
_ALTERNATIVES = "|".join(re.escape(name) for name in sorted(_BY_NAME, key=len, reverse=True) if len(name) > 1)
_HAN = "\u3400-\u9fff"
_AFTER = re.compile(
    rf"[ -]?(?!has\b)(?:(?i:degrees? )?(?P<warm>(?i:celsius|fahrenheit))|(?P<long>(?i:{_ALTERNATIVES}))(?:e?s)?"
    rf"|(?P<short>[mgtshlLJWNVK元块角米克升斤吨秒天周年焦瓦牛伏帕码$€£¢]))(?![^\W\d_{_HAN}]|[\^/]|[23](?!\d))"
)
_CURRENCY_BEFORE = re.compile(r"(?:(?:\b(?:US|HK|A|C))?\$|€|£|\b(?:USD|EUR|GBP|RMB|CNY) ?) ?-?$", re.I)


def relatives(unit: Unit) -> set[Unit]:
    """All known units of the same dimension."""
    return {other for other in _BY_NAME.values() if other.dimension == unit.dimension}


def unit_after(text: str, at: int) -> tuple[Unit, int] | None:
    """The unit that begins at that place (a space may come first), and where it ends."""
    found = _AFTER.match(text, at)
    if not found:
        return None
    name = found["warm"] or found["long"] or found["short"]
    unit = _BY_NAME[name if len(name) == 1 else name.lower()]
    return unit, found.end()


def currency_before(text: str, at: int) -> Unit | None:
    """The unit of a currency sign or code that stands right before that place."""
    found = _CURRENCY_BEFORE.search(text, max(0, at - 6), at)
    if not found:
        return None
    sign = found.group().strip(" -").lower()
    return _BY_NAME.get("$" if sign == "us$" else sign)
