"""Reading conversations on the async side: messages after a number, a run's state, a run's own steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.auth import IS_CALLER
from common.db import Row, fetch_safely
from sessions_app.attachments import ashown
from sessions_app.frames import Frame, Times, embeds_frame, message_frame, run_frame
from sessions_app.references import naming

PAGE = 500


_MESSAGE_COLUMNS = """
SELECT m.seq, m.kind, m.text, m.run_id, o.handle || '/' || a.handle, m.in_reply_to, m.created, m.embed_keys
FROM sessions_app_message m LEFT JOIN registry_agent a ON a.id = m.agent_id
    LEFT JOIN accounts_owner o ON o.id = a.owner_id"""
_MESSAGES = f"""{_MESSAGE_COLUMNS}
WHERE m.session_id = %(session)s AND m.seq > %(since)s ORDER BY m.seq LIMIT %(limit)s"""
_MESSAGES_OF = f"""{_MESSAGE_COLUMNS}
WHERE m.session_id = %(session)s AND m.seq > %(since)s AND m.run_id IN (
    SELECT %(run)s::uuid UNION ALL SELECT r.id FROM sessions_app_run r WHERE r.root_id = %(run)s)
ORDER BY m.seq"""


async def messages_after(session_id: int, since: int, limit: int = PAGE) -> list[Frame]:
    """Up to `limit` messages with a `seq` above `since`, in order."""
    rows = await fetch_safely(_MESSAGES, {"session": session_id, "since": since, "limit": limit})
    return await _message_frames(session_id, rows)


async def messages_of(session_id: int, run: UUID, *, query: int) -> list[Frame]:
    """What a run, whose query is message `query`, and those below it have said so far, in order."""
    rows = await fetch_safely(_MESSAGES_OF, {"session": session_id, "run": run, "since": query})
    return await _message_frames(session_id, rows)


async def _message_frames(session_id: int, rows: Sequence[Row]) -> list[Frame]:
    shown = await ashown(session_id, {key for row in rows for key in row[7]})
    return [
        message_frame(
            seq=seq,
            kind=kind,
            text=text,
            run=run,
            agent=agent,
            in_reply_to=reply,
            created=created,
            embeds=embeds_frame(keys, shown),
        )
        for seq, kind, text, run, agent, reply, created, keys in rows
    ]


_RUN_COLUMNS = """
SELECT r.id, r.status, r.query_seq, o.handle || '/' || a.handle, r.error_code, r.parent_id,
    r.created, r.started, r.finished, r.prompt_tokens + r.completion_tokens
FROM sessions_app_run r LEFT JOIN registry_agent a ON a.id = r.agent_id
    LEFT JOIN accounts_owner o ON o.id = a.owner_id"""
_RUNS = f"{_RUN_COLUMNS} WHERE r.id = ANY(%(runs)s) ORDER BY r.query_seq"
# By the few ids in the session's row, never by the session: it may have thousands of runs.
_UNFINISHED = f"""{_RUN_COLUMNS}
WHERE r.id IN (
    SELECT unnest(s.runs) FROM sessions_app_session s WHERE s.id = %(session)s
    UNION ALL
    SELECT c.id FROM sessions_app_session s JOIN sessions_app_run c ON c.root_id = ANY(s.runs)
    WHERE s.id = %(session)s AND c.status = 'in_progress'
) ORDER BY r.query_seq"""


def _run_frame_of(row: tuple[Any, ...]) -> Frame:
    run, status, query, agent, error_code, parent, *moments, tokens = row
    return run_frame(
        run=run,
        status=status,
        query=query,
        agent=agent,
        error_code=error_code,
        parent=parent,
        times=Times(*moments),
        tokens=tokens,
    )


async def run_frames(runs: list[UUID]) -> list[Frame]:
    """The present state of these runs."""
    return [_run_frame_of(row) for row in await fetch_safely(_RUNS, {"runs": runs})]


async def unfinished_runs(session_id: int) -> list[Frame]:
    """The runs of a session that are executing or waiting, in their order; those below others after them."""
    return [_run_frame_of(row) for row in await fetch_safely(_UNFINISHED, {"session": session_id})]


# Of the runs that were opened as its steps the question and, where there is one, the answer. (A question of an agent's
# own program has no step.)
_STEPS = """
SELECT m.kind, m.text, m.embed_keys FROM sessions_app_message m
    LEFT JOIN sessions_app_run c ON c.id = m.run_id AND c.parent_id = %(run)s AND c.parent_step IS NOT NULL
WHERE m.session_id = %(session)s AND m.seq > %(query)s AND (
    m.run_id = %(run)s OR m.seq = c.query_seq OR (m.kind = 'agent_output' AND c.status = 'completed'))
ORDER BY m.seq"""


async def steps_of(session_id: int, query: int, run: UUID) -> list[tuple[str, str]]:
    """(kind, text) of the steps a run has stored so far, in order. Answers of agents name all of their embeds."""
    rows = await fetch_safely(_STEPS, {"session": session_id, "query": query, "run": run})
    return [(kind, naming(text, keys if kind == "agent_output" else ())) for kind, text, keys in rows]


_HISTORY = """
SELECT q.text, q.embed_keys, a.text FROM sessions_app_message a
    JOIN sessions_app_message q ON q.session_id = a.session_id AND q.seq = a.in_reply_to
WHERE a.session_id = %(session)s AND a.seq < %(query)s AND a.kind = 'response'
ORDER BY a.seq DESC LIMIT %(limit)s"""


async def exchanges_before(session_id: int, query: int, limit: int = 20) -> list[tuple[str, str]]:
    """(query, answer) of the last `limit` answered queries before message `query`, oldest first.

    Queries name all of their embeds.
    """
    rows = await fetch_safely(_HISTORY, {"session": session_id, "query": query, "limit": limit})
    return [(naming(text, keys), answer) for text, keys, answer in reversed(rows)]


@dataclass(frozen=True, slots=True)
class Place:
    """A session as a follower needs it: its row and its last number."""

    session_id: int
    last_seq: int


_PLACE = f"""
SELECT s.id, s.last_seq FROM sessions_app_session s JOIN accounts_user u ON u.id = s.owner_id
WHERE s.handle = %(session)s AND s.deleted IS NULL AND {IS_CALLER}"""


async def place_of(session: str, *, user: int, jti: UUID | None) -> Place | None:
    """The caller's session with this handle; None where it is missing, somebody else's, or the key is dead."""
    if "\0" in session:  # on which PostgreSQL fails
        return None
    rows = await fetch_safely(_PLACE, {"session": session, "user": user, "jti": jti})
    return Place(*rows[0]) if rows else None


_RUN_OF = f"""
SELECT r.session_id, s.handle, r.query_seq, r.status, r.error_code, r.prompt_tokens, r.completion_tokens, r.created,
    r.finished
FROM sessions_app_run r
    JOIN sessions_app_session s ON s.id = r.session_id JOIN accounts_user u ON u.id = s.owner_id
WHERE r.id = %(run)s AND s.deleted IS NULL AND {IS_CALLER}"""


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run stands. `error_code` is empty where it did not end badly, `finished` None where it has not ended."""

    session_id: int
    session: str
    query_seq: int
    status: str
    error_code: str
    prompt_tokens: int
    completion_tokens: int
    created: datetime
    finished: datetime | None


async def run_of(run: UUID, *, user: int, jti: UUID | None) -> RunPlace | None:
    """Where a run of the caller's stands; None where it is missing, somebody else's, or the key is dead."""
    rows = await fetch_safely(_RUN_OF, {"run": run, "user": user, "jti": jti})
    return RunPlace(*rows[0]) if rows else None


_IS_BELOW = "SELECT FROM sessions_app_run r WHERE r.id = %(run)s AND r.root_id = %(top)s"


async def is_below(run: UUID, top: UUID) -> bool:
    """Whether a run is below another one, however deep, at the top."""
    return bool(await fetch_safely(_IS_BELOW, {"run": run, "top": top}))
