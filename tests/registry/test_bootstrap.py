"""What every start of a site may ask for again."""

import threading
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from accounts.models import Owner
from common.errors import InvalidRequest
from registry.bootstrap import (
    ensure_external_agent,
    ensure_front_agent,
    ensure_internal_agent,
    ensure_organization,
)
from registry.models import Agent, Revision
from registry.specs import load_spec
from tests.registry.readings import URL, fails, reads


@pytest.fixture
def site(people) -> str:
    """The handle of a new organization with `people.owner` in it."""
    handle = f"site-{uuid.uuid4().hex[:12]}"
    ensure_organization(handle=handle, name="Site", member=people.owner)
    return handle


def echo(site: str) -> Agent:
    return ensure_internal_agent(
        owner_handle=site, handle="echo", name="Echo", description="Says it again.", target="echo"
    )


def test_an_organization_is_made_once_and_gains_members(people, site):
    again = ensure_organization(handle=site, name="Another name", member=people.teammate)

    assert Owner.objects.filter(handle=site).count() == 1
    assert again.name == "Site"
    assert set(again.members.all()) == {people.owner, people.teammate}
    assert set(again.membership_set.values_list("role", flat=True)) == {"admin"}


def test_a_users_name_does_not_become_an_organization(people):
    with pytest.raises(InvalidRequest):
        ensure_organization(handle=people.owner.username, name="Mine", member=people.outsider)


def test_an_internal_agent_is_published_ready_and_made_once(site):
    first, again = echo(site), echo(site)

    assert first == again
    assert first.published
    assert again.modified == first.modified
    assert first.revisions.count() == 1
    spec = load_spec(first.current_revision_id)
    assert (spec.transport, spec.deployment.target, spec.manifest.type) == ("internal", "echo", "standalone")


def test_the_front_agent_is_made_once(people):
    ensure_organization(handle="fixie", name="Fixie", member=people.owner)
    first, again = ensure_front_agent(), ensure_front_agent()

    assert (first.agent_id, first.published) == ("fixie/fixie", True)
    assert first.current_revision_id == again.current_revision_id
    spec = load_spec(first.current_revision_id)
    assert (spec.transport, spec.deployment.target) == ("front", "fixie")


def test_a_command_makes_it_on_a_site_that_began_without_agents(people):
    said = StringIO()
    call_command("front_agent", people.owner.username, stdout=said)

    assert said.getvalue() == "fixie/fixie\n"
    assert people.owner.membership_set.filter(organization__owner__handle="fixie", role="admin").exists()
    with pytest.raises(CommandError, match="no active user"):
        call_command("front_agent", "nobody-at-all")


def test_processes_that_start_together_make_one_agent(site):
    def start() -> None:
        try:
            echo(site)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert Agent.objects.filter(owner__handle=site).count() == 1
    assert Revision.objects.filter(agent__owner__handle=site).count() == 1


def test_an_external_agent_changes_only_when_it_says_something_else(people, site):
    def ensure(reading) -> Agent:
        return ensure_external_agent(
            by=people.owner, owner=site, handle="dice", name="Dice", description="Rolls.", reading=reading
        )

    first = ensure(reads())
    assert ensure(reads()).modified == first.modified
    assert ensure(fails()).current_revision.state == Revision.State.READY
    assert first.revisions.count() == 1

    ensure(reads(base_prompt="New."))
    moved = ensure(reads(url=URL + "/moved", base_prompt="New."))

    assert first.revisions.count() == 3
    assert moved.current_revision.target == URL + "/moved"
