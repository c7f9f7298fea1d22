"""Taking over runs inside one process: however often it is asked, a run executes once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.models import User
from common.db import run_db
from common.ids import uuid7
from registry.models import Agent, Revision
from registry.transports.base import Call, Event, Reply
from registry.transports.internal import internal_agent
from sessions_app import accepting
from sessions_app.models import Message, Run
from sessions_app.runner import execute
from sessions_app.runner.identity import PROCESS


class Held:
    """An internal agent that answers once it is let go."""

    def __init__(self) -> None:
        self.name = f"held-{uuid4().hex}"
        self.calls = 0
        self.reached = asyncio.Event()
        self.go = asyncio.Event()
        internal_agent(self.name)(self._answer)

    async def _answer(self, call: Call) -> AsyncGenerator[Event, None]:
        self.calls += 1
        self.reached.set()
        await self.go.wait()
        yield Reply(call.message)


@pytest.fixture
async def held() -> Held:
    return Held()


def make_agent(user: User, target: str) -> Agent:
    agent = Agent.objects.create(owner=user.owner, handle=f"agent-{uuid4().hex[:8]}")
    agent.current_revision = Revision.objects.create(
        agent=agent, deployment="internal", target=target, transport="internal", state="ready"
    )
    agent.save()
    return agent


@pytest.fixture
async def run(held: Held, make_user: Callable[[], User]) -> UUID:
    """A run that this process holds, but does not execute yet. Nobody else may take it for an hour."""
    user = await run_db(make_user)
    agent = await run_db(make_agent, user, held.name)
    query = accepting.Query(
        user=user.pk,
        jti=None,
        run=uuid7(),
        session=f"s-{uuid4().hex}",
        new=True,
        agent=(user.username, agent.handle),
        addressed=True,
        text="hello",
        reject_if_busy=False,
    )
    await accepting.accept(query, PROCESS)
    await change(query.run, heartbeat=timezone.now() + timedelta(hours=1))
    return query.run


async def change(run: UUID, **fields: object) -> None:
    await run_db(lambda: Run.objects.filter(pk=run).update(**fields))


async def answers_of(run: UUID) -> list[str]:
    found = Message.objects.filter(run=run).exclude(kind="query").values_list("kind", flat=True)
    return await run_db(lambda: list(found))


async def test_a_run_that_is_resumed_twice_at_once_executes_once(held: Held, run: UUID) -> None:
    jobs = await asyncio.gather(*(execute.resume(run) for _ in range(5)))
    [job] = [job for job in jobs if job is not None]
    held.go.set()
    await job.task
    assert held.calls == 1
    assert await answers_of(run) == ["response"]


async def test_a_process_that_lost_a_run_and_takes_it_again_stops_its_old_work(held: Held, run: UUID) -> None:
    old = await execute.resume(run)
    await held.reached.wait()
    await change(run, epoch=F("epoch") + 1)
    new = await execute.resume(run)
    assert old is not None
    assert new is not None
    assert old.task.cancelled()
    held.go.set()
    await new.task
    assert held.calls == 2
    assert await answers_of(run) == ["response"]
