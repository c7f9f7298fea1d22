"""The builders of the Agent API protocol: the examples of its specification, the order of events, what is refused."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from registry.transports.agentscope.builder import ContentBuilder, MessageBuilder, ResponseBuilder
from registry.transports.agentscope.codec import sse_frame
from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    DataContent,
    Error,
    Event,
    FileContent,
    ImageContent,
    Message,
    RefusalContent,
    TextContent,
    VideoContent,
)
from tests.sites import ROOT


@pytest.fixture
def response_builder() -> ResponseBuilder:
    builder = ResponseBuilder(session_id="session_123")
    builder.created()
    builder.in_progress()
    return builder


@pytest.fixture
def message_builder(response_builder: ResponseBuilder) -> MessageBuilder:
    return response_builder.create_message_builder(role="assistant", message_type="message")


def shown(event: Event) -> dict[str, Any]:
    """The event as it is sent."""
    shown: dict[str, Any] = json.loads(sse_frame(event).removeprefix(b"data: "))
    return shown


def test_the_example_stream_of_the_specification_comes_field_by_field() -> None:
    response = ResponseBuilder()
    created = response.created()
    response.in_progress()
    # The specification's example has this for a type.
    message = response.create_message_builder(message_type="assistant")
    text = message.create_content_builder()
    events: list[Event] = [created, message.created()]
    events += [text.add_text_delta(token) for token in ("Hello", ", ", "world", "!")]
    events += [text.complete(), message.complete(), response.completed()]
    expected: list[dict[str, Any]] = [
        {"status": "created", "id": response.response.id, "object": "response"},
        {"status": "created", "id": message.message.id, "object": "message", "type": "assistant"},
        *(
            {"status": "in_progress", "type": "text", "index": 0, "delta": True, "text": token, "object": "content"}
            for token in ("Hello", ", ", "world", "!")
        ),
        {
            "status": "completed",
            "type": "text",
            "index": 0,
            "delta": False,
            "text": "Hello, world!",
            "object": "content",
        },
        {"status": "completed", "id": message.message.id, "object": "message"},
        {"status": "completed", "id": response.response.id, "object": "response"},
    ]
    for event, fields in zip(events, expected, strict=True):
        assert shown(event).items() >= fields.items()
    assert {event.msg_id for event in events if isinstance(event, Content)} == {message.message.id}


def test_the_complete_example_of_the_specification_gives_the_standard_sequence() -> None:
    def generate_streaming_response(text_tokens: list[str]) -> Iterator[Event]:
        response_builder = ResponseBuilder(session_id="session_123")
        yield from response_builder.generate_streaming_response(text_tokens=text_tokens, role="assistant")

    events = [shown(event) for event in generate_streaming_response(["Hello", " ", "World", "!"])]
    assert [(event["object"], event["status"], event.get("delta")) for event in events] == [
        ("response", "created", None),
        ("response", "in_progress", None),
        ("message", "created", None),
        *[("content", "in_progress", True)] * 4,
        ("content", "completed", False),
        ("message", "completed", None),
        ("response", "completed", None),
    ]
    assert [event["sequence_number"] for event in events] == list(range(10))
    last = events[-1]
    assert last["session_id"] == "session_123"
    assert last["completed_at"] >= last["created_at"]
    (message,) = last["output"]
    assert (message["role"], message["content"][0]["text"]) == ("assistant", "Hello World!")
    assert message == {key: value for key, value in events[-2].items() if key != "sequence_number"}


def test_a_message_of_a_text_and_an_image_is_built_as_in_the_specification() -> None:
    response_builder = ResponseBuilder(session_id="session_123")
    message_builder = response_builder.create_message_builder()
    text_builder = message_builder.create_content_builder("text", index=0)
    text_builder.set_text("This is an image:")
    text_builder.complete()
    image_builder = message_builder.create_content_builder("image", index=1)
    image_builder.set_image_url("https://example.com/image.jpg")
    image_builder.complete()
    message = message_builder.complete()
    assert message.content is not None
    assert [content.payload() for content in message.content] == [
        {"text": "This is an image:"},
        {"image_url": "https://example.com/image.jpg"},
    ]
    assert shown(response_builder.completed())["output"][0]["id"] == message.id


def test_data_is_merged_as_in_the_specification(message_builder: MessageBuilder) -> None:
    data_builder = message_builder.create_content_builder("data", index=0)
    data_builder.set_data({"type": "function_call", "name": "get_weather", "arguments": '{"city": "Beijing"}'})
    first = data_builder.add_data_delta({"status": "processing"})
    data_builder.add_data_delta({"result": "sunny"})
    assert (first.delta, first.data) == (True, {"status": "processing"})
    assert shown(data_builder.complete())["data"] == {
        "type": "function_call",
        "name": "get_weather",
        "arguments": '{"city": "Beijing"}',
        "status": "processing",
        "result": "sunny",
    }


def test_a_text_that_is_set_takes_the_place_of_its_deltas_as_in_the_specification(
    message_builder: MessageBuilder,
) -> None:
    content_builder = message_builder.create_content_builder(content_type="text", index=0)
    content_builder.add_text_delta("Hello")
    content_builder.add_delta(" World")
    content_builder.set_text("Hello World")
    assert shown(content_builder.complete())["text"] == "Hello World"


@pytest.mark.parametrize(
    ("kind", "build", "expected"),
    [
        ("text", lambda builder: builder.set_text("hi"), TextContent(text="hi")),
        ("image", lambda builder: builder.set_image_url("data:image/png;base64,AA=="), None),
        ("video", lambda builder: builder.set_video_url("https://example.com/v"), None),
        ("data", lambda builder: builder.set_data({"a": None}), DataContent(data={"a": None})),
        ("audio", lambda builder: builder.set_audio("AA==", "mp3"), AudioContent(data="AA==", format="mp3")),
        (
            "file",
            lambda builder: builder.set_file(file_url="https://example.com/f", filename="f"),
            FileContent(file_url="https://example.com/f", filename="f"),
        ),
        ("refusal", lambda builder: builder.set_refusal("No."), RefusalContent(refusal="No.")),
    ],
)
def test_every_type_of_content_can_be_built(
    message_builder: MessageBuilder, kind: str, build: Callable[[ContentBuilder], Content], expected: Content | None
) -> None:
    builder = message_builder.create_content_builder(kind)
    fallback = {
        "image": ImageContent(image_url="data:image/png;base64,AA=="),
        "video": VideoContent(video_url="https://example.com/v"),
    }
    payload = (expected or fallback[kind]).payload()
    begun, whole = build(builder), builder.complete()
    assert (begun.type, begun.status, begun.payload()) == (kind, "in_progress", payload)
    assert (whole.type, whole.status, whole.payload()) == (kind, "completed", payload)


def test_whole_contents_are_added_at_their_place(message_builder: MessageBuilder) -> None:
    late = message_builder.create_content_builder("text", index=1)
    late.add_text_delta("second")
    first = message_builder.add_content(TextContent(text="first"))
    third = message_builder.add_content(TextContent(text="third"))
    assert [event.index for event in (first, third)] == [0, 2]
    assert {event.status for event in (first, third)} == {"completed"}
    late.complete()
    message_builder.add_content(TextContent(text="3rd", index=2))
    contents = shown(message_builder.complete())["content"]
    assert [(content["index"], content["text"]) for content in contents] == [(0, "first"), (1, "second"), (2, "3rd")]


def test_an_event_stays_as_it_was_sent(message_builder: MessageBuilder) -> None:
    given = {"list": [1]}
    builder = message_builder.create_content_builder("data")
    events: list[Event] = [message_builder.created(), builder.set_data(given)]
    before = [event.model_dump() for event in events]
    given["list"].append(2)
    builder.add_data_delta({"list": [3]})
    builder.complete()
    message_builder.complete()
    assert [event.model_dump() for event in events] == before


def test_ids_are_kept_where_they_are_given_and_fresh_where_not() -> None:
    given = ResponseBuilder(response_id="response_1")
    assert given.created().id == "response_1"
    given.in_progress()
    assert given.create_message_builder(message_id="msg_1").created().id == "msg_1"
    ids = {event.id for event in (ResponseBuilder().created(), ResponseBuilder().created())}
    assert len(ids) == 2
    assert all(re.fullmatch(r"response_[0-9a-f-]{36}", each) for each in ids)


def test_a_builder_that_has_been_used_streams_a_new_response() -> None:
    builder = ResponseBuilder(session_id="s", response_id="response_1")
    first, second = (list(builder.generate_streaming_response(["hi"])) for _ in range(2))
    assert shown(first[0])["id"] == "response_1"
    assert shown(second[0])["id"] != "response_1"
    assert [event.sequence_number for event in second] == list(range(7))
    assert shown(second[-1])["session_id"] == "s"
    assert len(shown(second[-1])["output"]) == 1


@pytest.mark.parametrize("ending", ["failed", "rejected", "canceled"])
def test_a_response_that_ends_early_keeps_what_was_said(response_builder: ResponseBuilder, ending: str) -> None:
    whole = response_builder.create_message_builder()
    whole.add_content(TextContent(text="whole"))
    whole.complete()
    broken = response_builder.create_message_builder()
    broken.add_content(TextContent(text="first"))
    text = broken.create_content_builder()
    text.add_text_delta("half a sen")
    response_builder.create_message_builder()
    arguments = [Error(code="boom", message="It broke.")] if ending == "failed" else []
    last = shown(getattr(response_builder, ending)(*arguments))
    assert last["status"] == ending
    assert last.get("error") == ({"code": "boom", "message": "It broke."} if arguments else None)
    assert [
        (message["status"], [(each["status"], each["text"]) for each in message["content"]])
        for message in last["output"]
    ] == [
        ("completed", [("completed", "whole")]),
        ("incomplete", [("completed", "first"), ("incomplete", "half a sen")]),
    ]
    for late in (
        text.complete,
        broken.complete,
        response_builder.completed,
        response_builder.canceled,
        response_builder.create_message_builder,
    ):
        with pytest.raises(ValueError, match=r"ended|completed"):
            late()


def test_a_response_may_fail_before_it_began() -> None:
    assert ResponseBuilder().failed(Error(code="c", message="m")).sequence_number == 0


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        (["completed"], "completed() comes after in_progress()"),
        (["in_progress"], "in_progress() comes right after created()"),
        (["created", "created"], "created() comes first"),
        (["created", "completed"], "completed() comes after in_progress()"),
        (["created", "in_progress", "in_progress"], "in_progress() comes right after created()"),
        (["created", "in_progress", "created"], "created() comes first"),
        (["created", "in_progress", "completed", "completed"], "completed() comes after in_progress()"),
        (["created", "create_message_builder"], "in_progress() comes before the first message"),
        (["created", "in_progress", "completed", "create_message_builder"], "The response has ended"),
    ],
)
def test_a_response_goes_its_way_in_order(calls: list[str], problem: str) -> None:
    builder = ResponseBuilder()
    for call in calls[:-1]:
        getattr(builder, call)()
    before = builder.response.model_dump()
    with pytest.raises(ValueError, match=re.escape(problem)):
        getattr(builder, calls[-1])()
    assert builder.response.model_dump() == before


def message_that_ends_before_its_content(message: MessageBuilder) -> None:
    message.create_content_builder().add_text_delta("a")
    message.complete()


def message_with_a_gap(message: MessageBuilder) -> None:
    message.create_content_builder(index=1).complete()
    message.complete()


def message_announced_late(message: MessageBuilder) -> None:
    message.create_content_builder().add_text_delta("a")
    message.created()


def message_completed_twice(message: MessageBuilder) -> None:
    message.complete()
    message.complete()


def content_after_its_message(message: MessageBuilder) -> None:
    text = message.create_content_builder()
    message.complete()
    text.add_text_delta("a")


def content_added_after_its_message(message: MessageBuilder) -> None:
    message.complete()
    message.add_content(TextContent(text="a"))


def content_completed_twice(message: MessageBuilder) -> None:
    text = message.create_content_builder()
    text.complete()
    text.complete()


def delta_after_the_end(message: MessageBuilder) -> None:
    text = message.create_content_builder()
    text.complete()
    text.add_text_delta("a")


def text_in_an_image(message: MessageBuilder) -> None:
    message.create_content_builder("image").set_text("a")


def data_in_a_text(message: MessageBuilder) -> None:
    message.create_content_builder("text").add_data_delta({"a": 1})


def number_in_a_text(message: MessageBuilder) -> None:
    message.create_content_builder("text").add_text_delta(5)  # type: ignore[arg-type]


def unknown_type(message: MessageBuilder) -> None:
    message.create_content_builder("hologram")


def place_below_zero(message: MessageBuilder) -> None:
    message.create_content_builder(index=-1)


def content_added_below_zero(message: MessageBuilder) -> None:
    message.add_content(TextContent(text="a", index=-1))


def place_that_is_taken(message: MessageBuilder) -> None:
    message.create_content_builder(index=0).add_text_delta("a")
    message.create_content_builder(index=0)


def place_that_was_taken_since(message: MessageBuilder) -> None:
    slow = message.create_content_builder()
    message.add_content(TextContent(text="a"))
    slow.add_text_delta("b")


def content_in_the_place_of_one_being_built(message: MessageBuilder) -> None:
    message.create_content_builder(index=0).add_text_delta("a")
    message.add_content(TextContent(text="b", index=0))


@pytest.mark.parametrize(
    ("story", "problem"),
    [
        (message_that_ends_before_its_content, "Content 0 of the message is not complete"),
        (message_with_a_gap, "Content 0 of the message is not complete"),
        (message_announced_late, "created() comes once"),
        (message_completed_twice, "The message has ended"),
        (content_after_its_message, "The message has ended"),
        (content_added_after_its_message, "The message has ended"),
        (content_completed_twice, "Content 0 has ended"),
        (delta_after_the_end, "Content 0 has ended"),
        (text_in_an_image, "content of the type image"),
        (data_in_a_text, "content of the type text"),
        (number_in_a_text, "Input should be a valid string"),
        (unknown_type, "There is no content type 'hologram'"),
        (place_below_zero, "`index` counts from 0"),
        (content_added_below_zero, "`index` counts from 0"),
        (place_that_is_taken, "There is a content 0 already"),
        (place_that_was_taken_since, "There is a content 0 already"),
        (content_in_the_place_of_one_being_built, "Content 0 is still being built"),
    ],
)
def test_what_is_out_of_order_is_refused(
    message_builder: MessageBuilder, story: Callable[[MessageBuilder], None], problem: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        story(message_builder)


def test_a_response_does_not_end_before_its_messages(response_builder: ResponseBuilder) -> None:
    message = response_builder.create_message_builder()
    message.created()
    with pytest.raises(ValueError, match=f"The message {message.message.id} is not complete"):
        response_builder.completed()
    message.complete()
    assert response_builder.completed().status == "completed"


def test_builders_that_say_nothing_leave_nothing(response_builder: ResponseBuilder) -> None:
    message = response_builder.create_message_builder()
    message.create_content_builder("image")
    response_builder.create_message_builder()
    assert message.complete().content is None
    assert [each.id for each in response_builder.completed().output or ()] == [message.message.id]


def test_what_is_set_on_the_response_and_its_messages_is_sent(response_builder: ResponseBuilder) -> None:
    message = response_builder.create_message_builder("tool", "function_call_output")
    message.message.usage = {"input_tokens": 1}
    assert isinstance(message.complete(), Message)
    response_builder.response.usage = {"total_tokens": 3}
    last = shown(response_builder.completed())
    assert last["usage"] == {"total_tokens": 3}
    (output,) = last["output"]
    assert (output["role"], output["type"], output["usage"]) == ("tool", "function_call_output", {"input_tokens": 1})


@pytest.mark.parametrize(
    "program",
    re.findall(r"^```python builder\n(.*?)^```$", (ROOT / "docs" / "agent-api.md").read_text(), re.MULTILINE | re.S),
)
def test_the_programs_of_the_document_work_as_they_stand(program: str) -> None:
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stdout.splitlines() if line]
    assert len(lines) in (10, 15)
    assert "completed" in lines[-1]
