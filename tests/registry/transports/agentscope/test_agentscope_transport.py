"""Asking an AgentApp over HTTP: what it is sent, where, and what comes of what it answers."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from common.errors import AgentFailed, AgentInvalidResponse, AgentTimeout, FixieError
from registry.transports.agentscope.asking import process_url
from registry.transports.agentscope.transport import AgentScopeTransport
from registry.transports.base import AgentMessage, Call, Deployment, EmbedRef, Event, Exchange, Reply, TextDelta
from registry.transports.catalog import aclose_all, transport
from tests.agents import Behaviour, ScriptedAgent, answer, chunks
from tests.registry.transports.agentscope.apps import content, delta, frames, message, response, run, sends, streamed

CALL = Call(AgentMessage("hi"), "a-token", "run/1", timeout=2, session="calm-red-fox", user="17")


@pytest.fixture
async def app() -> AsyncIterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running
    await aclose_all()


async def ask(app: ScriptedAgent, behaviour: Behaviour, call: Call = CALL) -> list[Event]:
    app.on("/process", behaviour)
    return [event async for event in AgentScopeTransport().send(Deployment(app.url), call)]


async def failure(app: ScriptedAgent, behaviour: Behaviour, call: Call = CALL) -> FixieError:
    with pytest.raises(FixieError) as error:
        await ask(app, behaviour, call)
    assert (await ask(app, sends(run(streamed("fine")))))[-1] == Reply(AgentMessage("fine"))
    return error.value


# What is sent


async def test_the_query_goes_with_what_was_said_before_and_for_whom(app: ScriptedAgent) -> None:
    call = replace(
        CALL, message=AgentMessage("And 3?"), history=[Exchange("What is 1?", "One."), Exchange("2?", "Two.")]
    )
    await ask(app, sends(run(streamed("Three."))), call)
    (request,) = app.requests
    sent = request.json
    said = [(one["role"], one["type"], [part["text"] for part in one["content"]]) for one in sent["input"]]
    assert said == [
        ("user", "message", ["What is 1?"]),
        ("assistant", "message", ["One."]),
        ("user", "message", ["2?"]),
        ("assistant", "message", ["Two."]),
        ("user", "message", ["And 3?"]),
    ]
    assert (sent["stream"], sent["session_id"], sent["user_id"]) == (True, "calm-red-fox", "17")
    assert set(sent) == {"input", "stream", "session_id", "user_id"}


async def test_a_call_carries_its_token_and_its_key(app: ScriptedAgent) -> None:
    await ask(app, sends(run()))
    headers = app.requests[0].headers
    assert headers["authorization"] == "Bearer a-token"
    assert headers["idempotency-key"] == "run/1"
    assert headers["content-type"] == "application/json"
    assert headers["accept"].startswith("text/event-stream")


async def test_embeds_are_contents_behind_the_text(app: ScriptedAgent) -> None:
    kinds = ["image/png", "audio/ogg; codecs=opus", "video/mp4", "application/pdf", "nonsense"]
    embeds = {str(number): EmbedRef(kind, f"https://files.example/{number}") for number, kind in enumerate(kinds, 1)}
    await ask(app, sends(run()), replace(CALL, message=AgentMessage("See #1", embeds)))
    text, *others = app.requests[0].json["input"][0]["content"]
    assert (text["type"], text["text"]) == ("text", "See #1")
    told = [{key: value for key, value in one.items() if key not in ("object", "delta")} for one in others]
    assert told == [
        {"type": "image", "key": "1", "image_url": "https://files.example/1"},
        {"type": "audio", "key": "2", "data": "https://files.example/2", "format": "ogg"},
        {"type": "video", "key": "3", "video_url": "https://files.example/3"},
        {"type": "file", "key": "4", "file_url": "https://files.example/4", "filename": "4.pdf"},
        {"type": "file", "key": "5", "file_url": "https://files.example/5", "filename": "5"},
    ]


async def test_nothing_is_said_of_a_session_where_there_is_none(app: ScriptedAgent) -> None:
    await ask(app, sends(run()), replace(CALL, session="", user=""))
    assert set(app.requests[0].json) == {"input", "stream"}


@pytest.mark.parametrize(
    ("target", "options", "url"),
    [
        ("http://a.example", {}, "http://a.example/process"),
        ("http://a.example/", {}, "http://a.example/process"),
        ("http://a.example/apps/", {}, "http://a.example/apps/process"),
        ("http://a.example/process", {}, "http://a.example/process"),
        ("http://a.example/agents/ann/dice/process", {}, "http://a.example/agents/ann/dice/process"),
        ("http://a.example/chat", {}, "http://a.example/chat"),
        ("http://a.example?tenant=1", {}, "http://a.example/process?tenant=1"),
        ("http://a.example/app", {"process": "/chat"}, "http://a.example/app/chat"),
        ("http://a.example/", {"process": "/api/chat"}, "http://a.example/api/chat"),
    ],
)
def test_queries_go_to_the_apps_process(target: str, options: dict[str, Any], url: str) -> None:
    assert process_url(Deployment(target, options)) == url


async def test_it_wants_the_history_and_has_no_funcs(app: ScriptedAgent) -> None:
    assert transport("agentscope").wants_history
    with pytest.raises(AgentFailed) as error:
        await ask(app, sends(run()), replace(CALL, func="roll"))
    assert error.value.details["reason"] == "unknown_func"
    assert app.requests == []


# What comes back


@pytest.mark.parametrize("cut", [1, 3, 50, 0])
async def test_frames_may_be_cut_anywhere(app: ScriptedAgent, cut: int) -> None:
    events = await ask(app, sends(run(streamed("Grüße, ", "世界 👩\u200d🚀")), cut=cut))
    assert events[-1] == Reply(AgentMessage("Grüße, 世界 👩\u200d🚀"))


async def test_a_server_that_does_not_stream_is_read(app: ScriptedAgent) -> None:
    whole = response(output=[message(content=[content(text="Hello")])])
    assert (await ask(app, answer(whole)))[-1] == Reply(AgentMessage("Hello"))
    bare = {"id": "response_1", "output": [{"content": [{"type": "text", "text": "Hello"}]}]}
    assert (await ask(app, answer(bare)))[-1] == Reply(AgentMessage("Hello"))


async def test_a_whole_response_that_is_not_over_is_invalid(app: ScriptedAgent) -> None:
    assert isinstance(await failure(app, answer(response("in_progress"))), AgentInvalidResponse)


async def test_text_is_told_while_it_comes_and_the_answer_ends_with_the_response(app: ScriptedAgent) -> None:
    app.on("/process", sends([message(status="created"), delta("He"), delta("y"), response()], end=False))
    async with aclosing(AgentScopeTransport().send(Deployment(app.url), CALL)) as events:
        assert [event async for event in events] == [TextDelta("He"), TextDelta("y"), Reply(AgentMessage("Hey"))]


async def test_others_have_their_turn_while_much_is_read_at_once(app: ScriptedAgent) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    many = frames([message(status="created"), *[delta("x")] * 20_000, response()])
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    app.on("/process", answer(body=gzip.compress(many), headers=headers))
    async with asyncio.TaskGroup() as group:
        watching = group.create_task(others())
        seen = [turns async for _ in AgentScopeTransport().send(Deployment(app.url), replace(CALL, timeout=30))]
        watching.cancel()
    assert len(seen) == 20_001
    assert len(set(seen)) > 5


async def test_an_error_that_nobody_can_read_is_told_by_its_status(app: ScriptedAgent) -> None:
    deep = b"[" * 1000 + b"]" * 1000
    for body in (b'{"error": {"details": {"x": %b}}}' % deep, b'{"detail": [{"msg": %b}]}' % deep):
        error = await failure(app, answer(body=body, status=422))
        assert error.message == "The agent answered with HTTP status 422."


async def test_closing_the_iterator_closes_the_call_at_the_agent(app: ScriptedAgent) -> None:
    app.on("/process", sends([message(status="created"), delta("Once")], end=False))
    async with aclosing(AgentScopeTransport().send(Deployment(app.url), CALL)) as events:
        assert await anext(events) == TextDelta("Once")
    assert await app.saw_client_leave()


async def test_an_answer_that_fails_in_the_middle_closes_the_call_at_once(app: ScriptedAgent) -> None:
    app.on("/process", sends([response("failed", error={"code": "E", "message": "No."})], end=False))
    with pytest.raises(AgentFailed):
        async for _ in AgentScopeTransport().send(Deployment(app.url), CALL):
            pass
    assert await app.saw_client_leave()


async def test_heartbeats_do_not_make_an_answer_last_longer_than_its_time(app: ScriptedAgent) -> None:
    beats = [b": ping\n\n", frames([message("heartbeat", id="msg_0")])] * 50
    started = asyncio.get_running_loop().time()
    error = await failure(app, chunks(*beats, delay=0.02, content_type="text/event-stream"), replace(CALL, timeout=0.2))
    assert isinstance(error, AgentTimeout)
    assert asyncio.get_running_loop().time() - started < 1


async def test_a_stream_that_stops_broke_off(app: ScriptedAgent) -> None:
    error = await failure(app, sends(run(streamed("Hel", "lo"))[:-1]))
    assert isinstance(error, AgentInvalidResponse)
    assert "broke off" in error.message


@pytest.mark.parametrize("kind", ["text/html", "text/plain; charset=utf-8", ""])
async def test_another_content_type_is_invalid(app: ScriptedAgent, kind: str) -> None:
    error = await failure(app, answer(body=frames(run(streamed("Hello"))), content_type=kind))
    assert isinstance(error, AgentInvalidResponse)


async def test_an_event_without_end_is_refused(app: ScriptedAgent) -> None:
    endless = [b"data: " + b"x" * 1_000_000] * 9
    error = await failure(app, chunks(*endless, content_type="text/event-stream"), replace(CALL, timeout=10))
    assert isinstance(error, AgentInvalidResponse)
    assert error.details == {"max_bytes": 8 * 1024 * 1024}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"detail": "No such model."}, "No such model."),
        ({"detail": [{"loc": ["body", "input"], "msg": "Field required"}]}, "body.input: Field required."),
        ({"error": "Runner is not ready"}, "Runner is not ready"),
        ({"code": "X", "message": "Not today."}, "Not today."),
        (response("failed", error={"code": "E", "message": "No dice."}), "No dice."),
        ({"detail": {"odd": 1}}, "The agent answered with HTTP status 422."),
        (["odd"], "The agent answered with HTTP status 422."),
    ],
)
async def test_an_error_status_is_told_in_the_servers_words(app: ScriptedAgent, document: Any, words: str) -> None:
    error = await failure(app, answer(document, status=422))
    assert isinstance(error, AgentFailed)
    assert (error.message, error.details["status"]) == (words, 422)
