"""Addresses of the admin that can lead nowhere: Django's lists look for what is in them as it is."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render


class NoNull:
    """Of `settings.BROWSER_MIDDLEWARE`. No text here has a NUL character, and PostgreSQL refuses to look for one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith("/admin/") and ("\0" in request.path or "%00" in request.META["QUERY_STRING"]):
            return render(request, "404.html", status=404)
        return self.get_response(request)
