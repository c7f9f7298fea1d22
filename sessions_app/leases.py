"""Who executes which run: claiming, heartbeats, cancelling, and taking over what a dead process left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from common.db import fetch_safely


@dataclass(frozen=True, slots=True)
class Lease:
    """A run that this process holds, with what executing it needs. `revision` is None where the agent is gone.

    `embed_keys` are the query's in the session.
    """

    run: UUID
    epoch: int
    session_id: int
    session: str
    user: int
    revision: int | None
    query: str
    query_seq: int
    started: datetime
    embed_keys: Sequence[int]


_CLAIM = """
UPDATE sessions_app_run r SET status = 'in_progress', process = %(process)s, heartbeat = now(),
    epoch = r.epoch + 1, started = COALESCE(r.started, now())
FROM sessions_app_session s
WHERE r.id = %(run)s AND s.id = r.session_id AND s.runs[1] = r.id
    AND (r.status = 'queued' OR (r.status = 'in_progress' AND r.process IS NULL))
RETURNING r.id"""

_HELD = """
SELECT r.id, r.epoch, r.session_id, s.handle, s.owner_id, a.current_revision_id, q.text, q.seq, r.started,
    q.embed_keys
FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id
    JOIN sessions_app_message q ON q.session_id = r.session_id AND q.seq = r.query_seq
    LEFT JOIN registry_agent a ON a.id = r.agent_id
WHERE r.id = %(run)s AND r.process = %(process)s AND r.status = 'in_progress'"""


async def claim(run: UUID, process: UUID) -> Lease | None:
    """Takes a run that nobody holds and whose turn it is; None where somebody else was faster."""
    params = {"run": run, "process": process}
    await fetch_safely(_CLAIM, params)
    return await held(run, process)


async def held(run: UUID, process: UUID) -> Lease | None:
    """The lease of a run that this process holds already."""
    rows = await fetch_safely(_HELD, {"run": run, "process": process})
    return Lease(*rows[0]) if rows else None


_BEAT = """
UPDATE sessions_app_run SET heartbeat = now()
WHERE id = ANY(%(runs)s) AND process = %(process)s AND status = 'in_progress'
RETURNING id, cancel_requested"""


async def beat(runs: list[UUID], process: UUID) -> dict[UUID, bool]:
    """Says that this process is alive. Returns the runs it still holds, and which of them to cancel."""
    return dict(await fetch_safely(_BEAT, {"runs": runs, "process": process}))


_ABANDONED = """
WITH dead AS (
    SELECT id FROM sessions_app_run
    WHERE status = 'in_progress' AND process IS NOT NULL
        AND heartbeat < now() - make_interval(secs => %(lease)s)
    ORDER BY heartbeat LIMIT 200 FOR UPDATE SKIP LOCKED
), released AS (
    UPDATE sessions_app_run r SET process = NULL, epoch = r.epoch + 1 FROM dead WHERE r.id = dead.id
    RETURNING r.id
)
SELECT id FROM released
UNION
SELECT r.id FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id AND s.runs[1] = r.id
WHERE (r.status = 'in_progress' AND r.process IS NULL)
    OR (r.status = 'queued' AND r.created < now() - make_interval(secs => %(lease)s))"""


async def abandoned() -> list[UUID]:
    """Frees the runs of processes that stopped beating; returns every run that waits for somebody to take it."""
    rows = await fetch_safely(_ABANDONED, {"lease": settings.RUN_LEASE_SECONDS})
    return [row[0] for row in rows]


_RELEASE = """
UPDATE sessions_app_run SET process = NULL, epoch = epoch + 1
WHERE process = %(process)s AND status = 'in_progress' RETURNING id"""


async def release(process: UUID) -> list[UUID]:
    """Lets go of everything this process holds, so that others can continue at once."""
    return [row[0] for row in await fetch_safely(_RELEASE, {"process": process})]


_REQUEST_CANCEL = """
UPDATE sessions_app_run SET cancel_requested = true WHERE id = %(run)s AND status = 'in_progress'
RETURNING id"""

# The session is locked before its waiting run, in the order of `store.py`.
_CANCEL_WAITING = """
WITH session AS (
    SELECT s.id FROM sessions_app_session s JOIN sessions_app_run r ON r.session_id = s.id
    WHERE r.id = %(run)s FOR NO KEY UPDATE OF s
), run AS (
    UPDATE sessions_app_run r SET status = 'canceled', finished = now() FROM session
    WHERE r.id = %(run)s AND r.status = 'queued' RETURNING r.id
)
UPDATE sessions_app_session s SET runs = array_remove(s.runs, run.id) FROM session, run
WHERE s.id = session.id RETURNING s.id"""


async def cancel_waiting(run: UUID) -> bool:
    """Takes a run out of its session's queue. False where it has begun or ended."""
    return bool(await fetch_safely(_CANCEL_WAITING, {"run": run}))


async def request_cancel(run: UUID) -> bool:
    """Asks whoever executes the run to stop. False where it is not being executed."""
    return bool(await fetch_safely(_REQUEST_CANCEL, {"run": run}))
