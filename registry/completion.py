"""Completing `@owner/handle` for composers: the agents that somebody may ask, from the first letters on."""

from dataclasses import dataclass

from accounts.auth import IS_CALLER, Caller
from common.db import fetch_safely
from common.errors import Unauthenticated
from registry.visibility import OWNERS, may_ask

AGENTS_MAX = 8
DESCRIPTION_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Completion:
    """An agent `owner/handle`; `description` is the beginning of its first line; `healthy` whether it answers."""

    agent: str
    name: str
    owner: str
    description: str
    healthy: bool


# What begins so goes before what only holds it; one's own go before others'. Who is not found gives no row at all,
# who finds no agent one of NULLs.
_COMPLETE = f"""
WITH {OWNERS}
SELECT found.* FROM accounts_user u LEFT JOIN LATERAL (
    SELECT o.handle || '/' || a.handle, a.name, o.handle,
        left(split_part(ltrim(a.description, E' \\t\\r\\n'), E'\\n', 1), {DESCRIPTION_LENGTH}), fit.healthy
    FROM registry_agent a
        JOIN accounts_owner o ON o.id = a.owner_id
        LEFT JOIN registry_revision r ON r.id = a.current_revision_id
        LEFT JOIN registry_liveness l ON l.agent_id = a.id
        CROSS JOIN LATERAL (
            SELECT COALESCE(r.state = 'ready' AND COALESCE(l.healthy, true), false) AS healthy, CASE
                WHEN starts_with(lower(a.handle), %(text)s) THEN 1
                WHEN starts_with(lower(a.name), %(text)s) THEN 2
                WHEN starts_with(lower(o.handle || '/' || a.handle), %(text)s) THEN 3
                WHEN strpos(lower(o.handle || '/' || a.handle || ' ' || a.name), %(text)s) > 0 THEN 4
            END AS rank
        ) AS fit
    WHERE {may_ask()} AND fit.rank IS NOT NULL
    ORDER BY fit.healthy DESC, fit.rank, a.owner_id = ANY(ARRAY(SELECT owner_id FROM mine)) DESC, o.handle, a.handle
    LIMIT {AGENTS_MAX}
) AS found ON true
WHERE {IS_CALLER}"""


async def completions(caller: Caller, text: str) -> list[Completion]:
    """At most `AGENTS_MAX` agents that the caller may ask, for what was typed so far of a name, a handle or
    `owner/handle`; those that do not answer come last.

    One statement. Raises Unauthenticated.
    """
    params = {"user": caller.user_id, "jti": caller.jti, "text": text.lower()}
    rows = await fetch_safely(_COMPLETE, params)
    if not rows:
        raise Unauthenticated("This key has been revoked, or its user is no longer active.")
    return [Completion(*row) for row in rows if row[0] is not None]
