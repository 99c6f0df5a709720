"""Hostile text, who wanders through every page with it, and a look at what a page made of it."""

import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from openpyxl import load_workbook
from streamlit.util import calc_hash

# Long enough that no random id or signed address holds it by chance.
MARK = "zqxjkvwq"
ATTACK = (
    f"={MARK}()+cmd\"'><img src=x onerror=alert(1)><script>alert(2)</script>"
    f"[{MARK}](javascript:alert(3))![{MARK}](//{MARK}.test/p) :red[**{MARK}**] ${MARK}$ {{0}}"
)
# As Markdown, these are a link, a picture, a colour, bold letters, a formula and tags, unless they are escaped.
_MARKUP = re.compile(rf"(?<!\\)(?:\[{MARK}\]\(|:red\[|\*\*{MARK}|\${MARK}\$|<img src|<script)")
# Where Streamlit shows a text as it is: field of a message. All other text is Markdown.
_PLAIN = {
    "id", "form_id", "key", "element_id", "value", "default", "placeholder", "query_string", "url", "page",
    "Text.body", "Code.code_text", "Selectbox.options", "Selectbox.raw_value", "MultiSelect.options",
    "MultiSelect.raw_values", "BidiComponent.json", "MixedData.json", "PageLink.page_script_hash",
}  # fmt: skip
FORMULA = re.compile(r"^\s*[=+\-@\t\r]")


class _Tags(HTMLParser):
    """Notes whatever a browser would run or load because of the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.is_shown = False
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        if tag in {"script", "iframe", "object", "embed", "base", "meta", "link"} or MARK in tag:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            told = (value or "").strip().lower()
            runs = name.startswith("on") or (name in {"srcdoc", "style"} and MARK in told)
            leads = name in {"src", "href", "action", "formaction", "poster"} and (
                told == "x" or told.startswith(("javascript:", "data:text", "//")) or f"//{MARK}" in told
            )
            if runs or leads or MARK in name:
                self.found.append(f"<{tag} {name}={value}>")
            self.is_shown = self.is_shown or MARK in told

    def handle_data(self, data: str) -> None:
        if MARK in data:
            self.is_shown = True
            if self._inside in {"script", "style"}:
                self.found.append(f"text within <{self._inside}>")


@dataclass
class Look:
    """What one drawing did with hostile text."""

    problems: list[str] = field(default_factory=list)
    is_shown: bool = False


def look_at(app: Any) -> Look:
    """Every text on a page of Streamlit's test runner: in our HTML, in Markdown, in widgets."""
    look = Look()
    for name, text in texts_of(app):
        _judge(look, name, text)
    return look


def texts_of(app: Any) -> Iterator[tuple[str, str]]:
    """All texts that were sent to the browser, each with the field that holds it."""
    for node in _nodes(app._tree):
        proto = getattr(node, "proto", None)
        if isinstance(proto, Message):
            yield from _texts(proto)


def _judge(look: Look, name: str, text: str) -> None:
    if name == "Html.body":
        parser = _Tags()
        parser.feed(text)
        look.is_shown = look.is_shown or parser.is_shown
        look.problems += [f"{name}: {one}" for one in parser.found]
    elif MARK in text:
        look.is_shown = True
        if name not in _PLAIN and name.rpartition(".")[2] not in _PLAIN:
            look.problems += [f"{name}: {found[0]!r} in {text[:60]!r}" for found in _MARKUP.finditer(text)]


def _nodes(block: Any) -> Iterator[Any]:
    yield block
    for child in getattr(block, "children", {}).values():
        yield from _nodes(child)


def _texts(message: Message) -> Iterator[tuple[str, str]]:
    """Texts within a message, each with the field that holds it."""
    for described, value in message.ListFields():
        name = f"{message.DESCRIPTOR.name}.{described.name}"
        for one in value if described.is_repeated else [value]:
            if described.type == FieldDescriptor.TYPE_MESSAGE and isinstance(one, Message):
                yield from _texts(one)
            elif isinstance(one, str):
                yield name, one


def formulas(file_name: str, data: bytes) -> tuple[int, list[str]]:
    """How many cells of a saved table hold the mark, and those that a spreadsheet would take for a formula."""
    if file_name.endswith(".csv"):
        cells = [cell for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) for cell in row]
        begun = [cell for cell in cells if FORMULA.match(cell) and not _is_number(cell)]
    else:
        found = [cell for sheet in load_workbook(io.BytesIO(data)) for row in sheet for cell in row]
        cells = [str(cell.value) for cell in found]
        begun = [str(cell.value) for cell in found if cell.data_type == "f"]
    return sum(MARK in cell for cell in cells), begun


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@dataclass
class Place:
    """A page with what its address holds."""

    page: str
    query: dict[str, str] = field(default_factory=dict)


def go(app: Any, place: Place) -> Any:
    """Draw another page in the same session."""
    app._page_hash = "" if place.page == "home" else calc_hash(place.page)
    app.query_params.clear()
    app.query_params.update(place.query)
    app.run()
    assert not app.exception, (place, app.exception)
    return app


class Wanderer:
    """Somebody who goes to every page, writes hostile text in each field, and presses each button.

    Where a page leads on, they follow: `leads` takes what pages would open.
    """

    MOST_OF_A_PAGE = 3
    # What ends the walk is tested elsewhere.
    LEFT_ALONE = frozenset({"leave"})

    def __init__(self, visit: Any, token: str, pages: list[str]) -> None:
        self._app = visit("home", token)
        self._to_see = deque(Place(page) for page in pages)
        self._seen: list[Place] = []
        self.problems: dict[str, list[str]] = {}
        self.shown: set[str] = set()
        self.filled: set[str] = set()

    def leads(self, page: str, /, **query: str) -> None:
        """A page that another one leads to."""
        place = Place(page, query)
        if place not in self._seen and place not in self._to_see:
            self._to_see.append(place)

    @property
    def seen(self) -> list[Place]:
        """Where they were."""
        return self._seen

    def walk(self, *, writes: bool) -> None:
        """Go everywhere; with `writes`, fill and press what is there."""
        while self._to_see:
            place = self._to_see.popleft()
            if [one.page for one in self._seen].count(place.page) >= self.MOST_OF_A_PAGE:
                continue
            self._seen.append(place)
            app = self._go(place)
            self._note(place, app)
            if writes:
                self._press_all(place, app)

    def _go(self, place: Place) -> Any:
        """In the same session: a new one for each page would take ten times as long."""
        return go(self._app, place)

    def _press_all(self, place: Place, app: Any) -> None:
        pressed: set[str] = set()
        filters = self._filters(place, app)
        while button := self._next_button(app, pressed):
            pressed.add(button.label)
            self._fill(place, app, filters)
            button.click()
            app.run()
            self._note(place, app)

    def _next_button(self, app: Any, pressed: set[str]) -> Any:
        for button in app.main.get("button"):
            known = button.label in pressed or button.key in self.LEFT_ALONE
            if not known and not button.disabled:
                return button
        return None

    def _filters(self, place: Place, app: Any) -> set[str]:
        """Fields that narrow a list, which stand in the address; filled once, and empty again, for the list's sake."""
        if not self._fill(place, app, set()):
            return set()
        app.run()
        self._note(place, app)
        found = {widget.key for widget in app.main.get("text_input") if widget.key in app.query_params}
        for widget in app.main.get("text_input"):
            if widget.key in found:
                widget.set_value("")
        if found:
            app.run()
        return found

    def _fill(self, place: Place, app: Any, filters: set[str]) -> bool:
        """Write in all fields but some; whether there are any."""
        fields = []
        for kind in ("text_input", "text_area"):
            for widget in app.main.get(kind):
                if not widget.disabled and widget.key not in filters:
                    widget.set_value(ATTACK[: widget.proto.max_chars or None])
                    fields.append(widget)
        for widget in [*app.main.get("selectbox"), *app.main.get("multiselect")]:
            if widget.proto.accept_new_options and not widget.disabled:
                widget.set_value(ATTACK if widget.type == "selectbox" else [ATTACK])
                fields.append(widget)
        self.filled |= {f"{place.page}: {widget.label}" for widget in fields}
        return bool(fields)

    def _note(self, place: Place, app: Any) -> None:
        assert not app.exception, (place, app.exception)
        look = look_at(app)
        if look.problems:
            self.problems.setdefault(place.page, []).extend(look.problems)
        if look.is_shown:
            self.shown.add(place.page)
        for link in app.main.get("page_link"):
            self.leads(link.proto.page or "home", **dict(parse_qsl(link.proto.query_string)))
