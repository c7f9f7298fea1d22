"""Heartbeats: one statement every few seconds says that this process lives, and hears which runs are to stop."""

import asyncio

import structlog
from django.conf import settings

from common.db import RETRYABLE
from sessions_app import leases
from sessions_app.runner import execute
from sessions_app.runner.identity import PROCESS

log = structlog.get_logger()

_task: asyncio.Task[None] | None = None


def start() -> None:
    """Begins to beat for the runs of this process; later calls cost nothing."""
    global _task
    if not is_beating():
        _task = asyncio.get_running_loop().create_task(_beat_forever())


def is_beating() -> bool:
    return _task is not None and not _task.done()


async def stop() -> None:
    if _task is not None:
        _task.cancel()
        await asyncio.wait([_task])


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
