"""The nearest samples, from real PostgreSQL: whose agents, how many, and which never."""

from typing import Any

import numpy as np
import pytest

from common.db import run_db
from registry.models import Agent, Liveness, Revision, SampleQuery
from registry.routing.index import Indexed, nearest
from registry.routing.ranking import AGENTS, SAMPLES
from tests.registry.routing.samples import around, put_agent, somewhere


async def found(place: Any, user: Any = None, **more: Any) -> dict[str, Indexed]:
    return {agent.agent: agent for agent in await nearest(place, user=user and user.pk, **more)}


async def test_an_agent_comes_with_its_nearest_samples_nearest_first(people):
    place = somewhere()
    vectors = around(place, 40, 0.3)
    texts = [f"query {number} żółw 骰子" for number in range(39)] + ["long " * 3000]
    agent = await run_db(put_agent, people.owner.owner, vectors, texts=texts, name="Dice")
    (one,) = [one for one in await nearest(place, user=None) if one.id == agent.pk]
    order = np.argsort(-(vectors @ place))[:SAMPLES]
    assert (one.agent, one.name) == (f"{people.owner.username}/{agent.handle}", "Dice")
    assert list(one.texts) == [texts[at][:1000] for at in order]
    assert np.allclose(one.vectors, vectors[order], atol=1e-3)


async def test_a_thousand_samples_of_one_agent_leave_room_for_others(people):
    place = somewhere()
    loud = await run_db(put_agent, people.owner.owner, around(place, 1000, 0.05))
    near = sorted((around(place, 3, 0.1 + n / 50) for n in range(12)), key=lambda vectors: -(vectors @ place).max())
    others = [await run_db(put_agent, people.owner.owner, vectors) for vectors in near]
    agents = await found(place)
    assert {agent.id for agent in agents.values()} == {loud.pk, *(agent.pk for agent in others[: AGENTS - 1])}


async def test_a_strangers_thousand_unpublished_samples_hide_nobody(people):
    place = somewhere()
    hidden = await run_db(put_agent, people.outsider.owner, around(place, 1000, 0.05), published=False)
    others = [await run_db(put_agent, people.owner.owner, around(place, 3, 0.2 + n / 50)) for n in range(AGENTS)]
    agents = await found(place, people.owner)
    assert {agent.id for agent in agents.values()} == {agent.pk for agent in others}
    assert hidden.pk in {agent.id for agent in (await found(place, people.outsider)).values()}


async def test_unpublished_agents_are_found_by_their_owner_and_members_alone(people):
    place = somewhere()
    own = await run_db(put_agent, people.owner.owner, around(place, 1, 0.1), published=False)
    shared = await run_db(put_agent, people.organization.owner, around(place, 1, 0.1), published=False)
    who = {"owner": people.owner, "teammate": people.teammate, "outsider": people.outsider, "anybody": None}
    seen = {name: {agent.id for agent in (await found(place, user)).values()} for name, user in who.items()}
    pks = {own.pk, shared.pk}
    assert seen["owner"] & pks == pks
    assert seen["teammate"] & pks == {shared.pk}
    assert not (seen["outsider"] | seen["anybody"]) & pks


def failing(agent: Agent) -> None:
    Liveness.objects.create(agent=agent, healthy=False)


def without_revision(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(current_revision=None)


def broken(agent: Agent) -> None:
    Revision.objects.filter(agent=agent).update(state="error")


def in_front(agent: Agent) -> None:
    Revision.objects.filter(agent=agent).update(transport="front")


@pytest.mark.parametrize("change", [failing, without_revision, broken, in_front])
async def test_agents_that_cannot_answer_are_passed_over(people, change):
    place = somewhere()
    agent = await run_db(put_agent, people.owner.owner, around(place, 3, 0.05))
    assert agent.pk in {one.id for one in (await found(place, people.owner)).values()}
    await run_db(change, agent)
    assert agent.pk not in {one.id for one in (await found(place, people.owner, wanted=[agent.pk])).values()}


async def test_an_agent_with_a_proof_of_life_is_found(people):
    place = somewhere()
    agent = await run_db(put_agent, people.owner.owner, around(place, 1, 0.05))
    await run_db(Liveness.objects.create, agent=agent, healthy=True)
    assert agent.pk in {one.id for one in (await found(place)).values()}


async def test_a_correction_counts_for_its_user_until_it_is_everyones(people):
    place = somewhere()
    agent = await run_db(put_agent, people.owner.owner, around(place, 0, 0.05))
    correction = await run_db(
        SampleQuery.objects.create,
        agent=agent,
        source="correction",
        text="mine",
        user=people.teammate,
        embedding=around(place, 1, 0.02)[0],
    )
    key = f"{people.owner.username}/{agent.handle}"
    assert (await found(place, people.teammate))[key].texts == ["mine"]
    assert key not in await found(place, people.outsider)
    assert key not in await found(place)
    correction.user = None
    await run_db(correction.save)
    assert (await found(place, people.outsider))[key].texts == ["mine"]


async def test_excluded_agents_are_passed_over_and_wanted_ones_added(people):
    place = somewhere()
    near = await run_db(put_agent, people.owner.owner, around(place, 3, 0.05))
    far = await run_db(put_agent, people.owner.owner, around(-place, 0, 0.05))
    hidden = await run_db(put_agent, people.outsider.owner, around(place, 3, 0.05), published=False)
    agents = await found(
        place, people.owner, wanted=[far.pk, hidden.pk, 2**40], excluded=[f"{people.owner.username}/{near.handle}"]
    )
    pks = {agent.id: agent for agent in agents.values()}
    assert near.pk not in pks
    assert hidden.pk not in pks
    assert (list(pks[far.pk].texts), pks[far.pk].vectors.shape) == ([], (0, 384))


async def test_a_vector_that_is_nowhere_finds_without_failing():
    await nearest(np.zeros(384, np.float32), user=None)
