"""Stopping runs, each with all runs below it."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

from accounts.auth import Caller
from common.handles import parse_uuid
from sessions_app import children, leases, transcript
from sessions_app.access import missing
from sessions_app.children import Acknowledgement
from sessions_app.runner import execute
from sessions_app.runner.live import hub
from sessions_app.transcript import RunPlace

# So long is waited for runs to end, in seconds, looking this often.
PATIENCE = 1.0
LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Stopped:
    """Where a run stood before it was to stop, and all `runs` that were told to: itself and those below it."""

    place: RunPlace
    runs: list[UUID]


async def cancel(caller: Caller, run_id: str) -> Stopped:
    """Stops one of the caller's runs, waiting or at work; one that has ended stays as it is.

    Raises NotFound.
    """
    run = parse_uuid(run_id)
    place = await transcript.run_of(run, user=caller.user_id, jti=caller.jti) if run else None
    if run is None or place is None:
        raise await missing(caller, "There is no such run, or it is not yours.", field="run")
    stopped = await end(run, session_id=place.session_id, status=place.status)
    return Stopped(place, stopped)


async def end(run: UUID, *, session_id: int, status: str) -> list[UUID]:
    """Stops a run whose `status` was this, whoever's it is; returns the runs that were told to stop."""
    if status == "queued" and await leases.cancel_waiting(run):
        for frame in await transcript.run_frames([run]):
            hub().publish(session_id, frame)
        return [run]
    return await stop(run) if status in ("queued", "in_progress") else []


async def stop(run: UUID) -> list[UUID]:
    """Asks a run at work, and all below it, to stop; returns those that were asked.

    By word where they execute, and in their rows in case nobody hears.
    """
    was_at_work = await leases.request_cancel(run)
    hub().cancel(run)
    return [run, *await execute.stop_below(run)] if was_at_work else []


async def acknowledged(runs: list[UUID]) -> list[Acknowledgement]:
    """Which of these runs have ended, as soon as all have, or after `PATIENCE`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        found = await children.acknowledgements(runs) if runs else []
        if loop.time() >= deadline or all(each.acknowledged for each in found):
            return found
        await asyncio.sleep(LOOK)
