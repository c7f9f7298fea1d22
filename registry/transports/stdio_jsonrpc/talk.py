"""One call to one process: its request, all that is said to it, and the greeting that some programs insist on."""

import asyncio
from collections.abc import Awaitable, Iterator
from typing import TypeVar

from django.conf import settings

from common.errors import AgentFailed, AgentInvalidResponse, AgentTimeout
from registry.transports.base import Call, Progress
from registry.transports.stdio_jsonrpc import documents
from registry.transports.stdio_jsonrpc.documents import Answer
from registry.transports.stdio_jsonrpc.process import Process

# What comes ahead of an answer may weigh many times its length; each line weighs at least so many bytes.
STREAM_FACTOR = 8
LINE_LEAST = 64
# Lines that are there already are read without waiting: after so many of them the site's other work has its turn.
LINES_AT_ONCE = 50

# Of a line that cannot be read, in the owner's log.
LINE_SHOWN = 300

T = TypeVar("T")


class Deadline:
    """The moment by which a call has to be over, `seconds` after now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = asyncio.get_running_loop().time() + seconds

    async def keep(self, waiting: Awaitable[T]) -> T:
        """What is waited for. Raises AgentTimeout where it does not come in time."""
        try:
            async with asyncio.timeout_at(self.at):
                return await waiting
        except TimeoutError:
            raise AgentTimeout(
                f"The agent did not answer within {self.seconds:g} seconds. If it has, it did not flush its output, "
                "or it reads its input to the end instead of line by line.",
                timeout=self.seconds,
            ) from None


class Talk:
    """A call that a process is asked: `ask` it, then `listen` until there is an Answer."""

    def __init__(self, process: Process, call: Call, numbers: Iterator[int], deadline: Deadline) -> None:
        """`numbers` are the ids of requests: what a program is asked has one that nothing else had."""
        self.process = process
        self._call, self._numbers, self._deadline = call, numbers, deadline
        self._number = 0
        self._lines = self._bytes = 0

    async def ask(self) -> None:
        """Raises Ended or AgentTimeout."""
        self._number = next(self._numbers)
        await self._write(documents.request(self._number, self._call))

    async def listen(self) -> Answer | Progress | None:
        """What the next line says, None where that is nothing to the call.

        A program that insists on a greeting before it answers is greeted, and asked once more.
        Raises Ended, AgentTimeout, AgentInvalidResponse.
        """
        said = await self._said()
        if not isinstance(said, Answer):
            return said
        if self.process.may_want_greeting and documents.wants_greeting(said) and await self._greet():
            await self.ask()
            return None
        self._take_leave(said)
        return said

    def _take_leave(self, answer: Answer) -> None:
        """Says what becomes of the process: who leaves out ids may give the next call what was meant for this one."""
        self.process.is_free = answer.matched
        if not isinstance(answer.result, AgentFailed):
            self.process.may_want_greeting = False
            if not answer.matched:
                self.process.note("Its answer has no id. It counts, but for the next call the program is started anew.")

    async def _greet(self) -> bool:
        """Introduces the site, as clients of the Model Context Protocol do; whether the program agrees to that."""
        self.process.may_want_greeting = False
        self._number = next(self._numbers)
        await self._write(documents.greeting(self._number))
        while not isinstance(answer := await self._said(), Answer):
            pass
        if isinstance(answer.result, AgentFailed):
            return False
        await self._write(documents.GREETED)
        return True

    async def _said(self) -> Answer | Progress | None:
        line = await self._line()
        try:
            return documents.read_line(line, self._number)
        except AgentInvalidResponse as error:
            self.process.note(f"{error.message} The line: {line[:LINE_SHOWN]!r}")
            raise

    async def _write(self, line: bytes) -> None:
        await self._deadline.keep(self.process.write(line))

    async def _line(self) -> bytes:
        limit = settings.FUNC_ANSWER_MAX_BYTES * STREAM_FACTOR
        if self._bytes > limit:
            raise AgentInvalidResponse(f"The agent wrote {limit} bytes without an answer.", max_bytes=limit)
        line = await self._deadline.keep(self._next_line())
        self._bytes += max(len(line), LINE_LEAST)
        return line

    async def _next_line(self) -> bytes:
        self._lines += 1
        if self._lines % LINES_AT_ONCE == 0:
            await asyncio.sleep(0)
        return await self.process.line()
