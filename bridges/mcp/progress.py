"""What a client that asked for progress hears while a run is at work: its steps, and how much text there is."""

import re
import time
from collections.abc import Awaitable, Callable

from sessions_app.frames import Frame

# `progress`, `total`, `message`, as MCP has them.
Report = Callable[[float, float | None, str | None], Awaitable[None]]

# The text of the answer is told of this often, in seconds.
TEXT_SECONDS = 0.5
MESSAGE_MAX = 500
# The step that a percentage is kept as (`sessions_app.runner.forwarding`).
_PERCENT = re.compile(r"Thought: (\d{1,3}) %\s*")
_SILENT = ("query", "response", "error")
_PART = 0.001


class Progress:
    """Of one run and those below it. `progress` only ever rises: it counts, until the agent itself says per cents."""

    def __init__(self, run: str, report: Report, start: float = 0.0) -> None:
        self.last = start
        self._report = report
        self._runs = {run}
        self._total: float | None = None
        self._text_told = time.monotonic()
        self._length = 0

    async def take(self, frame: Frame, text: str) -> None:
        """Reports what `frame` says that is new; `text` is the answer so far."""
        if frame["type"] == "run" and frame["parent"] in self._runs:
            self._runs.add(frame["run"])
        elif frame["type"] == "message" and frame["message"]["run"] in self._runs:
            await self._take_message(frame["message"])
        elif len(text) > self._length and time.monotonic() - self._text_told >= TEXT_SECONDS:
            self._text_told, self._length = time.monotonic(), len(text)
            await self._tell(f"{len(text):,} characters so far")

    async def _take_message(self, message: Frame) -> None:
        if message["kind"] in _SILENT:
            return
        percent = _PERCENT.match(message["text"])
        if percent is None:
            await self._tell(message["text"])
        else:
            self._total = 100.0
            await self._tell(message["text"][percent.end() :], float(percent[1]))

    async def _tell(self, message: str, percent: float = 0.0) -> None:
        least = self.last + (1.0 if self._total is None else _PART)
        if self._total is not None and least > self._total:
            return
        self.last = max(least, percent)
        await self._report(self.last, self._total, message[:MESSAGE_MAX] or None)
