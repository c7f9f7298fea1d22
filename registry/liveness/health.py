"""What people are told of whether an agent answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from registry.models import Agent, Liveness


@dataclass(frozen=True, slots=True)
class Health:
    """`error`, what the last check met, is told to those who may change the agent; others read None."""

    healthy: bool
    last_alive: datetime | None
    error: str | None


def health_of(agent: Agent, *, mine: bool) -> Health:
    """That of an agent loaded with its liveness; `mine` says whether the reader may change it. No query."""
    # Not by the attribute: of an agent that was made just now it would look for a row.
    row = Agent._meta.get_field("liveness").get_cached_value(agent, default=None)
    return health_in(cast(Liveness | None, row), mine=mine)


def health_in(row: Liveness | None, *, mine: bool) -> Health:
    """That of an agent with this row; without one it has not been checked yet."""
    if row is None:
        return Health(healthy=True, last_alive=None, error="" if mine else None)
    return Health(healthy=row.healthy, last_alive=row.last_alive, error=row.error if mine else None)
