"""Routing, over the real index: rules, scores, and who may be asked."""

import uuid
from typing import Any

import pytest

from common.db import run_db
from common.errors import InvalidRequest
from registry.actions import create_agent
from registry.models import Agent, Liveness, RoutingRule
from registry.routing import indexing, router
from registry.routing.ranking import AGENTS
from registry.routing.router import Route
from tests.registry.indexed import indexed_agent
from tests.registry.readings import reads

FAR = "Qual è la capitale della Mongolia?"


async def indexed(by: Any, *queries: str, **fields: Any) -> Agent:
    handle = f"agent-{uuid.uuid4().hex[:8]}"
    fields = {"published": True, "handle": handle, "name": handle, "queries": list(queries), **fields}
    agent = await run_db(create_agent, by=by, reading=reads(transport="query_http"), **fields)
    await indexing.index_agent(agent.pk)
    return agent


async def rule(agents: list[Agent], **fields: Any) -> RoutingRule:
    made = await RoutingRule.objects.acreate(**fields)
    for position, agent in enumerate(agents):
        await run_db(made.preferences.create, agent=agent, position=position)
    router.forget_rules()
    return made


@pytest.fixture
def word() -> str:
    """A word that no other test's agents know, so that theirs do not get in the way."""
    return f"zorb{uuid.uuid4().hex[:6]}"


def agents_of(route: Route) -> list[str]:
    return [candidate.agent for candidate in route.candidates]


async def test_the_agent_with_the_nearest_samples_leads_and_says_why(people, word):
    dice = await indexed(people.owner, f"Polish my {word} brass trumpet", f"Repair a {word} trumpet valve")
    route = await router.route(f"can you polish a {word} trumpet of brass", user=people.outsider.pk)
    first = route.candidates[0]
    assert (first.agent, first.name) == (dice.agent_id, dice.name)
    assert first.matched_query == f"Polish my {word} brass trumpet"
    assert 0.6 < first.similarity < 1
    assert 0.5 < first.score <= 1
    assert (route.rule, route.abstain, route.is_close) == (None, False, False)
    assert route.embedder == (await indexing.embedders()).serving


async def test_k_bounds_the_candidates_and_excluded_agents_are_passed_over(people, word):
    agent = await indexed(people.owner, f"Polish my {word} trumpet")
    text = f"polish my {word} trumpet"
    assert agents_of(await router.route(text, user=None, k=1)) == [agent.agent_id]
    others = await router.route(text, user=None, k=20, exclude=[agent.agent_id])
    assert agent.agent_id not in agents_of(others)
    assert 0 < len(others.candidates) <= AGENTS


async def test_it_abstains_where_nothing_fits_and_shows_the_nearest(people, word):
    await indexed(people.owner, f"Polish my {word} trumpet")
    route = await router.route(FAR, user=None)
    assert route.abstain
    assert route.candidates


async def test_two_agents_that_say_the_same_are_close(people, word):
    texts = (f"Polish my {word} trumpet", f"Repair my {word} trumpet")
    one, two = [await indexed(owner, *texts, name="T") for owner in (people.owner, people.outsider)]
    route = await router.route(f"please polish my {word} trumpet", user=None)
    assert route.is_close
    assert {candidate.agent for candidate in route.candidates[:2]} == {one.agent_id, two.agent_id}


async def test_private_agents_are_for_their_people(people, word):
    agent = await indexed(
        people.owner, f"Polish my {word} trumpet", published=False, owner=people.organization.owner.handle
    )
    text = f"polish my {word} trumpet"
    for user, is_seen in ((people.owner, True), (people.teammate, True), (people.outsider, False)):
        assert (agent.agent_id in agents_of(await router.route(text, user=user.pk))) is is_seen
    assert agent.agent_id not in agents_of(await router.route(text, user=None))


async def test_a_rule_goes_ahead_of_all_similarity(people, word):
    near = await indexed(people.owner, f"Polish my {word} trumpet")
    chosen = await indexed(people.owner, "How far is it from Poznań to Lublin?")
    made = await rule([chosen], keywords=[word.upper()])
    route = await router.route(f"polish my {word} trumpet", user=people.outsider.pk)
    assert agents_of(route)[:2] == [chosen.agent_id, near.agent_id]
    first = route.candidates[0]
    assert (first.score, first.matched_query != "") == (1.0, True)
    assert (route.rule, route.abstain, route.is_close) == (str(made), False, False)
    await run_db(made.delete)


async def test_a_rule_asks_the_first_of_its_agents_that_works_and_may_be_asked(people, word):
    hidden = await indexed(people.owner, "Hidden", published=False)
    ill = await indexed(people.owner, "Ill")
    mute = await run_db(indexed_agent, people.owner.owner)
    await run_db(Liveness.objects.create, agent=ill, healthy=False)
    await rule([hidden, ill, mute], keywords=[word])
    route = await router.route(f"the {word}", user=people.outsider.pk, k=1)
    (first,) = route.candidates
    assert (first.agent, first.score, first.matched_query, first.similarity) == (mute.agent_id, 1.0, "", 0.0)
    assert agents_of(await router.route(f"the {word}", user=people.owner.pk, k=1)) == [hidden.agent_id]
    nobody = await router.route(f"the {word}", user=people.outsider.pk, exclude=[mute.agent_id])
    assert nobody.rule is None


async def test_the_highest_priority_and_the_task_type_decide(people, word):
    low, high, typed = [await indexed(people.owner, name) for name in ("Low", "High", "Typed")]
    await rule([low], keywords=[word], priority=1)
    await rule([high], keywords=[word], priority=2)
    await rule([typed], keywords=[word], priority=3, task_type=f"type-{word}")
    await rule([low], keywords=[word], priority=4, enabled=False)
    assert agents_of(await router.route(word, user=None, k=1)) == [high.agent_id]
    assert agents_of(await router.route(word, user=None, k=1, task_type=f"type-{word}")) == [typed.agent_id]


@pytest.mark.parametrize("text", ["", " \n\t "])
async def test_nothing_cannot_be_routed(text):
    with pytest.raises(InvalidRequest, match="empty") as error:
        await router.route(text, user=None)
    assert error.value.details["field"] == "text"


@pytest.mark.parametrize("text", ["!", "\u200b", "骰子" * 20_000, "🎲", "ارمِ النرد", "\udc80"])
async def test_any_other_text_can_be(text):
    route = await router.route(text, user=None)
    assert all(0 <= candidate.score <= 1 for candidate in route.candidates)
