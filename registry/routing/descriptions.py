"""What agents say of themselves, for those who choose between them: people, and language models."""

from collections.abc import Collection
from dataclasses import dataclass

from common.db import fetch_safely

DESCRIPTION_MAX, QUERY_MAX = 300, 150


@dataclass(frozen=True, slots=True)
class Description:
    """An agent (`owner/handle`), and a few queries that it answers, in the order in which it gives them."""

    agent: str
    name: str
    description: str
    queries: tuple[str, ...]

    @property
    def purpose(self) -> str:
        """What it is for, in one line: its description, else its name, else a query."""
        return self.description or self.name or next(iter(self.queries), "")


# Not its name, which is in the index too, nor what somebody asked it once.
_DESCRIBED = f"""
SELECT o.handle || '/' || a.handle, a.name, left(a.description, {DESCRIPTION_MAX}), ARRAY(
    SELECT left(s.text, {QUERY_MAX}) FROM registry_samplequery s
    WHERE s.agent_id = a.id AND s.source NOT IN ('name', 'correction') ORDER BY s.id LIMIT %(queries)s)
FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id
WHERE (o.handle, a.handle) IN (
    SELECT split_part(id, '/', 1), split_part(id, '/', 2) FROM unnest(%(agents)s::text[]) AS id)"""


async def described(agents: Collection[str], *, queries: int) -> list[Description]:
    """Of each agent in `agents` that there is, in their order, with up to so many queries. One statement."""
    if not agents:
        return []
    rows = await fetch_safely(_DESCRIBED, {"agents": list(agents), "queries": queries})
    found = {
        agent: Description(agent, _in_one_line(name), _in_one_line(text), tuple(map(_in_one_line, samples)))
        for agent, name, text, samples in rows
    }
    return [found[agent] for agent in agents if agent in found]


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
