"""What agents say of their own limits, kept to be shown."""

from common.db import fetch_safely
from registry.transports.base import LimitsLeft

# Nothing where the agent has been deleted meanwhile.
_KEEP = """
INSERT INTO registry_reportedlimits (agent_id, remaining_minute, remaining_today, reported)
SELECT a.id, %(minute)s, %(today)s, now() FROM registry_agent a WHERE a.id = %(agent)s FOR KEY SHARE
ON CONFLICT (agent_id) DO UPDATE SET remaining_minute = EXCLUDED.remaining_minute,
    remaining_today = EXCLUDED.remaining_today, reported = EXCLUDED.reported
RETURNING 1"""


async def note_limits(agent: int, left: LimitsLeft) -> None:
    """Keeps what the agent with this id has just said; does nothing where it is gone."""
    said = {"minute": left.remaining_minute, "today": left.remaining_today}
    await fetch_safely(_KEEP, {"agent": agent, **said})
