"""Whether agents answer: checked over real HTTP, when it is their turn, by whoever comes first."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from accounts.models import UsageDay
from accounts.tokens import verify_call_token
from common.db import run_db
from common.http import aclose_client
from registry.actions import Reading, create_agent, set_current_revision, update_agent
from registry.liveness import checks
from registry.liveness.tasks import check, check_agents, check_due
from registry.manifests.manifest import ReadManifest
from registry.manifests.reading import refresh
from registry.models import Agent, Liveness, Revision
from registry.transports.base import Manifest
from tests.agents import Behaviour, answer, hang
from tests.registry.readings import GOOD, reads, serve_manifest

NOT_THERE = answer(status=503, body=b"")


@pytest.fixture
def dice(people, server) -> Agent:
    """A published agent at the server, whose check is due."""
    return due(create_agent(by=people.owner, handle="dice", published=True, reading=reads(url=server.url)))


@pytest.fixture
def plain(people, server) -> Agent:
    """A published agent that answers queries and serves no manifest."""
    read = ReadManifest(manifest=Manifest(type="standalone"), raw={}, transport="query_http")
    server.on("/", answer(status=404, body=b""), method="GET")
    return due(create_agent(by=people.owner, handle="plain", published=True, reading=Reading(server.url, read)))


def due(agent: Agent) -> Agent:
    Liveness.objects.update_or_create(agent=agent, defaults={"next_check": timezone.now() - timedelta(days=900)})
    return agent


def state_of(agent: Agent) -> Liveness:
    return Liveness.objects.get(pk=agent.pk)


def checked(agent: Agent, *, times: int = 1) -> Liveness:
    asyncio.run(check_often(agent.pk, times))
    return state_of(agent)


async def check_often(agent: int, times: int) -> None:
    for _ in range(times):
        await check(agent)
    await aclose_client()


def minutes_to_next(agent: Agent) -> float:
    return (state_of(agent).next_check - timezone.now()).total_seconds() / 60


def test_an_agent_that_answers_is_healthy_and_is_looked_at_again_after_the_interval(dice):
    before = timezone.now()

    found = checked(dice)

    assert (found.healthy, found.failures, found.error) == (True, 0, "")
    assert found.last_alive is not None
    assert found.last_alive >= before
    assert found.checked == found.last_alive
    interval = settings.LIVENESS_SECONDS / 60
    assert 0.89 * interval < minutes_to_next(dice) < 1.11 * interval


def test_a_check_is_in_the_name_of_whoever_deployed_it_and_belongs_to_no_run(dice, people, server):
    checked(dice)

    claims = verify_call_token(server.requests[0].headers["authorization"].removeprefix("Bearer "))
    assert (claims.user_id, claims.agent_id, claims.run) == (people.owner.pk, dice.agent_id, "")
    assert [request.method for request in server.requests] == ["GET"]
    assert not UsageDay.objects.filter(user=people.owner).exists()


def test_where_who_deployed_it_is_gone_a_check_is_in_an_owners_name(agent, people, server):
    Revision.objects.filter(agent=agent).update(created_by=None, target=server.url)

    checked(due(agent))

    claims = verify_call_token(server.requests[0].headers["authorization"].removeprefix("Bearer "))
    assert claims.user_id in (people.owner.pk, people.teammate.pk)


def test_one_failure_is_forgiven_and_the_second_in_a_row_is_not(dice, server):
    serve_manifest(server, NOT_THERE)

    first = checked(dice)
    assert (first.healthy, first.failures) == (True, 1)
    assert first.error
    assert minutes_to_next(dice) < 1

    second = checked(dice)
    assert (second.healthy, second.failures) == (False, 2)


def test_one_success_makes_it_healthy_again_at_once(dice, server):
    serve_manifest(server, NOT_THERE)
    assert not checked(dice, times=3).healthy

    serve_manifest(server, answer(GOOD))
    found = checked(dice)

    assert (found.healthy, found.failures, found.error) == (True, 0, "")


def test_an_agent_that_keeps_failing_is_looked_at_less_and_less_but_once_an_hour(dice, server):
    serve_manifest(server, NOT_THERE)
    waits = []
    for _ in range(8):
        checked(dice)
        waits.append(minutes_to_next(dice))

    interval = settings.LIVENESS_SECONDS / 60
    assert waits[1:4] == pytest.approx([interval, 2 * interval, 4 * interval], rel=0.11)
    assert waits[-1] == pytest.approx(60, rel=0.11)


@pytest.mark.parametrize(
    "behaviour",
    [answer(body=b"{"), answer({"few_shots": ["no question"]}), answer(status=500, body=b"\0"), answer(status=404)],
    ids=["no JSON", "broken few-shot", "failure", "no manifest any more"],
)
def test_a_manifest_that_cannot_be_used_is_a_failure_and_the_revision_stays(dice, server, behaviour: Behaviour):
    serve_manifest(server, behaviour)

    assert checked(dice).failures == 1

    assert [revision.pk for revision in dice.revisions.all()] == [dice.current_revision_id]
    assert Revision.objects.get(pk=dice.current_revision_id).state == Revision.State.READY


def test_nobody_at_the_address_is_a_failure(people):
    agent = create_agent(by=people.owner, handle="gone", published=True, reading=reads(url="http://127.0.0.1:9999/"))

    assert "refused" in checked(due(agent)).error


def test_a_changed_manifest_becomes_a_new_revision(dice, server):
    serve_manifest(server, answer({**GOOD, "base_prompt": "Changed."}))

    found = checked(dice)

    current = Agent.objects.select_related("current_revision").get(pk=dice.pk).current_revision
    assert current.pk != dice.current_revision_id
    assert current.manifest["base_prompt"] == "Changed."
    assert (found.healthy, found.checked) == (True, found.last_alive)


def test_an_agent_without_a_manifest_lives_where_anything_answers(plain, server):
    assert checked(plain).healthy

    assert [request.method for request in server.requests] == ["GET"]


def test_its_own_sample_query_is_replayed_once_an_hour_always_under_one_key(plain, server, people):
    Agent.objects.filter(pk=plain.pk).update(queries=["How are you?", "Who are you?"])
    server.on("/", answer({"message": {"text": "Well."}}))

    assert checked(plain, times=2).healthy

    queries = [request for request in server.requests if request.method == "POST"]
    assert [request.json["message"]["text"] for request in queries] == ["How are you?"] * 2
    assert len({request.headers["idempotency-key"] for request in queries}) == 1
    assert minutes_to_next(plain) == pytest.approx(60, rel=0.11)
    assert not UsageDay.objects.filter(user=people.owner).exists()


def test_an_agent_that_fails_its_own_sample_query_is_failing(plain, server):
    Agent.objects.filter(pk=plain.pk).update(queries=["How are you?"])
    server.on("/", answer({"message": {"text": "Not well."}}, status=500))

    found = checked(plain, times=2)

    assert (found.healthy, found.error) == (False, "Not well.")


def test_only_published_agents_at_an_address_are_taken_up(people, server, echo):
    quiet = create_agent(by=people.owner, handle="quiet", reading=reads(url=server.url))
    nowhere = create_agent(by=people.owner, handle="nowhere", published=True)
    loud = create_agent(by=people.owner, handle="loud", published=True, reading=reads(url=server.url))

    checks.take_up()
    checks.take_up()

    taken = set(Liveness.objects.values_list("agent__handle", "agent__owner__handle"))
    name = people.owner.username
    assert ("loud", name) in taken
    assert not {(quiet.handle, name), (nowhere.handle, name), ("echo", "fixie")} & taken
    assert state_of(loud).last_alive == loud.current_revision.created
    assert minutes_to_next(loud) == pytest.approx(settings.LIVENESS_SECONDS / 60, rel=0.15)


def test_a_failing_agent_that_is_unpublished_comes_back_all_the_same(dice, people):
    update_agent(agent=dice, by=people.owner, published=False)
    assert dice.pk not in claimed()

    Liveness.objects.filter(pk=dice.pk).update(healthy=False)

    assert dice.pk in claimed()


def claimed() -> list[int]:
    return checks.claim(1000)


def test_what_one_worker_claims_no_other_gets(dice):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: closing(claimed), range(4)))

    assert [dice.pk in agents for agents in found].count(True) == 1


def closing(call: Callable[[], list[int]]) -> list[int]:
    try:
        return call()
    finally:
        connections.close_all()


async def test_a_worker_checks_all_that_are_due_but_few_at_once(people, server, settings: Any):
    settings.LIVENESS_AT_ONCE = 3
    at_once: list[int] = []
    now = 0

    async def slowly(exchange: Any) -> None:
        nonlocal now
        now += 1
        at_once.append(now)
        await asyncio.sleep(0.05)
        now -= 1
        await answer(GOOD)(exchange)

    serve_manifest(server, slowly)
    agents = [await run_db(published_due, people.owner, f"a{number}", server.url) for number in range(8)]

    await check_due()

    assert max(at_once) == 3
    assert all([(await run_db(state_of, agent)).checked for agent in agents])


def published_due(owner: Any, handle: str, url: str) -> Agent:
    return due(create_agent(by=owner, handle=handle, published=True, reading=reads(url=url)))


async def test_the_task_checks_what_is_due(people, server):
    agent = await run_db(published_due, people.owner, "new", server.url)

    await check_agents(timestamp=0)

    assert (await run_db(state_of, agent)).checked


async def test_a_check_that_dies_is_made_again_later(dice, server):
    serve_manifest(server, hang())
    [claim] = [agent for agent in await run_db(claimed) if agent == dice.pk]
    task = asyncio.create_task(check(claim))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    found = await run_db(state_of, dice)
    assert found.checked is None
    assert timezone.now() < found.next_check < timezone.now() + timedelta(minutes=3)


def test_a_run_that_did_not_reach_it_brings_its_check_forward(dice):
    later = timezone.now() + timedelta(minutes=5)
    Liveness.objects.filter(pk=dice.pk).update(next_check=later, checked=timezone.now() - timedelta(minutes=1))

    checks.check_soon(dice.pk)
    assert minutes_to_next(dice) <= 0

    # But not again and again, and not where the back-off knows better.
    for changes in ({"checked": timezone.now()}, {"healthy": False}):
        Liveness.objects.filter(pk=dice.pk).update(next_check=later, **changes)
        checks.check_soon(dice.pk)
        assert minutes_to_next(dice) > 4


async def test_a_refresh_by_its_owner_is_a_proof_of_life(dice, server, people):
    serve_manifest(server, NOT_THERE)
    for _ in range(2):
        await check(dice.pk)
    assert not (await run_db(state_of, dice)).healthy
    serve_manifest(server, answer(GOOD))

    revision = await run_db(Revision.objects.select_related("agent__owner").get, pk=dice.current_revision_id)
    await refresh(revision, user_id=people.owner.pk)

    assert (await run_db(state_of, dice)).healthy


def test_another_deployment_begins_anew(dice, server, people):
    serve_manifest(server, NOT_THERE)
    first = dice.current_revision_id
    assert not checked(dice, times=2).healthy

    update_agent(agent=dice, by=people.owner, reading=reads(url=server.url + "/elsewhere"))
    assert (state_of(dice).healthy, minutes_to_next(dice) <= 0) == (True, True)

    checked(dice)
    set_current_revision(agent=dice, revision=first)
    assert (state_of(dice).failures, minutes_to_next(dice) <= 0) == (0, True)


def test_agents_and_rows_that_are_gone_are_passed_over(dice, people):
    nowhere = create_agent(by=people.owner, handle="nowhere", published=True)
    Liveness.objects.filter(pk=dice.pk).delete()
    checks.note_failure(dice.current_revision_id, "late")
    checks.note_alive(dice.current_revision_id)

    checked_nothing = check_often(nowhere.pk, 1), check_often(2**40, 1)
    for attempt in checked_nothing:
        asyncio.run(attempt)

    assert not Liveness.objects.filter(agent__in=[dice, nowhere]).exists()
