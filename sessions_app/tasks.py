"""Background work of sessions: taking over runs that nobody executes."""

import asyncio
from uuid import UUID

from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.jobs import Status

from sessions_app import leases
from sessions_app.account.tasks import remove_account, remove_accounts
from sessions_app.runner import execute, heartbeat
from sessions_app.sidebar.tasks import prepare_search, remove_hidden_sessions

# Procrastinate looks for tasks here, and takes those of other modules along.
__all__ = [
    "defer_run",
    "execute_run",
    "prepare_search",
    "recover_runs",
    "remove_account",
    "remove_accounts",
    "remove_dead_jobs",
    "remove_hidden_sessions",
]


async def defer_run(run: UUID) -> None:
    """Asks whoever works first to execute this run; asking again while it waits changes nothing."""
    try:
        await execute_run.configure(queueing_lock=f"run:{run}").defer_async(run=str(run))
    except AlreadyEnqueued:
        return


@app.task(name="execute_run")
async def execute_run(run: str) -> None:
    """Executes a run from its last finished step to its end, unless somebody else does."""
    heartbeat.start()
    job = await execute.resume(UUID(run))
    if job is not None:
        # Not awaited itself: a worker that stops or restarts cancels this function, but not the run.
        await asyncio.wait([job.task])


# Every 5 seconds: the sixth field is the seconds.
@app.periodic(cron="* * * * * */5")
@app.task(name="recover_runs", queueing_lock="recover_runs")
async def recover_runs(timestamp: int) -> None:
    """Finds the runs of dead processes, and queued ones nobody started, and has them executed."""
    for run in await leases.abandoned():
        await defer_run(run)


@app.periodic(cron="17 * * * *")
@app.task(name="remove_dead_jobs", queueing_lock="remove_dead_jobs", pass_context=True)
async def remove_dead_jobs(context: JobContext, timestamp: int) -> None:
    """Forgets jobs that died with their worker an hour ago, and failed ones of yesterday.

    What they were to do is not lost with them: `recover_runs` asks again for as long as a run is unfinished.
    """
    jobs = context.app.job_manager
    for job in await jobs.get_stalled_jobs(seconds_since_heartbeat=3600):
        await jobs.finish_job(job, Status.FAILED, delete_job=True)
    await jobs.delete_old_jobs(nb_hours=24, include_failed=True, include_cancelled=True)
