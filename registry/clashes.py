"""Samples that agents of two owners have in common: one may be a copy of the other, which their owners should see."""

from django.db import connection

# Of two samples that say the same in other words the cosine is about 0.9.
SAME = 0.98
# So many neighbours of a sample are looked at.
NEIGHBOURS = 32

# Only of published agents, which everybody may see, is a name told. Both sides are marked in one statement.
_MARK = f"""
WITH mine AS (SELECT id, owner_id, published FROM registry_agent WHERE id = %(agent)s),
own AS (
    SELECT id, embedding, clash_id FROM registry_samplequery WHERE agent_id = %(agent)s AND user_id IS NULL
), pairs AS MATERIALIZED (
    SELECT own.id AS own, near.id AS other, near.distance, a.id AS agent, a.published
    FROM own CROSS JOIN LATERAL (
        SELECT o.id, o.agent_id, o.user_id, o.embedding <=> own.embedding AS distance
        FROM registry_samplequery o ORDER BY o.embedding <=> own.embedding LIMIT {NEIGHBOURS}
    ) AS near JOIN registry_agent a ON a.id = near.agent_id JOIN mine ON a.owner_id <> mine.owner_id
    WHERE near.user_id IS NULL AND near.distance <= 1 - {SAME}
), named AS (
    SELECT own.id, (
        SELECT agent FROM pairs WHERE pairs.own = own.id AND published ORDER BY distance, other LIMIT 1
    ) AS clash FROM own
), told AS (
    UPDATE registry_samplequery s SET clash_id = named.clash FROM named
    WHERE s.id = named.id AND s.clash_id IS DISTINCT FROM named.clash
), cleared AS (
    UPDATE registry_samplequery s SET clash_id = NULL FROM mine
    WHERE s.clash_id = mine.id AND NOT (mine.published AND s.id IN (SELECT other FROM pairs))
)
UPDATE registry_samplequery s SET clash_id = mine.id FROM mine
WHERE s.clash_id IS NULL AND mine.published AND s.id IN (SELECT other FROM pairs)"""


def mark_clashes(agent: int) -> None:
    """Notes at the agent's samples, and at those of others, which of them say the same as another owner's agent."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK, {"agent": agent})
