"""HTTP to a model's server, read with a bound: requests out, replies whole or as a stream, errors typed."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from core.ids import Clock, utc_now
from evaluation.models.omni.errors import (
    EndpointRefused,
    EndpointUnreachable,
    MalformedReply,
    ReplyTooLong,
)
from evaluation.models.omni.reply import Reply, excerpt, parse, told_error

MOST_REPLY_BYTES = 16 << 20
_ENCODED_AT_ONCE_CHARACTERS = 1 << 20
_MOST_ERROR_BYTES = 64 << 10
_NOT_FOUND = 404
# A large request takes its time to go out, a model to begin; Inspect AI's attempt_timeout bounds the whole.
_TIMEOUT = httpx.Timeout(600.0, connect=60.0, pool=None)
# Inspect AI bounds the calls at once; a pool of its own limit would only make calls wait in the dark.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


class Transport:
    """Calls of one server, closed by `aclose`.

    Each call in flight has a client, so a connection, of its own: httpx's pool looks at all its connections whenever
    one of them changes, which at 64 calls at once takes longer than everything else that a call needs.

    Attributes:
        was_reached: Whether anybody was there yet.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], most_bytes: int, clock: Clock = utc_now) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        # A compressed body could be a thousand times what has been read of it.
        self._headers = {"content-type": "application/json", "accept-encoding": "identity", **headers}
        self._most = most_bytes
        self._clock = clock
        self._ssl: ssl.SSLContext | None = None
        self._idle: list[httpx.AsyncClient] = []
        self.was_reached = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
        """Send a request and read its answer.

        Raises:
            EndpointUnreachable: No connection, a broken one, or no byte in time.
            EndpointRefused: An HTTP error, or an error in the stream.
            BrokenStream: It ended before the answer did.
            MalformedReply, ReplyTooLong: What came is no answer, or too much of it.
        """
        is_small = _characters(body) < _ENCODED_AT_ONCE_CHARACTERS
        # Media of hundreds of megabytes are written out beside the loop.
        data = _encoded(body) if is_small else await asyncio.to_thread(_encoded, body)
        reply = Reply(self._most)
        try:
            async with (
                self._opened() as client,
                client.stream("POST", self._url, content=data, headers={**self._headers, **headers}) as found,
            ):
                self.was_reached = True
                if not found.is_success:
                    raise await self._refused(found)
                # Some servers answer a request for a stream with a whole body.
                if body.get("stream") and "json" not in found.headers.get("content-type", ""):
                    await self._read_stream(found, reply)
                else:
                    reply.take(parse(await _whole(found, self._most), "the server's reply"), "message")
        except httpx.HTTPError as error:
            self.was_reached |= not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            # Whatever follows the end of an answer (its usage) may be lost.
            if reply.finish_reason is None:
                raise self._unreachable(error) from error
        reply.finished(bool(body.get("stream")))
        return reply

    async def aclose(self) -> None:
        """Close the connections."""
        clients, self._idle = self._idle, []
        if self._loop is asyncio.get_running_loop():
            for client in clients:
                await client.aclose()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[httpx.AsyncClient]:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that made them; those of a loop that is gone went with it.
            self._idle, self._loop = [], loop
        idle = self._idle
        client = idle.pop() if idle else self._new_client()
        try:
            yield client
        finally:
            idle.append(client)

    def _new_client(self) -> httpx.AsyncClient:
        if self._ssl is None:
            # Certificates take a tenth of a second to load, and plain HTTP has none.
            self._ssl = httpx.create_ssl_context(verify=self._url.startswith("https:"))
        # Redirects are never followed.
        return httpx.AsyncClient(timeout=_TIMEOUT, limits=_LIMITS, follow_redirects=False, verify=self._ssl)

    async def _refused(self, found: httpx.Response) -> EndpointRefused:
        data = await _whole(found, _MOST_ERROR_BYTES, cut=True)
        try:
            told = parse(data, "the error")
        except MalformedReply:
            told = {"error": excerpt(data) or found.reason_phrase}
        wait_s = retry_after_s(found.headers, self._clock())
        error = told_error(told.get("error", told), found.status_code, wait_s)
        if found.status_code == _NOT_FOUND and "/v1" not in self._url:
            return EndpointRefused(f"{error}; should 'base_url' end in /v1?", _NOT_FOUND, error.code)
        return error

    async def _read_stream(self, found: httpx.Response, reply: Reply) -> None:
        async for event in _events(found, self._most):
            reply.take(parse(event, "a piece of the stream"), "delta")

    def _unreachable(self, error: httpx.HTTPError) -> EndpointUnreachable:
        what = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, httpx.ConnectError):
            said = f"no connection to {self._url} ({what}); is the server running, and is 'base_url' right?"
        elif isinstance(error, httpx.TimeoutException):
            said = f"{self._url} did not answer in time ({type(error).__name__})"
        else:
            said = f"the connection to {self._url} broke ({what})"
        return EndpointUnreachable(said)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a server asks to be left alone for: `Retry-After` in seconds or as a date (RFC 9110, 10.2.3)."""
    said = headers.get("retry-after")
    if said is None:
        return None
    try:
        return max(0.0, float(said)) if float(said) < float("inf") else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(said) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _characters(value: Any) -> int:
    """Characters of all texts in a JSON value, its keys aside."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else 0


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, allow_nan=False).encode("ascii")


async def _whole(found: httpx.Response, most: int, cut: bool = False) -> bytes:
    data = bytearray()
    async for block in found.aiter_bytes():
        data += block
        if len(data) > most:
            if cut:
                break
            raise ReplyTooLong(f"the server's reply is longer than the {most} bytes that are taken; set max_tokens")
    return bytes(data)


async def _events(found: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """The data of server-sent events up to `[DONE]`; lines of one event are joined, and a blank line ends it."""
    data = bytearray()
    async for line in _lines(found, most):
        name, _, value = line.partition(b":")
        piece = value.strip() if name == b"data" else b""
        is_end = piece == b"[DONE]"
        if data and (is_end or not line):
            yield bytes(data)
            data.clear()
        if is_end:
            return
        data += piece + b"\n" if piece else b""
        if len(data) > most:
            raise ReplyTooLong(f"an event of the stream is longer than the {most} bytes that are taken; set max_tokens")
    if data:
        yield bytes(data)


async def _lines(found: httpx.Response, most: int) -> AsyncIterator[bytes]:
    """Lines as they come, none longer than `most` bytes."""
    rest = bytearray()
    async for block in found.aiter_bytes():
        rest += block
        if b"\n" in block:
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            for line in lines:
                yield line.strip()
        if len(rest) > most:
            raise ReplyTooLong(f"a line of the stream is longer than the {most} bytes that are taken; set max_tokens")
    if rest.strip():
        yield bytes(rest).strip()
