"""Following a session: whatever happens on the way, what a client puts together is what is stored."""

import asyncio
import random
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from tests.agents import Behaviour
from tests.reader import Frame, Reader
from tests.sessions_app.eventstream import EventSource
from tests.sessions_app.people import Json, Person
from tests.sessions_app.rows import fill
from tests.sessions_app.sockets import socket_to
from tests.sessions_app.streaming import endless, held, lines
from tests.sites import Site

DROPS, CLIENTS = 200, 10
LONGEST_STAY = 0.2
LETTERS = 'aé\u0301€\n \u2028\u200d👩🎲\U0001d518\U0010ffff\u0303"\\</script>\x7f\ufeff\u202e'

# Opens a connection that carries on from what the reader has.
Connect = Callable[[Reader], Any]


def pieces(dice: random.Random) -> Iterator[str]:
    """Text without end, cut anywhere: between a letter and its accent, inside an emoji of several code points."""
    while True:
        yield "".join(dice.choices(LETTERS, k=dice.randint(1, 12)))


class Audience:
    """Clients who come and go at random while an agent speaks, until they have been dropped 200 times."""

    def __init__(self, connect: Callable[[Reader], Connect], dice: random.Random) -> None:
        self._connect = connect
        self._dice = dice
        self.drops = 0
        self.caught_up = 0

    async def listen(self, run: str, finish: threading.Event) -> list[Reader]:
        """One who stays and ten who come and go; then all listen to the end. What each has put together."""
        staying, *restless = readers = [Reader() for _ in range(1 + CLIENTS)]
        await asyncio.gather(
            self._stay(staying, self._connect(staying), run),
            *(self._come_and_go(reader, run, finish) for reader in restless),
        )
        return readers

    async def _come_and_go(self, reader: Reader, run: str, finish: threading.Event) -> None:
        connect = self._connect(reader)
        while self.drops < DROPS:
            self.drops += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(self._dice.uniform(0, LONGEST_STAY)):
                    await self._stay(reader, connect, run)
        finish.set()
        await self._stay(reader, connect, run)

    async def _stay(self, reader: Reader, connect: Connect, run: str) -> None:
        async with asyncio.timeout(20), aclosing(connect(reader)) as frames:
            async for frame in frames:
                assert reader.apply(frame), f"something is missing before {frame}"
                self.caught_up += frame["type"] == "synced"
                if reader.responses():
                    return


@pytest.fixture
def dice() -> random.Random:
    return random.Random(20261)


@pytest.fixture
def finish() -> Iterator[threading.Event]:
    finish = threading.Event()
    yield finish
    finish.set()


@pytest.fixture
def talking(
    asker: Person, agent_of: Callable[[Person, Behaviour], str], dice: random.Random, finish: threading.Event
) -> Json:
    """A run whose agent speaks until `finish`: `{session, run}`."""
    session = asker.new_session(agent_of(asker, endless(pieces(dice), finish)))
    return asker.post(session, "speak")


def check(readers: list[Reader], asker: Person, session: str) -> None:
    """Everybody has what is stored, and whoever stayed has put the response together from its pieces alone."""
    stored = asker.settled(session)
    (text,) = [message["text"] for message in stored if message["kind"] == "response"]
    assert len(text) > 500
    assert list(readers[0].texts.values()) == [text]
    for reader in readers:
        assert reader.messages == stored
        assert reader.responses()[0].encode() == text.encode()
        assert (reader.gaps, reader.rewritten) == (0, set())


async def test_a_client_dropped_200_times_from_its_socket_has_what_is_stored(
    site: Site, asker: Person, talking: Json, dice: random.Random, finish: threading.Event
) -> None:
    def client(reader: Reader) -> Connect:
        async def frames(reader: Reader) -> AsyncGenerator[Frame, None]:
            async with socket_to(site, talking["session"], asker.key, query=f"since={reader.last}") as socket:
                try:
                    while True:
                        yield await socket.frame()
                finally:
                    socket.connection.transport.abort()  # gone without a good-bye

        return frames

    audience = Audience(client, dice)
    readers = await audience.listen(talking["run"], finish)
    assert audience.drops == DROPS
    assert audience.caught_up > DROPS / 4, "hardly anybody stayed long enough to hear anything"
    check(readers, asker, talking["session"])


async def test_a_client_dropped_200_times_from_its_events_has_what_is_stored(
    site: Site, asker: Person, talking: Json, dice: random.Random, finish: threading.Event
) -> None:
    async with httpx2.AsyncClient(base_url=site.url, headers=asker.headers, timeout=20, verify=False) as http:

        def client(reader: Reader) -> Connect:
            source = EventSource(http, talking["session"])

            def frames(reader: Reader) -> AsyncIterator[Frame]:
                assert source.last_id in ("", str(reader.last))
                return source.frames()

            return frames

        audience = Audience(client, dice)
        readers = await audience.listen(talking["run"], finish)
    assert audience.drops == DROPS
    assert audience.caught_up > DROPS / 4, "hardly anybody stayed long enough to hear anything"
    check(readers, asker, talking["session"])


@asynccontextmanager
async def following(
    site: Site, asker: Person, session: str, since: int = 0
) -> AsyncIterator[list[AsyncIterator[Frame]]]:
    """The frames of a session over its socket and over its events."""
    async with (
        socket_to(site, session, asker.key, query=f"since={since}") as socket,
        httpx2.AsyncClient(base_url=site.url, headers=asker.headers, timeout=20, verify=False) as http,
    ):
        source = EventSource(http, session)
        source.last_id = str(since) if since else ""

        async def said() -> AsyncGenerator[Frame, None]:
            while True:
                yield await socket.frame()

        async with aclosing(source.frames()) as events:  # type: ignore[type-var]
            yield [said(), events]


async def read(frames: AsyncIterator[Frame], until: Callable[[Reader], bool], reader: Reader | None = None) -> Reader:
    reader = reader or Reader()
    async with asyncio.timeout(20):
        while not until(reader):
            frame = await anext(frames)
            assert reader.apply(frame), f"something is missing before {frame}"
    return reader


async def test_a_waiting_run_is_told_to_whoever_comes_and_then_begun(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    first, second = asker.post(session, "one")["run"], asker.post(session, "two")["run"]
    async with following(site, asker, session) as ways:
        readers = [await read(frames, lambda reader: reader.texts.get(first) == "On one") for frames in ways]
        for reader in readers:
            assert reader.states == {first: "in_progress", second: "queued"}
        gate.set()
        for reader, frames in zip(readers, ways, strict=True):
            await read(frames, lambda reader: reader.is_over(second), reader)
    stored = asker.settled(session)
    for reader in readers:
        assert reader.messages == stored
        assert reader.states == {first: "completed", second: "completed"}
        assert reader.texts == {first: "On one: done", second: "On two: done"}


async def test_an_agent_that_takes_its_words_back_is_followed(
    site: Site, asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    said = [f"thought {number} {'🎲' * (number % 5)}" for number in range(30)]
    agent = agent_of(asker, lines(*said, said[-1] + ", and that is that", delay=0.01))
    session = asker.new_session(agent)
    async with following(site, asker, session) as ways:
        for frames in ways:
            await anext(frames)
        run = asker.post(session, "think")["run"]
        for frames in ways:
            reader = await read(frames, lambda reader: reader.is_over(run))
            assert run in reader.rewritten
            assert reader.texts[run] == reader.responses()[0] == said[-1] + ", and that is that"


async def test_thousands_of_messages_come_in_order_and_once(site: Site, asker: Person) -> None:
    session = asker.new_session()
    await asyncio.to_thread(fill, session, 3000)
    for since in (0, 499, 500, 2999, 3000):
        async with following(site, asker, session, since) as ways:
            for frames in ways:
                numbers = []
                while (frame := await anext(frames))["type"] != "synced":
                    numbers.append(frame["message"]["seq"])
                assert numbers == list(range(since + 1, 3001))
                assert frame["seq"] == 3000


async def test_events_begin_after_since_and_last_event_id_wins(site: Site, asker: Person) -> None:
    session = asker.new_session()
    await asyncio.to_thread(fill, session, 5)
    address = f"/api/sessions/{session}/events"
    for query, last_id, first in (("", "", 1), ("since=2", "", 3), ("since=2", "4", 5), ("since=4", "0", 1)):
        headers = {"Last-Event-ID": last_id} if last_id else {}
        with asker.http.stream("GET", f"{address}?{query}", headers=headers) as answer:
            assert next(answer.iter_lines()) == f"id: {first}"
            assert answer.headers["Cache-Control"] == "no-store"


async def test_two_who_follow_the_same_session_are_told_the_same(
    site: Site, asker: Person, talking: Json, finish: threading.Event
) -> None:
    session, run = talking["session"], talking["run"]

    async def listen(frames: AsyncIterator[Frame]) -> Reader:
        return await read(frames, lambda reader: reader.is_over(run))

    async with following(site, asker, session) as ways:
        listening: list[Awaitable[Reader]] = [asyncio.create_task(listen(frames)) for frames in ways]
        await asyncio.sleep(0.5)
        finish.set()
        one, other = await asyncio.gather(*listening)
    assert one.messages == other.messages == asker.settled(session)
    assert one.texts == other.texts
    assert one.states == other.states
