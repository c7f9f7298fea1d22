"""Having an agent run as a program on this machine, which only administrators may say."""

from django.db import transaction

from accounts.models import User
from registry.access import check_may_set_command
from registry.actions import forget_on_commit, locked_agent, make_current
from registry.models import Agent, Revision
from registry.transports.stdio_jsonrpc.options import CommandLine

TRANSPORT = "stdio_jsonrpc"


def deploy_command(*, agent: Agent, by: User, command: CommandLine) -> Revision:
    """Lets `command` answer the agent's queries from now on; returns the revision that does.

    Where the current revision runs the very same, nothing changes. Raises InvalidRequest where `by` may not set
    commands, NotFound where the agent has been deleted meanwhile.
    """
    check_may_set_command(by)
    with transaction.atomic():
        locked = locked_agent(agent.pk)
        current = locked.current_revision
        if current is not None and _runs(current, command):
            return current
        forget_on_commit(locked)
        revision = locked.revisions.create(
            deployment=Revision.Deployment.COMMAND,
            target=command.command,
            transport=TRANSPORT,
            options=command.as_options(),
            state=Revision.State.READY,
            created_by=by,
        )
        make_current(locked, revision)
        return revision


def _runs(revision: Revision, command: CommandLine) -> bool:
    return revision.deployment == Revision.Deployment.COMMAND and revision.options == command.as_options()
