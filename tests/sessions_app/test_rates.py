"""What an agent answers in a minute: exact for many askers over several processes, free where there is no limit."""

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import AgentMinute, AgentUsage, UsageDay, User
from common.db import run_db
from registry.actions import delete_agent
from registry.models import Agent
from sessions_app import accepting
from sessions_app.models import Run
from tests.agents import Behaviour
from tests.sessions_app.asking import fans_out
from tests.sessions_app.people import Person, error_of
from tests.sessions_app.queries import make_agent, query
from tests.sessions_app.test_charges import asked, deadlocks, footprint, which
from tests.sites import Site, running_site

MakeUser = Callable[..., User]
MakePerson = Callable[..., Person]
PROCESS = uuid4()


@pytest.fixture(scope="module")
def other_site(site: Site) -> Iterator[Site]:
    """A second process of the same site."""
    with running_site(RUN_LEASE_SECONDS="15") as other:
        yield other


@pytest.fixture
def user(make_user: MakeUser) -> User:
    return make_user()


def minutes_of(agent: Agent) -> list[int]:
    return list(AgentMinute.objects.filter(agent=agent.pk).values_list("queries", flat=True))


def shift(agent: Agent, seconds: float) -> None:
    """Lets the agent's minute have begun earlier."""
    began = timezone.now() - timedelta(seconds=seconds)
    AgentMinute.objects.filter(agent=agent.pk).update(began=began)


async def test_fifty_people_at_once_over_two_processes_get_exactly_so_many_answers(
    site: Site, other_site: Site, make_user: MakeUser, api_key: Callable[..., str]
) -> None:
    owner = await run_db(make_user)
    agent = await run_db(make_agent, owner.owner, minute_query_limit=17)
    users = [await run_db(make_user) for _ in range(5)]
    keys = [await run_db(api_key, user) for user in users]
    body = {"message": {"text": "hi"}}
    async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=50)) as http:

        async def ask(number: int) -> httpx2.Response:
            where = (site, other_site)[number % 2].url
            headers = {"Authorization": f"Bearer {keys[number % 5]}"}
            return await http.post(f"{where}/api/agents/{agent.agent_id}", json=body, headers=headers)

        answers = await asyncio.gather(*map(ask, range(50)))

    assert sorted({answer.status_code for answer in answers}) == [200, 429]
    assert sum(answer.status_code == 200 for answer in answers) == 17
    assert await run_db(minutes_of, agent) == [17]
    assert await run_db(Run.objects.filter(agent=agent).count) == 17
    charged = await run_db(
        lambda: sum(UsageDay.objects.filter(user__in=users, agent=None).values_list("queries", flat=True))
    )
    assert charged == 17


def test_who_comes_too_late_is_told_when_to_come_again(person: MakePerson) -> None:
    owner, asker = person(), person()
    agent = make_agent(owner.user.owner, minute_query_limit=1)
    assert asker.ask(agent.agent_id, "one").status_code == 200
    shift(agent, 48)

    for somebody in (asker, owner):
        refused = somebody.ask(agent.agent_id, "two")
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["retryable"]) == (429, "rate_limited", True)
        assert error["details"].items() >= {"which": "agent_minute", "used": 1, "limit": 1}.items()
        assert 10 <= error["details"]["retry_after"] <= 12
        assert abs(int(refused.headers["Retry-After"]) - error["details"]["retry_after"]) <= 1
        words = f"{agent.agent_id} answers at most 1 question a minute, all users together; try again in \\d+ s."
        assert re.fullmatch(words, error["message"])
    shift(agent, 61)
    assert asker.ask(agent.agent_id, "three").status_code == 200
    assert minutes_of(agent) == [1]


async def test_each_minute_has_its_own_number_and_the_row_is_used_again(user: User) -> None:
    agent = await run_db(make_agent, user.owner, minute_query_limit=4)
    for _ in range(3):
        assert await asked(user, agent, 10) == 4
        assert await run_db(minutes_of, agent) == [4]
        await run_db(shift, agent, 60.5)
    assert await which(user, agent) is None


async def test_the_limits_of_the_minute_and_of_the_day_hold_together_without_deadlocks(make_user: MakeUser) -> None:
    before = await deadlocks()
    users = [await run_db(make_user) for _ in range(4)]
    agent = await run_db(make_agent, users[0].owner, minute_query_limit=25, daily_query_limit=40)
    assert sum(await asyncio.gather(*(asked(each, agent, 20) for each in users))) == 25
    assert await which(users[0], agent) == "agent_minute"
    await run_db(shift, agent, 61)
    assert sum(await asyncio.gather(*(asked(each, agent, 20) for each in users))) == 15
    assert await which(users[0], agent) == "agent_queries"
    assert await run_db(lambda: sum(AgentUsage.objects.filter(agent=agent.pk).values_list("queries", flat=True))) == 40
    assert await run_db(minutes_of, agent) == [15]
    assert await deadlocks() == before


async def test_a_limit_that_was_raised_or_lowered_counts_what_was_asked_this_minute(user: User) -> None:
    agent = await run_db(make_agent, user.owner, minute_query_limit=3)
    assert await asked(user, agent, 5) == 3
    for limit, more in ((5, 2), (2, 0), (None, 4), (6, 1)):
        await run_db(Agent.objects.filter(pk=agent.pk).update, minute_query_limit=limit)
        assert await asked(user, agent, more + 2 if limit else more) == more


async def test_an_agent_with_a_limit_of_zero_answers_nobody_and_nothing_is_written(user: User) -> None:
    agent = await run_db(make_agent, user.owner, minute_query_limit=0)
    before = await run_db(footprint, user, agent)
    assert await asked(user, agent, 5) == 0
    assert await which(user, agent) == "agent_minute"
    assert await run_db(footprint, user, agent) == before


def test_agents_that_ask_take_from_the_asked_agents_minute(
    site: Site, person: MakePerson, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    asker = person()
    limited = make_agent(asker.user.owner, minute_query_limit=4)
    answers: list[httpx2.Response] = []
    asking = agent_of(asker, fans_out(site, limited.agent_id, 12, answers))

    assert asker.ask(asking, "ask").json()["message"]["text"] == "all asked"

    assert sorted(answer.status_code for answer in answers) == [200] * 4 + [429] * 8
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert (error_of(refused)["code"], error_of(refused)["details"]["which"]) == ("rate_limited", "agent_minute")
    assert minutes_of(limited) == [4]
    assert Run.objects.filter(agent=limited).count() == 4
    assert UsageDay.objects.get(user=asker.user, agent=None).queries == 1


def test_with_its_agent_the_count_of_the_minute_goes(user: User) -> None:
    agent = make_agent(user.owner, minute_query_limit=4)
    AgentMinute.objects.create(agent=agent.pk, began=timezone.now(), queries=2)
    delete_agent(agent=agent)
    assert minutes_of(agent) == []


@pytest.mark.parametrize(("limit", "is_read"), [(None, False), (3, True)])
def test_for_an_agent_without_a_limit_the_counts_of_minutes_are_not_even_looked_at(
    user: User, limit: int | None, is_read: bool
) -> None:
    agent = make_agent(user.owner, minute_query_limit=limit)
    plan = explained(accepting.ACCEPT_NEW[False], user, agent)
    scans = [
        node
        for node in nodes(plan)
        if node.get("Relation Name") == "accounts_agentminute" and "Scan" in node["Node Type"]
    ]
    assert scans
    assert any(node["Actual Loops"] for node in scans) is is_read
    assert any(node["Actual Rows"] for node in nodes(plan) if node.get("Subplan Name") == "CTE minute_taken") is False


def explained(statement: str, user: User, agent: Agent) -> dict[str, Any]:
    """The plan of this accepting statement as it ran, and was undone."""
    asking = query(user, agent)
    params = {
        **{"user": user.pk, "jti": None, "run": asking.run, "session": asking.session, "text": "hello"},
        **{"owner": agent.owner.handle, "handle": agent.handle, "process": PROCESS},
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params)
        (found,) = cursor.fetchone()[0]
        transaction.set_rollback(True)
    return dict(found["Plan"])


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)
