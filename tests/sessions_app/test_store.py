"""The hot path's SQL under parallel use: exact quotas, gapless numbers, one run of a session at a time."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest
from psycopg.errors import UniqueViolation

from accounts.models import UsageDay, User
from common.db import run_db
from registry.models import Agent
from sessions_app import accepting, leases, store, transcript
from sessions_app.accepting import Outcome, Query
from sessions_app.models import Message, Run, Session
from sessions_app.store import Ending, LeaseLostError
from tests.sessions_app.queries import make_agent, query

PROCESS = uuid4()


async def accept(query: Query) -> Outcome:
    return await accepting.accept(query, PROCESS)


@pytest.fixture
def people(make_user: Callable[..., User]) -> tuple[User, Agent]:
    user = make_user()
    return user, make_agent(user.owner)


async def test_two_hundred_parallel_queries_against_a_limit_of_50_accept_exactly_50(
    make_user: Callable[..., User],
) -> None:
    user = await run_db(make_user, daily_query_limit=50)
    agent = await run_db(make_agent, user.owner)
    outcomes = await asyncio.gather(*(accept(query(user, agent)) for _ in range(200)))
    assert sum(outcome.seq is not None for outcome in outcomes) == 50
    assert await run_db(Session.objects.filter(owner=user).count) == 50
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 50


async def test_a_refused_query_leaves_nothing_behind(make_user: Callable[..., User]) -> None:
    user = await run_db(make_user, daily_query_limit=0)
    agent = await run_db(make_agent, user.owner)
    outcome = await accept(query(user, agent))
    assert outcome.seq is None
    assert not await run_db(Session.objects.filter(owner=user).exists)
    assert not await run_db(UsageDay.objects.filter(user=user).exists)


async def test_parallel_posts_to_one_session_are_numbered_without_gaps_and_one_runs(
    people: tuple[User, Agent],
) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    again = [query(user, agent, session=first.session, new=False, addressed=False) for _ in range(30)]
    outcomes = await asyncio.gather(*map(accept, again))
    assert sorted(outcome.seq or 0 for outcome in outcomes) == list(range(2, 32))
    assert {outcome.running for outcome in outcomes} == {first.run}
    session = await run_db(Session.objects.get, handle=first.session)
    assert session.last_seq == 31
    assert len(session.runs) == 31
    runs = await run_db(lambda: list(Run.objects.filter(session=session).values_list("status", flat=True)))
    assert sorted(runs) == ["in_progress", *["queued"] * 30]


async def test_finishing_runs_while_others_are_posted_answers_each_once_in_turn(
    people: tuple[User, Agent],
) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    ran: list[object] = []

    async def work() -> None:
        run, epoch = first.run, 1
        while True:
            ran.append(run)
            finished = await store.finish(
                run=run, epoch=epoch, process=PROCESS, ending=Ending("completed", "response", "hi")
            )
            if finished.next_run is None:
                return
            lease = (
                await leases.held(finished.next_run, PROCESS)
                if finished.next_claimed
                else await leases.claim(finished.next_run, PROCESS)
            )
            assert lease is not None
            run, epoch = lease.run, lease.epoch

    async def post() -> bool:
        more = query(user, agent, session=first.session, new=False, addressed=False)
        outcome = await accept(more)
        return outcome.running == more.run

    worker = asyncio.create_task(work())
    posts = await asyncio.gather(*(post() for _ in range(40)))
    await worker
    session = await run_db(Session.objects.get, handle=first.session)
    if any(posts):  # the queue ran empty and a later post began anew: those are left to their poster
        assert session.runs
    else:
        assert session.runs == []
        assert len(ran) == len(set(ran)) == 41
    seqs = await run_db(
        lambda: list(Message.objects.filter(session=session).order_by("seq").values_list("seq", flat=True))
    )
    assert seqs == list(range(1, len(seqs) + 1))
    assert session.last_seq == len(seqs)


async def test_reject_refuses_a_busy_session_and_charges_nothing(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    refused = await accept(query(user, agent, session=first.session, new=False, addressed=False, reject_if_busy=True))
    assert refused.seq is None
    assert refused.waiting == 1
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 1


async def test_the_same_run_id_twice_collides_and_charges_once(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    with pytest.raises(UniqueViolation):
        await accept(query(user, agent, run=first.run))
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 1


async def test_steps_are_numbered_and_a_repeated_append_finds_the_first_one(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    step = {"run": first.run, "epoch": 1, "step": 0, "kind": "thought", "text": "Thought: hm"}
    one = await store.append(**step)
    assert one.seq == 2
    assert await store.append(**step) == one


async def test_several_steps_are_stored_at_once_or_not_at_all(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    steps = [("func_call", "Ask Func[x]: 1"), ("func_output", "Func[x] says: 2"), ("thought", "Thought: 3")]
    places = await store.append_all(run=first.run, epoch=1, step=0, steps=steps)
    assert [place.seq for place in places] == [2, 3, 4]
    assert await store.append_all(run=first.run, epoch=1, step=0, steps=steps) == places
    session = await run_db(Session.objects.get, handle=first.session)
    assert [(kind, text) for kind, text in await transcript.steps_of(session.pk, 1, first.run)] == steps
    after = await store.append(run=first.run, epoch=1, step=3, kind="thought", text="Thought: 4")
    assert after.seq == 5
    with pytest.raises(LeaseLostError):
        await store.append_all(run=first.run, epoch=2, step=4, steps=steps)


async def test_a_run_that_lost_its_lease_writes_nothing(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    released = await leases.release(PROCESS)
    assert first.run in released
    with pytest.raises(LeaseLostError):
        await store.append(run=first.run, epoch=1, step=0, kind="thought", text="late")
    with pytest.raises(LeaseLostError):
        await store.finish(run=first.run, epoch=1, process=PROCESS, ending=Ending("completed", "response", "late"))
    lease = await leases.claim(first.run, uuid4())
    assert lease is not None
    assert lease.epoch == 3
    assert await leases.claim(first.run, uuid4()) is None


async def test_an_agent_that_is_not_published_is_missing_for_strangers(make_user: Callable[..., User]) -> None:
    owner, stranger = await run_db(make_user), await run_db(make_user)
    agent = await run_db(make_agent, owner.owner, published=False)
    assert (await accept(query(owner, agent))).seq == 1
    outcome = await accept(query(stranger, agent))
    assert outcome.seq is None
    assert outcome.agent is None


async def test_a_session_of_somebody_else_is_missing(
    people: tuple[User, Agent], make_user: Callable[..., User]
) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    stranger = await run_db(make_user)
    outcome = await accept(query(stranger, agent, session=first.session, new=False))
    assert outcome.seq is None
    assert not outcome.session_found
    assert not await run_db(UsageDay.objects.filter(user=stranger).exists)


async def test_a_waiting_run_can_be_taken_out_of_the_queue(people: tuple[User, Agent]) -> None:
    user, agent = people
    first = query(user, agent)
    await accept(first)
    second = query(user, agent, session=first.session, new=False, addressed=False)
    await accept(second)
    assert await leases.cancel_waiting(second.run)
    assert not await leases.cancel_waiting(second.run)
    assert not await leases.cancel_waiting(first.run)
    finished = await store.finish(run=first.run, epoch=1, process=PROCESS, ending=Ending("completed", "response", "hi"))
    assert finished.next_run is None
