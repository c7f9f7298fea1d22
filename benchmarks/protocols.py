"""Other protocols against our own: the Agent API in front of the echo agent, and a program as the agent."""

import statistics
import sys
from pathlib import Path

from accounts.models import User
from benchmarks.load import bounded, request
from benchmarks.pairs import Kind, Pair, milliseconds, p50, pairs, ratio
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving
from benchmarks.turns import ANSWERED, PART_SECONDS, TURN
from registry.actions import create_agent
from registry.commands import deploy_command
from registry.transports.stdio_jsonrpc.options import CommandLine

PROGRAM = Path(__file__).parent.parent / "examples/stdio/processed.py"
IDLE = 20
ASKED = b'{"input": [{"role": "user", "type": "message", "content": [{"type": "text", "text": "hello there"}]}]}'
COMPLETED = b'"completed_at"'


def measure(*, quick: bool) -> list[Row]:
    asker = new_user()
    programs = _programs(asker)
    with serving() as server:
        rows = bounded(_measure(server, key_of(asker), programs[0], 0.3 if quick else 1.0), PART_SECONDS)
        return [*rows, _memory(server, key_of(asker), programs)]


def _programs(owner: User) -> list[str]:
    """The ids of IDLE new agents, each a program of its own."""
    owner.is_superuser = True
    command = CommandLine(sys.executable, args=(str(PROGRAM),))
    agents = [create_agent(by=owner, handle=f"program-{number}") for number in range(IDLE)]
    for agent in agents:
        deploy_command(agent=agent, by=owner, command=command)
    return [agent.agent_id for agent in agents]


async def _measure(server: Server, key: str, program: str, seconds: float) -> list[Row]:
    native = Kind([_turn("fixie/echo", key)], ANSWERED)
    bridged = Kind([request("POST", "/agents/fixie/echo/process", key=key, body=ASKED)], COMPLETED)
    told = await pairs(server, native, bridged, seconds=seconds)
    run = await pairs(server, native, Kind([_turn(program, key)], ANSWERED), seconds=seconds)
    return [
        ratio("echo turn over /process, alone: p50", told, p50, milliseconds, at_most=1.15, unit="x our own"),
        _beyond("turn of a warm program beyond an echo turn, p50", run),
    ]


def _turn(agent: str, key: str) -> bytes:
    return request("POST", f"/api/agents/{agent}", key=key, body=TURN)


def _beyond(name: str, measured: list[Pair]) -> Row:
    more = [(pair.other.p50 - pair.base.p50) * 1e3 for pair in measured]
    detail = f"rounds {min(more):.2f} to {max(more):.2f} ms"
    return Row(name, statistics.median(more), "ms", at_most=3.0, detail=detail)


def _memory(server: Server, key: str, programs: list[str]) -> Row:
    """What the site's own process takes for programs that have answered and wait."""
    before = server.memory()
    with server.client(key) as http:
        for agent in programs:
            http.post(f"/api/agents/{agent}", json={"message": {"text": "hello"}}).raise_for_status()
    return Row(f"memory of the site for {IDLE} idle programs", (server.memory() - before) / 1e6, "MB", at_most=20.0)
