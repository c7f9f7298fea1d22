"""Agents whose samples a test writes itself: their index is as it should be, so that no task of a site changes it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from registry.routing.vectors import DIMENSIONS
from tests.registry.routing.samples import put_agent, somewhere

if TYPE_CHECKING:
    from accounts.models import Owner, User
    from registry.models import Agent, SampleQuery


def indexed_agent(owner: "Owner", **fields: Any) -> "Agent":
    """A published agent that is ready and has no samples yet; `fields` are of the agent."""
    return put_agent(owner, np.empty((0, DIMENSIONS), np.float32), **fields)


def sample(
    agent: "Agent", text: str, user: "User | None" = None, source: str = "correction", **more: Any
) -> "SampleQuery":
    """A sample query that is near to no other."""
    from registry.models import SampleQuery
    from registry.words import keep_words

    fields = {"agent": agent, "text": text, "user": user, "source": source, "embedding": somewhere(), **more}
    made = SampleQuery.objects.create(**fields)
    keep_words(agent.pk)
    return made
