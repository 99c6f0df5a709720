"""Simulated members behind a local server that speaks the OpenAI chat API: the model's name chooses the member.

POST /v1/chat/completions, GET /v1/models, GET /health. Failures come by the members' knobs, as real servers fail. The
n-th time that a member gets the same call (same parts, same seed) it always ends the same way, however many calls are
in flight: attempts are counted call by call until one succeeds, or `MOST_RETRIES` have failed.
"""

import asyncio
import errno
import logging
import os
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import uvicorn
from anyio import CapacityLimiter, create_task_group, move_on_after
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from core.errors import InterplayError, UnknownName
from core.ids import Clock, NewId, new_id, utc_now
from core.media.errors import MediaError
from evaluation.models.sim.gallery import Gallery
from evaluation.models.sim.member import MOST_RETRIES, ErrorKind, Knobs, Member, Perceiver, SeenMedia
from evaluation.models.sim.wire import ApiError, Asked, Written, read_request, undecodable

MOST_BODY_BYTES = 256 << 20

_SMALL_BYTES = 1 << 14
_GRACE_S = 5
_WAITING = 2048
_GARBAGE = b'{"choices": [\xff\x80<html>'

_log = logging.getLogger("interplay.sim")
T = TypeVar("T")


class CannotListen(InterplayError):
    """An address that cannot be listened on."""


class SimulatedServer:
    """The routes over a set of members.

    Args:
        members: What each model is like, by name.
        gallery: What they know by sight and by ear.
        api_key: What callers must send as bearer token; None takes any.
        most_body_bytes: Larger requests get a 413.
        clock: The `created` of replies.
        new_id: Their ids.
    """

    def __init__(
        self,
        members: Mapping[str, Knobs],
        gallery: Gallery,
        *,
        api_key: str | None = None,
        most_body_bytes: int = MOST_BODY_BYTES,
        clock: Clock = utc_now,
        new_id: NewId = new_id,
    ) -> None:
        perceiver = Perceiver(gallery)
        self._members = {name: Member(knobs, perceiver) for name, knobs in members.items()}
        self._api_key = api_key
        self._most_body_bytes = most_body_bytes
        self._clock, self._new_id = clock, new_id
        self._attempts: dict[tuple[str, str, str], int] = {}
        self._threads = CapacityLimiter(max(2, os.cpu_count() or 2))
        self.closing = asyncio.Event()

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/health", self._health),
            ],
            exception_handlers={
                ApiError: _refused,
                HTTPException: _no_route,
                ClientDisconnect: _unheard,
                Exception: _bug,
            },
        )

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        self._authorise(request)
        created = int(self._clock().timestamp())
        rows = [
            {"id": name, "object": "model", "created": created, "owned_by": "interplay-sim"} for name in self._members
        ]
        return JSONResponse({"object": "list", "data": rows})

    async def _chat(self, request: Request) -> Response:
        # Read first: a caller that is still sending when it is refused hears nothing but a broken connection.
        body = await self._body(request)
        self._authorise(request)
        asked, member, call = await self._work(len(body) > _SMALL_BYTES, partial(self._understand, body))
        kind = self._next_outcome(member, asked, call)
        if member.knobs.latency_s:
            with move_on_after(member.knobs.latency_s):
                await self.closing.wait()
        if kind == "hang":
            await self._hang(request)
            raise ApiError(503, "the server closes", "closing")
        if kind == "garbage":
            return Response(_GARBAGE, media_type="text/event-stream" if asked.stream else "application/json")
        if kind is not None and kind != "cut":
            raise _failure(kind, member.knobs)
        has_media = any(isinstance(part, SeenMedia) for part in asked.parts)
        heavy = has_media or max(len(body), member.knobs.answer_bytes) > _SMALL_BYTES
        return await self._work(heavy, partial(self._answer, asked, member, cut=kind == "cut"))

    def _authorise(self, request: Request) -> None:
        if self._api_key is None:
            return
        sent = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(sent.encode(), self._api_key.encode()):
            said = "incorrect API key" if sent else "no API key; send the header 'Authorization: Bearer KEY'"
            raise ApiError(401, said, "invalid_api_key", headers={"WWW-Authenticate": "Bearer"})

    async def _body(self, request: Request) -> bytes:
        """The body; one that is too large is read to its end and forgotten, so that its sender hears the answer."""
        pieces, byte_count = [], 0
        async for piece in request.stream():
            byte_count += len(piece)
            if byte_count <= self._most_body_bytes:
                pieces.append(piece)
        if byte_count > self._most_body_bytes:
            said = f"the request has {byte_count} bytes, and at most {self._most_body_bytes} are taken"
            raise ApiError(413, said, "request_too_large")
        return b"".join(pieces)

    async def _work(self, heavy: bool, task: Callable[[], T]) -> T:
        """Heavy work in a thread, so that the event loop stays free; light work is done before a thread would start."""
        return await run_sync(task, limiter=self._threads) if heavy else task()

    def _understand(self, body: bytes) -> tuple[Asked, Member, str]:
        asked = read_request(body)
        if asked.model not in self._members:
            raise ApiError(404, str(UnknownName("model", asked.model, self._members)), "model_not_found", param="model")
        member = self._members[asked.model]
        return asked, member, member.call_key(asked.parts)

    def _next_outcome(self, member: Member, asked: Asked, call: str) -> ErrorKind | None:
        """How this attempt ends. Runs without a pause in the event loop, so that attempts are counted one by one."""
        key = (asked.model, call, asked.replicate_key)
        attempt = self._attempts.pop(key, 0)
        kind = member.failure(call, asked.replicate_key, attempt)
        if kind is not None and attempt < MOST_RETRIES:
            self._attempts[key] = attempt + 1
        return kind

    def _answer(self, asked: Asked, member: Member, *, cut: bool) -> Response:
        for part, place in zip(asked.parts, asked.places, strict=True):
            try:
                member.perceive(part)
            except MediaError as error:
                raise undecodable(place, error) from error
        written = Written(
            call_id=f"chatcmpl-{self._new_id()}",
            created_s=int(self._clock().timestamp()),
            asked=asked,
            received=tuple(member.received(asked.parts)),
            reply=member.reply(asked.parts, asked.replicate_key),
        )
        if asked.stream:
            media_type = "text/event-stream"
            if cut:
                return _Cut(b"".join(written.pieces()), media_type=media_type)
            return StreamingResponse(_each(written.pieces()), media_type=media_type)
        return (_Cut if cut else Response)(written.whole(), media_type="application/json")

    async def _hang(self, request: Request) -> None:
        """Wait until the caller gives up or the server closes."""
        async with create_task_group() as waiting:

            async def gone() -> None:
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                waiting.cancel_scope.cancel()

            waiting.start_soon(gone)
            await self.closing.wait()
            waiting.cancel_scope.cancel()


class _Cut(Response):
    """Breaks off in the middle: uvicorn closes the connection on a response that was never completed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})


async def _each(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _failure(kind: ErrorKind, knobs: Knobs) -> ApiError:
    if kind == "429":
        headers = {"Retry-After": f"{knobs.retry_after_s:g}"}
        return ApiError(429, "simulated failure: too many requests", "rate_limit_exceeded", headers=headers)
    if kind == "timeout":
        return ApiError(504, "simulated failure: the model did not answer in time", "timeout")
    return ApiError(500, "simulated failure: the server had an error", "server_error")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return JSONResponse(error.document, error.status, error.headers)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = f"{request.method} {request.url.path}: {error.detail}"
    return await _refused(request, ApiError(error.status_code, said, "no_such_route"))


async def _unheard(request: Request, error: Exception) -> Response:
    """The caller went away while it was sending."""
    return Response(status_code=499)


async def _bug(request: Request, error: Exception) -> Response:
    _log.error("bug in the simulated server", exc_info=error)
    return await _refused(request, ApiError(500, f"bug: {type(error).__name__}", "bug"))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        CannotListen: The port is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_WAITING)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotListen(f"port {port} of {host} is taken; choose another one with --port") from error
        raise CannotListen(f"cannot listen on {host}, port {port}: {error.strerror}; choose another address") from error
    # Accepted connections inherit it. asyncio sets it only on sockets that name their protocol, which these do not, and
    # without it a reply in two packets waits 40 ms for the caller's delayed acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def base_url(listening: socket.socket) -> str:
    """What clients call the server by."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - shown, not listened on
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/v1"


class _Uvicorn(uvicorn.Server):
    """Lets hanging calls go before it waits for calls to end."""

    def __init__(self, server: SimulatedServer) -> None:
        # What fails here is either simulated or logged by `_bug`.
        super().__init__(
            uvicorn.Config(
                server.app(),
                lifespan="off",
                log_config=None,
                log_level=logging.CRITICAL,
                access_log=False,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._server = server

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._server.closing.set()
        await super().shutdown(sockets)


def serve(server: SimulatedServer, listening: socket.socket) -> None:
    """Serve until Ctrl-C or a termination signal."""
    try:
        _Uvicorn(server).run(sockets=[listening])
    except KeyboardInterrupt:
        return  # uvicorn has shut down in order and hands the signal on
    finally:
        listening.close()


@contextmanager
def serving(members: Mapping[str, Knobs], gallery: Gallery, **options: Any) -> Iterator[str]:
    """Serve in a thread on a free port of the loopback interface, and give the base URL.

    Args:
        members: What each model is like, by name.
        gallery: What they know.
        options: Of `SimulatedServer`.
    """
    listening = listen("127.0.0.1", 0)
    running = _Uvicorn(SimulatedServer(members, gallery, **options))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, name="simulated-server")
    thread.start()
    try:
        yield base_url(listening)
    finally:
        running.should_exit = True
        thread.join()
        listening.close()
