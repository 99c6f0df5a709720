"""HTML of the studio's own making: every value goes through Jinja's escaping, so user text stays text."""

import base64
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from annotation_ui.words import Words


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("annotation_ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=])")


def as_label(text: str) -> str:
    """Anybody's text for the label of a widget, which Streamlit reads as Markdown: there it stays text."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def data_address(picture: bytes, media_type: str) -> str:
    """An address that holds the picture itself."""
    return f"data:{media_type};base64,{base64.b64encode(picture).decode()}"


def render(template: str, t: Words, **values: object) -> str:
    """A template of `annotation_ui/templates` with its values, in the reader's language."""
    return _environment().get_template(template).render(t=t, plural=t.plural, **values)


@cache
def stylesheet() -> str:
    """The studio's style sheet."""
    return files("annotation_ui").joinpath("assets", "studio.css").read_text(encoding="utf-8")


@cache
def icon_address() -> str:
    """The studio's icon, held in its address: pages outside the door load nothing from elsewhere."""
    return data_address(files("annotation_ui").joinpath("assets", "icon.svg").read_bytes(), "image/svg+xml")
