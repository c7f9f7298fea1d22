"""An agent's sample queries over REST, and its health: who sees what of them, and who may change it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.auth import Caller
from accounts.tokens import CallClaims, sign_call_token
from registry.actions import create_agent
from registry.api import list_agents
from registry.corrections.api import SampleFilters, list_samples
from registry.fields import QUERIES_MAX, QUERY_MAX
from registry.models import Agent, Liveness
from registry.schemas import AgentFilters
from tests.registry.indexed import indexed_agent, sample
from tests.registry.readings import reads
from tests.sessions_app.people import error_of
from tests.sites import Site


@pytest.fixture
def http(site: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{site.url}/api") as client:
        yield client


@pytest.fixture
def keys(people: Any, api_key: Callable[..., str], agent: Agent) -> dict[str, dict[str, str]]:
    """The headers that each kind of caller sends."""
    users = {"owner": people.owner, "teammate": people.teammate, "outsider": people.outsider}
    claims = CallClaims(people.owner.pk, agent.agent_id, "no-such-session", "", ())
    tokens = {**{name: api_key(user) for name, user in users.items()}, "agent": sign_call_token(claims, lifetime=60)}
    return {"anonymous": {}, **{name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}}


@pytest.fixture
def agent(people: Any) -> Agent:
    """A private agent of the organization."""
    return indexed_agent(people.organization.owner, name="Dice", published=False)


@pytest.fixture
def published(agent: Agent) -> Agent:
    Agent.objects.filter(pk=agent.pk).update(published=True)
    return agent


def everything(agent: Agent) -> list[tuple[Any, ...]]:
    return list(agent.sample_queries.order_by("pk").values_list("pk", "user", "text"))


def test_everybody_reads_what_counts_for_everybody_and_their_own(http, keys, published, people):
    other = indexed_agent(people.outsider.owner)
    sample(published, "Roll 3d8", source="few_shot", clash=other)
    sample(published, "mine", people.outsider)
    sample(published, "theirs", people.teammate)

    answer = http.get(f"/agents/{published.agent_id}/sample-queries", headers=keys["outsider"])

    items = answer.json()["items"]
    assert [(item["text"], item["suggested"], item["yours"]) for item in items] == [
        ("Roll 3d8", False, False),
        ("mine", True, True),
    ]
    assert [(item["source"], item["clash"]) for item in items] == [(None, None), ("correction", None)]


@pytest.mark.parametrize("who", ["owner", "teammate"])
def test_owners_see_all_of_it_but_not_who_suggests(http, keys, agent, people, who):
    other = indexed_agent(people.outsider.owner)
    sample(agent, "Roll 3d8", source="few_shot", clash=other)
    sample(agent, "theirs", people.outsider)

    answer = http.get(f"/agents/{agent.agent_id}/sample-queries", headers=keys[who])

    first, second = answer.json()["items"]
    assert (first["source"], first["clash"], first["suggested"]) == ("few_shot", other.agent_id, False)
    assert (second["source"], second["suggested"], second["yours"]) == ("correction", True, False)
    assert people.outsider.username not in answer.text.replace(other.agent_id, "")


def test_they_come_in_pages_and_by_kind(http, keys, agent, people):
    for number in range(5):
        sample(agent, f"public {number}")
    sample(agent, "suggested", people.outsider)
    path = f"/agents/{agent.agent_id}/sample-queries"

    def page(**query: Any) -> Any:
        return http.get(path, headers=keys["owner"], params=query).json()

    first = page(limit=4, suggested="false")
    second = page(limit=4, suggested="false", after=first["next"])
    texts = [item["text"] for each in (first, second) for item in each["items"]]
    assert texts == [f"public {number}" for number in range(5)]
    assert second["next"] is None
    assert [item["text"] for item in page(suggested="true")["items"]] == ["suggested"]
    for bad in ({"limit": 501}, {"after": -1}, {"after": 2**63}, {"suggested": "perhaps"}):
        refused = http.get(path, headers=keys["owner"], params=bad)
        assert refused.status_code == 400
        assert error_of(refused)["details"]["field"] == next(iter(bad))


def test_a_page_takes_the_same_number_of_queries_however_long_it_is(agent, people, rf):
    request = rf.get("/")
    request.auth = Caller(user_id=people.owner.pk, jti=None)
    other = indexed_agent(people.outsider.owner)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            list_samples(request, agent.owner.handle, agent.handle, SampleFilters())
        return len(captured)

    sample(agent, "first", clash=other)
    few = queries()
    for number in range(9):
        sample(agent, f"more {number}", clash=other)

    assert queries() == few


ACCEPT = {"owner": 200, "teammate": 200, "outsider": 404, "agent": 401, "anonymous": 401}


@pytest.mark.parametrize("who", ACCEPT)
def test_suggestions_are_accepted_by_those_who_may_change_the_agent(http, keys, published, people, who):
    made = sample(published, "Draw a card", people.outsider)
    before = everything(published)

    answer = http.post(f"/agents/{published.agent_id}/sample-queries/{made.pk}/accept", headers=keys[who])

    assert answer.status_code == ACCEPT[who]
    accepted = [(made.pk, None, "Draw a card")]
    assert everything(published) == (accepted if ACCEPT[who] == 200 else before)
    if ACCEPT[who] == 200:
        assert (answer.json()["suggested"], answer.json()["source"]) == (False, "correction")


DELETE = {"owner": 204, "teammate": 204, "outsider": 404, "agent": 401, "anonymous": 401}


@pytest.mark.parametrize("who", DELETE)
@pytest.mark.parametrize("accepted", [True, False])
def test_corrections_are_deleted_by_those_who_may_change_the_agent(http, keys, published, people, who, accepted):
    maker = None if accepted else people.teammate
    made = sample(published, "Draw a card", maker)
    before = everything(published)

    answer = http.delete(f"/agents/{published.agent_id}/sample-queries/{made.pk}", headers=keys[who])

    assert answer.status_code == DELETE[who]
    assert everything(published) == ([] if DELETE[who] == 204 else before)


def test_a_user_deletes_their_own_correction_and_nobody_elses_with_it(http, keys, published, people):
    mine = sample(published, "Draw a card", people.outsider)
    sample(published, "Draw a card", people.teammate)
    path = f"/agents/{published.agent_id}/sample-queries/{mine.pk}"

    assert http.delete(path, headers=keys["outsider"]).status_code == 204
    assert [user for _, user, _ in everything(published)] == [people.teammate.pk]
    assert http.delete(path, headers=keys["outsider"]).status_code == 404


def test_what_is_no_correction_of_the_agent_is_not_found(http, keys, agent, people):
    other = indexed_agent(people.owner.owner)
    elsewhere, own = sample(other, "elsewhere", people.outsider), sample(agent, "Roll 3d8", source="few_shot")

    for number in (elsewhere.pk, own.pk, 0, 2**40, 2**70):
        path = f"/agents/{agent.agent_id}/sample-queries/{number}"
        for answer in (
            http.post(f"{path}/accept", headers=keys["owner"]),
            http.delete(path, headers=keys["owner"]),
        ):
            assert answer.status_code == 404
            assert error_of(answer)["details"] == {"field": "sample_query"}
    assert http.delete(f"/agents/{agent.agent_id}/sample-queries/x", headers=keys["owner"]).status_code == 400
    assert len(everything(agent)) == len(everything(other)) == 1


def test_a_private_agents_samples_are_not_there_for_others(http, keys, agent):
    sample(agent, "secret")

    for who, status in {"outsider": 404, "anonymous": 401, "agent": 401}.items():
        answer = http.get(f"/agents/{agent.agent_id}/sample-queries", headers=keys[who])
        assert answer.status_code == status
        assert "secret" not in answer.text


# Health


def failing(agent: Agent) -> str:
    """Marks the agent as failing; returns when it answered last."""
    last = timezone.now() - timedelta(hours=5)
    row = {"healthy": False, "failures": 3, "last_alive": last, "error": "It refused the connection."}
    Liveness.objects.update_or_create(agent=agent, defaults={**row, "next_check": last + timedelta(days=9)})
    return last.isoformat()


def test_an_agents_health_is_everybodys_and_its_error_the_owners(http, keys, published):
    assert http.get(f"/agents/{published.agent_id}", headers=keys["outsider"]).json()["health"] == {
        "healthy": True,
        "last_alive": None,
        "error": None,
    }
    last = failing(published)

    for who, error in {"owner": "It refused the connection.", "outsider": None}.items():
        read = http.get(f"/agents/{published.agent_id}", headers=keys[who]).json()
        [listed] = http.get("/agents", headers=keys[who], params={"owner": published.owner.handle}).json()["agents"]
        assert read["health"] == listed["health"]
        assert (read["health"]["healthy"], read["health"]["error"]) == (False, error)
        assert read["health"]["last_alive"].replace("Z", "+00:00") == last


GRAPHQL = """query ($id: String!) {
    agentById(agentId: $id) { health { healthy lastAlive error } }
    allAgents(limit: 1000) { agentId health { healthy error } }
}"""


def test_graphql_says_the_same(site, keys, published):
    last = failing(published)

    for who, error in {"teammate": "It refused the connection.", "outsider": None}.items():
        asked = {"query": GRAPHQL, "variables": {"id": published.agent_id}}
        data = httpx2.post(f"{site.url}/graphql", json=asked, headers=keys[who]).json()["data"]
        assert data["agentById"]["health"] == {"healthy": False, "lastAlive": last, "error": error}
        assert {"agentId": published.agent_id, "health": {"healthy": False, "error": error}} in data["allAgents"]


def test_another_deployment_is_told_as_healthy_at_once(http, keys, agent):
    failing(agent)

    changed = http.patch(
        f"/agents/{agent.agent_id}", headers=keys["owner"], json={"deployment_url": "http://127.0.0.1:9999/"}
    )

    assert changed.json()["health"]["healthy"] is True
    assert changed.json()["health"]["error"] == ""


def test_the_list_of_agents_takes_no_query_more_for_their_health(people, rf):
    request = rf.get("/")
    request.auth = Caller(user_id=people.owner.pk, jti=None)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            list_agents(request, AgentFilters(owner=people.owner.username))
        return len(captured)

    create_agent(by=people.owner, handle="a0", reading=reads())
    few = queries()
    for number in range(1, 8):
        failing(create_agent(by=people.owner, handle=f"a{number}", reading=reads()))

    assert queries() == few


# What it can be asked, as given


def test_what_an_agent_can_be_asked_is_given_at_registration_and_changed(http, keys):
    made = http.post("/agents", headers=keys["owner"], json={"handle": "asked", "queries": ["Roll a die", "掷骰子"]})
    path = f"/agents/{made.json()['agent_id']}"
    assert made.json()["queries"] == ["Roll a die", "掷骰子"]

    assert http.patch(path, headers=keys["owner"], json={"name": "Dice"}).json()["queries"] == ["Roll a die", "掷骰子"]
    assert http.patch(path, headers=keys["owner"], json={"queries": []}).json()["queries"] == []


@pytest.mark.parametrize(
    "queries",
    [["x" * (QUERY_MAX + 1)], ["a question"] * (QUERIES_MAX + 1), [""], [" \n"], ["a\0b"], "one", [1], [None], {}],
    ids=lambda value: str(value)[:12],
)
def test_queries_that_cannot_be_kept_are_refused_and_nothing_changes(http, keys, agent, people, queries):
    for answer in (
        http.post("/agents", headers=keys["owner"], json={"handle": "refused", "queries": queries}),
        http.patch(f"/agents/{agent.agent_id}", headers=keys["owner"], json={"queries": queries, "name": "New"}),
    ):
        assert answer.status_code == 400
        assert error_of(answer)["details"]["field"].startswith("queries")
    assert not Agent.objects.filter(handle="refused", owner=people.owner.owner).exists()
    assert Agent.objects.get(pk=agent.pk).name == "Dice"
