"""Errors as HTTP answers."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

import orjson
import structlog
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from bridges.openai_proxy import errors
from common.db import RETRYABLE
from common.errors import FixieError, RateLimited, Unavailable, VersionConflict

log = structlog.get_logger()

P = ParamSpec("P")
Answering = Coroutine[Any, Any, HttpResponseBase]


def with_errors(view: Callable[P, Answering]) -> Callable[P, Answering]:
    """A view outside of the REST API, whose errors become answers as they do there."""

    @wraps(view)
    async def answered(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return await view(*args, **kwargs)
        except FixieError as error:
            return error_response(error)
        except RETRYABLE as error:
            log.warning("database_away", error=type(error).__name__)
            return error_response(Unavailable("The database is away for a moment. Please try again."))
        except Exception as error:
            log.error("unhandled_error", exc_info=error)
            return error_response(FixieError("Something went wrong on our side; it has been logged."))

    return answered


def error_response_at(path: str, error: FixieError) -> HttpResponse:
    """`error_response`, or the form in which the clients of `path` read errors."""
    if path.startswith("/api/openai-proxy/"):
        return errors.error_response(errors.proxy_error(error))
    return error_response(error)


def error_response(error: FixieError) -> HttpResponse:
    """`{"error": {"code", "message", "retryable", "details"}}` with the error's status."""
    response = HttpResponse(
        orjson.dumps({"error": error.as_dict()}, default=str),
        status=error.http_status,
        content_type="application/json",
    )
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.details.get("retry_after", 1))
    if isinstance(error, VersionConflict) and error.details.get("etag"):
        response.headers["ETag"] = error.details["etag"]
    if error.http_status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
