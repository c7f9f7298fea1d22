"""Programs on this machine, asked by a line on their stdin and answering by lines on their stdout."""

import asyncio
import hashlib
import itertools
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

import orjson
from django.conf import settings

from common.errors import AgentFailed, AgentInvalidResponse, AgentUnreachable, InvalidRequest
from registry.transports.base import Call, Deployment, Event, Progress, Transport
from registry.transports.stdio_jsonrpc.documents import Answer
from registry.transports.stdio_jsonrpc.options import CommandLine
from registry.transports.stdio_jsonrpc.pool import Pool
from registry.transports.stdio_jsonrpc.process import Ended
from registry.transports.stdio_jsonrpc.talk import Deadline, Talk

Key = tuple[asyncio.AbstractEventLoop, bytes]


class StdioJsonRpcTransport(Transport):
    """Programs in JSON-RPC 2.0, which go on living between calls.

    Whatever a program does, its processes are ended with it, and a call ends by its time. Calls carry no token and no
    idempotency key: the protocol has no place for them.
    """

    kind: ClassVar[str] = "stdio_jsonrpc"
    keeps_context: ClassVar[bool] = True

    def __init__(self) -> None:
        self._pools: dict[Key, Pool] = {}
        self._numbers = itertools.count(1)

    async def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        if call.func is not None:
            raise AgentFailed("This agent answers queries only.", reason="unknown_func", func=call.func)
        command = _command_of(deployment)
        deadline = Deadline(min(call.timeout, command.call_seconds))
        pool = self._pool(deployment, command)
        async with pool.turn(deadline.at):
            talk, said = await self._asked(pool, call, deadline)
            try:
                while not isinstance(said, Answer):
                    if said is not None:
                        yield said
                    said = await talk.listen()
                pool.note_answer()
            except (Ended, AgentInvalidResponse):
                pool.note_failure(talk.process)
                raise
            finally:
                pool.give_back(talk.process)
        if said.limits is not None:
            yield said.limits
        if isinstance(said.result, AgentFailed):
            raise said.result
        yield said.result

    async def aclose(self) -> None:
        """Ends this event loop's processes, within seconds whatever they do."""
        loop = asyncio.get_running_loop()
        pools = [self._pools.pop(key) for key in list(self._pools) if key[0] is loop]
        await asyncio.gather(*(pool.aclose() for pool in pools))

    async def _asked(self, pool: Pool, call: Call, deadline: Deadline) -> tuple[Talk, Answer | Progress | None]:
        """Asks a process; returns the talk with it, and what it says first.

        One that ended in good order after its last call (agents may exit after each) is no failure: another is asked.
        """
        while True:
            process = await pool.take(deadline.at)
            is_new, talk = process.is_new, Talk(process, call, self._numbers, deadline)
            try:
                await talk.ask()
                return talk, await talk.listen()
            except BaseException as error:
                pool.give_back(process)
                if isinstance(error, Ended) and error.status == 0 and not is_new:
                    continue
                if isinstance(error, Ended | AgentInvalidResponse):
                    pool.note_failure(process)
                raise

    def _pool(self, deployment: Deployment, command: CommandLine) -> Pool:
        """That of the deployment in this event loop; another revision or another command has another one."""
        loop, options = asyncio.get_running_loop(), command.as_options()
        name = orjson.dumps([deployment.revision, options], option=orjson.OPT_SORT_KEYS)
        if (found := self._pools.get((loop, name))) is None:
            found = Pool(command, _directory(deployment, command, name), deployment.revision)
            self._pools[loop, name] = found
        return found


def _command_of(deployment: Deployment) -> CommandLine:
    try:
        return CommandLine.from_options(deployment.options)
    except InvalidRequest as error:
        raise AgentUnreachable(f"This agent's command cannot be run: {error.message}", **error.details) from None


def _directory(deployment: Deployment, command: CommandLine, name: bytes) -> Path:
    """Where the program runs. Its own directory is made when it is missing."""
    if command.cwd:
        return Path(command.cwd)
    own = str(deployment.revision) if deployment.revision else hashlib.sha256(name).hexdigest()[:16]
    directory: Path = settings.VAR / "agents" / own
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AgentUnreachable(f"The agent's directory cannot be made: {error.strerror}.") from None
    return directory
