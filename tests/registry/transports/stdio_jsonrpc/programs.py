"""Programs to ask over stdin and stdout: which say what a test tells them to, and whose processes are found again."""

import asyncio
import os
import shutil
import tempfile
import time
import uuid
import weakref
from pathlib import Path
from typing import Any

from registry.transports.base import AgentMessage, Call, Deployment, Event, Reply
from registry.transports.catalog import transport
from registry.transports.stdio_jsonrpc.options import CommandLine

AGENTS = Path(__file__).parent / "agents"
SCRIPTED = AGENTS / "scripted.py"
# The seed's agent in Python, word for word.
SEED_AGENT = Path(__file__).parents[4] / "examples/stdio/processed.py"


class Program:
    """`agents/scripted.py` in a directory of its own."""

    def __init__(self, **options: Any) -> None:
        self.directory = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        self.mark = uuid.uuid4().hex
        env = {"MARK": self.mark, **options.pop("env", {})}
        self.command = CommandLine(**{"command": str(SCRIPTED), "cwd": str(self.directory), **options, "env": env})

    @property
    def deployment(self) -> Deployment:
        return Deployment(self.command.command, self.command.as_options())

    def does(self, *behaviours: str) -> None:
        """What it does with its next calls, one after another; the last one for good."""
        (self.directory / "does").write_text("\n".join(behaviours))

    async def events(self, call: Call) -> list[Event]:
        return [event async for event in transport("stdio_jsonrpc").send(self.deployment, call)]

    async def reply(self, call: Call) -> Reply:
        (*_, last) = await self.events(call)
        assert isinstance(last, Reply)
        return last

    def processes(self) -> list[int]:
        """All that have its mark in their environment, zombies left out."""
        return marked(self.mark)

    async def is_gone(self, seconds: float = 4.0) -> bool:
        """Whether within so many seconds none of its processes is left."""
        ends = time.monotonic() + seconds
        while left := self.processes():
            if time.monotonic() > ends:
                break
            await asyncio.sleep(0.02)
        return not left


def marked(mark: str) -> list[int]:
    return [pid for pid in _pids() if f"MARK={mark}".encode() in _read(pid, "environ")]


def call(text: str = "hi", *, timeout: float = 20, **fields: Any) -> Call:
    """A call, for whose first answer an interpreter may have to be started on a busy machine."""
    return Call(AgentMessage(text), "a-token", "run/1", timeout=timeout, **fields)


def spawners() -> list[int]:
    """The processes of `spawn.py` that this process has started and that are still there."""
    return [
        pid for pid in _pids() if b"stdio_jsonrpc/spawn.py" in _read(pid, "cmdline") and _parent(pid) == os.getpid()
    ]


def _pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return (Path("/proc") / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0
