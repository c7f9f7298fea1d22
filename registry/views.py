"""The registry's pages: an agent, what its owners change there, and `/oauth`, where other services send users back to
for the agent that sent them there."""

import re
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import Truncator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.auth import Caller, caller_of, user_of
from accounts.models import User
from common.db import run_db
from common.errors import FixieError, InvalidRequest, NotFound, Unauthenticated
from registry import actions, corrections, oauth
from registry.access import agent_for, correction_to_delete_for, own_agent_for, suggestion_for
from registry.corpora.actions import reindex_corpora
from registry.forms import Queries
from registry.models import Agent
from registry.pages import agent_page
from registry.specs import AgentSpec

P = ParamSpec("P")
T = TypeVar("T")

WORDS_MAX = 2000
ERROR_CODE = re.compile(r"[a-z_]{1,40}")


@require_GET
@never_cache
@login_required
def agent(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """An agent: what it is, and questions that begin a session with it."""
    return _agent_page(request, _found(agent_for, request, owner, handle))


@require_POST
@login_required
def change_queries(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Takes what the agent's owner says that it can be asked."""
    found = _found(own_agent_for, request, owner, handle)
    form = Queries(request.POST, agent=found)
    if not form.is_valid():
        return _agent_page(request, found, form)
    actions.update_agent(agent=found, by=_user(request), queries=form.cleaned_data["queries"])
    return _done(request, "Saved.", owner, handle)


@require_POST
@login_required
def switch(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Switches the agent on or off: `enabled` is `on` or missing."""
    found = _found(own_agent_for, request, owner, handle)
    enabled = request.POST.get("enabled") == "on"
    actions.update_agent(agent=found, by=_user(request), enabled=enabled)
    return _done(request, f"{found.agent_id} is switched {'on' if enabled else 'off'}.", owner, handle)


@require_POST
@login_required
def accept_correction(request: HttpRequest, owner: str, handle: str, sample: int) -> HttpResponse:
    """Lets what somebody asked here, instead of elsewhere, route everybody's queries."""
    accepted = corrections.accept_correction(correction=_found(suggestion_for, request, owner, handle, sample))
    return _done(request, f"Accepted “{_short(accepted.text)}”.", owner, handle)


@require_POST
@login_required
def delete_correction(request: HttpRequest, owner: str, handle: str, sample: int) -> HttpResponse:
    """Deletes a correction: the reader's own, or any for who may change the agent."""
    correction, mine = _found(correction_to_delete_for, request, owner, handle, sample)
    if mine:
        corrections.dismiss_correction(correction=correction)
    else:
        corrections.forget_correction(correction=correction)
    return _done(request, f"“{_short(correction.text)}” no longer leads here.", owner, handle)


@require_POST
@login_required
def reindex(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Has the agent's documents read anew."""
    found = _found(own_agent_for, request, owner, handle)
    try:
        reindex_corpora(agent=found)
    except InvalidRequest as error:
        messages.error(request, error.message)
        return redirect("agent", owner, handle)
    return _done(request, "The documents are being read again.", owner, handle)


def _agent_page(request: HttpRequest, agent: Agent, form: Queries | None = None) -> HttpResponse:
    context = {"page": agent_page(agent, _user(request), form)}
    return render(request, "agents/agent.html", context, status=400 if form else 200)


def _found(load: Callable[Concatenate[User, P], T], request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `load` gives the signed-in user; the page "not found" where it raises NotFound."""
    try:
        return load(_user(request), *args, **kwargs)
    except NotFound as error:
        raise Http404(error.message) from None


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _done(request: HttpRequest, words: str, owner: str, handle: str) -> HttpResponse:
    messages.success(request, words)
    return redirect("agent", owner, handle)


def _short(text: str) -> str:
    return Truncator(" ".join(text.split())).chars(80)


@require_GET
@never_cache
async def oauth_return(request: HttpRequest) -> HttpResponse:
    """Hands `state` and `code` to the agent that `state` names, and shows what it says.

    The code is good once, and the agent checks that `state` is the one it gave this user, so that following a
    stranger's link changes nothing.
    """
    try:
        caller = await caller_of(request)
    except Unauthenticated:
        return redirect_to_login(request.get_full_path())
    state, spec = request.GET.get("state", ""), None
    try:
        spec = await run_db(_spec, caller, state)
        words = await oauth.hand_over(spec, user_id=caller.user_id, state=state, code=_code_in(request))
    except FixieError as error:
        return await run_db(_page, request, spec, error=error)
    return await run_db(_page, request, spec, words=words)


def _spec(caller: Caller, state: str) -> AgentSpec:
    return oauth.spec_for(user_of(caller), state)


def _code_in(request: HttpRequest) -> str:
    """The code to hand over. Raises InvalidRequest that says why there is none."""
    if error := request.GET.get("error"):
        # The rest of what the service says is left out: anybody may have written this address.
        known = error if ERROR_CODE.fullmatch(error) else "unknown"
        raise InvalidRequest(_refusal(known), field="error", value=known)
    if not (code := request.GET.get("code", "")):
        raise InvalidRequest("The address has no code in it.", field="code")
    return code


def _refusal(code: str) -> str:
    if code == "access_denied":
        return "You did not allow it there, so nothing has changed."
    return f"The other service refused: {code}."


def _page(
    request: HttpRequest, spec: AgentSpec | None, *, words: str = "", error: FixieError | None = None
) -> HttpResponse:
    context = {"agent_id": spec.agent_id if spec else None, "words": words.strip()[:WORDS_MAX], "error": error}
    return render(request, "oauth/outcome.html", context, status=error.http_status if error else 200)
