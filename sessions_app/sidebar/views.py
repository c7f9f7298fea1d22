"""Deleting a session on a page, and undoing that: plain forms, which the sidebar's script uses too."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.auth import Caller, user_of
from common.db import run_db
from common.errors import NotFound
from sessions_app.access import session_for
from sessions_app.sidebar import hiding
from sessions_app.sidebar.titles import title_now


@require_http_methods(["GET", "POST"])
@login_required
async def delete_session(request: HttpRequest, handle: str) -> HttpResponse:
    """Asks (GET) and deletes (POST), with a way back. What is deleted already stays so."""
    caller = await _caller(request)
    # Django keeps the tags with a message: `base.html` makes a form of the address that undoes it.
    undo = reverse("restore_session", args=[handle])
    try:
        if request.method == "GET":
            return await run_db(_ask, request, caller, handle)
        title = await run_db(title_now, await hiding.hide(caller, handle))
    except NotFound as error:
        if not await hiding.is_hidden(caller, handle):
            raise Http404(error.message) from None
        messages.info(request, _("This session is deleted already."), extra_tags=undo)
    else:
        messages.success(request, _("Deleted “%(title)s”.") % {"title": title}, extra_tags=undo)
    return redirect("home")


def _ask(request: HttpRequest, caller: Caller, handle: str) -> HttpResponse:
    session = session_for(user_of(caller), handle)
    return render(request, "sessions/delete.html", {"session": session, "title": title_now(session)})


@require_POST
@login_required
async def restore_session(request: HttpRequest, handle: str) -> HttpResponse:
    """Brings back a session that was deleted a short time ago, and goes there."""
    try:
        await hiding.restore(await _caller(request), handle)
    except NotFound:
        messages.error(request, _("This session is gone for good: it was deleted too long ago."))
        return redirect("home")
    return redirect("session", handle)


async def _caller(request: HttpRequest) -> Caller:
    user = await request.auser()
    assert user.pk is not None
    return Caller(user_id=user.pk, jti=None)
