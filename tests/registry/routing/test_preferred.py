"""Whom rules prefer: the order, who is passed over and why, the next rule, and agents that take a type of task."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from accounts.models import AgentMinute, AgentUsage
from common.db import run_db
from common.errors import ModelUnavailable
from registry.models import Agent, Liveness, Revision, RoutingRule
from registry.routing import router
from registry.routing.router import PassedOver, Route
from tests.registry.indexed import indexed_agent, sample

Rule = tuple[RoutingRule, list[Agent]]


@pytest.fixture
def word() -> str:
    """A keyword, and a type of task, of no other test."""
    return f"word{uuid.uuid4().hex[:8]}"


def rule(agents: list[Agent], **fields: Any) -> RoutingRule:
    made = RoutingRule.objects.create(**fields)
    for position, agent in enumerate(agents):
        made.preferences.create(agent=agent, position=position)
    router.forget_rules()
    return made


@pytest.fixture
def three(people: Any, word: str) -> Rule:
    """A rule for `word`, and the three agents that it prefers, in its order."""
    agents = [indexed_agent(people.owner.owner) for _ in range(3)]
    return rule(agents, keywords=[word], priority=5), agents


async def routed(word: str, **fields: Any) -> Route:
    return await router.route(f"the {word}, please", **{"user": None, **fields})


def ids(*agents: Agent) -> list[str]:
    return [agent.agent_id for agent in agents]


async def test_all_agents_of_a_rule_that_can_be_asked_lead_in_its_order(word, three):
    made, agents = three
    route = await routed(word)
    assert route.preferred == ids(*agents)
    assert (route.rule, route.passed_over, route.abstain, route.is_close) == (str(made), [], False, False)
    assert [(each.agent, each.score) for each in route.candidates[:3]] == [(each, 1.0) for each in ids(*agents)]
    assert len({each.agent for each in route.candidates}) == len(route.candidates) <= 5
    short = await routed(word, k=1)
    assert (len(short.candidates), short.preferred) == (1, ids(*agents))


def switched_off(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(enabled=False)


def failing(agent: Agent) -> None:
    Liveness.objects.create(agent=agent, healthy=False)


def deployed_nowhere(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(current_revision=None)


def broken(agent: Agent) -> None:
    Revision.objects.filter(agent=agent).update(state="error")


def at_its_minute(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(minute_query_limit=3)
    AgentMinute.objects.create(agent=agent.pk, began=timezone.now(), queries=3)


def at_its_day(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(daily_query_limit=9)
    today = datetime.now(UTC).date()
    for slot in range(3):
        AgentUsage.objects.create(agent=agent.pk, day=today, slot=slot, queries=3)


def without_tokens(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(daily_token_limit=10)
    AgentUsage.objects.create(agent=agent.pk, day=datetime.now(UTC).date(), slot=0, tokens=10)


def for_nobody(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(minute_query_limit=0)


OBSTACLES = [
    (switched_off, "is switched off"),
    (failing, "does not answer"),
    (deployed_nowhere, "runs nowhere"),
    (broken, "has a manifest that cannot be used"),
    (at_its_minute, "has no queries left this minute"),
    (at_its_day, "has no queries left today"),
    (without_tokens, "has no tokens of language models left today"),
    (for_nobody, "has no queries left this minute"),
]


@pytest.mark.parametrize(("obstacle", "reason"), OBSTACLES)
async def test_an_agent_that_cannot_be_asked_is_passed_over_with_the_reason(word, three, obstacle, reason):
    _, (first, *others) = three
    await run_db(obstacle, first)
    route = await routed(word)
    assert route.preferred == ids(*others)
    assert route.passed_over == [PassedOver(first.agent_id, reason)]


async def test_with_room_again_an_agent_leads_again(word, three):
    _, agents = three
    await run_db(at_its_minute, agents[0])
    assert (await routed(word)).preferred == ids(*agents[1:])
    an_hour_ago = timezone.now() - timedelta(hours=1)
    await run_db(AgentMinute.objects.filter(agent=agents[0].pk).update, began=an_hour_ago)
    assert (await routed(word)).preferred == ids(*agents)


async def test_where_none_of_a_rules_agents_is_there_the_next_rule_decides(word, three, people):
    _, agents = three
    other = await run_db(indexed_agent, people.owner.owner)
    lower = await run_db(rule, [agents[0], other], keywords=[word], priority=4)
    for agent in agents:
        await run_db(switched_off, agent)
    route = await routed(word)
    assert (route.rule, route.preferred) == (str(lower), [other.agent_id])
    assert [each.agent for each in route.passed_over] == ids(*agents)


async def test_where_no_rule_has_an_agent_similarity_decides_and_finds_none_of_those(word, three, people):
    _, agents = three
    await run_db(sample, agents[0], f"the {word}, please", None, "given")
    for agent in agents:
        await run_db(at_its_minute, agent)
    route = await routed(word)
    assert (route.rule, route.preferred) == (None, [])
    assert [each.agent for each in route.passed_over] == ids(*agents)
    assert not {each.agent for each in route.candidates} & set(ids(*agents))


async def test_of_agents_that_somebody_does_not_see_nothing_is_told(word, people):
    hidden, off = [await run_db(indexed_agent, people.owner.owner, published=False) for _ in range(2)]
    await run_db(switched_off, off)
    await run_db(rule, [hidden, off], keywords=[word])
    outsiders = await routed(word, user=people.outsider.pk)
    assert (outsiders.rule, outsiders.preferred, outsiders.passed_over) == (None, [], [])
    owners = await routed(word, user=people.owner.pk)
    assert (owners.preferred, owners.passed_over) == ([hidden.agent_id], [PassedOver(off.agent_id, "is switched off")])
    excluded = await routed(word, user=people.owner.pk, exclude=ids(hidden, off))
    assert (excluded.preferred, excluded.passed_over) == ([], [])


async def test_without_a_rule_those_that_take_such_tasks_come_by_their_priority(word, people):
    low, high, hidden = [
        await run_db(indexed_agent, people.owner.owner, capabilities=[f"task-{word}", "more"], **fields)
        for fields in ({"priority": 1}, {"priority": 7}, {"priority": 9, "published": False})
    ]
    task = f"task-{word}"
    assert (await routed(word, task_type=task)).preferred == ids(high, low)
    assert (await routed(word, task_type=task, user=people.owner.pk)).preferred == ids(hidden, high, low)
    await run_db(at_its_day, high)
    route = await routed(word, task_type=task)
    assert (route.rule, route.preferred) == (f"agents for {task}", [low.agent_id])
    assert route.passed_over == [PassedOver(high.agent_id, "has no queries left today")]
    assert (await routed(word)).rule is None
    assert (await routed(word, task_type=f"{task}-2")).rule is None


async def test_a_rule_for_a_type_of_task_goes_before_those_that_take_it(word, people):
    task = f"task-{word}"
    capable = await run_db(indexed_agent, people.owner.owner, capabilities=[task], priority=100)
    chosen = await run_db(indexed_agent, people.owner.owner)
    made = await run_db(rule, [chosen], task_type=task, keywords=[word.upper()])
    route = await routed(word, task_type=task)
    assert (route.rule, route.preferred) == (str(made), [chosen.agent_id])
    elsewhere = await router.route("something else", user=None, task_type=task)
    assert elsewhere.preferred == [capable.agent_id]
    await run_db(switched_off, chosen)
    assert (await routed(word, task_type=task)).preferred == [capable.agent_id]


async def test_while_the_embedder_is_away_a_rule_offers_all_of_its_agents(word, three):
    _, agents = three
    await run_db(switched_off, agents[1])
    with override_settings(EMBEDDINGS_BASE_URL="http://127.0.0.1:9/v1"):
        # As if nothing were indexed yet: else the index's own embedder, which is this process, would serve.
        router._cached = float("inf"), replace(await router._known(), serving="")
        try:
            route = await routed(word)
            with pytest.raises(ModelUnavailable):
                await router.route("something else", user=None)
        finally:
            router.forget_rules()
    assert [each.agent for each in route.candidates] == ids(agents[0], agents[2]) == route.preferred
    assert route.passed_over == [PassedOver(agents[1].agent_id, "is switched off")]
