"""Every write to sessions that is not on the hot path (see `posting` and `store` for that)."""

from datetime import timedelta
from functools import partial
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import LockNotAvailable

from accounts.models import User
from common.errors import InvalidRequest
from embeds.actions import remove_unreferenced
from registry.models import Agent
from sessions_app.models import Run, Session
from sessions_app.posting import new_session_handle

NAME_MAX = 200
DESCRIPTION_MAX = 10_000
UNFINISHED = (Run.Status.QUEUED, Run.Status.IN_PROGRESS)


def create_session(*, user: User, agent: Agent | None, name: str = "", description: str = "") -> Session:
    """A new, empty session of `user`'s with a fresh three-word handle. Raises InvalidRequest."""
    for field, value, limit in (("name", name, NAME_MAX), ("description", description, DESCRIPTION_MAX)):
        if len(value) > limit or "\0" in value:
            raise InvalidRequest(f"{field} may have {limit} characters, and no NUL.", field=field)
    while True:
        try:
            with transaction.atomic():
                return Session.objects.create(
                    handle=new_session_handle(), owner=user, agent=agent, name=name, description=description
                )
        except IntegrityError:  # the three words were taken; there are 10^8 others
            continue


def delete_session(*, session: Session) -> None:
    """Removes the session with its messages and runs; a run still at work finds its lease gone and stops.

    Embeds that only it used are removed too: after the transaction, and should that fail, by the daily clean-up.
    """
    while (embeds := _delete_locked(session)) is None:
        pass  # a run began between the locks; now its own is waited for
    if embeds:
        remove = partial(async_to_sync(remove_unreferenced), ids=embeds, older_than=timedelta(0))
        transaction.on_commit(remove, robust=True)


def _delete_locked(session: Session) -> list[UUID] | None:
    """Deletes a session that nobody is writing to; returns the embeds that it used.

    None where a run of it began before both locks were held.
    """
    unfinished = session.all_runs.filter(status__in=UNFINISHED).order_by("query_seq").values_list("pk")
    try:
        with transaction.atomic():
            # In the order of `store.py`: the run that may be writing, then its session.
            list(unfinished.select_for_update())
            list(Session.objects.select_for_update().filter(pk=session.pk).values_list("pk"))
            list(unfinished.select_for_update(nowait=True))
            embeds = list(session.embeds.values_list("embed_id", flat=True))
            session.delete()
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        return None
    return embeds
