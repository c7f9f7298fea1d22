"""Following a session over graphql-transport-ws."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.graphql import documents
from tests.graphql.asking import Asker, Json
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

EVENTS = """subscription($handle: String!, $since: Int! = 0) {
    sessionEvents(handle: $handle, since: $since) {
        __typename
        ... on MessageType {seq type text sentBy {handle} inReplyTo {seq} timestamp}
        ... on RunEvent {run status query errorCode}
        ... on DeltaEvent {run offset text}
        ... on SnapshotEvent {run text}
        ... on SyncedEvent {seq}
    }
}"""
PROTOCOL = Subprotocol("graphql-transport-ws")
PATIENCE = 10.0


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def receive(self) -> Json:
        async with asyncio.timeout(PATIENCE):
            return dict(json.loads(await self.connection.recv()))

    async def init(self, **payload: Any) -> None:
        await self.send(type="connection_init", payload=payload)
        assert await self.receive() == {"type": "connection_ack"}

    async def subscribe(self, id: str = "1", query: str = EVENTS, **variables: Any) -> None:
        await self.send(type="subscribe", id=id, payload={"query": query, "variables": variables})

    async def event(self) -> Json:
        message = await self.receive()
        assert message["type"] == "next", message
        return dict(message["payload"]["data"]["sessionEvents"])

    async def until(self, kind: str, **fields: Any) -> list[Json]:
        events = [await self.event()]
        while not (events[-1]["__typename"] == kind and fields.items() <= events[-1].items()):
            events.append(await self.event())
        return events

    async def closed(self) -> int:
        """The code with which the server closes the socket; what it still says is passed over."""
        with suppress(ConnectionClosed):
            while True:
                await self.receive()
        assert self.connection.close_code is not None
        return self.connection.close_code


@asynccontextmanager
async def socket_to(site: Site, key: str | None = None, **headers: str) -> AsyncIterator[Socket]:
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    url = f"{site.ws_url}/graphql"
    async with connect(url, subprotocols=[PROTOCOL], additional_headers=headers) as connection:
        yield Socket(connection)


def new_session(asker: Asker) -> str:
    made = asker.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")
    return str(made["createSession"]["session"]["handle"])


def post(asker: Asker, session: str, text: str) -> None:
    answer = asker.http.post(f"/api/sessions/{session}/messages", json={"text": text})
    assert answer.status_code == 202, answer.text


@pytest.fixture
def other(asker: Callable[..., Asker]) -> Asker:
    return asker()


async def test_a_session_is_followed_from_its_beginning_and_live(site: Site, ann: Asker) -> None:
    session = new_session(ann)
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        await socket.subscribe(handle=session)
        assert await socket.event() == {"__typename": "SyncedEvent", "seq": 0}
        await asyncio.to_thread(post, ann, session, "hello there")
        events = await socket.until("RunEvent", status="completed")
        messages = [each for each in events if each["__typename"] == "MessageType"]
        assert [(each["seq"], each["type"], each["text"]) for each in messages] == [
            (1, "query", "hello there"),
            (2, "response", "hello there"),
        ]
        assert messages[0]["sentBy"] == {"handle": "user"}
        assert (messages[1]["sentBy"], messages[1]["inReplyTo"]) == ({"handle": "echo"}, {"seq": 1})
        assert messages[1]["timestamp"].endswith("+00:00")
        written = [each for each in events if each["__typename"] in ("DeltaEvent", "SnapshotEvent")]
        assert "".join(each["text"] for each in written) in ("", "hello there")


async def test_a_later_follower_gets_what_it_lacks(site: Site, ann: Asker) -> None:
    session = new_session(ann)
    async with socket_to(site) as socket:
        await socket.init(authorization=f"Bearer {ann.key}")
        await socket.subscribe(handle=session)
        await socket.event()
        await asyncio.to_thread(post, ann, session, "one")
        await socket.until("RunEvent", status="completed")
        await socket.subscribe("2", handle=session, since=1)
        events = await socket.until("SyncedEvent")
        assert [each.get("seq") for each in events] == [2, 2]


@pytest.mark.parametrize("payload", [{}, {"authorization": "Bearer nonsense"}, {"authorization": 5}, {"key": "x"}])
async def test_strangers_are_closed_with_4403(site: Site, payload: Json) -> None:
    async with socket_to(site) as socket:
        await socket.send(type="connection_init", payload=payload)
        assert await socket.closed() == 4403


async def test_who_subscribes_before_being_known_is_closed(site: Site, ann: Asker) -> None:
    async with socket_to(site) as socket:
        await socket.subscribe(handle=new_session(ann))
        assert await socket.closed() == 4401


async def test_a_revoked_key_subscribes_to_nothing_more(site: Site, ann: Asker) -> None:
    session = new_session(ann)
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        await socket.send(type="subscribe", id="1", payload={"query": "{user {username}}"})
        assert (await socket.receive())["payload"]["data"] == {"user": {"username": ann.user.username}}
        assert (await socket.receive())["type"] == "complete"
        await asyncio.to_thread(ann.user.api_keys.update, revoked=datetime.now(UTC))
        for query in (EVENTS, "query($handle: String!) {sessionByHandle(handle: $handle) {name}}"):
            await socket.send(type="subscribe", id="2", payload={"query": query, "variables": {"handle": session}})
            refused = json.dumps(await socket.receive())
            assert '"unauthenticated"' in refused
            if '"next"' in refused:
                assert (await socket.receive())["type"] == "complete"


async def test_others_sessions_are_not_there(site: Site, ann: Asker, other: Asker) -> None:
    session = new_session(other)
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        for handle in (session, "no-such-session", "\0"):
            await socket.subscribe(handle=handle)
            refused = json.dumps(await socket.receive())
            assert '"not_found"' in refused, refused
            if '"next"' in refused:
                assert (await socket.receive())["type"] == "complete"


async def test_a_subscription_ends_when_it_is_completed_and_others_go_on(site: Site, ann: Asker) -> None:
    one, two = new_session(ann), new_session(ann)
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        for id, session in (("1", one), ("2", two)):
            await socket.subscribe(id, handle=session)
            assert (await socket.event())["__typename"] == "SyncedEvent"
        await socket.send(type="complete", id="1")
        # The post is another connection's: it must not overtake the end, behind which this comes.
        await socket.send(type="ping")
        assert await socket.receive() == {"type": "pong"}
        await asyncio.to_thread(post, ann, one, "unheard")
        await asyncio.to_thread(post, ann, two, "heard")
        events = await socket.until("RunEvent", status="completed")
        assert [each["text"] for each in events if each["__typename"] == "MessageType"] == ["heard", "heard"]


async def test_limits_hold_over_sockets_too(site: Site, ann: Asker) -> None:
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        for query in ("{user " * 50 + "{username}" + "}" * 50, "{allSessions {messages {text}}}"):
            await socket.send(type="subscribe", id="1", payload={"query": query})
            message = await socket.receive()
            assert '"invalid_request"' in json.dumps(message), message
            if message["type"] == "next":
                assert (await socket.receive())["type"] == "complete"


@pytest.mark.parametrize(
    "frame",
    ["", "{", "5", "[]", "{}", '{"type": 5}', '{"type": "nothing"}', '{"type": "subscribe"}',
     '{"type": "subscribe", "id": 5, "payload": {"query": "{user {username}}"}}',
     '{"type": "subscribe", "id": "1", "payload": {"query": 5}}',
     '{"type": "subscribe", "id": "1", "payload": {"query": "{user {username}}", "variables": 5}}',
     '{"type": "complete"}', b"\x00", "{user"],
)  # fmt: skip
async def test_what_is_no_message_of_the_protocol_closes_the_socket(site: Site, ann: Asker, frame: str | bytes) -> None:
    async with socket_to(site, ann.key) as socket:
        await socket.init()
        await socket.connection.send(frame)
        assert await socket.closed() == 4400


@pytest.fixture
def cookie(make_user: Callable[..., "User"]) -> str:
    """Of a browser in which somebody has signed in."""
    from django.test import Client

    browser = Client()
    browser.force_login(make_user(), "django.contrib.auth.backends.ModelBackend")
    return f"sessionid={browser.cookies['sessionid'].value}"


async def test_a_page_of_another_site_cannot_use_the_cookie(site: Site, cookie: str) -> None:
    async with socket_to(site, Cookie=cookie, Origin=site.url) as socket:
        await socket.init()
    async with socket_to(site, Cookie=cookie) as socket:
        await socket.send(type="connection_init")
        assert await socket.closed() == 4403
    with pytest.raises(InvalidStatus) as refused:
        async with socket_to(site, Cookie=cookie, Origin="https://evil.example"):
            pass
    assert refused.value.response.status_code == 403


async def test_a_follower_who_leaves_leaves_nothing_behind(site: Site, ann: Asker) -> None:
    """In this process, whose hub can be looked into."""
    from accounts.auth import caller_with_key
    from fixie_site.graphql import Connection, schema
    from sessions_app.runner.live import hub

    session = await asyncio.to_thread(new_session, ann)
    connection = Connection({}, caller=await caller_with_key(str(ann.key)))
    before = dict(hub()._followers)
    stream = await schema.stream(EVENTS, variable_values={"handle": session}, context_value=connection)
    first = await anext(stream)
    assert first.data == {"sessionEvents": {"__typename": "SyncedEvent", "seq": 0}}
    assert len(hub()._followers) == len(before) + 1
    await stream.aclose()
    assert hub()._followers == before
