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
# Before a mark: what follows is not the answer, or is a further one.
_NO_ANSWER_BEFORE = re.compile(
    r"\b(?:wrong|incorrect|false|bad|worst|rejected|not (?:the|an?|my)|n't (?:the|an?|my)|another(?: possible)?"
    r"|other possible"
    r"|alternative|second possible)(?: (?:possible|final|correct|right|best))?$"
    r"|(?:错误|不正确|另一个?|其他|其它)的?(?:可能的?)?$",
    re.IGNORECASE,
)
_OR_BEFORE = re.compile(r"\bor(?: (?:maybe|perhaps|possibly|else|that))?(?: (?:the|my))?$|或者?$", re.IGNORECASE)
_JSON_KEY_BEFORE = re.compile(r"\" ?: ?$")
_JSON_STRING = re.compile(r"\s*\"((?:[^\"\\\n]|\\.){0,2000})\"")
_NEXT_JSON_KEY = re.compile(r",? ?\"\w{1,40}\" ?:")
_CORRECTION = re.compile(
    r"""
    (?: \bno,?\ wait\b | (?:^|(?<=[.!?…,;:—-])\ ?|\b(?:but|oh|hmm|and)\ ) wait\b(?=,?\ (?:no|actually|that)\b|[,.!:—…-])
      | \b(?:scratch|strike)\ that\b | (?<![a-z]\ )correction:
      | \bi\ mean\b(?!\ (?:that|to|the\ (?:one|fact|following))\b) | \blet\ me\ correct\ (?:this|that|myself|it)\b
      | \bon\ second\ thoughts?\b | \bsorry,?\ (?:i\ mean[t]?|it's|it\ is|no)\b | \bmy\ mistake\b | \b(?:oops|whoops)\b
      | \bi\ (?:misspoke|was\ wrong)\b | (?:\bbut\ )?\bactually,?(?=\ no\b)
      | (?<=[,。.!;…—\s])(?:啊|哦|噢|呃)?不对(?=[,。.!:…—]) | 等一下 | 等等(?=[,。.!:…]) | 说错了 | 更正 | 口误
      | (?:抱歉|对不起),?(?=应该?是|是) | (?:啊|哦|噢)不(?=[,。是])
    )
    [\s,.:!;。…—-]*
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_INSTRUCTS = re.compile(
    r"""
    \b(?:notes?|messages?|instructions?|attention|hints?|reminders?)\ (?:to|for)\ (?:the\ |any\ )?
      (?:grad|judg|scor|evaluat|mark|examin|rat)(?:er|e|or|ing)s?\b
    | \b(?:dear|hey|attention,?)\ (?:the\ )?(?:grader|judge|scorer|evaluator|examiner)\b
    | \b(?:ignore|disregard|forget|override|overrule)\ (?:all\ |any\ )?(?:of\ )?(?:the\ |your\ |these\ |my\ )?
      (?:previous\ |prior\ |above\ |earlier\ |grading\ |scoring\ )*
      (?:rubrics?|instructions?|rules|prompts?|answer\ key|reference\ answer|criteria)\b
    | (?:^|(?<=[.!?;:\])]\ ))system\ ?(?:notice|override|prompt|message|note|alert)\b
    | \b(?:grading|grader|scoring|score|judge)\ (?:override|notes?|instructions?)\b
    | \bmark\ (?:this|it|the\ answer|my\ answer|me|that|answer)?\ ?(?:answer\ |response\ )?
      (?:as\ )?(?:fully\ )?(?:correct|right)\b
    | \b(?:give|award|grant|assign)\ (?:(?:me|it|this|the)\ (?:answer\ |response\ )?)?(?:full|maximum|all|10|100%?)
      \ (?:marks?|points?|score|credit)\b
    | \b(?:please|also|must|should)\ accept\b
    | 忽略[^。\n]{0,12}(?:指令|指示|规则|标准|提示|答案)
    | (?:评分|阅卷|打分|判分|判卷|批改)(?:说明|提示|须知|者|人|老师|员|模型|系统)\ ?[:,请注]
    | 请?(?:直接)?(?:给|判|打|记)(?:我|予|本题|该题)?(?:为)?满分
    | 系统(?:通知|提示|指令|消息)\ ?: | 判(?:为|定为)?正确 | 视(?:为|作)正确
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# What follows these on the line belongs to the instruction.
_INSTRUCTS_ON = re.compile(
    r"\b(?:to|for) (?:the |any )?\w+ ?:|\b(?:dear|hey|attention)\b|notice|override|message|\bnotes?\b ?:"
    r"|说明|提示|须知|通知|指令|:$",
    re.I,
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
    """The rest of the line at that place, or the next line that says something; after a JSON key, its value alone."""
    tail = text[at : at + _MOST_SHOWN]
    if _JSON_KEY_BEFORE.search(text, max(0, at - 4), at):
        value = _JSON_STRING.match(tail)
        following = None if value else _NEXT_JSON_KEY.search(tail)
        tail = value[1] if value else tail[: following.start()] if following else tail
    start = _VISIBLE.search(tail)
    if not start:
        return ""
    return tail[tail.rfind("\n", 0, start.start()) + 1 :].partition("\n")[0].strip(" :")


def statements(text: str) -> Iterator[str]:
    """What follows each mark ("the answer is", 答案：) but "the wrong answer is", the last mark first."""
    for mark in reversed(marks(text)):
        statement = statement_after(text, mark.end())
        if statement:
            yield statement


def final_region(text: str) -> str:
    """Everything after the last mark, or the whole text."""
    found = marks(text)
    return text[found[-1].end() :] if found else text


def offers_another(text: str) -> bool:
    """Whether the last mark gives a second answer: "the answer is 5 or the answer is 6"."""
    found = marks(text)
    return bool(found) and _OR_BEFORE.search(_before(found[-1])) is not None


def marks(text: str) -> list[re.Match[str]]:
    """The answer marks of a text, without "the wrong answer is" and the like."""
    return [mark for mark in MARK.finditer(text) if not _NO_ANSWER_BEFORE.search(_before(mark))]


def _before(mark: re.Match[str]) -> str:
    return mark.string[max(0, mark.start() - 40) : mark.start()].rstrip()


def after_correction(text: str) -> str | None:
    """What follows the last "no, wait" (不对), unless an answer mark follows that; None where nothing is taken back."""
    last = None
    for last in _CORRECTION.finditer(text):  # noqa: B007 - the last one counts
        pass
    if last is None or not has_content(text[: last.start()]):
        return None
    rest = text[last.end() :]
    return rest if has_content(rest) and not marks(rest) else None


def without_instructions(text: str) -> str:
    """The text without what it tells the grader to do, which is no answer."""
    if not _INSTRUCTS.search(text):
        return text
    lines = []
    for line in text.split("\n"):
        kept = []
        for sentence in sentences(line):
            found = _INSTRUCTS.search(sentence)
            if not found:
                kept.append(sentence)
            elif _INSTRUCTS_ON.search(sentence):
                break
        lines.append(" ".join(kept))
    return "\n".join(line for line in lines if line)


def instructs(text: str) -> bool:
    """Whether the text tells the grader what to do."""
    return _INSTRUCTS.search(text) is not None


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
        found = marks(sentence) if declines(sentence) else []
        kept.append(sentence[found[-1].start() :] if found else "" if declines(sentence) else sentence)
    return "\n".join(part for part in kept if part)


def has_content(text: str) -> bool:
    """Whether anything but openers ("Thought process:") and marks is said."""
    return _VISIBLE.search(_OPENERS.sub("", MARK.sub("", text))) is not None
