"""The published `agentscope-runtime` against the site, both ways; `make interop` runs this, and nothing else does."""

import json
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.sessions_app.people import Person, wait_until
from tests.sites import ROOT, Site, free_port

PYTHON = ROOT / ".venvs/agentscope/bin/python"
HERE = Path(__file__).parent
START_SECONDS = 90.0


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    """The address of an AgentApp that thinks, and says back what it was asked."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen([PYTHON, HERE / "echo_app.py", str(port)])
    try:
        wait_until(lambda: _answers(url), START_SECONDS)
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url).status_code == 200
    except httpx2.TransportError:
        return False


def asked_by_their_client(site: Site, path: str, key: str, text: str) -> list[dict[str, Any]]:
    """The events that their client makes of our answer."""
    command = [PYTHON, HERE / "ask.py", f"{site.url}{path}", key, text]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=START_SECONDS)
    return [json.loads(line) for line in told.stdout.splitlines()]


def registered(asker: Person, url: str) -> str:
    made = asker.http.post("/api/agents", json={"handle": f"app-{uuid.uuid4().hex[:6]}", "deployment_url": url})
    assert made.status_code == 201, made.text
    assert made.json()["revision"]["transport"] == "agentscope"
    return str(made.json()["agent_id"])


def test_their_app_is_an_agent_here(asker: Person, app: str) -> None:
    session = asker.new_session(registered(asker, app))
    asker.post(session, "hello world")
    said = [(message["kind"], message["text"]) for message in asker.settled(session)]
    assert said == [("query", "hello world"), ("thought", "Thought: I say it back."), ("response", "hello world")]


def test_their_client_is_told_an_agents_answer(site: Site, asker: Person) -> None:
    events = asked_by_their_client(site, "/agents/fixie/echo/process", asker.key, "hello world")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert (events[0]["status"], events[-1]["status"]) == ("created", "completed")
    assert events[-1]["output"][-1]["content"][0]["text"] == "hello world"


def test_their_client_asks_their_app_through_the_site(site: Site, asker: Person, app: str) -> None:
    agent = registered(asker, app)
    last = asked_by_their_client(site, f"/agents/{agent}/process", asker.key, "hello world")[-1]
    assert [message["type"] for message in last["output"]] == ["reasoning", "message"]
    assert last["output"][-1]["content"][0]["text"] == "hello world"
