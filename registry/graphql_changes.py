"""What changes agents and their revisions over GraphQL."""

from typing import Annotated

import strawberry
from django.db import transaction
from strawberry.file_uploads import Upload

from accounts.graphql import BEHIND, Context, Info, number_of
from accounts.models import User
from common.db import run_db
from common.errors import InvalidRequest, NotFound, NotSupported
from registry import actions
from registry.access import agent_to_delete_for, own_agent_for
from registry.fields import URL_MAX, AgentFields, check_metadata, check_text
from registry.graphql import AgentType, ManagedEnvironment, RevisionType, names_of
from registry.manifests.reading import address_to_read, read_address
from registry.models import Agent


@strawberry.input
class AgentTexts:
    name: str | None = None
    description: str | None = None
    more_info_url: str | None = None
    queries: list[str] | None = strawberry.field(default=None, description="What it can be asked.")
    published: bool | None = None
    protocol: str | None = strawberry.field(
        default=None, description="What it speaks: fixie or agentscope; empty: what is found at its address."
    )
    query_url: str | None = strawberry.field(default=None, description="Where the agent runs.")
    func_url: str | None = strawberry.field(default=None, description="The same as queryUrl, by its older name.")


@strawberry.input
class CreateAgentInput(AgentTexts):
    handle: str = strawberry.field(description="A handle of your own, or owner/handle of an organization of yours.")


@strawberry.input(description="What is missing or null stays as it is.")
class UpdateAgentInput(AgentTexts):
    handle: str = strawberry.field(description="A handle of your own, or owner/handle of an organization of yours.")
    new_handle: str | None = None
    enabled: bool | None = strawberry.field(default=None, description="Whether it can be asked.")
    current_revision_id: strawberry.ID | None = None


@strawberry.input
class DeleteAgentInput:
    owner: str
    handle: str


@strawberry.input
class RevisionMetadataKeyValuePairInput:
    key: str
    value: str


@strawberry.input
class ExternalDeploymentInput:
    url: str


@strawberry.input(description="Refused: the platform does not run uploaded packages.")
class ManagedDeploymentInput:
    environment: ManagedEnvironment
    code_package: Upload


@strawberry.input(description="Exactly one of the deployments is given.")
class AgentRevisionInput:
    metadata: list[RevisionMetadataKeyValuePairInput] = strawberry.field(default_factory=list)
    external_deployment: ExternalDeploymentInput | None = None
    managed_deployment: ManagedDeploymentInput | None = None


@strawberry.type
class AgentPayload:
    agent: AgentType


@strawberry.type
class RevisionPayload:
    revision: RevisionType


@strawberry.type
class Mutation:
    @strawberry.mutation(description="Where the manifest cannot be read, the agent's revision says why.")
    async def create_agent(self, info: Info, agent_data: CreateAgentInput) -> AgentPayload | None:
        fields, url = _fields(agent_data), _address(agent_data)
        user, draft = await run_db(_draft, info.context, agent_data.handle, fields)
        reading = await _read(user, draft.agent_id, url, draft.protocol)
        return await run_db(_create, user, draft, fields, reading)

    @strawberry.mutation(description="Changes what is given. Another address becomes a new current revision.")
    async def update_agent(self, info: Info, agent_data: UpdateAgentInput) -> AgentPayload | None:
        fields, url = _fields(agent_data), _address(agent_data)
        if agent_data.new_handle is not None:
            fields["handle"] = agent_data.new_handle
        if agent_data.enabled is not None:
            fields["enabled"] = agent_data.enabled
        revision = agent_data.current_revision_id
        if url is not None and revision is not None:
            raise InvalidRequest("Give an address or the id of a revision, not both.", field="currentRevisionId")
        user, agent = await run_db(_to_change, info.context, agent_data.handle, fields)
        url = address_to_read(agent, fields, url)
        agent_id = f"{agent.owner.handle}/{fields.get('handle', agent.handle)}"
        reading = await _read(user, agent_id, url, fields.get("protocol", agent.protocol))
        return await run_db(_change, user, agent, fields, reading, revision)

    @strawberry.mutation(description="Your own, or an organization's whose admin you are. Sessions keep what it said.")
    async def delete_agent(self, info: Info, agent_data: DeleteAgentInput) -> AgentPayload | None:
        return await run_db(_delete, info.context, agent_data)

    @strawberry.mutation(description="Where the manifest cannot be read, the revision says why.")
    async def create_agent_revision(
        self,
        info: Info,
        agent_handle: str,
        revision: AgentRevisionInput,
        make_current: bool = True,
        reindex_corpora: Annotated[
            bool, strawberry.argument(description="Reads corpora that are the same as before anew, too.")
        ] = False,
    ) -> RevisionPayload | None:
        user, agent = await run_db(_to_change, info.context, agent_handle, {})
        metadata, url = _metadata(revision.metadata), _deployment_url(revision)
        reading = await read_address(user.pk, agent.agent_id, url, protocol=agent.protocol, field="url")
        return await run_db(_add_revision, user, agent, reading, metadata, make_current, reindex_corpora)

    @strawberry.mutation(description="Without its current revision an agent answers nothing.")
    async def delete_agent_revision(
        self, info: Info, agent_handle: str, revision_id: strawberry.ID
    ) -> AgentPayload | None:
        return await run_db(_delete_revision, info.context, agent_handle, revision_id)


def _own(context: Context, name: str) -> tuple[User, Agent]:
    """The agent with this name, if the caller may change it. Raises NotFound."""
    user = context.user()
    return user, own_agent_for(user, *names_of(user, name), *BEHIND)


def _fields(texts: AgentTexts) -> AgentFields:
    """What is given of an agent's texts."""
    fields: AgentFields = {}
    if texts.name is not None:
        fields["name"] = texts.name
    if texts.description is not None:
        fields["description"] = texts.description
    if texts.more_info_url is not None:
        fields["more_info_url"] = texts.more_info_url
    if texts.queries is not None:
        fields["queries"] = texts.queries
    if texts.published is not None:
        fields["published"] = texts.published
    if texts.protocol is not None:
        fields["protocol"] = texts.protocol
    return fields


def _address(texts: AgentTexts) -> str | None:
    """Where the agent is to run, if that is said. Raises InvalidRequest where two places are named."""
    url = texts.func_url or texts.query_url
    if texts.query_url and texts.query_url != url:
        raise InvalidRequest("queryUrl and funcUrl name one place; give one of them.", field="queryUrl")
    return url and check_text(url, field="queryUrl", limit=URL_MAX)


async def _read(user: User, agent_id: str, url: str | None, protocol: str) -> actions.Reading | None:
    return await read_address(user.pk, agent_id, url, protocol=protocol, field="queryUrl") if url else None


def _draft(context: Context, name: str, fields: AgentFields) -> tuple[User, Agent]:
    user = context.user()
    owner, fields["handle"] = names_of(user, name)
    return user, actions.draft_agent(by=user, owner=owner, **fields)


def _create(user: User, draft: Agent, fields: AgentFields, reading: actions.Reading | None) -> AgentPayload:
    agent = actions.create_agent(by=user, owner=draft.owner.handle, reading=reading, **fields)
    return _payload(user, agent)


def _to_change(context: Context, name: str, fields: AgentFields) -> tuple[User, Agent]:
    user, agent = _own(context, name)
    actions.check_changes(agent, fields)
    return user, agent


def _change(
    user: User, agent: Agent, fields: AgentFields, reading: actions.Reading | None, revision: str | None
) -> AgentPayload:
    with transaction.atomic():
        changed = actions.update_agent(agent=agent, by=user, reading=reading, **fields)
        if revision is not None:
            actions.set_current_revision(agent=changed, revision=_number(revision), by=user)
    return _payload(user, changed)


def _delete(context: Context, data: DeleteAgentInput) -> AgentPayload:
    agent = agent_to_delete_for(context.user(), data.owner, data.handle, *BEHIND)
    actions.delete_agent(agent=agent)
    return AgentPayload(agent=agent)  # type: ignore[arg-type]


def _delete_revision(context: Context, name: str, revision: str) -> AgentPayload:
    user, agent = _own(context, name)
    return _payload(user, actions.delete_revision(agent=agent, revision=_number(revision)))


def _add_revision(
    user: User, agent: Agent, reading: actions.Reading, metadata: dict[str, str], current: bool, reindex: bool
) -> RevisionPayload:
    made = actions.add_revision(
        agent=agent, by=user, reading=reading, metadata=metadata, current=current, reindex=reindex
    )
    made.agent = _again(user, made.agent)
    return RevisionPayload(revision=made)  # type: ignore[arg-type]


def _again(user: User, agent: Agent) -> Agent:
    """A changed agent, as `AgentType` needs it."""
    return own_agent_for(user, agent.owner.handle, agent.handle, *BEHIND)


def _payload(user: User, agent: Agent) -> AgentPayload:
    return AgentPayload(agent=_again(user, agent))  # type: ignore[arg-type]


def _number(revision: str) -> int:
    """The primary key behind an id. Raises NotFound."""
    number = number_of(revision)
    if number is None:
        raise NotFound("The agent has no such revision.", field="revision")
    return number


def _metadata(pairs: list[RevisionMetadataKeyValuePairInput]) -> dict[str, str]:
    metadata = {pair.key: pair.value for pair in pairs}
    if len(metadata) < len(pairs):
        raise InvalidRequest("A key of metadata stands there twice.", field="metadata.key")
    check_metadata(metadata)
    return metadata


def _deployment_url(revision: AgentRevisionInput) -> str:
    """Raises InvalidRequest unless there is exactly one deployment, NotSupported where it is an upload."""
    external, managed = revision.external_deployment, revision.managed_deployment
    if (external is None) == (managed is None):
        raise InvalidRequest("A revision has one of externalDeployment and managedDeployment.", field="revision")
    if external is None:
        raise NotSupported(
            "This site does not run uploaded packages. Serve the agent yourself, and deploy it with its address: "
            "`deployment_url` in agent.yaml.",
            field="managedDeployment",
        )
    return check_text(external.url, field="url", limit=URL_MAX)
