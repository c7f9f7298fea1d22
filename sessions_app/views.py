"""The pages: sessions of a user, and the chat of one of them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
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
from sessions_app.sidebar.page import sidebar

# Where the question of somebody who is signed out waits, in the browser's session on the site, and how long it may be.
QUESTION = "question"
QUESTION_MAX = 10_000
AGENT_MAX = 101


@require_GET
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    """Who is signed out is told what this is; who is signed in may begin a session.

    `?text=` and `?agent=` fill in the form. A question that was asked before signing in is asked now, by the page.
    """
    if not isinstance(request.user, User):
        context = {"starters": pages.starters_for(None), "question_max": QUESTION_MAX}
        return render(request, "home/welcome.html", context)
    waiting = request.session.pop(QUESTION, None)
    initial = waiting or {name: request.GET.get(name, "").replace("\0", "") for name in ("agent", "text")}
    form = NewSession(user=request.user, initial=initial)
    return _start_page(request, request.user, form, ask=waiting is not None and not form.problem)


def _start_page(
    request: HttpRequest, user: User, form: NewSession, *, status: int = 200, ask: bool = False
) -> HttpResponse:
    data = {**pages.composer_data(user), "user": user.pk, "ask": ask}
    context = {"form": form, "starters": pages.starters_for(user), "start_data": data}
    context |= sidebar(request, user)
    return render(request, "home/sessions.html", context, status=status)


@require_http_methods(["GET", "POST"])
async def new_session(request: HttpRequest) -> HttpResponse:
    """Begins a session, asks its first question if there is one, and goes there.

    The question of somebody who is signed out waits until they have signed up or in, and is asked then.
    """
    user = await request.auser()
    if request.method == "GET":  # a reload after an error
        return redirect("home")
    if not isinstance(user, User):
        return await run_db(_keep_question, request)
    form, valid = await run_db(_checked_form, request, user)
    if not valid:
        return await run_db(_start_page, request, user, form, status=400)
    try:
        handle = await _begin(user, form.cleaned_data["agent"], form.cleaned_data["text"])
    except FixieError as error:
        form.add_error("text", error.told())
        return await run_db(_start_page, request, user, form, status=error.http_status)
    return redirect("session", handle)


def _keep_question(request: HttpRequest) -> HttpResponse:
    text, agent = request.POST.get("text", ""), request.POST.get("agent", "")
    if text.strip():
        request.session[QUESTION] = {"text": text[:QUESTION_MAX].replace("\0", ""), "agent": agent[:AGENT_MAX]}
        messages.info(request, _("Your question is kept: it will be asked as soon as you are signed in."))
    return redirect(f"{reverse('account_signup')}?next={reverse('home')}")


def _checked_form(request: HttpRequest, user: User) -> tuple[NewSession, bool]:
    form = NewSession(request.POST, user=user)
    return form, form.is_valid()


async def _begin(user: User, agent: Agent | None, text: str) -> str:
    """The handle of a new session in which `text` has been asked. Raises FixieErrors; then there is no session."""
    if not text.strip():
        return (await run_db(actions.create_session, user=user, agent=agent)).handle
    return (await posting.begin(Caller(user_id=user.pk, jti=None), text, front=agent)).session


@require_GET
@never_cache
@login_required
def session(request: HttpRequest, handle: str) -> HttpResponse:
    """The chat."""
    found = _session_of(request, handle)
    data = pages.page_data(found)
    context = {"session": found, "title": data["title"], "page_data": data}
    context |= sidebar(request, found.owner, current=handle)
    return render(request, "sessions/session.html", context)


def _session_of(request: HttpRequest, handle: str) -> Session:
    assert isinstance(request.user, User)
    try:
        return session_for(request.user, handle)
    except NotFound as error:
        raise Http404(error.message) from None
