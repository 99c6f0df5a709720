"""Where in a cleaned answer the answer is stated: marks, sentences, and responses that decline to answer."""

import re
from collections.abc import Iterator

_MOST_SHOWN = 2000

MARK = re.compile(
    r"""
    \b(?: answers? | ans\. | final\ (?:result|grade|choice|conclusion) | (?:correct|right|best)\ (?:option|choice|one)s?
        | the\ (?:result|solution|option|choice) )
    ["'*)]{0,2} (?:\ \(?(?:to|for|of|in)\ [^.:=\n]{1,80}?)? ["')]{0,2}
    \ ?(?: [:=] | \b(?:is|are|was|were|equals|(?:should|must|would|will|may|might)\ be)\b (?!\ ?(?:not\b|n't)) )
    (?:\ (?:therefore|thus|hence|clearly|simply|indeed|then|actually|definitely|probably|likely|most\ likely))?
    (?:\ ?as\ follows)? \ ?:?
    | (?:答案|结果|结论|正确选项|正确的选项|正确的是|答)
      (?:[】\]」"]|为|是|应为|应是|应该是|应该为|应选|选|选择|就是|便是|即|[:=]|\ (?=[A-Z\d]))
      ["「]? \ ?(?:是|为|选)? \ ?:?
    | 【(?:答案|解答)】 \ ?:?
    | ^(?:(?:the|my)\ )?(?:(?:final|correct)\ )?answer$ | ^(?:最终|正确)?答案$
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_VISIBLE = re.compile("[^\\W_]|[\u2190-\u2bff\U0001f000-\U0001faff]")
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=。)|(?<=[!?;])(?=[\u3400-\u9fff])")
_OPENERS = re.compile(
    r"\b(?:thought process|thoughts?|thinking|reasoning|solution|analysis|explanation|sure|okay"
    r"|let me think|let's think|step by step|my|final|the|here)\b|解析|分析|思考过程|解答|思路|好的|最终",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"""
    \bi(?:\ am|'m)\ (?:unable|not\ able)\b
    | \bi\ (?:can't|cannot|can\ not|could\ not|couldn't)\ (?:\w+\ )?
      (?:answer|help|determine|see|hear|view|access|assist|provide|know|identify|tell|process|watch|listen|play|open)\b
    | \bi\ (?:do\ not|don't)\ (?:\w+\ )?(?:know|have\ (?:access|enough|the\ ability))\b
    | \bas\ an\ ai\b
    | \b(?:cannot|can't|unable\ to|not\ possible\ to|impossible\ to|could\ not)\ (?:be\ )?
      (?:answer|determin|identif|known|tell|ascertain|see\b|hear\b|view\b|access)
    | \b(?:not\ enough|insufficient|no\ sufficient)\ (?:information|context|data)\b
    | \bquestion\ is\ (?:incomplete|unclear|unanswerable|not\ (?:complete|clear))\b
    | \b(?:no|without\ (?:an?|the))\ (?:image|audio|video|picture|sound|file|attachment)s?\ (?:\w+\ )?
      (?:provided|attached|given|available|uploaded)\b
    | 作为(?:一个|一名)?(?:ai|人工智能|语言模型)|不知道|(?:题目|问题)(?:本身)?(?:不完整|不清楚|不明确)|信息不足
    | (?:题目?|数据)(?:本身|可能|中?的?数据)?(?:是?有误|有错|出错|存在错误|有问题|无解)
    | (?:无法|不能|没法|没办法|难以)(?:直接|准确)?
      (?:回答|作答|给出|得出|确定|从给|判断|看到|看见|听到|听见|提供|识别|访问|得知|查看|观看|打开)
    | (?:没有|未)(?:提供|上传|看到|收到|附上)(?:任何|相关)?(?:图|音|视频|文件|内容)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def statement_after(text: str, at: int) -> str:
    """The rest of the line at that place, or the next line that says something."""
    tail = text[at : at + _MOST_SHOWN]
    start = _VISIBLE.search(tail)
    if not start:
        return ""
    return tail[tail.rfind("\n", 0, start.start()) + 1 :].partition("\n")[0].strip(" :")


def statements(text: str) -> Iterator[str]:
    """What follows each mark ("the answer is", 答案：), the last mark first."""
    for mark in reversed(list(MARK.finditer(text))):
        statement = statement_after(text, mark.end())
        if statement:
            yield statement


def final_region(text: str) -> str:
    """Everything after the last mark, or the whole text."""
    end = 0
    for mark in MARK.finditer(text):
        end = mark.end()
    return text[end:]


def sentences(text: str) -> list[str]:
    """The sentences of a text, lines apart, without the empty ones."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def declines(text: str) -> bool:
    """Whether the text says that it does not answer."""
    return _DECLINES.search(text) is not None


def without_declining(text: str) -> str:
    """The text without the sentences that decline to answer, but for what a mark in them states.

    The numbers and names of such a sentence are no answer.
    """
    if not declines(text):
        return text
    kept = []
    for sentence in sentences(text):
        marks = list(MARK.finditer(sentence)) if declines(sentence) else []
        kept.append(sentence[marks[-1].start() :] if marks else "" if declines(sentence) else sentence)
    return "\n".join(part for part in kept if part)


def has_content(text: str) -> bool:
    """Whether anything but openers ("Thought process:") and marks is said."""
    return _VISIBLE.search(_OPENERS.sub("", MARK.sub("", text))) is not None
