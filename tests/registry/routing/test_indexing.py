"""What agents can be asked comes into the index: whole, in the background, and as it is now."""

import asyncio
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from common.db import run_db
from registry.actions import (
    add_revision,
    create_agent,
    delete_agent,
    record_manifest,
    set_current_revision,
    update_agent,
)
from registry.clashes import mark_clashes
from registry.manifests.manifest import ReadManifest
from registry.models import Agent, AgentIndex, SampleQuery
from registry.routing import indexing
from registry.routing.embedder import embedder_named
from registry.routing.samples import SAMPLES_MAX, texts_of
from registry.transports.base import Manifest
from tests.registry.readings import URL, fails, reads
from tests.registry.routing.samples import around, put_agent, somewhere

FEW_SHOTS = (
    "Q: Roll a die\nAsk Func[roll]: 6 1\nFunc[roll] says: 4\nA: 4",
    "Q: Roll two dice\nA: 3 and 5\nQ: And again?\nA: 1 and 2",
)


def dice(**changes: Any) -> Any:
    """A reading of an agent with few-shots and sample queries."""
    reading = reads(few_shots=FEW_SHOTS)
    manifest = Manifest(type="code_shot", few_shots=FEW_SHOTS, **{"sample_queries": ("Throw 3d6", "  ", ""), **changes})
    return type(reading)(URL, ReadManifest(manifest=manifest, raw={}, transport="code_shot"))


def samples_of(agent: Agent) -> dict[str, str]:
    return dict(SampleQuery.objects.filter(agent=agent).values_list("text", "source"))


def jobs_of(agent: Agent) -> int:
    jobs = ProcrastinateJob.objects.filter(task_name="registry.index_agent", args={"agent": agent.pk})
    return jobs.filter(status="todo").count()


def ours(**fields: Any) -> Agent:
    """A new agent that no worker of a site indexes beside us: a job that never ends holds the lock of its task."""
    hold = "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, status) VALUES ('tests', 'hold', %s, 'doing')"
    with transaction.atomic(), connection.cursor() as cursor:
        agent = create_agent(**fields)
        cursor.execute(hold, [f"index:{agent.pk}"])
    return agent


@pytest.fixture
def told(people: Any) -> Agent:
    """A private agent of the owner's, of whom something was told in every way."""
    return ours(
        by=people.owner,
        handle="teller-of-dice",
        name="Dice",
        description="Rolls dice. And much more.",
        queries=["Give me a number from 1 to 6", "Throw 3d6"],
        reading=dice(),
    )


def test_what_an_agent_can_be_asked_is_its_name_and_what_it_was_given_and_what_its_manifest_says(told):
    assert texts_of(told) == {
        "Dice: Rolls dice": "name",
        "Give me a number from 1 to 6": "given",
        "Throw 3d6": "given",
        "Roll a die": "few_shot",
        "Roll two dice": "few_shot",
        "And again?": "few_shot",
    }
    unnamed = Agent(handle="teller-of_dice", queries=[])
    assert texts_of(unnamed) == {"teller of dice": "name"}
    assert len(texts_of(Agent(handle="dice", queries=[f"Roll {n} dice" for n in range(5000)]))) == SAMPLES_MAX


async def test_all_of_it_is_indexed_with_its_vectors_and_the_end_is_told(told):
    await indexing.index_agent(told.pk)
    assert await run_db(samples_of, told) == await run_db(texts_of, told)
    sample = await SampleQuery.objects.aget(agent=told, text="Roll a die")
    names = await indexing.embedders()
    [vector] = await (await embedder_named(names.serving)).embed(["Roll a die"])
    # The index keeps half of a vector's bits.
    assert np.allclose(sample.embedding, vector, atol=1e-3)
    index = await AgentIndex.objects.aget(agent=told)
    assert (index.revision_id, index.done, index.total, index.error) == (told.current_revision_id, 6, 6, "")


async def test_texts_that_stay_keep_their_row_and_vector(told):
    await indexing.index_agent(told.pk)
    before = await run_db(lambda: dict(SampleQuery.objects.filter(agent=told).values_list("text", "pk")))
    await run_db(update_agent, agent=told, by=None, queries=["Throw 3d6", "Toss a coin"])
    revision = await run_db(add_revision, agent=told, by=None, reading=dice(sample_queries=("Roll a die",)))
    await indexing.index_agent(told.pk)
    after = await run_db(lambda: {s.text: s for s in SampleQuery.objects.filter(agent=told)})
    assert set(after) == {"Dice: Rolls dice", "Throw 3d6", "Toss a coin", "Roll a die", "Roll two dice", "And again?"}
    kept = set(after) & set(before)
    assert len(kept) == 5
    assert {text: after[text].pk for text in kept} == {text: before[text] for text in kept}
    assert {sample.revision_id for sample in after.values()} == {revision.pk}
    assert after["Roll a die"].source == "manifest"


async def test_corrections_stay_when_an_agent_is_indexed_anew(told, people):
    vector = somewhere()
    for text, user in (("mine", people.teammate), ("everybody's", None), ("Roll a die", None)):
        fields = {"agent": told, "source": "correction", "text": text, "user": user, "embedding": vector}
        await run_db(SampleQuery.objects.create, **fields)
    await indexing.index_agent(told.pk)
    found = await run_db(samples_of, told)
    assert {text for text, source in found.items() if source == "correction"} == {"mine", "everybody's", "Roll a die"}


@pytest.mark.parametrize("text", ["骰子を三つ振って", "🎲 " * 4000, "ارمِ النرد", "a" * 16_000, "\u200b", "!?"])
async def test_texts_of_any_script_and_length_are_indexed(people, text):
    agent = await run_db(ours, by=people.owner, handle="any-script", queries=[text], reading=dice())
    await indexing.index_agent(agent.pk)
    assert text.strip() in await run_db(samples_of, agent)


async def test_a_thousand_samples_are_indexed_with_progress(people):
    texts = [f"Roll {number} dice" for number in range(997)] + [f"{number} " + "die " * 2500 for number in range(3)]
    agent = await run_db(ours, by=people.owner, handle="many", queries=texts, reading=reads())
    seen: set[tuple[int, int]] = set()

    async def watch() -> None:
        while True:
            async for index in AgentIndex.objects.filter(agent=agent):
                seen.add((index.done, index.total))
            await asyncio.sleep(0.02)

    watching = asyncio.create_task(watch())
    await indexing.index_agent(agent.pk)
    watching.cancel()
    assert len(seen) > 3
    assert {total for _, total in seen} == {1001}
    assert await run_db(lambda: SampleQuery.objects.filter(agent=agent).count()) == 1001


async def test_an_agent_that_is_gone_or_does_not_work_is_left_alone(told):
    broken = await run_db(ours, by=told_by(told), handle="broken", reading=fails())
    await indexing.index_agent(broken.pk)
    assert await run_db(samples_of, broken) == {}
    pk = told.pk
    indexed = asyncio.create_task(indexing.index_agent(pk))
    await asyncio.sleep(0)
    await run_db(delete_agent, agent=told)
    await indexed
    assert not await SampleQuery.objects.filter(agent=pk).aexists()
    await indexing.index_agent(2**40)


def told_by(agent: Agent) -> Any:
    return agent.owner.user


def without_jobs(agent: Agent) -> Agent:
    ProcrastinateJob.objects.filter(task_name="registry.index_agent", args={"agent": agent.pk}).delete()
    return agent


CHANGES = {
    "other queries": (lambda agent: update_agent(agent=agent, by=None, queries=["Toss a coin"]), 1),
    "published": (lambda agent: update_agent(agent=agent, by=None, published=True), 1),
    "the same address again": (lambda agent: update_agent(agent=agent, by=None, reading=dice()), 0),
    "a new revision": (lambda agent: add_revision(agent=agent, by=None, reading=dice()), 1),
    "a revision that stays aside": (lambda agent: add_revision(agent=agent, by=None, reading=dice(), current=False), 0),
    "an older revision": (lambda agent: set_current_revision(agent=agent, revision=agent.current_revision_id), 1),
    "a changed manifest": (
        lambda agent: record_manifest(revision=agent.current_revision, reading=dice(sample_queries=("Toss",))),
        1,
    ),
    "the same manifest": (lambda agent: record_manifest(revision=agent.current_revision, reading=dice()), 0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_an_agent_can_be_asked_has_it_indexed_once(told, what):
    change, jobs = CHANGES[what]
    without_jobs(told)
    with transaction.atomic():
        change(told)
        change(told)
        assert jobs_of(told) == jobs


def test_a_mended_revision_is_indexed(people):
    broken = without_jobs(ours(by=people.owner, handle="mended", reading=fails()))
    record_manifest(revision=broken.current_revision, reading=reads())
    assert jobs_of(broken) == 1


def test_a_change_that_is_taken_back_defers_nothing(told):
    without_jobs(told)
    with transaction.atomic():
        update_agent(agent=told, by=None, queries=["Toss a coin"])
        transaction.set_rollback(True)
    assert jobs_of(told) == 0


async def test_who_has_filled_their_part_of_the_index_is_still_found_by_name(people, told, settings):
    settings.OWNER_MAX_SAMPLES = 3
    await indexing.index_agent(told.pk)
    assert await run_db(samples_of, told) == dict(list(texts_of(told).items())[:3])
    extra = await run_db(ours, by=people.owner, handle="one-more", queries=["Toss a coin"], reading=dice())
    await indexing.index_agent(extra.pk)
    assert await run_db(samples_of, extra) == {"one more": "name"}


async def due(agent: Agent) -> bool:
    return agent.pk in await run_db(indexing.agents_to_index)


@pytest.fixture
def forgotten(people: Any) -> Agent:
    """An agent of which no task knows, as after a crash: no worker of a running site takes it up before the sweep."""
    agent = put_agent(people.owner.owner, around(somewhere(), 0, 0.1), name="Coins")
    AgentIndex.objects.filter(agent=agent).delete()
    return agent


async def test_the_sweep_finds_agents_that_nobody_indexed_and_leaves_the_others(forgotten, people):
    broken = await run_db(ours, by=people.owner, handle="broken", reading=fails())
    assert await due(forgotten)
    assert not await due(broken)
    await indexing.index_agent(forgotten.pk)
    assert not await due(forgotten)
    forgotten.current_revision = await forgotten.revisions.acreate(target="http://x", transport="x", state="ready")
    await forgotten.asave(update_fields=["current_revision"])
    assert await due(forgotten)
    await indexing.index_agent(forgotten.pk)
    assert not await due(forgotten)
    await forgotten.asave()
    assert await due(forgotten)


@pytest.mark.parametrize(
    ("since_change", "since_failure", "is_due"),
    [(10, 5, False), (90, 70, True), (600, 200, False), (600, 310, True), (90_000, 600, False), (90_000, 1000, True)],
)
async def test_what_failed_is_tried_again_after_as_long_as_it_has_failed(
    forgotten, since_change, since_failure, is_due
):
    now = timezone.now()
    await run_db(AgentIndex.objects.create, agent=forgotten, error="The embeddings server is away.")
    changed, failed = (now - timedelta(seconds=seconds) for seconds in (since_change, since_failure))
    await Agent.objects.filter(pk=forgotten.pk).aupdate(modified=changed)
    await AgentIndex.objects.filter(pk=forgotten.pk).aupdate(modified=failed)
    assert await due(forgotten) is is_due


async def test_work_that_died_is_taken_up_again_and_work_in_progress_is_left(forgotten):
    await run_db(AgentIndex.objects.create, agent=forgotten, done=3, total=6)
    assert not await due(forgotten)
    await AgentIndex.objects.filter(pk=forgotten.pk).aupdate(modified=timezone.now() - timedelta(minutes=3))
    assert await due(forgotten)


def clashes_of(agent: Agent) -> list[int | None]:
    return list(SampleQuery.objects.filter(agent=agent).order_by("pk").values_list("clash", flat=True))


def test_owners_see_that_anothers_agent_says_the_same(people):
    place = somewhere()
    vectors = np.concatenate([around(place, 2, 0.5), around(place, 1, 0.001)])
    first = put_agent(people.owner.owner, vectors[:2])
    copy = put_agent(people.outsider.owner, vectors[1:])
    own = put_agent(people.owner.owner, vectors[:1])
    mark_clashes(copy.pk)
    assert clashes_of(copy) == [first.pk, None]
    assert clashes_of(first) == [None, copy.pk]
    assert clashes_of(own) == [None]
    SampleQuery.objects.filter(agent=copy).update(embedding=somewhere())
    mark_clashes(copy.pk)
    assert (clashes_of(copy), clashes_of(first)) == ([None, None], [None, None])


def test_an_agent_that_is_not_published_is_named_to_nobody(people):
    vectors = around(somewhere(), 1, 0.1)
    public = put_agent(people.owner.owner, vectors)
    hidden = put_agent(people.outsider.owner, vectors, published=False)
    for agent in (public, hidden):
        mark_clashes(agent.pk)
    assert (clashes_of(hidden), clashes_of(public)) == ([public.pk], [None])
    update_agent(agent=hidden, by=people.outsider, published=True)
    mark_clashes(hidden.pk)
    assert clashes_of(public) == [hidden.pk]
    update_agent(agent=hidden, by=people.outsider, published=False)
    mark_clashes(hidden.pk)
    assert clashes_of(public) == [None]


async def test_two_who_index_an_agent_at_once_leave_each_text_once(told):
    await asyncio.gather(*(indexing.index_agent(told.pk) for _ in range(4)))
    assert await run_db(samples_of, told) == await run_db(texts_of, told)
