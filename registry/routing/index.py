"""The sample queries nearest to a query, of the agents its user may ask: one statement over pgvector's HNSW index."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from common.db import fetch_safely
from common.recent import Recent
from registry.routing.ranking import AGENTS, SAMPLES, Candidate
from registry.routing.vectors import DIMENSIONS, Vectors, as_text
from registry.visibility import OWNERS, may_ask

# So many samples are looked at for their agents, and so many more while the agents of these are fewer than ENOUGH.
NEAREST = 120
ENOUGH = 4
# Samples may be long; their beginning is enough to see words in common, and to show.
TEXT_MAX = 1000
# So many samples that were near to recent queries are remembered, about 2 KB each: to send them takes longer than to
# find them.
REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Indexed(Candidate):
    """A candidate (`agent` is `owner/handle`) with its id and name. Its texts end after TEXT_MAX characters."""

    id: int
    name: str


# Whether the user may ask the agent, and it can answer. With its OFFSET it stays a lookup for each
# agent, which the scan of the index asks about one sample after the other, and whose answers PostgreSQL remembers: a
# plain join could tempt the planner to sort everything.
_USABLE = f"""LATERAL (
    SELECT FROM registry_agent a JOIN registry_revision r ON r.id = a.current_revision_id
        JOIN accounts_owner o ON o.id = a.owner_id LEFT JOIN registry_liveness l ON l.agent_id = a.id
    WHERE a.id = {{agent}} AND {may_ask()}
        AND r.state = 'ready' AND r.transport <> 'front' AND l.healthy IS NOT FALSE
        AND o.handle || '/' || a.handle <> ALL(%(excluded)s::text[])
    OFFSET 0
) AS usable"""
# Other people's corrections are theirs.
_SPEAKS = "(s.user_id IS NULL OR s.user_id = %(user)s)"
_DISTANCE = "s.embedding <=> %(vector)s::halfvec"

# Each round of `found` scans the index for the nearest samples of agents that are not found yet. One is the rule; more
# are needed where an agent has hundreds of samples near the query. The scan itself passes over what the user may not
# see for as long as it must (`hnsw.iterative_scan`, see `common.db`).
# All of it is one row: PostgreSQL sends rows one by one, and each would wake the event loop. Samples are named by their
# row and its version, `xmin`, which is another one whenever the row has been written.
# The `+ 0` keeps the planner from that index where one agent's samples are compared.
_FIND = f"""
WITH RECURSIVE {OWNERS}, found(agents, more) AS (
    SELECT '{{}}'::bigint[], TRUE
    UNION ALL
    SELECT f.agents || n.agents, n.more FROM found f CROSS JOIN LATERAL (
        SELECT COALESCE(array_agg(agent_id ORDER BY distance), '{{}}') AS agents, sum(samples) = {NEAREST} AS more
        FROM (
            SELECT agent_id, min(distance) AS distance, count(*) AS samples FROM (
                SELECT s.agent_id, {_DISTANCE} AS distance
                FROM registry_samplequery s CROSS JOIN {_USABLE.format(agent="s.agent_id")}
                WHERE s.agent_id <> ALL(f.agents) AND {_SPEAKS}
                ORDER BY {_DISTANCE} LIMIT {NEAREST}
            ) AS near GROUP BY agent_id
        ) AS near_agents
    ) AS n WHERE f.more AND cardinality(f.agents) < {ENOUGH}
), chosen AS (
    SELECT unnest(agents[1:{AGENTS}]) AS agent FROM (
        SELECT agents FROM found ORDER BY cardinality(agents) DESC LIMIT 1
    ) AS last
    UNION
    SELECT wanted FROM unnest(%(wanted)s::bigint[]) AS wanted CROSS JOIN {_USABLE.format(agent="wanted")}
)
SELECT array_agg(a.id), array_agg(o.handle || '/' || a.handle), array_agg(a.name), json_agg(n.samples)::text
FROM chosen c JOIN registry_agent a ON a.id = c.agent JOIN accounts_owner o ON o.id = a.owner_id
    CROSS JOIN LATERAL (
        SELECT array_agg(ARRAY[t.id, t.version] ORDER BY t.distance) AS samples
        FROM (
            SELECT s.id, s.xmin::text::bigint AS version, ({_DISTANCE}) + 0 AS distance
            FROM registry_samplequery s WHERE s.agent_id = a.id AND {_SPEAKS} ORDER BY distance LIMIT {SAMPLES}
        ) AS t
    ) AS n"""


async def nearest(
    vector: Vectors, *, user: int | None, wanted: Sequence[int] = (), excluded: Collection[str] = ()
) -> list[Indexed]:
    """The agents whose samples are nearest to `vector`, each with its SAMPLES nearest ones.

    At most AGENTS; fewer where the NEAREST samples are of fewer, but ENOUGH of them where there are as many.

    Only agents that `user` may use and that can answer: ready, not failing, not the front agent; and none of those
    `excluded` (`owner/handle`). Those with the ids `wanted` are added however far they are, with no texts where they
    have no samples. In no order. The scan is approximate. One statement, and another one where samples have not been
    near to a query lately.
    """
    rows = await fetch_safely(
        _FIND,
        {"vector": as_text(vector), "user": user, "wanted": list(wanted), "excluded": list(excluded)},
        binary=True,
    )
    return await _agents(*rows[0])


async def _agents(ids: list[int] | None, agents: list[str], names: list[str], samples: str | None) -> list[Indexed]:
    if ids is None:
        return []
    near = [[(pk, version) for pk, version in own or ()] for own in orjson.loads(samples or "[]")]
    known = await _known([key for own in near for key in own])
    found = []
    for pk, agent, name, own in zip(ids, agents, names, near, strict=True):
        there = [known[key] for key in own if key in known]
        vectors = np.stack([sample.vector for sample in there]) if there else np.empty((0, DIMENSIONS), np.float32)
        found.append(Indexed(agent, [sample.text for sample in there], vectors, id=pk, name=name))
    return found


@dataclass(frozen=True, slots=True)
class _Sample:
    text: str
    vector: Vectors


# A row and its version.
_Key = tuple[int, int]


# For all threads: the admin routes in one of its own.
_recent: Recent[_Key, _Sample] = Recent(REMEMBERED)

_READ = f"""
SELECT s.id, s.xmin::text::bigint, left(s.text, {TEXT_MAX}), halfvec_send(s.embedding)
FROM registry_samplequery s WHERE s.id = ANY(%(ids)s)"""


async def _known(keys: Sequence[_Key]) -> dict[_Key, _Sample]:
    """The samples with these keys, those that were not near to a query lately read in a statement more.

    One that is changed or deleted in between is missing.
    """
    recalled = ((key, _recent.get(key)) for key in keys)
    found = {key: sample for key, sample in recalled if sample}
    if missing := [pk for pk, version in keys if (pk, version) not in found]:
        rows = await fetch_safely(_READ, {"ids": missing}, binary=True)
        read = {(pk, version): _Sample(text, _vector(sent)) for pk, version, text, sent in rows}
        for key, sample in read.items():
            _recent.put(key, sample)
        found |= read
    return found


def _vector(sent: bytes) -> Vectors:
    """The numbers as pgvector's `halfvec_send` gives them: a head of four bytes, then each big-endian."""
    return np.frombuffer(sent, ">f2", offset=4).astype(np.float32)
