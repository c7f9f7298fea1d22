"""Which addresses users may register: the syntax of their URLs, and where the names in them lead."""

import asyncio
import ipaddress
import re
import socket

import httpx2
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from common.errors import AgentUnreachable, InvalidRequest

MAX_URL_LENGTH = 2000
MAX_ADDRESSES = 4
RESOLVE_SECONDS = 10.0

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NOT_IN_A_URL = re.compile(r"[\s\x00-\x1f\x7f\\]")

# Ports on which something else than HTTP listens and might obey what we post ("bad ports" of the Fetch standard).
# fmt: off
_OTHER_PROTOCOLS = frozenset([
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
    530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045,
    4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
# fmt: on

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds hand their machines' credentials to whoever asks. Never an agent, even where private addresses are.
_METADATA = [
    ipaddress.ip_network(network)
    for network in (
        "169.254.169.254/32",
        "169.254.170.0/24",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
        "fd00:ec2::/32",
        "fd20:ce::254/128",
    )
]
# Not public either, though the standard library says so.
_NOT_PUBLIC = [
    ipaddress.ip_network(network)
    for network in ("192.0.0.0/24", "192.88.99.0/24", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10")
]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenAddress(AgentUnreachable):
    """The name leads to an address that this site does not call."""

    retryable = False


def check_url(url: str) -> None:
    """Raises InvalidRequest, naming the field `url`, unless `url` could be an agent's. Asks nobody."""
    parse_url(url)


async def check_address(url: str) -> None:
    """`check_url`, and resolves the name: InvalidRequest if it leads to a forbidden address.

    Raises AgentUnreachable where the name does not resolve (now).
    """
    parsed = parse_url(url)
    host, allowed = parsed.raw_host.decode(), settings.AGENT_URL_ALLOW_PRIVATE
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            await resolve(host, port_of(parsed), allow_private=allowed)
    except ForbiddenAddress as error:
        raise InvalidRequest(error.message, field="url") from None
    except TimeoutError:
        raise AgentUnreachable(_("The name %(host)s does not resolve in time."), host=host, reason="dns") from None


def parse_url(url: str) -> httpx2.URL:
    """The parts of an http(s) URL without credentials or fragment. Raises InvalidRequest naming `url`."""
    if len(url) > MAX_URL_LENGTH:
        raise _bad_url(_("The URL must be at most %(limit)s characters long."), limit=MAX_URL_LENGTH)
    if _NOT_IN_A_URL.search(url):
        raise _bad_url(_("The URL must not contain spaces, control characters or backslashes."))
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise _bad_url(_("The URL is not valid (%(problem)s)."), problem=str(error)) from None
    _check_parts(parsed, url)
    return parsed


def _check_parts(parsed: httpx2.URL, url: str) -> None:
    if parsed.scheme not in ("http", "https"):
        raise _bad_url(_("The URL must start with http:// or https://."))
    if parsed.userinfo:
        raise _bad_url(_("The URL must not contain a user name or password."))
    if "#" in url:
        raise _bad_url(_("The URL must not contain a fragment (#…)."))
    if not 0 < port_of(parsed) < 65536 or port_of(parsed) in _OTHER_PROTOCOLS:
        raise _bad_url(_("The URL has a port that no agent may use (%(port)s)."), port=str(port_of(parsed)))
    if not _is_host(parsed.raw_host.decode()):
        raise _bad_url(_("The URL must name a host."))


def _bad_url(words: Promise, **details: object) -> InvalidRequest:
    return InvalidRequest(words, field="url", **details)


def _is_host(host: str) -> bool:
    if ":" in host:
        return "%" not in host and _literal(host) is not None
    return len(host) <= 253 and _HOST_NAME.fullmatch(host) is not None


def port_of(url: httpx2.URL) -> int:
    if url.port is not None:
        return url.port
    return 443 if url.scheme == "https" else 80


async def resolve(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The first addresses that `host` stands for. All of its addresses have been checked.

    Raises AgentUnreachable where it has none, ForbiddenAddress where any of them may not be called.
    """
    literal = _literal(host)
    addresses = [literal] if literal is not None else await _look_up(host, port)
    for address in addresses:
        kind = forbidden_kind(address, allow_private=allow_private)
        if kind is not None:
            # The address itself stays unsaid: names inside our network are nobody's business.
            raise ForbiddenAddress(f"{host} leads to {kind}, which is not allowed here.", reason="forbidden")
    return [str(address) for address in addresses[:MAX_ADDRESSES]]


async def _look_up(host: str, port: int) -> list[IPAddress]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AgentUnreachable(_("The name %(host)s does not resolve."), host=host, reason="dns") from None
    # Two address families only: every other answer of the resolver is no place for HTTP.
    texts = dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in found)
    return [ipaddress.ip_address(text) for text in texts]


def _literal(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def forbidden_kind(address: IPAddress, *, allow_private: bool) -> str | None:
    """What makes `address` one that must not be called ("a private address"), or None."""
    inside = _ipv4_inside(address) if isinstance(address, ipaddress.IPv6Address) else None
    both = [address] if inside is None else [address, inside]
    if any(one in network for one in both for network in _METADATA):
        return "a cloud's metadata service"
    if any(one.is_multicast for one in both):
        return "a multicast address"
    if allow_private:
        return None
    # NAT64 is how machines without IPv4 reach it: what counts is the address behind.
    return _private_kind(inside if inside is not None and address in _NAT64 else address)


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one is another way of writing."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def _private_kind(address: IPAddress) -> str | None:
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_private:
        return "a private address"
    not_public = any(address in network for network in _NOT_PUBLIC)
    if not address.is_global or address.is_reserved or not_public:
        return "a reserved address"
    return None
