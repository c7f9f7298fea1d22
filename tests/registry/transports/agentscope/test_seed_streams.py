"""Streams as the specification shows them, and as the builders make them, are read as the answers that they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.transports.agentscope.codec import sse_frame
from registry.transports.agentscope.documents import EventStream
from registry.transports.agentscope.reading import AnswerReader
from registry.transports.base import Event, Reply, TextDelta
from tests.registry.transports.agentscope.built import TEXT, play
from tests.registry.transports.agentscope.read_answers import live

MAX_BYTES = 1 << 20
# Line by line the two streams of the specification. The first has `assistant` for the type of a message, and a `!` that
# only its whole text has.
EXAMPLE_SEQUENCE = """\
{"status":"created","id":"response_...","object":"response"}
{"status":"created","id":"msg_...","object":"message","type":"assistant"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"Hello","object":"content"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":", ","object":"content"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"world","object":"content"}
{"status":"completed","type":"text","index":0,"delta":false,"text":"Hello, world!","object":"content"}
{"status":"completed","id":"msg_...","object":"message"}
{"status":"completed","id":"response_...","object":"response"}
"""
EXAMPLE_USE_CASE = """\
{"id":"response_123","object":"response","status":"created"}
{"id":"msg_abc","object":"message","type":"assistant","status":"created"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":"This","object":"content","msg_id":"msg_abc"}
{"status":"in_progress","type":"text","index":0,"delta":true,"text":" image shows...","object":"content","msg_id":"msg_abc"}
{"status":"completed","type":"text","index":0,"delta":false,"text":"This image shows...","object":"content","msg_id":"msg_abc"}
{"id":"msg_abc","status":"completed","object":"message"}
{"id":"response_123","status":"completed","object":"response"}
"""  # noqa: E501 (as it stands there)


def read(pieces: list[bytes]) -> list[Event]:
    stream, reader = EventStream(MAX_BYTES), AnswerReader({}, MAX_BYTES)
    events = [event for piece in pieces for document in stream.feed(piece) for event in reader.take(document)]
    reader.finish()
    return events


@pytest.mark.parametrize(
    ("stream", "deltas", "text"),
    [
        (EXAMPLE_SEQUENCE, ["Hello", ", ", "world", "!"], "Hello, world!"),
        (EXAMPLE_USE_CASE, ["This", " image shows..."], "This image shows..."),
    ],
)
def test_the_streams_of_the_specification_are_read(stream: str, deltas: list[str], text: str) -> None:
    events = read([f"data: {line}\n\n".encode() for line in stream.splitlines()])
    assert [event.text for event in events if isinstance(event, TextDelta)] == deltas
    assert isinstance(events[-1], Reply)
    assert (events[-1].message.text, live(events)) == (text, text)


# None that says something begins like one that goes on with the sentence before it.
CONTENTS = st.lists(TEXT, max_size=4).map(lambda pieces: [".", *pieces] if any(pieces) else pieces)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(CONTENTS, max_size=3), max_size=3), st.data(), st.integers(1, 400))
def test_what_the_builders_made_is_read_whole(
    messages: list[list[list[str]]], draw: st.DataObject, cut_at: int
) -> None:
    stream = b"".join(sse_frame(event) for event in play(messages, draw))
    events = read([stream[start : start + cut_at] for start in range(0, len(stream), cut_at)])
    texts = ["".join(pieces).replace("\x00", "\ufffd") for contents in messages for pieces in contents]
    assert isinstance(events[-1], Reply)
    assert events[-1].message.text == live(events) == "\n\n".join(filter(None, texts))
