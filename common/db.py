"""The two ways to the database: `run_db` for sync ORM code, and the async pool for the hot path's SQL."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import InterfaceError as DjangoInterfaceError
from django.db import OperationalError as DjangoOperationalError
from django.db import connections
from psycopg import AsyncConnection, InterfaceError, OperationalError, errors
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolTimeout

P = ParamSpec("P")
T = TypeVar("T")
Row = tuple[Any, ...]

log = structlog.get_logger()

# The server went away (restart, failover) or chose us as a deadlock's victim: the statement may be tried again.
RETRYABLE = (
    OperationalError,
    InterfaceError,
    PoolTimeout,
    errors.DeadlockDetected,
    DjangoOperationalError,
    DjangoInterfaceError,
)
# The SQLSTATEs of what is too large or too complex for the server (class 54), which no waiting makes smaller; for
# psycopg they are OperationalErrors like the others.
_HOPELESS = "54"
EF_SEARCH = 120
RETRY_DELAYS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0)


async def run_db(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs sync ORM code in a worker thread and gives its connection back to Django's pool.

    One transaction, one crossing: do not call this in a loop.
    """

    def call() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await sync_to_async(call, thread_sensitive=False)()


async def run_db_safely(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`run_db` for what may be done twice: waits out a restart of the server, like `fetch_safely`."""
    return await _patiently(lambda: run_db(function, *args, **kwargs))


class _Canceled(BaseException):
    """A connection that is no longer wanted."""


class _Pool(AsyncConnectionPool):
    """Its workers end when they are cancelled.

    psycopg's own take no notice of that while they connect, and a loop that ends then, as those of `async_to_sync` do,
    waits for them for ever.
    """

    async def _connect(self, timeout: float | None = None) -> AsyncConnection[Any]:
        try:
            return await super()._connect(timeout)
        except asyncio.CancelledError:
            raise _Canceled from None

    @classmethod
    async def worker(cls, q: Any) -> None:
        with suppress(_Canceled):
            await super().worker(q)


_pools: dict[asyncio.AbstractEventLoop, AsyncConnectionPool] = {}


async def pool() -> AsyncConnectionPool:
    """This event loop's pool of autocommit connections, opened on first use."""
    loop = asyncio.get_running_loop()
    found = _pools.get(loop)
    if found is None:
        for ended in [other for other in _pools if other.is_closed()]:
            del _pools[ended]
        found = _pools[loop] = _Pool(
            settings.DATABASE_URL,
            min_size=2,
            max_size=settings.DATABASE_POOL_SIZE,
            max_idle=settings.DATABASE_POOL_IDLE_SECONDS,
            timeout=10,
            kwargs={"autocommit": True, "prepare_threshold": 2},
            configure=_configure,
            open=False,
        )
        await found.open()
    return found


async def _configure(connection: AsyncConnection[Any]) -> None:
    # The hot path's statements are few, long and the same for all values: planning them anew costs more than
    # running them.
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    # pgvector: so many samples are looked at before the scan of an index gives any, and where a filter leaves too
    # few of them, it goes on.
    await connection.execute(f"SET hnsw.ef_search = {EF_SEARCH}")
    await connection.execute("SET hnsw.iterative_scan = relaxed_order")


async def close_pool() -> None:
    found = _pools.pop(asyncio.get_running_loop(), None)
    if found is not None:
        await found.close()


async def fetch(sql: str, params: Sequence[Any] | dict[str, Any] = (), *, binary: bool = False) -> list[TupleRow]:
    """All rows of one statement in its own transaction; `binary` is quicker for long bytes. Raises psycopg's errors."""
    connections_of_loop = await pool()
    connection = await connections_of_loop.getconn()
    try:
        cursor = await connection.execute(sql, params, binary=binary)  # our own constants
        return await cursor.fetchall()
    finally:
        await connections_of_loop.putconn(connection)


async def fetch_safely(
    sql: str, params: Sequence[Any] | dict[str, Any] = (), *, binary: bool = False
) -> list[TupleRow]:
    """`fetch` for a statement that may be run twice: waits out a restart of the server (about 20 s)."""
    return await _patiently(lambda: fetch(sql, params, binary=binary))


def may_pass(error: Exception) -> bool:
    """Whether a failed statement may work when it is tried again, as it is."""
    cause = error.__cause__ if isinstance(error, DjangoOperationalError) else error
    return isinstance(error, RETRYABLE) and not (getattr(cause, "sqlstate", None) or "").startswith(_HOPELESS)


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    for delay in RETRY_DELAYS:
        try:
            return await call()
        except RETRYABLE as error:
            if not may_pass(error):
                raise
            log.warning("database_retry", error=type(error).__name__, delay=delay)
            await asyncio.sleep(delay)
    return await call()
