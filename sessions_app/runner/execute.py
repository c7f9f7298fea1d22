"""Executing runs: from a lease to a finished run, whatever happens in between."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import structlog
from django.conf import settings

from common.db import RETRYABLE, run_db
from common.errors import AgentSwitchedOff, AgentTimeout, AgentUnreachable, FixieError, NotFound
from common.recent import Recent
from registry.liveness import checks
from registry.manifests.reading import mended_spec
from registry.specs import AgentSpec, cached_spec
from sessions_app import attachments, children, fetching, frames, leases, store, transcript
from sessions_app.leases import Lease
from sessions_app.llm.base import Usage
from sessions_app.llm.catalog import language_model
from sessions_app.llm.format import Kind, marker
from sessions_app.references import Embeds
from sessions_app.runner import code_shot, forwarding, front
from sessions_app.runner.active import ActiveRun, seconds_left
from sessions_app.runner.context import Step
from sessions_app.runner.entitling import may_entitle
from sessions_app.runner.identity import PROCESS
from sessions_app.runner.live import hub
from sessions_app.runner.title_tasks import defer_title
from sessions_app.store import Ending, Finished, LeaseLostError

log = structlog.get_logger()

# A run that was taken over this often keeps killing its process; it is given up. Each time counts twice: once
# when it is freed, once when it is claimed.
MAX_EPOCH = 40
FIRST_EPOCH = 1

# What answers the queries to agents of these transports here; any other agent is handed its queries.
ANSWERS = {"code_shot": code_shot.answer, "front": front.answer}

# So many runs that ended here are remembered with what they used, for those who followed them to their end.
USED_REMEMBERED = 1000

_jobs: dict[UUID, "Job"] = {}
_used: Recent[UUID, Usage] = Recent(USED_REMEMBERED)


def jobs() -> list["Job"]:
    """Every run that this process executes now."""
    return list(_jobs.values())


def start(lease: Lease, steps: list[Step] | None = None) -> "Job":
    """Executes a run this process holds, as a task of its own. `steps` are those already stored."""
    job = _jobs[lease.run] = Job(lease, steps or [])
    job.task.add_done_callback(lambda _: _jobs.pop(lease.run, None))
    return job


async def adopt(run: UUID) -> None:
    """Starts a run that this process accepted; one that has begun, or is being taken over, is left alone."""
    lease = await leases.held(run, PROCESS)
    if lease is not None and lease.epoch == FIRST_EPOCH and run not in _jobs:
        start(lease)


async def is_over_within(run: UUID, seconds: float) -> bool:
    """Whether a run that began in this process ends within so many seconds; waits no longer than it takes."""
    job = _jobs.get(run)
    if job is None:
        return True
    done, _ = await asyncio.wait([job.task], timeout=seconds)
    return bool(done)


def used_here(run: UUID) -> Usage | None:
    """What a run used that has just ended in this process; the database knows it of all others."""
    return _used.get(run)


async def resume(run: UUID) -> "Job | None":
    """Takes over a run that nobody executes; None where somebody does."""
    lease = await leases.claim(run, PROCESS)
    if lease is None:
        return None
    if (stale := _jobs.get(run)) is not None and stale.lease.epoch < lease.epoch:
        # This process slept through its own lease, and was the first to notice.
        stale.release()
        await asyncio.wait([stale.task])
    stored = await transcript.steps_of(lease.session_id, lease.query_seq, run)
    steps = [Step(number, kind, text) for number, (kind, text) in enumerate(stored, start=1)]
    if run in _jobs:  # asked last of all: two calls for one run may be on their way
        return None
    job = start(lease, steps)
    # Followers may hold text that the dead process streamed; this one writes it anew.
    job.live.snapshot()
    return job


class Job:
    """One run in this process: a task that can be canceled (by the user) or released (at shutdown)."""

    def __init__(self, lease: Lease, steps: list[Step]) -> None:
        self.lease = lease
        self.canceled = lease.canceled
        self._steps = steps
        self._active: ActiveRun | None = None
        self._ending = False
        # Of the answer, by the keys that its text uses.
        self._embeds: Mapping[str, UUID] = {}
        self.live = hub().open_run(lease.session_id, lease.run, self.cancel)
        self.task = asyncio.create_task(self._execute())

    def cancel(self) -> None:
        """The user's wish: the call to the agent is closed and the run ends as canceled."""
        if not self._ending and not self.canceled:
            self.canceled = True
            self.task.cancel()

    def release(self) -> None:
        """Stops without an ending: somebody else goes on, or has already."""
        if not self._ending:
            self.task.cancel()

    async def _execute(self) -> None:
        lease = self.lease
        structlog.contextvars.bind_contextvars(session=lease.session, run=str(lease.run))
        try:
            finished, ending = await self._finish(await self._outcome())
            await self._announce(ending, finished)
            if finished.has_asked:
                await stop_below(lease.run)
            await start_next(finished)
            if ending.status == "completed" and may_entitle(lease.query_seq):
                await defer_title(lease.session_id)
            if ending.error_code == AgentUnreachable.code and self._active is not None:
                await run_db(checks.check_soon, self._active.spec.agent)
        except LeaseLostError:
            log.warning("lease_lost")
        except RETRYABLE as error:
            # The database stayed away. Whatever a process does without it is not stored: recovery goes on.
            log.warning("run_left_to_recovery", error=type(error).__name__)
        finally:
            hub().close_run(lease.run)

    async def _outcome(self) -> Ending:
        """How the run ends. Raises what leaves its ending to others: CancelledError, LeaseLostError, RETRYABLE."""
        try:
            if self.canceled:
                raise asyncio.CancelledError
            text, self._embeds = await self._answer()
            ending = self._said("completed", text)
        except asyncio.CancelledError:
            if not self.canceled:
                raise
            text = self.live.text
            ending = self._said("canceled", text, "canceled") if text else Ending("canceled", error_code="canceled")
        except (LeaseLostError, *RETRYABLE):
            raise
        except FixieError as error:
            ending = Ending("failed", "error", error.message, error.code)
        except Exception:
            log.exception("run_crashed")
            sorry = "Something went wrong on our side; it has been logged."
            ending = Ending("failed", "error", sorry, FixieError.code)
        self._ending = True
        return self._with_usage(ending)

    def _said(self, status: str, text: str, error_code: str = "") -> Ending:
        """The ending with this answer."""
        asking = self.lease.asking
        if asking is None:
            return Ending(status, "response", text, error_code)
        told = f"{marker(Kind.AGENT_SAYS, asking.name)} {text}".rstrip()
        return Ending(status, "agent_output", told, error_code)

    def _with_usage(self, ending: Ending) -> Ending:
        if self._active is None:
            return ending
        used = self._active.usage
        # What other agents say that they used is told as theirs; a lie must not cost the user the day.
        return replace(
            ending,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            own_tokens=self._active.spec.transport in ANSWERS,
        )

    async def _finish(self, ending: Ending) -> tuple[Finished, Ending]:
        """Stores the ending; returns it as it was stored."""
        lease = self.lease

        async def finish(text: str, embeds: Embeds) -> tuple[Finished, Ending]:
            told = replace(ending, text=text, embeds=embeds)
            return await store.finish(run=lease.run, epoch=lease.epoch, process=PROCESS, ending=told), told

        stored, _, _ = await attachments.storing(
            ending.text or "", self._embeds, finish, run=lease.run, session__id=lease.session_id
        )
        return stored

    async def _answer(self) -> tuple[str, Mapping[str, UUID]]:
        """The answer, and its embeds by the keys that it uses."""
        lease = self.lease
        if lease.epoch > MAX_EPOCH:
            raise FixieError("This query was begun too often without ever finishing; it has been given up.")
        try:
            async with asyncio.timeout(seconds_left(lease)):
                spec = await spec_for(lease)
                self._active = run = ActiveRun(lease, spec, self.live, hub(), adopt, self._steps)
                answers = ANSWERS.get(spec.transport)
                message = await (answers(run, language_model()) if answers else forwarding.answer(run))
        except TimeoutError:
            limit = f"{settings.RUN_MAX_SECONDS:.0f} seconds"
            raise AgentTimeout(f"The answer took longer than {limit} and was stopped.") from None
        # Outside of that time: an embed that comes too late is no reason to lose the answer.
        seconds = min(seconds_left(lease), settings.AGENT_CALL_TIMEOUT)
        return await fetching.received(message, owner=lease.user, seconds=seconds)

    async def _announce(self, ending: Ending, finished: Finished) -> None:
        lease = self.lease
        agent = self._active.agent_id if self._active else None
        _used.put(lease.run, Usage(ending.prompt_tokens, ending.completion_tokens))
        self.live.flush()
        if finished.seq is not None and finished.created is not None and ending.kind is not None:
            frame = frames.message_frame(
                seq=finished.seq,
                kind=ending.kind,
                text=ending.text or "",
                run=lease.run,
                agent=agent,
                in_reply_to=lease.query_seq,
                created=finished.created,
                embeds=await attachments.frame_of(lease.session_id, ending.embeds.keys),
            )
            hub().publish(lease.session_id, frame)
        state = frames.run_frame(
            run=lease.run,
            status=ending.status,
            query=lease.query_seq,
            agent=agent,
            error_code=ending.error_code,
            parent=lease.asking.parent if lease.asking else None,
            times=finished.times,
            tokens=ending.prompt_tokens + ending.completion_tokens,
        )
        hub().publish(lease.session_id, state)


async def stop_below(run: UUID) -> list[UUID]:
    """Asks the runs below this one, however deep, to stop: in their rows, and by word where they execute."""
    below = await children.request_cancel_below(run)
    for each in below:
        hub().cancel(each)
    return below


async def start_next(finished: Finished) -> None:
    """Starts the run whose turn it is now, if there is one and nobody else took it."""
    if finished.next_run is None:
        return
    if finished.next_claimed:
        lease = await leases.held(finished.next_run, PROCESS)
    else:
        # It was queued while `finish` ran, after that statement's snapshot.
        lease = await leases.claim(finished.next_run, PROCESS)
    if lease is not None and lease.run not in _jobs:
        start(lease)
        hub().publish(
            lease.session_id,
            frames.run_frame(
                run=lease.run,
                status="in_progress",
                query=lease.query_seq,
                agent=None,
                times=frames.Times(started=lease.started),
            ),
        )


async def spec_for(lease: Lease) -> AgentSpec:
    """The agent of a run. An agent whose manifest was bad is read once more, in case it was mended."""
    if lease.switched_off:
        raise AgentSwitchedOff(f"{lease.switched_off} is switched off.", agent=lease.switched_off)
    if lease.revision is None:
        raise NotFound("The agent of this query no longer exists, or runs nowhere.")
    return cached_spec(lease.revision) or await mended_spec(lease.revision, user_id=lease.user)
