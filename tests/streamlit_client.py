"""A browser without a screen: signs in to a running studio over HTTP and speaks Streamlit's protocol for its pages.

    with Visitor("http://localhost:8501") as visitor:
        visitor.sign_in("mei", PASSWORD)
        with visitor.tab("materials", modality="audio") as tab:
            tab.set("Search", "bell").run()
            tab.click("Save")

A page's drawing is over when `open`, `run` and `click` return; `tab.html` and `tab.widgets` tell what it drew. A
component of ours that runs in the browser is there with its data, and does nothing. One thread a visitor.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import httpx
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Block_pb2 import Block
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

WAIT_S = 60.0
_ENDED = frozenset({ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY})
_XSRF_COOKIE = "_streamlit_xsrf"
# What Streamlit's front end sends for a widget of each kind.
_VALUES = {
    "button": "trigger_value",
    "checkbox": "bool_value",
    "selectbox": "string_value",
    "radio": "string_value",
    "button_group": "string_array_value",
    "multiselect": "string_array_value",
    "text_input": "string_value",
    "text_area": "string_value",
    "number_input": "double_value",
    "slider": "double_array_value",
    "date_input": "string_array_value",
    "time_input": "string_value",
    "pagination": "int_value",
    "bidi_component": "json_value",
    "file_uploader": "file_uploader_state_value",
}
_TRIGGERS = frozenset({"trigger_value", "json_trigger_value"})


class PageFailed(AssertionError):
    """A page that shows an exception, or that the server ended."""


class NotDrawn(LookupError):
    """No widget of that label or key is on the page."""


@dataclass(frozen=True)
class Drawn:
    """One element as the server sent it: `proto` is Streamlit's own message of this `kind`."""

    kind: str
    proto: Any
    run: int
    fragment_id: str

    @property
    def key(self) -> str:
        """The key that the page gave a widget; empty for none."""
        parts = getattr(self.proto, "id", "").split("-", 2)
        return parts[2] if len(parts) == 3 and parts[2] != "None" else ""

    @property
    def label(self) -> str:
        """What a widget is called."""
        return str(getattr(self.proto, "label", ""))


class Visitor:
    """One person's browser: cookies that all tabs share."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.http = httpx.Client(base_url=address, timeout=WAIT_S, headers={"Origin": address})

    def sign_in(self, name: str, password: str) -> None:
        """Through the form at the door.

        Raises:
            PageFailed: The door stays shut.
        """
        form = self.http.get("/auth/sign-in")
        form.raise_for_status()
        answer = self.http.post("/auth/sign-in", data={"name": name, "password": password, "next": "/"})
        if answer.status_code != 303:
            raise PageFailed(f"{name} cannot sign in: {answer.status_code}")

    def tab(self, page: str = "home", /, **query: str) -> "Tab":
        """A new tab with a page of the studio."""
        return Tab(self).open(page, **query)

    def cookie_header(self) -> str:
        """The cookies as a browser sends them."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.http.cookies.jar)

    def xsrf(self) -> str:
        """Streamlit's own token, which uploads must repeat."""
        if _XSRF_COOKIE not in self.http.cookies:
            self.http.get("/_stcore/health").raise_for_status()
        return str(self.http.cookies[_XSRF_COOKIE]).strip('"')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.http.close()


@dataclass
class Tab:
    """One tab: Streamlit's socket, what the page drew, and what was entered since."""

    visitor: Visitor
    query: str = ""
    page_hash: str = ""
    session_id: str = ""
    bytes_received: int = 0
    _opened: ExitStack = field(default_factory=ExitStack)
    _socket: ClientConnection | None = None
    _nodes: dict[tuple[int, ...], Drawn] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _known: dict[str, ForwardMsg] = field(default_factory=dict)
    _run: int = 0
    _fragments: frozenset[str] = frozenset()

    def open(self, page: str = "home", /, **query: str) -> Self:
        """Load a page anew, as entering its address does."""
        self.close()
        self._nodes.clear()
        self._states.clear()
        self._known.clear()
        self.page_hash, self.query = "", urlencode(query)
        self._socket = self._opened.enter_context(
            connect(
                self.visitor.address.replace("http", "ws", 1) + "/_stcore/stream",
                origin=self.visitor.address,  # type: ignore[arg-type]
                additional_headers={"Cookie": self.visitor.cookie_header()},
                subprotocols=["streamlit", self.visitor.xsrf()],  # type: ignore[list-item]
                open_timeout=WAIT_S,
                max_size=None,
                compression=None,
            )
        )
        return self._ask(ClientState(page_name="" if page == "home" else page))

    def run(self) -> Self:
        """Send what was set, and wait for the page."""
        return self._ask(ClientState())

    def click(self, label: str, kind: str = "button") -> Self:
        """Press a button by its label or key, with everything that was set before, and wait for the page."""
        button = self.find(label, kind)
        self._state(button, True)
        self._ask(ClientState(fragment_id=button.fragment_id))
        for block in self._blocks("form"):
            if block.clear_on_submit and block.form_id == button.proto.form_id:
                self._states = {key: state for key, state in self._states.items() if not self._is_in(key, block)}
        return self

    def set(self, label: str, value: Any, kind: str | None = None) -> Self:
        """Enter a value by a widget's label or key; `run` or `click` sends it. Choices are named by their words."""
        self._state(self.find(label, kind), value)
        return self

    def trigger(self, label: str, event: str, value: Any) -> Self:
        """What a component of ours tells once, and wait for the page."""
        drawn = self.find(label, "bidi_component")
        told = [{"event": event, "value": value}]
        state = WidgetState(id=_make_trigger_id(drawn.proto.id, "events"), json_trigger_value=json.dumps(told))
        self._states[state.id] = state
        return self._ask(ClientState(fragment_id=drawn.fragment_id))

    def upload(self, label: str, *files: tuple[str, bytes, str]) -> Self:
        """Put files, each a name, its bytes and a media type, into an uploader; they wait in the server's memory."""
        drawn = self.find(label, "file_uploader")
        urls = self._upload_addresses([name for name, _, _ in files])
        state = WidgetState(id=drawn.proto.id)
        for (name, data, media_type), url in zip(files, urls, strict=True):
            sent = self.visitor.http.put(
                url.upload_url, files={name: (name, data, media_type)}, headers={"X-Xsrftoken": self.visitor.xsrf()}
            )
            sent.raise_for_status()
            state.file_uploader_state_value.uploaded_file_info.add(
                name=name, size=len(data), file_id=url.file_id, file_urls=url
            )
        self._states[drawn.proto.id] = state
        return self

    def find(self, label: str, kind: str | None = None) -> Drawn:
        """The first widget with that label or key.

        Raises:
            NotDrawn: There is none; the text names those that are there.
        """
        there = [one for one in self.elements if one.kind in _VALUES and kind in {None, one.kind}]
        for drawn in there:
            if label in {drawn.label, drawn.key}:
                return drawn
        raise NotDrawn(f"{label!r} is not among {[one.label or one.key for one in there]}; the page: {self.html}")

    def has(self, label: str, kind: str | None = None) -> bool:
        """Whether a widget of that label or key is there."""
        try:
            return bool(self.find(label, kind))
        except NotDrawn:
            return False

    @property
    def elements(self) -> list[Drawn]:
        """Everything on the page, from the top down."""
        return [self._nodes[path] for path in sorted(self._nodes)]

    def of(self, kind: str) -> list[Any]:
        """Streamlit's messages of one kind, such as `html`, `button`, `text_input`."""
        return [one.proto for one in self.elements if one.kind == kind]

    @property
    def labels(self) -> list[str]:
        """What the widgets are called, from the top down."""
        return [one.label for one in self.elements if one.kind in _VALUES]

    def data(self, label: str) -> Any:
        """What the page gave a component of ours."""
        sent = self.find(label, "bidi_component").proto
        return json.loads(sent.json or sent.mixed.json)

    @property
    def html(self) -> str:
        """All HTML on the page but the style sheet."""
        return "\n".join(one.body for one in self.of("html") if not one.body.startswith("<style>"))

    def close(self) -> None:
        """End the session as closing a tab does."""
        self._opened.close()
        self._socket = None

    def _ask(self, state: ClientState) -> Self:
        state.query_string = self.query
        if not state.page_name:
            state.page_script_hash = self.page_hash
        state.widget_states.widgets.extend(self._states.values())
        state.cached_message_hashes.extend(self._known)
        state.context_info.locale = "en-GB"
        state.context_info.url = f"{self.visitor.address}/?{self.query}"
        self._send(BackMsg(rerun_script=state))
        for key in [key for key, one in self._states.items() if one.WhichOneof("value") in _TRIGGERS]:
            del self._states[key]
        self._wait()
        return self

    def _wait(self) -> None:
        """Take messages until the script has come to its end."""
        for message in self._messages():
            match message.WhichOneof("type"):
                case "new_session":
                    self._begin(message)
                case "delta":
                    self._draw(message)
                case "navigation":
                    self.page_hash = message.navigation.page_script_hash
                case "page_info_changed":
                    self.query = message.page_info_changed.query_string
                case "script_finished" if message.script_finished in _ENDED:
                    self._tidy(message.script_finished)
                    break
                case "script_finished" if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise PageFailed("the script does not compile")
        if failed := self.of("exception"):
            raise PageFailed(f"{failed[0].type}: {failed[0].message}")

    def _begin(self, message: ForwardMsg) -> None:
        self._run += 1
        self._fragments = frozenset(message.metadata.run.fragment_ids)
        self.session_id = message.new_session.initialize.session_id
        self.page_hash = message.new_session.page_script_hash

    def _draw(self, message: ForwardMsg) -> None:
        path, delta = tuple(message.metadata.delta_path), message.delta
        kind = delta.WhichOneof("type")
        if kind == "new_element":
            for inner in [one for one in self._nodes if one[: len(path)] == path]:
                del self._nodes[inner]
            element = delta.new_element
            name = element.WhichOneof("type")
            self._nodes[path] = Drawn(name, getattr(element, name), self._run, delta.fragment_id)
        elif kind == "add_block":
            name = delta.add_block.WhichOneof("type") or "block"
            self._nodes[path] = Drawn(name, delta.add_block, self._run, delta.fragment_id)

    def _tidy(self, finished: int) -> None:
        """Take away what this run did not draw again."""
        whole = finished == ForwardMsg.FINISHED_SUCCESSFULLY
        self._nodes = {
            path: one
            for path, one in self._nodes.items()
            if one.run == self._run or not (whole or one.fragment_id in self._fragments)
        }
        there = {getattr(one.proto, "id", "") for one in self._nodes.values()}
        self._states = {key: state for key, state in self._states.items() if key in there}
        for one in self._nodes.values():
            # The page itself gave a widget another value, which a browser takes over.
            if one.run == self._run and getattr(one.proto, "set_value", False):
                self._states.pop(one.proto.id, None)

    def _state(self, drawn: Drawn, value: Any) -> None:
        if drawn.proto.DESCRIPTOR.fields_by_name.get("disabled") and drawn.proto.disabled:
            raise NotDrawn(f"{drawn.label!r} is disabled")
        state, name = WidgetState(id=drawn.proto.id), _VALUES[drawn.kind]
        if name.endswith("_array_value"):
            values = [value] if isinstance(value, str) else value
            getattr(state, name).data.extend(values)
        else:
            setattr(state, name, json.dumps(value) if name.startswith("json") else value)
        self._states[drawn.proto.id] = state

    def _is_in(self, widget_id: str, form: Block.Form) -> bool:
        return any(
            getattr(one.proto, "id", "") == widget_id and one.proto.form_id == form.form_id
            for one in self._nodes.values()
            if one.kind in _VALUES
        )

    def _blocks(self, kind: str) -> list[Any]:
        return [getattr(one.proto, kind) for one in self.elements if one.kind == kind and isinstance(one.proto, Block)]

    def _upload_addresses(self, names: list[str]) -> list[FileURLs]:
        asked = BackMsg()
        asked.file_urls_request.request_id = "upload"
        asked.file_urls_request.file_names.extend(names)
        asked.file_urls_request.session_id = self.session_id
        self._send(asked)
        for message in self._messages():
            if message.WhichOneof("type") == "file_urls_response":
                return list(message.file_urls_response.file_urls)
        raise AssertionError

    def _send(self, message: BackMsg) -> None:
        assert self._socket is not None
        self._socket.send(message.SerializeToString())

    def _messages(self) -> Iterator[ForwardMsg]:
        while True:
            assert self._socket is not None
            data = self._socket.recv(WAIT_S)
            assert isinstance(data, bytes)
            self.bytes_received += len(data)
            message = ForwardMsg.FromString(data)
            if message.HasField("ref_hash"):
                known = ForwardMsg()
                known.CopyFrom(self._known[message.ref_hash])
                known.metadata.CopyFrom(message.metadata)
                message = known
            elif message.metadata.cacheable:
                self._known[message.hash] = message
            yield message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()
