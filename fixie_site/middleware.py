"""What every request passes: an id for the logs, and (browsers only) cookies, CSRF and the rest of Django's."""

import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from asgiref.sync import async_to_sync, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from accounts.auth import bearer_of
from common.errors import InvalidRequest
from fixie_site.answers import error_response

Handler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class AsyncMiddleware:
    """Middleware of an ASGI-only site: no sync twin to keep equal."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)  # type: ignore[type-var]  # an object whose call is a coroutine


class RequestContext(AsyncMiddleware):
    """Binds `request_id` (the caller's X-Request-ID where it sends one) to the logs and echoes it.

    django-structlog does the same at the price of two thread hops a request.
    """

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")[:64] or uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = await self.get_response(request)
        response.headers["X-Request-ID"] = request_id
        return response


# Signed URLs speak for themselves; the others take a key in place of a cookie. Pages know no keys.
SIGNED = ("/attachment/",)
PROGRAMS = re.compile(r"/api/|(/agents/[^/]+/[^/]+)?/process(/|$)")
TAKES_KEYS = re.compile(rf"{PROGRAMS.pattern}|/graphql")


class BrowserMiddleware(AsyncMiddleware):
    """Django's usual chain (`settings.BROWSER_MIDDLEWARE`), for all but programs.

    Most of that chain is sync: left to Django it would change threads twice for each of its members. Here it
    runs as a whole in one thread, and a program with a key passes it by.
    """

    def __init__(self, get_response: Handler) -> None:
        super().__init__(get_response)
        self.view_hooks: list[Callable[..., HttpResponseBase | None]] = []
        chain: Any = async_to_sync(get_response)
        for path in reversed(settings.BROWSER_MIDDLEWARE):
            chain = import_string(path)(chain)
            if hook := getattr(chain, "process_view", None):
                self.view_hooks.insert(0, hook)
        self.chain: Handler = sync_to_async(chain)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _is_a_programs(request):
            return await self.get_response(request)
        return await self.chain(request)

    async def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase | None:
        if _is_a_programs(request):
            return None
        for hook in self.view_hooks:  # CSRF alone, which asks neither the network nor the database
            if (response := hook(request, view, args, kwargs)) is not None:
                return response
        return None


def _is_a_programs(request: HttpRequest) -> bool:
    """Whether no cookie counts for this request."""
    if request.path.startswith(SIGNED):
        return True
    return TAKES_KEYS.match(request.path) is not None and bearer_of(request) is not None


class ApiErrors(AsyncMiddleware):
    """Gives a 405 of the API the shape of its other errors; Django and django-ninja answer it in plain text."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        if response.status_code != 405 or not PROGRAMS.match(request.path):
            return response
        allowed = ", ".join(sorted(response.headers.get("Allow", "").split(", ")))
        error = InvalidRequest(f"{request.method} is not possible here, only {allowed}.", field="method")
        refusal = error_response(error)
        refusal.status_code = 405
        refusal.headers["Allow"] = allowed
        return refusal
