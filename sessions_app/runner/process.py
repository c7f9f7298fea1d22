"""The life of a process that executes runs: start, heartbeats, background worker, stop."""

import asyncio
import contextlib
from typing import Any

import structlog
from django.conf import settings
from procrastinate.contrib.django import app

from common.db import RETRYABLE, close_pool, pool
from registry.transports import catalog
from sessions_app import leases
from sessions_app.runner import execute
from sessions_app.runner.identity import PROCESS
from sessions_app.tasks import defer_run

log = structlog.get_logger()

_tasks: list[asyncio.Task[None]] = []
_started = False


def is_running() -> bool:
    """Whether this process was started and its background tasks are alive."""
    return bool(_tasks) and not any(task.done() for task in _tasks)


async def start() -> None:
    """Opens the pool and starts the heartbeat and the worker; later calls cost nothing."""
    global _started
    if _started:
        return
    _started = True
    await pool()
    _tasks.append(asyncio.create_task(_beat_forever()))
    if settings.WORKER_IN_PROCESS:
        _tasks.append(asyncio.create_task(_work_forever()))


async def stop() -> None:
    """Gives runs their grace, then releases what is left so that another process continues at once."""
    tasks = [job.task for job in execute.jobs()]
    if tasks:
        await asyncio.wait(tasks, timeout=settings.SHUTDOWN_GRACE_SECONDS)
    left = execute.jobs()
    for job in left:
        job.release()
    await asyncio.gather(*(job.task for job in left), return_exceptions=True)
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
    await _hand_over()
    await catalog.aclose_all()
    await close_pool()


async def _hand_over() -> None:
    for run in await leases.release(PROCESS):
        with contextlib.suppress(*RETRYABLE):
            await defer_run(run)


async def _beat_forever() -> None:
    while True:
        await asyncio.sleep(settings.RUN_HEARTBEAT_SECONDS)
        held = {job.lease.run: job for job in execute.jobs()}
        if not held:
            continue
        try:
            still_ours = await leases.beat(list(held), PROCESS)
        except RETRYABLE as error:
            log.warning("heartbeat_failed", error=type(error).__name__)
            continue
        for run, job in held.items():
            if still_ours.get(run):
                job.cancel()
            elif run not in still_ours and not job.task.done():
                job.release()


async def _work_forever() -> None:
    """Procrastinate's worker; started again when the database was away."""
    while True:
        try:
            connector: Any = app.connector  # Django's, whose worker twin has a pool
            worker_app = app.with_connector(connector.get_worker_connector())
            async with worker_app.open_async():
                await worker_app.run_worker_async(
                    concurrency=settings.WORKER_CONCURRENCY,
                    install_signal_handlers=False,
                    delete_jobs="successful",
                    shutdown_graceful_timeout=1,
                )
        except Exception as error:  # whatever ended it, background work must go on
            log.warning("worker_restarts", error=type(error).__name__)
        await asyncio.sleep(1)
