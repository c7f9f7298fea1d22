"""The MCP server over HTTP (streamable HTTP): every request stands alone, so that any process may answer it."""

import asyncio
import uuid
from typing import Any

from django.conf import settings
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from bridges.mcp.exchange import KEY, Exchange
from bridges.mcp.server import mcp_server

Message = Any  # a mapping; servers and libraries each type it in their own way
CLIENT = b"mcp-session-id"
PROTOCOL = b"mcp-protocol-version"
STREAM = ("text/event-stream", "text/*")


class App:
    """Runs from `start` to `stop`, in one event loop."""

    def __init__(self) -> None:
        server = mcp_server()
        self._streaming = self._manager(server, json=False)
        self._plain = self._manager(server, json=True)
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @staticmethod
    def _manager(server: Any, *, json: bool) -> StreamableHTTPSessionManager:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return StreamableHTTPSessionManager(server, json_response=json, stateless=True, max_request_body_size=limit)

    async def start(self) -> None:
        """Returns once it runs; raises what keeps it from that."""
        started = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(started))
        await asyncio.wait([self._running, started], return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            await self._running

    async def _run(self, started: "asyncio.Future[None]") -> None:
        # Entered and left in one task, as its task groups want it.
        async with self._streaming.run(), self._plain.run():
            started.set_result(None)
            await self._stopping.wait()

    async def stop(self) -> None:
        """Ends the requests that are left."""
        self._stopping.set()
        if self._running is not None:
            await self._running

    async def answer(self, exchange: Exchange, scope: Message, receive: Any, send: Any) -> None:
        """Answers a POST: with events where the client takes them, else with one JSON document."""
        headers = dict(scope["headers"])
        accept = headers.get(b"accept", b"*/*").decode("latin-1").lower()
        scope = {**scope, KEY: exchange, "headers": _explicit(scope["headers"], accept)}
        if PROTOCOL not in headers and not exchange.client:
            send = _introducing(send)
        if any(kind in accept for kind in STREAM):
            await self._streaming.handle_request(scope, _watching(exchange, receive), send)
        else:
            await _until_left(exchange, self._plain.handle_request, scope, receive, send)


def _explicit(headers: list[tuple[bytes, bytes]], accept: str) -> list[tuple[bytes, bytes]]:
    """The headers, and in them what the package wants to read and curl does not send: a body is JSON here anyway."""
    others = [(name, value) for name, value in headers if name not in (b"accept", b"content-type")]
    return [*others, (b"accept", accept.encode("latin-1")), (b"content-type", b"application/json")]


def _introducing(send: Any) -> Any:
    """Gives the client a name of its own, which it sends with later requests: their numbers are its own."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (CLIENT, uuid.uuid4().hex.encode())]}
        await send(message)

    return named


def _watching(exchange: Exchange, receive: Any) -> Any:
    """The request's `receive`, which notes when the client leaves. The package then ends the request."""

    async def watched() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            exchange.give_up()
        return message

    return watched


async def _until_left(exchange: Exchange, handle: Any, scope: Message, receive: Any, send: Any) -> None:
    """The same where the package does not look whether the client is still there, once it has the body."""
    departure: asyncio.Task[Message] | None = None

    async def watched() -> Message:
        nonlocal departure
        if departure is not None:
            return await asyncio.shield(departure)
        message = await receive()
        if not message.get("more_body"):
            departure = asyncio.create_task(_watching(exchange, receive)())
        return message

    try:
        await handle(scope, watched, send)
    finally:
        if departure is not None:
            departure.cancel()
