"""`/mcp` over HTTP: who calls, and the way to the MCP server, which is loaded with the first call."""

import asyncio
import importlib
import uuid
from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson
import structlog
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest

from accounts.auth import Caller, bearer_of, caller_with_key, user_of
from bridges.mcp.exchange import Exchange
from common.db import RETRYABLE, run_db
from common.errors import FixieError, InvalidRequest, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from bridges.mcp.app import App

PATH = "/mcp"
Message = Any

log = structlog.get_logger()

_loading = asyncio.Lock()
_app: "App | None" = None


async def serve(scope: Message, receive: Any, send: Any) -> None:
    """Any HTTP request to PATH."""
    send = _identified(scope, send)
    if scope["method"] != "POST":
        await _respond(send, 405, b"", [(b"allow", b"POST")])
        return
    try:
        exchange = await _exchange(scope)
    except FixieError as error:
        await _refuse(send, error)
        return
    await (await _server()).answer(exchange, scope, receive, send)


def _identified(scope: Message, send: Any) -> Any:
    """Binds the request's id to the logs, and sends it back, as everywhere on the site."""
    sent = dict(scope["headers"]).get(b"x-request-id", b"")[:64]
    request_id = sent or uuid.uuid4().hex.encode()
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id.decode("latin-1"))

    async def identified(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"x-request-id", request_id)]}
        await send(message)

    return identified


async def stop() -> None:
    """Ends what is being answered; the runs that work for it go on."""
    if _app is not None:
        await _app.stop()


async def _server() -> "App":
    global _app
    async with _loading:
        if _app is None:
            # Half a second, in which others are answered.
            module = await asyncio.to_thread(importlib.import_module, "bridges.mcp.app")
            app: App = module.App()
            await app.start()
            _app = app
        return _app


async def _exchange(scope: Message) -> Exchange:
    """Raises Unauthenticated, InvalidRequest where the address or the page is none of ours, Unavailable."""
    request = ASGIRequest(scope, BytesIO())
    _check_place(request)
    key = bearer_of(request)
    if key is None:
        raise Unauthenticated("Send an API key as `Authorization: Bearer KEY`.")
    caller: Caller = await caller_with_key(key)
    try:
        user = await run_db(user_of, caller)
    except RETRYABLE as error:
        log.warning("database_away", path=PATH, error=type(error).__name__)
        raise Unavailable("The database is away for a moment. Please try again.") from None
    return Exchange(caller, user, request.headers.get("Mcp-Session-Id", "")[:100])


def _check_place(request: ASGIRequest) -> None:
    """Against other people's pages that have this site's address given to their own name (DNS rebinding)."""
    try:
        ours = f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        raise InvalidRequest("This site has another address.", field="host") from None
    origin = request.headers.get("Origin")
    if origin is not None and origin not in (ours, settings.SITE_URL, *settings.CSRF_TRUSTED_ORIGINS):
        raise InvalidRequest("This page may not call agents here (its origin is another site).", field="origin")


async def _refuse(send: Any, error: FixieError) -> None:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": error.message, "data": error.as_dict()}}
    more = [(b"www-authenticate", b"Bearer")] if isinstance(error, Unauthenticated) else []
    await _respond(send, error.http_status, orjson.dumps(body), more)


async def _respond(send: Any, status: int, body: bytes, more: list[tuple[bytes, bytes]]) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
