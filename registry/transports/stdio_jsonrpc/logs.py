"""What programs write to their standard error: taken as it comes, a bounded part of it handed on now and then."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from registry.transports.wire import clean

log = structlog.get_logger()

# Takes the revision, which process of which machine, and lines.
Sink = Callable[[int, str, str], Awaitable[None]]

# Of one process so much is held until it is handed on, which happens so often (seconds).
KEPT = 64 * 1024
EVERY = 1.0
LEFT_OUT = b"[%d bytes left out]\n"

_sinks: list[Sink] = []


def keep_logs(sink: Sink) -> None:
    """Has `sink` called with what programs write from now on."""
    if sink not in _sinks:
        _sinks.append(sink)


class Log:
    """The standard error of one program. It never makes the program wait, however much there is."""

    def __init__(self, revision: int) -> None:
        """`revision` is 0 where nobody would read it."""
        self._revision = revision
        self._text = bytearray()
        self._left_out = 0
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self.process = ""

    def write(self, text: bytes) -> None:
        self._text += text
        if (over := len(self._text) - KEPT) > 0:
            del self._text[:over]
            self._left_out += over
        if self._revision and self._task is None:
            self._task = asyncio.create_task(self._hand_on())

    def note(self, words: str) -> None:
        """A line of our own among the program's."""
        self.write(f"[fixie] {words}\n".encode())

    async def aclose(self) -> None:
        """Hands on what is left, without waiting for its time."""
        self._hurry.set()
        if self._task is not None:
            await self._task

    async def _hand_on(self) -> None:
        while self._text:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._hurry.wait()
            await self._send(self._taken())
        self._task = None

    def _taken(self) -> str:
        """The whole lines there are, or everything where there is none, which are then no longer here."""
        end = len(self._text) if self._hurry.is_set() else self._text.rfind(b"\n") + 1 or len(self._text)
        text = bytes(self._text[:end])
        del self._text[:end]
        if self._left_out:
            text, self._left_out = LEFT_OUT % self._left_out + text, 0
        return clean(text.decode(errors="replace"))

    async def _send(self, text: str) -> None:
        for sink in _sinks:
            try:
                await sink(self._revision, self.process, text)
            except Exception as error:  # a log that is not kept is no reason to stop
                log.warning("agent_log_not_kept", revision=self._revision, error=type(error).__name__)
