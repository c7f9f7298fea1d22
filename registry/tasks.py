"""Background work of the registry, run by Procrastinate."""

import structlog
from procrastinate.contrib.django import app

from common.db import run_db
from common.errors import FixieError
from registry.corpora.tasks import index_corpora
from registry.corrections.tasks import remember_correction
from registry.liveness.tasks import check_agent, check_agents
from registry.manifests import reading
from registry.models import Agent, Revision
from registry.routing.tasks import index_agent, index_agents, move_index

# Procrastinate looks for tasks here, and takes those of other modules along.
__all__ = [
    "check_agent",
    "check_agents",
    "index_agent",
    "index_agents",
    "index_corpora",
    "move_index",
    "refresh_manifest",
    "remember_correction",
]

log = structlog.get_logger()


@app.task(name="registry.refresh_manifest")
async def refresh_manifest(agent: int, user: int) -> None:
    """Reads the manifest of an agent's current revision again, in the name of `user`; both are ids."""
    revision = await run_db(_revision_to_read, agent)
    if revision is None:
        return
    try:
        await reading.refresh(revision, user_id=user)
    except FixieError as error:
        # The revision holds the reason where people look for it; to try again is theirs to decide.
        log.info("manifest_not_read", agent=revision.agent.agent_id, code=error.code)


def _revision_to_read(agent: int) -> Revision | None:
    revisions = Revision.objects.select_related("agent__owner")
    external = revisions.filter(deployment=Revision.Deployment.EXTERNAL)
    current = Agent.objects.filter(pk=agent).values("current_revision_id")
    return external.filter(pk__in=current).first()
