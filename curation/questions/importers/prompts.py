"""Prompts: media put where the text names them, and into a place of their own where it does not."""

import re
from collections.abc import Callable, Mapping, Sequence

from core.content import PLACEHOLDER
from core.errors import UnknownName
from core.question import AnswerKey, QuestionKind
from core.taxonomy import load_taxonomy
from curation.questions.importers.base import BadRecord, ByWhat, Draft, Given, Label

Segment = str | Given


def woven(
    text: str, media: Sequence[Given], choices: Sequence[str] = ()
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """The prompt with media inline, and the choices.

    A placeholder's first mention becomes the medium, a later one stays text. Media that only choices name follow the
    text, each behind its name, and the choices keep the name (`image_2`). Media that nothing names stand before all.

    Raises:
        BadRecord: A medium is named, but not given.
    """
    by_name = {one.name: one for one in media}
    in_text = list(dict.fromkeys(PLACEHOLDER.findall(text)))
    in_choices = list(dict.fromkeys(name for choice in choices for name in PLACEHOLDER.findall(choice)))
    for name in (*in_text, *in_choices):
        if name not in by_name:
            raise BadRecord("missing_media", f"<{name}> is named, but there is no such medium")
    behind = [name for name in in_choices if name not in in_text]
    before = [one for one in media if one.name not in {*in_text, *behind}]
    segments: list[Segment] = [*before, *_inline(f"\n{text}" if before else text, by_name)]
    for name in behind:
        segments += [f"\n{name}: ", by_name[name]]
    return tuple(segments), tuple(PLACEHOLDER.sub(r"\1", choice) for choice in choices)


def _inline(text: str, media: Mapping[str, Given]) -> list[Segment]:
    segments: list[Segment] = []
    placed: set[str] = set()
    end = 0
    for found in PLACEHOLDER.finditer(text):
        if found[1] not in placed:
            placed.add(found[1])
            segments += [text[end : found.start()], media[found[1]]]
            end = found.end()
    return [one for one in (*segments, text[end:]) if one != ""]


def placeholders(text: str, pattern: re.Pattern[str], name: Callable[[re.Match[str]], str]) -> str:
    """A text whose own way to name media is written as ours."""
    return pattern.sub(lambda found: f"<{name(found)}>", text)


def task_type(category: str | None, table: Mapping[str, str], default: str) -> tuple[str, ByWhat]:
    """The task type of a set's category: by the format's table, else one that is called so, else the default."""
    if category is not None:
        if (known := table.get(" ".join(category.casefold().replace("_", " ").split()))) is not None:
            return known, "category"
        try:
            return load_taxonomy().get(category).id, "category"
        except UnknownName:
            pass
    return default, "default"


def choice_draft(
    record: tuple[str, str],
    asked: str,
    media: Sequence[Given],
    choices: Sequence[str],
    key: AnswerKey,
    typed: tuple[str, ByWhat],
    labels: Mapping[str, Label],
) -> Draft:
    """A draft with choices; `record` is where it stands and its id.

    Raises:
        BadRecord: As `woven`.
    """
    prompt, named = woven(asked, media, choices)
    return Draft(*record, prompt, QuestionKind.CHOICE, *typed, choices=named, answer=key, labels=labels)
