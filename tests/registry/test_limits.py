"""What is left of an agent's limits: who sees it and where, who sets them, and that lists do not pay for it."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actions import day_ends
from accounts.models import AgentMinute, AgentUsage
from common.db import run_db
from registry.limits import remaining, remaining_of
from registry.models import Agent, ReportedLimits
from registry.reported import note_limits
from registry.transports.base import LimitsLeft
from tests.registry.admin.test_usage_admin import agent_form, browser_of, history, page
from tests.registry.indexed import indexed_agent
from tests.sessions_app.test_views import signed_in
from tests.sites import Site

LIMITS = """limits { minute { limit used remaining reset } day { limit used remaining reset } tokens { remaining }
    reported { remainingMinute remainingToday reported } }"""
TODAY = datetime.now(UTC).date()


@pytest.fixture
def limited(people: Any) -> Agent:
    """A published agent of the organization that has answered 7 of 60 questions this minute, and 9 of 40 today."""
    limits = {"minute_query_limit": 60, "daily_query_limit": 40, "daily_token_limit": 1000}
    agent = indexed_agent(people.organization.owner, **limits)
    AgentMinute.objects.create(agent=agent.pk, began=timezone.now() - timedelta(seconds=20), queries=7)
    for slot, queries in ((0, 4), (3, 5)):
        AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=slot, queries=queries, tokens=600)
    ReportedLimits.objects.create(agent=agent, remaining_minute=5, remaining_today=None, reported=timezone.now())
    return agent


def read(site: Site, key: str | None, agent: Agent) -> httpx2.Response:
    with site.client(key) as http:
        return http.get(f"/api/agents/{agent.agent_id}")


def graphql(site: Site, key: str, document: str) -> Any:
    with site.client(key) as http:
        return http.post("/graphql", json={"query": document}).json()


def test_everybody_who_sees_an_agent_reads_what_is_left(
    site: Site, people: Any, limited: Agent, api_key: Callable[..., str]
) -> None:
    for user in (people.owner, people.teammate, people.outsider):
        limits = read(site, api_key(user), limited).json()["limits"]
        reset = datetime.fromisoformat(limits["minute"].pop("reset"))
        assert 30 < (reset - datetime.now(UTC)).total_seconds() <= 40
        assert limits["minute"] == {"limit": 60, "used": 7, "remaining": 53}
        assert datetime.fromisoformat(limits["day"].pop("reset")) == day_ends()
        assert limits["day"] == {"limit": 40, "used": 9, "remaining": 31}
        assert limits["tokens"].items() >= {"limit": 1000, "used": 1200, "remaining": 0}.items()
        assert limits["reported"].items() >= {"remaining_minute": 5, "remaining_today": None}.items()


def test_who_does_not_see_it_reads_nothing(
    site: Site, people: Any, limited: Agent, api_key: Callable[..., str]
) -> None:
    Agent.objects.filter(pk=limited.pk).update(published=False)
    assert read(site, api_key(people.teammate), limited).status_code == 200
    assert read(site, api_key(people.outsider), limited).status_code == 404
    assert read(site, None, limited).status_code == 401
    document = f'{{ agentById(agentId: "{limited.agent_id}") {{ {LIMITS} }} }}'
    assert graphql(site, api_key(people.outsider), document)["data"]["agentById"] is None


def test_of_an_agent_without_limits_that_says_nothing_all_is_null(
    site: Site, people: Any, api_key: Callable[..., str]
) -> None:
    agent = indexed_agent(people.owner.owner)
    limits = read(site, api_key(people.owner), agent).json()["limits"]
    assert limits == {"minute": None, "day": None, "tokens": None, "reported": None}


def test_a_minute_that_is_over_leaves_all_of_the_limit(limited: Agent) -> None:
    AgentMinute.objects.filter(agent=limited.pk).update(began=timezone.now() - timedelta(seconds=61))
    minute = remaining(limited).minute
    assert minute is not None
    assert (minute.used, minute.remaining, minute.reset) == (0, 60, None)


def test_graphql_tells_the_same(site: Site, people: Any, limited: Agent, api_key: Callable[..., str]) -> None:
    key = api_key(people.outsider)
    rest = read(site, key, limited).json()["limits"]
    found = graphql(site, key, f'{{ agentById(agentId: "{limited.agent_id}") {{ enabled {LIMITS} }} }}')
    agent = found["data"]["agentById"]
    assert agent["enabled"] is True
    assert (agent["limits"]["minute"], agent["limits"]["day"]) == (rest["minute"], rest["day"])
    assert agent["limits"]["reported"]["remainingMinute"] == 5


def test_however_many_agents_are_asked_about_it_is_three_queries(people: Any, limited: Agent) -> None:
    agents = [limited, *(indexed_agent(people.owner.owner, minute_query_limit=n) for n in range(6))]
    with CaptureQueriesContext(connection) as captured:
        found = remaining_of(agents)
    assert len(captured) == 3
    assert [one.minute.limit for one in found if one.minute] == [60, *range(6)]


def test_lists_tell_nothing_of_it(site: Site, people: Any, limited: Agent, api_key: Callable[..., str]) -> None:
    with site.client(api_key(people.owner)) as http:
        listed = http.get("/api/agents", params={"owner": limited.owner.handle}).json()["agents"]
    assert [one["agent_id"] for one in listed] == [limited.agent_id]
    assert "limits" not in listed[0]


def test_the_page_shows_what_is_left_to_who_sees_the_agent(people: Any, limited: Agent) -> None:
    for user in (people.owner, people.outsider):
        shown = signed_in(user).get(f"/agents/{limited.agent_id}").content.decode()
        assert "This minute 53 of 60 questions" in shown
        assert "31 of 40 questions" in shown
        assert "0 of 1000 tokens" in shown
        assert "5 left of its minute" in shown
    unlimited = indexed_agent(people.owner.owner)
    assert "limits" not in signed_in(people.owner).get(f"/agents/{unlimited.agent_id}").content.decode()


def test_limits_are_set_in_the_admin_alone_with_history(people: Any, limited: Agent, make_user: Any) -> None:
    browser = browser_of(make_user(is_superuser=True, is_staff=True))
    path = f"/admin/registry/agent/{limited.pk}/change/"
    assert "minute: 53 / 60; day: 31 / 40; tokens today: 0 / 1,000; it says itself: 5 this minute" in page(
        browser, f"registry/agent/{limited.pk}/change/"
    )
    form = agent_form(limited, daily_query_limit=40, daily_token_limit=1000, capabilities="sums\r\n\r\n units ")
    assert browser.post(path, {**form, "minute_query_limit": "90"}).status_code == 302
    limited.refresh_from_db()
    assert (limited.minute_query_limit, limited.daily_query_limit) == (90, 40)
    assert limited.capabilities == ["sums", "units"]
    assert "minute_query_limit: 60 → 90" in history(limited)[-1]
    refused = browser.post(path, {**form, "minute_query_limit": "-1"})
    assert refused.status_code == 200
    assert "minute_query_limit" in refused.context["adminform"].form.errors


@pytest.mark.parametrize("field", ["minute_query_limit", "daily_query_limit", "capabilities", "priority"])
def test_owners_do_not_set_them(
    site: Site, people: Any, limited: Agent, api_key: Callable[..., str], field: str
) -> None:
    with site.client(api_key(people.owner)) as http:
        refused = http.patch(f"/api/agents/{limited.agent_id}", json={field: 5})
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, field)
    before = limited.minute_query_limit
    limited.refresh_from_db()
    assert limited.minute_query_limit == before


async def test_an_agent_says_what_is_left_and_it_is_kept_for_those_who_look(people: Any) -> None:
    agent = await run_db(indexed_agent, people.owner.owner, handle=f"agent-{uuid.uuid4().hex[:8]}")
    for left in (55, 54):
        await note_limits(agent.pk, LimitsLeft(remaining_minute=left, remaining_today=1950))
    said = (await run_db(remaining, agent)).reported
    assert said is not None
    assert (said.remaining_minute, said.remaining_today) == (54, 1950)
