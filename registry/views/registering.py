"""Registering an agent, and deploying one elsewhere: what asks the agent itself for its manifest."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from common.db import run_db
from common.errors import FixieError, InvalidRequest
from registry import actions
from registry.access import own_agent_for
from registry.forms import Address, Forms, NewAgent
from registry.manifests.reading import read_address, refresh
from registry.models import Agent, Revision
from registry.views.agent import shown
from registry.views.loading import auser_of, done, found, refused


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
async def new_agent(request: HttpRequest) -> HttpResponse:
    """The form that registers an agent. One whose manifest cannot be used is registered when that is said twice."""
    user = await auser_of(request)
    form = await run_db(_new_form, request, user)
    if not form.is_valid():
        return await run_db(_form_page, request, form)
    try:
        agent = await _registered(user, form)
    except FixieError as error:
        form.refuse(error)
        return await run_db(_form_page, request, form)
    words = _("%(agent)s is registered.") % {"agent": agent.agent_id}
    return await run_db(done, request, words, agent.owner.handle, agent.handle)


def _new_form(request: HttpRequest, user: User) -> NewAgent:
    if request.method == "POST":
        return NewAgent(request.POST, user=user)
    return NewAgent(user=user, initial={"deployment_url": request.GET.get("url", "")})


def _form_page(request: HttpRequest, form: NewAgent) -> HttpResponse:
    return render(request, "agents/new.html", {"form": form}, status=400 if form.is_bound else 200)


async def _registered(user: User, form: NewAgent) -> Agent:
    """The new agent. Raises FixieError, also where its manifest cannot be used and nobody said to go on."""
    url, fields, owner = form.cleaned_data["deployment_url"], form.fields_of_agent(), form.cleaned_data["owner"]
    draft = await run_db(actions.draft_agent, by=user, owner=owner, **fields)
    reading = await read_address(user.pk, draft.agent_id, url) if url else None
    if reading is not None and isinstance(reading.result, FixieError) and not form.cleaned_data["anyway"]:
        form.may_go_on = True
        raise InvalidRequest(reading.result.message, field="deployment_url")
    return await run_db(actions.create_agent, by=user, owner=owner, reading=reading, **fields)


@require_POST
@login_required
async def change_address(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Deploys the agent at another address. One that cannot be used changes nothing."""
    user = await auser_of(request)
    agent = await run_db(found, own_agent_for, user, owner, handle)
    form = Address(request.POST)
    if form.is_valid():
        try:
            await _move(user, agent, form.cleaned_data["deployment_url"])
        except FixieError as error:
            form.refuse(error)
        else:
            return await run_db(done, request, _("It answers at its new address from now on."), owner, handle)
    return await run_db(shown, request, agent, Forms(address=form))


async def _move(user: User, agent: Agent, url: str) -> None:
    reading = await read_address(user.pk, agent.agent_id, url, protocol=agent.protocol)
    if isinstance(reading.result, FixieError):
        raise InvalidRequest(reading.result.message, field="deployment_url")
    await run_db(actions.update_agent, agent=agent, by=user, reading=reading)


@require_POST
@login_required
async def read_again(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Reads the manifest of the agent's current revision now."""
    user = await auser_of(request)
    agent = await run_db(found, own_agent_for, user, owner, handle)
    revision = agent.current_revision
    if revision is None or revision.deployment != Revision.Deployment.EXTERNAL:
        return await run_db(refused, request, _("It has no address to read a manifest from."), owner, handle)
    revision.agent = agent
    try:
        current = await refresh(revision, user_id=user.pk)
    except FixieError as error:
        return await run_db(refused, request, error.told(), owner, handle)
    words = _("Nothing has changed at its address.")
    if current.pk != revision.pk:
        words = _("It has changed: revision %(number)s answers now.") % {"number": current.pk}
    return await run_db(done, request, words, owner, handle)
