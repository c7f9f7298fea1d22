"""Every write to sessions that is not on the hot path (see `posting` and `store` for that)."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db import IntegrityError, OperationalError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from psycopg.errors import LockNotAvailable

from accounts.models import User
from common.errors import InvalidRequest
from embeds.actions import remove_unreferenced
from registry.models import Agent
from sessions_app.access import session_for
from sessions_app.branches.siblings import pass_on
from sessions_app.models import Run, Session
from sessions_app.posting import new_session_handle
from sessions_app.sidebar.search import note_title

NAME_MAX = 200
DESCRIPTION_MAX = 10_000
RESTORABLE = timedelta(minutes=10)
UNFINISHED = (Run.Status.QUEUED, Run.Status.IN_PROGRESS)


def create_session(*, user: User, agent: Agent | None, name: str = "", description: str = "") -> Session:
    """A new, empty session of `user`'s with a fresh three-word handle. Raises InvalidRequest."""
    for field, value, limit in (("name", name, NAME_MAX), ("description", description, DESCRIPTION_MAX)):
        if len(value) > limit or "\0" in value:
            raise InvalidRequest(f"{field} may have {limit} characters, and no NUL.", field=field)
    session = insert_session(owner=user, agent=agent, name=name, description=description)
    if name:
        note_title(session.pk)
    return session


def insert_session(**fields: Any) -> Session:
    """A new row with a fresh three-word handle, also within a transaction."""
    while True:
        try:
            with transaction.atomic():
                return Session.objects.create(handle=new_session_handle(), **fields)
        except IntegrityError:  # the three words were taken; there are 10^8 others
            continue


def change_session(
    *, session: Session, name: str | None = None, pinned: bool | None = None, archived: bool | None = None
) -> Session:
    """Changes what is not None. An empty `name` leaves the naming to the site again. Raises InvalidRequest."""
    wanted = {"name": None if name is None else _name(name), "pinned": pinned, "archived": archived}
    changes = {field: value for field, value in wanted.items() if value is not None}
    if not changes:
        return session
    with transaction.atomic():
        # Not `save`: the runs of a session change with every query.
        Session.objects.filter(pk=session.pk).update(**changes)
        if "name" in changes:
            note_title(session.pk)
    session.refresh_from_db()
    return session


def _name(written: str) -> str:
    name = " ".join(written.split())
    if len(name) > NAME_MAX or "\0" in name:
        raise InvalidRequest(_("A name may have %(limit)s characters, and no NUL."), field="name", limit=NAME_MAX)
    return name


def hide_session(*, session: Session) -> bool:
    """Deletes the session for everybody, so that it can still be restored; whether it was not deleted before."""
    return bool(Session.objects.filter(pk=session.pk, deleted=None).update(deleted=Now()))


def restore_session(*, user: User, handle: str) -> Session:
    """Brings back a session that its owner deleted less than `RESTORABLE` ago; one that is there stays so.

    Raises NotFound.
    """
    mine = Session.objects.filter(owner=user, handle=handle.replace("\0", ""))
    mine.filter(deleted__gt=Now() - RESTORABLE).update(deleted=None)
    return session_for(user, handle)


def remove_hidden_sessions(*, at_most: int) -> int:
    """Removes for good what was deleted longer ago than it can be restored; returns how many sessions these were."""
    found = list(Session.objects.filter(deleted__lte=Now() - RESTORABLE).order_by("deleted")[:at_most])
    for session in found:
        delete_session(session=session)
    return len(found)


def delete_session(*, session: Session) -> None:
    """Removes the session with its messages and runs; a run still at work finds its lease gone and stops.

    One that was loaded as deleted on a page, and has come back since, stays.
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
    held = Session.objects.select_for_update().filter(pk=session.pk)
    as_loaded = held.filter(deleted=session.deleted) if session.deleted else held
    unfinished = session.all_runs.filter(status__in=UNFINISHED).order_by("query_seq").values_list("pk")
    try:
        with transaction.atomic():
            # In the order of `store.py`: the run that may be writing, then its session.
            list(unfinished.select_for_update())
            if not list(as_loaded.values_list("pk")):
                return []
            list(unfinished.select_for_update(nowait=True))
            embeds = list(session.embeds.values_list("embed_id", flat=True))
            pass_on(session)
            session.delete()
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        return None
    return embeds
