"""Queries as `accepting.accept` takes them, and agents for them, made without an edge."""

from uuid import uuid4

from accounts.models import Owner, User
from common.ids import uuid7
from registry.models import Agent, Revision
from sessions_app.accepting import Query


def make_agent(owner: Owner, *, published: bool = True, **fields: object) -> Agent:
    """An agent that answers with the query's own words."""
    agent = Agent.objects.create(owner=owner, handle=f"agent-{uuid4().hex[:8]}", published=published, **fields)
    agent.current_revision = Revision.objects.create(
        agent=agent, deployment="internal", target="echo", transport="internal", state="ready"
    )
    agent.save()
    return agent


def query(user: User, agent: Agent, **changes: object) -> Query:
    """A query of `user`'s to `agent` in a new session, but for the `changes`."""
    fields: dict[str, object] = {
        "user": user.pk,
        "jti": None,
        "run": uuid7(),
        "session": f"s-{uuid4().hex}",
        "new": True,
        "agent": (agent.owner.handle, agent.handle),
        "addressed": True,
        "text": "hello",
        "reject_if_busy": False,
    }
    return Query(**{**fields, **changes})
