"""Who executes which run: claiming, heartbeats, cancelling, and taking over what a dead process left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from common.db import fetch_safely
from sessions_app.llm.format import read_step


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks where an agent asks another: the run `parent`, which calls the other `name`.

    `chain` are the agents above the asked one, from the top.
    """

    parent: UUID
    chain: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A run that this process holds, with what executing it needs. `revision` is None where the agent is gone.

    `embed_keys` are the query's in the session. `started` is when the run at the top was started, from which time is
    counted. `asking` is None where a user asks. A run that is `canceled` already is only to be ended.
    `switched_off` is the id of the agent where it may not be asked any more; then there is no `revision` either.
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
    asking: Asking | None = None
    canceled: bool = False
    switched_off: str | None = None


_CLAIM = """
UPDATE sessions_app_run r SET status = 'in_progress', process = %(process)s, heartbeat = now(),
    epoch = r.epoch + 1, started = COALESCE(r.started, now())
FROM sessions_app_session s
WHERE r.id = %(run)s AND s.id = r.session_id AND (s.runs[1] = r.id OR r.parent_id IS NOT NULL)
    AND (r.status = 'queued' OR (r.status = 'in_progress' AND r.process IS NULL))
RETURNING r.id"""

# Whether the run `r` is to stop: it was told so, or nobody waits for it any more.
IS_CANCELED = """(r.cancel_requested OR EXISTS (
        SELECT FROM sessions_app_run p WHERE p.id = r.parent_id AND p.status NOT IN ('queued', 'in_progress')))"""

_HELD = f"""
SELECT r.id, r.epoch, r.session_id, s.handle, s.owner_id,
    CASE WHEN a.enabled THEN a.current_revision_id END, q.text, q.seq, COALESCE(top.started, r.started), q.embed_keys,
    r.parent_id, r.chain, {IS_CANCELED}, CASE WHEN NOT a.enabled THEN
        (SELECT o.handle || '/' || a.handle FROM accounts_owner o WHERE o.id = a.owner_id) END
FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id
    JOIN sessions_app_message q ON q.session_id = r.session_id AND q.seq = r.query_seq
    LEFT JOIN registry_agent a ON a.id = r.agent_id
    LEFT JOIN sessions_app_run top ON top.id = r.root_id
WHERE r.id = %(run)s AND r.process = %(process)s AND r.status = 'in_progress'"""


async def claim(run: UUID, process: UUID) -> Lease | None:
    """Takes a run that nobody holds and whose turn it is; None where somebody else was faster."""
    params = {"run": run, "process": process}
    await fetch_safely(_CLAIM, params)
    return await held(run, process)


async def held(run: UUID, process: UUID) -> Lease | None:
    """The lease of a run that this process holds already."""
    rows = await fetch_safely(_HELD, {"run": run, "process": process})
    return _lease_of(*rows[0]) if rows else None


def _lease_of(*columns: Any) -> Lease:
    *plain, parent, chain, canceled, switched_off = columns
    lease = replace(Lease(*plain), canceled=canceled, switched_off=switched_off)
    if parent is None:
        return lease
    asked = read_step(lease.query)
    return replace(lease, query=asked.text, asking=Asking(parent, tuple(chain), asked.name))


_BEAT = f"""
WITH held AS (
    SELECT id FROM sessions_app_run
    WHERE id = ANY(%(runs)s) AND process = %(process)s AND status = 'in_progress'
    ORDER BY session_id, query_seq FOR NO KEY UPDATE
)
UPDATE sessions_app_run r SET heartbeat = now() FROM held WHERE r.id = held.id
RETURNING r.id, {IS_CANCELED}"""


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
SELECT r.id FROM sessions_app_run r
    JOIN sessions_app_session s ON s.id = r.session_id AND (s.runs[1] = r.id OR r.parent_id IS NOT NULL)
WHERE (r.status = 'in_progress' AND r.process IS NULL)
    OR (r.status = 'queued' AND r.created < now() - make_interval(secs => %(lease)s))"""


async def abandoned() -> list[UUID]:
    """Frees the runs of processes that stopped beating; returns every run that waits for somebody to take it."""
    rows = await fetch_safely(_ABANDONED, {"lease": settings.RUN_LEASE_SECONDS})
    return [row[0] for row in rows]


_RELEASE = """
WITH held AS (
    SELECT id FROM sessions_app_run WHERE process = %(process)s AND status = 'in_progress'
    ORDER BY session_id, query_seq FOR NO KEY UPDATE
)
UPDATE sessions_app_run r SET process = NULL, epoch = epoch + 1 FROM held WHERE r.id = held.id
RETURNING r.id"""


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


_IS_CANCELED = f"SELECT {IS_CANCELED} FROM sessions_app_run r WHERE r.id = %(run)s"


async def is_canceled(run: UUID) -> bool:
    """Whether a run was told to stop, or nobody waits for it any more."""
    return any(row[0] for row in await fetch_safely(_IS_CANCELED, {"run": run}))


async def cancel_waiting(run: UUID) -> bool:
    """Takes a run out of its session's queue. False where it has begun or ended."""
    return bool(await fetch_safely(_CANCEL_WAITING, {"run": run}))


async def request_cancel(run: UUID) -> bool:
    """Asks whoever executes the run to stop. False where it is not being executed."""
    return bool(await fetch_safely(_REQUEST_CANCEL, {"run": run}))
