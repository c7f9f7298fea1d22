"""Who may load which agent."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.errors import NotFound
from registry.access import agent_for, own_agent_for, owners_of
from registry.actions import update_agent
from registry.models import Agent


def names(agent: Agent) -> tuple[str, str]:
    return agent.owner.handle, agent.handle


def test_a_private_agent_is_there_for_every_member_of_its_organization(people, agent):
    for user in (people.owner, people.teammate):
        assert agent_for(user, *names(agent)) == agent
        assert own_agent_for(user, *names(agent)) == agent


def test_a_private_agent_is_not_there_for_anybody_else(people, agent):
    for user in (people.outsider, None):
        with pytest.raises(NotFound):
            agent_for(user, *names(agent))
    with pytest.raises(NotFound):
        own_agent_for(people.outsider, *names(agent))


def test_a_published_agent_can_be_seen_by_all_and_changed_by_its_owners_only(people, agent):
    update_agent(agent=agent, by=people.owner, published=True)

    assert agent_for(people.outsider, *names(agent)) == agent
    assert agent_for(None, *names(agent)) == agent
    with pytest.raises(NotFound):
        own_agent_for(people.outsider, *names(agent))


def test_missing_and_forbidden_look_the_same(people, agent):
    owner, handle = names(agent)
    with pytest.raises(NotFound) as forbidden:
        agent_for(people.outsider, owner, handle)
    with pytest.raises(NotFound) as missing:
        agent_for(people.owner, owner, "nothing")

    assert forbidden.value.as_dict() == missing.value.as_dict()


@pytest.mark.parametrize("handle", ["", "a\0b", "a/b", "ä", "-a", "a" * 51, "a' OR 1=1"])
def test_what_is_no_handle_is_not_found(people, handle):
    with pytest.raises(NotFound):
        agent_for(people.owner, people.owner.username, handle)
    with pytest.raises(NotFound):
        agent_for(people.owner, handle, "dice")


def test_an_agent_comes_with_its_owner_and_revision_in_one_query(people, agent):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        loaded = agent_for(people.teammate, *names(agent))
        assert loaded.agent_id
        assert loaded.current_revision.target

    assert len(queries) == 1


def test_people_may_act_for_themselves_and_their_organizations(people):
    assert owners_of(people.owner) == {people.owner.owner_id, people.organization.owner_id}
    assert owners_of(people.outsider) == {people.outsider.owner_id}
