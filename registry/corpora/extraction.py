"""Text out of documents that strangers wrote, in processes of their own that may die of them."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, Literal

import orjson
import structlog

from registry.corpora.extracted import (
    ANSWER_HEAD,
    JOB_HEAD,
    MAX_TEXT,
    Extracted,
    Unreadable,
    kind_of,
)

__all__ = ["Extracted", "Extraction", "Unreadable", "aclose_extraction", "extract", "is_readable"]

log = structlog.get_logger()

# Whoever asks in a chat waits for the answer: no crawl may keep them waiting.
Purpose = Literal["corpora", "chats"]
PROCESSES: dict[Purpose, int] = {"corpora": 2, "chats": 1}
# One document's: of the clock, of a processor, and of address space.
SECONDS = 60.0
CPU_SECONDS = 30
MEMORY = 1024 * 1024 * 1024
# Without work processes end, and the memory that they hold is free.
IDLE_SECONDS = 60.0
MAX_ANSWER = 12 * MAX_TEXT

_ROOT = Path(__file__).resolve().parent.parent.parent


def is_readable(content_type: str) -> bool:
    """Whether documents of this type can be read, or only a look into them can tell."""
    return kind_of(content_type) is not None


class _Process:
    """One process that extracts, one document at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._jobs, self._answers = process.stdin, process.stdout
        self.is_usable = True

    @classmethod
    async def start(cls, memory: int) -> "_Process":
        # It finds the same code, and nothing else of ours: no secrets in its environment, no files open.
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "registry.corpora.extract_process",
            str(memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=_ROOT,
            env=environment,
            start_new_session=True,  # Ctrl-C in a terminal is for the site, which ends its processes itself
        )
        return cls(process)

    async def ask(self, header: bytes, content: bytes) -> dict[str, Any]:
        """Raises Unreadable where the process does not survive the document."""
        try:
            self._jobs.write(JOB_HEAD.pack(len(header), len(content)) + header)
            self._jobs.write(content)
            await self._jobs.drain()
            (size,) = ANSWER_HEAD.unpack(await self._answers.readexactly(ANSWER_HEAD.size))
            if size > MAX_ANSWER:
                raise Unreadable("Its text is too long.")
            answer: dict[str, Any] = orjson.loads(await self._answers.readexactly(size))
            return answer
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Unreadable(await self._cause_of_death()) from None

    async def _cause_of_death(self) -> str:
        status = await self._process.wait()
        log.warning("extraction_died", status=status)
        if status == -signal.SIGXCPU:
            return "Reading it takes more computing time than one document may."
        return "The program that reads documents breaks down over it."

    async def aclose(self) -> None:
        self.is_usable = False
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        self._jobs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self.is_usable and self._process.returncode is None


class Extraction:
    """A few processes, started when they are needed. One instance serves one event loop."""

    def __init__(
        self,
        *,
        processes: int,
        seconds: float = SECONDS,
        cpu_seconds: int = CPU_SECONDS,
        memory: int = MEMORY,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._turns = asyncio.Semaphore(processes)
        self._seconds, self._cpu_seconds, self._memory = seconds, cpu_seconds, memory
        self._idle_seconds = idle_seconds
        self._idle: list[_Process] = []
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None

    async def extract(self, content: bytes, content_type: str, *, url: str = "", encoding: str = "") -> Extracted:
        """See the function `extract`."""
        fields = {"content_type": content_type, "url": url, "encoding": encoding, "seconds": self._cpu_seconds}
        async with self._turns:
            answer = await self._ask(orjson.dumps(fields), content)
        if "unreadable" in answer:
            raise Unreadable(answer["unreadable"])
        return Extracted.from_dict(answer)

    async def _ask(self, header: bytes, content: bytes) -> dict[str, Any]:
        process = await self._take()
        kept = False
        try:
            async with asyncio.timeout(self._seconds):
                answer = await process.ask(header, content)
            kept = not answer["last"]
        except TimeoutError:
            raise Unreadable(f"Reading it takes longer than {self._seconds:g} seconds.") from None
        finally:
            # In the middle of a document, or at its end: such a process answers no other.
            if kept:
                self._keep(process)
            else:
                await process.aclose()
        return answer

    async def _take(self) -> _Process:
        while self._idle:
            process = self._idle.pop()
            if process.is_alive:
                return process
            await process.aclose()
        return await _Process.start(self._memory)

    def _keep(self, process: _Process) -> None:
        self._idle.append(process)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._rest)

    def _rest(self) -> None:
        self._closing = asyncio.create_task(self._close_idle())

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    async def aclose(self) -> None:
        """Ends the processes that have no work."""
        if self._timer is not None:
            self._timer.cancel()
        if self._closing is not None:
            await self._closing
        await self._close_idle()


_extractions: dict[tuple[asyncio.AbstractEventLoop, Purpose], Extraction] = {}


async def extract(
    content: bytes, content_type: str, *, url: str = "", encoding: str = "", purpose: Purpose = "corpora"
) -> Extracted:
    """The text of a document. `encoding` is its charset, for whoever knows; else `content_type` may carry it.

    HTML, PDF, XML and anything that is text. Bounded in time, memory and length whatever the bytes do. Waits only
    for documents of the same `purpose`. Raises Unreadable.
    """
    key = asyncio.get_running_loop(), purpose
    if key not in _extractions:
        _extractions[key] = Extraction(processes=PROCESSES[purpose])
    return await _extractions[key].extract(content, content_type, url=url, encoding=encoding)


async def aclose_extraction() -> None:
    """Ends this event loop's processes."""
    loop = asyncio.get_running_loop()
    for purpose in PROCESSES:
        extraction = _extractions.pop((loop, purpose), None)
        if extraction is not None:
            await extraction.aclose()
