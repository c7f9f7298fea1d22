"""Agents over REST: register, list, read, change, delete, refresh.

Asking an agent (`POST /api/agents/{owner}/{handle}`) is added to `agents_router` by `sessions_app.api`.
"""

from ninja import Query, Router

from accounts.auth import Authenticated, Caller, user_of
from accounts.models import User
from common.db import run_db
from common.errors import InvalidRequest
from registry import actions, completion
from registry.access import agent_for, agent_to_delete_for, own_agent_for, owners_of
from registry.fields import NAME_MAX, AgentFields, check_metadata, check_text
from registry.manifests.reading import address_to_read, read_address, refresh
from registry.models import Agent, Revision
from registry.schemas import (
    AgentChanges,
    AgentDetailOut,
    AgentFilters,
    AgentOut,
    AgentPage,
    NewAgent,
    NewRevision,
    RevisionOut,
    RevisionPage,
    agent_detail_out,
    agent_out,
    agent_page,
    revision_out,
    revision_page,
)

agents_router = Router()
# Not below `/api/agents`, where each word is the handle of an agent.
complete_router = Router()
refresh_router = Router()


@agents_router.get("", response=AgentPage)
def list_agents(request: Authenticated, filters: Query[AgentFilters]) -> AgentPage:
    """Published agents and your own, by `owner/handle`; `next` is the `after` of the following page."""
    user = user_of(request.auth)
    found = Agent.objects.visible_to(user).select_related("owner", "current_revision", "liveness", "index")
    return agent_page(filters.apply(found), filters.limit, mine=owners_of(user))


@agents_router.post("", response={201: AgentOut})
async def create_agent(request: Authenticated, payload: NewAgent) -> AgentOut:
    """Registers an agent. If its manifest cannot be read, its revision is in state `error` and says why."""
    user, draft = await run_db(_draft, request.auth, payload)
    url = payload.deployment_url
    read = await read_address(user.pk, draft.agent_id, url, protocol=draft.protocol) if url else None
    agent = await run_db(actions.create_agent, by=user, owner=payload.owner, reading=read, **payload.agent_fields())
    return agent_out(agent, mine=True)


@agents_router.get("/{owner}/{handle}", response=AgentDetailOut)
def read_agent(request: Authenticated, owner: str, handle: str) -> AgentDetailOut:
    """An agent, with what is left of its limits."""
    user = user_of(request.auth)
    agent = agent_for(user, owner, handle)
    return agent_detail_out(agent, mine=agent.owner_id in owners_of(user))


@agents_router.patch("/{owner}/{handle}", response=AgentOut)
async def update_agent(request: Authenticated, owner: str, handle: str, payload: AgentChanges) -> AgentOut:
    """Changes the fields you send; another `deployment_url` or `protocol` becomes a new current revision."""
    fields = payload.agent_fields()
    user, agent = await run_db(_to_change, request.auth, owner, handle, fields)
    url, agent_id = address_to_read(agent, fields, payload.deployment_url), f"{owner}/{fields.get('handle', handle)}"
    protocol = fields.get("protocol", agent.protocol)
    read = await read_address(user.pk, agent_id, url, protocol=protocol) if url else None
    agent = await run_db(actions.update_agent, agent=agent, by=user, reading=read, **fields)
    return agent_out(agent, mine=True)


@agents_router.delete("/{owner}/{handle}", response={204: None})
def delete_agent(request: Authenticated, owner: str, handle: str) -> None:
    """Deletes an agent: yours, or of an organization whose admin you are. Sessions keep what it said."""
    actions.delete_agent(agent=agent_to_delete_for(user_of(request.auth), owner, handle))


@agents_router.get("/{owner}/{handle}/revisions", response=RevisionPage)
def list_revisions(request: Authenticated, owner: str, handle: str) -> RevisionPage:
    """The 100 newest revisions, newest first."""
    user = user_of(request.auth)
    agent = agent_for(user, owner, handle)
    return revision_page(agent, mine=agent.owner_id in owners_of(user))


@agents_router.post("/{owner}/{handle}/revisions", response={201: RevisionOut})
async def add_revision(request: Authenticated, owner: str, handle: str, payload: NewRevision) -> RevisionOut:
    """Deploys the agent at another address. If its manifest cannot be read, the revision says why."""
    user, agent = await run_db(_to_change, request.auth, owner, handle, {})
    check_metadata(payload.metadata)
    read = await read_address(user.pk, agent.agent_id, payload.deployment_url, protocol=agent.protocol)
    revision = await run_db(
        actions.add_revision,
        agent=agent,
        by=user,
        reading=read,
        metadata=payload.metadata,
        current=payload.make_current,
    )
    return revision_out(revision, mine=True, current=payload.make_current)


@agents_router.put("/{owner}/{handle}/revisions/{revision}/current", response=AgentOut)
def set_current_revision(request: Authenticated, owner: str, handle: str, revision: int) -> AgentOut:
    """Lets another revision answer from now on: an older one to go back, a newer one to go on."""
    user = user_of(request.auth)
    agent = own_agent_for(user, owner, handle)
    return agent_out(actions.set_current_revision(agent=agent, revision=revision, by=user), mine=True)


@agents_router.delete("/{owner}/{handle}/revisions/{revision}", response={204: None})
def delete_revision(request: Authenticated, owner: str, handle: str, revision: int) -> None:
    """Deletes a revision. Without its current one an agent answers nothing until another is made current."""
    actions.delete_revision(agent=own_agent_for(user_of(request.auth), owner, handle), revision=revision)


@refresh_router.post("/{owner}/{handle}", response=AgentOut)
async def refresh_agent(request: Authenticated, owner: str, handle: str) -> AgentOut:
    """Reads the manifest now. Where that fails, answers why; a revision that works goes on serving."""
    user, revision = await run_db(_to_refresh, request.auth, owner, handle)
    await refresh(revision, user_id=user.pk)
    agent = await run_db(own_agent_for, user, owner, handle)
    return agent_out(agent, mine=True)


@complete_router.get("", response=list[completion.Completion], summary="Complete an agent's name")
async def complete(request: Authenticated, q: str = "") -> list[completion.Completion]:
    """At most 8 agents that you may ask: those whose handle, name or owner begins with `q`, then those that hold it."""
    return await completion.completions(request.auth, check_text(q.strip(), field="q", limit=NAME_MAX))


def _draft(caller: Caller, payload: NewAgent) -> tuple[User, Agent]:
    user = user_of(caller)
    return user, actions.draft_agent(by=user, owner=payload.owner, **payload.agent_fields())


def _to_change(caller: Caller, owner: str, handle: str, fields: AgentFields) -> tuple[User, Agent]:
    user = user_of(caller)
    agent = own_agent_for(user, owner, handle)
    actions.check_changes(agent, fields)
    return user, agent


def _to_refresh(caller: Caller, owner: str, handle: str) -> tuple[User, Revision]:
    user = user_of(caller)
    agent = own_agent_for(user, owner, handle)
    revision = agent.current_revision
    if revision is not None and revision.deployment == Revision.Deployment.COMMAND:
        raise InvalidRequest("It runs a program here; there is no manifest to read.", field="deployment_url")
    if revision is None or revision.deployment != Revision.Deployment.EXTERNAL:
        raise InvalidRequest("This agent has no address to read a manifest from.", field="deployment_url")
    revision.agent = agent
    return user, revision
