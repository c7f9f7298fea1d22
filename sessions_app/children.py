"""The SQL of runs below runs: accepting one where an agent asks another, stopping a tree, and reading of it.

How these statements stay right under concurrency, beyond what the head of `store` says:
- Accepting locks the run at the top and then the run that asks. So runs below one top run are accepted one after the
  other, their number is exact, and neither of the two ends or is stopped in between. Only then comes the session.
- No deadlock: runs are locked before their session, several runs in one order (by `query_seq`, in which a run comes
  before those below it), charges after the session. Many children that append, finish or are accepted at once
  each hold runs of their own, or wait for the top run without holding anything that others below it need, and take
  turns at the session; whoever has it waits for nobody but for charges, whose holders end without it.
- Stopping a tree marks its top first, in a statement of its own: what is accepted below it before that is seen by the
  next statement, which marks the rest, and afterwards nothing is accepted. Below a run in the middle of a tree, one
  that is accepted between the two is stopped when the run above it ends.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings

from accounts.tokens import CallClaims
from common.db import fetch_safely
from common.handles import parse_uuid
from sessions_app.asked import IS_BELOW_STRANGER, IS_VISIBLE
from sessions_app.charges import ROOM, TAKEN, fetch_charged
from sessions_app.embedding import params_of, variants
from sessions_app.references import NO_EMBEDS, Embeds

_ACCEPT = variants(
    """
WITH line AS (
    SELECT r.id, r.root_id, r.session_id, r.agent_id, r.query_seq, r.epoch, r.status, r.cancel_requested, r.agent_calls
    FROM sessions_app_run r
    WHERE r.id IN (SELECT unnest(ARRAY[p.id, p.root_id]) FROM sessions_app_run p WHERE p.id = %(parent)s)
    ORDER BY r.query_seq FOR NO KEY UPDATE
), parent AS (
    SELECT * FROM line WHERE id = %(parent)s AND status = 'in_progress' AND epoch = COALESCE(%(epoch)s, epoch)
), top AS (
    SELECT * FROM line WHERE root_id IS NULL AND status = 'in_progress'
), caller AS (
    SELECT u.id, u.owner_id
    FROM parent JOIN sessions_app_session s ON s.id = parent.session_id JOIN accounts_user u ON u.id = s.owner_id
    WHERE u.is_active AND u.id = %(user)s AND s.handle = %(session)s AND s.deleted IS NULL
), agent AS (
    SELECT a.id, a.daily_query_limit, a.daily_token_limit, a.minute_query_limit, o.handle || '/' || a.handle AS name
    FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id, caller c
    WHERE a.handle = %(handle)s AND o.handle = ANY(%(owners)s) AND {is_visible}
        AND (a.published OR NOT {is_below_stranger})
    ORDER BY array_position(%(owners)s::text[], o.handle::text) LIMIT 1
),{room}, counted AS (
    UPDATE sessions_app_run r SET agent_calls = r.agent_calls + 1 FROM top, agent, open_agent
    WHERE r.id = top.id AND top.agent_calls < %(max_calls)s AND agent.name <> ALL(%(chain)s)
        AND NOT (SELECT bool_or(cancel_requested) FROM line)
    RETURNING r.id
), session AS (
    UPDATE sessions_app_session s SET last_seq = s.last_seq + 1 FROM parent, counted WHERE s.id = parent.session_id
    RETURNING s.id, s.last_seq
), paid AS (
    SELECT FROM session
), run AS (
    INSERT INTO sessions_app_run (id, session_id, agent_id, query_seq, status, process, heartbeat, started,
        parent_id, root_id, parent_step, chain)
    SELECT %(run)s, session.id, agent.id, session.last_seq, 'in_progress', %(process)s, now(), now(),
        parent.id, top.id, %(step)s, %(chain)s
    FROM session, agent, parent, top
), message AS (
    INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, agent_id, in_reply_to{column})
    SELECT session.id, session.last_seq, %(run)s, 'agent_call', %(text)s, parent.agent_id, parent.query_seq{value}
    FROM session, parent
    RETURNING created
){embeds},{taken}
SELECT parent.session_id, top.id IS NOT NULL, (SELECT bool_or(cancel_requested) FROM line), caller.id IS NOT NULL,
    agent.id, agent.name, top.agent_calls, session.last_seq, message.created, parent.query_seq
FROM (SELECT 1) AS one LEFT JOIN parent ON true LEFT JOIN top ON true LEFT JOIN caller ON true
    LEFT JOIN agent ON true LEFT JOIN session ON true LEFT JOIN message ON true""",
    room=ROOM,
    taken=TAKEN,
    is_visible=IS_VISIBLE,
    is_below_stranger=IS_BELOW_STRANGER,
)


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One agent's question to another, to be accepted as the run `run` below the run `parent`.

    `parent` is held under `epoch` where the platform executes the asking, and asks as its step `step`; both are None
    where the agent's own program asks. `asker` is the id of the asking agent. Asked is the agent `handle` of the first
    of `owners` who has one that the user may ask; below a stranger's agent, one that is published. `text` is as it is
    stored: `Ask Agent[x]: …`; `chain` are the agents above the asked one, from the top.
    """

    run: UUID
    parent: UUID
    epoch: int | None
    step: int | None
    session: str
    user: int
    asker: str
    owners: tuple[str, ...]
    handle: str
    chain: tuple[str, ...]
    text: str
    embeds: Embeds = NO_EMBEDS


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What one accept statement saw and did. `seq` is None when nothing was written.

    `session_id` is None where the asking run is not at work (any more); `agent_calls` are those before this one.
    """

    session_id: int | None
    top_found: bool
    canceled: bool | None
    caller_found: bool
    agent: int | None
    agent_id: str | None
    agent_calls: int | None
    seq: int | None
    created: datetime | None
    in_reply_to: int | None


async def accept(call: AgentCall, process: UUID) -> CallOutcome:
    """Counts, charges, numbers and stores one agent's question to another; the run is held by `process`.

    Raises psycopg's UniqueViolation where the run exists already, or the key of a new embed; ForeignKeyViolation where
    one of the embeds is gone.
    """
    rows = await fetch_charged(
        _ACCEPT[bool(call.embeds.keys)],
        {
            "run": call.run,
            "parent": call.parent,
            "epoch": call.epoch,
            "step": call.step,
            "session": call.session,
            "user": call.user,
            "owners": list(call.owners),
            "handle": call.handle,
            "chain": list(call.chain),
            "text": call.text,
            "process": process,
            "max_calls": settings.RUN_MAX_AGENT_CALLS,
            **params_of(call.embeds),
        },
    )
    return CallOutcome(*rows[0])


_STOP_BELOW = """
WITH RECURSIVE tree AS (
    SELECT id, COALESCE(root_id, id) AS top FROM sessions_app_run WHERE id = %(run)s
    UNION ALL
    SELECT r.id, tree.top FROM sessions_app_run r JOIN tree ON r.root_id = tree.top AND r.parent_id = tree.id
), below AS (
    SELECT id FROM sessions_app_run
    WHERE id IN (SELECT id FROM tree) AND id <> %(run)s AND status = 'in_progress'
    ORDER BY query_seq FOR NO KEY UPDATE
)
UPDATE sessions_app_run r SET cancel_requested = true FROM below WHERE r.id = below.id RETURNING r.id"""


async def request_cancel_below(run: UUID) -> list[UUID]:
    """Asks whoever executes runs below this one, however deep, to stop; returns those runs."""
    return [row[0] for row in await fetch_safely(_STOP_BELOW, {"run": run})]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Whether a run that was asked to stop has ended. `agent` is null where it is gone."""

    run: UUID
    agent: str | None
    acknowledged: bool


_ENDED = """
SELECT r.id, o.handle || '/' || a.handle, r.status NOT IN ('queued', 'in_progress')
FROM sessions_app_run r LEFT JOIN registry_agent a ON a.id = r.agent_id
    LEFT JOIN accounts_owner o ON o.id = a.owner_id
WHERE r.id = ANY(%(runs)s) ORDER BY r.query_seq"""


async def acknowledgements(runs: Collection[UUID]) -> list[Acknowledgement]:
    """Which of these runs have ended, those above others first."""
    return [Acknowledgement(*row) for row in await fetch_safely(_ENDED, {"runs": list(runs)})]


_ENDING = """
SELECT r.status, r.error_code, m.text, m.embed_keys, EXISTS (
        SELECT FROM sessions_app_message step WHERE step.session_id = r.session_id AND step.run_id = r.id
            AND step.seq > r.query_seq AND step.kind NOT IN ('agent_output', 'error')
    ) OR EXISTS (SELECT FROM sessions_app_run c WHERE c.root_id = r.root_id AND c.parent_id = r.id)
FROM sessions_app_run r LEFT JOIN sessions_app_message m ON m.session_id = r.session_id AND m.run_id = r.id
    AND m.seq > r.query_seq AND m.kind IN ('agent_output', 'error')
WHERE r.id = %(run)s AND r.status NOT IN ('queued', 'in_progress') ORDER BY m.seq DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class CallEnding:
    """How the run of an agent's question ended. `text` is as it is stored, None where nothing was said.

    `has_acted`: it has stored steps, or asked others.
    """

    status: str
    error_code: str
    text: str | None
    embed_keys: Sequence[int] | None
    has_acted: bool


async def ending_of(run: UUID) -> CallEnding | None:
    """How a run ended; None while it has not."""
    rows = await fetch_safely(_ENDING, {"run": run})
    return CallEnding(*rows[0]) if rows else None


_AT_WORK = """
SELECT 1 FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id
    JOIN accounts_user u ON u.id = s.owner_id
WHERE r.id = %(run)s AND r.status = 'in_progress' AND NOT r.cancel_requested
    AND s.handle = %(session)s AND s.deleted IS NULL AND u.id = %(user)s AND u.is_active"""


async def is_at_work(claims: CallClaims) -> bool:
    """Whether the query that the token of a call belongs to is being answered now."""
    params = {"run": parse_uuid(claims.run), "session": claims.session, "user": claims.user_id}
    return bool(await fetch_safely(_AT_WORK, params))


_BELOW_STRANGER = f"SELECT {IS_BELOW_STRANGER} FROM accounts_user c WHERE c.id = %(user)s"


async def is_below_stranger(chain: Sequence[str], *, user: int) -> bool:
    """Whether one of these agents is a stranger's to the user; no statement where there are none."""
    if not chain:
        return False
    return any(row[0] for row in await fetch_safely(_BELOW_STRANGER, {"chain": list(chain), "user": user}))
