"""The language model server behind the proxy: the operator's own (LLM_BASE_URL), so any address will do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import quote

import httpx2
import orjson
import structlog
from django.conf import settings

from bridges.openai_proxy.errors import ProxyError
from bridges.openai_proxy.metering import document_of
from bridges.openai_proxy.requests import Asked, Body

CONNECT_TIMEOUT = 10.0
MAX_CONNECTIONS = 1000
MAX_IDLE_CONNECTIONS = 100
# Common servers close idle connections after 5 s (uvicorn, Node): be the first.
KEEPALIVE_SECONDS = 4.0
ANSWER_MAX_BYTES = 64 * 1024 * 1024
ERROR_MAX_BYTES = 1024 * 1024

log = structlog.get_logger()

_clients: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}


class Answer:
    """An answer whose head has arrived: iterate over it once for the pieces of its body, as they come.

    Opening and every step of the iteration raise ProxyError. `close` it in any case: that ends the server's work.
    """

    def __init__(self, response: httpx2.Response, deadline: float) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("content-type", "application/octet-stream")
        self.retry_after = response.headers.get("retry-after", "")
        self._response = response
        self._pieces = response.aiter_bytes()
        self._deadline = deadline

    @classmethod
    async def open(cls, asked: Asked) -> Self:
        """Makes a call with the site's key; it may take LLM_TIMEOUT seconds in all."""
        deadline = asyncio.get_running_loop().time() + settings.LLM_TIMEOUT
        async with _bound(deadline):
            return cls(await _client().send(_request(asked), stream=True), deadline)

    def is_stream(self) -> bool:
        return self.content_type.lower().startswith("text/event-stream")

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        async with _bound(self._deadline):
            piece = await anext(self._pieces, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def read(self, limit: int = ANSWER_MAX_BYTES) -> bytes:
        """The whole body."""
        body = bytearray()
        async for piece in self:
            body += piece
            if len(body) > limit:
                raise ProxyError(502, "The language model server's answer is too large.", code="model_unavailable")
        return bytes(body)

    async def close(self) -> None:
        await self._pieces.aclose()
        await self._response.aclose()


async def error_body(answer: Answer) -> bytes:
    """What a caller gets to see of an error: its JSON, without the site's key and the server's address.

    Raises ProxyError, with a sentence of our own, where that would say nothing, or something wrong.
    """
    log.warning("openai_proxy_refused", status=answer.status)
    if answer.status in (401, 403):
        # The caller's own token is good, and must not look bad.
        raise _unavailable(502, "The language model server refused the site's key.")
    if answer.status < 400:
        raise _unavailable(502, "The language model server answers with a redirect.")
    body = _without_secrets(await answer.read(ERROR_MAX_BYTES))
    if not isinstance(document_of(body), dict):
        raise _unavailable(answer.status, f"The language model server refused the request (HTTP {answer.status}).")
    return body


async def aclose_client() -> None:
    """Lets go of this event loop's connections to the server."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()


def _client() -> httpx2.AsyncClient:
    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None:
        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_SECONDS,
        )
        client = _clients[loop] = httpx2.AsyncClient(limits=limits)
    return client


def _request(asked: Asked) -> httpx2.Request:
    headers = {"accept-encoding": "identity", "user-agent": "Fixie"}
    if settings.LLM_API_KEY:
        headers["authorization"] = f"Bearer {settings.LLM_API_KEY}"
    if asked.body is not None:
        headers["content-type"] = "application/json"
    return _client().build_request(
        asked.method,
        f"{settings.LLM_BASE_URL.rstrip('/')}/{quote(asked.path)}",
        content=None if asked.body is None else _packed(asked.body),
        headers=headers,
        timeout=httpx2.Timeout(settings.LLM_TIMEOUT, connect=min(CONNECT_TIMEOUT, settings.LLM_TIMEOUT)),
    )


def _packed(body: Body) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # which nests less deep than `loads` does
        raise ProxyError(400, "The body is nested too deeply.", code="invalid_request", param="body") from None


@asynccontextmanager
async def _bound(deadline: float) -> AsyncIterator[None]:
    """Ends what waits inside when time is up, and tells failures as callers may know them."""
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except (TimeoutError, httpx2.TimeoutException):
        raise _unavailable(504, f"The language model took longer than {settings.LLM_TIMEOUT:g} seconds.") from None
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
        log.warning("openai_proxy_unreachable", error=type(error).__name__)
        raise _unavailable(502, "The language model server cannot be reached.") from None
    except httpx2.HTTPError as error:
        log.warning("openai_proxy_broken", error=type(error).__name__)
        raise _unavailable(502, "The language model server broke off in the middle of its answer.") from None


def _unavailable(status: int, message: str) -> ProxyError:
    return ProxyError(status, message, code="model_unavailable")


def _without_secrets(body: bytes) -> bytes:
    base = httpx2.URL(settings.LLM_BASE_URL)
    for secret in (settings.LLM_API_KEY, settings.LLM_BASE_URL.rstrip("/"), base.netloc.decode(), base.host):
        if secret:
            body = body.replace(secret.encode(), b"[hidden]")
    return body
