"""An agent's limits: for whoever asks `accounts.quotas` about an agent, which itself knows none."""

from typing import Any

from accounts.quotas import AgentLimits
from common.db import fetch_safely
from common.handles import split_agent_id

_LIMITS = """
SELECT a.id, o.handle || '/' || a.handle, a.daily_query_limit, a.daily_token_limit
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
