"""Revisions of an agent over REST: deployed beside the current one, made current, restored, deleted."""

import itertools
import uuid

import httpx2
import pytest

from accounts.actions import create_api_key
from registry.actions import add_revision, create_agent
from registry.models import Agent
from tests.agents import ScriptedAgent
from tests.registry.readings import URL, reads

numbers = itertools.count()


@pytest.fixture
def http(site):
    with httpx2.Client(base_url=f"{site.url}/api") as client:
        yield client


def key_of(user) -> dict[str, str]:
    return {"Authorization": f"Bearer {create_api_key(user=user, name='test').token}"}


def current_of(agent: Agent) -> int | None:
    return Agent.objects.values_list("current_revision_id", flat=True).get(pk=agent.pk)


def revisions_of(agent: Agent) -> list[int]:
    return list(agent.revisions.order_by("pk").values_list("pk", flat=True))


def deployed(agent: Agent, people, *, current: bool = False) -> int:
    reading = reads(url=f"{URL}/{next(numbers)}")
    return add_revision(agent=agent, by=people.owner, reading=reading, current=current).pk


def test_a_revision_that_is_not_made_current_does_not_answer(http, people, agent):
    before = current_of(agent)
    with ScriptedAgent() as server:
        body = {"deployment_url": server.url, "metadata": {"made by": "a test"}, "make_current": False}
        made = http.post(f"/agents/{agent.agent_id}/revisions", json=body, headers=key_of(people.teammate))

    assert made.status_code == 201, made.text
    assert made.json()["metadata"] == {"made by": "a test"}
    assert (made.json()["current"], current_of(agent)) == (False, before)
    listed = http.get(f"/agents/{agent.agent_id}/revisions", headers=key_of(people.owner)).json()["revisions"]
    assert [(one["id"], one["current"]) for one in listed] == [(made.json()["id"], False), (before, True)]


def test_a_revision_is_made_current_restored_and_deleted(http, people, agent):
    old, path, key = current_of(agent), f"/agents/{agent.agent_id}/revisions", key_of(people.owner)
    new = deployed(agent, people)

    changed = http.put(f"{path}/{new}/current", headers=key)
    assert (changed.status_code, changed.json()["revision"]["id"]) == (200, new)

    assert http.put(f"{path}/{old}/current", headers=key).json()["revision"]["id"] == old
    assert http.delete(f"{path}/{new}", headers=key).status_code == 204
    assert revisions_of(agent) == [old]


def test_without_its_current_revision_an_agent_answers_nothing_until_another_is_current(http, people, agent):
    old, key = current_of(agent), key_of(people.owner)
    new = deployed(agent, people, current=True)

    assert http.delete(f"/agents/{agent.agent_id}/revisions/{new}", headers=key).status_code == 204
    assert current_of(agent) is None

    asked = http.post(f"/agents/{agent.agent_id}", json={"message": {"text": "Roll 3d8"}}, headers=key)
    assert asked.status_code == 404, asked.text

    assert http.put(f"/agents/{agent.agent_id}/revisions/{old}/current", headers=key).status_code == 200
    assert current_of(agent) == old


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_agent_has_only_revisions_of_its_own(http, people, agent, method):
    other = create_agent(by=people.owner, handle=f"other-{uuid.uuid4().hex[:8]}", reading=reads())
    suffix = "/current" if method == "PUT" else ""
    for revision in (other.current_revision_id, 2**40, "nonsense"):
        path = f"/agents/{agent.agent_id}/revisions/{revision}{suffix}"
        answer = http.request(method, path, headers=key_of(people.owner))
        assert answer.status_code in (400, 404), answer.text
        assert answer.json()["error"]["details"]["field"] == "revision"
    assert (current_of(other), current_of(agent)) == (other.current_revision_id, agent.current_revision_id)


@pytest.mark.parametrize("who", ["outsider", "anonymous"])
def test_nobody_else_touches_revisions(http, people, agent, who):
    Agent.objects.filter(pk=agent.pk).update(published=True)
    spare = deployed(agent, people)
    before = (current_of(agent), revisions_of(agent))
    headers = key_of(people.outsider) if who == "outsider" else {}
    path = f"/agents/{agent.agent_id}/revisions"

    answers = [
        http.post(path, json={"deployment_url": URL}, headers=headers),
        http.put(f"{path}/{spare}/current", headers=headers),
        http.delete(f"{path}/{spare}", headers=headers),
    ]

    assert [answer.status_code for answer in answers] == [404 if who == "outsider" else 401] * 3
    assert (current_of(agent), revisions_of(agent)) == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "deployment_url"),
        ({"deployment_url": "ftp://example.com"}, "deployment_url"),
        ({"deployment_url": URL, "metadata": {str(number): "" for number in range(51)}}, "metadata"),
        ({"deployment_url": URL, "metadata": {"k" * 201: ""}}, "metadata.key"),
        ({"deployment_url": URL, "metadata": {"k": "\0"}}, "metadata.value"),
        ({"deployment_url": URL, "make_current": "perhaps"}, "make_current"),
        ({"deployment_url": URL, "current": True}, "current"),
    ],
)
def test_a_bad_revision_is_named_and_not_kept(http, people, agent, body, field):
    before = revisions_of(agent)
    answer = http.post(f"/agents/{agent.agent_id}/revisions", json=body, headers=key_of(people.owner))

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"]["field"] == field
    assert revisions_of(agent) == before
