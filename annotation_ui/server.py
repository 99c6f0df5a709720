"""The studio's server: Streamlit's ASGI application with the studio's own routes and guards around it."""

import errno
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from annotation_ui.auth import LINK_PATH, Auth
from annotation_ui.auth_routes import SIGN_IN_PATH, AuthRoutes, ForeignForm, check_origin
from annotation_ui.drafting.routes import DraftRoutes
from annotation_ui.media_routes import MediaRoutes
from annotation_ui.oidc_routes import OidcRoutes
from annotation_ui.recording.routes import RecordingRoutes
from annotation_ui.studio import Studio
from core.errors import InterplayError

SCRIPT = Path(__file__).parent / "entry" / "studio_script.py"
DEFAULT_PORT = 8501
PORTS_TRIED = 20
# A browser keeps players' connections open; Ctrl-C must not wait for them.
GRACE_S = 2
_OPEN_PATHS = ("/auth/", "/files/", "/drafts/", "/_stcore/", "/static/", "/component/", "/media/", "/favicon")
# What Streamlit keeps in memory for its visitors: uploads, and files that they saved.
_KEPT = ("/_stcore/upload_file/", "/media/")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}
_THEME = {
    "base": "light",
    "primaryColor": "#2f5d8c",
    "backgroundColor": "#ffffff",
    "secondaryBackgroundColor": "#f4f6f9",
    "textColor": "#1f2933",
    "borderColor": "#dde3ea",
    "baseRadius": "8px",
    "showWidgetBorder": True,
    "font": "'Source Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Noto Sans SC', sans-serif",
    "headingFontSizes": ["1.6rem", "1.2rem", "1.05rem", "1rem", "1rem", "1rem"],
}


class PortBusy(InterplayError):
    """Another program listens where the studio was to."""


class PlaceUnusable(InterplayError):
    """An address that this machine cannot listen on."""


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket: on the port that is named, else on the first free one from `DEFAULT_PORT` on.

    Raises:
        PortBusy: The named port, or every port that was tried, is taken.
        PlaceUnusable: The host is not one of this machine's, or the port may not be used.
    """
    tried = [port] if port is not None else list(range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED))
    for candidate in tried:
        try:
            listening = socket.create_server((host, candidate), family=_family(host), backlog=128)
        except PermissionError as error:
            raise PlaceUnusable(f"port {candidate} may not be used ({error.strerror}); name one above 1023") from error
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno != errno.EADDRINUSE:
                raise PlaceUnusable(
                    f"cannot listen on {host} port {candidate} ({error.strerror}); use --host 127.0.0.1"
                ) from error
        else:
            # Accepted connections inherit it. asyncio sets it only on sockets that name their protocol, which these do
            # not, and without it a reply in two packets waits for the browser's delayed acknowledgement.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listening
    if port is not None:
        raise PortBusy(f"port {port} is busy (perhaps another studio runs); stop it, or choose another with --port")
    raise PortBusy(f"ports {tried[0]} to {tried[-1]} are all busy; name a free one with --port")


def configure(studio: Studio, host: str, port: int) -> None:
    """Set Streamlit's options for this process: nothing is sent or written outside the project."""
    from streamlit import config

    options: dict[str, Any] = {
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.toolbarMode": "minimal",
        "logger.enableRich": False,
        "logger.hideWelcomeMessage": True,
        # Streamlit would look through all objects of the process after each drawing, which takes longer than the
        # drawing and stops everybody; Python does so by itself often enough.
        "runner.postScriptGC": False,
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",
        "server.showEmailPrompt": False,
        "server.maxUploadSize": max(1, studio.workspace.project.settings.max_file_bytes // 2**20),
        **{f"theme.{name}": value for name, value in _THEME.items()},
    }
    if studio.url:
        # The site that Streamlit's socket may be opened from, beside this machine itself.
        options["browser.serverAddress"] = urlsplit(studio.url).hostname
    for name, value in options.items():
        config.set_option(name, value)


def make_app(studio: Studio, auth: Auth, on_ready: Callable[[], None] = lambda: None) -> ASGIApp:
    """The ASGI application: Streamlit's pages, the door, and the media route."""
    import streamlit as st

    door = AuthRoutes(studio, auth)

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        on_ready()
        yield

    return st.App(
        SCRIPT,
        secrets={"studio": {"project": str(studio.workspace.project.root)}},
        lifespan=lifespan,
        routes=[
            # Streamlit knows its first page by the bare address only.
            Route("/home", lambda _request: RedirectResponse("/", status_code=303)),
            *door.routes(),
            *OidcRoutes(studio, auth, door).routes(),
            *MediaRoutes(studio, auth).routes(),
            *DraftRoutes(studio, auth).routes(),
            *RecordingRoutes(studio, auth).routes(),
        ],
        middleware=[Middleware(Door, auth=auth, cookie_name=studio.cookie_name, studio_url=studio.url)],
    )


def serve(studio: Studio, listening: socket.socket, announce: Callable[[str, str | None], None]) -> None:
    """Serve until Ctrl-C or a termination signal. `announce` gets the address and the first link, once both work."""
    import uvicorn

    host, port = listening.getsockname()[:2]
    configure(studio, host, port)
    auth = Auth(studio.workspace.database, studio.key, studio.clock)
    address = f"http://{_shown_host(host)}:{port}"

    def on_ready() -> None:
        first = auth.first_link()
        announce(address, f"{address}{LINK_PATH}/{first}" if first else None)

    config = uvicorn.Config(
        make_app(studio, auth, on_ready),
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        timeout_graceful_shutdown=GRACE_S,
        # What a proxy says of itself, any local program can say: `studio_url` tells of TLS instead.
        proxy_headers=False,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return  # uvicorn has shut down in order and hands the signal on
    finally:
        listening.close()


class Door:
    """Lets nobody near the pages who is not signed in, and adds the headers that browsers guard pages by.

    A visitor without a session is sent to sign in; Streamlit's socket and its uploads, by which one could fill the
    server's memory, are closed to them. What somebody may do is decided further in, by pages and services.
    """

    def __init__(self, app: ASGIApp, auth: Auth, cookie_name: str, studio_url: str | None = None) -> None:
        self._app = app
        self._auth = auth
        self._cookie_name = cookie_name
        self._studio_url = studio_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or socket."""
        if scope["type"] == "websocket":
            connection = HTTPConnection(scope)
            if self._is_own(connection) and await self._is_known(connection):
                await self._app(scope, self._asking_each_time(connection, receive), send)
            else:
                await WebSocketClose(code=1008)(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = await self._refusal(HTTPConnection(scope), scope["method"])
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _asking_each_time(self, connection: HTTPConnection, receive: Receive) -> Receive:
        """A socket stays open when the session ends, and callbacks and fragments run before the page asks who is there.

        So each message is let through as it is only while the session lasts; later ones draw the page anew, which then
        says that the session is over.
        """

        async def receive_guarded() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive" and not await self._is_known(connection):
                return {"type": "websocket.receive", "bytes": redraw_only(message.get("bytes") or b"")}
            return message

        return receive_guarded

    async def _refusal(self, request: HTTPConnection, method: str) -> Response | None:
        path = request.url.path
        if path.startswith(_KEPT):
            return None if await self._is_known(request) else Response("Sign in first.", status_code=403)
        is_page = method == "GET" and "text/html" in request.headers.get("accept", "")
        if not is_page or path.startswith(_OPEN_PATHS) or await self._is_known(request):
            return None
        wanted = path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{SIGN_IN_PATH}?next={quote(wanted, safe='/')}", status_code=303)

    def _is_own(self, connection: HTTPConnection) -> bool:
        """Whether the studio's own page opens the socket.

        Streamlit would let in every page of this machine, whatever its port is, and to know one of another machine it
        asks a foreign host for its own address.
        """
        try:
            check_origin(connection, self._studio_url)
        except ForeignForm:
            return False
        return True

    async def _is_known(self, request: HTTPConnection) -> bool:
        return await run_in_threadpool(self._auth.principal, request.cookies.get(self._cookie_name)) is not None


def redraw_only(data: bytes) -> bytes:
    """A browser's message with everything taken away but which page it shows, and to whom."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from streamlit.proto.BackMsg_pb2 import BackMsg

    message, bare = BackMsg(), BackMsg()
    # What cannot be read is nobody's concern any more: the page is drawn anew all the same.
    with suppress(DecodeError):
        message.ParseFromString(data)
    asked = message.rerun_script
    bare.rerun_script.page_script_hash = asked.page_script_hash
    bare.rerun_script.query_string = asked.query_string
    bare.rerun_script.context_info.CopyFrom(asked.context_info)
    return bytes(bare.SerializeToString())


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _shown_host(host: str) -> str:
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return "localhost"
    return f"[{host}]" if ":" in host else host
