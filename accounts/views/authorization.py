"""`/authorize` and `/access/token`: a program asks in the browser, its user allows it, and it gets an API key."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.oauth2_backends import get_oauthlib_core
from oauth2_provider.settings import oauth2_settings

from accounts.actions import check_room_for_key
from accounts.models import User
from common.errors import InvalidRequest


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def authorize(request: HttpRequest) -> HttpResponse:
    """Asks the user (GET), and sends them back to the program with a code or with `error` (RFC 6749, section 4.1).

    The form carries only the answer; what was asked stands in the address and is checked both times. Where the
    program or the way back to it is unknown nobody is sent anywhere.
    """
    assert isinstance(request.user, User)
    core = get_oauthlib_core()
    try:
        scopes, asked = core.validate_authorization_request(request)
        check_room_for_key(request.user)
        if request.method == "GET":
            return _consent_page(request, asked)
        allow = "allow" in request.POST
        url, *_ = core.create_authorization_response(request, scopes, asked, allow)
    except FatalClientError as error:
        return render(request, "oauth/refused.html", {"reason": _reason(error)}, status=400)
    except OAuthToolkitError as error:
        return _back(error.oauthlib_error.in_uri(error.oauthlib_error.redirect_uri))
    except InvalidRequest as error:
        return render(request, "oauth/refused.html", {"full": error.told()}, status=400)
    return _back(url)


def _consent_page(request: HttpRequest, asked: dict[str, Any]) -> HttpResponse:
    back = urlsplit(asked["redirect_uri"])
    context = {
        "application": asked["request"].client,
        "back": f"{back.scheme}://{back.netloc}",
        "is_here": back.hostname in ("localhost", "127.0.0.1", "::1"),
    }
    return render(request, "oauth/consent.html", context)


def _reason(error: FatalClientError) -> str:
    return str(error.oauthlib_error.description).rstrip(".") or str(error.oauthlib_error.error)


def _back(url: str) -> HttpResponse:
    response: HttpResponse = OAuth2ResponseRedirect(url, oauth2_settings.ALLOWED_REDIRECT_URI_SCHEMES)
    return response


@csrf_exempt
@require_POST
@never_cache
def token(request: HttpRequest) -> HttpResponse:
    """Exchanges a code for a new API key: `{access_token, token_type, scope}`, or `{error, error_description}`.

    The key and the end of the code are one transaction, so that a code gives one key at most.
    """
    with transaction.atomic():
        _, headers, body, status = get_oauthlib_core().create_token_response(request)
    return HttpResponse(body, status=status, headers=headers)
