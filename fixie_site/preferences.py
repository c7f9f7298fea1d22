"""How a browser is shown the site: in which language and in which colours. Kept in cookies, for guests too."""

from collections.abc import Iterable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.cache import patch_response_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language_from_request, override
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import JavaScriptCatalog

THEMES = ("system", "light", "dark")
THEME_COOKIE = "theme"
YEAR = 365 * 24 * 3600
CATALOG_SECONDS = 600

_catalog = JavaScriptCatalog.as_view(domain="djangojs", packages=["fixie_site"])


@require_safe
def texts(request: HttpRequest, language: str) -> HttpResponseBase:
    """The texts of the site's scripts in a language, as a script. Its address names the language, so it may be kept."""
    with override(language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE):
        response = _catalog(request)
    patch_response_headers(response, CATALOG_SECONDS)
    return response


@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Takes `language` and `theme`, each of which may be left out, and goes back to `next`."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    response = redirect(target if safe else "home")
    for cookie, value, known in (
        (settings.LANGUAGE_COOKIE_NAME, request.POST.get("language"), dict(settings.LANGUAGES)),
        (THEME_COOKIE, request.POST.get("theme"), THEMES),
    ):
        if value is not None and value in known:
            response.set_cookie(cookie, value, max_age=YEAR, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
    return response


def language_of_socket(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The language that a browser wants, which opens a socket with these headers."""
    given = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    request = HttpRequest()
    request.COOKIES = parse_cookie(given.get("cookie", ""))
    request.META = {"HTTP_ACCEPT_LANGUAGE": given.get("accept-language", "")}
    return get_language_from_request(request)


def theme(request: HttpRequest) -> dict[str, str]:
    """For templates: `theme`, of `THEMES`."""
    chosen = request.COOKIES.get(THEME_COOKIE)
    return {"theme": chosen if chosen in THEMES else THEMES[0]}
