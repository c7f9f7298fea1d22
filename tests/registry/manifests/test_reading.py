"""Reading manifests over real HTTP: broken ones, mended ones, changed ones."""

import asyncio
import json

import pytest

from accounts.tokens import verify_call_token
from common.db import run_db
from common.errors import AgentInvalidResponse, AgentUnreachable, FixieError, NotFound
from registry.actions import create_agent, delete_agent
from registry.manifests.reading import ATTEMPT_SECONDS, mended_spec, read_for
from registry.models import Agent, Revision
from registry.specs import cached_spec
from registry.tasks import refresh_manifest
from tests.agents import answer, chunks
from tests.registry.readings import GOOD, fails, reads, serve_manifest


@pytest.fixture
def broken(people, server) -> Agent:
    """An agent whose manifest could not be read when it was registered."""
    return create_agent(by=people.owner, handle="broken", reading=fails(url=server.url, reason="It was down."))


def stored(agent: Agent) -> Agent:
    return Agent.objects.select_related("owner", "current_revision").get(pk=agent.pk)


async def test_a_reading_carries_a_token_for_that_agent_and_user_alone(people, server):
    reading = await read_for(people.owner.pk, "someone/dice", server.url)

    assert reading.result.manifest.base_prompt == "I roll dice."
    claims = await run_db(verify_call_token, server.requests[0].headers["authorization"].removeprefix("Bearer "))
    assert (claims.user_id, claims.agent_id) == (people.owner.pk, "someone/dice")
    assert (claims.session, claims.run, claims.chain) == ("", "", ())


async def test_a_reading_that_fails_holds_the_reason(people, server):
    serve_manifest(server, answer(body=b"{"))
    assert isinstance((await read_for(people.owner.pk, "a/b", server.url)).result, AgentInvalidResponse)

    nobody = await read_for(people.owner.pk, "a/b", "http://127.0.0.1:9999/")
    assert isinstance(nobody.result, AgentUnreachable)


async def test_a_mended_agent_is_usable_at_the_next_query(people, server, broken):
    spec = await mended_spec(broken.current_revision_id, user_id=people.outsider.pk)

    assert spec.manifest.base_prompt == "I roll dice."
    assert spec.agent_id == broken.agent_id
    assert spec.deployment.target == server.url
    revision = (await run_db(stored, broken)).current_revision
    assert (revision.pk, revision.state) == (broken.current_revision_id, Revision.State.READY)


async def test_an_agent_still_broken_says_why_and_keeps_the_reason(people, server, broken):
    serve_manifest(server, answer({"few_shots": ["no question"]}))

    with pytest.raises(AgentInvalidResponse) as refused:
        await mended_spec(broken.current_revision_id, user_id=people.owner.pk)

    assert refused.value.details["problems"]
    assert (await run_db(stored, broken)).current_revision.error == refused.value.message


async def test_queries_at_once_share_one_reading_and_its_failure(people, server, broken):
    serve_manifest(server, chunks(b"nonsense", delay=0.05))

    async def ask() -> FixieError:
        with pytest.raises(FixieError) as refused:
            await mended_spec(broken.current_revision_id, user_id=people.owner.pk)
        return refused.value

    errors = await asyncio.gather(*[ask() for _ in range(20)])
    again = await ask()

    assert len(server.requests) == 1
    assert {error.message for error in [*errors, again]} == {errors[0].message}
    serve_manifest(server, answer(GOOD))
    await asyncio.sleep(ATTEMPT_SECONDS + 0.1)
    assert await mended_spec(broken.current_revision_id, user_id=people.owner.pk)


async def test_a_caller_who_gives_up_does_not_take_the_answer_from_the_others(people, server, broken):
    serve_manifest(server, chunks(json.dumps(GOOD).encode(), delay=0.1))
    first, second = (
        asyncio.create_task(mended_spec(broken.current_revision_id, user_id=people.owner.pk)) for _ in range(2)
    )
    await asyncio.sleep(0.02)

    first.cancel()

    assert (await second).manifest.base_prompt == "I roll dice."
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_working_revision_is_not_read_again(people, server):
    agent = await run_db(create_agent, by=people.owner, handle="works", reading=reads(url=server.url))

    spec = await mended_spec(agent.current_revision_id, user_id=people.owner.pk)

    assert server.requests == []
    assert cached_spec(agent.current_revision_id) == spec


async def test_a_revision_that_is_gone_is_not_found(people, broken):
    await run_db(delete_agent, agent=broken)

    with pytest.raises(NotFound):
        await mended_spec(broken.current_revision_id, user_id=people.owner.pk)


@pytest.mark.parametrize("field", ["base_prompt", "sample_queries", "few_shots"])
async def test_a_nul_character_in_a_manifest_breaks_nothing(people, server, broken, field):
    bad = {"base_prompt": "\0", "sample_queries": ["a\0b"], "few_shots": ["Q: a\0\nA: b"]}
    serve_manifest(server, answer({**GOOD, field: bad[field]}))

    spec = await mended_spec(broken.current_revision_id, user_id=people.owner.pk)

    assert "\0" not in repr(spec)
    assert (await run_db(stored, broken)).current_revision.state == Revision.State.READY


async def test_an_agents_own_words_with_a_nul_character_can_be_stored(people, server, broken):
    ill = {"message": {"text": "I am\0ill."}, "error": {"message": "i\0ll"}}
    serve_manifest(server, answer(ill, status=500))

    with pytest.raises(FixieError):
        await mended_spec(broken.current_revision_id, user_id=people.owner.pk)

    assert (await run_db(stored, broken)).current_revision.error


async def test_the_task_reads_what_an_administrator_asked_for(people, server, broken):
    await refresh_manifest(agent=broken.pk, user=people.owner.pk)
    assert (await run_db(stored, broken)).current_revision.state == Revision.State.READY

    serve_manifest(server, answer({**GOOD, "base_prompt": "Changed."}))
    await refresh_manifest(agent=broken.pk, user=people.owner.pk)
    revision = (await run_db(stored, broken)).current_revision
    assert revision.manifest["base_prompt"] == "Changed."
    assert revision.pk != broken.current_revision_id

    serve_manifest(server, answer(body=b"nonsense"))
    await refresh_manifest(agent=broken.pk, user=people.owner.pk)
    assert (await run_db(stored, broken)).current_revision == revision


async def test_the_task_passes_over_agents_with_nothing_to_read(people):
    empty = await run_db(create_agent, by=people.owner, handle="empty")

    await refresh_manifest(agent=empty.pk, user=people.owner.pk)
    await refresh_manifest(agent=2**40, user=people.owner.pk)

    assert (await run_db(stored, empty)).current_revision is None
