"""What programs that run for agents write to their standard error, kept for the people who keep these agents."""

from django.db.models import QuerySet

from common.db import fetch_safely
from registry.models import Agent, AgentLog

# Of each agent so many characters are kept, the newest.
KEPT = 64 * 1024

# Nothing where the revision is gone. What others delete just now is passed over: it goes, or goes next time.
_KEEP = """
WITH added AS (
    INSERT INTO registry_agentlog (agent_id, process, text)
    SELECT a.id, %(process)s, %(text)s FROM registry_revision r JOIN registry_agent a ON a.id = r.agent_id
    WHERE r.id = %(revision)s FOR KEY SHARE OF a
    RETURNING agent_id
), older AS (
    SELECT id, sum(length(text)) OVER (ORDER BY id DESC) AS size FROM registry_agentlog
    WHERE agent_id IN (SELECT agent_id FROM added)
)
DELETE FROM registry_agentlog WHERE id IN (
    SELECT id FROM registry_agentlog WHERE id IN (SELECT id FROM older WHERE size + length(%(text)s) > %(kept)s)
    FOR UPDATE SKIP LOCKED
) RETURNING 1"""


async def keep_lines(revision: int, process: str, text: str) -> None:
    """Adds what `process` wrote to the log of the agent of this revision, and lets go of the oldest."""
    await fetch_safely(_KEEP, {"revision": revision, "process": process, "text": text, "kept": KEPT})


def log_of(agent: Agent) -> QuerySet[AgentLog]:
    """All that is kept, oldest first."""
    return AgentLog.objects.filter(agent=agent).order_by("pk")
