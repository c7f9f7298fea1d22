"""One running program: its pipes, its life and its end."""

import asyncio
import contextlib
import errno
import os
import platform
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import structlog
from django.conf import settings

from common.errors import AgentInvalidResponse, AgentUnreachable
from registry.transports.stdio_jsonrpc.logs import Log
from registry.transports.stdio_jsonrpc.options import CommandLine

log = structlog.get_logger()

SPAWN = Path(__file__).with_name("spawn.py")
# What a program finds in its environment, where the command says nothing else.
PATH, LANG = "/usr/local/bin:/usr/bin:/bin", "C.UTF-8"
# Seconds: to end of its own accord when its input ends; then after SIGTERM, before all of it is killed; and then for
# what kills it.
LEAVE, GRACE, PATIENCE = 0.5, 2.0, 3.0
CHUNK = 64 * 1024
# How a program ended is known a moment after its pipes are closed (seconds).
STATUS_SECONDS = 1.0
NOISE_SHOWN = 200

_START_PROBLEMS = {
    ("command", errno.ENOENT): "there is no such program, or what its first line names is missing",
    ("command", errno.EACCES): "it is not executable",
    ("command", errno.ENOEXEC): "it is no program; a script needs a first line such as #!/usr/bin/env python3",
    ("command", errno.E2BIG): "its arguments and its environment are too long",
    ("cwd", errno.ENOENT): "its working directory does not exist",
    ("cwd", errno.ENOTDIR): "its working directory is not a directory",
    ("cwd", errno.EACCES): "its working directory cannot be entered",
}


class Ended(AgentUnreachable):
    """The program has ended, or closed its output, without a word. `status` is its exit status, None if it lives."""

    def __init__(self, status: int | None) -> None:
        super().__init__(_last_words(status), status=status)
        self.status = status


class Process:
    """A program that runs, in a session of its own, under `spawn.py`. It answers one call at a time.

    `is_new` is true until it is sent something, `may_want_greeting` until it has answered well or was greeted;
    `is_free` is false from a call until its answer has been read whole. `born` is when it was started, by the loop.
    """

    def __init__(self, command: CommandLine, directory: Path, log: Log) -> None:
        """Begins to start it; `start` waits until it runs."""
        self._command, self._directory, self._log = command, directory, log
        self.is_new = self.is_free = self.may_want_greeting = True
        self._stdout = asyncio.StreamReader(limit=settings.FUNC_ANSWER_MAX_BYTES)
        self._stdin: asyncio.StreamWriter | None = None
        self._outputs: list[asyncio.ReadTransport] = []  # of stdout and stderr, once they are open
        loop = asyncio.get_running_loop()
        self.born = loop.time()
        self._runs: asyncio.Future[None] = loop.create_future()
        self._runs.add_done_callback(asyncio.Future.exception)  # it may be that nobody waits any more
        self._status: asyncio.Future[int | None] = loop.create_future()
        self._is_ending = False
        self._noise: asyncio.Task[None] | None = None
        self._popen, self._control = _spawn()
        self.gone = asyncio.create_task(self._live())

    async def start(self) -> None:
        """Waits until the program runs. Raises AgentUnreachable where it cannot."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(self._control, self._job())
        await asyncio.shield(self._runs)

    async def write(self, line: bytes) -> None:
        """Sends a line. Raises Ended."""
        assert self._stdin is not None
        self.is_new = self.is_free = False
        try:
            self._stdin.write(line)
            await self._stdin.drain()
        except ConnectionError:
            raise Ended(await self._known_status()) from None

    async def line(self) -> bytes:
        """The next line it writes, also where it ends without a line break.

        Raises Ended, or AgentInvalidResponse for a line that is too long.
        """
        try:
            return await self._stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if error.partial.strip():
                return error.partial
            raise Ended(await self._known_status()) from None
        except asyncio.LimitOverrunError:
            limit = settings.FUNC_ANSWER_MAX_BYTES
            raise AgentInvalidResponse(f"The agent wrote a line of more than {limit} bytes.", max_bytes=limit) from None

    def note(self, words: str) -> None:
        """Tells the agent's owner, among what it writes to its standard error."""
        self._log.note(words)

    def rest(self) -> asyncio.Task[None]:
        """Lets it wait for its next call; the task ends when it ends or says something that nobody asked for."""
        self._noise = asyncio.create_task(self._hear_noise())
        return self._noise

    async def wake(self) -> bool:
        """Whether it can be asked again after `rest`."""
        assert self._noise is not None
        is_quiet = self._noise.cancel()
        await asyncio.wait([self._noise])
        return is_quiet and not self._is_ending

    def end(self, *, gently: bool = False) -> None:
        """Ends it, and all that it has started, within `LEAVE + GRACE` seconds; `gone` is done then.

        `gently` gives it the time to end of its own accord, for its input ends.
        """
        if self._is_ending:
            return
        self._is_ending = True
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.close() if gently else self._stdin.transport.abort()
        # Nobody reads its answers on, and what nobody reads would keep the pipe open.
        for stdout in self._outputs[:1]:
            stdout.close()
        loop = asyncio.get_running_loop()
        hang_up = loop.call_later(LEAVE if gently else 0, self._hang_up)
        kill = loop.call_later(LEAVE + GRACE + PATIENCE, self._give_up)
        for timer in (hang_up, kill):
            self.gone.add_done_callback(partial(_cancel, timer))

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def _give_up(self) -> None:
        """Ends what was to end the program, and could not."""
        self._log.note("Not all that the program started could be ended: some of it may still run.")
        log.warning("agent_processes_left", process=self._log.process, command=self._command.command)
        self._popen.kill()

    def _job(self) -> bytes:
        home = str(self._directory)
        job = {
            "command": self._command.command,
            "args": self._command.args,
            "env": {"PATH": PATH, "LANG": LANG, "HOME": home, **self._command.env},
            "cwd": home,
            "memory_mb": self._command.memory_mb,
            "open_files": self._command.open_files,
            "grace": GRACE,
        }
        return orjson.dumps(job) + b"\n"

    async def _live(self) -> None:
        """Listens to `spawn.py` until it ends, and with it everything that the program has started."""
        try:
            draining = asyncio.create_task(self._drain(await self._connect()))
            await self._listen()
            # All who wrote there are dead: what is left in the pipe is little.
            await asyncio.wait([draining], timeout=STATUS_SECONDS)
            await asyncio.to_thread(self._popen.wait)
        finally:
            for stderr in self._outputs[1:]:
                stderr.close()
            self._control.close()
            if not self._runs.done():
                self._runs.set_exception(AgentUnreachable("The agent's program could not be started."))
            if not self._status.done():
                self._status.set_result(None)
            await self._log.aclose()

    async def _connect(self) -> asyncio.StreamReader:
        """Opens the pipes; returns what the program writes to its standard error."""
        loop = asyncio.get_running_loop()
        stderr = asyncio.StreamReader(limit=CHUNK)
        for reader, pipe in ((self._stdout, self._popen.stdout), (stderr, self._popen.stderr)):
            protocol = asyncio.StreamReaderProtocol(reader)
            transport, _ = await loop.connect_read_pipe(partial(_same, protocol), pipe)
            self._outputs.append(transport)
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        writing, _ = await loop.connect_write_pipe(partial(_same, protocol), self._popen.stdin)
        self._stdin = asyncio.StreamWriter(writing, protocol, None, loop)
        return stderr

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        words = b""
        while piece := await loop.sock_recv(self._control, CHUNK):
            *lines, words = (words + piece).split(b"\n")
            for line in lines:
                self._hear(orjson.loads(line))

    def _hear(self, word: dict[str, Any]) -> None:
        """What `spawn.py` says."""
        if "started" in word:
            self._log.process = f"{platform.node()} {word['started']}"[:100]
            self._runs.set_result(None)
        elif "failed" in word:
            problem = _START_PROBLEMS.get((word["failed"], word["errno"]), os.strerror(word["errno"]))
            self._log.note(f"{self._command.command} in {self._directory} cannot be started: {problem}.")
            self._runs.set_exception(AgentUnreachable(f"The agent's program cannot be started: {problem}."))
        else:
            self._status.set_result(word["ended"])
            if word["ended"] != 0 and not self._is_ending:
                self._log.note(_cause(word["ended"]))

    async def _drain(self, stderr: asyncio.StreamReader) -> None:
        while text := await stderr.read(CHUNK):
            self._log.write(text)

    async def _hear_noise(self) -> None:
        """Ends with the program, or when it says more than a line break."""
        while (said := await self._stdout.read(CHUNK)) and not said.strip():
            pass
        if said:
            self._log.note(f"It wrote to its standard output without being asked: {said[:NOISE_SHOWN]!r}")

    async def _known_status(self) -> int | None:
        """How it ended; None where it has only closed its pipes."""
        try:
            async with asyncio.timeout(STATUS_SECONDS):
                return await asyncio.shield(self._status)
        except TimeoutError:
            return None


def _spawn() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Starts `spawn.py`, which waits for its job at the other end of the socket. Raises AgentUnreachable."""
    try:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            return _popen(theirs), ours
    except OSError as error:  # no more processes, files or memory; what is not returned is closed with its last name
        raise AgentUnreachable(f"The agent's program cannot be started now: {error.strerror}.") from None


def _popen(control: socket.socket) -> subprocess.Popen[bytes]:
    # Nothing is inherited: no environment with secrets, no open file but these four.
    return subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-I", "-S", str(SPAWN), str(control.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(control.fileno(),),
        env={},
        cwd="/",
        start_new_session=True,  # Ctrl-C in a terminal is for the site, which ends its processes itself
        bufsize=0,
    )


def _cancel(timer: asyncio.TimerHandle, _: "asyncio.Task[None]") -> None:
    timer.cancel()


def _same(protocol: asyncio.StreamReaderProtocol) -> asyncio.StreamReaderProtocol:
    return protocol


def _last_words(status: int | None) -> str:
    if status is None:
        return "The agent's program closed its standard output before it answered."
    if status == 0:
        return (
            f"{_cause(status)} before it answered. It has to read its input line by line, not to its end, to answer "
            "each line with one line, and to flush its output before it exits."
        )
    return f"{_cause(status)} before it answered."


def _cause(status: int) -> str:
    if status >= 0:
        return f"The agent's program ended with exit code {status}"
    names = {each.value: each.name for each in signal.Signals}
    return f"The agent's program was ended by the signal {names.get(-status, -status)}"
