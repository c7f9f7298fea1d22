"""What callers send: read, bounded, and put into the form in which the language model server gets it."""

from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest

from bridges.openai_proxy.errors import ProxyError

STREAMED = ("chat/completions", "completions")
POSTED = (*STREAMED, "embeddings")
MODELS = "models"

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as the server gets it: `body` is None for a GET.

    `added_usage` tells that we asked for the stream's usage where the caller did not.
    """

    method: str
    path: str
    body: Body | None = None
    added_usage: bool = False

    def without_usage(self) -> "Asked":
        """The call as the caller made it."""
        body = dict(self.body or {})
        options = {name: value for name, value in body.pop("stream_options").items() if name != "include_usage"}
        return Asked(self.method, self.path, {**body, "stream_options": options} if options else body)


def asked(request: HttpRequest, path: str) -> Asked:
    """The call to `path` (what follows `/v1/`). Raises ProxyError: 400, 404 or 413."""
    if request.method == "GET" and (path == MODELS or path.startswith(f"{MODELS}/")):
        _check_model_path(path)
        return Asked("GET", path)
    if request.method != "POST" or path not in POSTED:
        raise ProxyError(404, f"There is no {request.method} /v1/{path[:200]} here.", code="unknown_url")
    body = _body(request)
    check_model(body.get("model"))
    return _asking_for_usage(path, body)


def check_model(model: Any) -> None:
    """Raises ProxyError for a model that the site does not let agents use (LLM_PROXY_MODELS)."""
    allowed = settings.LLM_PROXY_MODELS
    if not isinstance(model, str):
        raise ProxyError(400, "model must be the name of a model.", code="invalid_request", param="model")
    if allowed and model not in allowed:
        raise ProxyError(404, f"There is no model {model[:200]} here.", code="model_not_found", param="model")


def _check_model_path(path: str) -> None:
    model = path.removeprefix(MODELS).removeprefix("/")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise ProxyError(404, "There is no such model.", code="model_not_found", param="model")
    if model:
        check_model(model)


def _body(request: HttpRequest) -> Body:
    limit = settings.OPENAI_PROXY_MAX_BYTES
    # `request.body` has another limit.
    content = request.read(limit + 1)
    if len(content) > limit:
        raise ProxyError(413, f"A body may have {limit} bytes.", code="payload_too_large", param="body")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise ProxyError(400, "The body is not JSON.", code="invalid_request", param="body") from None
    if not isinstance(body, dict):
        raise ProxyError(400, "The body must be a JSON object.", code="invalid_request", param="body")
    return body


def _asking_for_usage(path: str, body: Body) -> Asked:
    options = body.get("stream_options") or {}
    if path not in STREAMED or body.get("stream") is not True or not isinstance(options, dict):
        return Asked("POST", path, body)
    if options.get("include_usage") is True:
        return Asked("POST", path, body)
    return Asked("POST", path, {**body, "stream_options": {**options, "include_usage": True}}, added_usage=True)
