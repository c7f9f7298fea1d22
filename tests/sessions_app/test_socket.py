"""The WebSocket of a session: what is said over it, and what it makes of nonsense."""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.agents import Behaviour, answer
from tests.reader import Reader
from tests.sessions_app.people import Person
from tests.sessions_app.sockets import Frame, Socket, socket_to, texts, works
from tests.sessions_app.streaming import held
from tests.sites import Site

# As in sessions_app/consumers.py.
FRAME_MAX = 64 * 1024 * 6 + 4096


async def test_a_message_comes_back_numbered_and_is_answered(socket: Socket, asker: Person, session: str) -> None:
    await socket.send(type="message", text="hello")
    frames = await socket.ended()
    assert [frame["type"] for frame in frames if frame["type"] not in ("delta", "snapshot")] == [
        "message",
        "run",
        "message",
        "run",
    ]
    messages = [frame["message"] for frame in frames if frame["type"] == "message"]
    assert messages == asker.messages(session)
    states = [frame for frame in frames if frame["type"] == "run"]
    run = messages[0]["run"]
    assert [state["status"] for state in states] == ["in_progress", "completed"]
    created, started, finished = (states[-1].pop(name) for name in ("created", "started", "finished"))
    assert max(created, started) <= finished
    assert states[-1] == {
        "type": "run",
        "run": run,
        "status": "completed",
        "query": 1,
        "agent": "fixie/echo",
        "parent": None,
        "error": None,
        "tokens": None,
    }


async def test_an_agents_failure_is_told_with_its_code(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    agent = agent_of(asker, answer({"message": {"text": "No dice."}}, status=500))
    async with socket_to(site, asker.new_session(agent), asker.key) as socket:
        await socket.send(type="message", text="roll")
        frames = await socket.ended()
        assert texts(frames, "error") == ["No dice."]
        assert frames[-1]["status"] == "failed"
        assert frames[-1]["error"] == {"code": "agent_error", "retryable": False}


async def test_what_a_session_holds_comes_first(site: Site, asker: Person, session: str) -> None:
    asker.post(session, "one")
    asker.post(session, "two")
    stored = asker.settled(session)
    async with socket_to(site, session, asker.key) as socket:
        *frames, synced = await socket.synced()
        assert [frame["message"] for frame in frames] == stored
        assert synced == {"type": "synced", "seq": 4}
    async with socket_to(site, session, asker.key, query="since=3") as socket:
        *frames, synced = await socket.synced()
        assert [frame["message"]["seq"] for frame in frames] == [4]


@pytest.mark.parametrize("since", ["4", "5", "999999999", "2147483647", "9" * 50])
async def test_since_beyond_the_end_is_the_end(site: Site, asker: Person, session: str, since: str) -> None:
    asker.post(session, "one")
    asker.settled(session)
    async with socket_to(site, session, asker.key, query=f"since={since}") as socket:
        *_, synced = await socket.synced()
        assert synced["seq"] == 2
        assert await works(socket)


@pytest.mark.parametrize("query", ["since=", "since=x", "since=-1", "since=1.5", "other=1", "since=0&since=9"])
async def test_an_odd_since_means_the_beginning(site: Site, asker: Person, session: str, query: str) -> None:
    asker.post(session, "one")
    asker.settled(session)
    async with socket_to(site, session, asker.key, query=query) as socket:
        assert len(await socket.synced()) == 3


async def test_sync_tells_again_what_came_after_a_number(socket: Socket) -> None:
    await works(socket)
    for since, expected in ((0, [1, 2]), (1, [2]), (2, []), (10**15, [])):
        await socket.send(type="sync", since=since)
        *frames, synced = await socket.synced()
        assert [frame["message"]["seq"] for frame in frames if frame["type"] == "message"] == expected
        assert synced["seq"] == 2
    assert await works(socket)


async def test_a_socket_that_syncs_in_the_middle_of_a_stream_loses_nothing(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    async with socket_to(site, session, asker.key) as socket:
        await socket.send(type="message", text="one")
        await socket.until(lambda frame: frame["type"] == "delta")
        await socket.send(type="sync", since=1)
        frames = await socket.synced()
        assert [frame["text"] for frame in frames if frame["type"] == "snapshot"] == ["On one"]
        for _ in range(20):  # each takes the place of the one before
            await socket.send(type="sync", since=0)
        gate.set()
        reader = Reader()
        while not reader.responses():
            # One that follows from before the syncs may go first; this reader, which knows nothing, can do without it.
            reader.apply(await socket.frame())
        assert [message["text"] for message in reader.messages] == ["one", "On one: done"]


async def test_a_message_carries_its_client_id_back_to_the_socket_that_sent_it(
    site: Site, asker: Person, session: str, socket: Socket
) -> None:
    async with socket_to(site, session, asker.key) as other:
        await other.synced()
        await socket.send(type="message", text="hi", client_id="mine \0 🎲")
        (mine, *_), (theirs, *_) = await socket.ended(), await other.ended()
        assert mine["message"]["client_id"] == "mine \0 🎲"
        assert theirs["message"] == {name: value for name, value in mine["message"].items() if name != "client_id"}


async def test_a_message_sent_again_is_posted_once_and_told_again(
    site: Site, asker: Person, session: str, socket: Socket
) -> None:
    await socket.send(type="message", text="hi", client_id="1")
    first = (await socket.ended())[0]
    await socket.send(type="message", text="hi", client_id="1")
    assert await socket.frame() == first
    # The connection broke, and the client does not know whether its message arrived.
    async with socket_to(site, session, asker.key, query="since=2") as again:
        await again.send(type="message", text="hi", client_id="1")
        frames = await again.until(lambda frame: frame["type"] == "message")
        assert frames[-1] == first
    assert len(asker.settled(session)) == 2


async def test_a_message_sent_again_before_the_socket_has_caught_up_carries_its_client_id(
    site: Site, asker: Person, session: str, socket: Socket
) -> None:
    await socket.send(type="message", text="hi", client_id="1")
    await socket.ended()
    async with socket_to(site, session, asker.key) as again:
        await again.send(type="message", text="hi", client_id="1")
        frames = await again.until(lambda frame: frame["type"] == "message" and "client_id" in frame["message"])
        assert frames[-1]["message"]["client_id"] == "1"


async def test_cancel_stops_a_run_and_everybody_sees_it(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    async with socket_to(site, session, asker.key) as socket, socket_to(site, session, asker.key) as other:
        await socket.send(type="message", text="one")
        run = (await socket.until(lambda frame: frame["type"] == "delta"))[-1]["run"]
        await socket.send(type="message", text="two")
        queued = (await socket.until(lambda frame: frame["type"] == "message"))[-1]["message"]["run"]
        await other.send(type="cancel", run=queued)
        assert (await socket.ended())[-1]["run"] == queued
        await other.send(type="cancel", run=run)
        frames = await socket.ended()
        assert texts(frames, "response") == ["On one"]
        assert (frames[-1]["status"], frames[-1]["error"]["code"]) == ("canceled", "canceled")
        assert (await other.ended(run))[-1] == frames[-1]
    assert asker.session(session)["runs"] == []


async def test_if_busy_works_as_over_rest(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    async with socket_to(site, session, asker.key) as socket:
        await socket.send(type="message", text="one")
        run = (await socket.until(lambda frame: frame["type"] == "delta"))[-1]["run"]
        await socket.send(type="message", text="two", if_busy="reject", client_id="2")
        error = await socket.error()
        assert (error["code"], error["retryable"], error["client_id"]) == ("session_busy", True, "2")
        gate.set()
        await socket.send(type="message", text="three", if_busy="interrupt")
        await socket.ended(run)
        assert texts(await socket.ended(), "response") == ["On three: done"]


async def test_five_messages_at_once_over_five_sockets_are_answered_in_order_and_all_see_the_same(
    site: Site, asker: Person, session: str
) -> None:
    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(socket_to(site, session, asker.key)) for _ in range(5)]
        await asyncio.gather(*(socket.send(type="message", text=f"from {n}") for n, socket in enumerate(sockets)))
        readers = await asyncio.gather(*(_read_answers(socket, 5) for socket in sockets))
    stored = asker.settled(session)
    assert [message["seq"] for message in stored] == list(range(1, 11))
    queries = [message for message in stored if message["kind"] == "query"]
    answers = [message for message in stored if message["kind"] == "response"]
    assert sorted(query["text"] for query in queries) == [f"from {n}" for n in range(5)]
    assert [answer["text"] for answer in answers] == [query["text"] for query in queries]
    assert [answer["in_reply_to"] for answer in answers] == [query["seq"] for query in queries]
    assert all(reader.messages == stored for reader in readers)
    assert all(set(reader.states.values()) == {"completed"} for reader in readers)


async def _read_answers(socket: Socket, count: int) -> Reader:
    reader = Reader()
    while len(reader.responses()) < count or len(reader.states) < count or not all(map(reader.is_over, reader.states)):
        frame = await socket.frame()
        assert frame["type"] != "error", frame
        assert reader.apply(frame)
    return reader


NONSENSE: list[tuple[str | bytes, str, str]] = [
    ("hello", "invalid_request", "frame"),
    ("", "invalid_request", "frame"),
    ("{", "invalid_request", "frame"),
    ("[]", "invalid_request", "frame"),
    ("null", "invalid_request", "frame"),
    ('"message"', "invalid_request", "frame"),
    ("[" * 10_000, "invalid_request", "frame"),
    (r'{"type": "message", "text": "\ud800"}', "invalid_request", "frame"),
    (b'{"type": "message", "text": "hi"}', "invalid_request", "frame"),
    (b"", "invalid_request", "frame"),
    (b"\xff\x00" * 1000, "invalid_request", "frame"),
    (" " * (FRAME_MAX + 1), "payload_too_large", "frame"),
    (json.dumps({"type": "message", "text": "x" * 2_000_000}), "payload_too_large", "frame"),
]
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "invalid_request", "type"),
    ({"type": None}, "invalid_request", "type"),
    ({"type": "MESSAGE"}, "invalid_request", "type"),
    ({"type": ["message"]}, "invalid_request", "type"),
    ({"type": "delta", "run": "x", "offset": 0, "text": "forged"}, "invalid_request", "type"),
    ({"type": "message"}, "invalid_request", "text"),
    ({"type": "message", "text": None}, "invalid_request", "text"),
    ({"type": "message", "text": 5}, "invalid_request", "text"),
    ({"type": "message", "text": ""}, "invalid_request", "text"),
    ({"type": "message", "text": "nul\0"}, "invalid_request", "text"),
    ({"type": "message", "text": "x" * 65_537}, "payload_too_large", "text"),
    ({"type": "message", "text": "hi", "client_id": ""}, "invalid_request", "client_id"),
    ({"type": "message", "text": "hi", "client_id": 5}, "invalid_request", "client_id"),
    ({"type": "message", "text": "hi", "client_id": None}, "invalid_request", "client_id"),
    ({"type": "message", "text": "hi", "client_id": {"a": [1]}}, "invalid_request", "client_id"),
    ({"type": "message", "text": "hi", "client_id": "x" * 201}, "invalid_request", "client_id"),
    ({"type": "message", "text": "hi", "if_busy": "wait"}, "invalid_request", "if_busy"),
    ({"type": "message", "text": "hi", "if_busy": None}, "invalid_request", "if_busy"),
    ({"type": "message", "text": "@fixie/nobody hi"}, "not_found", "agent"),
    ({"type": "cancel"}, "invalid_request", "run"),
    ({"type": "cancel", "run": 5}, "invalid_request", "run"),
    ({"type": "cancel", "run": "x"}, "not_found", "run"),
    ({"type": "cancel", "run": "nul\0"}, "not_found", "run"),
    ({"type": "cancel", "run": "01890000-0000-7000-8000-000000000000"}, "not_found", "run"),
    ({"type": "sync"}, "invalid_request", "since"),
    ({"type": "sync", "since": "0"}, "invalid_request", "since"),
    ({"type": "sync", "since": -1}, "invalid_request", "since"),
    ({"type": "sync", "since": True}, "invalid_request", "since"),
    ({"type": "sync", "since": 1.5}, "invalid_request", "since"),
    ({"type": "sync", "since": None}, "invalid_request", "since"),
]
NONSENSE += [(json.dumps(frame), code, field) for frame, code, field in WRONG]


@pytest.mark.parametrize(("data", "code", "field"), NONSENSE, ids=lambda value: str(value[:60]))
async def test_a_frame_that_is_not_understood_gets_an_error_and_the_socket_stays_open(
    socket: Socket, data: str | bytes, code: str, field: str
) -> None:
    await socket.raw(data)
    error = await socket.frame()
    assert (error["type"], error["code"], error["details"]["field"]) == ("error", code, field)
    assert error["message"]
    assert error["retryable"] is False
    assert await works(socket)


async def test_the_largest_text_fits_however_it_is_escaped(socket: Socket) -> None:
    await socket.raw('{"type": "message", "text": "%s"}' % (r"\u0001" * 65_536))
    assert texts(await socket.ended(), "response") == ["\x01" * 65_536]


@pytest.mark.parametrize("frame", [{"unknown": 1}, {"since": "x"}, {"client": "x" * 1000}])
async def test_fields_nobody_knows_are_passed_over(socket: Socket, frame: Frame) -> None:
    await socket.send(type="message", text="hi", **frame)
    assert texts(await socket.ended(), "response") == ["hi"]
