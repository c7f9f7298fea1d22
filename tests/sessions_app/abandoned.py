"""Runs that their process has left behind."""

from typing import Any

from accounts.models import User
from common.ids import uuid7
from registry.models import Agent
from sessions_app.models import Message, Run, Session
from tests.sessions_app.cluster import ALIAS


def abandoned_run(agent: str, **fields: Any) -> Session:
    """A session of the tester's with a query to `agent` whose run nobody executes."""
    user = User.objects.using(ALIAS).get(username="tester")
    owner, _, handle = agent.partition("/")
    asked = Agent.objects.using(ALIAS).get(owner__handle=owner, handle=handle)
    run_id = uuid7()
    session = Session.objects.using(ALIAS).create(
        handle=f"s-{run_id.hex}", owner=user, agent=asked, last_seq=1, runs=[run_id]
    )
    run = Run.objects.using(ALIAS).create(id=run_id, session=session, agent=asked, query_seq=1, **fields)
    Message.objects.using(ALIAS).create(session=session, seq=1, run=run, kind="query", text="hello?")
    return session
