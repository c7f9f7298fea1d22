"""The time zone of a reader: their browser tells it in a cookie (`static/js/page.js`)."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from django.http import HttpRequest

COOKIE = "timezone"


def zone_of(request: HttpRequest) -> tzinfo:
    """The reader's zone; UTC where it is not known."""
    try:
        return ZoneInfo(request.COOKIES.get(COOKIE, "").replace("%2F", "/"))
    except (ValueError, OSError, KeyError):  # no name of a zone
        return UTC
