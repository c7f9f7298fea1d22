"""The life of a process that executes runs: start, heartbeats, background worker, stop."""

import asyncio
import contextlib
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from procrastinate.contrib.django import app
from procrastinate.exceptions import ConnectorException

from common.db import close_pool, pool
from registry.corpora.extraction import aclose_extraction
from registry.routing.embedder import close_embedder
from registry.transports import catalog
from sessions_app import leases
from sessions_app.llm.catalog import close_language_model
from sessions_app.runner import execute, heartbeat
from sessions_app.runner.identity import PROCESS
from sessions_app.tasks import defer_run

log = structlog.get_logger()

_worker: asyncio.Task[None] | None = None
_started = False


def is_running() -> bool:
    """Whether this process was started and its background tasks are alive."""
    return heartbeat.is_beating() and (_worker is None or not _worker.done())


async def start() -> None:
    """Opens the pool and starts the heartbeat and the worker; later calls cost nothing."""
    global _started, _worker
    if _started:
        return
    _started = True
    await pool()
    heartbeat.start()
    if settings.WORKER_IN_PROCESS:
        _worker = asyncio.create_task(_work_forever())


async def stop() -> None:
    """Gives runs their grace, then releases what is left so that another process continues at once."""
    if _worker is not None:
        _worker.cancel()  # first of all: it would take up new runs
        await asyncio.wait([_worker])
    if tasks := [job.task for job in execute.jobs()]:
        await asyncio.wait(tasks, timeout=settings.SHUTDOWN_GRACE_SECONDS)
    while left := execute.jobs():  # the end of one run may begin another
        for job in left:
            job.release()
        await asyncio.wait([job.task for job in left])
    await heartbeat.stop()
    await _hand_over()
    await catalog.aclose_all()
    await close_language_model()
    await close_embedder()
    await aclose_extraction()
    await close_pool()


async def _hand_over() -> None:
    for run in await leases.release(PROCESS):
        with contextlib.suppress(ConnectorException):
            await defer_run(run)


async def _work_forever() -> None:
    """Procrastinate's worker; started again when the database was away."""
    while True:
        try:
            # Tasks are deferred over Django's connection in the thread that it keeps for async code, where
            # nobody else notices that it has broken.
            await sync_to_async(close_old_connections)()
            connector: Any = app.connector  # Django's, whose worker twin has a pool
            worker_app = app.with_connector(connector.get_worker_connector())
            async with worker_app.open_async():
                await worker_app.run_worker_async(install_signal_handlers=False, shutdown_graceful_timeout=1)
        except Exception as error:  # whatever ended it, background work must go on
            log.warning("worker_restarts", error=type(error).__name__)
        await asyncio.sleep(1)
