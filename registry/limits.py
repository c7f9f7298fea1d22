"""Agents' limits: for whoever asks `accounts.quotas`, which itself knows no agents; and what is left of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Sum

from accounts.actions import day_ends
from accounts.models import AgentMinute, AgentUsage
from accounts.quotas import MINUTE, AgentLimits
from common.db import fetch_safely
from common.handles import split_agent_id
from registry.models import Agent, ReportedLimits

_LIMITS = """
SELECT a.id, o.handle || '/' || a.handle, a.daily_query_limit, a.daily_token_limit,
    a.minute_query_limit
FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id"""
_BY_NAME = f"{_LIMITS} WHERE o.handle = %(owner)s AND a.handle = %(handle)s"
_BY_ID = f"{_LIMITS} WHERE a.id = %(agent)s"


async def limits_of(agent_id: str) -> AgentLimits | None:
    """The limits of the agent `owner/handle`; None where it is gone. Raises InvalidRequest where that is no name."""
    owner, handle = split_agent_id(agent_id)
    return await _one(_BY_NAME, {"owner": owner, "handle": handle})


async def limits_by_id(agent: int) -> AgentLimits | None:
    """The limits of the agent with this primary key; None where it is gone."""
    return await _one(_BY_ID, {"agent": agent})


async def _one(statement: str, params: dict[str, Any]) -> AgentLimits | None:
    rows = await fetch_safely(statement, params)
    return AgentLimits(*rows[0]) if rows else None


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a limit of all users together. At `reset` it begins anew; null: with the next question."""

    limit: int
    used: int
    remaining: int
    reset: datetime | None


@dataclass(frozen=True, slots=True)
class Reported:
    """What an agent said last of its own limits, at the time `reported`; null where it said nothing of that."""

    remaining_minute: int | None
    remaining_today: int | None
    reported: datetime


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left of an agent's limits: queries of a minute, queries and tokens of a day (UTC). None: no limit."""

    minute: Room | None
    day: Room | None
    tokens: Room | None
    reported: Reported | None


def remaining(agent: Agent) -> Remaining:
    """What is left of the agent's limits now. At most three queries."""
    return remaining_of([agent])[0]


def remaining_of(agents: Sequence[Agent]) -> list[Remaining]:
    """What is left of the limits of each agent now. At most three queries, however many there are."""
    now = datetime.now(UTC)
    begun = AgentMinute.objects.filter(began__gt=now - MINUTE)
    minutes = {row.agent: row for row in begun.filter(agent__in=_with(agents, "minute_query_limit"))}
    slots = AgentUsage.objects.filter(day=now.date(), agent__in=_with(agents, "daily_query_limit", "daily_token_limit"))
    sums = slots.values("agent").annotate(q=Sum("queries"), t=Sum("tokens"))
    days = {row["agent"]: (row["q"], row["t"]) for row in sums}
    said = ReportedLimits.objects.in_bulk([agent.pk for agent in agents])
    return [_remaining(each, minutes.get(each.pk), days.get(each.pk, (0, 0)), said.get(each.pk)) for each in agents]


def _with(agents: Iterable[Agent], *limits: str) -> list[int]:
    """The ids of those that have one of these limits."""
    return [agent.pk for agent in agents if any(getattr(agent, limit) is not None for limit in limits)]


def _remaining(
    agent: Agent, minute: AgentMinute | None, day: tuple[int, int], said: ReportedLimits | None
) -> Remaining:
    queries, tokens = day
    of_minute = minute.queries if minute else 0
    return Remaining(
        minute=_room(agent.minute_query_limit, of_minute, minute.began + MINUTE if minute else None),
        day=_room(agent.daily_query_limit, queries, day_ends()),
        tokens=_room(agent.daily_token_limit, tokens, day_ends()),
        reported=Reported(said.remaining_minute, said.remaining_today, said.reported) if said else None,
    )


def _room(limit: int | None, used: int, reset: datetime | None) -> Room | None:
    return None if limit is None else Room(limit, used, max(0, limit - used), reset)
