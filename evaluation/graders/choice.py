"""Choice: the options that an answer settles on, by letter, by text or by both, in English and Chinese."""

import re
from collections.abc import Iterator

from core.grading import Grade
from core.question import AnswerKey, Question, choice_label
from evaluation.graders.base import RuleGrader, answer_of, nothing_found
from evaluation.graders.cleaning import clean_fragment, tidy
from evaluation.graders.options import Options, Reading
from evaluation.graders.reading import (
    after_correction,
    final_region,
    marks,
    offers_another,
    sentences,
    statement_after,
    statements,
)
from evaluation.graders.verdicts import Mark, Why, invalid_response, not_graded, right, shown, wrong

MOST_OPTIONS = 26
_MOST_STATEMENTS = 200
_MOST_CHARACTERS = 4000

_RUN = r"\(?[A-Z]\)?(?:(?: ?[,、和与及&/] ?| and )?\(?[A-Z]\)?(?![A-Za-z'])){0,25}(?![A-Za-z'])"
_CORRECT_EN = r"(?:correct|right|true|accurate|valid)\b"
_THE_ANSWER_EN = (
    r"(?:(?:the |my |our )?(?:\w+ )?(?:correct|right|best|appropriate|final) (?:answer|option|choice|one)\b"
    r"|(?:the|my) answer\b)"
)
_CORRECT_ZH = r"(?:正确|对的|符合题意|符合要求|符合|成立)"
_THE_ANSWER_ZH = r"(?:最?正确|最佳|最合适)的?(?:答案|选项|一项)"
# Before a letter that is chosen; negations and conditions before it are looked for apart.
_CHOOSES = re.compile(
    r"(?:选择|選擇|选|選)(?![项項]) ?:? ?[\"「(]?(?=[A-Z]{1,26}(?![A-Za-z']))"
    r"|\b(?:choose|pick|select|go with|opt for) (?:option |answer |choice )?(?=\(?[A-Z](?![A-Za-z']))"
    r"|\bnot (?:option )?\(?[A-Z]\)?,? but (?:rather )?(?:option )?(?=\(?[A-Z](?![A-Za-z']))"
)
_NOT_CHOSEN = re.compile(
    r"(?:不|没有?|别|未|若|如果|假如|假设|排除|错)(?:能|应该?|会|可以?|该|要|我们?)?$"
    r"|(?:not|n't|never|if you|if we|might) $"
)
_SETTLES = re.compile(
    rf"(?:\bonly (?:options? |choices? )?|(?:只有|仅有?)(?:选项)?)(?P<only>{_RUN})(?:选项|项)? ?(?:(?:is|are|是) ?)?"
    rf"(?:{_CORRECT_EN}|{_CORRECT_ZH})"
    rf"|(?<![A-Za-z'])(?P<one>{_RUN})(?: (?:is|are) {_THE_ANSWER_EN}|(?:选项|项)?(?:是|为){_THE_ANSWER_ZH})"
)
_CORRECT = re.compile(
    rf"(?<![A-Za-z'])(?P<run>{_RUN})"
    rf"(?: (?:is|are) (?:also |both |all )?{_CORRECT_EN}|(?:选项|项)?(?:都|也|均)?(?:是)?{_CORRECT_ZH})"
)
_CONCLUDES = re.compile(
    r"(?:\b(?:is|be|it's|that's|therefore|thus|hence|so|option|choice|answer)\b|[:,=—]"
    r"|是|为|即|就是|选项|因此|所以|故) ?"
    rf"(?P<run>{_RUN})[\s.。)\"']{{0,4}}$",
    re.I,
)
# "I would eliminate A, C, D": what is left is not said.
_ELIMINATES = re.compile(
    r"\b(?:eliminat|rul(?:e|es|ed|ing) out|exclud|reject|discard|wrong|incorrect)|排除|错误|不对|不正确", re.I
)
# Pictures around a letter; no letter and no arrow that could be part of an option.
_DECORATION = re.compile("[\u2600-\u27bf\u2b50\u2b55\u20e3\U0001f000-\U0001faff]")
# Where only the letters are known: the first three labels, each with a text.
_LABELS_IN_A_ROW = re.compile(r"[\s:]{0,4}A[.):、].{1,200}?\bB[.):、].{1,200}?\bC[.):、]", re.S)
# "None of them is right" in a last statement.
_REJECTS_ALL = re.compile(
    r"\b(?:none of (?:the|these|them)|no (?:correct|right|valid) (?:answer|option|choice)|neither of)\b"
    r"|(?:无|没有)(?:一个)?(?:正确|合适|符合)|(?:都|均|全部?)(?:不对|不正确|是?错|不符合)|没有(?:给出)?.{0,6}(?:选项|答案)|^无[。.]?$",
    re.I,
)


class ChoiceGrader(RuleGrader):
    """All right options and no other; the last statement counts."""

    def grade(self, question: Question, answer_text: str) -> Grade:
        """Grade by the question's options."""
        options = Options.of([choice.text for choice in question.choices])
        correct = frozenset(question.answer.correct)
        return self.read(answer_text, lambda answer: _mark(answer, options, correct), options.texts)

    def mark(self, key: AnswerKey, answer: str, language: str, ask: str) -> Mark:
        """Grade by letters alone: the first accepted answer holds them (C, or A, C), others say it in words."""
        options = Options((), MOST_OPTIONS)
        letters = options.direct(clean_fragment(key.accepted[0])) if key.accepted else None
        if letters is None or letters.doubt:
            return not_graded(Why.BAD_KEY, "the first accepted answer of a choice must be its letters")
        spoken = [clean_fragment(text).casefold() for text in key.accepted[1:]]
        if answer.casefold() in spoken:
            return right(f"{shown(answer)} is an accepted answer")
        return _mark(answer, options, letters.chosen)


def chosen(question: Question, answer_text: str) -> frozenset[int] | None:
    """The places of the options that an answer chooses; None when it chooses none or cannot be read."""
    options = Options.of([choice.text for choice in question.choices])
    answer = answer_of(answer_text, options.texts)
    if isinstance(answer, Mark) or offers_another(answer):
        return None
    found = _settled(after_correction(answer) or answer, options, len(question.answer.correct))
    return found.chosen if isinstance(found, Reading) else None


def _mark(answer: str, options: Options, correct: frozenset[int]) -> Mark:
    found = _settled(answer, options, len(correct))
    if isinstance(found, Mark):
        return found
    says = ", ".join(choice_label(place) for place in sorted(found.chosen))
    return right(f"chooses {says}") if found.chosen == correct else wrong(f"chooses {says}")


def _settled(answer: str, options: Options, correct_count: int) -> Reading | Mark:
    """The options that a cleaned answer settles on, without doubt; else the mark of one that settles on none."""
    if options.count > MOST_OPTIONS:
        return not_graded(Why.BAD_KEY, f"{options.count} options are more than there are letters")
    if not any(map(_DECORATION.search, options.texts)):
        answer = tidy(_DECORATION.sub(" ", answer)) or answer
    if correct_count < options.count and _copies_all(final_region(answer), options):
        return invalid_response(Why.COPIES_OPTIONS, "it copies all the options and chooses none")
    reading = options.whole(answer) or _read(answer, options, several=correct_count > 1)
    if reading is None:
        nothing = nothing_found(answer, "option")
        rejected = nothing.why is Why.UNREAD and _REJECTS_ALL.search(
            next(statements(answer), answer[-_MOST_CHARACTERS:])
        )
        if not rejected:
            return nothing
        none_of_these = [place for place, text in enumerate(options.texts) if _REJECTS_ALL.search(text)]
        return Reading(frozenset(none_of_these)) if len(none_of_these) == 1 else wrong("rejects all the options")
    if reading.doubt:
        return not_graded(Why.CONTRADICTION, f"{reading.doubt} in {shown(answer[-200:])}")
    return reading


def _copies_all(region: str, options: Options) -> bool:
    if not options.texts:
        return _LABELS_IN_A_ROW.match(region) is not None
    first, _, rest = region.strip().partition("\n")
    return options.are_all_copied(region) and not (options.item(first) and options.are_all_copied(rest))


def _read(answer: str, options: Options, *, several: bool) -> Reading | None:
    for at in _statement_places(answer):
        reading = _direct(answer, at, options)
        if reading:
            return reading
    marked = next(statements(answer), None)
    if marked is None:
        return (
            _bare(answer, options)
            or _concluded(answer, options)
            or _called_correct(answer, options, several=several)
            or _by_words(answer, options)
        )
    # What stands in the place of the answer counts, however sure the rest sounds.
    return options.inside(marked) or _bare(answer, options) or _concluded(answer, options)


def _statement_places(answer: str) -> Iterator[int]:
    """Where statements of the chosen option begin, the last first."""
    places = {mark.end() for mark in marks(answer)}
    for found in _CHOOSES.finditer(answer):
        if not _NOT_CHOSEN.search(answer, max(0, found.start() - 8), found.start()):
            places.add(found.end())
    for found in _SETTLES.finditer(answer):
        places.add(found.start("only") if found["only"] else found.start("one"))
    yield from sorted(places, reverse=True)[:_MOST_STATEMENTS]


def _direct(answer: str, at: int, options: Options) -> Reading | None:
    line = statement_after(answer, at)
    reading = options.direct(line)
    if reading is None or reading.doubt or not options.item(line):
        return reading
    # A list of labels goes on over the next lines.
    chosen = set(reading.chosen)
    for further in answer[answer.find(line, at) + len(line) :].strip("\n").split("\n")[: options.count]:
        item = options.item(further)
        if not item:
            break
        if item & chosen:  # not a list, but the options once more
            return reading
        chosen |= item
    return Reading(frozenset(chosen))


def _bare(answer: str, options: Options) -> Reading | None:
    """A last or first line that is a label, and lines that are all labels."""
    lines = answer.split("\n")
    items = [options.item(line) for line in lines[: options.count + 1]]
    if len(lines) == len(items) and all(items):
        return Reading(frozenset().union(*items))
    last = options.item(lines[-1]) or (options.lone(answer) if len(lines) == 1 else frozenset())
    return Reading(last) if last else options.labelled(lines[0])


def _concluded(answer: str, options: Options) -> Reading | None:
    last = sentences(answer)[-1][-200:]
    found = None if _ELIMINATES.search(last) else _CONCLUDES.search(last)
    return options.direct(found["run"]) if found and found["run"].isupper() else None


def _called_correct(answer: str, options: Options, *, several: bool) -> Reading | None:
    readings = [options.direct(found["run"]) for found in _CORRECT.finditer(answer)]
    called = [reading.chosen for reading in readings if reading]
    if not called:
        return None
    chosen = frozenset().union(*called)
    return Reading(chosen, "" if several or len(chosen) == 1 else "it calls several options correct")


def _by_words(answer: str, options: Options) -> Reading | None:
    """The options whose words are affirmed in the last sentence that names any, or in the whole answer."""
    for sentence in reversed(sentences(answer)[-20:]):
        reading = options.inside(sentence)
        if reading:
            everywhere = options.affirmed(answer[-_MOST_CHARACTERS:])
            alone = reading.chosen == everywhere or not everywhere
            return reading if alone or reading.doubt else Reading(reading.chosen, "it names several options")
    return None


CHOICE = ChoiceGrader("choice@2")
