"""What an agent speaks: said by its owner or found at its address, and what is made of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from common.errors import AgentInvalidResponse, AgentUnreachable, FixieError
from common.http import aclose_client
from registry.actions import Reading, create_agent
from registry.liveness.tasks import check
from registry.manifests.manifest import ReadManifest, read_manifest
from registry.models import Agent, Liveness
from registry.transports.base import Manifest
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.registry.admin.test_admin import AGENTS, Browser, administrator, browser, change_form, refreshes
from tests.registry.readings import GOOD, serve_manifest
from tests.registry.transports.agentscope.apps import ROOT, run, sends, streamed

__all__ = ["administrator", "browser"]

STANDALONE = Manifest(type="standalone")
METHOD_NOT_ALLOWED = answer({"detail": "Method Not Allowed"}, status=405)


@pytest.fixture
def app() -> Iterator[ScriptedAgent]:
    """An AgentApp as the published server runs it."""
    with ScriptedAgent() as running:
        serve_manifest(running, answer(ROOT))
        running.on("/process", METHOD_NOT_ALLOWED, method="GET")
        running.on("/process", sends(run(streamed("fine"))))
        yield running


@pytest.fixture
async def reading(app: ScriptedAgent) -> AsyncIterator[Callable[..., Any]]:
    """`reading(path="", protocol="")` → what is read there."""

    async def read(path: str = "", protocol: str = "") -> ReadManifest:
        return await read_manifest(app.url + path, token="a-token", protocol=protocol)

    yield read
    await aclose_client()


@pytest.fixture
def http(site: Any, people: Any, api_key: Callable[..., str]) -> Iterator[httpx2.Client]:
    with site.client(api_key(people.owner)) as client:
        yield client


# What is found at an address


async def test_an_agent_app_is_known_by_what_it_says_of_itself(reading, app):
    assert await reading() == ReadManifest(STANDALONE, ROOT, "agentscope", {"process": "/process"})
    assert app.requests[0].headers["authorization"] == "Bearer a-token"


async def test_an_app_with_a_path_of_its_own_is_asked_there(reading, app):
    serve_manifest(app, answer({**ROOT, "endpoints": {"process": "/v1/chat"}}))
    assert (await reading()).options == {"process": "/v1/chat"}


@pytest.mark.parametrize(
    "path", ["https://elsewhere.example/x", "//elsewhere/x", "/../x", "x", "/a?b", "/" + "a" * 300]
)
async def test_an_app_cannot_send_its_queries_elsewhere(reading, app, path):
    serve_manifest(app, answer({**ROOT, "endpoints": {"process": path}}))
    found = await reading()
    assert (found.transport, found.options) == ("agentscope", {})


async def test_the_address_that_takes_the_queries_is_as_good_as_the_root(reading):
    assert await reading("/process") == ReadManifest(STANDALONE, ROOT, "agentscope", {})


@pytest.mark.parametrize("behaviour", [answer(GOOD), answer(body=b"<html>"), answer(status=500), answer([1])])
async def test_another_address_without_a_manifest_takes_queries_of_fixies_protocol(reading, app, behaviour):
    serve_manifest(app, behaviour)
    assert await reading("/process") == ReadManifest(STANDALONE, {}, "query_http")


async def test_who_says_fixie_is_taken_at_their_word(reading):
    with pytest.raises(AgentInvalidResponse):
        await reading(protocol="fixie")
    assert (await reading("/process", protocol="fixie")).transport == "query_http"


@pytest.mark.parametrize("behaviour", [answer(GOOD), answer(status=404), answer(status=401), answer(body=b"<html>")])
async def test_who_says_agentscope_is_taken_at_their_word_where_anything_answers(reading, app, behaviour):
    serve_manifest(app, behaviour)
    assert await reading(protocol="agentscope") == ReadManifest(STANDALONE, {}, "agentscope", {})


async def test_who_says_agentscope_is_asked_where_the_app_says(reading):
    assert (await reading(protocol="agentscope")).options == {"process": "/process"}


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_that_fails_is_no_proof_of_life(reading, app, status):
    serve_manifest(app, answer(status=status))
    with pytest.raises(FixieError):
        await reading(protocol="agentscope")


async def test_where_nobody_listens_nothing_is_found():
    with pytest.raises(AgentUnreachable):
        await read_manifest("http://127.0.0.1:9999/", token="t", protocol="agentscope")
    await aclose_client()


# Over REST


def test_an_agent_app_is_registered_by_its_address_alone(http, app):
    made = http.post("/api/agents", json={"handle": "app", "deployment_url": app.url}).json()
    assert (made["protocol"], made["revision"]["state"], made["revision"]["transport"]) == ("", "ready", "agentscope")
    assert Agent.objects.get(handle="app", owner__handle=made["owner"]).current_revision.options == {
        "process": "/process"
    }


def test_an_owner_says_what_their_agent_speaks(http, app):
    serve_manifest(app, answer(status=404))
    fields = {"handle": "app", "protocol": "agentscope", "deployment_url": f"{app.url}/chat"}
    made = http.post("/api/agents", json=fields)
    assert made.status_code == 201, made.text
    path = f"/api/agents/{made.json()['agent_id']}"
    assert http.get(path).json()["protocol"] == made.json()["protocol"] == "agentscope"
    assert made.json()["revision"]["transport"] == "agentscope"


@pytest.mark.parametrize("protocol", ["mcp", "AgentScope", " ", "\0", "x" * 1000])
def test_another_protocol_is_refused_by_name_and_nothing_is_written(http, app, people, protocol):
    fields = {"handle": "app", "protocol": protocol, "deployment_url": app.url}
    refused = http.post("/api/agents", json=fields)
    assert refused.status_code == 400
    details = refused.json()["error"]["details"]
    assert (details["field"], details["allowed"]) == ("protocol", ["", "fixie", "agentscope"])
    assert "fixie or agentscope" in refused.json()["error"]["message"]
    assert not people.owner.owner.agents.exists()
    assert app.requests == []


def test_a_changed_protocol_reads_the_address_again(http, app):
    serve_manifest(app, METHOD_NOT_ALLOWED)
    made = http.post("/api/agents", json={"handle": "app", "deployment_url": app.url}).json()
    assert made["revision"]["transport"] == "query_http"

    changed = http.patch(f"/api/agents/{made['agent_id']}", json={"protocol": "agentscope"}).json()

    assert (changed["protocol"], changed["revision"]["transport"]) == ("agentscope", "agentscope")
    assert changed["revision"]["id"] != made["revision"]["id"]
    assert changed["revision"]["url"] == app.url


def test_the_same_protocol_again_reads_nothing(http, app):
    made = http.post("/api/agents", json={"handle": "app", "deployment_url": app.url}).json()
    before = len(app.requests)
    changed = http.patch(f"/api/agents/{made['agent_id']}", json={"protocol": "", "name": "App"}).json()
    assert (len(app.requests), changed["revision"]) == (before, made["revision"])


def test_a_protocol_that_is_not_spoken_there_says_so_until_it_is_mended(http, app):
    made = http.post("/api/agents", json={"handle": "app", "deployment_url": app.url}).json()
    path = f"/api/agents/{made['agent_id']}"

    wrong = http.patch(path, json={"protocol": "fixie"}).json()["revision"]
    assert wrong["state"] == "error"
    assert "few_shots" in wrong["error"]

    right = http.patch(path, json={"protocol": "agentscope"}).json()["revision"]
    assert (right["state"], right["transport"], right["error"]) == ("ready", "agentscope", "")


def test_a_protocol_may_be_chosen_before_an_address(http, app):
    made = http.post("/api/agents", json={"handle": "app"}).json()
    path = f"/api/agents/{made['agent_id']}"
    assert http.patch(path, json={"protocol": "agentscope"}).json()["revision"] is None
    both = {"deployment_url": f"{app.url}/process"}
    assert http.patch(path, json=both).json()["revision"]["transport"] == "agentscope"


def test_a_new_revision_speaks_the_agents_protocol(http, app):
    made = http.post("/api/agents", json={"handle": "app", "protocol": "agentscope"}).json()
    path = f"/api/agents/{made['agent_id']}/revisions"
    assert http.post(path, json={"deployment_url": app.url}).json()["transport"] == "agentscope"


def test_refreshing_an_app_that_moved_its_path_makes_a_revision(http, app):
    made = http.post("/api/agents", json={"handle": "app", "deployment_url": app.url}).json()
    path = f"/api/refresh/{made['agent_id']}"
    assert http.post(path).json()["revision"]["id"] == made["revision"]["id"]
    serve_manifest(app, answer({**ROOT, "endpoints": {"process": "/v2"}}))
    assert http.post(path).json()["revision"]["id"] != made["revision"]["id"]


@pytest.mark.parametrize(("who", "status"), [("teammate", 200), ("outsider", 404), (None, 401)])
def test_only_an_agents_own_people_say_what_it_speaks(site, people, api_key, app, agent, who, status):
    before = Agent.objects.filter(pk=agent.pk).values().get()
    with site.client(api_key(getattr(people, who)) if who else None) as http:
        answered = http.patch(
            f"/api/agents/{agent.agent_id}", json={"protocol": "agentscope", "deployment_url": app.url}
        )
    assert answered.status_code == status
    after = Agent.objects.filter(pk=agent.pk).values().get()
    assert (after == before) == (status != 200)
    assert bool(app.requests) == (status == 200)


# Over GraphQL

CREATE = """mutation($d: CreateAgentInput!) {createAgent(agentData: $d) {agent {agentId protocol queryUrl}}}"""
UPDATE = (
    """mutation($d: UpdateAgentInput!) {updateAgent(agentData: $d) {agent {protocol currentRevision {id state}}}}"""
)


def ask(http: httpx2.Client, document: str, **data: Any) -> dict[str, Any]:
    answered = http.post("/graphql", json={"query": document, "variables": {"d": data}})
    return dict(answered.json())


def test_a_protocol_is_given_and_changed_over_graphql(http, app, people):
    made = ask(http, CREATE, handle="app", protocol="agentscope", queryUrl=f"{app.url}/process")
    assert made["data"]["createAgent"]["agent"]["protocol"] == "agentscope"

    changed = ask(http, UPDATE, handle="app", protocol="fixie")
    assert changed["data"]["updateAgent"]["agent"]["protocol"] == "fixie"
    assert people.owner.owner.agents.get().revisions.count() == 2

    left = ask(http, UPDATE, handle="app", name="App")
    assert left["data"]["updateAgent"]["agent"]["protocol"] == "fixie"


def test_another_protocol_is_refused_over_graphql(http):
    refused = ask(http, CREATE, handle="app", protocol="mcp")
    assert refused["errors"][0]["extensions"]["code"] == "invalid_request"
    assert refused["errors"][0]["extensions"]["details"]["field"] == "protocol"


# By administrators


def test_an_administrator_says_what_an_agent_speaks_and_it_is_read_again(
    browser: Browser, administrator: Any, agent: Agent
) -> None:
    answered = browser.post(f"{AGENTS}{agent.pk}/change/", change_form(agent, protocol="agentscope"))
    assert answered.status_code == 302, answered.context["errors"]
    changed = Agent.objects.select_related("current_revision").get(pk=agent.pk)
    assert changed.protocol == "agentscope"
    assert changed.current_revision.target == agent.current_revision.target
    assert refreshes(agent) == [administrator.pk]


# Liveness


def checked(agent: Agent) -> Liveness:
    Liveness.objects.update_or_create(agent=agent, defaults={"next_check": timezone.now() - timedelta(days=1)})

    async def look() -> None:
        await check(agent.pk)
        await aclose_client()

    asyncio.run(look())
    return Liveness.objects.get(agent=agent)


def of_app(people: Any, app: ScriptedAgent, path: str = "", **fields: Any) -> Agent:
    root, options = ({}, {}) if path else (ROOT, {"process": "/process"})
    read = ReadManifest(STANDALONE, root, "agentscope", options)
    return create_agent(by=people.owner, published=True, reading=Reading(app.url + path, read), **fields)


def revisions(agent: Agent) -> int:
    return agent.revisions.count()


@pytest.mark.parametrize("protocol", ["", "agentscope"])
def test_an_app_that_tells_of_itself_is_alive_and_is_asked_nothing(people, app, protocol):
    agent = of_app(people, app, handle="app", protocol=protocol, queries=["Do something"])
    found = checked(agent)
    assert (found.healthy, found.failures, revisions(agent)) == (True, 0, 1)
    assert [request.method for request in app.requests] == ["GET"]


def test_an_app_without_a_root_is_asked_the_owners_query(people, app):
    agent = of_app(people, app, "/process", handle="app", protocol="agentscope", queries=["Are you there?"])
    serve_manifest(app, answer(status=404))
    found = checked(agent)
    assert (found.healthy, found.failures, revisions(agent)) == (True, 0, 1)
    assert app.requests[-1].json["input"][0]["content"][0]["text"] == "Are you there?"


@pytest.mark.parametrize("protocol", ["", "agentscope"])
@pytest.mark.parametrize("behaviour", [answer(status=503), answer(status=500)], ids=["503", "500"])
def test_an_app_that_fails_is_found_failing_and_stays_what_it_is(
    people: Any, app: ScriptedAgent, protocol: str, behaviour: Behaviour
) -> None:
    agent = of_app(people, app, handle="app", protocol=protocol)
    serve_manifest(app, behaviour)
    assert checked(agent).failures == 1
    assert revisions(agent) == 1


def test_a_gateway_that_lost_its_app_does_not_make_another_agent_of_it(people, app):
    agent = of_app(people, app, handle="app")
    serve_manifest(app, answer(status=404))
    assert checked(agent).failures == 1
    assert revisions(agent) == 1
