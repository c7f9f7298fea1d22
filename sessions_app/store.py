"""The hot path's SQL: accept a query, append a step, finish a run. One statement each, so one commit each.

How the statements stay right under concurrency (READ COMMITTED):
- A session's row is locked first. `last_seq` and the queue `runs` live in it, so numbering and turn-taking are
  decided under that one lock and never from a stale snapshot of other rows.
- Locks are taken in one order everywhere: the run that writes (several: by session and `query_seq`, so those above
  others first), its session, the next run, what is charged (`charges`: the user's day, the user, a slot of the agent,
  its minute).
- A run's writes are fenced by its `epoch`: whoever takes a run over raises it, and the old holder writes nothing.
- Statements may be sent twice (the connection broke, did it commit?): ids are made by the caller, steps are
  counted, so that the second try finds what the first one did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.conf import settings

from common.db import fetch_safely
from common.handles import SITE_OWNER
from sessions_app.asked import AGENT, CALLER, NAMED_AGENT, OWN_AGENT
from sessions_app.charges import CHARGED, COUNTED, fetch_charged
from sessions_app.embedding import params_of, variants
from sessions_app.references import NO_EMBEDS, Embeds

_LOCKED = """
locked AS (
    SELECT s.id, s.runs, s.agent_id FROM sessions_app_session s, caller c
    WHERE s.handle = %(session)s AND s.owner_id = c.id
    FOR NO KEY UPDATE OF s
)"""

_NEW_SESSION = """
session AS (
    INSERT INTO sessions_app_session (handle, owner_id, agent_id, last_seq, runs)
    SELECT %(session)s, c.id, a.id, 1, ARRAY[%(run)s::uuid] FROM caller c, agent a, paid
    RETURNING id, last_seq, runs
)"""

_OLD_SESSION = """
session AS (
    UPDATE sessions_app_session s SET last_seq = s.last_seq + 1, runs = s.runs || %(run)s::uuid
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


def _accept_into_new() -> str:
    agent = AGENT.format(source="", which=f"({NAMED_AGENT})")
    charged = CHARGED.format(source="", condition="")
    outcome = _OUTCOME.format(session_found="true", waiting="0", source="")
    return f"WITH {','.join((CALLER, agent, charged, _NEW_SESSION, _ACCEPTED))} {outcome}"


def _accept_into_old(which: str) -> str:
    agent = AGENT.format(source=", locked l", which=which)
    charged = CHARGED.format(source=", locked l", condition=_FREE)
    outcome = _OUTCOME.format(
        session_found="locked.id IS NOT NULL",
        waiting="cardinality(locked.runs)",
        source="LEFT JOIN locked ON true",
    )
    return f"WITH {','.join((CALLER, _LOCKED, agent, charged, _OLD_SESSION, _ACCEPTED))} {outcome}"


ACCEPT_NEW = variants(_accept_into_new())
ACCEPT_ADDRESSED = variants(_accept_into_old(f"({NAMED_AGENT})"))
ACCEPT_OWN = variants(_accept_into_old(f"({OWN_AGENT})"))
ACCEPT_FRONT = variants(_accept_into_old(f"COALESCE(l.agent_id, ({NAMED_AGENT}))"))


@dataclass(frozen=True, slots=True)
class Query:
    """A query to accept. `session` is a handle; `new` says whether to make it. `agent` is (owner, handle).

    In an existing session `addressed` tells whether `agent` was named in the text, or is only the fallback
    of a session without a front agent; named without an owner, it is the caller's own, else the site's. `own` are its
    embeds by the keys that the client's text uses; `accept` knows only `embeds`, which have keys of the session.
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
    statements = ACCEPT_NEW if query.new else in_old
    rows = await fetch_charged(
        statements[bool(query.embeds.keys)],
        {
            "user": query.user,
            "jti": query.jti,
            "run": query.run,
            "session": query.session,
            "owner": owner or SITE_OWNER,
            "handle": handle,
            "text": query.text,
            "process": process,
            "reject": query.reject_if_busy,
            "max_waiting": settings.SESSION_MAX_WAITING,
            **params_of(query.embeds),
        },
    )
    return Outcome(*rows[0])


@dataclass(frozen=True, slots=True)
class Appended:
    seq: int
    created: datetime


class LeaseLostError(Exception):
    """Another process has taken this run over, or it is finished: stop, and write nothing."""


_APPEND = variants("""
WITH run AS (
    UPDATE sessions_app_run SET step = step + %(count)s, heartbeat = now()
    WHERE id = %(run)s AND epoch = %(epoch)s AND step = %(step)s AND status = 'in_progress'
    RETURNING session_id, agent_id, query_seq
), session AS (
    UPDATE sessions_app_session s SET last_seq = s.last_seq + %(count)s FROM run WHERE s.id = run.session_id
    RETURNING s.id, s.last_seq
){embeds}
INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, agent_id, in_reply_to{column})
SELECT session.id, session.last_seq - %(count)s + new.number, %(run)s, new.kind, new.text, run.agent_id,
    run.query_seq{value}
FROM run, session, unnest(%(kinds)s::text[], %(texts)s::text[]) WITH ORDINALITY AS new(kind, text, number)
RETURNING seq, created""")

_APPENDED_BEFORE = """
SELECT m.seq, m.created FROM sessions_app_run r JOIN sessions_app_message m
    ON m.session_id = r.session_id AND m.run_id = r.id AND m.seq > r.query_seq
WHERE r.id = %(run)s AND r.epoch = %(epoch)s AND r.step = %(step)s + %(count)s AND m.kind = ANY(%(kinds)s)
ORDER BY m.seq DESC LIMIT %(count)s"""


async def append(*, run: UUID, epoch: int, step: int, kind: str, text: str, embeds: Embeds = NO_EMBEDS) -> Appended:
    """Stores step number `step + 1` of a run. Raises LeaseLostError; UniqueViolation as `accept`."""
    [appended] = await append_all(run=run, epoch=epoch, step=step, steps=[(kind, text)], embeds=embeds)
    return appended


async def append_all(
    *, run: UUID, epoch: int, step: int, steps: Sequence[tuple[str, str]], embeds: Embeds = NO_EMBEDS
) -> list[Appended]:
    """Stores the steps after number `step` of a run, each as (kind, text): all of them, or none. Raises as `append`."""
    kinds, texts = zip(*steps, strict=True)
    params = {
        "run": run,
        "epoch": epoch,
        "step": step,
        "count": len(steps),
        "kinds": list(kinds),
        "texts": list(texts),
        **params_of(embeds),
    }
    rows = await fetch_safely(_APPEND[bool(embeds.keys)], params) or await fetch_safely(_APPENDED_BEFORE, params)
    if not rows:
        raise LeaseLostError(str(run))
    return [Appended(*row) for row in sorted(rows)]


_FINISH = variants(
    """
WITH run AS (
    UPDATE sessions_app_run SET status = %(status)s, error_code = %(error_code)s, finished = now(),
        prompt_tokens = %(prompt_tokens)s, completion_tokens = %(completion_tokens)s
    WHERE id = %(run)s AND epoch = %(epoch)s AND status = 'in_progress'
    RETURNING session_id, agent_id, query_seq, parent_id, agent_calls > 0 OR parent_id IS NOT NULL AS has_asked
), session AS (
    UPDATE sessions_app_session s
    SET last_seq = s.last_seq + %(messages)s, runs = array_remove(s.runs, %(run)s)
    FROM run WHERE s.id = run.session_id
    RETURNING s.id, s.owner_id, s.last_seq, CASE WHEN run.parent_id IS NULL THEN s.runs[1] END AS next_run
), message AS (
    INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, agent_id, in_reply_to{column})
    SELECT session.id, session.last_seq, %(run)s, %(kind)s, %(text)s, run.agent_id, run.query_seq{value}
    FROM run, session WHERE %(messages)s = 1
    RETURNING seq, created
){embeds}, next AS (
    UPDATE sessions_app_run r SET status = 'in_progress', process = %(process)s, heartbeat = now(),
        started = now(), epoch = r.epoch + 1
    FROM session WHERE r.id = session.next_run AND r.status = 'queued'
    RETURNING r.id
), {counted}
SELECT message.seq, message.created, session.next_run, next.id IS NOT NULL, run.has_asked
FROM session CROSS JOIN run LEFT JOIN message ON true LEFT JOIN next ON true""",
    counted=COUNTED,
)

_FINISHED_BEFORE = """
SELECT m.seq, m.created, CASE WHEN r.parent_id IS NULL THEN s.runs[1] END, false, true
FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id
    LEFT JOIN sessions_app_message m ON m.session_id = r.session_id AND m.run_id = r.id
        AND m.seq > r.query_seq AND m.kind IN ('response', 'agent_output', 'error')
WHERE r.id = %(run)s AND r.epoch = %(epoch)s AND r.status = %(status)s
ORDER BY m.seq DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `kind` and `text` are its last message, or None where there is nothing to say."""

    status: str
    kind: str | None = None
    text: str | None = None
    error_code: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    # Whether the site's own models used them, so that they count against the user's limit.
    own_tokens: bool = True
    embeds: Embeds = NO_EMBEDS


@dataclass(frozen=True, slots=True)
class Finished:
    """`next_run` waits in the session; `next_claimed` tells whether this process holds it already.

    `has_asked` tells whether there may be runs below this one.
    """

    seq: int | None
    created: datetime | None
    next_run: UUID | None
    next_claimed: bool
    has_asked: bool


async def finish(*, run: UUID, epoch: int, process: UUID, ending: Ending) -> Finished:
    """Ends a run, stores its last message and starts the session's next run. Raises as `append`."""
    params = {
        "run": run,
        "epoch": epoch,
        "process": process,
        "status": ending.status,
        "error_code": ending.error_code,
        "kind": ending.kind,
        "text": ending.text,
        "messages": 0 if ending.kind is None else 1,
        "prompt_tokens": ending.prompt_tokens,
        "completion_tokens": ending.completion_tokens,
        "own_tokens": ending.own_tokens,
        **params_of(ending.embeds),
    }
    rows = await fetch_safely(_FINISH[bool(ending.embeds.keys)], params) or await fetch_safely(_FINISHED_BEFORE, params)
    if not rows:
        raise LeaseLostError(str(run))
    return Finished(*rows[0])
