"""What agents want to be given with their next call in a session: JSON of their own, of which nobody else knows."""

from collections.abc import Mapping
from typing import Any

import orjson
from psycopg.types.json import Jsonb

from common.db import fetch_safely
from common.errors import AgentInvalidResponse
from registry.transports.wire import clean

CONTEXT_MAX = 256 * 1024

_READ = "SELECT context FROM sessions_app_agentcontext WHERE session_id = %(session)s AND agent_id = %(agent)s"

# Nothing where one of the two has been deleted meanwhile.
_KEEP = """
INSERT INTO sessions_app_agentcontext (session_id, agent_id, context, modified)
SELECT s.id, a.id, %(context)s, now() FROM sessions_app_session s, registry_agent a
WHERE s.id = %(session)s AND a.id = %(agent)s FOR KEY SHARE
ON CONFLICT (session_id, agent_id) DO UPDATE SET context = EXCLUDED.context, modified = EXCLUDED.modified
RETURNING 1"""


async def context_of(*, session: int, agent: int) -> Mapping[str, Any]:
    """What the agent with this id left in the session with this id; empty where it left nothing."""
    rows = await fetch_safely(_READ, {"session": session, "agent": agent})
    return rows[0][0] if rows else {}


async def keep_context(context: Mapping[str, Any], *, session: int, agent: int) -> None:
    """Keeps `context` in the place of what there was. Raises AgentInvalidResponse where it cannot be kept."""
    try:
        encoded = orjson.dumps(_storable(context))
    except (orjson.JSONEncodeError, RecursionError):
        raise AgentInvalidResponse("The agent's context is no JSON that can be kept.", field="context") from None
    if len(encoded) > CONTEXT_MAX:
        raise AgentInvalidResponse(f"The agent's context is larger than {CONTEXT_MAX} bytes.", field="context")
    await fetch_safely(_KEEP, {"session": session, "agent": agent, "context": Jsonb(orjson.loads(encoded))})


def _storable(value: Any) -> Any:
    """The same without U+0000, which PostgreSQL cannot store."""
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [_storable(each) for each in value]
        case Mapping():
            return {_storable(key): _storable(each) for key, each in value.items()}
    return value
