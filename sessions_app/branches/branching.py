"""Asking a query in other words: a new session that begins like the old one, in which the new words are asked."""

from collections.abc import Mapping
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.auth import Caller, user_of
from common.db import run_db
from common.errors import FixieError, InvalidRequest
from common.texts import clean_text
from sessions_app import posting
from sessions_app.access import session_for
from sessions_app.actions import delete_session
from sessions_app.branches.copying import copy_session
from sessions_app.branches.siblings import origin_of
from sessions_app.models import Session
from sessions_app.posting import Posted


async def branch(
    caller: Caller,
    session: str,
    seq: int,
    text: str,
    *,
    embeds: Mapping[str, UUID] | None = None,
    client_id: str | None = None,
) -> Posted:
    """Posts `text` in the place of query `seq` of a session of the caller's, in a new session that branches there.

    The old session stays as it is. The same `client_id` again returns the query posted before. The branch is there
    from the moment in which its query is accepted: it counts as deleted until then, and goes if nothing comes of
    it. Raises NotFound (the session), InvalidRequest (`seq` is no query of a person), SessionBusy (a query before it
    is still being answered), and as `posting.post`; then nothing is kept.
    """
    clean_text(text)
    # No session's handle has a slash: these ids are no others'.
    run = posting.run_id(caller, f"{session}/{seq}", client_id)
    if client_id is not None and (before := await posting.posted_before(run, user=caller.user_id, jti=caller.jti)):
        return before
    new = await run_db(_prepared, caller, session, seq)
    try:
        posted = await posting.post(caller, new.handle, text, embeds=embeds, run=run, reveals=True)
    except FixieError:
        await run_db(delete_session, session=new)
        raise
    if posted.session_id != new.pk:  # the same, sent twice at once
        await run_db(delete_session, session=new)
    return posted


def _prepared(caller: Caller, handle: str, seq: int) -> Session:
    """The branch without its own query, which nobody sees yet."""
    user = user_of(caller)
    session = session_for(user, handle)
    if not session.all_runs.filter(query_seq=seq, parent=None).exists():
        raise InvalidRequest(_("This is no question of yours in this session."), field="seq")
    branched_from, branch_seq = origin_of(session, seq)
    return copy_session(
        session,
        before=seq,
        owner=user,
        title=session.title if seq > 1 else "",
        branched_from_id=branched_from,
        branch_seq=branch_seq,
        deleted=timezone.now(),
    )
