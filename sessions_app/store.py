"""The hot path's SQL: append a step, finish a run, and in `accepting` accept a query. One statement, one commit each.

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

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from common.db import fetch_safely
from sessions_app.charges import COUNTED
from sessions_app.embedding import params_of, variants
from sessions_app.frames import Times
from sessions_app.references import NO_EMBEDS, Embeds


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
    RETURNING session_id, agent_id, query_seq, parent_id, agent_calls > 0 OR parent_id IS NOT NULL AS has_asked,
        created, started, finished
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
SELECT message.seq, message.created, session.next_run, next.id IS NOT NULL, run.has_asked,
    run.created, run.started, run.finished
FROM session CROSS JOIN run LEFT JOIN message ON true LEFT JOIN next ON true""",
    counted=COUNTED,
)

_FINISHED_BEFORE = """
SELECT m.seq, m.created, CASE WHEN r.parent_id IS NULL THEN s.runs[1] END, false, true,
    r.created, r.started, r.finished
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
    times: Times


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
    seq, at, next_run, next_claimed, has_asked, *times = rows[0]
    return Finished(seq, at, next_run, next_claimed, has_asked, Times(*times))
