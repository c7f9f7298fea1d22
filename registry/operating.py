"""What operators do to agents, each act noted in the audit log. No network: tasks do what takes time."""

from typing import Unpack

from django.db import transaction

from accounts import audit
from accounts.models import User
from common.errors import InvalidRequest
from registry import actions
from registry.corpora.actions import reindex_corpora
from registry.fields import AgentFields
from registry.liveness import checks
from registry.liveness.tasks import check_agent
from registry.models import Agent, Revision
from registry.tasks import refresh_manifest

NOT_AT_AN_ADDRESS = "It runs at no address, so there is nothing to read or to check there."


def refresh(*, agent: Agent, by: User) -> None:
    """Has a task read the manifest at the agent's address again. Raises InvalidRequest where it runs at none."""
    _check_runs_outside(agent)
    with transaction.atomic():
        audit.record(by=by, object=agent, message="Had its manifest read again.")
        refresh_manifest.defer(agent=agent.pk, user=by.pk)


def check(*, agent: Agent, by: User) -> None:
    """Has a task look whether the agent answers, now. Raises InvalidRequest where it runs at no address."""
    _check_runs_outside(agent)
    with transaction.atomic():
        checks.take_up_one(agent)
        audit.record(by=by, object=agent, message="Had it checked.")
        check_agent.defer(agent=agent.pk)


def reindex(*, agent: Agent, by: User) -> None:
    """Has the agent's corpora read anew; what was read serves until then. Raises InvalidRequest where it has none."""
    with transaction.atomic():
        reindex_corpora(agent=agent)
        audit.record(by=by, object=agent, message="Had its corpora read anew.")


def change(*, agent: Agent, by: User, **fields: Unpack[AgentFields]) -> None:
    """`actions.update_agent`, noted."""
    with transaction.atomic():
        actions.update_agent(agent=agent, by=by, **fields)
        told = ", ".join(f"{name}: {value}" for name, value in fields.items())
        audit.record(by=by, object=agent, message=f"Set {told}.")


def _check_runs_outside(agent: Agent) -> None:
    revision = agent.current_revision
    if revision is None or revision.deployment != Revision.Deployment.EXTERNAL:
        raise InvalidRequest(NOT_AT_AN_ADDRESS, field="agent")
