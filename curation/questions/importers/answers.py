"""Choices and answers as sets write them: labels before options, letters, texts, or both."""

import re
from collections import Counter
from collections.abc import Sequence

from core.question import AnswerKey, choice_label
from curation.questions.importers.base import BadRecord
from evaluation.graders.choice import MOST_OPTIONS

_LABEL = r"(?:[(（]\s?([A-Z])\s?[)）]|([A-Z])\s?[.．、:：)）])\s*"
_LABELLED = re.compile(rf"{_LABEL}(.+)", re.DOTALL)
_AT_LINES = re.compile(rf"^\s*{_LABEL}", re.MULTILINE)
_ANYWHERE = re.compile(rf"(?:^|(?<=\s)){_LABEL}")
_LETTERS = re.compile(r"[A-Z](?:(?:\s|\s?[,，、;]\s?)?[A-Z])*")
_MOST_BLOCKS = 20
_MOST_DIGITS = 9


def checked_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Choices without the letters that stand before them, if all have their own.

    Raises:
        BadRecord: There are fewer than two, more than letters, or two that are the same.
    """
    if len(choices) < 2:
        raise BadRecord("no_choices", f"there are {len(choices)} choices, at least 2 are needed")
    if len(choices) > MOST_OPTIONS:
        raise BadRecord("too_many_choices", f"{len(choices)} choices are more than the {MOST_OPTIONS} letters")
    found = [_LABELLED.fullmatch(choice) for choice in choices]
    if all(one and (one[1] or one[2]) == choice_label(place) for place, one in enumerate(found)):
        choices = [one[3].strip() for one in found if one]
    twice = [choice for choice, count in Counter(choices).items() if count > 1]
    if twice:
        raise BadRecord("repeated_choices", f"the choice {twice[0][:80]!r} stands there twice")
    return tuple(choices)


def by_letter(answer: str | None, choices: Sequence[str]) -> AnswerKey:
    """The key for one letter, or several as `A, C` or `AC`.

    Raises:
        BadRecord: There is no answer, or it is none of the letters.
    """
    given = _there(answer).strip("()（）. ").upper()
    places = [ord(letter) - ord("A") for letter in re.findall(r"[A-Z]", given)]
    if not _LETTERS.fullmatch(given) or not all(place < len(choices) for place in places):
        raise BadRecord("answer_not_a_choice", f"the answer {_shown(given)} is no letter of the {len(choices)} choices")
    return AnswerKey(correct=tuple(places))


def by_text(answer: str | None, choices: Sequence[str]) -> AnswerKey:
    """The key for the text of a choice, which may have its letter before it, as `(B) a tiger`.

    Raises:
        BadRecord: There is no answer, or it is no choice, or its letter is that of another one.
    """
    given = _there(answer)
    if given in choices:
        return AnswerKey(correct=(choices.index(given),))
    labelled = _LABELLED.fullmatch(given)
    if labelled and labelled[3].strip() in choices:
        place = choices.index(labelled[3].strip())
        if choice_label(place) != (labelled[1] or labelled[2]):
            raise BadRecord("answer_not_a_choice", f"the answer {_shown(given)} has the letter of another choice")
        return AnswerKey(correct=(place,))
    folded = [" ".join(choice.casefold().split()) for choice in choices]
    like = " ".join(given.casefold().split())
    if folded.count(like) == 1:
        return AnswerKey(correct=(folded.index(like),))
    raise BadRecord("answer_not_a_choice", f"the answer {_shown(given)} is none of the choices")


def by_index(answer: str | None, choices: Sequence[str], first: int) -> AnswerKey:
    """The key for the number of a choice; `first` is that of the first one.

    Raises:
        BadRecord: There is no answer, or no choice of that number.
    """
    given = _there(answer)
    if not given.isdecimal() or len(given) > _MOST_DIGITS or not 0 <= int(given) - first < len(choices):
        raise BadRecord("answer_not_a_choice", f"the answer {_shown(given)} is no number of the {len(choices)} choices")
    return AnswerKey(correct=(int(given) - first,))


def split_options(text: str) -> tuple[str, tuple[str, ...]] | None:
    """A question that ends in its options, parted into what is asked and the options; None when it has none.

    Options begin with A, B, C ... in order, each at the beginning of a line, or all behind blanks. The last one ends
    with its paragraph.
    """
    for pattern in (_AT_LINES, _ANYWHERE):
        marks = list(pattern.finditer(text))
        begins = [place for place, mark in enumerate(marks) if (mark[1] or mark[2]) == "A"]
        for begin in reversed(begins[-_MOST_BLOCKS:]):
            run = _run(marks[begin:])
            if len(run) >= 2:
                ends = [mark.start() for mark in run[1:]] + [len(text)]
                options = [text[mark.end() : end] for mark, end in zip(run, ends, strict=True)]
                options[-1] = re.split(r"\n\s*\n", options[-1], maxsplit=1)[0]
                cleaned = tuple(option.strip() for option in options)
                return (text[: run[0].start()].strip(), cleaned) if all(cleaned) else None
    return None


def _run(marks: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The marks A, B, C ... in order, from the first mark on."""
    run: list[re.Match[str]] = []
    for mark in marks:
        if len(run) < MOST_OPTIONS and (mark[1] or mark[2]) == choice_label(len(run)):
            run.append(mark)
    return run


def _there(answer: str | None) -> str:
    if answer is None:
        raise BadRecord("no_answer", "there is no answer, as in test splits whose answers are withheld")
    return answer


def _shown(answer: str) -> str:
    return repr(answer if len(answer) <= 80 else f"{answer[:80]}...")
