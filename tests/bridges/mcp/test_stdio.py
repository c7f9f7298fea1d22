"""`manage.py mcp`, as a desktop client starts it: the official client over stdin and stdout."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.agents import ScriptedAgent, hang
from tests.bridges.mcp.connecting import MODES, WORKING, Hand, hand_of
from tests.sessions_app.people import Person, wait_until
from tests.sites import ROOT, Site, running_site

Started = Callable[..., Hand]
AgentOf = Callable[..., str]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """`started(url, key, mode)` → a client that has started the command, in a directory of its own."""
    with ExitStack() as stack:

        def start(url: str, key: str, mode: str = "auto") -> Hand:
            server = StdioServerParameters(
                command=sys.executable,
                args=[str(ROOT / "manage.py"), "mcp", "--url", url],
                env={"FIXIE_API_KEY": key},
                cwd=tmp_path,
            )
            return stack.enter_context(hand_of(lambda: Client(server, mode=mode)))

        yield start


@pytest.mark.parametrize("mode", MODES)
def test_a_desktop_client_has_the_sites_tools(
    mode: str, started: Started, site: Site, asker: Person, echo: str
) -> None:
    hand = started(site.url, asker.key, mode)
    assert hand.client.server_info is not None
    assert hand.client.server_info.name == "fixie"
    assert "fixie__echo" in [tool.name for tool in hand.tools()]
    assert hand.delegated("Hello?", agent_id="fixie/echo")["result"] == "Hello?"
    error = hand.error("delegate_task", task_type="", prompt="Hello?", agent_id="no/body")
    assert (error.code, error.data["code"]) == (-32001, "not_found")


@pytest.mark.parametrize("mode", MODES)
def test_what_a_desktop_client_cancels_is_stopped(
    mode: str, started: Started, site: Site, asker: Person, agent_of: AgentOf, scripted: ScriptedAgent
) -> None:
    scripted.left.clear()
    scripted.requests.clear()
    hand = started(site.url, asker.key, mode)
    running = hand.begin("delegate_task", {"task_type": "", "prompt": "Go", "agent_id": agent_of(asker, hang())})
    wait_until(lambda: scripted.requests and scripted.requests[-1].method == "POST")
    running.cancel()
    assert scripted.left.wait(10)


def test_progress_comes_through(
    started: Started, site: Site, asker: Person, echo: str, program: Callable[[str], str]
) -> None:
    heard: list[tuple[float, float, str]] = []
    arguments = {"task_type": "", "prompt": "Work", "agent_id": program(WORKING)}
    started(site.url, asker.key).begin("delegate_task", arguments, progress=heard).result(20)
    assert [done for done, _, _ in heard] == [20.0, 40.0, 60.0]


def test_it_outlives_the_site(started: Started, database: None, asker: Person, echo: str) -> None:
    # Daphne does not tell when it starts and stops, and serves all the same.
    with running_site(server="daphne") as site:
        hand = started(site.url, asker.key)
        assert hand.told("fixie__echo", prompt="One")["result"] == "One"
    for _ in range(2):
        error = hand.error("fixie__echo", prompt="Two")
        assert (error.code, error.message.partition(":")[0]) == (-32002, "Cannot reach http")


def run(*arguments: str, key: str = "", stdin: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "manage.py"), "mcp", *arguments]
    env = {"FIXIE_API_KEY": key} if key else {}
    return subprocess.run(words, input=stdin, cwd=cwd, env=env, capture_output=True, text=True, timeout=30, check=False)


def test_stdout_carries_json_rpc_alone_and_the_end_of_stdin_ends_it(site: Site, asker: Person, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{asker.key}\n")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    stdin = "".join(json.dumps(message) + "\n" for message in sent)
    ended = run("--url", site.url, "--key-file", str(tmp_path / "key"), stdin=stdin, cwd=tmp_path)
    assert ended.returncode == 0
    assert [json.loads(line)["id"] for line in ended.stdout.splitlines()] == [1]


@pytest.mark.parametrize(
    ("arguments", "key", "reason"),
    [
        ([], "", "FIXIE_API_KEY"),
        (["--key-file", "nowhere"], "", "Cannot read the API key in nowhere."),
        ([], "nonsense", "The key is malformed."),
        (["--url", "http://127.0.0.1:1"], "nonsense", "Cannot reach http://127.0.0.1:1/mcp"),
        (["--url", "http://127.0.0.1:99999"], "nonsense", "is no address of a site"),
    ],
)
def test_what_keeps_it_from_serving_is_told_on_stderr(
    site: Site, tmp_path: Path, arguments: list[str], key: str, reason: str
) -> None:
    ended = run("--url", site.url, *arguments, key=key, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert reason in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
