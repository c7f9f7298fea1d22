"""How a host wants to be read: its robots.txt (RFC 9309) and the site maps it names."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING

from common.errors import InvalidRequest
from registry.corpora.documents import NotRead
from registry.corpora.fetching import AGENT, Fetcher
from registry.corpora.patterns import host_of, normalised

if TYPE_CHECKING:
    from protego import Protego

MAX_ROBOTS = 512 * 1024
MAX_SITEMAP = 4 * 1024 * 1024
MAX_SITEMAPS = 10
# What one site map may have (https://www.sitemaps.org/protocol.html) is enough for all of them.
MAX_LOCATIONS = 50_000
# What a robots.txt may ask for between two requests, in seconds.
MAX_DELAY = 10.0

_GROUP = re.compile(r"\s*user[ -]?agent\s*:?(.*)", re.IGNORECASE)
# Possessive: what is not followed by a URL is looked at once, not once for each way to share out its blanks.
_LOCATION = re.compile(r"<loc>\s*+(?:<!\[CDATA\[\s*+)?+([^<\]\s]{1,2000})")


class Robots:
    """What one origin allows. `refusal` is why nothing there may be read, where nothing may."""

    def __init__(self, rules: "Protego | None", *, refusal: str = "") -> None:
        self._rules = rules
        self._refusal = refusal

    async def check(self, url: str) -> None:
        """Raises NotRead where `url` may not be read."""
        if self._refusal:
            raise NotRead(self._refusal)
        # Half a megabyte of rules takes a while.
        if self._rules is not None and not await asyncio.to_thread(self._rules.can_fetch, url, AGENT):
            raise NotRead(f"The robots.txt of {host_of(url)} forbids it.", skipped=True)

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        asked = self._rules.crawl_delay(AGENT) if self._rules is not None else None
        return min(asked or 0.0, MAX_DELAY)

    @property
    def sitemaps(self) -> list[str]:
        return list(self._rules.sitemaps) if self._rules is not None else []


async def read_robots(origin: str, fetcher: Fetcher) -> Robots:
    """The robots.txt of `origin`. Where there is none everything is allowed; where it cannot be told, nothing is."""
    try:
        status, content = await fetcher.beginning(f"{origin}/robots.txt", MAX_ROBOTS)
    except NotRead as error:
        return Robots(None, refusal=error.reason)
    if status == 429 or status >= 500:
        return Robots(None, refusal=f"Its robots.txt cannot be read (HTTP status {status}), so nothing there may be.")
    if status >= 300:
        return Robots(None)
    return Robots(await asyncio.to_thread(_parsed, content.decode("utf-8", "replace")))


def _parsed(text: str) -> "Protego":
    from protego import Protego

    return Protego.parse("\n".join(_of_interest(text)))


def _of_interest(text: str) -> Iterator[str]:
    """The lines of a robots.txt with all others' names as one: Protego keeps each rule once for each of its names."""
    for line in text.splitlines():
        group = _GROUP.match(line)
        if group is None:
            yield line
        else:
            name = group[1].partition("#")[0].strip()
            yield f"User-agent: {name if name == '*' or name.lower() == AGENT.lower() else 'others'}"


async def read_sitemaps(origin: str, robots: Robots, fetcher: Fetcher) -> list[str]:
    """The URLs in the site maps of `origin` (https://www.sitemaps.org/protocol.html), as they stand there.

    Those that its robots.txt names, or `/sitemap.xml`; at most ten, with `MAX_LOCATIONS` URLs in all. What cannot
    be read is passed over.
    """
    waiting = [*robots.sitemaps, f"{origin}/sitemap.xml"][:MAX_SITEMAPS]
    found: list[str] = []
    for sitemap in waiting:  # which grows by those that a site map itself names
        try:
            url = normalised(sitemap)
            if host_of(url) != host_of(origin):
                continue
            await robots.check(url)
            status, content = await fetcher.beginning(url, MAX_SITEMAP)
        except (InvalidRequest, NotRead):
            continue
        if status != 200:
            continue
        locations = await asyncio.to_thread(_locations, content)
        if b"<sitemapindex" in content[:1000]:
            waiting.extend(locations[: MAX_SITEMAPS - len(waiting)])
        else:
            found.extend(locations[: MAX_LOCATIONS - len(found)])
    return found


def _locations(sitemap: bytes) -> list[str]:
    found = _LOCATION.finditer(sitemap.decode("utf-8", "replace"))
    return [unescape(location[1]) for location in islice(found, MAX_LOCATIONS)]
