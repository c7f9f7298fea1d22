"""While an operator acts as somebody else: what is not possible, what is logged, and the way back."""

from collections.abc import Callable

import structlog
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.sign_in_as import Acting, acting_of, end
from common.errors import NotFound
from fixie_site.answers import error_response
from fixie_site.middleware import PROGRAMS

# What makes or changes credentials, gives the account away or deletes it; and the admin, whose log is to name who acts.
FORBIDDEN = (
    *("/account", "/accounts/", "/admin/", "/api/keys", "/api/organizations", "/api/users/"),
    *("/authorize", "/access/", "/oauth", "/graphql"),
)
READING = ("GET", "HEAD", "OPTIONS")
LOGOUT = "/accounts/logout/"
ALLOWED = ("/account/usage", "/api/users/me/quota")
# Pages follow sessions by sockets, which end with this; a stream would go on.
ENDLESS = "/events"

log = structlog.get_logger()


class ActingAs:
    """Of `settings.BROWSER_MIDDLEWARE`, after those of sessions, users and messages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        acting = acting_of(request)
        if acting is None:
            return self.get_response(request)
        if not acting.is_good():
            return _back(request)
        if request.path == LOGOUT and request.method == "POST":
            return _back(request)
        if is_forbidden(request.path):
            return _refusal(request)
        return self._noted(request, acting)

    def _noted(self, request: HttpRequest, acting: Acting) -> HttpResponseBase:
        structlog.contextvars.bind_contextvars(user=acting.user, operator=acting.operator)
        if request.method not in READING:
            log.info("acting", method=request.method, path=request.path)
        return self.get_response(request)


def is_forbidden(path: str) -> bool:
    """Whether nobody does this in somebody else's name."""
    return (path.startswith(FORBIDDEN) and not path.startswith(ALLOWED)) or path.endswith(ENDLESS)


def _refusal(request: HttpRequest) -> HttpResponseBase:
    if PROGRAMS.match(request.path) or request.path.startswith("/graphql"):
        return error_response(NotFound("This is not possible while you act as somebody else."))
    return render(request, "acting/refused.html", status=403)


@require_POST
def end_acting(request: HttpRequest) -> HttpResponseBase:
    """The button of the banner. A second time it does nothing."""
    return _back(request)


def _back(request: HttpRequest) -> HttpResponseBase:
    was = acting_of(request)
    operator = end(request)
    if operator is None:
        return redirect("home")
    messages.success(request, _("You are back in your own account."))
    assert was is not None
    return redirect("admin:accounts_user_change", was.user)
