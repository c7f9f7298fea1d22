"""The hot path's SQL: an agent reads and writes. One statement each, with all that has to be checked for it.

How the statements stay right under concurrency (READ COMMITTED):
- Locks are taken in one order everywhere: the count of calls, the usage, the value. The later CTEs read from the
  earlier ones to that end. Once the usage is locked nobody else writes to this storage.
- A statement sees the rows as they were when it began, and of a row that it locks the newest state. What it cannot
  see is a row that came meanwhile: inserting it again breaks a constraint, and the statement starts anew.
- The new totals are made of the usage that was locked. `SET bytes = bytes + …` would be right in the end, but it is
  first tried, and checked not to be negative, on the row as it was when the statement began.
- Statements may be sent twice (the connection broke, did it commit?). The version is made by the caller, so that the
  second try knows its own work and meets its own condition. The call may be counted twice.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from psycopg.errors import ForeignKeyViolation, UniqueViolation

from accounts.tokens import CallClaims
from common.db import Row, fetch_safely
from common.errors import NotFound, PayloadTooLarge, RateLimited, Unauthenticated
from storage_kv.conditions import Condition, conflict

# So often a statement starts anew. Each time somebody else has got ahead, which ends.
LOOKS = 20
NO_AGENT = "There is no such agent, or it is not yours to see."

_CALL = """
caller AS (SELECT u.id FROM accounts_user u WHERE u.id = %(user)s AND u.is_active),
agent AS (
    SELECT a.id FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id
    WHERE o.handle = %(owner)s AND a.handle = %(handle)s
), call AS (
    INSERT INTO storage_kv_storagecalls AS c (user_id, agent_id, began, calls)
    SELECT caller.id, agent.id, now(), 1 FROM caller, agent
    ON CONFLICT (user_id, agent_id) DO UPDATE SET
        began = CASE WHEN c.began > now() - interval '1 minute' THEN c.began ELSE now() END,
        calls = CASE WHEN c.began > now() - interval '1 minute' THEN c.calls + 1 ELSE 1 END
    WHERE c.calls < %(calls_per_minute)s OR c.began <= now() - interval '1 minute'
    RETURNING user_id, agent_id
)"""

_ADMISSION = """
caller.id IS NOT NULL, agent.id IS NOT NULL, call.agent_id, CASE WHEN call.agent_id IS NULL THEN (
    SELECT ceil(extract(epoch FROM c.began + interval '1 minute' - now()))::int
    FROM storage_kv_storagecalls c WHERE c.user_id = caller.id AND c.agent_id = agent.id) END"""

_EACH = "FROM (SELECT) AS one LEFT JOIN caller ON true LEFT JOIN agent ON true LEFT JOIN call ON true"

ADMIT = f"WITH {_CALL} SELECT {_ADMISSION} {_EACH}"

READ = f"""
WITH {_CALL} SELECT {_ADMISSION}, v.version, v.content_type, v.value
{_EACH} LEFT JOIN storage_kv_storedvalue v
    ON v.user_id = call.user_id AND v.agent_id = call.agent_id AND v.key = %(key)s"""

WRITE = f"""
WITH {_CALL}, usage AS (
    SELECT t.id, t.keys, t.bytes FROM storage_kv_storageusage t JOIN call USING (user_id, agent_id)
    FOR NO KEY UPDATE OF t
), old AS (
    SELECT v.id, v.version, octet_length(v.value) AS size
    FROM storage_kv_storedvalue v JOIN call USING (user_id, agent_id), (SELECT count(*) FROM usage) AS first
    WHERE v.key = %(key)s
    FOR NO KEY UPDATE OF v
), change AS (
    SELECT call.user_id, call.agent_id, usage.id AS usage, old.id AS old, old.version, total.keys, total.bytes,
        COALESCE(old.version = %(version)s, false) OR (
            (%(versions)s::uuid[] IS NULL OR COALESCE(old.version = ANY(%(versions)s::uuid[]), false))
            AND (NOT %(must_exist)s OR old.id IS NOT NULL) AND (NOT %(must_be_new)s OR old.id IS NULL)) AS holds,
        old.id IS NULL AND total.keys > %(max_keys)s AS too_many,
        total.bytes > COALESCE(usage.bytes, 0) AND total.bytes > %(max_bytes)s AS too_large
    FROM call LEFT JOIN usage ON true LEFT JOIN old ON true CROSS JOIN LATERAL (
        SELECT COALESCE(usage.keys, 0) + (old.id IS NULL)::int AS keys,
            COALESCE(usage.bytes, 0) + octet_length(%(value)s::bytea) - COALESCE(old.size, 0) AS bytes
    ) AS total
), allowed AS (SELECT * FROM change WHERE holds AND NOT too_many AND NOT too_large
), opened AS (
    INSERT INTO storage_kv_storageusage (user_id, agent_id, keys, bytes)
    SELECT user_id, agent_id, keys, bytes FROM allowed WHERE usage IS NULL
), counted AS (
    UPDATE storage_kv_storageusage t SET keys = allowed.keys, bytes = allowed.bytes
    FROM allowed WHERE t.id = allowed.usage
), added AS (
    INSERT INTO storage_kv_storedvalue (user_id, agent_id, key, value, content_type, version)
    SELECT user_id, agent_id, %(key)s, %(value)s, %(content_type)s, %(version)s FROM allowed WHERE old IS NULL
), replaced AS (
    UPDATE storage_kv_storedvalue v
    SET value = %(value)s, content_type = %(content_type)s, version = %(version)s, modified = now()
    FROM allowed WHERE v.id = allowed.old
)
SELECT {_ADMISSION}, change.version, change.holds, change.too_many, change.too_large, now()
{_EACH} LEFT JOIN change ON true"""


@dataclass(frozen=True, slots=True)
class Value:
    """What stands under a key. `content_type` is empty for a text that was set as `{"data": …}`."""

    version: UUID
    content_type: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Written:
    """`created` says whether there was no value before."""

    modified: datetime
    created: bool


async def admit(claims: CallClaims) -> int:
    """Counts a call of an agent's and returns the agent's number.

    Raises Unauthenticated, NotFound or RateLimited, as `read` and `write` do.
    """
    return _admitted(await _row(ADMIT, _caller(claims)))


async def read(claims: CallClaims, key: str) -> Value | None:
    """What the agent keeps under `key` about its caller's user."""
    row = await _row(READ, {**_caller(claims), "key": key})
    _admitted(row)
    return None if row[4] is None else Value(*row[4:])


async def write(claims: CallClaims, key: str, value: Value, condition: Condition) -> Written:
    """Keeps `value` under `key`; done again with the same value, it does nothing more.

    Raises VersionConflict or PayloadTooLarge; then nothing is written.
    """
    params = {
        **_caller(claims),
        "key": key,
        "value": value.value,
        "content_type": value.content_type,
        "version": value.version,
        "versions": condition.versions,
        "must_exist": condition.must_exist,
        "must_be_new": condition.must_be_new,
        "max_keys": settings.STORAGE_MAX_KEYS,
        "max_bytes": settings.STORAGE_MAX_BYTES,
    }
    row = await _row(WRITE, params)
    _admitted(row)
    present, holds, too_many, too_large, modified = row[4:]
    if not holds:
        raise conflict(present)
    if too_many or too_large:
        raise _full(too_many)
    return Written(modified, created=present is None)


def _caller(claims: CallClaims) -> dict[str, Any]:
    owner, _, handle = claims.agent_id.partition("/")
    return {
        "user": claims.user_id,
        "owner": owner,
        "handle": handle,
        "calls_per_minute": settings.STORAGE_CALLS_PER_MINUTE,
    }


async def _row(statement: str, params: dict[str, Any]) -> Row:
    for _ in range(LOOKS):
        try:
            return (await fetch_safely(statement, params))[0]
        except (UniqueViolation, ForeignKeyViolation):
            # Somebody made the row that we did not see, or deleted the agent that we saw: look again.
            continue
    return (await fetch_safely(statement, params))[0]


def _admitted(row: Row) -> int:
    """The agent's number, where the statement has counted the call."""
    caller_found, agent_found, agent, wait = row[:4]
    if not caller_found:
        raise Unauthenticated("The user of this call is no longer active.")
    if not agent_found:
        raise NotFound(NO_AGENT, field="agent")
    if agent is None:
        limit = settings.STORAGE_CALLS_PER_MINUTE
        # Of a minute that began after the statement did, nothing is known but that it is not over.
        retry_after = min(max(wait or 60, 1), 60)
        message = f"An agent may use a user's storage {limit} times a minute; try again in {retry_after} seconds."
        raise RateLimited(message, limit=limit, retry_after=retry_after)
    return int(agent)


def _full(too_many: bool) -> PayloadTooLarge:
    if too_many:
        keys = settings.STORAGE_MAX_KEYS
        return PayloadTooLarge(f"An agent may keep {keys} keys about a user.", field="key", limit=keys)
    size = settings.STORAGE_MAX_BYTES
    return PayloadTooLarge(f"An agent may keep {size} bytes about a user, all keys together.", field="data", limit=size)
