"""Keeping the words that agents are found by."""

from django.db import connection

from registry.models import Agent
from registry.models.words import CONFIG

# Of all samples of an agent, in characters; PostgreSQL refuses a tsvector of more than a megabyte.
SAMPLES_MAX = 100_000
BATCH = 500

# Corrections of one user's are not among them: nobody else is to find the agent by those.
_KEEP = """
INSERT INTO registry_agentwords AS kept (agent_id, words)
SELECT a.id, to_tsvector(%(config)s, concat_ws(' ', a.handle, a.name, a.description, (
    SELECT left(string_agg(q.text, ' ' ORDER BY q.id), %(most)s)
    FROM registry_samplequery q WHERE q.agent_id = a.id AND q.user_id IS NULL)))
FROM registry_agent a WHERE a.id = ANY(%(agents)s)
ON CONFLICT (agent_id) DO UPDATE SET words = EXCLUDED.words WHERE kept.words <> EXCLUDED.words"""


def keep_words(*agents: int) -> None:
    """Makes the words of the agents with these ids what they are now. Call it where they or their samples change."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, {"agents": list(agents), "config": CONFIG, "most": SAMPLES_MAX})


def keep_missing_words() -> None:
    """Does the same for agents that nobody has done it for: they are older than this, or were made another way."""
    while missing := list(Agent.objects.filter(words=None).values_list("pk", flat=True)[:BATCH]):
        keep_words(*missing)
