"""Programs that are servers of the Model Context Protocol, which answer nobody who has not introduced himself."""

import sys
from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest

from common.errors import AgentFailed
from registry.transports.base import Deployment, reply_of
from registry.transports.catalog import transport
from tests.registry.transports.stdio_jsonrpc.programs import Program, call

Make = Callable[..., Program]

# The seed's agent in Rust, with the protocol's own library for Python.
SERVER = """
from mcp.server import MCPServer
server = MCPServer("my-agent")
@server.tool()
def execute_task(prompt: str, context: dict | None = None) -> str:
    return f"Processed: {prompt}"
server.run()
"""


@pytest.mark.parametrize(
    "error", ['{"code": -32002, "message": "Wait."}', '{"code": 1, "message": "Call Initialize first"}']
)
async def test_a_program_that_insists_is_greeted_once(program: Make, error: str) -> None:
    subject = program(f"insist {error}")
    heard = orjson.loads((await subject.reply(call())).message.text)
    assert heard == ["tools/call", "initialize", "notifications/initialized", "tools/call"]
    again = orjson.loads((await subject.reply(call())).message.text)
    assert again == [*heard, "tools/call"]


async def test_a_server_written_with_the_protocols_own_library_answers(program: Make) -> None:
    command = replace(program().command, command=sys.executable, args=("-c", SERVER), memory_mb=1024)
    deployment = Deployment(command.command, command.as_options())
    for prompt in ("test", "again"):
        answer = await reply_of(transport("stdio_jsonrpc"), deployment, call(prompt, timeout=60))
        assert answer.text == f"Processed: {prompt}"


async def test_who_knows_no_greeting_fails_with_his_own_words(program: Make) -> None:
    broken = "fail I could not initialize my model."
    subject = program(broken, "fail Method not found", broken, "echo")
    for _ in range(2):  # the second time it is not greeted
        with pytest.raises(AgentFailed, match="initialize my model"):
            await subject.reply(call())
    assert (await subject.reply(call("next"))).message.text == "next"
    assert len(subject.processes()) == 1


async def test_who_has_answered_before_is_not_greeted(program: Make) -> None:
    subject = program("echo", "fail I could not initialize.", "echo")
    await subject.reply(call())
    with pytest.raises(AgentFailed, match="could not initialize"):
        await subject.reply(call())
    assert (await subject.reply(call("next"))).message.text == "next"
