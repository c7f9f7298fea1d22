"""The sample queries of agents over GraphQL, and the corrections among them."""

from dataclasses import asdict

import strawberry

from accounts.graphql import Context, Info, Limit, check_limit, number_of
from accounts.models import User
from common.db import run_db
from common.errors import InvalidRequest
from registry.access import agent_for, correction_to_delete_for, owners_of, suggestion_for
from registry.corrections import remembering
from registry.graphql import names_of
from registry.models import SampleQuery

# What a list gives that is asked for no number.
SAMPLES = 100


@strawberry.type(description="Something that leads queries like it to the agent.")
class SampleQueryType:
    id: strawberry.ID
    agent_id: str = strawberry.field(description="owner/handle")
    text: str
    suggested: bool = strawberry.field(description="Of one user only, until an owner of the agent accepts it.")
    yours: bool = strawberry.field(description="You made this correction.")
    source: str | None = strawberry.field(description="Of your own, and told to those who may change the agent.")
    clash: str | None = strawberry.field(
        description="Another agent that says it answers this too; told to those who may change the agent."
    )


@strawberry.type
class SampleQueryPayload:
    sample_query: SampleQueryType


@strawberry.type
class Query:
    @strawberry.field(
        description="What counts for everybody, and your own corrections; those who may change the agent also see what"
        " others suggest. `suggested` gives only these, or only the others; `after` is the last id of the page before."
    )
    async def sample_queries(
        self,
        info: Info,
        agent_id: str,
        suggested: bool | None = None,
        limit: Limit = SAMPLES,
        after: str = "",
    ) -> list[SampleQueryType]:
        return await run_db(_samples, info.context, agent_id, suggested, check_limit(limit), _after(after))

    @strawberry.field(description="Your own corrections, at all agents; `after` is the last id of the page before.")
    async def corrections(self, info: Info, limit: Limit = SAMPLES, after: str = "") -> list[SampleQueryType]:
        return await run_db(_corrections, info.context, check_limit(limit), _after(after))


@strawberry.type
class Mutation:
    @strawberry.mutation(description="Lets a suggestion lead everybody's queries to an agent that you may change.")
    async def accept_correction(
        self, info: Info, agent_handle: str, sample_query_id: strawberry.ID
    ) -> SampleQueryPayload | None:
        return await run_db(_accept, info.context, agent_handle, sample_query_id)

    @strawberry.mutation(
        description="Deletes a correction of yours; or any of an agent that you may change, suggested or accepted."
    )
    async def delete_correction(
        self, info: Info, agent_handle: str, sample_query_id: strawberry.ID
    ) -> SampleQueryPayload | None:
        return await run_db(_delete, info.context, agent_handle, sample_query_id)


def _samples(context: Context, name: str, suggested: bool | None, limit: int, after: int) -> list[SampleQueryType]:
    user = context.user()
    agent = agent_for(user, *names_of(user, name))
    mine = agent.owner_id in owners_of(user)
    samples = remembering.samples_for(agent, None if mine else user, suggested=suggested)
    found = samples.filter(pk__gt=after).order_by("pk")[:limit]
    return [_out(sample, user, agent.agent_id, mine=mine) for sample in found]


def _corrections(context: Context, limit: int, after: int) -> list[SampleQueryType]:
    user = context.user()
    own = owners_of(user)
    found = remembering.corrections_of(user).filter(pk__gt=after).order_by("pk")[:limit]
    return [_out(sample, user, sample.agent.agent_id, mine=sample.agent.owner_id in own) for sample in found]


def _accept(context: Context, name: str, sample: str) -> SampleQueryPayload:
    user = context.user()
    owner, handle = names_of(user, name)
    suggestion = suggestion_for(user, owner, handle, number_of(sample) or 0)
    accepted = remembering.accept_correction(correction=suggestion)
    return SampleQueryPayload(sample_query=_out(accepted, user, f"{owner}/{handle}", mine=True))


def _delete(context: Context, name: str, sample: str) -> SampleQueryPayload:
    user = context.user()
    owner, handle = names_of(user, name)
    correction, mine = correction_to_delete_for(user, owner, handle, number_of(sample) or 0)
    deleted = SampleQueryPayload(sample_query=_out(correction, user, f"{owner}/{handle}", mine=mine))
    if mine:
        remembering.dismiss_correction(correction=correction)
    else:
        remembering.forget_correction(correction=correction)
    return deleted


def _after(last: str) -> int:
    number = number_of(last or "0")
    if number is None:
        raise InvalidRequest("after must be the id of a sample query.", field="after")
    return number


def _out(sample: SampleQuery, user: User, agent: str, *, mine: bool) -> SampleQueryType:
    fields = asdict(remembering.told(sample, user, mine=mine))
    return SampleQueryType(**{**fields, "id": strawberry.ID(str(sample.pk)), "agent_id": agent})
