"""What may be fetched: the form of a URL, and which network addresses count as the public internet."""

import ipaddress
import re
from ipaddress import IPv4Address, IPv6Address
from typing import ClassVar

import httpx

from core.errors import InterplayError

Address = IPv4Address | IPv6Address

MOST_URL_CHARACTERS = 2000
FIRST_FREE_PORT = 1024

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\.?$)([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?", re.IGNORECASE)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)

_LOCAL = [
    ipaddress.ip_network(block)
    for block in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "::1/128",
        "fc00::/7",
    )
]
"""What an organisation's own machines have; 100.64/10 is also what carriers and mesh networks give (RFC 6598)."""
_METADATA = [ipaddress.ip_address(one) for one in ("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")]
"""Where clouds answer their own machines outside 169.254/16: Alibaba, Azure, AWS, Google."""
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_NOT_PUBLIC = [
    ipaddress.ip_network(block)
    for block in (
        "192.0.0.0/24",  # protocols' own, RFC 6890; a cloud's metadata service among them
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "2002::/16",  # 6to4, which can carry any IPv4 address, RFC 3056
        "2001::/23",  # protocols' own, RFC 2928; with Teredo (RFC 4380), which can carry any IPv4 address too
        "3fff::/20",  # documentation, RFC 9637
    )
]
"""What some version of the standard library calls global, or does not know yet."""


class FetchError(InterplayError):
    """Base of every mistake that costs one URL; `reason` is its code in reports and databases."""

    reason: ClassVar[str] = "fetch_error"


class BadUrl(FetchError):
    """A URL of a form that is not fetched."""

    reason = "bad_url"


class ForbiddenAddress(FetchError):
    """A host whose address is not one of the public internet."""

    reason = "forbidden_address"


def is_url(text: str) -> bool:
    """Whether a word names something by scheme and place, whichever the scheme, and not a file of this machine."""
    return _SCHEME.match(text) is not None


def parse_url(url: str) -> httpx.URL:
    """A URL that may be fetched, as far as its form tells; in ASCII, and without its fragment, which no server sees.

    Ports of other services below 1024 are refused, so that a URL cannot make this machine talk to a mail server; media
    servers do listen on all kinds of ports above. IPv4 addresses are taken as four decimal numbers alone.

    Raises:
        BadUrl: It is none.
    """
    short = repr(url if len(url) <= MOST_URL_CHARACTERS else f"{url[:80]}...")
    try:
        parsed = httpx.URL(url).copy_with(fragment=None)
        parsed.host  # noqa: B018 - read by everyone who gets the URL: Punycode that says nothing fails here
    except (httpx.InvalidURL, ValueError) as error:
        raise BadUrl(f"{short}: no valid URL ({error!r}); correct it") from error
    if len(str(parsed)) > MOST_URL_CHARACTERS:
        raise BadUrl(f"{short}: longer than {MOST_URL_CHARACTERS} characters; download the file and give its path")
    if parsed.scheme not in ("http", "https"):
        raise BadUrl(f"{short}: only http and https are fetched; download the file and give its path")
    if parsed.userinfo:
        raise BadUrl(f"{short}: names and passwords in URLs are not taken, for they would be kept; leave them out")
    if not _is_plain_host(parsed.raw_host.decode("ascii")):
        raise BadUrl(f"{short}: its host is no plain name or address; write the name, or the address as a.b.c.d")
    port = parsed.port
    if port is not None and port not in (80, 443) and not FIRST_FREE_PORT <= port < 1 << 16:
        raise BadUrl(f"{short}: port {port} is no port of a web server; 80, 443 and those from 1024 on are")
    return parsed


def host_of(origin: str) -> str | None:
    """The host of an origin that is a URL."""
    return httpx.URL(origin).host if origin.startswith(("http://", "https://")) else None


def _is_plain_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # Resolvers read 0x7f.1, 0177.0.0.1 and 2130706433 as addresses too: people who mean well do not write them.
        last = host.rstrip(".").rpartition(".")[2]
        return _HOST.fullmatch(host) is not None and not _NUMBER.fullmatch(last)
    return True


def why_forbidden(address: Address, may_be_local: bool = False) -> str | None:
    """In a word or two what an address is, when it is not one to connect to; None when it is.

    IPv6 addresses that stand for an IPv4 address (mapped, NAT64) are judged by that one; those of tunnels that can
    carry any (6to4, Teredo, ISATAP) are refused.

    Args:
        address: The address that a connection would use.
        may_be_local: Whether private and loopback addresses are wanted; metadata services never are.
    """
    address = _stands_for(address)
    if address in _METADATA:
        return "a cloud metadata address"
    if may_be_local and any(address in block for block in _LOCAL):
        return None
    for kind in ("unspecified", "loopback", "link_local", "multicast"):
        if getattr(address, f"is_{kind}"):
            return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind.replace('_', '-')} address"
    if any(address in block for block in _LOCAL):
        return "a private address"
    is_odd = not address.is_global or address.is_reserved or any(address in block for block in _NOT_PUBLIC)
    if is_odd or (isinstance(address, IPv6Address) and (address not in _UNICAST or _is_isatap(address))):
        return "a reserved address"
    return None


def _stands_for(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    # What a network without IPv4 resolves every IPv4 host to (RFC 6052); else without its zone, which compares unequal.
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else IPv6Address(int(address))


def _is_isatap(address: IPv6Address) -> bool:
    """RFC 5214, section 6.1."""
    return int(address) >> 32 & 0xFDFFFFFF == 0x5EFE
