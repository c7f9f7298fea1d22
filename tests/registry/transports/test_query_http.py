"""Queries over HTTP: both shapes of the answer, and streams cut anywhere."""

import contextlib
import json
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.base import AgentMessage, Call, Deployment, Event, Reply, TextSoFar
from registry.transports.catalog import aclose_all, transport
from registry.transports.wire import QueryAnswers, failure_of
from tests.agents import ScriptedAgent, answer, chunks, raw

CALL = Call(AgentMessage("hi"), "token", "run/1", timeout=0.5)
MAX_LINE = 1000


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running
    await aclose_all()


async def events(agent: ScriptedAgent, path: str = "") -> list[Event]:
    sent = transport("query_http").send(Deployment(agent.url + path), CALL)
    return [event async for event in sent]


def line(text: str, **more: object) -> bytes:
    return json.dumps({"message": {"text": text}, **more}).encode() + b"\n"


def texts_of(pieces: list[bytes]) -> list[str]:
    answers = QueryAnswers(MAX_LINE)
    messages = [message for piece in pieces for message in answers.feed(piece)]
    return [message.text for message in [*messages, *answers.finish()]]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


async def test_the_bare_answer_of_a_seed_agent_is_a_reply(agent: ScriptedAgent) -> None:
    agent.on("/", answer(lambda request: {"text": f"{request.json['text']} {request.json['embeds']}"}))
    assert (await events(agent))[-1] == Reply(AgentMessage("hi {}"))


async def test_an_answer_laid_out_over_several_lines_is_one_reply(agent: ScriptedAgent) -> None:
    laid_out = json.dumps({"text": "Hello,\nworld!", "embeds": {}}, indent=2).encode() + b"\n"
    agent.on("/", chunks(laid_out[:5], laid_out[5:]))
    assert (await events(agent))[-1] == Reply(AgentMessage("Hello,\nworld!"))


async def test_each_line_of_a_stream_is_the_text_so_far(agent: ScriptedAgent) -> None:
    agent.on("/", chunks(line("On"), line("Once"), line("Once.", error=None), delay=0.01))
    assert await events(agent) == [
        TextSoFar("On"),
        TextSoFar("Once"),
        TextSoFar("Once."),
        Reply(AgentMessage("Once.")),
    ]


async def test_lines_are_passed_on_as_they_arrive(agent: ScriptedAgent) -> None:
    agent.on("/", chunks(line("On"), line("Once"), end=False))
    sent = transport("query_http").send(Deployment(agent.url), CALL)
    assert [await anext(sent), await anext(sent)] == [TextSoFar("On"), TextSoFar("Once")]
    await sent.aclose()
    assert await agent.saw_client_leave()


async def test_an_error_in_the_middle_of_a_stream_is_the_agents_failure(agent: ScriptedAgent) -> None:
    error = {"code": "ERR", "message": "It broke.", "details": {}}
    agent.on("/", chunks(line("On") + line("I'm sorry.", error=error)))
    sent = transport("query_http").send(Deployment(agent.url), CALL)
    assert await anext(sent) == TextSoFar("On")
    with pytest.raises(AgentFailed, match=r"I'm sorry\.") as failure:
        await anext(sent)
    assert failure.value.details["error"]["code"] == "ERR"


async def test_a_stream_that_stops_in_the_middle_of_a_line_is_invalid(agent: ScriptedAgent) -> None:
    agent.on("/", raw(b"HTTP/1.1 200 OK\r\n\r\n" + line("On") + line("Once")[:-5]))
    with pytest.raises(AgentInvalidResponse, match="middle of a line"):
        await events(agent)


async def test_a_query_goes_to_the_address_as_registered(agent: ScriptedAgent) -> None:
    for path in ("/agent", "/agent/", "/agent?key=1"):
        agent.on(path.partition("?")[0], answer({"text": "ok"}))
        await events(agent, path)
    assert [request.path for request in agent.requests] == ["/agent", "/agent/", "/agent?key=1"]


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
newlines = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n \r\n"])


@settings(deadline=None)
@given(st.lists(words, min_size=1, max_size=6), newlines, st.booleans(), st.booleans(), st.lists(st.integers(0, 9999)))
def test_lines_are_put_together_however_they_are_cut(
    texts: list[str], newline: bytes, ends: bool, escaped: bool, places: list[int]
) -> None:
    lines = [json.dumps({"message": {"text": text}}, ensure_ascii=escaped).encode() for text in texts]
    data = newline.join(lines) + (newline if ends else b"")
    assert texts_of(cut(data, places)) == texts


@settings(deadline=None)
@given(words, st.lists(st.integers(0, 9999)))
def test_a_document_over_several_lines_is_read_however_it_is_cut(text: str, places: list[int]) -> None:
    data = json.dumps({"message": {"text": text}}, indent=1).encode()
    assert texts_of(cut(data, places)) == [text]


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(0, 9999)))
def test_bytes_of_any_kind_are_an_answer_or_a_known_error(data: bytes, places: list[int]) -> None:
    with contextlib.suppress(AgentInvalidResponse, AgentFailed):
        texts_of(cut(data, places))


@pytest.mark.parametrize("pieces", [[b"x" * 600] * 2, [b"{" + b" " * 2000 + b"\n"], [b"{\n", b" " * 1001]])
def test_a_line_that_is_too_long_is_refused_before_its_end(pieces: list[bytes]) -> None:
    with pytest.raises(AgentInvalidResponse, match="larger"):
        texts_of([*pieces, b"never ends"])


@pytest.mark.parametrize("data", [line("On") + b"nonsense\n", line("On") + b"{\n}", line("On") + b'"text"\n'])
def test_a_later_line_that_is_no_answer_is_invalid(data: bytes) -> None:
    with pytest.raises(AgentInvalidResponse):
        texts_of([data])


def test_details_of_an_error_that_are_nested_too_deeply_are_left_out():
    depth = 500
    body = b'{"error": {"code": "E", "message": "It broke.", "details": {"x": %b}}}' % (b"[" * depth + b"]" * depth)
    failure = failure_of(500, body)
    assert failure.message == "It broke."
    assert failure.details["error"] == {"code": "E", "message": "It broke."}
