"""The two agents of the seed `stdio-json-rpc-agents`, word for word: through echo and a pipe, and as agents here."""

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from common.errors import AgentFailed
from registry.transports.base import Deployment, Reply, reply_of
from registry.transports.catalog import aclose_all, transport
from registry.transports.stdio_jsonrpc.options import CommandLine
from tests.registry.transports.stdio_jsonrpc.programs import AGENTS, SEED_AGENT, call

# The seed's own test of an agent, and what it expects.
REQUEST = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_task","arguments":{"prompt":"test"}}}'
)
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": "Processed: test"}


@pytest.fixture(params=[SEED_AGENT, AGENTS / "seed_agent.js"], ids=["python", "node"])
async def agent(request: pytest.FixtureRequest) -> AsyncIterator[Path]:
    if request.param.suffix == ".js" and shutil.which("node") is None:
        pytest.skip("There is no node on this machine, which the seed's second agent is written for.")
    yield request.param
    await aclose_all()


@pytest.fixture
def script() -> str:
    """The agent in Python, which cannot read its requests. (The other one says so on its standard error.)"""
    return SEED_AGENT.read_text().replace("json.loads(line)", "json.loads('{')")


def test_it_answers_through_echo_and_a_pipe(agent: Path) -> None:
    shell = f"echo '{REQUEST}' | {agent}"
    answered = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(answered.stdout) == ANSWER


async def test_it_answers_as_an_agent_call_after_call(agent: Path) -> None:
    command = CommandLine(str(agent))
    deployment = Deployment(command.command, command.as_options())
    for prompt in ("test", "Grüße, 世界\n👩\u200d🚀"):
        events = [event async for event in transport("stdio_jsonrpc").send(deployment, call(prompt))]
        assert [event.message.text for event in events if isinstance(event, Reply)] == [f"Processed: {prompt}"]


async def test_the_error_that_it_says_without_an_id_is_its_own(script: str) -> None:
    """Which the seed's agent in Python does for what it cannot read, and exits."""
    command = CommandLine("python3", args=("-c", script))
    with pytest.raises(AgentFailed, match="Expecting property name") as failed:
        await reply_of(transport("stdio_jsonrpc"), Deployment("x", command.as_options()), call())
    await aclose_all()
    assert failed.value.details == {"error": {"code": -32603}}
