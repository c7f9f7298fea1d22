"""The processes of one agent: started when they are needed, one call at a time each, ended when they rest for long."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from common.errors import AgentTimeout, AgentUnreachable
from registry.transports.stdio_jsonrpc.logs import Log
from registry.transports.stdio_jsonrpc.options import CommandLine
from registry.transports.stdio_jsonrpc.process import Process

# After a failure the program is started again at once; after more of them in a row so much later (seconds), and twice
# as much each time.
BACK_OFF, BACK_OFF_MAX = 0.25, 30.0


class Pool:
    """Up to `command.processes` of them. One instance serves one event loop."""

    def __init__(self, command: CommandLine, directory: Path, revision: int) -> None:
        self._command, self._directory, self._revision = command, directory, revision
        self._turns = asyncio.Semaphore(command.processes)
        self._processes: set[Process] = set()
        # The ones that rest, longest first, with what will end them.
        self._idle: dict[Process, asyncio.TimerHandle] = {}
        # Set for a moment when one of them rests or is gone.
        self._changed = asyncio.Event()
        self._failures = 0
        # When the last of them was, and until when no process is started, by the loop's time.
        self._failed = self._not_before = 0.0
        self._is_closed = False

    @asynccontextmanager
    async def turn(self, deadline: float) -> AsyncIterator[None]:
        """One of the agent's calls at a time, first come, first served. Raises AgentTimeout."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire()
        except TimeoutError:
            raise AgentTimeout("The agent was busy with other calls all the time.", field="processes") from None
        try:
            yield
        finally:
            self._turns.release()

    async def take(self, deadline: float) -> Process:
        """A process for one call: one that rests, or a new one. Give it back in any case.

        Raises AgentUnreachable or AgentTimeout.
        """
        loop = asyncio.get_running_loop()
        while (process := await self._rested()) is None:
            if self._is_closed:
                raise AgentUnreachable("The agent's programs are being ended.")
            if len(self._processes) >= self._command.processes:
                await self._wait_for_room(deadline)
            elif self._not_before > loop.time():
                await self._pause(deadline)
            else:
                return await self._start(deadline)
        return process

    def give_back(self, process: Process) -> None:
        """Lets it rest where its last call was answered; else it ends, for its answer would come to another call."""
        if not process.is_free:
            process.end()
            return
        seconds = self._command.idle_seconds
        self._idle[process] = asyncio.get_running_loop().call_later(seconds, self._retire, process)
        process.rest().add_done_callback(lambda heard: None if heard.cancelled() else self._retire(process))
        self._tell_change()

    def note_answer(self) -> None:
        """The program works, whatever it answers."""
        self._failures = 0

    def note_failure(self, process: Process) -> None:
        """The program broke down: how soon it is started again depends on how often it did so in a row.

        Processes that ran side by side break down of one cause, and count once.
        """
        if process.born < self._failed:
            return
        self._failures += 1
        self._failed = asyncio.get_running_loop().time()
        if self._failures > 1:
            self._not_before = self._failed + min(BACK_OFF * 2 ** min(self._failures - 2, 16), BACK_OFF_MAX)

    async def aclose(self) -> None:
        """Ends all of them; no more are started."""
        self._is_closed = True
        gone = [process.gone for process in self._processes]
        for process in list(self._processes):
            process.end(gently=process in self._idle)
        self._forget_idle()
        if gone:
            await asyncio.wait(gone)

    async def _rested(self) -> Process | None:
        """One that rests and can be asked; the others are ended."""
        while self._idle:
            process, timer = self._idle.popitem()
            timer.cancel()
            try:
                is_usable = await process.wake()
            except asyncio.CancelledError:
                process.end()
                raise
            if is_usable:
                return process
            process.end()
        return None

    async def _start(self, deadline: float) -> Process:
        process = Process(self._command, self._directory, Log(self._revision))
        self._processes.add(process)
        process.gone.add_done_callback(lambda _: self._forget(process))
        seconds = self._command.start_seconds
        try:
            async with asyncio.timeout_at(min(deadline, asyncio.get_running_loop().time() + seconds)):
                await process.start()
        except TimeoutError:
            process.end()
            raise AgentTimeout("The agent's program took too long to start.", field="start_seconds") from None
        except BaseException:
            process.end()
            raise
        return process

    async def _pause(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        if self._not_before > deadline:
            seconds = round(self._not_before - loop.time(), 1)
            raise AgentUnreachable(
                f"The agent's program has failed {self._failures} times in a row. It is tried again in "
                f"{seconds:g} seconds.",
                retry_after=seconds,
            )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._not_before):
                await self._changed.wait()

    async def _wait_for_room(self, deadline: float) -> None:
        """Until a process rests or is gone: one that is ended counts for as long as it lives."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._changed.wait()
        except TimeoutError:
            raise AgentTimeout(
                "The agent's processes of earlier calls did not end in time.", field="processes"
            ) from None

    def _forget(self, process: Process) -> None:
        self._processes.discard(process)
        self._tell_change()

    def _tell_change(self) -> None:
        self._changed.set()
        self._changed.clear()

    def _retire(self, process: Process) -> None:
        if (timer := self._idle.pop(process, None)) is not None:
            timer.cancel()
            process.end(gently=True)

    def _forget_idle(self) -> None:
        for timer in self._idle.values():
            timer.cancel()
        self._idle.clear()
