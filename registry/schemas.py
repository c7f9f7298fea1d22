"""What agents look like over REST."""

from dataclasses import asdict
from datetime import datetime
from typing import cast

from django.db.models import Q
from ninja import Field, Schema
from pydantic import ConfigDict

from common.handles import HANDLE
from registry.fields import DESCRIPTION_MAX, NAME_MAX, QUERIES_MAX, QUERY_MAX, URL_MAX, AgentFields, check_text
from registry.limits import remaining
from registry.liveness.health import health_of
from registry.models import Agent, AgentQuerySet, Revision
from registry.specs import queries_of

REVISIONS_SHOWN = 100
_HANDLE = Field(description=f"Letters, digits, - and _: `{HANDLE.pattern}`.")
_NAME = Field("", description=f"At most {NAME_MAX} characters.")
_DESCRIPTION = Field("", description=f"At most {DESCRIPTION_MAX} characters.")
_MORE_INFO = Field("", description="A http(s) address.")
_QUERIES: list[str] = Field(
    [], description=f"What it can be asked: at most {QUERIES_MAX} texts of {QUERY_MAX} characters."
)
_PROTOCOL = Field("", description="What it speaks: `fixie` or `agentscope`; empty: what is found at its address.")
_DEPLOYMENT = Field(None, description="Where the agent runs: a http(s) address.", max_length=URL_MAX)


class _Written(Schema):
    model_config = ConfigDict(extra="forbid")

    def agent_fields(self) -> AgentFields:
        """The agent's own fields among those that were sent."""
        sent = self.model_dump(exclude_unset=True, include=set(AgentFields.__annotations__))
        return cast(AgentFields, sent)


class NewAgent(_Written):
    owner: str | None = Field(None, description="You (the default), or an organization of yours.")
    handle: str = _HANDLE
    name: str = _NAME
    description: str = _DESCRIPTION
    more_info_url: str = _MORE_INFO
    queries: list[str] = _QUERIES
    published: bool = False
    protocol: str = _PROTOCOL
    deployment_url: str | None = _DEPLOYMENT


class AgentChanges(_Written):
    handle: str = Field("", description="A new handle; the agent's id changes with it.")
    name: str = _NAME
    description: str = _DESCRIPTION
    more_info_url: str = _MORE_INFO
    queries: list[str] = _QUERIES
    published: bool = False
    enabled: bool = Field(True, description="Nobody can ask an agent that is switched off.")
    protocol: str = _PROTOCOL
    deployment_url: str | None = _DEPLOYMENT


class AgentFilters(Schema):
    limit: int = Field(50, ge=1, le=100)
    after: str = Field("", description="The `next` of the page before.")
    owner: str = Field("", description="Only agents of this owner.")
    q: str = Field("", description="Only agents with this in their handle, name or description.")

    def apply(self, agents: AgentQuerySet) -> AgentQuerySet:
        """The agents asked for in order, one more than `limit`. Raises InvalidRequest naming the parameter."""
        agents = agents.in_order(after=check_text(self.after, field="after", limit=NAME_MAX))
        if self.owner:
            agents = agents.filter(owner__handle=check_text(self.owner, field="owner", limit=NAME_MAX))
        if self.q:
            text = check_text(self.q, field="q", limit=NAME_MAX)
            agents = agents.filter(Q(handle__icontains=text) | Q(name__icontains=text) | Q(description__icontains=text))
        return agents[: self.limit + 1]


class NewRevision(Schema):
    model_config = ConfigDict(extra="forbid")

    deployment_url: str = Field(description="Where the agent runs: a http(s) address.", max_length=URL_MAX)
    metadata: dict[str, str] = Field({}, description="Yours to remember: at most 50 short texts.")
    make_current: bool = Field(True, description="Whether it answers from now on.")


class RevisionOut(Schema):
    """One deployment. `url` and `metadata` are for owners only; `error` says why the manifest could not be used."""

    id: int
    current: bool
    state: str
    error: str
    deployment: str
    url: str | None
    transport: str
    metadata: dict[str, str] | None
    created: datetime


class LogEntry(Schema):
    """Lines that one process of an agent's program wrote to its standard error."""

    created: datetime
    process: str = Field(description="The machine, and the number of the process there.")
    text: str


class LogOut(Schema):
    """The newest of what an agent's programs wrote to their standard error, oldest first."""

    entries: list[LogEntry]


class HealthOut(Schema):
    """Whether it answers when it is looked at, every few minutes. `error` is for owners only."""

    healthy: bool
    last_alive: datetime | None = Field(description="The last proof of life.")
    error: str | None


class IndexOut(Schema):
    """How many of its sample queries the Router has by now. `error` says why the others are still missing."""

    done: int
    total: int
    error: str


class AgentOut(Schema):
    """An agent with its current revision; `queries` are examples of what it can be asked.

    `index` is for owners only; null before anything was to be indexed.
    """

    agent_id: str
    owner: str
    handle: str
    name: str
    description: str
    more_info_url: str
    published: bool
    enabled: bool = Field(description="Nobody can ask an agent that is switched off.")
    protocol: str = Field(description="What its owner says that it speaks; empty: what is found at its address.")
    capabilities: list[str] = Field(description="Types of tasks that it takes.")
    created: datetime
    modified: datetime
    queries: list[str]
    health: HealthOut
    index: IndexOut | None
    revision: RevisionOut | None


class RoomOut(Schema):
    """What is left of a limit of all users together. At `reset` it begins anew; null: with the next question."""

    limit: int
    used: int
    remaining: int
    reset: datetime | None


class ReportedOut(Schema):
    """What the agent said last of its own limits; null where it said nothing of that."""

    remaining_minute: int | None
    remaining_today: int | None
    reported: datetime


class LimitsOut(Schema):
    """Queries of a minute, queries and tokens of language models of a day (UTC); null: no such limit."""

    minute: RoomOut | None
    day: RoomOut | None
    tokens: RoomOut | None
    reported: ReportedOut | None


class AgentDetailOut(AgentOut):
    limits: LimitsOut


class AgentPage(Schema):
    agents: list[AgentOut]
    next: str | None


class RevisionPage(Schema):
    revisions: list[RevisionOut]


def agent_out(agent: Agent, *, mine: bool) -> AgentOut:
    """An agent loaded with its owner, current revision, liveness and index. No query."""
    revision = agent.current_revision
    return AgentOut(
        agent_id=agent.agent_id,
        owner=agent.owner.handle,
        handle=agent.handle,
        name=agent.name,
        description=agent.description,
        more_info_url=agent.more_info_url,
        published=agent.published,
        enabled=agent.enabled,
        protocol=agent.protocol,
        capabilities=agent.capabilities,
        created=agent.created,
        modified=agent.modified,
        queries=queries_of(agent),
        health=HealthOut(**asdict(health_of(agent, mine=mine))),
        index=_index_out(agent) if mine else None,
        revision=revision_out(revision, mine=mine, current=True) if revision else None,
    )


def agent_detail_out(agent: Agent, *, mine: bool) -> AgentDetailOut:
    """The same with what is left of its limits. At most three queries."""
    limits = LimitsOut(**asdict(remaining(agent)))
    return AgentDetailOut(**agent_out(agent, mine=mine).model_dump(), limits=limits)


def _index_out(agent: Agent) -> IndexOut | None:
    # Not by the attribute: of an agent that was made just now it would look for a row.
    row = Agent._meta.get_field("index").get_cached_value(agent, default=None)
    return None if row is None else IndexOut.from_orm(row)


def revision_out(revision: Revision, *, mine: bool, current: bool) -> RevisionOut:
    external = revision.deployment == Revision.Deployment.EXTERNAL
    return RevisionOut(
        id=revision.pk,
        current=current,
        state=revision.state,
        error=revision.error,
        deployment=revision.deployment,
        url=revision.target if mine and external else None,
        transport=revision.transport,
        metadata=revision.metadata if mine else None,
        created=revision.created,
    )


def agent_page(found: AgentQuerySet, limit: int, *, mine: set[int]) -> AgentPage:
    """The page of `found`, which holds one agent more than `limit` where there is a next page."""
    agents = list(found)
    shown = agents[:limit]
    return AgentPage(
        agents=[agent_out(agent, mine=agent.owner_id in mine) for agent in shown],
        next=shown[-1].agent_id if len(agents) > limit else None,
    )


def revision_page(agent: Agent, *, mine: bool) -> RevisionPage:
    newest = agent.revisions.defer("manifest").order_by("-pk")[:REVISIONS_SHOWN]
    current = agent.current_revision_id
    shown = [revision_out(revision, mine=mine, current=revision.pk == current) for revision in newest]
    return RevisionPage(revisions=shown)
