"""Agents over REST: who may do what, what is refused, and what comes back."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actions import revoke_api_key
from accounts.auth import Caller
from accounts.models import ApiKey
from registry.actions import create_agent, update_agent
from registry.api import list_agents
from registry.models import Agent
from registry.schemas import AgentFilters
from tests.agents import ScriptedAgent, answer
from tests.registry.readings import GOOD, fails, reads, serve_manifest

# Nobody listens there: registering works, reading does not.
SILENT = "http://127.0.0.1:9999/"


@pytest.fixture
def http(site: Any) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{site.url}/api") as client:
        yield client


@pytest.fixture
def keys(people: Any, api_key: Callable[..., str]) -> dict[str, dict[str, str]]:
    """The headers that each kind of caller sends."""

    def bearer(user: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_key(user)}"}

    revoked = bearer(people.owner)
    revoke_api_key(key=ApiKey.objects.filter(user=people.owner).latest("pk"), by=people.owner)
    return {
        "owner": bearer(people.owner),
        "teammate": bearer(people.teammate),
        "outsider": bearer(people.outsider),
        "revoked": revoked,
        "tampered": {"Authorization": f"Bearer {api_key(people.owner)[:-6]}AAAAAA"},
        "anonymous": {},
    }


def snapshot(agent: Agent) -> tuple[Any, ...]:
    return Agent.objects.filter(pk=agent.pk).values().first(), list(agent.revisions.values())


WHO_MAY_READ = {
    "owner": 200,
    "teammate": 200,
    "outsider": 404,
    "revoked": 401,
    "tampered": 401,
    "anonymous": 401,
}
WRITES = [
    ("PATCH", "/agents/{}", {"name": "Taken over"}),
    ("PATCH", "/agents/{}", {"deployment_url": SILENT}),
    ("DELETE", "/agents/{}", None),
    ("POST", "/refresh/{}", None),
]


@pytest.mark.parametrize(("who", "status"), WHO_MAY_READ.items())
def test_a_private_agent_is_read_by_its_owners_only(http, keys, agent, who, status):
    for path in ("", "/revisions"):
        answer = http.get(f"/agents/{agent.agent_id}{path}", headers=keys[who])
        assert answer.status_code == status, answer.text
        assert ("error" in answer.json()) == (status != 200)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("who", ["outsider", "revoked", "tampered", "anonymous"])
@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_nobody_else_writes_and_nothing_changes(http, keys, people, agent, published, who, method, path, body):
    update_agent(agent=agent, by=people.owner, published=published)
    before = snapshot(agent)

    answer = http.request(method, path.format(agent.agent_id), json=body, headers=keys[who])

    assert answer.status_code == (404 if who == "outsider" else 401), answer.text
    assert snapshot(agent) == before


@pytest.mark.parametrize("who", ["outsider", "revoked", "tampered", "anonymous"])
def test_nobody_else_registers_an_agent_for_an_organization(http, keys, people, who):
    owner = people.organization.owner

    answer = http.post("/agents", json={"owner": owner.handle, "handle": "mole"}, headers=keys[who])

    assert answer.status_code == (400 if who == "outsider" else 401), answer.text
    assert not owner.agents.exists()


@pytest.mark.parametrize("who", ["owner", "teammate"])
def test_every_member_changes_the_organizations_agent(http, keys, agent, who):
    changed = http.patch(f"/agents/{agent.agent_id}", json={"name": "Cubes", "published": True}, headers=keys[who])

    assert changed.status_code == 200, changed.text
    assert (changed.json()["name"], changed.json()["published"]) == ("Cubes", True)


def test_only_an_admin_deletes_the_organizations_agent(http, keys, agent):
    path = f"/agents/{agent.agent_id}"

    assert http.delete(path, headers=keys["teammate"]).status_code == 404
    assert http.get(path, headers=keys["teammate"]).status_code == 200
    assert http.delete(path, headers=keys["owner"]).status_code == 204
    assert http.get(path, headers=keys["owner"]).status_code == 404


def test_only_owners_see_where_an_agent_runs(http, keys, people, agent):
    update_agent(agent=agent, by=people.owner, published=True)

    def urls(who: str) -> list[str | None]:
        path = f"/agents/{agent.agent_id}"
        one = http.get(path, headers=keys[who]).json()["revision"]
        listed = http.get("/agents", params={"owner": agent.owner.handle}, headers=keys[who]).json()
        revisions = http.get(f"{path}/revisions", headers=keys[who]).json()["revisions"]
        return [one["url"], listed["agents"][0]["revision"]["url"], revisions[0]["url"]]

    target = agent.current_revision.target
    assert urls("owner") == urls("teammate") == [target] * 3
    assert urls("outsider") == [None] * 3


def test_a_registered_agent_is_answered_in_full(http, keys, people):
    payload = {"handle": "echo", "name": "Echo", "description": "Ä 👋", "more_info_url": "https://example.com"}

    answer = http.post("/agents", json=payload, headers=keys["owner"])

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert {**made, **payload} == made
    assert made["agent_id"] == f"{people.owner.username}/echo"
    assert (made["published"], made["revision"], made["queries"]) == (False, None, [])
    found = http.get(f"/agents/{made['agent_id']}", headers=keys["owner"]).json()
    # What is left of its limits is only told of one agent that is asked for.
    assert {name: value for name, value in found.items() if name != "limits"} == made


def test_an_agent_that_is_not_up_yet_is_registered_and_says_why(http, keys):
    answer = http.post("/agents", json={"handle": "late", "deployment_url": SILENT}, headers=keys["owner"])

    assert answer.status_code == 201, answer.text
    revision = answer.json()["revision"]
    assert (revision["state"], revision["url"]) == ("error", SILENT)
    assert revision["error"]


BAD = [
    ("handle", "two words"),
    ("handle", "a/b"),
    ("handle", "../up"),
    ("handle", ""),
    ("handle", "a" * 51),
    ("handle", "nul\0"),
    ("handle", 7),
    ("handle", None),
    ("name", "n" * 201),
    ("name", "nul\0"),
    ("name", None),
    ("description", "d" * 10_001),
    ("description", "nul\0"),
    ("more_info_url", "javascript:alert(1)"),
    ("more_info_url", "https://example.com/" + "x" * 2000),
    ("published", "perhaps"),
    ("deployment_url", "ftp://example.com/"),
    ("deployment_url", "file:///etc/passwd"),
    ("deployment_url", "http://"),
    ("deployment_url", "no address"),
    ("deployment_url", "http://user:secret@example.com/"),
    ("deployment_url", "http://169.254.169.254/latest/meta-data"),
    ("deployment_url", "http://example.com/" + "x" * 2000),
    ("deployment_url", "http://example.com/\0"),
    ("deployment_url", ["http://example.com/"]),
    ("colour", "red"),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_bad_field_is_named_and_nothing_is_written(http, keys, people, agent, field, value):
    answer = http.post("/agents", json={"handle": "fine", field: value}, headers=keys["owner"])
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid_request"
    assert answer.json()["error"]["details"]["field"] == field
    assert not people.owner.owner.agents.exists()

    before = snapshot(agent)
    answer = http.patch(f"/agents/{agent.agent_id}", json={field: value}, headers=keys["owner"])
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"]["field"] == field
    assert snapshot(agent) == before


def test_a_taken_handle_is_refused(http, keys, people, agent):
    body = {"owner": agent.owner.handle, "handle": agent.handle}
    answer = http.post("/agents", json=body, headers=keys["teammate"])

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "handle"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"handle": "\\ud800"}'])
def test_a_body_that_is_no_agent_is_refused(http, keys, body):
    answer = http.post("/agents", content=body, headers=keys["owner"])

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("agent_id", ["nobody/nothing", "a%00b/c", "a/b%00", "%C3%A4/x", "%FF/x", "-/-"])
def test_an_unknown_agent_is_not_found(http, keys, agent_id):
    for method, path in (("GET", "/agents/"), ("PATCH", "/agents/"), ("DELETE", "/agents/"), ("POST", "/refresh/")):
        answer = http.request(method, f"{path}{agent_id}", json={}, headers=keys["owner"])
        assert answer.status_code == 404, answer.text


def test_an_agent_without_an_address_cannot_be_refreshed(http, keys, people):
    agent = create_agent(by=people.owner, handle="empty")

    answer = http.post(f"/refresh/{agent.agent_id}", headers=keys["owner"])

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "deployment_url"


def test_a_renamed_agent_answers_to_its_new_name_only(http, keys, agent):
    owner = agent.owner.handle

    renamed = http.patch(f"/agents/{agent.agent_id}", json={"handle": "cubes"}, headers=keys["owner"])

    assert renamed.json()["agent_id"] == f"{owner}/cubes"
    assert http.get(f"/agents/{owner}/dice", headers=keys["owner"]).status_code == 404
    assert http.get(f"/agents/{owner}/cubes", headers=keys["owner"]).status_code == 200


def test_the_list_holds_published_agents_and_ones_own_page_by_page(http, keys, people):
    owner = people.organization.owner.handle
    for handle, published in (("a", True), ("b", False), ("c", True)):
        create_agent(by=people.owner, owner=owner, handle=handle, published=published)

    def handles(who: str, **params: Any) -> list[str]:
        found = []
        page = {"next": ""}
        while page["next"] is not None:
            query = {"owner": owner, "after": page["next"], **params}
            page = http.get("/agents", params=query, headers=keys[who]).json()
            found += [agent["handle"] for agent in page["agents"]]
        return found

    assert handles("teammate") == handles("teammate", limit=1) == ["a", "b", "c"]
    assert handles("outsider", limit=1) == ["a", "c"]
    assert http.get("/agents").status_code == 401


def test_agents_are_found_by_words_of_their_own(http, keys, people):
    create_agent(by=people.owner, handle="one", description="Counts 100% of the sheep")
    create_agent(by=people.owner, handle="two", description="Counts all the sheep")

    def handles(q: str) -> list[str]:
        params = {"owner": people.owner.username, "q": q}
        found = http.get("/agents", params=params, headers=keys["owner"]).json()["agents"]
        return [agent["handle"] for agent in found]

    assert handles("SHEEP") == ["one", "two"]
    assert handles("0%") == ["one"]
    assert handles("goat") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", "0"),
        ("limit", "101"),
        ("limit", "many"),
        ("limit", "9" * 40),
        ("after", "a\0/b"),
        ("q", "\0"),
        ("q", "x" * 201),
        ("owner", "\0"),
    ],
)
def test_a_bad_parameter_of_the_list_is_named(http, keys, field, value):
    answer = http.get("/agents", params={field: value}, headers=keys["owner"])

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"]["field"] == field


def test_the_list_takes_the_same_number_of_queries_however_long_it_is(people):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            filters = AgentFilters(owner=people.owner.username, limit=100)
            list_agents(SimpleNamespace(auth=Caller(user_id=people.owner.pk, jti=None)), filters)
        return len(captured)

    create_agent(by=people.owner, handle="a0", reading=reads())
    assert queries() == 3
    for number in range(1, 10):
        create_agent(by=people.owner, handle=f"a{number}", reading=reads() if number % 2 else fails())

    assert queries() == 3


def test_an_agent_with_a_bad_manifest_is_usable_once_it_is_mended(http, keys, people):
    with ScriptedAgent() as server:
        serve_manifest(server, answer({"few_shots": ["Q: Where is the answer?"]}))
        payload = {"handle": "mended", "deployment_url": server.url}
        made = http.post("/agents", json=payload, headers=keys["owner"]).json()
        assert made["revision"]["state"] == "error"
        assert "few" in made["revision"]["error"]

        path = f"/refresh/{made['agent_id']}"
        refused = http.post(path, headers=keys["owner"])
        assert refused.status_code == 502
        assert refused.json()["error"]["details"]["problems"]

        serve_manifest(server, answer(GOOD))
        mended = http.post(path, headers=keys["owner"]).json()
        assert mended["queries"] == ["Roll 3d8"]
        assert mended["revision"] == {**mended["revision"], "id": made["revision"]["id"], "state": "ready", "error": ""}

        serve_manifest(server, answer(body=b"broken again"))
        assert http.post(path, headers=keys["owner"]).status_code == 502
        assert http.get(f"/agents/{made['agent_id']}", headers=keys["owner"]).json()["revision"]["state"] == "ready"


def test_moving_an_agent_makes_a_revision_and_sending_its_address_again_does_not(http, keys, people):
    with ScriptedAgent() as old, ScriptedAgent() as new:
        payload = {"handle": "moves", "deployment_url": old.url}
        agent_id = http.post("/agents", json=payload, headers=keys["owner"]).json()["agent_id"]
        path = f"/agents/{agent_id}"

        for url, count in ((old.url, 1), (new.url, 2), (new.url, 2)):
            changed = http.patch(path, json={"deployment_url": url}, headers=keys["owner"]).json()
            assert (changed["revision"]["url"], changed["revision"]["state"]) == (url, "ready")
            revisions = http.get(f"{path}/revisions", headers=keys["owner"]).json()["revisions"]
            assert len(revisions) == count
            assert revisions[0] == changed["revision"]
