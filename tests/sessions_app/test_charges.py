"""What a query costs, under parallel use: days, credits and the agents' own limits are exact, and refusals are free."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
from django.db.models import Sum
from psycopg.errors import UniqueViolation

from accounts.actions import grant_credits
from accounts.models import AgentMinute, AgentUsage, CreditEntry, UsageDay, User
from accounts.quotas import AgentLimits, count_tokens, refusal_of_a_query, spread
from common.db import fetch, run_db
from registry.models import Agent
from sessions_app import store
from sessions_app.accepting import Outcome, Query, accept
from sessions_app.models import Run, Session
from sessions_app.store import Ending
from tests.sessions_app.queries import make_agent, query

MakeUser = Callable[..., User]
PROCESS = uuid4()


async def asked(user: User, agent: Agent, times: int = 1) -> int:
    """How many of so many queries at once are accepted."""
    outcomes = await asyncio.gather(*(accept(query(user, agent), PROCESS) for _ in range(times)))
    return sum(outcome.seq is not None for outcome in outcomes)


def grant(user: User, amount: int) -> None:
    CreditEntry.objects.create(user=user, amount=amount, reason="a gift")
    User.objects.filter(pk=user.pk).update(credits=amount)


def ledger(user: User) -> tuple[int, int]:
    """A user's credits, and the sum of the ledger."""
    total = CreditEntry.objects.filter(user=user).aggregate(sum=Sum("amount"))["sum"] or 0
    return User.objects.get(pk=user.pk).credits, total


def used(agent: Agent) -> int:
    return AgentUsage.objects.filter(agent=agent.pk).aggregate(sum=Sum("queries"))["sum"] or 0


def footprint(user: User, agent: Agent) -> dict[str, object]:
    """Everything that accepting a query writes."""
    return {
        "days": list(UsageDay.objects.filter(user=user).order_by("pk").values()),
        "slots": list(AgentUsage.objects.filter(agent=agent.pk).order_by("pk").values()),
        "minute": list(AgentMinute.objects.filter(agent=agent.pk).values()),
        "credits": ledger(user),
        "sessions": Session.objects.filter(owner=user).count(),
        "runs": Run.objects.filter(agent=agent).count(),
    }


def limits(agent: Agent) -> AgentLimits:
    of_the_day = (agent.daily_query_limit, agent.daily_token_limit)
    return AgentLimits(agent.pk, agent.agent_id, *of_the_day, agent.minute_query_limit)


async def which(user: User, agent: Agent) -> str | None:
    refusal = await refusal_of_a_query(user=user.pk, agent=limits(agent))
    return None if refusal is None else refusal.details["which"]


@pytest.fixture
def owner(make_user: MakeUser) -> User:
    return make_user()


@pytest.fixture
def user(make_user: MakeUser) -> User:
    return make_user(daily_query_limit=1000)


async def test_credits_are_spent_one_a_query_beyond_the_limit_and_never_twice(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=20)
    agent = await run_db(make_agent, user.owner)
    await run_db(grant, user, 10)
    assert await asked(user, agent, 100) == 30
    assert await run_db(ledger, user) == (0, 0)
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 30
    spent = await run_db(lambda: list(CreditEntry.objects.filter(user=user, amount=-1)))
    runs = await run_db(lambda: set(Run.objects.filter(session__owner=user).values_list("pk", flat=True)))
    assert len(spent) == len({entry.run for entry in spent}) == 10
    assert {entry.run for entry in spent} <= runs
    assert {entry.granted_by_id for entry in spent} == {None}


async def test_without_any_daily_queries_credits_still_buy_some(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=0)
    agent = await run_db(make_agent, user.owner)
    await run_db(grant, user, 2)
    assert await asked(user, agent, 5) == 2


async def test_granting_while_queries_spend_keeps_ledger_and_credits_equal(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=0)
    administrator = await run_db(make_user, is_superuser=True)
    agent = await run_db(make_agent, user.owner)

    async def gift() -> None:
        await run_db(grant_credits, user=user, amount=2, reason="more", by=administrator)

    asking = asyncio.create_task(asked(user, agent, 60))
    await asyncio.gather(*(gift() for _ in range(10)))
    accepted = await asking
    credits, total = await run_db(ledger, user)
    assert credits == total == 20 - accepted


async def test_a_query_sent_twice_spends_one_credit_and_one_of_the_agents_queries(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=0)
    agent = await run_db(make_agent, user.owner, daily_query_limit=50)
    await run_db(grant, user, 5)
    first = query(user, agent)
    assert (await accept(first, PROCESS)).seq == 1
    before = await run_db(footprint, user, agent)
    with pytest.raises(UniqueViolation):
        await accept(first, PROCESS)
    assert await run_db(footprint, user, agent) == before


@pytest.mark.parametrize("limit", [1, 15, 16, 17, 50])
async def test_an_agents_own_limit_is_reached_and_never_passed(limit: int, user: User, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner, daily_query_limit=limit)
    assert await asked(user, agent, limit + 50) == limit
    assert await run_db(used, agent) == limit
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == limit
    assert await which(user, agent) == "agent_queries"


async def test_posts_that_wait_for_one_session_spend_what_is_left_and_no_more(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=5)
    agent = await run_db(make_agent, user.owner, daily_query_limit=7)
    await run_db(grant, user, 10)
    first = query(user, agent)
    await accept(first, PROCESS)
    more = [query(user, agent, session=first.session, new=False, addressed=False) for _ in range(40)]
    outcomes = await asyncio.gather(*(accept(each, PROCESS) for each in more))
    assert sorted(outcome.seq for outcome in outcomes if outcome.seq) == list(range(2, 8))
    assert await run_db(ledger, user) == (8, 8)


async def test_many_users_share_an_agents_limit(make_user: MakeUser, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner, daily_query_limit=40)
    users = [await run_db(make_user, daily_query_limit=10) for _ in range(8)]
    accepted = await asyncio.gather(*(asked(user, agent, 15) for user in users))
    assert sum(accepted) == 40
    assert max(accepted) <= 10
    charged = await run_db(
        lambda: UsageDay.objects.filter(user__in=users, agent=None).aggregate(sum=Sum("queries"))["sum"]
    )
    assert charged == 40


async def test_an_agents_queries_spread_over_its_slots(user: User, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner, daily_query_limit=1600)
    for _ in range(4):
        await asked(user, agent, 20)
    slots = await run_db(lambda: list(AgentUsage.objects.filter(agent=agent.pk).values_list("slot", flat=True)))
    assert len(slots) > 8
    assert set(slots) <= set(range(16))


async def test_an_agent_without_limits_has_no_rows_of_its_own(user: User, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner)
    first = query(user, agent)
    await accept(first, PROCESS)
    await finish(first, prompt_tokens=5, completion_tokens=5)
    assert not await run_db(AgentUsage.objects.filter(agent=agent.pk).exists)


async def finish(done: Query, **tokens: int) -> None:
    await store.finish(run=done.run, epoch=1, process=PROCESS, ending=Ending("completed", "response", "hi", **tokens))


async def test_finishing_counts_tokens_for_the_user_for_the_agent_and_against_the_agents_limit(
    user: User, owner: User
) -> None:
    agent = await run_db(make_agent, owner.owner, daily_token_limit=100)
    for _ in range(3):
        one = query(user, agent)
        assert (await accept(one, PROCESS)).seq == 1
        await finish(one, prompt_tokens=30, completion_tokens=10)
    assert (await accept(query(user, agent), PROCESS)).seq is None
    assert await which(user, agent) == "agent_tokens"
    rows = await run_db(lambda: {row.agent: row for row in UsageDay.objects.filter(user=user)})
    assert [(row.queries, row.prompt_tokens, row.completion_tokens) for row in (rows[None], rows[agent.pk])] == [
        (3, 90, 30),
        (3, 90, 30),
    ]
    tokens = await run_db(lambda: AgentUsage.objects.filter(agent=agent.pk).aggregate(sum=Sum("tokens"))["sum"])
    assert tokens == 120


@pytest.mark.parametrize(
    ("fields", "of_the_agent", "reason"),
    [
        ({"daily_query_limit": 1}, {}, "queries"),
        ({"daily_token_limit": 10}, {}, "tokens"),
        ({}, {"daily_query_limit": 1}, "agent_queries"),
        ({}, {"daily_token_limit": 10}, "agent_tokens"),
        ({"daily_token_limit": 0}, {}, "tokens"),
        ({}, {"daily_query_limit": 0}, "agent_queries"),
        ({}, {"daily_token_limit": 0}, "agent_tokens"),
        ({"daily_query_limit": 0}, {"daily_query_limit": 9}, "queries"),
        ({}, {"minute_query_limit": 1}, "agent_minute"),
        ({}, {"minute_query_limit": 0}, "agent_minute"),
        ({}, {"minute_query_limit": 0, "daily_query_limit": 0}, "agent_queries"),
    ],
)
async def test_whatever_is_used_up_a_refusal_writes_nothing_and_says_what(
    fields: dict[str, int], of_the_agent: dict[str, int], reason: str, make_user: MakeUser, owner: User
) -> None:
    user = await run_db(make_user, **fields)
    agent = await run_db(make_agent, owner.owner, **of_the_agent)
    first = query(user, agent)
    if (await accept(first, PROCESS)).seq is not None:
        await finish(first, prompt_tokens=6, completion_tokens=6)
    before = await run_db(footprint, user, agent)
    outcome = await accept(query(user, agent), PROCESS)
    assert outcome.seq is None
    assert (outcome.caller_found, outcome.agent) == (True, agent.pk)
    assert await which(user, agent) == reason
    assert await run_db(footprint, user, agent) == before


async def test_credits_do_not_buy_tokens_nor_an_agents_queries(make_user: MakeUser, owner: User) -> None:
    user = await run_db(make_user, daily_query_limit=0, daily_token_limit=0)
    agent = await run_db(make_agent, owner.owner)
    await run_db(grant, user, 3)
    assert await asked(user, agent) == 0
    assert await which(user, agent) == "tokens"
    assert await run_db(ledger, user) == (3, 3)


async def test_yesterdays_use_counts_no_more(make_user: MakeUser, owner: User) -> None:
    user = await run_db(make_user, daily_query_limit=2, daily_token_limit=10)
    agent = await run_db(make_agent, owner.owner, daily_query_limit=2, daily_token_limit=10)
    await run_db(fill, user, agent, datetime.now(UTC).date() - timedelta(days=1))
    assert await which(user, agent) is None
    assert await asked(user, agent, 5) == 2
    await run_db(UsageDay.objects.filter(user=user).delete)
    await run_db(fill, user, agent, datetime.now(UTC).date())
    assert await asked(user, agent) == 0


def fill(user: User, agent: Agent, day: date) -> None:
    """Uses up everything of a day."""
    UsageDay.objects.create(user=user, agent=None, day=day, queries=2, prompt_tokens=10)
    for slot in range(2):
        AgentUsage.objects.update_or_create(agent=agent.pk, day=day, slot=slot, defaults={"queries": 1, "tokens": 5})


async def set_limit(agent: Agent, limit: int | None) -> None:
    def change() -> None:
        spread(agent.pk)
        Agent.objects.filter(pk=agent.pk).update(daily_query_limit=limit)
        agent.daily_query_limit = limit

    await run_db(change)


async def test_a_lower_limit_counts_what_was_used_and_a_higher_one_gives_exactly_the_rest(
    user: User, owner: User
) -> None:
    agent = await run_db(make_agent, owner.owner, daily_query_limit=200)
    assert await asked(user, agent, 37) == 37
    await set_limit(agent, 30)
    assert await asked(user, agent, 5) == 0
    assert await which(user, agent) == "agent_queries"
    await set_limit(agent, 45)
    assert await asked(user, agent, 30) == 8
    await set_limit(agent, 64)
    assert await asked(user, agent, 50) == 19
    assert await run_db(used, agent) == 64


async def test_a_limit_changed_behind_our_back_is_kept_all_the_same(user: User, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner, daily_query_limit=1600)
    day = datetime.now(UTC).date()
    await run_db(AgentUsage.objects.create, agent=agent.pk, day=day, slot=3, queries=90)
    await run_db(Agent.objects.filter(pk=agent.pk).update, daily_query_limit=100)
    for _ in range(12):
        await asked(user, agent)
    assert await run_db(used, agent) == 100


async def test_a_limit_that_is_new_counts_what_was_used_before_it(user: User, owner: User) -> None:
    agent = await run_db(make_agent, owner.owner)
    for _ in range(3):
        one = query(user, agent)
        await accept(one, PROCESS)
        await finish(one, prompt_tokens=4, completion_tokens=1)
    await set_limit(agent, 5)
    assert await asked(user, agent, 10) == 2
    await run_db(spread, agent.pk)
    rows = await run_db(lambda: AgentUsage.objects.filter(agent=agent.pk).aggregate(q=Sum("queries"), t=Sum("tokens")))
    assert rows == {"q": 5, "t": 15}


async def test_accepting_finishing_counting_granting_and_changing_limits_at_once_lose_nothing(
    make_user: MakeUser, owner: User
) -> None:
    before = await deadlocks()
    users = [await run_db(make_user, daily_query_limit=5) for _ in range(4)]
    administrator = await run_db(make_user, is_superuser=True)
    limits_of_day = {"daily_query_limit": 60, "daily_token_limit": 10**9}
    agent = await run_db(make_agent, owner.owner, minute_query_limit=1000, **limits_of_day)
    for user in users:
        await run_db(grant, user, 100)
    accepted: Counter[int] = Counter()

    async def turn(user: User) -> None:
        one = query(user, agent)
        outcome: Outcome = await accept(one, PROCESS)
        if outcome.seq is not None:
            accepted[user.pk] += 1
            await finish(one, prompt_tokens=2, completion_tokens=1)
            await count_tokens(user=user.pk, agent=limits(agent), prompt=1, completion=0)

    async def gift(user: User) -> None:
        await run_db(grant_credits, user=user, amount=1, reason="more", by=administrator)

    others: list[Awaitable[None]] = [gift(user) for user in users for _ in range(5)]
    others += [run_db(spread, agent.pk) for _ in range(5)]
    await asyncio.gather(*(turn(user) for user in users for _ in range(25)), *others)

    assert sum(accepted.values()) == 60 == await run_db(used, agent)
    tokens = await run_db(lambda: AgentUsage.objects.filter(agent=agent.pk).aggregate(sum=Sum("tokens"))["sum"])
    assert tokens == 60 * 4
    for user in users:
        spent = max(0, accepted[user.pk] - 5)
        assert await run_db(ledger, user) == (105 - spent, 105 - spent)
    assert await deadlocks() == before


async def deadlocks() -> int:
    """How many the database has seen; each would have been tried again, unnoticed."""
    rows = await fetch("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    return int(rows[0][0])
