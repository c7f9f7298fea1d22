"""Reading what passes: events are cut without losing a byte, and tokens estimated where nobody counts them."""

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.openai_proxy.errors import ProxyError
from bridges.openai_proxy.metering import EVENT_MAX_BYTES, Events, Meter, Tokens, characters, data_of

line = st.text(alphabet='data: [x]{}"é', max_size=20).map(str.encode)
stream = st.lists(st.tuples(line, st.sampled_from([b"\n", b"\n\n", b"\r\n\r\n", b"\r\r"]))).map(
    lambda parts: b"".join(part for pair in parts for part in pair)
)


@given(stream=stream, cuts=st.lists(st.integers(0, 200)))
def test_events_hold_every_byte_however_the_stream_was_cut(stream: bytes, cuts: list[int]) -> None:
    events, found = Events(), []
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for start, end in pairwise(places):
        found += events.feed(stream[start:end])

    assert b"".join([*found, events.rest]) == stream
    assert found == Events().feed(stream) or b"\r" in stream


def test_an_event_without_end_is_given_up() -> None:
    with pytest.raises(ProxyError):
        Events().feed(b"x" * (EVENT_MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (b"data: [DONE]\n\n", b"[DONE]"),
        (b"data:[DONE]\r\n\r\n", b"[DONE]"),
        (b"id: 1\ndata: a\ndata: b\n\n", b"a\nb"),
        (b": data: no\n\n", b""),
    ],
)
def test_the_data_of_an_event(event: bytes, data: bytes) -> None:
    assert data_of(event) == data


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)


@given(documents=st.lists(json_values, max_size=3), request=json_values)
def test_no_document_upsets_the_meter(documents: list[object], request: object) -> None:
    meter = Meter(request)
    for document in documents:
        meter.take({"choices": [document], "usage": document})
        meter.take({"choices": document})
        meter.take(document)

    tokens = meter.tokens()
    assert tokens.prompt >= 0
    assert tokens.completion >= 0


def test_the_last_usage_is_the_one_that_counts() -> None:
    meter = Meter(None)
    for completion in (1, 2, 3):
        meter.take({"usage": {"prompt_tokens": 9, "completion_tokens": completion}})
    meter.take({"usage": None})

    assert meter.tokens() == Tokens(9, 3)


def test_what_models_write_is_text_and_the_arguments_of_calls() -> None:
    meter = Meter(None)
    meter.take({"choices": [{"delta": {"content": "x" * 20}}, {"text": "y" * 20}]})
    meter.take({"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": "z" * 39}}]}}]})

    assert meter.tokens() == Tokens(0, 20)


def test_pictures_are_not_measured_by_their_bytes_and_token_numbers_count_one_each() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}

    assert characters({"content": [picture]}) == len("image_url")
    assert characters({"prompt": [[1, 2, 3], [4]]}) == 16


def test_a_deep_document_is_measured_too() -> None:
    deep = orjson.loads(b"[" * 1000 + b'"x"' + b"]" * 1000)
    assert characters(deep) == 1
