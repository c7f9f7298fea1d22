"""Who asks in the benchmarks, and the conversations they have behind them."""

import uuid

from django.conf import settings
from django.test import Client

from accounts.actions import create_api_key
from accounts.models import User
from registry.models import Agent
from sessions_app.models import Message, Run, Session

# More queries than any benchmark asks in a day.
NO_LIMIT = 1_000_000_000


def new_user() -> User:
    return User.objects.create_user(f"asker-{uuid.uuid4().hex[:12]}", daily_query_limit=NO_LIMIT)


def key_of(user: User) -> str:
    """A new API key of the user's."""
    return create_api_key(user=user, name="benchmark").token


def cookie_of(user: User) -> str:
    """The `Cookie` header of a browser in which the user has signed in."""
    browser = Client()
    browser.force_login(user, "django.contrib.auth.backends.ModelBackend")
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={browser.cookies[name].value}"


def conversations(user: User, *, count: int, messages: int) -> list[Session]:
    """`count` sessions of `messages` messages each, half of them queries and half responses, as echo gives them."""
    agent = Agent.objects.get(owner__handle="fixie", handle="echo")
    sessions = Session.objects.bulk_create(
        Session(handle=f"benchmark-{uuid.uuid4().hex}", owner=user, agent=agent, last_seq=messages, runs=[])
        for _ in range(count)
    )
    runs = Run.objects.bulk_create(_run(session, seq) for session in sessions for seq in range(1, messages, 2))
    Message.objects.bulk_create((message for run in runs for message in _exchange(run)), batch_size=2000)
    return sessions


def _run(session: Session, seq: int) -> Run:
    done = Run.Status.COMPLETED
    return Run(id=uuid.uuid4(), session=session, agent_id=session.agent_id, query_seq=seq, status=done)


def _exchange(run: Run) -> list[Message]:
    seq, text = run.query_seq, f"What is the answer to question {run.query_seq}, and what follows from it?"
    return [
        Message(session_id=run.session_id, seq=seq, run=run, kind="query", text=text),
        Message(
            session_id=run.session_id,
            seq=seq + 1,
            run=run,
            kind="response",
            text=text,
            agent_id=run.agent_id,
            in_reply_to=seq,
        ),
    ]
