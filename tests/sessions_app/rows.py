"""Rows as a long life of the site would have left them."""

import uuid
from datetime import timedelta

from django.utils import timezone

from accounts.models import User
from registry.models import Agent
from sessions_app.models import Message, Run, Session


def fill(session: str, count: int) -> None:
    """Gives a session the messages 1 to `count`, all of one run that has ended."""
    row = Session.objects.get(handle=session)
    run = Run.objects.create(id=uuid.uuid4(), session=row, query_seq=1, status="completed")
    Message.objects.bulk_create(
        Message(session=row, run=run, seq=seq, kind="query", text=f"number {seq}") for seq in range(1, count + 1)
    )
    Session.objects.filter(pk=row.pk).update(last_seq=count)


def run_at_work(user: User, agent: Agent) -> Run:
    """A run that answers a query of `user`'s in a session of its own, for as long as a test takes."""
    run = uuid.uuid4()
    session = Session.objects.create(handle=f"s-{run.hex}", owner=user, agent=agent, last_seq=1, runs=[run])
    Message.objects.create(session=session, run_id=run, seq=1, kind="query", text="at work")
    beats = timezone.now() + timedelta(hours=1)
    return Run.objects.create(
        id=run,
        session=session,
        agent=agent,
        query_seq=1,
        status=Run.Status.IN_PROGRESS,
        process=uuid.uuid4(),
        heartbeat=beats,
        started=timezone.now(),
    )
