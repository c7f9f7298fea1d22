"""The only way an edge loads a session for a caller."""

from accounts.models import User
from common.errors import NotFound
from sessions_app.models import Session

MISSING = "There is no such session, or it is not yours."


def session_for(user: User, handle: str) -> Session:
    """The user's session with this handle, its front agent loaded. Raises NotFound."""
    found = Session.objects.visible_to(user).filter(handle=handle).select_related("agent__owner").first()
    if found is None:
        raise NotFound(MISSING, field="session")
    return found
