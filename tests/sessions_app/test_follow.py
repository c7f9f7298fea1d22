"""Followers and answers in the process that writes the text: what nobody can bring about from outside."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace

import pytest

from accounts.auth import Caller
from accounts.models import User
from common.db import run_db
from common.errors import Unavailable
from registry.bootstrap import ensure_internal_agent
from registry.transports.base import AgentMessage, Call, Event, Reply, TextDelta, TextSoFar
from registry.transports.internal import internal_agent
from sessions_app import actions, posting, transcript
from sessions_app.follow import Follower
from sessions_app.frames import run_frame
from sessions_app.models import Session
from sessions_app.posting import Posted
from sessions_app.runner import execute
from sessions_app.runner.live import BACKLOG, hub
from sessions_app.streams import Answer
from tests.reader import Reader

FLOOD = BACKLOG + 500
DRAFTS = 500
SLOWER_THAN_JOINING = 0.04


class Puppet:
    """An agent inside this process that says what a test puts into `events`, and ends with a `Reply`."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()

    async def __call__(self, call: Call) -> AsyncGenerator[Event, None]:
        while True:
            event = await self.events.get()
            self.events.task_done()
            yield event
            if isinstance(event, Reply):
                return

    async def says(self, *events: Event) -> None:
        """Returns when followers have been told."""
        for event in events:
            self.events.put_nowait(event)
        await self.events.join()
        await asyncio.sleep(SLOWER_THAN_JOINING)


@pytest.fixture
def puppet(echo: str) -> Puppet:
    return Puppet()


@pytest.fixture
async def caller(make_user: Callable[..., User]) -> Caller:
    return Caller(user_id=(await run_db(make_user)).pk, jti=None)


@pytest.fixture
async def posted(puppet: Puppet, caller: Caller) -> AsyncIterator[Posted]:
    """A query that the puppet answers."""
    name = f"puppet-{uuid.uuid4().hex[:8]}"
    internal_agent(name)(puppet)
    await run_db(ensure_internal_agent, owner_handle="fixie", handle=name, name=name, description="", target=name)
    posted = await posting.ask(caller, ("fixie", name), "go")
    yield posted
    jobs = [job for job in execute.jobs() if job.lease.run == posted.run]
    for job in jobs:
        job.cancel()
    await asyncio.gather(*(job.task for job in jobs), return_exceptions=True)


async def read(frames: AsyncIterator[dict[str, object]], reader: Reader, until: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not until():
            assert reader.apply(await anext(frames))


async def stored(posted: Posted) -> list[dict[str, object]]:
    return [frame["message"] for frame in await transcript.messages_after(posted.session_id, 0)]


async def flood(posted: Posted) -> None:
    """More frames than wait for a reader, and time for one who reads."""
    again = run_frame(run=posted.run, status="in_progress", query=posted.seq, agent=None)
    for number in range(FLOOD):
        hub().publish(posted.session_id, again)
        if number % 100 == 0:
            await asyncio.sleep(0.001)


async def test_a_reader_too_slow_for_its_backlog_starts_again_and_has_it_all(posted: Posted, puppet: Puppet) -> None:
    run = str(posted.run)
    slow, quick = Reader(), Reader()
    slowly, quickly = Follower(posted.session_id, 0), Follower(posted.session_id, 0)
    async with aclosing(slowly.follow()) as behind, aclosing(quickly.follow()) as ahead:  # type: ignore[type-var]
        first = [await anext(behind) for _ in range(4)]
        assert [frame["type"] for frame in first] == ["message", "run", "snapshot", "synced"]
        assert all(map(slow.apply, first))
        reading = asyncio.create_task(read(ahead, quick, lambda: quick.is_over(run)))
        await puppet.says(*(TextSoFar(f"{number}. draft 🎲") for number in range(DRAFTS)))
        await flood(posted)
        await puppet.says(TextDelta(" e"), TextDelta("\u0301"))
        assert slowly._subscription.lagged
        await read(behind, slow, lambda: slow.texts.get(run, "").endswith("e\u0301"))
        await puppet.says(TextDelta("!"), Reply(AgentMessage(f"{DRAFTS - 1}. draft 🎲 e\u0301!")))
        await read(behind, slow, lambda: slow.is_over(run))
        await reading
    assert slow.messages == quick.messages == await stored(posted)
    assert slow.responses() == [f"{DRAFTS - 1}. draft 🎲 e\u0301!"]
    assert slow.gaps == quick.gaps == 0


async def test_an_answer_joined_late_never_shrinks(posted: Posted, puppet: Puppet) -> None:
    await puppet.says(TextDelta("one "))
    late = Answer(replace(posted, running=False))
    # Told to the answer before it has asked for what there is.
    await puppet.says(TextDelta("two "))
    await puppet.says(TextDelta("three "))
    texts: list[str] = []

    async def listen() -> None:
        async for text in late.grow():
            texts.append(text)

    listening = asyncio.create_task(listen())
    await asyncio.sleep(SLOWER_THAN_JOINING)
    await puppet.says(TextDelta("four"), Reply(AgentMessage("one two three four")))
    await asyncio.wait_for(listening, 10)
    assert texts == ["one two three ", "one two three four"]


async def test_a_message_told_while_it_was_being_fetched_is_told_once(
    posted: Posted, puppet: Puppet, caller: Caller
) -> None:
    follower = Follower(posted.session_id, 0)
    await puppet.says(Reply(AgentMessage("one")))
    second = await posting.post(caller, posted.session, "@fixie/echo two")
    await execute.is_over_within(second.run, 5)
    reader, numbers = Reader(), []
    async with asyncio.timeout(10), aclosing(follower.follow()) as frames:  # type: ignore[type-var]
        while not reader.is_over(str(second.run)):
            frame = await anext(frames)
            assert reader.apply(frame)
            if frame["type"] == "message":
                numbers.append(frame["message"]["seq"])
    assert numbers == [1, 2, 3, 4]
    assert reader.messages == await stored(posted)


async def test_an_answer_joined_after_the_end_is_whole(posted: Posted, puppet: Puppet) -> None:
    await puppet.says(Reply(AgentMessage("over")))
    assert await Answer(replace(posted, running=False)).whole() == "over"


async def test_an_answer_whose_session_is_deleted_ends(posted: Posted, puppet: Puppet) -> None:
    await puppet.says(TextDelta("one "))
    answers = [Answer(posted), Answer(replace(posted, running=False))]
    waiting = [asyncio.create_task(answer.whole()) for answer in answers]
    await asyncio.sleep(0)
    session = await run_db(Session.objects.get, pk=posted.session_id)
    await run_db(actions.delete_session, session=session)
    await puppet.says(Reply(AgentMessage("too late")))
    for task in waiting:
        with pytest.raises(Unavailable):
            await asyncio.wait_for(task, 5)


async def test_who_stops_following_is_forgotten(posted: Posted, puppet: Puppet) -> None:
    followers = [Follower(posted.session_id, 0) for _ in range(3)]
    followers.pop().close()
    assert len(hub()._followers[posted.session_id]) == 2
    followers.clear()  # never read, never closed
    assert posted.session_id not in hub()._followers
