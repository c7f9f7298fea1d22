"""The root of the REST API: one router an app, and the one place where errors become HTTP answers."""

from typing import Any

import orjson
import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from accounts.api import keys_router, organizations_router, users_router
from accounts.auth import CallerAuth
from common.db import RETRYABLE
from common.errors import FixieError, InvalidRequest, NotFound, PayloadTooLarge, Unavailable
from embeds.api import embeds_router
from fixie_site.answers import error_response
from registry.api import agents_router, complete_router, refresh_router
from registry.corpora.api import corpora_router
from registry.corrections.api import samples_router
from registry.log_api import log_router
from registry.manifests.api import preview_router
from registry.routing.api import route_router
from registry.usage.api import agent_usage_router, usage_router
from sessions_app.api import runs_router, sessions_router
from sessions_app.conversation_api import conversation_router
from sessions_app.sidebar.api import listing_router
from storage_kv.api import storage_router

log = structlog.get_logger()


class OrjsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        return orjson.loads(request.body)


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return orjson.dumps(data, default=str)


api = NinjaAPI(
    title="Fixie",
    version="1",
    description="Agents, sessions and runs. Send `Authorization: Bearer KEY`.",
    auth=CallerAuth(),
    parser=OrjsonParser(),
    renderer=OrjsonRenderer(),
)
api.add_router("/agents", agents_router, tags=["agents"])
api.add_router("/preview", preview_router, tags=["agents"])
api.add_router("/complete", complete_router, tags=["agents"])
api.add_router("/agents", agent_usage_router, tags=["usage"])
api.add_router("/agents", samples_router, tags=["agents"])
api.add_router("/agents", corpora_router, tags=["corpora"])
api.add_router("/agents", log_router, tags=["agents"])
api.add_router("/usage", usage_router, tags=["usage"])
api.add_router("/refresh", refresh_router, tags=["agents"])
api.add_router("/route", route_router, tags=["agents"])
api.add_router("/sessions", listing_router, tags=["sessions"])
api.add_router("/sessions", sessions_router, tags=["sessions"])
api.add_router("/sessions", conversation_router, tags=["sessions"])
api.add_router("/runs", runs_router, tags=["sessions"])
api.add_router("/keys", keys_router, tags=["keys"])
api.add_router("/users", users_router, tags=["usage"])
api.add_router("/organizations", organizations_router, tags=["organizations"])
api.add_router("/embeds", embeds_router, tags=["embeds"])
api.add_router("/userstorage", storage_router, tags=["user storage"])


@api.exception_handler(FixieError)
def on_fixie_error(request: HttpRequest, error: FixieError) -> HttpResponse:
    return error_response(error)


@api.exception_handler(ValidationError)
def on_validation_error(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0]
    # ("body", "payload", "message", "text") → "message.text": the caller knows nothing of our parameter names.
    place = [str(part) for part in first["loc"]]
    field = ".".join(place[2:] or place[-1:])
    return error_response(InvalidRequest(f"{field}: {first['msg']}.", field=field, problems=len(error.errors)))


@api.exception_handler(Http404)
def on_missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return error_response(NotFound("There is nothing here."))


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # django-ninja's own: all it raises is that a body cannot be parsed.
    return error_response(InvalidRequest("The body is not JSON.", field="body"))


def on_database_away(request: HttpRequest, error: Any) -> HttpResponse:
    log.warning("database_away", path=request.path, error=type(error).__name__)
    return error_response(Unavailable("The database is away for a moment. Please try again."))


for away in RETRYABLE:
    api.add_exception_handler(away, on_database_away)


@api.exception_handler(RequestDataTooBig)
def on_large_body(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return error_response(PayloadTooLarge(f"A body may have {limit} bytes.", field="body", limit=limit))


@api.exception_handler(Exception)
def on_bug(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("unhandled_error", path=request.path, exc_info=error)
    return error_response(FixieError("Something went wrong on our side; it has been logged."))


def unknown_address(request: HttpRequest) -> HttpResponse:
    """What no operation has the address of."""
    return error_response(NotFound(f"There is no {request.path}. The API is described at /api/docs."))
