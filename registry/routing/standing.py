"""Whether agents that somebody prefers can be asked now, and what stands in the way."""

from collections.abc import Collection
from dataclasses import dataclass

from accounts.quotas import MINUTE_LASTS, TODAY
from common.db import fetch_safely
from registry.visibility import OWNERS, may_see

# So many agents with a capability come into question.
CAPABLE_MAX = 50


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent (`owner/handle`) and its id. `obstacle` says why it cannot be asked now; it is empty where it can."""

    id: int
    agent: str
    obstacle: str


# Without a limit of that kind a comparison is NULL, and the next one decides.
_STANDINGS = f"""
WITH {OWNERS}
SELECT a.id, o.handle || '/' || a.handle, CASE
    WHEN NOT a.enabled THEN 'is switched off'
    WHEN r.id IS NULL THEN 'runs nowhere'
    WHEN r.state <> 'ready' THEN 'has a manifest that cannot be used'
    WHEN l.healthy IS FALSE THEN 'does not answer'
    WHEN today.queries >= a.daily_query_limit THEN 'has no queries left today'
    WHEN today.tokens >= a.daily_token_limit THEN 'has no tokens of language models left today'
    WHEN COALESCE(m.queries, 0) >= a.minute_query_limit THEN 'has no queries left this minute'
    ELSE '' END
FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id
    LEFT JOIN registry_revision r ON r.id = a.current_revision_id
    LEFT JOIN registry_liveness l ON l.agent_id = a.id
    LEFT JOIN accounts_agentminute m ON m.agent = a.id AND {MINUTE_LASTS}
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(u.queries), 0), COALESCE(sum(u.tokens), 0)
        FROM accounts_agentusage u WHERE u.agent = a.id AND u.day = {TODAY}
    ) AS today(queries, tokens)
WHERE a.id = ANY(%(agents)s::bigint[]) AND {may_see()} AND r.transport IS DISTINCT FROM 'front'
    AND o.handle || '/' || a.handle <> ALL(%(excluded)s::text[])"""


async def standings(
    agents: Collection[int], *, user: int | None, excluded: Collection[str] = ()
) -> dict[int, Standing]:
    """Of those with these ids that `user` sees, but for the front agent and those `excluded` (`owner/handle`)."""
    if not agents:
        return {}
    rows = await fetch_safely(_STANDINGS, {"agents": list(agents), "user": user, "excluded": list(excluded)})
    return {row[0]: Standing(*row) for row in rows}


_CAPABLE = f"""
WITH {OWNERS}
SELECT a.id FROM registry_agent a
WHERE %(task_type)s::varchar = ANY(a.capabilities) AND {may_see()}
ORDER BY a.enabled DESC, a.priority DESC, a.id LIMIT {CAPABLE_MAX}"""


async def capable_of(task_type: str, *, user: int | None) -> tuple[int, ...]:
    """The ids of agents that `user` sees and that say that they take such tasks, the highest priority first."""
    rows = await fetch_safely(_CAPABLE, {"task_type": task_type, "user": user})
    return tuple(row[0] for row in rows)
