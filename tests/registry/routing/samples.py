"""Agents with samples at chosen places, put into the index without being embedded.

That index is as it should be, so that no task of a site on the same database changes it.
"""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from registry.routing.vectors import DIMENSIONS, Vectors, unit

if TYPE_CHECKING:
    from accounts.models import Owner
    from registry.models import Agent


def somewhere() -> Vectors:
    """A direction that is far from every other test's."""
    return unit(np.random.default_rng().standard_normal(DIMENSIONS).astype(np.float32))


def around(place: Vectors, count: int, distance: float) -> Vectors:
    """So many rows with about this cosine distance from `place`."""
    noise = unit(np.random.default_rng().standard_normal((count, DIMENSIONS)).astype(np.float32))
    return unit((1 - distance) * place + (1 - (1 - distance) ** 2) ** 0.5 * noise)


def put_agent(owner: "Owner", vectors: Vectors, *, texts: Sequence[str] = (), **fields: Any) -> "Agent":
    """A published agent that is ready, with these samples; `fields` are of the agent."""
    from registry.models import Agent, AgentIndex, Revision, SampleQuery
    from registry.words import keep_words

    handle = fields.pop("handle", f"agent-{uuid.uuid4().hex[:12]}")
    agent = Agent.objects.create(owner=owner, handle=handle, **{"published": True, **fields})
    revision = Revision.objects.create(
        agent=agent, target="http://127.0.0.1:1/", transport="query_http", state=Revision.State.READY
    )
    agent.current_revision = revision
    agent.save()
    SampleQuery.objects.bulk_create(
        SampleQuery(agent=agent, revision=revision, source="given", text=text, embedding=vector)
        for text, vector in zip(texts or [f"sample {n}" for n in range(len(vectors))], vectors, strict=True)
    )
    AgentIndex.objects.create(agent=agent, revision=revision, digest=b"as it should be")
    keep_words(agent.pk)
    return agent
