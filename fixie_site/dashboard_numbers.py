"""The numbers of the dashboard: statements that read ranges of indexes, whatever the tables hold.

A window is cut into intervals. Queries, failures and tokens of a window of up to a day are counted in the runs
themselves, of a longer one by UTC day in what users used. Latency is that of a sample of each interval. Runs that a
branch copied are in none of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

Rows = list[tuple[Any, ...]]
BUSIEST = 5
DAY = timedelta(days=1)
# An interval has so many parts, and of each part so many runs are looked at.
PARTS = {60: 1, 48: 4, 7: 24, 30: 8}
SAMPLE = {60: 200, 48: 50, 7: 50, 30: 50}


@dataclass(frozen=True, slots=True)
class Window:
    """`count` intervals of `step`; the last one is still going on. Ends are multiples of `step`, in UTC."""

    start: datetime
    step: timedelta
    count: int

    @classmethod
    def until(cls, now: datetime, step: timedelta, count: int) -> "Window":
        begun = now - (now - datetime(2000, 1, 1, tzinfo=UTC)) % step
        return cls(begun - (count - 1) * step, step, count)

    @property
    def starts(self) -> list[datetime]:
        return [self.start + number * self.step for number in range(self.count)]

    @property
    def by_day(self) -> bool:
        return self.step >= DAY

    def place(self, moment: datetime) -> int:
        return (moment - self.start) // self.step


@dataclass(frozen=True, slots=True)
class Interval:
    """What happened in one; `median` and `slow` (the 95th percentile) are milliseconds, 0 where nothing is known."""

    start: datetime
    queries: int
    prompt_tokens: int
    completion_tokens: int
    failures: int
    median: int
    slow: int


def _fetch(sql: str, **params: Any) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: Rows = cursor.fetchall()
        return rows


_BY_RUN = """
SELECT date_bin(%(step)s, created, %(start)s), count(*) FILTER (WHERE parent_id IS NULL),
    sum(prompt_tokens), sum(completion_tokens)
FROM sessions_app_run WHERE created >= %(start)s AND NOT copied GROUP BY 1"""
_BY_DAY = """
SELECT day::timestamp AT TIME ZONE 'UTC', sum(queries), sum(prompt_tokens), sum(completion_tokens)
FROM accounts_usageday WHERE agent IS NULL AND day >= (%(start)s AT TIME ZONE 'UTC')::date GROUP BY 1"""
_FAILURES = """
SELECT date_bin(%(step)s, created, %(start)s), error_code, count(*) FROM sessions_app_run
WHERE created >= %(start)s AND status IN ('failed', 'canceled') AND status = 'failed' AND NOT copied GROUP BY 1, 2"""
_LATENCY = """
SELECT date_bin(%(step)s, part.start, %(start)s), percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY run.took)
FROM generate_series(0, %(parts)s - 1) AS n
    CROSS JOIN LATERAL (SELECT %(start)s::timestamptz + n * %(length)s::interval AS start) AS part
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM finished - created) * 1000 AS took FROM sessions_app_run
        WHERE created >= part.start AND created < part.start + %(length)s::interval
            AND status = 'completed' AND parent_id IS NULL AND NOT copied
        ORDER BY created LIMIT %(sample)s) AS run
GROUP BY GROUPING SETS ((1), ())"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """`failures` are by error code, most first. `median` and `slow` are of the whole window, None where nothing is."""

    intervals: list[Interval]
    failures: list[tuple[str, int]]
    median: float | None
    slow: float | None

    @property
    def queries(self) -> int:
        return sum(each.queries for each in self.intervals)

    @property
    def tokens(self) -> int:
        return sum(each.prompt_tokens + each.completion_tokens for each in self.intervals)

    @property
    def failed(self) -> int:
        return sum(number for _, number in self.failures)


def traffic(window: Window) -> Traffic:
    """Queries, tokens, failures and latency, in three statements."""
    used = {at: numbers for at, *numbers in _fetch(_BY_DAY if window.by_day else _BY_RUN, **_params(window))}
    failures = _fetch(_FAILURES, **_params(window))
    parts = PARTS[window.count]
    sample = {"parts": window.count * parts, "sample": SAMPLE[window.count], "length": window.step / parts}
    latency: dict[datetime | None, list[float]] = dict(_fetch(_LATENCY, **_params(window), **sample))
    codes: dict[str, int] = {}
    for _, code, number in failures:
        codes[code] = codes.get(code, 0) + number
    total = latency.get(None) or (None, None)
    return Traffic(
        list(_intervals(window, used, failures, latency)), sorted(codes.items(), key=lambda each: -each[1]), *total
    )


def _params(window: Window) -> dict[str, Any]:
    return {"start": window.start, "step": window.step}


def _intervals(window: Window, used: Any, failures: Rows, latency: Any) -> Iterator[Interval]:
    for start in window.starts:
        queries, prompt, completion = used.get(start, (0, 0, 0))
        failed = sum(number for at, _, number in failures if at == start)
        median, slow = (round(each or 0) for each in latency.get(start) or (0, 0))
        yield Interval(start, int(queries), int(prompt), int(completion), failed, median, slow)


_AGENTS = """
SELECT busy.agent_id, o.handle || '/' || a.handle, busy.runs FROM (
    SELECT agent_id, count(*) AS runs FROM sessions_app_run WHERE created >= %(start)s AND NOT copied
    GROUP BY 1 ORDER BY 2 DESC LIMIT %(limit)s) AS busy
    LEFT JOIN registry_agent a ON a.id = busy.agent_id LEFT JOIN accounts_owner o ON o.id = a.owner_id
ORDER BY busy.runs DESC"""
_USERS = """
SELECT u.id, u.username, busy.queries FROM (
    SELECT user_id, sum(queries)::int AS queries FROM accounts_usageday
    WHERE agent IS NULL AND day >= (%(start)s AT TIME ZONE 'UTC')::date
    GROUP BY 1 ORDER BY 2 DESC LIMIT %(limit)s) AS busy JOIN accounts_user u ON u.id = busy.user_id
ORDER BY busy.queries DESC"""
_USERS_NOW = """
SELECT u.id, u.username, busy.queries FROM (
    SELECT s.owner_id, count(*) AS queries FROM sessions_app_run r JOIN sessions_app_session s ON s.id = r.session_id
    WHERE r.created >= %(start)s AND NOT r.copied AND r.parent_id IS NULL
    GROUP BY 1 ORDER BY 2 DESC LIMIT %(limit)s) AS busy JOIN accounts_user u ON u.id = busy.owner_id
ORDER BY busy.queries DESC"""


def busiest_agents(window: Window, now: datetime) -> Rows:
    """`(id, name, runs)`, most first, of the window or its last day."""
    return _fetch(_AGENTS, start=max(window.start, now - DAY), limit=BUSIEST)


def busiest_users(window: Window) -> Rows:
    """`(id, name, queries)`, most first; of windows longer than an hour those of whole UTC days."""
    statement = _USERS_NOW if window.step * window.count <= timedelta(hours=1) else _USERS
    return _fetch(statement, start=window.start, limit=BUSIEST)


# A process that stopped beating has not let go: `leases.abandoned` takes its runs.
_UNFINISHED = """
SELECT status, process, count(*), max(heartbeat), min(created),
    COALESCE(max(heartbeat) < now() - make_interval(secs => %(lease)s), false)
FROM sessions_app_run WHERE status IN ('queued', 'in_progress') GROUP BY 1, 2 ORDER BY 3 DESC"""


@dataclass(frozen=True, slots=True)
class Lease:
    """The runs that one process executes. `process` is None for those that nobody does."""

    process: str | None
    runs: int
    heartbeat: datetime | None
    lost: bool


@dataclass(frozen=True, slots=True)
class Work:
    queued: int
    oldest_queued: datetime | None
    leases: Sequence[Lease]

    @property
    def at_work(self) -> int:
        return sum(lease.runs for lease in self.leases)

    @property
    def abandoned(self) -> int:
        return sum(lease.runs for lease in self.leases if lease.lost or lease.process is None)


def work() -> Work:
    """The runs that wait or are at work, by the processes that hold them."""
    rows = _fetch(_UNFINISHED, lease=settings.RUN_LEASE_SECONDS)
    waiting = [row for row in rows if row[0] == "queued"]
    leases = [
        Lease(str(process) if process else None, runs, heartbeat, lost)
        for status, process, runs, heartbeat, _, lost in rows
        if status == "in_progress"
    ]
    return Work(sum(row[2] for row in waiting), min((row[4] for row in waiting), default=None), leases)


_JOBS = """
SELECT j.status::text, count(*), min(e.at) FILTER (WHERE j.status = 'todo' AND COALESCE(j.scheduled_at, now()) <= now())
FROM procrastinate_jobs j LEFT JOIN LATERAL (
    SELECT at FROM procrastinate_events WHERE job_id = j.id AND j.status = 'todo' ORDER BY id LIMIT 1) AS e ON true
GROUP BY 1"""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Procrastinate's: how many there are by state, since when the oldest that could begin waits, and its workers."""

    states: dict[str, int]
    oldest: datetime | None
    workers: Sequence[datetime]


def jobs() -> Jobs:
    rows = _fetch(_JOBS)
    workers = _fetch("SELECT last_heartbeat FROM procrastinate_workers ORDER BY 1 DESC LIMIT 20")
    oldest = min((at for _, _, at in rows if at is not None), default=None)
    return Jobs({status: number for status, number, _ in rows}, oldest, [at for (at,) in workers])


_UNHEALTHY = """
SELECT count(*), count(*) FILTER (WHERE NOT l.healthy) FROM registry_agent a
    LEFT JOIN registry_liveness l ON l.agent_id = a.id
WHERE a.enabled AND a.current_revision_id IS NOT NULL"""


def agents() -> tuple[int, int]:
    """How many agents are switched on and run somewhere, and how many of them do not answer."""
    [(total, silent)] = _fetch(_UNHEALTHY)
    return total, silent


_STORAGE = """
SELECT pg_database_size(current_database()), pg_total_relation_size('sessions_app_message'),
    pg_total_relation_size('sessions_app_run'), pg_total_relation_size('sessions_app_searchentry'),
    pg_total_relation_size('registry_samplequery') + pg_total_relation_size('registry_chunk'),
    (SELECT COALESCE(sum(size), 0)::bigint FROM embeds_blob),
    (SELECT COALESCE(sum(bytes), 0)::bigint FROM storage_kv_storageusage), current_setting('server_version')"""


def storage() -> tuple[Any, ...]:
    """Bytes of the database; in it those of messages, runs, the search and the Router's index; of attachments; of User
    Storage. Last, PostgreSQL's version."""
    [row] = _fetch(_STORAGE)
    return row
