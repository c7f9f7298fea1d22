"""Searching 100,000 messages of one user among 300,000 of others: words that are rare, usual, and everywhere."""

import asyncio
import statistics
import time

from django.db import connection

from accounts.models import User
from benchmarks.people import conversations, new_user
from benchmarks.report import Row
from common.db import close_pool
from sessions_app.sidebar.search import prepare, search

MINE, OTHERS = 100_000, 300_000
MESSAGES = 20
MOST_MS = 50.0
# Words come as in languages: few of them are said all the time, and most hardly ever.
SAID = {
    "a rare word": "word19000",
    "a usual word": "word40",
    "a word of every message": "the",
    "its first letter": "t",
    "two words of many": "word0 word1",
    "three usual words": "word3 word10 word77",
    "a phrase of common words": '"word1 word2"',
    "a phrase of most common words": '"the word0"',
    "what nobody said": "the word99999",
}

_TEXTS = """
UPDATE sessions_app_message m SET text = 'the ' || (
    SELECT string_agg('word' || floor(power(random(), 3) * 20000)::int, ' ')
    FROM generate_series(1, 30) WHERE m.seq > 0)
FROM sessions_app_session s WHERE s.id = m.session_id AND s.owner_id = ANY(%s)"""
_ASKED = """
UPDATE sessions_app_session SET active = now() - random() * interval '1 year' WHERE owner_id = ANY(%s)"""


def measure(*, quick: bool) -> list[Row]:
    share = 10 if quick else 1
    me, other = new_user(), new_user()
    _fill({me: MINE // share, other: OTHERS // share})
    return asyncio.run(_measure(me, MINE // share, 10 if quick else 40))


def _fill(messages: dict[User, int]) -> None:
    for user, count in messages.items():
        conversations(user, count=count // MESSAGES, messages=MESSAGES)
    users = [user.pk for user in messages]
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [users])
        cursor.execute(_ASKED, [users])
        cursor.execute("ANALYZE")


async def _measure(me: User, messages: int, times: int) -> list[Row]:
    try:
        began = time.perf_counter()
        while await prepare():
            pass
        seconds = time.perf_counter() - began
        await asyncio.to_thread(_settle)
        rows = [await _searched(me, f"{messages:,} messages: {name}", word, times) for name, word in SAID.items()]
    finally:
        await close_pool()
    return [*rows, Row("  making messages searchable", messages * 4 / seconds, "messages/s")]


def _settle() -> None:
    """What autovacuum does within minutes of such a change."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE sessions_app_searchentry")


async def _searched(me: User, name: str, word: str, times: int) -> Row:
    taken = []
    for _ in range(times + 3):
        began = time.perf_counter()
        hits = await search(me.pk, word)
        taken.append(time.perf_counter() - began)
    median = statistics.median(taken[3:]) * 1000
    return Row(name, median, "ms", at_most=MOST_MS, detail=f"{len(hits)} sessions found")
