"""What writing agents and revisions guarantees."""

import threading
import uuid

import pytest
from django.db import connections

from common.errors import AgentUnreachable, InvalidRequest, NotFound
from registry.actions import (
    Reading,
    add_revision,
    create_agent,
    delete_agent,
    record_manifest,
    update_agent,
)
from registry.models import Agent, Revision
from registry.specs import cached_spec, load_spec
from sessions_app.models import Message, Run, Session
from tests.registry.readings import URL, fails, reads

READY, ERROR = Revision.State.READY, Revision.State.ERROR


def fresh(agent: Agent) -> Agent:
    return Agent.objects.select_related("owner", "current_revision").get(pk=agent.pk)


def test_an_agent_belongs_to_its_maker_unless_an_organization_is_named(people):
    own = create_agent(by=people.owner, handle="mine")
    ours = create_agent(by=people.owner, owner=people.organization.owner.handle, handle="ours")

    assert own.agent_id == f"{people.owner.username}/mine"
    assert ours.agent_id == f"{people.organization.owner.handle}/ours"
    assert own.current_revision is None
    assert not own.published


def test_an_agent_cannot_be_made_for_somebody_else(people):
    for owner in (people.organization.owner.handle, people.owner.username, "nobody-of-this-name", "a\0b"):
        with pytest.raises(InvalidRequest) as refused:
            create_agent(by=people.outsider, owner=owner, handle="dice")
        assert refused.value.details["field"] == "owner"
    assert not Agent.objects.filter(owner__in=[people.owner.owner, people.organization.owner]).exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("handle", "two words"),
        ("handle", ""),
        ("handle", "a" * 51),
        ("name", "n" * 201),
        ("name", "a\0b"),
        ("description", "d" * 10_001),
        ("description", "\0"),
        ("more_info_url", "javascript:alert(1)"),
        ("more_info_url", "not a url"),
        ("more_info_url", "http://example.com/" + "x" * 2000),
        ("more_info_url", "http://example.com/\0"),
        ("capabilities", ["c" * 101]),
        ("capabilities", [" "]),
        ("capabilities", ["c"] * 101),
        ("priority", 2**31),
        ("minute_query_limit", -1),
        ("daily_query_limit", 2**31),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_written(people, agent, field, value):
    with pytest.raises(InvalidRequest) as refused:
        create_agent(by=people.outsider, **{"handle": "fine", field: value})
    assert refused.value.details["field"] == field
    assert not Agent.objects.filter(owner=people.outsider.owner).exists()

    before = Agent.objects.filter(pk=agent.pk).values().get()
    with pytest.raises(InvalidRequest) as refused:
        update_agent(agent=agent, by=people.owner, **{field: value})
    assert refused.value.details["field"] == field
    assert Agent.objects.filter(pk=agent.pk).values().get() == before


def test_a_handle_is_taken_once_an_owner(people, agent):
    with pytest.raises(InvalidRequest) as refused:
        create_agent(by=people.owner, owner=agent.owner.handle, handle="dice")
    assert refused.value.details["field"] == "handle"

    other = create_agent(by=people.outsider, handle="dice")
    another = create_agent(by=people.outsider, handle="cards")
    with pytest.raises(InvalidRequest):
        update_agent(agent=another, by=people.outsider, handle="dice")
    assert fresh(another).handle == "cards"
    assert fresh(other).handle == "dice"


def test_of_many_who_take_a_handle_at_once_one_gets_it(people):
    results: list[str] = []

    def take() -> None:
        try:
            create_agent(by=people.outsider, handle="race", reading=reads())
            results.append("made")
        except InvalidRequest as refused:
            results.append(refused.details["field"])
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == ["handle"] * 7 + ["made"]
    assert Revision.objects.filter(agent__owner=people.outsider.owner).count() == 1


def test_an_agent_whose_manifest_cannot_be_read_is_registered_with_the_reason(people):
    agent = create_agent(by=people.owner, handle="broken", reading=fails(reason="Line 3 is no JSON."))

    revision = fresh(agent).current_revision
    assert (revision.state, revision.error, revision.manifest) == (ERROR, "Line 3 is no JSON.", None)


def test_a_revision_in_error_is_mended_in_place(people):
    agent = create_agent(by=people.owner, handle="broken", reading=fails())
    revision = agent.current_revision

    assert record_manifest(revision=revision, reading=fails(reason="Still wrong.")) == revision
    assert fresh(agent).current_revision.error == "Still wrong."
    mended = record_manifest(revision=revision, reading=reads())

    assert mended == revision
    assert agent.revisions.count() == 1
    stored = fresh(agent).current_revision
    assert (stored.state, stored.error, stored.transport) == (READY, "", "code_shot")
    assert stored.manifest["base_prompt"] == "I roll dice."


def test_a_changed_manifest_becomes_a_new_revision_of_the_same_deployment(people, agent):
    old = agent.current_revision

    new = record_manifest(revision=old, reading=reads(base_prompt="I roll better dice."))

    assert new.pk != old.pk
    assert (new.target, new.created_by) == (old.target, people.owner)
    assert fresh(agent).current_revision == new
    old.refresh_from_db()
    assert old.manifest["base_prompt"] == "I roll dice."


def test_the_same_manifest_changes_nothing(agent):
    before = fresh(agent)

    assert record_manifest(revision=agent.current_revision, reading=reads()) == before.current_revision
    assert fresh(agent).modified == before.modified
    assert agent.revisions.count() == 1


def test_a_working_revision_goes_on_serving_while_its_agent_is_away(agent):
    away = Reading(URL, AgentUnreachable("It does not answer."))

    record_manifest(revision=agent.current_revision, reading=away)

    assert fresh(agent).current_revision.state == READY
    assert agent.revisions.count() == 1


def test_two_readers_of_one_change_make_one_revision(agent):
    changed = reads(base_prompt="Changed.")

    first = record_manifest(revision=agent.current_revision, reading=changed)
    second = record_manifest(revision=agent.current_revision, reading=changed)

    assert first == second
    assert agent.revisions.count() == 2


def test_an_old_revision_does_not_come_back_when_it_is_read_late(people, agent):
    old = agent.current_revision
    current = add_revision(agent=agent, by=people.owner, reading=reads(url=URL + "/new"))

    assert record_manifest(revision=old, reading=reads(base_prompt="Late.")) == current
    assert fresh(agent).current_revision == current


def test_another_address_is_a_new_revision_and_the_same_address_is_not(people, agent):
    update_agent(agent=agent, by=people.owner, reading=reads())
    assert agent.revisions.count() == 1

    moved = update_agent(agent=agent, by=people.teammate, reading=reads(url=URL + "/2"))

    assert agent.revisions.count() == 2
    assert moved.current_revision.target == URL + "/2"
    assert moved.current_revision.created_by == people.teammate


def test_deleting_an_agent_takes_its_revisions_and_may_be_repeated(agent):
    delete_agent(agent=agent)
    delete_agent(agent=agent)

    assert not Agent.objects.filter(pk=agent.pk).exists()
    assert not Revision.objects.filter(agent=agent.pk).exists()


def test_what_a_deleted_agent_said_stays_in_its_sessions(people, agent):
    session = Session.objects.create(handle=f"talk-{uuid.uuid4().hex}", owner=people.outsider, agent=agent)
    run = Run.objects.create(id=uuid.uuid4(), session=session, agent=agent, query_seq=1, status=Run.Status.COMPLETED)
    message = Message.objects.create(session=session, seq=1, run=run, kind="response", text="8", agent=agent)

    delete_agent(agent=agent)

    for row in (session, run, message):
        row.refresh_from_db()
        assert row.agent is None
    assert message.text == "8"


def test_writing_to_an_agent_that_is_gone_is_not_found(people, agent):
    revision = agent.current_revision
    delete_agent(agent=agent)

    with pytest.raises(NotFound):
        update_agent(agent=agent, by=people.owner, name="Late")
    with pytest.raises(NotFound):
        add_revision(agent=agent, by=people.owner, reading=reads())
    with pytest.raises(NotFound):
        record_manifest(revision=revision, reading=reads())


def test_a_rename_is_noticed_at_once_by_the_process_that_made_it(people, agent):
    revision = agent.current_revision_id
    load_spec(revision)

    update_agent(agent=agent, by=people.owner, handle="cubes")

    assert cached_spec(revision) is None
    assert load_spec(revision).agent_id == f"{agent.owner.handle}/cubes"
