"""The pool of the hot path: as large as it has to be, for as long as it has to be."""

import asyncio
from threading import Thread

from django.test import override_settings

from common import db


async def grow_and_wait() -> tuple[int, int]:
    """How many connections a pool has after many statements at once, and a while later."""
    try:
        await asyncio.gather(*(db.fetch("SELECT pg_sleep(0.2)") for _ in range(12)))
        connections = await db.pool()
        grown = connections.get_stats()["pool_size"]
        async with asyncio.timeout(10):
            while connections.get_stats()["pool_size"] > 2:  # noqa: ASYNC110 -- the pool tells nobody
                await asyncio.sleep(0.05)
        return grown, connections.get_stats()["pool_size"]
    finally:
        await db.close_pool()


def test_connections_that_nobody_needs_any_more_are_given_back():
    sizes: list[tuple[int, int]] = []
    with override_settings(DATABASE_POOL_SIZE=6, DATABASE_POOL_IDLE_SECONDS=0.3):
        # Each event loop has a pool of its own.
        thread = Thread(target=lambda: sizes.append(asyncio.run(grow_and_wait())))
        thread.start()
        thread.join()
    assert sizes == [(6, 2)]


def test_a_loop_that_ends_while_its_pool_connects_does_end():
    def short_loops() -> None:
        for _ in range(20):
            asyncio.run(db.fetch("SELECT 1"))

    thread = Thread(target=short_loops, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
