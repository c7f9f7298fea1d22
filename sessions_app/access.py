"""The only way an edge loads a session for a caller."""

from accounts.auth import Caller, user_of
from accounts.models import User
from common.db import run_db
from common.errors import NotFound
from sessions_app.models import Session, naming_agents

MISSING = "There is no such session, or it is not yours."


def session_for(user: User, handle: str, *, field: str = "session") -> Session:
    """The user's session with this handle, its front agent loaded. Raises NotFound, naming `field`."""
    found = None
    if "\0" not in handle:  # on which PostgreSQL fails
        found = naming_agents(Session.objects.visible_to(user)).filter(handle=handle).first()
    if found is None:
        raise NotFound(MISSING, field=field)
    found.owner = user
    return found


async def missing(caller: Caller, message: str, *, field: str) -> NotFound:
    """The error for what a statement with `auth.IS_CALLER` did not find.

    Raises Unauthenticated where it was the caller that the statement did not find.
    """
    await run_db(user_of, caller)
    return NotFound(message, field=field)
