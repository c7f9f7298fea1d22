"""The answer of an AgentApp: how it is put together, whatever comes late, twice or in disorder.

Every row of the mapping in docs/agent-api.md has its test here or in the files beside.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.agentscope.documents import EventStream
from registry.transports.agentscope.reading import AnswerReader
from registry.transports.base import AgentMessage, Reply, StepTaken, TextDelta, TextSoFar
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
from tests.registry.transports.agentscope.read_answers import (
    CALLS,
    MEGABYTE,
    OUTPUTS,
    events_in,
    events_of,
    live,
    reply_to,
)

# The answer


def test_the_specifications_streaming_sequence_is_read_as_it_stands() -> None:
    events = events_of(
        [
            {"status": "created", "id": "response_...", "object": "response"},
            {"status": "created", "id": "msg_...", "object": "message", "type": "assistant"},
            *(
                {"status": "in_progress", "type": "text", "index": 0, "delta": True, "text": text, "object": "content"}
                for text in ("Hello", ", ", "world")
            ),
            {
                **{"status": "completed", "type": "text", "index": 0, "delta": False, "text": "Hello, world!"},
                "object": "content",
            },
            {"status": "completed", "id": "msg_...", "object": "message"},
            {"status": "completed", "id": "response_...", "object": "response"},
        ]
    )
    deltas = [TextDelta("Hello"), TextDelta(", "), TextDelta("world"), TextDelta("!")]
    assert events == [*deltas, Reply(AgentMessage("Hello, world!"))]


def test_deltas_without_the_whole_content_are_an_answer() -> None:
    documents = run([message(status="created"), delta("He"), delta("llo")])
    assert events_of(documents) == [TextDelta("He"), TextDelta("llo"), Reply(AgentMessage("Hello"))]


def test_a_whole_content_without_deltas_is_an_answer() -> None:
    assert events_of(run(said(content(text="Hello")))) == [TextDelta("Hello"), Reply(AgentMessage("Hello"))]


def test_a_whole_content_takes_the_place_of_its_deltas() -> None:
    events = events_of(run([message(status="created"), delta("Hullo"), content(text="Hello"), message()]))
    assert events == [TextDelta("Hullo"), TextSoFar("Hello"), Reply(AgentMessage("Hello"))]


def test_whole_contents_that_grow_are_read_as_the_published_server_sends_them() -> None:
    growing = [content(text=text, status="in_progress") for text in ("He", "Hell", "Hello")]
    assert live(events_of(run([message(status="in_progress"), *growing, message()]))) == "Hello"


def test_the_contents_of_a_message_that_ends_are_its_last_word() -> None:
    ends = message(content=[content(text="Hello")])
    assert reply_to(run([message(status="created"), delta("x"), delta("y", index=1), ends])).text == "Hello"


def test_an_answer_that_only_the_response_holds_is_read() -> None:
    assert reply_to(run(output=[message(content=[content(text="Hello")])])).text == "Hello"


@pytest.mark.parametrize("id", [{}, {"id": None}, {"id": "msg_1"}], ids=["none", "null", "the same"])
def test_what_was_streamed_is_not_read_again_from_the_response(id: dict[str, Any]) -> None:
    again = {**message(content=[content(text="Hello")]), **id}
    if not id:
        del again["id"]
    assert reply_to(run(streamed("Hello"), output=[again])).text == "Hello"


def test_messages_are_joined_with_blank_lines() -> None:
    events = events_of(run(streamed("One"), streamed("Two", "!", id="msg_2")))
    assert live(events) == "One\n\nTwo!"
    assert events[-1] == Reply(AgentMessage("One\n\nTwo!"))


def test_messages_that_come_at_the_same_time_do_not_mix() -> None:
    begun = [message(status="created"), message(status="created", id="msg_2")]
    words = [delta("a"), delta("1", msg_id="msg_2"), delta("b"), delta("2", msg_id="msg_2")]
    events = events_of(run(begun, words, [message(), message(id="msg_2")]))
    assert live(events) == "ab\n\n12"
    assert events[-1] == Reply(AgentMessage("ab\n\n12"))


def test_contents_stand_in_the_order_of_their_indexes() -> None:
    late = [message(status="created"), content(text="world", index=1), content(text="Hello"), message()]
    events = events_of(run(late))
    assert (live(events), events[-1]) == ("Hello\n\nworld", Reply(AgentMessage("Hello\n\nworld")))


@pytest.mark.parametrize(("first", "second"), [("Hello", " world"), ("Hello ", "world")])
def test_a_text_that_is_cut_in_the_middle_of_a_sentence_goes_on(first: str, second: str) -> None:
    """Which the published server does where an agent thinks before it speaks."""
    events = events_of(run([message(status="created"), delta(first), delta(second, index=1), message()]))
    assert (live(events), events[-1]) == ("Hello world", Reply(AgentMessage("Hello world")))


def test_contents_that_are_ahead_of_their_message_are_a_part_of_it() -> None:
    ahead = [delta("Hmm"), message("reasoning", "in_progress"), message("reasoning")]
    assert events_of(run(ahead, streamed("4", id="msg_2")))[0] == StepTaken("thought", "Hmm")


def test_a_refusal_is_the_answer() -> None:
    assert reply_to(run(said(content("refusal", refusal="I may not say that.")))).text == "I may not say that."


def test_data_is_shown_as_json() -> None:
    text = reply_to(run(said(content(text="Here:"), content("data", data={"city": "Beijing", "n": 1})))).text
    assert text == 'Here:\n\n```json\n{\n  "city": "Beijing",\n  "n": 1\n}\n```'


def test_a_content_of_an_unknown_type_is_shown_as_json() -> None:
    assert '"formula": "E = mc²"' in reply_to(run(said(content("math", formula="E = mc²")))).text


def test_data_in_deltas_is_put_together() -> None:
    pieces = [content("data", data=data, delta=True, status="in_progress") for data in ({"a": "x"}, {"a": "y", "b": 1})]
    text = reply_to(run([message(status="created"), *pieces])).text
    assert '"a": "xy"' in text
    assert '"b": 1' in text


@pytest.mark.parametrize("kind", ["heartbeat", "message"])
def test_heartbeats_and_what_the_user_said_are_no_part_of_the_answer(kind: str) -> None:
    other = said(content(text="ping"), kind=kind, id="msg_0", role="user")
    assert events_of(run(other, said(content(text="Hello")))) == [TextDelta("Hello"), Reply(AgentMessage("Hello"))]


def test_objects_that_the_protocol_does_not_have_are_passed_over() -> None:
    others: list[Document] = [{"object": "a2ui", "x": 1}, {"text": "no object"}, {}]
    assert reply_to([*others, *run(streamed("Hello"))]).text == "Hello"


def test_what_the_database_cannot_store_is_replaced() -> None:
    events = events_of(run(streamed("a\0b")))
    assert live(events) == "a\N{REPLACEMENT CHARACTER}b"
    assert events[-1] == Reply(AgentMessage("a\N{REPLACEMENT CHARACTER}b"))


# A content that only tells its status

BARE = content(text=None)


def test_a_content_that_only_says_that_it_is_complete_keeps_its_deltas() -> None:
    begun = [message(status="created"), delta("Hello"), delta(" world"), BARE]
    assert reply_to(run(begun, [message()])).text == "Hello world"
    events = events_of(run(begun, [delta("late"), message(content=[content(text="Hello world")])]))
    assert events == [TextDelta("Hello"), TextDelta(" world"), Reply(AgentMessage("Hello world"))]


@pytest.mark.parametrize("before", [[], [delta("Hel")]])
def test_what_a_bare_content_left_unsaid_its_message_says(before: list[Document]) -> None:
    whole = message(content=[content(text="Hello world")])
    events = events_of(run([message(status="created"), *before, BARE, whole]))
    assert (live(events), events[-1]) == ("Hello world", Reply(AgentMessage("Hello world")))


def test_a_message_with_bare_contents_keeps_what_they_said() -> None:
    assert reply_to(run([message(status="created"), delta("Hello"), message(content=[BARE])])).text == "Hello"


def test_contents_without_an_index_end_one_after_the_other() -> None:
    begun = [message(status="created"), delta("One", index=None), content(text=None, index=None)]
    two = [delta("T", index=None), delta("wo", index=None), message()]
    assert reply_to(run(begun, two)).text == "One\n\nTwo"


def test_a_content_without_an_index_comes_behind_those_that_have_one() -> None:
    assert reply_to(run([content(text="One", index=5), content(text="Two", index=None)])).text == "One\n\nTwo"


# What comes late, twice or in disorder


def test_documents_that_come_twice_are_read_once() -> None:
    documents = run([message(status="created"), delta("ha"), delta("ha")])
    assert reply_to([one for one in documents for _ in range(2)]).text == "haha"


def test_the_same_word_twice_without_numbers_is_said_twice() -> None:
    assert reply_to([message(status="created"), delta("ha"), delta("ha"), response()]).text == "haha"


def test_what_comes_after_the_end_of_its_content_or_message_is_too_late() -> None:
    late = [
        content(text="Hello"),
        delta("late"),
        message(),
        delta("later"),
        content(text="other"),
        message("reasoning"),
    ]
    assert events_of(run([message(status="created"), *late])) == [TextDelta("Hello"), Reply(AgentMessage("Hello"))]


def test_nothing_is_read_after_the_reply() -> None:
    answer = AnswerReader({}, MEGABYTE)
    first, second = EventStream(MEGABYTE).feed(frames([response(), response("failed")]))
    assert list(answer.take(first)) == [Reply(AgentMessage(""))]
    assert answer.is_over
    assert list(answer.take(second)) == []


@pytest.mark.parametrize("numbers", [[0] * 20, list(range(20, 0, -1)), ["7"] * 20, [None] * 20])
def test_the_order_of_arrival_counts_and_not_the_numbers(numbers: list[Any]) -> None:
    documents = run(streamed("Hel", "lo"))
    numbered = [{**one, "sequence_number": number} for one, number in zip(documents, numbers, strict=False)]
    assert reply_to(numbered).text == "Hello"


# Anything

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(texts=st.lists(st.lists(words, min_size=1, max_size=5), max_size=4), size=st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_texts_cut_anywhere_are_put_together_again(texts: list[list[str]], size: int) -> None:
    messages = [streamed(*parts, id=f"msg_{number}") for number, parts in enumerate(texts)]
    whole = "\n\n".join(filter(None, map("".join, texts))).replace("\0", "\N{REPLACEMENT CHARACTER}")
    events = events_in(frames(run(*messages)), size)
    assert events[-1] == Reply(AgentMessage(whole))
    assert live(events) == whole


kinds = st.sampled_from(["message", "reasoning", "error", "heartbeat", *CALLS, *OUTPUTS, "mcp_list_tools", "odd"])
states = st.sampled_from(["created", "in_progress", "completed", "incomplete", "failed", "canceled", None, "odd"])
ids = st.sampled_from(["a", "b", "c"])
contents = st.builds(
    lambda kind, more, msg_id, index, is_delta, status: {
        **{"object": "content", "type": kind, "msg_id": msg_id, "index": index, "delta": is_delta, "status": status},
        **more,
    },
    st.sampled_from(["text", "image", "data", "audio", "file", "refusal", "odd"]),
    st.fixed_dictionaries(
        {},
        optional={
            "text": words,
            "image_url": words,
            "data": st.dictionaries(words, words, max_size=2) | words,
            "refusal": words,
            "file_data": words,
            "filename": words,
        },
    ),
    ids | st.none(),
    st.integers(0, 3) | st.none(),
    st.booleans(),
    states,
)
documents = st.one_of(
    contents,
    st.builds(
        lambda kind, status, id, parts: {
            **{"object": "message", "type": kind, "status": status, "id": id, "content": parts}
        },
        *(kinds, states, ids, st.lists(contents, max_size=3)),
    ),
    st.builds(lambda status: {"object": "response", "status": status}, states),
    st.dictionaries(words, st.none() | st.integers() | words, max_size=3),
)


@given(sent=st.lists(documents, max_size=12), size=st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_anything_becomes_an_answer_or_an_error_that_people_can_read(sent: list[Document], size: int) -> None:
    try:
        events = events_in(frames([*sent, response()]), size)
    except (AgentFailed, AgentInvalidResponse):
        return
    assert [event for event in events if isinstance(event, Reply)] == [events[-1]]
    assert isinstance(events[-1], Reply)
    assert "\0" not in events[-1].message.text
