"""Rows as a long life of the site would have left them."""

import uuid

from sessions_app.models import Message, Run, Session


def fill(session: str, count: int) -> None:
    """Gives a session the messages 1 to `count`, all of one run that has ended."""
    row = Session.objects.get(handle=session)
    run = Run.objects.create(id=uuid.uuid4(), session=row, query_seq=1, status="completed")
    Message.objects.bulk_create(
        Message(session=row, run=run, seq=seq, kind="query", text=f"number {seq}") for seq in range(1, count + 1)
    )
    Session.objects.filter(pk=row.pk).update(last_seq=count)
