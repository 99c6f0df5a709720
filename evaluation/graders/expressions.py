"""The value of a written expression (1 - 1/e, 3√2, 2^10, 5!), exact where it is rational."""

import math
import re
from collections.abc import Callable
from fractions import Fraction

Value = Fraction | float

_LONGEST, _DEEPEST = 200, 40
_MOST_BITS, _LARGEST_FACTORIAL, _LARGEST_EXPONENT = 200_000, 3000, 4000
_TOKEN = re.compile(
    r"\s*(?:(\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)|(sqrt|pi|[eπ√])(?![a-zA-Z])|(sqrt)(?=\()|([-+*/^()!%×·÷]))"
)
_CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi}


class _Unreadable(Exception):
    """No expression, or one too large to compute."""


def evaluate(text: str) -> Value | None:
    """The value, a Fraction when rational, or None when the text is no expression as a whole."""
    if len(text) > _LONGEST:
        return None
    try:
        parser = _Parser(_tokens(text))
        value = parser.sum()
        parser.end()
    except (_Unreadable, ZeroDivisionError, OverflowError, ValueError):
        return None
    return value


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at, text = 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            raise _Unreadable(text[at:])
        tokens.append(found[found.lastindex or 0])
        at = found.end()
    return tokens


class _Parser:
    """Recursive descent; a number, constant or bracket beside another is a product."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise _Unreadable(self._tokens[self._at])

    def sum(self) -> Value:
        value = self._product()
        while (sign := self._take("+", "-")) is not None:
            term = self._product()
            value = value + term if sign == "+" else value - term
        return value

    def _product(self) -> Value:
        value = self._signed()
        while True:
            operator = self._take("*", "×", "·", "/", "÷")
            if operator is None:
                if self._peek() in ("", "+", "-", ")"):
                    return value
                value = _bounded(value * self._power())
            elif operator in "/÷":
                value = value / self._signed()
            else:
                value = _bounded(value * self._signed())

    def _signed(self) -> Value:
        sign = self._take("+", "-")
        if sign is None:
            return self._power()
        return self._nested(self._signed) * (-1 if sign == "-" else 1)

    def _power(self) -> Value:
        base = self._postfix()
        if self._take("^") is None:
            return base
        return _raised(base, self._nested(self._signed))

    def _postfix(self) -> Value:
        value = self._atom()
        while (mark := self._take("!", "%")) is not None:
            value = _factorial(value) if mark == "!" else value / 100
        return value

    def _atom(self) -> Value:
        symbol = self._peek()
        self._at += 1
        if symbol == "(":
            value = self._nested(self.sum)
            if self._take(")") is None:
                raise _Unreadable(symbol)
            return value
        if symbol in ("√", "sqrt"):
            return _root(self._nested(self._atom))
        if symbol in _CONSTANTS:
            return _CONSTANTS[symbol]
        if symbol[:1].isdigit() or symbol[:1] == ".":
            return Fraction(symbol.replace(",", ""))
        raise _Unreadable(symbol)

    def _nested(self, read: Callable[[], Value]) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unreadable("nested too deep")
        value = read()
        self._depth -= 1
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str | None:
        symbol = self._peek()
        if symbol not in wanted:
            return None
        self._at += 1
        return symbol


def _bounded(value: Value) -> Value:
    if isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise _Unreadable("too large")
    return value


def _factorial(value: Value) -> Value:
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= _LARGEST_FACTORIAL:
        raise _Unreadable("no factorial")
    return Fraction(math.factorial(int(value)))


def _raised(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(exponent) > _LARGEST_EXPONENT or bits * abs(exponent) > _MOST_BITS:
            raise _Unreadable("too large")
        return Fraction(base ** int(exponent))
    if base < 0:
        raise _Unreadable("no real power")
    return float(base) ** float(exponent)


def _root(value: Value) -> Value:
    if value < 0:
        raise _Unreadable("no real root")
    if isinstance(value, Fraction):
        top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom)
    return math.sqrt(value)
