"""`RunContext.ask_agent` as whatever answers a query uses it: live text, taking over, a lost lease, many at once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4, uuid5

import pytest
from django.test import override_settings
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.models import User
from common.db import run_db
from common.errors import AgentFailed, NotFound
from registry.models import Agent
from registry.specs import load_spec
from registry.transports.base import Call, Event, Reply, TextDelta
from registry.transports.internal import internal_agent
from sessions_app import accepting, children, leases, store
from sessions_app.children import AgentCall
from sessions_app.models import Message, Run, Session
from sessions_app.runner import execute
from sessions_app.runner.active import ActiveRun
from sessions_app.runner.context import Step
from sessions_app.runner.identity import PROCESS
from sessions_app.runner.live import hub
from sessions_app.store import Ending, LeaseLostError
from tests.sessions_app.queries import make_agent, query


class Counting:
    """An internal agent that says `one`, then, once it may, `one two`."""

    def __init__(self) -> None:
        self.name = f"counting-{uuid4().hex}"
        self.calls = 0
        self.go = asyncio.Event()
        internal_agent(self.name)(self._answer)

    async def _answer(self, call: Call) -> AsyncGenerator[Event, None]:
        self.calls += 1
        yield TextDelta("one")
        await self.go.wait()
        yield TextDelta(" two")
        yield Reply(replace(call.message, text="one two"))


@pytest.fixture
async def counting() -> Counting:
    return Counting()


class Asking:
    """A user's query to an agent of theirs, executed by the test itself."""

    def __init__(self, user: User, agent: Agent, run: ActiveRun) -> None:
        self.user = user
        self.agent = agent
        self.run = run


@pytest.fixture
async def asking(make_user: Callable[[], User]) -> AsyncGenerator[Asking]:
    user = await run_db(make_user)
    agent = await run_db(make_agent, user.owner)
    asked = query(user, agent)
    await accepting.accept(asked, PROCESS)
    # Nobody else may take it for an hour.
    beats = timezone.now() + timedelta(hours=1)
    await run_db(lambda: Run.objects.filter(pk=asked.run).update(heartbeat=beats))
    yield Asking(user, agent, await active(asked.run))
    hub().close_run(asked.run)
    await run_db(lambda: Session.objects.get(handle=asked.session).delete())


async def active(run: UUID, steps: list[Step] | None = None) -> ActiveRun:
    lease = await leases.held(run, PROCESS)
    assert lease is not None
    assert lease.revision is not None
    spec = await run_db(load_spec, lease.revision)
    live = hub().open_run(lease.session_id, run, lambda: None)
    return ActiveRun(lease, spec, live, hub(), execute.adopt, steps or [])


async def counting_agent(user: User, target: str) -> str:
    def make() -> str:
        agent = make_agent(user.owner)
        type(agent.current_revision).objects.filter(pk=agent.current_revision_id).update(target=target)
        return agent.handle

    return await run_db(make)


async def kinds(session: int) -> list[str]:
    return await run_db(
        lambda: list(Message.objects.filter(session=session).order_by("seq").values_list("kind", flat=True))
    )


async def test_the_answer_is_told_while_it_grows(asking: Asking, counting: Counting) -> None:
    handle = await counting_agent(asking.user, counting.name)
    texts: list[str] = []

    def on_text(text: str) -> None:
        texts.append(text)
        counting.go.set()

    message = await asking.run.ask_agent(handle, "count", on_text=on_text)
    assert message.text == "one two"
    assert texts[0] == "one"
    assert texts == sorted(texts, key=len)
    assert [(step.number, step.kind, step.text) for step in asking.run.steps] == [
        (1, "agent_call", f"Ask Agent[{handle}]: count"),
        (2, "agent_output", f"Agent[{handle}] says: one two"),
    ]


async def test_steps_of_its_own_go_on_after_an_agents_answer(asking: Asking) -> None:
    run = asking.run
    other = await run_db(make_agent, asking.user.owner)
    await run.append("thought", "Thought: who?")
    await run.ask_agent(other.agent_id, "hello")
    await run.append("thought", "Thought: so it is")
    assert [step.number for step in run.steps] == [1, 2, 3, 4]
    ending = Ending("completed", "response", "x")
    await store.finish(run=run.lease.run, epoch=run.lease.epoch, process=PROCESS, ending=ending)
    assert await kinds(run.lease.session_id) == [
        "query",
        "thought",
        "agent_call",
        "agent_output",
        "thought",
        "response",
    ]


async def test_a_question_that_is_the_last_step_is_waited_for_and_not_asked_again(
    asking: Asking, counting: Counting
) -> None:
    handle = await counting_agent(asking.user, counting.name)
    first = asyncio.create_task(asking.run.ask_agent(handle, "count"))
    while not asking.run.steps:  # noqa: ASYNC110 -- nothing tells of it
        await asyncio.sleep(0.01)
    first.cancel()  # as a process that dies
    again = await active(asking.run.lease.run, list(asking.run.steps))
    counting.go.set()
    assert (await again.ask_agent(handle, "count")).text == "one two"
    assert (await again.ask_agent(handle, "count")).text == "one two"
    assert counting.calls == 2
    child = uuid5(asking.run.lease.run, "1")
    assert await run_db(Run.objects.filter(parent=asking.run.lease.run, pk=child).count) == 1


async def test_an_answer_that_was_there_before_is_the_answer(asking: Asking) -> None:
    other = await run_db(make_agent, asking.user.owner)
    await asking.run.ask_agent(other.agent_id, "hello")
    again = await active(asking.run.lease.run, asking.run.steps[:1])
    assert (await again.ask_agent(other.agent_id, "hello")).text == "hello"
    assert len(await kinds(asking.run.lease.session_id)) == 3


@pytest.mark.parametrize("name", ["nobody", "no/body", "not a name", "a/b/c", ""])
async def test_who_is_not_there_is_not_found_and_leaves_no_step(asking: Asking, name: str) -> None:
    with pytest.raises(NotFound):
        await asking.run.ask_agent(name, "hello")
    assert asking.run.steps == []
    assert await kinds(asking.run.lease.session_id) == ["query"]


async def test_an_agent_that_asks_itself_fails(asking: Asking) -> None:
    with pytest.raises(AgentFailed, match="cannot ask itself"):
        await asking.run.ask_agent(asking.agent.handle, "hello")
    assert asking.run.steps == []


async def test_who_has_lost_the_lease_asks_nobody(asking: Asking) -> None:
    other = await run_db(make_agent, asking.user.owner)
    await run_db(lambda: Run.objects.filter(pk=asking.run.lease.run).update(epoch=7))
    with pytest.raises(LeaseLostError):
        await asking.run.ask_agent(other.agent_id, "hello")
    assert await kinds(asking.run.lease.session_id) == ["query"]


async def test_a_run_below_that_nobody_executes_is_recovered_and_one_whose_asker_has_ended_is_only_ended(
    asking: Asking,
) -> None:
    other = await run_db(make_agent, asking.user.owner)
    lease = asking.run.lease
    runs = [uuid4(), uuid4()]
    for run in runs:
        assert (await children.accept(call_of(asking, other, run), uuid4())).seq is not None
    await run_db(lambda: Run.objects.filter(pk__in=runs).update(heartbeat="2020-01-01T00:00Z"))
    assert set(runs) <= set(await leases.abandoned())
    recovered = await execute.resume(runs[0])
    assert recovered is not None
    assert recovered.lease.asking == leases.Asking(lease.run, (asking.agent.agent_id,), other.agent_id)
    assert recovered.lease.query == "hello"
    assert recovered.lease.started == lease.started
    await recovered.task
    await store.finish(run=lease.run, epoch=lease.epoch, process=PROCESS, ending=Ending("completed", "response", "x"))
    orphan = await execute.resume(runs[1])
    assert orphan is not None
    await orphan.task
    states = await run_db(lambda: dict(Run.objects.values_list("pk", "status").filter(pk__in=runs)))
    assert states == {runs[0]: "completed", runs[1]: "canceled"}


def call_of(asking: Asking, agent: Agent, run: UUID, **changes: Any) -> AgentCall:
    lease = asking.run.lease
    call = AgentCall(
        run=run,
        parent=lease.run,
        epoch=None,
        step=None,
        session=lease.session,
        user=lease.user,
        asker=asking.agent.agent_id,
        owners=(agent.owner.handle,),
        handle=agent.handle,
        chain=(asking.agent.agent_id,),
        text=f"Ask Agent[{agent.agent_id}]: hello",
    )
    return replace(call, **changes)


async def test_the_end_of_a_run_below_never_starts_the_sessions_next_run(asking: Asking) -> None:
    other = await run_db(make_agent, asking.user.owner)
    lease = asking.run.lease
    waiting = query(asking.user, asking.agent, session=lease.session, new=False)
    assert (await accepting.accept(waiting, PROCESS)).running == lease.run
    child = uuid4()
    await children.accept(call_of(asking, other, child), PROCESS)
    done = await store.finish(run=child, epoch=1, process=PROCESS, ending=Ending("completed", "agent_output", "y"))
    assert (done.next_run, done.next_claimed, done.has_asked) == (None, False, True)
    ended = await store.finish(
        run=lease.run, epoch=lease.epoch, process=PROCESS, ending=Ending("completed", "response", "x")
    )
    assert (ended.next_run, ended.next_claimed, ended.has_asked) == (waiting.run, True, True)
    again = await store.finish(run=child, epoch=1, process=PROCESS, ending=Ending("completed", "agent_output", "y"))
    assert (again.seq, again.next_run) == (done.seq, None)


async def test_many_that_ask_append_finish_and_are_stopped_at_once_neither_deadlock_nor_lose_a_number(
    asking: Asking,
) -> None:
    other = await run_db(make_agent, asking.user.owner, daily_query_limit=1000)
    lease = asking.run.lease

    async def live(number: int) -> None:
        first, second = uuid4(), uuid4()
        below = call_of(asking, asking.agent, second, parent=first, chain=(other.agent_id,))
        accepted = []
        for call in (call_of(asking, other, first), below):
            if (await children.accept(call, PROCESS)).seq is not None:
                accepted.append(call.run)
        for run in accepted:
            for step in range(3):
                await store.append(run=run, epoch=1, step=step, kind="thought", text="hm")
        await children.request_cancel_below(first if number % 4 else lease.run)
        for run in reversed(accepted):
            await store.finish(run=run, epoch=1, process=PROCESS, ending=Ending("completed", "agent_output", "y"))

    async def beat() -> None:
        while True:
            held = await run_db(lambda: list(Run.objects.filter(root=lease.run).values_list("pk", flat=True)))
            await leases.beat([*held, lease.run], PROCESS)

    beating = asyncio.create_task(beat())
    with override_settings(RUN_MAX_AGENT_CALLS=100), capture_logs() as logs:
        await asyncio.gather(*(live(number) for number in range(16)))
        beating.cancel()
    assert [entry for entry in logs if entry["event"] == "database_retry"] == []
    seqs = await run_db(
        lambda: list(Message.objects.filter(session=lease.session_id).order_by("seq").values_list("seq", flat=True))
    )
    session = await run_db(lambda: Session.objects.get(pk=lease.session_id))
    runs = await run_db(Run.objects.filter(root=lease.run).count)
    assert 16 <= runs <= 32
    assert seqs == list(range(1, 2 + 5 * runs))
    assert (session.last_seq, session.runs) == (seqs[-1], [lease.run])
