"""What every start of a site may ask for again."""

import threading
import uuid

import pytest
from django.db import connections

from accounts.models import Owner
from common.errors import InvalidRequest
from registry.bootstrap import ensure_external_agent, ensure_internal_agent, ensure_organization
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
