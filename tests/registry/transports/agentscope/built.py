"""Responses made with the builders: of any messages, whose contents come in any order."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from registry.transports.agentscope.builder import ContentBuilder, MessageBuilder, ResponseBuilder
from registry.transports.agentscope.contents import merged
from registry.transports.agentscope.models import Event

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
DATA = st.dictionaries(TEXT, JSON, max_size=3)
PIECES = st.lists(TEXT, max_size=5) | st.lists(DATA, min_size=1, max_size=4)
MESSAGES = st.lists(st.lists(PIECES, max_size=4), max_size=4)


def play(messages: list[list[list[Any]]], draw: st.DataObject) -> Iterator[Event]:
    """A response of these messages, the pieces of whose contents come in any order."""
    response = ResponseBuilder(session_id="s")
    yield response.created()
    yield response.in_progress()
    for contents in messages:
        message = response.create_message_builder()
        yield message.created()
        yield from _alternating(message, contents, draw)
        yield message.complete()
    yield response.completed()


def _alternating(message: MessageBuilder, contents: list[list[Any]], draw: st.DataObject) -> Iterator[Event]:
    waiting = {}
    for index, pieces in enumerate(contents):
        kind = "data" if pieces and isinstance(pieces[0], dict) else "text"
        waiting[index] = (message.create_content_builder(kind, index=index), list(pieces))
    while waiting:
        index = draw.draw(st.sampled_from(sorted(waiting)))
        builder, pieces = waiting[index]
        yield _next_of(builder, pieces)
        if builder.is_begun and not builder.is_open():
            del waiting[index]


def _next_of(builder: ContentBuilder, pieces: list[Any]) -> Event:
    if not pieces:
        return builder.complete()
    piece = pieces.pop(0)
    return builder.add_data_delta(piece) if isinstance(piece, dict) else builder.add_text_delta(piece)


def whole(pieces: list[Any]) -> Any:
    if not pieces or isinstance(pieces[0], str):
        return "".join(pieces)
    total: dict[str, Any] = {}
    for piece in pieces:
        total = merged(total, piece)
    return total
