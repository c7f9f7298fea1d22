"""The pages of shared conversations, for whoever has a link and for whom it belongs to; and exported files."""

from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from common.db import run_db
from common.errors import FixieError, NotFound
from sessions_app.access import session_for
from sessions_app.models import Session
from sessions_app.sharing import exporting, links
from sessions_app.sidebar.titles import title_now

# The address is the secret: it goes into no index, no cache, and no request to another site. (Under `no-referrer`
# browsers would also keep from this site where its own forms come from, and it would refuse them.)
HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"}


def _guarded(response: HttpResponse) -> HttpResponse:
    for name, value in HEADERS.items():
        response.headers[name] = value
    return response


@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """A conversation as its owner shares it, to read."""
    try:
        link = links.followed(token)
    except NotFound:
        return _guarded(render(request, "shared/gone.html", status=404))
    context: dict[str, Any] = {
        "link": link,
        "title": title_now(link.session),
        "page_data": asdict(links.shared_page(link)),
        "is_mine": link.session.owner_id == request.user.pk,
    }
    return _guarded(render(request, "shared/shared.html", context))


@require_GET
def shared_messages(request: HttpRequest, token: str) -> HttpResponse:
    """The messages after number `since`, as JSON."""
    since = request.GET.get("since", "")
    try:
        page = links.shared_page(
            links.followed(token), since=int(since) if since.isdecimal() and len(since) < 10 else 0
        )
    except NotFound as error:
        return _guarded(JsonResponse({"error": error.as_dict()}, status=404))
    return _guarded(JsonResponse(asdict(page)))


@require_http_methods(["GET", "POST"])
def continue_shared(request: HttpRequest, token: str) -> HttpResponse:
    """Copies what the link shows into a session of the reader's own, and goes there."""
    if request.method == "GET" or not isinstance(request.user, User):
        return redirect("shared", token)
    try:
        session = links.continue_shared(link=links.followed(token), user=request.user)
    except NotFound:
        return _guarded(render(request, "shared/gone.html", status=404))
    except FixieError as error:
        messages.error(request, error.told())
        return redirect("shared", token)
    return redirect("session", session.handle)


@require_GET
@never_cache
@login_required
def shared_links(request: HttpRequest) -> HttpResponse:
    """What the user shares, each with a way to stop."""
    assert isinstance(request.user, User)
    return render(request, "shared/links.html", {"links": links.links_of(request.user)})


@require_POST
@login_required
def revoke_link(request: HttpRequest, handle: str) -> HttpResponse:
    """Stops sharing a session; done twice, it is done."""
    assert isinstance(request.user, User)
    links.revoke_link(session=_session_of(request.user, handle))
    messages.success(request, _("The link no longer works."))
    return redirect("shared_links")


@require_GET
@login_required
async def export_session(request: HttpRequest, handle: str, kind: str) -> HttpResponseBase:
    """A session of the user's own as a file."""
    user = await request.auser()
    assert isinstance(user, User)
    session, title = await run_db(_titled, user, handle)
    return exporting.download(session, title, kind)


def _titled(user: User, handle: str) -> tuple[Session, str]:
    session = _session_of(user, handle)
    return session, title_now(session)


def _session_of(user: User, handle: str) -> Session:
    try:
        return session_for(user, handle)
    except NotFound as error:
        raise Http404(error.message) from None
