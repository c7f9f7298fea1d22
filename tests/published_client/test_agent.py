"""`fixieai.client.agent.Agent`: each of its properties and methods."""

from datetime import UTC, datetime

import pytest

from tests.agents import ScriptedAgent
from tests.published_client.package import Raised, Remote
from tests.published_client.somebody import Somebody

PROPERTIES = ("name", "description", "queries", "more_info_url", "published", "owner", "query_url", "created")


@pytest.fixture
def agent(ann: Somebody, handle: str, shouter: ScriptedAgent) -> Remote:
    fields = {"name": "Shouter", "description": "Says it loudly.", "more_info_url": "https://example.com/"}
    found: Remote = ann.client.get_agent(ann.new_agent(handle, shouter.url, **fields))
    return found


def test_its_properties_are_those_of_the_agent(
    ann: Somebody, handle: str, agent: Remote, shouter: ScriptedAgent
) -> None:
    assert (agent.valid, agent.agent_id, agent.handle) == (True, f"{ann.name}/{handle}", handle)
    assert (agent.name, agent.description, agent.owner) == ("Shouter", "Says it loudly.", ann.name)
    assert (agent.more_info_url, agent.published) == ("https://example.com/", False)
    assert agent.queries == ["Shout hello", "Say hello loudly"]
    assert (agent.query_url, agent.func_url) == (shouter.url, shouter.url)
    created, modified = (datetime.fromisoformat(time["$time"]) for time in (agent.created, agent.modified))
    assert abs((datetime.now(UTC) - created).total_seconds()) < 60
    assert created <= modified


def test_without_an_owner_it_is_mine(ann: Somebody, agent: Remote) -> None:
    found = ann.client.get_agent(agent.handle)
    assert (found.valid, found.owner, found.agent_id) == (True, ann.name, agent.handle)


def test_an_organization_owns_agents_too(ann: Somebody, handle: str) -> None:
    from accounts.organizations import create_organization

    create_organization(by=ann.user, handle=f"lab-{handle}", name="Lab")
    agent = ann.new_agent(handle, owner=f"lab-{handle}")
    assert ann.client.get_agent(agent).owner == f"lab-{handle}"


def test_one_that_there_is_not_has_no_properties(ann: Somebody) -> None:
    nothing = ann.client.get_agent("nobody/nothing")
    assert not nothing.valid
    assert [getattr(nothing, name) for name in PROPERTIES] == [None] * len(PROPERTIES)
    with pytest.raises(Raised, match="Cannot fetch agent metadata for nobody/nothing"):
        nothing.get_metadata()


def test_others_do_not_learn_where_a_published_one_runs(bob: Somebody, agent: Remote) -> None:
    agent.update_agent(published=True)
    seen = bob.client.get_agent(agent.agent_id)
    assert (seen.valid, seen.query_url, seen.func_url) == (True, None, None)


def test_get_metadata_is_the_whole_document(ann: Somebody, agent: Remote) -> None:
    document = agent.get_metadata()
    assert document["owner"] == {"__typename": "UserType", "username": ann.name}
    assert document["queries"] == ["Shout hello", "Say hello loudly"]


def test_create_agent_registers_the_one_that_there_was_not(ann: Somebody, handle: str) -> None:
    agent = ann.client.get_agent(handle)
    assert not agent.valid
    assert agent.create_agent(None, "What it does.", published=True) == f"{ann.name}/{handle}"
    assert (agent.valid, agent.description, agent.published) == (True, "What it does.", True)


def test_update_agent_changes_what_is_given_and_nothing_else(agent: Remote, shouter: ScriptedAgent) -> None:
    assert agent.update_agent(description="New.") == agent.agent_id
    assert (agent.name, agent.description, agent.more_info_url) == ("Shouter", "New.", "https://example.com/")
    agent.update_agent(name="Loud", more_info_url="", published=True)
    assert (agent.name, agent.more_info_url or "", agent.published) == ("Loud", "", True)
    agent.update_agent(func_url=f"{shouter.url}/?moved")
    assert agent.func_url == f"{shouter.url}/?moved"


def test_update_agent_renames_it_though_the_package_then_looks_for_the_old_name(
    ann: Somebody, agent: Remote, handle: str
) -> None:
    with pytest.raises(Raised, match=f"Cannot fetch agent metadata for {ann.name}/{handle}$"):
        agent.update_agent(new_handle=f"{handle}-new")
    assert ann.client.get_agent(f"{ann.name}/{handle}-new").name == "Shouter"
    assert not ann.client.get_agent(f"{ann.name}/{handle}").valid


def test_update_agent_says_what_is_wrong_and_changes_nothing(ann: Somebody, agent: Remote, handle: str) -> None:
    ann.new_agent(f"{handle}-taken")
    with pytest.raises(Raised, match="There is already an agent with the handle"):
        agent.update_agent(new_handle=f"{handle}-taken", name="Other")
    with pytest.raises(Raised, match="more_info_url"):
        agent.update_agent(more_info_url="no address", name="Other")
    assert ann.client.get_agent(f"{ann.name}/{handle}").name == "Shouter"


def test_what_is_somebody_elses_cannot_be_changed_or_deleted(ann: Somebody, bob: Somebody, agent: Remote) -> None:
    agent.update_agent(published=True)
    seen = bob.client.get_agent(agent.agent_id)
    with pytest.raises(Raised, match="There is no such agent"):
        seen.update_agent(name="Mine now")
    with pytest.raises(Raised, match="There is no such agent"):
        seen.delete_agent()
    assert ann.client.get_agent(agent.agent_id).name == "Shouter"


def test_delete_agent_deletes_it(ann: Somebody, agent: Remote) -> None:
    agent.delete_agent()
    assert not ann.client.get_agent(agent.agent_id).valid
    with pytest.raises(Raised, match="There is no such agent"):
        agent.delete_agent()
