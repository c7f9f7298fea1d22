"""What a client hears while a run is at work, and how it stops one."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import repeat

import httpx2
import pytest

from tests.agents import ScriptedAgent, answer, hang
from tests.bridges.mcp.connecting import MODES, WORKING, Hand, call
from tests.sessions_app.people import Person, wait_until
from tests.sessions_app.streaming import endless, held
from tests.sites import Site

AgentOf = Callable[..., str]
JSON = {"Accept": "application/json", "Content-Type": "application/json"}
EVENTS = {**JSON, "Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", MODES)
def test_steps_are_told_as_progress(
    mode: str, connect: Callable[..., Hand], asker: Person, scripted: ScriptedAgent
) -> None:
    shots = ["Q: Roll 3d8\nAsk Func[roll]: 3d8\nFunc[roll] says: 5\nA: 5"]
    scripted.on("/dice", answer({"base_prompt": "I roll dice.", "few_shots": shots}), method="GET")
    scripted.on("/dice/roll", answer({"message": {"text": "17"}}))
    made = asker.http.post("/api/agents", json={"handle": "dice", "deployment_url": f"{scripted.url}/dice"}).json()
    heard: list[object] = []
    arguments = {"task_type": "", "prompt": "Roll 3d8", "agent_id": made["agent_id"]}
    result = connect(asker, mode).begin("delegate_task", arguments, progress=heard).result(10)
    assert result.structured_content["result"] == "17"
    assert heard == [(1.0, None, "Ask Func[roll]: 3d8"), (2.0, None, "Func[roll] says: 17")]


def test_percentages_that_an_agent_tells_are_told_as_such(hand: Hand, program: Callable[[str], str]) -> None:
    heard: list[tuple[float, float, str]] = []
    arguments = {"task_type": "", "prompt": "Work", "agent_id": program(WORKING)}
    assert hand.begin("delegate_task", arguments, progress=heard).result(10).structured_content["result"] == "done"
    assert [(done, total) for done, total, _ in heard] == [(20.0, 100.0), (40.0, 100.0), (60.0, 100.0)]


def test_the_length_of_a_growing_answer_is_told_now_and_then(
    hand: Hand, asker: Person, agent_of: AgentOf, gate: threading.Event
) -> None:
    heard: list[tuple[float, float, str]] = []
    agent = agent_of(asker, endless(repeat("word "), gate))
    running = hand.begin("delegate_task", {"task_type": "", "prompt": "Go", "agent_id": agent}, progress=heard)
    wait_until(lambda: len(heard) > 1)
    gate.set()
    running.result(10)
    assert heard[0][2].endswith("characters so far")
    assert [done for done, _, _ in heard] == sorted({done for done, _, _ in heard})
    assert len(heard) < 8


def begun(hand: Hand, asker: Person, scripted: ScriptedAgent) -> str:
    """The newest session of the asker, once its agent has the query."""
    wait_until(lambda: scripted.requests and scripted.requests[-1].method == "POST")
    return str(wait_until(lambda: asker.http.get("/api/sessions").json()["items"])[0]["handle"])


def state_of(asker: Person, session: str) -> str:
    return str(asker.http.get(f"/api/sessions/{session}/messages").json()["runs"][-1]["status"])


@pytest.mark.parametrize("mode", MODES)
def test_a_canceled_call_stops_its_run(
    mode: str, connect: Callable[..., Hand], asker: Person, agent_of: AgentOf, scripted: ScriptedAgent
) -> None:
    scripted.left.clear()
    scripted.requests.clear()
    hand = connect(asker, mode)
    running = hand.begin("delegate_task", {"task_type": "", "prompt": "Go", "agent_id": agent_of(asker, hang())})
    session = begun(hand, asker, scripted)
    running.cancel()
    wait_until(lambda: state_of(asker, session) == "canceled")
    assert scripted.left.wait(5)
    with pytest.raises(CancelledError):
        running.result(1)
    assert hand.delegated("Still there?", agent_id="fixie/echo")["result"] == "Still there?"


@pytest.mark.parametrize("headers", [JSON, EVENTS], ids=["json", "events"])
def test_a_client_that_leaves_stops_its_run(
    headers: dict[str, str], site: Site, asker: Person, agent_of: AgentOf, scripted: ScriptedAgent, hand: Hand
) -> None:
    scripted.requests.clear()
    document = call("delegate_task", task_type="", prompt="Go", agent_id=agent_of(asker, hang()))
    with site.client(asker.key) as http, pytest.raises(httpx2.ReadTimeout):
        http.post("/mcp", json=document, headers=headers, timeout=1)
    session = begun(hand, asker, scripted)
    wait_until(lambda: state_of(asker, session) == "canceled")


def test_a_client_that_leaves_does_not_stop_a_task_in_the_background(
    hand: Hand, asker: Person, agent_of: AgentOf, gate: threading.Event
) -> None:
    task = hand.delegated("Wait", agent_id=agent_of(asker, held(gate)), background=True)
    assert state_of(asker, task["session"]) == "in_progress"
    gate.set()
    wait_until(lambda: state_of(asker, task["session"]) == "completed")


def test_the_number_of_a_request_is_its_clients_own(
    site: Site, asker: Person, agent_of: AgentOf, scripted: ScriptedAgent, hand: Hand
) -> None:
    scripted.requests.clear()
    task = call("delegate_task", task_type="", prompt="Go", agent_id=agent_of(asker, hang()))
    stop = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": task["id"]}}

    def posted(document: object, client: dict[str, str]) -> httpx2.Response:
        return asker.http.post("/mcp", json=document, headers={**JSON, **client})

    one, two = ({"Mcp-Session-Id": name} for name in ("one", "two"))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(posted, task, one)
        session = begun(hand, asker, scripted)
        for somebody_else in (two, {}):
            assert posted(stop, somebody_else).status_code == 202
        assert not running.done()
        assert state_of(asker, session) == "in_progress"
        assert posted(stop, one).status_code == 202
        result = running.result(5).json()["result"]
    assert result["isError"]
    assert result["content"] == [{"type": "text", "text": "The query was stopped."}]
    assert result["structuredContent"]["status"] == "canceled"
    assert state_of(asker, session) == "canceled"
