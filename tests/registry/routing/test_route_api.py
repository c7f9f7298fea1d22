"""`POST /api/route` and GraphQL's `route`: who may ask, what comes back, what is refused."""

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import override_settings

from accounts.actions import revoke_api_key
from accounts.tokens import CallClaims, sign_call_token
from common.db import run_db
from registry.actions import create_agent
from registry.models import Agent
from registry.routing import indexing
from registry.routing.limits import AT_ONCE, WAITING
from sessions_app.models import Run
from tests.registry.indexed import indexed_agent
from tests.registry.readings import reads
from tests.sessions_app.rows import run_at_work

DOCUMENT = """query ($text: String!, $k: Int! = 5) { route(text: $text, k: $k) {
    candidates { agent name score matchedQuery similarity } abstain close rule preferred passedOver { agent reason }
    embedder } }"""


@dataclass(frozen=True)
class Trumpet:
    """A private agent of the organization, its only sample query, and who asks."""

    agent: Agent
    sample: str
    keys: dict[str, str]

    @property
    def text(self) -> str:
        return f"please {self.sample.lower()}"


def token_of(site: Any, user: Any, run: Run | None = None) -> str:
    session, run_id = (run.session.handle, str(run.pk)) if run else ("", "")
    with override_settings(SITE_URL=site.url):
        return sign_call_token(CallClaims(user.pk, "somebody/agent", session, run_id, ()), lifetime=600)


@pytest.fixture
def trumpet(site: Any, people: Any, api_key: Callable[..., str]) -> Trumpet:
    sample = f"Polish my zorb{uuid.uuid4().hex[:6]} trumpet"
    owner = people.organization.owner.handle
    fields = {"handle": "trumpet", "name": "Trumpets", "queries": [sample]}
    agent = create_agent(by=people.owner, owner=owner, reading=reads(), **fields)
    keys = {name: api_key(getattr(people, name)) for name in ("owner", "teammate", "outsider")}
    keys["agent at work"] = token_of(site, people.teammate, run_at_work(people.teammate, agent))
    keys["agent of an outsider"] = token_of(site, people.outsider, run_at_work(people.outsider, agent))
    over = run_at_work(people.owner, agent)
    Run.objects.filter(pk=over.pk).update(status=Run.Status.COMPLETED)
    keys["agent that has answered"] = token_of(site, people.owner, over)
    keys["agent without work"] = token_of(site, people.owner)
    keys["revoked"] = api_key(people.owner)
    revoke_api_key(key=people.owner.api_keys.latest("pk"), by=people.owner)
    keys["anonymous"] = ""
    return Trumpet(agent, sample, keys)


@pytest.fixture
async def ask(site: Any, trumpet: Trumpet) -> Any:
    """`ask(who, text, …)` → the answer of `POST /api/route`."""
    await indexing.index_agent(trumpet.agent.pk)

    async def post(who: str, text: Any = trumpet.text, **more: Any) -> Any:
        async with site.async_client(trumpet.keys[who]) as http:
            return await http.post("/api/route", json={"text": text, **more})

    return post


async def test_the_candidates_come_with_their_scores_and_the_reason(ask, trumpet):
    answer = (await ask("owner")).json()
    first = answer["candidates"][0]
    assert set(first) == {"agent", "name", "score", "matched_query", "similarity"}
    assert (first["agent"], first["name"]) == (trumpet.agent.agent_id, "Trumpets")
    assert first["matched_query"] == trumpet.sample
    assert 0.5 < first["score"] <= 1
    assert 0.8 < first["similarity"] <= 1
    assert len(answer["candidates"]) <= 5
    embedder = (await indexing.embedders()).serving
    rest = {"abstain": False, "close": False, "rule": None, "preferred": [], "passed_over": [], "embedder": embedder}
    assert {name: value for name, value in answer.items() if name != "candidates"} == rest
    assert len((await ask("owner", k=1)).json()["candidates"]) == 1


@pytest.mark.parametrize(
    ("who", "status", "is_seen"),
    [
        ("owner", 200, True),
        ("teammate", 200, True),
        ("agent at work", 200, False),
        ("outsider", 200, False),
        ("agent of an outsider", 200, False),
        ("agent that has answered", 401, False),
        ("agent without work", 401, False),
        ("revoked", 401, False),
        ("anonymous", 401, False),
    ],
)
async def test_everybody_is_offered_what_they_may_ask(ask, trumpet, who, status, is_seen):
    answer = await ask(who)
    assert answer.status_code == status
    offered = [candidate["agent"] for candidate in answer.json().get("candidates", [])]
    assert (trumpet.agent.agent_id in offered) is is_seen


async def test_an_agent_at_work_is_offered_what_everybody_may_ask(ask, trumpet):
    await run_db(Agent.objects.filter(pk=trumpet.agent.pk).update, published=True)
    (first, *_) = (await ask("agent at work")).json()["candidates"]
    assert first["agent"] == trumpet.agent.agent_id


@pytest.mark.parametrize(
    ("sent", "status", "field"),
    [
        ({"text": ""}, 400, "text"),
        ({"text": " \n"}, 400, "text"),
        ({"text": "a\0b"}, 400, "text"),
        ({"text": None}, 400, "text"),
        ({"text": 7}, 400, "text"),
        ({"text": "a" * 65 * 1024}, 413, "text"),
        ({"text": "roll", "k": 0}, 400, "k"),
        ({"text": "roll", "k": 21}, 400, "k"),
        ({"text": "roll", "k": "many"}, 400, "k"),
        ({"text": "roll", "task_type": "t" * 300}, 400, "task_type"),
        ({"text": "roll", "agent": "fixie/dice"}, 400, "agent"),
    ],
)
async def test_what_cannot_be_routed_is_refused_by_name(ask, sent, status, field):
    answer = await ask("owner", **sent)
    assert answer.status_code == status
    assert answer.json()["error"]["details"]["field"] == field


async def test_graphql_answers_the_same(ask, site, trumpet):
    rest = (await ask("teammate", k=3)).json()
    async with site.async_client(trumpet.keys["teammate"]) as http:
        body = {"query": DOCUMENT, "variables": {"text": trumpet.text, "k": 3}}
        route = (await http.post("/graphql", json=body)).json()["data"]["route"]
        for candidate in route["candidates"]:
            candidate["matched_query"] = candidate.pop("matchedQuery")
        route["passed_over"] = route.pop("passedOver")
        assert route == rest
        for variables, field in (
            ({"text": ""}, "text"),
            ({"text": "roll", "k": 0}, "k"),
            ({"text": "r", "k": 21}, "k"),
        ):
            refused = (await http.post("/graphql", json={"query": DOCUMENT, "variables": variables})).json()
            assert refused["errors"][0]["extensions"]["details"]["field"] == field


async def test_for_a_type_of_task_it_tells_who_takes_it_and_who_was_passed_over(ask, site, people, trumpet):
    task = f"task-{uuid.uuid4().hex[:8]}"
    fields = {"capabilities": [task], "minute_query_limit": 0}
    full = await run_db(indexed_agent, people.owner.owner, priority=2, **fields)
    free = await run_db(indexed_agent, people.owner.owner, capabilities=[task])
    answer = (await ask("outsider", task_type=task)).json()
    assert (answer["rule"], answer["preferred"]) == (f"agents for {task}", [free.agent_id])
    assert answer["passed_over"] == [{"agent": full.agent_id, "reason": "has no queries left this minute"}]
    document = "query ($t: String!) { route(text: $t, taskType: $t) { preferred passedOver { agent reason } } }"
    async with site.async_client(trumpet.keys["outsider"]) as http:
        told = (await http.post("/graphql", json={"query": document, "variables": {"t": task}})).json()["data"]["route"]
    assert told == {"preferred": answer["preferred"], "passedOver": answer["passed_over"]}
    assert (await ask("outsider")).json()["preferred"] == []


async def test_who_asks_for_too_many_routes_at_once_is_told_to_wait(ask, site, trumpet):
    async with site.async_client(trumpet.keys["owner"]) as http:

        async def once(number: int) -> Any:
            return (await http.post("/api/route", json={"text": f"query number {number}"})).status_code

        statuses = await asyncio.gather(*(once(number) for number in range(4 * (AT_ONCE + WAITING))))
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= AT_ONCE + WAITING
    assert (await ask("teammate")).status_code == 200


async def test_how_far_the_index_is_is_told_to_those_who_may_change_the_agent(ask, site, trumpet):
    await run_db(Agent.objects.filter(pk=trumpet.agent.pk).update, published=True)
    for who, told in (("owner", {"done": 2, "total": 2, "error": ""}), ("outsider", None)):
        async with site.async_client(trumpet.keys[who]) as http:
            agent = (await http.get(f"/api/agents/{trumpet.agent.agent_id}")).json()
            assert agent["index"] == told
            query = "query ($id: String!) { agentById(agentId: $id) { index { done total error } } }"
            body = {"query": query, "variables": {"id": trumpet.agent.agent_id}}
            found = (await http.post("/graphql", json=body)).json()
            assert found["data"]["agentById"]["index"] == told
