"""Fetch one URL into a file: from the public internet alone, within bounds of bytes and time, whatever a server sends.

Names are resolved, judged and connected to in one step. The address that was judged is the one that the connection
uses, so no second answer of a name server can lead elsewhere.
"""

import ipaddress
import socket
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from ssl import SSLContext
from typing import IO, Any

import httpcore
import httpx

from core.media.errors import TooLarge
from core.media.formats import EXTENSIONS
from curation.addresses import BadUrl, FetchError, ForbiddenAddress, parse_url, why_forbidden

Resolver = Callable[[str, int], Sequence[str]]
"""Host and port to the addresses that a connection may try; raises OSError for an unknown host."""

BLOCK_BYTES = 1 << 20
FRAMING_BYTES, FRAMING_SHARE = 1 << 20, 8
"""What may arrive beside the file's bytes: so many, and this part of the most that the file may have."""
MOST_SHOWN = 200
_REDIRECTS = {301, 302, 303, 307, 308}
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Unreachable(FetchError):
    """A host that has no address, or where no connection can be made."""

    reason = "unreachable"


class TooSlow(FetchError):
    """A server that did not deliver in time."""

    reason = "too_slow"


class TooManyRedirects(FetchError):
    """A server that sends on and on."""

    reason = "too_many_redirects"


class RefusedByServer(FetchError):
    """An answer that is not the file."""

    reason = "refused_by_server"


class BrokenTransfer(FetchError):
    """A transfer that broke off or makes no sense."""

    reason = "broken_transfer"


@dataclass(frozen=True)
class FetchLimits:
    """Bounds for one URL: bytes of the file, seconds in all, seconds without a byte, redirects."""

    max_bytes: int
    total_s: float = 1800.0
    silence_s: float = 30.0
    max_redirects: int = 5


def resolve(host: str, port: int) -> list[str]:
    """The addresses that the system knows for a host."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def fetch(
    url: str,
    folder: Path,
    limits: FetchLimits,
    *,
    allowed_hosts: Collection[str] = (),
    resolver: Resolver = resolve,
    elapsed_s: Callable[[], float] = time.monotonic,
) -> Path:
    """Fetch a URL into a new file in a folder; on any error no file is left.

    The file's name is new, with the extension of the URL where that is one of media. Proxies of the environment are
    not used, for they would resolve names themselves.

    Args:
        url: What to fetch.
        folder: Where the file is to lie.
        limits: Bounds.
        allowed_hosts: Hosts (names or addresses, as URLs have them) that may be private or loopback. That holds as
            long as all hosts so far were such: a public page cannot send on into a private network.
        resolver: How names become addresses.
        elapsed_s: A clock in seconds that never goes back.

    Raises:
        BadUrl: The URL, or one that it redirects to, is of no form that is fetched.
        ForbiddenAddress: A host on the way is not on the public internet.
        Unreachable, TooSlow, TooManyRedirects, RefusedByServer, BrokenTransfer: As they say.
        TooLarge: More bytes than the limits allow.
        OSError: The file cannot be written.
    """
    wanted = parse_url(url)
    deadline = _Deadline(url, limits, elapsed_s, elapsed_s() + limits.total_s)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=_suffix(wanted), delete=False) as file:
        path = Path(file.name)
        try:
            _follow(wanted, file, deadline, allowed_hosts, resolver)
        except BaseException:
            path.unlink()
            raise
    return path


@dataclass(frozen=True)
class _Deadline:
    """When a fetch must be done, and what it is bounded by until then."""

    url: str
    limits: FetchLimits
    elapsed_s: Callable[[], float]
    end_s: float

    def bounded(self, timeout_s: float | None) -> float:
        """A timeout that does not reach behind the end."""
        left_s = self.end_s - self.elapsed_s()
        if left_s <= 0:
            raise self.missed()
        return left_s if timeout_s is None else min(timeout_s, left_s)

    def missed(self) -> TooSlow:
        limits = self.limits
        return TooSlow(
            f"{self.url}: not there within {limits.total_s:g} s, or {limits.silence_s:g} s went by without a byte; "
            "try again later, or download the file and give its path"
        )


class _Stream(httpcore.NetworkStream):
    """A connection of which no read or write, of headers too, goes on behind the deadline or the bound of bytes."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._stream, self._deadline = stream, deadline
        # Answers that say to wait for the answer, and the frames of chunks, are counted by nobody else.
        most = deadline.limits.max_bytes
        self._left = most + most // FRAMING_SHARE + FRAMING_BYTES

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        received = self._stream.read(max_bytes, self._deadline.bounded(timeout))
        self._left -= len(received)
        if self._left < 0:
            raise _too_large(self._deadline.url, self._deadline.limits.max_bytes)
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.bounded(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._stream.start_tls(ssl_context, server_hostname, self._deadline.bounded(timeout))
        return _Stream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Network(httpcore.NetworkBackend):
    """Connects to judged addresses alone."""

    def __init__(self, deadline: _Deadline, resolver: Resolver, may_be_local: bool) -> None:
        self._deadline, self._resolver, self._may_be_local = deadline, resolver, may_be_local
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failed: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in self._judged(host, port):
            try:
                bounded_s = self._deadline.bounded(timeout)
                stream = self._backend.connect_tcp(address, port, bounded_s, local_address, socket_options)
                return _Stream(stream, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed or httpcore.ConnectError(f"{host} has no address")

    def _judged(self, host: str, port: int) -> list[str]:
        """All addresses of a host; one that is forbidden damns the host, for nobody publishes such by mistake."""
        url = self._deadline.url
        try:
            # No name server is asked for what is an address already.
            addresses = [ipaddress.ip_address(host)]
        except ValueError:
            try:
                addresses = [ipaddress.ip_address(one) for one in self._resolver(host, port)]
            except (OSError, UnicodeError) as error:
                raise Unreachable(f"{url}: the host {host!r} is not known; check its spelling") from error
        for address in addresses:
            if kind := why_forbidden(address, self._may_be_local):
                where = kind if host == str(address) else f"at {address}, {kind}"
                raise ForbiddenAddress(
                    f"{url}: {host} is {where}, and only the public internet is fetched from; "
                    "download the file and give its path, or see the setting 'fetch_allowed_hosts'"
                )
        return [str(address) for address in addresses]


def _follow(
    target: httpx.URL, file: IO[bytes], deadline: _Deadline, allowed_hosts: Collection[str], resolver: Resolver
) -> None:
    may_be_local = True
    for _ in range(deadline.limits.max_redirects + 1):
        may_be_local = may_be_local and target.host in allowed_hosts
        following = _visit(target, file, deadline, _Network(deadline, resolver, may_be_local))
        if following is None:
            return
        target = following
    raise TooManyRedirects(
        f"{deadline.url}: sends on more than {deadline.limits.max_redirects} times; give the file's own address"
    )


def _visit(target: httpx.URL, file: IO[bytes], deadline: _Deadline, network: _Network) -> httpx.URL | None:
    """Write what a server answers, or give where it sends on to."""
    url, silence_s = deadline.url, deadline.limits.silence_s
    headers = [
        (b"Host", target.netloc),
        (b"User-Agent", b"interplay (material ingest)"),
        (b"Accept", b"*/*"),
        (b"Accept-Encoding", b"identity"),
    ]
    place = httpcore.URL(scheme=target.raw_scheme, host=target.raw_host, port=target.port, target=target.raw_path)
    bounds = {"timeout": {"connect": silence_s, "read": silence_s, "write": silence_s, "pool": silence_s}}
    try:
        with (
            httpcore.ConnectionPool(ssl_context=_ssl_context(), network_backend=network) as pool,
            pool.stream("GET", place, headers=headers, extensions=bounds) as response,
        ):
            if response.status in _REDIRECTS:
                return _sent_on(url, target, response)
            if response.status != 200:
                raise RefusedByServer(f"{url}: the server answers {response.status} instead of the file; open it there")
            _save(response, file, deadline)
            return None
    except httpcore.TimeoutException as error:
        raise deadline.missed() from error
    except (httpcore.ConnectError, httpcore.UnsupportedProtocol) as error:
        raise Unreachable(f"{url}: no connection to {target.host} ({_shown(error)}); try again later") from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise BrokenTransfer(f"{url}: the transfer broke off ({_shown(error)}); try again later") from error


def _sent_on(url: str, target: httpx.URL, response: httpcore.Response) -> httpx.URL:
    location = _header(response, b"location")
    try:
        return parse_url(str(target.join(location)))
    except BadUrl as error:
        raise BadUrl(f"{url}: sends on to {error}") from error
    except (httpx.InvalidURL, ValueError) as error:
        raise BadUrl(f"{url}: sends on to {location[:MOST_SHOWN]!r}, which is no valid URL") from error


def _save(response: httpcore.Response, file: IO[bytes], deadline: _Deadline) -> None:
    url, most = deadline.url, deadline.limits.max_bytes
    said = _header(response, b"content-length")
    if said and int(said) > most:
        raise _too_large(url, most)
    blocks = _within(response.iter_stream(), url, most)
    # Some servers pack although they are asked not to; what unpacks to far more than was sent counts in full.
    packed = _header(response, b"content-encoding").strip().lower()
    if packed in ("gzip", "x-gzip", "deflate"):
        blocks = _within(_unpacked(blocks, url), url, most)
    elif packed not in ("", "identity"):
        raise BrokenTransfer(f"{url}: the server sends it packed as {packed[:MOST_SHOWN]!r}, unasked; download it")
    for block in blocks:
        file.write(block)


def _within(blocks: Iterable[bytes], url: str, most: int) -> Iterator[bytes]:
    count = 0
    for block in blocks:
        count += len(block)
        if count > most:
            raise _too_large(url, most)
        yield block


def _unpacked(blocks: Iterable[bytes], url: str) -> Iterator[bytes]:
    """What gzip or zlib data hold, never more than a block at once in memory."""
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    try:
        for block in blocks:
            left = block
            while left and not unpacker.eof:
                yield unpacker.decompress(left, BLOCK_BYTES)
                left = unpacker.unconsumed_tail or unpacker.unused_data
            if left:
                raise zlib.error("something follows behind their end")
        yield unpacker.flush()
        if not unpacker.eof:
            raise zlib.error("they break off")
    except zlib.error as error:
        raise BrokenTransfer(
            f"{url}: the server sends packed data that do not unpack ({error}); download it"
        ) from error


def _header(response: httpcore.Response, name: bytes) -> str:
    return next((value for key, value in response.headers if key.lower() == name), b"").decode("latin-1")


def _too_large(url: str, most: int) -> TooLarge:
    return TooLarge(f"{url}: more than the {most} bytes that are taken; see the setting 'max_file_bytes'")


def _shown(error: Exception) -> str:
    return str(error)[:MOST_SHOWN] or type(error).__name__


def _suffix(url: httpx.URL) -> str:
    suffix = PurePosixPath(url.path).suffix.lower()
    return suffix if suffix in EXTENSIONS else ""


@cache
def _ssl_context() -> SSLContext:
    # SSL_CERT_FILE counts, as everywhere: an organisation may have certificates of its own.
    return httpx.create_ssl_context()
