"""Who reaches what is kept: the agent its own, the user all that is about them, nobody else anything."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from accounts.actions import create_api_key
from accounts.models import User
from registry.actions import delete_agent, update_agent
from registry.models import Agent
from storage_kv.models import StorageUsage, StoredValue
from tests.sites import Site
from tests.storage_kv.memories import Memory, call_token, error_of, memory
from tests.storage_kv.world import World

CALLS = {
    "list": lambda m: m.http.get(m.base),
    "get": lambda m: m.http.get(m.url("key")),
    "head": lambda m: m.http.head(m.url("key")),
    "post": lambda m: m.http.post(m.url("key"), json={"data": "new"}),
    "put": lambda m: m.http.put(m.url("key"), content=b"new"),
    "delete": lambda m: m.http.delete(m.url("key")),
    "forget": lambda m: m.http.delete(m.base),
    "storages": lambda m: m.http.get("/api/userstorage"),
}
MAY = {
    "the agent": {"list": 200, "get": 200, "head": 200, "post": 200, "put": 200, "delete": 204, "forget": 401},
    "the user": {"list": 200, "get": 200, "head": 200, "delete": 204, "forget": 204, "storages": 200},
    "the user's browser": {"list": 200, "get": 200, "head": 200, "storages": 200},
}
NOT_THEIRS = dict.fromkeys(("list", "get", "head", "post", "put", "delete"), 404)
OTHERS = {
    "another agent": NOT_THEIRS,
    "the agent, for somebody else": {"list": 200, "get": 404, "head": 404, "delete": 404},
    "the agent's owner": {"list": 200, "get": 404, "head": 404, "delete": 404, "forget": 204, "storages": 200},
    "the owner's teammate": {"list": 200, "get": 404, "head": 404, "delete": 404, "forget": 204, "storages": 200},
    "an outsider": {"list": 404, "get": 404, "head": 404, "delete": 404, "forget": 404, "storages": 200},
}
NOBODY = ("expired", "anonymous agent", "revoked key", "inactive user's agent", "inactive user", "tampered", "no one")
# What a caller may not even try is refused as 401: agents what is for users, users what is for agents.
MATRIX = [
    (who, call, may.get(call, 401))
    for who, may in {**MAY, **OTHERS, **{nobody: {} for nobody in NOBODY}}.items()
    for call in CALLS
    # Another key than the user's is another storage: writing there is allowed, and tested elsewhere.
    if (who, call) not in {("the agent, for somebody else", "post"), ("the agent, for somebody else", "put")}
]


@pytest.fixture
def world(site: Site, make_user: Callable[..., User]) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(site, make_user, stack)


def rows() -> list[Any]:
    return [list(StoredValue.objects.order_by("pk").values()), list(StorageUsage.objects.order_by("pk").values())]


@pytest.mark.parametrize(("who", "call", "status"), MATRIX)
def test_everybody_gets_what_they_may_and_a_denial_changes_nothing(world: World, who, call, status) -> None:
    caller = world.as_(who)
    before = rows()

    answer = CALLS[call](caller)

    assert answer.status_code == status, answer.text
    if status >= 400:
        assert rows() == before
        assert call == "head" or answer.json()["error"]["message"].endswith(".")
    if who not in MAY:
        assert "kept" not in answer.text
        assert world.storage.get("key").json() == {"data": "kept"}


def test_words_tell_callers_what_is_wrong(world: World) -> None:
    def message(who: str, call: str) -> str:
        return str(CALLS[call](world.as_(who)).json()["error"]["message"])

    assert message("the user", "post").startswith("Only the agent itself writes here")
    assert message("the agent", "forget") == "This is the token of an agent's call, not an API key."
    assert message("expired", "get") == "The key has expired."
    assert message("anonymous agent", "get") == "The token does not name its user."
    assert message("inactive user's agent", "get") == "The user of this call is no longer active."


def test_another_agents_storage_looks_like_one_that_does_not_exist(world: World) -> None:
    caller = world.as_("another agent")

    there = error_of(caller.get("key"), 404, "not_found")
    nowhere = error_of(Memory("nobody/nothing", caller.http).get("key"), 404, "not_found")

    assert there == nowhere


def test_a_token_expires_between_two_calls(world: World) -> None:
    caller = Memory(world.agent, world.site.client(call_token(world.agent, world.user, lifetime=1)))
    assert caller.get("key").status_code == 200

    time.sleep(2.1)

    error_of(caller.get("key"), 401, "unauthenticated")


def test_a_browser_deletes_only_with_its_csrf_token(world: World) -> None:
    browser = world.as_("the user's browser")
    error_of(browser.delete("key"), 401, "unauthenticated")
    error_of(browser.http.delete(browser.base), 401, "unauthenticated")
    assert world.storage.get("key").status_code == 200

    token = "t" * 32
    browser.http.headers["Cookie"] += f"; csrftoken={token}"
    browser.http.headers["X-CSRFToken"] = token
    assert browser.delete("key").status_code == 204
    assert world.storage.keys() == []


# What users see of it


def test_a_user_sees_which_agents_keep_how_much_and_deletes_it(world: World, new_agent) -> None:
    other = memory(world.site, new_agent(), world.user)
    other.put("a", b"123")
    other.set("b", "45")
    user = world.as_("the user")

    kept = {usage["agent"]: (usage["keys"], usage["bytes"]) for usage in user.http.get("/api/userstorage").json()}
    assert kept == {world.agent: (1, 4), other.agent: (2, 5)}

    assert user.http.delete(other.base).status_code == 204
    assert user.http.get("/api/userstorage").json() == [{"agent": world.agent, "keys": 1, "bytes": 4}]
    assert other.keys() == []
    assert other.usage() == (0, 0)
    assert other.set("a", "again").status_code == 200
    assert other.usage() == (1, 5)


def test_what_is_about_a_user_stays_theirs_when_the_agent_no_longer_is(world: World) -> None:
    agent = Agent.objects.get(owner__handle=world.agent.split("/")[0])
    update_agent(agent=agent, by=world.owner, published=True)
    update_agent(agent=agent, by=world.owner, published=False)
    user = world.as_("the user")

    assert user.get("key").json() == {"data": "kept"}
    assert user.http.delete(user.base).status_code == 204
    # And with the last key goes the last sign of an agent that they may not see.
    error_of(user.http.get(user.base), 404, "not_found")


def test_a_user_reads_and_deletes_as_often_as_they_like(small_site: Site, small: Memory) -> None:
    small.set("key", "kept")
    user = User.objects.get(pk=StorageUsage.objects.latest("pk").user_id)
    mine = Memory(small.agent, small_site.client(create_api_key(user=user, name="test").token))

    for _ in range(70):
        assert mine.get("key").status_code == 200


@pytest.mark.parametrize("owner", ["-", "%00", "a%00b", "é", "a b", "x" * 60])
def test_what_is_no_agent_keeps_nothing(world: World, owner: str) -> None:
    for who in ("the user", "the agent"):
        http = world.as_(who).http
        for path in ("keeper", "keeper/key"):
            error_of(http.get(f"/api/userstorage/{owner}/{path}"), 404, "not_found")


# What goes with what


def test_with_an_agent_goes_all_that_it_kept(world: World) -> None:
    world.storage.set("more", "kept")
    agent = Agent.objects.get(owner__handle=world.agent.split("/")[0])

    delete_agent(agent=agent)

    assert not StoredValue.objects.filter(agent=agent.pk or 0).exists()
    assert not StoredValue.objects.filter(user=world.user).exists()
    assert not StorageUsage.objects.filter(user=world.user).exists()
    error_of(world.storage.get("key"), 404, "not_found")
    error_of(world.storage.set("key", "again"), 404, "not_found")
    assert not StoredValue.objects.filter(user=world.user).exists()


def test_with_a_user_goes_all_that_was_kept_about_them(world: World) -> None:
    user = world.user.pk

    world.user.delete()

    assert not StoredValue.objects.filter(user=user).exists()
    assert not StorageUsage.objects.filter(user=user).exists()
    error_of(world.storage.set("key", "again"), 401, "unauthenticated")
    assert not StoredValue.objects.filter(user=user).exists()


def test_a_token_of_an_agents_former_name_reaches_nothing(world: World) -> None:
    agent = Agent.objects.get(owner__handle=world.agent.split("/")[0])
    renamed = update_agent(agent=agent, by=world.owner, handle="renamed").agent_id

    error_of(world.storage.get("key"), 404, "not_found")
    assert memory(world.site, renamed, world.user).get("key").json() == {"data": "kept"}
