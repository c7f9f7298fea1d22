"""Which URLs belong to a corpus, and which of them are one page."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit, urlunsplit

from common.addresses import MAX_URL_LENGTH, parse_url
from common.errors import InvalidRequest

MAX_SEGMENTS = 30
MAX_REPEATS = 3

# Letters, digits, "-", ".", "_" and "~" mean themselves, escaped or not (RFC 3986, 6.2.2.2).
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
# Says where a visitor came from, never which page it is.
_TRACKING = re.compile(r"(?:utm_\w+|gclid|fbclid|msclkid|mc_[ce]id)(?:=|$)")


@dataclass(frozen=True, slots=True)
class Scope:
    """One entry of a corpus's `urls`: where to start, and whether all documents below that belong to it."""

    start: str
    is_prefix: bool

    def holds(self, url: str) -> bool:
        """Whether `url`, normalised, is of this scope: on the same host, and below the prefix if it is one."""
        return host_of(url) == host_of(self.start) and (not self.is_prefix or _path(url).startswith(_path(self.start)))


def scope_of(url: str) -> Scope:
    """Reads an entry of `urls`, asking nobody. Raises InvalidRequest naming the field `url`."""
    start = url.removesuffix("*")
    if "*" in start:
        raise InvalidRequest("The URL must not contain a * but at its end.", field="url")
    return Scope(normalised(start), is_prefix=start != url)


def normalised(url: str) -> str:
    """One spelling for the URLs of one page. Raises InvalidRequest for what the site does not fetch."""
    parsed = parse_url(url.partition("#")[0])
    parts = urlsplit(str(parsed))
    default = {"http": ":80", "https": ":443"}[parts.scheme]
    query = "&".join(part for part in parts.query.split("&") if not _TRACKING.match(part))
    spelled = urlunsplit(
        (parts.scheme, parts.netloc.removesuffix(default), _unescaped(parts.path) or "/", _unescaped(query), "")
    )
    # What is no ASCII has become three to twelve times as long.
    if len(spelled) > MAX_URL_LENGTH:
        raise InvalidRequest("The URL is too long.", field="url")
    return spelled


def is_excluded(url: str, exclude_patterns: Sequence[str]) -> bool:
    """Whether a wildcard pattern (`*/no_crawl/*`) matches the whole of a normalised URL."""
    return any(fnmatchcase(url, pattern) for pattern in exclude_patterns)


def is_trap(url: str) -> bool:
    """Whether the path looks as if links had been followed in a circle: `/a/b/a/b/a/b/a/b`, or far too deep."""
    segments = [segment for segment in urlsplit(url).path.split("/") if segment]
    return len(segments) > MAX_SEGMENTS or max(Counter(segments).values(), default=0) > MAX_REPEATS


def host_of(url: str) -> str:
    """Host and port, whatever the scheme: a site that moves to https stays itself."""
    return urlsplit(url).netloc


def origin_of(url: str) -> str:
    """`https://host:port`, without a slash at its end."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _unescaped(text: str) -> str:
    def spelled(escape: re.Match[str]) -> str:
        character = chr(int(escape[1], 16))
        return character if _UNRESERVED.fullmatch(character) else escape[0].upper()

    return _ESCAPE.sub(spelled, text)
