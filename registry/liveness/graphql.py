"""Whether agents answer, over GraphQL."""

from dataclasses import asdict
from datetime import datetime

import strawberry

from accounts.graphql import Context
from registry.liveness.health import health_in
from registry.models import Liveness


@strawberry.type(description="Whether an agent answers when it is looked at, every few minutes.")
class HealthType:
    healthy: bool
    last_alive: datetime | None = strawberry.field(description="The last proof of life.")
    error: str | None = strawberry.field(description="Of the last check; told to those who may change the agent.")


def health_of(context: Context, agents: list[tuple[int, bool]]) -> list[HealthType]:
    """That of each agent, by its id and whether the caller may change it."""
    found = Liveness.objects.in_bulk([agent for agent, _ in agents])
    return [HealthType(**asdict(health_in(found.get(agent), mine=mine))) for agent, mine in agents]
