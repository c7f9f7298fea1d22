"""The yardstick: a bare async view on stock Django, without middleware and without this site's faster handler."""

from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpRequest, JsonResponse
from django.test.utils import override_settings
from django.urls import path

from fixie_site.handler import Handler


async def small(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "alive"})


urlpatterns = [path("yardstick", small), path("yardstick/site", small)]


class BareRequest(ASGIRequest):
    """Finds its view here, and not among the site's addresses."""

    urlconf = __name__


class StockHandler(ASGIHandler):
    request_class = BareRequest


class SiteHandler(Handler):
    request_class = BareRequest


def stock() -> ASGIHandler:
    """Django's own handler, which reads the list of middleware only while it is made."""
    with override_settings(MIDDLEWARE=[]):
        return StockHandler()


def on_the_site() -> ASGIHandler:
    """The site's handler with all of its middleware: what the same view would cost as a part of the site."""
    return SiteHandler()
