"""Agents and their revisions over GraphQL: the documents of the published client, and a little more."""

import enum
from datetime import datetime
from typing import Annotated, Any

import strawberry
import strawberry_django
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from strawberry import auto

from accounts.graphql import BEHIND, PAGE, Context, Info, Limit, OwnerType, behind, check_limit
from accounts.models import Organization, User
from common.db import run_db
from registry.access import owners_of
from registry.corpora.graphql import IndexedCorpusType, corpora_of
from registry.fields import NAME_MAX, check_text
from registry.limits import Remaining, remaining_of
from registry.liveness.graphql import HealthType, health_of
from registry.lookup import find_agent
from registry.models import Agent, AgentIndex, Revision
from registry.specs import QUERIES_SHOWN, queries_in, queries_of

REVISIONS = 100


@strawberry.enum(description="What an uploaded package is written for.")
class ManagedEnvironment(enum.Enum):
    PYTHON = "PYTHON"
    NODEJS = "NODEJS"


@strawberry.type(description="An agent that runs somewhere on the network.")
class ExternalDeployment:
    url: str | None = strawberry.field(description="Told to those who may change the agent; others read null.")


@strawberry.type(description="An agent that the platform would run. No revision has one: uploads are not supported.")
class ManagedDeployment:
    environment: ManagedEnvironment


@strawberry.type
class RevisionMetadataKeyValuePair:
    key: str
    value: str


@strawberry.type(description="What is left of a limit of all users together.")
class RoomType:
    limit: int
    used: int
    remaining: int
    reset: datetime | None = strawberry.field(description="When it begins anew; null: with the next question.")


@strawberry.type(description="What an agent said last of its own limits.")
class ReportedLimitsType:
    remaining_minute: int | None
    remaining_today: int | None
    reported: datetime


@strawberry.type(description="What is left of an agent's limits; null where it has no such limit.")
class LimitsType:
    minute: RoomType | None = strawberry.field(description="Queries of a minute.")
    day: RoomType | None = strawberry.field(description="Queries of a day (UTC).")
    tokens: RoomType | None = strawberry.field(description="Tokens of language models of a day (UTC).")
    reported: ReportedLimitsType | None


@strawberry_django.type(AgentIndex, description="How many of an agent's sample queries the Router has by now.")
class IndexType:
    done: auto
    total: auto
    error: str = strawberry.field(description="Why the others are still missing.")


Deployment = Annotated[ExternalDeployment | ManagedDeployment, strawberry.union("Deployment")]


@strawberry_django.type(Revision, description="One deployment of an agent.")
class RevisionType:
    """Its `agent` is loaded, with what `AgentType` needs."""

    created: auto
    state: str = strawberry.field(description="ready or error.")
    error: str = strawberry.field(description="Why the manifest could not be used.")

    @strawberry.field
    def id(self, root: strawberry.Parent[Revision]) -> strawberry.ID:
        return strawberry.ID(str(root.pk))

    @strawberry.field(description="Whether it answers queries now.")
    def is_current(self, root: strawberry.Parent[Revision]) -> bool:
        return root.agent.current_revision_id == root.pk

    @strawberry.field(description="Empty for who may not change the agent.")
    async def indexed_corpora(self, root: strawberry.Parent[Revision], info: Info) -> list[IndexedCorpusType]:
        if not await _may_change(root.agent, info):
            return []
        return await info.context.load(corpora_of, root.pk)

    @strawberry.field(description="Null where the agent runs on the site's own machine.")
    async def deployment(self, root: strawberry.Parent[Revision], info: Info) -> Deployment | None:
        if root.deployment != Revision.Deployment.EXTERNAL:
            return None
        return ExternalDeployment(url=root.target if await _may_change(root.agent, info) else None)

    @strawberry.field(description="What the client that deployed it noted; null for who may not change it.")
    async def metadata(
        self, root: strawberry.Parent[Revision], info: Info
    ) -> list[RevisionMetadataKeyValuePair] | None:
        if not await _may_change(root.agent, info):
            return None
        return [RevisionMetadataKeyValuePair(key=key, value=value) for key, value in root.metadata.items()]


async def _address(root: strawberry.Parent[Agent], info: Info) -> str | None:
    revision = root.current_revision
    if revision is None or revision.deployment != Revision.Deployment.EXTERNAL:
        return None
    return revision.target if await _may_change(root, info) else None


def _address_field(description: str) -> Any:
    return strawberry.field(resolver=_address, description=description)


@strawberry_django.type(Agent, description="A named capability.")
class AgentType:
    """Loaded with its owner, those behind it (`BEHIND`) and its current revision."""

    handle: auto
    name: auto
    description: auto
    published: auto
    enabled: bool = strawberry_django.field(description="Nobody can ask an agent that is switched off.")
    protocol: str = strawberry_django.field(
        description="What its owner says that it speaks: fixie or agentscope; empty: what is found at its address."
    )
    capabilities: list[str] = strawberry_django.field(description="Types of tasks that it takes.")
    created: auto
    modified: auto

    @strawberry.field(description="owner/handle")
    def agent_id(self, root: strawberry.Parent[Agent]) -> str:
        return root.agent_id

    @strawberry.field(description="Examples of what it can be asked.")
    async def queries(self, root: strawberry.Parent[Agent], info: Info) -> list[str]:
        revision = root.current_revision
        if revision is not None and "manifest" in revision.get_deferred_fields():
            return [*root.queries, *await info.context.load(_queries, revision.pk)][:QUERIES_SHOWN]
        return queries_of(root)

    @strawberry.field
    def more_info_url(self, root: strawberry.Parent[Agent]) -> str | None:
        return root.more_info_url or None

    @strawberry.field(graphql_type=OwnerType | None, description="Null where its owner is gone.")
    def owner(self, root: strawberry.Parent[Agent]) -> User | Organization | None:
        return behind(root.owner)

    @strawberry.field
    async def health(self, root: strawberry.Parent[Agent], info: Info) -> HealthType:
        return await info.context.load(health_of, (root.pk, await _may_change(root, info)))

    @strawberry.field(graphql_type=LimitsType)
    async def limits(self, root: strawberry.Parent[Agent], info: Info) -> Remaining:
        return await info.context.load(_limits, root)

    @strawberry.field(graphql_type=IndexType | None, description="Null for those who may not change the agent.")
    async def index(self, root: strawberry.Parent[Agent], info: Info) -> AgentIndex | None:
        return await info.context.load(_indexes, root.pk) if await _may_change(root, info) else None

    query_url: str | None = _address_field("Where it runs; told to those who may change the agent.")
    func_url: str | None = _address_field("The same as queryUrl.")

    @strawberry.field(graphql_type=RevisionType | None)
    def current_revision(self, root: strawberry.Parent[Agent]) -> Revision | None:
        if root.current_revision is not None:
            root.current_revision.agent = root
        return root.current_revision

    @strawberry.field(graphql_type=list[RevisionType], description="Newest first.")
    async def all_revisions(
        self, root: strawberry.Parent[Agent], info: Info, limit: Limit = REVISIONS
    ) -> list[Revision]:
        found = await info.context.load(_newest_revisions, (root.pk, check_limit(limit)))
        for revision in found:
            revision.agent = root
        return found


async def _may_change(agent: Agent, info: Info) -> bool:
    return await info.context.load(_are_own, agent.owner_id)


def _are_own(context: Context, owners: list[int]) -> list[bool]:
    own = owners_of(context.user())
    return [owner in own for owner in owners]


def _queries(context: Context, revisions: list[int]) -> list[list[str]]:
    manifests = Revision.objects.filter(pk__in=revisions).values_list("pk", "manifest")
    found = {pk: queries_in(manifest) for pk, manifest in manifests.iterator(chunk_size=20)}
    return [found.get(revision, []) for revision in revisions]


def _limits(context: Context, agents: list[Agent]) -> list[Remaining]:
    return remaining_of(agents)


def _indexes(context: Context, agents: list[int]) -> list[AgentIndex | None]:
    found = AgentIndex.objects.in_bulk(agents)
    return [found.get(agent) for agent in agents]


def _newest_revisions(context: Context, keys: list[tuple[int, int]]) -> list[list[Revision]]:
    """For each (agent, limit) that many revisions, newest first, without their manifests."""
    newest = Window(RowNumber(), partition_by=F("agent_id"), order_by=F("pk").desc())
    ranked = Revision.objects.filter(agent__in={agent for agent, _ in keys}).annotate(rank=newest)
    found: dict[int, list[Revision]] = {}
    for revision in ranked.filter(rank__lte=max(limit for _, limit in keys)).defer("manifest").order_by("-pk"):
        found.setdefault(revision.agent_id, []).append(revision)
    return [found.get(agent, [])[:limit] for agent, limit in keys]


@strawberry.type
class Query:
    @strawberry.field(graphql_type=AgentType | None, description="Null where there is none, or none for you to see.")
    async def agent_by_id(self, info: Info, agent_id: str) -> Agent | None:
        found = await find_agent(info.context.caller, agent_id)
        if found is None:
            return None
        agent, own = found
        info.context.remember(_are_own, agent.owner_id, own)
        return agent

    @strawberry.field(
        graphql_type=list[AgentType],
        description="Published agents and your own by their ids; `after` is the last id of the page before.",
    )
    async def all_agents(self, info: Info, limit: Limit = PAGE, after: str = "") -> list[Agent]:
        return await run_db(_all_agents, info.context, check_limit(limit), after)


def names_of(user: User, agent: str) -> tuple[str, str]:
    """Owner and handle of `"owner/handle"`, or of `"handle"`, which is the user's own."""
    owner, _, handle = agent.rpartition("/")
    return owner or user.username, handle


def _all_agents(context: Context, limit: int, after: str) -> list[Agent]:
    visible = Agent.objects.visible_to(context.user()).select_related("owner", "current_revision", *BEHIND)
    agents = visible.in_order(after=check_text(after, field="after", limit=NAME_MAX))
    return list(agents.defer("current_revision__manifest")[:limit])
