"""The log of an agent over REST, for those who keep it."""

from ninja import Router

from accounts.auth import Authenticated, user_of
from registry.access import logged_agent_for
from registry.agent_log import log_of
from registry.schemas import LogEntry, LogOut

log_router = Router()


@log_router.get("/{owner}/{handle}/log", response=LogOut)
def read_log(request: Authenticated, owner: str, handle: str) -> LogOut:
    """What the programs that run for an agent of yours wrote to their standard error lately, oldest first."""
    agent = logged_agent_for(user_of(request.auth), owner, handle)
    return LogOut(entries=[LogEntry.from_orm(entry) for entry in log_of(agent)])
