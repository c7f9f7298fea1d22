"""The pages: sessions of a user, and the chat of one of them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.auth import Caller
from accounts.models import User
from common.db import run_db
from common.errors import FixieError, NotFound
from registry.models import Agent
from sessions_app import actions, pages, posting
from sessions_app.access import session_for
from sessions_app.forms import NewSession
from sessions_app.models import Session


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Who is signed out is told what this is; who is signed in finds their sessions."""
    if not isinstance(request.user, User):
        return render(request, "home/welcome.html")
    return _sessions_page(request, request.user, NewSession(user=request.user))


def _sessions_page(request: HttpRequest, user: User, form: NewSession, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "starters": pages.starters_for(user),
        "sessions": pages.sessions_of(user, after=request.GET.get("after")),
    }
    return render(request, "home/sessions.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
async def new_session(request: HttpRequest) -> HttpResponse:
    """Begins a session, asks its first question if there is one, and goes there."""
    if request.method == "GET":  # a reload after an error, or the way back from signing in
        return redirect("home")
    user = await request.auser()
    assert isinstance(user, User)
    form, valid = await run_db(_checked_form, request, user)
    if not valid:
        return await run_db(_sessions_page, request, user, form, 400)
    try:
        session = await _begin(user, form.cleaned_data["agent"], form.cleaned_data["text"])
    except FixieError as error:
        form.add_error("text", error.message)
        return await run_db(_sessions_page, request, user, form, error.http_status)
    return redirect("session", session.handle)


def _checked_form(request: HttpRequest, user: User) -> tuple[NewSession, bool]:
    form = NewSession(request.POST, user=user)
    return form, form.is_valid()


async def _begin(user: User, agent: Agent | None, text: str) -> Session:
    """A new session in which `text` has been asked. Raises FixieErrors; then no session is left behind."""
    session = await run_db(actions.create_session, user=user, agent=agent)
    if text.strip():
        try:
            await posting.post(Caller(user_id=user.pk, jti=None), session.handle, text)
        except FixieError:
            await run_db(actions.delete_session, session=session)
            raise
    return session


@require_GET
@never_cache
@login_required
def session(request: HttpRequest, handle: str) -> HttpResponse:
    """The chat."""
    found = _session_of(request, handle)
    context = {"session": found, "title": pages.title_of(found), "page_data": pages.page_data(found)}
    return render(request, "sessions/session.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def delete_session(request: HttpRequest, handle: str) -> HttpResponse:
    """Asks (GET) and deletes (POST). The pages' own dialog asks without a page of its own."""
    found = _session_of(request, handle)
    title = pages.title_of(found)
    if request.method == "GET":
        return render(request, "sessions/delete.html", {"session": found, "title": title})
    actions.delete_session(session=found)
    messages.success(request, f"Deleted “{title}”.")
    return redirect("home")


def _session_of(request: HttpRequest, handle: str) -> Session:
    assert isinstance(request.user, User)
    try:
        return session_for(request.user, handle)
    except NotFound as error:
        raise Http404(error.message) from None
