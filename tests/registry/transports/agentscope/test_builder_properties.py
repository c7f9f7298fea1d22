"""Whatever is built, in whatever order its contents come, is told as the protocol has it, and can be read back."""

import json
from itertools import groupby
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.transports.agentscope.builder import ResponseBuilder
from registry.transports.agentscope.codec import SseReader, sse_frame
from registry.transports.agentscope.contents import merged
from registry.transports.agentscope.models import AgentResponse, Content, DataContent, Message, TextContent
from tests.registry.transports.agentscope.built import DATA, MESSAGES, TEXT, play, whole


def said(content: Content) -> Any:
    assert isinstance(content, TextContent | DataContent)
    return content.text if isinstance(content, TextContent) else content.data


@settings(max_examples=50, deadline=None)
@given(MESSAGES, st.data())
def test_any_response_is_told_in_the_protocols_order(messages: list[list[list[Any]]], draw: st.DataObject) -> None:
    events = list(play(messages, draw))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    first, second, *between, last = events
    assert [(event.object, event.status) for event in (first, second, last)] == [
        ("response", "created"),
        ("response", "in_progress"),
        ("response", "completed"),
    ]
    groups = groupby(between, lambda event: event.id if isinstance(event, Message) else event.msg_id)  # type: ignore[attr-defined]
    told = [list(group) for _, group in groups]
    assert len(told) == len(messages)
    for (created, *contents, completed), pieces in zip(told, messages, strict=True):
        assert [(each.object, each.status) for each in (created, completed)] == [
            ("message", "created"),
            ("message", "completed"),
        ]
        check_contents(contents, pieces)


def check_contents(events: list[Any], contents: list[list[Any]]) -> None:
    assert {event.index for event in events} == set(range(len(contents)))
    for index, pieces in enumerate(contents):
        *deltas, completed = [event for event in events if event.index == index]
        assert [said(delta) for delta in deltas] == pieces
        assert {(delta.delta, delta.status) for delta in deltas} <= {(True, "in_progress")}
        assert (completed.delta, completed.status, said(completed)) == (False, "completed", whole(pieces))


@settings(max_examples=50, deadline=None)
@given(MESSAGES, st.data())
def test_what_is_read_from_the_stream_is_what_was_built(messages: list[list[list[Any]]], draw: st.DataObject) -> None:
    stream = b"".join(sse_frame(event) for event in play(messages, draw))
    documents = [json.loads(data) for data in SseReader(1 << 20).feed(stream)]
    last = AgentResponse.model_validate(documents[-1])
    contents = [[said(content) for content in message.content or ()] for message in last.output or ()]
    assert contents == [[whole(pieces) for pieces in message] for message in messages]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(TEXT, min_size=1, max_size=5) | st.lists(DATA, min_size=1, max_size=4), max_size=4), st.data())
def test_a_reader_puts_together_what_the_builder_took_apart(contents: list[list[Any]], draw: st.DataObject) -> None:
    events = list(play([contents], draw))
    read, places = Message(), {}
    for event in events:
        if isinstance(event, Content) and event.delta:
            sent = event.model_copy(update={"index": places.get(event.index)}, deep=True)
            places[event.index] = read.add_delta_content(sent).index
        elif isinstance(event, Content):
            assert said(read.content_completed(places[event.index])) == said(event)
    assert len(read.content or ()) == len(contents)


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, max_size=20))
def test_any_tokens_become_one_text(tokens: list[str]) -> None:
    events = list(ResponseBuilder().generate_streaming_response(tokens))
    assert len(events) == len(tokens) + 6
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert isinstance(events[-3], TextContent)
    assert events[-3].text == "".join(tokens)


@settings(max_examples=50, deadline=None)
@given(DATA, DATA, DATA)
def test_merging_changes_neither_side(old: dict[str, Any], new: dict[str, Any], more: dict[str, Any]) -> None:
    before = json.dumps([old, new, more])
    total = merged(merged(old, new), more)
    assert json.dumps([old, new, more]) == before
    assert set(total) == {*old, *new, *more}
    assert merged(total, dict.fromkeys(total)) == total
