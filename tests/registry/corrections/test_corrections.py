"""Corrections: whom they route, what they replace, and what their agent's owners make of them."""

import uuid
from typing import Any

import numpy as np
import pytest

from accounts.models import User
from common.db import run_db
from common.errors import NotFound
from registry.actions import delete_agent
from registry.clashes import mark_clashes
from registry.corrections import remembering
from registry.corrections.remembering import (
    accept_correction,
    dismiss_correction,
    forget_correction,
    remember_correction,
)
from registry.fields import QUERY_MAX
from registry.models import Agent, SampleQuery
from registry.routing import indexing
from registry.routing.embedder import embed_query, embedder_named
from registry.routing.router import route
from tests.registry.indexed import indexed_agent, sample


@pytest.fixture
def dice(people) -> Agent:
    return indexed_agent(people.owner.owner)


@pytest.fixture
def cards(people) -> Agent:
    return indexed_agent(people.owner.owner)


@pytest.fixture
def text() -> str:
    """A question that nobody else asks."""
    return f"Draw {uuid.uuid4().hex} at random"


def texts_at(agent: Agent, user: User | None) -> list[str]:
    return list(agent.sample_queries.filter(user=user).order_by("pk").values_list("text", flat=True))


async def agents_for(text: str, user: User | None) -> list[str]:
    found = await route(text, user=user.pk if user else None)
    return [candidate.agent for candidate in found.candidates if candidate.matched_query == text]


async def test_a_correction_routes_this_users_queries_and_nobody_elses(dice, people, text):
    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=f" {text}\n")

    assert await run_db(texts_at, dice, people.outsider) == [text]
    assert await agents_for(text, people.outsider) == [dice.agent_id]
    assert await agents_for(text, people.teammate) == await agents_for(text, None) == []


async def test_its_vector_is_the_serving_embedders(dice, people, text):
    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)

    kept = await SampleQuery.objects.aget(agent=dice, text=text)
    by = await embedder_named((await indexing.embedders()).serving)
    # The index keeps half of a vector's bits.
    assert np.allclose(kept.embedding, await embed_query(text, by), atol=1e-3)


async def test_the_same_correction_again_is_remembered_once(dice, people, text):
    for _ in range(2):
        await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)

    assert await run_db(texts_at, dice, people.outsider) == [text]


async def test_somebody_who_chooses_yet_another_agent_has_changed_their_mind(dice, cards, people, text):
    await run_db(sample, dice, text, people.teammate)
    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)
    await remember_correction(user=people.outsider.pk, agent=cards.pk, text=text)

    assert await run_db(texts_at, dice, people.outsider) == []
    assert await run_db(texts_at, cards, people.outsider) == [text]
    assert await run_db(texts_at, dice, people.teammate) == [text]


async def test_what_leads_everybody_there_needs_no_correction(dice, people, text):
    await run_db(sample, dice, text, None, "given")

    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)

    assert await run_db(texts_at, dice, people.outsider) == []


async def test_a_user_has_so_many_at_an_agent_and_the_oldest_goes(dice, cards, people, monkeypatch):
    monkeypatch.setattr(remembering, "CORRECTIONS_MAX", 3)
    await run_db(sample, cards, "of another agent", people.outsider)
    await run_db(sample, dice, "of somebody else", people.teammate)
    for number in range(5):
        await remember_correction(user=people.outsider.pk, agent=dice.pk, text=f"number {number}")

    assert await run_db(texts_at, dice, people.outsider) == ["number 2", "number 3", "number 4"]
    assert await run_db(texts_at, cards, people.outsider) == ["of another agent"]
    assert await run_db(texts_at, dice, people.teammate) == ["of somebody else"]


@pytest.mark.parametrize("long", ["x" * (QUERY_MAX + 1), "語" * (QUERY_MAX + 1)])
async def test_a_text_that_is_too_long_is_no_sample(dice, people, long):
    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=long)

    assert await run_db(texts_at, dice, people.outsider) == []


async def test_an_agent_that_is_gone_is_passed_over(dice, people, text):
    await run_db(delete_agent, agent=dice)

    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)

    assert not await SampleQuery.objects.filter(text=text).aexists()


async def test_accepted_it_routes_everybody(dice, people, text):
    await remember_correction(user=people.outsider.pk, agent=dice.pk, text=text)
    made = await SampleQuery.objects.aget(agent=dice, text=text)
    await run_db(sample, dice, text, people.teammate)

    accepted = await run_db(accept_correction, correction=made)

    assert await run_db(texts_at, dice, None) == [text]
    assert await run_db(texts_at, dice, people.outsider) == await run_db(texts_at, dice, people.teammate) == []
    assert (accepted.user_id, accepted.source) == (None, "correction")
    assert await agents_for(text, None) == [dice.agent_id]


def test_accepted_twice_it_is_the_same(dice, people, text):
    made = sample(dice, text, people.outsider)

    assert accept_correction(correction=made) == accept_correction(correction=made)

    assert texts_at(dice, None) == [text]


def test_accepted_where_the_agent_says_so_itself_by_now_it_is_not_there_twice(dice, people, text):
    own, made = sample(dice, text, None, "given"), sample(dice, text, people.outsider)

    assert accept_correction(correction=made) == own

    assert list(dice.sample_queries.filter(text=text)) == [own]


def test_what_is_gone_cannot_be_accepted(dice, people, text):
    made = sample(dice, text, people.outsider)
    forget_correction(correction=SampleQuery.objects.get(pk=made.pk))

    with pytest.raises(NotFound):
        accept_correction(correction=made)


def test_dismissed_it_is_gone_for_all_who_made_it(dice, cards, people, text):
    made = sample(dice, text, people.outsider)
    for other in (sample(dice, text, people.teammate), sample(cards, text, people.outsider), sample(dice, "other")):
        assert other.pk
    own = sample(dice, text, None, "given")

    dismiss_correction(correction=made)

    assert list(dice.sample_queries.filter(text=text)) == [own]
    assert texts_at(cards, people.outsider) == [text]
    assert texts_at(dice, None) == ["other", text]


def test_suggestions_are_each_text_once(dice, people):
    for user in (people.outsider, people.teammate):
        sample(dice, "both", user)
    sample(dice, "one", people.teammate)
    sample(dice, "everybody's", None)

    suggested = remembering.samples_for(dice, None, suggested=True)

    assert sorted(each.text for each in suggested) == ["both", "one"]


def test_another_owners_agent_that_says_so_too_is_shown_as_a_clash(dice, people, text):
    other = indexed_agent(people.outsider.owner)
    theirs, made = sample(other, text, None, "given"), sample(dice, text, people.teammate)
    SampleQuery.objects.filter(pk=theirs.pk).update(embedding=made.embedding)

    accepted: Any = accept_correction(correction=made)
    mark_clashes(dice.pk)  # as the task does that accepting defers

    accepted.refresh_from_db(fields=["clash"])
    assert accepted.clash == other
