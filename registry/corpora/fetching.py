"""Fetching pages politely: one request to a host at a time, no sooner than it likes, and no more than we can use."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urljoin
from weakref import WeakValueDictionary

from django.conf import settings

from common.errors import AgentTimeout, AgentUnreachable, FixieError, InvalidRequest
from common.http import Response, client
from registry.corpora.documents import Budget, NotRead
from registry.corpora.extracted import kind_of, media_type
from registry.corpora.patterns import host_of, normalised, origin_of

AGENT = "Fixie"
FETCH_SECONDS = 30.0
MAX_REDIRECTS = 5
# How often, and after how many seconds at most, a host that is busy is asked again.
TRIES = 3
MAX_PAUSE = 60.0
# A host that has failed so often in a row is left alone.
MAX_FAILURES = 5

_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

# Asked about each address that a redirect leads to; raises NotRead.
Check = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was fetched. `url` is where redirects led; `rules` are those of `X-Robots-Tag`."""

    url: str
    content: bytes
    content_type: str
    rules: frozenset[str]


class _Pace:
    """When a host may be asked again; all readings of this process keep it together."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.free_at = 0.0


_paces: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], _Pace] = WeakValueDictionary()


class Fetcher:
    """Fetches for one reading. `token` goes to the origins in `trusted` alone. `delays` holds what hosts ask for."""

    def __init__(self, budget: Budget, *, token: str = "", trusted: Collection[str] = ()) -> None:
        self.delays: dict[str, float] = {}
        self._budget = budget
        self._token = token
        self._trusted = trusted
        self._paces: dict[str, _Pace] = {}
        self._failures: Counter[str] = Counter()

    async def page(self, url: str, check: Check) -> Page:
        """The page at `url`, following redirects to wherever `check` allows. Raises NotRead."""
        hops: list[str] = []
        while url not in hops and len(hops) <= MAX_REDIRECTS:
            await check(url)
            hops.append(url)
            answer = await self._answer(url)
            if isinstance(answer, Page):
                return answer
            url = _target(url, answer)
        raise NotRead("It redirects in a circle." if url in hops else f"It redirects more than {MAX_REDIRECTS} times.")

    async def beginning(self, url: str, size: int) -> tuple[int, bytes]:
        """The HTTP status and the first `size` bytes of what is at `url`, wherever redirects lead. Raises NotRead."""
        async with self._opened(url, max_bytes=2 * size, follow=True) as response:
            pieces = bytearray()
            async for piece in response:
                pieces += piece
                if len(pieces) >= size:
                    break
            return response.status, bytes(pieces[:size])

    async def _answer(self, url: str) -> Page | str:
        """The page, or where it redirects to; asks a busy host again."""
        for attempt in range(1, TRIES):
            async with self._opened(url, max_bytes=self._budget.limits.document_bytes) as response:
                if response.status not in _BUSY:
                    return await self._read(url, response)
                self._pause(url, _seconds_to_wait(response, attempt))
        async with self._opened(url, max_bytes=self._budget.limits.document_bytes) as response:
            return await self._read(url, response)

    def _pause(self, url: str, seconds: float) -> None:
        if seconds > min(MAX_PAUSE, self._budget.seconds_left):
            raise NotRead(f"The server is busy, and asks to come back in {seconds:g} seconds.")
        pace = self._pace(host_of(url))
        pace.free_at = max(pace.free_at, _now() + seconds)

    async def _read(self, url: str, response: Response) -> Page | str:
        if 300 <= response.status < 400 and "location" in response.headers:
            return response.headers["location"]
        if not 200 <= response.status < 300:
            raise NotRead(f"The server answered with HTTP status {response.status}.")
        content_type = response.headers.get("content-type", "")
        if kind_of(content_type) is None:
            raise NotRead(f"Documents of type {media_type(content_type)[:100]} cannot be read.", skipped=True)
        content = await self._body(response)
        return Page(url, content, content_type, _rules(response.headers.get("x-robots-tag", "")))

    async def _body(self, response: Response) -> bytes:
        most = self._budget.limits.document_bytes
        length = response.headers.get("content-length", "")[:20]
        if length.isdecimal() and int(length) > most:
            raise NotRead(f"It is larger than {most} bytes.")
        pieces: list[bytes] = []
        async for piece in response:
            # Also what is thrown away in the end has been fetched.
            self._budget.bytes += len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    @asynccontextmanager
    async def _opened(self, url: str, *, max_bytes: int, follow: bool = False) -> AsyncIterator[Response]:
        """The answer to a GET, once it is our turn at that host. Raises NotRead, also for what breaks inside."""
        host = host_of(url)
        if self._failures[host] >= MAX_FAILURES:
            raise NotRead(f"The server was left alone after it had failed {MAX_FAILURES} times in a row.")
        pace = self._pace(host)
        async with pace.lock:
            await asyncio.sleep(max(0.0, pace.free_at - _now()))
            self._budget.attempts += 1
            failures, self._failures[host] = self._failures[host], 0
            try:
                async with self._sent(url, max_bytes=max_bytes, follow=follow) as response:
                    yield response
            except FixieError as error:
                if isinstance(error, AgentTimeout | AgentUnreachable):
                    self._failures[host] = failures + 1
                # The client speaks of agents, because it was made for them.
                raise NotRead(error.message.replace("The agent", "The server")) from error
            finally:
                delay = max(self._budget.limits.delay, self.delays.get(host, 0.0))
                pace.free_at = max(pace.free_at, _now() + delay)

    def _sent(self, url: str, *, max_bytes: int, follow: bool) -> AbstractAsyncContextManager[Response]:
        headers = {"user-agent": f"{AGENT} (+{settings.SITE_URL})"}
        if self._token and origin_of(url) in self._trusted:
            headers["authorization"] = f"Bearer {self._token}"
        timeout = min(FETCH_SECONDS, max(1.0, self._budget.seconds_left))
        return client().stream("GET", url, headers=headers, timeout=timeout, max_bytes=max_bytes, follow=follow)

    def _pace(self, host: str) -> _Pace:
        if host not in self._paces:
            self._paces[host] = _paces.setdefault((asyncio.get_running_loop(), host), _Pace())
        return self._paces[host]


def _now() -> float:
    return asyncio.get_running_loop().time()


def _target(url: str, location: str) -> str:
    try:
        return normalised(urljoin(url, location))
    except (InvalidRequest, ValueError):
        raise NotRead(f"It redirects to {location[:200]}, which cannot be read.") from None


def _seconds_to_wait(response: Response, attempt: int) -> float:
    """What `Retry-After` says, in seconds or as a date; without it, longer from time to time."""
    said = response.headers.get("retry-after", "")
    if said.isdecimal():
        return float(said[:10])
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return float(2**attempt)


def _rules(header: str) -> frozenset[str]:
    """The words of `X-Robots-Tag` that are meant for everybody or for us: `noindex, otherbot: nofollow`."""
    words: set[str] = set()
    for part in header.lower().split(",")[:20]:
        agent, colon, word = part.rpartition(":")
        if not colon or agent.strip() == AGENT.lower():
            words.add(word.strip())
    return frozenset(words)
