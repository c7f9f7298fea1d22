"""While an operator acts as somebody else: what is not possible, what is logged, and the way back."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import structlog
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.sign_in_as import Acting, acting_in, acting_of, end
from common.db import run_db
from common.errors import NotFound
from fixie_site.answers import error_response
from fixie_site.middleware import PROGRAMS

# What makes or changes credentials, gives the account away or deletes it; and the admin, whose log is to name who acts.
FORBIDDEN = (
    *("/account", "/accounts/", "/admin/", "/api/keys", "/api/organizations", "/api/users/"),
    *("/authorize", "/access/", "/oauth", "/graphql"),
)
READING = ("GET", "HEAD", "OPTIONS")
LOGOUT = "/accounts/logout/"
ALLOWED = ("/account/usage", "/api/users/me/quota")
CLOSED = 1000

log = structlog.get_logger()


class ActingAs:
    """Of `settings.BROWSER_MIDDLEWARE`, after those of sessions, users and messages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        acting = acting_of(request)
        if acting is None:
            return self.get_response(request)
        if not acting.is_good():
            return _back(request)
        if request.path == LOGOUT and request.method == "POST":
            return _back(request)
        if is_forbidden(request.path):
            return _refusal(request)
        return self._noted(request, acting)

    def _noted(self, request: HttpRequest, acting: Acting) -> HttpResponseBase:
        structlog.contextvars.bind_contextvars(user=acting.user, operator=acting.operator)
        if request.method not in READING:
            log.info("acting", method=request.method, path=request.path)
        return self.get_response(request)


def is_forbidden(path: str) -> bool:
    """Whether nobody does this in somebody else's name."""
    return path.startswith(FORBIDDEN) and not path.startswith(ALLOWED)


def _refusal(request: HttpRequest) -> HttpResponseBase:
    if PROGRAMS.match(request.path) or request.path.startswith("/graphql"):
        return error_response(NotFound("This is not possible while you act as somebody else."))
    return render(request, "acting/refused.html", status=403)


@require_POST
def end_acting(request: HttpRequest) -> HttpResponseBase:
    """The button of the banner. A second time it does nothing."""
    return _back(request)


def _back(request: HttpRequest) -> HttpResponseBase:
    was = acting_of(request)
    operator = end(request)
    if operator is None:
        return redirect("home")
    messages.success(request, _("You are back in your own account."))
    assert was is not None
    return redirect("admin:accounts_user_change", was.user)


def sockets(app: Any) -> Any:
    """An ASGI application of sockets, behind channels' sessions, with the same bounds, also of time."""

    async def bounded(scope: Any, receive: Any, send: Any) -> None:
        acting = acting_in(scope.get("session"))
        if acting is None:
            await app(scope, receive, send)
        elif is_forbidden(scope["path"]) or not await run_db(acting.is_good):
            await send({"type": "websocket.close"})
        else:
            structlog.contextvars.bind_contextvars(user=acting.user, operator=acting.operator)
            await app(scope, _receiving(acting, receive, send), send)

    return bounded


def _receiving(acting: Acting, receive: Any, send: Any) -> Callable[[], Awaitable[Any]]:
    """`receive` of an open socket: it is closed when the time is over, and instead of hearing who may no more."""

    async def received() -> Any:
        with suppress(TimeoutError):
            async with asyncio.timeout(acting.until - time.time()):
                message = await receive()
            if message["type"] != "websocket.receive" or await run_db(acting.is_good):
                return message
        await send({"type": "websocket.close"})
        return {"type": "websocket.disconnect", "code": CLOSED}

    return received
