"""Searching what was said in one's sessions, and their titles.

What can be found is a table of its own (`SearchEntry`), which is written here and never on the hot path: of the
sessions of somebody who searches right then, and of all others from time to time. One index has the words of
everybody, and with them who may find them: a lexeme that begins with a space, as nothing can that is typed.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from common.db import Row, fetch_safely
from sessions_app.sidebar.searching import LEXED, Part, Wanted, excerpt, wanted
from sessions_app.sidebar.titles import FIRST_QUERY_LENGTH, titled

LIMIT = 20
# So many characters of a message can be found.
CHARACTERS = 50_000
# What is made searchable in one statement: messages of one session and in all, and their bytes.
OF_A_SESSION, AT_ONCE, BYTES_AT_ONCE = 500, 1_000, 1_000_000
# So often at most for one search: who comes back after a long time does not wait for all of it.
ROUNDS = 2
# What counts as said last, in sessions and messages; first, and where that has some of what is sought.
NEWEST, WIDER = (200, 3_000), (1_000, 15_000)

_WORDS = f"{LEXED} || array_to_tsvector(ARRAY[' ' || {{owner}}])"


@dataclass(frozen=True, slots=True)
class Hit:
    """A session that has what was sought: in its last such message, number `seq`, or only in its title (null)."""

    session: str
    title: str
    archived: bool
    seq: int | None
    parts: list[Part]
    created: datetime


# Asked for in a query of its own, it is made once, and not for each row that is looked at.
_SOUGHT = "(SELECT to_tsquery('simple', %(words)s))"
# Words that stand everywhere are found in what was said last, without the index: it would count all their places.
_NEWEST = f"""
WITH newest AS (
    SELECT id, last_seq, sum(last_seq) OVER (ORDER BY active DESC, id DESC) AS total FROM (
        SELECT s.id, s.last_seq, s.active FROM sessions_app_session s
        WHERE s.owner_id = %(user)s AND s.deleted IS NULL ORDER BY s.active DESC, s.id DESC LIMIT %(sessions)s
    ) AS s
), found AS (
    SELECT e.session_id, max(e.seq) AS seq FROM newest n CROSS JOIN LATERAL (
        -- OFFSET: each session's few rows are read first, and then looked into.
        SELECT e.session_id, e.seq, e.words FROM sessions_app_searchentry e WHERE e.session_id = n.id OFFSET 0
    ) AS e
    WHERE n.total - n.last_seq < %(messages)s AND e.words @@ {_SOUGHT}
    GROUP BY e.session_id
)"""
# The index knows which rows have all words and are the user's; only their sessions are looked at, not the messages.
_ALL = f"""
WITH found AS (
    SELECT e.session_id, max(e.seq) AS seq FROM sessions_app_searchentry e
    WHERE e.words @@ (SELECT {_SOUGHT} && %(owner)s::tsquery) AND (SELECT numnode({_SOUGHT})) > 0
    GROUP BY e.session_id
)"""
_SHOWN = """, hits AS (
    SELECT s.id, s.handle, s.name, s.title, s.archived, s.active, found.seq
    FROM found JOIN sessions_app_session s ON s.id = found.session_id
    WHERE s.owner_id = %(user)s AND s.deleted IS NULL
    ORDER BY s.active DESC, s.id DESC LIMIT %(limit)s
)
SELECT h.handle, h.name, h.title, h.archived, h.seq, left(first.text, %(start)s), left(m.text, %(characters)s),
    COALESCE(m.created, h.active)
FROM hits h LEFT JOIN sessions_app_message m ON m.session_id = h.id AND m.seq = h.seq
    LEFT JOIN sessions_app_message first ON first.session_id = h.id AND first.seq = 1
ORDER BY h.active DESC, h.id DESC"""


async def search(user_id: int, typed: str, *, limit: int = LIMIT) -> list[Hit]:
    """The user's sessions that have what was typed, the last asked first; archived ones too, deleted ones never."""
    sought = wanted(typed)
    if sought is None:
        return []
    for _ in range(ROUNDS):
        if not await prepare(user_id):
            break
    params = {
        "user": user_id,
        "words": sought.tsquery,
        "owner": f"' {user_id}'",
        "limit": limit,
        "start": FIRST_QUERY_LENGTH,
        "characters": CHARACTERS,
    }
    rows = await _newest(params, NEWEST)
    # What is not rare is found sooner among some more than by the index.
    if len(rows) < limit <= len(rows) * WIDER[1] // NEWEST[1]:
        rows = await _newest(params, WIDER)
    if len(rows) < limit:
        rows = await fetch_safely(_ALL + _SHOWN, params)
    # Looking through long texts takes a moment: not on the loop that serves everybody else.
    return await asyncio.to_thread(lambda: [_hit(sought, row) for row in rows])


async def _newest(params: dict[str, Any], window: tuple[int, int]) -> list[Row]:
    sessions, messages = window
    return await fetch_safely(_NEWEST + _SHOWN, {**params, "sessions": sessions, "messages": messages})


def _hit(sought: Wanted, row: Row) -> Hit:
    handle, name, title, archived, seq, first, said, created = row
    shown = titled(name=name, title=title, first_query=first, handle=handle)
    parts = excerpt(said, sought) if seq else excerpt(shown, sought, whole=True)
    return Hit(handle, shown, archived, seq or None, parts, created)


def _prepare(whose: str) -> str:
    """What is committed by now, and no more: `seen` is as old as the statement, whatever is added meanwhile."""
    return f"""
WITH behind AS (
    SELECT s.id, s.owner_id, s.active, s.searched_seq AS since,
        LEAST(s.last_seq, s.searched_seq + %(of_a_session)s) AS seen
    FROM sessions_app_session s WHERE s.searched_seq < s.last_seq AND s.deleted IS NULL {whose}
), chosen AS (
    SELECT * FROM (SELECT b.*, sum(b.seen - b.since) OVER (ORDER BY b.active DESC, b.id) AS total FROM behind b) AS b
    WHERE total - (seen - since) < %(at_once)s
), told AS (
    SELECT *, sum(size) OVER (ORDER BY active DESC, id, seq) AS total FROM (
        SELECT c.id, c.owner_id, c.active, m.seq, m.kind, m.text,
            CASE WHEN m.kind IN ('query', 'response') THEN octet_length(m.text) ELSE 0 END AS size
        FROM chosen c JOIN sessions_app_message m ON m.session_id = c.id AND m.seq > c.since AND m.seq <= c.seen
    ) AS m
), taken AS (
    SELECT * FROM told WHERE total - size < %(bytes)s
), said AS (
    INSERT INTO sessions_app_searchentry (session_id, seq, words)
    SELECT t.id, t.seq, {_WORDS.format(text="left(t.text, %(characters)s)", owner="t.owner_id")}
    FROM taken t WHERE t.kind IN ('query', 'response')
    ON CONFLICT DO NOTHING
)
SELECT array_agg(id), array_agg(seen) FROM (SELECT id, max(seq) AS seen FROM taken GROUP BY id) AS done"""


_PREPARE_MINE, _PREPARE_ALL = _prepare("AND s.owner_id = %(user)s"), _prepare("")
# Afterwards, so that no session is locked while words are counted.
_PREPARED = """
UPDATE sessions_app_session s SET searched_seq = done.seen
FROM unnest(%(sessions)s::bigint[], %(seen)s::int[]) AS done(id, seen)
WHERE s.id = done.id AND s.searched_seq < done.seen
RETURNING s.id"""


async def prepare(user_id: int | None = None) -> bool:
    """Makes some messages searchable that are not yet, of the user's sessions or of all; whether there were any."""
    params = {
        "user": user_id,
        "of_a_session": OF_A_SESSION,
        "at_once": AT_ONCE,
        "bytes": BYTES_AT_ONCE,
        "characters": CHARACTERS,
    }
    rows = await fetch_safely(_PREPARE_ALL if user_id is None else _PREPARE_MINE, params)
    sessions, seen = rows[0]
    if sessions:
        await fetch_safely(_PREPARED, {"sessions": sessions, "seen": seen})
    return bool(sessions)


# As message 0, of which there is none.
_TITLED = f"""
INSERT INTO sessions_app_searchentry (session_id, seq, words)
SELECT s.id, 0, {_WORDS.format(text="COALESCE(NULLIF(s.name, ''), s.title)", owner="s.owner_id")}
FROM sessions_app_session s WHERE s.id = %(session)s
ON CONFLICT (session_id, seq) DO UPDATE SET words = EXCLUDED.words"""


def note_title(session_id: int) -> None:
    """Makes a session's name, or else its title, searchable as it is now; in the transaction that changes it."""
    with connection.cursor() as cursor:
        cursor.execute(_TITLED, {"session": session_id})
