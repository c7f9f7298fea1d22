"""Reads what an AgentApp sends, through bytes cut anywhere, as the transport does."""

from collections.abc import Iterable, Mapping

import pytest

from common.errors import FixieError
from registry.transports.agentscope.documents import EventStream
from registry.transports.agentscope.reading import AnswerReader
from registry.transports.base import AgentMessage, EmbedRef, Event, Reply, StepTaken, TextDelta, TextSoFar
from tests.registry.transports.agentscope.apps import Document, frames

MEGABYTE = 1024 * 1024
URL = "https://files.example/chart.png"
CALLS = ["function_call", "plugin_call", "component_call", "mcp_call"]
OUTPUTS = ["function_call_output", "plugin_call_output", "component_call_output", "mcp_call_output"]


def events_of(documents: Iterable[Document], embeds: Mapping[str, EmbedRef] | None = None) -> list[Event]:
    return events_in(frames(documents), 7, embeds)


def events_in(data: bytes, size: int, embeds: Mapping[str, EmbedRef] | None = None) -> list[Event]:
    """Everything that this stream brings, in pieces of `size` bytes; it must come to its end."""
    stream, answer = EventStream(MEGABYTE), AnswerReader(embeds or {}, MEGABYTE)
    found: list[Event] = []
    for start in range(0, len(data), size):
        for document in stream.feed(data[start : start + size]):
            found += answer.take(document)
        found += answer.catch_up()
    for document in stream.finish():
        found += answer.take(document)
    answer.finish()
    return found


def reply_to(documents: Iterable[Document], embeds: Mapping[str, EmbedRef] | None = None) -> AgentMessage:
    *_, last = events_of(documents, embeds)
    assert isinstance(last, Reply)
    return last.message


def steps_of(documents: Iterable[Document]) -> list[StepTaken]:
    return [event for event in events_of(documents) if isinstance(event, StepTaken)]


def error_of(documents: Iterable[Document]) -> FixieError:
    with pytest.raises(FixieError) as error:
        events_of(documents)
    return error.value


def live(events: Iterable[Event]) -> str:
    """The text that somebody who follows the answer has read in the end."""
    text = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, TextSoFar):
            text = event.text
    return text
