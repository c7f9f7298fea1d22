"""A message of the Agent API protocol is put together from contents and deltas."""

import re
from typing import Any

import pytest

from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    DataContent,
    FileContent,
    ImageContent,
    Message,
    RefusalContent,
    TextContent,
    VideoContent,
)


def payloads(message: Message) -> list[dict[str, Any]]:
    return [content.payload() for content in message.content or ()]


def test_the_first_delta_begins_a_content_and_gets_a_place() -> None:
    message = Message(id="m")
    first = TextContent(text="Hel", delta=True)
    assert message.add_delta_content(first) is first
    assert (first.index, first.msg_id, first.status, first.delta) == (0, "m", "in_progress", True)
    second = message.add_delta_content(ImageContent(image_url="u", delta=True))
    assert second.index == 1
    third = message.add_delta_content(TextContent(text="lo", delta=True, index=0))
    assert (third.text, third.msg_id, third.status) == ("lo", "m", "in_progress")
    assert payloads(message) == [{"text": "Hello"}, {"image_url": "u"}]
    assert [content.delta for content in message.content or ()] == [False, False]


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([TextContent(text="a"), TextContent(), TextContent(text="b")], {"text": "ab"}),
        ([TextContent(), TextContent(text="b")], {"text": "b"}),
        ([RefusalContent(refusal="N"), RefusalContent(refusal="o")], {"refusal": "No"}),
        ([ImageContent(image_url="data:,"), ImageContent(image_url="a")], {"image_url": "data:,a"}),
        ([VideoContent(video_url="data:,"), VideoContent(video_url="a")], {"video_url": "data:,a"}),
        (
            [AudioContent(data="AA", format="wav"), AudioContent(data="BB", format="mp3")],
            {"data": "AABB", "format": "mp3"},
        ),
        (
            [FileContent(file_data="AA", filename="a.txt"), FileContent(file_data="BB", file_id="1")],
            {"file_data": "AABB", "filename": "a.txt", "file_id": "1"},
        ),
        (
            [
                DataContent(data={"s": "a", "l": [1], "n": 1, "b": True, "d": {"s": "a"}, "x": None}),
                DataContent(data={"s": "b", "l": [2], "n": 0.5, "b": False, "d": {"s": "b", "t": 1}, "x": 1, "y": 2}),
            ],
            {
                "data": {
                    "s": "ab",
                    "l": [1, 2],
                    "n": 1.5,
                    "b": False,
                    "d": {"s": "ab", "t": 1},
                    "x": 1,
                    "y": 2,
                }
            },
        ),
        (
            [
                Content.model_validate({"type": "hologram", "beams": [1], "note": "a"}),
                Content.model_validate({"type": "hologram", "beams": [2], "note": "b", "size": 3}),
            ],
            {"beams": [1, 2], "note": "ab", "size": 3},
        ),
    ],
)
def test_deltas_of_every_type_become_one_content(pieces: list[Content], whole: dict[str, Any]) -> None:
    message = Message()
    first, *others = pieces
    message.add_delta_content(first)
    for piece in others:
        piece.index, piece.delta = 0, True
        message.add_delta_content(piece)
    assert payloads(message) == [whole]
    completed = message.content_completed(0)
    assert (completed.payload(), completed.status, completed.delta, completed.index) == (whole, "completed", False, 0)


def test_a_completed_content_is_marked_and_its_event_is_a_copy() -> None:
    message = Message(id="m")
    message.add_delta_content(TextContent(text="a", delta=True))
    event = message.content_completed(0)
    assert (event.msg_id, event.status) == ("m", "completed")
    assert [content.status for content in message.content or ()] == ["completed"]
    message.add_delta_content(TextContent(text="b", delta=True, index=0))
    assert event.payload() == {"text": "a"}


def test_whole_contents_are_added_last_or_at_their_place() -> None:
    message = Message(id="m")
    for text in ("a", "b"):
        message.add_content(TextContent(text=text))
    event = message.add_content(TextContent(text="B", index=1, delta=True))
    assert (event.index, event.msg_id, event.status, event.delta) == (1, "m", "completed", False)
    assert payloads(message) == [{"text": "a"}, {"text": "B"}]


@pytest.mark.parametrize(
    ("add", "problem"),
    [
        (lambda message: message.add_delta_content(TextContent(text="b", index=0)), "This is a whole content"),
        (lambda message: message.add_delta_content(TextContent(text="b", index=1, delta=True)), "no content 1"),
        (lambda message: message.add_delta_content(DataContent(data={}, index=0, delta=True)), "of the type text"),
        (lambda message: message.content_completed(-1), "no content -1"),
        (lambda message: message.content_completed(1), "no content 1; it has 1"),
        (lambda message: message.add_content(TextContent(text="b", index=2)), "Content 2 cannot be added"),
        (lambda message: message.add_content(TextContent(text="b", index=-1)), "Content -1 cannot be added"),
    ],
)
def test_what_has_no_place_is_refused_and_changes_nothing(add: Any, problem: str) -> None:
    message = Message(content=[TextContent(text="a")])
    before = message.model_dump()
    with pytest.raises(ValueError, match=re.escape(problem)):
        add(message)
    assert message.model_dump() == before
    with pytest.raises(ValueError, match="no content 0; it has 0"):
        Message().content_completed(0)
