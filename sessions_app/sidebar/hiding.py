"""Deleting a session on a page: at once for all who look for it, for good only after a while in which it can return."""

from accounts.auth import Caller, user_of
from common.db import run_db
from sessions_app import actions, frames, stopping
from sessions_app.access import session_for
from sessions_app.models import Run, Session
from sessions_app.runner.live import hub


async def hide(caller: Caller, handle: str) -> Session:
    """Deletes a session of the caller's: its runs are stopped, and who follows it is told. Raises NotFound."""
    session, unfinished = await run_db(_hide, caller, handle)
    # Those that wait before those at work, so that none begins.
    for run in reversed(unfinished):
        await stopping.end(run.pk, session_id=session.pk, status=run.status)
    hub().publish(session.pk, frames.session_frame(handle=session.handle, deleted=True))
    return session


def _hide(caller: Caller, handle: str) -> tuple[Session, list[Run]]:
    session = session_for(user_of(caller), handle)
    actions.hide_session(session=session)
    # Read afterwards: from now on no query is accepted.
    at_top = session.all_runs.filter(status__in=actions.UNFINISHED, parent=None)
    return session, list(at_top.order_by("query_seq"))


async def is_hidden(caller: Caller, handle: str) -> bool:
    """Whether the caller had a session with this handle, which is deleted and not yet removed."""
    hidden = Session.objects.filter(owner=caller.user_id, handle=handle, deleted__isnull=False)
    return await run_db(hidden.exists)


async def restore(caller: Caller, handle: str) -> Session:
    """Brings back a session that the caller deleted a short time ago; what was stopped stays so. Raises NotFound."""
    return await run_db(lambda: actions.restore_session(user=user_of(caller), handle=handle))
