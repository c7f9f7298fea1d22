"""The page of an agent, and what its owners change there without asking the network."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from common.errors import FixieError, NotFound
from registry import actions
from registry.access import agent_for, agent_to_delete_for, own_agent_for
from registry.forms import Deletion, Details, Forms, Queries
from registry.models import Agent
from registry.pages.agent import agent_page
from registry.views.loading import done, found, reader_of, refused, user_of


@require_GET
@never_cache
def agent(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """An agent: what it is, and questions that begin a session with it. Guests see published ones."""
    reader = reader_of(request)
    try:
        return shown(request, found(agent_for, reader, owner, handle))
    except Http404:
        if reader is None:
            # It may be one of theirs.
            return redirect_to_login(request.get_full_path())
        raise


def shown(request: HttpRequest, agent: Agent, forms: Forms | None = None) -> HttpResponse:
    """The page of an agent. `forms` has one that was refused."""
    context = {"page": agent_page(agent, reader_of(request), forms)}
    return render(request, "agents/agent.html", context, status=400 if forms else 200)


@require_POST
@login_required
def change_queries(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Takes what the agent's owner says that it can be asked."""
    agent = found(own_agent_for, user_of(request), owner, handle)
    form = Queries(request.POST, agent=agent)
    if not form.is_valid():
        return shown(request, agent, Forms(queries=form))
    actions.update_agent(agent=agent, by=user_of(request), queries=form.cleaned_data["queries"])
    return done(request, _("Saved."), owner, handle)


@require_POST
@login_required
def change_details(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Takes the agent's texts, and who sees it."""
    agent = found(own_agent_for, user_of(request), owner, handle)
    form = Details(request.POST)
    if form.is_valid():
        try:
            actions.update_agent(agent=agent, by=user_of(request), **form.fields_of_agent())
        except FixieError as error:
            form.refuse(error)
        else:
            return done(request, _("Saved."), owner, handle)
    return shown(request, agent, Forms(details=form))


@require_POST
@login_required
def switch(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Switches the agent on or off: `enabled` is `on` or missing."""
    agent = found(own_agent_for, user_of(request), owner, handle)
    enabled = request.POST.get("enabled") == "on"
    actions.update_agent(agent=agent, by=user_of(request), enabled=enabled)
    words = _("%(agent)s is switched on.") if enabled else _("%(agent)s is switched off.")
    return done(request, words % {"agent": agent.agent_id}, owner, handle)


@require_POST
@login_required
def make_current(request: HttpRequest, owner: str, handle: str, revision: int) -> HttpResponse:
    """Lets another revision answer from now on."""
    agent = found(own_agent_for, user_of(request), owner, handle)
    try:
        actions.set_current_revision(agent=agent, revision=revision, by=user_of(request))
    except FixieError as error:
        return refused(request, error.told(), owner, handle)
    return done(request, _("Revision %(number)s answers from now on.") % {"number": revision}, owner, handle)


@require_http_methods(["GET", "POST"])
@login_required
def delete(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Asks for the agent's handle (GET), and deletes the agent where it was typed (POST)."""
    try:
        agent = agent_to_delete_for(user_of(request), owner, handle)
    except NotFound:
        if request.method == "GET":
            raise Http404 from None
        # Sent twice, or deleted by somebody else.
        messages.info(request, _("There is no such agent any more, or it is not yours to delete."))
        return redirect("agents")
    form = Deletion(request.POST if request.method == "POST" else None, handle=agent.handle)
    if not form.is_valid():
        status = 400 if form.is_bound else 200
        return render(request, "agents/delete.html", {"agent": agent, "form": form}, status=status)
    actions.delete_agent(agent=agent)
    messages.success(request, _("Deleted %(agent)s.") % {"agent": agent.agent_id})
    return redirect("agents")
