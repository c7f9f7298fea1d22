"""The objects of the Agent API protocol: names, values and defaults of its specification, and nothing is lost."""

import re
import time
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from registry.transports.agentscope import models
from registry.transports.agentscope.models import (
    AgentRequest,
    AgentResponse,
    AnyContent,
    AudioContent,
    Content,
    ContentType,
    DataContent,
    Error,
    Event,
    FileContent,
    FunctionCall,
    FunctionCallOutput,
    FunctionParameters,
    FunctionTool,
    ImageContent,
    Message,
    MessageType,
    RefusalContent,
    Role,
    RunStatus,
    TextContent,
    Tool,
    VideoContent,
)

CONTENT: TypeAdapter[Content] = TypeAdapter(AnyContent)
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
OF_CONTENT = {
    "sequence_number": None,
    "object": "content",
    "status": None,
    "error": None,
    "index": None,
    "delta": False,
    "msg_id": None,
}
EXAMPLE = {
    "input": [{"role": "user", "content": [{"type": "text", "text": "Describe this image"}], "type": "message"}],
    "stream": True,
    "model": "gpt-4-vision",
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (Role, "ASSISTANT=assistant USER=user SYSTEM=system TOOL=tool"),
        (
            MessageType,
            "MESSAGE=message FUNCTION_CALL=function_call FUNCTION_CALL_OUTPUT=function_call_output "
            "PLUGIN_CALL=plugin_call PLUGIN_CALL_OUTPUT=plugin_call_output COMPONENT_CALL=component_call "
            "COMPONENT_CALL_OUTPUT=component_call_output MCP_LIST_TOOLS=mcp_list_tools "
            "MCP_APPROVAL_REQUEST=mcp_approval_request MCP_TOOL_CALL=mcp_call MCP_TOOL_CALL_OUTPUT=mcp_call_output "
            "MCP_APPROVAL_RESPONSE=mcp_approval_response REASONING=reasoning HEARTBEAT=heartbeat ERROR=error",
        ),
        (ContentType, "TEXT=text IMAGE=image DATA=data AUDIO=audio VIDEO=video FILE=file REFUSAL=refusal"),
        (
            RunStatus,
            "Created=created InProgress=in_progress Completed=completed Canceled=canceled Failed=failed "
            "Rejected=rejected Unknown=unknown Queued=queued Incomplete=incomplete",
        ),
    ],
)
def test_the_words_are_those_of_the_specification(words: type[StrEnum], expected: str) -> None:
    assert [f"{word.name}={word.value}" for word in words] == expected.split()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Tool(), {"type": None, "function": None}),
        (FunctionCall(), {"call_id": None, "name": None, "arguments": None}),
        (TextContent(), {**OF_CONTENT, "type": "text", "text": None}),
        (ImageContent(), {**OF_CONTENT, "type": "image", "image_url": None}),
        (DataContent(), {**OF_CONTENT, "type": "data", "data": None}),
        (AudioContent(), {**OF_CONTENT, "type": "audio", "data": None, "format": None}),
        (VideoContent(), {**OF_CONTENT, "type": "video", "video_url": None}),
        (
            FileContent(),
            {
                **OF_CONTENT,
                "type": "file",
                "file_url": None,
                "file_id": None,
                "filename": None,
                "file_data": None,
            },
        ),
        (RefusalContent(), {**OF_CONTENT, "type": "refusal", "refusal": None}),
        (
            Message(id="m"),
            {
                "sequence_number": None,
                "object": "message",
                "status": "created",
                "error": None,
                "id": "m",
                "type": "message",
                "role": None,
                "content": None,
                "code": None,
                "message": None,
                "usage": None,
            },
        ),
        (
            AgentRequest(input=[]),
            {
                "input": [],
                "stream": True,
                "model": None,
                "top_p": None,
                "temperature": None,
                "frequency_penalty": None,
                "presence_penalty": None,
                "max_tokens": None,
                "stop": None,
                "n": 1,
                "seed": None,
                "tools": None,
                "session_id": None,
                "response_id": None,
                "user_id": None,
            },
        ),
        (
            AgentResponse(id="r", created_at=0),
            {
                "sequence_number": None,
                "object": "response",
                "status": "created",
                "error": None,
                "id": "r",
                "created_at": 0,
                "completed_at": None,
                "output": None,
                "usage": None,
                "session_id": None,
            },
        ),
    ],
)
def test_the_defaults_are_those_of_the_specification(made: BaseModel, expected: dict[str, Any]) -> None:
    assert made.model_dump() == expected


@pytest.mark.parametrize(
    ("model", "required"),
    [
        (FunctionParameters, {"type", "properties", "required"}),
        (FunctionTool, {"name", "description", "parameters"}),
        (FunctionCallOutput, {"call_id", "output"}),
        (Error, {"code", "message"}),
        (Event, {"object"}),
        (Content, {"type"}),
        (AgentRequest, {"input"}),
    ],
)
def test_what_the_specification_requires_is_required(model: type[BaseModel], required: set[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({})
    assert {error["loc"][0] for error in caught.value.errors()} == required


def test_ids_and_times_are_those_of_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(f"msg_{UUID}", Message().id)
    assert re.fullmatch(f"response_{UUID}", AgentResponse().id)
    assert Message().id != Message().id
    for second in (1_000_000_000.9, 1_000_000_007.2):
        monkeypatch.setattr(time, "time", lambda now=second: now)
        assert AgentResponse().created_at == int(second)
        assert AgentResponse(created_at=5).completed().completed_at == int(second)


@pytest.mark.parametrize(
    "name", ["created", "queued", "in_progress", "completed", "incomplete", "canceled", "rejected"]
)
@pytest.mark.parametrize("event", [TextContent(), Message(), AgentResponse()])
def test_an_event_changes_its_status_and_returns_itself(event: Event, name: str) -> None:
    assert getattr(event, name)() is event
    assert (event.status, type(event.status)) == (name, str)


def test_what_fails_says_why() -> None:
    error = Error(code="boom", message="It broke.")
    assert AgentResponse().failed(error).model_dump(include={"status", "error"}) == {
        "status": "failed",
        "error": {"code": "boom", "message": "It broke."},
    }
    message = Message().failed(error)
    assert (message.status, message.error, message.code, message.message) == ("failed", error, "boom", "It broke.")


def test_the_example_request_is_read_and_written() -> None:
    request = AgentRequest.model_validate(EXAMPLE)
    (message,) = request.input
    assert (message.role, message.content) == ("user", [TextContent(text="Describe this image")])
    assert request.model_dump(exclude_unset=True) == EXAMPLE


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"n": 0}, ("n",)),
        ({"n": 6}, ("n",)),
        ({"input": "hi"}, ("input",)),
        ({"input": [{"content": "hi"}]}, ("input", 0, "content")),
        ({"input": [{"content": [{"type": "text", "text": 5}]}]}, ("input", 0, "content", 0, "text", "text")),
        ({"input": [{"content": [{"text": "hi"}]}]}, ("input", 0, "content", 0, "other", "type")),
        ({"stop": 5}, ("stop", "str")),
        ({"temperature": "hot"}, ("temperature",)),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], place: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        AgentRequest.model_validate({"input": [], **fields})
    assert caught.value.errors()[0]["loc"] == place


@pytest.mark.parametrize("stop", [None, "end", ["a", "b"]])
@pytest.mark.parametrize("n", [None, 1, 5])
def test_stop_and_n_take_what_the_specification_allows(stop: str | list[str] | None, n: int | None) -> None:
    request = AgentRequest(input=[], stop=stop, n=n)
    assert (request.stop, request.n) == (stop, n)


def test_tools_are_tools_where_they_look_like_it_and_kept_as_they_are_where_not() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    weather = {"type": "function", "function": {"name": "weather", "description": "", "parameters": schema}}
    strange = {"type": "function", "function": {"name": 5}}
    request = AgentRequest.model_validate({"input": [], "tools": [weather, strange]})
    assert [type(tool) for tool in request.tools] == [Tool, dict]
    assert request.model_dump(exclude_unset=True)["tools"] == [weather, strange]
    parameters = FunctionParameters(type="object", properties={}, required=None)
    assert FunctionTool(name="n", description="", parameters=parameters).parameters is parameters


@pytest.mark.parametrize(
    ("document", "model"),
    [
        ({"type": "text", "text": "a"}, TextContent),
        ({"type": "image", "image_url": "u"}, ImageContent),
        ({"type": "data", "data": {"a": None}}, DataContent),
        ({"type": "audio", "data": "AA==", "format": "mp3"}, AudioContent),
        ({"type": "video", "video_url": "u"}, VideoContent),
        ({"type": "file", "file_id": "1"}, FileContent),
        ({"type": "refusal", "refusal": "No."}, RefusalContent),
        ({"type": "hologram", "beams": [{"x": None}]}, Content),
        ({"type": ContentType.TEXT, "text": "a"}, TextContent),
    ],
)
def test_a_content_is_chosen_by_its_type(document: dict[str, Any], model: type[Content]) -> None:
    content = CONTENT.validate_python(document)
    assert type(content) is model
    assert content.model_dump(exclude_unset=True) == document
    assert CONTENT.validate_python(content) is content


@pytest.mark.parametrize(("said", "read"), [(3, 3), ("3", 3), ("3a", "3a"), (None, None)])
def test_a_number_in_a_sequence_may_be_a_text(said: Any, read: Any) -> None:
    assert AgentResponse.model_validate({"sequence_number": said}).sequence_number == read


UNKNOWN = st.dictionaries(
    st.text(max_size=8).map(lambda name: f"x-{name}"),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
CONTENTS = st.builds(lambda kind, extra: {"type": kind, **extra}, st.sampled_from([*ContentType, "hologram"]), UNKNOWN)
MESSAGES = st.builds(
    lambda contents, error, extra: {"content": contents, "error": error, **extra},
    st.lists(CONTENTS, max_size=3),
    st.none() | st.builds(lambda extra: {"code": "c", "message": "m", **extra}, UNKNOWN),
    UNKNOWN,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(MESSAGES, max_size=3), UNKNOWN, UNKNOWN)
def test_unknown_fields_survive_a_round_trip(
    messages: list[dict[str, Any]], request_extra: dict[str, Any], response_extra: dict[str, Any]
) -> None:
    for model, document in (
        (AgentRequest, {"input": messages, "tools": [{"type": "function", **request_extra}], **request_extra}),
        (AgentResponse, {"output": messages, **response_extra}),
    ):
        sent = model.model_validate(document).model_dump_json(exclude_unset=True)
        assert model.model_validate_json(sent).model_dump(exclude_unset=True) == document


def test_every_name_is_offered() -> None:
    assert all(hasattr(models, name) for name in models.__all__)
