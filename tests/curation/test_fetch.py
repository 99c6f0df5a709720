"""Fetching URLs: through the function, and through `interplay material ingest`, from servers on loopback."""

import gzip
import http.server
import ipaddress
import itertools
import json
import socket
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

from core.media.errors import TooLarge
from curation.addresses import BadUrl, FetchError, ForbiddenAddress, parse_url, why_forbidden
from curation.downloads import downloads_folder, in_turn
from curation.entries import Claims, Link, MissingPath
from curation.fetch import (
    BrokenTransfer,
    FetchLimits,
    RefusedByServer,
    TooManyRedirects,
    TooSlow,
    Unreachable,
    fetch,
)
from curation.ingest import NothingToIngest
from curation.manifest import BadManifest
from warehouse.tables import IngestFailure, Material, MaterialSource, MaterialState
from warehouse.workspace import open_workspace

LIMITS = FetchLimits(max_bytes=100_000, total_s=60, silence_s=60)
LOOPBACK = ("127.0.0.1",)
PUBLIC = "93.184.216.34"

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Site:
    """A server on loopback that answers as the test says; `asked` are the requests that it got."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, dict(self.headers)))
                try:
                    site.answers[self.path](self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def give(self, path: str, body: bytes, status: int = 200, **headers: object) -> str:
        """Answer with a body; gives the URL."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in ({"Content-Length": len(body)} | headers).items():
                handler.send_header(name.replace("_", "-"), str(value))
            handler.end_headers()
            handler.wfile.write(body)

        self.answers[path] = answer
        return f"{self.url}{path}"

    def send(self, path: str, raw: Iterator[bytes]) -> str:
        """Answer with raw bytes, headers included, until the other side has had enough."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            for block in raw:
                handler.wfile.write(block)
            handler.close_connection = True

        self.answers[path] = answer
        return f"{self.url}{path}"

    def send_on(self, path: str, to: str, status: int = 302) -> str:
        return self.give(path, b"", status, Location=to)


@pytest.fixture(autouse=True)
def _no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with the code, no test connects to anything but loopback."""
    connect = socket.create_connection

    def create_connection(address: tuple[str, int], *arguments: object, **more: object) -> socket.socket:
        assert ipaddress.ip_address(address[0]).is_loopback, address
        return connect(address, *arguments, **more)

    monkeypatch.setattr(socket, "create_connection", create_connection)


@contextmanager
def running() -> Iterator[Site]:
    opened = Site()
    thread = threading.Thread(target=opened.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield opened
    finally:
        opened.server.shutdown()
        thread.join()
        opened.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with running() as opened:
        yield opened


@pytest.fixture
def get(tmp_path: Path) -> Iterator[Callable[..., bytes]]:
    """Fetch from loopback into a folder, in which nothing else may be left."""
    folder = tmp_path / "fetched"
    folder.mkdir()
    taken: list[Path] = []

    def fetched(url: str, limits: FetchLimits = LIMITS, **more: object) -> bytes:
        taken.append(fetch(url, folder, limits, **({"allowed_hosts": LOOPBACK} | more)))
        return taken[-1].read_bytes()

    yield fetched
    assert sorted(folder.iterdir()) == sorted(taken)


def no_names(host: str, port: int) -> list[str]:
    raise AssertionError(f"{host} was looked up")


# --- what is fetched


def test_the_bytes_arrive_as_they_are_and_the_server_learns_the_name_alone(site, get):
    body = bytes(range(256)) * 300
    assert get(site.give("/a%20b.jpg?x=1", body) + "#part") == body
    ((path, headers),) = site.asked
    assert path == "/a%20b.jpg?x=1"
    assert headers == {
        "Host": f"127.0.0.1:{site.port}",
        "User-Agent": "interplay (material ingest)",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
    }


@pytest.mark.parametrize(
    ("path", "suffix"), [("/a.JPG", ".jpg"), ("/a.mp4?x=.exe", ".mp4"), ("/a.php", ""), ("/a", ""), ("/a.jpg/b.sh", "")]
)
def test_the_file_has_the_extension_of_the_url_where_it_is_one_of_media(site, tmp_path, path, suffix):
    site.give(path, b"x")
    assert fetch(f"{site.url}{path}", tmp_path, LIMITS, allowed_hosts=LOOPBACK).suffix == suffix


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_five_times(site, get, status):
    site.give("/5", b"there")
    for place in range(5):
        site.send_on(f"/{place}", str(place + 1) if place % 2 else f"{site.url}/{place + 1}", status)
    assert get(f"{site.url}/0") == b"there"


def test_the_name_is_sent_and_the_judged_address_is_connected_to(site, get):
    site.give("/a", b"x")
    asked = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    hosts = ("media.example",)
    assert get(f"http://media.example:{site.port}/a", resolver=resolver, allowed_hosts=hosts) == b"x"
    assert asked == [("media.example", site.port)]
    assert site.asked[0][1]["Host"] == f"media.example:{site.port}"


def test_further_addresses_are_tried_where_one_does_not_answer(site, get):
    site.give("/a", b"x")
    url = f"http://media.example:{site.port}/a"
    # Nothing listens on the IPv6 loopback.
    assert get(url, resolver=lambda *_: ["::1", "127.0.0.1"], allowed_hosts=("media.example",)) == b"x"


def test_proxies_of_the_environment_are_not_used(site, get, monkeypatch):
    site.give("/a", b"x")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    assert get(f"{site.url}/a") == b"x"


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate"])
def test_what_is_packed_unasked_is_unpacked(site, get, encoding):
    body = bytes(range(256)) * 100
    packed = zlib.compress(body) if encoding == "deflate" else gzip.compress(body)
    assert get(site.give("/a", packed, Content_Encoding=encoding)) == body


@given(body=st.binary(max_size=3000), cuts=st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_unpacking_does_not_depend_on_how_the_bytes_arrive(body, cuts):
    from curation.fetch import _unpacked

    packed = gzip.compress(body)
    sizes = itertools.cycle(cuts)
    blocks, at = [], 0
    while at < len(packed):
        size = next(sizes)
        blocks.append(packed[at : at + size])
        at += size
    assert b"".join(_unpacked(blocks, "u")) == body


# --- what is refused by its form


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://example.org/a.jpg", "only http and https"),
        ("gopher://127.0.0.1:6379/_INFO", "only http and https"),
        ("data:image/png;base64,AAAA", "only http and https"),
        ("//example.org/a", "only http and https"),
        ("http:///a.jpg", "host"),
        ("http://user:secret@example.org/", "passwords"),
        ("http://user@example.org/", "passwords"),
        ("http://example.org\\@127.0.0.1/", "passwords"),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:25/", "port 25"),
        ("http://example.org:0/", "port 0"),
        ("http://example.org:99999/", "port"),
        ("http://2130706433/", "host"),
        ("http://0x7f000001/", "host"),
        ("http://0x7f.1/", "host"),
        ("http://127.1/", "host"),
        ("http://1.2.3/", "host"),
        ("http://0177.0.0.1/", "no valid URL"),
        ("http://example.1/", "host"),
        ("http://127.0.0.1%00.example.org/", "host"),
        ("http://exa mple.org/", "host"),
        ("http://xn--/", "no valid URL"),
        ("http://xn--0/", "no valid URL"),
        ("http://example.org/\r\nX: y", "no valid URL"),
        ("http://example.org/\x1b[2J", "no valid URL"),
        ("http://example.org/\ud800", "no valid URL"),
        ("http://[::1", "no valid URL"),
        (f"http://{'a' * 64}.org/", "host"),
        (f"http://{'a.' * 130}org/", "host"),
        (f"http://example.org/{'a' * 2000}", "longer than 2000"),
        (f"http://example.org/{'猫' * 300}", "longer than 2000"),
        (f"http://example.org/{'a' * 100_000}", "no valid URL"),
    ],
)
def test_urls_of_other_forms_are_refused_before_anything_is_looked_up(tmp_path, url, said):
    with pytest.raises(BadUrl, match=said) as caught:
        fetch(url, tmp_path, LIMITS, resolver=no_names)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 2300
    assert list(tmp_path.iterdir()) == []


def test_a_url_has_one_form():
    assert str(parse_url("HTTP://Example.org:80/图.jpg?q=1#there")) == "http://example.org/%E5%9B%BE.jpg?q=1"
    assert str(parse_url(str(parse_url("https://例え.jp/a b")))) == "https://xn--r8jz45g.jp/a%20b"


# --- what is refused by its address

FORBIDDEN = [
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("100.64.0.1", "100.127.255.255", "169.254.169.254", "169.254.0.1", "0.0.0.0", "0.1.2.3"),
    *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.0.0.192", "192.0.2.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16", "100.100.100.200"),
    *("::1", "::", "fe80::1", "fe80::1%1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "fec0::1", "ff02::1", "ff0e::1"),
    *("2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "100::1", "5f00::1", "4000::1"),
    # IPv4 addresses in IPv6 ones: mapped, compatible, translated, NAT64, local NAT64, 6to4, Teredo, ISATAP.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1"),
    *(
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:a00:1::",
    ),
    *(
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:0:7f00:1::",
        "2620:fe::5efe:10.0.0.1",
        "2620:fe::200:5efe:10.0.0.1",
    ),
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_a_name_that_leads_anywhere_but_to_the_public_internet_is_refused(tmp_path, address):
    with pytest.raises(ForbiddenAddress, match="and only the public internet is fetched from") as caught:
        fetch("http://example.org/a.jpg", tmp_path, LIMITS, resolver=lambda *_: [PUBLIC, address])
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", [one for one in FORBIDDEN if "%" not in one])
def test_such_an_address_in_the_url_itself_is_refused(tmp_path, address):
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(ForbiddenAddress):
        fetch(f"http://{host}/a.jpg", tmp_path, LIMITS, resolver=no_names)


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_addresses_of_the_public_internet_are_taken(address):
    assert why_forbidden(ipaddress.ip_address(address)) is None


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_the_same_to_us_however_it_is_wrapped(address):
    for wrapped in (f"::ffff:{address}", f"64:ff9b::{int(address) >> 16:x}:{int(address) & 0xFFFF:x}"):
        assert why_forbidden(ipaddress.ip_address(wrapped)) == why_forbidden(address)


@given(st.ip_addresses())
def test_nothing_is_taken_that_the_registries_call_special(address):
    if why_forbidden(address) is None:
        carried = getattr(address, "ipv4_mapped", None) or address
        assert carried.is_global or address in ipaddress.ip_network("64:ff9b::/96")
        assert not (carried.is_multicast or carried.is_loopback or carried.is_link_local)


def test_allowed_hosts_may_be_private_and_nothing_worse(tmp_path):
    def refused(*addresses: str) -> bool:
        try:
            fetch("http://nas.lab/a", tmp_path, LIMITS, allowed_hosts=("nas.lab",), resolver=lambda *_: addresses)
        except ForbiddenAddress:
            return True
        except Unreachable:  # no address at all
            return False
        raise AssertionError

    assert not refused()
    for address in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "224.0.0.1", "fe80::1"):
        assert refused(address)
    for address in ("10.0.0.1", "127.0.0.1", "100.64.0.1", "::1", "fc00::1"):
        assert why_forbidden(ipaddress.ip_address(address), may_be_local=True) is None


def test_the_name_is_looked_up_once_so_a_second_answer_cannot_lead_elsewhere(tmp_path, site):
    answers = [[PUBLIC], ["127.0.0.1"]]
    connected = []

    class Refused(OSError):
        pass

    def create_connection(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        connected.append(address)
        raise Refused

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", create_connection)
        with pytest.raises(Unreachable):
            fetch(f"http://rebind.example:{site.port}/a", tmp_path, LIMITS, resolver=lambda *_: answers.pop(0))
    assert connected == [(PUBLIC, site.port)]
    assert answers == [["127.0.0.1"]]
    assert site.asked == []


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("http://10.0.0.1/", ForbiddenAddress),
        ("http://169.254.169.254/latest/meta-data/", ForbiddenAddress),
        ("http://[::ffff:10.0.0.1]/", ForbiddenAddress),
        ("//192.168.0.1/a.jpg", ForbiddenAddress),
        ("http://2130706433/", BadUrl),
        ("http://0x7f.1/", BadUrl),
        ("file:///etc/passwd", BadUrl),
        ("ftp://example.org/", BadUrl),
        ("gopher://127.0.0.1:6379/_INFO", BadUrl),
        ("http://name:word@example.org/", BadUrl),
        ("http://example.org:22/", BadUrl),
        ("http://[", BadUrl),
        ("http://h/\x01", BadUrl),
    ],
)
def test_redirects_are_judged_like_the_first_url(site, get, target, error):
    with pytest.raises(error) as caught:
        get(site.send_on("/a.jpg", target), resolver=no_names)
    assert str(caught.value).startswith(f"{site.url}/a.jpg: ")
    assert str(caught.value).isprintable()


def test_a_public_page_cannot_send_on_into_a_network_that_is_allowed(site, get):
    """Only what was asked for by the user may be private, not what strangers name."""
    site.give("/inside.jpg", b"x")
    site.send_on("/stranger.jpg", f"{site.url}/inside.jpg")
    with running() as stranger:
        stranger.send_on("/a.jpg", f"{site.url}/inside.jpg")
        url = f"http://stranger.example:{stranger.port}/a.jpg"
        # The stranger is where its name leads; the site, on loopback as well, is allowed by its own.
        with pytest.raises(ForbiddenAddress):
            get(url, resolver=lambda *_: ["127.0.0.1"])
    assert get(f"{site.url}/stranger.jpg") == b"x"


@pytest.mark.parametrize(
    "answer", [lambda *_: [], lambda *_: (_ for _ in ()).throw(socket.gaierror(-2, "unknown"))], ids=["none", "unknown"]
)
def test_a_host_without_an_address_is_unreachable(tmp_path, answer):
    with pytest.raises(Unreachable, match=r"nowhere\.example"):
        fetch("https://nowhere.example/a.jpg", tmp_path, LIMITS, resolver=answer)


# --- what servers can do


@pytest.mark.parametrize("status", [204, 206, 304, 401, 403, 404, 410, 429, 500, 503])
def test_an_answer_that_is_not_the_file_is_refused(site, get, status):
    with pytest.raises(RefusedByServer, match=f"answers {status}"):
        get(site.give("/a.jpg", b"", status))


def test_redirects_in_a_circle_end(site, get):
    with pytest.raises(TooManyRedirects, match="more than 5 times"):
        get(site.send_on("/a", "/a"))
    assert len(site.asked) == 6


def test_a_redirect_to_nowhere_is_refused(site, get):
    with pytest.raises(FetchError):
        get(site.give("/a", b"", 302))


def test_a_length_that_is_too_large_is_refused_before_the_body_comes(site, get):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n"
    # The body would never come.
    stop = threading.Event()
    url = site.send("/a", itertools.chain([head], iter(lambda: stop.wait(60) and b"", b"")))
    with pytest.raises(TooLarge, match="100000 bytes"):
        get(url)
    stop.set()


def test_a_body_without_an_end_is_cut_at_the_limit(site, get):
    blocks = itertools.chain([b"HTTP/1.1 200 OK\r\n\r\n"], itertools.repeat(b"x" * 5000))
    with pytest.raises(TooLarge, match="100000 bytes"):
        get(site.send("/a", blocks))
    chunked = itertools.chain(
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"],
        itertools.repeat(b"1388\r\n" + b"x" * 5000 + b"\r\n"),
    )
    with pytest.raises(TooLarge, match="100000 bytes"):
        get(site.send("/b", chunked))


@pytest.mark.parametrize("head", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"])
def test_answers_before_the_answer_without_an_end_are_cut(site, get, head):
    sent = itertools.count()

    def endless() -> Iterator[bytes]:
        while True:
            next(sent)
            yield head * 1000

    with pytest.raises(TooLarge, match="more than the 100000 bytes"):
        get(site.send("/a.jpg", endless()))
    assert next(sent) * 1000 * len(head) < 30_000_000


def test_the_limit_itself_is_still_taken(site, get):
    assert len(get(site.give("/a", b"x" * 100_000))) == 100_000
    with pytest.raises(TooLarge):
        get(site.give("/b", b"x" * 100_001))


def test_a_gzip_bomb_counts_as_what_it_unpacks_to(site, get):
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge):
        get(site.give("/a", bomb, Content_Encoding="gzip"))


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"x" * 1000)[:-4], "gzip"),
        (gzip.compress(b"x") + b"PK\x03\x04", "gzip"),
        (gzip.compress(b"x") + gzip.compress(b"y"), "gzip"),
        (b"no gzip", "gzip"),
        (b"", "gzip"),
        (b"x", "br"),
        (b"x", "gzip, gzip"),
        (b"x", "\x1b[2J"),
    ],
)
def test_packed_bodies_that_do_not_unpack_are_broken(site, get, body, encoding):
    with pytest.raises(BrokenTransfer) as caught:
        get(site.give("/a", body, Content_Encoding=encoding))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 30_000 + b"\r\n",
    ],
    ids=["short", "chunks", "two lengths", "negative", "ssh", "nothing", "headers"],
)
def test_a_transfer_that_breaks_off_or_is_no_http_leaves_nothing(site, get, raw):
    with pytest.raises(BrokenTransfer):
        get(site.send("/a", iter([raw])))


class Seconds:
    """A clock that the server of the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def dripping(self, head: bytes, drop: bytes, every_s: float) -> Iterator[bytes]:
        yield head
        while True:
            self.now += every_s
            yield drop


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["body", "headers", "continue"],
)
def test_a_server_that_drips_meets_the_limit_of_all_time(site, get, head, drop):
    clock = Seconds()
    with pytest.raises(TooSlow, match="not there within 60 s"):
        get(site.send("/a", clock.dripping(head, drop, 0.5)), elapsed_s=clock)


def test_a_server_that_says_nothing_meets_the_limit_of_silence(site, get):
    stop = threading.Event()
    url = site.send("/a", iter(lambda: stop.wait(60) and b"", b""))
    with pytest.raises(TooSlow, match="without a byte"):
        get(url, FetchLimits(max_bytes=10, total_s=60, silence_s=0.05))
    stop.set()


def test_a_port_where_nobody_listens_is_unreachable(get):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match="no connection"):
            get(f"http://127.0.0.1:{taken.getsockname()[1]}/a.jpg")


def test_a_server_without_tls_is_unreachable_over_https(site, get):
    site.give("/a", b"x")
    with pytest.raises(Unreachable, match="no connection"):
        get(f"https://127.0.0.1:{site.port}/a")


def test_a_folder_that_is_not_there_is_the_disks_error(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        fetch("http://example.org/", tmp_path / "nowhere", LIMITS, resolver=no_names)


# --- ingest


@pytest.fixture
def open_project(project: Path) -> Path:
    """A project that may fetch from loopback."""
    (project / "interplay.toml").write_text('fetch_allowed_hosts = ["127.0.0.1"]\nmax_file_bytes = 2_000_000\n')
    return project


def sources_in(project: Path) -> dict[str, MaterialSource]:
    with open_workspace(project) as workspace, workspace.database.session() as session:
        return {source.origin: source for source in session.exec(select(MaterialSource))}


def paths_asked(site: Site) -> Counter[str]:
    return Counter(path for path, _ in site.asked)


def test_files_at_urls_become_materials_and_the_url_and_the_time_are_kept(site, open_project, media, call):
    photo = site.give("/photo.jpg?size=l", media.gps_photo(1))
    film = site.give("/film", media.film(media.cartoon(1), sound=media.voice(8)))
    report = call("ingest", photo, f"{film}#t=3", "--licence", "CC0-1.0", project=open_project)
    assert report["counts"] | {"duplicate_links": 0} == {
        "new": 2, "known": 0, "dropped": 0, "failed": 0, "to_fetch": 0, "sounds": 1, "duplicate_links": 0,
    }  # fmt: skip
    sources = sources_in(open_project)
    assert set(sources) == {photo, film, f"{film}#sound"}
    assert {(one.source, one.licence) for one in sources.values()} == {("127.0.0.1", "CC0-1.0")}
    assert all(one.created_at is not None for one in sources.values())
    (listed,) = call("list", "--modality", "image", project=open_project)
    assert listed["original_kept"]
    with open_workspace(open_project) as workspace:
        assert workspace.originals.get(listed["sha256"]) == media.gps_photo(1)
    assert list((open_project / "cache" / "downloads").iterdir()) == []


def test_a_url_that_is_known_is_fetched_again_only_when_that_is_said(site, open_project, media, call):
    url = site.give("/a.jpg", media.coded(media.photo(1)))
    call("ingest", url, "--source", "The lab", project=open_project)
    again = call("ingest", url, "--author", "Ann", project=open_project)
    assert (again["counts"]["known"], again["counts"]["new"]) == (1, 0)
    assert paths_asked(site) == {"/a.jpg": 1}
    (source,) = sources_in(open_project).values()
    assert (source.source, source.author) == ("The lab", "Ann")
    assert call("ingest", url, "--again", project=open_project)["counts"]["known"] == 1
    site.give("/a.jpg", media.coded(media.photo(2)))
    assert call("ingest", url, "--again", project=open_project)["counts"]["new"] == 1
    assert paths_asked(site) == {"/a.jpg": 3}
    with open_workspace(open_project) as workspace, workspace.database.session() as session:
        kept = session.exec(select(MaterialSource).order_by(MaterialSource.id)).all()
    assert [(one.origin, one.source) for one in kept] == [(url, "The lab"), (url, "127.0.0.1")]


def test_a_known_url_whose_bytes_are_lost_is_fetched(site, open_project, media, call):
    url = site.give("/a.jpg", media.coded(media.photo(1)))
    call("ingest", url, project=open_project)
    for path in (open_project / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()
    assert call("ingest", url, project=open_project)["counts"]["known"] == 1
    assert paths_asked(site) == {"/a.jpg": 2}
    assert [path for path in (open_project / "blobs").rglob("*") if path.is_file()]


def test_a_withdrawn_url_is_not_even_asked_for(site, open_project, media, call):
    url = site.give("/a.jpg", media.coded(media.photo(1)))
    call("ingest", url, project=open_project)
    with open_workspace(open_project) as workspace, workspace.database.session() as session:
        session.exec(select(Material)).one().state = MaterialState.WITHDRAWN
    for arguments in ((url,), (url, "--again")):
        report = call("ingest", *arguments, project=open_project, exit_code=2)
        assert [one["reason"] for one in report["failures"]] == ["withdrawn"]
    assert paths_asked(site) == {"/a.jpg": 2}


def test_a_dry_run_fetches_nothing_and_says_what_it_would(site, open_project, tmp_path, media, call):
    known = site.give("/a.jpg", media.coded(media.photo(1)))
    call("ingest", known, project=open_project)
    (tmp_path / "b.jpg").write_bytes(media.coded(media.photo(2)))
    planned = call("ingest", known, f"{site.url}/c.jpg", tmp_path / "b.jpg", "--dry-run", project=open_project)
    assert planned["to_fetch"] == [f"{site.url}/c.jpg"]
    assert (planned["counts"]["known"], planned["counts"]["new"], planned["counts"]["to_fetch"]) == (1, 1, 1)
    assert call("ingest", f"{site.url}/c.jpg", "--dry-run", project=open_project)["taken"] == []
    assert paths_asked(site) == {"/a.jpg": 1}


def test_what_cannot_be_fetched_is_a_failure_and_the_others_go_on(site, open_project, media, call):
    good = site.give("/good.jpg", media.coded(media.photo(1)))
    bad = {
        site.give("/gone.jpg", b"", 404): "refused_by_server",
        site.give("/page.jpg", b"<!DOCTYPE html><html><body>Sign in</body></html>"): "disguised",
        site.give("/list.mp4", b"#EXTM3U\nhttp://127.0.0.1/a.ts\n"): "referencing",
        site.give("/empty.png", b""): "empty_file",
        site.give("/huge.mp4", b"x" * 2_000_001): "too_large",
        site.give("/cut.jpg", media.coded(media.photo(2))[:2000]): "truncated",
        site.send_on("/inside", "http://10.0.0.1/"): "forbidden_address",
        site.send_on("/file", "file:///etc/passwd"): "bad_url",
        site.send_on("/circle", "/circle"): "too_many_redirects",
        site.send("/short.jpg", iter([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"])): "broken_transfer",
    }
    report = call("ingest", good, *bad, project=open_project)
    assert [one["origin"] for one in report["taken"]] == [good]
    assert {one["origin"]: one["reason"] for one in report["failures"]} == bad
    assert all(one["message"].isprintable() for one in report["failures"])
    assert not any(str(open_project) in one["message"] for one in report["failures"])
    with open_workspace(open_project) as workspace, workspace.database.session() as session:
        assert {row.origin: row.reason for row in session.exec(select(IngestFailure))} == bad
    site.give("/gone.jpg", media.coded(media.photo(3)))
    call("ingest", f"{site.url}/gone.jpg", project=open_project)
    with open_workspace(open_project) as workspace, workspace.database.session() as session:
        assert f"{site.url}/gone.jpg" not in session.exec(select(IngestFailure.origin)).all()


def test_without_the_setting_nothing_on_loopback_is_fetched(site, project, call):
    url = site.give("/a.jpg", b"x")
    report = call("ingest", url, project=project, exit_code=2)
    ((failure),) = report["failures"]
    assert (failure["reason"], "fetch_allowed_hosts" in failure["message"]) == ("forbidden_address", True)
    assert site.asked == []


def test_a_manifest_names_files_and_urls(site, open_project, tmp_path, media, call):
    (tmp_path / "a.jpg").write_bytes(media.coded(media.photo(1)))
    url = site.give("/b.jpg", media.coded(media.photo(2)))
    other = site.give("/c.jpg", media.coded(media.photo(3)))
    manifest = tmp_path / "list.csv"
    manifest.write_text(f"path,url,source,author,tags\na.jpg,,,Ann,\n,{url},Archive,Bo,rain;city\n,{other},,,\n")
    # What a manifest says of a URL counts more than what the command does.
    report = call("ingest", url, "--manifest", manifest, "--author", "nobody", project=open_project)
    taken = {one["origin"]: one["sha256"] for one in report["taken"]}
    assert set(taken) == {str(tmp_path / "a.jpg"), url, other}
    found = {origin: (one.source, one.author) for origin, one in sources_in(open_project).items()}
    assert found == {
        str(tmp_path / "a.jpg"): (None, "Ann"),
        url: ("Archive", "Bo"),
        other: ("127.0.0.1", "nobody"),
    }
    shown = call("show", taken[url], project=open_project)
    assert sorted(shown["tags"]) == ["city", "rain"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"url": "http://example.org/a", "path": "a.jpg"}, "line 1, column 'url': stands beside a path"),
        ({"url": " ", "path": ""}, "line 1, column 'path': is empty"),
    ],
)
def test_a_manifest_line_that_names_two_or_none_is_a_mistake(tmp_path, project, call, row, words):
    manifest = tmp_path / "list.jsonl"
    manifest.write_text(json.dumps(row))
    with pytest.raises(BadManifest) as caught:
        call("ingest", "--manifest", manifest, project=project)
    assert words in str(caught.value)


def test_a_url_twice_in_a_manifest_is_a_mistake(tmp_path, project, call):
    manifest = tmp_path / "list.csv"
    manifest.write_text("url\nhttp://example.org/a\nHTTP://EXAMPLE.org:80/a#x\n")
    with pytest.raises(BadManifest, match=r"line 3, column 'url': .* stands here a second time"):
        call("ingest", "--manifest", manifest, project=project)


BAD_URLS = ["ftp://example.org/a.jpg", "file:///etc/passwd", "https:/example.org/a", "http://u@h/", "http://h:99999/a"]


@pytest.mark.parametrize("word", BAD_URLS)
def test_a_url_of_a_wrong_form_fails_alone(tmp_path, project, media, call, word):
    (tmp_path / "good.png").write_bytes(media.coded(media.photo(1), "PNG"))
    report = call("ingest", word, tmp_path / "good.png", project=project)
    assert [one["reason"] for one in report["failures"]] == ["bad_url"]
    assert report["counts"]["new"] == 1
    assert call("ingest", word, project=project, exit_code=2)["counts"]["failed"] == 1


def test_a_url_of_a_wrong_form_in_a_manifest_fails_alone(tmp_path, project, media, call):
    (tmp_path / "good.png").write_bytes(media.coded(media.photo(1), "PNG"))
    lines = [{"path": "good.png"}, *({"url": word} for word in [*BAD_URLS, "a.jpg"])]
    (tmp_path / "list.jsonl").write_text("\n".join(map(json.dumps, lines)))
    report = call("ingest", "--manifest", tmp_path / "list.jsonl", project=project)
    assert {one["reason"] for one in report["failures"]} == {"bad_url"}
    assert (report["counts"]["new"], report["counts"]["failed"]) == (1, len(BAD_URLS) + 1)
    assert "list.jsonl, line 2: " in report["failures"][0]["message"]


def test_a_host_without_a_scheme_is_told_how_to_write_it(project, call):
    for word in ("www.example.org/a.jpg", "upload.example.org/pictures/a.jpg"):
        with pytest.raises(MissingPath, match=f"for a URL write https://{word}"):
            call("ingest", word, project=project)
    with pytest.raises(MissingPath) as caught:
        call("ingest", "gone/a.jpg", project=project)
    assert "https://" not in str(caught.value)


def test_of_one_host_two_files_are_fetched_at_a_time(site, open_project, media, call):
    """Each answer waits until a second request is there, so one at a time would never end; a third must not come."""
    at_work, most = 0, 0
    lock, pair = threading.Lock(), threading.Barrier(2)

    def answer(body: bytes) -> Answer:
        def give(handler: http.server.BaseHTTPRequestHandler) -> None:
            nonlocal at_work, most
            with lock:
                at_work += 1
                most = max(most, at_work)
            pair.wait(60)
            with lock:
                at_work -= 1
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        return give

    for seed in range(6):
        site.answers[f"/{seed}.jpg"] = answer(media.coded(media.photo(seed)))
    report = call("ingest", *(f"{site.url}/{seed}.jpg" for seed in range(6)), project=open_project)
    assert (report["counts"]["new"], most) == (6, 2)


def test_a_slow_host_takes_no_place_from_others(site, open_project, media, call):
    """The slow host answers once the last file of the other host was asked for, though its own were named first."""
    body = media.coded(media.photo(1))
    all_asked, waited, left = threading.Event(), [], itertools.count(1)
    many = 24

    def give(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def slow(handler: http.server.BaseHTTPRequestHandler) -> None:
        waited.append(all_asked.wait(60))
        give(handler)

    def quick(handler: http.server.BaseHTTPRequestHandler) -> None:
        if next(left) == many:
            all_asked.set()
        give(handler)

    (open_project / "interplay.toml").write_text('fetch_allowed_hosts = ["127.0.0.1", "localhost"]\n')
    for place in range(many):
        site.answers[f"/slow-{place}.jpg"] = slow
        site.answers[f"/quick-{place}.jpg"] = quick
    named = [f"{site.url}/slow-{place}.jpg" for place in range(many)]
    named += [f"http://localhost:{site.port}/quick-{place}.jpg" for place in range(many)]
    report = call("ingest", *named, project=open_project)
    assert waited == [True] * many
    assert (report["counts"]["new"], report["counts"]["known"]) == (1, 2 * many - 1)


def test_files_of_each_host_are_among_the_first_that_lie_on_the_disk(site, open_project, media, call, monkeypatch):
    monkeypatch.setattr("curation.ingest.PORTION", 2)
    (open_project / "interplay.toml").write_text('fetch_allowed_hosts = ["127.0.0.1", "localhost"]\n')
    for name in ("a", "b", "c", "other"):
        site.give(f"/{name}.jpg", media.coded(media.photo(1)))
    named = [*(f"{site.url}/{name}.jpg" for name in "abc"), f"http://localhost:{site.port}/other.jpg"]
    call("ingest", *named, project=open_project)
    assert {path for path, _ in site.asked[:2]} == {"/a.jpg", "/other.jpg"}


def test_a_host_with_a_dot_behind_its_name_is_the_same_host():
    links = [Link(url, Claims()) for url in ("http://a.example/1", "http://a.example./2", "http://b.example/3")]
    assert [link.url[-1] for link in in_turn(links)] == ["1", "3", "2"]


def test_more_urls_than_lie_on_the_disk_at_once_are_all_taken(site, open_project, media, call, monkeypatch):
    monkeypatch.setattr("curation.ingest.PORTION", 2)
    bodies = [media.coded(media.photo(seed)) for seed in (1, 2, 1, 3, 2)]
    urls = [site.give(f"/{place}.jpg", body) for place, body in enumerate(bodies)]
    report = call("ingest", *urls, project=open_project)
    assert {one["origin"] for one in report["taken"] if one["is_new"]} == {urls[0], urls[1], urls[3]}
    assert (report["counts"]["known"], len(sources_in(open_project))) == (2, 5)


def test_what_a_killed_run_has_left_of_its_downloads_goes_and_a_running_ones_stay(tmp_path):
    left = tmp_path / "cache" / "downloads" / "left"
    left.mkdir(parents=True)
    (left / "half.mp4").write_bytes(b"x")
    with downloads_folder(tmp_path) as first:
        assert not left.exists()
        (first / "a.jpg").write_bytes(b"x")
        with downloads_folder(tmp_path) as second:
            assert (first / "a.jpg").exists()
            assert second != first
    assert list((tmp_path / "cache" / "downloads").iterdir()) == []


def test_a_full_disk_while_fetching_ends_the_run(site, open_project, call, monkeypatch):
    def full(*_: object, **__: object) -> Path:
        raise OSError(28, "No space left on device", "cache/downloads/x")

    monkeypatch.setattr("curation.downloads.fetch", full)
    with pytest.raises(OSError, match="No space left"):
        call("ingest", f"{site.url}/a.jpg", project=open_project)


def test_nothing_named_says_that_urls_would_do(project, call):
    with pytest.raises(NothingToIngest, match="URLs"):
        call("ingest", project=project)
