"""What curl gets: plain JSON-RPC, without a handshake before it."""

import json

from tests.bridges.mcp.connecting import call
from tests.sessions_app.people import Person

# As the seed `stdio-json-rpc-agents` has it under "Test delegation".
SEED = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": {
    "name": "delegate_task",
    "arguments": {
      "task_type": "custom-task",
      "prompt": "Do custom work",
      "agent_id": "my-agent"
    }
  }
}
"""

# What curl says of any body.
CURLS = "application/x-www-form-urlencoded"


def test_the_seeds_delegation_works_as_it_stands(asker: Person, echo: str) -> None:
    from tests.sessions_app.queries import make_agent

    agent = make_agent(asker.user.owner, published=False)
    agent.handle = "my-agent"
    agent.save()
    answer = asker.http.post("/mcp", content=SEED, headers={"Content-Type": CURLS})
    assert answer.headers["Content-Type"] == "application/json"
    document = answer.json()
    result = document.pop("result")
    assert document == {"jsonrpc": "2.0", "id": 1}
    assert result["content"] == [{"type": "text", "text": "Do custom work"}]
    assert result["isError"] is False
    task = result["structuredContent"]
    assert set(task) == {"task_id", "agent_id", "session", "status", "result"}
    assert (task["agent_id"], task["status"]) == (agent.agent_id, "completed")


def test_who_takes_events_gets_events(asker: Person, echo: str) -> None:
    accept = {"Accept": "application/json, text/event-stream"}
    asked = call("delegate_task", task_type="", prompt="Hello?", agent_id="fixie/echo")
    answer = asker.http.post("/mcp", json=asked, headers=accept)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    [data] = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert json.loads(data)["result"]["structuredContent"]["result"] == "Hello?"


def test_an_error_is_json_rpcs(asker: Person) -> None:
    asked = call("delegate_task", task_type="", prompt="Hello?", agent_id="no/body")
    answer = asker.http.post("/mcp", json=asked, headers={"Accept": "application/json"})
    assert answer.status_code == 200
    error = answer.json()["error"]
    assert error["code"] == -32001
    assert error["data"] == {
        "code": "not_found",
        "message": error["message"],
        "retryable": False,
        "details": {"field": "agent", "agent": "no/body"},
    }
