"""AgentApps that fail, stop, or send what nobody can read."""

from time import process_time
from typing import Any

import pytest
from pydantic import ValidationError

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.agentscope.documents import EventStream
from registry.transports.agentscope.models import Message
from registry.transports.agentscope.reading import STOPPED_EARLY
from registry.transports.base import AgentMessage, Reply, StepTaken
from tests.registry.transports.agentscope.apps import (
    Document,
    content,
    delta,
    frames,
    message,
    response,
    run,
    said,
    streamed,
)
from tests.registry.transports.agentscope.read_answers import MEGABYTE, error_of, events_in, events_of

ERROR = {"code": "OUT_OF_DICE", "message": "I have no dice."}
FAILURES = [
    response("failed", error=ERROR),
    response("rejected", error=ERROR),
    response("in_progress", error=ERROR),
    message(status="failed", error=ERROR),
    message(status="in_progress", error=ERROR),
    message(status="failed", code=ERROR["code"], message=ERROR["message"]),
    message("error", code=ERROR["code"], message=ERROR["message"]),
    message("error", "created", **ERROR),
    content(text="", status="failed", error=ERROR),
    content(text="", error=ERROR),
    response(output=[message(error=ERROR)]),
    response(output=[message(content=[content(text="", error=ERROR)])]),
    {"error": ERROR},
]


@pytest.mark.parametrize("document", FAILURES)
def test_an_error_on_any_level_is_the_agents_failure_in_its_own_words(document: Document) -> None:
    error = error_of([response("created"), document])
    assert isinstance(error, AgentFailed)
    assert (error.message, error.details) == ("I have no dice.", {"error": ERROR})


@pytest.mark.parametrize("status", ["failed", "rejected", "canceled", "unknown"])
@pytest.mark.parametrize("one", [response, message, content])
def test_a_status_without_words_is_told_in_ours(one: Any, status: str) -> None:
    error = error_of([message(status="created"), delta("so far"), one(status=status)])
    assert isinstance(error, AgentFailed)
    assert error.message.startswith("The agent ")
    assert error.details["error"]["code"] == status


@pytest.mark.parametrize("said_so", ["No runner", {"message": "No runner"}, {"message": "No runner", "code": 7}])
def test_errors_that_are_no_objects_of_the_protocol_are_read(said_so: Any) -> None:
    assert error_of([{"error": said_so}]).message == "No runner"


def test_an_error_message_with_a_text_only_says_that() -> None:
    assert error_of(run(said(content(text="I am broken."), kind="error"))).message == "I am broken."


def test_the_words_of_an_error_are_bounded_and_can_be_stored() -> None:
    error = error_of([response("failed", error={"code": "x" * 9000, "message": "\0" + "y" * 9000})])
    assert (len(error.message), error.message[0]) == (4000, "\N{REPLACEMENT CHARACTER}")
    assert len(error.details["error"]["code"]) == 4000


@pytest.mark.parametrize("where", [response, message, content])
def test_what_an_agent_said_before_it_stopped_early_is_its_answer(where: Any) -> None:
    begun = [message(status="created"), delta("Once upon a time")]
    stops = where(status="incomplete", **({"text": "Once upon a time"} if where is content else {}))
    last = [] if where is response else [response()]
    events = events_of([*begun, stops, *last])
    assert events[-2:] == [StepTaken("thought", STOPPED_EARLY), Reply(AgentMessage("Once upon a time"))]


def test_why_it_stopped_early_is_told() -> None:
    stops = response("incomplete", error={"code": "max_tokens", "message": "Too long."})
    assert StepTaken("thought", f"{STOPPED_EARLY} Too long.") in events_of([*streamed("Once"), stops])


def test_an_agent_that_stopped_early_without_a_word_has_failed() -> None:
    error = error_of([response("incomplete")])
    assert isinstance(error, AgentFailed)
    assert (error.message, error.details["error"]["code"]) == (STOPPED_EARLY, "incomplete")


@pytest.mark.parametrize("count", range(6))
def test_a_stream_that_stops_before_the_responses_end_broke_off(count: int) -> None:
    error = error_of(run(streamed("Hello"))[:count])
    assert isinstance(error, AgentInvalidResponse)
    assert "broke off" in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"data: garbage\n\n",
        b"data: [1]\n\n",
        b'data: "text"\n\n',
        b"data: null\n\n",
        b'data: {"object": "message"\n\n',
        b"data: \xff\xfe\n\n",
        b'data: {"object": "message", "id": 5}\n\n',
        b'data: {"object": "message", "content": "text"}\n\n',
        b'data: {"object": "content", "type": "text", "text": ["a"]}\n\n',
        b'data: {"object": "content", "type": "text", "index": "first"}\n\n',
        b'data: {"object": "content"}\n\n',
        b'data: {"object": "response", "output": {}}\n\n',
        b'data: {"object": "response", "usage": 5}\n\n',
        b"data: [DONE]\n\n",
        b"not server-sent events at all",
    ],
)
def test_garbage_is_an_invalid_answer(data: bytes) -> None:
    with pytest.raises(AgentInvalidResponse) as error:
        events_in(data, 5)
    assert not error.value.retryable


def test_an_event_and_an_answer_that_are_too_large_are_refused() -> None:
    assert error_of(run(said(content(text="x" * MEGABYTE)))).details == {"max_bytes": MEGABYTE}
    pieces = [delta("x" * 1000, sequence_number=number) for number in range(1050)]
    assert error_of([message(status="created"), *pieces]).details == {"max_bytes": MEGABYTE}


@pytest.mark.parametrize(
    "data",
    [
        b'{"object": "message", "content": [' + b",".join([b"1"] * 3_000_000) + b"]}",
        b'{"object": "message", "content": [' + b",".join([b'{"type": "text"}'] * 400_000) + b"]}",
        b'{"object": "response", "output": [' + b",".join([b"1"] * 3_000_000) + b"]}",
        b'{"object": "response", "output": ['
        + b",".join([b'{"content": [' + b",".join([b'{"type": "text"}'] * 900) + b"]}"] * 400)
        + b"]}",
    ],
    ids=["numbers", "contents", "messages", "contents in messages"],
)
def test_a_large_event_is_refused_before_anything_is_made_of_it(data: bytes) -> None:
    began = process_time()
    with pytest.raises(AgentInvalidResponse, match="more than"):
        list(EventStream(8 * MEGABYTE).feed(b"data: " + data + b"\n\n"))
    assert process_time() - began < 1.5


def test_only_the_first_wrong_content_is_looked_at() -> None:
    wrong = message(content=[{"type": "text", "text": 1}] * 1000)
    with pytest.raises(ValidationError) as error:
        Message.model_validate(wrong)
    assert error.value.error_count() == 1
    assert error_of([response("in_progress", output=[wrong] * 5)]).details == {"field": "output.0.content.0.text.text"}


# Stands for what Python's own `json` could not write.
DEEP = "DEEP"


@pytest.mark.parametrize(
    "documents",
    [
        said(content("data", data={"x": DEEP})),
        said(content("odd", formula=DEEP)),
        said(content("data", data={"name": "roll", "arguments": DEEP}), kind="function_call"),
        said(content("data", data={"x": DEEP}), kind="mcp_list_tools"),
        [message("function_call", "created"), *[content("data", data={"n": 2**62}, delta=True, status=None)] * 9],
        [message("function_call", "created"), *[content("data", data={"x": DEEP}, delta=True, status=None)] * 2],
        [response("in_progress", error={"message": DEEP})],
        [{"object": DEEP}, message(content=[content("data", data={"x": DEEP})])],
    ],
    ids=["data", "odd", "arguments", "all data", "sums", "deltas", "error", "object"],
)
def test_data_that_cannot_be_shown_is_an_invalid_answer(documents: list[Document]) -> None:
    data = frames([response("created"), *documents, response()])
    data = data.replace(b'"DEEP"', b'{"a":' * 1000 + b"1" + b"}" * 1000)
    with pytest.raises(AgentInvalidResponse, match="nested too deeply"):
        events_in(data, 5000)


def test_fields_of_any_name_are_put_together() -> None:
    names = ["__class__", "__dict__", "grows", "payload", "extend", "is_bare", "model_fields"]
    pieces = [content("odd", delta=True, status=None, **dict.fromkeys(names, text)) for text in ("a", "b")]
    events = events_of(run([message(status="created"), *pieces, message()]))
    assert isinstance(events[-1], Reply)
    assert [f'"{name}": "ab"' in events[-1].message.text for name in names] == [True] * len(names)


def test_too_many_messages_and_contents_are_refused() -> None:
    assert isinstance(error_of(message(id=f"m{number}") for number in range(5001)), AgentInvalidResponse)
    assert isinstance(error_of(delta("", index=number) for number in range(1001)), AgentInvalidResponse)
    many = (delta("", msg_id=f"m{number % 6}", index=number // 6) for number in range(5100))
    assert isinstance(
        error_of([*(message(status="created", id=f"m{n}") for n in range(6)), *many]), AgentInvalidResponse
    )
