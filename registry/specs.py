"""What a run needs to know of an agent, without a database in the way."""

import time
from dataclasses import dataclass
from typing import Any

from common.errors import AgentInvalidResponse, NotFound
from common.recent import Recent
from registry.manifests.manifest import ReadManifest, manifest_from_dict
from registry.models import Agent, Revision
from registry.transports.base import Deployment, Manifest

# A revision that is ready never changes, but its agent may be renamed or deleted by another process.
CACHE_SECONDS = 3.0
CACHE_SIZE = 4096
# So many sample queries are shown of an agent, and none that is longer than so many characters: lists hold many agents.
QUERIES_SHOWN, QUERY_SHOWN_MAX = 20, 500
INTERNAL_MANIFEST = Manifest(type="standalone")


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One ready revision. `agent` and `revision` are primary keys; `transport` is a transport's `kind`."""

    agent: int
    agent_id: str
    revision: int
    transport: str
    deployment: Deployment
    manifest: Manifest


class RevisionBroken(AgentInvalidResponse):
    """The revision's manifest could not be used when it was last read; `message` says why."""

    def __init__(self, revision: Revision) -> None:
        super().__init__(revision.error or "The agent's manifest could not be read.")
        self.revision = revision


_cache: Recent[int, tuple[float, AgentSpec]] = Recent(CACHE_SIZE)


def spec_of(revision: Revision, agent_id: str) -> AgentSpec:
    """The spec of a ready revision of the agent `agent_id`. No query."""
    manifest = INTERNAL_MANIFEST if revision.manifest is None else manifest_from_dict(revision.manifest)
    return AgentSpec(
        agent=revision.agent_id,
        agent_id=agent_id,
        revision=revision.pk,
        transport=revision.transport,
        deployment=Deployment(revision.target, revision.options, revision.pk),
        manifest=manifest,
    )


def says_the_same(revision: Revision, read: ReadManifest) -> bool:
    """Whether a reading of the revision's address brings nothing new."""
    if revision.manifest is None:
        return False
    # As values: a manifest that an older version of this site has stored lacks fields.
    known = (revision.transport, revision.options, manifest_from_dict(revision.manifest))
    return known == (read.transport, read.options, read.manifest)


def load_spec(revision_id: int) -> AgentSpec:
    """The spec of a revision, in one query, remembered for `cached_spec`.

    Raises NotFound, or RevisionBroken where the revision is in state error.
    """
    revision = Revision.objects.select_related("agent__owner").filter(pk=revision_id).first()
    if revision is None:
        raise NotFound("This agent is gone.", field="agent")
    if revision.state == Revision.State.ERROR:
        raise RevisionBroken(revision)
    spec = spec_of(revision, revision.agent.agent_id)
    _cache.put(revision_id, (time.monotonic() + CACHE_SECONDS, spec))
    return spec


def cached_spec(revision_id: int) -> AgentSpec | None:
    """The spec of a revision loaded by this process in the last seconds: a dictionary lookup."""
    expires, spec = _cache.get(revision_id) or (0.0, None)
    return spec if time.monotonic() < expires else None


def forget_spec(revision_id: int | None) -> None:
    """Makes this process load the revision again; others notice within `CACHE_SECONDS`."""
    if revision_id is not None:
        _cache.forget(revision_id)


def queries_of(agent: Agent, limit: int = QUERIES_SHOWN) -> list[str]:
    """What an agent that comes with its current revision can be asked: queries given at registration, then its
    manifest's."""
    revision = agent.current_revision
    return _shown([*agent.queries, *queries_in(revision.manifest if revision else None)])[:limit]


def queries_in(manifest: dict[str, Any] | None) -> list[str]:
    """What a stored manifest offers to be asked: its sample queries, then the `Q:` line of each few-shot."""
    if manifest is None:
        return []
    read = manifest_from_dict(manifest)
    first_lines = (shot.strip().partition("\n")[0] for shot in read.few_shots)
    questions = [line[2:].strip() for line in first_lines if line.startswith("Q:")]
    return _shown([*read.sample_queries, *questions])


def _shown(queries: list[str]) -> list[str]:
    return [query for query in queries if 0 < len(query) <= QUERY_SHOWN_MAX][:QUERIES_SHOWN]
