"""Reading web pages into a corpus: the SDK's `UrlDocumentCorpus`, politely and within limits."""

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from common.errors import InvalidRequest
from registry.corpora.documents import (
    ATTEMPTS_A_DOCUMENT,
    MAX_SOURCE,
    SPARE_ATTEMPTS,
    Budget,
    Limits,
    NotRead,
    Read,
    Result,
    Stopped,
    Unread,
)
from registry.corpora.extracted import Extracted, Unreadable, media_type
from registry.corpora.extraction import extract
from registry.corpora.fetching import Fetcher, Page
from registry.corpora.patterns import Scope, host_of, is_excluded, is_trap, normalised, origin_of, scope_of
from registry.corpora.robots import Robots, read_robots, read_sitemaps

# Of one path with different queries: a list has so many pages, a calendar has no end.
MAX_VARIANTS = 50
LINKS_AT_ONCE = 50


async def crawl(
    urls: Sequence[str],
    exclude_patterns: Sequence[str],
    limits: Limits,
    *,
    token: str = "",
    done: Collection[str] = (),
) -> AsyncGenerator[Result]:
    """Reads `urls`: each one document, or with a trailing `*` all that links and site maps lead to below it.

    Never raises FixieError: every page is a result, and `Stopped` comes last where a limit ended the crawl.
    `token` goes as bearer token to the hosts of `urls` alone. Sources in `done` have been yielded before: they
    are read again only for their links, and not yielded.
    """
    scopes: list[Scope] = []
    for url in urls:
        try:
            scopes.append(scope_of(url))
        except InvalidRequest as error:
            yield Unread(url[:MAX_SOURCE], error.message)
    reading = _Crawl(scopes, exclude_patterns, limits, token, done)
    while not reading.is_complete:
        if stopped := reading.budget.exhausted():
            yield stopped
            return
        result = await reading.next_result()
        if result is not None and result.source not in done:
            yield result
    if reading.cut is not None:
        yield reading.cut


@dataclass(frozen=True, slots=True)
class _Place:
    """A URL to be read, `depth` links from where its scope starts."""

    url: str
    depth: int
    scope: Scope


class _Crawl:
    """What is known of the pages, and which are to be read next."""

    def __init__(
        self, scopes: list[Scope], exclude_patterns: Sequence[str], limits: Limits, token: str, done: Collection[str]
    ) -> None:
        self.budget = Budget(limits)
        self.cut: Stopped | None = None  # why links were left out that belong to the corpus
        self._most_places = limits.documents * ATTEMPTS_A_DOCUMENT + SPARE_ATTEMPTS
        trusted = {origin_of(scope.start) for scope in scopes}
        trusted |= {origin.replace("http:", "https:", 1) for origin in trusted}
        self._fetcher = Fetcher(self.budget, token=token, trusted=trusted)
        self._exclude_patterns = exclude_patterns
        self._done = done
        self._waiting: deque[_Place] = deque()
        self._known: set[str] = set()
        self._variants: Counter[str] = Counter()
        self._texts: dict[bytes, str] = {}
        self._robots: dict[str, Robots] = {}
        self._prefixes = [scope for scope in scopes if scope.is_prefix]
        # A page that is also listed by itself is where the crawl starts all the same.
        for scope in sorted(scopes, key=lambda scope: not scope.is_prefix):
            self._add(scope.start, 0, scope)

    @property
    def is_complete(self) -> bool:
        return not self._waiting

    async def next_result(self) -> Read | Unread | None:
        """Reads the next page. None where it has been read before, and its links do not matter."""
        place = self._waiting.popleft()
        if place.url in self._done and not self._leads_on(place):
            self.budget.documents += 1
            return None
        try:
            return await self._visit(place)
        except NotRead as error:
            return error.of(place.url)

    async def _visit(self, place: _Place) -> Read:
        page = await self._fetcher.page(place.url, partial(self._check, place))
        extracted = await _extracted(page)
        rules = page.rules | extracted.rules
        is_for_us = rules.isdisjoint({"noindex", "none"})
        if is_for_us:
            self._check_is_new(page.url, extracted.text)
        if self._leads_on(place) and rules.isdisjoint({"nofollow", "none"}):
            await self._add_links(extracted.links, place.depth + 1)
        if not is_for_us:
            raise NotRead("The page asks not to be indexed.", skipped=True)
        self.budget.documents += 1
        return Read(page.url, extracted.text, extracted.title, media_type(page.content_type), len(page.content))

    async def _check(self, place: _Place, url: str) -> None:
        """Raises NotRead unless `url`, the place's own or one that it redirects to, may be read for it."""
        if url != place.url:
            if not place.scope.holds(url):
                raise NotRead(f"It redirects to {url}, which is not part of the corpus.")
            if url in self._known:
                raise NotRead(f"It redirects to {url}, which is read by itself.", skipped=True)
            self._known.add(url)
        if await asyncio.to_thread(is_excluded, url, self._exclude_patterns):
            raise NotRead("The corpus excludes it.", skipped=True)
        await (await self._robots_of(url)).check(url)

    async def _robots_of(self, url: str) -> Robots:
        origin = origin_of(url)
        if origin not in self._robots:
            robots = self._robots[origin] = await read_robots(origin, self._fetcher)
            self._fetcher.delays[host_of(url)] = robots.delay
            if self.budget.limits.depth and any(host_of(scope.start) == host_of(url) for scope in self._prefixes):
                await self._add_links(await read_sitemaps(origin, robots, self._fetcher), 1)
        return self._robots[origin]

    def _check_is_new(self, url: str, text: str) -> None:
        first = self._texts.setdefault(hashlib.sha256(text.encode()).digest(), url)
        if first != url:
            raise NotRead(f"It has the same text as {first}.", skipped=True)

    def _leads_on(self, place: _Place) -> bool:
        return place.scope.is_prefix and place.depth < self.budget.limits.depth

    async def _add_links(self, links: Iterable[str], depth: int) -> None:
        waiting = iter(links)
        # A site map has many thousand links, and each may take every pattern a while: others use this loop too.
        while some := list(islice(waiting, LINKS_AT_ONCE)):
            if stopped := self.budget.exhausted():
                self.cut = stopped
                return
            for url, scope in await asyncio.to_thread(self._of_corpus, some):
                self._add(url, depth, scope)

    def _of_corpus(self, links: Iterable[str]) -> list[tuple[str, Scope]]:
        """Those of the links that are to be read, normalised, and what they are read for."""
        found = []
        for link in links:
            try:
                url = normalised(link)
            except InvalidRequest:
                continue
            scope = next((scope for scope in self._prefixes if scope.holds(url)), None)
            if scope is not None and not is_trap(url) and not is_excluded(url, self._exclude_patterns):
                found.append((url, scope))
        return found

    def _add(self, url: str, depth: int, scope: Scope) -> None:
        path, query, _ = url.partition("?")
        if url in self._known or (query and self._variants[path] >= MAX_VARIANTS):
            return
        if len(self._known) >= self._most_places:
            self.cut = Stopped(f"The pages lead to more than {self._most_places} others; the rest was not read.")
            return
        self._variants[path] += bool(query)
        self._known.add(url)
        self._waiting.append(_Place(url, depth, scope))


async def _extracted(page: Page) -> Extracted:
    try:
        return await extract(page.content, page.content_type, url=page.url)
    except Unreadable as error:
        raise NotRead(error.reason) from None
