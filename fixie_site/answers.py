"""Errors as HTTP answers."""

import orjson
from django.http import HttpResponse

from common.errors import FixieError, RateLimited


def error_response(error: FixieError) -> HttpResponse:
    """`{"error": {"code", "message", "retryable", "details"}}` with the error's status."""
    response = HttpResponse(
        orjson.dumps({"error": error.as_dict()}, default=str),
        status=error.http_status,
        content_type="application/json",
    )
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.details.get("retry_after", 1))
    if error.http_status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
