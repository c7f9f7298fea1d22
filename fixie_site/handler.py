"""Django's ASGI handler without a thread for requests that need none.

Django crosses to a thread twice for every request (signal `request_started`, then `response.close`), and makes that
thread anew each time. Here a request crosses only if something sync ran for it: a quarter of a small answer's cost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_finished
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from common.errors import PayloadTooLarge
from fixie_site.answers import error_response_at
from fixie_site.bodies import BoundedBody

Message = Any  # a mapping; servers, Django and channels each type it in their own way
Receive = Callable[[], Coroutine[Any, Any, Message]]
Send = Callable[[Message], Awaitable[None]]


class Handler(ASGIHandler):
    """Does not send `request_started`: its receivers drop stale database connections, of which a pool has none."""

    async def handle(self, scope: Message, receive: Any, send: Any) -> None:
        try:
            arriving = BoundedBody(scope, receive)
            body = await self.read_body(arriving)
        except RequestAborted:
            return
        except PayloadTooLarge as error:
            await self.send_response(_hung_up(scope["path"], error), send)
            return
        set_script_prefix(get_script_prefix(scope))
        request, refusal = self.create_request(arriving.scope(), body)
        if request is not None:
            response = None
            try:
                response = await self._until_disconnect(self._respond(request, send), receive)
            finally:
                await _close(response)
        elif refusal is not None:
            await self.send_response(refusal, send)
            refusal.close()
        body.close()

    async def _until_disconnect(
        self, responding: Coroutine[Any, Any, HttpResponseBase], receive: Receive
    ) -> HttpResponseBase | None:
        """The response, sent; None where the client left before there was one. Leaving cancels, as in Django."""
        response = asyncio.create_task(responding)
        departure = asyncio.create_task(receive())
        await asyncio.wait((response, departure), return_when=asyncio.FIRST_COMPLETED)
        departure.cancel()
        if not response.done():
            response.cancel()
        try:
            return await response
        except asyncio.CancelledError:
            return None

    async def _respond(self, request: HttpRequest, send: Send) -> HttpResponseBase:
        response: HttpResponseBase = await self.run_get_response(request)
        with suppress(asyncio.CancelledError):
            await self.send_response(response, send)
        return response


def _hung_up(path: str, error: PayloadTooLarge) -> HttpResponseBase:
    """Tells the server not to read on: what is left of the body may be gigabytes."""
    response = error_response_at(path, error)
    response.headers["Content-Length"] = str(len(response.content))
    response.headers["Connection"] = "close"
    return response


async def _close(response: HttpResponseBase | None) -> None:
    """Ends a request, which gives its database connection back to the pool.

    Not in the task that sends: a server reports the end of a response it has sent as the client's departure,
    and that cancels the task.
    """
    if _has_thread():
        await sync_to_async(_end)(response)
    else:
        _end(response)


def _end(response: HttpResponseBase | None) -> None:
    if response is None:
        request_finished.send(sender=Handler)
    else:
        response.close()


def _has_thread() -> bool:
    """Whether sync code has run in this request's thread, and may have left a connection there."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    return context in SyncToAsync.context_to_thread_executor
