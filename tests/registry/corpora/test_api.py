"""Corpora over REST, GraphQL and on the agent's page: for who may change the agent, and for nobody else."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from accounts.models import User
from registry.models import Agent, Corpus
from registry.transports.base import UrlCorpus
from tests.agents import answer
from tests.registry.corpora.library import corpora_of, put_agent, wait_until_read
from tests.registry.corpora.websites import Website

QUERY = """query($agentId: String!) { agentById(agentId: $agentId) { allRevisions {
    isCurrent indexedCorpora { status created modified vectorCount documentsDone documentsFailed error } } } }"""
# Owner, teammate, outsider, anonymous.
STRANGERS = ["outsider", None]


@pytest.fixture
def http(site: Any) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site.url, timeout=30) as client:
        yield client


@pytest.fixture
def call(http: httpx2.Client, people: Any, api_key: Callable[..., str]) -> Callable[..., httpx2.Response]:
    """`call("owner", "GET", path)`: somebody's request, or anybody's where the name is None."""
    keys: dict[str, str] = {}

    def send(who: str | None, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {}
        if who is not None:
            if who not in keys:
                keys[who] = api_key(getattr(people, who))
            headers["Authorization"] = f"Bearer {keys[who]}"
        return http.request(method, path, headers=headers, **more)

    return send


@pytest.fixture
def agent(site: Any, website: Website, people: Any) -> Agent:
    """A published agent with a corpus that is read: two documents, one that failed."""
    website.text("/rules", "Dogs must be on a leash.")
    website.text("/times", "The park opens at six.")
    website.get("/gone", answer({}, status=404))
    made = put_agent(people, UrlCorpus(tuple(f"{website.url}{path}" for path in ("/rules", "/gone", "/times"))))
    Agent.objects.filter(pk=made.pk).update(published=True)
    wait_until_read(made)
    return made


def rest(agent: Agent, rest: str = "") -> str:
    return f"/api/agents/{agent.agent_id}/corpora{rest}"


@pytest.mark.parametrize("who", ["owner", "teammate"])
def test_an_owner_sees_how_far_the_reading_is(who: str, call: Any, agent: Agent, website: Website) -> None:
    found = call(who, "GET", rest(agent))
    assert found.status_code == 200, found.text
    (corpus,) = found.json()["corpora"]
    assert (corpus["kind"], corpus["status"], corpus["error"], corpus["anew"]) == ("urls", "ready", "", None)
    assert (corpus["documents_done"], corpus["documents_failed"], corpus["vector_count"]) == (2, 1, 2)
    assert corpus["urls"] == [f"{website.url}{path}" for path in ("/rules", "/gone", "/times")]


def test_documents_come_in_pages_with_what_went_wrong(call: Any, agent: Agent, website: Website) -> None:
    (corpus,) = call("owner", "GET", rest(agent)).json()["corpora"]
    documents = rest(agent, f"/{corpus['id']}/documents")
    first = call("owner", "GET", documents, params={"limit": 2}).json()
    second = call("owner", "GET", documents, params={"limit": 2, "after": first["next"]}).json()
    paths = [each["source"].removeprefix(website.url) for each in first["documents"] + second["documents"]]
    assert (paths, second["next"]) == (["/rules", "/gone", "/times"], None)
    (failed,) = call("owner", "GET", documents, params={"status": "failed"}).json()["documents"]
    assert failed["source"] == f"{website.url}/gone"
    assert "404" in failed["error"]
    assert call("owner", "GET", documents, params={"status": "odd"}).status_code == 400


@pytest.mark.parametrize("who", STRANGERS)
def test_nobody_else_sees_or_starts_a_reading(who: str | None, call: Any, agent: Agent) -> None:
    (corpus,) = call("owner", "GET", rest(agent)).json()["corpora"]
    refused = 401 if who is None else 404
    assert call(who, "GET", rest(agent)).status_code == refused
    assert call(who, "GET", rest(agent, f"/{corpus['id']}/documents")).status_code == refused
    assert call(who, "POST", rest(agent, "/reindex")).status_code == refused
    assert Corpus.objects.filter(revision__agent=agent).count() == 1


def test_a_corpus_is_found_below_its_own_agent_alone(call: Any, agent: Agent, people: Any) -> None:
    (corpus,) = call("owner", "GET", rest(agent)).json()["corpora"]
    other = put_agent(people)
    assert call("owner", "GET", rest(other, f"/{corpus['id']}/documents")).status_code == 404
    assert call("owner", "GET", rest(agent, "/999999999999/documents")).status_code == 404


def test_an_owner_has_it_read_again(call: Any, agent: Agent, website: Website) -> None:
    website.text("/rules", "Dogs may run free now.")
    answered = call("teammate", "POST", rest(agent, "/reindex"))
    assert answered.status_code == 202
    (corpus,) = answered.json()["corpora"]
    assert (corpus["status"], corpus["vector_count"]) == ("ready", 2)
    assert corpus["anew"]["status"] in ("pending", "indexing")
    (new,) = wait_until_read(agent)
    assert new.pk == corpus["anew"]["id"]
    assert website.paths.count("/rules") == 2


def test_an_agent_without_corpora_has_none_to_read_again(call: Any, people: Any) -> None:
    bare = put_agent(people)
    assert call("owner", "GET", rest(bare)).json() == {"corpora": []}
    refused = call("owner", "POST", rest(bare, "/reindex"))
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (400, "agent")


def indexed(call: Any, who: str, agent: Agent) -> list[Any]:
    answered = call(who, "POST", "/graphql", json={"query": QUERY, "variables": {"agentId": agent.agent_id}}).json()
    assert "errors" not in answered, answered
    (revision,) = answered["data"]["agentById"]["allRevisions"]
    return list(revision["indexedCorpora"])


def test_graphql_tells_owners_and_shows_strangers_nothing(call: Any, agent: Agent) -> None:
    (corpus,) = indexed(call, "teammate", agent)
    assert (corpus["status"], corpus["vectorCount"], corpus["error"]) == ("COMPLETED", 2, "")
    assert (corpus["documentsDone"], corpus["documentsFailed"]) == (2, 1)
    assert indexed(call, "outsider", agent) == []
    Corpus.objects.filter(revision__agent=agent).update(status="failed", error="It is gone.")
    (corpus,) = indexed(call, "owner", agent)
    assert (corpus["status"], corpus["error"]) == ("FAILED", "It is gone.")


def signed_in(client: Any, user: User) -> Any:
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_the_page_shows_it_to_owners_who_may_press_the_button(client: Any, people: Any, agent: Agent) -> None:
    path = f"/agents/{agent.agent_id}"
    signed_in(client, people.teammate)
    page = client.get(path).content.decode()
    (old,) = corpora_of(agent)
    assert "What it reads" in page
    assert "2 documents, 1 failed" in page
    assert "/gone" in page
    pressed = client.post(f"{path}/corpora/reindex", follow=True)
    assert "being read again" in pressed.content.decode()
    (new,) = wait_until_read(agent)
    assert new.pk != old.pk


def test_the_page_shows_strangers_nothing_of_it(client: Any, people: Any, agent: Agent) -> None:
    path = f"/agents/{agent.agent_id}"
    signed_in(client, people.outsider)
    page = client.get(path)
    assert page.status_code == 200
    assert "What it reads" not in page.content.decode()
    assert client.post(f"{path}/corpora/reindex").status_code == 404
    assert Corpus.objects.filter(revision__agent=agent).count() == 1


def test_a_deployment_over_graphql_may_ask_for_reading_anew(call: Any, agent: Agent, website: Website) -> None:
    manifest = {"few_shots": [], "corpora": [{"urls": [f"{website.url}/rules"]}]}
    website.on("/", answer(manifest), method="GET")
    mutation = """mutation($agent: String!, $url: String!, $again: Boolean!) {
        createAgentRevision(agentHandle: $agent, makeCurrent: true, reindexCorpora: $again,
            revision: {externalDeployment: {url: $url}}) { revision { id indexedCorpora { status } } } }"""

    def deployed(again: bool) -> list[Any]:
        variables = {"agent": agent.agent_id, "url": website.url, "again": again}
        answered = call("owner", "POST", "/graphql", json={"query": mutation, "variables": variables}).json()
        assert "errors" not in answered, answered
        return list(answered["data"]["createAgentRevision"]["revision"]["indexedCorpora"])

    assert len(deployed(again=False)) == 1
    wait_until_read(agent)
    read_once = website.paths.count("/rules")
    assert deployed(again=False) == [{"status": "COMPLETED"}]
    assert deployed(again=True) == [{"status": "IN_PROGRESS"}]
    wait_until_read(agent)
    assert website.paths.count("/rules") == read_once + 1
