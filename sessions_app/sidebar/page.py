"""The sessions at the side of chat pages: for the script that lists them, and as plain links until it has come."""

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest

from accounts.models import User
from common.errors import InvalidRequest
from common.zones import zone_of
from sessions_app.sidebar.listing import Listing, by_days, listing


def sidebar(request: HttpRequest, user: User, *, current: str | None = None) -> dict[str, Any]:
    """What the template `sessions/shell.html` needs. `?archived` and `?after=` lead without a script to other pages."""
    archived = "archived" in request.GET
    found = _listing(user, archived=archived, after=request.GET.get("after"))
    return {
        "sidebar": {
            "archived": archived,
            "current": current,
            "pinned": found.pinned,
            "days": by_days(found.items, zone=zone_of(request)),
            "older": found.next,
        },
        "sidebar_data": {**asdict(found), "archived": archived, "current": current},
    }


def _listing(user: User, *, archived: bool, after: str | None) -> Listing:
    try:
        return listing(user, archived=archived, after=after)
    except InvalidRequest:  # an address that somebody wrote
        return listing(user, archived=archived)
