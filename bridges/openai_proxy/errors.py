"""Errors in OpenAI's form, as the `openai` packages read them: `{"error": {"message", "type", "param", "code"}}`."""

from typing import Any

import orjson
from django.http import HttpResponse

from common.errors import FixieError

# OpenAI's own codes, where clients know them; everything else has ours.
CODES = {"unauthenticated": "invalid_api_key", "quota_exceeded": "insufficient_quota"}


class ProxyError(Exception):
    """A call that ends with an error. `may_retry` False keeps OpenAI's client from trying again at once."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: int | None = None,
        may_retry: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.may_retry = may_retry

    def document(self) -> dict[str, Any]:
        error = {"message": self.message, "type": self._type(), "param": self.param, "code": self.code}
        return {"error": error}

    def _type(self) -> str:
        if self.status >= 500:
            return "server_error"
        return "insufficient_quota" if self.status == 429 else "invalid_request_error"


def proxy_error(error: FixieError) -> ProxyError:
    """One of the site's own errors in OpenAI's form."""
    return ProxyError(
        error.http_status,
        error.message,
        code=CODES.get(error.code, error.code),
        param=error.details.get("field"),
        retry_after=error.details.get("retry_after"),
        may_retry=error.code != "quota_exceeded",  # tomorrow is further away than any client waits
    )


def error_response(error: ProxyError) -> HttpResponse:
    response = HttpResponse(orjson.dumps(error.document()), status=error.status, content_type="application/json")
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if not error.may_retry:
        response.headers["X-Should-Retry"] = "false"
    return response
