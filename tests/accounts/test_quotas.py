"""The limits of tokens: who may use a model now, and what counts."""

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from django.db.models import Sum

from accounts.auth import Caller
from accounts.models import AgentUsage, ApiKey, UsageDay, User
from accounts.quotas import AgentLimits, check_tokens, count_tokens
from accounts.tokens import CallClaims
from common.db import run_db
from common.errors import QuotaExceeded, Unauthenticated

MakeUser = Callable[..., User]
# Agents that exist nowhere else.
_numbers = count(10**15)


def limited(daily_token_limit: int | None) -> AgentLimits:
    return AgentLimits(next(_numbers), "acme/dice", None, daily_token_limit)


def caller(user: User) -> Caller:
    return Caller(user.pk, None)


def tokens_of(agent: AgentLimits) -> int:
    return AgentUsage.objects.filter(agent=agent.agent).aggregate(sum=Sum("tokens"))["sum"] or 0


async def test_tokens_are_counted_for_the_user_and_for_each_agent(make_user: MakeUser) -> None:
    user = await run_db(make_user)
    first, second = limited(10**6), limited(None)
    await count_tokens(user=user.pk, agent=first, prompt=10, completion=5)
    await count_tokens(user=user.pk, agent=first, prompt=1, completion=0)
    await count_tokens(user=user.pk, agent=second, prompt=0, completion=3)
    await count_tokens(user=user.pk, agent=None, prompt=100, completion=0)
    await count_tokens(user=user.pk, agent=first, prompt=0, completion=0)

    rows = await run_db(lambda: {row.agent: row for row in UsageDay.objects.filter(user=user)})
    told = {agent: (row.queries, row.prompt_tokens, row.completion_tokens) for agent, row in rows.items()}
    assert told == {None: (0, 111, 8), first.agent: (0, 11, 5), second.agent: (0, 0, 3)}
    assert await run_db(tokens_of, first) == 16
    assert await run_db(tokens_of, second) == 0


async def test_no_token_is_lost_when_many_count_at_once(make_user: MakeUser) -> None:
    users = [await run_db(make_user) for _ in range(4)]
    agent = limited(10**6)
    counting = [count_tokens(user=user.pk, agent=agent, prompt=2, completion=1) for user in users for _ in range(25)]
    await asyncio.gather(*counting)
    assert await run_db(tokens_of, agent) == 300
    assert await run_db(lambda: UsageDay.objects.get(user=users[0], agent=None).prompt_tokens) == 50


async def test_at_the_users_limit_no_model_may_be_used(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_token_limit=1500)
    agent = limited(None)
    await check_tokens(caller(user), agent)
    await count_tokens(user=user.pk, agent=agent, prompt=1000, completion=700)

    with pytest.raises(QuotaExceeded) as refused:
        await check_tokens(caller(user))

    details = refused.value.details
    assert (details["which"], details["used"], details["limit"]) == ("tokens", 1700, 1500)
    assert refused.value.message.startswith("Your tokens of language models are used up for today (1,700 of 1,500).")
    assert 0 < details["retry_after"] <= 86_400
    ends = datetime.fromisoformat(details["resets_at"])
    assert (ends.hour, ends.minute, ends.utcoffset()) == (0, 0, timedelta(0))


async def test_at_the_agents_limit_nobody_gets_a_model_through_it(make_user: MakeUser) -> None:
    first, second = await run_db(make_user), await run_db(make_user)
    agent = limited(10)
    await count_tokens(user=first.pk, agent=agent, prompt=10, completion=0)

    for principal in (caller(first), CallClaims(second.pk, agent.name, "s", "r", ())):
        with pytest.raises(QuotaExceeded, match="acme/dice may use in a day") as refused:
            await check_tokens(principal, agent)
        assert refused.value.details["which"] == "agent_tokens"
    await check_tokens(caller(first))
    await check_tokens(caller(first), limited(10))


async def test_users_without_a_limit_and_a_new_day_have_no_end(make_user: MakeUser) -> None:
    boundless, another = await run_db(make_user, daily_token_limit=None), await run_db(make_user, daily_token_limit=5)
    await count_tokens(user=boundless.pk, agent=None, prompt=2**31, completion=0)
    await check_tokens(caller(boundless))
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    await run_db(UsageDay.objects.create, user=another, agent=None, day=yesterday, prompt_tokens=50)
    await check_tokens(caller(another))


async def test_queries_that_are_used_up_leave_tokens_alone(make_user: MakeUser) -> None:
    user = await run_db(make_user, daily_query_limit=0)
    await check_tokens(caller(user))


async def test_a_revoked_key_and_an_inactive_user_are_refused(make_user: MakeUser, api_key: Callable[..., str]) -> None:
    user, gone = await run_db(make_user), await run_db(make_user, is_active=False)
    await run_db(api_key, user)
    key = await run_db(lambda: user.api_keys.get())
    await check_tokens(Caller(user.pk, key.jti))
    await run_db(ApiKey.objects.filter(pk=key.pk).update, revoked=datetime.now(UTC))

    for principal in (
        Caller(user.pk, key.jti),
        Caller(user.pk, uuid.uuid4()),
        caller(gone),
        CallClaims(gone.pk, "acme/dice", "s", "r", ()),
    ):
        with pytest.raises(Unauthenticated):
            await check_tokens(principal)
