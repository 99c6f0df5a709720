"""Tags in the reader's words: the vocabulary's names instead of its ids, facets by their names."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from annotation_ui.told import Told
from annotation_ui.words import N_, Words
from curation.tagging.tags import FREE, VALUE_CHARACTERS_MAX, BadTag, Tag
from curation.tagging.vocabulary import FILE, BadVocabulary, Names, load_vocabulary

FACETS = {
    "theme": N_("Theme"),
    "subject": N_("Subject"),
    "event": N_("Event"),
    "scene": N_("Scene"),
    "style": N_("Style"),
    FREE: N_("Free tag"),
}


class TagUnreadable(Told):
    """A text that cannot be a tag."""

    text = N_("A tag has 1 to {most} characters.")


TagNames = Mapping[Tag, Names]


def tag_names(root: Path) -> TagNames:
    """What people read for each tag of the project's vocabulary.

    Raises:
        BadVocabulary: The project's own file cannot be used.
    """
    own = root / FILE
    return _names(root, own.stat().st_mtime_ns if own.is_file() else None)


def known_names(root: Path) -> TagNames:
    """The same where names are a help only: with a vocabulary that cannot be read, tags are shown by their ids."""
    try:
        return tag_names(root)
    except BadVocabulary:
        return {}


def tag_name(t: Words, names: TagNames, tag: Tag) -> str:
    """The value of a tag in the reader's language; what the vocabulary does not hold stays as it was written."""
    known = names.get(tag)
    if known is None:
        return tag.value
    return known.zh if t.language == "zh" else known.en


def tag_line(t: Words, names: TagNames, tag: Tag) -> str:
    """A tag after the name of its facet, as "Theme: nature"; a free one alone."""
    name = tag_name(t, names, tag)
    return name if tag.facet == FREE else t("{facet}: {tag}", facet=t(FACETS[tag.facet]), tag=name)


def tag_choice(t: Words, names: TagNames, tag: Tag) -> str:
    """A tag as it is offered: in both languages, so that it is found by the words of either."""
    known = names[tag]
    other = known.en if t.language == "zh" else known.zh
    return f"{tag_line(t, names, tag)} · {other}"


def meant(names: TagNames, text: str) -> Tag:
    """The tag that somebody writes: `theme:nature`, a name of the vocabulary in either language, or words of their own.

    Raises:
        TagUnreadable: It is empty or too long.
    """
    try:
        tag = Tag.parse(" ".join(text.replace("\x00", "").split()))
    except BadTag:
        raise TagUnreadable(most=VALUE_CHARACTERS_MAX) from None
    wanted = tag.value.casefold()
    for known, called in names.items():
        if tag.facet in (FREE, known.facet) and wanted in {called.en.casefold(), called.zh.casefold()}:
            return known
    return tag


# Reading the file takes longer than drawing a page; who edits it changes its time.
@lru_cache(maxsize=8)
def _names(root: Path, changed: int | None) -> TagNames:
    return load_vocabulary(root).names()
