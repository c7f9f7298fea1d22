"""What is read of an agent's lines, whatever stands in them."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.base import AgentMessage, EmbedRef, LimitsLeft, Progress, Reply
from registry.transports.stdio_jsonrpc.documents import Answer, read_line, request, wants_greeting
from tests.registry.transports.stdio_jsonrpc.programs import call

IMAGE = EmbedRef("image/png", "data:image/png;base64,aGk=")


def read(**document: Any) -> Any:
    return read_line(json.dumps({"jsonrpc": "2.0", "id": 7, **document}).encode(), 7)


def reply(**document: Any) -> Reply:
    answer = read(**document)
    assert isinstance(answer, Answer)
    assert answer.matched
    assert isinstance(answer.result, Reply)
    return answer.result


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("8 3", "8 3"),
        ("", ""),
        (None, ""),
        ("a\x00b", "a\N{REPLACEMENT CHARACTER}b"),
        ({"text": "8 3"}, "8 3"),
        ({"result": "8 3"}, "8 3"),
        ({"result": {"text": "8 3"}}, "8 3"),
        ({"content": [{"type": "text", "text": "8"}, {"type": "text", "text": "3"}]}, "8\n3"),
        ({"content": []}, ""),
        (17, "17"),
        (False, "false"),
        ([1, 2], "[\n  1,\n  2\n]"),
        ({"dice": [8, 3]}, '{\n  "dice": [\n    8,\n    3\n  ]\n}'),
    ],
)
def test_any_result_is_a_text(result: Any, text: str) -> None:
    assert reply(result=result).message == AgentMessage(text)


def test_attachments_come_as_embeds_or_as_the_parts_of_a_tools_result() -> None:
    embeds = {"1": {"content_type": IMAGE.content_type, "uri": IMAGE.uri}}
    assert reply(result={"text": "See #1", "embeds": embeds}).message == AgentMessage("See #1", {"1": IMAGE})
    parts = [
        {"type": "text", "text": "See"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "https://files.example/2", "name": "two"},
    ]
    link = EmbedRef("application/octet-stream", "https://files.example/2")
    assert reply(result={"content": parts}).message == AgentMessage("See\n#1\n#2", {"1": IMAGE, "2": link})


def test_a_tools_result_may_be_an_error() -> None:
    answer = read(result={"content": [{"type": "text", "text": "No dice."}], "isError": True})
    assert isinstance(answer.result, AgentFailed)
    assert answer.result.message == "No dice."


@pytest.mark.parametrize(
    "document",
    [
        {"result": "x", "context": {"previous_result": 5}},
        {"result": {"result": "x", "context": {"previous_result": 5}}},
        {"result": {"text": "x", "context": {"previous_result": 5, "embeds": {"1": {}}}}},
    ],
)
def test_context_is_carried_wherever_it_stands(document: Any) -> None:
    assert reply(**document) == Reply(AgentMessage("x"), {"previous_result": 5})


def test_without_a_context_what_there_was_stays() -> None:
    assert reply(result="x").context is None
    assert reply(result="x", context=None).context is None
    assert reply(result="x", context={}).context == {}


@pytest.mark.parametrize(
    ("error", "message", "details"),
    [
        ({"code": -32000, "message": "Error description"}, "Error description", {"error": {"code": -32000}}),
        ({"code": 1, "message": " ", "data": [1]}, "The agent failed.", {"error": {"code": 1, "data": [1]}}),
        ({"message": "a\x00b"}, "a\N{REPLACEMENT CHARACTER}b", {"error": {}}),
        ({"code": 1, "message": "x", "data": "y" * 10_000}, "x", {"error": {}}),
        ("It broke.", "It broke.", {}),
        ({}, "The agent failed.", {"error": {}}),
    ],
)
def test_an_error_is_what_the_agent_says_of_it(error: Any, message: str, details: Any) -> None:
    failure = read(error=error).result
    assert isinstance(failure, AgentFailed)
    assert (failure.message, failure.details) == (message, details)


def test_a_null_error_beside_a_result_is_none() -> None:
    assert reply(result="x", error=None).message.text == "x"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"cut \ud83d", "cut \N{REPLACEMENT CHARACTER}"),
        (r"\ud83dcut\ude80", "\N{REPLACEMENT CHARACTER}cut\N{REPLACEMENT CHARACTER}"),
        (r"\ud83d \ud83d\ude80 1", "\N{REPLACEMENT CHARACTER} \N{ROCKET} 1"),
    ],
)
def test_half_a_character_costs_only_itself(written: str, text: str) -> None:
    answer = read_line(f'{{"id": 7, "result": "{written}", "context": {{"{written}": 12345678901}}}}'.encode(), 7)
    assert isinstance(answer, Answer)
    assert answer.result == Reply(AgentMessage(text), {text: 12345678901})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_in_json_is_named(number: str) -> None:
    with pytest.raises(AgentInvalidResponse, match="NaN or Infinity, which is not valid JSON"):
        read_line(f'{{"id": 7, "result": {{"mean": {number}}}}}'.encode(), 7)


@pytest.mark.parametrize("document", [{"result": "x"}, {"error": {"code": 1}}, {"id": None, "error": {"code": 1}}])
def test_an_answer_may_lack_its_id_but_then_it_is_not_matched(document: Any) -> None:
    answer = read_line(json.dumps(document).encode(), 7)
    assert isinstance(answer, Answer)
    assert not answer.matched


@pytest.mark.parametrize(
    ("document", "wants"),
    [
        ({"error": {"code": -32002, "message": "Server is not ready"}}, True),
        ({"error": {"code": -32600, "message": "Not Initialized"}}, True),
        ({"error": {"code": -32602, "message": "Invalid request parameters", "data": ""}}, True),
        ({"error": {"code": -32602, "message": "Which dice?"}}, False),
        ({"error": "Initialize first."}, False),
        ({"result": {"content": [{"type": "text", "text": "not initialized"}], "isError": True}}, False),
        ({"result": "initialized"}, False),
    ],
)
def test_who_wants_a_greeting_says_so_in_an_error(document: Any, wants: bool) -> None:
    assert wants_greeting(read(**document)) is wants


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ({"remaining_today": 1950, "remaining_minute": 55}, LimitsLeft(55, 1950)),
        ({"remaining_today": -3}, LimitsLeft(None, 0)),
        ({"remaining_minute": 10**30}, LimitsLeft(2**31 - 1, None)),
        ({"remaining_minute": "many", "remaining_today": True}, None),
        ({}, None),
        ("none", None),
    ],
)
def test_what_is_left_of_its_limits(said: Any, left: LimitsLeft | None) -> None:
    assert read(result="x", meta={"rate_limit": said}).limits == left


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("progress", {"task_id": "t", "percent": 40}, Progress(40)),
        ("progress", {"percent": 1e9, "message": "Reading"}, Progress(100, "Reading")),
        ("progress", {"percent": -1, "status": "a\x00"}, Progress(0, "a\N{REPLACEMENT CHARACTER}")),
        ("progress", {"percent": "half", "text": "Reading"}, Progress(None, "Reading")),
        ("notifications/progress", {"progress": 1, "total": 4, "message": "Reading"}, Progress(25, "Reading")),
        ("notifications/progress", {"progress": 1, "total": 0}, Progress(None)),
        ("progress", [], None),
        ("notifications/message", {"level": "info"}, None),
        (5, {}, None),
        ([], {}, None),
    ],
)
def test_what_is_told_on_the_way(method: Any, params: Any, told: Progress | None) -> None:
    assert read_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode(), 7) == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(
    st.sampled_from(["id", "method", "params", "result", "error", "context", "meta", "text", "content", "code"]), JSON
)


@given(st.binary() | FIELDS.map(lambda document: json.dumps(document).encode()))
def test_any_line_is_read_or_refused(line: bytes) -> None:
    try:
        said = read_line(line, 7)
    except AgentInvalidResponse:
        return
    if isinstance(said, Answer):
        orjson.dumps(said.result.details if isinstance(said.result, AgentFailed) else said.result.message.text)


@given(st.text(st.characters(codec="utf-8")), st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 9)))
def test_a_request_is_always_one_line(prompt: str, context: dict[str, int]) -> None:
    line = request(3, call(prompt, context=context))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    arguments = json.loads(line)["params"]["arguments"]
    assert arguments == {"prompt": prompt, "context": {name: n for name, n in context.items() if name != "embeds"}}
