"""What all SVG pictures of this package share: the same data give the same bytes, and names fit in."""

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME_CHARACTERS = 44


@contextmanager
def drawing(key: str, settings: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Settings of matplotlib while a figure is made and written.

    Args:
        key: Goes into the ids, which must differ between the figures of one page.
        settings: More of matplotlib's `rcParams`.
    """
    import matplotlib as mpl

    shared: Any = {"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": f"interplay {key}"}
    with mpl.rc_context(shared | dict(settings or {})), warnings.catch_warnings():
        # The reader's fonts draw the letters: what matplotlib's own font lacks is missing from no picture.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def as_svg(figure: "Figure") -> bytes:
    """The figure as an SVG file without date and maker."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return drawn.getvalue()


def short_name(name: str) -> str:
    """A name on one line, its middle left out if it is very long."""
    line = " ".join(name.split())
    half = (_NAME_CHARACTERS - 1) // 2
    short = line if len(line) <= _NAME_CHARACTERS else f"{line[:half]}…{line[-half:]}"
    # A label that begins with a low line is kept out of legends: a space of no width stands before it.
    return f"\u200b{short}" if short.startswith("_") else short
