"""Arguments that cannot be meant: an error that names the field, and nothing written."""

from typing import Any

import pytest

from tests.bridges.mcp.connecting import Hand, call
from tests.sessions_app.people import Person
from tests.sites import Site

TASK = {"task_type": "", "prompt": "Hello?", "agent_id": "fixie/echo"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": " \n"}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": "a\0b"}, "prompt"),
        ({"prompt": "x" * 65_537}, "prompt"),
        ({"task_type": 1}, "task_type"),
        ({"task_type": "x" * 101}, "task_type"),
        ({"agent_id": "not a name"}, "agent_id"),
        ({"agent_id": "a/b/c"}, "agent_id"),
        ({"background": "yes"}, "background"),
        ({"context": [1]}, "context"),
        ({"context": {"a": "x" * 65_536}}, "context"),
        ({"session": 7}, "session"),
        ({"session": "no-such-session"}, "session"),
        ({"session": "a\0b"}, "session"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_argument_of_a_task_is_named(hand: Hand, asker: Person, change: dict[str, Any], field: str) -> None:
    error = hand.error("delegate_task", **{**TASK, **change})
    assert error.code == -32602
    assert error.data["details"]["field"] == field
    assert error.message == error.data["message"]
    assert asker.http.get("/api/sessions").json()["items"] == []


@pytest.mark.parametrize("missing", ["prompt", "task_type"])
def test_what_is_missing_is_named(hand: Hand, missing: str) -> None:
    error = hand.error("delegate_task", **{name: value for name, value in TASK.items() if name != missing})
    assert (error.code, error.data["details"]["field"]) == (-32602, missing)


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("agent_status", {"task_id": "nonsense"}, "task_id"),
        ("agent_status", {"task_id": "01a2006c-3705-7f17-931b-856507428ada"}, "task_id"),
        ("list_agents", {"limit": 0}, "limit"),
        ("list_agents", {"limit": 201}, "limit"),
        ("list_agents", {"after": "nowhere"}, "after"),
        ("list_agents", {"query": "a\0b"}, "query"),
        ("fixie__echo", {}, "prompt"),
        ("fixie__echo", {"prompt": "x", "context": {}}, "context"),
        ("no_such_tool", {}, "name"),
    ],
)
def test_a_bad_argument_is_named(hand: Hand, tool: str, arguments: dict[str, Any], field: str) -> None:
    error = hand.error(tool, **arguments)
    assert (error.code, error.data["details"]["field"]) == (-32602, field)


def test_half_a_character_is_refused(site: Site, asker: Person) -> None:
    document = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delegate_task","arguments":'
    document += b'{"task_type":"","prompt":"x","agent_id":"fixie/echo","context":{"a":"\\ud800"}}}}'
    headers = {"Content-Type": "application/json"}
    assert "error" in asker.http.post("/mcp", content=document, headers=headers).json()
    assert asker.http.post("/mcp", json=call("agent_status")).json()["result"]["structuredContent"]["tasks"] == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff", b"[" * 100_000])
def test_what_is_no_message_is_refused(asker: Person, body: bytes) -> None:
    answer = asker.http.post("/mcp", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32602, -32600)
