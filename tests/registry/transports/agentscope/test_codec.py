"""Events as server-sent events: what is written, and streams cut anywhere."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.errors import AgentInvalidResponse
from registry.transports.agentscope.codec import SseReader, sse_frame
from registry.transports.agentscope.models import DataContent, TextContent

MAX_BYTES = 200
LINE_ENDS = ["\n", "\r", "\r\n"]


def read(pieces: list[bytes], max_bytes: int = 1 << 20) -> list[bytes]:
    reader = SseReader(max_bytes)
    return [data for piece in pieces for data in reader.feed(piece)] + list(reader.finish())


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def test_a_frame_is_one_line_of_json_without_fields_that_are_none() -> None:
    event = TextContent(text="Hello", delta=True, index=0).in_progress()
    assert sse_frame(event) == (
        b'data: {"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"text":"Hello"}\n\n'
    )
    assert sse_frame(event, event_id="7-a").startswith(b"id: 7-a\ndata: {")


def test_what_is_none_inside_data_is_kept() -> None:
    assert b'"data":{"a":null,"b":[null]}' in sse_frame(DataContent(data={"a": None, "b": [None]}))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8")))
@example("\n\r\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029 data: x")
def test_no_text_breaks_a_frame_for_any_way_to_cut_lines(text: str) -> None:
    frame = sse_frame(TextContent(text=text))
    assert len(frame.decode().splitlines()) == 2
    (data,) = read([frame])
    assert json.loads(data)["text"] == text


# The data of an event has no line ends of its own but those between its lines, and is not empty.
DATA = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=20).filter(
    lambda text: text.strip("\n") != "" and text.strip() != "[DONE]"
)


def frame_of(data: str, end: str, *, noise: bool, space: bool) -> str:
    lines = [f"data:{' ' if space or line.startswith(' ') else ''}{line}" for line in data.split("\n")]
    if noise:
        lines = [": ping", "id: 7", "event: message", *lines, "retry: 1", "data-x: 5", "nonsense"]
    return "".join(line + end for line in [*lines, ""])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(DATA, st.sampled_from(LINE_ENDS)), max_size=5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=8),
)
def test_a_stream_cut_anywhere_is_read_as_if_it_were_whole(
    frames: list[tuple[str, str]], noise: bool, space: bool, bom: bool, is_done: bool, places: list[int]
) -> None:
    stream = "".join(frame_of(text, end, noise=noise, space=space) for text, end in frames)
    stream = ("\ufeff" if bom else "") + stream + ("data: [DONE]\n\n" + "data: later\n\n" if is_done else "")
    encoded = stream.encode()
    expected = [text.encode() for text, _ in frames]
    assert read(cut(encoded, places)) == expected
    assert read([bytes([byte]) for byte in encoded]) == expected


def test_a_last_event_without_its_blank_line_is_read() -> None:
    assert read([b"data: a\n\ndata: b"]) == [b"a", b"b"]
    assert read([b"data: a\r"]) == [b"a"]
    assert read([b""]) == []


def test_events_without_data_are_passed_over() -> None:
    assert read([b":\n\n\n\nevent: ping\n\ndata\n\ndata:\n\ndata: a\n\n"]) == [b"a"]


def test_nothing_is_read_after_done() -> None:
    reader = SseReader(MAX_BYTES)
    assert list(reader.feed(b"data: a\n\ndata: [DO")) == [b"a"]
    assert not reader.is_done
    assert list(reader.feed(b"NE]\n\ndata: b\n\n")) == []
    assert reader.is_done
    assert list(reader.feed(b"data: c\n\n" + b"x" * MAX_BYTES)) == list(reader.finish()) == []


@pytest.mark.parametrize(
    "stream",
    [b"data: " + b"x" * MAX_BYTES, b"data: " + b"x" * MAX_BYTES + b"\n\n", b"data: x\n" * 150 + b"\n", b"data\n" * 250],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_event_that_is_too_large_is_refused(stream: bytes, size: int) -> None:
    pieces = [b"data: ok\n\n", *(stream[start : start + size] for start in range(0, len(stream), size))]
    reader = SseReader(MAX_BYTES)
    events = (data for piece in pieces for data in reader.feed(piece))
    assert next(events) == b"ok"
    with pytest.raises(AgentInvalidResponse, match=f"larger than {MAX_BYTES} bytes") as caught:
        next(events)
    assert caught.value.details == {"max_bytes": MAX_BYTES}


def test_many_events_may_be_more_than_one_may_be() -> None:
    assert len(read([b"data: x\n\n: ping\n\n" * 1000], MAX_BYTES)) == 1000
