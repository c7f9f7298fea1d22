"""Quotas over the wire: what is accepted, what is refused and how it is told."""

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import httpx2
import pytest

from accounts.actions import grant_credits
from accounts.models import CreditEntry, UsageDay, User
from common.db import run_db
from registry.bootstrap import ensure_internal_agent
from registry.models import Agent
from tests.agents import Behaviour
from tests.sessions_app.people import Person, error_of
from tests.sessions_app.streaming import held
from tests.sites import Site, running_site

MakePerson = Callable[..., Person]


def echo_of(owner: Person, **limits: int) -> Agent:
    """A new published agent that echoes, with limits of its own."""

    handle = f"echo-{uuid.uuid4().hex[:8]}"
    name = owner.user.username
    ensure_internal_agent(owner_handle=name, handle=handle, name="", description="", target="echo")
    Agent.objects.filter(owner=owner.user.owner, handle=handle).update(**limits)
    return Agent.objects.select_related("owner").get(owner=owner.user.owner, handle=handle)


@pytest.fixture(scope="module")
def other_site(site: Site) -> Iterator[str]:
    """The address of a second process of the same site."""
    with running_site(RUN_LEASE_SECONDS="15") as other:
        yield other.url


async def test_200_questions_at_once_over_two_processes_take_the_limit_and_the_credits_exactly(
    site: Site, other_site: str, echo: str, make_user: Callable[..., User], api_key: Callable[..., str]
) -> None:
    user = await run_db(make_user, daily_query_limit=50)
    administrator = await run_db(make_user, is_superuser=True)
    await run_db(grant_credits, user=user, amount=10, reason="a gift", by=administrator)
    headers = {"Authorization": f"Bearer {await run_db(api_key, user)}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        addresses = [f"{url}/api/agents/{echo}" for url in (site.url, other_site)] * 100
        answers = await asyncio.gather(*(http.post(url, json={"message": {"text": "hi"}}) for url in addresses))

    assert sorted({answer.status_code for answer in answers}) == [200, 429]
    assert sum(answer.status_code == 200 for answer in answers) == 60
    assert (await run_db(User.objects.get, pk=user.pk)).credits == 0
    assert await run_db(CreditEntry.objects.filter(user=user, amount=-1).count) == 10
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 60


def test_an_agents_limit_is_told_with_its_name(person: MakePerson) -> None:
    owner, asker = person(), person()
    agent = echo_of(owner, daily_query_limit=1)
    assert asker.ask(agent.agent_id, "one").status_code == 200
    for somebody in (asker, owner):
        refused = somebody.ask(agent.agent_id, "two")
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["retryable"]) == (429, "quota_exceeded", True)
        assert error["details"].items() >= {"which": "agent_queries", "used": 1, "limit": 1}.items()
        assert f"queries of a day that {agent.agent_id} answers" in error["message"]
        assert abs(int(refused.headers["Retry-After"]) - error["details"]["retry_after"]) <= 1


def test_a_front_agent_at_its_limit_is_refused_in_its_session_and_another_answers_there(person: MakePerson) -> None:
    owner = person()
    agent = echo_of(owner, daily_query_limit=1)
    session = owner.new_session(agent.agent_id)
    owner.post(session, "one")
    refused = owner.http.post(f"/api/sessions/{session}/messages", json={"text": "two"})
    assert error_of(refused)["details"]["which"] == "agent_queries"
    owner.post(session, "@fixie/echo two")
    assert [message["text"] for message in owner.settled(session) if message["kind"] == "response"] == ["one", "two"]


def test_a_user_whose_tokens_are_used_up_is_told_so(person: MakePerson) -> None:
    asker = person(daily_token_limit=100)
    today = datetime.now(UTC).date()
    UsageDay.objects.create(user=asker.user, agent=None, day=today, prompt_tokens=99, completion_tokens=1)
    refused = asker.ask("fixie/echo", "hello")
    error = error_of(refused)
    assert refused.status_code == 429
    assert error["details"].items() >= {"which": "tokens", "used": 100, "limit": 100}.items()
    assert "tokens of language models" in error["message"]
    assert UsageDay.objects.get(user=asker.user).queries == 0


def test_a_message_posted_again_is_found_though_it_took_the_last_of_the_quota(person: MakePerson) -> None:
    asker = person(daily_query_limit=1)
    session = asker.new_session()
    first = asker.post(session, "one", client_id="mine")
    asker.settled(session)
    again = asker.post(session, "one", client_id="mine")
    assert (again["run"], again["seq"]) == (first["run"], first["seq"])
    assert UsageDay.objects.get(user=asker.user, agent=None).queries == 1


def test_a_message_posted_again_is_found_though_its_own_turn_makes_the_session_busy(
    person: MakePerson, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    asker = person()
    session = asker.new_session(agent_of(asker, held(gate)))
    first = asker.post(session, "one", client_id="mine", if_busy="reject")
    again = asker.post(session, "one", client_id="mine", if_busy="reject")
    assert again["run"] == first["run"]
