"""Who asks in the benchmarks, and the conversations they have behind them."""

import uuid

from django.conf import settings
from django.db import connection
from django.test import Client

from accounts.actions import create_api_key
from accounts.models import User
from registry.models import Agent

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


# In the hot path's own columns; half of the messages are queries, half responses, as echo gives them.
_FILL = """
WITH session AS (
    INSERT INTO sessions_app_session (handle, owner_id, agent_id, last_seq, runs)
    SELECT 'benchmark-' || gen_random_uuid(), %(user)s, %(agent)s, %(messages)s, '{}'
    FROM generate_series(1, %(count)s)
    RETURNING id, handle
), run AS (
    INSERT INTO sessions_app_run (id, session_id, agent_id, query_seq, status)
    SELECT gen_random_uuid(), session.id, %(agent)s, seq, 'completed'
    FROM session, generate_series(1, %(messages)s, 2) AS seq
    RETURNING id, session_id, query_seq
), message AS (
    INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, agent_id, in_reply_to)
    SELECT session_id, query_seq + part.step, id, part.kind,
        format('What is the answer to question %%s, and what follows from it?', query_seq),
        CASE part.step WHEN 1 THEN %(agent)s::bigint END, CASE part.step WHEN 1 THEN query_seq END
    FROM run, (VALUES (0, 'query'), (1, 'response')) AS part(step, kind)
)
SELECT handle FROM session"""


def conversations(user: User, *, count: int, messages: int) -> list[str]:
    """The handles of `count` new sessions of the user's with `messages` messages (an even number) each."""
    agent = Agent.objects.get(owner__handle="fixie", handle="echo")
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"user": user.pk, "agent": agent.pk, "count": count, "messages": messages})
        return [handle for (handle,) in cursor.fetchall()]
