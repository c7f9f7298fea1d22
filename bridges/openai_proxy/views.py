"""`/api/openai-proxy/v1/…`: who calls, what they may use, and the answer."""

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from bridges.openai_proxy.access import payer_of
from bridges.openai_proxy.errors import ProxyError, error_response, proxy_error
from bridges.openai_proxy.relay import relay
from bridges.openai_proxy.requests import asked
from common.db import RETRYABLE
from common.errors import FixieError

log = structlog.get_logger()


@csrf_exempt  # cookies mean nothing here
async def proxy(request: HttpRequest, path: str) -> HttpResponseBase:
    """Any call to the proxy; whatever goes wrong is told in OpenAI's form."""
    try:
        return await _answer(request, path)
    except ProxyError as error:
        return error_response(error)
    except FixieError as error:
        return error_response(proxy_error(error))
    except RETRYABLE as error:
        log.warning("database_away", path=request.path, error=type(error).__name__)
        return error_response(ProxyError(503, "The database is away for a moment. Please try again."))
    except Exception as error:
        log.error("unhandled_error", path=request.path, exc_info=error)
        return error_response(ProxyError(500, "Something went wrong on our side; it has been logged."))


async def _answer(request: HttpRequest, path: str) -> HttpResponseBase:
    payer = await payer_of(request, spends=request.method == "POST")
    call = asked(request, path)
    if not settings.LLM_BASE_URL:
        message = "No language model is configured on this site."
        raise ProxyError(503, message, code="model_unavailable", may_retry=False)
    return await relay(call, payer)
