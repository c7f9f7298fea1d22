"""Accepting a query: who asks whom is looked up, charged, numbered, stored and queued by one statement.

Its locks and their order are those of `store`, whose head has the argument.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.conf import settings

from common.handles import SITE_OWNER
from sessions_app.asked import AGENT, CALLER, NAMED_AGENT, OWN_AGENT
from sessions_app.charges import CHARGED, fetch_charged
from sessions_app.embedding import params_of, variants
from sessions_app.references import NO_EMBEDS, Embeds

_LOCKED = """
locked AS (
    SELECT s.id, s.runs, s.agent_id FROM sessions_app_session s, caller c
    WHERE s.handle = %(session)s AND s.owner_id = c.id AND (s.deleted IS NULL OR %(reveals)s)
    FOR NO KEY UPDATE OF s
)"""

_NEW_SESSION = """
session AS (
    INSERT INTO sessions_app_session (handle, owner_id, agent_id, last_seq, runs)
    SELECT %(session)s, c.id, {front}, 1, ARRAY[%(run)s::uuid] FROM caller c, agent a, paid
    RETURNING id, last_seq, runs
)"""

_OLD_SESSION = """
session AS (
    UPDATE sessions_app_session s SET last_seq = s.last_seq + 1, runs = s.runs || %(run)s::uuid, active = now(),
        deleted = NULL
    FROM locked l, paid WHERE s.id = l.id
    RETURNING s.id, s.last_seq, s.runs
)"""

_ACCEPTED = """
run AS (
    INSERT INTO sessions_app_run (id, session_id, agent_id, query_seq, status, process, heartbeat, started)
    SELECT %(run)s, s.id, a.id, s.last_seq, started.status, started.process, started.at, started.at
    FROM agent a, session s, LATERAL (
        SELECT 'in_progress', %(process)s::uuid, now() WHERE s.runs[1] = %(run)s
        UNION ALL SELECT 'queued', NULL, NULL WHERE s.runs[1] <> %(run)s
    ) AS started(status, process, at)
), message AS (
    INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text{column})
    SELECT s.id, s.last_seq, %(run)s, 'query', %(text)s{value} FROM session s
    RETURNING created
){embeds}"""

_OUTCOME = """
SELECT caller.id IS NOT NULL, {session_found}, agent.id, agent.current_revision_id, {waiting},
    session.id, session.last_seq, session.runs[1], message.created
FROM (SELECT 1) AS one LEFT JOIN caller ON true LEFT JOIN agent ON true {source}
    LEFT JOIN session ON true LEFT JOIN message ON true"""

_FREE = "AND (cardinality(l.runs) = 0 OR NOT %(reject)s) AND cardinality(l.runs) < %(max_waiting)s"


def _accept_into_new(which: str, front: str) -> str:
    agent = AGENT.format(source="", which=which)
    charged = CHARGED.format(source="", condition="")
    outcome = _OUTCOME.format(session_found="true", waiting="0", source="")
    return f"WITH {','.join((CALLER, agent, charged, _NEW_SESSION.format(front=front), _ACCEPTED))} {outcome}"


def _accept_into_old(which: str) -> str:
    agent = AGENT.format(source=", locked l", which=which)
    charged = CHARGED.format(source=", locked l", condition=_FREE)
    outcome = _OUTCOME.format(
        session_found="locked.id IS NOT NULL",
        waiting="cardinality(locked.runs)",
        source="LEFT JOIN locked ON true",
    )
    return f"WITH {','.join((CALLER, _LOCKED, agent, charged, _OLD_SESSION, _ACCEPTED))} {outcome}"


ACCEPT_NEW = variants(_accept_into_new(f"({NAMED_AGENT})", "a.id"))
ACCEPT_FIRST = variants(_accept_into_new(f"({NAMED_AGENT})", "%(front)s::bigint"))
ACCEPT_FIRST_OWN = variants(_accept_into_new(f"({OWN_AGENT})", "%(front)s::bigint"))
ACCEPT_ADDRESSED = variants(_accept_into_old(f"({NAMED_AGENT})"))
ACCEPT_OWN = variants(_accept_into_old(f"({OWN_AGENT})"))
ACCEPT_FRONT = variants(_accept_into_old(f"COALESCE(l.agent_id, ({NAMED_AGENT}))"))


@dataclass(frozen=True, slots=True)
class Query:
    """A query to accept. `session` is a handle; `new` says whether to make it. `agent` is (owner, handle).

    In an existing session `addressed` tells whether `agent` was named in the text, or is only the fallback
    of a session without a front agent; named without an owner, it is the caller's own, else the site's. Of a new
    session it tells whether `agent` becomes the front agent; else that is the one with the id `front`, if any. `own`
    are its embeds by the keys that the client's text uses; `accept` knows only `embeds`, with keys of the session.
    With `reveals` the session may count as deleted, and no longer does once this query is in it.
    """

    user: int
    jti: UUID | None
    run: UUID
    session: str
    new: bool
    agent: tuple[str, str]
    addressed: bool
    text: str
    reject_if_busy: bool
    front: int | None = None
    reveals: bool = False
    own: Mapping[str, UUID] = field(default_factory=dict)
    embeds: Embeds = NO_EMBEDS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one accept statement saw and did. `seq` is None when nothing was written."""

    caller_found: bool
    session_found: bool
    agent: int | None
    revision: int | None
    waiting: int
    session_id: int | None
    seq: int | None
    running: UUID | None
    created: datetime | None


async def accept(query: Query, process: UUID) -> Outcome:
    """Charges, numbers, stores and queues one query, or does nothing at all.

    Raises psycopg's UniqueViolation where the run or the new session's handle exists already, or the key of a
    new embed; ForeignKeyViolation where one of the embeds is gone.
    """
    owner, handle = query.agent
    in_old = ACCEPT_FRONT if not query.addressed else ACCEPT_ADDRESSED if owner else ACCEPT_OWN
    in_new = ACCEPT_NEW if query.addressed else ACCEPT_FIRST if owner else ACCEPT_FIRST_OWN
    statements = in_new if query.new else in_old
    rows = await fetch_charged(
        statements[bool(query.embeds.keys)],
        {
            "user": query.user,
            "jti": query.jti,
            "run": query.run,
            "session": query.session,
            "owner": owner or SITE_OWNER,
            "handle": handle,
            "front": query.front,
            "text": query.text,
            "process": process,
            "reject": query.reject_if_busy,
            "reveals": query.reveals,
            "max_waiting": settings.SESSION_MAX_WAITING,
            **params_of(query.embeds),
        },
    )
    return Outcome(*rows[0])
