"""The guarded HTTP client: the only way to URLs that users register.

It connects to the very address it has checked, never uses a proxy, keeps no cookies, and bounds time and size.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Self

import httpcore2
import httpx2
from django.utils.translation import gettext_lazy as _

from common.addresses import check_address, check_url, parse_url, port_of
from common.connections import Exchange, PinnedBackend, current_exchange
from common.errors import AgentInvalidResponse, AgentTimeout, AgentUnreachable, InvalidRequest

__all__ = ["Answer", "GuardedClient", "Response", "aclose_client", "check_address", "check_url", "client"]

MAX_REDIRECTS = 3
# Common servers close idle connections after 5 s (uvicorn, Node): be the first.
KEEPALIVE_SECONDS = 4.0
MAX_IDLE_CONNECTIONS = 100
MAX_CONNECTIONS = 1000

DEFAULT_HEADERS = {"user-agent": "Fixie", "accept-encoding": "gzip, deflate"}
_CLOSED = (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError)
_FAILED = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, httpx2.DecodingError)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; `body` is decompressed, names of `headers` are matched without case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Body(httpx2.AsyncByteStream):
    """A body of httpcore2's as httpx2 wants it, which knows how to decompress."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()


class _Deadline:
    """The end of a whole exchange, however many redirects, retries and reads it takes."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ends = asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[None]:
        """Ends what is inside when time is up, and turns failures into the errors that callers know.

        Only waiting on the network goes inside: the caller's own work must not be interrupted.
        """
        try:
            async with asyncio.timeout_at(self.ends):
                yield
        except (TimeoutError, httpcore2.TimeoutException):
            raise AgentTimeout(
                f"The agent did not answer within {self.seconds:g} seconds.", timeout=self.seconds
            ) from None
        except _FAILED as error:
            raise _explained(error) from error


def _explained(error: Exception) -> AgentUnreachable | AgentInvalidResponse:
    if isinstance(error, httpx2.DecodingError):
        return AgentInvalidResponse(_("The agent's answer is not compressed as it says."))
    if isinstance(error, httpcore2.ConnectError):
        return _why_no_connection(error)
    if isinstance(error, httpcore2.LocalProtocolError):
        return AgentUnreachable("The call cannot be put into HTTP.", reason="request")
    return AgentInvalidResponse(_("The agent broke off in the middle of its answer, or does not speak HTTP."))


def _why_no_connection(error: BaseException | None) -> AgentUnreachable:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return AgentUnreachable(
                _("The agent's TLS certificate is not valid: %(problem)s."), problem=error.verify_message, reason="tls"
            )
        if isinstance(error, ssl.SSLError):
            return AgentUnreachable(_("The agent does not speak TLS there."), reason="tls")
        if isinstance(error, ConnectionRefusedError):
            return AgentUnreachable(_("The agent's machine refused the connection."), reason="refused")
        error = error.__cause__ or error.__context__
    return AgentUnreachable(_("The agent's machine cannot be reached."), reason="network")


class Response:
    """An answer whose head has arrived: iterate over it once for the pieces of its decompressed body.

    A step of the iteration raises AgentTimeout, AgentInvalidResponse or AgentUnreachable.
    """

    def __init__(self, response: httpx2.Response, deadline: _Deadline, max_bytes: int) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._pieces = response.aiter_bytes()
        self._deadline = deadline
        self._left = max_bytes
        self._max_bytes = max_bytes

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        async with self._deadline.bound():
            piece = await anext(self._pieces, None)
        if piece is None:
            raise StopAsyncIteration
        self._left -= len(piece)
        if self._left < 0:
            raise AgentInvalidResponse(
                f"The agent's answer is larger than {self._max_bytes} bytes.", max_bytes=self._max_bytes
            )
        return piece

    async def read(self, max_bytes: int | None = None) -> bytes:
        """All that is left of the body, of which there may be no more than `max_bytes`."""
        if max_bytes is not None:
            self._left = min(self._left, max_bytes)
            self._max_bytes = min(self._max_bytes, max_bytes)
        return b"".join([piece async for piece in self])

    async def aclose(self) -> None:
        """Closes the connection unless the body has been read to its end."""
        await self._pieces.aclose()
        await self._response.aclose()


class GuardedClient:
    """Calls URLs that strangers wrote. One instance serves one event loop; connections are kept and shared.

    `allow_private` defaults to the setting AGENT_URL_ALLOW_PRIVATE, asked whenever a connection is opened.
    """

    def __init__(self, *, allow_private: bool | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_public_authorities() if tls is None else tls,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=PinnedBackend(allow_private),
        )

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        timeout: float,
        max_bytes: int,
        follow: bool = True,
    ) -> AsyncGenerator[Response]:
        """Sends a request and yields its answer; leaving early closes the connection at once.

        `timeout` seconds bound the whole exchange, `max_bytes` the decompressed body. Redirects of a GET are
        followed (at most 3, each checked like the first address, without the token on another site); a
        redirect of anything else is an error; without `follow` a redirect is the answer. Raises
        AgentUnreachable, AgentTimeout, AgentInvalidResponse.

        A kept connection may turn out closed by the agent. Then, if no byte of an answer has arrived, the
        request is sent once more, provided it is a GET or carries an `Idempotency-Key`, by which an agent that
        did receive the first copy knows the second.
        """
        deadline = _Deadline(timeout)
        opened = await self._open(_request(method, url, headers, content), deadline, follow=follow)
        response = Response(opened, deadline, max_bytes)
        try:
            yield response
        finally:
            await response.aclose()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        timeout: float,
        max_bytes: int,
    ) -> Answer:
        """`stream`, for an answer that is wanted whole."""
        async with self.stream(
            method, url, headers=headers, content=content, timeout=timeout, max_bytes=max_bytes
        ) as response:
            return Answer(response.status, response.headers, await response.read())

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _open(self, request: httpx2.Request, deadline: _Deadline, *, follow: bool) -> httpx2.Response:
        for __ in range(MAX_REDIRECTS + 1):
            async with deadline.bound():
                response = await self._send(request)
            if not follow or not response.has_redirect_location:
                return response
            await response.aclose()
            request = _redirected(request, response.headers["location"])
        raise AgentInvalidResponse(_("The agent redirects more than %(limit)s times."), limit=MAX_REDIRECTS)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        may_repeat = request.method == "GET" or "idempotency-key" in request.headers
        while True:
            exchange = Exchange()
            try:
                return await self._attempt(request, exchange)
            except _CLOSED as error:
                if exchange.answered:
                    raise
                if exchange.connected or not may_repeat:
                    raise AgentUnreachable(
                        "The agent closed the connection without answering.", reason="closed"
                    ) from error
            may_repeat = False

    async def _attempt(self, request: httpx2.Request, exchange: Exchange) -> httpx2.Response:
        url = request.url
        token = current_exchange.set(exchange)
        try:
            response = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.content,
                )
            )
        finally:
            current_exchange.reset(token)
        return httpx2.Response(response.status, headers=response.headers, stream=_Body(response))


@cache
def _public_authorities() -> ssl.SSLContext:
    # Loading the certificates takes tens of milliseconds; without the environment, which could name others.
    return httpx2.create_ssl_context(trust_env=False)


def _request(method: str, url: str, headers: Mapping[str, str] | None, content: bytes) -> httpx2.Request:
    try:
        parsed = parse_url(url)
    except InvalidRequest as error:
        raise AgentUnreachable(error.message, reason="url") from None
    return httpx2.Request(method, parsed, headers={**DEFAULT_HEADERS, **(headers or {})}, content=content)


def _redirected(request: httpx2.Request, location: str) -> httpx2.Request:
    if request.method != "GET":
        raise AgentInvalidResponse(
            f"The agent answers {request.method} with a redirect to {location[:200]}: register that address.",
            location=location[:200],
        )
    try:
        url = parse_url(str(request.url.join(location).copy_with(fragment=None)))
    except (InvalidRequest, httpx2.InvalidURL):
        raise AgentInvalidResponse(_("The agent redirects to an address that cannot be called.")) from None
    headers = {name: value for name, value in request.headers.items() if name != "host"}
    if not _is_same_site(request.url, url):
        headers.pop("authorization", None)
    return httpx2.Request("GET", url, headers=headers)


def _is_same_site(old: httpx2.URL, new: httpx2.URL) -> bool:
    """Whether `new` may see what was meant for `old`: the same origin, or its step up from http to https."""
    if old.host != new.host:
        return False
    upgraded = (old.scheme, port_of(old), new.scheme, port_of(new)) == ("http", 80, "https", 443)
    return upgraded or (old.scheme, port_of(old)) == (new.scheme, port_of(new))


_clients: dict[asyncio.AbstractEventLoop, GuardedClient] = {}


def client() -> GuardedClient:
    """This event loop's client, made on first use."""
    loop = asyncio.get_running_loop()
    found = _clients.get(loop)
    if found is None:
        found = _clients[loop] = GuardedClient()
    return found


async def aclose_client() -> None:
    """Closes this event loop's client, if there is one, with all its connections."""
    found = _clients.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.aclose()
