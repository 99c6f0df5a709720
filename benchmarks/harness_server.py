"""An OpenAI-compatible server that answers at once, for `harness.py`: it reads a request to its end and says one thing.

Run by `harness.py` as a process of its own: it prints its port, then answers each line `count` on its standard input
with a JSON line: requests, bytes, connections, and the first and last request's time since the last such line (s, of
the clock that all processes share). Ends when its input does.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass

ANSWER = "It is heard twice and seen once.\nAnswer: B"
_BODY = json.dumps(
    {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "instant",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 60, "completion_tokens": 12, "total_tokens": 72},
    }
).encode()
_REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass
class Counts:
    """What came since the last look."""

    requests: int = 0
    bytes: int = 0
    connections: int = 0
    first_s: float | None = None
    last_s: float | None = None


class Server:
    """Holds the counts of all connections."""

    def __init__(self) -> None:
        self.counts = Counts()

    def taken(self) -> Counts:
        """The counts, which begin anew."""
        counts, self.counts = self.counts, Counts()
        return counts


class Connection(asyncio.Protocol):
    """One client, kept alive, one request after the other."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._head = bytearray()
        self._missing = 0  # bytes of the body that are still to come; the body itself is dropped

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.counts.connections += 1

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        counts = self._server.counts
        counts.bytes += len(data)
        if counts.first_s is None:
            counts.first_s = time.monotonic()
        if self._missing > len(data):
            self._missing -= len(data)
            return
        if self._missing:
            data, self._missing = data[self._missing :], 0
            self._answer()
        self._head += data
        while (end := self._head.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._head[:end]).lower()
            body = len(self._head) - end - 4
            length = _length(head)
            if b"expect: 100-continue" in head:
                self._transport.write(_CONTINUE)
            if body < length:
                self._head.clear()
                self._missing = length - body
                return
            del self._head[: end + 4 + length]
            self._answer()

    def _answer(self) -> None:
        self._server.counts.requests += 1
        self._server.counts.last_s = time.monotonic()
        self._transport.write(_REPLY)


def _length(head: bytes) -> int:
    _, found, rest = head.partition(b"content-length:")
    if found:
        return int(rest.split(b"\r\n", 1)[0])
    if b"transfer-encoding:" in head:
        raise ValueError("a chunked request: this server reads bodies of a stated length alone")
    return 0


async def _serve() -> None:
    server = Server()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=512)
    print(listening.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(asdict(server.taken())), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve())
