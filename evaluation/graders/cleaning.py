"""From a stored response to plain text: thinking, markup and character variants go, the answer's words stay.

Every pattern is bounded or deterministic, so that the time grows with the length of the text and not faster.
"""

import re
import unicodedata

FINAL = "\nFinal answer: "

_OPEN = r"<(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>|◁think▷|\[THINK\]"
_CLOSE = r"</(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>|◁/think▷|\[/THINK\]"
_THINKING = re.compile(
    rf"(?P<open>{_OPEN}|<\|begin_of_thought\|>|<\|channel\|>(?:analysis|commentary)<\|message\|>)"
    rf"|(?P<close>{_CLOSE}|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>)",
    re.IGNORECASE,
)
_FORGED_SCORE = re.compile(
    r"<(score|grade|points?|rating)>[^<\n]{0,80}(?:</\1>)?|</(?:score|grade|points?|rating)>", re.I
)
_RETRACTED = re.compile(r"~~[^~\n]{1,300}~~|<(del|strike)>[^<\n]{1,300}</\1>")
_ANSWER_TAG = re.compile(r"<answer>", re.I)
_TAG = re.compile(
    r"</?(?:b|i|u|s|em|strong|p|br|span|div|code|pre|font|center|ul|ol|li|h[1-6]|answer|eo[ae])\b[^<>\n]{0,200}>", re.I
)
_SPECIAL_TOKEN = re.compile(r"<\|[^<>|\n]{1,40}\|>")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CHARACTERS = str.maketrans({"−": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "’": "'", "‘": "'", "“": '"', "”": '"'})
_SUPERSCRIPT = re.compile("[⁰¹²³⁴-⁹⁻⁺]+")


def _apart(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    return f"({plain})" if plain.isdigit() else f" {plain.replace('⁄', '/')} "


_APART = {ord(character): _apart(character) for character in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"}
_LINK = re.compile(r"(?<!\\)\[([^\[\]\n]{1,300})\]\((?:https?://|www\.|/|#|mailto:)[^()\s]{0,2000}\)")
# How much of a text is kept for the rules, and how much is read at all.
MOST_KEPT, MOST_READ = 24_000, 1_000_000
_HEAD_SHARE = 4


def clean(text: str, most: int = MOST_KEPT) -> str | None:
    """Plain lines of what was answered, one space between words; empty when nothing was; None in unclosed thinking.

    Texts far beyond any answer lose their middle, so that no input takes long.

    Args:
        text: A stored response.
        most: How many characters are kept: a quarter of them from the beginning, the rest from the end.
    """
    answered = without_thinking(text) if len(text) > MOST_READ else text
    said = None if answered is None else without_thinking(_plain_characters(_shortened(answered, MOST_READ)))
    if said is None:
        return None
    said = _FORGED_SCORE.sub(" ", _shortened(_without_comments(said), most))
    said = _LINK.sub(r"\1", said)
    said = _RETRACTED.sub(" ", said)
    said = _TAG.sub(" ", _ANSWER_TAG.sub(FINAL, said))
    said = _SPECIAL_TOKEN.sub("\n", said)
    return tidy(_without_markdown(_without_latex(said)))


def clean_fragment(text: str) -> str:
    """A key's or an option's text in the same form as a cleaned answer, on one line."""
    return " ".join(tidy(_without_markdown(_without_latex(_plain_characters(text)), headings=False)).split())


def tidy(text: str) -> str:
    """Single spaces, no empty lines, nothing at the ends of lines."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _plain_characters(text: str) -> str:
    text = _LINE_BREAK.sub("\n", _INVISIBLE.sub("", text))
    if text.isascii():
        return text
    # NFKC would glue these to their neighbours: 3½ to 31/2, 10⁵ to 105, ①③ to 13.
    text = _SUPERSCRIPT.sub(lambda found: "^" + unicodedata.normalize("NFKC", found.group()), text)
    return unicodedata.normalize("NFKC", text.translate(_APART)).translate(_CHARACTERS)


def _shortened(text: str, most: int) -> str:
    head = most // _HEAD_SHARE
    return text if len(text) <= most else f"{text[:head]}\n{text[head - most :]}"


def _without_comments(text: str) -> str:
    """The text without HTML comments, which no reader sees; one that never ends hides all the rest."""
    kept: list[str] = []
    start = 0
    while (at := text.find("<!--", start)) >= 0:
        kept.append(text[start:at])
        end = text.find("-->", at)
        start = end + len("-->") if end >= 0 else len(text)
    return " ".join([*kept, text[start:]])


def without_thinking(text: str) -> str | None:
    """The text as it is, but for its thinking; None when the thinking never ends."""
    kept: list[str] = []
    start, inside = 0, False
    for tag in _THINKING.finditer(text):
        if tag["open"]:
            if not inside:
                kept.append(text[start : tag.start()])
            inside = True
            continue
        if not inside:  # the chat template had opened it: all before was thinking
            kept.clear()
        start, inside = tag.end(), False
    return None if inside else "".join([*kept, text[start:]])


_LATEX_SYMBOLS = {
    "times": "×", "cdot": "×", "div": "÷", "pi": "π", "degree": "°", "circ": "°", "approx": "≈", "pm": "±",
    "infty": "∞",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "neq": "≠", "left": "", "right": "", "displaystyle": "",
    "quad": " ", "qquad": " ", "to": "→", "Rightarrow": "⇒", "therefore": "∴", "percent": "%",
}  # fmt: skip
_LATEX_SPACE = re.compile(r"(?<=\d)(?:,?\\[,!]|\{,\}) ?(?=\d{3})")
_LATEX_ESCAPE = re.compile(r"\\([%$#&_ ,;:!()\[\]{}|\\])")
_SCRIPT = re.compile(r"([\^_])\{([^{}]{0,200})\}")
_UNBRACED = re.compile(r"(\\[dtc]?frac(?:\{[^{}]{0,300}\})?) ?(\d)")
_FRACTION = re.compile(r"\\[dtc]?frac\{([^{}]{0,300})\} ?\{([^{}]{0,300})\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)\{([^{}]{0,400})\}")
_BOXES_TOGETHER = re.compile(
    r"(\\(?:boxed|fbox)\{[^{}]{0,40})\}[$\s,、&]{0,6}(?:and|和|与)?[$\s]{0,3}\\(?:boxed|fbox)\{"
)
_ROOT = re.compile(r"\\sqrt\{([^{}]{0,300})\}")
_COMMAND = re.compile(r"\\(?!boxed|fbox|[dtc]?frac|sqrt)[a-zA-Z]{1,20}\*?\{([^{}]{0,400})\}")
_SYMBOL = re.compile(r"\\([a-zA-Z]{1,20})")
_INLINE_MATH = re.compile(r"\$\$?((?! )[^$\n]{1,300}?(?<! ))\$\$?(?!\d)")
_SIMPLE = re.compile(r"-?\d[\d.,]*")
_MOST_NESTED = 6


def _without_latex(text: str) -> str:
    if "$" in text:
        text = _INLINE_MATH.sub(r"\1", text)
    text = _LATEX_SPACE.sub(",", text)
    if "\\" not in text:
        return _SCRIPT.sub(r"\1(\2)", text)
    text = _LATEX_ESCAPE.sub(lambda found: found[1] if found[1] in "%$#&_" else " ", text)
    text = _UNBRACED.sub(r"\1{\2}", _UNBRACED.sub(r"\1{\2}", text))
    for _ in range(_MOST_NESTED):
        before = text
        text = _SCRIPT.sub(r"\1(\2)", text)
        text = _FRACTION.sub(_divided, _ROOT.sub(r"sqrt(\1)", _COMMAND.sub(r"\1", text)))
        if text == before:
            break
    text = _BOXES_TOGETHER.sub(r"\1, ", text)
    text = _BOXED.sub(lambda found: f"{FINAL}{found[1]}\n", text)
    return _SYMBOL.sub(lambda found: _LATEX_SYMBOLS.get(found[1], f" {found[1]}"), text)


def _divided(found: re.Match[str]) -> str:
    top, bottom = found[1], found[2]
    glued = found.start() > 0 and found.string[found.start() - 1].isdigit()
    if _SIMPLE.fullmatch(top) and _SIMPLE.fullmatch(bottom):
        return f"{' ' if glued else ''}{top}/{bottom}"
    return f"({top})/({bottom})"


_FENCE = re.compile(r"^ {0,3}```[a-z]*$", re.MULTILINE)
_HASHED_ANSWER = re.compile(r"^####[ \t]*(?=[-+$\d])", re.MULTILINE)
_LINE_MARK = re.compile(r"^[ \t]*(?:(?:#{1,6}|>(?!\d)|[-*+•·▪‣](?=[ \t]))[ \t]*){1,4}", re.MULTILINE)
_LONE_NEGATIVE = re.compile(r"\s*-\s\d[^\n]*\s*")
_POWER = re.compile(r"(?<=\d)\*\*(?=\d)")
_PRODUCT = re.compile(r"(?<=[\d)])\*(?=[\d(])|(?<=[\d)]) \* (?=[\d(])")
_EMPHASIS = re.compile(r"\*+|`+|(?<![^\W_])_+|_+(?![^\W_])")


def _without_markdown(text: str, headings: bool = True) -> str:
    text = _FENCE.sub("", text)
    if headings and not _LONE_NEGATIVE.fullmatch(text):
        text = _LINE_MARK.sub("", _HASHED_ANSWER.sub(FINAL, text))
    text = _PRODUCT.sub("×", _POWER.sub("^", text))
    return _EMPHASIS.sub("", text).replace("|", " ")
