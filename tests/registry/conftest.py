"""People and agents for the registry's tests. Models are imported when Django is ready: inside fixtures."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.agents import ScriptedAgent, answer

if TYPE_CHECKING:
    from accounts.models import Organization, User
    from registry.models import Agent


@dataclass(frozen=True)
class People:
    """An organization, its admin `owner`, another member, and somebody who is in no organization."""

    organization: "Organization"
    owner: "User"
    teammate: "User"
    outsider: "User"


@pytest.fixture
def people() -> People:
    from accounts.models import Organization, User
    from accounts.organizations import save_organization

    unique = uuid.uuid4().hex[:12]
    organization = save_organization(organization=Organization(name="Org"), handle=f"org-{unique}")
    users = [User.objects.create_user(f"{name}-{unique}") for name in ("owner", "mate", "out")]
    organization.members.add(users[0], through_defaults={"role": "admin"})
    organization.members.add(users[1])
    return People(organization, *users)


@pytest.fixture
def server() -> Iterator[ScriptedAgent]:
    """An agent whose manifest is good until it is told otherwise."""
    from tests.registry.readings import GOOD, serve_manifest

    with ScriptedAgent() as server:
        serve_manifest(server, answer(GOOD))
        yield server


@pytest.fixture
def agent(people: People) -> "Agent":
    """A private agent of the organization, ready to be asked."""
    from registry.actions import create_agent
    from tests.registry.readings import reads

    owner = people.organization.owner.handle
    return create_agent(by=people.owner, owner=owner, handle="dice", name="Dice", reading=reads())
